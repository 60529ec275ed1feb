//! Steps the contacts of a pack through a span of time, interval after interval, and records samples between
//! them.

use std::slice::from_ref;
use std::sync::atomic::{AtomicBool, Ordering};

use super::row::Row;
use crate::batch::Sample;
use crate::contact::{Contact, Departure, Origin};
use crate::engine::{Progress, Reason, Status, Stepping, StopWhen, share};
use crate::number::prefetch::prefetch;
use crate::planar::Twist;
use crate::schedule::{Interval, Span, Timeline, slot};
use crate::solver::bristles::Bits;
use crate::solver::lane_solver::LaneSolver;
use crate::solver::respond::Response;
use crate::solver::state::State;

/// What to do with the samples of a call.
pub struct Recording<'a> {
    /// Their times [s].
    pub samples: &'a [f64],
    /// When a contact is not stepped any further.
    pub stop_when: &'a StopWhen,
    /// Called with 1 after each sample but the first; asks to stop by `false`.
    pub progress: &'a Progress<'a>,
    /// Set when `progress` asks to stop.
    pub stop: &'a AtomicBool,
}

/// By the place in a pack: its contact, and the span to step, if it has one.
pub type Task<'t, 'c> = dyn Fn(usize) -> Option<(&'c Contact, Span)> + 't;
/// By the place in a pack: its contact.
pub type Member<'t, 'c> = dyn Fn(usize) -> &'c Contact + 't;

/// Contacts that are stepped together; each is known by its place `k`.
pub trait Pack: Send {
    /// Puts a contact at its start into a place; `active` are the cells of a grid that carry pressure at some
    /// time.
    fn load(&mut self, k: usize, contact: &Contact, active: &[usize]);
    /// Steps the contacts through their spans.
    fn advance(&mut self, task: &Task<'_, '_>);
    /// Steps them, and writes samples to their rows, beginning with the present state.
    fn record(&mut self, task: &Task<'_, '_>, recording: &Recording<'_>, rows: &mut [Row<'_>]);
    /// Gives the sample of each place at the end of the last interval; NaN of a contact that has failed.
    fn samples(&mut self, member: &Member<'_, '_>, give: &mut dyn FnMut(usize, Sample));
    /// The friction wrench if the patch moved with `twist` for `dt` [s] under the inputs at the end of the
    /// last interval, and its derivative; none if the contact has failed.
    fn respond(&mut self, k: usize, contact: &Contact, twist: Twist, dt: f64) -> Option<Response>;
    /// Follows the map that the contact's patch now has, under `mu_c`.
    fn set_map(&mut self, k: usize, contact: &Contact, mu_c: f64);
    /// The status of a contact.
    fn status(&self, k: usize) -> Status;
    /// The states `zeta` [-] of a contact, after its pending stage is written back.
    fn states(&mut self, k: usize, contact: &Contact) -> Vec<[f64; 2]>;
    /// The inputs at the end of the last interval, and those of each of several patches.
    fn inputs(&self, k: usize) -> ([f64; slot::COUNT], Vec<[f64; slot::OF_PART]>);
    /// Writes the state of a contact in place of what is in `state`.
    fn export(&self, k: usize, state: &mut State);
    /// Sets a contact to a state that [`Pack::export`] gave.
    fn import(&mut self, k: usize, contact: &Contact, state: &State);
}

/// A pack of solvers of one type, which are run one after the other: solvers with a contact in every lane, or
/// a solver with one lane for each of several large grids. They share what is needed within a call alone: if
/// each had its own scratch arrays, those of thousands of contacts would not fit into the caches, and every
/// pass would wait for main memory.
pub struct LanePack<S: LaneSolver> {
    solvers: Vec<S>,
    /// The scratch arrays, which the solver that is running has in place of its own.
    scratch: S::Scratch,
    /// Memory for an interval, from its start in a contact's timeline to its start in the solver.
    interval: Interval,
    /// Of each lane of the solver that is stepped.
    courses: Vec<Course>,
    stepping: Stepping,
    /// One for each contact, in the order of the solvers and their lanes.
    places: Vec<Place>,
}

/// The timeline of a contact and where it is in it.
#[derive(Default)]
struct Course {
    timeline: Timeline,
    /// The number of the present interval in the timeline.
    at: usize,
    /// Whether a sample is recorded at its end.
    record: bool,
}

/// What a contact has between calls, beside what its solver has.
#[derive(Default)]
struct Place {
    /// The inputs at the end of the last interval.
    inputs: [f64; slot::COUNT],
    /// Those of each of several patches.
    of_parts: Vec<[f64; slot::OF_PART]>,
    /// The index of the next sample.
    frame: usize,
    failure: Option<(u64, Reason)>,
    /// How far it has moved and slipped since its start; none without `stop_when`.
    departure: Option<Box<Departure>>,
    /// The sample at which `stop_when` stopped it.
    left: Option<u64>,
}

/// The number of an interval before the first.
const BEFORE_FIRST: usize = usize::MAX;

impl Place {
    /// Notes the inputs at the time `tau` [s] of an interval.
    fn note(&mut self, interval: &Interval, tau: f64) {
        self.inputs = interval.inputs_and_parts(tau, &mut self.of_parts);
    }
}

/// A contact, its lane and its place.
struct One<'a, S> {
    solver: &'a mut S,
    l: usize,
    place: &'a mut Place,
    contact: &'a Contact,
}

/// A contact that is stepped through a span.
struct Stepped<'a, S> {
    one: One<'a, S>,
    course: &'a mut Course,
    interval: &'a mut Interval,
}

impl<S: LaneSolver> Stepped<'_, S> {
    /// Divides a span into intervals and starts the first.
    fn start(&mut self, span: Span, stepping: Stepping, samples: &[f64]) {
        let Self { one: One { solver, l, contact, .. }, course, .. } = self;
        contact.cut(&mut course.timeline, span, samples);
        course.at = 0;
        if !course.timeline.is_empty() {
            let steps = stepping.budget(span.end - span.start, course.timeline.len());
            solver.allow(*l, steps);
            let new_map = contact.remap(&course.timeline, 0);
            if solver.is_pending(*l) && new_map.is_some_and(|key| solver.must_flush_before(*l, Some(key))) {
                // A stage of the span before is written back on its map, and `end_interval` goes on.
                course.at = BEFORE_FIRST;
                course.record = false;
                solver.flush(*l);
                return;
            }
            self.enter();
        }
    }

    /// Starts the present interval.
    fn enter(&mut self) {
        let Self { one: One { solver, l, place, contact }, course, interval } = self;
        contact.interval_into(&course.timeline, course.at, interval);
        course.record = interval.record;
        place.note(interval, interval.length);
        solver.remap(*l, contact, interval);
        solver.start_interval(*l, interval);
    }

    /// Continues at the end of an interval: records a sample if one is due, and starts the next interval.
    /// Both may need the bristles at the end of the interval. If their last stage is still pending, the next
    /// pass writes it back first, and this function is called again after that pass.
    fn end_interval(&mut self, recording: Option<&Recording<'_>>, row: Option<&mut Row<'_>>) {
        let Self { one, course, .. } = self;
        let due = recording.zip(row).filter(|_| course.record);
        let new_map = || one.contact.remap(&course.timeline, course.at.wrapping_add(1));
        let must_flush = || new_map().is_some_and(|key| one.solver.must_flush_before(one.l, Some(key)));
        if one.solver.is_pending(one.l) && (due.is_some() || must_flush()) {
            one.solver.flush(one.l);
            return;
        }
        if let Some((recording, row)) = due {
            if !one.record(recording, row) {
                return;
            }
            if !(recording.progress)(1) {
                recording.stop.store(true, Ordering::Relaxed);
            }
            if one.place.left.is_some() {
                return;
            }
        }
        course.at = course.at.wrapping_add(1);
        if course.at < course.timeline.len() {
            self.enter();
        }
    }
}

impl<S: LaneSolver> One<'_, S> {
    /// Writes the present sample. `false` if it is not finite.
    fn record(&mut self, recording: &Recording<'_>, row: &mut Row<'_>) -> bool {
        let Some(sample) = self.sample() else { return false };
        let place = &mut *self.place;
        row.write(place.frame, &sample);
        if let Some(bristles) = &mut row.sampled_bristles {
            bristles.extend(self.solver.states(self.l));
        }
        if !recording.stop_when.is_never() {
            let departure = place
                .departure
                .get_or_insert_with(|| Box::new(Departure::from(Origin::new(self.contact, sample.pose))));
            let time = recording.samples[place.frame];
            let has_left = departure.has_left(recording.stop_when, time, sample.pose, sample.slip);
            place.left = has_left.then_some(place.frame as u64);
        }
        place.frame += 1;
        true
    }

    /// The present sample; no stage is pending. If the wrench is not finite the contact fails, and there is
    /// none.
    fn sample(&mut self) -> Option<Sample> {
        self.take_parts();
        let v = &self.place.inputs;
        let (pose, twist, wrench, shares) = self.solver.sample(self.l, self.contact, v);
        if !wrench.to_array().iter().all(|c| c.is_finite()) {
            self.fail(Reason::Wrench);
            return None;
        }
        let [slip, near_limit] = [shares.slip, shares.near_limit].map(share);
        let sample = Sample { pose, twist, wrench, normal_force: self.place.inputs[slot::F_N], slip, near_limit };
        Some(self.contact.on_layer(self.solver.mapped(self.l), sample))
    }

    /// Lets the solver have the inputs of several patches at the end of the last interval, if they have some.
    fn take_parts(&mut self) {
        if self.contact.drives_parts() {
            self.solver.take_parts(self.l, self.contact, &self.place.of_parts);
        }
    }

    /// Writes the pending stage back, if there is one.
    fn write_back(&mut self) {
        write_back(self.solver, self.l..self.l + 1);
    }

    /// Stops the contact for a reason, and empties its lane.
    fn fail(&mut self, reason: Reason) {
        self.place.failure = Some((self.solver.status(self.l).steps, reason));
        self.solver.clear(self.l);
    }
}

impl<S: LaneSolver> LanePack<S> {
    /// A pack of `count` contacts in empty solvers, which `new` makes.
    pub fn new(new: impl Fn() -> S, stepping: Stepping, count: usize) -> Self {
        let solvers = (0..count.div_ceil(S::LANES)).map(|_| new()).collect();
        let places = (0..count).map(|_| Place::default()).collect();
        let courses = (0..S::LANES.min(count)).map(|_| Course::default()).collect();
        let (scratch, interval) = (S::Scratch::default(), Interval::default());
        Self { solvers, scratch, interval, courses, stepping, places }
    }

    /// Does `work` on a contact, whose solver has the scratch arrays for that time; nothing if the contact
    /// has failed.
    fn with<T>(&mut self, k: usize, contact: &Contact, work: impl FnOnce(&mut One<'_, S>) -> Option<T>) -> Option<T> {
        let (solver, place) = (&mut self.solvers[k / S::LANES], &mut self.places[k]);
        if place.failure.is_some() {
            return None;
        }
        solver.exchange_scratch(&mut self.scratch);
        let out = work(&mut One { solver, l: k % S::LANES, place, contact });
        solver.exchange_scratch(&mut self.scratch);
        out
    }

    /// Brings what the contacts after a solver with one lane need into the caches while it is stepped: of the
    /// next the cells and signals, of the one after it what says where these are.
    fn prefetch_after(&self, s: usize, task: &Task<'_, '_>) {
        if S::LANES > 1 {
            return;
        }
        if let Some(next) = self.solvers.get(s + 1) {
            next.prefetch();
            if let Some((contact, _)) = task(s + 1) {
                contact.prefetch_signals();
            }
        }
        if let Some(later) = self.solvers.get(s + 2) {
            prefetch(from_ref(later));
            prefetch(from_ref(&self.places[s + 2]));
            if let Some((contact, _)) = task(s + 2) {
                prefetch(from_ref(contact));
            }
        }
    }

    /// Steps the contacts of a solver through their spans.
    fn advance_solver(
        &mut self,
        s: usize,
        task: &Task<'_, '_>,
        recording: Option<&Recording<'_>>,
        rows: &mut [Row<'_>],
    ) {
        let first = s * S::LANES;
        let solver = &mut self.solvers[s];
        let (places, interval, courses) = (&mut self.places[first..], &mut self.interval, &mut self.courses);
        let count = places.len().min(S::LANES);
        solver.exchange_scratch(&mut self.scratch);
        // The first samples come before any lane starts: a pass that writes a stage back steps all that run.
        if let Some(recording) = recording {
            write_back(solver, (0..count).filter(|l| task(first + l).is_some()));
            for (l, place) in places[..count].iter_mut().enumerate().filter(|(_, place)| place.failure.is_none()) {
                let (Some((contact, _)), Some(row)) = (task(first + l), rows.get_mut(first + l)) else { continue };
                place.frame = 0;
                One { solver, l, place, contact }.record(recording, row);
            }
        }
        for (l, place) in places[..count].iter_mut().enumerate().filter(|(_, place)| place.failure.is_none()) {
            let Some((contact, span)) = task(first + l) else { continue };
            let samples = recording.map_or(&[][..], |recording| recording.samples);
            let one = One { solver, l, place, contact };
            Stepped { one, course: &mut courses[l], interval }.start(span, self.stepping, samples);
        }
        let goes_on = || recording.is_none_or(|recording| !recording.stop.load(Ordering::Relaxed));
        while solver.running() != 0 && goes_on() {
            let events = solver.pass();
            for l in lanes_of(events.stopped | events.failed | events.spent) {
                let is = |lanes: Bits| lanes >> l & 1 == 1;
                let Some((contact, _)) = task(first + l) else { continue };
                let mut one = One { solver, l, place: &mut places[l], contact };
                if is(events.failed) {
                    one.fail(Reason::Twist);
                } else if is(events.spent) {
                    one.fail(Reason::Steps);
                } else {
                    let mut stepped = Stepped { one, course: &mut courses[l], interval };
                    stepped.end_interval(recording, rows.get_mut(first + l));
                }
            }
        }
        // Lanes that have been stopped on their way are empty until a contact is loaded or a saved state put
        // there.
        lanes_of(solver.running()).for_each(|l| solver.clear(l));
        solver.exchange_scratch(&mut self.scratch);
    }
}

/// Writes the pending stages of lanes back, all in one pass.
fn write_back(solver: &mut impl LaneSolver, lanes: impl Iterator<Item = usize>) {
    let pending = lanes.filter(|l| solver.is_pending(*l)).fold(0, |all: Bits, l| all | 1 << l);
    lanes_of(pending).for_each(|l| solver.flush(l));
    while solver.running() != 0 {
        solver.pass();
    }
    lanes_of(pending).for_each(|l| solver.forget_pass(l));
}

/// The lanes of a set.
fn lanes_of(mut lanes: Bits) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let l = lanes.trailing_zeros() as usize;
        (lanes != 0).then(|| {
            lanes &= lanes - 1;
            l
        })
    })
}

impl<S: LaneSolver + Send> Pack for LanePack<S> {
    fn load(&mut self, k: usize, contact: &Contact, active: &[usize]) {
        let (s, l) = (k / S::LANES, k % S::LANES);
        self.solvers[s].load(l, contact, self.stepping.step, active);
        if let [.., before, own] = &mut self.solvers[..=s] {
            own.share(before);
        }
        let (place, interval, timeline) = (&mut self.places[k], &mut self.interval, &mut self.courses[0].timeline);
        (place.frame, place.failure, place.departure, place.left) = (0, None, None, None);
        // The inputs at time 0, for samples and maps before the first step. The span has only to contain
        // that time.
        contact.cut(timeline, Span::run(1e-6), &[]);
        contact.interval_into(timeline, 0, interval);
        place.note(interval, 0.0);
        self.solvers[s].remap(l, contact, interval);
    }

    fn advance(&mut self, task: &Task<'_, '_>) {
        for s in 0..self.solvers.len() {
            self.prefetch_after(s, task);
            self.advance_solver(s, task, None, &mut []);
        }
    }

    fn record(&mut self, task: &Task<'_, '_>, recording: &Recording<'_>, rows: &mut [Row<'_>]) {
        for s in 0..self.solvers.len() {
            self.prefetch_after(s, task);
            self.advance_solver(s, task, Some(recording), rows);
        }
    }

    fn samples(&mut self, member: &Member<'_, '_>, give: &mut dyn FnMut(usize, Sample)) {
        let Self { solvers, scratch, places, .. } = self;
        for (s, (solver, places)) in solvers.iter_mut().zip(places.chunks_mut(S::LANES)).enumerate() {
            solver.exchange_scratch(scratch);
            write_back(solver, 0..places.len());
            for (l, place) in places.iter_mut().enumerate() {
                let (k, has_failed) = (s * S::LANES + l, place.failure.is_some());
                let mut one = One { solver, l, place, contact: member(k) };
                give(k, if has_failed { None } else { one.sample() }.unwrap_or(Sample::NONE));
            }
            solver.exchange_scratch(scratch);
        }
    }

    fn respond(&mut self, k: usize, contact: &Contact, twist: Twist, dt: f64) -> Option<Response> {
        self.with(k, contact, |one| {
            one.write_back();
            one.take_parts();
            Some(one.solver.respond(one.l, contact, twist, dt, &one.place.inputs))
        })
    }

    fn set_map(&mut self, k: usize, contact: &Contact, mu_c: f64) {
        self.with(k, contact, |one| {
            if one.solver.must_flush_before(one.l, None) {
                one.write_back();
            }
            one.solver.set_map(one.l, contact, mu_c);
            Some(())
        });
    }

    fn status(&self, k: usize) -> Status {
        let place = &self.places[k];
        Status { failure: place.failure, left: place.left, ..self.solvers[k / S::LANES].status(k % S::LANES) }
    }

    fn states(&mut self, k: usize, contact: &Contact) -> Vec<[f64; 2]> {
        self.with(k, contact, |one| {
            one.write_back();
            Some(())
        });
        self.solvers[k / S::LANES].states(k % S::LANES)
    }

    fn inputs(&self, k: usize) -> ([f64; slot::COUNT], Vec<[f64; slot::OF_PART]>) {
        (self.places[k].inputs, self.places[k].of_parts.clone())
    }

    fn export(&self, k: usize, state: &mut State) {
        self.solvers[k / S::LANES].export(k % S::LANES, state);
        let Place { inputs, of_parts, failure, .. } = &self.places[k];
        (state.inputs, state.failure) = (*inputs, *failure);
        state.of_parts.clone_from(of_parts);
    }

    fn import(&mut self, k: usize, contact: &Contact, state: &State) {
        // The lane of a contact that has failed was cleared.
        if self.places[k].failure.is_some() {
            self.load(k, contact, &contact.cells_ever_active());
        }
        self.solvers[k / S::LANES].import(k % S::LANES, contact, state);
        let place = &mut self.places[k];
        place.failure = state.failure;
        place.note(&Interval::holding(&state.inputs, &state.of_parts), 0.0);
    }
}

#[cfg(test)]
mod tests;
