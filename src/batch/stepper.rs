//! What an engine does for the contacts that live on it.

use super::Sample;
use crate::contact::Contact;
use crate::engine::{Progress, Status, Trajectories};
use crate::error::EngineError;
use crate::planar::Twist;
use crate::schedule::{Span, slot};
use crate::solver::respond::Response;
use crate::solver::state::State;
use crate::wait::{Work, wait_for};

/// What an engine answers to a call: at once, or once a device has done its part. The engine does nothing for
/// a later answer before somebody waits for it.
#[must_use]
pub(crate) enum Answer<'a, T> {
    Now(Result<T, EngineError>),
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "the CPU answers at once"))]
    Later(Work<'a, T>),
}

impl<T> Answer<'_, T> {
    /// The answer, for which the thread waits.
    pub fn wait(self) -> Result<T, EngineError> {
        match self {
            Self::Now(answer) => answer,
            Self::Later(answer) => wait_for(answer),
        }
    }

    /// The answer, until which the thread does other work where it has any.
    pub async fn later(self) -> Result<T, EngineError> {
        match self {
            Self::Now(answer) => answer,
            Self::Later(answer) => answer.await,
        }
    }
}

/// What an engine does for a [`Batch`](super::Batch). `contact` is the index of a contact, and `of` is the
/// contact.
pub(crate) trait Stepper: Send {
    /// Refuses all calls once the device has failed.
    fn check(&self) -> Result<(), EngineError> {
        Ok(())
    }
    /// Whether [`Stepper::load`] can put `new` in the place of a contact, where `old` is, without any effect
    /// on the other contacts.
    fn takes(&self, contact: usize, old: &Contact, new: &Contact) -> bool;
    /// Puts a contact to its start.
    fn load<'a>(&'a mut self, contact: usize, of: &'a Contact) -> Answer<'a, ()>;
    /// Steps the contacts through their spans, those that have one.
    fn advance<'a>(&'a mut self, contacts: &'a [Contact], spans: &'a [Option<Span>]) -> Answer<'a, ()>;
    /// Steps all contacts through their spans, which have one start and one end, and writes samples to `out`,
    /// whose times [s] are this start, times between, and this end. `progress` is called with the number of
    /// contact-samples just finished, without the present ones. If it asks to stop, [`EngineError::Stopped`]
    /// is the answer, and the contacts have to be loaded.
    fn record<'a>(
        &'a mut self,
        contacts: &'a [Contact],
        spans: &'a [Option<Span>],
        progress: &'a Progress<'a>,
        out: &'a mut Trajectories,
    ) -> Answer<'a, ()>;
    /// The present samples, with the inputs at the end of the last span.
    fn samples<'a>(&'a mut self, contacts: &'a [Contact], out: &'a mut [Sample]) -> Answer<'a, ()>;
    /// Asks for the present samples without waiting. `true` if they are written to `out` at once.
    fn request<'a>(&'a mut self, contacts: &'a [Contact], out: &'a mut [Sample]) -> Answer<'a, bool> {
        Answer::Now(self.samples(contacts, out).wait().map(|()| true))
    }
    /// Writes the samples that were asked for last to `out`, if they are there; waits for them if it has to.
    fn requested<'a>(&'a mut self, waits: bool, out: &'a mut [Sample]) -> Answer<'a, bool> {
        let _ = (waits, out);
        Answer::Now(Ok(true))
    }
    /// The status of every contact.
    fn statuses<'a>(&'a mut self, out: &'a mut [Status]) -> Answer<'a, ()>;
    /// The states `zeta` [-] of the bristles of some of the contacts, after a pending stage is written back.
    fn bristles<'a>(&'a mut self, which: &'a [usize], contacts: &'a [Contact]) -> Answer<'a, Vec<Vec<[f64; 2]>>>;
    /// The friction that a patch twist over `dt` [s] would cause; none of a contact that failed.
    fn respond<'a>(
        &'a mut self,
        contact: usize,
        of: &'a Contact,
        twist: Twist,
        dt: f64,
    ) -> Answer<'a, Option<Response>>;
    /// Follows the map that the contact's patch now has, under `mu_c`; the bristles are kept.
    fn set_map<'a>(&'a mut self, contact: usize, of: &'a Contact, mu_c: f64) -> Answer<'a, ()>;
    /// Writes the states of all contacts in place of what is in `out`.
    fn save<'a>(&'a mut self, out: &'a mut [State]) -> Answer<'a, ()>;
    /// The inputs of a contact in its present sample, and those of each of several patches.
    fn inputs(&self, contact: usize) -> ([f64; slot::COUNT], Vec<[f64; slot::OF_PART]>);
    /// The state of one contact.
    fn state(&mut self, contact: usize) -> Answer<'_, State>;
    /// Sets a contact to a saved state.
    fn restore<'a>(&'a mut self, contact: usize, of: &'a Contact, state: &'a State) -> Answer<'a, ()>;
}
