//! Many steps of a batch in one call, with samples on the way.

use super::{Batch, Clock, LONGEST, SHORTEST, Snapshot};
use crate::error::{EngineError, MemoryError, ParameterError, check};
use crate::memory;
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::Span;

/// Samples of all contacts of a batch, `[contact][sample]` in that order, as [`Sample`](super::Sample) has
/// them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Number of samples a contact.
    pub samples: usize,
    /// Poses [m, m, rad].
    pub pose: Vec<Pose>,
    /// Twists [m/s, m/s, rad/s].
    pub twist: Vec<Twist>,
    /// Friction wrenches of one pad on the body [N, N, N m].
    pub wrench: Vec<Wrench>,
    /// Normal forces of one pad \[N\].
    pub normal_force: Vec<f64>,
    /// Shares of the normal force on bristles that slip [-].
    pub slip: Vec<f64>,
    /// Shares of the normal force on bristles near their limit [-].
    pub near_limit: Vec<f64>,
}

/// Called at samples with the number of contact-samples just finished; `false` asks to stop.
pub type Keep<'a> = dyn Fn(u64) -> bool + Sync + 'a;

impl Recorded {
    /// Nothing written yet: NaN.
    fn new(contacts: usize, samples: usize) -> Result<Self, MemoryError> {
        const FEWER: &str = "fewer samples in one call, or fewer contacts";
        let n = contacts.saturating_mul(samples);
        let bytes = (n as u64).saturating_mul(12 * 8);
        memory::check(|| format!("{samples} samples of {contacts} contacts"), bytes, FEWER)?;
        let threes = [f64::NAN; 3];
        Ok(Self {
            samples,
            pose: memory::filled(n, threes.into(), FEWER)?,
            twist: memory::filled(n, threes.into(), FEWER)?,
            wrench: memory::filled(n, threes.into(), FEWER)?,
            normal_force: memory::filled(n, f64::NAN, FEWER)?,
            slip: memory::filled(n, f64::NAN, FEWER)?,
            near_limit: memory::filled(n, f64::NAN, FEWER)?,
        })
    }
}

impl Batch {
    /// Advances all contacts, which stand at one time, to the last of `times` \[s\] since their start, with
    /// samples: the present one first, and one at each of the times. On the CPU each contact goes its own way
    /// through all of them, which is faster than [`Batch::advance`] to each and [`Batch::samples`] there,
    /// with the same bits. `keep` is called on the way.
    ///
    /// # Errors
    /// Contacts at different times, times that are not 1e-9 s apart, as [`Batch::advance`], or a stop that
    /// `keep` has asked for. All of these leave the contacts where they were.
    pub fn record(&mut self, times: &[f64], keep: &Keep<'_>) -> Result<Recorded, EngineError> {
        self.check_record(times)?;
        let before = if times.is_empty() { Snapshot::default() } else { self.save()? };
        self.record_or_restore(times, keep, &before)
    }

    /// [`Batch::record`], which a stop takes back to `before`: what [`Batch::save`] gave before inputs were
    /// set, so that these are undone, too.
    ///
    /// # Errors
    /// As [`Batch::record`]; of a snapshot of another batch as [`Batch::restore`].
    pub fn record_or_restore(
        &mut self,
        times: &[f64],
        keep: &Keep<'_>,
        before: &Snapshot,
    ) -> Result<Recorded, EngineError> {
        let span = self.check_record(times)?;
        let mut out = Recorded::new(self.len(), times.len() + 1)?;
        self.write_samples(&mut out, 0)?;
        let Some(span) = span else { return Ok(out) };
        self.is_read = false;
        match self.stepper.record(&self.contacts, span, times, &mut out, keep) {
            Some(true) => self.clocks.fill(Clock { time: span.end, jump: false, remap: false }),
            Some(false) => {
                // Contacts that were stopped on their way have been cleared.
                (0..self.len()).try_for_each(|k| self.stepper.load(k, &self.contacts[k]))?;
                self.restore(before)?;
                return Err(EngineError::Stopped);
            }
            None => {
                for (i, time) in times.iter().enumerate() {
                    if let Err(e) = self.advance(time - self.time(0)) {
                        // A device that has failed has no state to go back to.
                        if !matches!(e, EngineError::Device(_)) {
                            self.restore(before)?;
                        }
                        return Err(e);
                    }
                    self.write_samples(&mut out, i + 1)?;
                    if !keep(self.len() as u64) {
                        self.restore(before)?;
                        return Err(EngineError::Stopped);
                    }
                }
            }
        }
        Ok(out)
    }

    /// The span of a call of [`Batch::record`], if there is one and it can be.
    fn check_record(&self, times: &[f64]) -> Result<Option<Span>, EngineError> {
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
        // One span for all contacts: an input that has been set for one of them starts anew for the others,
        // too.
        let jump = self.clocks.iter().any(|clock| clock.jump);
        let remap = self.clocks.iter().any(|clock| clock.remap);
        Ok(Some(Span { start, end, jump, remap }))
    }

    /// Writes the present samples as sample `i`.
    fn write_samples(&mut self, out: &mut Recorded, i: usize) -> Result<(), EngineError> {
        for (k, sample) in self.samples()?.iter().enumerate() {
            let at = k * out.samples + i;
            (out.pose[at], out.twist[at], out.wrench[at]) = (sample.pose, sample.twist, sample.wrench);
            out.normal_force[at] = sample.normal_force;
            (out.slip[at], out.near_limit[at]) = (sample.slip, sample.near_limit);
        }
        Ok(())
    }
}
