//! The core of the class `Batch` of Python: contacts of a scenario, which are put on an engine when they are
//! first needed.
//!
//! The seed and the given numbers of each contact are kept, so that a reset can draw some contacts anew. They
//! come in the places of the old ones. Where they do not fit (another number of cells, another limit surface)
//! the reset makes a new batch, which takes over the state of the other contacts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bristle::batch::check_memory;
use bristle::error::ParameterError;
use bristle::{
    Batch, Choice, Contact, Cpu, DeviceError, Engine, EngineError, EngineInfo, Gpu, Input, Snapshot, Stepping,
};
use bristle_scenario::{Precision, Scenario};

use crate::draw::{Change, Origin, Source};
use crate::drive::{Control, Pace, Told};
use crate::errors::Failure;
use crate::watch::Watch;

/// Number of contacts from which the memory of many is estimated.
const FEW: usize = 4;
/// What contacts are made of is there so many times: in their batch alone.
const COPIES: u64 = 1;

/// Contacts, and all that they are made of.
pub struct Contacts {
    pub source: Source,
    engine: Box<dyn Engine>,
    stepping: Stepping,
    origins: Vec<Origin>,
    /// The contacts as they start, until they are on their engine.
    drawn: Vec<Contact>,
    /// The values of expanded parameters that the contacts have.
    expanded: BTreeMap<String, Vec<f64>>,
    /// Parameters of all contacts that were asked for, kept for the next time.
    columns: BTreeMap<String, Vec<f64>>,
    pub batch: Option<Batch>,
    /// What was before the contacts were put on their engine, if no call has been done since.
    fresh: Option<Before>,
    /// When each contact was last seen to slip as a whole [s]; NaN if it was not.
    pub slid: Vec<f64>,
    /// Contacts that may leave, if the scenario says when.
    pub watch: Option<Watch>,
    /// Where a call that is interrupted goes back to: it is kept, so that it takes no memory anew.
    undo: Snapshot,
    pub pace: Pace,
    /// Time in the engine.
    pub busy: Duration,
    /// The numbers of all contacts.
    pub all: Vec<usize>,
}

/// How contacts start again.
pub struct Restart<'a> {
    /// Which.
    pub list: &'a [usize],
    /// From what they are drawn anew, if they are: a seed for all, or one for each of the list.
    pub seeds: Option<&'a [u64]>,
    /// Numbers for each of the list, by name, in place of those that are drawn.
    pub given: Vec<(&'a str, &'a [f64])>,
    /// The values that expanded parameters now have, of all contacts.
    pub expanded: &'a [(String, &'a [f64])],
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
        let watch = Watch::new(scenario.plan().stop_when);
        let mut contacts = Self {
            stepping: scenario.plan().stepping(),
            source: Source { scenario, frames },
            engine,
            origins: Vec::new(),
            drawn: Vec::new(),
            expanded: BTreeMap::new(),
            columns: BTreeMap::new(),
            batch: None,
            fresh: None,
            slid: Vec::new(),
            watch,
            undo: Snapshot::default(),
            pace: Pace::new(),
            busy: Duration::ZERO,
            all: Vec::new(),
        };
        if nsim > FEW {
            let few = (0..FEW).map(|k| contacts.source.one(k, seed, &[])).collect::<Result<Vec<_>, _>>()?;
            check_memory(&few, nsim, COPIES)?;
        }
        contacts.origins = vec![Origin { seed, given: Vec::new() }; nsim];
        contacts.all = (0..nsim).collect();
        contacts.drawn = contacts.source.all(&contacts.origins)?;
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

    /// The contacts.
    pub fn contacts(&self) -> &[Contact] {
        self.batch.as_ref().map_or(&self.drawn, Batch::contacts)
    }

    /// Columns and rows of the grid of contact 0.
    pub fn cells(&self) -> [usize; 2] {
        let grid = self.contacts()[0].patch.grid();
        [grid.nx, grid.ny]
    }

    /// Number of patches of contact 0, if it has several; else 0.
    pub fn patches(&self) -> usize {
        self.contacts()[0].patch.parts().len()
    }

    /// The input with a name, if the contacts take it.
    pub fn input(&self, name: &str) -> Result<Input, Failure> {
        let contact = &self.contacts()[0];
        let takes = |input: &Input| crate::scenario::takes(contact, *input) && crate::scenario::name_of(*input) == name;
        let accepted = || ParameterError::new("control", name, "an input of the scenario's kind of body");
        Input::all().find(takes).ok_or_else(|| accepted().into())
    }

    /// A parameter of all contacts; NaN where a contact has no such number.
    pub fn parameter(&mut self, name: &str) -> Result<&[f64], Failure> {
        if !self.columns.contains_key(name) {
            let column = self.source.column(name, &self.origins)?;
            self.columns.insert(name.to_owned(), column);
        }
        Ok(&self.columns[name])
    }

    /// A parameter that may be changed: its present values.
    pub fn expand(&mut self, name: &str) -> Result<Vec<f64>, Failure> {
        let values = self.parameter(name)?.to_vec();
        // That it can be given, and does not follow from others, is seen by giving it.
        let can_be_given = values.iter().position(|v| !v.is_nan()).is_some_and(|k| {
            let mut origin = self.origins[k].clone();
            origin.give(name, values[k]);
            self.source.gives(k, &origin)
        });
        if !can_be_given {
            let accepted = "a number that the contacts are drawn with, not one that follows from others";
            return Err(ParameterError::new("name", name, accepted).into());
        }
        self.expanded.insert(name.to_owned(), values.clone());
        Ok(values)
    }

    /// Puts contacts back to their start.
    pub fn reset(&mut self, restart: &Restart<'_>) -> Result<(), Failure> {
        let changes = self.changes(restart);
        let (list, drawn) = (restart.list, self.source.some(&changes, &self.columns)?);
        let places: Vec<usize> = changes.iter().map(|change| change.k).collect();
        let starts_all = list.len() >= self.all.len() && self.has_all(list);
        let (drawn, numbers): (Vec<Contact>, Vec<Vec<f64>>) = drawn.into_iter().map(|d| (d.contact, d.numbers)).unzip();
        match &mut self.batch {
            None => places.iter().zip(drawn).for_each(|(k, contact)| self.drawn[*k] = contact),
            Some(batch) if places.iter().zip(&drawn).all(|(k, contact)| batch.takes(*k, contact)) => {
                batch.replace(&places, &drawn)?;
                if changes.len() < list.len() {
                    batch.reset(list)?;
                }
            }
            Some(batch) => {
                // The others go on in a new batch where they are.
                let mut first = batch.first();
                places.iter().zip(drawn).for_each(|(k, contact)| first[*k] = contact);
                let mut new = self.engine.batch(first, self.stepping)?;
                if !starts_all {
                    let mut saved = batch.save()?;
                    saved.replace(&places, &new.save()?)?;
                    new.restore(&saved)?;
                }
                new.reset(list)?;
                *batch = new;
            }
        }
        if !self.slid.is_empty() {
            list.iter().for_each(|k| self.slid[*k] = f64::NAN);
        }
        self.watch.iter_mut().for_each(|watch| watch.forget(list));
        for (change, numbers) in changes.into_iter().zip(numbers) {
            self.columns.values_mut().zip(numbers).for_each(|(column, number)| column[change.k] = number);
            self.origins[change.k] = change.origin;
        }
        self.note(restart)
    }

    /// The contacts that a restart draws anew.
    fn changes(&self, restart: &Restart<'_>) -> Vec<Change> {
        let Restart { list, seeds, given, expanded } = restart;
        let changed = list.iter().enumerate().filter_map(|(i, &k)| {
            let own = || self.origins[k].clone();
            let mut origin =
                seeds.map(|seeds| Origin { seed: seeds[if seeds.len() == 1 { 0 } else { i }], given: vec![] });
            if origin.is_none() {
                for (name, values) in *expanded {
                    if self.expanded.get(name).is_some_and(|old| old[k].to_bits() != values[k].to_bits()) {
                        origin.get_or_insert_with(own).give(name, values[k]);
                    }
                }
            }
            for (name, values) in given {
                origin.get_or_insert_with(own).give(name, values[i]);
            }
            Some(Change { k, origin: origin? })
        });
        changed.collect()
    }

    /// Notes the values that expanded parameters have after a restart.
    fn note(&mut self, restart: &Restart<'_>) -> Result<(), Failure> {
        let Restart { list, seeds, given, expanded } = restart;
        if seeds.is_none() && given.is_empty() {
            for (name, values) in *expanded {
                if let Some(own) = self.expanded.get_mut(name) {
                    list.iter().for_each(|k| own[*k] = values[*k]);
                }
            }
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

    /// Puts the contacts on their engine, if they are not there, with the values that `expanded` now has.
    pub fn start(&mut self, expanded: &[(String, &[f64])]) -> Result<(), Failure> {
        if self.batch.is_some() {
            return Ok(());
        }
        let all = std::mem::take(&mut self.all);
        let restart = Restart { list: &all, seeds: None, given: Vec::new(), expanded };
        let started = self.start_with(&restart);
        self.all = all;
        started
    }

    fn start_with(&mut self, restart: &Restart<'_>) -> Result<(), Failure> {
        let changes = self.changes(restart);
        let drawn = self.source.some(&changes, &self.columns)?;
        let replaced = changes.into_iter().zip(drawn).map(|(Change { k, origin }, drawn)| {
            let before = std::mem::replace(&mut self.drawn[k], drawn.contact);
            (k, before, std::mem::replace(&mut self.origins[k], origin))
        });
        let before = Before { contacts: replaced.collect(), expanded: self.expanded.clone() };
        self.columns.clear();
        self.note(restart)?;
        match self.engine.batch(std::mem::take(&mut self.drawn), self.stepping) {
            Ok(batch) => (self.batch, self.fresh) = (Some(batch), Some(before)),
            Err(e) => {
                // The engine has kept none.
                self.drawn = self.source.all(&self.origins)?;
                self.put_back(before);
                return Err(e.into());
            }
        }
        Ok(())
    }

    /// The end of a call. If the first one after the start was refused, the contacts have not been started.
    fn settle(&mut self, is_refused: bool) {
        if let (Some(before), true) = (self.fresh.take(), is_refused) {
            self.drawn = self.batch.take().map(Batch::into_first).unwrap_or_default();
            self.put_back(before);
        }
    }

    fn put_back(&mut self, before: Before) {
        // Arrays that were asked for since have no other values than before.
        self.expanded.extend(before.expanded);
        self.columns.clear();
        for (k, contact, origin) in before.contacts {
            (self.drawn[k], self.origins[k]) = (contact, origin);
        }
    }

    /// Draws the contacts from other origins, before they are on the engine.
    pub fn set_origins(&mut self, origins: Vec<Origin>) -> Result<(), Failure> {
        self.drawn = self.source.all(&origins)?;
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
            && self.watch.is_none()
            && controls.iter().all(is_plain)
            && self.contacts().iter().all(|contact| contact.patch.rule().is_none())
            && self.all.iter().all(|k| self.time(*k) == self.time(0))
    }

    /// [`Told::step`] of those contacts that have not left.
    pub fn step(&mut self, told: &Told<'_>, [named, moved]: [&[usize]; 2], dt: f64, at: usize) -> Result<(), Failure> {
        let there = self.watch.as_ref().map(|watch| watch.there(moved));
        let moved = there.as_deref().unwrap_or(moved);
        let done = told.step(self.parts()?, [named, moved], dt, at);
        // A call that is interrupted at its end has advanced them.
        if let (Some(watch), Some(batch)) = (&mut self.watch, &mut self.batch)
            && !done.as_ref().is_err_and(Failure::is_refusal)
        {
            let looked = watch.look(batch, moved);
            done?;
            return Ok(looked?);
        }
        done
    }

    /// Judges all contacts by their present state alone, after it was restored.
    pub fn look_anew(&mut self) -> Result<(), Failure> {
        self.slid.clear();
        if let (Some(watch), Some(batch)) = (&mut self.watch, &mut self.batch) {
            watch.forget(&self.all);
            watch.look(batch, &self.all)?;
        }
        Ok(())
    }

    /// Whether a list has every contact.
    fn has_all(&self, list: &[usize]) -> bool {
        let mut named = vec![false; self.all.len()];
        list.iter().for_each(|k| named[*k] = true);
        named.into_iter().all(|is| is)
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
