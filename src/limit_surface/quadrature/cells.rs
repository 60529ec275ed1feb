//! The `cells` rule: exact integrals over rectangular cells of constant pressure, `docs/model.md` (91) to
//! (96).
//!
//! The integrals over a cell are differences of the [`antiderivative`](super::antiderivative) over its
//! corners. Cells share corners, so the sum over cells is a sum over the corners of the grid, each weighted
//! by the mixed second difference `q` of the pressure, which is zero inside uniform pressure. As
//! `asinh(b/|a|) = sgn b (ln(|b| + R) - ln|a|)` and `q` sums to zero along every grid line, `ln|a|` cancels
//! except for the pressure jump across the line in the row of cells in which the centre of rotation lies.
//!
//! Far from the patch the differences cancel. There each cell is a series in (size/distance)^2.

use super::antiderivative::corner;
use super::cell_series::CellSeries;
use super::mesh::Mesh;
use super::points::Points;
use crate::number::block::{Block, blocks};
use crate::number::real::LANES;
use crate::number::simd::{copies, widest};

/// Relative rounding error of the closed form above which the series is used.
const ROUNDING: f64 = 1e-12;
/// Distance from the nearest cell, in cell diagonals, from which the series is exact to 1e-13.
pub const FAR_DIAGONALS: f64 = 6.0;

/// Grid corners with pressure jumps, about the centre of pressure, in the surface's unit of length.
#[derive(Clone, Debug)]
pub struct Cells {
    x: Vec<Block>,
    y: Vec<Block>,
    q: Vec<Block>,
    mesh: Mesh,
    columns: Lines,
    rows: Lines,
    series: CellSeries,
    diagonal: f64,
    jumps: f64,
    /// The least and largest x and y of the corners.
    bounds: [[f64; 2]; 2],
}

/// Grid lines of one direction, and the pressure jump across each in every strip of cells.
#[derive(Clone, Debug)]
struct Lines {
    at: Vec<f64>,
    /// `[strip][line]`, padded to blocks.
    jump: Vec<Vec<Block>>,
    line: Vec<Block>,
}

impl Lines {
    /// Lines at `at`; `pressure(i, s)` is that of cell `i` between lines `i` and `i + 1` in strip `s`.
    fn new(at: Vec<f64>, strips: usize, pressure: impl Fn(usize, usize) -> f64) -> Self {
        let cells = at.len() - 1;
        let p = |i: usize, s: usize| if i < cells { pressure(i, s) } else { 0.0 };
        let lines: Vec<usize> = (0..at.len().next_multiple_of(LANES)).collect();
        let jump = |s: usize| blocks(&lines[..at.len()], |i| p(i.wrapping_sub(1), s) - p(*i, s));
        let jump = (0..strips).map(jump).collect();
        // The padding repeats the last line with a jump of zero.
        let line = blocks(&lines, |i| at[*i.min(&cells)]);
        Self { at, jump, line }
    }

    /// The [`jumps`] about `c` in a strip.
    fn jumps(&self, strip: usize, c: f64) -> [f64; 3] {
        widest!(jumps::<f64>(self.line.as_flattened(), self.jump[strip].as_flattened(), c))
    }
}

impl Cells {
    /// Cells with the shares `weights` between grid lines at `x` and at `y`, bottom row first.
    pub fn new([x, y]: [Vec<f64>; 2], weights: &[f64]) -> Self {
        let (nx, ny) = (x.len() - 1, y.len() - 1);
        let (dx, dy) = (x[1] - x[0], y[1] - y[0]);
        let p = |i: usize, j: usize| if i < nx && j < ny { weights[j * nx + i] / (dx * dy) } else { 0.0 };
        let mut corners = Vec::new();
        let mut jumps = Vec::new();
        for (l, y) in y.iter().enumerate() {
            for (k, x) in x.iter().enumerate() {
                let (i, j) = (k.wrapping_sub(1), l.wrapping_sub(1));
                let q = (p(i, j) - p(k, j)) - (p(i, l) - p(k, l));
                jumps.push(q);
                if q != 0.0 {
                    corners.push([*x, *y, q]);
                }
            }
        }
        let column = |k: usize| blocks(&corners, |corner: &[f64; 3]| corner[k]);
        let widen = |[low, high]: [f64; 2], x: f64| [low.min(x), high.max(x)];
        let bounds = |k: usize| corners.iter().map(|c| c[k]).fold([f64::INFINITY, f64::NEG_INFINITY], widen);
        Self {
            x: column(0),
            y: column(1),
            q: column(2),
            series: CellSeries::new(0.5 * dx, 0.5 * dy),
            diagonal: dx.hypot(dy),
            mesh: Mesh::new(x.clone(), y.clone(), &jumps),
            jumps: corners.iter().map(|c| c[2].abs()).sum(),
            bounds: [bounds(0), bounds(1)],
            columns: Lines::new(x, ny, p),
            rows: Lines::new(y, nx, |j, i| p(i, j)),
        }
    }

    /// Unit Coulomb wrench `(fx, fy, tau)` of a twist, both at the centre of pressure.
    pub fn wrench(&self, twist: [f64; 3], points: &Points) -> [f64; 3] {
        let [ux, uy, uw] = twist;
        let speed = ux.hypot(uy);
        if uw == 0.0 {
            return if speed == 0.0 { [0.0; 3] } else { [-ux / speed, -uy / speed, 0.0] };
        }
        let c = [-uy / uw, ux / uw];
        if self.is_far(c, points.span) {
            return self.series.wrench(twist, points);
        }
        let jumps = [&self.x, &self.y, &self.q].map(|blocks| blocks.as_flattened());
        let sums = widest!(corners::<f64>(jumps, c));
        let [fx, fy, tau] = rotation(c, sums, self.strips(c));
        let s = uw.signum();
        [s * fx, s * fy, s * tau]
    }

    /// Unit wrenches for rotations with w > 0 about centres `c`, one in every lane, none of them
    /// [`Cells::is_far`]. With each come the means of `b^2/R^3`, `ab/R^3` and `a^2/R^3`, with `(a, b)` from
    /// the centre of rotation, which are the second derivatives of the dissipation.
    pub fn about(&self, c: &[Block; 2]) -> [([f64; 3], [f64; 3]); LANES] {
        let [i, gx, gy, xx, xy, yy] = self.mesh.corners(c);
        std::array::from_fn(|k| {
            let c = [c[0][k], c[1][k]];
            let strips = self.strips(c);
            let [x, y] = strips.map(|jumps| 2.0 * jumps[0]);
            (rotation(c, [i[k], gx[k], gy[k]], strips), [xx[k] - x, -xy[k], yy[k] - y])
        })
    }

    /// The derivative of the opposite of [`Cells::wrench`] by the twist, as [`Points::wrench_and_derivative`]
    /// gives it; none where the centre of rotation [`Cells::is_far`].
    pub fn derivative(&self, twist: [f64; 3], points: &Points) -> Option<[f64; 6]> {
        let c = [-twist[1] / twist[2], twist[0] / twist[2]];
        let near = twist[2] != 0.0 && !self.is_far(c, points.span);
        near.then(|| completed(self.about(&c.map(|x| [x; LANES]))[0].1, twist))
    }

    /// Whether the differences of the closed form would cancel, so that the series takes over.
    pub fn is_far(&self, c: [f64; 2], span: f64) -> bool {
        // Distances are to cells that carry pressure: those of a small spot may be far from a centre of
        // rotation that is over the grid.
        let outside = |[low, high]: [f64; 2], c: f64| (low - c).max(c - high).max(0.0);
        let nearest = outside(self.bounds[0], c[0]).hypot(outside(self.bounds[1], c[1]));
        let farthest = c[0].hypot(c[1]) + span + self.diagonal;
        let rounding = f64::EPSILON * self.jumps * farthest.powi(3) / span.max(self.diagonal);
        // Negated comparisons count NaN and infinity as far: c overflows in a nearly uniform velocity field.
        !(rounding <= ROUNDING) && !(nearest < FAR_DIAGONALS * self.diagonal)
    }

    /// The [`jumps`] across the columns' lines in the row of cells in which `c` lies, and those across the
    /// rows' lines in its column. They are zero outside the grid.
    fn strips(&self, c: [f64; 2]) -> [[f64; 3]; 2] {
        let (row, column) = (strip(&self.rows.at, c[1]), strip(&self.columns.at, c[0]));
        [(&self.columns, row, c[0]), (&self.rows, column, c[1])]
            .map(|(lines, strip, c)| strip.map_or([0.0; 3], |strip| lines.jumps(strip, c)))
    }
}

/// The derivative of the opposite of the unit wrench by a twist, `xx, xy, yy, xw, yw, ww`, from the means of
/// [`Cells::about`]. The wrench is of degree zero, so that it does not change along the twist.
pub fn completed([bb, ab, aa]: [f64; 3], [vx, vy, w]: [f64; 3]) -> [f64; 6] {
    let [xx, xy, yy] = [aa, ab, bb].map(|c| c / w.abs());
    let [xw, yw] = [-(xx * vx + xy * vy) / w, -(xy * vx + yy * vy) / w];
    [xx, xy, yy, xw, yw, -(xw * vx + yw * vy) / w]
}

/// Unit wrench for the rotation with w > 0 about `c` from the sums over corners and the [`Cells::strips`].
fn rotation(c: [f64; 2], [mut i, mut gx, mut gy]: [f64; 3], strips: [[f64; 3]; 2]) -> [f64; 3] {
    for ([_, square, cubic], g) in strips.into_iter().zip([&mut gx, &mut gy]) {
        i -= cubic / 3.0;
        *g -= square;
    }
    [gy, -gx, -i - c[0] * gx - c[1] * gy]
}

/// The strip of cells in which `c` lies: the number of lines below `c`, less one.
fn strip(lines: &[f64], c: f64) -> Option<usize> {
    let below = lines.partition_point(|line| *line < c);
    (below > 0 && below < lines.len()).then(|| below - 1)
}

copies! {
    /// Sums of `q (I, Gx, Gy)` over the corners, with `sgn b ln(|b| + R)` in place of the `asinh`.
    fn corners<R>(corners: [&[R::Scalar]; 3], c: [f64; 2]) -> [f64; 3] {
        let [x, y, q] = corners.map(|numbers| numbers.chunks_exact(R::LANES));
        let zero = R::splat(0.0);
        let mut sums = [zero; 3];
        for ((x, y), q) in x.zip(y).zip(q) {
            let at = [R::from_slice(x) - R::splat(c[0]), R::from_slice(y) - R::splat(c[1])];
            let parts = corner(R::from_slice(q), at, [zero; 2]);
            for k in 0..3 {
                sums[k] += parts[k];
            }
        }
        [sums[0].reduce_sum(), sums[1].reduce_sum(), sums[2].reduce_sum()]
    }
}

copies! {
    /// Sums of `jump a^n ln|a|`, `n` from 1 to 3, over lines at distance `a` from `c`.
    fn jumps<R>(line: &[R::Scalar], jump: &[R::Scalar], c: f64) -> [f64; 3] {
        let mut sums = [R::splat(0.0); 3];
        for (line, jump) in line.chunks_exact(R::LANES).zip(jump.chunks_exact(R::LANES)) {
            let (a, jump) = (R::from_slice(line) - R::splat(c), R::from_slice(jump));
            let log = a.abs().max(R::splat(R::TINY)).ln();
            let term = jump * a * a * log;
            sums[0] = (jump * a).fma(log, sums[0]);
            sums[1] += term;
            sums[2] = a.fma(term, sums[2]);
        }
        [sums[0].reduce_sum(), sums[1].reduce_sum(), sums[2].reduce_sum()]
    }
}
