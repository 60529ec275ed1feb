//! The number of passes of a dispatch, chosen so that it takes about a given time: drivers abort long
//! dispatches, and a desktop does not respond while one runs.

use std::time::Duration;

/// Device time of one dispatch.
const BUDGET_HARDWARE: Duration = Duration::from_millis(50);
/// The same on a software adapter, where long dispatches are not aborted but progress should be reported.
const BUDGET_SOFTWARE: Duration = Duration::from_millis(500);
/// Passes of the first dispatch on hardware, when no pass has been timed yet.
const FIRST: u32 = 64;
/// Largest ratio of the passes of a dispatch to those of the one before.
const GROWTH: f64 = 4.0;

/// Passes of the next dispatch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    passes: u32,
    budget: Duration,
}

impl Pace {
    pub(super) const fn new(software: bool) -> Self {
        if software {
            Self { passes: u32::MAX, budget: BUDGET_SOFTWARE }
        } else {
            Self { passes: FIRST, budget: BUDGET_HARDWARE }
        }
    }

    /// Passes of the next dispatch, of at most `most`.
    pub(super) fn passes(&self, most: u32) -> u32 {
        self.passes.min(most)
    }

    /// Updates the number from dispatches of at most `most` passes that did `passes` in the time `took`. If
    /// the device had already finished when it was asked (`!busy`), `took` is only an upper bound, and the
    /// number may grow but not fall.
    pub(super) fn learn(&mut self, most: u32, passes: u32, took: Duration, busy: bool) {
        if passes == 0 {
            return;
        }
        let each = took.as_secs_f64() / f64::from(passes);
        let fits = (self.budget.as_secs_f64() / each).clamp(1.0, GROWTH * f64::from(self.passes.min(most))) as u32;
        if busy || fits > self.passes {
            self.passes = fits;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that takes `each` seconds a pass.
    fn settle(pace: &mut Pace, each: f64, most: u32) -> Vec<f64> {
        let run = |_| {
            let n = pace.passes(most);
            pace.learn(most, n, Duration::from_secs_f64(f64::from(n) * each), true);
            f64::from(n) * each
        };
        (0..12).map(run).collect()
    }

    #[test]
    fn a_dispatch_soon_takes_its_budget_on_fast_and_slow_devices() {
        for each in [1e-6, 1e-4, 5e-3] {
            let took = settle(&mut Pace::new(false), each, u32::MAX);
            assert!(took[..].iter().all(|t| *t <= 0.0501 || *t == f64::from(FIRST) * each), "{took:?}");
            assert!(took[11] > 0.04, "{each} s a pass: {took:?}");
        }
        assert!(settle(&mut Pace::new(false), 1.0, u32::MAX)[1..].iter().all(|t| *t == 1.0), "one pass at least");
        assert!(settle(&mut Pace::new(true), 1e-9, 500).iter().all(|t| *t <= 5.01e-7), "never more than the most");
    }

    #[test]
    fn a_host_that_comes_late_does_not_slow_the_device() {
        let mut pace = Pace::new(false);
        settle(&mut pace, 1e-4, u32::MAX);
        let before = pace;
        pace.learn(u32::MAX, 500, Duration::from_secs(1), false);
        assert_eq!(pace, before);
    }
}
