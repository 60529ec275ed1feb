//! Contacts that stay on the CPU between calls, and rollouts, whose packs are dropped when they are done.

use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::divide::{can_share, divide};
use super::make::Maker;
use super::pack::{Pack, Recording};
use super::row::{Row, rows};
use crate::batch::{Answer, Sample, Stepper};
use crate::contact::Contact;
use crate::engine::{Plan, Progress, Status, Stepping, StopWhen, Trajectories};
use crate::error::EngineError;
use crate::planar::Twist;
use crate::pool;
use crate::schedule::{Span, slot};
use crate::solver::respond::Response;
use crate::solver::state::State;

/// What a contact takes beside its cells, in cells.
const BESIDE: usize = 16;
/// Cells times steps for which it pays to wake another thread, which takes some 30 us.
const PAYS: f64 = 1e4;
/// Steps that a tolerance chooses are taken for no longer than this [s].
const LONG: f64 = 1e-3;

/// The packs of a batch.
pub struct CpuBatch {
    packs: Vec<Packed>,
    /// Pack and place in it of every contact.
    places: Vec<(usize, usize)>,
    /// Lanes of a solver.
    lanes: usize,
    /// Length of a step [s], about.
    step: f64,
}

/// A pack and the contacts in it.
struct Packed {
    pack: Box<dyn Pack>,
    members: Vec<usize>,
    /// The cells of its contacts, with [`BESIDE`].
    size: usize,
}

impl Packed {
    /// A pack of contacts at their start; `active` gives the cells of one that carry pressure at some time.
    fn new(
        members: Vec<usize>,
        contacts: &[Contact],
        active: impl Fn(&Contact) -> Vec<usize>,
        stepping: Stepping,
        make: Maker,
    ) -> Self {
        let mut pack = make(&contacts[members[0]], stepping, members.len());
        let mut size = 0;
        for (k, &member) in members.iter().enumerate() {
            let active = active(&contacts[member]);
            pack.load(k, &contacts[member], &active);
            size += BESIDE + active.len();
        }
        Self { pack, members, size }
    }

    /// Steps the contacts through the spans that `span` gives and writes their samples, their statuses, and
    /// their bristles at the end where these are kept.
    fn record(
        &mut self,
        contacts: &[Contact],
        span: impl Fn(usize) -> Option<Span>,
        recording: &Recording<'_>,
        mut rows: Vec<Row<'_>>,
    ) {
        let Self { pack, members, .. } = self;
        pack.record(&|k| Some((&contacts[members[k]], span(members[k])?)), recording, &mut rows);
        for (k, row) in rows.into_iter().enumerate() {
            *row.status = pack.status(k);
            if let Some(bristles) = row.bristles {
                *bristles = pack.states(k, &contacts[members[k]]);
            }
        }
    }
}

/// What the members of a pack have of all contacts, such as their rows.
fn take<T>(members: &[usize], all: &mut [Option<T>]) -> Vec<T> {
    members.iter().map(|k| all[*k].take().expect("a contact has one place")).collect()
}

/// Steps contacts from their start through `plan`. A pack is made when it is its turn, and dropped when it is
/// done, so that the memory for bristles does not grow with the number of contacts.
pub fn rollout(
    contacts: &[Contact],
    plan: &Plan,
    make: Maker,
    lanes: usize,
    progress: &Progress<'_>,
) -> Result<Trajectories, EngineError> {
    let mut out = Trajectories::for_plan(contacts.len(), plan)?;
    let stop = AtomicBool::new(false);
    let recording = Recording { samples: &plan.samples, stop_when: &plan.stop_when, progress, stop: &stop };
    let mut rows = rows(&mut out);
    // As many packs as there can be.
    let members = divide(contacts, lanes, usize::MAX);
    let tasks: Vec<_> = members.into_iter().map(|members| (take(&members, &mut rows), members)).collect();
    let active = |contact: &Contact| {
        if contact.model.is_grid() { contact.active_cells(&contact.timeline(&plan.samples)) } else { Vec::new() }
    };
    let simulate = |(rows, members)| {
        let mut packed = Packed::new(members, contacts, active, plan.stepping(), make);
        packed.record(contacts, |_| Some(Span::run(plan.duration())), &recording, rows);
    };
    pool::run(|| tasks.into_par_iter().for_each(simulate));
    if stop.into_inner() { Err(EngineError::Stopped) } else { Ok(out) }
}

impl CpuBatch {
    /// Contacts at their start, in solvers of so many `lanes`.
    pub fn new(contacts: &[Contact], stepping: Stepping, make: Maker, lanes: usize) -> Self {
        // Several packs for each thread, so that no thread is left without work while others finish.
        let members = divide(contacts, lanes, 8 * pool::threads());
        let pack = |members| Packed::new(members, contacts, Contact::cells_ever_active, stepping, make);
        let packs: Vec<Packed> = pool::run(|| members.into_par_iter().map(pack).collect());
        let mut places = vec![(0, 0); contacts.len()];
        for (p, packed) in packs.iter().enumerate() {
            packed.members.iter().enumerate().for_each(|(k, member)| places[*member] = (p, k));
        }
        Self { packs, places, lanes, step: stepping.step.min(LONG) }
    }

    /// Number of threads that it pays to wake for work that takes so many `steps`.
    fn others(&self, steps: f64) -> usize {
        let size: usize = self.packs.iter().map(|packed| packed.size).sum();
        ((size as f64) * steps / PAYS) as usize
    }

    fn place(&mut self, contact: usize) -> (&mut dyn Pack, usize) {
        let (p, k) = self.places[contact];
        (&mut *self.packs[p].pack, k)
    }
}

impl Stepper for CpuBatch {
    fn takes(&self, _: usize, old: &Contact, new: &Contact) -> bool {
        can_share(old, new, self.lanes)
    }

    fn load<'a>(&'a mut self, contact: usize, of: &'a Contact) -> Answer<'a, ()> {
        let (pack, k) = self.place(contact);
        pack.load(k, of, &of.cells_ever_active());
        Answer::Now(Ok(()))
    }

    fn advance<'a>(&'a mut self, contacts: &'a [Contact], spans: &'a [Option<Span>]) -> Answer<'a, ()> {
        let span = spans.iter().flatten().next();
        let steps = span.map_or(0.0, |span| ((span.end - span.start) / self.step).max(1.0));
        let others = self.others(steps);
        pool::for_each(&mut self.packs, others, |Packed { pack, members, .. }| {
            pack.advance(&|k| Some((&contacts[members[k]], spans[members[k]]?)));
        });
        Answer::Now(Ok(()))
    }

    fn record<'a>(
        &'a mut self,
        contacts: &'a [Contact],
        spans: &'a [Option<Span>],
        progress: &'a Progress<'a>,
        out: &'a mut Trajectories,
    ) -> Answer<'a, ()> {
        let samples = out.time.clone();
        let stop = AtomicBool::new(false);
        let recording = Recording { samples: &samples, stop_when: &StopWhen::NEVER, progress, stop: &stop };
        let mut rows = rows(out);
        let tasks: Vec<_> = self.packs.iter_mut().map(|packed| (take(&packed.members, &mut rows), packed)).collect();
        let record = |(rows, packed): (Vec<Row<'_>>, &mut Packed)| {
            packed.record(contacts, |k| spans[k], &recording, rows);
        };
        pool::run(|| tasks.into_par_iter().for_each(record));
        Answer::Now(if stop.into_inner() { Err(EngineError::Stopped) } else { Ok(()) })
    }

    fn samples<'a>(&'a mut self, contacts: &'a [Contact], out: &'a mut [Sample]) -> Answer<'a, ()> {
        let others = self.others(1.0);
        if others == 0 {
            for Packed { pack, members, .. } in &mut self.packs {
                pack.samples(&|k| &contacts[members[k]], &mut |k, sample| out[members[k]] = sample);
            }
            return Answer::Now(Ok(()));
        }
        let mut read: Vec<_> = self.packs.iter_mut().map(|packed| (packed, Vec::new())).collect();
        pool::for_each(&mut read, others, |(Packed { pack, members, .. }, samples)| {
            pack.samples(&|k| &contacts[members[k]], &mut |_, sample| samples.push(sample));
        });
        for (Packed { members, .. }, samples) in read {
            members.iter().zip(samples).for_each(|(k, sample)| out[*k] = sample);
        }
        Answer::Now(Ok(()))
    }

    fn statuses<'a>(&'a mut self, out: &'a mut [Status]) -> Answer<'a, ()> {
        for Packed { pack, members, .. } in &self.packs {
            members.iter().enumerate().for_each(|(k, member)| out[*member] = pack.status(k));
        }
        Answer::Now(Ok(()))
    }

    fn bristles<'a>(&'a mut self, which: &'a [usize], contacts: &'a [Contact]) -> Answer<'a, Vec<Vec<[f64; 2]>>> {
        let one = |contact: &usize| {
            let (pack, k) = self.place(*contact);
            pack.states(k, &contacts[*contact])
        };
        Answer::Now(Ok(which.iter().map(one).collect()))
    }

    fn respond<'a>(
        &'a mut self,
        contact: usize,
        of: &'a Contact,
        twist: Twist,
        dt: f64,
    ) -> Answer<'a, Option<Response>> {
        let (pack, k) = self.place(contact);
        Answer::Now(Ok(pack.respond(k, of, twist, dt)))
    }

    fn set_map<'a>(&'a mut self, contact: usize, of: &'a Contact, mu_c: f64) -> Answer<'a, ()> {
        let (pack, k) = self.place(contact);
        pack.set_map(k, of, mu_c);
        Answer::Now(Ok(()))
    }

    fn save<'a>(&'a mut self, out: &'a mut [State]) -> Answer<'a, ()> {
        let mut places: Vec<Option<&mut State>> = out.iter_mut().map(Some).collect();
        let tasks: Vec<_> = self.packs.iter_mut().map(|packed| (take(&packed.members, &mut places), packed)).collect();
        let export = |(states, packed): (Vec<&mut State>, &mut Packed)| {
            states.into_iter().enumerate().for_each(|(k, state)| packed.pack.export(k, state));
        };
        if tasks.len() == 1 {
            tasks.into_iter().for_each(export);
        } else {
            pool::run(|| tasks.into_par_iter().for_each(export));
        }
        Answer::Now(Ok(()))
    }

    fn inputs(&self, contact: usize) -> ([f64; slot::COUNT], Vec<[f64; slot::OF_PART]>) {
        let (p, k) = self.places[contact];
        self.packs[p].pack.inputs(k)
    }

    fn state(&mut self, contact: usize) -> Answer<'_, State> {
        let (pack, k) = self.place(contact);
        let mut state = State::default();
        pack.export(k, &mut state);
        Answer::Now(Ok(state))
    }

    fn restore<'a>(&'a mut self, contact: usize, of: &'a Contact, state: &'a State) -> Answer<'a, ()> {
        let (pack, k) = self.place(contact);
        pack.import(k, of, state);
        Answer::Now(Ok(()))
    }
}
