//! Positions that are coarse or noisy beside the motion between samples, as those of an encoder that is read
//! often: velocities are their differences.

use super::plausible::median;
use super::{Channel, Recording};
use crate::noise::resolution;
use crate::report::digits;

/// Share of the motion between samples above which the noise of positions is said.
const COARSE: f64 = 0.2;

/// Positions are those of a counter if the next change differs by a step after more than this share of the
/// changes.
const FLICKERS: f64 = 0.1;

/// Positions whose noise or resolution is large beside the motion between samples: the velocities of the
/// model are their differences.
pub(super) fn note(recording: &Recording) -> Option<String> {
    let (name, off, between) = coarseness(recording)?;
    let n = recording.time.len();
    let usual = (recording.time[n - 1] - recording.time[0]) / (n - 1) as f64;
    (off > COARSE * between).then(|| {
        format!(
            "`{name}` is known to {} and moves by {} between samples: velocities are differences of positions, and \
             noise here; `every = {}` s evens it out.",
            digits(off),
            digits(between),
            digits(usual * apart(off, between))
        )
    })
}

/// Number of samples between which a motion is ten times what its positions are off.
fn apart(off: f64, between: f64) -> f64 {
    (10.0 * off / between).ceil().max(1.0)
}

/// Number of samples over which recorded positions show a speed: 1 of positions that are fine enough.
pub(crate) fn samples_of_a_speed(recording: &Recording) -> usize {
    let coarse = coarseness(recording).filter(|(_, off, between)| *off > COARSE * between);
    coarse.map_or(1, |(_, off, between)| (apart(off, between) as usize).min(recording.time.len() / 10).max(1))
}

/// The position that is least exact beside the motion between samples, by how much the difference of two
/// samples is off, and that motion.
fn coarseness(recording: &Recording) -> Option<(String, f64, f64)> {
    let all = || recording.inputs.iter().filter(|c| c.name.starts_with("position.") && c.values.len() > 20);
    let is_turn = |c: &&Channel| c.name == "position.theta";
    let (turns, moves): (Vec<&Channel>, Vec<&Channel>) = all().partition(is_turn);
    let some = if moves.is_empty() { turns } else { moves };
    let n = some.first()?.values.len();
    // Over many samples noise hardly shows.
    let stride = (n / 200).max(2);
    let way = |i: usize| some.iter().map(|c| (c.values[i + stride] - c.values[i]).powi(2)).sum::<f64>().sqrt();
    let ways: Vec<f64> = (0..n - stride).step_by(stride).map(way).filter(|w| w.is_finite()).collect();
    let most = ways.iter().copied().fold(0.0, f64::max);
    let between = median(&mut ways.into_iter().filter(|w| *w > 0.1 * most).collect::<Vec<f64>>()) / stride as f64;
    let off = |c: &&Channel| {
        let step = resolution(&c.values);
        let is_counted = step > 0.1 * between && is_counted(&c.values, step);
        (if is_counted { step / 6.0f64.sqrt() } else { 2.0f64.sqrt() * noise_of(&c.values) }, c.name.clone())
    };
    let (off, name) = some.iter().map(off).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (between > 0.0).then_some((name, off, between))
}

/// Whether these are the steps of a counter: all changes are a few of them, and one change often differs by
/// one step from the next. Where it seldom does, as of a drive that moves by whole steps, positions are
/// exact.
fn is_counted(values: &[f64], step: f64) -> bool {
    let steps: Vec<f64> = values.windows(2).map(|w| (w[1] - w[0]) / step).filter(|n| n.is_finite()).collect();
    let flickers = steps.windows(2).filter(|w| (w[1] - w[0]).abs().round() == 1.0).count();
    let moves = steps.iter().filter(|n| **n != 0.0).count();
    steps.iter().all(|n| (n - n.round()).abs() < 0.01) && flickers as f64 > FLICKERS * moves as f64
}

/// The noise of positions by their second to sixth differences: of motion that bends between samples the
/// higher ones have less.
pub(super) fn noise_of(values: &[f64]) -> f64 {
    let (mut differences, mut least) = (values.to_vec(), f64::INFINITY);
    // The root of the sum of the squares of binomial coefficients.
    for root in [6.0f64, 70.0, 924.0].map(f64::sqrt) {
        for _ in 0..2 {
            differences = differences.windows(2).map(|w| w[1] - w[0]).collect();
        }
        let mut sizes: Vec<f64> = differences.iter().map(|d| d.abs()).filter(|d| d.is_finite()).collect();
        least = least.min(median(&mut sizes) / (0.6745 * root));
    }
    least
}
