//! Lemke's method with lexicographic pivots.
//!
//! One artificial variable `z0` with a column of ones is added, so that a large enough `z0` makes all `w`
//! positive; it enters first, and from then on the complement of the variable that has just left enters,
//! until `z0` leaves. Ties in the ratio test are broken by the rows of the inverse of the basis, in the
//! lexicographic order: no basis is repeated, so that the method always ends (Cottle, Pang & Stone, *The
//! Linear Complementarity Problem*, 4.9).

use nalgebra::{DMatrix, DVector};

use super::{Lcp, Termination};

/// What Lemke's method has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Lemke {
    /// The solution, or where the method ended without one.
    pub z: DVector<f64>,
    /// How it ended.
    pub termination: Termination,
    /// Number of pivots.
    pub pivots: usize,
}

/// Elements of the entering column below this share of its largest are taken for zero: what pivots leave of
/// zeros.
const ZERO: f64 = 1e-10;
/// Rounding of an element, over the largest of its column: ratios that differ by no more are a tie.
const TIE: f64 = 1e-12;
/// Pivots after which the tableau is made anew from the problem, so that rounding does not add up.
const REFRESH: usize = 16;
/// Residual, over the largest number of `q`, at which a point is a solution.
const CLOSE: f64 = 1e-8;
/// Columns of the artificial variable that are tried, where rounding ends the first on a ray.
const COVERS: u32 = 4;

/// The tableau: `n` rows of `w` (`n` columns), `z` (`n`), `z0` and the right side. As `w` is the first basis,
/// its columns hold the inverse of the present one.
struct Tableau {
    n: usize,
    rows: DMatrix<f64>,
    basis: Vec<usize>,
    cover: u32,
}

pub(super) fn solve(lcp: &Lcp, most_pivots: usize) -> Lemke {
    let first = solve_with(lcp, most_pivots, 0);
    if matches!(first.termination, Termination::Solved | Termination::Limit) {
        return first;
    }
    let others = (1..COVERS).map(|cover| solve_with(lcp, most_pivots, cover));
    others.into_iter().find(|found| found.termination == Termination::Solved).unwrap_or(first)
}

/// Lemke's method with one of several columns of the artificial variable.
fn solve_with(lcp: &Lcp, most_pivots: usize, cover: u32) -> Lemke {
    let n = lcp.q.len();
    let least = lcp.q.iter().copied().fold(f64::INFINITY, f64::min);
    if n == 0 || least >= 0.0 {
        return Lemke { z: DVector::zeros(n), termination: Termination::Solved, pivots: 0 };
    }
    let mut tableau = Tableau::new(lcp, cover);
    let (z0, mut pivots) = (2 * n, 1);
    let mut row = tableau.first_row();
    let mut entering = tableau.pivot(row, z0);
    let mut fresh = 0;
    let termination = loop {
        if pivots >= fresh + REFRESH {
            tableau.refresh(lcp);
            fresh = pivots;
        }
        let mut leaving = tableau.leaving(entering);
        if leaving.is_none() && fresh < pivots {
            // It may be rounding that hides the row.
            tableau.refresh(lcp);
            fresh = pivots;
            leaving = tableau.leaving(entering);
        }
        let Some(leaving) = leaving else { break Termination::Ray };
        row = leaving;
        pivots += 1;
        let left = tableau.pivot(row, entering);
        if left == z0 {
            break Termination::Solved;
        }
        if pivots >= most_pivots {
            break Termination::Limit;
        }
        entering = left;
    };
    let z = tableau.solution();
    let z = if termination == Termination::Solved { refined(lcp, &tableau.basis, z) } else { z };
    // Of problems that are solvable by a hair, as those of redundant contacts, rounding may have removed the
    // last pivot.
    let is_close = lcp.residual(&z) <= CLOSE * lcp.q.amax();
    let termination = match termination {
        _ if z.iter().any(|v| !v.is_finite()) => Termination::NotFinite,
        Termination::Ray if is_close => Termination::Solved,
        Termination::Solved if !is_close => Termination::Inexact,
        other => other,
    };
    Lemke { z, termination, pivots }
}

impl Tableau {
    /// The first column of the artificial variable is one of ones, as in the books; the others differ from
    /// row to row.
    fn new(lcp: &Lcp, cover: u32) -> Self {
        let n = lcp.q.len();
        let mut rows = DMatrix::zeros(n, 2 * n + 2);
        rows.view_mut((0, 0), (n, n)).fill_with_identity();
        rows.view_mut((0, n), (n, n)).copy_from(&-&lcp.a);
        let golden = |row: usize| (0.618_033_988_749_895 * f64::from(cover) * (row + 1) as f64).fract();
        (0..n).for_each(|row| rows[(row, 2 * n)] = -1.0 - golden(row));
        rows.column_mut(2 * n + 1).copy_from(&lcp.q);
        Self { n, rows, basis: (0..n).collect(), cover }
    }

    /// Of two variables `w_i` and `z_i`, the other one.
    const fn complement(&self, variable: usize) -> usize {
        if variable < self.n { variable + self.n } else { variable - self.n }
    }

    /// The row that the artificial variable enters at: the lexicographically least of the right sides.
    fn first_row(&self) -> usize {
        let scale = |row: usize| -self.rows[(row, 2 * self.n)];
        (1..self.n).fold(0, |best, row| if self.precedes(row, scale(row), best, scale(best)) { row } else { best })
    }

    /// Whether row `a` over `scale_a` comes before row `b` over `scale_b`: by the right side, then by the
    /// columns of the inverse of the basis.
    fn precedes(&self, a: usize, scale_a: f64, b: usize, scale_b: f64) -> bool {
        let columns = std::iter::once(2 * self.n + 1).chain(0..self.n);
        for column in columns {
            let (x, y) = (self.rows[(a, column)] / scale_a, self.rows[(b, column)] / scale_b);
            // What rounding makes of a tie is taken for one.
            if x != y && (x - y).abs() > TIE * self.rows.column(column).amax() * (1.0 / scale_a + 1.0 / scale_b) {
                return x < y;
            }
        }
        false
    }

    /// The row whose variable becomes zero first as variable `entering` grows; none if it may grow without
    /// bound. The artificial variable leaves as soon as it may.
    fn leaving(&self, entering: usize) -> Option<usize> {
        let column = self.rows.column(entering);
        let least = ZERO * column.amax().max(1e-300);
        let mut best: Option<usize> = None;
        for row in (0..self.n).filter(|row| column[*row] > least) {
            if best.is_none_or(|b| self.precedes(row, column[row], b, column[b])) {
                best = Some(row);
            }
        }
        let best = best?;
        let right = 2 * self.n + 1;
        let ratio = |row: usize| self.rows[(row, right)] / column[row];
        let slack = |row: usize| TIE * self.rows.column(right).amax() * (1.0 / column[row] + 1.0 / column[best]);
        let artificial = (0..self.n).find(|row| self.basis[*row] == 2 * self.n && column[*row] > least);
        Some(artificial.filter(|row| *row == best || ratio(*row) <= ratio(best) + slack(*row)).unwrap_or(best))
    }

    /// Puts variable `entering` into the basis at `row`, and returns the complement of the variable that has
    /// left.
    fn pivot(&mut self, row: usize, entering: usize) -> usize {
        let left = std::mem::replace(&mut self.basis[row], entering);
        let pivot = self.rows[(row, entering)];
        let scaled = self.rows.row(row) / pivot;
        let column: DVector<f64> = self.rows.column(entering).into_owned();
        for (k, mut target) in self.rows.column_iter_mut().enumerate() {
            if scaled[k] != 0.0 {
                target.axpy(-scaled[k], &column, 1.0);
            }
            target[row] = scaled[k];
        }
        // Of the entering column nothing may be left by rounding.
        self.rows.column_mut(entering).fill(0.0);
        self.rows[(row, entering)] = 1.0;
        if left == 2 * self.n { left } else { self.complement(left) }
    }

    /// Makes the tableau of the present basis from the problem's own numbers; leaves it as it is if the basis
    /// is singular.
    fn refresh(&mut self, lcp: &Lcp) {
        let first = Self::new(lcp, self.cover).rows;
        let basis = DMatrix::from_fn(self.n, self.n, |i, j| first[(i, self.basis[j])]);
        if let Some(rows) = basis.lu().solve(&first) {
            self.rows = rows;
        }
    }

    fn solution(&self) -> DVector<f64> {
        let mut z = DVector::zeros(self.n);
        for (row, variable) in self.basis.iter().enumerate() {
            if (self.n..2 * self.n).contains(variable) {
                z[variable - self.n] = self.rows[(row, 2 * self.n + 1)].max(0.0);
            }
        }
        z
    }
}

/// The solution solved once more from its basis and the problem's own numbers, without the rounding of the
/// pivots, if that is closer.
fn refined(lcp: &Lcp, basis: &[usize], z: DVector<f64>) -> DVector<f64> {
    let n = lcp.q.len();
    let free: Vec<usize> = basis.iter().filter(|v| (n..2 * n).contains(*v)).map(|v| v - n).collect();
    let part = DMatrix::from_fn(free.len(), free.len(), |i, j| lcp.a[(free[i], free[j])]);
    let right = DVector::from_fn(free.len(), |i, _| -lcp.q[free[i]]);
    let Some(values) = part.lu().solve(&right) else { return z };
    let mut better = DVector::zeros(n);
    free.iter().zip(values.iter()).for_each(|(i, v)| better[*i] = v.max(0.0));
    if lcp.residual(&better) < lcp.residual(&z) { better } else { z }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lcp(a: &[f64], q: &[f64]) -> Lcp {
        Lcp::new(DMatrix::from_row_slice(q.len(), q.len(), a), DVector::from_row_slice(q)).unwrap()
    }

    /// Pages 3 and 4 of Trinkle's notes: a particle on a line, `q = (-v, v, mu f_n)`.
    #[test]
    fn the_examples_of_the_notes_have_their_solutions() {
        let a = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, -1.0, -1.0, 0.0];
        for (v, wanted) in [(1.0, [1.0, 0.0, 1.0]), (-1.0, [0.0, 1.0, 1.0]), (0.0, [0.0; 3])] {
            let lcp = lcp(&a, &[-v, v, 1.0]);
            let found = lcp.solve(100);
            assert_eq!(found.termination, Termination::Solved);
            assert_eq!(found.z.as_slice(), wanted, "v = {v}");
            assert_eq!(lcp.residual(&found.z), 0.0);
        }
    }

    /// Cottle, Pang & Stone's example 4.4.16, on which Lemke's method without a rule for ties cycles.
    #[test]
    fn ties_do_not_cycle() {
        let found = lcp(&[1.0, 2.0, 0.0, 0.0, 1.0, 2.0, 2.0, 0.0, 1.0], &[-1.0; 3]);
        let solved = found.solve(50);
        assert_eq!(solved.termination, Termination::Solved, "{solved:?}");
        assert!(found.residual(&solved.z) < 1e-15 && (solved.z.sum() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_problem_without_solution_ends_on_a_ray() {
        // w_1 = -1 whatever z is.
        assert_eq!(lcp(&[0.0, 0.0, 0.0, 1.0], &[-1.0, -1.0]).solve(50).termination, Termination::Ray);
        assert_eq!(lcp(&[-1.0], &[-1.0]).solve(50).termination, Termination::Ray);
    }

    #[test]
    fn what_is_no_problem_is_refused() {
        let square = DMatrix::zeros(2, 2);
        assert!(Lcp::new(square.clone(), DVector::zeros(3)).is_err());
        assert!(Lcp::new(DMatrix::zeros(2, 3), DVector::zeros(2)).is_err());
        assert!(Lcp::new(square, DVector::from_row_slice(&[0.0, f64::NAN])).is_err());
        assert!(lcp(&[1.0], &[-1.0]).residual(&DVector::from_row_slice(&[f64::NAN])).is_nan());
        assert!((lcp(&[1.0], &[-1.0]).residual(&DVector::from_row_slice(&[0.75])) - 0.25).abs() < 1e-15);
    }

    proptest! {
        /// A positive definite matrix has one solution, whatever q.
        #[test]
        fn positive_definite_problems_are_solved(values in prop::collection::vec(-1.0..1.0f64, 8 * 9)) {
            let b = DMatrix::from_row_slice(8, 8, &values[..64]);
            let a = &b * b.transpose() + DMatrix::identity(8, 8) * 1e-3 + (&b - b.transpose());
            let lcp = Lcp::new(a, DVector::from_row_slice(&values[64..])).unwrap();
            let found = lcp.solve(1000);
            prop_assert_eq!(found.termination, Termination::Solved);
            prop_assert!(lcp.residual(&found.z) < 1e-11);
        }

        /// Small integers have many ties; the method ends, and what it calls solved is.
        #[test]
        fn degenerate_problems_end(
            a in prop::collection::vec(-1..=1i32, 36),
            q in prop::collection::vec(-1..=1i32, 6),
        ) {
            let of = |v: &[i32]| v.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
            let lcp = lcp(&of(&a), &of(&q));
            let found = lcp.solve(10_000);
            prop_assert!(found.termination != Termination::Limit && found.termination != Termination::NotFinite);
            prop_assert!(found.termination != Termination::Solved || lcp.residual(&found.z) < 1e-10);
        }
    }
}
