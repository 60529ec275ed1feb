//! The `bilinear` rule over the grid, `docs/model.md` (90): a mean of the wrenches about four nodes.

use super::frame::{Frame, node};
use super::node_correlation;
use super::points::Points;
use crate::number::simd::copies;
use crate::patch::{Grid, Patch};

/// Grids up to this many cells keep the wrenches of all their nodes.
pub const MAX_KEPT: usize = 128 * 128;

/// Wrenches about the nodes of a grid, in the unit of length of its frame.
#[derive(Clone, Debug)]
pub struct Bilinear {
    grid: Grid,
    frame: Frame,
    /// The centre of pressure from the grid's lower left corner, in cells, and cells in a unit.
    origin: [f64; 2],
    cells_in_unit: [f64; 2],
    /// Unit wrenches for the rotations with w > 0 about all nodes, and a zero. Larger grids have none, and
    /// sum over the cells about four nodes at a time.
    nodes: Option<Vec<[f64; 4]>>,
}

impl Bilinear {
    /// The rule for `patch`, with all sums in double precision.
    pub fn new(patch: &Patch, frame: Frame) -> Self {
        let sums = (patch.grid().len() <= MAX_KEPT).then(|| node_correlation::sums(patch, frame.unit));
        Self::with_sums(patch, frame, sums)
    }

    /// The rule for `patch` from the sums of [`node_correlation`] about its nodes, if it has any.
    pub fn with_sums(patch: &Patch, frame: Frame, sums: Option<Vec<[f64; 3]>>) -> Self {
        let (grid, cop, unit) = (*patch.grid(), patch.cop(), frame.unit);
        let Grid { nx, ny, dx, dy } = grid;
        let origin = [cop[0] / dx + nx as f64 / 2.0, cop[1] / dy + ny as f64 / 2.0];
        let wrench = |(at, [i, gx, gy]): (usize, [f64; 3])| {
            let c = frame.place(node(&grid, at % (nx + 1), at / (nx + 1)));
            [gy, -gx, -i - c[0] * gx - c[1] * gy, 0.0]
        };
        let nodes = sums.map(|sums| sums.into_iter().enumerate().map(wrench).collect());
        Self { grid, frame, origin, cells_in_unit: [unit / dx, unit / dy], nodes }
    }

    /// A centre of rotation from the grid's lower left corner, in cells, if it is over the grid.
    #[inline(always)]
    fn place(&self, c: [f64; 2]) -> Option<[f64; 2]> {
        let (Grid { nx, ny, .. }, [x, y]) = (self.grid, self.origin);
        let (gx, gy) = (c[0] * self.cells_in_unit[0] + x, c[1] * self.cells_in_unit[1] + y);
        (gx >= 0.0 && gx < nx as f64 && gy >= 0.0 && gy < ny as f64).then_some([gx, gy])
    }

    /// Whether a centre of rotation is over the grid.
    pub fn is_over(&self, c: [f64; 2]) -> bool {
        self.place(c).is_some()
    }

    /// Unit wrench for the rotation with w > 0 about `c`, if that is over the grid.
    fn about(&self, c: [f64; 2], points: &Points) -> Option<[f64; 3]> {
        let place = self.place(c)?;
        if let Some(nodes) = &self.nodes {
            return Some(mean(&self.grid, nodes, place));
        }
        let (k, l) = (place[0] as usize, place[1] as usize);
        let nodes = [(k, l), (k + 1, l), (k, l + 1), (k + 1, l + 1)].map(|(k, l)| {
            let c = self.frame.place(node(&self.grid, k, l));
            let [fx, fy, tau] = points.wrench([c[1], -c[0], 1.0]);
            [fx, fy, tau, 0.0]
        });
        Some(weighted(nodes, place))
    }

    /// Unit Coulomb wrench `(fx, fy, tau)` of a twist, both at the centre of pressure.
    pub fn wrench(&self, twist: [f64; 3], points: &Points) -> [f64; 3] {
        let [ux, uy, uw] = twist;
        let over = self.about([-uy / uw, ux / uw], points);
        over.map_or_else(|| points.wrench(twist), |wrench| wrench.map(|part| uw.signum() * part))
    }

    /// Unit wrenches for the rotations with w > 0 about the `centres` that are over the grid. Returns which
    /// of them are not.
    pub fn about_all(&self, centres: &[[f64; 2]], points: &Points, out: &mut [[f64; 3]]) -> Vec<usize> {
        let mut outside = Vec::with_capacity(centres.len());
        match &self.nodes {
            Some(nodes) => means(self, nodes, centres, out, &mut outside),
            None => {
                for (k, (out, c)) in out.iter_mut().zip(centres).enumerate() {
                    self.about(*c, points).map_or_else(|| outside.push(k), |wrench| *out = wrench);
                }
            }
        }
        outside
    }
}

/// The mean of the four nodes around `place`.
#[inline(always)]
fn mean(grid: &Grid, nodes: &[[f64; 4]], place: [f64; 2]) -> [f64; 3] {
    // Both coordinates are positive, so that this rounds down.
    let at = place[1] as usize * (grid.nx + 1) + place[0] as usize;
    let (low, high) = (&nodes[at..at + 2], &nodes[at + grid.nx + 1..at + grid.nx + 3]);
    weighted([low[0], low[1], high[0], high[1]], place)
}

#[inline(always)]
fn weighted([a, b, c, d]: [[f64; 4]; 4], [gx, gy]: [f64; 2]) -> [f64; 3] {
    let (s, t) = (gx - gx as usize as f64, gy - gy as usize as f64);
    let shares = [(1.0 - s) * (1.0 - t), s * (1.0 - t), (1.0 - s) * t, s * t];
    let mut out = [0.0; 4];
    for m in 0..4 {
        out[m] = shares[0] * a[m] + shares[1] * b[m] + shares[2] * c[m] + shares[3] * d[m];
    }
    [out[0], out[1], out[2]]
}

copies! {
    fn means(
        rule: &Bilinear,
        nodes: &[[f64; 4]],
        centres: &[[f64; 2]],
        out: &mut [[f64; 3]],
        outside: &mut Vec<usize>
    ) -> () {
        for (k, (out, c)) in out.iter_mut().zip(centres).enumerate() {
            match rule.place(*c) {
                Some(place) => *out = mean(&rule.grid, nodes, place),
                None => outside.push(k),
            }
        }
    }
}
