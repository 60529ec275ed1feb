//! The mean of the friction of a cell that is far from the centre of rotation, as a series in its size,
//! `docs/model.md` (97).
//!
//! The mean of `R` over a cell of half sides `h`, `k` is
//! `sum h^2i k^2j / ((2i+1)! (2j+1)!) d^(2i+2j) R / dx^2i dy^2j = sum_n R^(1-2n) A_n(a^2/R^2)`; the means of
//! `a/R` and `b/R` are its derivatives. Written with the cell's velocity in place of `R`, the series has no
//! singularity as the rotation vanishes, and no cancellation.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::points::Points;
use crate::number::block::{Block, rsqrt, total};
use crate::number::real::LANES;
use crate::number::simd::copies;

/// Orders of the series. The first one left out is `(half diagonal / R)^10`.
pub const ORDERS: usize = 4;

/// Polynomials in `a^2/R^2` of every order but the zeroth, lowest power first.
type Series = [[f64; ORDERS + 1]; ORDERS];

/// The series of cells of one size.
#[derive(Clone, Copy, Debug)]
pub struct CellSeries {
    /// `2n A_n`, the torque of the friction about the cell's own centre.
    spin: Series,
    /// Relative correction of the mean of `a/R`.
    x: Series,
    /// Relative correction of the mean of `b/R`.
    y: Series,
}

/// A sum of `coefficient a^i b^j R^n`.
type Terms = BTreeMap<(i32, i32, i32), f64>;

/// Derivative along `a` (`axis` 0) or `b` (1).
fn derivative(terms: &Terms, axis: usize) -> Terms {
    let mut out = Terms::new();
    for (&(i, j, n), &c) in terms {
        let (power, down, up) =
            if axis == 0 { (i, (i - 1, j, n), (i + 1, j, n - 2)) } else { (j, (i, j - 1, n), (i, j + 1, n - 2)) };
        *out.entry(up).or_default() += c * f64::from(n);
        if power > 0 {
            *out.entry(down).or_default() += c * f64::from(power);
        }
    }
    out
}

/// Coefficients in `q = a^2/R^2` of terms whose powers of `a` and `b` are even except for one factor `a` or
/// `b`.
fn polynomial(terms: &Terms, scale: f64, into: &mut [f64; ORDERS + 1]) {
    for (&(i, j, _), &c) in terms {
        // q^(i/2) (1 - q)^(j/2)
        let mut binomial = 1.0;
        for m in 0..=j / 2 {
            into[(i / 2 + m) as usize] += scale * c * binomial;
            binomial *= -f64::from(j / 2 - m) / f64::from(m + 1);
        }
    }
}

/// Two powers, and the coefficients of three sums by order.
type Term = (i32, i32, [[f64; ORDERS + 1]; 3]);

/// The polynomials of the spin, `a/R` and `b/R` for `h^2i k^2j`. They are the same for all cells.
static TERMS: LazyLock<Vec<Term>> = LazyLock::new(|| {
    let odd_factorial = |n: i32| (1..=2 * n + 1).map(f64::from).product::<f64>();
    let of_powers = |(i, j): (i32, i32)| {
        let scale = 1.0 / (odd_factorial(i) * odd_factorial(j));
        let mut terms = Terms::from([((0, 0, 1), 1.0)]);
        (0..2 * i).for_each(|_| terms = derivative(&terms, 0));
        (0..2 * j).for_each(|_| terms = derivative(&terms, 1));
        let mut out = [[0.0; ORDERS + 1]; 3];
        polynomial(&terms, 2.0 * f64::from(i + j) * scale, &mut out[0]);
        polynomial(&derivative(&terms, 0), scale, &mut out[1]);
        polynomial(&derivative(&terms, 1), scale, &mut out[2]);
        (i, j, out)
    };
    (1..=ORDERS as i32).flat_map(|n| (0..=n).map(move |i| (i, n - i))).map(of_powers).collect()
});

impl CellSeries {
    pub fn new(hx: f64, hy: f64) -> Self {
        let mut new = Self { spin: Series::default(), x: Series::default(), y: Series::default() };
        for (i, j, polynomials) in &*TERMS {
            let (order, scale) = ((i + j - 1) as usize, hx.powi(2 * i) * hy.powi(2 * j));
            for (series, polynomial) in [&mut new.spin, &mut new.x, &mut new.y].into_iter().zip(polynomials) {
                series[order].iter_mut().zip(polynomial).for_each(|(c, p)| *c += scale * p);
            }
        }
        new
    }

    /// The polynomials of the spin, of the mean of `a/R` and of that of `b/R`.
    #[cfg(feature = "gpu")]
    pub const fn series(&self) -> [&Series; 3] {
        [&self.spin, &self.x, &self.y]
    }

    /// Unit wrenches of the cell about its own centre for the rotations with w > 0 about `c` from there, one
    /// in every lane.
    pub fn about(&self, c: &[Block; 2]) -> [Block; 3] {
        about(self, c)
    }

    /// Unit Coulomb wrench `(fx, fy, tau)` of a twist, both at the centre of pressure.
    pub fn wrench(&self, twist: [f64; 3], points: &Points) -> [f64; 3] {
        sum(self, points, twist)
    }
}

/// `sum_n e^(n-1) p_n(q)` for `n` from 1.
#[inline(always)]
fn evaluate(s: &Series, e: f64, q: f64) -> f64 {
    let p1 = s[0][0] + q * s[0][1];
    let p2 = s[1][0] + q * (s[1][1] + q * s[1][2]);
    let p3 = s[2][0] + q * (s[2][1] + q * (s[2][2] + q * s[2][3]));
    let p4 = s[3][0] + q * (s[3][1] + q * (s[3][2] + q * (s[3][3] + q * s[3][4])));
    p1 + e * (p2 + e * (p3 + e * p4))
}

copies! {
    fn sum(cell: &CellSeries, points: &Points, twist: [f64; 3]) -> [f64; 3] {
        let ([ux, uy, uw], CellSeries { spin, x: along_x, y: along_y }) = (twist, *cell);
        let mut sums = [[0.0; LANES]; 3];
        for ((x, y), w) in points.x.iter().zip(&points.y).zip(&points.w) {
            for i in 0..LANES {
                let (vx, vy) = (ux - uw * y[i], uy + uw * x[i]);
                let inverse = rsqrt(vx * vx + vy * vy);
                let (nx, ny, turn) = (vx * inverse, vy * inverse, uw * inverse);
                let (q, e) = (ny * ny, turn * turn);
                let mx = w[i] * nx * (1.0 + e * evaluate(&along_y, e, q));
                let my = w[i] * ny * (1.0 + e * evaluate(&along_x, e, q));
                sums[0][i] -= mx;
                sums[1][i] -= my;
                sums[2][i] -= x[i] * my - y[i] * mx + w[i] * turn * evaluate(&spin, e, q);
            }
        }
        sums.map(total)
    }
}

copies! {
    fn about(cell: &CellSeries, c: &[Block; 2]) -> [Block; 3] {
        let mut out = [[0.0; LANES]; 3];
        for i in 0..LANES {
            let (vx, vy) = (c[1][i], -c[0][i]);
            let turn = rsqrt(vx * vx + vy * vy);
            let (nx, ny, e) = (vx * turn, vy * turn, turn * turn);
            let q = ny * ny;
            out[0][i] = -nx * (1.0 + e * evaluate(&cell.y, e, q));
            out[1][i] = -ny * (1.0 + e * evaluate(&cell.x, e, q));
            out[2][i] = -turn * evaluate(&cell.spin, e, q);
        }
        out
    }
}
