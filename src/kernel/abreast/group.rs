//! The step of contacts side by side: [`crate::kernel::step`] with a contact in every lane, each at a stage
//! and a time of its own. Twin: `shaders/step.wgsl`, whose sums are compensated in the same way.
//!
//! A pass is what one sweep is to a contact alone: it finishes the stage that was solved, answers for the
//! next one and takes a step of Newton. Lanes never see each other: what a contact does is the same in any
//! company.
#![allow(clippy::needless_range_loop, reason = "a lane is the same place in several arrays")]

use super::transform::{Transform, at};
use super::{Abreast, Bits, add3};
use crate::body;
use crate::contact::Contact;
use crate::kernel::bristles::Bristles;
use crate::kernel::friction::{Stage, steepest_between};
use crate::kernel::step::{
    ARMS, AROUND, CHANGE, ERROR_CONSTANT, FRESH_STEP, KAPPA, LEAST_TOLERANCE, MASS_MARGIN, NEAR_SLIP, NEWTON_MOST,
    NEWTON_TOLERANCE, PULL, RELATIVE_TOLERANCE, RETREAT, SAFETY, SHORTEST_CHOSEN_STEP, SHORTEST_RULED_STEP,
    SHORTEST_TRIED_STEP, THIRD_ORDER_SHARE,
};
use crate::kernel::three::Vec3;
use crate::number::real::{LANES, Real};
use crate::number::simd::copies;
use crate::plan::Plan;
use crate::planar::{Pose, Twist};
use crate::schedule::{Interval, Term, slot};

/// As many contacts as the number type has lanes. An empty lane is one that does not run.
#[derive(Clone, Debug)]
pub struct Group<R: Real, B> {
    /// The bristles.
    pub bristles: B,
    // What a contact is.
    sigma0: R,
    sigma1: R,
    k_g: R,
    gaussian: Bits,
    v_s: R,
    inv_v_s: R,
    mass: Vec3<R>,
    pads: R,
    offset: [R; 2],
    /// `L` [m].
    arm: R,
    /// The lesser of mass and `I/L^2` [kg].
    lightest: R,
    /// The normal force of the present map [N], once it was made anew.
    mapped: [Option<f64>; LANES],
    h_max: [f64; LANES],
    tolerance: Option<f64>,
    creeps: Bits,
    prescribed: Bits,
    gripper: Bits,
    turning: Bits,
    // Where it is.
    u: Vec3<R>,
    u_low: Vec3<R>,
    q: Vec3<R>,
    q_low: Vec3<R>,
    patch_twist: Vec3<R>,
    pending: Bits,
    pending_stage: Stage<R>,
    // The interval: its inputs, and what is left of it [s].
    c: [[R; 3]; slot::COUNT],
    terms: Vec<Vec<Term>>,
    waves: Bits,
    length: [f64; LANES],
    left: [f64; LANES],
    // The step: its length, what it leaves of the interval, where it starts in it.
    rest: [f64; LANES],
    h: R,
    a_sigma0: R,
    damping: R,
    tau: R,
    h_next: R,
    /// The derivative of what [`Group::judge`] compares at the end of the last step, by time.
    rate: Vec3<R>,
    at_least: R,
    /// What [`Group::judge`] compares, up to the first stage.
    du1: Vec3<R>,
    /// The patch twist at its start; of one that is led, in its first stage.
    before: Vec3<R>,
    // The stage.
    second: Bits,
    newton: R,
    du: Vec3<R>,
    /// Lanes whose first and second stage have not converged.
    unsolved: [Bits; 2],
    /// The least pivot of this step's stages; one that is not positive may have several solutions.
    least_pivot: R,
    /// Largest [`Abreast::loading`] in this step.
    loading: R,
    /// Lanes that take part in a pass, those of them that only finish what is pending, and those that begin a
    /// step.
    pub running: Bits,
    settling: Bits,
    begins: Bits,
    /// Passes, steps and stages that did not converge.
    pub passes: [u64; LANES],
    /// Steps taken.
    pub steps: [u64; LANES],
    /// Steps that they may take.
    budget: [u64; LANES],
    /// Stages whose Newton iteration had not converged.
    pub unconverged: [u64; LANES],
}

/// What happened in a pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Events {
    /// Lanes at the end of their interval, or that have settled.
    pub stopped: Bits,
    /// Lanes whose twist is not finite.
    pub failed: Bits,
    /// Lanes that may take no more steps.
    pub spent: Bits,
}

impl<R: Real, B: Abreast<R>> Group<R, B> {
    /// Empty lanes of `bristles`.
    pub fn new(bristles: B, plan: &Plan) -> Self {
        let (zero, one) = (R::of(0.0), R::of(1.0));
        let none = Vec3::zero();
        let stage = Stage { a_sigma0: one, damping: one, mu_c: one, mu_d: zero, chi: one, pull: one };
        Self {
            bristles,
            sigma0: one,
            sigma1: zero,
            k_g: one,
            gaussian: 0,
            v_s: one,
            inv_v_s: one,
            mass: Vec3::new(one, one, one),
            pads: one,
            offset: [zero; 2],
            arm: one,
            lightest: one,
            mapped: [None; LANES],
            h_max: [1.0; LANES],
            tolerance: plan.tolerance,
            creeps: 0,
            prescribed: 0,
            gripper: 0,
            turning: 0,
            u: none,
            u_low: none,
            q: none,
            q_low: none,
            patch_twist: none,
            pending: 0,
            pending_stage: stage,
            c: [[zero; 3]; slot::COUNT],
            terms: vec![Vec::new(); R::LANES],
            waves: 0,
            length: [0.0; LANES],
            left: [0.0; LANES],
            rest: [0.0; LANES],
            h: one,
            a_sigma0: one,
            damping: one,
            tau: zero,
            h_next: R::of(FRESH_STEP),
            rate: none,
            at_least: one,
            du1: none,
            before: none,
            second: 0,
            newton: zero,
            du: none,
            unsolved: [0; 2],
            least_pivot: one,
            loading: zero,
            running: 0,
            settling: 0,
            begins: 0,
            passes: [0; LANES],
            steps: [0; LANES],
            budget: [u64::MAX; LANES],
            unconverged: [0; LANES],
        }
    }

    /// Puts a contact with so many intervals at its initial state into a lane; `alone` are its bristles.
    pub fn seat(&mut self, l: usize, contact: &Contact, alone: &B::Alone, plan: &Plan, intervals: usize) {
        let (f, body) = (&contact.friction, &contact.body);
        let arm2 = alone.arm2(&contact.patch);
        self.bristles.seat(l, alone);
        self.sigma0.set(l, f.sigma0);
        self.sigma1.set(l, f.sigma1);
        self.k_g.set(l, f.steepest_stribeck_slope());
        self.v_s.set(l, f.v_s);
        self.inv_v_s.set(l, 1.0 / f.v_s);
        self.mass.set(l, [body.mass, body.mass, body.inertia]);
        self.pads.set(l, f64::from(body.pads));
        let bit = 1 << l;
        self.gaussian = if f.gamma == 2.0 { self.gaussian | bit } else { self.gaussian & !bit };
        let creeps = f.law.creeps() && body.kind != body::Kind::Prescribed;
        self.creeps = if creeps { self.creeps | bit } else { self.creeps & !bit };
        match body.kind {
            body::Kind::Prescribed => self.prescribed |= bit,
            body::Kind::Gripper => self.gripper |= bit,
            body::Kind::Body => {
                self.turning |= bit;
                self.offset[0].set(l, body.offset[0]);
                self.offset[1].set(l, body.offset[1]);
            }
            body::Kind::World => {}
        }
        self.weigh(l, body, arm2);
        self.h_max[l] = plan.step;
        self.budget[l] = plan.budget(intervals);
        let (q, u) = (contact.initial.pose, contact.initial.twist);
        let u = if body.kind == body::Kind::Prescribed { Twist::default() } else { u };
        self.u.set(l, u.to_array());
        let rounded = self.u.lane(l);
        self.u_low.set(l, [0, 1, 2].map(|i| u.to_array()[i] - rounded[i]));
        self.q.set(l, q.to_array());
        let rounded = self.q.lane(l);
        self.q_low.set(l, [0, 1, 2].map(|i| q.to_array()[i] - rounded[i]));
        self.patch_twist.set(l, body.transform(q).twist(u).to_array());
    }

    /// How angular against linear velocity and a body against its patch weigh in lane `l`, for a map with
    /// `L^2 = arm2` [m^2].
    fn weigh(&mut self, l: usize, body: &body::Body, arm2: f64) {
        self.arm.set(l, arm2.sqrt());
        self.lightest.set(l, body.mass.min(body.inertia / arm2));
    }

    /// Whether the map of lane `l` is that of normal force `f_n` [N].
    pub fn is_mapped(&self, l: usize, f_n: f64) -> bool {
        self.mapped[l] == Some(f_n)
    }

    /// Makes the pressure map of a contact in lane `l` anew at the start of `interval`, if that asks for one
    /// of another force; its bristles `alone` are kept. Settled, if they must be.
    pub fn remap(&mut self, l: usize, contact: &Contact, interval: &Interval, alone: &mut B::Alone) {
        let Some(f_n) = interval.remap else { return };
        if self.is_mapped(l, f_n) {
            return;
        }
        self.mapped[l] = Some(f_n);
        let patch = contact.patch.under(f_n);
        self.bristles.remap(l, &patch, interval.inputs(0.0)[slot::MU_C], alone);
        self.weigh(l, &contact.body, alone.arm2(&patch));
    }

    /// Pose and twist at the centre of mass in one lane, and its bristles into `alone`.
    pub fn state(&self, l: usize, alone: &mut B::Alone) -> (Pose, Twist) {
        let whole = |high: Vec3<R>, low: Vec3<R>| {
            let (high, low) = (high.lane(l), low.lane(l));
            [0, 1, 2].map(|i| high[i] + low[i])
        };
        self.bristles.state(l, alone);
        (whole(self.q, self.q_low).into(), whole(self.u, self.u_low).into())
    }

    /// Whether a stage of the lane is solved, but its bristle has not moved yet.
    pub fn is_pending(&self, l: usize) -> bool {
        self.pending >> l & 1 == 1
    }

    /// The lane's next pass only finishes what is pending.
    pub fn settle(&mut self, l: usize) {
        self.settling |= 1 << l;
        self.running |= 1 << l;
    }

    /// Sets out on an interval.
    pub fn enter(&mut self, l: usize, interval: &Interval) {
        let bit = 1 << l;
        for (to, from) in self.c.iter_mut().zip(&interval.c) {
            to.iter_mut().zip(from).for_each(|(to, from)| to.set(l, *from));
        }
        self.terms[l].clone_from(&interval.terms);
        self.waves &= !bit;
        self.waves |= if interval.terms.is_empty() { 0 } else { bit };
        (self.length[l], self.left[l]) = (interval.length, interval.length);
        self.at_least.set(l, if interval.jump { 2.0 } else { 1.0 });
        if interval.jump {
            self.h_next.set(l, FRESH_STEP);
        }
        self.settling &= !bit;
        self.running |= bit;
        self.begins |= bit;
    }

    /// Takes a contact out of its lane.
    pub fn leave(&mut self, l: usize) {
        let bit = !(1 << l);
        (self.running, self.settling, self.begins) = (self.running & bit, self.settling & bit, self.begins & bit);
        (self.pending, self.waves) = (self.pending & bit, self.waves & bit);
        // Nothing in an empty lane may hold up the others.
        for v in [&mut self.u, &mut self.q, &mut self.patch_twist, &mut self.du, &mut self.du1] {
            v.set(l, [0.0; 3]);
        }
        self.bristles.leave(l);
    }

    /// Inputs at local times `tau` [s].
    #[inline(always)]
    fn inputs(&self, tau: R, who: Bits) -> [R; slot::COUNT] {
        let mut v = [R::of(0.0); slot::COUNT];
        for (v, c) in v.iter_mut().zip(&self.c) {
            *v = tau.fma(tau.fma(c[2], c[1]), c[0]);
        }
        if self.waves & who != 0 {
            self.add_waves(tau, who, &mut v);
        }
        v[slot::F_N] = v[slot::F_N].max(R::of(0.0));
        v
    }

    /// Adds the sinusoids of the lanes that have some.
    #[inline(never)]
    fn add_waves(&self, tau: R, who: Bits, v: &mut [R; slot::COUNT]) {
        let mut waves = self.waves & who;
        while waves != 0 {
            let l = waves.trailing_zeros() as usize;
            waves &= waves - 1;
            let tau = tau.lane(l);
            for q in &self.terms[l] {
                let wave = q.amplitude * (q.omega * tau + q.phase).sin();
                v[q.slot].set(l, v[q.slot].lane(l) + wave);
            }
        }
    }

    /// The steps of the lanes that begin one.
    #[inline(always)]
    fn plan(&mut self) {
        let zero = R::of(0.0);
        let begins = R::mask(self.begins);
        let mut tau = [0.0; LANES];
        for l in 0..LANES {
            tau[l] = self.length[l] - self.left[l];
        }
        self.tau = R::select(begins, narrow(&tau), self.tau);
        let v = self.inputs(self.tau, self.begins);
        let fall = self.pads * v[slot::F_N] * (v[slot::MU_S] - v[slot::MU_C]) * self.slope();
        let gripper = R::mask(self.gripper);
        let ox = R::select(gripper, self.q.x, self.offset[0]);
        let oy = R::select(gripper, self.q.y, self.offset[1]);
        let (mass, inertia) = (self.mass.x, self.mass.z);
        let lever = mass * inertia * mass.fma(ox.fma(ox, oy * oy), inertia).recip();
        let m_e = self.lightest.min(lever);
        let ruled = (m_e * self.v_s * (R::of(KAPPA) * fall).recip()).max(R::of(SHORTEST_RULED_STEP));
        let most = if self.tolerance.is_some() { self.h_next } else { R::of(1e30) };
        let longest = R::select(zero.lt(fall), ruled.min(most), most);
        let longest = R::select(R::mask(self.prescribed), most, longest);
        let (ruled, starts) = (wide(longest), wide(R::select(begins, R::of(1.0), zero)));
        let (left, h_max, old) = (self.left, self.h_max, self.rest);
        let mut h = [0.0; LANES];
        // No branches: these are a few vector instructions.
        for l in 0..LANES {
            let most = if ruled[l] < h_max[l] { ruled[l] } else { h_max[l] };
            let n = (left[l] / most - 1e-6).ceil();
            // The steps are differences of what is left, so that they add up to the interval.
            let rest = if n > 1.0 { left[l] - left[l] / n } else { 0.0 };
            h[l] = left[l] - rest;
            self.rest[l] = if starts[l] > 0.5 { rest } else { old[l] };
        }
        self.h = R::select(begins, narrow(&h), self.h);
        self.a_sigma0 = R::of(KAPPA) * self.h * self.sigma0;
        self.damping = self.sigma1 * self.a_sigma0.recip();
        update::<R>(begins, &mut self.before, self.patch_twist);
        let led = self.begins & self.prescribed;
        if self.tolerance.is_some() && led != 0 {
            self.bristles.keep(R::mask(led));
        }
        self.unsolved = self.unsolved.map(|lanes| lanes & !self.begins);
        self.least_pivot = R::select(begins, R::of(1.0), self.least_pivot);
        self.loading = R::select(begins, zero, self.loading);
        self.begins = 0;
    }

    /// A slope over `s/v_s` that the Stribeck bell does not exceed: `k_g`; with a tolerance and `gamma = 2`,
    /// where a bristle may be in the coming step.
    #[inline(always)]
    fn slope(&self) -> R {
        if self.tolerance.is_none() {
            return self.k_g;
        }
        let Vec3 { x, y, z } = self.patch_twist;
        let (along, around) = (x.fma(x, y * y).sqrt(), R::of(ARMS) * self.arm * z.max(-z));
        let least = (along - around) * R::of(1.0 / AROUND) * self.inv_v_s;
        let most = R::of(AROUND) * (along + around) * self.inv_v_s;
        R::select(R::mask(self.gaussian), steepest_between(least, most).min(self.k_g), self.k_g)
    }

    /// The map at the pose a time `dt` ahead.
    #[inline(always)]
    fn ahead(&self, dt: R) -> Transform<R> {
        let q = self.q.plus(dt, self.u);
        let gripper = R::mask(self.gripper);
        let o = [R::select(gripper, -q.x, self.offset[0]), R::select(gripper, -q.y, self.offset[1])];
        let mut t = Transform { cos: R::of(1.0), sin: R::of(0.0), o };
        if self.turning & self.running != 0 {
            self.turn(q.z, &mut t);
        }
        t
    }

    /// Sine and cosine of the lanes that turn.
    #[inline(never)]
    fn turn(&self, theta: R, t: &mut Transform<R>) {
        let mut turning = self.turning & self.running;
        while turning != 0 {
            let l = turning.trailing_zeros() as usize;
            turning &= turning - 1;
            let (sin, cos) = theta.lane(l).sin_cos();
            t.sin.set(l, sin);
            t.cos.set(l, cos);
        }
    }

    #[inline(always)]
    fn pass_here(&mut self) -> Events {
        let (zero, one) = (R::of(0.0), R::of(1.0));
        if self.begins != 0 {
            self.plan();
        }
        let led = self.prescribed & self.running & !self.settling;
        let solving = self.running & !self.prescribed & !self.settling;
        let second = R::mask(self.second);

        // The stage.
        let a = R::of(KAPPA) * self.h;
        let dt = R::select(second, self.h, a);
        let v = self.inputs(self.tau + dt, self.running & !self.settling);
        let load = Vec3::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
        let mu_d = v[slot::MU_S] - v[slot::MU_C];
        let fall = (a + a) * self.pads * v[slot::F_N] * mu_d * self.k_g * self.inv_v_s;
        let chi = R::select(self.mass.x.lt(fall), self.mass.x * fall.recip(), one);
        let pull = R::select(second, one, R::of(PULL));
        let (a_sigma0, damping) = (self.a_sigma0, self.damping);
        let st = Stage { a_sigma0, damping, mu_c: v[slot::MU_C], mu_d, chi, pull };
        if led != 0 {
            // Nothing to solve.
            let mask = R::mask(led);
            update::<R>(mask, &mut self.patch_twist, load);
            update::<R>(R::mask(led & !self.second), &mut self.before, load);
            self.pending_stage = pick(mask, &st, &self.pending_stage);
            self.pending |= led;
        }

        // The sweep.
        let finish = (&self.pending_stage, self.pending & self.running);
        let cop = self.bristles.cop();
        let (resist, gain) = self.bristles.sweep(at(self.patch_twist, cop), finish, (&st, solving));
        self.pending &= !self.running;

        // The step of Newton, for the increment of the twist over the one at the step's start.
        let t = self.ahead(dt);
        let grip = self.pads * v[slot::F_N];
        let pushed = a * grip;
        let first = R::mask(R::bits(self.newton.lt(R::of(0.5))));
        let du = Vec3::select(first, t.body_twist(self.patch_twist) - self.u, self.du);
        let base = Vec3::select(second, self.du1 * R::of(PULL), Vec3::zero());
        let gain = t.gain(&gain, cop) * pushed;
        let matrix = gain.plus_diagonal(self.mass);
        let rest = (base - du).times(self.mass).plus(a, load).plus(-pushed, t.wrench(resist, cop));
        let d = matrix.solve(rest);
        let mut du = du + d;
        if self.tolerance.is_some() && led != 0 {
            // What the friction over f_N gains up to the stage.
            let gained = self.bristles.moved() * pull.recip();
            let arm2 = (self.arm * self.arm).max(R::of(R::TINY));
            du = Vec3::select(R::mask(led), Vec3::new(gained.x, gained.y, gained.z / arm2), du);
        }
        self.du = du;
        update::<R>(R::mask(solving), &mut self.patch_twist, t.twist(self.u + du));
        let failed = solving & !(finite(du) & finite(self.patch_twist));
        let size = self.size(d);
        let enough = self.tolerance.map_or(NEWTON_TOLERANCE, |t| t.min(NEWTON_TOLERANCE));
        let enough = R::of(enough).min(self.bristles.reach(at(self.patch_twist, cop)));
        let small = !R::bits(enough.lt(size)) & R::bits(size.lt(R::of(f64::from(f32::MAX))));
        self.newton += one;
        let last = !R::bits(self.newton.lt(R::of(f64::from(NEWTON_MOST))));
        let solved = solving & !failed & ((small & !R::bits(self.newton.lt(self.at_least))) | last);
        let unsolved = solved & last & !small;
        self.unsolved[0] |= unsolved & !self.second;
        self.unsolved[1] |= unsolved & self.second;
        if self.tolerance.is_some() {
            let mask = R::mask(solved);
            let pivot = gain.plus_diagonal(self.mass * R::of(1.0 - MASS_MARGIN)).least_pivot();
            self.least_pivot = R::select(mask, pivot.min(self.least_pivot), self.least_pivot);
            self.loading = R::select(mask, self.loading.max(self.bristles.loading()), self.loading);
        }
        count(&mut self.passes, self.running);

        // The ends of stages and steps.
        self.pending |= solved;
        let mask = R::mask(solved);
        self.pending_stage = pick(mask, &st, &self.pending_stage);
        self.newton = R::select(R::mask(solved | !solving), zero, self.newton);
        let half = (solved | led) & !self.second;
        update::<R>(R::mask(half), &mut self.du1, du);
        let mut ended = (solved | led) & self.second;
        self.second ^= solved | led;
        if self.tolerance.is_some() {
            self.bristles.keep(R::mask(half & solved));
            let refused = self.judge(ended, v[slot::MU_C]);
            self.begins |= refused;
            ended &= !refused;
        }
        if ended != 0 {
            let mask = R::mask(ended);
            let mean = |one: Vec3<R>, two| (one * R::of(1.0 - KAPPA)).plus(R::of(KAPPA), two);
            let led = Vec3::select(R::mask(led), mean(self.before, load), self.u + mean(self.du1, du));
            self.move_by(mask, led * self.h);
            let mask = R::mask(ended & solved);
            let (u, u_low) = add3(self.u, self.u_low, du);
            update::<R>(mask, &mut self.u, u);
            update::<R>(mask, &mut self.u_low, u_low);
        }
        let mut stopped = self.settling & self.running;
        let mut spent = 0;
        if ended != 0 {
            count(&mut self.steps, ended);
            for unsolved in self.unsolved {
                count(&mut self.unconverged, ended & unsolved);
            }
            self.at_least = R::select(R::mask(ended), one, self.at_least);
            let (ends, rest) = (wide(R::select(R::mask(ended), one, zero)), self.rest);
            let mut all_left = [0.0; LANES];
            for l in 0..LANES {
                all_left[l] = if ends[l] > 0.5 { rest[l] } else { self.left[l] };
            }
            self.left = all_left;
            let empty = R::bits(narrow::<R>(&all_left).lt(R::of(R::TINY)));
            stopped |= ended & empty;
            spent = self.spent(ended & !empty);
            self.begins |= ended & !empty & !spent;
        }
        self.running &= !(stopped | failed | spent);
        Events { stopped, failed, spent }
    }

    /// Those of some lanes that may take no more steps. Not inlined: LLVM 22 ends with a segmentation fault
    /// where it has this loop among the masks of AVX-512 (its pass "x86 domain reassignment").
    #[inline(never)]
    fn spent(&self, lanes: Bits) -> Bits {
        let spent = |l: usize| Bits::from(self.steps[l] >= self.budget[l]) << l;
        lanes & (0..LANES).map(spent).fold(0, |all, one| all | one)
    }

    /// Moves the poses by `dq`.
    #[inline(always)]
    fn move_by(&mut self, mask: R::Mask, dq: Vec3<R>) {
        let (q, q_low) = add3(self.q, self.q_low, dq);
        update::<R>(mask, &mut self.q, q);
        update::<R>(mask, &mut self.q_low, q_low);
    }

    /// The largest component of a twist as a speed [m/s], its angular part times `L`.
    #[inline(always)]
    fn size(&self, u: Vec3<R>) -> R {
        u.x.max(-u.x).max(u.y.max(-u.y)).max(self.arm * u.z.max(-u.z))
    }

    /// What the estimates of first and third order may be at most: the tolerance, or a share of the speed
    /// where slow motion decides what follows, as [`crate::kernel::step`] says.
    #[inline(always)]
    fn limits(&self, tolerance: R) -> [R; 2] {
        let (u, one) = (self.u, R::of(1.0));
        let speed = self.size(u).max(self.size(u.plus(one, self.du1))).max(self.size(u.plus(one, self.du)));
        let relative = (R::of(RELATIVE_TOLERANCE) * speed).max(R::of(LEAST_TOLERANCE) * tolerance).min(tolerance);
        let third = R::select(R::of(NEAR_SLIP).lt(self.loading), relative, tolerance);
        [R::select(R::mask(self.creeps), relative, third), third]
    }

    /// Which of the steps just done have too large an estimated error, or a stage that has not converged or
    /// may have several solutions; those are as if they had not been. Chooses the next steps. The increments
    /// of lanes that are led are of the friction over `f_N`, and the tolerance is of `mu_c f_N`.
    #[inline(always)]
    fn judge(&mut self, done: Bits, mu_c: R) -> Bits {
        let Some(tolerance) = self.tolerance else { return 0 };
        let (zero, one, tiny) = (R::of(0.0), R::of(1.0), R::of(R::TINY));
        let tolerance = R::of(tolerance) * R::select(R::mask(self.prescribed), mu_c, one);
        // The second stage against the straight line through the first: the error of a first-order step.
        let (d1, d2) = (self.du1, self.du);
        let first = self.size(d2.plus(R::of(-1.0 / KAPPA), d1));
        // The third derivative, from the first derivatives at the step's start, its first stage and its end.
        let per_stage = (R::of(KAPPA) * self.h).recip();
        let (f1, f2) = (d1 * per_stage, d2.plus(R::of((KAPPA - 1.0) / KAPPA), d1) * per_stage);
        let bend = ((f2 - f1) * R::of(1.0 / (1.0 - KAPPA))).plus(R::of(-1.0 / KAPPA), f1 - self.rate);
        let third = R::of(2.0 * ERROR_CONSTANT) * self.h * self.size(bend);
        let third = R::select(one.lt(self.at_least), zero, third);
        let [first_limit, third_limit] = self.limits(tolerance);
        let (first, third) = (first / first_limit, third / (R::of(THIRD_ORDER_SHARE) * third_limit));
        let safety = R::of(SAFETY);
        let error = first.max(third);
        let change = safety * error.max(tiny).rsqrt();
        let change = change.max(R::of(CHANGE[0])).min(R::of(CHANGE[1]));
        let unsolved = self.unsolved[0] | self.unsolved[1];
        let ambiguous = self.least_pivot.lt(tiny);
        let long = R::bits(R::of(SHORTEST_CHOSEN_STEP).lt(self.h));
        let refused = done & long & (R::bits(one.lt(R::select(ambiguous, one + one, error))) | unsolved);
        let mask = R::mask(refused);
        self.bristles.restore(mask);
        update::<R>(mask, &mut self.patch_twist, self.before);
        self.pending &= !refused;
        // A step that the interval's end cut short says nothing against a longer one.
        let cut = R::and(self.h.lt(safety * self.h_next), R::of(1.0).lt(change));
        let taken = self.h * change;
        let taken = R::select(cut, self.h_next.max(taken), taken);
        let most = R::select(ambiguous, R::of(RETREAT), safety);
        let most = R::select(R::mask(unsolved), R::of(RETREAT), most);
        let next = R::select(mask, self.h * change.min(most), taken);
        let next = next.max(R::of(SHORTEST_TRIED_STEP));
        self.h_next = R::select(R::mask(done), next, self.h_next);
        update::<R>(R::mask(done & !refused), &mut self.rate, f2);
        refused
    }
}

copies! {
    /// One pass.
    pub fn pass<R, B: Abreast<R>>(group: &mut Group<R, B>) -> Events {
        group.pass_here()
    }
}

/// The numbers of the lanes in double precision; beyond the last lane, zeros.
#[inline(always)]
fn wide<R: Real>(v: R) -> [f64; LANES] {
    let mut out = [0.0; LANES];
    for l in 0..R::LANES {
        out[l] = v.lane(l);
    }
    out
}

/// Numbers as lanes.
#[inline(always)]
fn narrow<R: Real>(v: &[f64; LANES]) -> R {
    let mut out = R::of(0.0);
    for l in 0..R::LANES {
        out.lanes_mut()[l] = R::Scalar::of(v[l]);
    }
    out
}

/// Where the mask is set the new value, else the old one.
#[inline(always)]
fn update<R: Real>(mask: R::Mask, old: &mut Vec3<R>, new: Vec3<R>) {
    *old = Vec3::select(mask, new, *old);
}

/// The bits of lanes whose three numbers are finite.
#[inline(always)]
fn finite<R: Real>(v: Vec3<R>) -> Bits {
    // Infinity times 0 and NaN are not below 1.
    let zero = R::of(0.0);
    R::bits((v.x * zero + v.y * zero + v.z * zero).lt(R::of(1.0)))
}

/// One more in the lanes of `who`.
#[inline(always)]
fn count(to: &mut [u64; LANES], who: Bits) {
    for (l, to) in to.iter_mut().enumerate() {
        *to += u64::from(who >> l & 1);
    }
}

/// `a` where the mask is set, else `b`.
#[inline(always)]
fn pick<R: Real>(mask: R::Mask, a: &Stage<R>, b: &Stage<R>) -> Stage<R> {
    Stage {
        a_sigma0: R::select(mask, a.a_sigma0, b.a_sigma0),
        damping: R::select(mask, a.damping, b.damping),
        mu_c: R::select(mask, a.mu_c, b.mu_c),
        mu_d: R::select(mask, a.mu_d, b.mu_d),
        chi: R::select(mask, a.chi, b.chi),
        pull: R::select(mask, a.pull, b.pull),
    }
}
