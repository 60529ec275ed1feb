//! Fewer samples of a dense recording.
//!
//! Positions, and what is compared, are those of the samples that are kept. A mean over the time around a
//! sample has less noise, but blurs what happens at a reversal: there the slope of the friction jumps, and a
//! mean over `T` is off by an eighth of that jump times `T`. So means are taken only if asked for.

use std::ops::Range;

/// Rows that are kept, one in `every` \[s\] within each piece, and the pieces of what is kept. `usual` \[s\]
/// is the time between rows.
pub(super) fn kept(time: &[f64], pieces: &[Range<usize>], every: f64, usual: f64) -> (Vec<usize>, Vec<Range<usize>>) {
    let (mut kept, mut of_kept) = (Vec::new(), Vec::new());
    for piece in pieces {
        let first = kept.len();
        // On a grid from the piece's first row on, so that a rate that does not divide adds nothing up.
        let start = time[piece.start];
        let mut next = start;
        for k in piece.clone() {
            if time[k] >= next - 0.5 * usual.min(every) {
                kept.push(k);
                next = start + every * ((time[k] - start + 0.5 * usual.min(every)) / every).floor() + every;
            }
        }
        of_kept.push(first..kept.len());
    }
    (kept, of_kept)
}

/// Means over the rows at most half of `every` \[s\] from each kept row, of the same piece; what is missing
/// does not count.
pub(super) fn averaged(time: &[f64], values: &[f64], pieces: &[Range<usize>], kept: &[usize], every: f64) -> Vec<f64> {
    let mut means = Vec::with_capacity(kept.len());
    let mut pieces = pieces.iter();
    let mut piece = 0..0;
    for k in kept {
        while !piece.contains(k) {
            piece = pieces.next().expect("every kept row is in a piece").clone();
        }
        // Half of the rows in the middle between two samples are in the mean of each.
        let half = 0.5 * every * (1.0 + 1e-9);
        let before = piece.start + time[piece.start..*k].partition_point(|t| *t < time[*k] - half);
        let after = *k + time[*k..piece.end].partition_point(|t| *t < time[*k] + half - 2e-9 * half);
        let found = values[before..after].iter().filter(|v| v.is_finite());
        let (count, sum) = found.fold((0usize, 0.0), |(count, sum), v| (count + 1, sum + v));
        // A sample that is masked stays so.
        means.push(if count == 0 || values[*k].is_nan() { f64::NAN } else { sum / count as f64 });
    }
    means
}

/// Mean velocities from each kept row until the next, which move as far as the recorded ones do along
/// straight lines between the rows; the last is that of its row.
pub(super) fn mean_velocities(time: &[f64], values: &[f64], kept: &[usize]) -> Vec<f64> {
    let between = |rows: &[usize]| {
        let (a, b) = (rows[0], rows[1]);
        let moved: f64 = (a..b).map(|k| 0.5 * (values[k] + values[k + 1]) * (time[k + 1] - time[k])).sum();
        moved / (time[b] - time[a])
    };
    let last = kept.last().map(|k| values[*k]);
    kept.windows(2).map(between).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_rows_are_the_period_apart_and_do_not_drift() {
        // 300 Hz to 50 Hz with jitter: a row in 6.
        let time: Vec<f64> = (0..3000).map(|k| f64::from(k) / 300.0 + 1e-4 * f64::from(k % 7)).collect();
        let (rows, pieces) = kept(&time, &[0..1500, 1500..3000], 0.02, 1.0 / 300.0);
        assert_eq!((rows.len(), pieces), (500, vec![0..250, 250..500]));
        for (k, row) in rows[..250].iter().enumerate() {
            assert!((time[*row] - 0.02 * k as f64).abs() < 0.6 / 300.0, "{k}: {}", time[*row]);
        }
        // 70 Hz of 1 kHz does not divide: the number of rows is right in the end.
        let time: Vec<f64> = (0..100_000).map(|k| 1e-3 * f64::from(k)).collect();
        let (rows, _) = kept(&time, std::slice::from_ref(&(0..100_000)), 1.0 / 70.0, 1e-3);
        assert_eq!(rows.len(), 7000);
        // Sparser rows than asked for are all kept.
        assert_eq!(kept(&time[..50], std::slice::from_ref(&(0..50)), 1e-4, 1e-3).0.len(), 50);
    }

    #[test]
    fn velocities_keep_the_displacement() {
        let time: Vec<f64> = (0..1001).map(|k| 0.002 * f64::from(k) + 3e-4 * f64::from(k % 3)).collect();
        let v: Vec<f64> = time.iter().map(|t| (7.0 * t).sin()).collect();
        let (rows, _) = kept(&time, &[0..500, 500..1001], 0.02, 0.002);
        let means = mean_velocities(&time, &v, &rows);
        let moved: f64 = rows.windows(2).zip(&means).map(|(rows, v)| v * (time[rows[1]] - time[rows[0]])).sum();
        let last = rows[rows.len() - 1];
        let exact: f64 = (0..last).map(|k| 0.5 * (v[k] + v[k + 1]) * (time[k + 1] - time[k])).sum();
        approx::assert_relative_eq!(moved, exact, max_relative = 1e-13);
        // And that is the displacement of the velocity itself, to the error of straight lines.
        let analytic = ((7.0 * time[0]).cos() - (7.0 * time[last]).cos()) / 7.0;
        approx::assert_abs_diff_eq!(moved, analytic, epsilon = 1e-4);
    }

    #[test]
    fn means_lower_noise_and_do_not_cross_gaps() {
        let time: Vec<f64> = (0..1000).map(|k| 0.01 * f64::from(k)).collect();
        // A line stays what it is; a step at a gap is not blurred; a masked sample stays masked.
        let values: Vec<f64> = (0..1000).map(|k| if k < 500 { time[k] } else { 100.0 }).collect();
        let pieces = [0..500, 500..1000];
        let (rows, _) = kept(&time, &pieces, 0.1, 0.01);
        let mut with_hole = values.clone();
        with_hole[rows[30]] = f64::NAN;
        let means = averaged(&time, &with_hole, &pieces, &rows, 0.1);
        assert!(means[30].is_nan());
        for (k, row) in rows.iter().enumerate().filter(|(k, _)| *k != 30) {
            // Ten rows, from half of the period before on.
            let expected = if *row >= 500 {
                100.0
            } else if k == 0 {
                0.02
            } else {
                time[*row] - 0.005
            };
            approx::assert_abs_diff_eq!(means[k], expected, epsilon = 2e-9);
        }
    }
}
