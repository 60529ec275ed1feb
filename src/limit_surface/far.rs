//! The mean of a cell's friction, far from the centre of rotation, as a series in its size.
//!
//! The mean of `R` over a cell of half sides `h`, `k` is
//! `sum h^2i k^2j / ((2i+1)! (2j+1)!) d^(2i+2j) R / dx^2i dy^2j = sum_n R^(1-2n) A_n(a^2/R^2)`; the means of
//! `a/R` and `b/R` are its derivatives. Written with the cell's velocity in place of `R`, the series has no
//! singularity as the rotation vanishes, and no cancellation.

use std::collections::BTreeMap;

use super::lanes::{Block, each, rsqrt, total, vectorised};
use super::points::Points;

/// Orders kept: the first one left out is `(half diagonal / R)^10`.
const ORDERS: usize = 4;

/// Polynomials in `a^2/R^2` of every order but the zeroth, lowest power first.
type Series = [[f64; ORDERS + 1]; ORDERS];

/// Series of a cell of one size.
#[derive(Clone, Copy, Debug)]
pub struct Far {
    /// `2n A_n`: the moment of the friction about the cell's own centre.
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

/// Coefficients in `q = a^2/R^2` of terms whose powers of `a` and `b` are even but for one factor `a` or `b`.
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

impl Far {
    pub fn new(hx: f64, hy: f64) -> Self {
        let mut far = Self { spin: Series::default(), x: Series::default(), y: Series::default() };
        let odd_factorial = |n: i32| (1..=2 * n + 1).map(f64::from).product::<f64>();
        for n in 1..=ORDERS as i32 {
            for i in 0..=n {
                let j = n - i;
                let scale = hx.powi(2 * i) * hy.powi(2 * j) / (odd_factorial(i) * odd_factorial(j));
                let mut terms = Terms::from([((0, 0, 1), 1.0)]);
                (0..2 * i).for_each(|_| terms = derivative(&terms, 0));
                (0..2 * j).for_each(|_| terms = derivative(&terms, 1));
                let order = n as usize - 1;
                polynomial(&terms, 2.0 * f64::from(n) * scale, &mut far.spin[order]);
                polynomial(&derivative(&terms, 0), scale, &mut far.x[order]);
                polynomial(&derivative(&terms, 1), scale, &mut far.y[order]);
            }
        }
        far
    }

    /// Unit Coulomb wrench `(fx, fy, tau)` of a twist, both at the centre of pressure.
    pub fn wrench(&self, twist: [f64; 3], points: &Points) -> [f64; 3] {
        sum(self, points, twist)
    }
}

/// `sum_n e^(n-1) p_n(q)` for `n` from 1.
#[inline(always)]
fn evaluate(series: &Series, e: &Block, q: &Block) -> Block {
    let mut out = [0.0; 16];
    for n in (0..ORDERS).rev() {
        let mut p = [series[n][n + 1]; 16];
        for k in (0..=n).rev() {
            p = each(|i| series[n][k] + q[i] * p[i]);
        }
        out = each(|i| p[i] + e[i] * out[i]);
    }
    out
}

vectorised! {
    fn sum(far: &Far, points: &Points, twist: [f64; 3]) -> [f64; 3] {
        let [ux, uy, uw] = twist;
        let (mut fx, mut fy, mut tau) = ([0.0; 16], [0.0; 16], [0.0; 16]);
        for ((x, y), w) in points.x.iter().zip(&points.y).zip(&points.w) {
            let vx = each(|i| ux - uw * y[i]);
            let vy = each(|i| uy + uw * x[i]);
            let inverse = rsqrt(&each(|i| vx[i] * vx[i] + vy[i] * vy[i]));
            let nx = each(|i| vx[i] * inverse[i]);
            let ny = each(|i| vy[i] * inverse[i]);
            let q = each(|i| ny[i] * ny[i]);
            let turn = each(|i| uw * inverse[i]);
            let e = each(|i| turn[i] * turn[i]);
            let (along_x, along_y) = (evaluate(&far.y, &e, &q), evaluate(&far.x, &e, &q));
            let spin = evaluate(&far.spin, &e, &q);
            let mx = each(|i| w[i] * nx[i] * (1.0 + e[i] * along_x[i]));
            let my = each(|i| w[i] * ny[i] * (1.0 + e[i] * along_y[i]));
            fx = each(|i| fx[i] - mx[i]);
            fy = each(|i| fy[i] - my[i]);
            tau = each(|i| tau[i] - (x[i] * my[i] - y[i] * mx[i] + w[i] * turn[i] * spin[i]));
        }
        [total(&fx), total(&fy), total(&tau)]
    }
}
