//! The coordinates of the sums over cells: from the centre of pressure, in units of the root of a cell's
//! area.

use super::points::Points;
use crate::patch::{Cell, Grid, Patch};

/// The centre of pressure and the unit of length of a patch.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    cop: [f64; 2],
    /// Unit of length [m].
    pub unit: f64,
}

impl Frame {
    pub fn new(patch: &Patch) -> Self {
        Self { cop: patch.cop(), unit: unit(patch.grid()) }
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
