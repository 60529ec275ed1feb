//! The step: SDIRK2 with one sweep over the cells between solves (`docs/model.md`, section 5).
//! Twin: `shaders/step.wgsl`.

use nalgebra::{Matrix3, Vector3};

use super::bristles::Bristles;
use super::distributed::{Rate, Sums};
use super::friction::{Stage, steepest_between};
use crate::body::{Kind, Transform};
use crate::contact::Contact;
use crate::plan::{Plan, Reason, Status};
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::{Interval, slot};

/// `kappa = 1 - 1/sqrt 2` makes the two-stage scheme L-stable and of second order, `docs/model.md` (24) and
/// (28).
pub const KAPPA: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
/// `R = 1 + sqrt 2`: stage 2 starts from `zeta_n + R (zeta_1 - zeta_n)`, `docs/model.md` (27).
pub const PULL: f64 = 1.0 + std::f64::consts::SQRT_2;
/// A Newton step smaller than this [m/s], and than the tolerance if there is one, ends a stage.
pub const NEWTON_TOLERANCE: f64 = 1e-4;
/// Newton steps of a stage at most.
pub const NEWTON_MOST: u32 = 3;
/// The rule against branch jumps never asks for a shorter step than this [s], `docs/model.md` (50).
pub const SHORTEST_RULED_STEP: f64 = 1e-5;
/// With a tolerance, the rule against branch jumps takes the steepest place of the Stribeck curve between the
/// bristles' slowest speed divided by this factor and their fastest one times it, `docs/model.md` (53): a
/// bristle may get as far within a step.
pub const AROUND: f64 = 2.0;
/// With a tolerance, the rule against branch jumps takes the speeds of bristles up to this many `L` from the
/// patch origin. Bristles farther away carry a quarter of the load at most, since `L^2` is the mean of the
/// squared distance.
pub const ARMS: f64 = 2.0;
/// With a tolerance: the first step of a run and after a jump of the inputs [s].
pub const FRESH_STEP: f64 = 5e-5;
/// With a tolerance: a step this short [s] is taken whatever its error.
pub const SHORTEST_CHOSEN_STEP: f64 = 1e-6;
/// With a tolerance: the shortest step to try [s]. Below the one that is always taken by more than equal
/// parts of an interval round it up, else no step would be.
pub const SHORTEST_TRIED_STEP: f64 = 0.9 * SHORTEST_CHOSEN_STEP;
/// With a tolerance: how far a step may differ from the one before, `docs/model.md` (61).
pub const CHANGE: [f64; 2] = [0.25, 2.0];
/// With a tolerance: the share of the step that would just meet it.
pub const SAFETY: f64 = 0.8;
/// With a tolerance: the share of a step with a stage that has not converged, or may have several solutions.
pub const RETREAT: f64 = 0.5;
/// What a step of length `h` leaves of a linear problem is this times `h^3` and the third derivative,
/// `docs/model.md` (29).
pub const ERROR_CONSTANT: f64 = (std::f64::consts::SQRT_2 - 1.0) / 2.0 - 1.0 / 6.0;
/// With a tolerance: the share of it that the third-order estimate may use. Unlike the error that the
/// first-order estimate overstates, this one adds up from step to step while a body slides.
pub const THIRD_ORDER_SHARE: f64 = 0.2;
/// With a tolerance: the largest error of a step over the largest speed in it, where slow motion decides what
/// follows, `docs/model.md` (60).
pub const RELATIVE_TOLERANCE: f64 = 0.05;
/// With a tolerance: the least limit that [`RELATIVE_TOLERANCE`] may set, as a share of the tolerance. A limit
/// that vanished with the speed would make the steps of a contact at rest as short as they may be.
pub const LEAST_TOLERANCE: f64 = 0.005;
/// With a tolerance: the share of its limit that a reduced bristle has to carry for its error to be relative to
/// the speed. Above it the bristle creeps towards the moment at which it breaks loose, and an error of the
/// creep is an error of that moment.
pub const NEAR_SLIP: f64 = 0.7;
/// With a tolerance: a stage has one solution where its matrix less this share of the mass is positive
/// definite, `docs/model.md` (54).
pub const MASS_MARGIN: f64 = 0.5;

/// The contact was stopped; its status says where and why.
#[derive(Clone, Copy, Debug)]
pub struct Failed;

/// The state of one contact, stepped through its intervals.
pub struct Solver<'a> {
    contact: &'a Contact,
    /// The bristles.
    pub bristles: Box<dyn Bristles>,
    /// Twist at the centre of mass.
    pub u: Twist,
    /// Pose of the centre of mass.
    pub q: Pose,
    /// The patch twist of the last solve: the next stage's guess, and where `pending` is finished.
    patch_twist: Twist,
    /// The stage that is solved but whose bristles have not moved yet.
    pending: Option<Stage<f64>>,
    /// `L^2` of the present map [m^2].
    arm2: f64,
    /// The normal force of the present map [N], if it was made anew.
    mapped: Option<f64>,
    /// Largest slope of the Stribeck bell over `s/v_s` [-].
    k_g: f64,
    /// Longest step [s].
    h_max: f64,
    /// Largest estimated error of a step: of the velocity [m/s], or of a prescribed twist's friction over
    /// `mu_c f_N` [-].
    tolerance: Option<f64>,
    /// With a tolerance: the step to try next [s].
    h_next: f64,
    /// With a tolerance: the derivative of what [`Solver::accept`] compares at the end of the last step, by
    /// time.
    rate: Vector3<f64>,
    /// Stages of this step that have not converged.
    unsolved: u64,
    /// Whether a stage of this step may have several solutions.
    ambiguous: bool,
    /// Largest [`Bristles::loading`] in this step.
    loading: f64,
    /// Steps that it may take.
    budget: u64,
    /// How it fares.
    pub status: Status,
}

/// The inputs at the time of a stage.
pub type Inputs = [f64; slot::COUNT];

impl<'a> Solver<'a> {
    /// The contact at its initial state, with its `bristles` and the steps of `plan`, over so many intervals.
    pub fn new(contact: &'a Contact, bristles: Box<dyn Bristles>, plan: &Plan, intervals: usize) -> Self {
        let arm2 = bristles.arm2(&contact.patch);
        let u = if contact.body.kind == Kind::Prescribed { Twist::default() } else { contact.initial.twist };
        let q = contact.initial.pose;
        Self {
            contact,
            bristles,
            u,
            q,
            patch_twist: contact.body.transform(q).twist(u),
            pending: None,
            arm2,
            mapped: None,
            k_g: contact.friction.steepest_stribeck_slope(),
            h_max: plan.step,
            tolerance: plan.tolerance,
            h_next: FRESH_STEP,
            rate: Vector3::zeros(),
            unsolved: 0,
            ambiguous: false,
            loading: 0.0,
            budget: plan.budget(intervals),
            status: Status::default(),
        }
    }

    /// Makes the pressure map anew at the start of `interval`, if that asks for one of another force;
    /// bristles are kept.
    pub fn remap(&mut self, interval: &Interval) {
        let Some(f_n) = interval.remap else { return };
        if self.mapped.replace(f_n) == Some(f_n) {
            return;
        }
        // A reduced bristle finishes its stage on the map that it was solved on.
        if self.pending.is_some() && self.bristles.holds_map() {
            self.sweep(None);
        }
        let patch = self.contact.patch.under(f_n);
        self.bristles.remap(&patch, interval.inputs(0.0)[slot::MU_C]);
        self.arm2 = self.bristles.arm2(&patch);
    }

    /// Steps through one interval. `Err` if the contact became non-finite or ran out of steps; its status
    /// says where.
    pub fn advance(&mut self, interval: &Interval) -> Result<(), Failed> {
        self.remap(interval);
        let mut left = interval.length;
        let mut at_least = if interval.jump { 2 } else { 1 };
        if interval.jump {
            self.h_next = FRESH_STEP;
        }
        while left > 0.0 {
            let tau = interval.length - left;
            let n = (left / self.longest_step(&interval.inputs(tau)) - 1e-6).ceil().max(1.0);
            // The steps are differences of what is left, so that they add up to the interval, docs/model.md
            // (55).
            let rest = if n == 1.0 { 0.0 } else { left - left / n };
            let h = left - rest;
            let taken = if self.contact.body.kind == Kind::Prescribed {
                self.follow(interval, tau, h, at_least)
            } else {
                self.step(interval, tau, h, at_least)?
            };
            if !taken {
                continue;
            }
            self.status.steps += 1;
            at_least = 1;
            left = rest;
            if left > 0.0 && self.status.steps >= self.budget {
                self.status.failure = Some((self.status.steps, Reason::Steps));
                return Err(Failed);
            }
        }
        Ok(())
    }

    /// The longest step [s] on which a stage has one solution on the falling Stribeck branch, `docs/model.md`
    /// (49); with a tolerance, no longer than the one to try.
    fn longest_step(&self, v: &Inputs) -> f64 {
        let (body, f) = (&self.contact.body, &self.contact.friction);
        let fall = f64::from(body.pads) * v[slot::F_N] * (v[slot::MU_S] - v[slot::MU_C]) * self.slope();
        let most = if self.tolerance.is_some() { self.h_max.min(self.h_next) } else { self.h_max };
        if body.kind == Kind::Prescribed || fall <= 0.0 {
            return most;
        }
        let [ox, oy] = body.transform(self.q).o;
        let lever = 1.0 / (1.0 / body.mass + (ox * ox + oy * oy) / body.inertia);
        let m_e = body.mass.min(lever).min(body.inertia / self.arm2);
        most.min((m_e * f.v_s / (KAPPA * fall)).max(SHORTEST_RULED_STEP))
    }

    /// A slope over `s/v_s` that the Stribeck bell does not exceed: `k_g`; with a tolerance and `gamma = 2`,
    /// where a bristle may be in the coming step, `docs/model.md` (53).
    fn slope(&self) -> f64 {
        let f = &self.contact.friction;
        if self.tolerance.is_none() || f.gamma != 2.0 {
            return self.k_g;
        }
        let Twist { vx, vy, w } = self.patch_twist;
        let (along, around) = ((vx * vx + vy * vy).sqrt(), ARMS * self.arm2.sqrt() * w.abs());
        steepest_between((along - around) / (AROUND * f.v_s), AROUND * (along + around) / f.v_s).min(self.k_g)
    }

    /// One step of a body, `docs/model.md`, sections 5.1 and 5.5. `false` if it was too long: then nothing
    /// has moved, and the next one is shorter.
    fn step(&mut self, interval: &Interval, tau: f64, h: f64, at_least: u32) -> Result<bool, Failed> {
        let a = KAPPA * h;
        let ahead = |dt: f64| {
            let (q, u) = (self.q, self.u);
            self.contact.body.transform(Pose::new(q.x + dt * u.vx, q.y + dt * u.vy, q.theta + dt * u.w))
        };
        let (t1, t2) = (ahead(a), ahead(h));
        let before = self.patch_twist;
        (self.unsolved, self.ambiguous, self.loading) = (0, false, 0.0);
        let du1 = self.stage(&interval.inputs(tau + a), t1, a, Vector3::zeros(), PULL, at_least)?;
        if self.tolerance.is_some() {
            self.bristles.keep();
        }
        let du2 = self.stage(&interval.inputs(tau + h), t2, a, PULL * du1, 1.0, at_least)?;
        if !self.accept(h, du1, du2, at_least, 1.0) {
            self.patch_twist = before;
            return Ok(false);
        }
        self.status.unconverged += self.unsolved;
        let mean = (1.0 - KAPPA) * du1 + KAPPA * du2;
        self.q.x += h * (self.u.vx + mean[0]);
        self.q.y += h * (self.u.vy + mean[1]);
        self.q.theta += h * (self.u.w + mean[2]);
        self.u = Twist::new(self.u.vx + du2[0], self.u.vy + du2[1], self.u.w + du2[2]);
        Ok(true)
    }

    /// Chooses the next step by the estimated errors of one of length `h` with the increments `d1` up to its
    /// first stage and `d2` up to its second. `false` if they are too large, or if a stage has not converged
    /// or may have several solutions: then the bristles are where they were. The increments are of the twist,
    /// with `unit` 1, or of a prescribed motion's friction over `f_N`, with `unit` `mu_c`. In the first step
    /// after a break point, where `at_least` is 2, the derivative before it says nothing. `docs/model.md`,
    /// section 5.8.
    fn accept(&mut self, h: f64, d1: Vector3<f64>, d2: Vector3<f64>, at_least: u32, unit: f64) -> bool {
        let Some(tolerance) = self.tolerance.map(|t| t * unit) else { return true };
        // The second stage against the straight line through the first: the error of a first-order step,
        // docs/model.md (57).
        let first = self.size(d2 - d1 / KAPPA);
        // The third derivative, from the first derivatives at the step's start, its first stage and its end,
        // docs/model.md (56) and (58).
        let (f1, f2) = (d1 / (KAPPA * h), (d2 - (1.0 - KAPPA) / KAPPA * d1) / (KAPPA * h));
        let bend = (f2 - f1) / (1.0 - KAPPA) - (f1 - self.rate) / KAPPA;
        let third = if at_least > 1 { 0.0 } else { 2.0 * ERROR_CONSTANT * h * self.size(bend) };
        let [first_limit, third_limit] = self.limits(tolerance, d1, d2);
        let (first, third) = (first / first_limit, third / (THIRD_ORDER_SHARE * third_limit));
        let error = first.max(third);
        let change = (SAFETY / error.sqrt().max(f64::MIN_POSITIVE)).clamp(CHANGE[0], CHANGE[1]);
        let solved = self.unsolved == 0 && !self.ambiguous;
        if (error > 1.0 || !solved) && h > SHORTEST_CHOSEN_STEP {
            self.bristles.restore();
            self.pending = None;
            let most = if solved { SAFETY } else { RETREAT };
            self.h_next = (h * change.min(most)).max(SHORTEST_TRIED_STEP);
            return false;
        }
        // A step that the interval's end cut short says nothing against a longer one.
        let cut = h < SAFETY * self.h_next && change > 1.0;
        let next = if cut { self.h_next.max(h * change) } else { h * change };
        self.h_next = next.max(SHORTEST_TRIED_STEP);
        self.rate = f2;
        true
    }

    /// The largest component of a twist as a speed [m/s], its angular part times `L`, `docs/model.md` (18).
    fn size(&self, u: Vector3<f64>) -> f64 {
        u[0].abs().max(u[1].abs()).max(self.arm2.sqrt() * u[2].abs())
    }

    /// What the estimates of first and third order may be at most in a step with increments `d1` and `d2`,
    /// `docs/model.md` (60): the tolerance, or a share of the speed where slow motion decides what follows.
    /// That is the motion of a reduced bristle that is about to break loose, where an error of the speed is
    /// one of the moment, and the creep of a law that knows no rest, which adds up.
    fn limits(&self, tolerance: f64, d1: Vector3<f64>, d2: Vector3<f64>) -> [f64; 2] {
        let u = Vector3::from(self.u.to_array());
        let speed = self.size(u).max(self.size(u + d1)).max(self.size(u + d2));
        let relative = (RELATIVE_TOLERANCE * speed).clamp(LEAST_TOLERANCE * tolerance, tolerance);
        let moves = self.contact.body.kind != Kind::Prescribed;
        let slips = self.loading > NEAR_SLIP;
        let creeps = moves && self.contact.friction.law.creeps();
        [slips || creeps, slips].map(|is| if is { relative } else { tolerance })
    }

    /// Solves one stage, `docs/model.md` (40), for the increment of the twist over `u_n`, from the increment
    /// `base`; each turn of the loop is (43).
    fn stage(
        &mut self,
        v: &Inputs,
        t: Transform,
        a: f64,
        base: Vector3<f64>,
        pull: f64,
        at_least: u32,
    ) -> Result<Vector3<f64>, Failed> {
        let body = self.contact.body;
        let st = self.stage_constants(v, a, pull);
        let mass = Matrix3::from_diagonal(&Vector3::new(body.mass, body.mass, body.inertia));
        let load = Vector3::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
        let grip = f64::from(body.pads) * v[slot::F_N];
        let turn = t.matrix();
        let guess = t.body_twist(self.patch_twist);
        let enough = self.tolerance.map_or(NEWTON_TOLERANCE, |t| t.min(NEWTON_TOLERANCE));
        let mut du = Vector3::new(guess.vx - self.u.vx, guess.vy - self.u.vy, guess.w - self.u.w);
        for newton in 1.. {
            let sums = self.sweep(Some(&st));
            let gain = a * grip * (turn.transpose() * sums.gain * turn);
            let rest = mass * (base - du) + a * (load - grip * (turn.transpose() * sums.resist));
            let d = (mass + gain).try_inverse().map_or_else(|| Vector3::repeat(f64::NAN), |inverse| inverse * rest);
            du += d;
            self.patch_twist = t.twist(Twist::new(self.u.vx + du[0], self.u.vy + du[1], self.u.w + du[2]));
            if !du.iter().all(|c| c.is_finite()) {
                self.status.failure = Some((self.status.steps, Reason::Twist));
                return Err(Failed);
            }
            let small = self.size(d) <= enough.min(self.bristles.reach(self.patch_twist));
            if (small && newton >= at_least) || newton == NEWTON_MOST {
                self.unsolved += u64::from(!small);
                self.ambiguous |= !is_definite((1.0 - MASS_MARGIN) * mass + gain);
                self.loading = self.loading.max(self.bristles.loading());
                break;
            }
        }
        self.pending = Some(st);
        Ok(du)
    }

    fn stage_constants(&self, v: &Inputs, a: f64, pull: f64) -> Stage<f64> {
        let (body, f) = (&self.contact.body, &self.contact.friction);
        let mu_d = v[slot::MU_S] - v[slot::MU_C];
        let fall = 2.0 * a * f64::from(body.pads) * v[slot::F_N] * mu_d * self.k_g / f.v_s;
        Stage {
            a_sigma0: a * f.sigma0,
            damping: f.sigma1 / (f.sigma0 * a),
            mu_c: v[slot::MU_C],
            mu_d,
            chi: if fall > body.mass { body.mass / fall } else { 1.0 },
            pull,
        }
    }

    /// One step of a prescribed twist: nothing to solve. `false` if its error was too large, as in
    /// [`Self::step`].
    fn follow(&mut self, interval: &Interval, tau: f64, h: f64, at_least: u32) -> bool {
        let a = KAPPA * h;
        let (v1, v2) = (interval.inputs(tau + a), interval.inputs(tau + h));
        if self.tolerance.is_some() {
            self.bristles.keep();
        }
        let (u1, d1) = self.led(&v1, a, PULL);
        let (u2, d2) = self.led(&v2, a, 1.0);
        if !self.accept(h, d1, d2, at_least, v2[slot::MU_C]) {
            return false;
        }
        self.q.x += h * ((1.0 - KAPPA) * u1.vx + KAPPA * u2.vx);
        self.q.y += h * ((1.0 - KAPPA) * u1.vy + KAPPA * u2.vy);
        self.q.theta += h * ((1.0 - KAPPA) * u1.w + KAPPA * u2.w);
        true
    }

    /// Takes the bristles through a stage of a prescribed twist, which it returns. With a tolerance, also
    /// what the friction over `f_N` gains up to the stage [-, -, 1/m], its torque over `L^2`.
    fn led(&mut self, v: &Inputs, a: f64, pull: f64) -> (Twist, Vector3<f64>) {
        self.patch_twist = Twist::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
        self.pending = Some(self.stage_constants(v, a, pull));
        self.sweep(None);
        let mut gained = Vector3::zeros();
        if self.tolerance.is_some() {
            gained = self.bristles.moved() / pull;
            gained[2] /= self.arm2.max(f64::MIN_POSITIVE);
        }
        (self.patch_twist, gained)
    }

    /// A sweep at the present patch twist: finishes what is pending, answers for `next`.
    fn sweep(&mut self, next: Option<&Stage<f64>>) -> Sums {
        self.status.passes += 1;
        let pending = self.pending.take();
        let u = self.patch_twist;
        self.bristles.sweep(u, pending.as_ref(), next)
    }

    /// The present state at inputs `v`: twist, friction wrench at the patch origin, slipping share.
    /// `Err` if it is not finite.
    pub fn sample(&mut self, v: &Inputs) -> Result<(Twist, Wrench, f64), Failed> {
        if self.pending.is_some() {
            self.sweep(None);
        }
        let (twist, wrench, slip) = observe(self.contact, self.bristles.as_ref(), self.q, self.u, v);
        if wrench.to_array().iter().all(|c| c.is_finite()) {
            Ok((twist, wrench, slip))
        } else {
            self.status.failure = Some((self.status.steps, Reason::Wrench));
            Err(Failed)
        }
    }
}

/// Whether the symmetric part of `m` is positive definite, `docs/model.md` (54): whether the pivots of its
/// elimination are positive.
fn is_definite(m: Matrix3<f64>) -> bool {
    let m = 0.5 * (m + m.transpose());
    let (l1, l2) = (m[(0, 1)] / m[(0, 0)], m[(0, 2)] / m[(0, 0)]);
    let (a11, a12) = (m[(1, 1)] - l1 * m[(0, 1)], m[(1, 2)] - l1 * m[(0, 2)]);
    let a22 = m[(2, 2)] - l2 * m[(0, 2)];
    m[(0, 0)] > 0.0 && a11 > 0.0 && a22 - a12 / a11 * a12 > 0.0
}

/// Twist, friction wrench at the patch origin and slipping share of settled bristles at pose `q`, twist `u`,
/// inputs `v`.
pub fn observe(contact: &Contact, bristles: &dyn Bristles, q: Pose, u: Twist, v: &Inputs) -> (Twist, Wrench, f64) {
    let (twist, patch_twist) = if contact.body.kind == Kind::Prescribed {
        let given = Twist::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
        (given, given)
    } else {
        (u, contact.body.transform(q).twist(u))
    };
    let (sigma1, mu_c, mu_d) = (contact.friction.sigma1, v[slot::MU_C], v[slot::MU_S] - v[slot::MU_C]);
    let (wrench, slip) = bristles.wrench(patch_twist, &Rate { sigma1, mu_c, mu_d }, v[slot::F_N]);
    (twist, wrench, slip)
}
