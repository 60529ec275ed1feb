//! A contact's inputs cut into intervals at their break points.

use super::interval::{Interval, slot};
use super::signal::{SAME_TIME, Signal, multiples};

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

/// Beyond this [s], break points of [`Timeline::graded`] end: steps are short enough.
const GRADED: f64 = 5e-4;

impl<'a> Timeline<'a> {
    /// Cuts `[0, samples.last()]` at every break point of `feeds`, at every sample time and, if
    /// `remap` says so, at the times at which a pressure map is made anew.
    #[must_use]
    pub fn new(feeds: Vec<Feed<'a>>, samples: &[f64], remap: Option<&Remap>) -> Self {
        let end = samples.last().copied().unwrap_or(0.0);
        let point = |t| Point { t, jump: false, remap: false, record: false };
        let mut points: Vec<Point> = Vec::new();
        let mut jumps = Vec::new();
        for (i, feed) in feeds.iter().enumerate().filter(|(_, f)| f.scale != 0.0) {
            // Signals that are held alike come with the same times: once is enough.
            if !feeds[..i].iter().any(|f| f.scale != 0.0 && feed.signal.breaks_with(f.signal)) {
                feed.signal.breaks(end, &mut jumps);
            }
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

    /// The same with break points at the start, the first after `first` [s] and each twice as far as the one
    /// before, as long as they are before [`GRADED`]: for what is fast there and slow later on.
    #[must_use]
    pub fn graded(mut self, first: f64) -> Self {
        let end = self.points.last().map_or(0.0, |p| p.t);
        let mut t = first;
        while t < end.min(GRADED) {
            if self.points.iter().all(|p| (p.t - t).abs() >= SAME_TIME) {
                self.points.push(Point { t, jump: false, remap: false, record: false });
            }
            t *= 2.0;
        }
        self.points.sort_by(|a, b| a.t.total_cmp(&b.t));
        self
    }

    /// The normal force [N] from which a map is made anew at the start of interval `i`, if there is one and
    /// it is.
    pub(crate) fn remap(&self, i: usize) -> Option<f64> {
        if i < self.len() && self.points[i].remap { self.interval(i).remap } else { None }
    }

    /// Most intervals, and most maps made anew, up to a sample.
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

    /// Most sinusoids of an interval.
    pub(crate) fn most_terms(&self) -> usize {
        self.feeds.iter().map(|feed| feed.signal.most_terms()).sum()
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
            Self::Every(period) => multiples(*period, end).collect(),
            Self::At(times) => times.clone(),
        }
    }
}
