//! Many steps of a batch in one call, with samples on the way.

use super::{Batch, Clock, LONGEST, SHORTEST, Snapshot};
use crate::engine::{Progress, Trajectories};
use crate::error::{EngineError, ParameterError, check};
use crate::schedule::Span;

impl Batch {
    /// Advances all contacts, which stand at one time, to the last of `times` \[s\] since their start, with
    /// samples: the present one first, and one at each of the times. On the CPU each contact goes its own way
    /// through all of them, which is faster than [`Batch::advance`] to each and [`Batch::samples`] there,
    /// with the same bits. `progress` is called on the way.
    ///
    /// # Errors
    /// Contacts at different times, times that are not 1e-9 s apart, as [`Batch::advance`], or a stop that
    /// `progress` has asked for. All of these leave the contacts where they were.
    pub fn record(&mut self, times: &[f64], progress: &Progress<'_>) -> Result<Trajectories, EngineError> {
        self.check_record(times)?;
        let before = if times.is_empty() { Snapshot::default() } else { self.save()? };
        self.record_or_restore(times, progress, &before)
    }

    /// [`Batch::record`], which a stop takes back to `before`: what [`Batch::save`] gave before inputs were
    /// set, so that these are undone, too.
    ///
    /// # Errors
    /// As [`Batch::record`]; of a snapshot of another batch as [`Batch::restore`].
    pub fn record_or_restore(
        &mut self,
        times: &[f64],
        progress: &Progress<'_>,
        before: &Snapshot,
    ) -> Result<Trajectories, EngineError> {
        let end = self.check_record(times)?;
        let now = self.clocks.first().map_or(0.0, |clock| clock.time);
        let mut out = Trajectories::unwritten(self.len(), &[&[now], times].concat())?;
        let Some(end) = end else {
            self.samples()?.iter().enumerate().for_each(|(k, sample)| out.write(k, 0, sample));
            self.stepper.statuses(&mut out.status).wait()?;
            return Ok(out);
        };
        for (span, clock) in self.spans.iter_mut().zip(&self.clocks) {
            let Clock { time: start, jump, remap } = *clock;
            *span = Some(Span { start, end, jump, remap });
        }
        self.is_read = false;
        let recorded = self.stepper.record(&self.contacts, &self.spans, progress, &mut out).wait();
        if let Err(e) = recorded {
            // A device that has failed has no state to go back to.
            if !matches!(e, EngineError::Device(_)) {
                (0..self.len()).try_for_each(|k| self.stepper.load(k, &self.contacts[k]).wait())?;
                self.restore(before)?;
            }
            return Err(e);
        }
        self.clocks.fill(Clock { time: end, jump: false, remap: false });
        Ok(out)
    }

    /// The end [s] of a call of [`Batch::record`], if it has one and can be.
    fn check_record(&self, times: &[f64]) -> Result<Option<f64>, EngineError> {
        self.stepper.check()?;
        let (Some(&end), Some(first)) = (times.last(), self.clocks.first()) else { return Ok(None) };
        let start = first.time;
        if let Some(k) = self.clocks.iter().position(|clock| clock.time != start) {
            let error = ParameterError::new("time", self.time(k), format!("{start} s, the time of contact 0"));
            return Err(EngineError::Parameter { contact: k, error });
        }
        for (before, time) in std::iter::once(&start).chain(times).zip(times) {
            check("times", *time, format!("at least 1e-9 s after {before} s"), time - before >= SHORTEST)?;
        }
        check("times", end, "at most 1e6 s from now", end - start <= LONGEST)?;
        for (k, contact) in self.contacts.iter().enumerate() {
            let checked = contact.check_coefficients_over(start, end, [None; 2]);
            checked.map_err(|error| EngineError::Parameter { contact: k, error })?;
        }
        Ok(Some(end))
    }
}
