//! Numbers that sum up series.

/// The `q`-quantile, between neighbours; NaN of nothing.
#[must_use]
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = q * last as f64;
    let (i, t) = (at as usize, at.fract());
    sorted[i] * (1.0 - t) + sorted[(i + 1).min(last)] * t
}

/// The arithmetic mean; NaN of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Root mean square of the distance of two vector series over the greatest length of the second.
#[must_use]
pub fn rmse(found: &[Vec<f64>], truth: &[Vec<f64>]) -> f64 {
    let n = truth[0].len();
    let square = |i: usize| found.iter().zip(truth).map(|(f, t)| (f[i] - t[i]).powi(2)).sum::<f64>();
    let most = (0..n).map(|i| truth.iter().map(|t| t[i] * t[i]).sum::<f64>()).fold(0.0, f64::max).sqrt();
    ((0..n).map(square).sum::<f64>() / n as f64).sqrt() / most
}

/// Slope of a straight line through the logarithms.
#[must_use]
pub fn order(x: &[f64], y: &[f64]) -> f64 {
    let (x, y): (Vec<f64>, Vec<f64>) = (x.iter().map(|v| v.ln()).collect(), y.iter().map(|v| v.ln()).collect());
    let (mx, my) = (mean(&x), mean(&y));
    let above: f64 = x.iter().zip(&y).map(|(a, b)| (a - mx) * (b - my)).sum();
    above / x.iter().map(|a| (a - mx).powi(2)).sum::<f64>()
}

/// The greatest absolute value.
#[must_use]
pub fn greatest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// Ranks from 0, equal values share theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut out = vec![0.0; values.len()];
    let mut i = 0;
    while i < order.len() {
        let mut j = i;
        while j + 1 < order.len() && values[order[j + 1]] == values[order[i]] {
            j += 1;
        }
        order[i..=j].iter().for_each(|k| out[*k] = 0.5 * (i + j) as f64);
        i = j + 1;
    }
    out
}

/// Spearman's correlation of the pairs that are finite, -1 to 1; NaN if either is constant.
#[must_use]
pub fn rank_correlation(x: &[f64], y: &[f64]) -> f64 {
    let pairs: Vec<(f64, f64)> =
        x.iter().zip(y).filter(|(a, b)| a.is_finite() && b.is_finite()).map(|(a, b)| (*a, *b)).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let (a, b) = (ranks(&a), ranks(&b));
    let (ma, mb) = (mean(&a), mean(&b));
    let sum = |f: &dyn Fn(usize) -> f64| (0..a.len()).map(f).sum::<f64>();
    sum(&|i| (a[i] - ma) * (b[i] - mb)) / (sum(&|i| (a[i] - ma).powi(2)) * sum(&|i| (b[i] - mb).powi(2))).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn known_numbers() {
        assert_relative_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
        assert_relative_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.75), 4.0);
        assert_relative_eq!(order(&[1.0, 2.0, 4.0], &[3.0, 12.0, 48.0]), 2.0, epsilon = 1e-12);
        let (x, y) = (vec![1.0, 0.0], vec![0.0, 1.0]);
        assert_relative_eq!(rmse(&[vec![1.5, 0.0], vec![0.0, 1.0]], &[x, y]), 0.5 / 2f64.sqrt(), epsilon = 1e-12);
    }

    #[test]
    fn rank_correlation_of_monotone_and_unrelated_series() {
        let x: Vec<f64> = (0..50).map(f64::from).collect();
        let up: Vec<f64> = x.iter().map(|v| v.exp()).collect();
        let down: Vec<f64> = x.iter().map(|v| -v.powi(3)).collect();
        assert!((rank_correlation(&x, &up) - 1.0).abs() < 1e-12);
        assert!((rank_correlation(&x, &down) + 1.0).abs() < 1e-12);
        let cross: Vec<f64> = x.iter().map(|v| (v - 24.5).powi(2)).collect();
        assert!(rank_correlation(&x, &cross).abs() < 1e-12);
        assert_eq!(ranks(&[3.0, 1.0, 3.0]), [1.5, 0.0, 1.5]);
    }
}
