//! A contact's inputs cut into intervals at their break points.

use super::interval::{Interval, MapKey, slot};
use super::signal::{SAME_TIME, Signal, multiples};

/// One signal that feeds a slot, with a factor.
#[derive(Clone, Copy, Debug)]
pub struct Feed<'a> {
    /// The signal.
    pub signal: &'a Signal,
    /// Its factor.
    pub scale: f64,
    /// The slot.
    pub slot: usize,
}

/// The break points of one contact's inputs and of its samples.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    points: Vec<Point>,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    t: f64,
    jump: bool,
    remap: bool,
    record: bool,
}

/// The part of a contact's time that a [`Timeline`] cuts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Start \[s\].
    pub start: f64,
    /// End \[s\].
    pub end: f64,
    /// Whether an input may jump at the start, whatever the signals say.
    pub jump: bool,
    /// Whether a pressure map that follows the normal force or frames is made anew at the start, whatever the
    /// signals say.
    pub remap: bool,
}

impl Span {
    /// A whole run up to `end` \[s\].
    pub const fn run(end: f64) -> Self {
        Self { start: 0.0, end, jump: true, remap: true }
    }
}

/// The break points of [`Timeline::grade`] end at this time [s]: from there on the usual steps are short
/// enough.
pub const GRADED_UNTIL: f64 = 5e-4;

impl Timeline {
    /// Divides a span into intervals at every break point of `feeds`, at every one of `samples`, which are
    /// recorded, and, if `remap` says so, at the times at which a pressure map is made anew. Earlier
    /// intervals are dropped.
    pub fn cut<'a>(
        &mut self,
        feeds: impl Iterator<Item = Feed<'a>>,
        span: Span,
        samples: &[f64],
        remap: Option<Remap<'_>>,
    ) {
        let Span { start, end, .. } = span;
        let Self { points } = self;
        let point = |t: f64| Point { t: t.max(start), jump: false, remap: false, record: false };
        points.clear();
        // Signals that are held with one period have the same break points, which are added once; so are
        // those of a signal that feeds several slots. Beyond the first few they are sorted out below.
        let mut added: [[Option<&Signal>; 4]; 2] = [[None; 4]; 2];
        feeds.filter(|feed| !feed.signal.is_constant()).for_each(|Feed { signal, .. }| {
            let added = &mut added[usize::from(signal.hold().is_some())];
            if !added.iter().flatten().any(|other| signal.shares_breaks_with(other)) {
                signal.breaks(start, end, |t| points.push(Point { jump: true, ..point(t) }));
                added.iter_mut().find(|place| place.is_none()).into_iter().for_each(|place| *place = Some(signal));
            }
        });
        if let Some(remap) = remap {
            remap.times(start, end, |t| points.push(Point { jump: true, remap: true, ..point(t) }));
        }
        points
            .extend(samples.iter().filter(|t| **t > start && **t <= end).map(|&t| Point { record: true, ..point(t) }));
        points.push(Point { jump: span.jump, remap: span.remap && remap.is_some(), ..point(start) });
        points.push(point(end));
        points.sort_by(|a, b| a.t.total_cmp(&b.t));
        points.dedup_by(|b, a| {
            let same = b.t - a.t < SAME_TIME;
            if same {
                if b.record || b.t == end {
                    a.t = b.t;
                }
                a.jump |= b.jump;
                a.remap |= b.remap;
                a.record |= b.record;
            }
            same
        });
    }

    /// Adds break points `first` \[s\] after time 0, and each twice as far as the one before, as long as they
    /// are before `GRADED_UNTIL`: for motion that is fast at the start and slow later on.
    pub fn grade(&mut self, first: f64) {
        let (Some(start), Some(end)) = (self.points.first().map(|p| p.t), self.points.last().map(|p| p.t)) else {
            return;
        };
        let mut t = first;
        while t < end.min(GRADED_UNTIL) {
            if t > start && self.points.iter().all(|p| (p.t - t).abs() >= SAME_TIME) {
                self.points.push(Point { t, jump: false, remap: false, record: false });
            }
            t *= 2.0;
        }
        self.points.sort_by(|a, b| a.t.total_cmp(&b.t));
    }

    /// Whether a map is made anew at the start of interval `i`, if there is one.
    pub(crate) fn remaps(&self, i: usize) -> bool {
        i < self.len() && self.points[i].remap
    }

    /// Largest number of intervals between two samples, and largest number of maps made anew between two
    /// samples.
    #[cfg(feature = "gpu")]
    pub(crate) fn densest(&self) -> [usize; 2] {
        let (mut most, mut here) = ([0; 2], [0; 2]);
        for pair in self.points.windows(2) {
            here = [here[0] + 1, here[1] + usize::from(pair[0].remap)];
            most = [most[0].max(here[0]), most[1].max(here[1])];
            if pair[1].record {
                here = [0; 2];
            }
        }
        most
    }

    /// Number of intervals.
    pub fn len(&self) -> usize {
        self.points.len().saturating_sub(1)
    }

    /// Whether there is no interval: a run of no length.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Start of interval `i` [s].
    pub(crate) fn start(&self, i: usize) -> f64 {
        self.points[i].t
    }

    /// The first break point of a signal that is none here [s].
    pub(crate) fn misses(&self, signal: &Signal) -> Option<f64> {
        let end = self.points.last()?.t;
        let mut times = Vec::new();
        signal.breaks(0.0, end, |t| times.push(t));
        let near = |t: f64, at: usize| self.points.get(at).is_some_and(|p| (p.t - t).abs() < SAME_TIME);
        times.into_iter().find(|&t| {
            let after = self.points.partition_point(|p| p.t < t);
            !near(t, after) && !(after > 0 && near(t, after - 1))
        })
    }

    /// Writes interval `i` of the inputs `feeds` to `interval`, whose memory is used again. A map that is
    /// made anew is one that follows the normal force.
    pub fn interval<'a>(&self, feeds: impl Iterator<Item = Feed<'a>>, i: usize, interval: &mut Interval) {
        let (a, b) = (self.points[i], self.points[i + 1]);
        interval.terms.clear();
        interval.parts.clear();
        let (terms, parts) = (std::mem::take(&mut interval.terms), std::mem::take(&mut interval.parts));
        *interval = Interval { length: b.t - a.t, jump: a.jump, record: b.record, terms, parts, ..Interval::default() };
        let length = interval.length;
        // `for_each` would move the iterator, of 400 bytes, from each of its parts to the next.
        for Feed { signal, scale, slot } in feeds {
            signal.add_to(a.t, length, scale, slot, interval);
        }
        if a.remap {
            interval.remap = Some(MapKey::Force(interval.inputs(0.0)[slot::F_N]));
        }
    }
}

/// When a pressure map that changes is made anew.
#[derive(Clone, Copy, Debug)]
pub enum Remap<'a> {
    /// Every so many seconds.
    Every(f64),
    /// At the break points of a signal.
    With(&'a Signal),
    /// At times \[s\] that increase.
    At(&'a [f64]),
}

impl Remap<'_> {
    /// Calls `add` with the times in `[start, end)` at which the map is made anew.
    fn times(self, start: f64, end: f64, add: impl FnMut(f64)) {
        match self {
            Self::Every(period) => multiples(period, start, end).for_each(add),
            Self::With(signal) => signal.breaks(start, end, add),
            Self::At(times) => {
                let first = times.partition_point(|t| *t <= start - SAME_TIME);
                times[first..].iter().copied().take_while(|t| *t < end - SAME_TIME).for_each(add);
            }
        }
    }
}
