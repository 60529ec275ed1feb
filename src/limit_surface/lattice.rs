//! The `bilinear` rule, eq. (23): wrenches for rotations about the grid's nodes.
//!
//! The node wrenches are a correlation of the pressure with unit vectors that depend on the grid alone, so
//! one [`Kernel`] serves every map on a grid.

use super::lanes::vectorised;
use crate::patch::Grid;

/// Distance and unit vector from a node to a cell centre, for every offset on a grid.
#[derive(Clone, Debug)]
pub struct Kernel {
    nx: usize,
    ny: usize,
    /// `R`, `a/R` and `b/R`, `[cell row - node row + ny][node column - cell column + nx - 1]`.
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
                let r = a.hypot(b);
                terms[0].push(r);
                terms[1].push(a / r);
                terms[2].push(b / r);
            }
        }
        Self { nx, ny, terms }
    }

    /// Sums of `w (R, a/R, b/R)` about every node, `[node row][node column]`, for shares `w` of the cells.
    pub fn correlate(&self, weights: &[f64]) -> Vec<[f64; 3]> {
        let [i, gx, gy] = [0, 1, 2].map(|k| correlate(&self.terms[k], weights, self.nx, self.ny));
        i.into_iter().zip(gx).zip(gy).map(|((i, gx), gy)| [i, gx, gy]).collect()
    }
}

vectorised! {
    fn correlate(kernel: &[f64], weights: &[f64], nx: usize, ny: usize) -> Vec<f64> {
        let mut out = vec![0.0; (nx + 1) * (ny + 1)];
        for (l, out) in out.chunks_exact_mut(nx + 1).enumerate() {
            for (j, row) in weights.chunks_exact(nx).enumerate() {
                let kernel = &kernel[(j + ny - l) * 2 * nx..][..2 * nx];
                for (i, &w) in row.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                    for (out, k) in out.iter_mut().zip(&kernel[nx - 1 - i..][..nx + 1]) {
                        *out += w * k;
                    }
                }
            }
        }
        out
    }
}
