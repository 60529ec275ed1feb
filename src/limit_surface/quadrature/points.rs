//! The `points` rule, `docs/model.md` (89): all of a cell's force acts at its centre.

use crate::number::block::{Block, blocks, rsqrt, total};
use crate::number::real::LANES;
use crate::number::simd::copies;

/// A cell at rest is slower than this share of the patch's scale (`docs/model.md`, section 7.1).
pub const AT_REST: f64 = 1e-12;
/// [`AT_REST`] of the shader: some roundings of single precision.
#[cfg(feature = "gpu")]
pub const AT_REST_ON_GPU: f64 = 5e-7;

/// Cell centres about the centre of pressure, in the surface's unit of length.
#[derive(Clone, Debug)]
pub struct Points {
    pub x: Vec<Block>,
    pub y: Vec<Block>,
    pub w: Vec<Block>,
    /// Largest distance from the centre of pressure.
    pub span: f64,
}

impl Points {
    /// Points `(x, y, w)`.
    pub fn new(points: &[[f64; 3]]) -> Self {
        let span = points.iter().map(|[x, y, _]| x * x + y * y).fold(0.0, f64::max).sqrt();
        let column = |k: usize| blocks(points, |point| point[k]);
        Self { x: column(0), y: column(1), w: column(2), span }
    }

    /// Unit Coulomb wrench `(fx, fy, tau)` of a twist, both at the centre of pressure.
    pub fn wrench(&self, twist: [f64; 3]) -> [f64; 3] {
        sum(&self.x, &self.y, &self.w, twist, self.rest2(twist))
    }

    /// The same, and the derivative of its opposite by the twist: the upper triangle `xx, xy, yy, xw, yw, ww`
    /// of a symmetric matrix.
    pub fn wrench_and_derivative(&self, twist: [f64; 3]) -> ([f64; 3], [f64; 6]) {
        let [fx, fy, tau, xx, xy, yy, xw, yw, ww] = sum_and_derivative(self, twist, self.rest2(twist));
        ([fx, fy, tau], [xx, xy, yy, xw, yw, ww])
    }

    /// Square of the speed up to which a cell is at rest.
    fn rest2(&self, twist: [f64; 3]) -> f64 {
        let rest = AT_REST * (twist[0].hypot(twist[1]) + twist[2].abs() * self.span);
        (rest * rest).max(1e-36)
    }
}

copies! {
    /// As [`sum`], and `sum w/|v| (t, rho x t)(t, rho x t)'`, with `t` across the velocity.
    fn sum_and_derivative(points: &Points, twist: [f64; 3], rest2: f64) -> [f64; 9] {
        let [ux, uy, uw] = twist;
        let mut sums = [[0.0; LANES]; 9];
        for ((x, y), w) in points.x.iter().zip(&points.y).zip(&points.w) {
            for i in 0..LANES {
                let (vx, vy) = (ux - uw * y[i], uy + uw * x[i]);
                let s2 = vx * vx + vy * vy;
                let inverse = rsqrt(s2.max(rest2));
                let w = if s2 > rest2 { w[i] } else { 0.0 };
                let (tx, ty) = (-vy * inverse, vx * inverse);
                let (tw, k) = (x[i] * ty - y[i] * tx, w * inverse);
                sums[0][i] -= w * ty;
                sums[1][i] += w * tx;
                sums[2][i] += w * (x[i] * tx + y[i] * ty);
                sums[3][i] += k * tx * tx;
                sums[4][i] += k * tx * ty;
                sums[5][i] += k * ty * ty;
                sums[6][i] += k * tx * tw;
                sums[7][i] += k * ty * tw;
                sums[8][i] += k * tw * tw;
            }
        }
        sums.map(total)
    }
}

copies! {
    /// `-sum w (v^, rho x v^)` over the cells with `|v|^2 > rest2`, `docs/model.md` (89).
    fn sum(x: &[Block], y: &[Block], w: &[Block], twist: [f64; 3], rest2: f64) -> [f64; 3] {
        let [ux, uy, uw] = twist;
        let mut sums = [[0.0; LANES]; 3];
        for ((x, y), w) in x.iter().zip(y).zip(w) {
            for i in 0..LANES {
                let (vx, vy) = (ux - uw * y[i], uy + uw * x[i]);
                let s2 = vx * vx + vy * vy;
                let k = if s2 > rest2 { w[i] } else { 0.0 } * rsqrt(s2.max(rest2));
                sums[0][i] -= k * vx;
                sums[1][i] -= k * vy;
                sums[2][i] -= k * (x[i] * vy - y[i] * vx);
            }
        }
        sums.map(total)
    }
}
