//! Node sums of many pressure maps on one grid: one matrix product, folded by the grid's symmetries.
//!
//! Mirroring the grid in x or in y maps nodes on nodes, cells on cells and leaves the kernel as it is but for a sign. So the
//! parts of a map that are even and odd in x and in y do not mix, and each needs the kernel's part of its own parity on a
//! quarter of the nodes and a quarter of the cells: a fourth of the multiplications.

use rayon::prelude::*;

use super::lattice::Kernel;
use crate::number::real::Real;
use crate::number::simd::{copies, widest};
use crate::patch::{Grid, Patch};

/// Maps that are multiplied together: folding the kernel about a node serves as many.
pub const MAPS: usize = 64;
/// Fewer maps go one by one: most lanes would be empty.
const TOGETHER: usize = 8;
/// Parities: even or odd in x (bit 0) and in y (bit 1).
const PARITIES: usize = 4;
/// Coefficients of a cell: the three sums about two neighbouring nodes.
const SUMS: usize = 6;

impl Kernel {
    /// [`Kernel::correlate`] of at most [`MAPS`] maps.
    pub fn correlate_all(&self, maps: &[&[f64]]) -> Vec<Vec<[f64; 3]>> {
        if maps.len() < TOGETHER {
            return maps.iter().map(|map| self.correlate(map)).collect();
        }
        widest!(correlate::<f64>(self, maps))
    }
}

impl Kernel<f32> {
    /// [`Kernel::correlate`] of at most [`MAPS`] maps, in single precision.
    pub fn correlate_all(&self, maps: &[&[f64]]) -> Vec<Vec<[f64; 3]>> {
        if maps.len() < TOGETHER {
            return maps.iter().map(|map| self.correlate(map)).collect();
        }
        widest!(correlate::<f32>(self, maps))
    }
}

/// `of` every patch, in parallel, and of the sums about its nodes if it is on `grid`; `correlate_all` makes them.
pub fn each<T: Send>(
    patches: &[Patch],
    grid: &Grid,
    correlate_all: impl Fn(&[&[f64]]) -> Vec<Vec<[f64; 3]>> + Sync,
    of: impl Fn(&Patch, Option<Vec<[f64; 3]>>) -> T + Sync,
) -> Vec<T> {
    let of_group = |group: &[Patch]| -> Vec<T> {
        let maps: Vec<&[f64]> = group.iter().filter(|p| p.grid() == grid).map(Patch::weights).collect();
        let mut sums = correlate_all(&maps).into_iter();
        let sums: Vec<_> = group.iter().map(|p| if p.grid() == grid { sums.next() } else { None }).collect();
        group.par_iter().zip(sums).map(|(patch, sums)| of(patch, sums)).collect()
    };
    patches.par_chunks(MAPS).map(of_group).collect::<Vec<_>>().into_iter().flatten().collect()
}

/// Even and odd part under a mirror in x and in y, by [`PARITIES`], of values at `(x, y)`, `(-x, y)`, `(x, -y)`, `(-x, -y)`.
#[inline(always)]
fn parts<R: Real>([a, b, c, d]: [R; 4]) -> [R; PARITIES] {
    [(a + b) + (c + d), (a - b) + (c - d), (a + b) - (c + d), (a - b) - (c - d)]
}

copies! {
    /// Sums of `w (R, a/R, b/R)` about every node, `[map][node row][node column]`, for maps of shares `w`.
    fn correlate<R>(kernel: &Kernel<R::Scalar>, maps: &[&[f64]]) -> Vec<Vec<[f64; 3]>> {
        let size = [kernel.nx, kernel.ny];
        let [nx, ny] = size;
        let mut out = vec![vec![[0.0; 3]; (nx + 1) * (ny + 1)]; maps.len()];
        let mut folded = Vec::with_capacity(maps.len().div_ceil(R::LANES));
        for maps in maps.chunks(R::LANES) {
            folded.push(fold_maps::<R>(size, maps));
        }
        let mut coefficients = vec![[[R::Scalar::of(0.0); SUMS]; PARITIES]; nx.div_ceil(2) * ny.div_ceil(2)];
        for l in 0..=ny / 2 {
            // Two at a time: of an odd number of columns one goes too far, and is not taken.
            for k in (0..=nx / 2).step_by(2) {
                fold_kernel(kernel, k, l, &mut coefficients);
                for (maps, out) in folded.iter().zip(out.chunks_mut(R::LANES)) {
                    unfold(products::<R>(&coefficients, maps, nx.div_ceil(2)), size, [k, l], out);
                }
            }
        }
        out
    }
}

/// The parts of as many maps as there are lanes on a quarter of the grid. The middle column and row are their own mirror
/// image and count half.
#[inline(always)]
fn fold_maps<R: Real>([nx, ny]: [usize; 2], maps: &[&[f64]]) -> Vec<[R; PARITIES]> {
    let mut folded = vec![[R::of(0.0); PARITIES]; nx.div_ceil(2) * ny.div_ceil(2)];
    for (lane, map) in maps.iter().enumerate() {
        for (j, row) in folded.chunks_mut(nx.div_ceil(2)).enumerate() {
            let (low, high) = (&map[j * nx..][..nx], &map[(ny - 1 - j) * nx..][..nx]);
            for (i, cell) in row.iter_mut().enumerate() {
                let [half_x, half_y] = [(i, nx), (j, ny)].map(|(at, n)| if 2 * at + 1 == n { 0.5 } else { 1.0 });
                let parts = parts([low[i], low[nx - 1 - i], high[i], high[nx - 1 - i]]);
                for (to, part) in cell.iter_mut().zip(parts) {
                    to.set(lane, 0.25 * half_x * half_y * part);
                }
            }
        }
    }
    folded
}

/// The parts of the kernel about nodes `(k, l)` and `(k + 1, l)` for a quarter of the cells.
#[inline(always)]
fn fold_kernel<T: Real>(kernel: &Kernel<T>, k: usize, l: usize, out: &mut [[[T; SUMS]; PARITIES]]) {
    let (nx, ny) = (kernel.nx, kernel.ny);
    for (j, row) in out.chunks_mut(nx.div_ceil(2)).enumerate() {
        for sum in 0..3 {
            let (low, high) = (kernel.row(sum, j, l), kernel.row(sum, ny - 1 - j, l));
            for (i, cell) in row.iter_mut().enumerate() {
                // Neighbours of a node and of a cell are neighbours in the kernel.
                let (near, far) = (k + nx - 1 - i, k + i);
                for next in 0..2 {
                    let parts = parts([low[near + next], low[far + next], high[near + next], high[far + next]]);
                    for (part, c) in parts.into_iter().zip(cell.iter_mut()) {
                        c[3 * next + sum] = part;
                    }
                }
            }
        }
    }
}

/// The sums about two neighbouring nodes of the parts of the maps, of which a row has `width` cells.
#[inline(always)]
fn products<R: Real>(
    coefficients: &[[[R::Scalar; SUMS]; PARITIES]],
    maps: &[[R; PARITIES]],
    width: usize,
) -> [[R; SUMS]; PARITIES] {
    let zero = R::of(0.0);
    let mut out = [[zero; SUMS]; PARITIES];
    for (parity, out) in out.iter_mut().enumerate() {
        // Sums of rows are summed: one long sum would lose more to rounding.
        for (coefficients, maps) in coefficients.chunks_exact(width).zip(maps.chunks_exact(width)) {
            // Named, for the compiler to keep them in registers.
            let (mut r0, mut x0, mut y0, mut r1, mut x1, mut y1) = (zero, zero, zero, zero, zero, zero);
            for (c, w) in coefficients.iter().zip(maps) {
                let (c, w) = (&c[parity], w[parity]);
                r0 = w.fma(R::of(c[0].lane(0)), r0);
                x0 = w.fma(R::of(c[1].lane(0)), x0);
                y0 = w.fma(R::of(c[2].lane(0)), y0);
                r1 = w.fma(R::of(c[3].lane(0)), r1);
                x1 = w.fma(R::of(c[4].lane(0)), x1);
                y1 = w.fma(R::of(c[5].lane(0)), y1);
            }
            for (out, row) in out.iter_mut().zip([r0, x0, y0, r1, x1, y1]) {
                *out += row;
            }
        }
    }
    out
}

/// Sums about a node and its neighbour in x of the parts of the maps, to those about the mirrored nodes.
#[inline(always)]
fn unfold<R: Real>(
    products: [[R; SUMS]; PARITIES],
    [nx, ny]: [usize; 2],
    [k, l]: [usize; 2],
    out: &mut [Vec<[f64; 3]>],
) {
    for next in 0..2.min(nx / 2 + 1 - k) {
        let k = k + next;
        let nodes = [l * (nx + 1) + k, l * (nx + 1) + nx - k, (ny - l) * (nx + 1) + k, (ny - l) * (nx + 1) + nx - k];
        // `a/R` is odd in x and `b/R` in y: mirrored, they change sign.
        for (sum, signs) in [[1.0; 4], [1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]].iter().enumerate() {
            let [even, odd_x, odd_y, odd] = products;
            let at = 3 * next + sum;
            let parts = parts([even[at], odd_x[at], odd_y[at], odd[at]]);
            for ((node, sign), part) in nodes.iter().zip(signs).zip(parts) {
                for (out, part) in out.iter_mut().zip(part.lanes()) {
                    out[*node][sum] = sign * part.lane(0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit_surface::sample::{node, unit};
    use crate::limit_surface::{Rule, Surface};
    use crate::number::real::Lanes;
    use crate::number::simd::Simd;
    #[cfg(target_arch = "x86_64")]
    use crate::number::x86::{Avx2F32, Avx2F64, Avx512F32, Avx512F64};
    use crate::planar::Twist;
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
    fn direct(grid: &Grid, map: &[f64]) -> Vec<[f64; 3]> {
        let about = |at: [f64; 2]| {
            let mut sum = [0.0; 3];
            for ([x, y], w) in grid.centres().zip(map) {
                let (a, b) = (x - at[0], y - at[1]);
                let r = a.hypot(b);
                sum = [sum[0] + w * r, sum[1] + w * a / r, sum[2] + w * b / r];
            }
            sum
        };
        let nodes = (0..=grid.ny).flat_map(|l| (0..=grid.nx).map(move |k| (k, l)));
        nodes.map(|(k, l)| about(node(grid, k, l))).collect()
    }

    /// Sums in vectors `R`, in the grid's own unit of length.
    fn folded<R: Real>(kernel: &Kernel<R::Scalar>, maps: &[&[f64]], within: f64) {
        let (nx, ny) = (kernel.nx, kernel.ny);
        let grid = Grid::new(nx, ny, 0.02, 0.03).unwrap();
        for (found, map) in correlate::<R>(kernel, maps).iter().zip(maps) {
            for (k, (found, wanted)) in found.iter().zip(direct(&grid, map)).enumerate() {
                let wanted = [wanted[0] / unit(&grid), wanted[1], wanted[2]];
                let near = (0..3).all(|sum| (found[sum] - wanted[sum]).abs() < within * wanted[0].max(1.0));
                assert!(near, "{nx} x {ny}, node {k}: {found:?} and {wanted:?}");
            }
        }
    }

    #[test]
    fn folded_sums_are_the_direct_ones() {
        for (nx, ny) in [(21, 21), (30, 12), (12, 30), (7, 4), (4, 9), (2, 1), (1, 2), (3, 3), (1, 1)] {
            let patches = patches(nx, ny, 19);
            let maps: Vec<&[f64]> = patches.iter().map(Patch::weights).collect();
            let grid = patches[0].grid();
            let (double, single) = (Kernel::new(grid, unit(grid)), Kernel::single(grid));
            folded::<Lanes<f64>>(&double, &maps, 1e-14);
            folded::<Lanes<f32>>(&single, &maps, 1e-6);
            #[cfg(target_arch = "x86_64")]
            {
                if Simd::widest() >= Simd::Avx2 {
                    folded::<Avx2F64>(&double, &maps, 1e-14);
                    folded::<Avx2F32>(&single, &maps, 1e-6);
                }
                if Simd::widest() >= Simd::Avx512 {
                    folded::<Avx512F64>(&double, &maps, 1e-14);
                    folded::<Avx512F32>(&single, &maps, 1e-6);
                }
            }
            for (together, map) in double.correlate_all(&maps).iter().zip(maps) {
                let alone = double.correlate(map);
                let near = |a: &[f64; 3], b: &[f64; 3]| (0..3).all(|sum| (a[sum] - b[sum]).abs() < 1e-13);
                assert!(together.iter().zip(&alone).all(|(a, b)| near(a, b)), "{nx} x {ny}");
            }
        }
    }

    #[test]
    fn surfaces_of_a_batch_are_those_alone() {
        let patches = patches(30, 12, 35);
        for (surface, patch) in Surface::batch(&patches, Rule::Bilinear).iter().zip(&patches) {
            let alone = Surface::new(patch, Rule::Bilinear);
            for k in 0..50 {
                let draw = Draw::new(5, k);
                let twist = Twist::new(draw.normal("x"), draw.normal("y"), 100.0 * draw.normal("w"));
                let (w, v) = (surface.coulomb(twist), alone.coulomb(twist));
                let error = [w.fx - v.fx, w.fy - v.fy, (w.tau - v.tau) / alone.radius()];
                assert!(error.iter().all(|e| e.abs() < 1e-12), "{twist:?}: {w:?} and {v:?}");
            }
        }
    }
}
