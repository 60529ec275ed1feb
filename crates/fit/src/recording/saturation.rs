//! Samples of a force at the end of its sensor's range.
//!
//! A sensor that is at its end gives the same number again and again. A force may well be constant, and a
//! sensor slow or its steps coarse: what is repeated elsewhere, too, or is approached in the smallest steps
//! there are, is not taken for the end of a range. That it is one is certain only if all other samples have
//! noise: computed friction without noise has plateaus, too.

use std::ops::Range;

use super::plausible::median;

/// Least length of a run of the same number.
const LEAST_RUN: usize = 5;

/// Least number of other samples, and most of them that repeat the one before.
const LEAST_OTHERS: usize = 10;
const MOST_REPEATED: f64 = 0.2;

/// Least size of the step onto the end of the range, over the smallest step of all.
const LEAST_STEP: f64 = 2.5;

/// Noise changes the sign of the second difference at more than this share of the samples (0.73 of them if
/// each is independent, next to none of a smooth force), by more than so many of the smallest steps.
const LEAST_CHANGES: f64 = 0.3;
const LEAST_NOISE: f64 = 4.0;

/// The largest or smallest value, and the samples at it.
pub(super) struct Saturated {
    /// Whether nothing else explains it.
    pub is_certain: bool,
    pub value: f64,
    pub runs: Vec<Range<usize>>,
}

/// The ends of a sensor's range that `values` were at.
pub(super) fn saturated(values: &[f64]) -> Vec<Saturated> {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let [low, high] = [finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max)];
    let is_between = |v: f64| v > low && v < high;
    let pairs = || values.windows(2).filter(|pair| is_between(pair[0]) && is_between(pair[1]));
    let others = pairs().count();
    let repeated = pairs().filter(|pair| pair[0] == pair[1]).count();
    if others < LEAST_OTHERS || repeated as f64 > MOST_REPEATED * others as f64 {
        return Vec::new();
    }
    let steps = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).filter(|step| *step > 0.0);
    let smallest = steps.fold(f64::INFINITY, f64::min);
    let is_certain = has_noise(values, smallest, is_between);
    let end = |value: f64| {
        let runs = runs(values, value);
        let onto = |run: &&Range<usize>| {
            // One that begins with the recording has no step; one behind a missing number, neither.
            run.start == 0 || !((values[run.start - 1] - value).abs() < LEAST_STEP * smallest)
        };
        let abrupt = runs.iter().filter(onto).count();
        (abrupt * 2 > runs.len()).then_some(Saturated { is_certain, value, runs })
    };
    [high, low].into_iter().filter_map(end).collect()
}

/// Whether the samples that are `between` the ends have noise, above the `smallest` step.
fn has_noise(values: &[f64], smallest: f64, between: impl Fn(f64) -> bool) -> bool {
    let all = |some: &[f64]| some.iter().all(|v| between(*v));
    let second = |some: &[f64]| some[2] - 2.0 * some[1] + some[0];
    let four = || values.windows(4).filter(|some| all(some));
    let changes = four().filter(|some| second(&some[..3]) * second(&some[1..]) < 0.0).count();
    let mut sizes: Vec<f64> = four().map(|some| second(some).abs()).collect();
    changes as f64 > LEAST_CHANGES * sizes.len() as f64 && median(&mut sizes) > LEAST_NOISE * smallest
}

/// Runs of `value`.
fn runs(values: &[f64], value: f64) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = 0;
    for k in 0..=values.len() {
        if k == values.len() || values[k] != value {
            if k - start >= LEAST_RUN {
                runs.push(start..k);
            }
            start = k + 1;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise that repeats in every run of the tests.
    fn noise(k: usize) -> f64 {
        ((k as f64 * 12.9898).sin() * 43_758.545_3).rem_euclid(1.0) - 0.5
    }

    fn wave(k: usize) -> f64 {
        10.0 * (k as f64 * 0.03).sin()
    }

    fn count(values: &[f64]) -> Vec<(f64, usize)> {
        saturated(values).iter().map(|s| (s.value, s.runs.iter().map(ExactSizeIterator::len).sum())).collect()
    }

    #[test]
    fn a_wave_that_is_cut_off_is_found_with_noise_and_without() {
        for size in [0.0, 0.1] {
            let all: Vec<f64> = (0..2000).map(|k| wave(k) + size * noise(k)).collect();
            assert!(saturated(&all).is_empty());
            let cut: Vec<f64> = all.iter().map(|v| v.min(7.0)).collect();
            let found = count(&cut);
            let expected = all.iter().filter(|v| **v >= 7.0).count();
            assert!(found.len() == 1 && found[0].0 == 7.0, "{found:?}");
            assert!(found[0].1 <= expected && found[0].1 + 60 > expected, "{found:?}, {expected}");
            let both: Vec<f64> = all.iter().map(|v| v.clamp(-6.0, 7.0)).collect();
            assert_eq!(count(&both).len(), 2);
            // Without noise it may be a plateau of computed friction.
            assert!(saturated(&both).iter().all(|end| end.is_certain == (size > 0.0)));
            // Rounding is no noise.
            let rounded: Vec<f64> = cut.iter().map(|v| (v * 1e2).round() * 1e-2).collect();
            assert!(size > 0.0 || saturated(&rounded).iter().all(|end| !end.is_certain));
        }
    }

    #[test]
    fn a_force_that_is_constant_or_coarse_is_no_end_of_a_range() {
        // Friction that approaches its limit after every reversal, as computed.
        let plateau = |k: usize| {
            let (stroke, at) = (k / 200, (k % 200) as f64);
            let side = if stroke.is_multiple_of(2) { 1.0 } else { -1.0 };
            side * (1.0 - 2.0 * (-at / 4.0).exp())
        };
        let computed: Vec<f64> = (0..2000).map(plateau).collect();
        // In steps of a sensor, and each number of a slow sensor four times.
        let coarse: Vec<f64> = (0..2000).map(|k| (2.0 * wave(k)).round() * 0.5).collect();
        let slow: Vec<f64> = (0..2000).map(|k| wave(k / 8 * 8) + noise(k / 8)).collect();
        let constant = vec![5.0; 100];
        let step: Vec<f64> = (0..100).map(|k| if k < 50 { 5.0 } else { 8.0 }).collect();
        for values in [computed, coarse, slow, constant, step, vec![], vec![f64::NAN; 30]] {
            assert_eq!(count(&values), []);
        }
    }
}
