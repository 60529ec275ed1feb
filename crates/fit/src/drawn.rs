//! How well residuals tell the covariance of the estimates: by recordings that are drawn with the noise that
//! was found, and fitted again by linear theory.
//!
//! A fit takes from the residuals what the unknowns can imitate, most of it slow, so that they look less
//! correlated than the noise is, and intervals are too short. What the drawn recordings say of a covariance
//! that is known corrects that: the bias correction of a parametric bootstrap (Efron & Tibshirani, "An
//! Introduction to the Bootstrap", 1993, section 10.6). Their spread gives the degrees of freedom of
//! Student's quantile (Satterthwaite, Biometrics Bulletin 2, 1946).

use std::ops::Range;

use bristle::random::Draw;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use crate::noise::{Autoregression, coloured};

/// Number of recordings that are drawn: their mean is exact to a few per cent.
const DRAWN: u64 = 64;

/// A fit near its minimum.
pub struct Fitted<'a> {
    /// Residuals by the free unknowns, priors behind the segments.
    pub jacobian: &'a DMatrix<f64>,
    /// Weights of the residuals.
    pub weights: &'a DVector<f64>,
    /// `(J^T W J)^-1`.
    pub inverse: &'a DMatrix<f64>,
    /// The residuals that come from one sensor each.
    pub segments: &'a [Range<usize>],
}

/// What drawn recordings say of the variances of the unknowns.
#[derive(Debug)]
pub struct Calibration {
    /// Variance of each unknown over the mean of those that the residuals tell.
    pub ratio: Vec<f64>,
    /// Degrees of freedom of the variances, at least 2.
    pub freedom: f64,
}

impl Fitted<'_> {
    /// The covariance of the estimates by weighted residuals, and the processes that these are.
    pub fn covariance(&self, score: &DVector<f64>) -> (DMatrix<f64>, Vec<Autoregression>) {
        let (processes, mut middle) = coloured(score, self.jacobian, self.segments, self.jacobian.ncols() as f64);
        let priors = self.jacobian.rows(self.rows(), self.jacobian.nrows() - self.rows());
        middle += priors.tr_mul(&priors);
        (self.inverse * middle * self.inverse, processes)
    }

    /// What is left of recordings whose noise is `processes`, and what their covariances are beside
    /// `covariance`, which is that of `processes`.
    pub fn calibration(&self, covariance: &DMatrix<f64>, processes: &[Autoregression]) -> Calibration {
        let variances = (0..DRAWN).into_par_iter().map(|number| {
            let noise = self.noise(processes, number);
            let fit = self.jacobian * (self.inverse * self.jacobian.tr_mul(&noise));
            self.covariance(&(noise - fit.component_mul(self.weights))).0.diagonal()
        });
        let variances: Vec<DVector<f64>> = variances.collect();
        // Without noise all variances are 0.
        let mean = (variances.iter().sum::<DVector<f64>>() / DRAWN as f64).map(|x| x.max(f64::MIN_POSITIVE));
        let square = |of: &DVector<f64>| (of - &mean).component_div(&mean).map(|x| x * x).mean();
        let spread = variances.iter().map(square).sum::<f64>() / (DRAWN - 1) as f64;
        Calibration {
            ratio: covariance.diagonal().component_div(&mean).iter().copied().collect(),
            freedom: (2.0 / spread.max(f64::MIN_POSITIVE)).max(2.0),
        }
    }

    /// Number of residuals that are no priors.
    fn rows(&self) -> usize {
        self.segments.last().map_or(0, |last| last.end)
    }

    /// Noise of all residuals; that of priors is theirs, of variance 1.
    fn noise(&self, processes: &[Autoregression], number: u64) -> DVector<f64> {
        let draw = Draw::new(0, number);
        let mut noise = DVector::from_fn(self.jacobian.nrows(), |i, _| draw.normal(&format!("prior {i}")));
        for (k, (segment, process)) in self.segments.iter().zip(processes).enumerate() {
            let drawn = process.drawn(segment.len(), |i| draw.normal(&format!("{k} {i}")));
            noise.rows_mut(segment.start, segment.len()).copy_from_slice(&drawn);
        }
        noise
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::quantile;

    /// A line through noise that is correlated over 15 of 600 samples, which are 20 independent ones: how
    /// often the interval of the height, and that of the slope, has the truth.
    #[test]
    fn intervals_beside_correlated_noise_have_the_truth_as_often_as_they_say() {
        const ROWS: usize = 600;
        const TIMES: u64 = 400;
        let jacobian = DMatrix::from_fn(ROWS, 2, |i, k| if k == 0 { 1.0 } else { i as f64 / ROWS as f64 - 0.5 });
        let weights = DVector::from_element(ROWS, 1.0);
        let inverse = jacobian.tr_mul(&jacobian).try_inverse().expect("two columns");
        let segments = std::slice::from_ref(&(0..ROWS));
        let fitted = Fitted { jacobian: &jacobian, weights: &weights, inverse: &inverse, segments };
        let a = (-1.0f64 / 15.0).exp();
        let truth = Autoregression { coefficients: vec![a], innovation: 1.0 - a * a, variance: 1.0 };
        let inside = (0..TIMES).into_par_iter().map(|number| {
            let draw = Draw::new(1, number);
            let noise = DVector::from_vec(truth.drawn(ROWS, |i| draw.normal(&format!("e{i}"))));
            // The estimate of a line that is 0.
            let estimate = &inverse * jacobian.tr_mul(&noise);
            let (covariance, processes) = fitted.covariance(&(&noise - &jacobian * &estimate));
            let Calibration { ratio, freedom } = fitted.calibration(&covariance, &processes);
            [0, 1].map(|k| {
                let reach = quantile(freedom) * (covariance[(k, k)] * ratio[k]).sqrt();
                u64::from(estimate[k].abs() < reach)
            })
        });
        let all: Vec<[u64; 2]> = inside.collect();
        for k in 0..2 {
            let share = all.iter().map(|of| of[k]).sum::<u64>() as f64 / TIMES as f64;
            // Without the calibration it is 0.85.
            assert!((0.865..=0.935).contains(&share), "{k}: {share}");
        }
    }
}
