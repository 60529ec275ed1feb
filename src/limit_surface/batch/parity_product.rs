//! Sums over the cells of many pressure maps as one matrix product, which parity makes four times smaller.
//!
//! The maps are on one grid, and their sums are about the same sites (centres of rotation). Mirroring the
//! grid in x or in y maps sites on sites and cells on cells, and changes at most the sign of a cell's
//! contribution to a sum. So the parts of a map that are even and odd in x and in y do not mix, and each
//! needs the coefficients of its own parity, for a quarter of the sites and a quarter of the cells.

use std::slice::ChunksExactMut;

use crate::number::real::{LANES, Real};
use crate::number::simd::Simd;

/// Number of maps in one product. All of them use a coefficient while it is in the second-level cache; with
/// more maps their sums would not fit there.
pub const MAPS: usize = 48;
/// Parities: even or odd in x (bit 0) and in y (bit 1).
pub const PARITIES: usize = 4;
/// Coefficients of a cell: the three sums about two sites.
pub const SUMS: usize = 6;
/// Cells that are summed before their sum is added to that of the cells before.
const CELLS: usize = 32;

/// What a share of one adds to the sums about two sites. Arrays of these are
/// `[two sites][parity][cell of a quarter]`.
pub type Coefficients<T> = [T; SUMS];

/// Even and odd part under a mirror in x and in y, by [`PARITIES`], of values at `(x, y)`, `(-x, y)`,
/// `(x, -y)`, `(-x, -y)`.
#[inline(always)]
pub fn parts<R: Real>([a, b, c, d]: [R; 4]) -> [R; PARITIES] {
    [(a + b) + (c + d), (a - b) + (c - d), (a + b) - (c + d), (a - b) - (c - d)]
}

/// The even and odd parts of as many maps as there are lanes on a quarter of the grid, `[parity][cell]`. The
/// middle column and row are their own mirror image and count half.
#[inline(always)]
fn map_parts<R: Real>([nx, ny]: [usize; 2], maps: &[&[f64]]) -> Vec<R> {
    let cells = nx * ny;
    let mut by_cell = vec![R::splat(0.0); cells.next_multiple_of(R::LANES)];
    for (block, cell) in by_cell.chunks_exact_mut(R::LANES).enumerate() {
        let first = block * R::LANES;
        for (map, cell) in maps.iter().zip(&mut *cell) {
            *cell = R::pack(&map[first..cells.min(first + R::LANES)]);
        }
        transpose(cell);
    }
    let (width, quarter) = (nx.div_ceil(2), nx.div_ceil(2) * ny.div_ceil(2));
    let mut out = vec![R::splat(0.0); PARITIES * quarter];
    for j in 0..ny.div_ceil(2) {
        let (low, high) = (&by_cell[j * nx..][..nx], &by_cell[(ny - 1 - j) * nx..][..nx]);
        for i in 0..width {
            let half = |at: usize, n: usize| if 2 * at + 1 == n { 0.5 } else { 1.0 };
            let share = R::splat(0.25 * half(i, nx) * half(j, ny));
            let parts = parts([low[i], low[nx - 1 - i], high[i], high[nx - 1 - i]]);
            for parity in 0..PARITIES {
                out[parity * quarter + j * width + i] = share * parts[parity];
            }
        }
    }
    out
}

/// A site of the first quarter, or its mirror image in x, in y or in both.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The number of the site whose image it is, which has the coefficients.
    pub of: usize,
    /// Whether it is mirrored, in x and in y.
    pub mirrored: [bool; 2],
}

/// Sums about two sites of the even and odd parts of a map in every lane.
type Products<R> = [[R; SUMS]; PARITIES];

/// Sums of at most [`MAPS`] maps about sites and all their mirror images.
pub struct Sums<R> {
    /// Cells of a grid.
    size: [usize; 2],
    /// Groups of maps, one in every lane, as [`map_parts`] makes them.
    maps: Vec<Vec<R>>,
    /// `[group][pair of sites]`.
    products: Vec<Products<R>>,
    pairs: usize,
    /// Memory for [`Sums::rows`].
    values: Vec<R>,
    rows: Vec<f64>,
}

impl<R: Real> Sums<R> {
    /// Memory for sums of maps on grids of this size about so many pairs of sites.
    #[inline(always)]
    pub fn new(size: [usize; 2], pairs: usize) -> Self {
        Self { size, maps: Vec::new(), products: Vec::new(), pairs, values: Vec::new(), rows: Vec::new() }
    }

    /// Takes `maps` in place of those before. Their sums have no meaning until [`Sums::multiply`] makes them.
    #[inline(always)]
    pub fn take(&mut self, maps: &[&[f64]]) {
        self.maps.clear();
        for maps in maps.chunks(R::LANES) {
            self.maps.push(map_parts(self.size, maps));
        }
        self.products.resize(self.maps.len() * self.pairs, [[R::splat(0.0); SUMS]; PARITIES]);
    }

    /// Makes the sums about pairs of sites from their `coefficients`, beginning with the pair `first`.
    #[inline(always)]
    pub fn multiply(&mut self, first: usize, coefficients: &[Coefficients<R::Scalar>]) {
        let Self { size: [nx, ny], maps, products, pairs, .. } = self;
        let quarter = nx.div_ceil(2) * ny.div_ceil(2);
        // Number of groups of maps that are multiplied with a coefficient while it is in a register: as many
        // as there are registers for the sums.
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

    /// The sums about sites: a row for every map of a group, with the three sums of each site in their
    /// `order`, and space for three more numbers.
    #[inline(always)]
    pub fn rows(&mut self, group: usize, sites: &[Site], order: [usize; 3]) -> ChunksExactMut<'_, f64> {
        let products = &self.products[group * self.pairs..][..self.pairs];
        let (values, rows) = (&mut self.values, &mut self.rows);
        let length = (3 * sites.len() + 3).next_multiple_of(R::LANES);
        values.resize(length, R::splat(0.0));
        rows.resize(length * R::LANES, 0.0);
        for (site, values) in sites.iter().zip(values.chunks_exact_mut(3)) {
            let sign = |mirrored| R::splat(if mirrored { -1.0 } else { 1.0 });
            let [x, y] = [sign(site.mirrored[0]), sign(site.mirrored[1])];
            let ([a, b, c, d], at) = (&products[site.of / 2], 3 * (site.of % 2));
            // Odd parts change sign in the mirror. The second sum is odd in x and the third in y, and each
            // changes its sign once more.
            values[order[0]] = d[at].fma(x, c[at]).fma(y, b[at].fma(x, a[at]));
            values[order[1]] = c[at + 1].fma(x, d[at + 1]).fma(y, a[at + 1].fma(x, b[at + 1]));
            values[order[2]] = b[at + 2].fma(x, a[at + 2]).fma(y, d[at + 2].fma(x, c[at + 2]));
        }
        for (block, values) in values.chunks_exact_mut(R::LANES).enumerate() {
            transpose(values);
            for (values, row) in values.iter().zip(rows.chunks_exact_mut(length)) {
                let (values, mut wide) = (*values, [0.0; LANES]);
                for (wide, value) in wide.iter_mut().zip(values.lanes()) {
                    *wide = value.lane(0);
                }
                row[block * R::LANES..][..R::LANES].copy_from_slice(&wide[..R::LANES]);
            }
        }
        rows.chunks_exact_mut(length)
    }
}

/// Makes the sums about sites of the parts of groups of maps. In `out` a group begins `pairs` pairs after the
/// one before.
#[inline(always)]
fn make_products<R: Real, const GROUPS: usize>(
    coefficients: &[Coefficients<R::Scalar>],
    maps: [&Vec<R>; GROUPS],
    quarter: usize,
    pairs: usize,
    out: &mut [Products<R>],
) {
    for parity in 0..PARITIES {
        // One sum over all cells would lose more to rounding than the sum of these sums, and the cells of all
        // maps would not stay in the cache.
        for first in (0..quarter).step_by(CELLS) {
            let some = parity * quarter + first..parity * quarter + quarter.min(first + CELLS);
            let maps = maps.map(|map| &map[some.clone()]);
            for (pair, coefficients) in coefficients.chunks_exact(PARITIES * quarter).enumerate() {
                let mut sums = [[R::splat(0.0); SUMS]; GROUPS];
                for (cell, c) in coefficients[some.clone()].iter().enumerate() {
                    for sum in 0..SUMS {
                        let c = R::splat(c[sum].lane(0));
                        for group in 0..GROUPS {
                            sums[group][sum] = maps[group][cell].fma(c, sums[group][sum]);
                        }
                    }
                }
                for group in 0..GROUPS {
                    let out = &mut out[group * pairs + pair][parity];
                    for sum in 0..SUMS {
                        let before = if first == 0 { R::splat(0.0) } else { out[sum] };
                        out[sum] = before + sums[group][sum];
                    }
                }
            }
        }
    }
}

/// Transposes as many registers as they have lanes.
#[inline(always)]
fn transpose<R: Real>(rows: &mut [R]) {
    let half = R::LANES / 2;
    for _ in 0..R::LANES.ilog2() {
        let mut next = [R::splat(0.0); LANES];
        for k in 0..half {
            [next[2 * k], next[2 * k + 1]] = rows[k].interleave(rows[k + half]);
        }
        rows.copy_from_slice(&next[..R::LANES]);
    }
}
