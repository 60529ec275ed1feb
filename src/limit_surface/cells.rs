//! The `cells` rule: exact integrals over rectangular cells of constant pressure.
//!
//! With `R = sqrt(a^2 + b^2)`, `(a, b)` from the centre of rotation, the means of `R`, `a/R` and `b/R`
//! over a cell are differences of the antiderivatives
//! `I = [2abR + a^3 asinh(b/|a|) + b^3 asinh(a/|b|)]/6`, `Gx = [bR + a^2 asinh(b/|a|)]/2` and
//! `Gy = [aR + b^2 asinh(a/|b|)]/2` over its corners. Cells share corners, so the sum over cells is a sum
//! over grid corners, each weighed by the mixed second difference `q` of the pressure: corners inside
//! uniform pressure fall out. `asinh(b/|a|) = sgn b (ln(|b| + R) - ln|a|)`, and as `q` sums to zero along
//! every grid line, `ln|a|` is left only where the line's pressure jump meets the centre's row.
//!
//! A corner costs three times a cell's series in (size/distance)^2, and far from the centre of rotation the
//! differences cancel. So where many corners have jumps, only a box of cells around the centre is summed by its
//! corners, and all other cells by the series.

use std::ops::Range;

use super::far::Far;
use super::lanes::{Block, LANES, ln, rsqrt, total, vectorised};
use super::points::Points;

/// Relative rounding that the closed form may have before the series takes over.
const ROUNDING: f64 = 1e-12;
/// Distance of a cell's centre from the centre of rotation, in cell diagonals, from which the series is exact to
/// 1e-11; the error falls with the tenth power.
const FAR_DIAGONALS: f64 = 3.88;
/// What a corner costs, in cells of the series.
const CORNER_COST: usize = 3;

/// Cells about the centre of pressure, in the surface's unit of length.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Grid lines across x and across y.
    at: [Vec<f64>; 2],
    /// Sides of a cell.
    side: [f64; 2],
    pressure: Vec<f64>,
    /// Corners with pressure jumps.
    corners: Corners,
    /// Cells on each side of the centre's that are near it.
    reach: [f64; 2],
    far: Far,
    jumps: f64,
}

/// Corners of a map, and the mixed difference of the pressure there.
#[derive(Clone, Debug, Default)]
struct Corners {
    x: Vec<Block>,
    y: Vec<Block>,
    q: Vec<Block>,
    count: usize,
}

impl Corners {
    fn push(&mut self, x: f64, y: f64, q: f64) {
        let lane = self.count % LANES;
        if lane == 0 {
            for column in [&mut self.x, &mut self.y, &mut self.q] {
                column.push([0.0; LANES]);
            }
        }
        let last = self.x.len() - 1;
        (self.x[last][lane], self.y[last][lane], self.q[last][lane]) = (x, y, q);
        self.count += 1;
    }
}

/// A box of cells: columns and rows, ends excluded.
type Window = [Range<usize>; 2];

impl Cells {
    /// `weights` of `at.0.len() - 1` columns and `at.1.len() - 1` rows, bottom row first.
    pub fn new(at: (Vec<f64>, Vec<f64>), weights: &[f64]) -> Self {
        let side = [at.0[1] - at.0[0], at.1[1] - at.1[0]];
        let diagonal = side[0].hypot(side[1]);
        let mut cells = Self {
            at: [at.0, at.1],
            side,
            pressure: weights.iter().map(|w| w / (side[0] * side[1])).collect(),
            corners: Corners::default(),
            reach: side.map(|d| (FAR_DIAGONALS * diagonal / d - 0.5).ceil()),
            far: Far::new(0.5 * side[0], 0.5 * side[1]),
            jumps: 0.0,
        };
        cells.corners = cells.corners(&cells.all());
        cells.jumps = cells.corners.q.iter().flatten().map(|q| q.abs()).sum();
        cells
    }

    fn all(&self) -> Window {
        [0..self.at[0].len() - 1, 0..self.at[1].len() - 1]
    }

    /// Corners with jumps of the pressure inside a window; there is none outside.
    fn corners(&self, window: &Window) -> Corners {
        let [columns, rows] = window;
        let nx = self.at[0].len() - 1;
        let mut out = Corners::default();
        for l in rows.start..=rows.end {
            let row = |j: usize| if rows.contains(&j) { &self.pressure[j * nx..][columns.clone()] } else { &[] };
            let (below, above) = (row(l.wrapping_sub(1)), row(l));
            let mut left = 0.0;
            for k in 0..=columns.len() {
                let right = below.get(k).unwrap_or(&0.0) - above.get(k).unwrap_or(&0.0);
                if left != right {
                    out.push(self.at[0][columns.start + k], self.at[1][l], left - right);
                }
                left = right;
            }
        }
        out
    }

    /// The cells near a centre of rotation, and the middle and half sides of their box.
    fn near(&self, c: [f64; 2]) -> (Window, [f64; 4]) {
        let cell = [0, 1].map(|k| ((c[k] - self.at[k][0]) / self.side[k]).floor().clamp(-1e6, 1e6));
        let window = [0, 1].map(|k| {
            let n = self.at[k].len() - 1;
            let end = |v: f64| (v.max(0.0) as usize).min(n);
            end(cell[k] - self.reach[k])..end(cell[k] + self.reach[k] + 1.0)
        });
        let middle = |k: usize| self.at[k][0] + (cell[k] + 0.5) * self.side[k];
        let half = |k: usize| (self.reach[k] + 0.25) * self.side[k];
        (window, [middle(0), middle(1), half(0), half(1)])
    }

    /// Unit Coulomb wrench `(fx, fy, tau)` of a twist, both at the centre of pressure.
    pub fn wrench(&self, twist: [f64; 3], points: &Points) -> [f64; 3] {
        let [ux, uy, uw] = twist;
        let speed = ux.hypot(uy);
        if uw == 0.0 {
            return if speed == 0.0 { [0.0; 3] } else { [-ux / speed, -uy / speed, 0.0] };
        }
        let c = [-uy / uw, ux / uw];
        let size = points.span.max(self.side[0].hypot(self.side[1]));
        let rounding = f64::EPSILON * self.jumps * (c[0].hypot(c[1]) + size).powi(3) / size;
        // A velocity field so nearly uniform that c overflows is far, too.
        let (window, skip) = self.near(c);
        let corners = (window[0].len() + 1) * (window[1].len() + 1);
        let split = CORNER_COST * corners + LANES * points.w.len();
        if rounding <= ROUNDING && CORNER_COST * self.corners.count <= split {
            return self.exact(&self.corners, &self.all(), uw, c);
        }
        let far = self.far.wrench(twist, points, skip);
        if window.iter().any(Range::is_empty) {
            return far;
        }
        let near = self.exact(&self.corners(&window), &window, uw, c);
        [0, 1, 2].map(|k| near[k] + far[k])
    }

    /// The wrench of the cells of a window by their corners.
    fn exact(&self, corners: &Corners, window: &Window, uw: f64, c: [f64; 2]) -> [f64; 3] {
        let [mut i, mut gx, mut gy] = sums(&corners.x, &corners.y, &corners.q, c);
        let nx = self.at[0].len() - 1;
        // The strip of cells along one axis that the centre lies in, and the lines across it.
        for (across, along, g) in [(0, 1, &mut gx), (1, 0, &mut gy)] {
            let strip = self.at[along].partition_point(|line| *line < c[along]).wrapping_sub(1);
            if !window[along].contains(&strip) {
                continue;
            }
            let mut before = 0.0;
            let Range { start, end } = window[across];
            for line in start..=end {
                let at = if across == 0 { strip * nx + line } else { line * nx + strip };
                let after = if line < end { self.pressure[at] } else { 0.0 };
                if before != after {
                    let a = self.at[across][line] - c[across];
                    let term = (before - after) * a * a * ln(a.abs().max(1e-300));
                    i -= a * term / 3.0;
                    *g -= term;
                }
                before = after;
            }
        }
        let s = uw.signum();
        let (fx, fy) = (s * gy, -s * gx);
        [fx, fy, -s * i + c[0] * fy - c[1] * fx]
    }
}

vectorised! {
    /// Sums of `q (I, Gx, Gy)` over the corners, with `sgn b ln(|b| + R)` in place of the `asinh`.
    fn sums(x: &[Block], y: &[Block], q: &[Block], c: [f64; 2]) -> [f64; 3] {
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
