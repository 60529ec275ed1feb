//! Coulomb wrenches of a patch in steady sliding.

use rayon::prelude::*;

use super::compound::Parts;
use super::quadrature::{
    Bilinear, Cells, Frame, Mesh, Multipole, Parallelograms, Points, Rotations, Rule, SMALLEST_TERM,
};
use crate::number::real::LANES;
use crate::patch::{FrictionAxes, Grid, Patch};
use crate::planar::{Twist, Wrench};
use crate::pool;

/// The limit surface of a patch, evaluated point by point: its wrenches in steady sliding.
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
    /// The isotropic patch of `docs/model.md` (20d), of which the sums are; the patch itself without axes of
    /// friction.
    isotropic: Patch,
    radius: f64,
    /// The mean of the friction map [-], if there is one.
    friction: Option<f64>,
    /// Of the isotropic patch: from the centre of pressure to that of the patch with its friction map in the
    /// pressure [m], and the viscous factor [m^2] about the centre of pressure.
    viscous: ([f64; 2], f64),
    /// Unit of length of the sums [m]: the square root of a cell's area.
    pub(super) unit: f64,
    pub(super) points: Points,
    /// The same points, arranged in columns and rows.
    mesh: Mesh,
    pub(super) cells: Option<Cells>,
    bilinear: Option<Bilinear>,
    /// The surfaces of the patches of a compound patch, of which this one is the sum.
    parts: Option<Parts>,
    /// The cells that are no rectangles.
    parallelograms: Option<Parallelograms>,
}

impl Surface {
    /// The surface of `patch` by `rule`. That of a patch with a friction map is the surface of
    /// [`Patch::with_friction_in_pressure`], which [`Surface::patch`] then is, and whose centre of pressure
    /// twists and wrenches refer to; coefficients `mu` are those where the factor is 1, `docs/model.md`
    /// (20b).
    ///
    /// With axes of friction ([`Patch::with_friction_axes`]) the surface is a linear image of that of an
    /// isotropic patch, `docs/model.md` (20e). Where the axes are not those of the grid the cells of that are
    /// parallelograms, over which `bilinear` integrates as `cells` does.
    pub fn new(patch: &Patch, rule: Rule) -> Self {
        let (pressed, told) = (&*patch.isotropic(), patch.with_friction_in_pressure());
        let patch = &pressed.with_friction_in_pressure();
        let frame = Frame::new(patch);
        let [to, from] = [patch.cop(), pressed.cop()];
        let unit = frame.unit;
        let is_oblique = patch.is_oblique();
        let rule = if is_oblique && rule == Rule::Bilinear { Rule::Cells } else { rule };
        let is_irregular = patch.is_irregular();
        let is_fine = is_irregular && rule != Rule::Points;
        // By axes of friction the patches of a compound one are sheared, each another way.
        let has_parts = is_fine && !is_oblique;
        let mut surface = Self {
            rule,
            patch: told,
            isotropic: patch.clone(),
            radius: patch.radius(),
            friction: pressed.friction_map().map(|_| pressed.mean_friction()),
            viscous: ([to[0] - from[0], to[1] - from[1]], pressed.viscous()),
            unit,
            points: if is_fine { frame.fine_points(patch) } else { frame.points(patch) },
            mesh: Mesh::new(frame.columns(patch), frame.rows(patch), patch.weights()),
            cells: (rule == Rule::Cells && !is_irregular)
                .then(|| Cells::new(frame.lines(patch.grid()), patch.weights())),
            bilinear: (rule == Rule::Bilinear && !is_irregular).then(|| Bilinear::new(patch, frame)),
            parts: has_parts.then(|| Parts::new(patch, rule)),
            parallelograms: (is_fine && is_oblique).then(|| Parallelograms::new(patch, frame)),
        };
        if rule != Rule::Points {
            let radius = -surface.isotropic_coulomb(Twist::new(0.0, 0.0, 1.0)).tau;
            // By the `bilinear` rule, docs/model.md (90), a single cell has no torque; the threshold takes
            // what rounding leaves for zero.
            surface.radius = if radius > 1e-12 * unit { radius } else { 0.0 };
        }
        surface
    }

    /// The surfaces of many patches, in parallel.
    pub fn batch(patches: &[Patch], rule: Rule) -> Vec<Self> {
        pool::run(|| patches.par_iter().map(|patch| Self::new(patch, rule)).collect())
    }

    /// Coulomb wrench [-, -, m] of `twist` [m/s, m/s, rad/s] for `mu f_N = 1`, `docs/model.md` (88), both at
    /// the centre of pressure; with a friction map for a mean `mu` of 1. Depends on the direction of the
    /// twist only. Zero for a twist of zero; NaN for one that is not finite.
    pub fn coulomb(&self, twist: Twist) -> Wrench {
        match self.axes() {
            Some(axes) => axes.wrench(self.isotropic_coulomb(axes.isotropic_twist(twist))),
            None => self.isotropic_coulomb(twist),
        }
    }

    /// [`Surface::coulomb`] of the isotropic patch.
    pub(super) fn isotropic_coulomb(&self, twist: Twist) -> Wrench {
        let span = self.points.span.max(1.0);
        let scaled = [twist.vx, twist.vy, twist.w * self.unit * span];
        if scaled.iter().any(|c| !c.is_finite()) {
            return Wrench::new(f64::NAN, f64::NAN, f64::NAN);
        }
        let scale = scaled.iter().fold(0.0, |m: f64, c| m.max(c.abs()));
        if scale == 0.0 {
            return Wrench::default();
        }
        if let Some(parts) = &self.parts {
            return parts.coulomb(twist);
        }
        // Lengths in `unit`, speeds of order one.
        let local = [scaled[0] / scale, scaled[1] / scale, scaled[2] / scale / span];
        let [fx, fy, tau] = match (&self.cells, &self.bilinear, &self.parallelograms) {
            (Some(cells), ..) => cells.wrench(local, &self.points),
            (_, Some(bilinear), _) => bilinear.wrench(local, &self.points),
            (.., Some(parallelograms)) => parallelograms.wrench(local, &self.points),
            _ => self.points.wrench(local),
        };
        Wrench::new(fx, fy, tau * self.unit)
    }

    /// Coulomb wrench [N, N, N m] of `twist` under normal force `f_n` \[N\] with coefficient `mu` >= 0 [-],
    /// both at the centre of pressure. A negative force is no contact, 0.
    pub fn wrench(&self, twist: Twist, mu: f64, f_n: f64) -> Wrench {
        let Wrench { fx, fy, tau } = self.coulomb(twist);
        let most = self.friction() * mu * contact_force(f_n);
        Wrench::new(most * fx, most * fy, most * tau)
    }

    /// As [`Surface::wrench`], with twist and wrench at the patch origin (the grid's centre).
    pub fn wrench_at_origin(&self, twist: Twist, mu: f64, f_n: f64) -> Wrench {
        self.wrench(twist.at(self.patch.cop()), mu, f_n).about([-self.patch.cop()[0], -self.patch.cop()[1]])
    }

    /// Viscous wrench `-sigma2 f_N (vx, vy, u w)` [N, N, N m], `docs/model.md` (19), at the centre of
    /// pressure, which adds to the Coulomb wrench; `sigma2` >= 0 [s/m], `f_n` \[N\] as there.
    pub fn viscous_wrench(&self, twist: Twist, sigma2: f64, f_n: f64) -> Wrench {
        let k = -sigma2 * contact_force(f_n);
        let ([x, y], u) = self.viscous;
        let v = self.axes().map_or(twist, |axes| axes.isotropic_twist(twist)).at([-x, -y]);
        let wrench = Wrench::new(k * v.vx, k * v.vy, k * u * v.w).about([x, y]);
        self.axes().map_or(wrench, |axes| axes.wrench(wrench))
    }

    /// [`Surface::coulomb`] of many twists, in parallel; every result is the one of a single call.
    pub fn coulombs(&self, twists: &[Twist]) -> Vec<Wrench> {
        pool::run(|| twists.par_iter().with_min_len(32).map(|t| self.coulomb(*t)).collect())
    }

    /// The rule.
    pub const fn rule(&self) -> Rule {
        self.rule
    }

    /// The mean of the friction map over the pressure [-], by which every `mu` is multiplied; 1 without a
    /// friction map.
    pub fn friction(&self) -> f64 {
        self.friction.unwrap_or(1.0)
    }

    /// How friction differs by direction, if it does.
    pub(super) const fn axes(&self) -> Option<&FrictionAxes> {
        self.patch.friction_axes()
    }

    /// Whether `points` are not the cells of its rule, but points that are fine enough for derivatives.
    pub(super) const fn has_fine_points(&self) -> bool {
        self.parts.is_some() || self.parallelograms.is_some()
    }

    /// Whether the patch had a friction map.
    pub(super) const fn is_mapped(&self) -> bool {
        self.friction.is_some()
    }

    /// The patch, with its friction map in the pressure.
    pub const fn patch(&self) -> &Patch {
        &self.patch
    }

    /// Torsional radius `r` \[m\]: torque of pure rotation about the centre of pressure over `mu f_N`,
    /// eq. (25) of the paper, by this surface's rule (`docs/model.md`, section 7).
    pub const fn radius(&self) -> f64 {
        self.radius
    }
}

/// The normal force of a contact: zero in place of a negative one, as nothing pulls; NaN stays NaN.
fn contact_force(f_n: f64) -> f64 {
    if f_n < 0.0 { 0.0 } else { f_n }
}

impl Rotations for Surface {
    fn isotropic(&self) -> &Patch {
        &self.isotropic
    }

    fn rule(&self) -> Rule {
        self.rule
    }

    fn is_single(&self) -> bool {
        false
    }

    fn radius(&self) -> f64 {
        self.radius
    }

    fn spin(&self) -> [f64; 3] {
        self.isotropic_coulomb(Twist::new(0.0, 0.0, 1.0)).to_array()
    }

    fn is_mean_of_nodes(&self, c: [f64; 2]) -> bool {
        self.bilinear.as_ref().is_some_and(|bilinear| bilinear.is_over(c.map(|x| x / self.unit)))
    }

    fn multipole(&self, closest: f64) -> Option<(Multipole, f64)> {
        if self.isotropic.is_irregular() {
            return None;
        }
        let Grid { dx, dy, .. } = *self.isotropic.grid();
        let half = if self.rule == Rule::Cells { [0.5 * dx / self.unit, 0.5 * dy / self.unit] } else { [0.0; 2] };
        Multipole::new(&self.mesh, self.points.span, half, closest / self.unit, SMALLEST_TERM).map(|m| (m, self.unit))
    }

    fn rotations(&self, centres: &[[f64; 2]]) -> Vec<[f64; 3]> {
        if let Some(parts) = &self.parts {
            return parts.rotations(centres);
        }
        let mut out = vec![[0.0; 3]; centres.len()];
        let centres: Vec<[f64; 2]> = centres.iter().map(|c| [c[0] / self.unit, c[1] / self.unit]).collect();
        let one_by_one = |k: usize, out: &mut [[f64; 3]]| {
            let (c, twist) = (centres[k], [centres[k][1], -centres[k][0], 1.0]);
            out[k] = match &self.cells {
                Some(cells) if cells.is_far(c, self.points.span) => cells.wrench(twist, &self.points),
                // Its cells are not in columns and rows.
                None if self.isotropic.is_irregular() => match &self.parallelograms {
                    Some(parallelograms) => parallelograms.wrench(twist, &self.points),
                    None => self.points.wrench(twist),
                },
                // With the centre of rotation next to that of a cell, the cell may count as at rest, which
                // sums over a mesh do not check.
                None if self.mesh.is_next_to(c, 1e-6) => self.points.wrench(twist),
                _ => return true,
            };
            false
        };
        let lanes: Vec<usize> = match &self.bilinear {
            // Outside the grid, where the rule sums over the cells, no cell is at rest.
            Some(bilinear) => bilinear.about_all(&centres, &self.points, &mut out),
            None => (0..centres.len()).filter(|k| one_by_one(*k, &mut out)).collect(),
        };
        for some in lanes.chunks(LANES) {
            // Empty lanes repeat the last centre.
            let lane = |k: usize| centres[some[k.min(some.len() - 1)]];
            let c = [0, 1].map(|axis| std::array::from_fn(|k| lane(k)[axis]));
            let wrenches = match &self.cells {
                Some(cells) => cells.about(&c).map(|(wrench, _)| wrench),
                None => {
                    let [i, gx, gy] = self.mesh.points(&c);
                    std::array::from_fn(|k| [gy[k], -gx[k], -i[k] - c[0][k] * gx[k] - c[1][k] * gy[k]])
                }
            };
            some.iter().zip(wrenches).for_each(|(k, wrench)| out[*k] = wrench);
        }
        out.iter_mut().for_each(|w| w[2] *= self.unit);
        out
    }
}
