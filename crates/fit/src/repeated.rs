//! A recording beside the contact that repeats it: what drives the contact, and what of it is compared.

use bristle::Input;
use bristle::contact::Contact;
use bristle::error::ParameterError;
use bristle::schedule::Signal;

use crate::noise::median;
use crate::recording::{Recording, TwistSteps};

/// Which samples are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those that are fitted.
    Fitted,
    /// All.
    All,
}

/// A recording, and what a contact is driven with to repeat it.
#[derive(Clone, Debug)]
pub struct Repeated {
    /// The recording.
    pub recording: Recording,
    /// Samples that are fitted; the others are predicted.
    pub fitted: usize,
    /// Whether a sample is compared.
    pub used: Vec<bool>,
    /// The sign of each compared channel, 1 or -1, by which the recorded values are multiplied.
    pub signs: Vec<f64>,
    /// What one standard deviation of each compared channel is taken as.
    pub deviations: Vec<f64>,
    pub(crate) inputs: Vec<(String, Signal)>,
    /// Of a patch that had moved before: how long before the first sample its run begins \[s\], and the twist
    /// from the first sample on as steps; the inputs are later by as much.
    before: Option<(f64, TwistSteps)>,
}

impl Repeated {
    /// A recording of which the `share` from its start is fitted, without what comes within `burn_in` \[s\]
    /// after a start.
    ///
    /// # Errors
    /// Inputs that cannot be made signals of.
    pub fn new(recording: Recording, share: f64, burn_in: f64) -> Result<Self, ParameterError> {
        let time = &recording.time;
        let end = share * time.last().copied().unwrap_or(0.0);
        let fitted = time.partition_point(|t| *t <= end + 1e-9);
        let mut used = vec![true; time.len()];
        for piece in &recording.pieces {
            let Some(&start) = time.get(piece.start) else { continue };
            piece.clone().for_each(|i| used[i] = time[i] >= start + burn_in);
        }
        // At its start a contact has no history.
        used.first_mut().into_iter().for_each(|first| *first = false);
        let inputs = signals(&recording)?;
        let channels = recording.compared.len();
        let deviations = recording.compared.iter().map(|c| spread(&c.values).max(f64::MIN_POSITIVE)).collect();
        Ok(Self { fitted, used, signs: vec![1.0; channels], deviations, inputs, before: None, recording })
    }

    /// Takes the deviations of channels from medians, which a few values do not change.
    pub(crate) fn weigh_by_medians(&mut self) {
        for (deviation, channel) in self.deviations.iter_mut().zip(&self.recording.compared) {
            let finite: Vec<f64> = channel.values.iter().copied().filter(|v| v.is_finite()).collect();
            let middle = median(finite.clone());
            let size = median(finite.iter().map(|v| (v - middle).abs()).collect()) / 0.6745;
            *deviation = if size > 0.0 { size } else { *deviation };
        }
    }

    /// Lets the run begin `lead` \[s\] before the first sample, for a motion before the recording; the other
    /// inputs have the values of the first sample until then. A recording without a motion stays as it is.
    ///
    /// # Errors
    /// Inputs that cannot be made signals of; an input of the `contact` that varies with time and is not
    /// recorded, which would come too early.
    pub fn begin_before(&mut self, lead: f64, contact: &Contact) -> Result<(), ParameterError> {
        let Some(steps) = self.recording.steps() else { return Ok(()) };
        let mut contact = contact.clone();
        for own in Input::ALL {
            let is_recorded = self.inputs.iter().any(|(name, _)| input(name) == Some(own));
            if !is_recorded && own.signal(&mut contact).is_some_and(|signal| !signal.is_constant()) {
                let accepted = "a constant, or one that is recorded, beside a motion before the recording (`start`)";
                return Err(ParameterError::new(own.field(), "varies with time", accepted));
            }
        }
        let mut early = self.recording.clone();
        early.time.iter_mut().for_each(|t| *t += lead);
        early.time.insert(0, 0.0);
        early.inputs.retain(|c| !is_motion(&c.name));
        early.inputs.iter_mut().for_each(|c| c.values.insert(0, c.values[0]));
        self.inputs = signals(&early)?;
        let late = |steps: Vec<(f64, f64)>| steps.into_iter().map(|(t, v)| (t + lead, v)).collect();
        self.before = Some((lead, steps.map(late)));
        Ok(())
    }

    /// How long before the first sample a run begins \[s\].
    pub(crate) fn lead(&self) -> f64 {
        self.before.as_ref().map_or(0.0, |(lead, _)| *lead)
    }

    /// The samples that are asked for.
    pub fn reach(&self, reach: Reach) -> usize {
        if reach == Reach::Fitted { self.fitted } else { self.recording.time.len() }
    }

    /// Whether a sample of a compared channel counts.
    pub fn counts(&self, channel: usize, i: usize) -> bool {
        self.used[i] && self.recording.compared[channel].values[i].is_finite()
    }

    /// What the sensor said, with its sign.
    pub fn measured(&self, channel: usize, i: usize) -> f64 {
        self.signs[channel] * self.recording.compared[channel].values[i]
    }

    /// Puts the recorded inputs into a contact that moves by `start` before; false if it cannot.
    pub(crate) fn drive(&self, contact: &mut Contact, start: [f64; 3]) -> bool {
        for (name, signal) in &self.inputs {
            let slot = input(name).and_then(|input| input.signal(contact));
            *slot.expect("inputs are checked when a problem is made") = signal.clone();
        }
        let Some((lead, steps)) = &self.before else { return true };
        [Input::Vx, Input::Vy, Input::W].into_iter().zip(steps).zip(start).all(|((input, steps), moved)| {
            let points: Vec<(f64, f64)> = std::iter::once((0.0, moved / lead)).chain(steps.iter().copied()).collect();
            let is_still = points.iter().all(|(_, v)| *v == 0.0);
            let signal = if is_still { Ok(Signal::constant(0.0)) } else { Signal::steps(&points) };
            input.signal(contact).zip(signal.ok()).map(|(slot, signal)| *slot = signal).is_some()
        })
    }
}

/// Standard deviation of the values that are finite.
pub fn spread(values: &[f64]) -> f64 {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let n = finite().count().max(1) as f64;
    let mean = finite().sum::<f64>() / n;
    (finite().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// The input of a contact that an input of a recording is.
pub(crate) fn input(name: &str) -> Option<Input> {
    Input::ALL.into_iter().find(|input| input.field().strip_prefix("inputs.") == Some(name))
}

/// Whether an input says how the patch moves.
fn is_motion(name: &str) -> bool {
    name.starts_with("position.") || name.starts_with("twist.")
}

/// The inputs of a recording as signals. Recorded positions become velocities that are held from sample to
/// sample, so that displacements are those that were recorded.
fn signals(recording: &Recording) -> Result<Vec<(String, Signal)>, ParameterError> {
    let mut all = Vec::new();
    if let Some(twist) = recording.twist()? {
        // A direction without motion is one number, whose break points take no time.
        let is_still = |signal: &Signal| recording.time.iter().all(|t| signal.value(*t) == 0.0);
        let lean = twist.map(|signal| if is_still(&signal) { Signal::constant(0.0) } else { signal });
        all.extend(["twist.vx", "twist.vy", "twist.w"].map(str::to_owned).into_iter().zip(lean));
    }
    for channel in recording.inputs.iter().filter(|c| !is_motion(&c.name)) {
        all.extend(recording.signal(&channel.name)?.map(|signal| (channel.name.clone(), signal)));
    }
    Ok(all)
}
