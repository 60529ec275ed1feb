//! From columns of a file to a recording.

use std::ops::Range;
use std::path::Path;

use bristle::error::ParameterError;

use super::decimate::{averaged, kept, mean_velocities};
use super::error::RecordingError;
use super::plausible::{self, median};
use super::saturation::saturated;
use super::source::{Column, Source};
use super::spec::{ColumnName, Quantity, RecordingSpec, Saturated, Sign};
use super::units::{Kind, in_name, known};
use super::{Channel, Recording};

/// Least number of samples to compare with.
const LEAST_SAMPLES: usize = 10;

/// A gap is a time so many times as long as usual, if nothing else is said.
const GAP: f64 = 5.0;

impl Recording {
    /// Reads a recording and prepares it: units, span, gaps, samples that cannot be used, fewer samples.
    /// What was done is in [`Recording::notes`].
    ///
    /// # Errors
    /// Settings that cannot be, a file that cannot be read or lacks a column, a unit of another kind, times
    /// that do not increase, text or too few samples.
    pub fn read(path: &Path, spec: &RecordingSpec) -> Result<Self, RecordingError> {
        spec.validate().map_err(RecordingError::Setting)?;
        let mut rows = Rows::read(path, spec)?;
        rows.select(spec)?;
        rows.drop_missing_inputs()?;
        rows.check_times()?;
        rows.mask(spec);
        rows.finish(spec)
    }
}

/// One quantity over the rows.
struct Values<'a> {
    quantity: Quantity<'a>,
    values: Vec<f64>,
}

/// Times and quantities of the rows, in SI units.
struct Rows<'a> {
    path: &'a Path,
    source: Source,
    /// The rows' places in the file, for messages.
    place: Vec<usize>,
    time: Vec<f64>,
    inputs: Vec<Values<'a>>,
    compared: Vec<Values<'a>>,
    notes: Vec<String>,
}

impl<'a> Rows<'a> {
    fn read(path: &'a Path, spec: &'a RecordingSpec) -> Result<Self, RecordingError> {
        let mut source = Source::open(path)?;
        let mut notes = Vec::new();
        let (inputs, compared) = (spec.inputs(), spec.compared());
        let (mut chosen, mut factors) = (Vec::new(), Vec::new());
        for q in inputs.iter().chain(&compared) {
            let k = source.find(&q.field, &q.spec.column)?;
            let size = size(path, &source, k, &q.field, q.kind, q.spec.unit.as_deref(), &mut notes)?;
            chosen.push(k);
            factors.push(size * q.spec.scale.unwrap_or(1.0) * if q.sign == Sign::Minus { -1.0 } else { 1.0 });
        }
        let clock = match (&spec.time, spec.rate) {
            (Some(time), _) => match &time.column {
                ColumnName::Name(name) => name.trim().to_owned(),
                ColumnName::Number(k) => k.to_string(),
            },
            (None, Some(_)) => String::new(),
            (None, None) if source.has_times => "log_time".to_owned(),
            (None, None) => {
                let accepted = "`time`, a column of times, or `rate`, the rows in a second [Hz]";
                return Err(RecordingError::column(path, ParameterError::new("time", "missing", accepted)));
            }
        };
        if source.has_times && (spec.rate.is_some() || spec.time.as_ref().is_some_and(|time| time.unit.is_some())) {
            let error = ParameterError::new("time", "given", "messages with their own times: no `rate` and no unit");
            return Err(RecordingError::column(path, error));
        }
        let mut time_factor = None;
        if let Some(time) = spec.time.as_ref().filter(|_| !source.has_times) {
            let k = source.find("time", &time.column)?;
            chosen.push(k);
            let unit = time.unit.as_deref();
            time_factor = Some(size(path, &source, k, "time", Kind::Time, unit, &mut notes)?);
        }
        let mut columns = source.columns(&chosen, &clock)?;
        for ((column, factor), q) in columns.iter_mut().zip(factors).zip(inputs.iter().chain(&compared)) {
            // What is infinite is missing, too.
            column.values.iter_mut().for_each(|v| *v = if v.is_finite() { *v * factor } else { f64::NAN });
            if q.kind == Kind::Angle && unwrap(&mut column.values) {
                notes.push(format!("`{}` jumps by a turn: the jumps are taken out.", q.name));
            }
        }
        let time = match (time_factor, spec.rate) {
            (Some(factor), _) => {
                let column = columns.pop().expect("the last one read");
                column.values.iter().map(|t| t * factor).collect()
            }
            (None, Some(rate)) => (0..columns[0].values.len()).map(|k| k as f64 / rate).collect(),
            (None, None) => common_times(&mut columns, inputs.len(), &mut notes),
        };
        let mut columns = columns.into_iter();
        let mut with = |quantities: Vec<Quantity<'a>>| -> Vec<Values<'a>> {
            let of = |(quantity, column): (Quantity<'a>, Column)| Values { quantity, values: column.values };
            quantities.into_iter().zip(columns.by_ref()).map(of).collect()
        };
        let (inputs, compared) = (with(inputs), with(compared));
        Ok(Self { path, source, place: (0..time.len()).collect(), time, inputs, compared, notes })
    }

    /// Keeps the rows that `is_kept`.
    fn retain(&mut self, is_kept: &[bool]) {
        fn retain<T>(values: &mut Vec<T>, is_kept: &[bool]) {
            let mut flags = is_kept.iter();
            values.retain(|_| *flags.next().unwrap_or(&false));
        }
        retain(&mut self.place, is_kept);
        retain(&mut self.time, is_kept);
        for Values { values, .. } in self.inputs.iter_mut().chain(&mut self.compared) {
            retain(values, is_kept);
        }
    }

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
        let reason = format!("{row}: time {what}, from {before} s to {after} s: expected times that increase");
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
            if quantity.spec.saturated == Saturated::Mask && quantity.name.starts_with("wrench.") {
                for end in saturated(values) {
                    end.runs.iter().for_each(|run| values[run.clone()].fill(f64::NAN));
                    notes.push(at_end(quantity, &end) + "They are not compared; `saturated = \"keep\"` keeps them.");
                }
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
        let (rows, of_kept) = match spec.every {
            Some(every) => kept(&self.time, &pieces, every, usual),
            None => ((0..self.time.len()).collect(), pieces.clone()),
        };
        if rows.len() < self.time.len() {
            let how = if spec.average { "forces and what is compared are means" } else { "the others are not used" };
            self.notes.push(format!("{} of {} rows are kept, one in {every} s; {how}.", rows.len(), self.time.len()));
        }
        let channel = |Values { quantity, values }: &Values<'_>, is_input: bool| {
            let is_motion = matches!(quantity.kind, Kind::Length | Kind::Angle);
            let values = match quantity.kind {
                Kind::Speed | Kind::AngularSpeed if is_input => mean_velocities(&self.time, values, &rows),
                _ if spec.average && !(is_input && is_motion) => averaged(&self.time, values, &pieces, &rows, every),
                _ => rows.iter().map(|k| values[*k]).collect(),
            };
            Channel { name: quantity.name.clone(), values, sign: quantity.sign }
        };
        let inputs: Vec<Channel> = self.inputs.iter().map(|values| channel(values, true)).collect();
        let compared: Vec<Channel> = self.compared.iter().map(|values| channel(values, false)).collect();
        for Channel { name, values, .. } in &compared {
            let found = values.iter().filter(|v| v.is_finite()).count();
            self.enough(found, &format!("samples of `{name}`"))?;
        }
        let start = self.time[rows[0]];
        let kinds = [&self.inputs, &self.compared].map(|all| all.iter().map(|v| v.quantity.kind).collect::<Vec<_>>());
        let mut recording = Recording {
            name: self.path.display().to_string(),
            time: rows.iter().map(|k| self.time[*k] - start).collect(),
            start,
            pieces: of_kept,
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
    let (runs, rows) = (end.runs.len(), end.runs.iter().map(ExactSizeIterator::len).sum::<usize>());
    format!("`{name}` stays at {value} {unit} in {rows} rows, {runs} times: the end of the sensor's range. ")
}

/// The factor from the numbers of a column to SI units.
fn size(
    path: &Path,
    source: &Source,
    k: usize,
    field: &str,
    kind: Kind,
    unit: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<f64, RecordingError> {
    let wrong = |found: &str, accepted: String| {
        Err(RecordingError::column(path, ParameterError::new(format!("{field}.unit"), found, accepted)))
    };
    let of = |unit: &str| kind.size(unit);
    let is_other = |unit: &str| known(unit).map_or(String::new(), |(kind, _)| format!(" ({})", kind.name()));
    let name = &source.names[k];
    let in_name = in_name(name, kind);
    if let Some(found) = in_name.filter(|found| of(found).is_none()) {
        let accepted = kind.accepted();
        return wrong(&format!("{found}{}, by the column `{name}`", is_other(found)), accepted);
    }
    match (unit, in_name) {
        (Some(unit), by_name) => match (of(unit), by_name.and_then(of)) {
            (None, _) => wrong(&format!("{unit}{}", is_other(unit)), kind.accepted()),
            (Some(size), Some(other)) if size != other => {
                let by_name = by_name.unwrap_or_default();
                wrong(unit, format!("{by_name}, as the column `{name}` says; `scale` corrects a wrong name"))
            }
            (Some(size), _) => Ok(size),
        },
        (None, Some(unit)) => Ok(of(unit).expect("checked above")),
        (None, None) => {
            if !source.is_si {
                notes.push(format!("`{field}` has no unit: {} is assumed.", kind.si()));
            }
            Ok(1.0)
        }
    }
}

/// Brings columns with times of their own to those of the first that is compared, after `inputs` others:
/// along straight lines, and to nothing in their gaps and outside of them. Returns these times.
fn common_times(columns: &mut [Column], inputs: usize, notes: &mut Vec<String>) -> Vec<f64> {
    let own = |column: &Column| column.times.clone().unwrap_or_default();
    let time = own(&columns[inputs]);
    let mut moved = 0;
    for column in columns.iter_mut() {
        let from = own(column);
        if from == time {
            continue;
        }
        moved += 1;
        let mut steps: Vec<f64> = from.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let gap = GAP * median(&mut steps);
        let at = |t: f64| {
            let after = from.partition_point(|own| *own <= t);
            if after > 0 && from[after - 1] == t {
                return column.values[after - 1];
            }
            if after == 0 || after == from.len() || from[after] - from[after - 1] > gap {
                return f64::NAN;
            }
            let share = (t - from[after - 1]) / (from[after] - from[after - 1]);
            column.values[after - 1] + share * (column.values[after] - column.values[after - 1])
        };
        column.values = time.iter().map(|t| at(*t)).collect();
    }
    if moved > 0 {
        notes.push(format!("{moved} columns have other times than the compared one: straight lines between theirs."));
    }
    time.to_vec()
}

/// Takes jumps of a turn out of an angle \[rad\] that stays within one turn; tells whether there were any.
fn unwrap(values: &mut [f64]) -> bool {
    use std::f64::consts::{PI, TAU};
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    // An angle that goes beyond a turn counts the turns itself.
    if finite().fold(f64::NEG_INFINITY, f64::max) - finite().fold(f64::INFINITY, f64::min) > TAU * (1.0 + 1e-6) {
        return false;
    }
    let (mut turns, mut before, mut jumps) = (0.0, f64::NAN, false);
    for v in values.iter_mut().filter(|v| v.is_finite()) {
        if (*v - before).abs() > PI {
            turns -= TAU * (*v - before).signum();
            jumps = true;
        }
        before = *v;
        *v += turns;
    }
    jumps
}
