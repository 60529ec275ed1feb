//! Mirror symmetries of a pressure map: some directions of its table determine all others.
//!
//! A map that is its own mirror image has `W(M v) = M W(v)`, with `M` the mirror image of planar vectors, and
//! minus one for rotations and torques. Friction is odd, and `-M v` has the same rotation as `v` and the
//! opposite of its mirrored translation. The direction `theta` of the velocity becomes `gamma - theta`, the
//! force its mirror image in the line at `gamma/2`, and the torque is the same.

use std::ops::Range;

use super::quadrature::Rule;
use crate::patch::{Grid, Patch};

/// Which of the mirror images that keep a grid's lines leave a map as it is: bit `k` for `gamma = k pi/2`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Symmetry(u8);

/// A direction of a table as the mirror image of one whose wrenches are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Image {
    /// Index of that one among those that are computed.
    pub of: usize,
    /// The matrix of its force; entries are 0, 1 and -1.
    force: [[f64; 2]; 2],
}

impl Image {
    /// The image of a wrench.
    pub fn wrench(&self, [fx, fy, tau]: [f64; 3]) -> [f64; 3] {
        let [fx, fy] = self.force.map(|row| row[0] * fx + row[1] * fy);
        [fx, fy, tau]
    }
}

impl Symmetry {
    /// The exact symmetries of `patch` about the middle of its cells with pressure. By the `bilinear` rule,
    /// which depends on where the grid ends, they are those of the grid, too.
    pub fn of(patch: &Patch, rule: Rule) -> Self {
        if patch.is_irregular() {
            return Self::default();
        }
        let Grid { nx, ny, dx, dy } = *patch.grid();
        let [columns, rows] = patch.loaded_range();
        let (width, height) = (columns.len(), rows.len());
        let row = |j: usize| &patch.weights()[(rows.start + j) * nx + columns.start..][..width];
        let middle = |range: &Range<usize>, n: usize| rule != Rule::Bilinear || range.start + range.end == n;
        let (in_x, in_y) = (middle(&columns, nx), middle(&rows, ny));
        let swaps =
            width == height && (dx - dy).abs() <= 1e-14 * dx && in_x && in_y && (rule != Rule::Bilinear || nx == ny);
        let swapped = |to: &dyn Fn(usize, usize) -> f64| {
            (0..height).all(|j| row(j).iter().enumerate().all(|(i, w)| *w == to(i, j)))
        };
        let found = [
            in_x && (0..height).all(|j| row(j).iter().eq(row(j).iter().rev())),
            swaps && swapped(&|i, j| row(width - 1 - i)[height - 1 - j]),
            in_y && (0..height / 2).all(|j| row(j) == row(height - 1 - j)),
            swaps && swapped(&|i, j| row(i)[j]),
        ];
        Self(found.iter().enumerate().map(|(k, found)| u8::from(*found) << k).sum())
    }

    /// The numbers of the directions that a table of resolution `n_ls` computes, and all directions as images
    /// of these.
    pub fn images(self, n_ls: usize) -> (Vec<usize>, Vec<Image>) {
        let (mut asked, mut images) = (Vec::new(), vec![None; 4 * n_ls]);
        for first in 0..4 * n_ls {
            if images[first].is_some() {
                continue;
            }
            images[first] = Some(Image { of: asked.len(), force: [[1.0, 0.0], [0.0, 1.0]] });
            asked.push(first);
            let mut found = vec![first];
            while let Some(at) = found.pop() {
                let Some(Image { of, force: [x, y] }) = images[at] else { continue };
                for k in (0..4).filter(|k| self.0 >> k & 1 == 1) {
                    let to = ((k + 4) * n_ls - at) % (4 * n_ls);
                    if images[to].is_none() {
                        let minus = |row: [f64; 2]| row.map(|a| -a);
                        let force = [[x, minus(y)], [y, x], [minus(x), y], [minus(y), minus(x)]][k];
                        images[to] = Some(Image { of, force });
                        found.push(to);
                    }
                }
            }
        }
        (asked, images.into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit_surface::{Surface, Table};
    use crate::patch::Shape;
    use crate::random::Draw;

    type Mirror = fn(f64, f64) -> (f64, f64);

    /// A map with the symmetries of a set of mirrors, no two of its other cells alike.
    fn map(grid: Grid, mirrors: &[Mirror]) -> Patch {
        let draw = |x: f64, y: f64| Draw::new(1, ((x * 1e3 + 50.0).round() * 100.0 + (y * 1e3 + 50.0).round()) as u64);
        Patch::from_fn(grid, |x, y| {
            let mut orbit = vec![(x, y)];
            for _ in 0..3 {
                let images: Vec<_> = orbit.iter().flat_map(|(x, y)| mirrors.iter().map(|m| m(*x, *y))).collect();
                orbit.extend(images);
            }
            orbit.sort_by(|a, b| a.partial_cmp(b).unwrap());
            orbit.dedup();
            // In the same order for all cells of an orbit: equal to the last bit.
            orbit.iter().map(|(x, y)| draw(*x, *y).uniform("p")).sum::<f64>() / orbit.len() as f64
        })
        .unwrap()
    }

    const X: Mirror = |x, y| (-x, y);
    const Y: Mirror = |x, y| (x, -y);
    const DIAGONAL: Mirror = |x, y| (y, x);
    const ANTI: Mirror = |x, y| (-y, -x);

    /// Every table node against the wrench of its twist, which uses no symmetry.
    #[test]
    fn images_are_the_wrenches_of_their_twists() {
        let square = |n| Grid::new(n, n, 0.001 * n as f64, 0.001 * n as f64).unwrap();
        let oblong = Grid::new(10, 7, 0.01, 0.007).unwrap();
        let cases: [(Grid, &[Mirror], usize); 9] = [
            (square(9), &[], 28),
            (square(9), &[X], 15),
            (square(8), &[Y], 15),
            (square(9), &[DIAGONAL], 14),
            (square(8), &[ANTI], 14),
            (square(9), &[DIAGONAL, ANTI], 7),
            (oblong, &[X, Y], 8),
            (square(8), &[X, Y], 8),
            (square(9), &[X, Y, DIAGONAL], 4),
        ];
        for (grid, mirrors, asked) in cases {
            let patch = map(grid, mirrors);
            for rule in [Rule::Points, Rule::Bilinear, Rule::Cells] {
                assert_eq!(Symmetry::of(&patch, rule).images(7).0.len(), asked, "{} mirrors", mirrors.len());
                // All far rings of the finer table come from a multipole expansion.
                for n_ls in [1, 7, 40] {
                    let (surface, table) = (Surface::new(&patch, rule), Table::new(&patch, rule, n_ls).unwrap());
                    for (k, h) in table.nodes().iter().enumerate() {
                        let (i, j) = (k / (n_ls + 1), k % (n_ls + 1));
                        let w = surface.coulomb(table.twist(i, j));
                        let wanted = [w.fx, w.fy, w.tau / table.radius()];
                        let error = (0..3).map(|m| (h[m] - wanted[m]).abs()).fold(0.0, f64::max);
                        assert!(error < 5e-12, "{} {n_ls} {i} {j}: {h:?}, {wanted:?}", rule.name());
                    }
                }
            }
        }
    }

    /// Tables of the paper's circle ask for an eighth of a turn; off the middle of the grid, only where the
    /// grid does not count.
    #[test]
    fn round_patches_ask_for_an_eighth() {
        let grid = Grid::new(21, 21, 0.02, 0.02).unwrap();
        let circle = Patch::shape(grid, Shape::Circle).unwrap();
        let off: Vec<f64> = circle.weights().iter().copied().chain([0.0; 21]).collect();
        let off = Patch::from_pressure(Grid { ny: 22, ..grid }, &off).unwrap();
        let asked = |patch: &Patch, rule| Symmetry::of(patch, rule).images(20).0.len();
        assert_eq!([asked(&circle, Rule::Bilinear), asked(&circle, Rule::Cells)], [11, 11]);
        assert_eq!([asked(&off, Rule::Bilinear), asked(&off, Rule::Cells)], [41, 11]);
    }
}
