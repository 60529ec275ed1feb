//! The inputs of contacts, and the advance of their time. A call is divided into parts that take about a
//! tenth of a second: each part advances some of the contacts. Between two parts Python handles signals, so
//! that Ctrl-C ends a long call. A call of several parts saves the state of the contacts at its start, and
//! goes back to it when it is interrupted; without memory for that state the call is not divided.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use bristle::{Batch, EngineError, Input, Signal, Snapshot};
use pyo3::prelude::*;

use crate::batch::Parts;
use crate::errors::Failure;

/// How long a part of a call may take [s], after which Python is asked whether to go on.
const PART: f64 = 0.1;
/// Contacts of the first part, before any speed is known.
const FIRST: usize = 64;
/// Python is asked no more often than this.
const ASK: Duration = Duration::from_millis(20);

/// Values of an input for `rows` contacts and `columns` intervals; one of either stands for all.
pub struct Control<'a> {
    pub input: Input,
    pub values: &'a [f64],
    pub rows: usize,
    pub columns: usize,
}

/// Pressure maps for `rows` contacts and `columns` intervals, bottom row of cells first; one of either stands
/// for all.
pub struct Frames<'a> {
    pub values: &'a [f64],
    pub rows: usize,
    pub columns: usize,
    pub cells: usize,
}

/// The index of item `i` in a list of `count`, where a list of one stands for all.
const fn place(count: usize, i: usize) -> usize {
    if count == 1 { 0 } else { i }
}

impl<'a> Control<'a> {
    /// Refuses numbers out of the input's range.
    fn check(&self, contacts: &[usize]) -> Result<(), Failure> {
        let range = self.input.range();
        let Some(at) = self.values.iter().position(|v| !range.contains(*v)) else { return Ok(()) };
        let Err(error) = range.check(self.input.field(), self.values[at]) else { return Ok(()) };
        let contact = if self.rows == 1 { None } else { contacts.get(at / self.columns).copied() };
        Err(Failure::Parameter(error, contact))
    }

    /// The values of an interval: one for each contact, or one for all.
    fn column(&self, interval: usize) -> Cow<'a, [f64]> {
        if self.columns == 1 {
            return self.values.into();
        }
        self.values.iter().skip(interval).step_by(self.columns).copied().collect::<Vec<_>>().into()
    }

    /// Lets the input of all contacts follow its values in some intervals, which start at `times` [s].
    pub fn follow(&self, batch: &mut Batch, first: usize, times: &[f64]) -> Result<(), Failure> {
        if self.columns == 1 {
            return if first == 0 { (0..batch.len()).try_for_each(|k| self.set_one(batch, k)) } else { Ok(()) };
        }
        let mut points = Vec::with_capacity(times.len());
        for k in 0..batch.len() {
            let values = &self.values[place(self.rows, k) * self.columns + first..][..times.len()];
            points.clear();
            points.extend(times.iter().copied().zip(values.iter().copied()));
            batch.follow(k, self.input, Signal::steps(&points)?)?;
        }
        Ok(())
    }

    /// The input of contact `k` over intervals that start at `times` [s].
    pub fn signal(&self, k: usize, times: &[f64]) -> Result<Signal, Failure> {
        let values = &self.values[place(self.rows, k) * self.columns..][..self.columns];
        if let [value] = values {
            return Ok(Signal::constant(*value));
        }
        let points: Vec<(f64, f64)> = times.iter().copied().zip(values.iter().copied()).collect();
        Ok(Signal::steps(&points)?)
    }

    /// Sets the input of a contact to its only value.
    fn set_one(&self, batch: &mut Batch, k: usize) -> Result<(), Failure> {
        Ok(batch.set(k, self.input, self.values[place(self.rows, k)])?)
    }
}

impl Frames<'_> {
    /// The map of contact `i` of a list in an interval.
    fn map(&self, i: usize, interval: usize) -> &[f64] {
        let first = (place(self.rows, i) * self.columns + place(self.columns, interval)) * self.cells;
        &self.values[first..first + self.cells]
    }

    /// Refuses maps that cannot be, of all intervals.
    fn check(&self, batch: &Batch, contacts: &[usize]) -> Result<(), Failure> {
        for (i, &k) in contacts.iter().enumerate() {
            for interval in 0..self.columns {
                batch.check_frame(k, self.map(i, interval))?;
            }
        }
        Ok(())
    }
}

/// The inputs and frames of a call.
pub struct Told<'a> {
    pub controls: Vec<Control<'a>>,
    pub frames: Option<Frames<'a>>,
}

impl Told<'_> {
    /// Refuses what a call of `intervals` of `dt` [s] would refuse on its way, before anything is changed.
    pub fn check(&self, batch: &Batch, contacts: &[usize], dt: f64, intervals: usize) -> Result<(), Failure> {
        self.controls.iter().try_for_each(|control| control.check(contacts))?;
        // Either coefficient of friction must suit the other at the same time.
        let of_contact = |k: &usize| {
            let inputs = &batch.contacts()[*k].inputs;
            inputs.mu_c.is_some() || inputs.mu_s.is_some()
        };
        let varies = self.controls.iter().any(|control| matches!(control.input, Input::MuC | Input::MuS))
            || contacts.iter().any(of_contact);
        for interval in 0..if varies { intervals } else { 1 } {
            let columns: Vec<_> = self.controls.iter().map(|c| (c.input, c.column(interval))).collect();
            let inputs: Vec<(Input, &[f64])> = columns.iter().map(|(input, values)| (*input, &**values)).collect();
            let start = interval as f64 * dt;
            batch.check_some(contacts, &inputs, Some([start, start + dt]))?;
        }
        self.frames.iter().try_for_each(|frames| frames.check(batch, contacts))
    }

    /// Sets what changes at the start of an interval; what holds in all of them stays as it is.
    fn set(&self, batch: &mut Batch, contacts: &[usize], interval: usize) -> Result<(), Failure> {
        let changes = |columns: usize| interval == 0 || columns > 1;
        let controls = self.controls.iter().filter(|control| changes(control.columns));
        let columns: Vec<_> = controls.map(|c| (c.input, c.column(interval))).collect();
        let inputs: Vec<(Input, &[f64])> = columns.iter().map(|(input, values)| (*input, &**values)).collect();
        if !inputs.is_empty() {
            batch.set_some(contacts, &inputs)?;
        }
        if let Some(frames) = self.frames.as_ref().filter(|frames| changes(frames.columns)) {
            for (i, &k) in contacts.iter().enumerate() {
                batch.set_frame(k, frames.map(i, interval))?;
            }
        }
        Ok(())
    }

    /// Sets what changes at the start of an interval, and lets its `dt` [s] pass. A call that takes long is
    /// made in parts, between which Python may interrupt it: then all contacts go back to where they were.
    ///
    /// `contacts` may repeat; `moved` has each of them once.
    pub fn step(
        &self,
        Parts { batch, pace, undo }: Parts<'_>,
        [contacts, moved]: [&[usize]; 2],
        dt: f64,
        interval: usize,
    ) -> Result<(), Failure> {
        let is_short = moved.len() <= pace.part(dt);
        if is_short && moved.len() == batch.len() && !undo.is_empty() {
            // From a longer call, or from before the speed was known. It takes as much memory as the batch.
            *undo = Snapshot::default();
        }
        if is_short || !can_undo(batch, undo)? {
            self.set(batch, contacts, interval)?;
            pace.advance(batch, moved, dt)?;
            return pace.ask();
        }
        let done = self.set(batch, contacts, interval).and_then(|()| pace.advance_in_parts(batch, moved, dt));
        if done.is_err() {
            // A device that has failed has no state to go back to, and says so below.
            let _ = batch.restore(undo);
        }
        done
    }
}

/// Saves a batch, so that a call can be undone; `false` if there is no memory for that, when the call is not
/// interrupted on its way.
pub fn can_undo(batch: &mut Batch, undo: &mut Snapshot) -> Result<bool, Failure> {
    match batch.save_into(undo) {
        Ok(()) => Ok(true),
        Err(EngineError::Memory(_)) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// How fast contacts step, and when Python was last asked.
pub struct Pace {
    /// Simulated time of contacts [s], and how long it took [s]; what is longer ago counts less.
    simulated: f64,
    took: f64,
    /// Contacts of the last part.
    last: usize,
    asked: Instant,
}

impl Pace {
    pub fn new() -> Self {
        Self { simulated: 0.0, took: 0.0, last: FIRST / 8, asked: Instant::now() }
    }

    /// Contacts of the next part of a call of `dt` [s].
    fn part(&self, dt: f64) -> usize {
        let most = if self.took > 0.0 { PART * self.simulated / self.took / dt } else { FIRST as f64 };
        // Contacts may differ; the number grows step by step.
        (most as usize).clamp(1, self.last.saturating_mul(8))
    }

    /// Notes a time in the engine.
    pub fn note(&mut self, simulated: f64, took: Duration) {
        if self.took > 10.0 * PART {
            self.simulated *= 0.5;
            self.took *= 0.5;
        }
        self.simulated += simulated;
        self.took += took.as_secs_f64();
    }

    /// Lets Python handle signals, unless it did so less than [`ASK`] ago.
    pub fn ask(&mut self) -> Result<(), Failure> {
        if self.asked.elapsed() > ASK {
            self.asked = Instant::now();
            Python::attach(|py| py.check_signals())?;
        }
        Ok(())
    }

    /// Lets `dt` [s] pass for some contacts, at once.
    fn advance(&mut self, batch: &mut Batch, contacts: &[usize], dt: f64) -> Result<(), Failure> {
        let (began, is_new) = (Instant::now(), self.took == 0.0);
        if contacts.len() == batch.len() {
            batch.advance(dt)?;
        } else {
            batch.advance_some(contacts, dt)?;
        }
        if is_new {
            // A device is waited for once, so that the next part is not made without knowing how fast it is.
            batch.statuses()?;
        }
        self.note(contacts.len() as f64 * dt, began.elapsed());
        self.last = self.last.max(contacts.len());
        Ok(())
    }

    /// Lets `dt` [s] pass for some contacts, in parts, between which Python is asked whether to go on.
    fn advance_in_parts(&mut self, batch: &mut Batch, contacts: &[usize], dt: f64) -> Result<(), Failure> {
        let mut rest = contacts;
        while !rest.is_empty() {
            let (some, more) = rest.split_at(self.part(dt).min(rest.len()));
            self.advance(batch, some, dt)?;
            self.ask()?;
            rest = more;
        }
        Ok(())
    }
}
