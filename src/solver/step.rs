//! The step: SDIRK2 with one pass over the bristles between two solves (`docs/model.md`, section 5).
//! Twin: `shaders/step.wgsl`.
//!
//! Every lane steps a contact of its own, at its own stage and time; the readable reference is the same code
//! with one lane. A pass writes the stage that was solved before back to the bristles (it commits the stage),
//! evaluates the friction at the present guess of the next stage's twist, and takes a step of Newton for that
//! twist. When the twist has converged the stage ends, and after two stages the step. If all lanes were at
//! the same stage, they would wait for the one that needs most steps of Newton. Lanes never see each other,
//! so a contact's result does not depend on its neighbours.
//!
//! A fixed step is as long as the plan and the end of the interval allow. A tolerance lets each contact
//! choose its own steps: a step is repeated with a shorter length if one of two error estimates is too large,
//! or if a stage has not converged (`accept`). Both estimates are of the twist or, if that is prescribed, of
//! the friction. The estimate of first order is far above the actual error. That of third order is the error
//! of the step itself, which adds up from step to step while a body slides. On the falling Stribeck branch an
//! implicit step that is too long stays where the solution leaves, and no estimate shows that. Steps of both
//! kinds are therefore bounded by the slope of the curve (`longest_step`), and a chosen step is repeated if
//! the matrix of a stage is not definite with half the mass. All this depends on the contact alone.
//!
//! Only here: `pass`, `takes_true_slope`, `settle`, `rotate`, `spent`, `to_f64`, `from_f64`, `update`,
//! `count`.
#![allow(clippy::needless_range_loop, reason = "a lane is the same place in several arrays")]

use super::bristles::{Bits, Bristles};
use super::constants::*;
use super::friction::{Stage, steepest_between};
use super::lanes::Solver;
use super::linalg::{Mat3, Vec3, add3};
use super::moving_surface::{Rates, StepRates};
use super::transform::{Transform, at};
use crate::number::real::Real;
use crate::number::simd::copies;
use crate::schedule::slot;

/// The lanes that a pass has brought to an end, by the reason.
#[derive(Clone, Copy, Debug, Default)]
pub struct Events {
    /// Lanes at the end of their interval, and lanes that had to commit a pending stage and have done so.
    pub stopped: Bits,
    /// Lanes whose twist is not finite.
    pub failed: Bits,
    /// Lanes that have used up the steps that they may take.
    pub spent: Bits,
}

copies! {
    /// One pass.
    pub fn pass<R, B: Bristles<R>>(solver: &mut Solver<R, B>) -> Events {
        solver.pass_over_bristles()
    }
}

impl<R: Real, B: Bristles<R>> Solver<R, B> {
    /// The pose a time `dt` ahead.
    #[inline(always)]
    pub(super) fn pose_ahead(&self, dt: R) -> Vec3<R> {
        let mut q = self.body.q.plus(dt, self.body.u);
        if self.carried() & self.running != 0 {
            update(R::from_bitmask(self.carried()), &mut q, self.body.q.plus(dt, self.surface.of_step().start.pose));
        }
        q
    }

    /// The transform at a pose `q`, which is a time `dt` ahead.
    #[inline(always)]
    pub(super) fn transform(&self, q: Vec3<R>, dt: R) -> Transform<R> {
        let gripper = R::from_bitmask(self.contacts.gripper);
        let o = [R::select(gripper, -q.x, self.contacts.offset[0]), R::select(gripper, -q.y, self.contacts.offset[1])];
        let mut t = Transform { cos: R::splat(1.0), sin: R::splat(0.0), o };
        if self.contacts.turning & self.running != 0 {
            self.rotate(self.contacts.turning & self.running, q.z, &mut t);
        }
        if self.carried() & self.running != 0 {
            let turn = dt.fma(self.surface.of_step().start.turn, self.surface.turn.x);
            self.rotate(self.carried() & self.running, turn, &mut t);
        }
        t
    }

    /// Sine and cosine of the lanes whose patch turns, with the body or with a hand.
    #[inline(never)]
    fn rotate(&self, mut turning: Bits, theta: R, t: &mut Transform<R>) {
        while turning != 0 {
            let l = turning.trailing_zeros() as usize;
            turning &= turning - 1;
            [t.sin.lanes_mut()[l], t.cos.lanes_mut()[l]] = theta.sin_cos_of(l);
        }
    }

    /// The longest step [s] on which a stage has one solution on the falling Stribeck branch, `docs/model.md`
    /// (49); with a tolerance, no longer than the step to try next. The limit `Contacts::h_max` is applied by
    /// [`Solver::start_step`].
    #[inline(always)]
    fn longest_step(&self, v: &[R; slot::COUNT]) -> R {
        let zero = R::splat(0.0);
        let most_mu_d = self.contacts.most_friction * (v[slot::MU_S] - v[slot::MU_C]);
        let fall = self.contacts.pads * v[slot::F_N] * most_mu_d * self.stribeck_slope();
        let gripper = R::from_bitmask(self.contacts.gripper);
        let ox = R::select(gripper, self.body.q.x, self.contacts.offset[0]);
        let oy = R::select(gripper, self.body.q.y, self.contacts.offset[1]);
        let (mass, inertia) = (self.contacts.mass.x, self.contacts.mass.z);
        let lever = mass * inertia * mass.fma(ox.fma(ox, oy * oy), inertia).recip();
        let m_e = self.contacts.least_mass.min(lever);
        let bound = (m_e * self.contacts.v_s * (R::splat(KAPPA) * fall).recip()).max(R::splat(SHORTEST_RULED_STEP));
        let most = if self.tolerance.is_some() { self.body.h_next } else { R::splat(1e30) };
        let longest = R::select(zero.lt(fall), bound.min(most), most);
        R::select(R::from_bitmask(self.contacts.prescribed), most, longest)
    }

    /// A bound on the slope of the Stribeck curve's exponential over `s/v_s`: `k_g`, or, with a tolerance and
    /// `gamma = 2`, its steepest slope at the speeds that bristles may have in the coming step,
    /// `docs/model.md` (53).
    #[inline(always)]
    fn stribeck_slope(&self) -> R {
        // Several patches may slide at several speeds.
        if self.tolerance.is_none() || self.drives_parts() {
            return self.contacts.k_g;
        }
        let Vec3 { x, y, z } = self.directed(self.body.patch_twist);
        let (along, around) = (x.fma(x, y * y).sqrt(), R::splat(LEVER_MARGIN) * self.contacts.arm * z.max(-z));
        let least = (along - around) * R::splat(1.0 / SPEED_MARGIN) * self.contacts.inv_v_s;
        let most = R::splat(SPEED_MARGIN) * (along + around) * self.contacts.inv_v_s;
        R::select(
            R::from_bitmask(self.contacts.gaussian),
            steepest_between(least, most).min(self.contacts.k_g),
            self.contacts.k_g,
        )
    }

    /// Starts a step: chooses its length.
    #[inline(always)]
    fn start_step(&mut self) {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let starting = R::from_bitmask(self.starting);
        let mut tau = R::each(0.0);
        for l in 0..R::LANES {
            tau[l] = self.interval.length[l] - self.interval.left[l];
        }
        self.step.tau = R::select(starting, from_f64(&tau), self.step.tau);
        let v = self.interval.inputs(self.step.tau, self.starting);
        if self.surface.moving & self.starting != 0 {
            let s = self.surface_twist(R::splat(0.0), self.starting);
            self.start_rates(s);
        }
        let longest = to_f64(self.longest_step(&v));
        let (starts, left, h_max, old) =
            (to_f64(R::select(starting, one, zero)), self.interval.left, self.contacts.h_max, self.step.rest);
        let mut h = R::each(0.0);
        // Without branches the compiler turns this loop into a few vector instructions.
        for l in 0..R::LANES {
            let most = if longest[l] < h_max[l] { longest[l] } else { h_max[l] };
            let n = (left[l] / most - STEP_SLACK).ceil();
            // The steps are differences of what is left, so that they add up to the interval, docs/model.md
            // (55).
            let rest = if n > 1.0 { left[l] - left[l] / n } else { 0.0 };
            h[l] = left[l] - rest;
            self.step.rest[l] = if starts[l] > 0.5 { rest } else { old[l] };
        }
        self.step.h = R::select(starting, from_f64(&h), self.step.h);
        self.step.a_sigma0 = R::splat(KAPPA) * self.step.h * self.contacts.sigma0;
        self.step.damping = self.contacts.sigma1 * self.step.a_sigma0.recip();
        update(starting, &mut self.step.before, self.body.patch_twist);
        let prescribed = self.starting & self.contacts.prescribed;
        if self.tolerance.is_some() && prescribed != 0 {
            self.bristles.save(R::from_bitmask(prescribed));
        }
        self.step.unsolved = self.step.unsolved.map(|lanes| lanes & !self.starting);
        self.step.least_pivot = R::select(starting, one, self.step.least_pivot);
        self.step.loading = R::select(starting, zero, self.step.loading);
        self.starting = 0;
    }

    /// The constants of the present stage, which is `a` [s] long and has inputs `v`.
    #[inline(always)]
    fn stage_constants(&self, v: &[R; slot::COUNT], a: R) -> Stage<R> {
        let one = R::splat(1.0);
        let mu_d = v[slot::MU_S] - v[slot::MU_C];
        // With the factor chi the matrix of the Newton step stays positive definite, docs/model.md (52).
        let most_mu_d = self.contacts.most_friction * mu_d;
        let fall = (a + a) * self.contacts.pads * v[slot::F_N] * most_mu_d * self.contacts.k_g * self.contacts.inv_v_s;
        let mut chi = R::select(self.contacts.mass.x.lt(fall), self.contacts.mass.x * fall.recip(), one);
        if self.settles {
            chi = R::select(self.takes_true_slope(), one, chi);
        }
        let extrapolation = R::select(R::from_bitmask(self.stage.second), one, R::splat(EXTRAPOLATION));
        // The limit may have fallen with the inputs' jump, docs/model.md (36a).
        let zero = R::splat(0.0);
        let cuts = R::and(one.lt(self.body.at_least), R::from_bitmask(self.contacts.prescribed & !self.stage.second));
        let cuts = R::select(cuts, one, zero);
        let (a_sigma0, damping) = (self.step.a_sigma0, self.step.damping);
        Stage { a_sigma0, damping, mu_c: v[slot::MU_C], mu_d, chi, extrapolation, cuts }
    }

    /// One pass. It is called through [`pass`], which is compiled for the instruction set of the number type.
    #[inline(always)]
    fn pass_over_bristles(&mut self) -> Events {
        if self.starting != 0 {
            self.start_step();
        }
        let at_work = self.running & !self.flushing;
        let (prescribed, solving) = (at_work & self.contacts.prescribed, at_work & !self.contacts.prescribed);
        let a = R::splat(KAPPA) * self.step.h;
        let dt = R::select(R::from_bitmask(self.stage.second), self.step.h, a);
        let v = self.interval.inputs(self.step.tau + dt, at_work);
        let load = Vec3::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
        let st = self.stage_constants(&v, a);
        if prescribed != 0 {
            // There is nothing to solve, so that this pass commits the stage at once.
            let mask = R::from_bitmask(prescribed);
            let mut slip = load;
            if self.surface.moving != 0 {
                slip = load - self.surface_twist(dt, prescribed);
            }
            update(mask, &mut self.body.patch_twist, slip);
            update(R::from_bitmask(prescribed & !self.stage.second), &mut self.step.before, load);
            self.body.pending_stage = Stage::select(mask, &st, &self.body.pending_stage);
            self.body.pending |= prescribed;
        }
        if self.drives_parts() {
            let q = self.pose_ahead(dt);
            self.follow_parts(dt, &self.transform(q, dt), q);
        }
        let commit = (&self.body.pending_stage, self.body.pending & self.running);
        let twists = self.directed(at(self.body.patch_twist, self.patch_point()));
        let sums = self.bristles.sweep(twists, commit, (&st, solving));
        let (resist, gain) = self.patch_wrench(sums);
        self.body.pending &= !self.running;
        count::<R>(&mut self.counts.passes, self.running);

        let (solved, failed) = self.newton(a, dt, &v, load, (resist, gain), solving);
        if self.tolerance.is_some() && prescribed != 0 {
            // The increment that the step control compares is that of the friction over f_N, its torque over
            // L^2.
            let gained = self.directed(self.bristles.force_change()) * st.extrapolation.recip();
            let arm2 = (self.contacts.arm * self.contacts.arm).max(R::splat(R::TINY));
            update(R::from_bitmask(prescribed), &mut self.stage.du, Vec3::new(gained.x, gained.y, gained.z / arm2));
        }
        let ended = self.finish_stage(&st, solved, prescribed);
        let refused = if self.tolerance.is_some() { self.accept(ended, v[slot::MU_C]) } else { 0 };
        self.starting |= refused;
        if self.drives_parts() {
            self.commit_parts();
        }
        let mut events = self.finish_step(ended & !refused, load);
        events.stopped |= self.flushing & self.running;
        events.failed = failed;
        self.running &= !(events.stopped | events.failed | events.spent);
        events
    }

    /// A step of Newton for the increment `du` of the twist over the one at the step's start, `docs/model.md`
    /// (43), from the sums of a pass at the present guess. Returns the lanes whose stage is solved, and those
    /// whose twist is not finite.
    #[inline(always)]
    fn newton(
        &mut self,
        a: R,
        dt: R,
        v: &[R; slot::COUNT],
        load: Vec3<R>,
        (resist, gain): (Vec3<R>, Mat3<R>),
        solving: Bits,
    ) -> (Bits, Bits) {
        let (q, point) = (self.pose_ahead(dt), self.patch_point());
        let t = self.transform(q, dt);
        let moves = self.surface.moving & self.running != 0;
        let grip = a * self.contacts.pads * v[slot::F_N];
        let first = R::from_bitmask(R::bitmask(self.stage.newton.lt(R::splat(0.5))));
        let (mut guess, mut s) = (t.body_twist(self.body.patch_twist), Vec3::zero());
        if moves {
            s = self.surface_twist(dt, solving);
            guess = self.slipping_body(&t, q, self.body.patch_twist, s);
        }
        let du = Vec3::select(first, guess - self.body.u, self.stage.du);
        let base =
            Vec3::select(R::from_bitmask(self.stage.second), self.step.du1 * R::splat(EXTRAPOLATION), Vec3::zero());
        let gain = t.gain(&gain, point) * grip;
        let rest = (base - du).times(self.contacts.mass).plus(a, load).plus(-grip, t.wrench(resist, point));
        let d = gain.plus_diagonal(self.contacts.mass).solve(rest);
        self.stage.du = du + d;
        let u = self.body.u + self.stage.du;
        let mut slip = t.twist(u);
        if moves {
            slip = self.slip_twist(&t, q, u, s);
            self.surface.of_step_mut().last = self.rates(q, u, slip, s);
        }
        update(R::from_bitmask(solving), &mut self.body.patch_twist, slip);
        let failed = solving & !(finite(self.stage.du) & finite(self.body.patch_twist));
        let enough = self.tolerance.map_or(NEWTON_TOLERANCE, |t| t.min(NEWTON_TOLERANCE));
        let twists = self.directed(at(self.body.patch_twist, point));
        let mut radius = self.bristles.trust_radius(twists);
        if self.directions.lanes != 0 {
            radius = radius * self.directions.most.recip();
        }
        let enough = R::splat(enough).min(radius);
        let size = self.size(d);
        let mut small = !R::bitmask(enough.lt(size)) & R::bitmask(size.lt(R::splat(f64::from(f32::MAX))));
        self.stage.newton += R::splat(1.0);
        let most = if self.settles { SETTLED_MOST } else { NEWTON_MOST };
        let last = !R::bitmask(self.stage.newton.lt(R::splat(f64::from(most))));
        if self.settles {
            small = self.settle(size, solving & !failed);
        }
        let solved = solving & !failed & ((small & !R::bitmask(self.stage.newton.lt(self.body.at_least))) | last);
        let unsolved = solved & last & !small;
        self.step.unsolved[0] |= unsolved & !self.stage.second;
        self.step.unsolved[1] |= unsolved & self.stage.second;
        if self.tolerance.is_some() {
            let mask = R::from_bitmask(solved);
            let pivot = gain.plus_diagonal(self.contacts.mass * R::splat(1.0 - MASS_MARGIN)).least_pivot();
            self.step.least_pivot = R::select(mask, pivot.min(self.step.least_pivot), self.step.least_pivot);
            self.step.loading = R::select(mask, self.step.loading.max(self.bristles.loading()), self.step.loading);
        }
        (solved, failed)
    }

    /// Where stages are solved to rounding: whether the gain takes the true slope of the Stribeck curve, as
    /// it must for derivatives, and as makes the last steps to the solution quadratic.
    #[inline(always)]
    fn takes_true_slope(&self) -> R::Mask {
        let near = R::bitmask(self.stage.last.lt(R::splat(NEWTON_TOLERANCE)));
        let early = R::bitmask(self.stage.newton.lt(R::splat(f64::from(SETTLED_MOST / 2))));
        R::from_bitmask(near & early | self.stage.settled)
    }

    /// After a Newton step of some `size` [m/s]: the lanes of `solving` whose twist had settled to rounding
    /// before this pass. One pass more then has given the derivatives of the force there, and this step those
    /// of the twist: with `r(u, p) = 0` the residual and `K` its derivative, `du/dp = -K^-1 dr/dp`, which is
    /// the derivative of `u - K^-1 r` whatever that of `u` was before.
    #[inline(always)]
    fn settle(&mut self, size: R, solving: Bits) -> Bits {
        let small = self.stage.settled & solving;
        let speed = self.size(self.body.u + self.stage.du) + self.size(self.stage.du);
        let rounding = size.lt(R::splat(SETTLED[0]).fma(speed, R::splat(SETTLED[1])));
        // Beside a large load the rounding of the residual may be above that of the twist.
        let stays = R::and(self.stage.last.lt(size + size), size.lt(R::splat(1e-9) * (speed + R::splat(1e-3))));
        let last = !R::bitmask(self.stage.newton.lt(R::splat(f64::from(SETTLED_MOST - 1))));
        self.stage.settled |= solving & (R::bitmask(rounding) | R::bitmask(stays) | last);
        self.stage.last = R::select(R::from_bitmask(solving), size, self.stage.last);
        for k in 0..2 {
            let here = if k == 1 { self.stage.second } else { !self.stage.second };
            self.step.unsolved[k] |= solving & last & !small & here;
        }
        self.bristles.differentiate(self.stage.settled & solving & !small != 0);
        small
    }

    /// The largest component of a twist as a speed [m/s], its angular part times `L`, `docs/model.md` (18).
    #[inline(always)]
    pub(super) fn size(&self, u: Vec3<R>) -> R {
        u.x.max(-u.x).max(u.y.max(-u.y)).max(self.contacts.arm * u.z.max(-u.z))
    }

    /// Ends the stage `st` of the lanes that have `solved` it, and of those whose twist is `prescribed`.
    /// Returns the lanes at the end of a step.
    #[inline(always)]
    fn finish_stage(&mut self, st: &Stage<R>, solved: Bits, prescribed: Bits) -> Bits {
        self.body.pending |= solved;
        self.body.pending_stage = Stage::select(R::from_bitmask(solved), st, &self.body.pending_stage);
        let goes_on = self.running & !self.flushing & !solved & !prescribed;
        self.stage.newton = R::select(R::from_bitmask(goes_on), self.stage.newton, R::splat(0.0));
        let done = solved | prescribed;
        if self.settles {
            self.stage.settled &= !done;
            self.stage.last = R::select(R::from_bitmask(goes_on), self.stage.last, R::splat(UNSOLVED));
        }
        let (first, second) = (done & !self.stage.second, done & self.stage.second);
        update(R::from_bitmask(first), &mut self.step.du1, self.stage.du);
        if self.surface.moving != 0 {
            self.keep_rates(first);
        }
        if self.tolerance.is_some() {
            self.bristles.save(R::from_bitmask(first & solved));
        }
        self.stage.second ^= done;
        second
    }

    /// Step control (`docs/model.md`, section 5.8) of the lanes that have `done` a step: estimates its errors
    /// from the increments of its stages and chooses the length of the next. Returns the lanes whose errors
    /// are too large, or with a stage that has not converged or may have several solutions; these go back to
    /// the start of the step and take a shorter one. The increments are those of the twist, or, of a
    /// prescribed motion, of the friction over `f_N`, for which the tolerance is multiplied by `mu_c`. In the
    /// first step after a break point the derivative at the end of the step before is of no use, as the
    /// inputs may have jumped.
    #[inline(always)]
    fn accept(&mut self, done: Bits, mu_c: R) -> Bits {
        let Some(tolerance) = self.tolerance else { return 0 };
        let (zero, one, tiny) = (R::splat(0.0), R::splat(1.0), R::splat(R::TINY));
        let tolerance = R::splat(tolerance) * R::select(R::from_bitmask(self.contacts.prescribed), mu_c, one);
        // The second stage against the straight line through the first: the error of a first-order step,
        // docs/model.md (57).
        let (mut d1, mut d2) = (self.step.du1, self.stage.du);
        let sliding = self.surface.moving & !self.contacts.prescribed;
        if sliding & done != 0 {
            // On a surface that moves it is the slip that has to be exact.
            let StepRates { start, first, last } = self.surface.of_step();
            let [start, first, last] = [start.slip, first.slip, last.slip];
            update(R::from_bitmask(sliding), &mut d1, first - start);
            update(R::from_bitmask(sliding), &mut d2, last - start);
        }
        let first = self.size(d2.plus(R::splat(-1.0 / KAPPA), d1));
        // The third derivative, from the first derivatives at the step's start, its first stage and its end,
        // docs/model.md (56) and (58).
        let per_stage = (R::splat(KAPPA) * self.step.h).recip();
        let (f1, f2) = (d1 * per_stage, d2.plus(R::splat((KAPPA - 1.0) / KAPPA), d1) * per_stage);
        let bend = ((f2 - f1) * R::splat(1.0 / (1.0 - KAPPA))).plus(R::splat(-1.0 / KAPPA), f1 - self.body.rate);
        let third = R::splat(2.0 * ERROR_CONSTANT) * self.step.h * self.size(bend);
        let third = R::select(one.lt(self.body.at_least), zero, third);
        let [first_limit, third_limit] = self.limits(tolerance);
        let (first, third) = (first / first_limit, third / (R::splat(THIRD_ORDER_SHARE) * third_limit));
        let mut error = first.max(third);
        if sliding & done != 0 {
            let pose = self.pose_error() / tolerance;
            error = R::select(R::from_bitmask(sliding), error.max(pose), error);
        }
        if self.drives_parts() && done & !self.contacts.prescribed != 0 {
            error = error.max(self.error_of_parts() / tolerance);
        }
        let change = R::splat(SAFETY) * error.max(tiny).rsqrt();
        let change = change.max(R::splat(STEP_CHANGE_LIMITS[0])).min(R::splat(STEP_CHANGE_LIMITS[1]));
        let (unsolved, ambiguous) = (self.step.unsolved[0] | self.step.unsolved[1], self.step.least_pivot.lt(tiny));
        let long = R::bitmask(R::splat(SHORTEST_CHOSEN_STEP).lt(self.step.h));
        let refused = done & long & (R::bitmask(one.lt(R::select(ambiguous, one + one, error))) | unsolved);
        let mask = R::from_bitmask(refused);
        self.bristles.restore(mask);
        update(mask, &mut self.body.patch_twist, self.step.before);
        self.body.pending &= !refused;
        // A step that was short because the interval ends is no reason to make the next one as short.
        let cut = R::and(self.step.h.lt(R::splat(SAFETY) * self.body.h_next), one.lt(change));
        let taken = R::select(cut, self.body.h_next.max(self.step.h * change), self.step.h * change);
        let most = R::select(ambiguous, R::splat(SHRINK_ON_FAILURE), R::splat(SAFETY));
        let most = R::select(R::from_bitmask(unsolved), R::splat(SHRINK_ON_FAILURE), most);
        let next = R::select(mask, self.step.h * change.min(most), taken).max(R::splat(SHORTEST_TRIED_STEP));
        self.body.h_next = R::select(R::from_bitmask(done), next, self.body.h_next);
        update(R::from_bitmask(done & !refused), &mut self.body.rate, f2);
        refused
    }

    /// What the estimates of first and third order may be at most, `docs/model.md` (60): the tolerance, or a
    /// share of the speed where slow motion decides what follows. That is the motion of a reduced bristle
    /// that is about to break loose, where an error of the speed shifts the moment at which it does, and the
    /// creep under a law without an elastic range, which adds up.
    #[inline(always)]
    fn limits(&self, tolerance: R) -> [R; 2] {
        let u = self.body.u;
        let mut rounding = R::splat(0.0);
        let mut speed = self.size(u).max(self.size(u + self.step.du1)).max(self.size(u + self.stage.du));
        if self.surface.moving & !self.contacts.prescribed != 0 {
            // There it is the slip that is slow.
            let slip = |rates: &Rates<R>| self.size(rates.slip);
            let StepRates { start, first, last } = self.surface.of_step();
            let slip = slip(start).max(slip(first)).max(slip(last));
            let sliding = R::from_bitmask(self.surface.moving & !self.contacts.prescribed);
            rounding = R::select(sliding, R::splat(SLIP_ROUNDING / R::ROUNDER) * speed, rounding);
            speed = R::select(sliding, slip, speed);
        }
        let relative = (R::splat(RELATIVE_TOLERANCE) * speed).max(R::splat(LEAST_TOLERANCE) * tolerance).min(tolerance);
        let third = R::select(R::splat(NEAR_SLIP).lt(self.step.loading), relative, tolerance);
        let first = R::select(R::from_bitmask(self.contacts.creeps), relative, third);
        [first.max(rounding), third.max(rounding)]
    }

    /// Estimated error [m/s] of the pose on a surface that moves, `docs/model.md` (59a): that of the formula,
    /// from the rates at the start of the step and in its stages, and that of the pose ahead, at which the
    /// surface has another velocity if it turns.
    #[inline(always)]
    fn pose_error(&self) -> R {
        let rates = self.surface.of_step();
        let [start, first, last] = [rates.start.pose, rates.first.pose, rates.last.pose];
        let bend = ((last - first) * R::splat(1.0 / (1.0 - KAPPA))).plus(R::splat(-1.0 / KAPPA), first - start);
        let strays = (first * R::splat(1.0 - KAPPA)).plus(R::splat(KAPPA), last) - start;
        let turn = rates.last.turn.max(-rates.last.turn);
        R::splat(QUADRATURE).fma(self.size(bend), self.step.h * turn * self.size(strays))
    }

    /// Moves the bodies of the lanes that have `ended` a step, and lets those whose interval goes on start
    /// the next.
    #[inline(always)]
    fn finish_step(&mut self, ended: Bits, load: Vec3<R>) -> Events {
        if ended == 0 {
            return Events::default();
        }
        let (one, mask) = (R::splat(1.0), R::from_bitmask(ended));
        let mean = |first: Vec3<R>, second| (first * R::splat(1.0 - KAPPA)).plus(R::splat(KAPPA), second);
        let given = mean(self.step.before, load);
        let mut found = self.body.u + mean(self.step.du1, self.stage.du);
        if self.carried() & ended != 0 {
            let StepRates { first, last, .. } = *self.surface.of_step();
            update(R::from_bitmask(self.carried()), &mut found, mean(first.pose, last.pose));
            let turn = R::splat(1.0 - KAPPA).fma(first.turn, R::splat(KAPPA) * last.turn);
            self.turn_hand(ended, turn * self.step.h);
        }
        let (q, q_low) = add3(
            self.body.q,
            self.body.q_low,
            Vec3::select(R::from_bitmask(self.contacts.prescribed), given, found) * self.step.h,
        );
        update(mask, &mut self.body.q, q);
        update(mask, &mut self.body.q_low, q_low);
        let (u, u_low) = add3(self.body.u, self.body.u_low, self.stage.du);
        let moving = R::from_bitmask(ended & !self.contacts.prescribed);
        update(moving, &mut self.body.u, u);
        update(moving, &mut self.body.u_low, u_low);
        count::<R>(&mut self.counts.steps, ended);
        for unsolved in self.step.unsolved {
            count::<R>(&mut self.counts.unconverged, ended & unsolved);
        }
        self.body.at_least = R::select(mask, one, self.body.at_least);
        let (ends, rest) = (to_f64(R::select(mask, one, R::splat(0.0))), self.step.rest);
        let mut left = R::each(0.0);
        for l in 0..R::LANES {
            left[l] = if ends[l] > 0.5 { rest[l] } else { self.interval.left[l] };
        }
        self.interval.left = left;
        let stopped = ended & R::bitmask(from_f64::<R>(&left).lt(R::splat(R::TINY)));
        let spent = self.spent(ended & !stopped);
        self.starting |= ended & !stopped & !spent;
        Events { stopped, failed: 0, spent }
    }

    /// Those of `lanes` that have used up the steps that they may take. Not inlined, because LLVM 22 crashes
    /// with a segmentation fault if this loop stands among the masks of AVX-512 (in its pass "x86 domain
    /// reassignment").
    #[inline(never)]
    fn spent(&self, lanes: Bits) -> Bits {
        let spent = |l: usize| Bits::from(self.counts.steps[l] >= self.counts.budget[l]) << l;
        lanes & (0..R::LANES).map(spent).fold(0, |all, one| all | one)
    }
}

/// The numbers of the lanes in double precision.
#[inline(always)]
pub(super) fn to_f64<R: Real>(v: R) -> R::Each<f64> {
    let mut out = R::each(0.0);
    for l in 0..R::LANES {
        out[l] = v.lane(l);
    }
    out
}

/// Numbers as lanes, in their precision.
#[inline(always)]
pub(super) fn from_f64<R: Real>(v: &R::Each<f64>) -> R {
    let mut out = R::splat(0.0);
    for l in 0..R::LANES {
        out.lanes_mut()[l] = R::Scalar::splat(v[l]);
    }
    out
}

/// Replaces the lanes of `old` where the mask is set.
#[inline(always)]
pub(super) fn update<R: Real>(mask: R::Mask, old: &mut Vec3<R>, new: Vec3<R>) {
    *old = Vec3::select(mask, new, *old);
}

/// The lanes whose three numbers are finite.
#[inline(always)]
pub(super) fn finite<R: Real>(v: Vec3<R>) -> Bits {
    // Zero times a finite number is 0; zero times infinity or NaN is NaN, which is not below 1.
    let zero = R::splat(0.0);
    R::bitmask((v.x * zero + v.y * zero + v.z * zero).lt(R::splat(1.0)))
}

/// Adds one to the counts of some lanes.
#[inline(always)]
fn count<R: Real>(to: &mut R::Each<u64>, lanes: Bits) {
    for l in 0..R::LANES {
        to[l] += u64::from(lanes >> l & 1);
    }
}

#[cfg(test)]
mod tests;
