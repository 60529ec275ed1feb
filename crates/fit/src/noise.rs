//! What is left of a recording beside the model: how large, how long it is correlated, and what of it is the
//! sensor's and what the mechanism's.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};

/// Residuals as an autoregressive process `r_t = a_1 r_(t-1) + .. + e_t`, e of variance `innovation`.
#[derive(Clone, Debug, PartialEq)]
pub struct Autoregression {
    /// `a_1, ..`.
    pub coefficients: Vec<f64>,
    /// Variance of what is new in each sample.
    pub innovation: f64,
    /// Variance of the process in the samples.
    pub variance: f64,
}

/// Most terms of an autoregression.
const MOST_TERMS: usize = 24;

impl Autoregression {
    /// By Burg's method (1975), with the number of terms by Akaike's criterion for small samples; `lost`
    /// unknowns have been fitted to the samples, so that their mean square is too small.
    pub fn of(residual: &[f64], lost: f64) -> Self {
        let n = residual.len();
        let count = n as f64;
        let variance = residual.iter().map(|r| r * r).sum::<f64>() / count.max(1.0);
        let mut best = Self { coefficients: Vec::new(), innovation: variance, variance };
        let most = MOST_TERMS.min(n / 10);
        let criterion = |innovation: f64, k: usize| {
            count * innovation.ln() + 2.0 * count * (k as f64 + 1.0) / (count - k as f64 - 2.0)
        };
        if variance > 0.0 && n >= 10 {
            let mut least = criterion(variance, 0);
            let (mut forward, mut backward) = (residual.to_vec(), residual.to_vec());
            let (mut a, mut power): (Vec<f64>, f64) = (Vec::new(), variance);
            for k in 0..most {
                let pairs = || (k + 1..n).map(|t| (t, t - 1));
                let product: f64 = pairs().map(|(t, s)| forward[t] * backward[s]).sum();
                let squares: f64 = pairs().map(|(t, s)| forward[t].powi(2) + backward[s].powi(2)).sum();
                if !(squares > 0.0) {
                    break;
                }
                let reflection = 2.0 * product / squares;
                let longer: Vec<f64> = (0..k).map(|i| a[i] - reflection * a[k - 1 - i]).chain([reflection]).collect();
                a = longer;
                power *= 1.0 - reflection * reflection;
                for t in (k + 1..n).rev() {
                    let (f, b) = (forward[t], backward[t - 1]);
                    forward[t] = f - reflection * b;
                    backward[t] = b - reflection * f;
                }
                if !(power > 0.0) {
                    break;
                }
                let now = criterion(power, k + 1);
                if now < least {
                    least = now;
                    best = Self { coefficients: a.clone(), innovation: power, variance };
                }
            }
        }
        let effective = best.effective(n);
        let share = count / (count - lost * count / effective.max(lost + 1.0)).max(0.1 * count);
        Self { innovation: best.innovation * share, variance: best.variance * share, ..best }
    }

    /// The number of independent samples among `n` whose mean is as exact:
    /// `n var(r) (1 - sum a)^2 / var(e)`, at most `n`.
    pub fn effective(&self, n: usize) -> f64 {
        let sum: f64 = self.coefficients.iter().sum();
        (n as f64 * self.variance * (1.0 - sum).powi(2) / self.innovation.max(f64::MIN_POSITIVE)).clamp(1.0, n as f64)
    }

    /// The time after which the correlation has fallen to 1/e, in samples.
    pub fn correlation_time(&self) -> f64 {
        let response = self.response(10_000);
        let sum = |lag: usize| response.iter().zip(&response[lag..]).map(|(a, b)| a * b).sum::<f64>();
        let whole = sum(0);
        (1..response.len()).find(|lag| sum(*lag) < whole / std::f64::consts::E).map_or(0.0, |lag| lag as f64)
    }

    /// What a unit of `e` leaves in the samples after it, until it has died out.
    fn response(&self, most: usize) -> Vec<f64> {
        let mut all = vec![1.0];
        while all.len() < most {
            let n = all.len();
            let next: f64 = self.coefficients.iter().take(n).enumerate().map(|(i, a)| a * all[n - 1 - i]).sum();
            all.push(next);
            let is_quiet = all.len() > self.coefficients.len()
                && all[all.len() - self.coefficients.len().max(1)..].iter().all(|x: &f64| x.abs() < 1e-4);
            if is_quiet {
                break;
            }
        }
        all
    }

    /// `count` samples of the process, which has run on for as long as it remembers; `normal` gives standard
    /// normal numbers.
    pub fn drawn(&self, count: usize, normal: impl Fn(usize) -> f64) -> Vec<f64> {
        let before = self.response(10_000).len();
        let mut all: Vec<f64> = Vec::with_capacity(before + count);
        for i in 0..before + count {
            let past = self.coefficients.iter().zip(all.iter().rev());
            all.push(past.map(|(a, r)| a * r).sum::<f64>() + self.innovation.sqrt() * normal(i));
        }
        all.split_off(before)
    }

    /// `X` with `X^T X innovation = J^T Omega J`, `Omega` the covariance of the process: with `A r = e`,
    /// `Omega = innovation A^-1 A^-T`, so that `X = A^-T J`, a filter that runs back in time.
    pub fn colour(&self, jacobian: &DMatrix<f64>) -> DMatrix<f64> {
        let mut x = jacobian.clone();
        let rows = x.nrows();
        for mut column in x.column_iter_mut() {
            for t in (0..rows).rev() {
                let ahead = self.coefficients.iter().enumerate().filter(|(i, _)| t + i + 1 < rows);
                let sum: f64 = ahead.map(|(i, a)| a * column[t + i + 1]).sum();
                column[t] += sum;
            }
        }
        x
    }
}

/// Residuals, `segments` of which come from one sensor each, as autoregressions, and `J^T Omega J`.
///
/// `lost` is the number of unknowns.
pub fn coloured(
    residual: &DVector<f64>,
    jacobian: &DMatrix<f64>,
    segments: &[Range<usize>],
    lost: f64,
) -> (Vec<Autoregression>, DMatrix<f64>) {
    let columns = jacobian.ncols();
    let mut sum = DMatrix::zeros(columns, columns);
    let rows: usize = segments.iter().map(ExactSizeIterator::len).sum();
    let processes = segments.iter().map(|segment| {
        let of_segment = &residual.as_slice()[segment.clone()];
        let share = segment.len() as f64 / rows.max(1) as f64;
        let process = Autoregression::of(of_segment, lost * share);
        let x = process.colour(&jacobian.rows(segment.start, segment.len()).into_owned());
        sum += x.tr_mul(&x) * process.innovation;
        process
    });
    (processes.collect(), sum)
}

/// The sensor's noise by the second differences of what it says, which a smooth signal hardly has:
/// `median |x_(i-1) - 2 x_i + x_(i+1)| / (0.6745 sqrt 6)`; of a sensor that says the same number most of the
/// time that of its resolution, `step / sqrt 12`.
pub fn sensor_noise(values: &[f64]) -> f64 {
    let all = values.windows(3).map(|w| (w[0] - 2.0 * w[1] + w[2]).abs()).filter(|d| d.is_finite());
    let noise = median(all.collect()) / (0.6745 * 6.0f64.sqrt());
    if noise > 0.0 { noise } else { resolution(values) / 12.0f64.sqrt() }
}

/// The least change from a value to the next; 0 of values that never change.
pub fn resolution(values: &[f64]) -> f64 {
    let changes = values.windows(2).map(|w| (w[1] - w[0]).abs()).filter(|d| *d > 0.0 && d.is_finite());
    let least = changes.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// The median; 0 of nothing.
pub fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

/// The period, in samples, with which `values` repeat, if they do: where their autocorrelation has its first
/// peak above 0.8. What is not finite counts as their mean.
pub fn period(values: &[f64]) -> Option<usize> {
    let n = values.len();
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let mean = finite().sum::<f64>() / finite().count().max(1) as f64;
    let values: Vec<f64> = values.iter().map(|v| if v.is_finite() { *v } else { mean }).collect();
    // A few hundred points show the period; the peak is then found among all.
    let stride = (n / 4000).max(1);
    let correlation = |lag: usize| {
        let (mut product, mut left, mut right) = (0.0, 0.0, 0.0);
        for i in (0..n - lag).step_by(stride) {
            let (a, b) = (values[i] - mean, values[i + lag] - mean);
            (product, left, right) = (product + a * b, left + a * a, right + b * b);
        }
        if left > 0.0 && right > 0.0 { product / (left * right).sqrt() } else { 0.0 }
    };
    let jump = (n / 2000).max(1);
    let lags: Vec<usize> = (1..n / 3).step_by(jump).collect();
    let all: Vec<f64> = lags.iter().map(|lag| correlation(*lag)).collect();
    let begin = all.iter().position(|c| *c < 0.3)?;
    let is_peak = |i: &usize| all[*i] > 0.8 && all[*i] >= all[i - 1] && all.get(i + 1).is_none_or(|c| all[*i] >= *c);
    let rough = lags[(begin.max(1)..all.len()).find(is_peak)?];
    let near = rough.saturating_sub(jump).max(1)..=(rough + jump).min(n / 2);
    near.map(|lag| (lag, correlation(lag))).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(lag, _)| lag)
}

/// How well values, or what a model misses of them, repeat after a period \[samples\]: rms difference over
/// `sqrt 2`.
pub fn repeatability(values: &[f64], period: usize) -> f64 {
    let pairs = || values.iter().zip(&values[period..]).map(|(a, b)| (a - b).powi(2)).filter(|d| d.is_finite());
    (pairs().sum::<f64>() / pairs().count().max(1) as f64 / 2.0).sqrt()
}

/// Root of the mean square of what is finite; 0 of nothing.
pub fn rms(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0u64);
    values.filter(|v| v.is_finite()).for_each(|v| (sum, count) = (sum + v * v, count + 1));
    (sum / count.max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bristle::random::Draw;

    /// Normal numbers that follow each other with correlation `a`.
    pub(crate) fn process(seed: u64, n: usize, a: f64) -> Vec<f64> {
        let draw = Draw::new(seed, 0);
        let mut x = 0.0;
        let next = |i: usize| {
            x = a * x + (1.0 - a * a).sqrt() * draw.normal(&format!("e{i}"));
            x
        };
        (0..n + 200).map(next).skip(200).collect()
    }

    #[test]
    fn an_autoregression_is_found() {
        for a in [0.0, 0.5, 0.9] {
            let mut sum = 0.0;
            for seed in 0..20 {
                let found = Autoregression::of(&process(seed, 4000, a), 0.0);
                // Of a mean of n samples of such a process: n (1-a)/(1+a) count.
                sum += found.effective(4000) / 4000.0 / 20.0;
                assert!((found.variance - 1.0).abs() < 0.25, "{found:?}");
            }
            let wanted = (1.0 - a) / (1.0 + a);
            assert!((sum / wanted - 1.0).abs() < 0.12, "{a}: {sum} {wanted}");
        }
    }

    /// The variance of a sum over the process, with `J` a column of ones.
    #[test]
    fn the_coloured_sum_has_the_variance_of_a_mean() {
        let process = Autoregression { coefficients: vec![0.9], innovation: 1.0 - 0.81, variance: 1.0 };
        let ones = DMatrix::from_element(2000, 1, 1.0);
        let x = process.colour(&ones);
        let variance = x.norm_squared() * process.innovation;
        // sum over lags of (n - |k|) a^|k|
        let exact: f64 = (-1999i32..2000).map(|k| f64::from(2000 - k.abs()) * 0.9f64.powi(k.abs())).sum();
        assert!((variance / exact - 1.0).abs() < 0.01, "{variance} {exact}");
        let time = process.correlation_time();
        assert!((time - 10.0).abs() <= 1.0, "{time}");
    }

    #[test]
    fn the_sensors_noise_and_the_period_are_those_put_in() {
        let draw = Draw::new(5, 0);
        let wave: Vec<f64> = (0..3000).map(|i| (f64::from(i) * std::f64::consts::TAU / 150.0).sin()).collect();
        assert_eq!(period(&wave), Some(150));
        let noisy: Vec<f64> = wave.iter().enumerate().map(|(i, x)| x + 0.03 * draw.normal(&format!("{i}"))).collect();
        assert!((sensor_noise(&noisy) / 0.03 - 1.0).abs() < 0.1, "{}", sensor_noise(&noisy));
        assert!((repeatability(&noisy, 150) / 0.03 - 1.0).abs() < 0.1);
        assert_eq!(period(&process(1, 3000, 0.9)), None);
    }
}
