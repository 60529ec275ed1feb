//! Contacts that stay on the CPU between calls.

use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::make::Maker;
use super::output::Row;
use super::pack::packs;
use super::run::{Pack, Recording};
use crate::batch::{Keep, Recorded, Sample, Saved, Stepper};
use crate::contact::Contact;
use crate::engine::{Status, Stepping, StopWhen, share};
use crate::error::EngineError;
use crate::planar::Twist;
use crate::pool;
use crate::schedule::Span;
use crate::solver::respond::Response;

/// Largest number of large grids in a pack.
const MOST_GRIDS: usize = 32;

/// The solvers of a batch.
pub struct CpuBatch {
    groups: Vec<Group>,
    /// Group and lane of every contact.
    places: Vec<(usize, usize)>,
}

/// A solver and the contacts in its lanes.
struct Group {
    pack: Box<dyn Pack>,
    members: Vec<usize>,
    /// Memory for the samples and states of the lanes, from which they are copied to the order of the
    /// contacts.
    samples: Vec<Sample>,
    saved: Vec<Saved>,
}

impl CpuBatch {
    /// Contacts at their start, in solvers of so many `lanes`.
    pub fn new(contacts: &[Contact], stepping: Stepping, make: Maker, lanes: usize) -> Self {
        // Several packs for each thread, so that no thread is left without work while others finish.
        let grids = (contacts.len() / (8 * pool::threads())).clamp(1, MOST_GRIDS);
        let members = packs((0..contacts.len()).collect(), |k| &contacts[*k], lanes, grids);
        let group = |members: Vec<usize>| {
            let mut pack = make(&contacts[members[0]], stepping, members.len());
            for (lane, &k) in members.iter().enumerate() {
                pack.load(lane, &contacts[k], &contacts[k].cells_ever_active());
            }
            Group { pack, members, samples: Vec::new(), saved: Vec::new() }
        };
        let groups: Vec<Group> = pool::run(|| members.into_par_iter().map(group).collect());
        let mut places = vec![(0, 0); contacts.len()];
        for (g, group) in groups.iter().enumerate() {
            group.members.iter().enumerate().for_each(|(lane, k)| places[*k] = (g, lane));
        }
        Self { groups, places }
    }

    /// Calls `work` for every group, in parallel if there are several: for one group, starting the threads
    /// would take longer than a few steps of a contact.
    fn each(&mut self, work: impl Fn(&mut Group) + Send + Sync) {
        match &mut *self.groups {
            [group] => work(group),
            groups => pool::run(|| groups.par_iter_mut().for_each(work)),
        }
    }

    fn place(&mut self, contact: usize) -> (&mut dyn Pack, usize) {
        let (group, lane) = self.places[contact];
        (&mut *self.groups[group].pack, lane)
    }
}

impl Stepper for CpuBatch {
    fn load(&mut self, contact: usize, of: &Contact) -> Result<(), EngineError> {
        let (pack, lane) = self.place(contact);
        pack.load(lane, of, &of.cells_ever_active());
        Ok(())
    }

    fn advance(&mut self, contacts: &[Contact], spans: &[Option<Span>]) -> Result<(), EngineError> {
        let stop = AtomicBool::new(false);
        self.each(|Group { pack, members, .. }| {
            let task = |lane: usize| Some((&contacts[members[lane]], spans[members[lane]]?));
            let rows: &mut [Row<'_>] = &mut [];
            pack.advance(
                &task,
                &mut Recording { samples: &[], stop_when: &StopWhen::NEVER, rows, progress: &|_| true, stop: &stop },
            );
        });
        Ok(())
    }

    fn record(
        &mut self,
        contacts: &[Contact],
        span: Span,
        times: &[f64],
        out: &mut Recorded,
        keep: &Keep<'_>,
    ) -> Option<bool> {
        // Packs record the first sample of a run, at time 0; later spans begin with one that is written
        // already.
        let (each, skip) = (out.samples, usize::from(span.start > 0.0));
        let rows = out
            .pose
            .chunks_mut(each)
            .zip(out.twist.chunks_mut(each))
            .zip(out.wrench.chunks_mut(each))
            .zip(out.normal_force.chunks_mut(each))
            .zip(out.slip.chunks_mut(each))
            .zip(out.near_limit.chunks_mut(each))
            .map(|(((((pose, twist), wrench), normal_force), slip), near_limit)| Row {
                pose: &mut pose[skip..],
                twist: &mut twist[skip..],
                wrench: &mut wrench[skip..],
                normal_force: &mut normal_force[skip..],
                slip: &mut slip[skip..],
                near_limit: &mut near_limit[skip..],
                bristles: None,
            });
        let mut rows: Vec<Option<Row<'_>>> = rows.map(Some).collect();
        let tasks: Vec<(&mut Group, Vec<Row<'_>>)> = self
            .groups
            .iter_mut()
            .map(|group| {
                let rows = group.members.iter().filter_map(|k| rows[*k].take()).collect();
                (group, rows)
            })
            .collect();
        let stop = AtomicBool::new(false);
        let record = |(Group { pack, members, .. }, mut rows): (&mut Group, Vec<Row<'_>>)| {
            let task = |lane: usize| Some((&contacts[members[lane]], span));
            pack.advance(
                &task,
                &mut Recording {
                    samples: times,
                    stop_when: &StopWhen::NEVER,
                    rows: &mut rows,
                    progress: keep,
                    stop: &stop,
                },
            );
        };
        pool::run(|| tasks.into_par_iter().for_each(record));
        Some(!stop.into_inner())
    }

    fn samples(&mut self, contacts: &[Contact], out: &mut [Sample]) -> Result<(), EngineError> {
        self.each(|Group { pack, members, samples, .. }| {
            samples.clear();
            samples.extend(members.iter().enumerate().map(|(lane, k)| {
                pack.sample(lane, &contacts[*k]).map_or(Sample::NONE, |(pose, twist, wrench, of, normal_force)| {
                    let [slip, near_limit] = [of.slip, of.near_limit].map(share);
                    Sample { pose, twist, wrench, normal_force, slip, near_limit }
                })
            }));
        });
        for Group { members, samples, .. } in &self.groups {
            members.iter().zip(samples).for_each(|(k, sample)| out[*k] = *sample);
        }
        Ok(())
    }

    fn statuses(&mut self, out: &mut [Status]) -> Result<(), EngineError> {
        for Group { pack, members, .. } in &self.groups {
            members.iter().enumerate().for_each(|(lane, k)| out[*k] = pack.status(lane));
        }
        Ok(())
    }

    fn bristles(&mut self, contact: usize) -> Result<Vec<[f64; 2]>, EngineError> {
        let (pack, lane) = self.place(contact);
        Ok(pack.states(lane))
    }

    fn respond(
        &mut self,
        contact: usize,
        of: &Contact,
        twist: Twist,
        dt: f64,
    ) -> Result<Option<Response>, EngineError> {
        let (pack, lane) = self.place(contact);
        Ok(pack.respond(lane, of, twist, dt))
    }

    fn set_map(&mut self, contact: usize, of: &Contact, mu_c: f64) -> Result<(), EngineError> {
        let (pack, lane) = self.place(contact);
        pack.set_map(lane, of, mu_c);
        Ok(())
    }

    fn pairs(&self, contact: usize) -> usize {
        let (group, lane) = self.places[contact];
        self.groups[group].pack.pairs(lane)
    }

    fn get(&mut self, pairs: &mut Vec<[f64; 2]>, out: &mut [Saved]) -> Result<(), EngineError> {
        let count = |group: &Group| (0..group.members.len()).map(|lane| group.pack.pairs(lane)).sum::<usize>();
        let counts: Vec<usize> = self.groups.iter().map(count).collect();
        pairs.resize(counts.iter().sum(), [0.0; 2]);
        let (mut rest, mut parts, mut first) = (&mut **pairs, Vec::with_capacity(counts.len()), 0);
        for count in counts {
            let (part, more) = rest.split_at_mut(count);
            parts.push((first, part));
            (rest, first) = (more, first + count);
        }
        let save = |(Group { pack, members, saved, .. }, (first, mut part)): (&mut Group, (usize, &mut [[f64; 2]]))| {
            saved.clear();
            let mut first = first;
            for lane in 0..members.len() {
                let (own, more) = part.split_at_mut(pack.pairs(lane));
                let state = pack.export(lane, own);
                saved.push(Saved { state, failure: pack.status(lane).failure, pairs: first..first + own.len() });
                (part, first) = (more, first + saved[lane].pairs.len());
            }
        };
        match &mut *self.groups {
            [group] => parts.into_iter().for_each(|part| save((&mut *group, part))),
            groups => pool::run(|| groups.par_iter_mut().zip(parts).for_each(save)),
        }
        for Group { members, saved, .. } in &mut self.groups {
            members.iter().zip(saved.drain(..)).for_each(|(k, saved)| out[*k] = saved);
        }
        Ok(())
    }

    fn put(&mut self, contact: usize, of: &Contact, saved: &Saved, pairs: &[[f64; 2]]) -> Result<(), EngineError> {
        let (pack, lane) = self.place(contact);
        // The lane of a contact that has failed was cleared.
        if pack.status(lane).failure.is_some() {
            pack.load(lane, of, &of.cells_ever_active());
        }
        pack.import(lane, of, saved, &pairs[saved.pairs.clone()]);
        Ok(())
    }
}
