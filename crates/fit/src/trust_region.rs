//! Least squares with bounds: a Levenberg-Marquardt trust region with an active set, from many starts whose
//! trials are evaluated together.
//!
//! The cost of a point is `sum rho(r_i)/2`, `rho(r) = r^2`, or Huber's loss. A step solves
//! `(J^T W J + lambda D) d = -J^T W r` on the unknowns that are not held by a bound, `D` the largest diagonal
//! of `J^T W J` so far (Moré 1978, "The Levenberg-Marquardt algorithm"), and is cut at the bounds; what is
//! cut is held, and the rest is solved again. `lambda` follows Nielsen (1999, IMM-REP-1999-05).

use nalgebra::{DMatrix, DVector};

/// How residuals count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// `rho(r) = r^2`.
    Squares,
    /// Huber's: `r^2` up to a residual of this size, `2 k |r| - k^2` above: outliers pull no more than `k`.
    Huber(f64),
}

/// Huber's loss with 95 % of the efficiency of squares under normal noise.
pub const HUBER: Loss = Loss::Huber(1.345);

impl Loss {
    /// `rho(r)`.
    pub fn rho(self, r: f64) -> f64 {
        match self {
            Self::Huber(k) if r.abs() > k => 2.0 * k * r.abs() - k * k,
            _ => r * r,
        }
    }

    /// `rho'(r)/(2 r)`: the weight of a residual.
    pub fn weight(self, r: f64) -> f64 {
        match self {
            Self::Huber(k) if r.abs() > k => k / r.abs(),
            _ => 1.0,
        }
    }

    /// Residuals of which those that pull less than they are large are cut: Huber's, three bounds away.
    pub fn clipped(self, residual: &[f64]) -> Vec<f64> {
        let most = if let Self::Huber(k) = self { 3.0 * k } else { f64::INFINITY };
        residual.iter().map(|r| r.clamp(-most, most)).collect()
    }

    /// `sum rho(r_i)/2`.
    pub fn cost(self, residual: &DVector<f64>) -> f64 {
        0.5 * residual.iter().map(|r| self.rho(*r)).sum::<f64>()
    }
}

/// Residuals at a point, and their derivatives by the unknowns that are free.
#[derive(Clone, Debug)]
pub struct Linear {
    /// One for each compared number.
    pub residual: DVector<f64>,
    /// A row a residual, a column an unknown; columns of unknowns that are held are without effect.
    pub jacobian: DMatrix<f64>,
}

/// Where a search begins, and which unknowns it keeps.
#[derive(Clone, Debug)]
pub struct Start {
    /// The unknowns, within their bounds.
    pub point: Vec<f64>,
    /// Those that stay as they are.
    pub held: Vec<bool>,
}

/// Where a search has ended.
#[derive(Clone, Debug)]
pub struct Found {
    /// The unknowns.
    pub point: Vec<f64>,
    /// Those that were held.
    pub held: Vec<bool>,
    /// `sum rho(r_i)/2`.
    pub cost: f64,
    /// At the point.
    pub linear: Linear,
    /// Whether no step lowers the cost by more than the tolerance.
    pub converged: bool,
}

/// When a search ends.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Most points that are evaluated from one start.
    pub evaluations: usize,
    /// A search has converged when no step is expected to lower the cost by more than this share of it.
    pub tolerance: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { evaluations: 100, tolerance: 1e-9 }
    }
}

/// What is minimised: evaluates points of several searches together. A point at which there is no finite
/// answer is none.
pub type Evaluate<'a, E> = dyn FnMut(&[Start]) -> Result<Vec<Option<Linear>>, E> + 'a;

/// A search on its way.
struct Search {
    found: Found,
    lambda: f64,
    growth: f64,
    diagonal: DVector<f64>,
    trial: Vec<f64>,
    expected: f64,
    is_done: bool,
}

/// Minima within `bounds` (each `[lowest, highest]`), one for each start; none if its first point has no
/// answer.
///
/// # Errors
/// What `evaluate` refuses.
pub fn minimise<E>(
    evaluate: &mut Evaluate<'_, E>,
    bounds: &[[f64; 2]],
    starts: &[Start],
    loss: Loss,
    settings: Settings,
) -> Result<Vec<Option<Found>>, E> {
    let first = evaluate(starts)?;
    let begun = starts.iter().zip(first).map(|(start, linear)| {
        let linear = linear.filter(|linear| linear.residual.iter().all(|r| r.is_finite()))?;
        let cost = loss.cost(&linear.residual);
        let Start { point, held } = start.clone();
        let found = Found { point: point.clone(), held, cost, linear, converged: false };
        let diagonal = DVector::zeros(point.len());
        Some(Search { found, lambda: 1e-3, growth: 2.0, diagonal, trial: point, expected: 0.0, is_done: false })
    });
    let mut searches: Vec<Option<Search>> = begun.collect();
    for _ in 1..settings.evaluations.max(1) {
        let mut active: Vec<&mut Search> = searches.iter_mut().flatten().filter(|search| !search.is_done).collect();
        active.iter_mut().for_each(|search| search.step(bounds, loss, settings.tolerance));
        active.retain(|search| !search.is_done);
        if active.is_empty() {
            break;
        }
        let trial = |search: &&mut Search| Start { point: search.trial.clone(), held: search.found.held.clone() };
        let trials: Vec<Start> = active.iter().map(trial).collect();
        for (search, linear) in active.into_iter().zip(evaluate(&trials)?) {
            search.judge(linear, loss, settings.tolerance);
        }
    }
    Ok(searches.into_iter().map(|search| search.map(|search| search.found)).collect())
}

impl Search {
    /// Chooses the next trial, or ends.
    fn step(&mut self, bounds: &[[f64; 2]], loss: Loss, tolerance: f64) {
        let Found { point, held, cost, linear: Linear { residual, jacobian }, .. } = &self.found;
        let n = point.len();
        let weights = residual.map(|r| loss.weight(r));
        let mut weighted = jacobian.clone();
        weighted.row_iter_mut().zip(&weights).for_each(|(mut row, w)| row *= *w);
        let gradient = weighted.tr_mul(residual);
        let curvature = weighted.tr_mul(jacobian);
        for i in 0..n {
            self.diagonal[i] = self.diagonal[i].max(curvature[(i, i)]);
        }
        let at_bound =
            |i: usize, d: f64| (d < 0.0 && point[i] <= bounds[i][0]) || (d > 0.0 && point[i] >= bounds[i][1]);
        let can_move = |i: usize| !held[i] && self.diagonal[i] > 0.0 && !at_bound(i, -gradient[i]);
        let mut free: Vec<usize> = (0..n).filter(|i| can_move(*i)).collect();
        // What the best step without damping would gain tells whether there is anything left to gain.
        let mut step = DVector::zeros(n);
        let mut cut = vec![None; n];
        while !free.is_empty() {
            let k = free.len();
            let fixed = |row: usize| (0..n).filter_map(|j| cut[j].map(|d: f64| curvature[(row, j)] * d)).sum::<f64>();
            let right = DVector::from_fn(k, |i, _| -gradient[free[i]] - fixed(free[i]));
            let damping = |i: usize| self.lambda * self.diagonal[free[i]].max(1e-300);
            let matrix =
                DMatrix::from_fn(k, k, |i, j| curvature[(free[i], free[j])] + if i == j { damping(i) } else { 0.0 });
            let Some(solved) = matrix.cholesky().map(|c| c.solve(&right)) else {
                self.lambda = (10.0 * self.lambda).max(1e-12);
                continue;
            };
            let outside = |i: usize| {
                let to = point[free[i]] + solved[i];
                let [low, high] = bounds[free[i]];
                if to < low { Some(low - point[free[i]]) } else { (to > high).then(|| high - point[free[i]]) }
            };
            let beyond: Vec<(usize, f64)> = (0..k).filter_map(|i| Some((free[i], outside(i)?))).collect();
            if beyond.is_empty() {
                free.iter().zip(solved.iter()).for_each(|(i, d)| step[*i] = *d);
                break;
            }
            for (i, d) in beyond {
                cut[i] = Some(d);
                step[i] = d;
                free.retain(|j| *j != i);
            }
        }
        self.expected = -(gradient.dot(&step) + 0.5 * step.dot(&(&curvature * &step)));
        // A damped step gains about 1/(1 + lambda) of the whole one.
        let whole = self.expected * (1.0 + self.lambda);
        if !(whole > tolerance * cost) || *cost <= f64::MIN_POSITIVE {
            (self.is_done, self.found.converged) = (true, true);
            return;
        }
        let into = |i: usize| (point[i] + step[i]).clamp(bounds[i][0], bounds[i][1]);
        self.trial = (0..n).map(into).collect();
        if self.trial == *point {
            (self.is_done, self.found.converged) = (true, true);
        }
    }

    /// Takes the trial over if it is better.
    fn judge(&mut self, linear: Option<Linear>, loss: Loss, tolerance: f64) {
        let linear = linear.filter(|linear| linear.residual.iter().all(|r| r.is_finite()));
        let cost = linear.as_ref().map_or(f64::INFINITY, |linear| loss.cost(&linear.residual));
        let gain = (self.found.cost - cost) / self.expected;
        match linear {
            Some(linear) if gain > 1e-4 => {
                (self.found.point, self.found.cost, self.found.linear) = (self.trial.clone(), cost, linear);
                self.lambda *= (1.0 - (2.0 * gain.min(1.5) - 1.0).powi(3)).max(1.0 / 3.0);
                self.growth = 2.0;
            }
            _ => {
                self.lambda *= self.growth;
                self.growth *= 2.0;
                // At a kink no step helps that is long enough to be told from rounding.
                if self.expected <= 1e3 * tolerance * self.found.cost && self.lambda > 1e3 || self.lambda > 1e12 {
                    (self.is_done, self.found.converged) = (true, self.lambda <= 1e12);
                }
            }
        }
    }
}
