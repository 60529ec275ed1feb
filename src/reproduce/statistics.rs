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

/// Root mean square of the distance of two vector series over the greatest length of the second.
pub(super) fn rmse(found: &[Vec<f64>], truth: &[Vec<f64>]) -> f64 {
    let n = truth[0].len();
    let square = |i: usize| found.iter().zip(truth).map(|(f, t)| (f[i] - t[i]).powi(2)).sum::<f64>();
    let most = (0..n).map(|i| truth.iter().map(|t| t[i] * t[i]).sum::<f64>()).fold(0.0, f64::max).sqrt();
    ((0..n).map(square).sum::<f64>() / n as f64).sqrt() / most
}

/// Slope of a straight line through the logarithms.
pub(super) fn order(x: &[f64], y: &[f64]) -> f64 {
    let (x, y): (Vec<f64>, Vec<f64>) = (x.iter().map(|v| v.ln()).collect(), y.iter().map(|v| v.ln()).collect());
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (mx, my) = (mean(&x), mean(&y));
    let above: f64 = x.iter().zip(&y).map(|(a, b)| (a - mx) * (b - my)).sum();
    above / x.iter().map(|a| (a - mx).powi(2)).sum::<f64>()
}

/// The greatest absolute value.
pub(super) fn greatest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| m.max(v.abs()))
}

/// A number with `digits` significant digits, short.
pub(super) fn short(v: f64, digits: usize) -> String {
    if v == 0.0 {
        return "0".into();
    }
    if v.fract() == 0.0 && v.abs() < 1e5 {
        return format!("{v:.0}");
    }
    let size = v.abs().log10().floor() as i32;
    if !v.is_finite() || !(-4..5).contains(&size) {
        return format!("{v:.*e}", digits.saturating_sub(1));
    }
    format!("{v:.*}", (digits as i32 - 1 - size).max(0) as usize)
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
        assert_eq!((short(0.012_345, 3).as_str(), short(-12_345.0, 2).as_str()), ("0.0123", "-12345"));
        assert_eq!(short(1.234e-7, 3), "1.23e-7");
    }
}
