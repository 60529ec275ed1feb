//! Steps the contacts in the lanes of one solver through the whole plan: interval after interval, with the samples
//! between them.

use std::sync::atomic::{AtomicBool, Ordering};

use super::output::Task;
use super::pack::{has_few_bristles, most_cells};
use crate::engine::{Plan, Progress, Reason, Status};
use crate::number::real::Real;
use crate::schedule::{Interval, Timeline, slot};
use crate::solver::bristles::{Bits, Bristles};
use crate::solver::lanes::Solver;
use crate::solver::models::grid::Grid;
use crate::solver::models::grids::Grids;
use crate::solver::models::reduced::Reduced;
use crate::solver::step::pass;

/// Steps contacts of one pack.
pub type Runner = fn(Vec<Task<'_>>, &Plan, &Progress<'_>, &AtomicBool);

/// Steps contacts of one pack, at most as many as `C` has lanes. The cells of a large grid are in numbers `C` and
/// its body in double precision; contacts with few bristles are in numbers `C` as a whole.
pub fn run<C: Real>(tasks: Vec<Task<'_>>, plan: &Plan, progress: &Progress<'_>, stop: &AtomicBool) {
    let Some(first) = tasks.first() else { return };
    let contact = first.contact;
    if !contact.model.is_grid() {
        run_lanes::<C, _>(tasks, Reduced::new(contact), plan, progress, stop);
    } else if C::LANES > 1 && has_few_bristles(contact) {
        run_lanes::<C, _>(tasks, Grids::new(most_cells(contact), &contact.friction), plan, progress, stop);
    } else {
        run_lanes::<f64, _>(tasks, Grid::<C>::empty(), plan, progress, stop);
    }
}

/// A contact in its lane.
struct Run<'a> {
    task: Task<'a>,
    timeline: Timeline<'a>,
    /// The present interval and its number, and the sample to come.
    interval: Interval,
    at: usize,
    frame: usize,
}

/// Steps contacts in the lanes of `bristles`.
fn run_lanes<R: Real, B: Bristles<R>>(
    tasks: Vec<Task<'_>>,
    bristles: B,
    plan: &Plan,
    progress: &Progress<'_>,
    stop: &AtomicBool,
) {
    let mut solver = Solver::new(bristles, plan);
    let mut runs: Vec<Option<Run<'_>>> = Vec::new();
    for (l, task) in tasks.into_iter().enumerate() {
        let timeline = task.contact.timeline(&plan.samples);
        solver.load(l, task.contact, plan, &timeline);
        let mut run = Run { task, timeline, interval: Interval::default(), at: 0, frame: 0 };
        if run.start(&mut solver, l) {
            runs.push(Some(run));
        } else {
            run.finish(&mut solver, l);
            runs.push(None);
        }
    }
    while solver.running != 0 && !stop.load(Ordering::Relaxed) {
        let events = pass(&mut solver);
        let mut lanes = events.stopped | events.failed | events.spent;
        while lanes != 0 {
            let l = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let Some(run) = &mut runs[l] else { continue };
            let is = |lanes: Bits| lanes >> l & 1 == 1;
            let reason = is(events.failed).then_some(Reason::Twist).or(is(events.spent).then_some(Reason::Steps));
            let goes_on = match reason {
                Some(reason) => run.fail(&solver, l, reason),
                None => run.go_on(&mut solver, l, progress, stop),
            };
            if let (false, Some(run)) = (goes_on, runs[l].take_if(|_| !goes_on)) {
                run.finish(&mut solver, l);
            }
        }
    }
}

impl Run<'_> {
    /// Samples the initial state and starts the first interval. `false` if there is none.
    fn start<R: Real, B: Bristles<R>>(&mut self, solver: &mut Solver<R, B>, l: usize) -> bool {
        if self.timeline.is_empty() {
            return false;
        }
        self.interval = self.task.contact.interval(&self.timeline, 0);
        solver.remap(l, self.task.contact, &self.interval);
        let goes_on = self.sample(solver, l, 0.0);
        if goes_on {
            solver.start_interval(l, &self.interval);
        }
        goes_on
    }

    /// Goes on from the end of an interval. `false` at the end of the run.
    fn go_on<R: Real, B: Bristles<R>>(
        &mut self,
        solver: &mut Solver<R, B>,
        l: usize,
        progress: &Progress<'_>,
        stop: &AtomicBool,
    ) -> bool {
        let new_map = || self.timeline.remap(self.at + 1).is_some_and(|f_n| solver.must_flush_before(l, f_n));
        if solver.is_pending(l) && (self.interval.record || new_map()) {
            solver.flush(l);
            return true;
        }
        if self.interval.record {
            if !self.sample(solver, l, self.interval.length) {
                return false;
            }
            if !progress(1) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        self.at += 1;
        let more = self.at < self.timeline.len();
        if more {
            self.interval = self.task.contact.interval(&self.timeline, self.at);
            solver.remap(l, self.task.contact, &self.interval);
            solver.start_interval(l, &self.interval);
        }
        more
    }

    /// Samples the present state of lane `l` at local time `tau` [s]. `false` if it is not finite.
    fn sample<R: Real, B: Bristles<R>>(&mut self, solver: &mut Solver<R, B>, l: usize, tau: f64) -> bool {
        let v = self.interval.inputs(tau);
        let sample = solver.sample(l, self.task.contact, &v);
        if !sample.2.to_array().iter().all(|c| c.is_finite()) {
            return self.fail(solver, l, Reason::Wrench);
        }
        self.task.row.write(self.frame, sample, v[slot::F_N]);
        self.frame += 1;
        true
    }

    /// Says why the contact is stopped. Always `false`: it does not go on.
    fn fail<R: Real, B: Bristles<R>>(&mut self, solver: &Solver<R, B>, l: usize, reason: Reason) -> bool {
        self.task.status.failure = Some((solver.status(l).steps, reason));
        false
    }

    /// The end of the run, or of what could be computed of it.
    fn finish<R: Real, B: Bristles<R>>(self, solver: &mut Solver<R, B>, l: usize) {
        let Task { status, bristles, .. } = self.task;
        *status = Status { failure: status.failure, ..solver.status(l) };
        *bristles = solver.bristles.states(l);
        solver.clear(l);
    }
}
