//! Derivatives of a rollout over parameters (`docs/model.md`, section 15): the step with numbers that carry
//! derivatives ([`Dual`]), from which the derivatives of the parameters start ([`seed`]) and which are read
//! at the samples.
//!
//! Every stage is solved to rounding and evaluated once more there, so that what is differentiated is the
//! solved stage and not the way to it ([`Solver::settle`](super::lanes::Solver)). Lengths of steps have no
//! derivatives.

mod cells;
mod grid;
mod points;
mod seed;

pub use grid::TangentGrid;
pub use seed::{Seed, resolve};

use super::bristles::{Bristles, Rate, Shares};
use super::friction::Consts;
use super::inputs::LaneInterval;
use super::lane_solver::LaneSolver;
use super::lanes::Solver;
use super::linalg::Vec3;
use super::models::reduced::Reduced;
use super::transform::Transform;
use crate::contact::{Bristles as First, Contact, Departure, Origin};
use crate::number::dual::Dual;
use crate::number::real::Real;
use crate::plan::{Plan, Reason, Status};
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::{Interval, Timeline, slot};
use seed::Constant;

/// What steps one contact with numbers that carry derivatives.
pub trait Tangent: LaneSolver {
    /// Makes a solver ready in which a contact was loaded: its solutions are to be exact to rounding.
    fn prepare(&mut self);
    /// Lets derivative `k` be that over a constant.
    fn plant(&mut self, constant: Constant, k: usize);
    /// The present interval, to which derivatives of its inputs are added.
    fn interval(&mut self) -> &mut LaneInterval<Dual>;
    /// Gives the state at the start the derivatives that follow from those of the inputs there.
    fn begin(&mut self, contact: &Contact);
    /// Pose, twist and wrench of one pad under inputs `v`, at which no stage is pending.
    fn tangents(&mut self, v: &[Dual; slot::COUNT]) -> [Vec3<Dual>; 3];
}

/// Bristles whose states carry derivatives.
pub trait Differentiable: Bristles<Dual> {
    /// The constants of friction, whose derivatives are part of them.
    fn consts(&mut self) -> &mut Consts<Dual>;
    /// Lets derivative `k` be that over a factor of all lengths of the patch, at the factor 1.
    fn seed_scale(&mut self, k: usize);
    /// Sets the bristles to those after long sliding with patch twist `u` under `mu_c` and `mu_s - mu_c`.
    fn start_sliding(&mut self, u: Vec3<Dual>, mu: [Dual; 2]);
    /// The opposite of the friction wrench per unit normal force at the patch origin, in the present state at
    /// patch twist `u`.
    fn resist(&mut self, u: Vec3<Dual>, rate: &Rate<Dual>) -> Vec3<Dual>;
}

/// A sample: what [`LaneSolver::sample`] gives, the normal force, and pose, twist and wrench with
/// derivatives.
pub struct Point {
    pub pose: Pose,
    pub twist: Twist,
    pub wrench: Wrench,
    pub normal_force: f64,
    pub shares: Shares,
    pub tangents: [Vec3<Dual>; 3],
}

/// Steps a contact from its start through `plan` with at most as many seeds as a [`Dual`] has derivatives,
/// and calls `write` with every sample and its number. `active` are the cells of a grid that carry pressure
/// at some time.
pub fn rollout<S: Tangent>(
    mut solver: S,
    contact: &Contact,
    plan: &Plan,
    timeline: &Timeline,
    seeds: &[Seed],
    mut write: impl FnMut(usize, Point),
) -> Status {
    let active = if contact.model.is_grid() { contact.active_cells(timeline) } else { Vec::new() };
    solver.load(0, contact, plan.step, &active);
    solver.prepare();
    for (k, seed) in seeds.iter().enumerate() {
        if let Some(constant) = seed.constant {
            solver.plant(constant, k);
        }
    }
    solver.allow(0, plan.stepping().budget(plan.duration(), timeline.len()));
    let mut run = Run { solver, contact, timeline, seeds, interval: Interval::default() };
    run.enter(0);
    run.solver.begin(contact);
    let mut departure = None;
    let mut frame = 0;
    // Writes the sample at local time `tau`; a status if the run ends there.
    let mut record = |run: &mut Run<'_, S>, tau: f64| {
        let Some(point) = run.sample(tau) else { return Some(run.status(Some(Reason::Wrench), None)) };
        let departure: &mut Departure = departure.get_or_insert_with(|| Origin::new(contact, point.pose).into());
        let (pose, slip) = (point.pose, point.shares.slip);
        write(frame, point);
        let time = plan.samples[frame];
        frame += 1;
        let has_left = !plan.stop_when.is_never() && departure.has_left(&plan.stop_when, time, pose, slip);
        has_left.then(|| run.status(None, Some(frame as u64 - 1)))
    };
    if let Some(end) = record(&mut run, 0.0) {
        return end;
    }
    for i in 0..timeline.len() {
        run.enter(i);
        if let Some(reason) = run.pass_through() {
            return run.status(Some(reason), None);
        }
        let tau = run.interval.length;
        if run.interval.record
            && let Some(end) = record(&mut run, tau)
        {
            return end;
        }
    }
    run.status(None, None)
}

/// A contact on its way.
struct Run<'a, S> {
    solver: S,
    contact: &'a Contact,
    timeline: &'a Timeline,
    seeds: &'a [Seed],
    interval: Interval,
}

impl<S: Tangent> Run<'_, S> {
    /// Puts the solver at the start of interval `i`, with the derivatives of its inputs.
    fn enter(&mut self, i: usize) {
        self.contact.interval_into(self.timeline, i, &mut self.interval);
        self.solver.remap(0, self.contact, &self.interval);
        self.solver.start_interval(0, &self.interval);
        for (k, seed) in self.seeds.iter().enumerate() {
            if let Some(tangent) = seed.interval(self.contact, self.timeline, i) {
                self.solver.interval().start_tangent(k, &tangent);
            }
        }
    }

    /// Steps to the end of the interval, and writes the last stage back if a sample is due there. A reason if
    /// the contact fails.
    fn pass_through(&mut self) -> Option<Reason> {
        loop {
            while self.solver.running() != 0 {
                let events = self.solver.pass();
                if events.failed != 0 {
                    return Some(Reason::Twist);
                }
                if events.spent != 0 {
                    return Some(Reason::Steps);
                }
            }
            if !(self.interval.record && self.solver.is_pending(0)) {
                return None;
            }
            self.solver.flush(0);
        }
    }

    /// The sample at local time `tau` [s], at which no stage is pending; none if its wrench is not finite.
    fn sample(&mut self, tau: f64) -> Option<Point> {
        let inputs = self.interval.inputs(tau);
        let (pose, twist, wrench, shares) = self.solver.sample(0, self.contact, &inputs);
        if !wrench.to_array().iter().all(|c| c.is_finite()) {
            return None;
        }
        let v = self.solver.interval().inputs(Dual::constant(tau), !0);
        let tangents = self.solver.tangents(&v);
        Some(Point { pose, twist, wrench, normal_force: inputs[slot::F_N], shares, tangents })
    }

    fn status(&self, failure: Option<Reason>, left: Option<u64>) -> Status {
        let status = self.solver.status(0);
        Status { failure: failure.map(|reason| (status.steps, reason)), left, ..status }
    }
}

impl<B: Differentiable> Tangent for Solver<Dual, B> {
    fn prepare(&mut self) {
        self.settles = true;
        self.bristles.consts().least_x = Dual::constant(0.0);
    }

    fn plant(&mut self, constant: Constant, k: usize) {
        let (contacts, body) = (&mut self.contacts, &mut self.body);
        match constant {
            Constant::Sigma0 => contacts.sigma0.d[k] = 1.0,
            Constant::Sigma1 => contacts.sigma1.d[k] = 1.0,
            Constant::Mass(_) => {
                contacts.mass.x.d[k] = 1.0;
                contacts.mass.y.d[k] = 1.0;
            }
            Constant::Inertia => contacts.mass.z.d[k] = 1.0,
            Constant::Offset(i) => contacts.offset[i].d[k] = 1.0,
            Constant::Scale => self.bristles.seed_scale(k),
            Constant::Pose(i) => component(&mut body.q, i).d[k] = 1.0,
            Constant::Twist(i) => component(&mut body.u, i).d[k] = 1.0,
            _ => constant.plant(self.bristles.consts(), k),
        }
    }

    fn interval(&mut self) -> &mut LaneInterval<Dual> {
        &mut self.interval
    }

    fn begin(&mut self, contact: &Contact) {
        if contact.initial.bristles == First::Steady {
            let v = self.interval.inputs(Dual::constant(0.0), !0);
            let [_, _, patch_twist] = self.motion(&v);
            self.bristles.start_sliding(self.directed(patch_twist), [v[slot::MU_C], v[slot::MU_S] - v[slot::MU_C]]);
        }
    }

    fn tangents(&mut self, v: &[Dual; slot::COUNT]) -> [Vec3<Dual>; 3] {
        let [q, u, patch_twist] = self.motion(v);
        let rate = Rate { sigma1: self.contacts.sigma1, mu_c: v[slot::MU_C], mu_d: v[slot::MU_S] - v[slot::MU_C] };
        let resist = self.bristles.resist(self.directed(patch_twist), &rate);
        [q, u, self.directed(resist) * -v[slot::F_N]]
    }
}

impl<B: Differentiable> Solver<Dual, B> {
    /// Pose, twist and patch twist under inputs `v`.
    fn motion(&self, v: &[Dual; slot::COUNT]) -> [Vec3<Dual>; 3] {
        let Self { body, contacts, .. } = self;
        let (q, u) = (body.q + body.q_low, body.u + body.u_low);
        if contacts.prescribed != 0 {
            let given = Vec3::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
            return [q, given, given];
        }
        let o = if contacts.gripper != 0 { [-q.x, -q.y] } else { contacts.offset };
        let [sin, cos] = if contacts.turning != 0 { q.z.sin_cos_of(0) } else { [0.0, 1.0].map(Dual::constant) };
        [q, u, Transform { cos, sin, o }.twist(u)]
    }
}

/// A component of a vector.
const fn component(v: &mut Vec3<Dual>, i: usize) -> &mut Dual {
    match i {
        0 => &mut v.x,
        1 => &mut v.y,
        _ => &mut v.z,
    }
}

impl Differentiable for Reduced<Dual> {
    fn consts(&mut self) -> &mut Consts<Dual> {
        self.friction()
    }

    fn seed_scale(&mut self, k: usize) {
        self.scale_tangent(k);
    }

    fn start_sliding(&mut self, u: Vec3<Dual>, mu: [Dual; 2]) {
        self.slide(u, mu);
    }

    fn resist(&mut self, u: Vec3<Dual>, rate: &Rate<Dual>) -> Vec3<Dual> {
        self.resist_at_origin(u, rate)
    }
}
