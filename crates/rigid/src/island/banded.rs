//! Linear systems whose elements lie near the diagonal, by elimination with pivots from the column.

/// A square matrix with `reach` diagonals on each side of the main one, row after row; room for the `reach`
/// more that pivots bring in above.
#[derive(Default)]
pub(super) struct Banded {
    size: usize,
    reach: usize,
    rows: Vec<f64>,
    pivots: Vec<usize>,
    /// The last column of each row that has an element once it is factorised.
    ends: Vec<usize>,
}

impl Banded {
    const fn width(&self) -> usize {
        3 * self.reach + 1
    }

    /// Makes it the identity.
    pub(super) fn set_identity(&mut self, size: usize, reach: usize) {
        (self.size, self.reach) = (size, reach.min(size.saturating_sub(1)));
        self.rows.clear();
        self.rows.resize(size * self.width(), 0.0);
        (0..size).for_each(|k| self.add(k, k, 1.0));
    }

    /// Adds to an element near the diagonal.
    pub(super) fn add(&mut self, row: usize, column: usize, value: f64) {
        let at = row * self.width() + column + self.reach - row;
        self.rows[at] += value;
    }

    /// Factorises; false if a pivot is zero or not finite.
    pub(super) fn factorise(&mut self) -> bool {
        let (n, kl, width) = (self.size, self.reach, self.width());
        self.pivots.clear();
        self.ends.clear();
        let mut end = 0;
        for k in 0..n {
            let last = (k + kl).min(n - 1);
            let element = |rows: &[f64], row: usize| rows[row * width + k + kl - row];
            let mut pivot = k;
            for row in k + 1..=last {
                if element(&self.rows, row).abs() > element(&self.rows, pivot).abs() {
                    pivot = row;
                }
            }
            self.pivots.push(pivot);
            // A pivot from below brings its columns in.
            end = end.max((pivot + kl).min(n - 1));
            self.ends.push(end);
            if pivot != k {
                for column in k..=end {
                    self.rows.swap(k * width + column + kl - k, pivot * width + column + kl - pivot);
                }
            }
            let diagonal = self.rows[k * width + kl];
            if !(diagonal != 0.0 && diagonal.is_finite()) {
                return false;
            }
            let (above, below) = self.rows.split_at_mut((k + 1) * width);
            let source = &above[k * width + kl + 1..k * width + kl + 1 + end - k];
            for row in k + 1..=last {
                let start = (row - k - 1) * width + k + kl - row;
                let factor = below[start] / diagonal;
                below[start] = factor;
                if factor != 0.0 {
                    let target = &mut below[start + 1..start + 1 + end - k];
                    target.iter_mut().zip(source).for_each(|(t, s)| *t -= factor * s);
                }
            }
        }
        true
    }

    /// Solves for a right side, in its place.
    pub(super) fn solve(&self, right: &mut [f64]) {
        let (n, kl, width) = (self.size, self.reach, self.width());
        for k in 0..n {
            right.swap(k, self.pivots[k]);
            let value = right[k];
            for (row, right) in right.iter_mut().enumerate().take((k + kl).min(n - 1) + 1).skip(k + 1) {
                *right -= self.rows[row * width + k + kl - row] * value;
            }
        }
        for k in (0..n).rev() {
            let end = self.ends[k];
            let row = &self.rows[k * width + kl..k * width + kl + 1 + end - k];
            let sum: f64 = row[1..].iter().zip(&right[k + 1..=end]).map(|(a, x)| a * x).sum();
            right[k] = (right[k] - sum) / row[0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_banded_system_has_the_dense_solution(
            values in prop::collection::vec(-1.0..1.0f64, 12 * 13),
            size in 1usize..12,
            reach in 0usize..12,
        ) {
            let mut banded = Banded::default();
            banded.set_identity(size, reach);
            let mut dense = DMatrix::identity(size, size);
            for row in 0..size {
                for column in (0..size).filter(|c| c.abs_diff(row) <= reach) {
                    // Diagonals that are small need pivots.
                    let value = values[row * 12 + column] - if row == column { 1.0 } else { 0.0 };
                    banded.add(row, column, value);
                    dense[(row, column)] += value;
                }
            }
            let right = DVector::from_fn(size, |k, _| values[144 + k]);
            let mut found = right.as_slice().to_vec();
            let Some(wanted) = dense.clone().lu().solve(&right) else { return Ok(()) };
            prop_assume!(banded.factorise());
            banded.solve(&mut found);
            let error = (DVector::from_vec(found) - &wanted).amax();
            let condition = dense.try_inverse().map_or(f64::INFINITY, |i| i.amax());
            prop_assert!(error <= 1e-13 * condition * (1.0 + wanted.amax()), "{error:e}");
        }
    }
}
