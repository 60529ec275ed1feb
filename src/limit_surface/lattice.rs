//! The `bilinear` rule, eq. (23): wrenches for rotations about the grid's nodes.
//!
//! The node wrenches are a correlation of the pressure with unit vectors that depend on the grid alone, so
//! one [`Kernel`] serves every map on a grid. Here it serves one map; [`super::folded`] has many.

use super::lanes::{Block, LANES, rsqrt, vectorised};
use crate::patch::Grid;

/// Nodes of a row that are summed together.
const NODES: usize = LANES;
/// Node rows that are summed together: a row of the kernel, once read, serves as many.
const ROWS: usize = 2;

/// Distance and unit vector from a node to a cell centre, for every offset on a grid.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub nx: usize,
    pub ny: usize,
    /// `R`, `a/R` and `b/R`, `[cell row - node row + ny][node column - cell column + nx - 1]`, rows padded.
    terms: [Vec<f64>; 3],
}

impl Kernel {
    /// The kernel of `grid`, lengths divided by `unit` [m].
    pub fn new(grid: &Grid, unit: f64) -> Self {
        let (nx, ny) = (grid.nx, grid.ny);
        Self { nx, ny, terms: terms(nx, ny, grid.dx / unit, grid.dy / unit) }
    }

    /// The sum's terms (`R`, `a/R` or `b/R`) for cells of row `j` about nodes of row `l`, at
    /// `node column - cell column + nx - 1`.
    pub fn row(&self, sum: usize, j: usize, l: usize) -> &[f64] {
        let width = 2 * self.nx + NODES;
        &self.terms[sum][(j + self.ny - l) * width..][..width]
    }

    /// Sums of `w (R, a/R, b/R)` about every node, `[node row][node column]`, for shares `w` of the cells.
    pub fn correlate(&self, weights: &[f64]) -> Vec<[f64; 3]> {
        correlate(&self.terms, weights, self.nx, self.ny)
    }
}

vectorised! {
    fn terms(nx: usize, ny: usize, dx: f64, dy: f64) -> [Vec<f64>; 3] {
        let width = 2 * nx + NODES;
        let mut out = [(); 3].map(|()| vec![0.0; 2 * ny * width]);
        let [r, x, y] = &mut out;
        let rows = r.chunks_exact_mut(width).zip(x.chunks_exact_mut(width)).zip(y.chunks_exact_mut(width));
        for (row, ((r, x), y)) in rows.enumerate() {
            let b = (row as f64 - ny as f64 + 0.5) * dy;
            for (column, ((r, x), y)) in r.iter_mut().zip(x).zip(y).enumerate() {
                let a = ((nx as f64 - 0.5) - column as f64) * dx;
                let r2 = a * a + b * b;
                let inverse = rsqrt(r2);
                (*r, *x, *y) = (r2 * inverse, a * inverse, b * inverse);
            }
        }
        out
    }
}

/// `sum + w k`.
#[inline(always)]
fn add(mut sum: Block, w: f64, k: &[f64]) -> Block {
    for n in 0..NODES {
        sum[n] = w.mul_add(k[n], sum[n]);
    }
    sum
}

vectorised! {
    fn correlate(terms: &[Vec<f64>; 3], weights: &[f64], nx: usize, ny: usize) -> Vec<[f64; 3]> {
        let width = 2 * nx + NODES;
        let mut out = vec![[0.0; 3]; (nx + 1) * (ny + 1)];
        // Rows of no weight before and after let all node rows of a group take part in every step.
        let mut padded = vec![0.0; (ny + 2 * (ROWS - 1)) * nx];
        padded[(ROWS - 1) * nx..][..nx * ny].copy_from_slice(weights);
        for first_row in (0..=ny).step_by(ROWS) {
            // Cell row less node row, and more by `ny`, of which the kernel has rows.
            let steps = ny.saturating_sub(first_row + ROWS - 1)..2 * ny - first_row;
            for first in (0..=nx).step_by(NODES) {
                let (mut r0, mut x0, mut y0) = ([0.0; NODES], [0.0; NODES], [0.0; NODES]);
                let (mut r1, mut x1, mut y1) = ([0.0; NODES], [0.0; NODES], [0.0; NODES]);
                for step in steps.clone() {
                    let (w0, w1) = padded[(step + first_row + ROWS - 1 - ny) * nx..][..ROWS * nx].split_at(nx);
                    let from = step * width + first;
                    let [r, x, y] = [0, 1, 2].map(|k| terms[k][from..from + nx - 1 + NODES].windows(NODES).rev());
                    for ((((w0, w1), r), x), y) in w0.iter().zip(w1).zip(r).zip(x).zip(y) {
                        r0 = add(r0, *w0, r);
                        r1 = add(r1, *w1, r);
                        x0 = add(x0, *w0, x);
                        x1 = add(x1, *w1, x);
                        y0 = add(y0, *w0, y);
                        y1 = add(y1, *w1, y);
                    }
                }
                let sums = [[r0, x0, y0], [r1, x1, y1]];
                for (m, sums) in sums.iter().enumerate().take(ny + 1 - first_row) {
                    let nodes = &mut out[(first_row + m) * (nx + 1) + first..][..NODES.min(nx + 1 - first)];
                    nodes.iter_mut().enumerate().for_each(|(n, node)| *node = [sums[0][n], sums[1][n], sums[2][n]]);
                }
            }
        }
        out
    }
}
