//! Several patches with normal forces and surface motions of their own, `docs/model.md` (20h). Twin:
//! `shaders/parts.wgsl`.
//!
//! A contact solves for its twist relative to the surface that all patches have. Relative to its own surface
//! a patch moves by another twist, which differs from that one by a twist that does not depend on the
//! velocity of the body. The normal force divides among the patches as their forces are.
//!
//! Such a contact is alone in its solver (src/cpu/divide.rs). Its stages are committed as soon as they are
//! solved, under the motion of the surfaces in that stage, so that a pass never commits one stage and
//! evaluates another.
//!
//! Only here: `none`, `set`, `drives_parts`, `sample_parts`, `share_parts`.

use super::bristles::{Bristles, PartNow, Rate};
use super::constants::{KAPPA, QUADRATURE};
use super::lanes::Solver;
use super::linalg::Vec3;
use super::transform::{Transform, at};
use crate::contact::Contact;
use crate::number::real::Real;
use crate::patch::{MAX_PATCHES, Part};
use crate::planar::{Twist, Wrench};

/// What the patches of a contact have of their own.
pub(super) struct Parts<R: Real> {
    /// Their shares of the normal force in the compound patch [-], which count where there is none. None
    /// where patches have nothing of their own.
    shares: Vec<f64>,
    /// What the bristles need of each.
    now: Vec<PartNow<R>>,
}

impl<R: Real> Parts<R> {
    /// No patches.
    pub(super) const fn none() -> Self {
        Self { shares: Vec::new(), now: Vec::new() }
    }

    /// For the patches of a contact.
    pub(super) fn set(&mut self, contact: &Contact) {
        self.shares.clear();
        self.now.clear();
        if contact.drives_parts() {
            self.shares.extend(contact.patch.parts().iter().map(Part::share));
            let rest = |share: &f64| PartNow { surface: Vec3::zero(), share: R::splat(*share) };
            self.now.extend(self.shares.iter().map(rest));
        }
    }
}

impl<R: Real, B: Bristles<R>> Solver<R, B> {
    /// Whether patches have inputs of their own.
    #[inline(always)]
    pub(super) fn drives_parts(&self) -> bool {
        B::TAKES_PARTS && !self.parts.now.is_empty()
    }

    /// The twist of the surface of a patch beside that of the contact, as the patch has it, of a body at pose
    /// `q`.
    fn in_patch(&self, surface: Vec3<R>, t: &Transform<R>, q: Vec3<R>) -> Vec3<R> {
        let carried = R::from_bitmask(self.contacts.gripper | self.contacts.prescribed);
        Vec3::select(carried, surface, t.twist(at(surface, [q.x, q.y])))
    }

    /// Lets the bristles have the inputs `of_parts` of the patches, a time `dt` after the start of the step,
    /// of a body at pose `q`.
    #[inline(never)]
    pub(super) fn follow_parts(&mut self, dt: R, t: &Transform<R>, q: Vec3<R>) {
        let zero = R::splat(0.0);
        let mut f_n = zero;
        for k in 0..self.parts.now.len() {
            let [force, vx, vy, w] = self.interval.of_part(k, self.step.tau, dt);
            let surface = self.directed(self.in_patch(Vec3::new(vx, vy, w), t, q));
            self.parts.now[k] = PartNow { surface, share: force };
            f_n += force;
        }
        let is_pressed = zero.lt(f_n);
        let of_force = f_n.max(R::splat(R::TINY)).recip();
        for (now, share) in self.parts.now.iter_mut().zip(&self.parts.shares) {
            now.share = R::select(is_pressed, now.share * of_force, R::splat(*share));
        }
        self.bristles.set_parts(&self.parts.now);
    }

    /// Lets the patches of lane `l` have the shares of the normal force that balance the push in a sample,
    /// `docs/model.md` (20m). Friction is linear in the shares: each patch is asked for its own under all of
    /// the normal force.
    pub(super) fn balance_loads(&mut self, l: usize, contact: &Contact, u: Twist, rate: &Rate<f64>) {
        let mut on_body = [[0.0; 2]; MAX_PATCHES];
        for (k, on_body) in on_body.iter_mut().enumerate().take(self.parts.now.len()) {
            self.share_parts(l, |i| if i == k { 1.0 } else { 0.0 });
            let Wrench { fx, fy, .. } = contact.patch.patch_wrench(self.bristles.wrench(l, u, rate, 1.0).0);
            *on_body = [fx, fy];
        }
        let shares = contact.supports().balance_shares(|k| on_body[k]);
        self.share_parts(l, |k| shares[k]);
    }

    /// Commits the stage that is pending, under the motion of the surfaces in it.
    pub(super) fn commit_parts(&mut self) {
        let lanes = self.body.pending & self.running;
        if lanes != 0 {
            let twist = self.directed(at(self.body.patch_twist, self.patch_point()));
            self.bristles.commit_parts(twist, &self.body.pending_stage);
            self.body.pending &= !lanes;
        }
    }

    /// The motion of the surface of patch `k`, a time `dt` after the start of the step.
    fn surface_ahead(&self, k: usize, dt: R) -> Vec3<R> {
        let q = self.pose_ahead(dt);
        let [_, vx, vy, w] = self.interval.of_part(k, self.step.tau, dt);
        self.in_patch(Vec3::new(vx, vy, w), &self.transform(q, dt), q)
    }

    /// Estimated error [m/s] of the motion of the surfaces, `docs/model.md` (59b): that of the formula of the
    /// step, and that of the pose ahead, at which a surface that turns has another velocity.
    pub(super) fn error_of_parts(&self) -> R {
        let zero = R::splat(0.0);
        let strays = (self.step.du1 * R::splat(1.0 - KAPPA)).plus(R::splat(KAPPA), self.stage.du);
        let strays = R::select(R::from_bitmask(self.contacts.gripper), zero, self.step.h * self.size(strays));
        let mut most = zero;
        for k in 0..self.parts.now.len() {
            let (start, last) = (self.surface_ahead(k, zero), self.surface_ahead(k, self.step.h));
            let first = self.surface_ahead(k, R::splat(KAPPA) * self.step.h);
            let bend = ((last - first) * R::splat(1.0 / (1.0 - KAPPA))).plus(R::splat(-1.0 / KAPPA), first - start);
            most = most.max(R::splat(QUADRATURE).fma(self.size(bend), last.z.max(-last.z) * strays));
        }
        most
    }

    /// Lets the bristles of lane `l` have the surface and the normal force [N] of each patch that are given,
    /// for a sample.
    pub(super) fn sample_parts(&mut self, l: usize, v: &[([f64; 3], f64)]) {
        let f_n: f64 = v.iter().map(|(_, force)| force).sum();
        for ((now, share), (surface, force)) in self.parts.now.iter_mut().zip(&self.parts.shares).zip(v) {
            now.surface.set(l, *surface);
            now.share.set(l, if f_n > 0.0 { force / f_n } else { *share });
        }
        self.bristles.set_parts(&self.parts.now);
    }

    /// Gives the patches of lane `l` these shares of the normal force.
    fn share_parts(&mut self, l: usize, share: impl Fn(usize) -> f64) {
        self.parts.now.iter_mut().enumerate().for_each(|(k, now)| now.share.set(l, share(k)));
        self.bristles.set_parts(&self.parts.now);
    }
}
