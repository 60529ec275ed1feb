//! Contacts with a reduced bristle, stepped side by side: who sits where, their intervals and samples.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::row::Seat;
use crate::contact::{Contact, Form, Model};
use crate::engine::{Plan, Progress, Reason};
use crate::friction::Law;
use crate::kernel::friction::Consts;
use crate::kernel::real::Real;
use crate::kernel::reduced::Reduced;
use crate::kernel::reduced::abreast::Kind;
use crate::kernel::reduced::group::Group;
use crate::kernel::step::{Bristles, observe};
use crate::schedule::{Interval, Timeline, slot};

/// Steps contacts of one [`kind`] side by side.
pub type Runner = fn(Vec<Seat<'_>>, &Plan, &Progress<'_>, &AtomicBool);

/// What contacts that are stepped side by side have in common: law, `gamma = 2`, ellipsoid, consistent form.
fn kind(contact: &Contact) -> [bool; 4] {
    let (ellipsoid, form) = match &contact.model {
        Model::LimitSurface(_, form) => (false, *form),
        Model::Ellipsoid(form) => (true, *form),
        Model::Distributed => unreachable!("a grid is stepped by itself"),
    };
    let plastic = contact.friction.law == Law::ElastoPlastic;
    [plastic, contact.friction.gamma == 2.0, ellipsoid, plastic && form == Form::Consistent]
}

/// Contacts of one kind each, as many as there are `lanes`.
pub fn companies(seats: Vec<Seat<'_>>, lanes: usize) -> Vec<Vec<Seat<'_>>> {
    let mut kinds: BTreeMap<_, Vec<Vec<Seat<'_>>>> = BTreeMap::new();
    for seat in seats {
        let companies = kinds.entry(kind(seat.contact)).or_default();
        match companies.last_mut() {
            Some(last) if last.len() < lanes => last.push(seat),
            _ => companies.push(vec![seat]),
        }
    }
    kinds.into_values().flatten().collect()
}

/// A contact in its lane.
struct Rider<'a> {
    seat: Seat<'a>,
    timeline: Timeline<'a>,
    /// The present interval and its number, and the sample to come.
    interval: Interval,
    at: usize,
    frame: usize,
    /// The bristle as it is sampled.
    bristle: Reduced,
}

impl Rider<'_> {
    /// Samples the present state of lane `l` at local time `tau` [s]. `false` if it is not finite.
    fn sample<R: Real>(&mut self, group: &Group<R>, l: usize, tau: f64) -> bool {
        let v = self.interval.inputs(tau);
        let (q, u, zeta) = group.state(l);
        self.bristle.zeta = zeta.into();
        let seen = observe(self.seat.contact, &self.bristle, q, u, &v);
        if !seen.1.to_array().iter().all(|c| c.is_finite()) {
            self.seat.status.failure = Some((group.steps[l], Reason::Wrench));
            return false;
        }
        self.seat.row.write(self.frame, q, seen, v[slot::F_N]);
        self.frame += 1;
        true
    }

    /// Goes on from the end of an interval, whose bristle has settled if it is sampled. `false` at the end of the run.
    fn go_on<R: Real>(&mut self, group: &mut Group<R>, l: usize, progress: &Progress<'_>, stop: &AtomicBool) -> bool {
        if self.interval.record {
            if group.is_pending(l) {
                group.settle(l);
                return true;
            }
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
            group.enter(l, &self.interval);
        }
        more
    }

    /// The end of the run, or of what could be computed of it.
    fn finish<R: Real>(self, group: &mut Group<R>, l: usize) {
        let Self { seat, mut bristle, .. } = self;
        seat.status.passes = group.passes[l];
        seat.status.steps = group.steps[l];
        seat.status.unconverged = group.unconverged[l];
        bristle.zeta = group.state(l).2.into();
        *seat.bristles = bristle.states();
        group.leave(l);
    }
}

/// Steps contacts of one kind, at most as many as there are lanes, through the whole plan.
pub fn simulate<R: Real>(seats: Vec<Seat<'_>>, plan: &Plan, progress: &Progress<'_>, stop: &AtomicBool) {
    let Some(first) = seats.first() else { return };
    let [_, _, ellipsoid, consistent] = kind(first.contact);
    let mut group = Group::<R>::new(Kind { ellipsoid, consistent }, Consts::new(&first.contact.friction), plan);
    let mut tables: Vec<R::Scalar> = Vec::new();
    let mut known = HashMap::new();
    let mut riders: Vec<Option<Rider<'_>>> = Vec::new();
    for (l, seat) in seats.into_iter().enumerate() {
        let contact = seat.contact;
        let (table, form) = match &contact.model {
            Model::LimitSurface(table, form) => (Some(Arc::clone(table)), *form),
            Model::Ellipsoid(form) => (None, *form),
            Model::Distributed => unreachable!("a grid is stepped by itself"),
        };
        let start = table.as_ref().map_or(0, |t| {
            *known.entry(Arc::as_ptr(t)).or_insert_with(|| {
                let start = tables.len();
                tables.extend(t.nodes().as_flattened().iter().map(|h| R::Scalar::of(*h)));
                start as u32
            })
        });
        let bristle = Reduced::new(contact, table, form);
        group.seat(l, contact, &bristle, start, plan);
        let timeline = contact.timeline(&plan.samples);
        let mut rider = Rider { seat, interval: Interval::default(), timeline, at: 0, frame: 0, bristle };
        let empty = rider.timeline.is_empty();
        if !empty {
            rider.interval = contact.interval(&rider.timeline, 0);
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
        let events = group.pass(&tables);
        let mut lanes = events.stopped | events.failed;
        while lanes != 0 {
            let l = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let Some(rider) = &mut riders[l] else { continue };
            let goes_on = if events.failed >> l & 1 == 1 {
                rider.seat.status.failure = Some((group.steps[l], Reason::Twist));
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
