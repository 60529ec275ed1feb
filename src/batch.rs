//! Contacts that live on an engine between calls: a controller sets their inputs, lets time pass, reads what
//! became of them, and branches from any state.
//!
//! A [`Batch`] has the contacts with their present inputs and the time of each. A call makes a `Span` for
//! each contact and passes it to the engine's `Stepper`, which keeps between calls what a rollout makes and
//! drops. A call checks all that it is asked for before it changes the first contact.

mod asynchronous;
mod input;
mod needs;
mod record;
mod request;
mod snapshot;
mod start;
mod stepper;

use std::borrow::Cow;
use std::slice::from_ref;
use std::sync::Arc;

pub use input::Input;
pub use needs::{check_memory, memory as memory_of};
pub use snapshot::{Snapshot, SnapshotError};
use start::Start;
pub(crate) use stepper::{Answer, Stepper};

use crate::contact::{Contact, Initial, ModelKind, Origin, SampleInputs};
use crate::error::{EngineError, ParameterError, check};
use crate::number::prefetch::prefetch;
use crate::plan::{EngineInfo, Status, Stepping};
use crate::planar::{Pose, Twist, Wrench};
use crate::range::{DURATION, SPEED, TURN};
use crate::schedule::{MapKey, SAME_TIME, Signal, Span, slot};
use crate::shear::{self, Moment, OfCell, OfPart, Shear};
pub use crate::solver::respond::Response;
use crate::solver::state::State;

/// What a contact is at a moment: the same as a sample of [`Trajectories`](crate::Trajectories). All numbers
/// are NaN after a failure, which [`Batch::statuses`] tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Pose of the centre of mass [m, m, rad]; of the patch if its twist is prescribed.
    pub pose: Pose,
    /// Twist at the centre of mass [m/s, m/s, rad/s]; of the patch origin if it is prescribed.
    pub twist: Twist,
    /// Friction wrench of one pad on the body, at the patch origin in the patch frame [N, N, N m].
    pub wrench: Wrench,
    /// Normal force of one pad \[N\].
    pub normal_force: f64,
    /// Share of the normal force on bristles that slip, each faster than
    /// [`SLIP_SPEED`](crate::engine::SLIP_SPEED) [-].
    pub slip: f64,
    /// Share of the normal force on bristles near their limit, whether they slip or not: longer than the
    /// share `s_ba` of it [-].
    pub near_limit: f64,
}

impl Sample {
    /// That of a contact that has failed.
    pub(crate) const NONE: Self = Self {
        pose: Pose::new(f64::NAN, f64::NAN, f64::NAN),
        twist: Twist::new(f64::NAN, f64::NAN, f64::NAN),
        wrench: Wrench::new(f64::NAN, f64::NAN, f64::NAN),
        normal_force: f64::NAN,
        slip: f64::NAN,
        near_limit: f64::NAN,
    };
}

/// Contacts that live on an engine between calls, each at a time of its own.
/// [`Engine::batch`](crate::Engine::batch) makes it.
///
/// A contact follows the inputs that it came with until [`Batch::set`] or [`Batch::ramp`] puts others in
/// their place. Its result depends on nothing but its own history of inputs, calls and reads: not on its
/// neighbours. Advanced in pieces whose ends are the break points of its inputs it has the bits of one
/// rollout over these inputs, and of one with samples where it is read.
///
/// ```
/// use bristle::{Contact, Cpu, Engine, Frame, FreeBody, Friction, Grid, Initial, Input, Inputs, Model};
/// use bristle::{Patch, Shape, Signal, Stepping};
/// // Which grip holds the object that has begun to slide? One state, branched into four futures.
/// let gravity = [0.0.into(), (-9.81).into()];
/// let contact = Contact {
///     patch: Patch::shape(Grid::new(11, 11, 0.02, 0.02)?, Shape::Disc)?.into(),
///     model: Model::Distributed,
///     friction: Friction::default(),
///     body: FreeBody { gravity, ..FreeBody::new(Frame::Gripper, 0.2, 4.8e-4) }.into(),
///     inputs: Inputs { normal_force: Signal::constant(2.0), ..Inputs::default() },
///     initial: Initial::default(),
/// };
/// let mut batch = Cpu::new().batch(vec![contact; 4], Stepping::default())?;
/// batch.set(0, Input::NormalForce, 0.5)?;
/// batch.advance_some(&[0], 0.05)?;
/// batch.copy(0, &[1, 2, 3])?;
/// batch.set_each(Input::NormalForce, &[0.5, 1.0, 4.0, 8.0])?;
/// batch.advance(0.2)?;
/// let speeds = batch.samples()?.iter().map(|s| s.twist.vx.hypot(s.twist.vy)).collect::<Vec<_>>();
/// assert!(speeds[0] > 0.1 && speeds[3] < 1e-3, "{speeds:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batch {
    contacts: Vec<Contact>,
    /// What they were at their start, for [`Batch::reset`].
    starts: Vec<Start>,
    clocks: Vec<Clock>,
    stepping: Stepping,
    info: EngineInfo,
    stepper: Box<dyn Stepper>,
    /// Number of pairs of numbers in the state of the bristles of each.
    pairs: Vec<usize>,
    /// What is filled in calls, and kept so that they take no memory.
    spans: Vec<Option<Span>>,
    samples: Vec<Sample>,
    statuses: Vec<Status>,
    /// Whether `samples` are the present ones.
    is_read: bool,
    /// The samples of [`Batch::request_samples`], and whether they are there; none if nobody has asked. They
    /// and `statuses` take no memory before.
    requested: Vec<Sample>,
    has_requested: Option<bool>,
}

/// Where a contact is in its time.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Clock {
    /// Time since its start [s].
    pub time: f64,
    /// Whether an input has been set since the last call.
    pub jump: bool,
    /// Whether that was the normal force.
    pub remap: bool,
}

impl Clock {
    const START: Self = Self { time: 0.0, jump: true, remap: true };
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("engine", &self.info).field("contacts", &self.len()).finish_non_exhaustive()
    }
}

/// Brings contacts that come soon after `k` into the caches: their signals, and before that what says where
/// these are.
fn prefetch_soon(contacts: &[Contact], k: usize) {
    if let Some(contact) = contacts.get(k + 4) {
        contact.prefetch_signals();
    }
    if let Some(contact) = contacts.get(k + 8) {
        prefetch(from_ref(contact));
    }
}

/// Value `i` of as many as are asked for, or of one for all.
const fn value_of(values: &[f64], i: usize) -> f64 {
    if values.len() == 1 { values[0] } else { values[i] }
}

/// The shortest time of a call [s].
const SHORTEST: f64 = 1e-9;
/// The longest [s].
const LONGEST: f64 = 1e6;

impl Batch {
    /// Refuses contacts that cannot be a batch.
    pub(crate) fn validate(contacts: &[Contact], stepping: Stepping) -> Result<(), EngineError> {
        stepping.validate()?;
        for (contact, c) in contacts.iter().enumerate() {
            c.validate_over(SHORTEST).map_err(|error| EngineError::Parameter { contact, error })?;
        }
        let n = contacts.len();
        // What they are made of is there already.
        Ok(check_memory(&contacts[..n.min(4)], n, 0)?)
    }

    /// A batch of contacts that [`Batch::validate`] has not refused, on an engine.
    pub(crate) fn new(contacts: Vec<Contact>, stepping: Stepping, info: EngineInfo, stepper: Box<dyn Stepper>) -> Self {
        let n = contacts.len();
        Self {
            starts: (0..n).map(|_| Start::default()).collect(),
            pairs: contacts.iter().map(Contact::bristle_pairs).collect(),
            contacts,
            clocks: vec![Clock::START; n],
            stepping,
            info,
            stepper,
            spans: vec![None; n],
            samples: vec![Sample::NONE; n],
            statuses: Vec::new(),
            is_read: false,
            requested: Vec::new(),
            has_requested: None,
        }
    }

    /// Number of contacts.
    pub fn len(&self) -> usize {
        self.contacts.len()
    }

    /// Whether there is no contact.
    pub fn is_empty(&self) -> bool {
        self.contacts.is_empty()
    }

    /// The engine that they live on.
    pub const fn engine(&self) -> &EngineInfo {
        &self.info
    }

    /// How they step.
    pub const fn stepping(&self) -> Stepping {
        self.stepping
    }

    /// The contacts, with the inputs that they follow.
    pub fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Where a contact starts.
    ///
    /// # Panics
    /// No such contact.
    pub fn origin(&self, contact: usize) -> Origin {
        let of = &self.contacts[contact];
        Origin::of(&of.body, self.starts[contact].patch(of).cop(), of.initial.pose)
    }

    /// The contacts as they start, of a batch that is not wanted any more.
    #[must_use]
    pub fn into_first(mut self) -> Vec<Contact> {
        self.starts.iter_mut().zip(&mut self.contacts).for_each(|(start, contact)| start.put_back(contact));
        self.contacts
    }

    /// The contacts as they start.
    #[must_use]
    pub fn first(&self) -> Vec<Contact> {
        self.starts.iter().zip(&self.contacts).map(|(start, contact)| start.first(contact)).collect()
    }

    /// Time of a contact since its start \[s\].
    ///
    /// # Panics
    /// No such contact.
    pub fn time(&self, contact: usize) -> f64 {
        self.clocks[contact].time
    }

    /// Refuses a contact that is not there, and all of a device that has failed.
    fn check(&self, contact: usize) -> Result<(), EngineError> {
        self.stepper.check()?;
        self.check_index(contact)
    }

    /// Refuses a contact that is not there.
    fn check_index(&self, contact: usize) -> Result<(), EngineError> {
        if contact < self.len() {
            return Ok(());
        }
        Err(ParameterError::new("contact", contact, format!("an index below {}, the number of contacts", self.len()))
            .into())
    }

    /// From now on `input` of a contact is `value`, in the unit of the input.
    ///
    /// # Errors
    /// No such contact, an input that its kind of body does not have, or a value out of range; nothing is set
    /// then.
    pub fn set(&mut self, contact: usize, input: Input, value: f64) -> Result<(), EngineError> {
        self.drive(contact, input, value, |signal, _| signal.set_constant(value))
    }

    /// [`Batch::set`] of all contacts, each to its value.
    ///
    /// # Errors
    /// As [`Batch::set`], or another number of values; no contact is set then.
    pub fn set_each(&mut self, input: Input, values: &[f64]) -> Result<(), EngineError> {
        self.stepper.check()?;
        if values.len() != self.len() {
            let accepted = format!("{}, one a contact", self.len());
            return Err(ParameterError::new(input.field(), format!("{} values", values.len()), accepted).into());
        }
        self.check_all(self.len(), |i| i, &[(input, values)], None)?;
        self.set_all(self.len(), |i| i, &[(input, values)]);
        Ok(())
    }

    /// From now on several inputs of some contacts have the values that are set here together: of every
    /// input as many as there are contacts, or one for all. `mu_c` and `mu_s` are checked as the pair that
    /// they will be, whatever the present ones are. A contact that is named twice has the later values.
    ///
    /// # Errors
    /// As [`Batch::set`], or another number of values; nothing is set then.
    pub fn set_some(&mut self, contacts: &[usize], inputs: &[(Input, &[f64])]) -> Result<(), EngineError> {
        self.check_some(contacts, inputs, None)?;
        self.set_all(contacts.len(), |i| contacts[i], inputs);
        Ok(())
    }

    /// Refuses what [`Batch::set_some`] would refuse; nothing is set. With a `span`, times from now \[s\],
    /// also coefficients of friction that leave their range on the way, where one of them is set and the
    /// other follows a signal: with `[0.0, dt]` what [`Batch::advance_some`] would refuse after these were
    /// set.
    ///
    /// # Errors
    /// As [`Batch::set_some`] and [`Batch::advance_some`].
    pub fn check_some(
        &self,
        contacts: &[usize],
        inputs: &[(Input, &[f64])],
        span: Option<[f64; 2]>,
    ) -> Result<(), EngineError> {
        self.stepper.check()?;
        contacts.iter().try_for_each(|k| self.check_index(*k))?;
        for (input, values) in inputs {
            if values.len() != 1 && values.len() != contacts.len() {
                let accepted = format!("1, or {}, one a contact", contacts.len());
                return Err(ParameterError::new(input.field(), format!("{} values", values.len()), accepted).into());
            }
        }
        self.check_all(contacts.len(), |i| contacts[i], inputs, span)
    }

    /// Refuses values for contacts that are there.
    fn check_all(
        &self,
        count: usize,
        contact: impl Fn(usize) -> usize,
        inputs: &[(Input, &[f64])],
        span: Option<[f64; 2]>,
    ) -> Result<(), EngineError> {
        let of = |k: usize, checked: Result<(), ParameterError>| {
            checked.map_err(|error| EngineError::Parameter { contact: k, error })
        };
        for (input, values) in inputs.iter().filter(|(input, _)| !input.is_coefficient()) {
            for i in 0..count {
                let k = contact(i);
                prefetch_soon(&self.contacts, k);
                of(k, input.check(&self.contacts[k], value_of(values, i)))?;
            }
        }
        let is_set = inputs.iter().any(|(input, _)| input.is_coefficient());
        for i in (0..count).filter(|_| is_set || span.is_some()) {
            let k = contact(i);
            let (own, now) = (&self.contacts[k], self.clocks[k].time);
            let mut set = [None; 2];
            for (input, values) in inputs {
                match input {
                    Input::MuC => set[0] = Some(value_of(values, i)),
                    Input::MuS => set[1] = Some(value_of(values, i)),
                    _ => {}
                }
            }
            // The present ones count where values are set now.
            let present = span.is_none_or(|[start, _]| start == 0.0).then(|| own.coefficients_at(now));
            of(k, input::check_pair(set, present))?;
            if let Some([start, end]) = span {
                of(k, own.check_coefficients_over(now + start, now + end, set))?;
            }
        }
        Ok(())
    }

    /// Sets values that have been checked.
    fn set_all(&mut self, count: usize, contact: impl Fn(usize) -> usize, inputs: &[(Input, &[f64])]) {
        for (input, values) in inputs {
            for i in 0..count {
                let k = contact(i);
                prefetch_soon(&self.contacts, k);
                self.starts[k].keep(&mut self.contacts[k], *input, self.clocks[k].time);
                if let Some(signal) = input.signal(&mut self.contacts[k]) {
                    signal.set_constant(value_of(values, i));
                }
                self.note_change(k, *input);
            }
        }
    }

    /// Notes that an input of a contact jumps.
    fn note_change(&mut self, contact: usize, input: Input) {
        let clock = &mut self.clocks[contact];
        clock.jump = true;
        clock.remap |= matches!(input, Input::NormalForce);
    }

    /// From now on `input` of a contact goes in a straight line from its present value to `to`, in `over`
    /// \[s\], and stays there.
    ///
    /// # Errors
    /// As [`Batch::set`], or a time that is not 1e-9 to 1e9 s.
    pub fn ramp(&mut self, contact: usize, input: Input, to: f64, over: f64) -> Result<(), EngineError> {
        self.check(contact)?;
        DURATION.check("over", over)?;
        self.drive(contact, input, to, |signal, now| {
            let from = signal.value(now);
            signal.set_ramp([now, from], [now + over, to]);
        })
    }

    /// From now on `input` of a contact follows `signal`, over the time of the contact since its start.
    ///
    /// # Errors
    /// As [`Batch::set`].
    pub fn follow(&mut self, contact: usize, input: Input, signal: Signal) -> Result<(), EngineError> {
        self.check(contact)?;
        signal.validate(input.field(), input.range()).map_err(|error| EngineError::Parameter { contact, error })?;
        let value = signal.value(self.clocks[contact].time);
        self.drive(contact, input, value, |own, _| *own = signal)
    }

    /// Puts another pressure map under a contact at once, such as the next frame of a tactile sensor:
    /// `pressure` in any unit, >= 0, one value a cell of its grid, bottom row first. The normal force is as
    /// before; bristles are kept (`docs/model.md`, section 6.3), and a sample read now has the new map. The
    /// contact's patch must be one that takes frames, [`Patch::with_frames`](crate::Patch::with_frames).
    ///
    /// # Errors
    /// No such contact, one whose patch takes no frames, or a frame that cannot be a map, before anything is
    /// changed; or a device that fails.
    pub fn set_frame(&mut self, contact: usize, pressure: &[f64]) -> Result<(), EngineError> {
        self.check(contact)?;
        self.takes_frames(contact)?;
        let own = &mut self.contacts[contact];
        self.starts[contact].keep_patch(own);
        let patch = Arc::make_mut(&mut own.patch);
        patch.set_pressure(pressure).map_err(|error| EngineError::Frame { contact, error })?;
        self.is_read = false;
        let clock = &mut self.clocks[contact];
        clock.jump = true;
        self.stepper.set_map(contact, own, own.coefficients_at(clock.time)[0]).wait()
    }

    /// Refuses what [`Batch::set_frame`] would refuse; nothing is set.
    ///
    /// # Errors
    /// As [`Batch::set_frame`].
    pub fn check_frame(&self, contact: usize, pressure: &[f64]) -> Result<(), EngineError> {
        self.check(contact)?;
        self.takes_frames(contact)?;
        let checked = self.contacts[contact].patch.check_pressure(pressure);
        checked.map_err(|error| EngineError::Frame { contact, error })
    }

    fn takes_frames(&self, contact: usize) -> Result<(), EngineError> {
        if self.contacts[contact].patch.takes_frames() {
            return Ok(());
        }
        let error = ParameterError::new("patch", "a frame", "none: the patch was not made with `with_frames`");
        Err(EngineError::Parameter { contact, error })
    }

    /// Changes a signal of a contact that may have `value`; else nothing.
    fn drive(
        &mut self,
        contact: usize,
        input: Input,
        value: f64,
        change: impl FnOnce(&mut Signal, f64),
    ) -> Result<(), EngineError> {
        self.check_some(from_ref(&contact), &[(input, from_ref(&value))], None)?;
        let now = self.clocks[contact].time;
        self.starts[contact].keep(&mut self.contacts[contact], input, now);
        if let Some(signal) = input.signal(&mut self.contacts[contact]) {
            change(signal, now);
        }
        self.note_change(contact, input);
        Ok(())
    }

    /// Lets `dt` \[s\] pass for all contacts; 1e-9 to 1e6. A contact that fails stays as it is, and
    /// [`Batch::statuses`] says why.
    ///
    /// # Errors
    /// A time out of range, an input that leaves its range on the way, or a device that fails.
    pub fn advance(&mut self, dt: f64) -> Result<(), EngineError> {
        self.advance_where(dt, |_| true)
    }

    /// [`Batch::advance`] of some contacts; a contact that is named twice advances once.
    ///
    /// # Errors
    /// As [`Batch::advance`], or a contact that is not there; then none has advanced.
    pub fn advance_some(&mut self, contacts: &[usize], dt: f64) -> Result<(), EngineError> {
        contacts.iter().try_for_each(|k| self.check(*k))?;
        let mut chosen = vec![false; self.len()];
        contacts.iter().for_each(|k| chosen[*k] = true);
        self.advance_where(dt, |k| chosen[k])
    }

    fn advance_where(&mut self, dt: f64, chosen: impl Fn(usize) -> bool) -> Result<(), EngineError> {
        self.begin_advance(dt, chosen)?;
        self.stepper.advance(&self.contacts, &self.spans).wait()?;
        self.end_advance();
        Ok(())
    }

    /// Makes the spans of a call; refuses what cannot be.
    fn begin_advance(&mut self, dt: f64, chosen: impl Fn(usize) -> bool) -> Result<(), EngineError> {
        self.stepper.check()?;
        check("dt", dt, "1e-9 to 1e6 [s]", (SHORTEST..=LONGEST).contains(&dt))?;
        for (k, (span, clock)) in self.spans.iter_mut().zip(&self.clocks).enumerate() {
            let Clock { time: start, jump, remap } = *clock;
            *span = chosen(k).then_some(Span { start, end: start + dt, jump, remap });
            if let Some(Span { start, end, .. }) = *span {
                let contact = &self.contacts[k];
                let checked = contact.check_coefficients_over(start, end, [None; 2]);
                checked.map_err(|error| EngineError::Parameter { contact: k, error })?;
            }
        }
        self.is_read = false;
        Ok(())
    }

    /// The contacts stand at the ends of their spans.
    fn end_advance(&mut self) {
        for (clock, span) in self.clocks.iter_mut().zip(&self.spans) {
            if let Some(span) = span {
                *clock = Clock { time: span.end, jump: false, remap: false };
            }
        }
    }

    /// The present samples of all contacts; the wrench is that of the inputs at the end of the last call.
    ///
    /// # Errors
    /// A device that fails.
    pub fn samples(&mut self) -> Result<&[Sample], EngineError> {
        self.stepper.check()?;
        if !self.is_read {
            self.stepper.samples(&self.contacts, &mut self.samples).wait()?;
            self.is_read = true;
        }
        Ok(&self.samples)
    }

    /// How the contacts fare.
    ///
    /// # Errors
    /// A device that fails.
    pub fn statuses(&mut self) -> Result<&[Status], EngineError> {
        self.statuses.resize(self.len(), Status::default());
        self.stepper.statuses(&mut self.statuses).wait()?;
        Ok(&self.statuses)
    }

    /// The states `zeta = sigma0 z` [-] of the bristles of a contact, as [`crate::Bristles::States`] has
    /// them.
    ///
    /// # Errors
    /// No such contact, or a device that fails.
    pub fn bristles(&mut self, contact: usize) -> Result<Vec<[f64; 2]>, EngineError> {
        Ok(self.bristles_of(from_ref(&contact))?.remove(0))
    }

    /// The friction of each of the patches of a contact ([`Patch::compound`](crate::Patch::compound)) in its
    /// present sample, in their order; none of a contact with one patch.
    ///
    /// # Errors
    /// As [`Batch::bristles`], or a model without bristles in cells.
    pub fn patches(&mut self, contact: usize) -> Result<Vec<OfPart>, EngineError> {
        self.check(contact)?;
        let Contact { patch, model, .. } = &self.contacts[contact];
        if patch.parts().is_empty() {
            return Ok(Vec::new());
        }
        if !model.is_grid() {
            let error = ParameterError::new("contact.model", "reduced", "`distributed`, to tell patches apart");
            return Err(EngineError::Parameter { contact, error });
        }
        let (moment, states) = self.moment(contact)?;
        let of = &self.contacts[contact];
        let Some(moment) = moment else { return Ok(vec![OfPart::FAILED; of.patch.parts().len()]) };
        let bristles = of.cells_ever_active().into_iter().zip(states);
        let forces: Vec<f64> = moment.inputs.patches.iter().map(|part| part.normal_force).collect();
        let patch = of.patch_under(&forces);
        Ok(shear::of_parts(of, &patch, moment, bristles))
    }

    /// The normal force and the friction of each cell of the grid of a contact in its present sample, bottom
    /// row first; of several patches those of one patch after the other.
    ///
    /// # Errors
    /// As [`Batch::bristles`], or a model without bristles in cells.
    pub fn cells(&mut self, contact: usize) -> Result<Vec<OfCell>, EngineError> {
        self.check(contact)?;
        if !self.contacts[contact].model.is_grid() {
            let error = ParameterError::new("contact.model", "reduced", "`distributed`, which has friction in cells");
            return Err(EngineError::Parameter { contact, error });
        }
        let (moment, states) = self.moment(contact)?;
        let of = &self.contacts[contact];
        let Some(moment) = moment else { return Ok(vec![OfCell::FAILED; of.patch.grid().len()]) };
        let forces: Vec<f64> = moment.inputs.patches.iter().map(|part| part.normal_force).collect();
        let mut patch = of.patch_under(&forces);
        // A sample has the map before one that begins with it, as it has the normal force before.
        if let Some(key) = of.map_at((moment.time - 2.0 * SAME_TIME).max(0.0)) {
            patch = Cow::Owned(of.patch.at(key));
        }
        let cell = |w: &f64| OfCell { normal_force: w * moment.f_n, shear: Shear::default() };
        let mut cells: Vec<OfCell> = patch.weights().iter().map(cell).collect();
        let bristles = of.cells_ever_active().into_iter().zip(states);
        shear::shear(of, &patch, moment, bristles).for_each(|(i, shear)| cells[i].shear = shear);
        Ok(cells)
    }

    /// The present sample of a contact as its cells feel it, none if it has failed, and the states of its
    /// bristles.
    fn moment(&mut self, contact: usize) -> Result<(Option<Moment>, Vec<[f64; 2]>), EngineError> {
        let (states, time) = (self.bristles(contact)?, self.time(contact));
        let inputs = self.inputs(contact)?;
        let Sample { pose, twist, wrench, normal_force: f_n, .. } = self.samples()?[contact];
        let is_there = wrench.to_array().iter().all(|v| v.is_finite());
        Ok((is_there.then_some(Moment { time, pose, twist, f_n, inputs }), states))
    }

    /// The inputs that friction in the present sample of a contact depends on, beside its normal force: those
    /// at the end of the last call. What was set since is felt from the next call on. After a copy or from a
    /// snapshot they are those that came with the state.
    ///
    /// # Errors
    /// As [`Batch::bristles`].
    pub fn inputs(&mut self, contact: usize) -> Result<SampleInputs, EngineError> {
        self.check(contact)?;
        // With what is not recorded yet.
        self.samples()?;
        let (own, of_parts) = self.stepper.inputs(contact);
        let mut inputs = SampleInputs::of_slots(&own, of_parts);
        if self.contacts[contact].moves_loads() {
            let Sample { wrench, normal_force, .. } = self.samples()?[contact];
            let loads = self.contacts[contact].loads(wrench, normal_force);
            inputs.patches.iter_mut().zip(loads).for_each(|(patch, load)| patch.normal_force = load);
        }
        Ok(inputs)
    }

    /// [`Batch::bristles`] of several contacts, which a GPU reads together.
    ///
    /// # Errors
    /// As [`Batch::bristles`].
    pub fn bristles_of(&mut self, contacts: &[usize]) -> Result<Vec<Vec<[f64; 2]>>, EngineError> {
        contacts.iter().try_for_each(|k| self.check(*k))?;
        self.stepper.bristles(contacts, &self.contacts).wait()
    }

    /// The friction if the patch of a contact moved with `twist` (at the patch origin, in the patch frame)
    /// for `dt` \[s\], under the inputs at the end of the last call: the wrench on the moving side, and its
    /// derivative over the twist. It is that of one implicit stage over the whole time, and nothing moves. A
    /// host that integrates the body asks for it at a guess of the next twist, takes a step of Newton with
    /// the derivative, sets the twist that comes out, and advances; however stiff the bristles are, its steps
    /// stay stable. On a [surface that moves](crate::MovingSurface) the twist is that relative to it.
    ///
    /// # Errors
    /// No such contact, one that has failed, a twist beyond 1e9 m/s or rad/s, a time as in
    /// [`Batch::advance`], or a device that fails.
    pub fn respond(&mut self, contact: usize, twist: Twist, dt: f64) -> Result<Response, EngineError> {
        self.check(contact)?;
        check("dt", dt, "1e-9 to 1e6 [s]", (SHORTEST..=LONGEST).contains(&dt))?;
        for (name, v, range) in [("vx", twist.vx, SPEED), ("vy", twist.vy, SPEED), ("w", twist.w, TURN)] {
            range.check(&format!("twist.{name}"), v)?;
        }
        let response = self.stepper.respond(contact, &self.contacts[contact], twist, dt).wait()?;
        response.ok_or_else(|| {
            let error = ParameterError::new("state", "failed", "a contact that goes on; `reset` makes it one");
            EngineError::Parameter { contact, error }
        })
    }

    /// Puts contacts back to their start: time 0, with the inputs that they came with. One that has failed is
    /// clean again.
    ///
    /// # Errors
    /// A contact that is not there, before any is reset, or a device that fails.
    pub fn reset(&mut self, contacts: &[usize]) -> Result<(), EngineError> {
        self.stepper.check()?;
        contacts.iter().try_for_each(|k| self.check(*k))?;
        contacts.iter().try_for_each(|k| {
            self.starts[*k].put_back(&mut self.contacts[*k]);
            self.start_over(*k).wait()
        })
    }

    /// [`Batch::reset`] of one contact, to another initial state; `twist` is that of a free body at its
    /// centre of mass [m/s, m/s, rad/s], and without effect on a prescribed motion. Later resets go to this
    /// state.
    ///
    /// # Errors
    /// As [`Batch::reset`], or a number that is out of range.
    pub fn reset_to(&mut self, contact: usize, initial: Initial, twist: Twist) -> Result<(), EngineError> {
        self.check(contact)?;
        let mut changed = Contact { initial, ..self.starts[contact].first(&self.contacts[contact]) };
        if let Some(body) = changed.body.free_mut() {
            body.twist = twist;
        }
        changed.validate_over(SHORTEST).map_err(|error| EngineError::Parameter { contact, error })?;
        self.contacts[contact] = changed;
        self.starts[contact].forget();
        self.start_over(contact).wait()
    }

    /// Whether `new` can take the place of a contact by [`Batch::replace`]: a contact of the same law and
    /// model, of the same limit surface and of about as many cells. On a GPU a grid has as many cells, and no
    /// other contact shares its map, unless the map is the same.
    #[must_use]
    pub fn takes(&self, contact: usize, new: &Contact) -> bool {
        contact < self.len() && self.stepper.takes(contact, &self.contacts[contact], new)
    }

    /// Puts other contacts in the places of some, at their start: time 0, with the inputs that they come
    /// with. The others are not touched, and each new one goes on with the bits that it has in a new batch.
    ///
    /// # Errors
    /// Lists of different lengths, a contact that is not there, a new one that is not valid or that its place
    /// cannot take ([`Batch::takes`]), before any is changed; or a device that fails.
    pub fn replace(&mut self, contacts: &[usize], by: &[Contact]) -> Result<(), EngineError> {
        if by.len() != contacts.len() {
            let accepted = format!("{}, one for each place", contacts.len());
            return Err(ParameterError::new("by", format!("{} contacts", by.len()), accepted).into());
        }
        for (&contact, new) in contacts.iter().zip(by) {
            self.check(contact)?;
            new.validate_over(SHORTEST).map_err(|error| EngineError::Parameter { contact, error })?;
            if !self.takes(contact, new) {
                let accepted = "one of the law, model, limit surface and number of cells of the place";
                let error = ParameterError::new("by", "another contact", accepted);
                return Err(EngineError::Parameter { contact, error });
            }
        }
        contacts.iter().zip(by).try_for_each(|(&k, new)| {
            self.contacts[k].clone_from(new);
            self.starts[k].forget();
            self.pairs[k] = new.bristle_pairs();
            self.start_over(k).wait()
        })
    }

    fn start_over(&mut self, k: usize) -> Answer<'_, ()> {
        self.clocks[k] = Clock::START;
        self.is_read = false;
        self.stepper.load(k, &self.contacts[k])
    }

    /// Gives the state of contact `from`, its time and its inputs to all of `to`, which keep their own
    /// parameters.
    ///
    /// # Errors
    /// A contact that is not there, or one of another model or another number of cells, before any is
    /// changed; or a device that fails.
    pub fn copy(&mut self, from: usize, to: &[usize]) -> Result<(), EngineError> {
        self.check(from)?;
        let mut drives = snapshot::Drives::default();
        drives.take_from(&self.contacts[from]);
        for &k in to {
            self.check(k)?;
            self.fits(k, self.pairs[from], self.contacts[from].model.kind())?;
            if self.contacts[k].body.free().is_some() != self.contacts[from].body.free().is_some() {
                return Err(self.other_body(k));
            }
            if self.contacts[k].inputs.surface.is_some() != self.contacts[from].inputs.surface.is_some() {
                return Err(self.other_surface(k));
            }
            let cells =
                |k: usize| self.contacts[k].patch.takes_frames().then(|| self.contacts[k].patch.weights().len());
            if cells(k) != cells(from) {
                return Err(self.other_patch(k));
            }
            if !drives.fit_parts(&self.contacts[k]) {
                return Err(self.other_inputs_of_parts(k));
            }
        }
        let state = self.stepper.state(from).wait()?;
        to.iter().try_for_each(|k| self.fits_map(*k, &state))?;
        for &k in to.iter().filter(|k| **k != from) {
            self.starts[k].keep_all(&self.contacts[k]);
            drives.give_to(&mut self.contacts[k]);
            self.clocks[k] = self.clocks[from];
            self.is_read = false;
            self.stepper.restore(k, &self.contacts[k], &state).wait()?;
        }
        Ok(())
    }

    /// A state of a prescribed motion for a free body, or the other way round.
    fn other_body(&self, contact: usize) -> EngineError {
        let named = |free: bool| if free { "a free body" } else { "a prescribed motion" };
        let free = self.contacts[contact].body.free().is_some();
        let error = ParameterError::new("state", named(!free), format!("{}, as the contact has", named(free)));
        EngineError::Parameter { contact, error }
    }

    /// A state on a surface that moves for a contact whose surface is at rest, or the other way round.
    fn other_surface(&self, contact: usize) -> EngineError {
        let named = |moves: bool| if moves { "on a surface that moves" } else { "on a surface at rest" };
        let moves = self.contacts[contact].inputs.surface.is_some();
        let error = ParameterError::new("state", named(!moves), format!("one {}, as the contact is", named(moves)));
        EngineError::Parameter { contact, error }
    }

    /// A state of patches with other inputs of their own than those of the contact have.
    fn other_inputs_of_parts(&self, contact: usize) -> EngineError {
        let accepted = if self.contacts[contact].drives_parts() {
            "one of patches with the same inputs of their own"
        } else {
            "one of patches without"
        };
        let error = ParameterError::new("state", "of patches with other inputs of their own", accepted);
        EngineError::Parameter { contact, error }
    }

    /// A state on pressure frames for a patch that takes none, of another size, or the other way round.
    fn other_patch(&self, contact: usize) -> EngineError {
        let patch = &self.contacts[contact].patch;
        let (found, accepted) = if patch.takes_frames() {
            ("one without frames or of other frames", format!("one with frames of {} cells", patch.weights().len()))
        } else {
            ("one with pressure frames", "one without: the patch takes none".to_owned())
        };
        EngineError::Parameter { contact, error: ParameterError::new("state", found, accepted) }
    }

    /// Refuses a state on a map that contact `k` does not have, or without one, if it or the contact follows
    /// recorded frames.
    fn fits_map(&self, k: usize, state: &State) -> Result<(), EngineError> {
        if let Some(layer) = self.contacts[k].layer() {
            let (found, own) = (state.inputs[slot::F_N], layer.reference());
            let accepted = format!("one under {own} N, as the contact has");
            let error = ParameterError::new("state", format!("a layer under a reference force of {found} N"), accepted);
            if !((found - own).abs() <= 1e-5 * own) {
                return Err(EngineError::Parameter { contact: k, error });
            }
        }
        let maps = self.contacts[k].patch.sequence().map(|sequence| sequence.map_count());
        let found = match state.mapped {
            Some(MapKey::Frame(map)) if maps.is_some_and(|maps| (map as usize) < maps) => return Ok(()),
            Some(MapKey::Frame(map)) => format!("one on map {map} of a sequence"),
            _ if maps.is_none() => return Ok(()),
            _ => "one that follows no sequence".to_owned(),
        };
        let accepted = maps.map_or("one without frames".to_owned(), |maps| format!("one on a sequence of {maps} maps"));
        Err(EngineError::Parameter { contact: k, error: ParameterError::new("state", found, accepted) })
    }

    /// Refuses a state of another model or another number of cells than contact `k` has.
    fn fits(&self, k: usize, pairs: usize, kind: ModelKind) -> Result<(), EngineError> {
        let own = (self.pairs[k], self.contacts[k].model.kind());
        if own == (pairs, kind) {
            return Ok(());
        }
        let named = |(pairs, kind): (usize, ModelKind)| match kind {
            ModelKind::Grid => format!("a grid of {pairs} cells with pressure"),
            ModelKind::Layer => format!("an elastic layer of {pairs} cells that are pressed"),
            ModelKind::Reduced => "a reduced bristle".to_owned(),
            ModelKind::Point(law) => format!("a point contact of the law {} in {pairs} pairs", law.name()),
        };
        let error = ParameterError::new("state", named((pairs, kind)), format!("{}, as the contact has", named(own)));
        Err(EngineError::Parameter { contact: k, error })
    }

    /// Everything that the contacts take along: [`Batch::restore`] goes on from it with the same bits. The
    /// batch is not changed.
    ///
    /// # Errors
    /// A device that fails, or too little memory.
    pub fn save(&mut self) -> Result<Snapshot, EngineError> {
        let mut snapshot = Snapshot::default();
        self.save_into(&mut snapshot)?;
        Ok(snapshot)
    }

    /// [`Batch::save`] in place of what is in `snapshot`, in its memory.
    ///
    /// # Errors
    /// As [`Batch::save`].
    pub fn save_into(&mut self, snapshot: &mut Snapshot) -> Result<(), EngineError> {
        self.begin_save(snapshot)?;
        self.stepper.save(&mut snapshot.states).wait()?;
        self.end_save(snapshot);
        Ok(())
    }

    /// Makes space for the states of all contacts.
    fn begin_save(&self, snapshot: &mut Snapshot) -> Result<(), EngineError> {
        self.stepper.check()?;
        let pairs: usize = self.pairs.iter().sum();
        // What the snapshot has already is its own.
        let has: usize = snapshot.states.iter().map(|state| state.bristles.len()).sum();
        if snapshot.states.len() < self.len() || has < pairs {
            needs::check_snapshot(&self.contacts, pairs)?;
        }
        snapshot.engine.clear();
        snapshot.engine.push_str(&self.signature());
        snapshot.states.resize_with(self.len(), State::default);
        Ok(())
    }

    /// Writes what is not the state of an engine.
    fn end_save(&self, snapshot: &mut Snapshot) {
        snapshot.clocks.clone_from(&self.clocks);
        snapshot.kinds.clear();
        snapshot.kinds.extend(self.contacts.iter().map(|c| c.model.kind()));
        snapshot.inputs.resize_with(self.len(), Default::default);
        snapshot.inputs.iter_mut().zip(&self.contacts).for_each(|(to, contact)| to.take_from(contact));
    }

    /// Puts all contacts to what they were at [`Batch::save`], of this batch or of another with the same
    /// contacts. On the engine that saved it they go on with the same bits; on another, within its rounding.
    ///
    /// # Errors
    /// Another number of contacts, or a contact of another model or another number of cells, before any is
    /// changed; or a device that fails.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), EngineError> {
        self.check_restore(snapshot)?;
        (0..self.len()).try_for_each(|k| {
            let state = self.give(k, snapshot);
            self.stepper.restore(k, &self.contacts[k], &state).wait()
        })
    }

    /// Refuses a snapshot of other contacts.
    fn check_restore(&self, snapshot: &Snapshot) -> Result<(), EngineError> {
        self.stepper.check()?;
        if snapshot.len() != self.len() {
            let found = format!("{} contacts", snapshot.len());
            return Err(ParameterError::new("snapshot", found, format!("{}, as the batch has", self.len())).into());
        }
        for (k, state) in snapshot.states.iter().enumerate() {
            self.fits(k, state.bristles.len(), snapshot.kinds[k])?;
            if !snapshot.inputs[k].fit_body(&self.contacts[k]) {
                return Err(self.other_body(k));
            }
            if !snapshot.inputs[k].fit_surface(&self.contacts[k]) {
                return Err(self.other_surface(k));
            }
            let drives = self.contacts[k].drives_parts();
            let is_whole = state.of_parts.len() == self.contacts[k].inputs.patches.len();
            if !snapshot.inputs[k].fit_parts(&self.contacts[k]) || !is_whole || drives && state.pending.is_some() {
                return Err(self.other_inputs_of_parts(k));
            }
            if !snapshot.inputs[k].fit_frame(&self.contacts[k]) {
                return Err(self.other_patch(k));
            }
            self.fits_map(k, state)?;
        }
        Ok(())
    }

    /// Gives contact `k` the time and the inputs that it had in a snapshot, and returns the state that the
    /// engine has to give it: all of it if this engine saved it.
    fn give<'s>(&mut self, k: usize, snapshot: &'s Snapshot) -> Cow<'s, State> {
        self.starts[k].keep_all(&self.contacts[k]);
        snapshot.inputs[k].give_to(&mut self.contacts[k]);
        self.clocks[k] = snapshot.clocks[k];
        self.is_read = false;
        let (contact, state) = (&self.contacts[k], &snapshot.states[k]);
        if snapshot.engine == self.signature() {
            return Cow::Borrowed(state);
        }
        Cow::Owned(snapshot::plain(contact, state))
    }

    /// What has to be the same for the same bits.
    fn signature(&self) -> String {
        let EngineInfo { engine, precision, adapter, driver, shape } = &self.info;
        format!("{engine} {precision} {adapter} {driver} {shape}")
    }
}

#[cfg(test)]
mod tests;
