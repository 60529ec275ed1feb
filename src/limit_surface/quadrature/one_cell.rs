//! The wrenches of the cells of a grid one by one, for tables of many maps and for radii that follow the
//! pressure.

use super::antiderivative::corner;
use super::cell_series::CellSeries;
use super::cells::FAR_DIAGONALS;
use super::frame::{node, unit};
use super::points::AT_REST;
use super::rule::Rule;
use crate::number::real::LANES;
use crate::number::simd::{copies, widest};
use crate::patch::Grid;

/// Distance of a centre of rotation, in `unit`, from which on all cells move alike up to rounding.
const FARTHEST: f64 = 1e30;

/// The cells of a grid by a rule, each with a force of one.
pub struct OneCell {
    grid: Grid,
    rule: Rule,
    /// Unit of length of the wrenches, in that of the grid.
    pub unit: f64,
    /// Cell centres from the grid's centre, in `unit`.
    places: Vec<[f64; 2]>,
    /// Largest distance of a place.
    span: f64,
    /// Lines of the grid, in `unit`.
    lines: [Vec<f64>; 2],
    series: CellSeries,
    /// Distance of a cell from which its series is used, in `unit`.
    far_from: f64,
}

impl OneCell {
    pub fn new(grid: &Grid, rule: Rule) -> Self {
        let unit = unit(grid);
        let places: Vec<[f64; 2]> = grid.centres().map(|place| place.map(|x| x / unit)).collect();
        let [hx, hy] = [0.5 * grid.dx / unit, 0.5 * grid.dy / unit];
        Self {
            grid: *grid,
            rule,
            unit,
            span: places.iter().map(|[x, y]| x.hypot(*y)).fold(0.0, f64::max),
            places,
            lines: [
                (0..=grid.nx).map(|k| node(grid, k, 0)[0] / unit).collect(),
                (0..=grid.ny).map(|l| node(grid, 0, l)[1] / unit).collect(),
            ],
            series: CellSeries::new(hx, hy),
            far_from: (2.0 * FAR_DIAGONALS + 1.0) * hx.hypot(hy),
        }
    }

    /// Wrenches `(fx, fy, tau)` [-, -, unit] at the grid's centre of all cells with a force of one, for the
    /// rotation with w > 0 about `centre`, in the grid's unit of length.
    pub fn wrenches(&self, centre: [f64; 2]) -> Vec<[f64; 3]> {
        let centre = centre.map(|x| x / self.unit);
        match self.rule {
            Rule::Points => self.points(centre),
            Rule::Bilinear => self.bilinear(centre),
            Rule::Cells => self.exact(centre),
        }
    }

    /// As [`OneCell::wrenches`] for a twist `(vx, vy, w)` at the grid's centre that is not zero, with lengths
    /// of the twist in `unit`.
    pub fn wrenches_of(&self, [vx, vy, w]: [f64; 3]) -> Vec<[f64; 3]> {
        let speed = vx.hypot(vy);
        if speed >= FARTHEST * w.abs() {
            let [fx, fy] = [-vx / speed, -vy / speed];
            return self.places.iter().map(|[x, y]| [fx, fy, x * fy - y * fx]).collect();
        }
        let mut out = self.wrenches([-vy / w * self.unit, vx / w * self.unit]);
        out.iter_mut().flatten().for_each(|c| *c *= w.signum());
        out
    }

    fn points(&self, [cx, cy]: [f64; 2]) -> Vec<[f64; 3]> {
        let rest = AT_REST * (cx.hypot(cy) + self.span);
        let wrench = |[x, y]: &[f64; 2]| {
            let (a, b) = (x - cx, y - cy);
            let r = (a * a + b * b).sqrt();
            let [fx, fy] = if r > rest { [b / r, -a / r] } else { [0.0; 2] };
            [fx, fy, x * fy - y * fx]
        };
        self.places.iter().map(wrench).collect()
    }

    /// A centre of rotation on the edge of the grid counts as over it on one side alone, as by
    /// [`super::Bilinear`].
    fn bilinear(&self, centre: [f64; 2]) -> Vec<[f64; 3]> {
        let Grid { nx, ny, dx, dy } = self.grid;
        let [gx, gy] =
            [(centre[0] * self.unit / dx, nx), (centre[1] * self.unit / dy, ny)].map(|(c, n)| c + n as f64 / 2.0);
        if !(gx >= 0.0 && gx < nx as f64 && gy >= 0.0 && gy < ny as f64) {
            return self.points(centre);
        }
        let (k, l) = (gx as usize, gy as usize);
        let (s, t) = (gx - k as f64, gy - l as f64);
        let mut out = vec![[0.0; 3]; self.places.len()];
        let corners = [(0, 0, (1.0 - s) * (1.0 - t)), (1, 0, s * (1.0 - t)), (0, 1, (1.0 - s) * t), (1, 1, s * t)];
        for (right, up, share) in corners {
            let node = node(&self.grid, k + right, l + up).map(|x| x / self.unit);
            for (out, wrench) in out.iter_mut().zip(self.points(node)) {
                out.iter_mut().zip(wrench).for_each(|(out, part)| *out += share * part);
            }
        }
        out
    }

    fn exact(&self, centre: [f64; 2]) -> Vec<[f64; 3]> {
        let nx = self.grid.nx;
        let mut out = vec![[0.0; 3]; self.places.len()];
        let (mut far, mut near) = (Vec::new(), Vec::new());
        for (k, place) in self.places.iter().enumerate() {
            let (a, b) = (place[0] - centre[0], place[1] - centre[1]);
            if a * a + b * b >= self.far_from * self.far_from { far.push(k) } else { near.push(k) }
        }
        // Grid lines from the centre of rotation.
        let [x, y] = [0, 1].map(|axis| self.lines[axis].iter().map(|line| line - centre[axis]).collect::<Vec<_>>());
        let corners = if near.is_empty() { Vec::new() } else { antiderivatives(&x, &y) };
        for k in near {
            let low = k / nx * (nx + 1) + k % nx;
            let high = low + nx + 1;
            let mut means = [0.0; 3];
            for (sum, mean) in means.iter_mut().enumerate() {
                *mean = (corners[high + 1][sum] - corners[high][sum]) - (corners[low + 1][sum] - corners[low][sum]);
            }
            let [i, gx, gy] = means;
            out[k] = [gy, -gx, -i - centre[0] * gx - centre[1] * gy];
        }
        for some in far.chunks(LANES) {
            // Empty lanes repeat the last cell.
            let mut c = [[0.0; LANES]; 2];
            for lane in 0..LANES {
                let place = self.places[some[lane.min(some.len() - 1)]];
                (c[0][lane], c[1][lane]) = (centre[0] - place[0], centre[1] - place[1]);
            }
            let [fx, fy, tau] = self.series.about(&c);
            for (lane, k) in some.iter().enumerate() {
                let [x, y] = self.places[*k];
                out[*k] = [fx[lane], fy[lane], tau[lane] + x * fy[lane] - y * fx[lane]];
            }
        }
        out
    }
}

/// `I`, `Gx` and `Gy` of the [`antiderivative`](super::antiderivative) at the crossings of lines at `x` and
/// at `y`, row by row.
fn antiderivatives(x: &[f64], y: &[f64]) -> Vec<[f64; 3]> {
    let log = |lines: &[f64]| lines.iter().map(|a| a.abs().max(1e-300).ln()).collect::<Vec<_>>();
    let (log_x, log_y) = (log(x), log(y));
    let mut out = vec![[0.0; 3]; x.len() * y.len()];
    for (block, out) in out.chunks_mut(LANES).enumerate() {
        let mut at = [[1.0; LANES]; 4];
        let first = block * LANES;
        for (lane, crossing) in (first..first + out.len()).enumerate() {
            let (k, l) = (crossing % x.len(), crossing / x.len());
            [at[0][lane], at[1][lane], at[2][lane], at[3][lane]] = [x[k], y[l], log_x[k], log_y[l]];
        }
        widest!(antiderivative::<f64>(&mut at));
        let [i, gx, gy, _] = at;
        for (lane, out) in out.iter_mut().enumerate() {
            *out = [i[lane], gx[lane], gy[lane]];
        }
    }
    out
}

copies! {
    /// `I`, `Gx` and `Gy` at `(a, b)`, whose logarithms are known, in place of the first three.
    fn antiderivative<R>(at: &mut [[R::Scalar; LANES]; 4]) -> () {
        for lane in (0..LANES).step_by(R::LANES) {
            let [a, b, ln_a, ln_b] = at.each_ref().map(|block| R::from_slice(&block[lane..]));
            let parts = corner(R::splat(1.0), [a, b], [ln_a, ln_b]);
            for (part, to) in parts.iter().zip(&mut *at) {
                part.copy_to_slice(&mut to[lane..]);
            }
        }
    }
}
