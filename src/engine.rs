//! What an engine is: contacts and a plan in, trajectories and statuses out.

use rayon::prelude::*;

pub use crate::batch::Batch;
use crate::batch::Sample;
use crate::contact::Contact;
use crate::error::{EngineError, MemoryError, ParameterError};
pub use crate::plan::{
    ALL_SLIDES, DEFAULT_STEP, DEFAULT_TOLERANCE, EngineInfo, LEFT, LONGEST_STEP, Plan, Reason, SLIP_SPEED, Status,
    Stepping, StopWhen, UNCONVERGED,
};
use crate::planar::{Pose, Twist, Wrench};
use crate::{memory, pool};

/// Samples of contacts, `[contact][sample]` in that order; [`Trajectories::of`] finds those of
/// one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectories {
    /// Number of contacts.
    pub contacts: usize,
    /// Sample times \[s\], shared.
    pub time: Vec<f64>,
    /// Pose of the centre of mass [m, m, rad]; of the patch for `prescribed`, as the integral of its twist.
    pub pose: Vec<Pose>,
    /// Twist at the centre of mass [m/s, m/s, rad/s]; of the patch origin for `prescribed`.
    pub twist: Vec<Twist>,
    /// Friction wrench of one pad on the body, at the patch origin in the patch frame [N, N, N m].
    pub wrench: Vec<Wrench>,
    /// Normal force of one pad \[N\].
    pub normal_force: Vec<f64>,
    /// Share of the normal force on bristles that slip, each faster than [`SLIP_SPEED`]: 0 sticks, 1 slides
    /// everywhere [-].
    pub slip: Vec<f64>,
    /// Share of the normal force on bristles near their limit, whether they slip or not: longer than the
    /// share `s_ba` of it [-].
    pub near_limit: Vec<f64>,
    /// One status a contact.
    pub status: Vec<Status>,
    /// Final bristle states of every contact, if a plan asked for them.
    pub bristles: Vec<Vec<[f64; 2]>>,
    /// Bristle states of every contact, `[sample][bristle]` in that order, if a plan asked for them. Those
    /// of samples that are NaN have no meaning, and may be missing.
    pub sampled_bristles: Vec<Vec<[f64; 2]>>,
}

impl Trajectories {
    /// Trajectories of `contacts` with every sample NaN: what an engine does not write stays NaN.
    ///
    /// # Errors
    /// Less memory than they take.
    pub fn unwritten(contacts: usize, samples: &[f64]) -> Result<Self, MemoryError> {
        const FEWER: &str = "fewer samples in one call, or fewer contacts";
        let frames = samples.len();
        let n = contacts.saturating_mul(frames);
        let bytes = (n as u64).saturating_mul(12 * 8);
        memory::check(|| format!("{frames} samples of {contacts} contacts"), bytes, FEWER)?;
        let threes = [f64::NAN; 3];
        Ok(Self {
            contacts,
            time: samples.to_vec(),
            pose: memory::filled(n, threes.into(), FEWER)?,
            twist: memory::filled(n, threes.into(), FEWER)?,
            wrench: memory::filled(n, threes.into(), FEWER)?,
            normal_force: memory::filled(n, f64::NAN, FEWER)?,
            slip: memory::filled(n, f64::NAN, FEWER)?,
            near_limit: memory::filled(n, f64::NAN, FEWER)?,
            status: vec![Status::default(); contacts],
            bristles: Vec::new(),
            sampled_bristles: Vec::new(),
        })
    }

    /// Trajectories of `contacts` over `plan`, with space for the bristles that it wants.
    pub(crate) fn for_plan(contacts: usize, plan: &Plan) -> Result<Self, MemoryError> {
        let space = |wanted: bool| if wanted { vec![Vec::new(); contacts] } else { Vec::new() };
        let (bristles, sampled_bristles) = (space(plan.keep_bristles), space(plan.sample_bristles));
        Ok(Self { bristles, sampled_bristles, ..Self::unwritten(contacts, &plan.samples)? })
    }

    /// Sample `frame` of a contact.
    ///
    /// # Panics
    /// No such contact or sample.
    pub fn sample(&self, contact: usize, frame: usize) -> Sample {
        let at = self.of(contact).start + frame;
        Sample {
            pose: self.pose[at],
            twist: self.twist[at],
            wrench: self.wrench[at],
            normal_force: self.normal_force[at],
            slip: self.slip[at],
            near_limit: self.near_limit[at],
        }
    }

    /// Writes a sample of a contact.
    pub(crate) fn write(&mut self, contact: usize, frame: usize, sample: &Sample) {
        let at = self.of(contact).start + frame;
        (self.pose[at], self.twist[at], self.wrench[at]) = (sample.pose, sample.twist, sample.wrench);
        self.normal_force[at] = sample.normal_force;
        (self.slip[at], self.near_limit[at]) = (sample.slip, sample.near_limit);
    }

    /// Where the samples of `contact` are in every array: `&out.pose[out.of(k)]` is its path.
    ///
    /// # Panics
    /// No such contact.
    pub fn of(&self, contact: usize) -> std::ops::Range<usize> {
        assert!(contact < self.contacts, "contact {contact} of {}", self.contacts);
        contact * self.frames()..(contact + 1) * self.frames()
    }

    /// Number of samples a contact.
    pub fn frames(&self) -> usize {
        self.time.len()
    }
}

/// A share that rounding may have left above 1; NaN stays NaN.
pub fn share(of_all: f64) -> f64 {
    if of_all > 1.0 { 1.0 } else { of_all }
}

/// Called at samples, and at no other time, with the number of contact-samples just finished; `false` asks to
/// stop.
pub type Progress<'a> = dyn Fn(u64) -> bool + Sync + 'a;

/// Steps a batch of contacts. The result of a contact depends on nothing but the contact, the plan
/// and the engine: not on its neighbours, the batch's size, chunks or threads.
pub trait Engine: Send + Sync {
    /// What runs.
    fn info(&self) -> EngineInfo;

    /// Contacts at their start that live on this engine, to be stepped call by call.
    ///
    /// # Errors
    /// A contact or `stepping` out of range, a device that fails, or an engine that has no batches.
    fn batch(&self, contacts: Vec<Contact>, stepping: Stepping) -> Result<Batch, EngineError> {
        let _ = (contacts, stepping);
        let accepted = "an engine whose contacts live on between calls: `Cpu` or `Gpu`";
        Err(ParameterError::new("engine", self.info().engine, accepted).into())
    }

    /// Simulates `contacts` over `plan`, to its end.
    ///
    /// # Errors
    /// A plan or a contact out of range, or a device that fails.
    fn run(&self, contacts: &[Contact], plan: &Plan) -> Result<Trajectories, EngineError> {
        self.rollout(contacts, plan, &|_| true)
    }

    /// As [`Engine::run`], and calls `progress` on the way.
    ///
    /// # Errors
    /// A plan or a contact out of range, a device that fails, or a stop asked for by `progress`. A contact
    /// that becomes non-finite is no error: its status says so.
    fn rollout(&self, contacts: &[Contact], plan: &Plan, progress: &Progress<'_>) -> Result<Trajectories, EngineError>;
}

/// Checks a plan and every contact of a batch.
pub fn validate(contacts: &[Contact], plan: &Plan) -> Result<(), EngineError> {
    plan.validate()?;
    let duration = plan.duration();
    let wrong = |(contact, c): (usize, &Contact)| {
        let frames = || c.patch.sequence().map_or(Ok(()), |sequence| sequence.check_over(duration));
        if c.layer().is_some()
            && let Some(time) = plan.stop_when.slip_for
        {
            let error = ParameterError::new(
                "stop_when.slip_for",
                time,
                "none: cells of a layer come into contact and leave it",
            );
            return Some(EngineError::Parameter { contact, error });
        }
        c.validate_over(duration).and_then(|()| frames()).err().map(|error| EngineError::Parameter { contact, error })
    };
    pool::run(|| contacts.par_iter().enumerate().find_map_first(wrong)).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Cpu;

    #[test]
    fn a_run_shorter_than_the_time_between_samples_has_its_two_ends() {
        assert_eq!(Plan::new(1.0, 1e-3, 1e9).unwrap().samples, [0.0, 1.0]);
    }

    #[test]
    fn every_plan_that_is_made_can_be_run() {
        for record_every in [1e-6, 3.3e-5, 1e-3, 0.1, 7.0] {
            for more in [0.0, 1e-16, 1e-10, 9.9e-10, 1e-9, 1.1e-9, 2e-9, 1e-7, 0.3] {
                for count in [0.0, 1.0, 2.0, 3.0, 11.0] {
                    let duration = count * record_every + more;
                    let Ok(plan) = Plan::new(duration, 1e-4, record_every) else {
                        assert!(duration < 1e-9, "{duration:e} {record_every:e}");
                        continue;
                    };
                    plan.validate().unwrap_or_else(|e| panic!("{duration:e} {record_every:e}: {e}"));
                    assert_eq!(plan.duration(), duration);
                }
            }
        }
    }

    #[test]
    fn plans_that_cannot_be_run_are_refused_by_every_engine() {
        let good = Plan::new(0.02, 1e-4, 0.01).unwrap();
        let sampled = |samples: &[f64]| Plan { samples: samples.to_vec(), ..good.clone() };
        let steps = |step: f64, tolerance: Option<f64>| Plan { step, tolerance, ..good.clone() };
        let bad = [
            ("samples", sampled(&[])),
            ("samples", sampled(&[0.0])),
            ("samples[0]", sampled(&[0.01, 0.02])),
            ("samples[1]", sampled(&[0.0, -1.0])),
            ("samples[2]", sampled(&[0.0, 0.02, 0.01])),
            ("samples[2]", sampled(&[0.0, 0.01, 0.01, 0.02])),
            ("samples[1]", sampled(&[0.0, f64::NAN])),
            ("samples[1]", sampled(&[0.0, f64::INFINITY])),
            ("step", steps(0.0, None)),
            ("step", steps(f64::NAN, None)),
            ("step", steps(-1.0, Some(1e-6))),
            ("step.tolerance", steps(1e-3, Some(0.0))),
            ("step.tolerance", steps(1e-3, Some(f64::NAN))),
        ];
        let engines: [Box<dyn Engine>; _] = [
            Box::new(Cpu::new()),
            #[cfg(feature = "gpu")]
            Box::new(crate::gpu::Gpu::new(crate::gpu::Choice::Any).unwrap()),
        ];
        for engine in engines {
            assert!(engine.run(&[], &good).is_ok());
            for (field, plan) in &bad {
                match engine.run(&[], plan) {
                    Err(EngineError::Argument(e)) => assert_eq!(e.field, *field, "{plan:?}"),
                    other => panic!("{plan:?}: {other:?}"),
                }
            }
        }
    }
}
