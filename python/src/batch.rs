//! The core of the class `Batch` of Python: contacts of a scenario, which are put on an engine when they are
//! first needed.
//!
//! The seed and the given numbers of each contact are kept, so that a reset can draw some contacts anew. On
//! the CPU these come in the places of the old ones; where they do not fit, and on a GPU, the reset makes a
//! new batch, which takes over the state of the other contacts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bristle::batch::check_memory;
use bristle::error::ParameterError;
use bristle::{
    Batch, Choice, Contact, Cpu, DeviceError, Engine, EngineError, EngineInfo, Gpu, Input, Snapshot, Stepping, pool,
};
use bristle_scenario::{Precision, Scenario};
use rayon::prelude::*;

use crate::drive::{Control, Pace};
use crate::errors::Failure;

/// Number of contacts from which the memory of many is estimated.
const FEW: usize = 4;
/// What contacts are made of is there so many times: as they start here, and twice in their batch.
const COPIES: u64 = 3;

/// From what a contact is drawn.
#[derive(Clone, Default)]
pub struct Origin {
    pub seed: u64,
    /// Numbers that are given in place of drawn ones.
    pub given: Vec<(String, f64)>,
}

/// Contacts, and all that they are made of.
pub struct Contacts {
    scenario: Arc<Scenario>,
    engine: Box<dyn Engine>,
    stepping: Stepping,
    /// Whether pressure maps may be replaced.
    frames: bool,
    origins: Vec<Origin>,
    /// The contacts as they start.
    first: Vec<Contact>,
    /// The values of expanded parameters that the contacts have.
    expanded: BTreeMap<String, Vec<f64>>,
    /// Parameters of all contacts that were asked for, kept for the next time.
    columns: BTreeMap<String, Vec<f64>>,
    batch: Option<Batch>,
    /// What was before the contacts were put on their engine, if no call has been done since.
    fresh: Option<Before>,
    /// Where a call that is interrupted goes back to: it is kept, so that it takes no memory anew.
    undo: Snapshot,
    pub pace: Pace,
    /// Time in the engine.
    pub busy: Duration,
    /// The numbers of all contacts.
    pub all: Vec<usize>,
}

/// What the start of contacts has changed: those that were drawn with given numbers.
struct Before {
    contacts: Vec<(usize, Contact, Origin)>,
    expanded: BTreeMap<String, Vec<f64>>,
}

/// What a call that lets time pass works on.
pub struct Parts<'a> {
    pub batch: &'a mut Batch,
    pub pace: &'a mut Pace,
    pub undo: &'a mut Snapshot,
}

/// The engine that a device's name means.
pub fn open(device: &str, precision: Precision) -> Result<Box<dyn Engine>, Failure> {
    let cpu = || -> Box<dyn Engine> {
        Box::new(match precision {
            Precision::F32 => Cpu::single(),
            Precision::F64 => Cpu::new(),
        })
    };
    let wrong = |value: &str, accepted: &str| Err(ParameterError::new("device", value, accepted).into());
    match (device, precision) {
        ("cpu", _) | ("auto", Precision::F64) => Ok(cpu()),
        ("gpu", Precision::F64) => wrong("gpu", "\"cpu\" or \"auto\" with precision = \"f64\": a GPU computes in f32"),
        ("gpu", Precision::F32) => Ok(Box::new(Gpu::new(Choice::Any)?)),
        // Hardware alone: the CPU's own engine is faster than a software driver.
        ("auto", Precision::F32) => match Gpu::new(Choice::Hardware) {
            Ok(gpu) => Ok(Box::new(gpu)),
            // The environment asks for an adapter that is not there.
            Err(e @ EngineError::Argument(_)) => Err(e.into()),
            // A child of a process that has a GPU does not go on without it by itself.
            Err(e @ EngineError::Device(DeviceError::Forked)) => Err(e.into()),
            Err(_) => Ok(cpu()),
        },
        _ => wrong(device, "\"cpu\", \"gpu\" or \"auto\""),
    }
}

impl Contacts {
    /// Contacts 0 to `nsim` of a scenario.
    pub fn new(scenario: Arc<Scenario>, nsim: usize, device: &str, seed: u64, frames: bool) -> Result<Self, Failure> {
        if nsim == 0 {
            return Err(ParameterError::new("nsim", 0, "an integer >= 1").into());
        }
        let engine = open(device, scenario.spec().precision)?;
        let mut contacts = Self {
            stepping: scenario.plan().stepping(),
            scenario,
            engine,
            frames,
            origins: Vec::new(),
            first: Vec::new(),
            expanded: BTreeMap::new(),
            columns: BTreeMap::new(),
            batch: None,
            fresh: None,
            undo: Snapshot::default(),
            pace: Pace::new(),
            busy: Duration::ZERO,
            all: Vec::new(),
        };
        if nsim > FEW {
            let few: Vec<usize> = (0..FEW).collect();
            let few = contacts.draw(&vec![Origin { seed, given: Vec::new() }; FEW], &few)?;
            check_memory(&few, nsim, COPIES)?;
        }
        contacts.origins = vec![Origin { seed, given: Vec::new() }; nsim];
        contacts.all = (0..nsim).collect();
        contacts.first = contacts.draw(&contacts.origins, &contacts.all)?;
        Ok(contacts)
    }

    pub fn info(&self) -> EngineInfo {
        self.engine.info()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    pub const fn is_started(&self) -> bool {
        self.batch.is_some()
    }

    /// Columns and rows of the grid of contact 0.
    pub fn cells(&self) -> [usize; 2] {
        let grid = self.first[0].patch.grid();
        [grid.nx, grid.ny]
    }

    /// The input with a name, if the contacts take it.
    pub fn input(&self, name: &str) -> Result<Input, Failure> {
        let body = &self.first[0].body;
        let takes = |input: &Input| crate::scenario::takes(body, *input) && crate::scenario::name_of(*input) == name;
        let accepted = || ParameterError::new("control", name, "an input of the scenario's kind of body");
        Input::ALL.into_iter().find(takes).ok_or_else(|| accepted().into())
    }

    /// Draws the contacts of a list, in parallel; `origins` are those of the list.
    fn draw(&self, origins: &[Origin], list: &[usize]) -> Result<Vec<Contact>, Failure> {
        let (scenario, frames) = (&*self.scenario, self.frames);
        let one = |(Origin { seed, given }, k): (&Origin, &usize)| {
            let mut contact = scenario.variant(*k as u64, *seed, given)?;
            if frames {
                contact.patch = Arc::new((*contact.patch).clone().with_frames());
                if !contact.patch.takes_frames() {
                    let accepted = "False for a map that follows the normal force or recorded frames";
                    return Err(Failure::Parameter(ParameterError::new("frames", "True", accepted), Some(*k)));
                }
            }
            Ok(contact)
        };
        pool::run(|| origins.par_iter().zip(list).map(one).collect())
    }

    /// The parameters `names` of the contacts of a list, a row for each; NaN where a contact has no such
    /// number.
    fn drawn(&self, names: &[&str], list: &[usize]) -> Result<Vec<Vec<f64>>, Failure> {
        let (scenario, origins) = (&*self.scenario, &self.origins);
        let one = |k: &usize| {
            let Origin { seed, given } = &origins[*k];
            let numbers: BTreeMap<String, f64> =
                scenario.variant_parameters(*k as u64, *seed, given)?.into_iter().collect();
            Ok(names.iter().map(|name| numbers.get(*name).copied().unwrap_or(f64::NAN)).collect())
        };
        pool::run(|| list.par_iter().map(one).collect())
    }

    /// A parameter of all contacts; NaN where a contact has no such number.
    pub fn parameter(&mut self, name: &str) -> Result<&[f64], Failure> {
        if !self.columns.contains_key(name) {
            let column = self.drawn(&[name], &self.all)?.concat();
            self.columns.insert(name.to_owned(), column);
        }
        Ok(&self.columns[name])
    }

    /// Draws the parameters that were asked for anew, of contacts whose origin has changed.
    fn renew_columns(&mut self, changed: &[usize]) -> Result<(), Failure> {
        let names: Vec<&str> = self.columns.keys().map(String::as_str).collect();
        if names.is_empty() || changed.is_empty() {
            return Ok(());
        }
        let rows = self.drawn(&names, changed)?;
        for (n, column) in self.columns.values_mut().enumerate() {
            changed.iter().zip(&rows).for_each(|(k, row)| column[*k] = row[n]);
        }
        Ok(())
    }

    /// A parameter that may be changed: its present values.
    pub fn expand(&mut self, name: &str) -> Result<Vec<f64>, Failure> {
        let values = self.parameter(name)?.to_vec();
        // That it can be given, and does not follow from others, is seen by giving it.
        let can_be_given = values.iter().position(|v| !v.is_nan()).is_some_and(|k| {
            let mut origin = self.origins[k].clone();
            origin.give(name, values[k]);
            self.scenario.variant_parameters(k as u64, origin.seed, &origin.given).is_ok()
        });
        if !can_be_given {
            let accepted = "a number that the contacts are drawn with, not one that follows from others";
            return Err(ParameterError::new("name", name, accepted).into());
        }
        self.expanded.insert(name.to_owned(), values.clone());
        Ok(values)
    }

    /// Puts contacts of a list back to their start: drawn anew with a `seed` or, without one, with the values
    /// that `expanded` now has for them.
    pub fn reset(&mut self, list: &[usize], seed: Option<u64>, expanded: &[(String, &[f64])]) -> Result<(), Failure> {
        let (changed, origins) = self.changes(list, seed, expanded);
        let drawn = self.draw(&origins, &changed)?;
        if let Some(batch) = &mut self.batch
            && changed.iter().zip(&drawn).all(|(k, contact)| batch.takes(*k, contact))
        {
            batch.replace(&changed, &drawn)?;
            if changed.len() < list.len() {
                batch.reset(list)?;
            }
        } else if let Some(batch) = &mut self.batch {
            // The others go on in a new batch where they are.
            let mut first = self.first.clone();
            changed.iter().zip(&drawn).for_each(|(k, contact)| first[*k] = contact.clone());
            let mut new = self.engine.batch(first, self.stepping)?;
            if changed.len() < self.all.len() {
                new.restore(&batch.save()?)?;
            }
            new.reset(list)?;
            *batch = new;
        }
        for (k, (contact, origin)) in changed.iter().zip(drawn.into_iter().zip(origins)) {
            (self.first[*k], self.origins[*k]) = (contact, origin);
        }
        self.renew_columns(&changed)?;
        if seed.is_none() {
            self.note(list, expanded);
            return Ok(());
        }
        // Expanded parameters were asked for, so that each has a column unless the start has changed some.
        let names: Vec<String> = self.expanded.keys().cloned().collect();
        for name in names {
            self.parameter(&name)?;
            let (own, column) = (self.expanded.get_mut(&name), &self.columns[&name]);
            own.into_iter().for_each(|own| list.iter().for_each(|k| own[*k] = column[*k]));
        }
        Ok(())
    }

    /// [`Contacts::reset`] of all contacts.
    pub fn reset_all(&mut self, seed: Option<u64>, expanded: &[(String, &[f64])]) -> Result<(), Failure> {
        self.reset(&self.all.clone(), seed, expanded)
    }

    /// The contacts of a list that are drawn anew, and from what.
    fn changes(&self, list: &[usize], seed: Option<u64>, expanded: &[(String, &[f64])]) -> (Vec<usize>, Vec<Origin>) {
        let changed = list.iter().filter_map(|&k| {
            if let Some(seed) = seed {
                return Some((k, Origin { seed, given: Vec::new() }));
            }
            let mut origin = None;
            for (name, values) in expanded {
                if self.expanded.get(name).is_some_and(|old| old[k].to_bits() != values[k].to_bits()) {
                    origin.get_or_insert_with(|| self.origins[k].clone()).give(name, values[k]);
                }
            }
            Some((k, origin?))
        });
        changed.unzip()
    }

    fn note(&mut self, list: &[usize], expanded: &[(String, &[f64])]) {
        for (name, values) in expanded {
            if let Some(own) = self.expanded.get_mut(name) {
                list.iter().for_each(|k| own[*k] = values[*k]);
            }
        }
    }

    /// Puts the contacts on their engine, if they are not there, with the values that `expanded` now has.
    pub fn start(&mut self, expanded: &[(String, &[f64])]) -> Result<(), Failure> {
        if self.batch.is_some() {
            return Ok(());
        }
        let (changed, origins) = self.changes(&self.all, None, expanded);
        let drawn = self.draw(&origins, &changed)?;
        let replaced = changed.into_iter().zip(drawn.into_iter().zip(origins)).map(|(k, (contact, origin))| {
            (k, std::mem::replace(&mut self.first[k], contact), std::mem::replace(&mut self.origins[k], origin))
        });
        let before = Before { contacts: replaced.collect(), expanded: self.expanded.clone() };
        self.columns.clear();
        let all = std::mem::take(&mut self.all);
        self.note(&all, expanded);
        self.all = all;
        match self.engine.batch(self.first.clone(), self.stepping) {
            Ok(batch) => (self.batch, self.fresh) = (Some(batch), Some(before)),
            Err(e) => {
                self.put_back(before);
                return Err(e.into());
            }
        }
        Ok(())
    }

    /// The end of a call. If the first one after the start was refused, the contacts have not been started.
    fn settle(&mut self, is_refused: bool) {
        if let (Some(before), true) = (self.fresh.take(), is_refused) {
            self.batch = None;
            self.put_back(before);
        }
    }

    fn put_back(&mut self, before: Before) {
        self.expanded = before.expanded;
        self.columns.clear();
        for (k, contact, origin) in before.contacts {
            (self.first[k], self.origins[k]) = (contact, origin);
        }
    }

    /// Draws the contacts from other origins, before they are on the engine.
    pub fn set_origins(&mut self, origins: Vec<Origin>) -> Result<(), Failure> {
        self.first = self.draw(&origins, &self.all)?;
        self.origins = origins;
        self.columns.clear();
        Ok(())
    }

    /// The batch, once it is there.
    pub fn batch(&mut self) -> Result<&mut Batch, Failure> {
        self.batch.as_mut().ok_or_else(|| Failure::Device("the batch has not been started".to_owned()))
    }

    /// Time of a contact since its start [s].
    pub fn time(&self, k: usize) -> f64 {
        self.batch.as_ref().map_or(0.0, |batch| batch.time(k))
    }

    /// Whether each contact may go through a rollout at its own pace, as it does in one from the command
    /// line: on the CPU, all at one time, under controls that signals say as well. Coefficients are checked
    /// at every interval, and a map that follows the normal force is made anew there, so that these wait for
    /// each other.
    pub fn go_their_own_way(&self, controls: &[Control<'_>]) -> bool {
        let is_plain = |control: &Control<'_>| !matches!(control.input, Input::MuC | Input::MuS);
        self.engine.info().engine == "cpu"
            && controls.iter().all(is_plain)
            && self.first.iter().all(|contact| contact.patch.rule().is_none())
            && self.all.iter().all(|k| self.time(*k) == self.time(0))
    }

    /// What a call that lets time pass works on.
    pub fn parts(&mut self) -> Result<Parts<'_>, Failure> {
        match &mut self.batch {
            Some(batch) => Ok(Parts { batch, pace: &mut self.pace, undo: &mut self.undo }),
            None => Err(Failure::Device("the batch has not been started".to_owned())),
        }
    }

    /// Reads from the engine, and notes how long that took: a device is waited for here.
    pub fn read<T>(&mut self, read: impl FnOnce(&mut Batch) -> Result<T, EngineError>) -> Result<T, Failure> {
        let began = Instant::now();
        let out = read(self.batch()?)?;
        self.pace.note(0.0, began.elapsed());
        self.busy += began.elapsed();
        Ok(out)
    }
}

impl Origin {
    /// Gives a number, in place of one that was given before.
    fn give(&mut self, name: &str, value: f64) {
        match self.given.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = value,
            None => self.given.push((name.to_owned(), value)),
        }
    }
}

/// The contacts behind a lock, for one call at a time.
pub struct Shared(Mutex<Contacts>);

impl Shared {
    pub const fn new(contacts: Contacts) -> Self {
        Self(Mutex::new(contacts))
    }

    /// Does `work` on contacts that have been started. If it is refused, and nothing was done since the
    /// start, they are not started any more, so that a refused call changes nothing.
    pub fn call<T>(&self, work: impl FnOnce(&mut Contacts) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut contacts = self.lock()?;
        let out = work(&mut contacts);
        contacts.settle(out.as_ref().is_err_and(Failure::is_refusal));
        out
    }

    /// Nobody waits here: who waits may hold what the other call needs.
    pub fn lock(&self) -> Result<MutexGuard<'_, Contacts>, Failure> {
        self.0.try_lock().map_err(|e| match e {
            std::sync::TryLockError::WouldBlock => Failure::Busy,
            std::sync::TryLockError::Poisoned(_) => {
                Failure::Device("an earlier call on this batch has panicked: make a new one".to_owned())
            }
        })
    }
}
