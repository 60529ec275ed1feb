//! Node sums of many pressure maps on one grid: one matrix product, folded by the grid's symmetries.
//!
//! Mirroring the grid in x or in y maps nodes on nodes, cells on cells and leaves the kernel as it is but for
//! a sign. So the parts of a map that are even and odd in x and in y do not mix, and each needs the kernel's
//! part of its own parity on a quarter of the nodes and a quarter of the cells: a fourth of the
//! multiplications.

use std::slice::ChunksExactMut;

use rayon::prelude::*;

use super::lattice::Kernel;
use crate::number::real::{LANES, Real};
use crate::number::simd::{Simd, copies, widest};
use crate::patch::{Grid, Patch};

/// Maps that are multiplied together: coefficients that are in the cache serve as many, and their sums stay
/// there, too.
pub const MAPS: usize = 48;
/// Fewer maps go one by one: most lanes would be empty.
const TOGETHER: usize = 8;
/// Parities: even or odd in x (bit 0) and in y (bit 1).
pub const PARITIES: usize = 4;
/// Coefficients of a cell: the three sums about two sites.
pub const SUMS: usize = 6;
/// Cells that are summed at once.
const CELLS: usize = 32;

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

/// `of` every patch, in parallel, and of the sums about its nodes if it is on `grid`; `correlate_all` makes
/// them.
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

/// Even and odd part under a mirror in x and in y, by [`PARITIES`], of values at `(x, y)`, `(-x, y)`,
/// `(x, -y)`, `(-x, -y)`.
#[inline(always)]
pub fn parts<R: Real>([a, b, c, d]: [R; 4]) -> [R; PARITIES] {
    [(a + b) + (c + d), (a - b) + (c - d), (a + b) - (c + d), (a - b) - (c - d)]
}

copies! {
    /// Sums of `w (R, a/R, b/R)` about every node, `[map][node row][node column]`, for maps of shares `w`.
    fn correlate<R>(kernel: &Kernel<R::Scalar>, maps: &[&[f64]]) -> Vec<Vec<[f64; 3]>> {
        let [nx, ny] = [kernel.nx, kernel.ny];
        let quarter = nx.div_ceil(2) * ny.div_ceil(2);
        let columns = (nx / 2 + 1).div_ceil(2);
        let mut sums = Sums::<R>::new([nx, ny], (ny / 2 + 1) * columns);
        sums.take(maps);
        let mut coefficients = vec![[R::Scalar::of(0.0); SUMS]; columns * PARITIES * quarter];
        for l in 0..=ny / 2 {
            // Two at a time: of an odd number of columns one goes too far, and is not taken.
            for (pair, coefficients) in coefficients.chunks_exact_mut(PARITIES * quarter).enumerate() {
                fold_kernel(kernel, 2 * pair, l, coefficients);
            }
            sums.multiply(l * columns, &coefficients);
        }
        let mut out: Vec<_> = maps.iter().map(|_| Vec::with_capacity((nx + 1) * (ny + 1))).collect();
        let mut sites = Vec::with_capacity(nx + 1);
        for (group, out) in out.chunks_mut(R::LANES).enumerate() {
            for l in 0..=ny {
                let (below, y) = if l > ny / 2 { (ny - l, true) } else { (l, false) };
                sites.clear();
                for k in 0..=nx {
                    let (left, x) = if k > nx / 2 { (nx - k, true) } else { (k, false) };
                    sites.push(Site { of: 2 * below * columns + left, mirrored: [x, y] });
                }
                for (out, row) in out.iter_mut().zip(sums.rows(group, &sites, [0, 1, 2])) {
                    out.extend_from_slice(row[..3 * (nx + 1)].as_chunks().0);
                }
            }
        }
        out
    }
}

/// The parts of as many maps as there are lanes on a quarter of the grid, `[parity][cell]`. The middle column
/// and row are their own mirror image and count half.
#[inline(always)]
fn fold_maps<R: Real>([nx, ny]: [usize; 2], maps: &[&[f64]]) -> Vec<R> {
    let cells = nx * ny;
    let mut abreast = vec![R::of(0.0); cells.next_multiple_of(R::LANES)];
    for (block, cell) in abreast.chunks_exact_mut(R::LANES).enumerate() {
        let first = block * R::LANES;
        for (map, cell) in maps.iter().zip(&mut *cell) {
            *cell = R::pack(&map[first..cells.min(first + R::LANES)]);
        }
        transpose(cell);
    }
    let (width, quarter) = (nx.div_ceil(2), nx.div_ceil(2) * ny.div_ceil(2));
    let mut folded = vec![R::of(0.0); PARITIES * quarter];
    for j in 0..ny.div_ceil(2) {
        let (low, high) = (&abreast[j * nx..][..nx], &abreast[(ny - 1 - j) * nx..][..nx]);
        for i in 0..width {
            let half = |at: usize, n: usize| if 2 * at + 1 == n { 0.5 } else { 1.0 };
            let share = R::of(0.25 * half(i, nx) * half(j, ny));
            let parts = parts([low[i], low[nx - 1 - i], high[i], high[nx - 1 - i]]);
            for parity in 0..PARITIES {
                folded[parity * quarter + j * width + i] = share * parts[parity];
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

/// A site, or its mirror image in x, in y or in both.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The site whose image it is: the place of its coefficients.
    pub of: usize,
    /// Whether it is mirrored, in x and in y.
    pub mirrored: [bool; 2],
}

/// Sums about a pair of sites of the parts of a map in every lane.
type Products<R> = [[R; SUMS]; PARITIES];

/// Sums of at most [`MAPS`] maps about sites and all their mirror images.
pub struct Sums<R> {
    /// Cells of a grid.
    size: [usize; 2],
    /// Groups of maps, a lane each, as [`fold_maps`] makes them.
    maps: Vec<Vec<R>>,
    /// `[group][pair of sites]`.
    products: Vec<Products<R>>,
    pairs: usize,
    /// For [`Sums::rows`].
    values: Vec<R>,
    rows: Vec<f64>,
}

impl<R: Real> Sums<R> {
    /// Room for sums of maps on grids of this size about so many pairs of sites.
    #[inline(always)]
    pub fn new(size: [usize; 2], pairs: usize) -> Self {
        Self { size, maps: Vec::new(), products: Vec::new(), pairs, values: Vec::new(), rows: Vec::new() }
    }

    /// Takes `maps`, in place of those before. Their sums are anything until they are made.
    #[inline(always)]
    pub fn take(&mut self, maps: &[&[f64]]) {
        self.maps.clear();
        for maps in maps.chunks(R::LANES) {
            self.maps.push(fold_maps(self.size, maps));
        }
        self.products.resize(self.maps.len() * self.pairs, [[R::of(0.0); SUMS]; PARITIES]);
    }

    /// Makes the sums about pairs of sites, from the `first` on, from their `coefficients`.
    #[inline(always)]
    pub fn multiply(&mut self, first: usize, coefficients: &[Folded<R::Scalar>]) {
        let Self { size: [nx, ny], maps, products, pairs, .. } = self;
        let quarter = nx.div_ceil(2) * ny.div_ceil(2);
        // A coefficient that is in a register serves as many groups of maps as there are registers for their
        // sums.
        let together = if matches!(R::SIMD, Simd::Avx512) { 3 } else { 2 };
        for (maps, out) in maps.chunks(together).zip(products.chunks_mut(together * *pairs)) {
            let out = &mut out[first..];
            match maps {
                [a, b, c] => make_products(coefficients, [a, b, c], quarter, *pairs, out),
                [a, b] => make_products(coefficients, [a, b], quarter, *pairs, out),
                _ => make_products(coefficients, [&maps[0]], quarter, *pairs, out),
            }
        }
    }

    /// The sums about sites, for every map of a group: a row for each, the three sums of a site in their
    /// `order`, and room for three more.
    #[inline(always)]
    pub fn rows(&mut self, group: usize, sites: &[Site], order: [usize; 3]) -> ChunksExactMut<'_, f64> {
        let products = &self.products[group * self.pairs..][..self.pairs];
        let (values, rows) = (&mut self.values, &mut self.rows);
        let room = (3 * sites.len() + 3).next_multiple_of(R::LANES);
        values.resize(room, R::of(0.0));
        rows.resize(room * R::LANES, 0.0);
        for (site, values) in sites.iter().zip(values.chunks_exact_mut(3)) {
            let sign = |mirrored| R::of(if mirrored { -1.0 } else { 1.0 });
            let [x, y] = [sign(site.mirrored[0]), sign(site.mirrored[1])];
            let ([a, b, c, d], at) = (&products[site.of / 2], 3 * (site.of % 2));
            // Odd parts change sign in the mirror; the second sum is odd in x and the third in y, and changes
            // it again.
            values[order[0]] = d[at].fma(x, c[at]).fma(y, b[at].fma(x, a[at]));
            values[order[1]] = c[at + 1].fma(x, d[at + 1]).fma(y, a[at + 1].fma(x, b[at + 1]));
            values[order[2]] = b[at + 2].fma(x, a[at + 2]).fma(y, d[at + 2].fma(x, c[at + 2]));
        }
        for (block, values) in values.chunks_exact_mut(R::LANES).enumerate() {
            transpose(values);
            for (values, row) in values.iter().zip(rows.chunks_exact_mut(room)) {
                let (values, mut wide) = (*values, [0.0; LANES]);
                for (wide, value) in wide.iter_mut().zip(values.lanes()) {
                    *wide = value.lane(0);
                }
                row[block * R::LANES..][..R::LANES].copy_from_slice(&wide[..R::LANES]);
            }
        }
        rows.chunks_exact_mut(room)
    }
}

/// Makes the sums about sites of the parts of groups of maps, which are `pairs` pairs apart.
#[inline(always)]
fn make_products<R: Real, const GROUPS: usize>(
    coefficients: &[Folded<R::Scalar>],
    maps: [&Vec<R>; GROUPS],
    quarter: usize,
    pairs: usize,
    out: &mut [Products<R>],
) {
    for parity in 0..PARITIES {
        // Sums of some cells are summed: one long sum would lose more to rounding. The maps of some cells
        // stay near.
        for first in (0..quarter).step_by(CELLS) {
            let some = parity * quarter + first..parity * quarter + quarter.min(first + CELLS);
            let maps = maps.map(|map| &map[some.clone()]);
            for (pair, coefficients) in coefficients.chunks_exact(PARITIES * quarter).enumerate() {
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
                    let out = &mut out[group * pairs + pair][parity];
                    for sum in 0..SUMS {
                        let before = if first == 0 { R::of(0.0) } else { out[sum] };
                        out[sum] = before + sums[group][sum];
                    }
                }
            }
        }
    }
}

/// Lanes to registers and registers to lanes, of as many registers as they have lanes.
#[inline(always)]
fn transpose<R: Real>(rows: &mut [R]) {
    let half = R::LANES / 2;
    for _ in 0..R::LANES.ilog2() {
        let mut next = [R::of(0.0); LANES];
        for k in 0..half {
            [next[2 * k], next[2 * k + 1]] = rows[k].interleaved(rows[k + half]);
        }
        rows.copy_from_slice(&next[..R::LANES]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit_surface::sample::{node, unit};
    use crate::limit_surface::{Rule, Surface};
    use crate::number::real::Lanes;
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
