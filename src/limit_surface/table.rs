//! The table of a limit surface and its look-up (`docs/model.md`, section 7.4).

use std::f64::consts::{PI, TAU};

use rayon::prelude::*;

use super::arms::Arms;
use super::bilinear::MAX_LATTICE;
use super::folded;
use super::lattice::Kernel;
use super::moments::Moments;
use super::rule::Rule;
use super::sample::Surface;
use super::single::Single;
use super::symmetry::{Image, Symmetry};
use crate::error::ParameterError;
use crate::patch::Patch;
use crate::planar::Twist;

/// The default resolution `N_ls`.
pub const DEFAULT_N_LS: usize = 20;
/// The finest table.
pub const MAX_N_LS: usize = 1000;

/// Centres of rotation that are worth the moments; sums over the cells about fewer take less time.
const MOMENTS_SERVE: usize = 100;

/// A limit surface on a grid of twist directions: `4 N_ls + 1` nodes over `theta` and `N_ls + 1` over `phi`.
///
/// Node `(i, j)` has `theta = i pi/(2 N_ls)`, `phi = j pi/(2 N_ls)` and the twist at the centre of pressure
/// `(r' cos theta sin phi, r' sin theta sin phi, cos phi)`, `docs/model.md` (101). It holds the normalised
/// wrench `h = (fx, fy, tau/r')/(mu f_N)` [-]: pure translation and pure rotation about the centre of
/// pressure have `|h_xy|` and `|h_tau|` of one. `r'` follows from the same rule as the table.
///
/// Tables of a [`Basis`](super::Basis) have the origin of the patch in place of the centre of pressure, and
/// the radius of its grid as `r'`. There translation has a torque, and `|h_tau|` may be above one.
///
/// A table holds no scale: a patch that keeps its shape while it grows keeps its table and is looked up with
/// its own `r`.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub(super) rule: Rule,
    pub(super) n_ls: usize,
    pub(super) patch: Patch,
    pub(super) at_origin: bool,
    pub(super) radius: f64,
    pub(super) is_single: bool,
    pub(super) h: Vec<[f64; 3]>,
    pub(super) arms: Arms,
}

/// The nodes of a patch without extent, [`Table`] row by row: whatever it spins, its force opposes the
/// velocity.
fn point(h: &mut [[f64; 3]], directions: &[[f64; 2]]) {
    let width = directions.len() / 4 + 1;
    for (row, [cos, sin]) in h.chunks_exact_mut(width).zip(directions) {
        row[1..].fill([-cos, -sin, 0.0]);
    }
}

/// A look-up: the normalised wrench and how it changes with the table's angles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookUp {
    /// Normalised wrench `(fx, fy, tau/r)/(mu f_N)` [-]; opposes the twist, `h(-v) = -h(v)`.
    pub h: [f64; 3],
    /// `dh/dphi` in the bilinear cell [1/rad].
    pub h_phi: [f64; 3],
    /// `dh/dtheta` in the bilinear cell [1/rad].
    pub h_theta: [f64; 3],
    /// `dphi/dv_S` [s/m], `v_S = (vx, vy, r w)`; zero where it is not defined (no translation).
    pub dphi: [f64; 3],
    /// `dtheta/dv_S` [s/m]; zero where it is not defined.
    pub dtheta: [f64; 3],
}

/// The largest power of friction over all look-ups, for a unit twist `|v_S| = 1` and `mu f_N = 1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passivity {
    /// Largest `h . v_S/|v_S|` [-]; negative for a table that always dissipates.
    pub largest: f64,
    /// The direction `v_S = (vx, vy, r w)` at which it was found [-].
    pub at: [f64; 3],
    /// Look-ups made.
    pub samples: usize,
}

impl Table {
    /// The table of `patch` by `rule` with resolution `n_ls`.
    ///
    /// # Errors
    /// `n_ls` of zero or above [`MAX_N_LS`].
    pub fn new(patch: &Patch, rule: Rule, n_ls: usize) -> Result<Self, ParameterError> {
        Self::of(&Surface::new(patch, rule), n_ls)
    }

    /// The table of a surface with resolution `n_ls`, on the calling thread.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn of(surface: &Surface, n_ls: usize) -> Result<Self, ParameterError> {
        Ok(Self::at(surface, &Angles::new(n_ls)?))
    }

    /// As [`Table::new`], in single precision where that is faster and exact enough, else in double: nodes
    /// within 1e-5 and `r'` within 3e-6 of it (of 2700 random maps whose pressures span six decades, five
    /// were further off with `n_ls = 100`, by up to 2e-5). A map of 21 x 21 random pressures takes a fifth of
    /// the time by `cells`, half to nine tenths by the other rules; one of a few levels gains less by
    /// `cells`, or is made in double.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn single(patch: &Patch, rule: Rule, n_ls: usize) -> Result<Self, ParameterError> {
        let angles = Angles::new(n_ls)?;
        Ok(Self::in_single(patch, rule, None, &angles))
    }

    fn in_single(patch: &Patch, rule: Rule, sums: Option<Vec<[f64; 3]>>, angles: &Angles) -> Self {
        match Single::new(patch, rule, sums) {
            Some(single) => Self::at(&single, angles),
            None => Self::at(&Surface::new(patch, rule), angles),
        }
    }

    fn at(surface: &impl Rotations, Angles { directions, tangents }: &Angles) -> Self {
        let (n_ls, radius) = (tangents.len() - 1, surface.radius());
        let normal = |[fx, fy, tau]: [f64; 3]| [fx, fy, if radius > 0.0 { tau / radius } else { 0.0 }];
        let mut h = vec![[0.0; 3]; (4 * n_ls + 1) * (n_ls + 1)];
        let (asked, images) = Symmetry::of(surface.patch(), surface.rule()).images(n_ls);
        let asked: Vec<[f64; 2]> = asked.into_iter().map(|i| directions[i]).collect();
        // Rings of centres of rotation: far ones from moments that serve them all, the others from sums.
        let distances: Vec<f64> = tangents.iter().map(|tangent| radius * tangent).collect();
        let served = |j: usize| (n_ls - j) * asked.len() >= MOMENTS_SERVE;
        let moments = (1..n_ls).find_map(|j| if served(j) { Some((j, surface.moments(distances[j])?)) } else { None });
        let first = moments.as_ref().map_or(n_ls, |(j, _)| *j);
        let centre = |d: f64, [cos, sin]: [f64; 2]| [-sin * d, cos * d];
        let mut centres = Vec::with_capacity((first - 1) * asked.len());
        for d in &distances[1..first] {
            centres.extend(asked.iter().map(|direction| centre(*d, *direction)));
        }
        // Moments stand for the sum over the cells, which over the grid the `bilinear` rule replaces.
        let (near, mut over) = (centres.len(), Vec::new());
        for (j, d) in (first..n_ls).zip(&distances[first..]) {
            for (i, direction) in asked.iter().enumerate() {
                let c = centre(*d, *direction);
                if surface.is_mean(c) {
                    over.push((j - 1) * asked.len() + i);
                    centres.push(c);
                }
            }
        }
        let mut rings = surface.rotations(&centres);
        let means = rings.split_off(near);
        if let Some((_, (moments, unit))) = &moments {
            for d in &distances[first..n_ls] {
                rings.extend(moments.ring(d / unit, &asked).into_iter().map(|[fx, fy, tau]| [fx, fy, tau * unit]));
            }
        }
        over.into_iter().zip(means).for_each(|(k, mean)| rings[k] = mean);
        for (j, ring) in (1..).zip(rings.chunks(asked.len())) {
            fill(&mut h[j..], n_ls, images.iter().map(|image| normal(image.wrench(ring[image.of]))));
        }
        if radius > 0.0 {
            fill(&mut h[n_ls..], n_ls, directions.iter().map(|[cos, sin]| [-cos, -sin, 0.0]));
        }
        if radius == 0.0 {
            point(&mut h, directions);
        }
        // phi = 0 is one twist, and theta = 2 pi repeats theta = 0.
        let spin = normal(surface.spin());
        (0..4 * n_ls).for_each(|i| h[i * (n_ls + 1)] = spin);
        h.copy_within(..=n_ls, 4 * n_ls * (n_ls + 1));
        let (patch, is_single) = (surface.patch().clone(), surface.is_single());
        Self { rule: surface.rule(), n_ls, patch, at_origin: false, radius, is_single, h, arms: Arms::default() }
    }

    /// The table of a patch from the normalised wrenches of [`Table::motions`], of which all directions are
    /// `images`.
    pub(crate) fn of_motions(
        patch: &Patch,
        rule: Rule,
        n_ls: usize,
        radius: f64,
        is_single: bool,
        images: &[Image],
        wrenches: &[[f64; 3]],
    ) -> Self {
        let mut h = Vec::with_capacity((4 * n_ls + 1) * (n_ls + 1));
        for image in images {
            h.push(wrenches[0]);
            h.extend(wrenches[1 + image.of * n_ls..][..n_ls].iter().map(|wrench| image.wrench(*wrench)));
        }
        if radius == 0.0 {
            let direction = |i| twist(n_ls, 1.0, i, n_ls);
            let directions: Vec<[f64; 2]> = (0..4 * n_ls).map(direction).map(|v| [v.vx, v.vy]).collect();
            point(&mut h, &directions);
        }
        h.extend_from_within(..=n_ls);
        Self { rule, n_ls, patch: patch.clone(), at_origin: false, radius, is_single, h, arms: Arms::default() }
    }

    /// The directions `(vx/r, vy/r, w)` of a table at the `asked` ones of its `theta`: the spin, which all
    /// `phi = 0` share, then `[theta][phi]` without it.
    pub(crate) fn motions(n_ls: usize, asked: &[usize]) -> impl Iterator<Item = [f64; 3]> {
        let nodes = asked.iter().copied().flat_map(move |i| (1..=n_ls).map(move |j| (i, j)));
        [(0, 0)].into_iter().chain(nodes).map(move |(i, j)| twist(n_ls, 1.0, i, j).to_array())
    }

    /// The tables of many patches, in parallel; patches on the first one's grid share what depends on the
    /// grid alone. They are those of [`Table::new`], but for rounding by the `bilinear` rule: there the nodes
    /// of many maps are one matrix product.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn batch(patches: &[Patch], rule: Rule, n_ls: usize) -> Result<Vec<Self>, ParameterError> {
        let angles = Angles::new(n_ls)?;
        Ok(Surface::each(patches, rule, |surface| Self::at(&surface, &angles)))
    }

    /// [`Table::batch`] in single precision, as [`Table::single`]. By the `bilinear` rule a table may differ
    /// by rounding from the one alone, and with how many others share its grid; one at the edge of what
    /// single precision serves may be made in double.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn batch_single(patches: &[Patch], rule: Rule, n_ls: usize) -> Result<Vec<Self>, ParameterError> {
        let angles = Angles::new(n_ls)?;
        let of = |patch: &Patch, sums: Option<_>| Self::in_single(patch, rule, sums, &angles);
        let shared = patches.first().map(Patch::grid).filter(|g| rule == Rule::Bilinear && g.len() <= MAX_LATTICE);
        let Some(grid) = shared else {
            return Ok(patches.par_iter().map(|patch| of(patch, None)).collect());
        };
        let kernel = Kernel::single(grid);
        Ok(folded::each(patches, grid, |maps| kernel.correlate_all(maps), of))
    }

    /// The torsional radius [m] by this table's rule of a `patch` whose map follows the normal force, on a
    /// grid of the shape of the table's; none of other patches.
    pub(crate) fn radius_under(&self, patch: &Patch) -> Option<f64> {
        self.arms.radius(patch, self.patch.grid(), self.rule)
    }

    /// The normalised wrench of a twist `(vx, vy, w)` [m/s, m/s, rad/s] at the [centre](Table::centre) of a
    /// patch of this table's shape and radius `r` [m], by bilinear look-up, `docs/model.md` (103). About the
    /// centre of pressure `r` is that of a patch of any size; about the origin it is [`Table::radius`], times
    /// the scale of the patch if that is scaled. Zero at rest, NaN of a twist that is not finite.
    #[must_use]
    pub fn h(&self, r: f64, twist: Twist) -> [f64; 3] {
        let v_s = [twist.vx, twist.vy, r * twist.w];
        match v_s {
            [0.0, 0.0, 0.0] => v_s,
            _ if v_s.iter().all(|c| c.is_finite()) => self.look_up(v_s).h,
            _ => [f64::NAN; 3],
        }
    }

    /// The look-up at `v_S = (vx, vy, r w)` [m/s] with its derivatives; at rest that of a rotation.
    #[must_use]
    pub fn look_up(&self, v_s: [f64; 3]) -> LookUp {
        let [vx, vy, z] = v_s;
        let vt = vx.hypot(vy);
        let sign = if z < 0.0 { -1.0 } else { 1.0 };
        let phi = vt.atan2(z.abs());
        let theta = (vy.atan2(vx) + if z < 0.0 { PI } else { 0.0 }).rem_euclid(TAU);
        let n = self.n_ls as f64;
        let (p, q) = (theta / (PI / 2.0) * n, phi / (PI / 2.0) * n);
        let i = (p as usize).min(4 * self.n_ls - 1);
        let j = (q as usize).min(self.n_ls - 1);
        let (s, t) = (p - i as f64, q - j as f64);
        let row = &self.h[i * (self.n_ls + 1) + j..];
        let (a, b, c, d) = (row[0], row[1], row[self.n_ls + 1], row[self.n_ls + 2]);
        let mean = |k: usize| (1.0 - s) * ((1.0 - t) * a[k] + t * b[k]) + s * ((1.0 - t) * c[k] + t * d[k]);
        let per_step = sign * 2.0 * n / PI;
        let along_phi = |k: usize| per_step * ((1.0 - s) * (b[k] - a[k]) + s * (d[k] - c[k]));
        let along_theta = |k: usize| per_step * ((1.0 - t) * (c[k] - a[k]) + t * (d[k] - b[k]));
        let speed = vt.hypot(z);
        let (dphi, dtheta) = if vt > 0.0 {
            // From directions, because the square of a small speed underflows.
            let (ex, ey) = (vx / vt, vy / vt);
            let k = z.abs() / speed / speed;
            ([k * ex, k * ey, -sign * (vt / speed) / speed], [-ey / vt, ex / vt, 0.0])
        } else {
            ([0.0; 3], [0.0; 3])
        };
        LookUp {
            h: [0, 1, 2].map(|k| sign * mean(k)),
            h_phi: [0, 1, 2].map(along_phi),
            h_theta: [0, 1, 2].map(along_theta),
            dphi,
            dtheta,
        }
    }

    /// Tries every node and `per_cell` x `per_cell` places inside every cell of the table.
    ///
    /// Exact wrenches always dissipate; a table that interpolates them may not, where cells are coarse.
    #[must_use]
    pub fn passivity(&self, per_cell: usize) -> Passivity {
        let steps = per_cell + 1;
        let fraction = |k: usize| (k as f64 / (steps * self.n_ls) as f64 * (PI / 2.0)).sin_cos();
        let tilts: Vec<(f64, f64)> = (0..=self.n_ls * steps).map(fraction).collect();
        let mut worst = Passivity { largest: f64::NEG_INFINITY, at: [0.0; 3], samples: 0 };
        let (mut row, width) = (vec![[0.0; 3]; self.n_ls + 1], self.n_ls + 1);
        let between = |a: [f64; 3], b: [f64; 3], t: f64| [0, 1, 2].map(|k| (1.0 - t) * a[k] + t * b[k]);
        for i in 0..4 * self.n_ls * steps {
            // The look-up of a direction whose place in the table is known: between two rows, then along the
            // one between them.
            let (low, high) = self.h[i / steps * width..][..2 * width].split_at(width);
            let s = (i % steps) as f64 / steps as f64;
            row.iter_mut().zip(low).zip(high).for_each(|((row, low), high)| *row = between(*low, *high, s));
            let (sin, cos) = fraction(i);
            for (j, (sin_phi, cos_phi)) in tilts.iter().enumerate() {
                let node = (j / steps).min(self.n_ls - 1);
                let h = between(row[node], row[node + 1], (j - node * steps) as f64 / steps as f64);
                let v = [cos * sin_phi, sin * sin_phi, cos_phi.max(0.0)];
                let power = h[0] * v[0] + h[1] * v[1] + h[2] * v[2];
                worst.samples += 1;
                if !(power <= worst.largest) {
                    (worst.largest, worst.at) = (power, v);
                }
            }
        }
        worst
    }

    /// Twist of node `(i, j)` at the table's centre, `docs/model.md` (101).
    #[must_use]
    pub fn twist(&self, i: usize, j: usize) -> Twist {
        twist(self.n_ls, self.radius, i, j)
    }

    /// Normalised wrenches `[theta][phi]`, `(4 N_ls + 1) (N_ls + 1)` of them.
    #[must_use]
    pub fn nodes(&self) -> &[[f64; 3]] {
        &self.h
    }

    /// The rule by which the table was made.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        self.rule
    }

    /// Resolution `N_ls`.
    #[must_use]
    pub const fn n_ls(&self) -> usize {
        self.n_ls
    }

    /// The patch that the table was made of.
    #[must_use]
    pub const fn patch(&self) -> &Patch {
        &self.patch
    }

    /// Whether its nodes are exact to single precision only.
    #[must_use]
    pub const fn is_single(&self) -> bool {
        self.is_single
    }

    /// Whether it is of a [`Basis`](super::Basis), with twists and wrenches at the origin of the patch and
    /// the radius of its grid.
    #[must_use]
    pub const fn is_at_origin(&self) -> bool {
        self.at_origin
    }

    /// Where the table's twists and wrenches are [m], in the patch frame.
    #[must_use]
    pub const fn centre(&self) -> [f64; 2] {
        if self.at_origin { [0.0; 2] } else { self.patch.cop() }
    }

    /// Torsional radius `r'` [m] of that patch, by the table's rule; [`Basis::radius`](super::Basis::radius)
    /// at the origin.
    #[must_use]
    pub const fn radius(&self) -> f64 {
        self.radius
    }
}

/// What tables are made from: unit Coulomb wrenches `(fx, fy, tau)` [-, -, m] for rotations with w > 0 about
/// centres [m] from the centre of pressure, by a rule.
pub(super) trait Rotations {
    fn patch(&self) -> &Patch;
    fn rule(&self) -> Rule;
    /// Whether the sums are in single precision.
    fn is_single(&self) -> bool;
    /// Torsional radius [m].
    fn radius(&self) -> f64;
    /// The wrench of the rotation about the centre of pressure.
    fn spin(&self) -> [f64; 3];
    /// Whether the wrench of the rotation about `c` is the mean of four of the `bilinear` rule, and not the
    /// sum over the cells: whether `c` is over the grid.
    fn is_mean(&self, c: [f64; 2]) -> bool;
    /// Moments for the sums about centres of rotation far away, of which `closest` [m] is the first, and
    /// their unit of length [m].
    fn moments(&self, closest: f64) -> Option<(Moments, f64)>;
    /// The wrenches of many rotations.
    fn rotations(&self, centres: &[[f64; 2]]) -> Vec<[f64; 3]>;
}

/// Writes the wrenches of one `phi`, from the node of `theta` = 0 on.
fn fill(nodes: &mut [[f64; 3]], n_ls: usize, ring: impl Iterator<Item = [f64; 3]>) {
    nodes.iter_mut().step_by(n_ls + 1).zip(ring).for_each(|(node, wrench)| *node = wrench);
}

/// Sines and cosines of a table's nodes.
#[derive(Clone, Debug)]
pub(super) struct Angles {
    /// `(cos theta, sin theta)`, below a full turn.
    pub directions: Vec<[f64; 2]>,
    /// `tan phi`: distances of the centres of rotation over the radius.
    pub tangents: Vec<f64>,
}

impl Angles {
    pub fn new(n_ls: usize) -> Result<Self, ParameterError> {
        if n_ls == 0 || n_ls > MAX_N_LS {
            return Err(ParameterError::new("n_ls", n_ls, format!("1 to {MAX_N_LS}")));
        }
        let directions = (0..4 * n_ls).map(|i| twist(n_ls, 1.0, i, n_ls)).map(|v| [v.vx, v.vy]).collect();
        let tangents = (0..=n_ls).map(|j| twist(n_ls, 1.0, 0, j)).map(|v| v.vx / v.w).collect();
        Ok(Self { directions, tangents })
    }

    pub const fn n_ls(&self) -> usize {
        self.tangents.len() - 1
    }
}

fn twist(n_ls: usize, radius: f64, i: usize, j: usize) -> Twist {
    // Whole quarter turns are exact, so that translation has no rotation left.
    let angle = |k: usize| -> (f64, f64) {
        let (quarter, rest) = (k / n_ls % 4, k % n_ls);
        let (sin, cos) = (rest as f64 * PI / (2 * n_ls) as f64).sin_cos();
        [(sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin)][quarter]
    };
    let ((sin, cos), (sin_phi, cos_phi)) = (angle(i), angle(j));
    Twist::new(radius * cos * sin_phi, radius * sin * sin_phi, cos_phi)
}
