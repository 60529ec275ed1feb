//! Thins out curves with more points than a chart can show, and keeps their extremes.

/// Largest number of points of a curve.
const MAX_POINTS: usize = 700;

/// At most [`MAX_POINTS`]: of every stretch of points its first, least and greatest.
pub(super) fn thin(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    if points.len() <= MAX_POINTS {
        return points.to_vec();
    }
    let stretch = (3 * points.len()).div_ceil(MAX_POINTS);
    let mut kept = Vec::new();
    for (k, part) in points.chunks(stretch).enumerate() {
        let extreme = |sign: f64| (0..part.len()).max_by(|a, b| (sign * part[*a][1]).total_cmp(&(sign * part[*b][1])));
        let mut at = vec![0, extreme(1.0).unwrap_or(0), extreme(-1.0).unwrap_or(0)];
        if k + 1 == points.len().div_ceil(stretch) {
            at.push(part.len() - 1);
        }
        at.sort_unstable();
        at.dedup();
        kept.extend(at.into_iter().map(|i| part[i]));
    }
    kept
}

/// At most [`MAX_POINTS`]: of every stretch of a band its first place and the last one of all, its least and
/// its greatest.
pub(super) fn thin_band([x, low, high]: [&[f64]; 3]) -> [Vec<f64>; 3] {
    let stretch = x.len().div_ceil(MAX_POINTS).max(1);
    let mut places: Vec<f64> = x.iter().step_by(stretch).copied().collect();
    if let (Some(last), Some(end)) = (places.last_mut(), x.last()) {
        *last = *end;
    }
    let of = |v: &[f64], pick: fn(f64, f64) -> f64| {
        v.chunks(stretch).map(|part| part.iter().copied().fold(f64::NAN, pick)).collect()
    };
    [places, of(low, f64::min), of(high, f64::max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_bands_keep_ends_and_extremes() {
        let x: Vec<f64> = (0..10_007).map(f64::from).collect();
        let mut low: Vec<f64> = x.iter().map(|x| (x * 0.01).sin()).collect();
        low[4321] = -7.0;
        let high: Vec<f64> = low.iter().map(|v| 2.0 - v).collect();
        let [places, below, above] = thin_band([&x, &low, &high]);
        assert!(places.len() <= MAX_POINTS && [&below, &above].iter().all(|v| v.len() == places.len()));
        assert_eq!((places[0], places.last()), (0.0, x.last()));
        assert!(below.contains(&-7.0) && above.contains(&9.0));
        // Few points stay as they are.
        let few = [&x[..50], &low[..50], &high[..50]];
        assert_eq!(thin_band(few), few.map(<[f64]>::to_vec));
    }

    #[test]
    fn thinning_keeps_ends_and_extremes() {
        let mut points: Vec<[f64; 2]> = (0..10_000).map(|i| [f64::from(i), (f64::from(i) * 0.01).sin()]).collect();
        points[4321][1] = 7.0;
        let kept = thin(&points);
        assert!(kept.len() <= MAX_POINTS + 3, "{}", kept.len());
        assert!(kept.contains(&[4321.0, 7.0]));
        assert_eq!((kept[0], kept[kept.len() - 1]), (points[0], points[9999]));
        assert!(kept.windows(2).all(|w| w[0][0] < w[1][0]));
    }
}
