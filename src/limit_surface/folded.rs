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
pub const PARITIES: usize = 4;
/// Coefficients of a cell: the three sums about two sites.
pub const SUMS: usize = 6;
/// Cells that are summed at once.
const CELLS: usize = 32;
/// A site and its mirror images in x, in y and in both.
pub const IMAGES: usize = 4;

/// What cells add to the sums about two sites: `[two sites][parity][cell of a quarter]`.
pub type Folded<T> = [T; SUMS];

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
pub fn parts<R: Real>([a, b, c, d]: [R; 4]) -> [R; PARITIES] {
    [(a + b) + (c + d), (a - b) + (c - d), (a + b) - (c + d), (a - b) - (c - d)]
}

copies! {
    /// Sums of `w (R, a/R, b/R)` about every node, `[map][node row][node column]`, for maps of shares `w`.
    fn correlate<R>(kernel: &Kernel<R::Scalar>, maps: &[&[f64]]) -> Vec<Vec<[f64; 3]>> {
        let size = [kernel.nx, kernel.ny];
        let [nx, ny] = size;
        let mut out: Vec<_> = maps.iter().map(|_| vec![[0.0; 3]; (nx + 1) * (ny + 1)]).collect();
        let mut folded = Vec::with_capacity(maps.len().div_ceil(R::LANES));
        for maps in maps.chunks(R::LANES) {
            folded.push(fold_maps::<R>(size, maps));
        }
        let quarter = nx.div_ceil(2) * ny.div_ceil(2);
        let mut coefficients = vec![[R::Scalar::of(0.0); SUMS]; (nx / 2 + 1).div_ceil(2) * PARITIES * quarter];
        let mut images = vec![[0; IMAGES]; nx / 2 + 1];
        for l in 0..=ny / 2 {
            // Two at a time: of an odd number of columns one goes too far, and is not taken.
            for (pair, coefficients) in coefficients.chunks_exact_mut(PARITIES * quarter).enumerate() {
                fold_kernel(kernel, 2 * pair, l, coefficients);
            }
            for (k, images) in images.iter_mut().enumerate() {
                let (row, mirrored) = (l * (nx + 1), (ny - l) * (nx + 1));
                *images = [row + k, row + nx - k, mirrored + k, mirrored + nx - k];
            }
            multiply::<R, false>(&coefficients, quarter, &folded, &images, &mut out);
        }
        out
    }
}

/// The parts of as many maps as there are lanes on a quarter of the grid, `[parity][cell]`. The middle column and row are their own
/// mirror image and count half.
#[inline(always)]
pub fn fold_maps<R: Real>([nx, ny]: [usize; 2], maps: &[&[f64]]) -> Vec<R> {
    let (width, quarter) = (nx.div_ceil(2), nx.div_ceil(2) * ny.div_ceil(2));
    let mut folded = vec![R::of(0.0); PARITIES * quarter];
    for (lane, map) in maps.iter().enumerate() {
        for j in 0..ny.div_ceil(2) {
            let (low, high) = (&map[j * nx..][..nx], &map[(ny - 1 - j) * nx..][..nx]);
            for i in 0..width {
                let [half_x, half_y] = [(i, nx), (j, ny)].map(|(at, n)| if 2 * at + 1 == n { 0.5 } else { 1.0 });
                let parts = parts([low[i], low[nx - 1 - i], high[i], high[nx - 1 - i]]);
                for (parity, part) in parts.into_iter().enumerate() {
                    folded[parity * quarter + j * width + i].set(lane, 0.25 * half_x * half_y * part);
                }
            }
        }
    }
    folded
}

/// The parts of the kernel about nodes `(k, l)` and `(k + 1, l)` for a quarter of the cells.
#[inline(always)]
fn fold_kernel<T: Real>(kernel: &Kernel<T>, k: usize, l: usize, out: &mut [Folded<T>]) {
    let (nx, ny) = (kernel.nx, kernel.ny);
    let (width, quarter) = (nx.div_ceil(2), nx.div_ceil(2) * ny.div_ceil(2));
    for j in 0..ny.div_ceil(2) {
        for sum in 0..3 {
            let (low, high) = (kernel.row(sum, j, l), kernel.row(sum, ny - 1 - j, l));
            for i in 0..width {
                // Neighbours of a node and of a cell are neighbours in the kernel.
                let (near, far) = (k + nx - 1 - i, k + i);
                for next in 0..2 {
                    let parts = parts([low[near + next], low[far + next], high[near + next], high[far + next]]);
                    for (parity, part) in parts.into_iter().enumerate() {
                        out[parity * quarter + j * width + i][3 * next + sum] = part;
                    }
                }
            }
        }
    }
}

/// The sums of all maps about sites, from the `coefficients` of a `quarter` of the cells, two sites together. Those about a site and its
/// mirror images in x, in y and in both go to its `images`, the last sum first where `REVERSED`.
#[inline(always)]
pub fn multiply<R: Real, const REVERSED: bool>(
    coefficients: &[Folded<R::Scalar>],
    quarter: usize,
    maps: &[Vec<R>],
    images: &[[usize; IMAGES]],
    out: &mut [Vec<[f64; 3]>],
) {
    let (zero, pairs) = (R::of(0.0), images.len().div_ceil(2));
    let mut products = vec![[[[zero; SUMS]; PARITIES]; 2]; pairs];
    let mut sums = vec![[[[zero; 3]; IMAGES]; 2]; pairs];
    for (maps, out) in maps.chunks(2).zip(out.chunks_mut(2 * R::LANES)) {
        products.fill([[[zero; SUMS]; PARITIES]; 2]);
        match maps {
            // A coefficient that is in a register serves two groups of maps.
            [first, second] => add_products(coefficients, [first, second], quarter, &mut products),
            _ => add_products(coefficients, [&maps[0]], quarter, &mut products),
        }
        for (group, out) in out.chunks_mut(R::LANES).enumerate() {
            for (products, sums) in products.iter().zip(&mut sums) {
                unfold(&products[group], sums);
            }
            scatter::<R, REVERSED>(&sums, images, out);
        }
    }
}

/// Adds the sums about sites of the parts of groups of maps.
#[inline(always)]
fn add_products<R: Real, const GROUPS: usize>(
    coefficients: &[Folded<R::Scalar>],
    maps: [&Vec<R>; GROUPS],
    quarter: usize,
    out: &mut [[[[R; SUMS]; PARITIES]; 2]],
) {
    for parity in 0..PARITIES {
        // Sums of some cells are summed: one long sum would lose more to rounding. The maps of some cells stay near.
        for first in (0..quarter).step_by(CELLS) {
            let some = parity * quarter + first..parity * quarter + quarter.min(first + CELLS);
            let maps = maps.map(|map| &map[some.clone()]);
            for (coefficients, out) in coefficients.chunks_exact(PARITIES * quarter).zip(out.iter_mut()) {
                let mut sums = [[R::of(0.0); SUMS]; GROUPS];
                for (cell, c) in coefficients[some.clone()].iter().enumerate() {
                    for sum in 0..SUMS {
                        let c = R::of(c[sum].lane(0));
                        for group in 0..GROUPS {
                            sums[group][sum] = maps[group][cell].fma(c, sums[group][sum]);
                        }
                    }
                }
                for group in 0..GROUPS {
                    for sum in 0..SUMS {
                        out[group][parity][sum] += sums[group][sum];
                    }
                }
            }
        }
    }
}

/// Sums about two sites of the parts of the maps, to those about their images.
#[inline(always)]
fn unfold<R: Real>(products: &[[R; SUMS]; PARITIES], out: &mut [[[R; 3]; IMAGES]; 2]) {
    for (site, out) in out.iter_mut().enumerate() {
        for sum in 0..3 {
            let at = 3 * site + sum;
            let of = parts([products[0][at], products[1][at], products[2][at], products[3][at]]);
            for (image, out) in out.iter_mut().enumerate() {
                // The second is odd in x and the third in y: mirrored, they change sign.
                let minus = (sum == 1 && image & 1 == 1) || (sum == 2 && image >> 1 == 1);
                out[sum] = if minus { -of[image] } else { of[image] };
            }
        }
    }
}

/// Sums of a map in every lane to where they belong, map by map, as maps lie far from each other.
#[inline(always)]
fn scatter<R: Real, const REVERSED: bool>(
    sums: &[[[[R; 3]; IMAGES]; 2]],
    images: &[[usize; IMAGES]],
    out: &mut [Vec<[f64; 3]>],
) {
    for (lane, out) in out.iter_mut().enumerate() {
        for image in 0..IMAGES {
            for (sums, images) in sums.as_flattened().iter().zip(images) {
                let [first, second, last] = &sums[image];
                let [first, last] = if REVERSED { [last, first] } else { [first, last] };
                let [first, second, last] = [first.lanes()[lane], second.lanes()[lane], last.lanes()[lane]];
                out[images[image]] = [first.lane(0), second.lane(0), last.lane(0)];
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
