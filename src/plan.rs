//! The plan of a rollout (steps, samples, when contacts stop), the engine's description, and the status of
//! each contact.

use crate::error::{ParameterError, check};
use crate::parameter::{DURATION, RECORD_EVERY, STOP_DISPLACEMENT, STOP_ROTATION, STOP_SLIP_FOR, about};
use crate::schedule::MOST_POINTS;

/// Steps, samples and what to keep of a rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Longest step `h` \[s\], 1e-7 to 0.1; a contact takes shorter ones to meet break points and to stay on
    /// the falling branch of its friction.
    pub step: f64,
    /// Steps as long as the estimated errors of one stay below this, and no longer than `step`; without it,
    /// steps of `step`. Each contact chooses its own; 1e-9 to 1. The error is that of the velocity [m/s], its
    /// angular part times the patch's arm `L`; of a prescribed motion that of the friction over `mu_c f_N`
    /// [-], torques over `mu_c f_N L`. At the end of a run the error of the pose is below tolerance times
    /// duration for nine contacts of ten, and hardly ever above three times that (`docs/accuracy.md`). Slow
    /// motion counts by its own size where it decides what follows: before a reduced bristle breaks loose,
    /// and in the creep of LuGre.
    pub tolerance: Option<f64>,
    /// Most steps that a contact may take, >= 1; it is stopped in the first interval between break points
    /// that wants more ([`Reason::Steps`]). Without it, [`Stepping::budget`] has a generous number.
    pub most_steps: Option<u64>,
    /// Sample times \[s\], at least two: the first is 0, they increase, the last ends the run.
    pub samples: Vec<f64>,
    /// When a contact has left, and is not stepped any further.
    pub stop_when: StopWhen,
    /// Whether to return the bristle states at the end.
    pub keep_bristles: bool,
    /// Whether to return the bristle states at every sample, which takes 16 bytes a bristle and sample.
    pub sample_bristles: bool,
}

/// When a contact has left: at the first sample at which one of these holds it is stopped. That sample is its
/// last; later ones are NaN, and [`Status::left`] says where it was. Earlier samples have the bits of a run
/// to the end. They are compared at samples alone, in the precision of the engine: where a number is within
/// rounding of a limit, engines may differ by a sample. Without any a contact is simulated to the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]
pub struct StopWhen {
    #[doc = about!(STOP_DISPLACEMENT)]
    pub displacement: Option<f64>,
    #[doc = about!(STOP_ROTATION)]
    pub rotation: Option<f64>,
    #[doc = about!(STOP_SLIP_FOR)]
    pub slip_for: Option<f64>,
}

/// A bristle slips while its base moves by more than this against what its deflection grows by [m/s]: 1 um in
/// 0.1 s, `docs/model.md` (14a). Below it is the creep of LuGre's bristles, and what rounding leaves.
pub const SLIP_SPEED: f64 = 1e-5;
/// A contact slides as a whole if bristles with at least this share of the normal force slip [-].
pub const ALL_SLIDES: f64 = 0.99;

impl StopWhen {
    /// No contact is stopped.
    pub const NEVER: Self = Self { displacement: None, rotation: None, slip_for: None };

    /// Whether no contact is stopped.
    pub fn is_never(&self) -> bool {
        *self == Self::default()
    }

    /// Checks every field against the range in its documentation.
    ///
    /// # Errors
    /// The first field out of range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        [(STOP_DISPLACEMENT, self.displacement), (STOP_ROTATION, self.rotation), (STOP_SLIP_FOR, self.slip_for)]
            .into_iter()
            .try_for_each(|(parameter, value)| value.map_or(Ok(()), |value| parameter.check(value)))
    }
}

/// The default step \[s\]: errors of 1.3e-6 m and 1.8e-5 rad over the paper's 2 s in-hand cases.
pub const DEFAULT_STEP: f64 = 2e-4;

/// A tolerance whose errors are near those of [`DEFAULT_STEP`].
pub const DEFAULT_TOLERANCE: f64 = 3e-6;
/// The longest step \[s\] where a tolerance chooses them.
pub const LONGEST_STEP: f64 = 5e-3;
/// Steps that a contact may take per simulated second if the plan does not say: some twenty times as many as
/// those of [`DEFAULT_STEP`].
const STEPS_PER_SECOND: f64 = 1e5;

impl Plan {
    /// The same run in steps that keep their estimated errors below `tolerance`, see [`Plan::tolerance`];
    /// `step` is the longest.
    ///
    /// # Errors
    /// A tolerance that is not 1e-9 to 1, or another field out of range.
    pub fn with_tolerance(self, tolerance: f64) -> Result<Self, ParameterError> {
        let plan = Self { tolerance: Some(tolerance), ..self };
        plan.validate()?;
        Ok(plan)
    }

    /// Checks every field against the range in its documentation.
    ///
    /// # Errors
    /// The first field out of range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.stepping().validate()?;
        self.stop_when.validate()?;
        if self.samples.len() < 2 {
            return Err(ParameterError::new(
                "samples",
                format!("{:?}", self.samples),
                "at least two times [s], 0 first",
            ));
        }
        check("samples[0]", self.samples[0], "0 [s]", self.samples[0] == 0.0)?;
        let is_wrong = |pair: &[f64]| !(pair[1] - pair[0] >= 1e-9 && pair[1] <= DURATION.range.most);
        self.samples.windows(2).position(is_wrong).map_or(Ok(()), |k| {
            let before = self.samples[k];
            let accepted = format!("a finite time at least 1e-9 s after the one before, {before} s, at most 1e9 s");
            check(&format!("samples[{}]", k + 1), self.samples[k + 1], accepted, false)
        })
    }

    /// A run of `duration` \[s\] in steps of at most `step` \[s\], sampled every `record_every` \[s\] and at
    /// the end.
    ///
    /// # Errors
    /// A time out of range, or more samples than memory could hold.
    pub fn new(duration: f64, step: f64, record_every: f64) -> Result<Self, ParameterError> {
        DURATION.check(duration)?;
        check("step", step, "1e-7 to 0.1 [s]", (1e-7..=0.1).contains(&step))?;
        RECORD_EVERY.check(record_every)?;
        // A remainder below 1e-6 of `record_every` or 1e-9 s, which may be rounding, gets no sample of its
        // own.
        let count = (duration / record_every - (1e-9 / record_every).max(1e-6)).ceil().max(1.0);
        check("duration / record_every", count, format!("at most {MOST_POINTS:e} samples"), count <= MOST_POINTS)?;
        let mut samples: Vec<f64> = (0..count as u64).map(|k| k as f64 * record_every).collect();
        samples.push(duration);
        let stop_when = StopWhen::default();
        Ok(Self {
            step,
            tolerance: None,
            most_steps: None,
            samples,
            stop_when,
            keep_bristles: false,
            sample_bristles: false,
        })
    }

    /// The fields that say how contacts step, without the samples.
    pub const fn stepping(&self) -> Stepping {
        Stepping { step: self.step, tolerance: self.tolerance, most_steps: self.most_steps }
    }

    /// Length of the run \[s\].
    pub fn duration(&self) -> f64 {
        self.samples.last().copied().unwrap_or(0.0)
    }
}

/// How contacts step, whatever the length of a run: the fields of a [`Plan`] that say so.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stepping {
    /// [`Plan::step`] \[s\].
    pub step: f64,
    /// [`Plan::tolerance`] [m/s].
    pub tolerance: Option<f64>,
    /// [`Plan::most_steps`]; of a batch that lives on, the most in one call.
    pub most_steps: Option<u64>,
}

impl Default for Stepping {
    /// Steps of [`DEFAULT_STEP`].
    fn default() -> Self {
        Self::fixed(DEFAULT_STEP)
    }
}

impl Stepping {
    /// Steps of `step` \[s\].
    pub const fn fixed(step: f64) -> Self {
        Self { step, tolerance: None, most_steps: None }
    }

    /// Steps that keep their estimated errors below `tolerance` [m/s], none longer than [`LONGEST_STEP`].
    pub const fn adaptive(tolerance: f64) -> Self {
        Self { step: LONGEST_STEP, tolerance: Some(tolerance), most_steps: None }
    }

    /// Checks every field against the range in its documentation.
    ///
    /// # Errors
    /// The first field out of range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        check("step", self.step, "1e-7 to 0.1 [s]", (1e-7..=0.1).contains(&self.step))?;
        if let Some(tolerance) = self.tolerance {
            check("step.tolerance", tolerance, "1e-9 to 1 [m/s]", (1e-9..=1.0).contains(&tolerance))?;
        }
        if self.most_steps == Some(0) {
            return Err(ParameterError::new("limits.steps", "0", "an integer >= 1"));
        }
        Ok(())
    }

    /// Most steps of a contact over `duration` \[s\] with so many intervals between break points:
    /// [`Plan::most_steps`], or 1e5 and another 1e5 each simulated second, but no less than ten times what
    /// steps of `step` and break points ask for.
    pub fn budget(&self, duration: f64, intervals: usize) -> u64 {
        let generous = STEPS_PER_SECOND * (1.0 + duration);
        let asked = 10.0 * (duration / self.step + intervals as f64);
        self.most_steps.unwrap_or(generous.max(asked) as u64)
    }
}

/// Why a contact was stopped. The discriminants are the bits of the status word, in every engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(u32)]
pub enum Reason {
    /// The velocity solve gave a number that is not finite.
    Twist = 1,
    /// A bristle or the friction wrench is not finite.
    Wrench = 2,
    /// It took as many steps as it may ([`Stepping::budget`]).
    Steps = 8,
}

/// How a contact fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Status {
    /// The step at which the contact was stopped, and why; from then on its samples are NaN.
    pub failure: Option<(u64, Reason)>,
    /// The sample, by its place in [`Plan::samples`], at which [`Plan::stop_when`] stopped the contact; later
    /// ones are NaN.
    pub left: Option<u64>,
    /// Stages whose Newton iteration had not converged after three iterations; of a point contact, steps
    /// whose equation has several roots, of which a rule takes one (`docs/model.md`, section 13.4).
    pub unconverged: u64,
    /// Steps taken; of those that a tolerance refused, only the passes count.
    pub steps: u64,
    /// Passes over the cells.
    pub passes: u64,
}

impl Status {
    /// The status as one word: 0 for a clean run, the bit of [`Reason`], [`UNCONVERGED`] and [`LEFT`].
    pub fn word(&self) -> u32 {
        let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
        let failure = self.failure.map_or(0, |(_, reason)| reason as u32);
        failure | bit(self.unconverged > 0, UNCONVERGED) | bit(self.left.is_some(), LEFT)
    }
}

/// Bit of the status word: some stages had not converged, or steps had several solutions.
pub const UNCONVERGED: u32 = 4;
/// Bit of the status word: the contact has left, as [`Plan::stop_when`] says.
pub const LEFT: u32 = 16;

/// What ran: for summaries and for the record of a run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct EngineInfo {
    /// `cpu` or `gpu`.
    pub engine: &'static str,
    /// `f64` or `f32`.
    pub precision: &'static str,
    /// The processor or adapter.
    pub adapter: String,
    /// The driver and its version; empty on the CPU.
    pub driver: String,
    /// What decides the shapes of a GPU's kernels, which fix the order of sums; empty on the CPU.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shape: String,
}
