//! The `bilinear` rule over the grid, `docs/model.md` (90): a mean of the wrenches about four nodes.

use std::sync::{Arc, OnceLock};

use super::lanes::vectorised;
use super::lattice::Kernel;
use super::points::Points;
use super::sample::node;
use crate::patch::{Grid, Patch};

/// Grids up to this many cells keep the wrenches of all their nodes.
pub const MAX_LATTICE: usize = 128 * 128;

/// Wrenches about the nodes of a grid, in the unit of length of its surface.
#[derive(Clone, Debug)]
pub struct Bilinear {
    grid: Grid,
    cop: [f64; 2],
    unit: f64,
    /// The centre of pressure from the grid's lower left corner, in cells, and cells in a unit.
    origin: [f64; 2],
    cells_in_unit: [f64; 2],
    weights: Arc<[f64]>,
    kernel: Option<Arc<Kernel>>,
    /// Unit wrenches for the rotations with w > 0 about all nodes, and a zero.
    lattice: OnceLock<Vec<[f64; 4]>>,
}

/// The kernel of a grid that is small enough for one.
pub fn kernel(grid: &Grid, unit: f64) -> Option<Arc<Kernel>> {
    (grid.len() <= MAX_LATTICE).then(|| Arc::new(Kernel::new(grid, unit)))
}

impl Bilinear {
    /// The rule for `patch`; `sums` are those about its nodes where they are known.
    pub fn new(patch: &Patch, unit: f64, kernel: Option<Arc<Kernel>>, sums: Option<Vec<[f64; 3]>>) -> Self {
        let weights = Arc::clone(patch.map());
        let (grid, cop) = (*patch.grid(), patch.cop());
        let Grid { nx, ny, dx, dy } = grid;
        let origin = [cop[0] / dx + nx as f64 / 2.0, cop[1] / dy + ny as f64 / 2.0];
        let cells_in_unit = [unit / dx, unit / dy];
        let new = Self { grid, cop, unit, origin, cells_in_unit, weights, kernel, lattice: OnceLock::new() };
        if let Some(sums) = sums {
            let _ = new.lattice.set(new.wrenches(&sums));
        }
        new
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
    pub fn about(&self, c: [f64; 2], points: &Points) -> Option<[f64; 3]> {
        let place = self.place(c)?;
        if let Some(lattice) = self.lattice() {
            return Some(mean(&self.grid, lattice, place));
        }
        let (k, l) = (place[0] as usize, place[1] as usize);
        let nodes = [(k, l), (k + 1, l), (k, l + 1), (k + 1, l + 1)].map(|(k, l)| {
            let c = self.node(k, l);
            let [fx, fy, tau] = points.wrench([c[1], -c[0], 1.0]);
            [fx, fy, tau, 0.0]
        });
        Some(weighed(nodes, place))
    }

    /// Unit Coulomb wrench `(fx, fy, tau)` of a twist, both at the centre of pressure.
    pub fn wrench(&self, twist: [f64; 3], points: &Points) -> [f64; 3] {
        let [ux, uy, uw] = twist;
        let over = self.about([-uy / uw, ux / uw], points);
        over.map_or_else(|| points.wrench(twist), |wrench| wrench.map(|part| uw.signum() * part))
    }

    /// [`Bilinear::about`] of many centres; returns which of them are not over the grid.
    pub fn about_all(&self, centres: &[[f64; 2]], points: &Points, out: &mut [[f64; 3]]) -> Vec<usize> {
        let mut outside = Vec::with_capacity(centres.len());
        match self.lattice() {
            Some(lattice) => means(self, lattice, centres, out, &mut outside),
            None => {
                for (k, (out, c)) in out.iter_mut().zip(centres).enumerate() {
                    self.about(*c, points).map_or_else(|| outside.push(k), |wrench| *out = wrench);
                }
            }
        }
        outside
    }

    fn lattice(&self) -> Option<&Vec<[f64; 4]>> {
        let make = |kernel: &Arc<Kernel>| self.lattice.get_or_init(|| self.wrenches(&kernel.correlate(&self.weights)));
        self.lattice.get().or_else(|| self.kernel.as_ref().map(make))
    }

    /// Wrenches from the sums of `w (R, a/R, b/R)`.
    fn wrenches(&self, sums: &[[f64; 3]]) -> Vec<[f64; 4]> {
        let mut nodes = Vec::with_capacity(sums.len());
        for (l, row) in sums.chunks_exact(self.grid.nx + 1).enumerate() {
            for (k, [i, gx, gy]) in row.iter().enumerate() {
                let c = self.node(k, l);
                nodes.push([*gy, -gx, -i - c[0] * gx - c[1] * gy, 0.0]);
            }
        }
        nodes
    }

    /// A node from the centre of pressure.
    fn node(&self, k: usize, l: usize) -> [f64; 2] {
        let [x, y] = node(&self.grid, k, l);
        [(x - self.cop[0]) / self.unit, (y - self.cop[1]) / self.unit]
    }
}

/// The mean of the four nodes around `place`.
#[inline(always)]
fn mean(grid: &Grid, lattice: &[[f64; 4]], place: [f64; 2]) -> [f64; 3] {
    // Both are positive: this rounds down.
    let at = place[1] as usize * (grid.nx + 1) + place[0] as usize;
    let (low, high) = (&lattice[at..at + 2], &lattice[at + grid.nx + 1..at + grid.nx + 3]);
    weighed([low[0], low[1], high[0], high[1]], place)
}

#[inline(always)]
fn weighed([a, b, c, d]: [[f64; 4]; 4], [gx, gy]: [f64; 2]) -> [f64; 3] {
    let (s, t) = (gx - gx as usize as f64, gy - gy as usize as f64);
    let shares = [(1.0 - s) * (1.0 - t), s * (1.0 - t), (1.0 - s) * t, s * t];
    let mut out = [0.0; 4];
    for m in 0..4 {
        out[m] = shares[0] * a[m] + shares[1] * b[m] + shares[2] * c[m] + shares[3] * d[m];
    }
    [out[0], out[1], out[2]]
}

vectorised! {
    fn means(
        rule: &Bilinear,
        lattice: &[[f64; 4]],
        centres: &[[f64; 2]],
        out: &mut [[f64; 3]],
        outside: &mut Vec<usize>
    ) -> () {
        for (k, (out, c)) in out.iter_mut().zip(centres).enumerate() {
            match rule.place(*c) {
                Some(place) => *out = mean(&rule.grid, lattice, place),
                None => outside.push(k),
            }
        }
    }
}
