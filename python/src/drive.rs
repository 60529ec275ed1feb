//! What contacts are told, and how time passes for them: in parts, so that Python can interrupt.

use std::time::{Duration, Instant};

use bristle::{Batch, Input, Signal};
use pyo3::prelude::*;

use crate::errors::Failure;

/// How long a part of a call may take [s], after which Python is asked whether to go on.
const PART: f64 = 0.1;
/// Contacts of the first part, of which nothing is known.
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

/// Where number `i` of one, or of as many as are asked for, is.
const fn place(count: usize, i: usize) -> usize {
    if count == 1 { 0 } else { i }
}

impl Control<'_> {
    /// Refuses numbers out of the input's range, before anything is set.
    pub fn check(&self, contacts: &[usize]) -> Result<(), Failure> {
        let range = self.input.range();
        let Some(at) = self.values.iter().position(|v| !range.contains(*v)) else { return Ok(()) };
        let Err(error) = range.check(self.input.field(), self.values[at]) else { return Ok(()) };
        let contact = if self.rows == 1 { None } else { contacts.get(at / self.columns).copied() };
        Err(Failure::Parameter(error, contact))
    }

    /// Sets the input of some contacts to what it is in an interval.
    pub fn set(&self, batch: &mut Batch, contacts: &[usize], interval: usize) -> Result<(), Failure> {
        // What holds in all intervals stays as it is.
        if interval > 0 && self.columns == 1 {
            return Ok(());
        }
        let column = place(self.columns, interval);
        for (i, &k) in contacts.iter().enumerate() {
            batch.set(k, self.input, self.values[place(self.rows, i) * self.columns + column])?;
        }
        Ok(())
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

    /// Sets the input of a contact to its only value.
    fn set_one(&self, batch: &mut Batch, k: usize) -> Result<(), Failure> {
        Ok(batch.set(k, self.input, self.values[place(self.rows, k)])?)
    }
}

impl Frames<'_> {
    /// As [`Control::set`].
    pub fn set(&self, batch: &mut Batch, contacts: &[usize], interval: usize) -> Result<(), Failure> {
        if interval > 0 && self.columns == 1 {
            return Ok(());
        }
        let column = place(self.columns, interval);
        for (i, &k) in contacts.iter().enumerate() {
            let first = (place(self.rows, i) * self.columns + column) * self.cells;
            batch.set_frame(k, &self.values[first..first + self.cells])?;
        }
        Ok(())
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

    /// Lets Python interrupt, if that was possible last some time ago.
    pub fn ask(&mut self) -> Result<(), Failure> {
        if self.asked.elapsed() > ASK {
            self.asked = Instant::now();
            Python::attach(|py| py.check_signals())?;
        }
        Ok(())
    }

    /// Lets `dt` [s] pass for some contacts, in parts; `all` are those of the batch.
    pub fn advance(&mut self, batch: &mut Batch, contacts: &[usize], dt: f64) -> Result<(), Failure> {
        let mut rest = contacts;
        while !rest.is_empty() {
            let (some, more) = rest.split_at(self.part(dt).min(rest.len()));
            let (began, is_new) = (Instant::now(), self.took == 0.0);
            if some.len() == batch.len() {
                batch.advance(dt)?;
            } else {
                batch.advance_some(some, dt)?;
            }
            if is_new {
                // A device is waited for once, so that the next part is not made without knowing how fast it
                // is.
                batch.statuses()?;
            }
            self.note(some.len() as f64 * dt, began.elapsed());
            self.last = self.last.max(some.len());
            rest = more;
            self.ask()?;
        }
        Ok(())
    }
}
