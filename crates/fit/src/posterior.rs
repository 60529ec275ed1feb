//! Samples of what is known after a fit, by an ensemble whose walkers are contacts of one batch: the stretch
//! move of Goodman & Weare (Comm. App. Math. Comp. Sci. 5, 2010).
//!
//! The density is `exp(-cost/k)` within the bounds; `k` is the mean over the unknowns of their variance under
//! correlated residuals over that under independent ones, so that samples spread as the intervals say.

use bristle::random::Draw;
use nalgebra::DVector;

use crate::interval::Spread;
use crate::trust_region::{Evaluate, Found, Loss, Start};

/// Samples of each walker.
const KEPT: usize = 20;
/// Moves between two samples that are kept, and before the first.
const BETWEEN: usize = 3;

/// At least `count` points, with the unknowns that are held as they are.
///
/// # Errors
/// What `evaluate` refuses.
pub fn samples<E>(
    evaluate: &mut Evaluate<'_, E>,
    found: &Found,
    spread: &Spread,
    loss: Loss,
    count: usize,
    seed: u64,
) -> Result<Vec<Vec<f64>>, E> {
    let (free, d) = (&spread.free, spread.free.len());
    let Some(factor) = spread.covariance.clone().cholesky().map(|c| c.l()).filter(|_| d > 0) else {
        return Ok(vec![found.point.clone(); count]);
    };
    let temper = spread.inflation();
    let walkers = (2 * (d + 1)).max(count.div_ceil(KEPT)).next_multiple_of(2);
    let held = vec![true; found.point.len()];
    let mut costs = |points: &[Vec<f64>]| -> Result<Vec<f64>, E> {
        let starts: Vec<Start> = points.iter().map(|p| Start { point: p.clone(), held: held.clone() }).collect();
        let all = evaluate(&starts)?;
        Ok(all.iter().map(|l| l.as_ref().map_or(f64::INFINITY, |l| loss.cost(&l.residual))).collect())
    };
    let first = |w: usize| {
        let draw = Draw::new(seed, w as u64);
        let step = &factor * DVector::from_fn(d, |k, _| draw.normal(&format!("walker {k}")));
        let mut point = found.point.clone();
        // A walker that would begin outside of the bounds begins on the other side of the best point.
        free.iter().zip(&step).for_each(|(j, s)| {
            let to = [point[*j] + s, point[*j] - s].into_iter().find(|x| (0.0..=1.0).contains(x));
            point[*j] = to.unwrap_or(point[*j]);
        });
        point
    };
    let mut ensemble: Vec<Vec<f64>> = (0..walkers).map(first).collect();
    let mut cost = costs(&ensemble)?;
    let mut kept = Vec::with_capacity(KEPT * walkers);
    for sweep in 0..KEPT * BETWEEN {
        for half in 0..2 {
            let movers: Vec<usize> = (0..walkers / 2).map(|i| 2 * i + half).collect();
            let mut stretches = Vec::with_capacity(movers.len());
            let proposals: Vec<Vec<f64>> = movers
                .iter()
                .map(|&w| {
                    let draw = Draw::new(seed, w as u64);
                    let [a, b] = draw.uniform2(&format!("move {sweep}"));
                    // z of the density 1/sqrt z between 1/2 and 2.
                    let z = 0.5 * (1.0 + a).powi(2);
                    let other = &ensemble[2 * ((b * (walkers / 2) as f64) as usize).min(walkers / 2 - 1) + 1 - half];
                    stretches.push(z);
                    ensemble[w].iter().zip(other).map(|(own, other)| other + z * (own - other)).collect()
                })
                .collect();
            let is_inside = |p: &Vec<f64>| p.iter().all(|x| (-1e-12..=1.0 + 1e-12).contains(x));
            let clamped: Vec<Vec<f64>> =
                proposals.iter().map(|p| p.iter().map(|x| x.clamp(0.0, 1.0)).collect()).collect();
            for ((i, w), new) in movers.into_iter().enumerate().zip(costs(&clamped)?) {
                let chance = (d as f64 - 1.0) * stretches[i].ln() - (new - cost[w]) / temper;
                let draw = Draw::new(seed, w as u64).uniform(&format!("accept {sweep}"));
                if is_inside(&proposals[i]) && draw.ln() < chance {
                    (ensemble[w], cost[w]) = (clamped[i].clone(), new);
                }
            }
        }
        if sweep % BETWEEN == BETWEEN - 1 {
            kept.extend(ensemble.iter().cloned());
        }
    }
    // The last ones are the furthest from where they began.
    Ok(kept.split_off(kept.len().saturating_sub(count)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust_region::Linear;
    use nalgebra::DMatrix;

    /// A linear problem, whose density is normal: deviations and correlation are those of the covariance.
    #[test]
    fn samples_of_a_linear_problem_have_its_covariance() {
        let jacobian = DMatrix::from_row_slice(3, 2, &[40.0, 10.0, 0.0, 30.0, 5.0, -5.0]);
        let center = DVector::from_vec(vec![0.5, 0.4]);
        let mut evaluate = |starts: &[Start]| {
            let one = |s: &Start| {
                let residual = &jacobian * (DVector::from_vec(s.point.clone()) - &center);
                Some(Linear { residual, jacobian: jacobian.clone() })
            };
            Ok::<_, std::convert::Infallible>(starts.iter().map(one).collect())
        };
        let inverse = jacobian.tr_mul(&jacobian).try_inverse().unwrap();
        let spread = Spread {
            covariance: 4.0 * &inverse,
            inverse,
            free: vec![0, 1],
            freedom: 100.0,
            effective: 102.0,
            processes: Vec::new(),
        };
        let linear = Linear { residual: DVector::zeros(3), jacobian: jacobian.clone() };
        let point = center.as_slice().to_vec();
        let found = Found { point, held: vec![false; 2], cost: 0.0, linear, converged: true };
        let all =
            samples(&mut evaluate, &found, &spread, Loss::Squares, 4000, 1).unwrap_or_else(|never| match never {});
        assert_eq!(all.len(), 4000);
        let mean = |f: &dyn Fn(&[f64]) -> f64| all.iter().map(|p| f(p)).sum::<f64>() / all.len() as f64;
        for (i, j) in [(0, 0), (0, 1), (1, 1)] {
            let found = mean(&|p| (p[i] - center[i]) * (p[j] - center[j]));
            let size = (spread.covariance[(i, i)] * spread.covariance[(j, j)]).sqrt();
            assert!((found - spread.covariance[(i, j)]).abs() < 0.12 * size, "{i} {j}: {found} {}", spread.covariance);
        }
    }
}
