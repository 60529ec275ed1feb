//! Mean, quantiles and other statistics of a series.

/// The `q`-quantile, between neighbours; NaN of nothing.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = q * last as f64;
    let (i, t) = (at as usize, at.fract());
    sorted[i] * (1.0 - t) + sorted[(i + 1).min(last)] * t
}

/// The arithmetic mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Root mean square of the distance of two vector series over the greatest length of the second.
pub fn rmse(found: &[Vec<f64>], truth: &[Vec<f64>]) -> f64 {
    let n = truth[0].len();
    let square = |i: usize| found.iter().zip(truth).map(|(f, t)| (f[i] - t[i]).powi(2)).sum::<f64>();
    let most = (0..n).map(|i| truth.iter().map(|t| t[i] * t[i]).sum::<f64>()).fold(0.0, f64::max).sqrt();
    ((0..n).map(square).sum::<f64>() / n as f64).sqrt() / most
}

/// Slope of a straight line through the logarithms.
pub fn order(x: &[f64], y: &[f64]) -> f64 {
    let (x, y): (Vec<f64>, Vec<f64>) = (x.iter().map(|v| v.ln()).collect(), y.iter().map(|v| v.ln()).collect());
    let (mx, my) = (mean(&x), mean(&y));
    let above: f64 = x.iter().zip(&y).map(|(a, b)| (a - mx) * (b - my)).sum();
    above / x.iter().map(|a| (a - mx).powi(2)).sum::<f64>()
}

/// The greatest absolute value.
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
pub fn rank_correlation(x: &[f64], y: &[f64]) -> f64 {
    let (a, b) = finite(x, y);
    let (a, b) = (ranks(&a), ranks(&b));
    let (ma, mb) = (mean(&a), mean(&b));
    let sum = |f: &dyn Fn(usize) -> f64| (0..a.len()).map(f).sum::<f64>();
    sum(&|i| (a[i] - ma) * (b[i] - mb)) / (sum(&|i| (a[i] - ma).powi(2)) * sum(&|i| (b[i] - mb).powi(2))).sqrt()
}

/// Most bins of [`dependence`], and the fewest.
const BINS: [usize; 2] = [3, 10];

/// Bins that [`dependence`] makes of `n` pairs, at most; none if they are too few to tell anything.
fn bins(n: usize) -> Option<usize> {
    (n >= 2 * BINS[0]).then(|| n.isqrt().clamp(BINS[0], BINS[1]))
}

/// The bin of every value: bins hold like counts, equal values share theirs.
fn quantile_bins(values: &[f64], count: usize) -> Vec<usize> {
    let n = values.len() as f64;
    ranks(values).into_iter().map(|rank| ((rank + 0.5) / n * count as f64) as usize).collect()
}

/// How much of `y` the value of `x` decides, 0 to 1: the correlation ratio of the ranks of `y` over bins of
/// `x` that hold like counts. It sees what [`rank_correlation`] sees and what goes both ways, such as a
/// square, but not the sign. What bins explain of unrelated pairs is taken off. Pairs that are not finite are
/// left out; NaN of fewer than six, or if either is constant.
pub fn dependence(x: &[f64], y: &[f64]) -> f64 {
    let (x, y) = finite(x, y);
    let Some(count) = bins(x.len()) else { return f64::NAN };
    let (bin, rank) = (quantile_bins(&x, count), ranks(&y));
    let (n, whole) = (x.len() as f64, mean(&rank));
    let of: Vec<Vec<f64>> = (0..count)
        .map(|b| bin.iter().zip(&rank).filter(|(at, _)| **at == b).map(|(_, r)| *r).collect::<Vec<f64>>())
        .filter(|ranks| !ranks.is_empty())
        .collect();
    if of.len() < 2 {
        return f64::NAN;
    }
    let within: f64 = of.iter().map(|r| r.iter().map(|v| (v - mean(r)).powi(2)).sum::<f64>()).sum();
    let total: f64 = rank.iter().map(|r| (r - whole).powi(2)).sum();
    if !(total > 0.0) {
        return f64::NAN;
    }
    (1.0 - within / total * (n - 1.0) / (n - of.len() as f64)).max(0.0).sqrt()
}

/// What the absolute [`rank_correlation`] and the [`dependence`] of `n` unrelated pairs exceed in about one
/// case of twenty.
pub fn by_chance(n: usize) -> [f64; 2] {
    let Some(count) = bins(n) else { return [1.0; 2] };
    let (n, k) = (n as f64, count as f64);
    // The share that bins explain has a beta distribution, whose 95 % point is near 1.85 deviations above its
    // mean.
    let (a, b) = (0.5 * (k - 1.0), 0.5 * (n - k));
    let deviation = (a * b / (a + b + 1.0)).sqrt() / (a + b);
    let share = a / (a + b) + 1.85 * deviation;
    [1.96 / (n - 1.0).sqrt(), (1.0 - (1.0 - share) * (n - 1.0) / (n - k)).max(0.0).sqrt()].map(|v| v.min(1.0))
}

/// The `q`-quantiles of `y` in three to ten bins of `x` of about twenty pairs or more, each with the median
/// of `x` there; none of fewer than six pairs.
pub fn binned(x: &[f64], y: &[f64], q: f64) -> [Vec<f64>; 2] {
    let (x, y) = finite(x, y);
    if x.len() < 2 * BINS[0] {
        return Default::default();
    }
    let count = (x.len() / 20).clamp(BINS[0], BINS[1]);
    let bin = quantile_bins(&x, count);
    let pick =
        |v: &[f64], b: usize| bin.iter().zip(v).filter(|(at, _)| **at == b).map(|(_, v)| *v).collect::<Vec<f64>>();
    let full: Vec<usize> = (0..count).filter(|b| bin.contains(b)).collect();
    [(&x, 0.5), (&y, q)].map(|(v, q)| full.iter().map(|b| quantile(&pick(v, *b), q)).collect())
}

/// The pairs that are finite.
fn finite(x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    x.iter().zip(y).filter(|(a, b)| a.is_finite() && b.is_finite()).map(|(a, b)| (*a, *b)).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use bristle::random::Draw;

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

    #[test]
    fn dependence_is_the_correlation_ratio_of_ranks_over_bins() {
        // Three bins of four: ranks 0 to 3, 8 to 11, 4 to 7. Within 15 of 143, over 11/9 of it for chance.
        let x = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0];
        let y = [-4.0, -3.0, -2.0, -1.0, 50.0, 60.0, 70.0, 80.0, 1.0, 2.0, 3.0, 4.0];
        assert_relative_eq!(dependence(&x, &y), (1.0 - 15.0 / 143.0 * 11.0 / 9.0f64).sqrt(), epsilon = 1e-12);
        // The order of the pairs does not count, nor does a monotone scale of either.
        let turned = |v: &[f64]| v.iter().rev().map(|v| v.exp()).collect::<Vec<f64>>();
        assert_relative_eq!(dependence(&turned(&x), &turned(&y)), dependence(&x, &y), epsilon = 1e-12);
        let gap = [x.to_vec(), vec![f64::NAN]].concat();
        assert_relative_eq!(dependence(&gap, &[y.to_vec(), vec![1.0]].concat()), dependence(&x, &y));
        assert!(dependence(&x, &[1.0; 12]).is_nan() && dependence(&[1.0; 12], &y).is_nan());
        assert!(dependence(&x[..5], &y[..5]).is_nan());
    }

    #[test]
    fn dependence_sees_effects_of_one_direction_and_of_both() {
        let x: Vec<f64> = (0..200).map(f64::from).collect();
        let of = |f: fn(f64) -> f64| x.iter().map(|v| f(v - 99.5)).collect::<Vec<f64>>();
        for y in [of(|v| v.powi(3)), of(|v| -v), of(|v| v * v), of(f64::abs)] {
            assert!(dependence(&x, &y) > 0.97, "{}", dependence(&x, &y));
        }
        assert!(rank_correlation(&x, &of(|v| v * v)).abs() < 1e-12, "of which the correlation sees nothing");
    }

    #[test]
    fn one_unrelated_pair_of_twenty_exceeds_what_chance_gives() {
        for n in [12, 40, 256] {
            let [correlation, ratio] = by_chance(n);
            let mut over = [0, 0];
            for k in 0..2000 {
                let draw = Draw::new(3, k);
                let series = |name: &str| (0..n).map(|i| draw.uniform(&format!("{name} {i}"))).collect::<Vec<f64>>();
                let (x, y) = (series("x"), series("y"));
                over[0] += u32::from(rank_correlation(&x, &y).abs() > correlation);
                over[1] += u32::from(dependence(&x, &y) > ratio);
            }
            for count in over {
                assert!((50..=150).contains(&count), "n = {n}: {over:?} of 2000");
            }
        }
    }

    #[test]
    fn binned_medians_follow_a_curve_that_turns_back() {
        let x: Vec<f64> = (0..200).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|v| (v - 99.5).abs()).collect();
        let [at, middle] = binned(&x, &y, 0.5);
        assert_eq!(at.len(), 10);
        assert_relative_eq!(at[0], 9.5);
        assert_relative_eq!(middle[0], 90.0);
        assert!(middle[..5].is_sorted_by(|a, b| a > b) && middle[5..].is_sorted());
        assert!(binned(&x[..5], &y[..5], 0.5).iter().all(Vec::is_empty));
    }
}
