//! The contacts in the lanes of the step: the parameters and the state of each, and its place in its
//! interval. A contact is put into a lane, and a lane emptied, between two passes.

use super::bristles::{Bits, Bristles, Rate, Shares};
use super::commit::respond_to;
use super::constants::{FRESH_STEP, UNSOLVED};
use super::directed::Directions;
use super::friction::Stage;
use super::inputs::LaneInterval;
use super::lane_solver::LaneSolver;
use super::linalg::Vec3;
use super::moving_surface::SurfaceState;
use super::parts::Parts;
use super::respond::{Response, respond};
use super::state::State;
use super::step::{Events, pass};
use crate::body::{Body, Frame};
use crate::contact::Contact;
use crate::number::real::Real;
use crate::patch::{MAX_PATCHES, Patch};
use crate::plan::Status;
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::{Interval, MapKey, slot};

/// The stepping of as many contacts as the number type has lanes, one in each. Empty lanes do not run.
pub struct Solver<R: Real, B> {
    /// The bristles.
    pub(super) bristles: B,
    /// Largest estimated error of a step: of the velocity [m/s], or of a prescribed twist's friction over
    /// `mu_c f_N` [-].
    pub(super) tolerance: Option<f64>,
    /// Whether stages are solved to rounding, so that they can be differentiated.
    pub(super) settles: bool,
    pub(super) contacts: Contacts<R>,
    pub(super) directions: Directions<R>,
    pub(super) body: BodyState<R>,
    pub(super) surface: SurfaceState<R>,
    pub(super) parts: Parts<R>,
    pub(super) interval: LaneInterval<R>,
    pub(super) step: Step<R>,
    pub(super) stage: StageState<R>,
    pub(super) counts: Counts<R>,
    /// Lanes that take part in a pass; those of them that only write a pending stage back; those that start a
    /// step.
    pub(super) running: Bits,
    pub(super) flushing: Bits,
    pub(super) starting: Bits,
}

/// Parameters of the contacts: valid from the loading of a contact to that of the next; `arm`, `least_mass`
/// and `mapped` from one map to the next.
pub(super) struct Contacts<R: Real> {
    pub(super) sigma0: R,
    pub(super) sigma1: R,
    /// Largest slope of the Stribeck bell over `s/v_s` [-].
    pub(super) k_g: R,
    /// The greatest factor of friction [-]: of the friction map, and of `A^2` where friction has axes.
    pub(super) most_friction: R,
    /// Lanes with `gamma = 2`.
    pub(super) gaussian: Bits,
    pub(super) v_s: R,
    pub(super) inv_v_s: R,
    /// Mass, mass and inertia.
    pub(super) mass: Vec3<R>,
    /// Number of pads.
    pub(super) pads: R,
    pub(super) offset: [R; 2],
    /// `L` of the present map [m].
    pub(super) arm: R,
    /// The smaller of the mass and `I/L^2` [kg], two of the three effective masses of `docs/model.md` (49).
    pub(super) least_mass: R,
    /// What the present map was made for; none for the initial map.
    pub(super) mapped: R::Each<Option<MapKey>>,
    /// Longest steps [s].
    pub(super) h_max: R::Each<f64>,
    /// Lanes with a free body under a law without an elastic range, under which a contact that sticks creeps.
    pub(super) creeps: Bits,
    // Lanes by the kind of their body; the patch of those in `turning` turns with it.
    pub(super) prescribed: Bits,
    pub(super) gripper: Bits,
    pub(super) turning: Bits,
}

/// What a contact takes along from one step to the next: valid between two steps.
pub(super) struct BodyState<R: Real> {
    // Twist and pose of the centre of mass as compensated sums; the low parts hold what rounding cut off.
    pub(super) u: Vec3<R>,
    pub(super) u_low: Vec3<R>,
    pub(super) q: Vec3<R>,
    pub(super) q_low: Vec3<R>,
    /// The patch twist of the last solve, relative to the surface: the next stage's guess, and where a
    /// pending stage is written back.
    pub(super) patch_twist: Vec3<R>,
    /// Lanes with a pending stage, which is solved but not written back to the bristles yet, and these
    /// stages.
    pub(super) pending: Bits,
    pub(super) pending_stage: Stage<R>,
    /// With a tolerance: the derivative by time of what [`Solver::accept`] compares, at the end of the last
    /// step.
    pub(super) rate: Vec3<R>,
    /// With a tolerance: the step to try next [s].
    pub(super) h_next: R,
    /// Least number of Newton steps of a stage: 2 in the first step after a jump of the inputs, else 1.
    pub(super) at_least: R,
}

/// The step of each lane: valid from [`Solver::start_step`] to [`Solver::finish_step`].
pub(super) struct Step<R: Real> {
    /// The time that it leaves of the interval, its length, and its start in the interval [s].
    pub(super) rest: R::Each<f64>,
    pub(super) h: R,
    pub(super) a_sigma0: R,
    pub(super) damping: R,
    pub(super) tau: R,
    /// The increment up to the first stage: of the twist, or of a prescribed motion's friction over `f_N`.
    pub(super) du1: Vec3<R>,
    /// The patch twist at the start of the step; the prescribed one in its first stage.
    pub(super) before: Vec3<R>,
    /// Lanes whose first stage has not converged, and those whose second has not.
    pub(super) unsolved: [Bits; 2],
    /// The least pivot of this step's stages: a stage whose pivot is not positive may have several solutions.
    pub(super) least_pivot: R,
    /// Largest [`Bristles::loading`] in this step.
    pub(super) loading: R,
}

/// The stage of each lane: valid from the end of the stage before it to its own end.
pub(super) struct StageState<R: Real> {
    /// Lanes in their second stage.
    pub(super) second: Bits,
    /// Newton steps so far.
    pub(super) newton: R,
    /// The increment up to it.
    pub(super) du: Vec3<R>,
    /// Where stages are solved to rounding: lanes that are, and the size of the last Newton step [m/s].
    pub(super) settled: Bits,
    pub(super) last: R,
}

/// What the status of a contact counts: valid from the loading of a contact to that of the next.
pub(super) struct Counts<R: Real> {
    pub(super) passes: R::Each<u64>,
    pub(super) steps: R::Each<u64>,
    /// Steps that they may take.
    pub(super) budget: R::Each<u64>,
    pub(super) unconverged: R::Each<u64>,
}

impl<R: Real, B: Bristles<R>> Solver<R, B> {
    /// Empty lanes of `bristles`, which step by `tolerance` if there is one.
    pub fn new(bristles: B, tolerance: Option<f64>) -> Self {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let none = Vec3::zero();
        let pending_stage =
            Stage { a_sigma0: one, damping: one, mu_c: one, mu_d: zero, chi: one, extrapolation: one, cuts: zero };
        Self {
            bristles,
            tolerance,
            settles: false,
            contacts: Contacts {
                sigma0: one,
                sigma1: zero,
                k_g: one,
                most_friction: one,
                gaussian: 0,
                v_s: one,
                inv_v_s: one,
                mass: Vec3::new(one, one, one),
                pads: one,
                offset: [zero; 2],
                arm: one,
                least_mass: one,
                mapped: R::each(None::<MapKey>),
                h_max: R::each(1.0),
                creeps: 0,
                prescribed: 0,
                gripper: 0,
                turning: 0,
            },
            directions: Directions::none(),
            body: BodyState {
                u: none,
                u_low: none,
                q: none,
                q_low: none,
                patch_twist: none,
                pending: 0,
                pending_stage,
                rate: none,
                h_next: R::splat(FRESH_STEP),
                at_least: one,
            },
            surface: SurfaceState::new(),
            parts: Parts::none(),
            interval: LaneInterval::new(),
            step: Step {
                rest: R::each(0.0),
                h: one,
                a_sigma0: one,
                damping: one,
                tau: zero,
                du1: none,
                before: none,
                unsolved: [0; 2],
                least_pivot: one,
                loading: zero,
            },
            stage: StageState { second: 0, newton: zero, du: none, settled: 0, last: R::splat(UNSOLVED) },
            counts: Counts {
                passes: R::each(0_u64),
                steps: R::each(0_u64),
                budget: R::each(u64::MAX),
                unconverged: R::each(0_u64),
            },
            running: 0,
            flushing: 0,
            starting: 0,
        }
    }

    /// Sets `L` in a lane, and the effective masses that depend on it, for a map with `L^2 = arm2` [m^2].
    fn set_arm(&mut self, l: usize, body: &Body, arm2: f64) {
        let body = body.constants();
        self.contacts.arm.set(l, arm2.sqrt());
        self.contacts.least_mass.set(l, body.mass.min(body.inertia / arm2));
    }

    /// Takes a lane out of its interval, wherever in a step it is.
    fn stop(&mut self, l: usize) {
        for lanes in
            [&mut self.running, &mut self.flushing, &mut self.starting, &mut self.body.pending, &mut self.stage.second]
        {
            set_bit(lanes, l, false);
        }
        self.interval.clear(l);
        self.stage.newton.set(l, 0.0);
    }

    /// Gives a lane another pressure map; the bristles are kept, and no stage is pending that must be
    /// written back on the map before.
    fn follow_map(&mut self, l: usize, contact: &Contact, patch: &Patch, mu: [f64; 2]) {
        self.bristles.remap(l, patch, mu);
        self.set_arm(l, &contact.body, self.bristles.arm2(patch));
    }
}

impl<R: Real, B: Bristles<R>> LaneSolver for Solver<R, B> {
    const LANES: usize = R::LANES;
    type Scratch = B::Scratch;

    fn load(&mut self, l: usize, contact: &Contact, step: f64, active: &[usize]) {
        let (f, body) = (contact.friction.effective_for_law(), &contact.body);
        let prescribed = body.free().is_none();
        let frame = body.free().map(|body| body.frame);
        let constants = body.constants();
        self.stop(l);
        self.bristles.load(l, contact, active);
        self.contacts.sigma0.set(l, f.sigma0);
        self.contacts.sigma1.set(l, f.sigma1);
        self.contacts.k_g.set(l, f.steepest_stribeck_slope());
        self.directions.set(l, contact.patch.friction_axes());
        self.contacts.most_friction.set(l, contact.patch.most_friction());
        self.contacts.v_s.set(l, f.v_s);
        self.contacts.inv_v_s.set(l, 1.0 / f.v_s);
        self.contacts.mass.set(l, [constants.mass, constants.mass, constants.inertia]);
        self.contacts.pads.set(l, constants.pads);
        self.contacts.offset[0].set(l, constants.offset[0]);
        self.contacts.offset[1].set(l, constants.offset[1]);
        set_bit(&mut self.contacts.gaussian, l, f.gamma == 2.0);
        set_bit(&mut self.contacts.creeps, l, !f.law.is_elastic() && !prescribed);
        set_bit(&mut self.contacts.prescribed, l, prescribed);
        set_bit(&mut self.contacts.gripper, l, matches!(frame, Some(Frame::Gripper)));
        set_bit(&mut self.contacts.turning, l, matches!(frame, Some(Frame::Body { .. })));
        self.set_arm(l, body, contact.largest_arm2(self.bristles.arm2(&contact.patch)));
        self.parts.set(contact);
        self.contacts.h_max[l] = step;
        self.contacts.mapped[l] = None;
        (self.counts.steps[l], self.counts.passes[l], self.counts.unconverged[l]) = (0, 0, 0);
        self.body.h_next.set(l, FRESH_STEP);
        self.body.rate.set(l, [0.0; 3]);
        self.surface.set(l, contact.inputs.surface.is_some());
        let (q, u) = (contact.initial.pose, contact.first_body_twist());
        set_compensated(&mut self.body.u, &mut self.body.u_low, l, u.to_array());
        set_compensated(&mut self.body.q, &mut self.body.q_low, l, q.to_array());
        self.body.patch_twist.set(l, contact.slip_twist(q, 0.0, u, contact.surface_at(0.0)).to_array());
    }

    fn allow(&mut self, l: usize, steps: u64) {
        self.counts.budget[l] = self.counts.steps[l].saturating_add(steps);
    }

    fn start_interval(&mut self, l: usize, interval: &Interval) {
        self.interval.start(l, interval);
        self.body.at_least.set(l, if interval.jump { 2.0 } else { 1.0 });
        if interval.jump {
            self.body.h_next.set(l, FRESH_STEP);
        }
        set_bit(&mut self.flushing, l, false);
        set_bit(&mut self.running, l, true);
        set_bit(&mut self.starting, l, true);
    }

    fn running(&self) -> Bits {
        self.running
    }

    fn pass(&mut self) -> Events {
        pass(self)
    }

    fn take_parts(&mut self, l: usize, contact: &Contact, of_parts: &[[f64; slot::OF_PART]]) {
        if !self.drives_parts() {
            return;
        }
        let q = compensated(self.body.q, self.body.q_low, l).into();
        let part = |[force, vx, vy, w]: &[f64; slot::OF_PART]| {
            let own = contact.surface_of_part(q, Twist::new(*vx, *vy, *w));
            (contact.patch.bristle_twist(own).to_array(), *force)
        };
        let mut parts = [([0.0; 3], 0.0); MAX_PATCHES];
        parts.iter_mut().zip(of_parts).for_each(|(to, of)| *to = part(of));
        self.sample_parts(l, &parts[..of_parts.len()]);
    }

    fn sample(&mut self, l: usize, contact: &Contact, v: &[f64; slot::COUNT]) -> (Pose, Twist, Wrench, Shares) {
        let (q, u) =
            (compensated(self.body.q, self.body.q_low, l).into(), compensated(self.body.u, self.body.u_low, l).into());
        let is_given = contact.body.free().is_none();
        let u = if is_given { Twist::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]) } else { u };
        let surface = Twist::new(v[slot::SURFACE], v[slot::SURFACE + 1], v[slot::SURFACE + 2]);
        let turn = compensated(self.surface.turn, self.surface.turn_low, l)[0];
        let patch_twist = contact.slip_twist(q, turn, u, surface);
        let twist = contact.sampled_twist(q, u, patch_twist);
        let (mu_c, mu_d) = (v[slot::MU_C], v[slot::MU_S] - v[slot::MU_C]);
        let rate = Rate { sigma1: contact.friction.effective_for_law().sigma1, mu_c, mu_d };
        let bristle_twist = contact.patch.bristle_twist(patch_twist);
        if self.drives_parts() && contact.moves_loads() {
            self.balance_loads(l, contact, bristle_twist, &rate);
        }
        let (wrench, shares) = self.bristles.wrench(l, bristle_twist, &rate, v[slot::F_N]);
        (q, twist, contact.patch.patch_wrench(wrench), shares)
    }

    fn respond(&mut self, l: usize, contact: &Contact, twist: Twist, dt: f64, v: &[f64; slot::COUNT]) -> Response {
        // With several lanes a pass would compute one result and ignore the others. The state is evaluated by
        // a solver with one lane, which spares compiling that pass of a grid for every number type.
        if const { R::LANES > 1 && !B::RESPONDS_IN_LANES } {
            let mut state = State::default();
            self.export(l, &mut state);
            state.inputs = *v;
            respond_to(contact, &state, twist, dt)
        } else {
            respond(self, l, twist, dt, v)
        }
    }

    fn status(&self, l: usize) -> Status {
        let (unconverged, steps, passes) = (self.counts.unconverged[l], self.counts.steps[l], self.counts.passes[l]);
        Status { unconverged, steps, passes, ..Status::default() }
    }

    fn clear(&mut self, l: usize) {
        self.stop(l);
        // An empty lane is computed with the others. Zeros keep it from denormal and infinite numbers, which
        // some processors compute with slowly.
        for v in
            [&mut self.body.u, &mut self.body.q, &mut self.body.patch_twist, &mut self.stage.du, &mut self.step.du1]
        {
            v.set(l, [0.0; 3]);
        }
        self.directions.set(l, None);
        self.bristles.clear(l);
    }

    fn states(&self, l: usize) -> Vec<[f64; 2]> {
        self.bristles.states(l)
    }

    fn export(&self, l: usize, state: &mut State) {
        let [u, u_low, q, q_low] = [self.body.u, self.body.u_low, self.body.q, self.body.q_low].map(|v| v.lane(l));
        let stage = self.body.pending_stage;
        let pending = [stage.a_sigma0, stage.damping, stage.mu_c, stage.mu_d, stage.chi, stage.extrapolation];
        let mut bristles = std::mem::take(&mut state.bristles);
        bristles.clear();
        *state = State {
            u,
            u_low,
            q,
            q_low,
            turn: [self.surface.turn, self.surface.turn_low].map(|turn| turn.lane(l)[0]),
            patch_twist: self.body.patch_twist.lane(l),
            rate: self.body.rate.lane(l),
            h_next: self.body.h_next.lane(l),
            pending: self.is_pending(l).then(|| pending.map(|v| v.lane(l))),
            mapped: self.contacts.mapped[l],
            steps: self.counts.steps[l],
            passes: self.counts.passes[l],
            unconverged: self.counts.unconverged[l],
            bristles,
            ..State::default()
        };
        self.bristles.export(l, state);
    }

    fn import(&mut self, l: usize, contact: &Contact, state: &State) {
        set_split(&mut self.body.u, &mut self.body.u_low, l, state.u, state.u_low);
        set_split(&mut self.body.q, &mut self.body.q_low, l, state.q, state.q_low);
        let [turn, turn_low] = state.turn.map(|turn| [turn, 0.0, 0.0]);
        set_split(&mut self.surface.turn, &mut self.surface.turn_low, l, turn, turn_low);
        self.body.patch_twist.set(l, state.patch_twist);
        self.body.rate.set(l, state.rate);
        self.body.h_next.set(l, state.h_next);
        set_bit(&mut self.body.pending, l, state.pending.is_some());
        if let Some(stage) = state.pending {
            let Stage { a_sigma0, damping, mu_c, mu_d, chi, extrapolation, cuts } = &mut self.body.pending_stage;
            // A stage of a prescribed motion, which may cut, is never pending between two passes.
            cuts.set(l, 0.0);
            for (to, from) in [a_sigma0, damping, mu_c, mu_d, chi, extrapolation].into_iter().zip(stage) {
                to.set(l, from);
            }
        }
        if let Some(key) = state.mapped.filter(|key| self.contacts.mapped[l] != Some(*key)) {
            self.contacts.mapped[l] = Some(key);
            self.follow_map(l, contact, &contact.patch.at(key), [contact.friction.mu_c; 2]);
        } else if contact.patch.takes_frames() {
            self.follow_map(l, contact, &contact.patch, [contact.friction.mu_c; 2]);
        }
        (self.counts.steps[l], self.counts.passes[l], self.counts.unconverged[l]) =
            (state.steps, state.passes, state.unconverged);
        self.bristles.import(l, state);
    }

    fn remap(&mut self, l: usize, contact: &Contact, interval: &Interval) {
        let Some(key) = interval.remap else { return };
        if self.contacts.mapped[l].replace(key) == Some(key) {
            return;
        }
        let now = interval.inputs(0.0);
        self.follow_map(l, contact, &contact.patch.at(key), [now[slot::MU_C], now[slot::MU_S]]);
    }

    fn set_map(&mut self, l: usize, contact: &Contact, mu_c: f64) {
        self.follow_map(l, contact, &contact.patch, [mu_c; 2]);
    }

    fn mapped(&self, l: usize) -> Option<MapKey> {
        self.contacts.mapped[l]
    }

    fn must_flush_before(&self, l: usize, key: Option<MapKey>) -> bool {
        self.bristles.commits_before_remap() && (key.is_none() || self.contacts.mapped[l] != key)
    }

    fn is_pending(&self, l: usize) -> bool {
        self.body.pending >> l & 1 == 1
    }

    fn flush(&mut self, l: usize) {
        self.flushing |= 1 << l;
        self.running |= 1 << l;
    }

    fn forget_pass(&mut self, l: usize) {
        self.counts.passes[l] -= 1;
    }

    fn exchange_scratch(&mut self, other: &mut B::Scratch) {
        self.bristles.exchange_scratch(other);
    }

    fn share(&mut self, other: &Self) {
        self.bristles.share(&other.bristles);
    }

    fn prefetch(&self) {
        self.bristles.prefetch();
    }
}

pub(super) fn set_bit(lanes: &mut Bits, l: usize, on: bool) {
    *lanes = if on { *lanes | 1 << l } else { *lanes & !(1 << l) };
}

/// Sets a lane of `high` to three numbers, and of `low` to what the precision of the lane cuts off of them.
pub(super) fn set_compensated<R: Real>(high: &mut Vec3<R>, low: &mut Vec3<R>, l: usize, value: [f64; 3]) {
    high.set(l, value);
    let rounded = high.lane(l);
    low.set(l, [0, 1, 2].map(|i| value[i] - rounded[i]));
}

/// Sets a lane to three compensated sums, `of` and their low parts `rest`, which may come from another number
/// type.
pub(super) fn set_split<R: Real>(high: &mut Vec3<R>, low: &mut Vec3<R>, l: usize, of: [f64; 3], rest: [f64; 3]) {
    high.set(l, of);
    let rounded = high.lane(l);
    low.set(l, [0, 1, 2].map(|i| rest[i] + (of[i] - rounded[i])));
}

/// The three compensated sums of a lane.
pub(super) fn compensated<R: Real>(high: Vec3<R>, low: Vec3<R>, l: usize) -> [f64; 3] {
    let (high, low) = (high.lane(l), low.lane(l));
    [0, 1, 2].map(|i| high[i] + low[i])
}

#[cfg(test)]
mod tests;
