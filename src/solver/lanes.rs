//! The contacts in the lanes of the step: their parameters, their state, and where each is in its run. Contacts
//! enter and leave lanes between two passes.

use super::bristles::{Bits, Bristles, Rate};
use super::constants::FRESH_STEP;
use super::friction::Stage;
use super::linalg::Vec3;
use super::state::State;
use crate::body::{Body, Frame};
use crate::contact::Contact;
use crate::number::real::{LANES, Real};
use crate::patch::Patch;
use crate::plan::Status;
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::{Interval, Term, slot};

/// As many contacts as the number type has lanes. An empty lane is one that does not run.
pub struct Solver<R: Real, B> {
    /// The bristles.
    pub bristles: B,
    // The contacts.
    pub(super) sigma0: R,
    pub(super) sigma1: R,
    /// Largest slope of the Stribeck bell over `s/v_s` [-].
    pub(super) k_g: R,
    /// Lanes with `gamma = 2`.
    pub(super) gaussian: Bits,
    pub(super) v_s: R,
    pub(super) inv_v_s: R,
    /// Mass, mass and inertia.
    pub(super) mass: Vec3<R>,
    pub(super) pads: R,
    pub(super) offset: [R; 2],
    /// `L` of the present map [m].
    pub(super) arm: R,
    /// The lesser of mass and `I/L^2` [kg].
    pub(super) lightest: R,
    /// The normal force of the present map [N], if it was made anew.
    mapped: [Option<f64>; LANES],
    /// Longest steps [s].
    pub(super) h_max: [f64; LANES],
    /// Largest estimated error of a step: of the velocity [m/s], or of a prescribed twist's friction over
    /// `mu_c f_N` [-].
    pub(super) tolerance: Option<f64>,
    /// Lanes whose laws let contacts at rest creep, of moving bodies.
    pub(super) creeps: Bits,
    // Lanes by the kind of their body.
    pub(super) prescribed: Bits,
    pub(super) gripper: Bits,
    pub(super) turning: Bits,
    // The state: twist and pose of the centre of mass, with what rounding has cut off.
    pub(super) u: Vec3<R>,
    pub(super) u_low: Vec3<R>,
    pub(super) q: Vec3<R>,
    pub(super) q_low: Vec3<R>,
    /// The patch twist of the last solve: the next stage's guess, and where a pending stage is committed.
    pub(super) patch_twist: Vec3<R>,
    /// Lanes with a stage that is solved, but whose bristles have not moved yet, and these stages.
    pub(super) pending: Bits,
    pub(super) pending_stage: Stage<R>,
    // The interval: polynomials and sinusoids of the inputs, length and what is left of it [s].
    pub(super) c: [[R; 3]; slot::COUNT],
    pub(super) terms: Vec<Vec<Term>>,
    pub(super) waves: Bits,
    pub(super) length: [f64; LANES],
    pub(super) left: [f64; LANES],
    /// Newton steps of a stage at least: 2 in the first step after a jump of the inputs.
    pub(super) at_least: R,
    // The step: what it leaves of the interval, its length, its start in the interval [s].
    pub(super) rest: [f64; LANES],
    pub(super) h: R,
    pub(super) a_sigma0: R,
    pub(super) damping: R,
    pub(super) tau: R,
    /// With a tolerance: the step to try next [s].
    pub(super) h_next: R,
    /// With a tolerance: the derivative by time of what [`Solver::accept`] compares, at the end of the last step.
    pub(super) rate: Vec3<R>,
    /// The increment up to the first stage: of the twist, or of a prescribed motion's friction over `f_N`.
    pub(super) du1: Vec3<R>,
    /// The patch twist at the start of the step; the prescribed one in its first stage.
    pub(super) before: Vec3<R>,
    // The stage: whether it is the second, its Newton steps so far, the increment up to it.
    pub(super) second: Bits,
    pub(super) newton: R,
    pub(super) du: Vec3<R>,
    /// Lanes whose first and second stage have not converged.
    pub(super) unsolved: [Bits; 2],
    /// The least pivot of this step's stages: a stage whose pivot is not positive may have several solutions.
    pub(super) least_pivot: R,
    /// Largest [`Bristles::loading`] in this step.
    pub(super) loading: R,
    /// Lanes that take part in a pass; those of them that only commit a pending stage; those that start a step.
    pub running: Bits,
    pub(super) flushing: Bits,
    pub(super) starting: Bits,
    pub(super) passes: [u64; LANES],
    pub(super) steps: [u64; LANES],
    /// Steps that they may take.
    pub(super) budget: [u64; LANES],
    pub(super) unconverged: [u64; LANES],
}

impl<R: Real, B: Bristles<R>> Solver<R, B> {
    /// Empty lanes of `bristles`, which step by `tolerance` if there is one.
    pub fn new(bristles: B, tolerance: Option<f64>) -> Self {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let none = Vec3::zero();
        let stage = Stage { a_sigma0: one, damping: one, mu_c: one, mu_d: zero, chi: one, extrapolation: one };
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
            tolerance,
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
            at_least: one,
            rest: [0.0; LANES],
            h: one,
            a_sigma0: one,
            damping: one,
            tau: zero,
            h_next: R::splat(FRESH_STEP),
            rate: none,
            du1: none,
            before: none,
            second: 0,
            newton: zero,
            du: none,
            unsolved: [0; 2],
            least_pivot: one,
            loading: zero,
            running: 0,
            flushing: 0,
            starting: 0,
            passes: [0; LANES],
            steps: [0; LANES],
            budget: [u64::MAX; LANES],
            unconverged: [0; LANES],
        }
    }

    /// Puts a contact at its initial state into a lane; `active` are the cells of a grid that carry pressure at some
    /// time.
    pub fn load(&mut self, l: usize, contact: &Contact, step: f64, active: &[usize]) {
        let (f, body) = (contact.friction.as_the_law_reads_them(), &contact.body);
        let prescribed = body.free().is_none();
        let frame = body.free().map(|body| body.frame);
        let constants = body.constants();
        for lanes in [&mut self.running, &mut self.flushing, &mut self.starting, &mut self.pending, &mut self.waves] {
            set_bit(lanes, l, false);
        }
        self.bristles.load(l, contact, active);
        self.sigma0.set(l, f.sigma0);
        self.sigma1.set(l, f.sigma1);
        self.k_g.set(l, f.steepest_stribeck_slope());
        self.v_s.set(l, f.v_s);
        self.inv_v_s.set(l, 1.0 / f.v_s);
        self.mass.set(l, [constants.mass, constants.mass, constants.inertia]);
        self.pads.set(l, constants.pads);
        self.offset[0].set(l, constants.offset[0]);
        self.offset[1].set(l, constants.offset[1]);
        set_bit(&mut self.gaussian, l, f.gamma == 2.0);
        set_bit(&mut self.creeps, l, !f.law.is_elastic() && !prescribed);
        set_bit(&mut self.prescribed, l, prescribed);
        set_bit(&mut self.gripper, l, matches!(frame, Some(Frame::Gripper)));
        set_bit(&mut self.turning, l, matches!(frame, Some(Frame::Body { .. })));
        self.weigh(l, body, self.bristles.arm2(&contact.patch));
        self.h_max[l] = step;
        self.mapped[l] = None;
        (self.steps[l], self.passes[l], self.unconverged[l]) = (0, 0, 0);
        self.second &= !(1 << l);
        self.newton.set(l, 0.0);
        self.h_next.set(l, FRESH_STEP);
        self.rate.set(l, [0.0; 3]);
        let (q, u) = (contact.initial.pose, body.first_twist());
        set_compensated(&mut self.u, &mut self.u_low, l, u.to_array());
        set_compensated(&mut self.q, &mut self.q_low, l, q.to_array());
        self.patch_twist.set(l, body.transform(q).twist(u).to_array());
    }

    /// How angular against linear velocity and a body against its patch weigh in a lane, for a map with
    /// `L^2 = arm2` [m^2].
    fn weigh(&mut self, l: usize, body: &Body, arm2: f64) {
        let body = body.constants();
        self.arm.set(l, arm2.sqrt());
        self.lightest.set(l, body.mass.min(body.inertia / arm2));
    }

    /// Whether a lane must commit a pending stage before it follows a new map of normal force `f_n` [N].
    pub fn must_flush_before(&self, l: usize, f_n: f64) -> bool {
        self.is_pending(l) && self.bristles.holds_map() && self.mapped[l] != Some(f_n)
    }

    /// Makes the pressure map of a contact in a lane anew at the start of `interval`, if that asks for one of
    /// another normal force; the bristles are kept.
    pub fn remap(&mut self, l: usize, contact: &Contact, interval: &Interval) {
        let Some(f_n) = interval.remap else { return };
        if self.mapped[l].replace(f_n) == Some(f_n) {
            return;
        }
        self.set_map(l, contact, &contact.patch.under(f_n), interval.inputs(0.0)[slot::MU_C]);
    }

    /// Gives a lane another pressure map; the bristles are kept, and no stage is pending that must be committed on the
    /// map before.
    pub fn set_map(&mut self, l: usize, contact: &Contact, patch: &Patch, mu_c: f64) {
        self.bristles.remap(l, patch, mu_c);
        self.weigh(l, &contact.body, self.bristles.arm2(patch));
    }

    /// Pose of the centre of mass in a lane, its twist, the friction wrench at the patch origin and the slipping
    /// share at inputs `v`. No stage is pending.
    pub fn sample(&mut self, l: usize, contact: &Contact, v: &[f64; slot::COUNT]) -> (Pose, Twist, Wrench, f64) {
        let (q, u) = (compensated(self.q, self.q_low, l).into(), compensated(self.u, self.u_low, l).into());
        let (twist, patch_twist) = if contact.body.free().is_none() {
            let given = Twist::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
            (given, given)
        } else {
            (u, contact.body.transform(q).twist(u))
        };
        let (mu_c, mu_d) = (v[slot::MU_C], v[slot::MU_S] - v[slot::MU_C]);
        let rate = Rate { sigma1: contact.friction.as_the_law_reads_them().sigma1, mu_c, mu_d };
        let (wrench, slip) = self.bristles.wrench(l, patch_twist, &rate, v[slot::F_N]);
        (q, twist, wrench, slip)
    }

    /// Whether a stage of a lane is solved, but its bristles have not moved yet.
    pub fn is_pending(&self, l: usize) -> bool {
        self.pending >> l & 1 == 1
    }

    /// Lets a lane's next pass do nothing but commit the pending stage.
    pub fn flush(&mut self, l: usize) {
        self.flushing |= 1 << l;
        self.running |= 1 << l;
    }

    /// Lets a lane run through an interval.
    pub fn start_interval(&mut self, l: usize, interval: &Interval) {
        for (to, from) in self.c.iter_mut().zip(&interval.c) {
            to.iter_mut().zip(from).for_each(|(to, from)| to.set(l, *from));
        }
        self.terms[l].clone_from(&interval.terms);
        set_bit(&mut self.waves, l, !interval.terms.is_empty());
        (self.length[l], self.left[l]) = (interval.length, interval.length);
        self.at_least.set(l, if interval.jump { 2.0 } else { 1.0 });
        if interval.jump {
            self.h_next.set(l, FRESH_STEP);
        }
        set_bit(&mut self.flushing, l, false);
        set_bit(&mut self.running, l, true);
        set_bit(&mut self.starting, l, true);
    }

    /// Lets a lane take so many steps more.
    pub fn allow(&mut self, l: usize, steps: u64) {
        self.budget[l] = self.steps[l].saturating_add(steps);
    }

    /// Takes the pass of a [`Solver::flush`] out of a lane's count.
    pub fn forget_pass(&mut self, l: usize) {
        self.passes[l] -= 1;
    }

    /// The state of a lane between two steps, but for its bristles.
    pub fn state(&self, l: usize) -> State {
        let [u, u_low, q, q_low] = [self.u, self.u_low, self.q, self.q_low].map(|v| v.lane(l));
        let stage = self.pending_stage;
        let pending = [stage.a_sigma0, stage.damping, stage.mu_c, stage.mu_d, stage.chi, stage.extrapolation];
        State {
            u,
            u_low,
            q,
            q_low,
            patch_twist: self.patch_twist.lane(l),
            rate: self.rate.lane(l),
            h_next: self.h_next.lane(l),
            pending: self.is_pending(l).then(|| pending.map(|v| v.lane(l))),
            mapped: self.mapped[l],
            steps: self.steps[l],
            passes: self.passes[l],
            unconverged: self.unconverged[l],
            ..State::default()
        }
    }

    /// Goes to a state of the contact in a lane, with its bristles.
    pub fn set_state(&mut self, l: usize, contact: &Contact, state: &State, bristles: &[[f64; 2]]) {
        set_split(&mut self.u, &mut self.u_low, l, state.u, state.u_low);
        set_split(&mut self.q, &mut self.q_low, l, state.q, state.q_low);
        self.patch_twist.set(l, state.patch_twist);
        self.rate.set(l, state.rate);
        self.h_next.set(l, state.h_next);
        set_bit(&mut self.pending, l, state.pending.is_some());
        if let Some(stage) = state.pending {
            let Stage { a_sigma0, damping, mu_c, mu_d, chi, extrapolation } = &mut self.pending_stage;
            for (to, from) in [a_sigma0, damping, mu_c, mu_d, chi, extrapolation].into_iter().zip(stage) {
                to.set(l, from);
            }
        }
        if let Some(f_n) = state.mapped.filter(|f_n| self.mapped[l] != Some(*f_n)) {
            self.mapped[l] = Some(f_n);
            self.set_map(l, contact, &contact.patch.under(f_n), contact.friction.mu_c);
        } else if contact.patch.takes_frames() {
            self.set_map(l, contact, &contact.patch, contact.friction.mu_c);
        }
        (self.steps[l], self.passes[l], self.unconverged[l]) = (state.steps, state.passes, state.unconverged);
        self.bristles.put(l, state, bristles);
    }

    /// How a lane fares, but for a failure.
    pub fn status(&self, l: usize) -> Status {
        Status { failure: None, unconverged: self.unconverged[l], steps: self.steps[l], passes: self.passes[l] }
    }

    /// Empties a lane.
    pub fn clear(&mut self, l: usize) {
        for lanes in [&mut self.running, &mut self.flushing, &mut self.starting, &mut self.pending, &mut self.waves] {
            set_bit(lanes, l, false);
        }
        // What stays in an empty lane is computed with, and must not become slow or infinite.
        for v in [&mut self.u, &mut self.q, &mut self.patch_twist, &mut self.du, &mut self.du1] {
            v.set(l, [0.0; 3]);
        }
        self.bristles.clear(l);
    }
}

fn set_bit(lanes: &mut Bits, l: usize, on: bool) {
    *lanes = if on { *lanes | 1 << l } else { *lanes & !(1 << l) };
}

/// Sets a lane to three numbers, and `low` to what the lane's numbers cannot hold of them.
pub(super) fn set_compensated<R: Real>(high: &mut Vec3<R>, low: &mut Vec3<R>, l: usize, value: [f64; 3]) {
    high.set(l, value);
    let rounded = high.lane(l);
    low.set(l, [0, 1, 2].map(|i| value[i] - rounded[i]));
}

/// Sets a lane to numbers and what their sums have cut off, which may come from another number type.
pub(super) fn set_split<R: Real>(high: &mut Vec3<R>, low: &mut Vec3<R>, l: usize, of: [f64; 3], rest: [f64; 3]) {
    high.set(l, of);
    let rounded = high.lane(l);
    low.set(l, [0, 1, 2].map(|i| rest[i] + (of[i] - rounded[i])));
}

/// The three numbers of a lane.
pub(super) fn compensated<R: Real>(high: Vec3<R>, low: Vec3<R>, l: usize) -> [f64; 3] {
    let (high, low) = (high.lane(l), low.lane(l));
    [0, 1, 2].map(|i| high[i] + low[i])
}
