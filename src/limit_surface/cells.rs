//! The `cells` rule: exact integrals over rectangular cells of constant pressure, `docs/model.md` (91) to
//! (96).
//!
//! With `R = sqrt(a^2 + b^2)`, `(a, b)` from the centre of rotation, the means of `R`, `a/R` and `b/R`
//! over a cell are differences of the antiderivatives
//! `I = [2abR + a^3 asinh(b/|a|) + b^3 asinh(a/|b|)]/6`, `Gx = [bR + a^2 asinh(b/|a|)]/2` and
//! `Gy = [aR + b^2 asinh(a/|b|)]/2` over its corners. Cells share corners, so the sum over cells is a sum
//! over grid corners, each weighed by the mixed second difference `q` of the pressure: corners inside
//! uniform pressure fall out. `asinh(b/|a|) = sgn b (ln(|b| + R) - ln|a|)`, and as `q` sums to zero along
//! every grid line, `ln|a|` is left only where the line's pressure jump meets the centre's row.
//!
//! Far from the patch the differences cancel; there each cell is a series in (size/distance)^2.

use super::centres::Mesh;
use super::far::Far;
use super::lanes::{Block, LANES, blocks, ln, rsqrt, total, vectorised};
use super::points::Points;

/// Relative rounding that the closed form may have before the series takes over.
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
    far: Far,
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
        // The padding sits on the last line; its jump is zero.
        let line = blocks(&lines, |i| at[*i.min(&cells)]);
        Self { at, jump, line }
    }
}

impl Cells {
    /// `weights` of `at.0.len() - 1` columns and `at.1.len() - 1` rows, bottom row first.
    pub fn new(at: (Vec<f64>, Vec<f64>), weights: &[f64]) -> Self {
        let (nx, ny) = (at.0.len() - 1, at.1.len() - 1);
        let (dx, dy) = (at.0[1] - at.0[0], at.1[1] - at.1[0]);
        let p = |i: usize, j: usize| if i < nx && j < ny { weights[j * nx + i] / (dx * dy) } else { 0.0 };
        let mut corners = Vec::new();
        let mut jumps = Vec::new();
        for l in 0..=ny {
            for k in 0..=nx {
                let (i, j) = (k.wrapping_sub(1), l.wrapping_sub(1));
                let q = (p(i, j) - p(k, j)) - (p(i, l) - p(k, l));
                jumps.push(q);
                if q != 0.0 {
                    corners.push([at.0[k], at.1[l], q]);
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
            far: Far::new(0.5 * dx, 0.5 * dy),
            diagonal: dx.hypot(dy),
            mesh: Mesh::new(at.0.clone(), at.1.clone(), &jumps),
            jumps: corners.iter().map(|c| c[2].abs()).sum(),
            bounds: [bounds(0), bounds(1)],
            columns: Lines::new(at.0, ny, p),
            rows: Lines::new(at.1, nx, |j, i| p(i, j)),
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
            return self.far.wrench(twist, points);
        }
        let [fx, fy, tau] = rotation(c, corners(&self.x, &self.y, &self.q, c), self.strips(c));
        let s = uw.signum();
        [s * fx, s * fy, s * tau]
    }

    /// Unit wrenches for rotations with w > 0 about centres `c`, a lane each; none of them [`Cells::is_far`].
    pub fn about(&self, c: &[Block; 2]) -> [[f64; 3]; LANES] {
        let [i, gx, gy, ..] = self.mesh.corners(c);
        std::array::from_fn(|k| {
            let c = [c[0][k], c[1][k]];
            rotation(c, [i[k], gx[k], gy[k]], self.strips(c))
        })
    }

    /// As [`Cells::about`], and the means of `b^2/R^3`, `ab/R^3` and `a^2/R^3`, `(a, b)` from the centre.
    pub fn bends_about(&self, c: &[Block; 2]) -> [([f64; 3], [f64; 3]); LANES] {
        let [i, gx, gy, xx, xy, yy] = self.mesh.corners(c);
        std::array::from_fn(|k| {
            let c = [c[0][k], c[1][k]];
            let strips = self.strips(c);
            let [x, y] = strips.map(|jumps| 2.0 * jumps[0]);
            (rotation(c, [i[k], gx[k], gy[k]], strips), [xx[k] - x, -xy[k], yy[k] - y])
        })
    }

    /// Whether the differences of the closed form would cancel.
    pub fn is_far(&self, c: [f64; 2], span: f64) -> bool {
        // From the cells that carry pressure: those of a small spot may be far from a centre over the grid.
        let outside = |[low, high]: [f64; 2], c: f64| (low - c).max(c - high).max(0.0);
        let nearest = outside(self.bounds[0], c[0]).hypot(outside(self.bounds[1], c[1]));
        let farthest = c[0].hypot(c[1]) + span + self.diagonal;
        let rounding = f64::EPSILON * self.jumps * farthest.powi(3) / span.max(self.diagonal);
        // A velocity field so nearly uniform that c overflows is far, too: NaN and infinity compare so.
        !(rounding <= ROUNDING) && !(nearest < FAR_DIAGONALS * self.diagonal)
    }

    /// The [`jumps`] across the columns' lines in the row of cells in which `c` lies, and across the rows'
    /// lines in its column; zero where there is none.
    fn strips(&self, c: [f64; 2]) -> [[f64; 3]; 2] {
        let (row, column) = (strip(&self.rows.at, c[1]), strip(&self.columns.at, c[0]));
        [(&self.columns, row, c[0]), (&self.rows, column, c[1])]
            .map(|(lines, strip, c)| strip.map_or([0.0; 3], |strip| jumps(&lines.line, &lines.jump[strip], c)))
    }
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

vectorised! {
    /// Sums of `q (I, Gx, Gy)` over the corners, with `sgn b ln(|b| + R)` in place of the `asinh`.
    fn corners(x: &[Block], y: &[Block], q: &[Block], c: [f64; 2]) -> [f64; 3] {
        let mut sums = [[0.0; LANES]; 3];
        for ((x, y), q) in x.iter().zip(y).zip(q) {
            for i in 0..LANES {
                let (a, b, q) = (x[i] - c[0], y[i] - c[1], q[i]);
                let r2 = (a * a + b * b).max(1e-34);
                let r = r2 * rsqrt(r2);
                let la = a * a * ln(b.abs() + r) * 1f64.copysign(b);
                let lb = b * b * ln(a.abs() + r) * 1f64.copysign(a);
                sums[0][i] += q * (2.0 * a * b * r + a * la + b * lb);
                sums[1][i] += q * (b * r + la);
                sums[2][i] += q * (a * r + lb);
            }
        }
        let [i6, gx2, gy2] = sums.map(total);
        [i6 / 6.0, gx2 / 2.0, gy2 / 2.0]
    }
}

vectorised! {
    /// Sums of `jump a^n ln|a|`, `n` from 1 to 3, over lines at distance `a` from `c`.
    fn jumps<V>(line: &[Block], jump: &[Block], c: f64) -> [f64; 3] {
        let (mut cubic, mut square, mut linear) = (V::splat(0.0), V::splat(0.0), V::splat(0.0));
        for (line, jump) in line.iter().zip(jump) {
            let (a, jump) = (V::load(line).minus(V::splat(c)), V::load(jump));
            let log = V::ln(a.abs().max(V::splat(1e-300)));
            let term = jump.times(a).times(a).times(log);
            cubic = a.fma(term, cubic);
            square = square.plus(term);
            linear = jump.times(a).fma(log, linear);
        }
        [total(linear.store()), total(square.store()), total(cubic.store())]
    }
}
