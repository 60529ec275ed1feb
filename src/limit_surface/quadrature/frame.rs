//! The coordinates of the sums over cells: from the centre of pressure, in units of the root of a cell's
//! area.

use super::points::Points;
use crate::patch::{Cell, Grid, Patch};

/// Places between -1 and 1 and shares of Gauss' rule.
const GAUSS: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.118_463_442_528_094_54),
    (-0.538_469_310_105_683_1, 0.239_314_335_249_683_24),
    (0.0, 64.0 / 225.0),
    (0.538_469_310_105_683_1, 0.239_314_335_249_683_24),
    (0.906_179_845_938_664, 0.118_463_442_528_094_54),
];

/// The centre of pressure and the unit of length of a patch.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    cop: [f64; 2],
    /// Unit of length [m].
    pub unit: f64,
}

impl Frame {
    pub fn new(patch: &Patch) -> Self {
        Self { cop: patch.cop(), unit: patch.cell_area().sqrt() }
    }

    /// A place [m] on the grid in this frame.
    pub fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [(x - self.cop[0]) / self.unit, (y - self.cop[1]) / self.unit]
    }

    /// Centres of the columns.
    pub fn columns(&self, patch: &Patch) -> Vec<f64> {
        (0..patch.grid().nx).map(|i| self.place(patch.grid().centre(i, 0))[0]).collect()
    }

    /// Centres of the rows.
    pub fn rows(&self, patch: &Patch) -> Vec<f64> {
        (0..patch.grid().ny).map(|j| self.place(patch.grid().centre(0, j))[1]).collect()
    }

    /// Grid lines across x and across y.
    pub fn lines(&self, grid: &Grid) -> [Vec<f64>; 2] {
        let x = (0..=grid.nx).map(|k| self.place(node(grid, k, 0))[0]).collect();
        let y = (0..=grid.ny).map(|l| self.place(node(grid, 0, l))[1]).collect();
        [x, y]
    }

    /// Five by five Gauss points of each cell that carries pressure. For centres of rotation from six
    /// diagonals of a cell on, their sums are the integrals of `cells` to rounding.
    pub fn fine_points(&self, patch: &Patch) -> Points {
        let mut points = Vec::with_capacity(patch.count_cells() * GAUSS.len().pow(2));
        for (i, w) in patch.weights().iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let ([x, y], [[ax, ay], [bx, by]]) = (patch.place(i), patch.half_sides(i));
            for (s, share_x) in GAUSS {
                for (t, share_y) in GAUSS {
                    let [x, y] = self.place([x + s * ax + t * bx, y + s * ay + t * by]);
                    points.push([x, y, w * share_x * share_y]);
                }
            }
        }
        Points::new(&points)
    }

    /// The cells that carry pressure.
    pub fn points(&self, patch: &Patch) -> Points {
        let point = |cell: &Cell| {
            let [x, y] = self.place([cell.x, cell.y]);
            [x, y, cell.w]
        };
        Points::new(&patch.cells().iter().map(point).collect::<Vec<_>>())
    }
}

/// The unit of length [m] on a grid: the root of a cell's area.
pub fn unit(grid: &Grid) -> f64 {
    (grid.dx * grid.dy).sqrt()
}

/// A node of a grid [m], from the grid's centre.
pub fn node(grid: &Grid, k: usize, l: usize) -> [f64; 2] {
    [(k as f64 - grid.nx as f64 / 2.0) * grid.dx, (l as f64 - grid.ny as f64 / 2.0) * grid.dy]
}

/// The grid with cells of width 1.
pub fn unit_shape(grid: &Grid) -> Grid {
    Grid { dx: 1.0, dy: grid.dy / grid.dx, ..*grid }
}
