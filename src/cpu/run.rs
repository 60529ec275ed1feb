//! Steps the contacts in the lanes of one solver through a span of time, interval after interval, and records
//! samples between them.

use std::sync::atomic::{AtomicBool, Ordering};

use super::output::Row;
use crate::batch::Saved;
use crate::contact::{Contact, Departure};
use crate::engine::{Progress, Reason, Status, Stepping, StopWhen};
use crate::number::real::Real;
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::{Interval, Span, Timeline, slot};
use crate::solver::bristles::{Bits, Shares};
use crate::solver::lane_solver::LaneSolver;
use crate::solver::lanes::Solver;
use crate::solver::models::grid::Grid;
use crate::solver::respond::Response;
use crate::solver::state::State;

/// A solver for one contact with a grid.
pub fn grid<C: Real>(stepping: Stepping) -> LanePack<Solver<f64, Grid<C>>> {
    LanePack::new(Solver::new(Grid::empty(), stepping.tolerance), stepping, 1)
}

/// What to do with the samples of a call.
pub struct Recording<'a, 'b> {
    /// Their times [s]; none are recorded without `rows`.
    pub samples: &'a [f64],
    /// When a contact is not stepped any further.
    pub stop_when: &'a StopWhen,
    /// Where they go, lane by lane.
    pub rows: &'a mut [Row<'b>],
    /// Called at each of them.
    pub progress: &'a Progress<'a>,
    /// Set when `progress` asks to stop.
    pub stop: &'a AtomicBool,
}

/// Contacts that are stepped together, a lane each.
pub trait Pack: Send {
    /// Puts a contact at its start into a lane; `active` are the cells of a grid that carry pressure at some
    /// time.
    fn load(&mut self, lane: usize, contact: &Contact, active: &[usize]);
    /// Steps the contacts through their spans; `task` gives the contact and the span of a lane, if it has
    /// one.
    fn advance<'c>(&mut self, task: &dyn Fn(usize) -> Option<(&'c Contact, Span)>, recording: &mut Recording<'_, '_>);
    /// The sample at the end of the last interval: pose, twist, wrench, shares of bristles and normal force;
    /// none if the contact has failed.
    fn sample(&mut self, lane: usize, contact: &Contact) -> Option<(Pose, Twist, Wrench, Shares, f64)>;
    /// The friction wrench if the patch moved with `twist` for `dt` [s] under the inputs at the end of the
    /// last interval, and its derivative; none if the contact has failed.
    fn respond(&mut self, lane: usize, contact: &Contact, twist: Twist, dt: f64) -> Option<Response>;
    /// Follows the map that the contact's patch now has, under `mu_c`.
    fn set_map(&mut self, lane: usize, contact: &Contact, mu_c: f64);
    /// The status of a contact.
    fn status(&self, lane: usize) -> Status;
    /// The states `zeta` [-] of a lane, after its pending stage is committed.
    fn states(&mut self, lane: usize) -> Vec<[f64; 2]>;
    /// Number of pairs in [`Pack::export`].
    fn pairs(&self, lane: usize) -> usize;
    /// The state of the contact in a lane; its bristles are written to `pairs`.
    fn export(&self, lane: usize, pairs: &mut [[f64; 2]]) -> State;
    /// Sets the contact in a lane to a state that [`Pack::export`] gave.
    fn import(&mut self, lane: usize, contact: &Contact, saved: &Saved, pairs: &[[f64; 2]]);
}

/// The lanes of a solver with the timeline of each contact and its place in it.
pub struct LanePack<S> {
    pub solver: S,
    stepping: Stepping,
    places: Vec<Place>,
    /// Memory for the bristles of a lane.
    pairs: Vec<[f64; 2]>,
}

/// A timeline and the place of a contact in it.
#[derive(Default)]
struct Place {
    timeline: Timeline,
    /// The present interval and its number, and the sample to come.
    interval: Interval,
    at: usize,
    frame: usize,
    failure: Option<(u64, Reason)>,
    /// What it has done since its start, if it may leave; and the sample at which it left.
    departure: Option<Departure>,
    left: Option<u64>,
}

impl<S: LaneSolver> LanePack<S> {
    pub fn new(solver: S, stepping: Stepping, count: usize) -> Self {
        let places = (0..count).map(|_| Place::default()).collect();
        Self { solver, stepping, places, pairs: Vec::new() }
    }

    /// Divides a span into intervals and starts the first.
    fn start(&mut self, l: usize, contact: &Contact, span: Span, samples: &[f64]) {
        let place = &mut self.places[l];
        contact.cut(&mut place.timeline, span, samples);
        place.at = 0;
        if !place.timeline.is_empty() {
            self.solver.allow(l, self.stepping.budget(span.end - span.start, place.timeline.len()));
            self.enter(l, contact);
        }
    }

    /// Starts the present interval.
    fn enter(&mut self, l: usize, contact: &Contact) {
        let place = &mut self.places[l];
        contact.interval_into(&place.timeline, place.at, &mut place.interval);
        self.solver.remap(l, contact, &place.interval);
        self.solver.start_interval(l, &place.interval);
    }

    /// Continues at the end of an interval: records a sample if one is due, and starts the next interval.
    /// Both may need the bristles at the end of the interval. If their last stage is still pending, the next
    /// pass commits it first, and this function is called again after that pass. `false` at the end of the
    /// span.
    fn end_interval(&mut self, l: usize, contact: &Contact, recording: &mut Recording<'_, '_>) -> bool {
        let place = &mut self.places[l];
        let records = place.interval.record && !recording.rows.is_empty();
        let new_map = || contact.remap(&place.timeline, place.at + 1);
        if self.solver.is_pending(l) && (records || new_map().is_some_and(|key| self.solver.must_flush_before(l, key)))
        {
            self.solver.flush(l);
            return true;
        }
        if records {
            if !self.record(l, contact, recording) {
                return false;
            }
            if !(recording.progress)(1) {
                recording.stop.store(true, Ordering::Relaxed);
            }
            if self.places[l].left.is_some() {
                return false;
            }
        }
        let place = &mut self.places[l];
        place.at += 1;
        let more = place.at < place.timeline.len();
        if more {
            self.enter(l, contact);
        }
        more
    }

    /// Writes a sample of lane `l` at the end of its interval. `false` if it is not finite.
    fn record(&mut self, l: usize, contact: &Contact, recording: &mut Recording<'_, '_>) -> bool {
        let Some((q, u, wrench, shares, f_n)) = self.present(l, contact) else { return false };
        let place = &mut self.places[l];
        recording.rows[l].write(place.frame, (q, u, wrench, shares), f_n);
        if let Some(bristles) = &mut recording.rows[l].bristles {
            bristles.extend(self.solver.states(l));
        }
        if !recording.stop_when.is_never() {
            let departure = place.departure.get_or_insert_with(|| Departure::new(contact, q));
            let has_left = departure.has_left(recording.stop_when, recording.samples[place.frame], q, shares.slip);
            place.left = has_left.then_some(place.frame as u64);
        }
        place.frame += 1;
        true
    }

    /// The present sample of lane `l`, which has no pending stage. If the wrench is not finite the contact
    /// fails, and there is none.
    fn present(&mut self, l: usize, contact: &Contact) -> Option<(Pose, Twist, Wrench, Shares, f64)> {
        let place = &self.places[l];
        let v = place.interval.inputs(place.interval.length);
        let (q, u, wrench, shares) = self.solver.sample(l, contact, &v);
        if !wrench.to_array().iter().all(|c| c.is_finite()) {
            self.fail(l, Reason::Wrench);
            return None;
        }
        Some((q, u, wrench, shares, v[slot::F_N]))
    }

    /// Commits the pending stage of lane `l`, if there is one.
    fn commit(&mut self, l: usize) {
        if self.solver.is_pending(l) {
            self.solver.flush(l);
            while self.solver.running() != 0 {
                self.solver.pass();
            }
            self.solver.forget_pass(l);
        }
    }

    /// Stops a contact for a reason, and empties its lane.
    fn fail(&mut self, l: usize, reason: Reason) {
        self.places[l].failure = Some((self.solver.status(l).steps, reason));
        self.solver.clear(l);
    }
}

impl<S: LaneSolver + Send> Pack for LanePack<S> {
    fn load(&mut self, l: usize, contact: &Contact, active: &[usize]) {
        self.solver.load(l, contact, self.stepping.step, active);
        let place = &mut self.places[l];
        (place.frame, place.failure, place.departure, place.left) = (0, None, None, None);
        // An interval without length with the inputs at time 0, for samples and maps before the first step.
        contact.cut(&mut place.timeline, Span::run(1e-6), &[]);
        contact.interval_into(&place.timeline, 0, &mut place.interval);
        place.interval.length = 0.0;
        self.solver.remap(l, contact, &place.interval);
    }

    fn advance<'c>(&mut self, task: &dyn Fn(usize) -> Option<(&'c Contact, Span)>, recording: &mut Recording<'_, '_>) {
        for l in 0..self.places.len() {
            if self.places[l].failure.is_some() {
                continue;
            }
            let Some((contact, span)) = task(l) else { continue };
            self.places[l].frame = 0;
            let first = span.start == 0.0 && !recording.rows.is_empty();
            if !first || self.record(l, contact, recording) {
                self.start(l, contact, span, recording.samples);
            }
        }
        while self.solver.running() != 0 && !recording.stop.load(Ordering::Relaxed) {
            let events = self.solver.pass();
            let mut lanes = events.stopped | events.failed | events.spent;
            while lanes != 0 {
                let l = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                let is = |lanes: Bits| lanes >> l & 1 == 1;
                let reason = is(events.failed).then_some(Reason::Twist).or(is(events.spent).then_some(Reason::Steps));
                match (reason, task(l)) {
                    (Some(reason), _) => self.fail(l, reason),
                    (None, Some((contact, _))) => _ = self.end_interval(l, contact, recording),
                    (None, None) => {}
                }
            }
        }
        // Lanes that have been stopped on their way are empty until a contact is loaded or a saved state put
        // there.
        let mut lanes = self.solver.running();
        while lanes != 0 {
            self.solver.clear(lanes.trailing_zeros() as usize);
            lanes &= lanes - 1;
        }
    }

    fn sample(&mut self, l: usize, contact: &Contact) -> Option<(Pose, Twist, Wrench, Shares, f64)> {
        if self.places[l].failure.is_some() {
            return None;
        }
        self.commit(l);
        self.present(l, contact)
    }

    fn respond(&mut self, l: usize, contact: &Contact, twist: Twist, dt: f64) -> Option<Response> {
        if self.places[l].failure.is_some() {
            return None;
        }
        self.commit(l);
        let interval = &self.places[l].interval;
        let v = interval.inputs(interval.length);
        Some(self.solver.respond(l, contact, (twist, dt), &v, &mut self.pairs))
    }

    fn set_map(&mut self, l: usize, contact: &Contact, mu_c: f64) {
        if self.places[l].failure.is_some() {
            return;
        }
        if self.solver.commits_before_remap() {
            self.commit(l);
        }
        self.solver.set_map(l, contact, mu_c);
    }

    fn status(&self, l: usize) -> Status {
        Status { failure: self.places[l].failure, left: self.places[l].left, ..self.solver.status(l) }
    }

    fn states(&mut self, l: usize) -> Vec<[f64; 2]> {
        if self.places[l].failure.is_none() {
            self.commit(l);
        }
        self.solver.states(l)
    }

    fn pairs(&self, l: usize) -> usize {
        self.solver.pairs(l)
    }

    fn export(&self, l: usize, pairs: &mut [[f64; 2]]) -> State {
        let interval = &self.places[l].interval;
        State { inputs: interval.inputs(interval.length), ..self.solver.export(l, pairs) }
    }

    fn import(&mut self, l: usize, contact: &Contact, saved: &Saved, pairs: &[[f64; 2]]) {
        self.solver.import(l, contact, &saved.state, pairs);
        let place = &mut self.places[l];
        place.failure = saved.failure;
        place.interval = Interval { c: saved.state.inputs.map(|v| [v, 0.0, 0.0]), ..Interval::default() };
    }
}
