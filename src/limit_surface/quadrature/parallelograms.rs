//! The `cells` rule on parallelograms, such as those of a patch whose axes of friction are not those of its
//! grid: exact integrals over their edges.
//!
//! With `d = rho - c` from the centre of rotation, `int grad |d| = oint |d| n` and `int |d| = oint (d . n)
//! |d| / 3`. Along an edge `d . n` is constant, so that both are the integral of `|d|` over the edge in
//! closed form.

use super::frame::Frame;
use super::points::Points;
use crate::patch::Patch;

/// A cell about the centre of pressure, in the surface's unit of length.
#[derive(Clone, Copy, Debug)]
struct Cell {
    centre: [f64; 2],
    /// Half its width and half its height.
    half: [[f64; 2]; 2],
    /// Its share of the normal force over its area.
    pressure: f64,
}

/// The cells of a patch that carry pressure.
#[derive(Clone, Debug)]
pub struct Parallelograms {
    cells: Vec<Cell>,
    /// Distance of a centre of rotation from which five by five Gauss points a cell are exact to rounding.
    far: f64,
}

/// Diagonals of a cell from which Gauss' rule is exact to rounding.
const DIAGONALS: f64 = 6.0;

impl Parallelograms {
    pub fn new(patch: &Patch, frame: Frame) -> Self {
        let (mut cells, mut reach, mut diagonal) = (Vec::new(), 0.0f64, 0.0f64);
        for (i, w) in patch.weights().iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let centre = frame.place(patch.place(i));
            let half = patch.half_sides(i).map(|side| side.map(|x| x / frame.unit));
            let [[ax, ay], [bx, by]] = half;
            let area = 4.0 * (ax * by - ay * bx).abs();
            diagonal = diagonal.max(2.0 * (ax + bx).hypot(ay + by)).max(2.0 * (ax - bx).hypot(ay - by));
            reach = reach.max(centre[0].hypot(centre[1]));
            cells.push(Cell { centre, half, pressure: w / area });
        }
        Self { cells, far: reach + (DIAGONALS + 0.5) * diagonal }
    }

    /// Unit Coulomb wrench `(fx, fy, tau)` of a twist, both at the centre of pressure; `fine` are five by
    /// five Gauss points of every cell.
    pub fn wrench(&self, twist: [f64; 3], fine: &Points) -> [f64; 3] {
        let [vx, vy, w] = twist;
        if vx.hypot(vy) >= self.far * w.abs() {
            return fine.wrench(twist);
        }
        let c = [-vy / w, vx / w];
        let (mut i, mut gx, mut gy) = (0.0, 0.0, 0.0);
        for cell in &self.cells {
            let [size, x, y] = cell.integrals(c);
            i += cell.pressure * size;
            gx += cell.pressure * x;
            gy += cell.pressure * y;
        }
        [gy, -gx, -i - c[0] * gx - c[1] * gy].map(|x| x * w.signum())
    }
}

impl Cell {
    /// The integrals of `|d|` and of its gradient.
    fn integrals(&self, c: [f64; 2]) -> [f64; 3] {
        let [[ax, ay], [bx, by]] = self.half;
        let (x, y) = (self.centre[0] - c[0], self.centre[1] - c[1]);
        let corner = |s: f64, t: f64| [x + s * ax + t * bx, y + s * ay + t * by];
        let corners = [corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
        // Counter-clockwise, so that the normal is to the right of an edge.
        let turn = (ax * by - ay * bx).signum();
        let mut sum = [0.0; 3];
        for k in 0..4 {
            let (p, q) = (corners[k], corners[(k + 1) % 4]);
            let length = (q[0] - p[0]).hypot(q[1] - p[1]);
            let along = [(q[0] - p[0]) / length, (q[1] - p[1]) / length];
            let normal = [turn * along[1], -turn * along[0]];
            let h = p[0] * normal[0] + p[1] * normal[1];
            let s = p[0] * along[0] + p[1] * along[1];
            let k = antiderivative(s + length, h) - antiderivative(s, h);
            sum = [sum[0] + h * k / 3.0, sum[1] + normal[0] * k, sum[2] + normal[1] * k];
        }
        sum
    }
}

/// Of `sqrt(s^2 + h^2)` over `s`.
fn antiderivative(s: f64, h: f64) -> f64 {
    let around = if h == 0.0 { 0.0 } else { h * h * (s / h.abs()).asinh() };
    0.5 * (s * s.hypot(h) + around)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a square about its own centre, and about a corner: `(sqrt 2 + asinh 1)/3` times half its side to
    /// the third, four times and once.
    #[test]
    fn the_mean_distance_of_a_square_is_known() {
        let mean = (2f64.sqrt() + 1f64.asinh()) / 3.0;
        for half in [[[0.5, 0.0], [0.0, 0.5]], [[0.0, 0.5], [0.5, 0.0]], [[0.3, 0.4], [-0.4, 0.3]]] {
            let cell = Cell { centre: [2.0, -1.0], half, pressure: 1.0 };
            let [size, gx, gy] = cell.integrals(cell.centre);
            assert!((size - 0.5 * mean).abs() < 1e-15 && gx.abs() < 1e-15 && gy.abs() < 1e-15, "{size} {gx} {gy}");
            let [[ax, ay], [bx, by]] = half;
            let corner = [2.0 + ax + bx, -1.0 + ay + by];
            assert!((cell.integrals(corner)[0] - mean).abs() < 1e-15);
        }
    }

    /// A cell is the sum of its quarters, wherever the centre of rotation is.
    #[test]
    fn a_cell_is_the_sum_of_its_parts() {
        let half = [[0.7, 0.1], [0.3, 0.4]];
        let whole = Cell { centre: [0.0; 2], half, pressure: 1.0 };
        let quarter = |s: f64, t: f64| Cell {
            centre: [0, 1].map(|k| 0.5 * (s * half[0][k] + t * half[1][k])),
            half: half.map(|side| side.map(|x| 0.5 * x)),
            pressure: 1.0,
        };
        for c in [[0.0, 0.0], [0.2, 0.1], [0.7, 0.1], [0.5, -0.3], [3.0, 2.0], [-20.0, 5.0]] {
            let parts = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(s, t)| quarter(s, t).integrals(c));
            for k in 0..3 {
                let (a, b) = (whole.integrals(c)[k], parts.iter().map(|part| part[k]).sum::<f64>());
                assert!((a - b).abs() < 1e-13 * (1.0 + a.abs()), "{c:?}: {a} {b}");
            }
        }
    }
}
