//! Coulomb wrenches of a patch in steady sliding.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::cells::Cells;
use super::centres::Mesh;
use super::lanes::LANES;
use super::lattice::Kernel;
use super::moments::Moments;
use super::points::Points;
use super::rule::Rule;
use crate::patch::{Grid, Patch};
use crate::planar::{Twist, Wrench};

/// Grids up to this many cells keep the wrenches of all their nodes for the `bilinear` rule.
const MAX_LATTICE: usize = 128 * 128;

/// A patch made ready to be asked for steady-state wrenches: the limit surface itself, point by point.
///
/// Twists and wrenches are AT THE CENTRE OF PRESSURE, in the patch frame; move them with
/// [`Twist::at`] and [`Wrench::about`] ([`Surface::wrench_at_origin`] does both). The wrench is that of
/// friction on the moving body and opposes the twist.
///
/// ```
/// use bristle::limit_surface::{Rule, Surface};
/// use bristle::patch::{Grid, Patch, Shape};
/// use bristle::planar::Twist;
///
/// let square = Patch::shape(Grid::new(21, 21, 0.02, 0.02)?, Shape::Square)?;
/// let surface = Surface::new(&square, Rule::Cells);
/// let spin = surface.wrench(Twist::new(0.0, 0.0, 1.0), 0.5, 10.0);
/// // mean distance from the centre of a square of side a: a (sqrt 2 + asinh 1)/6
/// let mean = 0.02 * (2f64.sqrt() + 1f64.asinh()) / 6.0;
/// assert!((spin.tau + 0.5 * 10.0 * mean).abs() < 1e-12);
/// # Ok::<(), bristle::error::PatchError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Surface {
    rule: Rule,
    patch: Patch,
    radius: f64,
    /// Unit of length of the sums [m]: the root of a cell's area.
    unit: f64,
    points: Points,
    /// The same points as rows and columns.
    mesh: Mesh,
    cells: Option<Cells>,
    kernel: Option<Arc<Kernel>>,
    lattice: OnceLock<Vec<[f64; 3]>>,
}

impl Surface {
    /// The surface of `patch` by `rule`.
    #[must_use]
    pub fn new(patch: &Patch, rule: Rule) -> Self {
        Self::with_kernel(patch, rule, kernel(patch.grid(), rule))
    }

    /// The surfaces of many patches; patches on one grid share what depends on the grid alone.
    #[must_use]
    pub fn batch(patches: &[Patch], rule: Rule) -> Vec<Self> {
        let surface = Self::sharing(patches, rule);
        patches.par_iter().map(surface).collect()
    }

    /// [`Surface::new`] with what depends on the first patch's grid alone made once.
    pub(super) fn sharing(patches: &[Patch], rule: Rule) -> impl Fn(&Patch) -> Self + Sync {
        let first = patches.first().map(|p| (*p.grid(), kernel(p.grid(), rule)));
        move |p| match &first {
            Some((grid, kernel)) if grid == p.grid() => Self::with_kernel(p, rule, kernel.clone()),
            _ => Self::new(p, rule),
        }
    }

    fn with_kernel(patch: &Patch, rule: Rule, kernel: Option<Arc<Kernel>>) -> Self {
        let (grid, cop) = (*patch.grid(), patch.cop());
        let unit = unit(&grid);
        let local = |[x, y]: [f64; 2]| [(x - cop[0]) / unit, (y - cop[1]) / unit];
        let centres: Vec<[f64; 3]> = patch
            .cells()
            .iter()
            .map(|cell| {
                let [x, y] = local([cell.x, cell.y]);
                [x, y, cell.w]
            })
            .collect();
        let cells = (rule == Rule::Cells).then(|| {
            let x = (0..=grid.nx).map(|k| local(node(&grid, k, 0))[0]).collect();
            let y = (0..=grid.ny).map(|l| local(node(&grid, 0, l))[1]).collect();
            Cells::new((x, y), patch.weights())
        });
        let mut surface = Self {
            rule,
            patch: patch.clone(),
            radius: patch.radius(),
            unit,
            points: Points::new(&centres),
            mesh: Mesh::new(
                (0..grid.nx).map(|i| local(grid.centre(i, 0))[0]).collect(),
                (0..grid.ny).map(|j| local(grid.centre(0, j))[1]).collect(),
                patch.weights(),
            ),
            cells,
            kernel,
            lattice: OnceLock::new(),
        };
        if rule != Rule::Points {
            let radius = -surface.coulomb(Twist::new(0.0, 0.0, 1.0)).tau;
            // One cell has no torque by eq. (23) but what rounding leaves.
            surface.radius = if radius > 1e-12 * unit { radius } else { 0.0 };
        }
        surface
    }

    /// Coulomb wrench [-, -, m] of `twist` [m/s, m/s, rad/s] for `mu f_N = 1`, both at the centre of
    /// pressure, model section 5. Depends on the direction of the twist only. Zero for a twist of zero; NaN
    /// for one that is not finite.
    #[must_use]
    pub fn coulomb(&self, twist: Twist) -> Wrench {
        let span = self.points.span.max(1.0);
        let scaled = [twist.vx, twist.vy, twist.w * self.unit * span];
        let scale = scaled.iter().fold(0.0, |m: f64, c| if c.is_nan() { f64::NAN } else { m.max(c.abs()) });
        if scale == 0.0 {
            return Wrench::default();
        }
        // Lengths in `unit`, speeds of order one.
        let local = [scaled[0] / scale, scaled[1] / scale, scaled[2] / scale / span];
        let [fx, fy, tau] = match (self.rule, &self.cells) {
            (Rule::Cells, Some(cells)) => cells.wrench(local, &self.points),
            (Rule::Bilinear, _) => self.bilinear(local),
            _ => self.points.wrench(local),
        };
        Wrench::new(fx, fy, tau * self.unit)
    }

    /// Moments for centres of rotation beyond all that the sums are needed for, of which `closest` [m] is the
    /// first, and their unit of length [m].
    pub(super) fn moments(&self, closest: f64) -> Option<(Moments, f64)> {
        let Grid { dx, dy, .. } = *self.patch.grid();
        let half = if self.rule == Rule::Cells { [0.5 * dx / self.unit, 0.5 * dy / self.unit] } else { [0.0; 2] };
        Moments::new(&self.mesh, self.points.span, half, closest / self.unit).map(|m| (m, self.unit))
    }

    /// [`Surface::coulomb`] of the rotations with w > 0 about many centres [m] from the centre of pressure.
    pub(super) fn rotations(&self, centres: &[[f64; 2]]) -> Vec<[f64; 3]> {
        let mut out = vec![[0.0; 3]; centres.len()];
        let mut lanes = Vec::with_capacity(centres.len());
        for (k, c) in centres.iter().enumerate() {
            let c = c.map(|c| c / self.unit);
            let twist = [c[1], -c[0], 1.0];
            match (self.rule, &self.cells) {
                (Rule::Cells, Some(cells)) if cells.is_far(c, self.points.span) => {
                    out[k] = cells.wrench(twist, &self.points);
                }
                (Rule::Bilinear, _) if self.grid_place(twist).is_some() => out[k] = self.bilinear(twist),
                (Rule::Points | Rule::Bilinear, _) if self.mesh.on_a_crossing(c) => out[k] = self.points.wrench(twist),
                _ => lanes.push((k, c)),
            }
        }
        for some in lanes.chunks(LANES) {
            // Lanes left over repeat the last centre.
            let lane = |k: usize| some[k.min(some.len() - 1)].1;
            let c = [0, 1].map(|axis| std::array::from_fn(|k| lane(k)[axis]));
            let wrenches = match &self.cells {
                Some(cells) => cells.about(&c),
                None => {
                    let [i, gx, gy] = self.mesh.points(&c);
                    std::array::from_fn(|k| [gy[k], -gx[k], -i[k] - c[0][k] * gx[k] - c[1][k] * gy[k]])
                }
            };
            some.iter().zip(wrenches).for_each(|((k, _), wrench)| out[*k] = wrench);
        }
        out.iter_mut().for_each(|w| w[2] *= self.unit);
        out
    }

    /// The centre of rotation of a twist from the grid's lower left corner, in cells, if it is over the grid.
    fn grid_place(&self, [vx, vy, w]: [f64; 3]) -> Option<[f64; 2]> {
        let Grid { nx, ny, dx, dy } = *self.patch.grid();
        let gx = (self.patch.cop()[0] - vy / w * self.unit) / dx + nx as f64 / 2.0;
        let gy = (self.patch.cop()[1] + vx / w * self.unit) / dy + ny as f64 / 2.0;
        (gx >= 0.0 && gx < nx as f64 && gy >= 0.0 && gy < ny as f64).then_some([gx, gy])
    }

    /// Eq. (23).
    fn bilinear(&self, twist: [f64; 3]) -> [f64; 3] {
        let Some([gx, gy]) = self.grid_place(twist) else { return self.points.wrench(twist) };
        // Both are positive: this rounds down.
        let (k, l) = (gx as usize, gy as usize);
        let (s, t) = (gx - k as f64, gy - l as f64);
        let nodes = match &self.kernel {
            Some(kernel) => {
                let lattice = self.lattice.get_or_init(|| self.about_nodes(kernel));
                let at = l * (self.patch.grid().nx + 1) + k;
                [
                    lattice[at],
                    lattice[at + 1],
                    lattice[at + self.patch.grid().nx + 1],
                    lattice[at + self.patch.grid().nx + 2],
                ]
            }
            None => [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dk, dl)| {
                let c = self.local(node(self.patch.grid(), k + dk, l + dl));
                self.points.wrench([c[1], -c[0], 1.0])
            }),
        };
        let sign = twist[2].signum();
        let [a, b, c, d] = [(1.0 - s) * (1.0 - t), s * (1.0 - t), (1.0 - s) * t, s * t].map(|share| sign * share);
        [0, 1, 2].map(|m| a * nodes[0][m] + b * nodes[1][m] + c * nodes[2][m] + d * nodes[3][m])
    }

    /// Unit wrenches for the rotations with w > 0 about all nodes.
    fn about_nodes(&self, kernel: &Kernel) -> Vec<[f64; 3]> {
        let mut nodes = kernel.correlate(self.patch.weights());
        for (l, row) in nodes.chunks_exact_mut(self.patch.grid().nx + 1).enumerate() {
            for (k, node_sums) in row.iter_mut().enumerate() {
                let c = self.local(node(self.patch.grid(), k, l));
                let [i, gx, gy] = *node_sums;
                *node_sums = [gy, -gx, -i - c[0] * gx - c[1] * gy];
            }
        }
        nodes
    }

    /// A point of the patch frame [m] from the centre of pressure in the unit of the sums.
    fn local(&self, at: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|axis| (at[axis] - self.patch.cop()[axis]) / self.unit)
    }

    /// Coulomb wrench [N, N, N m] of `twist` under normal force `f_n` [N] with coefficient `mu` [-], both at
    /// the centre of pressure.
    #[must_use]
    pub fn wrench(&self, twist: Twist, mu: f64, f_n: f64) -> Wrench {
        let Wrench { fx, fy, tau } = self.coulomb(twist);
        Wrench::new(mu * f_n * fx, mu * f_n * fy, mu * f_n * tau)
    }

    /// As [`Surface::wrench`], with twist and wrench at the patch origin (the grid's centre).
    #[must_use]
    pub fn wrench_at_origin(&self, twist: Twist, mu: f64, f_n: f64) -> Wrench {
        self.wrench(twist.at(self.patch.cop()), mu, f_n).about([-self.patch.cop()[0], -self.patch.cop()[1]])
    }

    /// Viscous wrench `-sigma2 f_N (vx, vy, u w)` [N, N, N m] at the centre of pressure, which adds to the
    /// Coulomb wrench; `sigma2` [s/m], `f_n` [N].
    #[must_use]
    pub fn viscous_wrench(&self, twist: Twist, sigma2: f64, f_n: f64) -> Wrench {
        let k = -sigma2 * f_n;
        Wrench::new(k * twist.vx, k * twist.vy, k * self.patch.viscous() * twist.w)
    }

    /// [`Surface::coulomb`] of many twists, in parallel; every result is the one of a single call.
    #[must_use]
    pub fn coulombs(&self, twists: &[Twist]) -> Vec<Wrench> {
        twists.par_iter().with_min_len(32).map(|t| self.coulomb(*t)).collect()
    }

    /// The rule.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        self.rule
    }

    /// The patch.
    #[must_use]
    pub const fn patch(&self) -> &Patch {
        &self.patch
    }

    /// Torsional radius `r` [m]: torque of pure rotation about the centre of pressure over `mu f_N`,
    /// eq. (25), by this surface's rule.
    #[must_use]
    pub const fn radius(&self) -> f64 {
        self.radius
    }
}

fn unit(grid: &Grid) -> f64 {
    (grid.dx * grid.dy).sqrt()
}

fn node(grid: &Grid, k: usize, l: usize) -> [f64; 2] {
    [(k as f64 - grid.nx as f64 / 2.0) * grid.dx, (l as f64 - grid.ny as f64 / 2.0) * grid.dy]
}

fn kernel(grid: &Grid, rule: Rule) -> Option<Arc<Kernel>> {
    (rule == Rule::Bilinear && grid.len() <= MAX_LATTICE).then(|| Arc::new(Kernel::new(grid, unit(grid))))
}
