//! Many steps of a batch in one call, with samples on the way.

use super::{Batch, Clock, LONGEST, SHORTEST};
use crate::error::{EngineError, ParameterError, check};
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
    fn new(contacts: usize, samples: usize) -> Self {
        let n = contacts * samples;
        Self {
            samples,
            pose: vec![[f64::NAN; 3].into(); n],
            twist: vec![[f64::NAN; 3].into(); n],
            wrench: vec![[f64::NAN; 3].into(); n],
            normal_force: vec![f64::NAN; n],
            slip: vec![f64::NAN; n],
            near_limit: vec![f64::NAN; n],
        }
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
    /// `keep` has asked for, which leaves the contacts where they were.
    pub fn record(&mut self, times: &[f64], keep: &Keep<'_>) -> Result<Recorded, EngineError> {
        let mut out = Recorded::new(self.len(), times.len() + 1);
        self.write_samples(&mut out, 0)?;
        let (Some(&end), Some(first)) = (times.last(), self.clocks.first()) else { return Ok(out) };
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
            let checked = contact.check_coefficients_over(start, end);
            checked.map_err(|error| EngineError::Parameter { contact: k, error })?;
        }
        // One span for all contacts: an input that has been set for one of them starts anew for the others,
        // too.
        let jump = self.clocks.iter().any(|clock| clock.jump);
        let remap = self.clocks.iter().any(|clock| clock.remap);
        let before = self.save()?;
        self.is_read = false;
        match self.stepper.record(&self.contacts, Span { start, end, jump, remap }, times, &mut out, keep) {
            Some(true) => self.clocks.fill(Clock { time: end, jump: false, remap: false }),
            Some(false) => {
                // Contacts that were stopped on their way have been cleared.
                (0..self.len()).try_for_each(|k| self.stepper.load(k, &self.contacts[k]))?;
                self.restore(&before)?;
                return Err(EngineError::Stopped);
            }
            None => {
                for (i, time) in times.iter().enumerate() {
                    self.advance(time - self.time(0))?;
                    self.write_samples(&mut out, i + 1)?;
                    if !keep(self.len() as u64) {
                        self.restore(&before)?;
                        return Err(EngineError::Stopped);
                    }
                }
            }
        }
        Ok(out)
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
