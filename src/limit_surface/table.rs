//! The table of a limit surface and its look-up (`docs/model.md`, section 7.4).

use std::any::Any;
use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::nodes::{Angles, directions, nodes, set_without_extent, twist};
use super::quadrature::{Rotations, Rule, SinglePrecision};
use super::radius_basis::RadiusBasis;
use super::surface::Surface;
use super::symmetry::Image;
use crate::error::ParameterError;
use crate::number::real::Real;
use crate::patch::Patch;
use crate::planar::Twist;
use crate::pool;

/// The default resolution `N_ls`.
pub const DEFAULT_N_LS: usize = 20;

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
    pub(super) radius_basis: RadiusBasis,
    pub(super) converted: Converted,
}

/// The nodes of a table in the numbers of the engines that asked for them. It follows from the table, and is
/// no part of its value.
#[derive(Debug, Default)]
pub(super) struct Converted(Mutex<Vec<Arc<dyn Any + Send + Sync>>>);

impl Clone for Converted {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Converted {
    fn eq(&self, _: &Self) -> bool {
        true
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
    /// The table of `patch` by `rule` with resolution `n_ls`; of [`Patch::with_friction_in_pressure`] if it
    /// has a friction map, as all tables of many patches are. With axes of friction it is the table of the
    /// isotropic patch, `docs/model.md` (20d), as reduced bristles need it.
    ///
    /// # Errors
    /// `n_ls` of zero or above [`MAX_N_LS`](super::MAX_N_LS).
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
        Ok(Self::in_single(patch, rule, &Angles::new(n_ls)?))
    }

    fn in_single(patch: &Patch, rule: Rule, angles: &Angles) -> Self {
        let (given, patch) = (patch, patch.isotropic().with_friction_in_pressure());
        match SinglePrecision::new(&patch, rule) {
            Some(single) => Self::at(&single, angles),
            None => Self::at(&Surface::new(given, rule), angles),
        }
    }

    fn at(surface: &impl Rotations, angles: &Angles) -> Self {
        let (patch, h) = (surface.isotropic().clone(), nodes(surface, angles));
        Self::about_cop(patch, surface.rule(), angles.n_ls(), surface.is_single(), surface.radius(), h)
    }

    /// The table about the centre of pressure whose nodes are `h`.
    fn about_cop(patch: Patch, rule: Rule, n_ls: usize, is_single: bool, radius: f64, h: Vec<[f64; 3]>) -> Self {
        Self::from_nodes(patch, rule, n_ls, radius, h, false, is_single)
    }

    /// [`Table::new`] of many patches, in parallel.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn batch(patches: &[Patch], rule: Rule, n_ls: usize) -> Result<Vec<Self>, ParameterError> {
        let angles = Angles::new(n_ls)?;
        Ok(pool::run(|| patches.par_iter().map(|patch| Self::at(&Surface::new(patch, rule), &angles)).collect()))
    }

    /// [`Table::single`] of many patches, in parallel.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn batch_single(patches: &[Patch], rule: Rule, n_ls: usize) -> Result<Vec<Self>, ParameterError> {
        let angles = Angles::new(n_ls)?;
        Ok(pool::run(|| patches.par_iter().map(|patch| Self::in_single(patch, rule, &angles)).collect()))
    }

    /// A table with the nodes that one had: its patch, rule, resolution, `r` \[m\], nodes `[theta, phi]`,
    /// whether they are about the origin of the patch, and whether they are exact to single precision only.
    pub fn from_nodes(
        patch: Patch,
        rule: Rule,
        n_ls: usize,
        radius: f64,
        h: Vec<[f64; 3]>,
        at_origin: bool,
        is_single: bool,
    ) -> Self {
        let (radius_basis, converted) = (RadiusBasis::default(), Converted::default());
        Self { rule, n_ls, patch, at_origin, radius, is_single, h, radius_basis, converted }
    }

    /// The table of a patch from the normalised wrenches of [`Table::motions`]. The wrenches of all
    /// directions are `images` of these.
    pub fn of_motions(
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
            set_without_extent(&mut h, &directions(n_ls));
        }
        h.extend_from_within(..=n_ls);
        Self::about_cop(patch.clone(), rule, n_ls, is_single, radius, h)
    }

    /// The directions `(vx/r, vy/r, w)` of a table's nodes with the `asked` numbers of `theta`: first the
    /// rotation that all `theta` share at `phi = 0`, then the others as `[theta][phi]`.
    pub fn motions(n_ls: usize, asked: &[usize]) -> impl Iterator<Item = [f64; 3]> {
        let nodes = asked.iter().copied().flat_map(move |i| (1..=n_ls).map(move |j| (i, j)));
        [(0, 0)].into_iter().chain(nodes).map(move |(i, j)| twist(n_ls, 1.0, i, j).to_array())
    }

    /// The torsional radius [m] by this table's rule of a `patch` whose map follows the normal force, on a
    /// grid of the shape of the table's; none of other patches.
    pub(crate) fn radius_under(&self, patch: &Patch) -> Option<f64> {
        self.radius_basis.radius(patch, self.patch.grid(), self.rule)
    }

    /// The normalised wrench of a twist `(vx, vy, w)` [m/s, m/s, rad/s] at the [centre](Table::centre) of a
    /// patch of this table's shape and radius `r` \[m\], by bilinear look-up, `docs/model.md` (103). About
    /// the centre of pressure `r` is that of a patch of any size; about the origin it is [`Table::radius`],
    /// times the scale of the patch if that is scaled. Zero at rest, NaN of a twist that is not finite.
    pub fn h(&self, r: f64, twist: Twist) -> [f64; 3] {
        let v_s = [twist.vx, twist.vy, r * twist.w];
        match v_s {
            [0.0, 0.0, 0.0] => v_s,
            _ if v_s.iter().all(|c| c.is_finite()) => self.look_up(v_s).h,
            _ => [f64::NAN; 3],
        }
    }

    /// The look-up at `v_S = (vx, vy, r w)` [m/s] with its derivatives; at rest that of a rotation.
    pub fn look_up(&self, v_s: [f64; 3]) -> LookUp {
        let [vx, vy, z] = v_s;
        let vt = vx.hypot(vy);
        // The table has the directions with w >= 0; the others are their opposites.
        let (sign, turn) = if z < 0.0 { (-1.0, PI) } else { (1.0, 0.0) };
        let phi = vt.atan2(z.abs());
        let theta = (vy.atan2(vx) + turn).rem_euclid(TAU);
        // The cell (i, j) of the table, and the coordinates (s, t) inside it.
        let n = self.n_ls as f64;
        let (p, q) = (theta / FRAC_PI_2 * n, phi / FRAC_PI_2 * n);
        let (i, j) = ((p as usize).min(4 * self.n_ls - 1), (q as usize).min(self.n_ls - 1));
        let (s, t) = (p - i as f64, q - j as f64);
        let row = &self.h[i * (self.n_ls + 1) + j..];
        let (a, b, c, d) = (row[0], row[1], row[self.n_ls + 1], row[self.n_ls + 2]);
        let mean = |k: usize| (1.0 - s) * ((1.0 - t) * a[k] + t * b[k]) + s * ((1.0 - t) * c[k] + t * d[k]);
        let per_step = sign * n / FRAC_PI_2;
        let along_phi = |k: usize| per_step * ((1.0 - s) * (b[k] - a[k]) + s * (d[k] - c[k]));
        let along_theta = |k: usize| per_step * ((1.0 - t) * (c[k] - a[k]) + t * (d[k] - b[k]));
        let (dphi, dtheta) = if vt > 0.0 {
            // Quotients come first, because the square of a small speed underflows.
            let (ex, ey, speed) = (vx / vt, vy / vt, vt.hypot(z));
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

    /// The largest power of friction at the nodes and at `per_cell` x `per_cell` points inside every cell of
    /// the table.
    ///
    /// Exact wrenches always dissipate; a table that interpolates them may not, where cells are coarse.
    pub fn passivity(&self, per_cell: usize) -> Passivity {
        let steps = per_cell + 1;
        let fraction = |k: usize| (k as f64 / (steps * self.n_ls) as f64 * (PI / 2.0)).sin_cos();
        let tilts: Vec<(f64, f64)> = (0..=self.n_ls * steps).map(fraction).collect();
        let mut worst = Passivity { largest: f64::NEG_INFINITY, at: [0.0; 3], samples: 0 };
        let (mut row, width) = (vec![[0.0; 3]; self.n_ls + 1], self.n_ls + 1);
        let between = |a: [f64; 3], b: [f64; 3], t: f64| [0, 1, 2].map(|k| (1.0 - t) * a[k] + t * b[k]);
        for i in 0..4 * self.n_ls * steps {
            // The place of the direction in the table is known, so that the look-up is an interpolation
            // between two rows, and then one along the row between them.
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
    pub fn twist(&self, i: usize, j: usize) -> Twist {
        twist(self.n_ls, self.radius, i, j)
    }

    /// Normalised wrenches `[theta][phi]`, `(4 N_ls + 1) (N_ls + 1)` of them.
    pub fn nodes(&self) -> &[[f64; 3]] {
        &self.h
    }

    /// The same as numbers of another type, one after the other: one copy for all that ask.
    pub(crate) fn nodes_in<T: Real>(&self) -> Arc<Vec<T>> {
        let mut made = self.converted.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = made.iter().find_map(|any| Arc::clone(any).downcast().ok()) {
            return found;
        }
        let nodes: Arc<Vec<T>> = Arc::new(self.h.as_flattened().iter().map(|h| T::splat(*h)).collect());
        made.push(Arc::<Vec<T>>::clone(&nodes));
        nodes
    }

    /// The rule by which the table was made.
    pub const fn rule(&self) -> Rule {
        self.rule
    }

    /// Resolution `N_ls`.
    pub const fn n_ls(&self) -> usize {
        self.n_ls
    }

    /// The patch that the table was made of.
    pub const fn patch(&self) -> &Patch {
        &self.patch
    }

    /// Whether its nodes are exact to single precision only.
    pub const fn is_single(&self) -> bool {
        self.is_single
    }

    /// Whether it is of a [`Basis`](super::Basis), with twists and wrenches at the origin of the patch and
    /// the radius of its grid.
    pub const fn is_at_origin(&self) -> bool {
        self.at_origin
    }

    /// Where the table's twists and wrenches are \[m\], in the patch frame.
    pub const fn centre(&self) -> [f64; 2] {
        if self.at_origin { [0.0; 2] } else { self.patch.cop() }
    }

    /// Torsional radius `r'` \[m\] of that patch, by the table's rule;
    /// [`Basis::radius`](super::Basis::radius) at the origin.
    pub const fn radius(&self) -> f64 {
        self.radius
    }
}
