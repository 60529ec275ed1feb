//! The rows of a file: their times and quantities in SI units.

use std::path::Path;

use bristle::error::ParameterError;

use super::error::RecordingError;
use super::plausible::median;
use super::source::{Column, Source};
use super::spec::{ColumnName, Quantity, RecordingSpec, Sign};
use super::units::{Kind, in_name, known, unknown_in_name};

/// A gap is a time so many times as long as usual, if nothing else is said.
pub(super) const GAP: f64 = 5.0;

/// One quantity over the rows.
pub(super) struct Values<'a> {
    pub quantity: Quantity<'a>,
    pub values: Vec<f64>,
}

/// Times and quantities of the rows, in SI units.
pub(super) struct Rows<'a> {
    pub path: &'a Path,
    pub source: Source,
    /// The rows' places in the file, for messages.
    pub place: Vec<usize>,
    pub time: Vec<f64>,
    pub inputs: Vec<Values<'a>>,
    pub compared: Vec<Values<'a>>,
    pub notes: Vec<String>,
}

impl<'a> Rows<'a> {
    pub(super) fn read(mut source: Source, path: &'a Path, spec: &'a RecordingSpec) -> Result<Self, RecordingError> {
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
    pub(super) fn retain(&mut self, is_kept: &[bool]) {
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
            if let Some(found) = unknown_in_name(name).filter(|_| !source.is_si) {
                let accepted = format!("{}; if `{found}` is no unit, a `unit` beside the column", kind.accepted());
                return wrong(&format!("{found}, by the column `{name}`"), accepted);
            }
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
