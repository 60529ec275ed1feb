//! Sums about all nodes of a grid, of which the `bilinear` rule takes means, `docs/model.md` (90).
//!
//! They are a correlation of the pressure with distances and unit vectors. These depend on the offset between
//! node and cell alone, so that no root is computed for a pair of node and cell.

use crate::number::block::rsqrt;
use crate::number::real::Real;
use crate::number::simd::{copies, widest};
use crate::patch::Patch;

/// Nodes of a row that are summed together at most, in two of the widest registers.
const NODES: usize = 2 * crate::number::real::LANES;

/// Sums of `w (R, a/R, b/R)` about every node, `[node row][node column]`, for shares `w` of the cells and
/// lengths divided by `unit` [m].
pub fn sums(patch: &Patch, unit: f64) -> Vec<[f64; 3]> {
    widest!(correlate::<f64>(&terms(patch, unit), patch))
}

/// [`sums`] in single precision.
pub fn sums_in_single(patch: &Patch, unit: f64) -> Vec<[f64; 3]> {
    let terms = terms(patch, unit).map(|terms| terms.into_iter().map(|t| t as f32).collect());
    widest!(correlate::<f32>(&terms, patch))
}

/// `R`, `a/R` and `b/R` from a node to a cell centre for every offset on the grid,
/// `[cell row - node row + ny][node column - cell column + nx - 1]`, rows padded.
fn terms(patch: &Patch, unit: f64) -> [Vec<f64>; 3] {
    let grid = patch.grid();
    terms_of(grid.nx, grid.ny, grid.dx / unit, grid.dy / unit)
}

copies! {
    fn terms_of(nx: usize, ny: usize, dx: f64, dy: f64) -> [Vec<f64>; 3] {
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
    let (mut first, mut second) = (R::splat(0.0), R::splat(0.0));
    first.lanes_mut().copy_from_slice(&k[..R::LANES]);
    second.lanes_mut().copy_from_slice(&k[R::LANES..2 * R::LANES]);
    [w.fma(first, low), w.fma(second, high)]
}

copies! {
    fn correlate<R>(terms: &[Vec<R::Scalar>; 3], patch: &Patch) -> Vec<[f64; 3]> {
        let number = |x: f64| R::Scalar::splat(x);
        let (nx, ny, weights) = (patch.grid().nx, patch.grid().ny, patch.weights());
        let (width, nodes) = (2 * nx + NODES, 2 * R::LANES);
        let mut out = vec![[0.0; 3]; (nx + 1) * (ny + 1)];
        // The parts of the map that are even and odd in y correlate with those of the terms alone. Each is a
        // sum over half the rows of cells for half the rows of nodes.
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
                let zero = [R::splat(0.0); 2];
                // Every row of cells is summed by itself, as one long sum would lose more to rounding.
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
                    // From one cell of a row to the next, the offset from a node falls.
                    let windows = |k: usize| parts[k * width..][..used].windows(nodes).rev();
                    let all = even.iter().zip(odd).zip(windows(0)).zip(windows(1)).zip(windows(2));
                    let all = all.zip(windows(3)).zip(windows(4)).zip(windows(5));
                    for (((((((even, odd), r), s), x), t), y), u) in all {
                        let (even, odd) = (R::splat(even.lane(0)), R::splat(odd.lane(0)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit_surface::quadrature::frame::{node, unit};
    use crate::number::baseline::{F32, F64};
    use crate::number::simd::Simd;
    #[cfg(target_arch = "x86_64")]
    use crate::number::x86::{Avx2F32, Avx2F64, Avx512F32, Avx512F64};
    use crate::patch::Grid;
    use crate::random::Draw;

    /// Random maps whose pressure grows to one corner.
    fn patches(nx: usize, ny: usize, maps: u64) -> Vec<Patch> {
        let grid = Grid::new(nx, ny, 0.02, 0.03).unwrap();
        let lean = |k: u64| (1 + k % nx as u64 + 2 * (k / nx as u64)) as f64;
        let map =
            |m| (0..grid.len() as u64).map(|k| lean(k) * Draw::new(m, k).uniform("p").powi(2)).collect::<Vec<_>>();
        (1..=maps).map(|m| Patch::from_pressure(grid, &map(m)).unwrap()).collect()
    }

    /// Sums about every node, term by term.
    fn direct(patch: &Patch) -> Vec<[f64; 3]> {
        let grid = patch.grid();
        let about = |at: [f64; 2]| {
            let mut sum = [0.0; 3];
            for ([x, y], w) in grid.centres().zip(patch.weights()) {
                let (a, b) = (x - at[0], y - at[1]);
                let r = a.hypot(b);
                sum = [sum[0] + w * r, sum[1] + w * a / r, sum[2] + w * b / r];
            }
            sum
        };
        let nodes = (0..=grid.ny).flat_map(|l| (0..=grid.nx).map(move |k| (k, l)));
        nodes.map(|(k, l)| about(node(grid, k, l))).collect()
    }

    fn check<R: Real>(terms: &[Vec<R::Scalar>; 3], patch: &Patch, within: f64) {
        for (k, (found, wanted)) in correlate::<R>(terms, patch).iter().zip(direct(patch)).enumerate() {
            let wanted = [wanted[0] / unit(patch.grid()), wanted[1], wanted[2]];
            let near = (0..3).all(|sum| (found[sum] - wanted[sum]).abs() < within * wanted[0].max(1.0));
            assert!(near, "{:?}, node {k}: {found:?} and {wanted:?}", patch.grid());
        }
    }

    #[test]
    fn sums_in_all_vectors_are_the_direct_ones() {
        for (nx, ny) in [(21, 21), (30, 12), (12, 30), (7, 4), (4, 9), (2, 1), (1, 2), (3, 3), (1, 1)] {
            for patch in patches(nx, ny, 3) {
                let double = terms(&patch, unit(patch.grid()));
                let single = double.clone().map(|terms| terms.into_iter().map(|t| t as f32).collect());
                check::<F64>(&double, &patch, 1e-14);
                check::<F32>(&single, &patch, 1e-6);
                #[cfg(target_arch = "x86_64")]
                {
                    if Simd::widest() >= Simd::Avx2 {
                        check::<Avx2F64>(&double, &patch, 1e-14);
                        check::<Avx2F32>(&single, &patch, 1e-6);
                    }
                    if Simd::widest() >= Simd::Avx512 {
                        check::<Avx512F64>(&double, &patch, 1e-14);
                        check::<Avx512F32>(&single, &patch, 1e-6);
                    }
                }
            }
        }
    }
}
