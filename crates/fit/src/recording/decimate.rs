//! Fewer samples of a dense recording.
//!
//! Positions, and what is compared, are those of the samples that are kept. Between them the motion is that
//! of the rows where it turns back, too, so that the way stays as long. A mean over the time around a sample
//! has less noise, but blurs what happens at a reversal: there the slope of the friction jumps, and a mean
//! over `T` is off by an eighth of that jump times `T`. So means are taken only if asked for.

use std::ops::Range;

use super::coarse::noise_of;
use crate::noise::resolution;

/// A motion turns back if it does so by this many times its noise.
const SURE: f64 = 6.0;
/// And by this share of the usual way from one kept row to the next.
const MATTERS: f64 = 0.005;

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

/// A motion at every row \[m\] or \[rad\], and by how much it turns back there if that is no noise.
pub(super) struct Way {
    at: Vec<f64>,
    least: f64,
    is_rotation: bool,
}

impl Way {
    /// Of recorded positions.
    pub(super) fn of_positions(values: &[f64], is_rotation: bool) -> Self {
        Self { at: values.to_vec(), least: SURE * noise_of(values) + 2.0 * resolution(values), is_rotation }
    }

    /// Of recorded velocities, whose noise adds up over the rows in `every` \[s\].
    pub(super) fn of_velocities(time: &[f64], values: &[f64], is_rotation: bool, [every, usual]: [f64; 2]) -> Self {
        let mut at = vec![0.0; values.len()];
        for k in 1..values.len() {
            at[k] = at[k - 1] + 0.5 * (values[k - 1] + values[k]) * (time[k] - time[k - 1]);
        }
        Self { at, least: SURE * noise_of(values) * (usual * every.max(usual)).sqrt(), is_rotation }
    }

    /// The rows between two others at which the motion is farthest beyond both, by at least `usual` times
    /// [`MATTERS`]. A row that is alone there is a reading that failed.
    fn turns(&self, a: usize, b: usize, usual: f64) -> impl Iterator<Item = usize> {
        let least = self.least.max(MATTERS * usual);
        let beyond = |sign: f64| {
            let at = |k: usize| sign * self.at[k];
            let by = |k: usize| at(k).min(at(k - 1).max(at(k + 1))) - at(a).max(at(b));
            let (row, by) =
                (a + 1..b).map(|k| (k, by(k))).max_by(|i, k| i.1.total_cmp(&k.1).then(at(i.0).total_cmp(&at(k.0))))?;
            (by > least).then_some(row)
        };
        [beyond(1.0), beyond(-1.0)].into_iter().flatten()
    }
}

/// The kept rows and those between them where a motion turns back, the pieces of both, and the places of the
/// second kind among both. Without these the way would be cut short at every reversal.
pub(super) fn with_turns(
    kept: &[usize],
    pieces: &[Range<usize>],
    ways: &[Way],
) -> (Vec<usize>, Vec<Range<usize>>, Vec<usize>) {
    let pairs = || pieces.iter().flat_map(|piece| kept[piece.clone()].windows(2));
    let moved = |way: &Way| pairs().map(|w| (way.at[w[1]] - way.at[w[0]]).abs()).sum::<f64>();
    // The way along one axis is nothing beside a longer one along the other.
    let mut usual = [0.0f64; 2];
    for way in ways {
        let most = &mut usual[usize::from(way.is_rotation)];
        *most = most.max(moved(way) / pairs().count().max(1) as f64);
    }
    let (mut rows, mut of_rows, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        let first = rows.len();
        let of_piece = &kept[piece.clone()];
        for pair in of_piece.windows(2) {
            let found = ways.iter().flat_map(|way| way.turns(pair[0], pair[1], usual[usize::from(way.is_rotation)]));
            let mut turns: Vec<usize> = found.collect();
            turns.sort_unstable();
            turns.dedup();
            rows.push(pair[0]);
            places.extend(rows.len()..rows.len() + turns.len());
            rows.extend(turns);
        }
        rows.extend(of_piece.last());
        of_rows.push(first..rows.len());
    }
    (rows, of_rows, places)
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

    /// Strokes at a constant speed turn back anywhere between two rows that are kept.
    #[test]
    fn reversals_keep_the_way() {
        let draw = bristle::random::Draw::new(5, 0);
        let time: Vec<f64> = (0..5001).map(|k| 2e-3 * f64::from(k)).collect();
        let strokes: Vec<f64> = time.iter().map(|t| 1e-3 * (2.7 * t).sin().asin()).collect();
        let (rows, pieces) = kept(&time, &[0..2001, 2001..5001], 0.04, 2e-3);
        let last = rows[rows.len() - 1];
        let length = |rows: &[usize]| rows.windows(2).map(|w| (strokes[w[1]] - strokes[w[0]]).abs()).sum::<f64>();
        let all = length(&(0..=last).collect::<Vec<usize>>());
        assert!(length(&rows) < 0.99 * all, "{} {all}", length(&rows));
        let noise = |k: usize| 2e-7 * draw.normal(&format!("{k}"));
        let noisy: Vec<f64> = (0..5001).map(|k| strokes[k] + noise(k)).collect();
        let speeds: Vec<f64> = time.iter().map(|t| 2.7e-3 * (2.7 * t).cos().signum()).collect();
        let (position, velocity) =
            (|x: &[f64]| Way::of_positions(x, false), |v: &[f64]| Way::of_velocities(&time, v, false, [0.04, 2e-3]));
        for way in [position(&strokes), position(&noisy), velocity(&speeds)] {
            let (more, of_more, turns) = with_turns(&rows, &pieces, &[way]);
            assert!(more.is_sorted() && of_more[1].start == of_more[0].end && more[of_more[1].start] == 2001);
            assert!(length(&more) > 0.998 * all, "{} {all}", length(&more));
            let is_kept = |(i, _): &(usize, &usize)| !turns.contains(i);
            let kept: Vec<usize> = more.iter().enumerate().filter(is_kept).map(|(_, k)| *k).collect();
            assert_eq!(kept, rows);
            // At most one row at each of nine reversals.
            assert!(turns.len() <= 9 && more.len() == rows.len() + turns.len(), "{turns:?}");
        }
        // What rests, with noise or in steps of a counter, does not turn back, nor does a reading that
        // failed.
        let still: Vec<f64> = (0..5001).map(noise).collect();
        let counted: Vec<f64> = still.iter().map(|x| (x / 3e-7).round() * 3e-7).collect();
        let failed: Vec<f64> = (0..5001).map(|k| time[k] + if k % 501 == 7 { 1.0 } else { 0.0 }).collect();
        for way in [position(&still), position(&counted), position(&failed), velocity(&still)] {
            assert_eq!(with_turns(&rows, &pieces, &[way]).0, rows);
        }
        // Beside the strokes a small vibration across them does not count.
        let across: Vec<f64> = time.iter().map(|t| 1e-7 * (300.0 * t).sin()).collect();
        let (more, ..) = with_turns(&rows, &pieces, &[position(&strokes), position(&across)]);
        assert!(more.len() <= rows.len() + 9, "{} {}", more.len(), rows.len());
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
