//! Inputs over time: constants, piecewise points, polynomials and sums of sinusoids, sampled and
//! held if wanted.
//!
//! An engine never evaluates a [`Signal`] at large absolute times: a contact's inputs are cut into
//! [`Interval`]s between break points, each with its own local time, which keeps single precision
//! exact at the end of a long run.

use crate::error::ParameterError;

/// One sinusoid `amplitude sin(omega t + phase)`, `t` absolute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sine {
    /// Amplitude, in the signal's unit.
    pub amplitude: f64,
    /// Angular frequency [rad/s].
    pub omega: f64,
    /// Phase [rad].
    pub phase: f64,
}

/// From `from` until the next segment: `c[0] + c[1] (t-from) + c[2] (t-from)^2 + sum of sinusoids`.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Start [s].
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
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    segments: Vec<Segment>,
    hold: Option<f64>,
}

/// Two times closer than this [s] are one break point.
const SAME_TIME: f64 = 1e-9;

impl Signal {
    /// The same value at all times.
    #[must_use]
    pub fn constant(value: f64) -> Self {
        Self { segments: vec![Segment { from: 0.0, c: [value, 0.0, 0.0], sines: Vec::new() }], hold: None }
    }

    /// A mean value and sinusoids on it.
    #[must_use]
    pub fn sines(mean: f64, sines: Vec<Sine>) -> Self {
        Self { segments: vec![Segment { from: 0.0, c: [mean, 0.0, 0.0], sines }], hold: None }
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
            let sines = s.sines.iter().flat_map(|q| [q.amplitude, q.omega, q.phase]);
            if let Some(bad) = sines.chain(s.c).chain([s.from]).find(|v| !v.is_finite()) {
                return Err(ParameterError::new(format!("signal segment {i}"), bad, "finite numbers"));
            }
            if i > 0 && s.from <= segments[i - 1].from {
                return Err(ParameterError::new(
                    format!("start of signal segment {i}"),
                    s.from,
                    format!("a time after the segment before, {} s", segments[i - 1].from),
                ));
            }
        }
        Ok(Self { segments, hold: None })
    }

    /// Piecewise constant: from each `(time, value)` on, its value.
    ///
    /// # Errors
    /// As [`Signal::segments`].
    pub fn steps(points: &[(f64, f64)]) -> Result<Self, ParameterError> {
        Self::segments(points.iter().map(|&(from, v)| Segment { from, c: [v, 0.0, 0.0], sines: Vec::new() }).collect())
    }

    /// Piecewise linear through `(time, value)`; constant before the first and after the last.
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

    /// The same signal sampled every `period` [s] and held.
    ///
    /// # Errors
    /// A period that is not a finite number > 0.
    pub fn held(mut self, period: f64) -> Result<Self, ParameterError> {
        crate::friction::check("hold", period, "a finite period >= 1e-6 s", period >= 1e-6)?;
        self.hold = Some(period);
        Ok(self)
    }

    /// Value at `t` [s], taking the right limit at jumps.
    #[must_use]
    pub fn value(&self, t: f64) -> f64 {
        let t = self.sample_time(t);
        let s = self.segment(t);
        let d = (t - s.from).max(if s.from == self.segments[0].from { f64::NEG_INFINITY } else { 0.0 });
        let waves: f64 = s.sines.iter().map(|q| q.amplitude * (q.omega * t + q.phase).sin()).sum();
        s.c[0] + s.c[1] * d + s.c[2] * d * d + waves
    }

    /// Whether the signal never changes.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        let still = |s: &Segment| {
            s.c[1] == 0.0 && s.c[2] == 0.0 && s.sines.iter().all(|q| q.amplitude == 0.0 || q.omega == 0.0)
        };
        self.segments.len() == 1 && still(&self.segments[0])
    }

    fn sample_time(&self, t: f64) -> f64 {
        self.hold.map_or(t, |h| ((t + SAME_TIME) / h).floor() * h)
    }

    fn segment(&self, t: f64) -> &Segment {
        let after = self.segments.partition_point(|s| s.from <= t + SAME_TIME);
        &self.segments[after.max(1) - 1]
    }

    /// Adds the times in `(0, end)` at which the signal or its slope may jump.
    fn breaks(&self, end: f64, out: &mut Vec<f64>) {
        if self.is_constant() {
            return;
        }
        match self.hold {
            Some(h) => out.extend((1..).map(|k| f64::from(k) * h).take_while(|t| *t < end - SAME_TIME)),
            None => out.extend(self.segments.iter().map(|s| s.from).filter(|t| *t > SAME_TIME && *t < end - SAME_TIME)),
        }
    }

    /// Adds `scale` times this signal over `[start, start + length]` to `slot` of `interval`.
    fn add_to(&self, start: f64, length: f64, scale: f64, slot: usize, interval: &mut Interval) {
        if self.hold.is_some() {
            // Sampled once; the middle of the interval is safely inside the held period.
            interval.c[slot][0] += scale * self.value(start + 0.5 * length);
            return;
        }
        let s = self.segment(start + 0.5 * length);
        let d = start - s.from;
        let [c0, c1, c2] = s.c;
        interval.c[slot][0] += scale * (c0 + d * (c1 + d * c2));
        interval.c[slot][1] += scale * (c1 + 2.0 * d * c2);
        interval.c[slot][2] += scale * c2;
        let local = |q: &Sine| Term {
            slot,
            amplitude: scale * q.amplitude,
            omega: q.omega,
            phase: (q.omega * start + q.phase).rem_euclid(std::f64::consts::TAU),
        };
        interval.terms.extend(s.sines.iter().filter(|q| q.amplitude != 0.0).map(local));
    }
}

impl From<f64> for Signal {
    fn from(value: f64) -> Self {
        Self::constant(value)
    }
}

/// Slots of an interval: what an engine needs to know of the inputs.
pub mod slot {
    /// Normal force of one pad [N].
    pub const F_N: usize = 0;
    /// First of three: load wrench at the centre of mass, or the prescribed twist at the patch origin.
    pub const LOAD: usize = 1;
    /// Coulomb coefficient [-].
    pub const MU_C: usize = 4;
    /// Static coefficient [-].
    pub const MU_S: usize = 5;
    /// Number of slots.
    pub const COUNT: usize = 6;
}

/// A sinusoid of an interval, in local time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// Which input it is part of.
    pub slot: usize,
    /// Amplitude, in the input's unit.
    pub amplitude: f64,
    /// Angular frequency [rad/s].
    pub omega: f64,
    /// Phase at the interval's start [rad].
    pub phase: f64,
}

/// The inputs between two break points, as functions of the time `tau` since the first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Length [s].
    pub length: f64,
    /// Whether an input may jump or kink at the start.
    pub jump: bool,
    /// Whether a sample is recorded at the end.
    pub record: bool,
    /// Normal force [N] from which the pressure map is made anew at the start, if it is.
    pub remap: Option<f64>,
    /// Polynomial coefficients of every slot.
    pub c: [[f64; 3]; slot::COUNT],
    /// Sinusoids of all slots.
    pub terms: Vec<Term>,
}

impl Interval {
    /// All inputs at local time `tau` [s]; a negative normal force is no contact, 0.
    #[must_use]
    pub fn inputs(&self, tau: f64) -> [f64; slot::COUNT] {
        let mut v = self.c.map(|[c0, c1, c2]| c0 + tau * (c1 + tau * c2));
        for q in &self.terms {
            v[q.slot] += q.amplitude * (q.omega * tau + q.phase).sin();
        }
        v[slot::F_N] = v[slot::F_N].max(0.0);
        v
    }
}

/// One signal that feeds a slot, with a factor.
#[derive(Clone, Debug)]
pub struct Feed<'a> {
    /// The signal.
    pub signal: &'a Signal,
    /// Its factor.
    pub scale: f64,
    /// The slot.
    pub slot: usize,
}

/// The break points of one contact's inputs and of its samples, and the intervals between them.
#[derive(Clone, Debug)]
pub struct Timeline<'a> {
    feeds: Vec<Feed<'a>>,
    points: Vec<Point>,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    t: f64,
    jump: bool,
    remap: bool,
    record: bool,
}

impl<'a> Timeline<'a> {
    /// Cuts `[0, samples.last()]` at every break point of `feeds`, at every sample time and, if
    /// `remap` says so, at the times at which a pressure map is made anew.
    #[must_use]
    pub fn new(feeds: Vec<Feed<'a>>, samples: &[f64], remap: Option<&Remap>) -> Self {
        let end = samples.last().copied().unwrap_or(0.0);
        let point = |t| Point { t, jump: false, remap: false, record: false };
        let mut points: Vec<Point> = Vec::new();
        let mut jumps = Vec::new();
        for feed in feeds.iter().filter(|f| f.scale != 0.0) {
            feed.signal.breaks(end, &mut jumps);
        }
        points.extend(jumps.into_iter().map(|t| Point { jump: true, ..point(t) }));
        if let Some(remap) = remap {
            points.extend(remap.times(end).into_iter().map(|t| Point { jump: true, remap: true, ..point(t) }));
        }
        points.extend(samples.iter().filter(|t| **t > 0.0).map(|&t| Point { record: true, ..point(t) }));
        points.push(Point { jump: true, remap: remap.is_some(), ..point(0.0) });
        points.sort_by(|a, b| a.t.total_cmp(&b.t));
        points.dedup_by(|b, a| {
            let same = b.t - a.t < SAME_TIME;
            if same {
                if b.record {
                    a.t = b.t;
                }
                a.jump |= b.jump;
                a.remap |= b.remap;
                a.record |= b.record;
            }
            same
        });
        Self { feeds, points }
    }

    /// Number of intervals.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len() - 1
    }

    /// Whether there is no interval: a run of no length.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Interval `i`.
    #[must_use]
    pub fn interval(&self, i: usize) -> Interval {
        let (a, b) = (self.points[i], self.points[i + 1]);
        let mut interval = Interval { length: b.t - a.t, jump: a.jump, record: b.record, ..Interval::default() };
        for feed in self.feeds.iter().filter(|f| f.scale != 0.0) {
            feed.signal.add_to(a.t, interval.length, feed.scale, feed.slot, &mut interval);
        }
        if a.remap {
            interval.remap = Some(interval.inputs(0.0)[slot::F_N]);
        }
        interval
    }
}

/// When a pressure map that depends on the normal force is made anew.
#[derive(Clone, Debug, PartialEq)]
pub enum Remap {
    /// Every so many seconds.
    Every(f64),
    /// At these break points.
    At(Vec<f64>),
}

impl Remap {
    /// At every break point of `signal` before `end`.
    #[must_use]
    pub fn with(signal: &Signal, end: f64) -> Self {
        let mut times = Vec::new();
        signal.breaks(end, &mut times);
        Self::At(times)
    }

    fn times(&self, end: f64) -> Vec<f64> {
        match self {
            Self::Every(period) => (1..).map(|k| f64::from(k) * period).take_while(|t| *t < end - SAME_TIME).collect(),
            Self::At(times) => times.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn feed(signal: &Signal, slot: usize) -> Feed<'_> {
        Feed { signal, scale: 1.0, slot }
    }

    #[test]
    fn intervals_reproduce_their_signals_from_the_left_at_their_ends() {
        let wave = vec![Sine { amplitude: 0.4, omega: 18.8, phase: 0.3 }];
        let load = Signal::segments(vec![
            Segment { from: 0.0, c: [0.0, 5.0, 0.0], sines: vec![] },
            Segment { from: 0.2, c: [1.0, 0.0, 2.0], sines: wave },
        ])
        .unwrap();
        let grip = load.clone().held(0.03).unwrap();
        let samples = [0.1, 0.2, 0.35];
        let timeline = Timeline::new(vec![feed(&load, slot::LOAD), feed(&grip, slot::F_N)], &samples, None);
        let (mut t, mut recorded) = (0.0, Vec::new());
        for i in 0..timeline.len() {
            let interval = timeline.interval(i);
            for share in [1e-3, 0.4, 0.999] {
                let tau = share * interval.length;
                let v = interval.inputs(tau);
                assert_relative_eq!(v[slot::LOAD], load.value(t + tau), epsilon = 1e-12);
                assert_relative_eq!(v[slot::F_N], grip.value(t + tau), epsilon = 1e-12);
            }
            t += interval.length;
            if interval.record {
                recorded.push(t);
            }
        }
        assert_relative_eq!(t, 0.35, epsilon = 1e-15);
        for (a, b) in recorded.iter().zip(samples) {
            assert_relative_eq!(*a, b, epsilon = 1e-15);
        }
        // At 0.2 the ramp has reached 1 from the left while the next segment starts elsewhere.
        let before: Vec<Interval> = (0..timeline.len()).map(|i| timeline.interval(i)).collect();
        let ends_at_02 = before.iter().filter(|i| i.record).nth(1).unwrap();
        assert_relative_eq!(ends_at_02.inputs(ends_at_02.length)[slot::LOAD], 1.0, epsilon = 1e-12);
    }

    #[test]
    fn break_points_that_coincide_up_to_rounding_are_one() {
        let grip = Signal::sines(2.0, vec![Sine { amplitude: 1.0, omega: 6.0, phase: 0.0 }]).held(0.01).unwrap();
        let samples: Vec<f64> = (0..=200).map(|k| f64::from(k) * 2.0 / 200.0).collect();
        let timeline = Timeline::new(vec![feed(&grip, slot::F_N)], &samples, Some(&Remap::with(&grip, 2.0)));
        assert_eq!(timeline.len(), 200);
        for i in 0..200 {
            let interval = timeline.interval(i);
            assert!(interval.record && interval.jump);
            assert_relative_eq!(interval.remap.unwrap(), grip.value(f64::from(i as u32) * 0.01), epsilon = 1e-12);
        }
    }

    #[test]
    fn impossible_signals_are_refused() {
        assert!(Signal::steps(&[]).is_err());
        assert!(Signal::linear(&[(0.0, 1.0), (0.0, 2.0)]).is_err());
        assert!(Signal::steps(&[(0.0, f64::NAN)]).is_err());
        assert!(Signal::constant(1.0).held(0.0).is_err());
    }

    #[test]
    fn a_linear_signal_is_constant_outside_its_points() {
        let s = Signal::linear(&[(0.5, 1.0), (1.0, 3.0)]).unwrap();
        for (t, v) in [(0.0, 1.0), (0.5, 1.0), (0.75, 2.0), (1.0, 3.0), (9.0, 3.0)] {
            assert_relative_eq!(s.value(t), v, epsilon = 1e-14);
        }
    }
}
