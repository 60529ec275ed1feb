//! The `bilinear` rule, eq. (23): wrenches for rotations about the grid's nodes.
//!
//! The node wrenches are a correlation of the pressure with unit vectors that depend on the grid alone, so
//! one [`Kernel`] serves every map on a grid. Here it serves one map; [`super::folded`] has many.

use super::lanes::{Block, LANES, rsqrt, vectorised};
use crate::patch::Grid;

/// Nodes of a row that are summed together.
const NODES: usize = LANES;

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
        // Parts of map and kernel that are even and odd in y do not mix: half the rows, for half the rows of nodes.
        let mut even = vec![0.0; nx * ny.div_ceil(2)];
        let mut odd = even.clone();
        for (j, (even, odd)) in even.chunks_exact_mut(nx).zip(odd.chunks_exact_mut(nx)).enumerate() {
            let (low, high) = (&weights[j * nx..][..nx], &weights[(ny - 1 - j) * nx..][..nx]);
            // The middle row is its own mirror image.
            let share = if 2 * j + 1 == ny { 0.25 } else { 0.5 };
            for i in 0..nx {
                (even[i], odd[i]) = (share * (low[i] + high[i]), share * (low[i] - high[i]));
            }
        }
        let mut parts = vec![0.0; 6 * width];
        for l in 0..=ny / 2 {
            for first in (0..=nx).step_by(NODES) {
                let (mut r0, mut x0, mut y0) = ([0.0; NODES], [0.0; NODES], [0.0; NODES]);
                let (mut r1, mut x1, mut y1) = ([0.0; NODES], [0.0; NODES], [0.0; NODES]);
                let used = nx - 1 + NODES;
                for (j, (even, odd)) in even.chunks_exact(nx).zip(odd.chunks_exact(nx)).enumerate() {
                    let (low, high) = ((j + ny - l) * width + first, (2 * ny - 1 - j - l) * width + first);
                    for (parts, terms) in parts.chunks_exact_mut(2 * width).zip(terms) {
                        let (sums, differences) = parts.split_at_mut(width);
                        let (low, high) = (&terms[low..][..used], &terms[high..][..used]);
                        let all = sums[..used].iter_mut().zip(&mut differences[..used]).zip(low).zip(high);
                        for (((sum, difference), low), high) in all {
                            (*sum, *difference) = (low + high, low - high);
                        }
                    }
                    // Along a row, the kernel goes backwards.
                    let windows = |k: usize| parts[k * width..][..used].windows(NODES).rev();
                    let all = even.iter().zip(odd).zip(windows(0)).zip(windows(1)).zip(windows(2));
                    let all = all.zip(windows(3)).zip(windows(4)).zip(windows(5));
                    for (((((((even, odd), r), s), x), t), y), u) in all {
                        r0 = add(r0, *even, r);
                        r1 = add(r1, *odd, s);
                        x0 = add(x0, *even, x);
                        x1 = add(x1, *odd, t);
                        y0 = add(y0, *even, y);
                        y1 = add(y1, *odd, u);
                    }
                }
                for n in 0..NODES.min(nx + 1 - first) {
                    let at = first + n;
                    out[l * (nx + 1) + at] = [r0[n] + r1[n], x0[n] + x1[n], y0[n] + y1[n]];
                    // `b/R` is odd in y: mirrored, it changes sign.
                    out[(ny - l) * (nx + 1) + at] = [r0[n] - r1[n], x0[n] - x1[n], y1[n] - y0[n]];
                }
            }
        }
        out
    }
}
