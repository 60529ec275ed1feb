//! How well each unknown is known: 90 % intervals of least squares whose residuals are correlated.
//!
//! Near the minimum the estimate has the covariance `A^-1 B A^-1`, `A = J^T W J`, `B = J^T Omega J` with the
//! covariance `Omega` of the weighted residuals as autoregressions (`noise.rs`): the sandwich of Huber (1967)
//! and White (1980), corrected for what the fit has taken from the residuals (`drawn.rs`). Where the problem
//! is not linear as far as the interval reaches, its ends are those values at which the cost of the best fit,
//! the others free, has risen by `t^2 C_jj/(2 (A^-1)_jj)`: a profile likelihood scaled as of Pace, Salvan &
//! Sartori (Statistica Sinica 21, 2011). `t` is Student's.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};

use crate::drawn::{Calibration, Fitted};
use crate::noise::Autoregression;
use crate::trust_region::{Evaluate, Found, Loss, Settings, Start, minimise};

/// The covariance of the estimate, and what it comes from.
#[derive(Clone, Debug)]
pub struct Spread {
    /// Of the free unknowns, in coordinates.
    pub covariance: DMatrix<f64>,
    /// `A^-1`.
    pub inverse: DMatrix<f64>,
    /// The free unknowns.
    pub free: Vec<usize>,
    /// Degrees of freedom of the covariance, at least 2.
    pub freedom: f64,
    /// Number of independent samples.
    pub effective: f64,
    /// The residuals of each segment.
    pub processes: Vec<Autoregression>,
}

/// An interval of coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The ends.
    pub ends: [f64; 2],
    /// Whether the data set the end; else it is a bound.
    pub closed: [bool; 2],
    /// Whether it comes from the profile.
    pub is_profile: bool,
}

/// Student's 95 % quantile: with it, a 90 % interval has 5 % on each side (Hill 1970, by its expansion).
pub fn quantile(freedom: f64) -> f64 {
    const Z: f64 = 1.644_853_626_951_472_7;
    let (z2, n) = (Z * Z, freedom.max(2.0));
    let first = Z * (z2 + 1.0) / 4.0;
    let second = Z * (5.0 * z2 * z2 + 16.0 * z2 + 3.0) / 96.0;
    let third = Z * (3.0 * z2.powi(3) + 19.0 * z2 * z2 + 17.0 * z2 - 15.0) / 384.0;
    Z + first / n + second / (n * n) + third / n.powi(3)
}

/// The covariance at a minimum; none if the unknowns that are free cannot be told at all. The rows behind the
/// `segments` are priors.
pub fn spread(found: &Found, free: &[usize], segments: &[Range<usize>], loss: Loss) -> Option<Spread> {
    let linear = &found.linear;
    let weights = linear.residual.map(|r| loss.weight(r));
    let jacobian = linear.jacobian.select_columns(free);
    let mut weighted = jacobian.clone();
    weighted.row_iter_mut().zip(&weights).for_each(|(mut row, w)| row *= *w);
    let curvature = weighted.tr_mul(&jacobian);
    // Coordinates may differ in size by many orders: scaled to ones on the diagonal.
    let scale = DVector::from_iterator(free.len(), (0..free.len()).map(|i| curvature[(i, i)].sqrt().recip()));
    if scale.iter().any(|s| !s.is_finite()) {
        return None;
    }
    let scaled = DMatrix::from_fn(free.len(), free.len(), |i, j| curvature[(i, j)] * scale[i] * scale[j]);
    let inverse = scaled.cholesky()?.inverse();
    let inverse = DMatrix::from_fn(free.len(), free.len(), |i, j| inverse[(i, j)] * scale[i] * scale[j]);
    let fitted = Fitted { jacobian: &jacobian, weights: &weights, inverse: &inverse, segments };
    let (covariance, processes) = fitted.covariance(&linear.residual.component_mul(&weights));
    let Calibration { ratio, freedom } = fitted.calibration(&covariance, &processes);
    let covariance = DMatrix::from_fn(free.len(), free.len(), |i, j| covariance[(i, j)] * (ratio[i] * ratio[j]).sqrt());
    let effective = segments.iter().zip(&processes).map(|(s, process)| process.effective(s.len())).sum();
    Some(Spread { covariance, inverse, free: free.to_vec(), freedom, effective, processes })
}

impl Spread {
    /// The standard deviation of the free unknown at place `k`.
    pub fn deviation(&self, k: usize) -> f64 {
        self.covariance[(k, k)].max(0.0).sqrt()
    }

    /// The interval of linear theory, cut at the bounds.
    pub fn linear(&self, k: usize, at: f64) -> Interval {
        let reach = quantile(self.freedom) * self.deviation(k);
        let ends = [at - reach, at + reach];
        Interval { ends: ends.map(|e| e.clamp(0.0, 1.0)), closed: [ends[0] > 0.0, ends[1] < 1.0], is_profile: false }
    }

    /// What the profile looks for, of the free unknown at place `k`.
    pub fn target(&self, k: usize) -> Target {
        let t = quantile(self.freedom);
        let rise = 0.5 * t.powi(2) * self.covariance[(k, k)] / self.inverse[(k, k)];
        Target { unknown: self.free[k], reach: t * self.deviation(k), rise }
    }

    /// What the profile looks for, of an unknown that is held because it moves nothing where it is.
    pub fn target_of_held(&self, unknown: usize) -> Target {
        let rise = 0.5 * quantile(self.freedom).powi(2) * self.inflation();
        Target { unknown, reach: 0.1, rise }
    }

    /// The variance of the unknowns over that under independent residuals, on average.
    pub fn inflation(&self) -> f64 {
        let n = self.free.len();
        let ratio = |k: usize| self.covariance[(k, k)] / self.inverse[(k, k)];
        if n == 0 { 1.0 } else { (0..n).map(ratio).sum::<f64>() / n as f64 }
    }
}

/// An unknown whose interval is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The unknown.
    pub unknown: usize,
    /// How far its ends are likely to be.
    pub reach: f64,
    /// How much the cost rises to its ends.
    pub rise: f64,
}

/// One end of an interval on its way.
struct End {
    target: Target,
    side: usize,
    /// How far from the estimate, and how much the cost rises there: just inside, and just outside.
    inside: f64,
    outside: Option<f64>,
    next: f64,
    /// Where the search for the others begins.
    from: Vec<f64>,
    done: Option<(f64, bool)>,
}

/// Intervals by the profile of the cost. Also the point with the lowest
/// cost that was met, if that is lower than `found` by more than 1 % of what closes an interval.
///
/// # Errors
/// What `evaluate` refuses.
pub fn profile<E>(
    evaluate: &mut Evaluate<'_, E>,
    found: &Found,
    targets: &[Target],
    loss: Loss,
) -> Result<(Vec<Interval>, Option<Vec<f64>>), E> {
    let bounds = vec![[0.0, 1.0]; found.point.len()];
    let room = |j: usize, side: usize| if side == 0 { found.point[j] } else { 1.0 - found.point[j] };
    let begun = targets.iter().flat_map(|target| [0, 1].map(|side| (*target, side))).map(|(target, side)| {
        let room = room(target.unknown, side);
        let next = target.reach.clamp(1e-9, room.max(1e-9));
        let done = (room < 1e-9).then_some((0.0, false));
        End { target, side, inside: 0.0, outside: None, next, from: found.point.clone(), done }
    });
    let mut ends: Vec<End> = begun.collect();
    let mut better: Option<(f64, Vec<f64>)> = None;
    // A dozen refinements close an interval whose end is within a factor of a thousand of the first guess.
    for _ in 0..12 {
        let active: Vec<usize> = (0..ends.len()).filter(|i| ends[*i].done.is_none()).collect();
        if active.is_empty() {
            break;
        }
        let starts: Vec<Start> = active
            .iter()
            .map(|&i| {
                let End { target, side, next, from, .. } = &ends[i];
                let (j, mut point, mut held) = (target.unknown, from.clone(), found.held.clone());
                let sign = if *side == 0 { -1.0 } else { 1.0 };
                point[j] = (found.point[j] + sign * next).clamp(0.0, 1.0);
                held[j] = true;
                Start { point, held }
            })
            .collect();
        let settings = Settings { evaluations: 12, tolerance: 1e-7 };
        for (i, lowest) in active.into_iter().zip(minimise(evaluate, &bounds, &starts, loss, settings)?) {
            let end = &mut ends[i];
            let (rise, target) = (lowest.as_ref().map(|f| f.cost - found.cost), end.target.rise);
            if let Some(lowest) = lowest.as_ref().filter(|f| f.cost < found.cost - 0.01 * target)
                && better.as_ref().is_none_or(|(cost, _)| lowest.cost < *cost)
            {
                better = Some((lowest.cost, lowest.point.clone()));
            }
            end.judge(rise, target, room(end.target.unknown, end.side), lowest);
        }
    }
    let intervals = targets.iter().enumerate().map(|(i, target)| {
        let at = found.point[target.unknown];
        let [low, high] = [0, 1].map(|side| {
            let end = &ends[2 * i + side];
            end.done.unwrap_or((end.inside, true))
        });
        Interval { ends: [at - low.0, at + high.0], closed: [low.1, high.1], is_profile: true }
    });
    Ok((intervals.collect(), better.map(|(_, point)| point)))
}

impl End {
    /// Takes note of how much the cost rises at `next`, and chooses where to look after that.
    fn judge(&mut self, rise: Option<f64>, target: f64, room: f64, lowest: Option<Found>) {
        let at = self.next;
        match rise {
            Some(rise) if (rise / target - 1.0).abs() < 0.03 => self.done = Some((at, true)),
            Some(rise) if rise < target => {
                self.inside = at;
                self.from = lowest.map_or_else(|| self.from.clone(), |found| found.point);
                if at >= room * (1.0 - 1e-9) {
                    self.done = Some((room, false));
                    return;
                }
                let quadratic = at * (target / rise.max(0.01 * target)).sqrt();
                self.next = match self.outside {
                    Some(outside) => quadratic.clamp(at + 0.1 * (outside - at), at + 0.9 * (outside - at)),
                    None => (1.05 * quadratic).max(1.2 * at).min(room),
                };
            }
            _ => {
                self.outside = Some(at);
                let quadratic = rise.map_or(0.0, |rise| at * (target / rise).sqrt());
                let width = at - self.inside;
                self.next = quadratic.clamp(self.inside + 0.1 * width, self.inside + 0.9 * width);
            }
        }
        if self.outside.is_some_and(|outside| outside - self.inside < 1e-3 * outside) {
            self.done = Some((self.inside, true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_quantiles_are_those_of_tables() {
        for (freedom, t) in [(2.0, 2.920), (3.0, 2.353), (5.0, 2.015), (10.0, 1.812), (30.0, 1.697), (1e6, 1.645)] {
            let error = (quantile(freedom) / t - 1.0).abs();
            assert!(error < if freedom < 4.0 { 0.02 } else { 2e-3 }, "{freedom}: {}", quantile(freedom));
        }
    }
}
