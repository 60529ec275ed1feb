//! The `bilinear` rule, `docs/model.md` (90): wrenches for rotations about the grid's nodes.
//!
//! The node wrenches are a correlation of the pressure with unit vectors that depend on the grid alone, so
//! one [`Kernel`] serves every map on a grid. Here it serves one map; [`super::folded`] has many.

use super::lanes::{rsqrt, vectorised};
use super::sample::unit;
use crate::number::real::Real;
use crate::number::simd::{copies, widest};
use crate::patch::Grid;

/// Nodes of a row that are summed together at most, in two of the widest registers.
const NODES: usize = 2 * crate::number::real::LANES;

/// Distance and unit vector from a node to a cell centre, for every offset on a grid.
#[derive(Clone, Debug)]
pub struct Kernel<T = f64> {
    pub nx: usize,
    pub ny: usize,
    /// `R`, `a/R` and `b/R`, `[cell row - node row + ny][node column - cell column + nx - 1]`, rows padded.
    terms: [Vec<T>; 3],
}

impl Kernel {
    /// The kernel of `grid`, lengths divided by `unit` [m].
    pub fn new(grid: &Grid, unit: f64) -> Self {
        let (nx, ny) = (grid.nx, grid.ny);
        Self { nx, ny, terms: terms(nx, ny, grid.dx / unit, grid.dy / unit) }
    }

    /// Sums of `w (R, a/R, b/R)` about every node, `[node row][node column]`, for shares `w` of the cells.
    pub fn correlate(&self, weights: &[f64]) -> Vec<[f64; 3]> {
        widest!(correlate::<f64>(&self.terms, weights, self.nx, self.ny))
    }
}

impl<T> Kernel<T> {
    /// The sum's terms (`R`, `a/R` or `b/R`) for cells of row `j` about nodes of row `l`, at
    /// `node column - cell column + nx - 1`.
    pub fn row(&self, sum: usize, j: usize, l: usize) -> &[T] {
        let width = 2 * self.nx + NODES;
        &self.terms[sum][(j + self.ny - l) * width..][..width]
    }
}

impl Kernel<f32> {
    /// The kernel of `grid` in single precision.
    pub fn single(grid: &Grid) -> Self {
        let Kernel { nx, ny, terms } = Kernel::new(grid, unit(grid));
        Self { nx, ny, terms: terms.map(|terms| terms.into_iter().map(|t| t as f32).collect()) }
    }

    /// [`Kernel::correlate`] in single precision.
    pub fn correlate(&self, weights: &[f64]) -> Vec<[f64; 3]> {
        widest!(correlate::<f32>(&self.terms, weights, self.nx, self.ny))
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
fn add<R: Real>([low, high]: [R; 2], w: R, k: &[R::Scalar]) -> [R; 2] {
    let (mut first, mut second) = (R::of(0.0), R::of(0.0));
    first.lanes_mut().copy_from_slice(&k[..R::LANES]);
    second.lanes_mut().copy_from_slice(&k[R::LANES..2 * R::LANES]);
    [w.fma(first, low), w.fma(second, high)]
}

copies! {
    fn correlate<R>(terms: &[Vec<R::Scalar>; 3], weights: &[f64], nx: usize, ny: usize) -> Vec<[f64; 3]> {
        let number = |x: f64| R::Scalar::of(x);
        let (width, nodes) = (2 * nx + NODES, 2 * R::LANES);
        let mut out = vec![[0.0; 3]; (nx + 1) * (ny + 1)];
        // Parts of map and kernel that are even and odd in y do not mix: half the rows, for half the rows of
        // nodes.
        let mut even = vec![number(0.0); nx * ny.div_ceil(2)];
        let mut odd = even.clone();
        for (j, (even, odd)) in even.chunks_exact_mut(nx).zip(odd.chunks_exact_mut(nx)).enumerate() {
            let (low, high) = (&weights[j * nx..][..nx], &weights[(ny - 1 - j) * nx..][..nx]);
            // The middle row is its own mirror image.
            let share = if 2 * j + 1 == ny { 0.25 } else { 0.5 };
            for i in 0..nx {
                (even[i], odd[i]) = (number(share * (low[i] + high[i])), number(share * (low[i] - high[i])));
            }
        }
        let mut parts = vec![number(0.0); 6 * width];
        for l in 0..=ny / 2 {
            for first in (0..=nx).step_by(nodes) {
                let zero = [R::of(0.0); 2];
                // Sums of rows are summed: one long sum would lose more to rounding.
                let mut total = [zero; 6];
                let used = nx - 1 + nodes;
                for (j, (even, odd)) in even.chunks_exact(nx).zip(odd.chunks_exact(nx)).enumerate() {
                    let (low, high) = ((j + ny - l) * width + first, (2 * ny - 1 - j - l) * width + first);
                    for (parts, terms) in parts.chunks_exact_mut(2 * width).zip(terms) {
                        let (sums, differences) = parts.split_at_mut(width);
                        let (low, high) = (&terms[low..][..used], &terms[high..][..used]);
                        let all = sums[..used].iter_mut().zip(&mut differences[..used]).zip(low).zip(high);
                        for (((sum, difference), low), high) in all {
                            (*sum, *difference) = (*low + *high, *low - *high);
                        }
                    }
                    let (mut r0, mut x0, mut y0, mut r1, mut x1, mut y1) = (zero, zero, zero, zero, zero, zero);
                    // Along a row, the kernel goes backwards.
                    let windows = |k: usize| parts[k * width..][..used].windows(nodes).rev();
                    let all = even.iter().zip(odd).zip(windows(0)).zip(windows(1)).zip(windows(2));
                    let all = all.zip(windows(3)).zip(windows(4)).zip(windows(5));
                    for (((((((even, odd), r), s), x), t), y), u) in all {
                        let (even, odd) = (R::of(even.lane(0)), R::of(odd.lane(0)));
                        r0 = add(r0, even, r);
                        r1 = add(r1, odd, s);
                        x0 = add(x0, even, x);
                        x1 = add(x1, odd, t);
                        y0 = add(y0, even, y);
                        y1 = add(y1, odd, u);
                    }
                    for (total, row) in total.iter_mut().zip([r0, r1, x0, x1, y0, y1]) {
                        *total = [total[0] + row[0], total[1] + row[1]];
                    }
                }
                let [r0, r1, x0, x1, y0, y1] = total;
                for half in 0..2 {
                    let ([r0, x0, y0], [r1, x1, y1]) = ([r0[half], x0[half], y0[half]], [r1[half], x1[half], y1[half]]);
                    // `b/R` is odd in y: mirrored, it changes sign.
                    let (low, high) = ([r0 + r1, x0 + x1, y0 + y1], [r0 - r1, x0 - x1, y1 - y0]);
                    let first = first + half * R::LANES;
                    for lane in 0..R::LANES.min((nx + 1).saturating_sub(first)) {
                        for sum in 0..3 {
                            out[l * (nx + 1) + first + lane][sum] = low[sum].lane(lane);
                            out[(ny - l) * (nx + 1) + first + lane][sum] = high[sum].lane(lane);
                        }
                    }
                }
            }
        }
        out
    }
}
