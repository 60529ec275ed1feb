//! A signal of a scenario file: an input over time whose numbers may be distributions.
#![allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error};

use super::clock::{TimesFrom, told};
use super::columns::{self, Column, Use};
use super::number::{DISTRIBUTIONS, Distribution, Either, Number, number_or_table};
use super::sampler::Sampler;
use bristle::error::ParameterError;
use bristle::range::PERIOD;
use bristle::schedule::{Segment, Signal, Sine, within_run};

/// An input over time: a number, points, sinusoids on a mean, or segments.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalSpec {
    shape: ShapeOverTime,
    /// Sample every so many seconds and hold.
    hold: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
enum ShapeOverTime {
    Number(Number),
    Points(Vec<[Number; 2]>, Interpolate, Option<TimesFrom>),
    Sines(Number, Vec<SineSpec>),
    Segments(Vec<SegmentSpec>),
    /// The contact's row of a column, at these times [s] of the run.
    Recorded(Arc<Column>, Times, Interpolate),
}

/// Times [s] of the numbers in a row.
#[derive(Clone, Debug, PartialEq)]
enum Times {
    /// One after the other, from 0.
    Every(Vec<f64>),
    /// Of the table.
    Given(Vec<f64>, Option<TimesFrom>),
}

impl Times {
    fn all(&self) -> &[f64] {
        match self {
            Self::Every(times) | Self::Given(times, _) => times,
        }
    }
}

/// How many runs points may be outside the run, as where it is shortened for a try; times of another clock
/// are further away.
const SLACK: f64 = 1000.0;

/// What a signal does between its points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolate {
    /// Straight lines; constant before the first and after the last point. The default.
    #[default]
    Linear,
    /// The value of the latest point.
    Constant,
}

impl Interpolate {
    /// The signal through some points, times and values.
    fn through(self, points: &[(f64, f64)]) -> Result<Signal, ParameterError> {
        match self {
            Self::Linear => Signal::linear(points),
            Self::Constant => Signal::steps(points),
        }
    }
}

/// `amplitude sin(2 pi frequency t + phase)`, `t` absolute.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SineSpec {
    /// Amplitude, in the signal's unit.
    pub amplitude: Number,
    /// Frequency [Hz].
    pub frequency: Number,
    /// Phase [rad] at t = 0; 0 if not given.
    #[serde(default = "zero")]
    pub phase: Number,
}

/// From `from` until the next segment: `value + slope (t-from) + curvature (t-from)^2 + sines`.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SegmentSpec {
    /// Start [s]; the first segment also holds before its start.
    pub from: Number,
    /// Value at `from`, in the signal's unit; 0 if not given.
    #[serde(default = "zero")]
    pub value: Number,
    /// Slope at `from` [unit/s]; 0 if not given.
    #[serde(default = "zero")]
    pub slope: Number,
    /// Factor of `(t-from)^2` [unit/s^2]; 0 if not given.
    #[serde(default = "zero")]
    pub curvature: Number,
    /// Sinusoids of absolute time on top.
    #[serde(default)]
    pub sines: Vec<SineSpec>,
}

fn zero() -> Number {
    Number::Constant(0.0)
}

/// The table form of a signal: `points`, `mean` with `sines`, `segments` or a distribution; each may be held.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignalTable {
    /// `[[time [s], value], ..]` in the order of time.
    points: Option<Vec<[Number; 2]>>,
    /// With `points` or a `column` over time: `"linear"` (default) or `"constant"`.
    interpolate: Option<Interpolate>,
    /// With `sines`: the mean value; 0 if not given.
    mean: Option<Number>,
    /// Sinusoids on the mean.
    sines: Option<Vec<SineSpec>>,
    /// Polynomials with sinusoids, one after the other.
    segments: Option<Vec<SegmentSpec>>,
    /// Sample every so many seconds and keep the value until the next sample.
    hold: Option<f64>,
    /// `[low, high]`: a constant drawn for every contact.
    uniform: Option<[f64; 2]>,
    /// `[low, high]`, 0 < low: a constant drawn for every contact.
    log_uniform: Option<[f64; 2]>,
    /// `[mean, standard deviation]`: a constant drawn for every contact.
    normal: Option<[f64; 2]>,
    /// A constant, one of these for every contact.
    choice: Option<Vec<f64>>,
    /// The name of a column of the `[table]`: a constant, or numbers over time with `every` or `times`.
    column: Option<String>,
    /// With a `column` over time: time between its numbers [s], from t = 0.
    every: Option<f64>,
    /// With a `column` over time: the name of the array of its times [s].
    times: Option<String>,
    /// With `points` or `times`: which of their times is t = 0 of the run, `"first"` or a time [s], if they
    /// are of another clock.
    times_from: Option<TimesFrom>,
    /// With `normal`: draws below are drawn again.
    min: Option<f64>,
    /// With `normal`: draws above are drawn again.
    max: Option<f64>,
}

impl From<f64> for SignalSpec {
    fn from(value: f64) -> Self {
        Self { shape: ShapeOverTime::Number(value.into()), hold: None }
    }
}

impl SignalSpec {
    /// The signal of one contact. `path` names the field; `hold` applies where the signal has none of its
    /// own.
    pub(super) fn draw(
        &self,
        path: &str,
        hold: Option<f64>,
        sampler: &mut Sampler<'_>,
    ) -> Result<Signal, ParameterError> {
        let sines = |path: &str, specs: &[SineSpec], sampler: &mut Sampler<'_>| -> Vec<Sine> {
            let sine = |(i, s): (usize, &SineSpec)| Sine {
                amplitude: sampler.listed(format_args!("{path}.{i}.amplitude"), &s.amplitude),
                omega: std::f64::consts::TAU * sampler.listed(format_args!("{path}.{i}.frequency"), &s.frequency),
                phase: sampler.listed(format_args!("{path}.{i}.phase"), &s.phase),
            };
            specs.iter().enumerate().map(sine).collect()
        };
        let signal = match &self.shape {
            ShapeOverTime::Number(n) => Ok(Signal::constant(sampler.number(path, n))),
            ShapeOverTime::Points(points, interpolate, from) => {
                let point = |(i, [t, v]): (usize, &[Number; 2])| {
                    (
                        sampler.listed(format_args!("{path}.points.{i}.0"), t),
                        sampler.listed(format_args!("{path}.points.{i}.1"), v),
                    )
                };
                let mut points: Vec<(f64, f64)> = points.iter().enumerate().map(point).collect();
                if let (Some(from), Some(first)) = (from, points.first()) {
                    let zero = from.zero(first.0);
                    points.iter_mut().for_each(|(t, _)| *t -= zero);
                }
                interpolate.through(&points)
            }
            ShapeOverTime::Recorded(column, times, interpolate) => {
                let row = sampler.row(path, column);
                let points: Vec<(f64, f64)> = times.all().iter().copied().zip(row.iter().copied()).collect();
                interpolate.through(&points)
            }
            ShapeOverTime::Sines(mean, specs) => {
                let mean = sampler.number(&format!("{path}.mean"), mean);
                let sines = sines(&format!("{path}.sines"), specs, sampler);
                Signal::segments(vec![Segment { from: 0.0, c: [mean, 0.0, 0.0], sines }])
            }
            ShapeOverTime::Segments(specs) => {
                let mut segments = Vec::with_capacity(specs.len());
                for (i, s) in specs.iter().enumerate() {
                    let path = format!("{path}.segments.{i}");
                    segments.push(Segment {
                        from: sampler.listed(format_args!("{path}.from"), &s.from),
                        c: [
                            sampler.listed(format_args!("{path}.value"), &s.value),
                            sampler.listed(format_args!("{path}.slope"), &s.slope),
                            sampler.listed(format_args!("{path}.curvature"), &s.curvature),
                        ],
                        sines: sines(&format!("{path}.sines"), &s.sines, sampler),
                    });
                }
                Signal::segments(segments)
            }
        };
        let held = |signal: Signal| match self.hold.or(hold) {
            Some(period) => signal.held(period),
            None => Ok(signal),
        };
        // The error does not know the name of the signal, which is set here.
        signal.and_then(held).map_err(|e| ParameterError { field: path.to_owned(), ..name_part_in_value(e) })
    }
}

impl SignalSpec {
    /// Refuses times of which none, or none but the first, can lie in a run of `duration` [s]; `path` names
    /// the field. Those of points and segments, which a user writes for a longer run, too, may be outside by
    /// [`SLACK`] runs.
    pub(super) fn check_times(&self, path: &str, duration: f64) -> Result<(), ParameterError> {
        let slack = SLACK * duration;
        match &self.shape {
            ShapeOverTime::Number(_) | ShapeOverTime::Sines(..) => Ok(()),
            ShapeOverTime::Points(points, _, from) => {
                let mut times: Vec<[f64; 2]> = points.iter().map(|[t, _]| t.bounds()).collect();
                if let (Some(from), Some([low, high])) = (from, times.first().copied()) {
                    let (low, high) = (from.zero(low), from.zero(high));
                    times.iter_mut().for_each(|t| *t = [t[0] - high, t[1] - low]);
                }
                within_run(path, &times, duration, slack, false).map_err(|e| told(e, *from))
            }
            ShapeOverTime::Recorded(_, times, interpolate) => {
                let all: Vec<[f64; 2]> = times.all().iter().map(|t| [*t; 2]).collect();
                let checked = within_run(path, &all, duration, 0.0, *interpolate == Interpolate::Linear);
                checked.map_err(|e| if let Times::Given(_, from) = times { told(e, *from) } else { e })
            }
            ShapeOverTime::Segments(segments) => {
                let starts: Vec<[f64; 2]> = segments.iter().map(|s| s.from.bounds()).collect();
                // A single one is a function of all times, and several are until the second begins.
                let is_function = starts.len() == 1 || starts.iter().any(|[low, _]| *low <= duration + slack);
                if is_function { Ok(()) } else { within_run(path, &starts, duration, slack, false) }
            }
        }
        .map_err(|e| ParameterError { value: format!("times {}", e.value), ..e })
    }
}

/// Moves the part of a signal that an error is about from the field of the error to its value.
fn name_part_in_value(e: ParameterError) -> ParameterError {
    ParameterError { value: format!("{} ({})", e.value, e.field), ..e }
}

impl<'de> Deserialize<'de> for SignalSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expecting = "a number, a distribution, or a signal: `{ points = [[t, v], ..] }`, `{ mean = .., \
         sines = [..] }`, \
                         `{ segments = [..] }`";
        let t = match number_or_table::<D, SignalTable>(deserializer, expecting)? {
            Either::Number(value) => return Ok(value.into()),
            Either::Table(table) => table,
        };
        let wrong = |message: String| Err(D::Error::custom(message));
        let over_time = t.every.is_some() || t.times.is_some();
        if t.times_from.is_some() && t.points.is_none() && t.times.is_none() {
            return wrong("`times_from` belongs to `points`, or to a `column` with `times`".into());
        }
        let recorded = recorded(&t).map_err(D::Error::custom)?;
        let distribution = Distribution {
            uniform: t.uniform,
            log_uniform: t.log_uniform,
            normal: t.normal,
            choice: t.choice,
            column: t.column.clone().filter(|_| !over_time),
            min: t.min,
            max: t.max,
        };
        let number = distribution.number::<D::Error>()?;
        if t.interpolate.is_some() && t.points.is_none() && !over_time {
            return wrong("`interpolate` belongs to `points`, or to a `column` with `every` or `times`".into());
        }
        if let Some(Err(e)) = t.hold.map(|hold| PERIOD.check("hold", hold)) {
            return wrong(e.to_string());
        }
        let waves = (t.mean.is_some() || t.sines.is_some())
            .then(|| ShapeOverTime::Sines(t.mean.unwrap_or_else(zero), t.sines.unwrap_or_default()));
        let points = t.points.map(|p| ShapeOverTime::Points(p, t.interpolate.unwrap_or_default(), t.times_from));
        let segments = t.segments.map(ShapeOverTime::Segments);
        let forms = [number.map(ShapeOverTime::Number), points, waves, segments, recorded];
        let mut forms: Vec<ShapeOverTime> = forms.into_iter().flatten().collect();
        match (forms.pop(), forms.is_empty()) {
            (Some(ShapeOverTime::Points(p, ..)), true) if p.is_empty() => {
                wrong("points = []: expected at least one".into())
            }
            (Some(ShapeOverTime::Segments(s)), true) if s.is_empty() => {
                wrong("segments = []: expected at least one".into())
            }
            (Some(shape), true) => Ok(Self { shape, hold: t.hold }),
            _ => wrong(format!(
                "expected exactly one of `points`, `mean` with `sines`, `segments`, or a distribution: {DISTRIBUTIONS}"
            )),
        }
    }
}

/// The column over time that a table asks for, if it asks for one.
fn recorded(t: &SignalTable) -> Result<Option<ShapeOverTime>, String> {
    let (Some(name), true) = (&t.column, t.every.is_some() || t.times.is_some()) else {
        // A column of numbers is a distribution, and one over time without its times is refused there.
        return if t.every.is_some() || t.times.is_some() {
            Err("`every` and `times` belong to `column = \"name\"`".into())
        } else {
            Ok(None)
        };
    };
    let column = columns::column(name, Use::Signal)?;
    let times = match (t.every, &t.times) {
        (Some(_), Some(_)) => return Err("`every` and `times`: expected only one of them".into()),
        (Some(every), _) if !(every.is_finite() && every >= 1e-6) => {
            return Err(format!("every = {every}: expected a finite time >= 1e-6 [s]"));
        }
        (Some(every), _) => Times::Every((0..column.width()).map(|k| k as f64 * every).collect()),
        (None, Some(times)) => {
            let mut times = columns::times(times, column.width())?;
            let zero = t.times_from.zip(times.first()).map_or(0.0, |(from, first)| from.zero(*first));
            times.iter_mut().for_each(|t| *t -= zero);
            Times::Given(times, t.times_from)
        }
        (None, None) => Times::Every(Vec::new()),
    };
    Ok(Some(ShapeOverTime::Recorded(column, times, t.interpolate.unwrap_or_default())))
}

impl JsonSchema for SignalSpec {
    fn schema_name() -> Cow<'static, str> {
        "Signal".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<SignalTable>();
        schemars::json_schema!({
            "description": "An input over time: a number, a distribution, points, sinusoids on a mean, or segments.",
            "anyOf": [{ "type": "number" }, table]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use bristle::random::Draw;

    fn signal(text: &str) -> Result<Signal, String> {
        #[derive(serde::Deserialize)]
        struct File {
            x: SignalSpec,
        }
        let spec = toml::from_str::<File>(&format!("x = {text}")).map_err(|e| e.message().to_owned())?.x;
        spec.draw("x", None, &mut Sampler::new(Draw::new(1, 2), &[], false)).map_err(|e| e.to_string())
    }

    #[test]
    fn every_form_has_the_value_it_says() {
        for (text, t, value) in [
            ("4", 1.0, 4.0),
            ("{ points = [[0, 0], [1, 2]] }", 0.25, 0.5),
            ("{ points = [[0, 4], [0.31, 2.9], [0.5, 4]], interpolate = \"constant\" }", 0.4, 2.9),
            ("{ mean = 1.73, sines = [{ amplitude = 0.91, frequency = 2 }] }", 0.125, 2.64),
            ("{ segments = [{ from = 0, slope = 5 }, { from = 0.2, value = 1, curvature = 2 }] }", 1.2, 3.0),
            ("{ points = [[0, 0], [1, 1]], hold = 0.1 }", 0.19, 0.1),
            ("{ points = [[1e9, 0], [1000000001, 2]], times_from = \"first\" }", 0.25, 0.5),
            ("{ points = [[1e9, 0], [1000000001, 2]], times_from = 999999999.5 }", 0.75, 0.5),
        ] {
            assert_relative_eq!(signal(text).unwrap().value(t), value, max_relative = 1e-12);
        }
        assert!((1.0..=2.0).contains(&signal("{ uniform = [1, 2], hold = 0.1 }").unwrap().value(0.3)));
    }

    #[test]
    fn impossible_signals_say_what_is_accepted() {
        for (text, part) in [
            ("true", "a number, a distribution, or a signal"),
            ("{ points = [] }", "at least one"),
            ("{ points = [[0, 1], [0, 2]] }", "a time after the point before"),
            ("{ points = [[0, 1]], sines = [] }", "exactly one of"),
            ("{ every = 0.1 }", "belong to `column"),
            ("{ column = \"grip\" }", "expected a `[table]`"),
            ("{ hold = 0.1 }", "exactly one of"),
            ("{ mean = 1, times_from = \"first\" }", "`times_from` belongs to `points`, or to a `column` with"),
            ("{ points = [[0, 1]], times_from = \"last\" }", "`last`: expected \"first\", or the time [s] that is"),
            ("{ points = [[0, 1]], times_from = nan }", "NaN: expected \"first\""),
            ("{ points = [[0, 1]], times_from = [0] }", "expected \"first\", or the time"),
            ("{ mean = 1, interpolate = \"linear\" }", "belongs to `points`"),
            ("{ points = [[0, 1]], interpolate = \"cubic\" }", "unknown variant `cubic`"),
            ("{ mean = 1, hold = 0 }", "hold = 0: expected a finite number from 1e-6 to 1e9 [s]"),
            ("{ sines = [{ amplitude = 1, frequncy = 2 }] }", "unknown field `frequncy`"),
        ] {
            let message = signal(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
