//! From columns of a file to a recording.

use std::ops::Range;
use std::path::Path;

use bristle::error::ParameterError;

use super::decimate::{Way, averaged, kept, mean_velocities, with_turns};
use super::error::RecordingError;
use super::plausible::{self, median};
use super::rows::{GAP, Rows, Values};
use super::saturation::saturated;
use super::source::Source;
use super::spec::{Quantity, RecordingSpec, Saturated};
use super::units::Kind;
use super::{Channel, Recording};

/// Least number of samples to compare with.
const LEAST_SAMPLES: usize = 10;

impl Recording {
    /// Reads a recording and prepares it: units, span, gaps, samples that cannot be used, fewer samples.
    /// What was done is in [`Recording::notes`].
    ///
    /// # Errors
    /// Settings that cannot be, a file that cannot be read or lacks a column, a unit of another kind, times
    /// that do not increase, text or too few samples.
    pub fn read(path: &Path, spec: &RecordingSpec) -> Result<Self, RecordingError> {
        Self::of(Source::open(path)?, path, spec)
    }

    /// The same of columns in memory with their names, in the units of `spec`. `name` is what messages call
    /// it.
    ///
    /// # Errors
    /// As [`Recording::read`].
    pub fn of_columns(
        name: &str,
        columns: Vec<(String, Vec<f64>)>,
        spec: &RecordingSpec,
    ) -> Result<Self, RecordingError> {
        Self::of(Source::of_columns(name, columns), Path::new(name), spec)
    }

    fn of(source: Source, path: &Path, spec: &RecordingSpec) -> Result<Self, RecordingError> {
        spec.validate().map_err(RecordingError::Setting)?;
        let mut rows = Rows::read(source, path, spec)?;
        rows.select(spec)?;
        rows.drop_missing_inputs()?;
        rows.check_times()?;
        rows.mask(spec);
        rows.finish(spec)
    }
}

impl Rows<'_> {
    /// Keeps the span.
    fn select(&mut self, spec: &RecordingSpec) -> Result<(), RecordingError> {
        let missing = self.time.iter().filter(|t| !t.is_finite()).count();
        if missing > 0 {
            self.notes.push(format!("{missing} rows have no time and are left out."));
        }
        let [first, last] = [f64::INFINITY, f64::NEG_INFINITY];
        let (first, last) =
            self.time.iter().filter(|t| t.is_finite()).fold((first, last), |(a, b), t| (a.min(*t), b.max(*t)));
        let span = spec.from.unwrap_or(f64::NEG_INFINITY)..=spec.to.unwrap_or(f64::INFINITY);
        let is_kept: Vec<bool> = self.time.iter().map(|t| t.is_finite() && span.contains(t)).collect();
        self.retain(&is_kept);
        if self.time.is_empty() && first <= last {
            let asked = format!("from {} s to {} s", span.start(), span.end());
            let reason = format!("no rows {asked}: expected a span within its times, {first} s to {last} s");
            return Err(RecordingError::data(self.path, reason));
        }
        self.enough(self.time.len(), "rows")
    }

    fn enough(&self, found: usize, what: &str) -> Result<(), RecordingError> {
        if found >= LEAST_SAMPLES {
            return Ok(());
        }
        Err(RecordingError::data(
            self.path,
            format!("{found} {what} to compare with: expected at least {LEAST_SAMPLES}"),
        ))
    }

    /// Leaves out rows without a value of an input.
    fn drop_missing_inputs(&mut self) -> Result<(), RecordingError> {
        let mut is_kept = vec![true; self.time.len()];
        for Values { quantity, values } in &self.inputs {
            let missing = values.iter().filter(|v| v.is_nan()).count();
            if missing > 0 {
                let (name, all) = (&quantity.name, values.len());
                self.notes.push(format!("{missing} of {all} rows have no `{name}` and are left out."));
            }
            is_kept.iter_mut().zip(values).for_each(|(is_kept, v)| *is_kept &= !v.is_nan());
        }
        self.retain(&is_kept);
        self.enough(self.time.len(), "rows with all inputs")
    }

    fn check_times(&self) -> Result<(), RecordingError> {
        let Some(k) = (1..self.time.len()).find(|&k| self.time[k] <= self.time[k - 1]) else { return Ok(()) };
        let (before, after) = (self.time[k - 1], self.time[k]);
        let row = self.source.row(self.place[k]);
        let what = if after < before { "goes back" } else { "does not go on" };
        let reason =
            format!("{row}: time {what}, from {before} s to {after} s: expected times that increase, or `rate`");
        Err(RecordingError::data(self.path, reason))
    }

    /// Masks what is not to be compared, and looks for ends of ranges.
    fn mask(&mut self, spec: &RecordingSpec) {
        let notes = &mut self.notes;
        for Values { quantity, values } in &mut self.compared {
            let missing = values.iter().filter(|v| v.is_nan()).count();
            if missing > 0 {
                let (name, all) = (&quantity.name, values.len());
                notes.push(format!("{missing} of {all} rows have no `{name}` and are not compared there."));
            }
            let asked = quantity.spec.saturated;
            if asked == Saturated::Keep || !quantity.name.starts_with("wrench.") {
                continue;
            }
            for end in saturated(values) {
                let then = if asked == Saturated::Mask || end.is_certain {
                    end.runs.iter().for_each(|run| values[run.clone()].fill(f64::NAN));
                    "They are not compared; `saturated = \"keep\"` keeps them."
                } else {
                    "They are compared; `saturated = \"mask\"` leaves them out."
                };
                notes.push(at_end(quantity, &end) + then);
            }
        }
        let Some(normal) = self.inputs.iter_mut().find(|input| input.quantity.name == "normal_force") else { return };
        for end in saturated(&normal.values) {
            notes.push(at_end(&normal.quantity, &end) + "They are used as they are.");
        }
        if let Some(least) = spec.least_normal_force {
            let is_low: Vec<bool> = normal.values.iter().map(|force| *force < least).collect();
            for Values { values, .. } in &mut self.compared {
                values.iter_mut().zip(&is_low).filter(|(_, is_low)| **is_low).for_each(|(v, _)| *v = f64::NAN);
            }
            let low = is_low.iter().filter(|is_low| **is_low).count();
            if low > 0 {
                let all = is_low.len();
                notes.push(format!("{low} of {all} rows have less normal force than {least} N: not compared."));
            }
        }
    }

    /// Gaps, fewer samples, and the last checks.
    fn finish(mut self, spec: &RecordingSpec) -> Result<Recording, RecordingError> {
        self.press()?;
        let mut steps: Vec<f64> = self.time.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let usual = median(&mut steps);
        let pieces = self.pieces(spec.gap.unwrap_or(GAP * usual));
        let every = spec.every.unwrap_or(0.0);
        let mut rows: Vec<usize> = (0..self.time.len()).collect();
        let (mut of_kept, mut turns) = (pieces.clone(), Vec::new());
        if spec.every.is_some() {
            let (in_time, of_these) = kept(&self.time, &pieces, every, usual);
            let way = |Values { quantity, values }: &Values<'_>| {
                let is_rotation = matches!(quantity.kind, Kind::Angle | Kind::AngularSpeed);
                match quantity.kind {
                    Kind::Length | Kind::Angle => Some(Way::of_positions(values, is_rotation)),
                    Kind::Speed | Kind::AngularSpeed => {
                        Some(Way::of_velocities(&self.time, values, is_rotation, [every, usual]))
                    }
                    _ => None,
                }
            };
            let ways: Vec<Way> = self.inputs.iter().filter_map(way).collect();
            (rows, of_kept, turns) = with_turns(&in_time, &of_these, &ways);
            if rows.len() < self.time.len() {
                let (kept, all) = (in_time.len(), self.time.len());
                let motion = match turns.len() {
                    0 => String::new(),
                    n => format!(", and the motion in {n} more where it turns back"),
                };
                let how =
                    if spec.average { "forces and what is compared are means" } else { "the others are not used" };
                self.notes.push(format!("{kept} of {all} rows are kept, one in {every} s{motion}; {how}."));
            }
        }
        let channel = |Values { quantity, values }: &Values<'_>, is_input: bool| {
            let is_motion = matches!(quantity.kind, Kind::Length | Kind::Angle);
            let mut values: Vec<f64> = match quantity.kind {
                Kind::Speed | Kind::AngularSpeed if is_input => mean_velocities(&self.time, values, &rows),
                _ if spec.average && !(is_input && is_motion) => averaged(&self.time, values, &pieces, &rows, every),
                _ => rows.iter().map(|k| values[*k]).collect(),
            };
            if !is_input {
                turns.iter().for_each(|i: &usize| values[*i] = f64::NAN);
            }
            Channel { name: quantity.name.clone(), values, sign: quantity.sign }
        };
        let inputs: Vec<Channel> = self.inputs.iter().map(|values| channel(values, true)).collect();
        let compared: Vec<Channel> = self.compared.iter().map(|values| channel(values, false)).collect();
        for Channel { name, values, .. } in &compared {
            let found = values.iter().filter(|v| v.is_finite()).count();
            self.enough(found, &format!("samples of `{name}`"))?;
            if name.starts_with("wrench.") && values.iter().filter(|v| v.is_finite()).all(|v| *v == 0.0) {
                let accepted = "a column that a sensor has written";
                let error = ParameterError::new(format!("compare.{name}"), "0 in all samples", accepted);
                return Err(RecordingError::column(self.path, error));
            }
        }
        let start = self.time[rows[0]];
        let kinds = [&self.inputs, &self.compared].map(|all| all.iter().map(|v| v.quantity.kind).collect::<Vec<_>>());
        let mut recording = Recording {
            name: self.path.display().to_string(),
            time: rows.iter().map(|k| self.time[*k] - start).collect(),
            start,
            pieces: of_kept,
            turns,
            inputs,
            compared,
            notes: self.notes,
        };
        let odd = plausible::notes(&recording, [&kinds[0], &kinds[1]]);
        recording.notes.extend(odd);
        Ok(recording)
    }

    /// Checks that the normal force presses; the little below zero that an unloaded sensor shows is 0.
    fn press(&mut self) -> Result<(), RecordingError> {
        let Some(input) = self.inputs.iter_mut().find(|input| input.quantity.name == "normal_force") else {
            return Ok(());
        };
        let middle = median(&mut input.values.clone());
        if middle < 0.0 {
            let accepted = "a force that presses, above 0 N; `sign = -1` turns it round";
            let error = ParameterError::new("inputs.normal_force", format!("{middle} N (median)"), accepted);
            return Err(RecordingError::column(self.path, error));
        }
        if !input.values.iter().any(|force| *force > 0.0) {
            let accepted = "a force that presses, above 0 N, in some rows";
            let error = ParameterError::new("inputs.normal_force", "0 N in all rows", accepted);
            return Err(RecordingError::column(self.path, error));
        }
        let below = input.values.iter().filter(|force| **force < 0.0).count();
        if below > 0 {
            let least = input.values.iter().copied().fold(0.0, f64::min);
            input.values.iter_mut().for_each(|force| *force = force.max(0.0));
            self.notes.push(format!("`normal_force` is below 0 in {below} rows, at least {least} N: taken as 0."));
        }
        Ok(())
    }

    /// The rows without a longer time than `gap` \[s\] between them.
    fn pieces(&mut self, gap: f64) -> Vec<Range<usize>> {
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let (mut first, mut longest) = (0, 0.0);
        for k in 1..self.time.len() {
            let step = self.time[k] - self.time[k - 1];
            if step > gap {
                pieces.push(first..k);
                first = k;
                longest = f64::max(longest, step);
            }
        }
        pieces.push(first..self.time.len());
        if pieces.len() > 1 {
            let count = pieces.len() - 1;
            self.notes.push(format!("{count} gaps of more than {gap:.3} s between rows, the longest {longest:.3} s."));
        }
        pieces
    }
}

fn at_end(quantity: &Quantity<'_>, end: &super::saturation::Saturated) -> String {
    let (name, unit, value) = (&quantity.name, quantity.kind.si(), end.value);
    let be = if end.is_certain { "that is" } else { "that may be" };
    let (runs, rows) = (end.runs.len(), end.runs.iter().map(ExactSizeIterator::len).sum::<usize>());
    format!("`{name}` stays at {value} {unit} in {rows} rows, {runs} times: {be} the end of the sensor's range. ")
}
