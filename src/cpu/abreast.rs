//! Contacts with few bristles, stepped side by side: who sits where, their intervals and samples.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::row::Seat;
use crate::contact::{Contact, Form, Model};
use crate::engine::{Plan, Progress, Reason};
use crate::friction::Law;
use crate::kernel::abreast::Abreast;
use crate::kernel::abreast::Bits;
use crate::kernel::abreast::grid::Grids;
use crate::kernel::abreast::group::{Group, pass};
use crate::kernel::abreast::reduced::Reduceds;
use crate::kernel::bristles::Bristles;
use crate::kernel::friction::Consts;
use crate::kernel::grid::Grid;
use crate::kernel::reduced::Reduced;
use crate::kernel::step::observe;
use crate::number::real::Real;
use crate::schedule::{Interval, Timeline, slot};

/// Steps contacts of one [`Kind`] side by side.
pub type Runner = fn(Vec<Seat<'_>>, &Plan, &Progress<'_>, &AtomicBool);

/// Grids of at most this many cells are stepped side by side: with more of them the lanes are full anyway,
/// and a contact by itself is done sooner.
const FEW_CELLS: usize = 50;

/// What contacts that are stepped side by side have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    plastic: bool,
    gaussian: bool,
    /// Cells of a grid, rounded up.
    cells: Option<usize>,
    ellipsoid: bool,
    consistent: bool,
}

impl Kind {
    fn of(contact: &Contact) -> Self {
        let (cells, ellipsoid, form) = match &contact.model {
            Model::Distributed => (Some(cells(contact).next_multiple_of(4)), false, Form::default()),
            Model::LimitSurface(_, form) => (None, false, *form),
            Model::Ellipsoid(form) => (None, true, *form),
        };
        let plastic = contact.friction.law == Law::ElastoPlastic;
        let gaussian = contact.friction.gamma == 2.0;
        Self { plastic, gaussian, cells, ellipsoid, consistent: form.is_elastic(plastic) }
    }
}

/// Whether a contact is stepped beside others: if a vector has more lanes than it has use for.
pub fn is_abreast(contact: &Contact) -> bool {
    !contact.model.is_grid() || cells(contact) <= FEW_CELLS
}

/// Cells that carry pressure; of a map that follows the normal force, those that may.
fn cells(contact: &Contact) -> usize {
    if contact.patch.rule().is_some() { contact.patch.grid().len() } else { contact.patch.cells().len() }
}

/// Contacts of one kind each, as many as there are `lanes`, or fewer where some thread would have nothing to
/// do.
pub fn companies(seats: Vec<Seat<'_>>, lanes: usize) -> Vec<Vec<Seat<'_>>> {
    let mut kinds: BTreeMap<Kind, Vec<Seat<'_>>> = BTreeMap::new();
    for seat in seats {
        kinds.entry(Kind::of(seat.contact)).or_default().push(seat);
    }
    kinds.into_values().flat_map(|seats| shared_out(seats, lanes)).collect()
}

fn shared_out(mut seats: Vec<Seat<'_>>, lanes: usize) -> Vec<Vec<Seat<'_>>> {
    let companies = seats.len().div_ceil(lanes).max(rayon::current_num_threads().min(seats.len()));
    let mut out = Vec::with_capacity(companies);
    for left in (1..=companies).rev() {
        out.push(seats.split_off(seats.len() - seats.len() / left));
    }
    out
}

/// A contact in its lane.
struct Rider<'a, A> {
    seat: Seat<'a>,
    timeline: Timeline<'a>,
    /// The present interval and its number, and the sample to come.
    interval: Interval,
    at: usize,
    frame: usize,
    /// The bristles as they are sampled.
    alone: A,
}

impl<A: Bristles> Rider<'_, A> {
    /// Samples the present state of lane `l` at local time `tau` [s]. `false` if it is not finite.
    fn sample<R: Real, B: Abreast<R, Alone = A>>(&mut self, group: &Group<R, B>, l: usize, tau: f64) -> bool {
        let v = self.interval.inputs(tau);
        let (q, u) = group.state(l, &mut self.alone);
        let seen = observe(self.seat.contact, &self.alone, q, u, &v);
        if !seen.1.to_array().iter().all(|c| c.is_finite()) {
            self.seat.status.failure = Some((group.steps[l], Reason::Wrench));
            return false;
        }
        self.seat.row.write(self.frame, q, seen, v[slot::F_N]);
        self.frame += 1;
        true
    }

    /// Goes on from the end of an interval, whose bristle has settled if it is sampled. `false` at the end of
    /// the run.
    fn go_on<R: Real, B: Abreast<R, Alone = A>>(
        &mut self,
        group: &mut Group<R, B>,
        l: usize,
        progress: &Progress<'_>,
        stop: &AtomicBool,
    ) -> bool {
        let new_map = || self.timeline.remap(self.at + 1).is_some_and(|f_n| !group.is_mapped(l, f_n));
        if group.is_pending(l) && (self.interval.record || self.alone.holds_map() && new_map()) {
            group.settle(l);
            return true;
        }
        if self.interval.record {
            if !self.sample(group, l, self.interval.length) {
                return false;
            }
            if !progress(1) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        self.at += 1;
        let more = self.at < self.timeline.len();
        if more {
            self.interval = self.seat.contact.interval(&self.timeline, self.at);
            self.remap(group, l);
            group.enter(l, &self.interval);
        }
        more
    }

    /// Follows the map at the start of the interval, if that is made anew.
    fn remap<R: Real, B: Abreast<R, Alone = A>>(&mut self, group: &mut Group<R, B>, l: usize) {
        group.remap(l, self.seat.contact, &self.interval, &mut self.alone);
    }

    /// The end of the run, or of what could be computed of it.
    fn finish<R: Real, B: Abreast<R, Alone = A>>(self, group: &mut Group<R, B>, l: usize) {
        let Self { seat, mut alone, .. } = self;
        seat.status.passes = group.passes[l];
        seat.status.steps = group.steps[l];
        seat.status.unconverged = group.unconverged[l];
        group.state(l, &mut alone);
        *seat.bristles = alone.states();
        group.leave(l);
    }
}

/// Steps contacts of one kind, at most as many as there are lanes, through the whole plan.
pub fn simulate<R: Real>(seats: Vec<Seat<'_>>, plan: &Plan, progress: &Progress<'_>, stop: &AtomicBool) {
    let Some(first) = seats.first() else { return };
    if let Some(cells) = Kind::of(first.contact).cells {
        let grids = Grids::<R>::new(cells, &Consts::new(&first.contact.friction));
        let alone = |contact: &Contact| Grid::new(contact, contact.active_cells(&contact.timeline(&plan.samples)));
        ride(seats, grids, alone, plan, progress, stop);
    } else {
        let alone = |contact: &Contact| {
            let bristle = match &contact.model {
                Model::LimitSurface(table, form) => Reduced::new(contact, Some(Arc::clone(table)), *form),
                Model::Ellipsoid(form) => Reduced::new(contact, None, *form),
                Model::Distributed => unreachable!("a grid is of another kind"),
            };
            Reduced { single: size_of::<R::Scalar>() == size_of::<f32>(), ..bristle }
        };
        let bristles = Reduceds::<R>::new(&alone(first.contact));
        ride(seats, bristles, alone, plan, progress, stop);
    }
}

/// Steps contacts in the lanes of `bristles`; `alone` makes the bristles of one of them.
fn ride<R: Real, B: Abreast<R>>(
    seats: Vec<Seat<'_>>,
    bristles: B,
    alone: impl Fn(&Contact) -> B::Alone,
    plan: &Plan,
    progress: &Progress<'_>,
    stop: &AtomicBool,
) {
    let mut group = Group::new(bristles, plan);
    let mut riders = Vec::new();
    for (l, seat) in seats.into_iter().enumerate() {
        let contact = seat.contact;
        let alone = alone(contact);
        let timeline = contact.timeline(&plan.samples);
        group.seat(l, contact, &alone, plan, timeline.len());
        let mut rider = Rider { seat, interval: Interval::default(), timeline, at: 0, frame: 0, alone };
        let empty = rider.timeline.is_empty();
        if !empty {
            rider.interval = contact.interval(&rider.timeline, 0);
            rider.remap(&mut group, l);
            if rider.sample(&group, l, 0.0) {
                group.enter(l, &rider.interval);
                riders.push(Some(rider));
                continue;
            }
        }
        rider.finish(&mut group, l);
        riders.push(None);
    }
    while group.running != 0 && !stop.load(Ordering::Relaxed) {
        let events = pass(&mut group);
        let mut lanes = events.stopped | events.failed | events.spent;
        while lanes != 0 {
            let l = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let Some(rider) = &mut riders[l] else { continue };
            let is = |lanes: Bits| lanes >> l & 1 == 1;
            let reason = is(events.failed).then_some(Reason::Twist).or(is(events.spent).then_some(Reason::Steps));
            let goes_on = if let Some(reason) = reason {
                rider.seat.status.failure = Some((group.steps[l], reason));
                false
            } else {
                rider.go_on(&mut group, l, progress, stop)
            };
            if let (false, Some(rider)) = (goes_on, riders[l].take_if(|_| !goes_on)) {
                rider.finish(&mut group, l);
            }
        }
    }
}
