//! A scalar input over time.

use std::f64::consts::TAU;

use super::interval::{Interval, Term};
use crate::error::ParameterError;
use crate::number::prefetch::prefetch;
use crate::range::{ANGLE, FREQUENCY, PERIOD, Range, TIME};

/// One sinusoid `amplitude sin(omega t + phase)`, `t` absolute.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sine {
    /// Amplitude, in the signal's unit.
    pub amplitude: f64,
    /// Angular frequency [rad/s].
    pub omega: f64,
    /// Phase \[rad\].
    pub phase: f64,
}

/// From `from` until the next segment: `c[0] + c[1] (t-from) + c[2] (t-from)^2 + sum of sinusoids`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Segment {
    /// Start \[s\].
    pub from: f64,
    /// Value, slope and curvature/2 at `from`, in the signal's unit, per s, per s^2.
    pub c: [f64; 3],
    /// Sinusoids of absolute time.
    pub sines: Vec<Sine>,
}

/// A scalar input over time.
///
/// The first segment also holds before its start. With [`Signal::held`] the signal is sampled at
/// `k H` (taking the value of a segment that starts there) and kept until `(k+1) H`.
///
/// ```
/// use bristle::schedule::Signal;
/// let grip = Signal::steps(&[(0.0, 4.0), (0.31, 2.9), (0.5, 4.0)]).unwrap();
/// assert_eq!(grip.value(0.4), 2.9);
/// let ramp = Signal::linear(&[(0.0, 0.0), (1.0, 2.0)]).unwrap();
/// assert_eq!(ramp.value(0.25), 0.5);
/// assert_eq!(ramp.value(3.0), 2.0);
/// assert_eq!(ramp.held(0.1).unwrap().value(0.19), 0.2);
/// ```
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Signal(Values);

/// Most signals are one number, which takes no memory of its own.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
enum Values {
    Constant(f64),
    Curve(Box<Curve>),
}

/// A signal that changes, or that is held.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Curve {
    /// One at least.
    segments: Vec<Segment>,
    hold: Option<f64>,
}

/// Largest slope of a signal over the size of its values [1/s].
const STEEPEST: f64 = 1e9;

/// Two times closer than this \[s\] are one break point.
pub const SAME_TIME: f64 = 1e-9;

impl Signal {
    /// The same value at all times. That it is finite is checked where the signal is used.
    pub const fn constant(value: f64) -> Self {
        Self(Values::Constant(value))
    }

    /// Segments, which are one number if they never change.
    fn of(segments: Vec<Segment>) -> Self {
        match &*segments {
            [Segment { c: [value, 0.0, 0.0], sines, .. }] if sines.is_empty() => Self::constant(*value),
            _ => Self(Values::Curve(Box::new(Curve { segments, hold: None }))),
        }
    }

    /// A mean value and sinusoids on it, as [`Signal::constant`].
    pub fn sines(mean: f64, sines: Vec<Sine>) -> Self {
        Self::of(vec![Segment { from: 0.0, c: [mean, 0.0, 0.0], sines }])
    }

    /// Segments in the order of time.
    ///
    /// # Errors
    /// No segment, a value that is not finite, or starts that do not increase.
    pub fn segments(segments: Vec<Segment>) -> Result<Self, ParameterError> {
        if segments.is_empty() {
            return Err(ParameterError::new("signal", "[]", "at least one segment"));
        }
        for (i, s) in segments.iter().enumerate() {
            if i > 0 && s.from <= segments[i - 1].from {
                return Err(ParameterError::new(
                    format!("start of signal segment {i}"),
                    s.from,
                    format!("a time after the segment before, {} s", segments[i - 1].from),
                ));
            }
        }
        finite(&segments)?;
        Ok(Self::of(segments))
    }

    /// Piecewise constant: from each `(time, value)` on, its value.
    ///
    /// # Errors
    /// As [`Signal::segments`].
    pub fn steps(points: &[(f64, f64)]) -> Result<Self, ParameterError> {
        Self::segments(points.iter().map(|&(from, v)| Segment { from, c: [v, 0.0, 0.0], sines: Vec::new() }).collect())
    }

    /// Piecewise linear through `(time, value)`; constant before the first, from time 0 on, and after the
    /// last.
    ///
    /// # Errors
    /// As [`Signal::segments`].
    pub fn linear(points: &[(f64, f64)]) -> Result<Self, ParameterError> {
        let segment = |i: usize| {
            let (from, v) = points[i];
            let slope = points.get(i + 1).map_or(0.0, |next| (next.1 - v) / (next.0 - from));
            Segment { from, c: [v, slope, 0.0], sines: Vec::new() }
        };
        if let Some(i) = (1..points.len()).find(|&i| points[i].0 <= points[i - 1].0) {
            let before = points[i - 1].0;
            return Err(ParameterError::new(
                format!("time of signal point {i}"),
                points[i].0,
                format!("a time after the point before, {before} s"),
            ));
        }
        let mut segments: Vec<Segment> = (0..points.len()).map(segment).collect();
        if let Some(&(from, v)) = points.first() {
            // The first point's value before it, not its slope continued backwards.
            if from > 0.0 {
                segments.insert(0, Segment { from: 0.0, c: [v, 0.0, 0.0], sines: Vec::new() });
            }
        }
        Self::segments(segments)
    }

    /// The same signal sampled every `period` \[s\] and held. One that is a number stays that.
    ///
    /// # Errors
    /// A period that is not 1e-6 to 1e9 s.
    pub fn held(mut self, period: f64) -> Result<Self, ParameterError> {
        PERIOD.check("hold", period)?;
        if let Values::Curve(curve) = &mut self.0 {
            curve.hold = Some(period);
        }
        Ok(self)
    }

    /// The slope over a parameter of which this signal has `by` more than `other`: `(self - other)/by`. None
    /// if they differ in more than values and amplitudes: in break points, in frequencies or phases, or in
    /// how they are held. The slope is held as they are.
    ///
    /// ```
    /// use bristle::schedule::Signal;
    /// let ramp = |end: f64| Signal::linear(&[(0.0, 1.0), (2.0, end)]).unwrap();
    /// assert_eq!(ramp(5.5).slope(&ramp(4.5), 1.0).unwrap().value(1.0), 0.5);
    /// assert!(ramp(4.0).slope(&Signal::steps(&[(0.0, 1.0), (1.0, 4.0)]).unwrap(), 1.0).is_none());
    /// ```
    pub fn slope(&self, other: &Self, by: f64) -> Option<Self> {
        let segments = |signal: &Self| match &signal.0 {
            Values::Constant(value) => vec![still(*value)],
            Values::Curve(curve) => curve.segments.clone(),
        };
        let sine = |(a, b): (&Sine, &Sine)| {
            let same = a.omega == b.omega && a.phase == b.phase;
            same.then(|| Sine { amplitude: (a.amplitude - b.amplitude) / by, ..*a })
        };
        let segment = |(a, b): (&Segment, &Segment)| {
            let same = a.from == b.from && a.sines.len() == b.sines.len();
            let c = [0, 1, 2].map(|i| (a.c[i] - b.c[i]) / by);
            let sines: Option<Vec<Sine>> = a.sines.iter().zip(&b.sines).map(sine).collect();
            sines.filter(|_| same).map(|sines| Segment { from: a.from, c, sines })
        };
        let (own, others) = (segments(self), segments(other));
        // A signal that never changes is held as any other.
        let held = [self, other].map(|signal| if signal.number().is_some() { None } else { Some(signal.hold()) });
        let hold = match held {
            [Some(own), Some(other)] if own != other => return None,
            [own, other] => own.or(other).flatten(),
        };
        if own.len() != others.len() {
            return None;
        }
        let slopes: Option<Vec<Segment>> = own.iter().zip(&others).map(segment).collect();
        let mut slope = Self::of(slopes?);
        if let Values::Curve(curve) = &mut slope.0 {
            curve.hold = hold;
        }
        Some(slope)
    }

    /// Replaces the signal by [`Signal::constant`]. One that was a curve keeps its memory for the next one.
    pub(crate) fn set_constant(&mut self, value: f64) {
        match &mut self.0 {
            Values::Constant(own) => *own = value,
            Values::Curve(curve) => {
                curve.segments.clear();
                curve.segments.push(still(value));
                curve.hold = None;
            }
        }
    }

    /// Replaces the signal by a straight line from one `[time, value]` to another, constant before and after,
    /// in the memory of the curve that it was before.
    pub(crate) fn set_ramp(&mut self, [start, from]: [f64; 2], [end, to]: [f64; 2]) {
        let slope = (to - from) / (end - start);
        let line = Segment { from: start, c: [from, slope, 0.0], sines: Vec::new() };
        let before = if start > 0.0 { Some(still(from)) } else { None };
        let after = Segment { from: end, ..still(to) };
        let mut curve = match std::mem::replace(&mut self.0, Values::Constant(0.0)) {
            Values::Curve(curve) => curve,
            Values::Constant(_) => Box::new(Curve { segments: Vec::with_capacity(3), hold: None }),
        };
        curve.segments.clear();
        curve.segments.extend(before.into_iter().chain([line, after]));
        curve.hold = None;
        self.0 = Values::Curve(curve);
    }

    /// The number that it is at all times, if it is one and is not held.
    fn number(&self) -> Option<f64> {
        match &self.0 {
            Values::Constant(value) => Some(*value),
            Values::Curve(curve) => match &*curve.segments {
                [Segment { c: [value, 0.0, 0.0], sines, .. }] if sines.is_empty() && curve.hold.is_none() => {
                    Some(*value)
                }
                _ => None,
            },
        }
    }

    /// Checks that no number of the signal is larger than a signal of values in `range` needs: at most its
    /// size, slopes and curvatures at most that in a nanosecond. Errors call it `field`.
    ///
    /// # Errors
    /// The first number of a segment that is out of range.
    pub fn validate(&self, field: &str, range: Range) -> Result<(), ParameterError> {
        let curve = match &self.0 {
            Values::Constant(value) => return Range { least: -range.most, ..range }.check(field, *value),
            Values::Curve(curve) => curve,
        };
        let size = Range { least: -range.most, ..range };
        let steep = Range { least: -STEEPEST * range.most, most: STEEPEST * range.most, unit: "" };
        let omega = Range { least: -TAU * FREQUENCY.most, most: TAU * FREQUENCY.most, unit: "rad/s" };
        for Segment { from, c, sines } in &curve.segments {
            let of_segment = [("value", c[0], size), ("slope", c[1], steep), ("curvature", c[2], steep)];
            let of_sines = sines.iter().flat_map(|sine| {
                [("amplitude", sine.amplitude, size), ("frequency", sine.omega, omega), ("phase", sine.phase, ANGLE)]
            });
            let all = of_segment.into_iter().chain(of_sines).chain([("time", *from, TIME)]);
            for (part, value, range) in all {
                range.check(field, value).map_err(|e| match part {
                    "value" => e,
                    _ => ParameterError { value: format!("{} ({part})", e.value), ..e },
                })?;
            }
        }
        Ok(())
    }

    /// Its segments; none of a constant.
    fn curve(&self) -> &[Segment] {
        match &self.0 {
            Values::Constant(_) => &[],
            Values::Curve(curve) => &curve.segments,
        }
    }

    /// Memory of its segments \[byte\].
    pub fn memory(&self) -> usize {
        let Values::Curve(curve) = &self.0 else { return 0 };
        let sines: usize = curve.segments.iter().map(|s| s.sines.len()).sum();
        size_of::<Curve>() + curve.segments.len() * size_of::<Segment>() + sines * size_of::<Sine>()
    }

    /// Largest number of sinusoids that the signal adds to one interval; a held signal adds none.
    #[cfg(feature = "gpu")]
    pub(crate) fn most_terms(&self) -> usize {
        if self.hold().is_some() { 0 } else { self.curve().iter().map(|s| s.sines.len()).max().unwrap_or(0) }
    }

    /// Angular frequency of the fastest of its sines [rad/s]; 0 without any.
    pub fn fastest(&self) -> f64 {
        self.curve().iter().flat_map(|s| &s.sines).map(|sine| sine.omega.abs()).fold(0.0, f64::max)
    }

    /// Value at `t` \[s\], taking the right limit at jumps.
    pub fn value(&self, t: f64) -> f64 {
        match &self.0 {
            Values::Constant(value) => *value,
            Values::Curve(curve) => curve.value(t),
        }
    }

    /// Value at `t` \[s\], taking the left limit at jumps after time 0.
    pub fn value_before(&self, t: f64) -> f64 {
        match &self.0 {
            Values::Constant(value) => *value,
            Values::Curve(curve) => curve.value_before(t),
        }
    }

    /// Whether the signal never changes.
    pub fn is_constant(&self) -> bool {
        let still = |s: &Segment| {
            s.c[1] == 0.0 && s.c[2] == 0.0 && s.sines.iter().all(|q| q.amplitude == 0.0 || q.omega == 0.0)
        };
        match self.curve() {
            [] => true,
            [one] => still(one),
            _ => false,
        }
    }

    /// How often it is sampled, if it is held [s].
    pub(crate) fn hold(&self) -> Option<f64> {
        if let Values::Curve(curve) = &self.0 { curve.hold } else { None }
    }

    /// How many times [`Signal::breaks`] adds before `end` [s], at most.
    pub(crate) fn count_breaks(&self, end: f64) -> f64 {
        match self.hold() {
            _ if self.is_constant() => 0.0,
            Some(h) => (end / h).ceil(),
            None => self.curve().len() as f64,
        }
    }

    /// Whether its break points are known to be those of `other`, so that they need be counted only once.
    pub(crate) fn shares_breaks_with(&self, other: &Self) -> bool {
        let held_alike = self.hold().is_some() && self.hold() == other.hold();
        std::ptr::eq(self, other) || (held_alike && self.is_constant() == other.is_constant())
    }

    /// Brings what is not in the signal itself into the caches.
    pub(crate) fn prefetch(&self) {
        if let Values::Curve(curve) = &self.0 {
            prefetch(std::slice::from_ref(&**curve));
        }
    }

    /// Calls `add` with the times in `[start, end)` at which the signal or its slope may jump.
    pub(crate) fn breaks(&self, start: f64, end: f64, add: impl FnMut(f64)) {
        if self.is_constant() {
            return;
        }
        match self.hold() {
            Some(h) => multiples(h, start, end).for_each(add),
            None => {
                let segments = self.curve();
                let first = segments.partition_point(|s| s.from <= start - SAME_TIME);
                segments[first..].iter().map(|s| s.from).take_while(|t| *t < end - SAME_TIME).for_each(add);
            }
        }
    }

    /// Adds `scale` times this signal over `[start, start + length]` to `slot` of `interval`.
    pub(super) fn add_to(&self, start: f64, length: f64, scale: f64, slot: usize, interval: &mut Interval) {
        match &self.0 {
            Values::Constant(value) => interval.polynomial(slot)[0] += scale * value,
            Values::Curve(curve) => curve.add_to(start, length, scale, slot, interval),
        }
    }
}

impl Curve {
    /// Value at `t` [s], taking the right limit at jumps.
    fn value(&self, t: f64) -> f64 {
        let t = self.sample_time(t);
        self.value_in(self.segment(t), t)
    }

    /// Value at `t` [s], taking the left limit at jumps.
    fn value_before(&self, t: f64) -> f64 {
        let before = (t - 2.0 * SAME_TIME).max(0.0);
        if self.hold.is_some() { self.value(before) } else { self.value_in(self.segment(before), t) }
    }

    /// Value of segment `s` at `t` [s].
    fn value_in(&self, s: &Segment, t: f64) -> f64 {
        let d = (t - s.from).max(if s.from == self.segments[0].from { f64::NEG_INFINITY } else { 0.0 });
        let waves: f64 = s.sines.iter().map(|q| q.amplitude * (q.omega * t + q.phase).sin()).sum();
        s.c[0] + s.c[1] * d + s.c[2] * d * d + waves
    }

    fn sample_time(&self, t: f64) -> f64 {
        self.hold.map_or(t, |h| ((t + SAME_TIME) / h).floor() * h)
    }

    fn segment(&self, t: f64) -> &Segment {
        let after = self.segments.partition_point(|s| s.from <= t + SAME_TIME);
        &self.segments[after.max(1) - 1]
    }

    /// As [`Signal::add_to`].
    fn add_to(&self, start: f64, length: f64, scale: f64, slot: usize, interval: &mut Interval) {
        if self.hold.is_some() {
            // The value is constant over the interval. It is taken in the middle, where rounding of the ends
            // cannot lead into the next period.
            interval.polynomial(slot)[0] += scale * self.value(start + 0.5 * length);
            return;
        }
        let s = self.segment(start + 0.5 * length);
        let d = start - s.from;
        let [c0, c1, c2] = s.c;
        let c = interval.polynomial(slot);
        c[0] += scale * (c0 + d * (c1 + d * c2));
        c[1] += scale * (c1 + 2.0 * d * c2);
        c[2] += scale * c2;
        let local = |q: &Sine| Term {
            slot,
            amplitude: scale * q.amplitude,
            omega: q.omega,
            phase: (q.omega * start + q.phase).rem_euclid(TAU),
        };
        interval.terms.extend(s.sines.iter().filter(|q| q.amplitude != 0.0).map(local));
    }
}

/// The same value at all times.
const fn still(value: f64) -> Segment {
    Segment { from: 0.0, c: [value, 0.0, 0.0], sines: Vec::new() }
}

/// Checks that all numbers of segments are finite.
fn finite(segments: &[Segment]) -> Result<(), ParameterError> {
    for s in segments {
        let sines = s.sines.iter().flat_map(|q| [q.amplitude, q.omega, q.phase]);
        if let Some(bad) = sines.chain(s.c).chain([s.from]).find(|v| !v.is_finite()) {
            return Err(ParameterError::new("signal", bad, "a signal of finite numbers"));
        }
    }
    Ok(())
}

/// The multiples of `period` [s] in `[start, end)`.
pub(super) fn multiples(period: f64, start: f64, end: f64) -> impl Iterator<Item = f64> {
    let first = ((start - SAME_TIME) / period).ceil().max(0.0) as u64;
    (first..).map(move |k| k as f64 * period).take_while(move |t| *t < end - SAME_TIME)
}

impl PartialEq for Signal {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Values::Curve(own), Values::Curve(other)) => own == other,
            _ => self.number().is_some() && self.number() == other.number(),
        }
    }
}

impl From<f64> for Signal {
    fn from(value: f64) -> Self {
        Self::constant(value)
    }
}
