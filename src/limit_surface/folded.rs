//! Node sums of many pressure maps on one grid: one matrix product, folded by the grid's symmetries.
//!
//! Mirroring the grid in x or in y maps nodes on nodes, cells on cells and leaves the kernel as it is but for a sign. So the
//! parts of a map that are even and odd in x and in y do not mix, and each needs the kernel's part of its own parity on a
//! quarter of the nodes and a quarter of the cells: a fourth of the multiplications.

use super::lanes::{Block, LANES, vectorised};
use super::lattice::Kernel;

/// Maps that are multiplied together: folding the kernel about a node serves as many.
pub const MAPS: usize = 4 * LANES;
/// Parities: even or odd in x (bit 0) and in y (bit 1).
const PARITIES: usize = 4;
/// Coefficients of a cell: the three sums about two neighbouring nodes.
const SUMS: usize = 6;

/// Even and odd part under a mirror in x and in y, by [`PARITIES`], of values at `(x, y)`, `(-x, y)`, `(x, -y)`, `(-x, -y)`.
#[inline(always)]
fn parts([a, b, c, d]: [f64; 4]) -> [f64; PARITIES] {
    [(a + b) + (c + d), (a - b) + (c - d), (a + b) - (c + d), (a - b) - (c - d)]
}

/// Sums of `w (R, a/R, b/R)` about every node, `[map][node row][node column]`, for at most [`MAPS`] maps of shares `w`.
pub fn correlate(kernel: &Kernel, maps: &[&[f64]]) -> Vec<Vec<[f64; 3]>> {
    let (nx, ny) = (kernel.nx, kernel.ny);
    let mut out = vec![vec![[0.0; 3]; (nx + 1) * (ny + 1)]; maps.len()];
    let folded = fold_maps(kernel, maps);
    let mut coefficients = vec![[[0.0; SUMS]; PARITIES]; nx.div_ceil(2) * ny.div_ceil(2)];
    for l in 0..=ny / 2 {
        // Two at a time: of an odd number of columns one goes too far, and is not taken.
        for k in (0..=nx / 2).step_by(2) {
            fold_kernel(kernel, k, l, &mut coefficients);
            for (maps, out) in folded.iter().zip(out.chunks_mut(LANES)) {
                unfold(&products(&coefficients, maps), [nx, ny], [k, l], out);
            }
        }
    }
    out
}

/// The parts of [`LANES`] maps at a time on a quarter of the grid, a map a lane. The middle column and row are their own
/// mirror image and count half.
fn fold_maps(kernel: &Kernel, maps: &[&[f64]]) -> Vec<Vec<[Block; PARITIES]>> {
    let (nx, ny) = (kernel.nx, kernel.ny);
    let mut out = Vec::with_capacity(maps.len().div_ceil(LANES));
    for maps in maps.chunks(LANES) {
        let mut folded = vec![[[0.0; LANES]; PARITIES]; nx.div_ceil(2) * ny.div_ceil(2)];
        for (lane, map) in maps.iter().enumerate() {
            for (j, row) in folded.chunks_mut(nx.div_ceil(2)).enumerate() {
                let (low, high) = (&map[j * nx..][..nx], &map[(ny - 1 - j) * nx..][..nx]);
                for (i, cell) in row.iter_mut().enumerate() {
                    let half = |at, n| if 2 * at + 1 == n { 0.5 } else { 1.0 };
                    let share = 0.25 * half(i, nx) * half(j, ny);
                    let parts = parts([low[i], low[nx - 1 - i], high[i], high[nx - 1 - i]]);
                    cell.iter_mut().zip(parts).for_each(|(to, part)| to[lane] = share * part);
                }
            }
        }
        out.push(folded);
    }
    out
}

/// The parts of the kernel about nodes `(k, l)` and `(k + 1, l)` for a quarter of the cells.
fn fold_kernel(kernel: &Kernel, k: usize, l: usize, out: &mut [[[f64; SUMS]; PARITIES]]) {
    let (nx, ny) = (kernel.nx, kernel.ny);
    for (j, row) in out.chunks_mut(nx.div_ceil(2)).enumerate() {
        for sum in 0..3 {
            let (low, high) = (kernel.row(sum, j, l), kernel.row(sum, ny - 1 - j, l));
            for (i, cell) in row.iter_mut().enumerate() {
                // Neighbours of a node and of a cell are neighbours in the kernel.
                let (near, far) = (k + nx - 1 - i, k + i);
                for next in 0..2 {
                    let at = [low[near + next], low[far + next], high[near + next], high[far + next]];
                    parts(at).into_iter().zip(cell.iter_mut()).for_each(|(part, c)| c[3 * next + sum] = part);
                }
            }
        }
    }
}

/// Sums about a node and its neighbour in x of the parts of a quarter of the maps, to those about the mirrored nodes.
fn unfold(products: &[[Block; SUMS]; PARITIES], [nx, ny]: [usize; 2], [k, l]: [usize; 2], out: &mut [Vec<[f64; 3]>]) {
    for next in 0..2.min(nx / 2 + 1 - k) {
        let (k, products) = (k + next, products.each_ref().map(|p| [0, 1, 2].map(|sum| &p[3 * next + sum])));
        let nodes = [(k, l), (nx - k, l), (k, ny - l), (nx - k, ny - l)].map(|(k, l)| l * (nx + 1) + k);
        for (lane, out) in out.iter_mut().enumerate() {
            // `a/R` is odd in x and `b/R` in y: mirrored, they change sign.
            for (sum, signs) in [[1.0; 4], [1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]].iter().enumerate() {
                let parts = parts(products.map(|p| p[sum][lane]));
                nodes.iter().zip(signs).zip(parts).for_each(|((node, sign), part)| out[*node][sum] = sign * part);
            }
        }
    }
}

/// `sum + c w`.
#[inline(always)]
fn add(mut sum: Block, c: f64, w: &Block) -> Block {
    for lane in 0..LANES {
        sum[lane] = c.mul_add(w[lane], sum[lane]);
    }
    sum
}

vectorised! {
    fn products(coefficients: &[[[f64; SUMS]; PARITIES]], maps: &[[Block; PARITIES]]) -> [[Block; SUMS]; PARITIES] {
        let mut out = [[[0.0; LANES]; SUMS]; PARITIES];
        for (parity, out) in out.iter_mut().enumerate() {
            // Named, for the compiler to keep them in registers.
            let (mut r0, mut x0, mut y0) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
            let (mut r1, mut x1, mut y1) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
            for (c, w) in coefficients.iter().zip(maps) {
                let (c, w) = (&c[parity], &w[parity]);
                r0 = add(r0, c[0], w);
                x0 = add(x0, c[1], w);
                y0 = add(y0, c[2], w);
                r1 = add(r1, c[3], w);
                x1 = add(x1, c[4], w);
                y1 = add(y1, c[5], w);
            }
            *out = [r0, x0, y0, r1, x1, y1];
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit_surface::sample::node;
    use crate::limit_surface::{Rule, Surface};
    use crate::patch::{Grid, Patch};
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

    #[test]
    fn folded_sums_are_the_direct_ones() {
        for (nx, ny) in [(21, 21), (30, 12), (12, 30), (7, 4), (4, 9), (2, 1), (1, 2), (3, 3), (1, 1)] {
            let patches = patches(nx, ny, 19);
            let maps: Vec<&[f64]> = patches.iter().map(Patch::weights).collect();
            let grid = patches[0].grid();
            let kernel = Kernel::new(grid, 0.01);
            for (together, map) in correlate(&kernel, &maps).iter().zip(maps) {
                let (alone, direct) = (kernel.correlate(map), direct(grid, map));
                for (k, wanted) in direct.iter().enumerate() {
                    let wanted = [100.0 * wanted[0], wanted[1], wanted[2]];
                    for found in [together[k], alone[k]] {
                        let near = (0..3).all(|sum| (found[sum] - wanted[sum]).abs() < 1e-13);
                        assert!(near, "{nx} x {ny}, node {k}: {found:?} and {wanted:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn surfaces_of_a_batch_are_those_alone() {
        let patches = patches(30, 12, 2 * LANES as u64 + 3);
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
