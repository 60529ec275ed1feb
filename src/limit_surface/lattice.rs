//! The `bilinear` rule, eq. (23): wrenches for rotations about the grid's nodes.
//!
//! The node wrenches are a correlation of the pressure with unit vectors that depend on the grid alone, so
//! one [`Kernel`] serves every map on a grid.

use super::lanes::vectorised;
use crate::patch::Grid;

/// Nodes of a row that are summed together.
const NODES: usize = 8;

/// Distance and unit vector from a node to a cell centre, for every offset on a grid.
#[derive(Clone, Debug)]
pub struct Kernel {
    nx: usize,
    ny: usize,
    /// `R`, `a/R` and `b/R`, `[cell row - node row + ny][node column - cell column + nx - 1]`, rows padded by zeros.
    terms: [Vec<f64>; 3],
}

impl Kernel {
    /// The kernel of `grid`, lengths divided by `unit` [m].
    pub fn new(grid: &Grid, unit: f64) -> Self {
        let (nx, ny) = (grid.nx, grid.ny);
        let mut terms = [(); 3].map(|()| Vec::with_capacity(4 * nx * ny));
        for row in 0..2 * ny {
            for column in 0..2 * nx {
                let a = ((nx - 1) as f64 - column as f64 + 0.5) * grid.dx / unit;
                let b = (row as f64 - ny as f64 + 0.5) * grid.dy / unit;
                let r = (a * a + b * b).sqrt();
                terms[0].push(r);
                terms[1].push(a / r);
                terms[2].push(b / r);
            }
            terms.iter_mut().for_each(|t| t.resize(t.len() + NODES, 0.0));
        }
        Self { nx, ny, terms }
    }

    /// Sums of `w (R, a/R, b/R)` about every node, `[node row][node column]`, for shares `w` of the cells.
    pub fn correlate(&self, weights: &[f64]) -> Vec<[f64; 3]> {
        correlate(&self.terms, weights, self.nx, self.ny)
    }
}

vectorised! {
    fn correlate(terms: &[Vec<f64>; 3], weights: &[f64], nx: usize, ny: usize) -> Vec<[f64; 3]> {
        let mut out = Vec::with_capacity((nx + 1) * (ny + 1));
        let width = 2 * nx + NODES;
        for l in 0..=ny {
            for first in (0..=nx).step_by(NODES) {
                let (mut i, mut gx, mut gy) = ([0.0; NODES], [0.0; NODES], [0.0; NODES]);
                for (j, row) in weights.chunks_exact(nx).enumerate() {
                    let from = (j + ny - l) * width + first;
                    let [r, x, y] = [0, 1, 2].map(|k| terms[k][from..from + nx - 1 + NODES].windows(NODES).rev());
                    for (((&w, r), x), y) in row.iter().zip(r).zip(x).zip(y).filter(|t| *t.0.0.0 != 0.0) {
                        for n in 0..NODES {
                            i[n] += w * r[n];
                            gx[n] += w * x[n];
                            gy[n] += w * y[n];
                        }
                    }
                }
                out.extend((0..NODES.min(nx + 1 - first)).map(|n| [i[n], gx[n], gy[n]]));
            }
        }
        out
    }
}
