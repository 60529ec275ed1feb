//! What an engine does for the contacts that live on it.

use super::Sample;
use crate::contact::Contact;
use crate::engine::{Progress, Status, Trajectories};
use crate::error::EngineError;
use crate::planar::Twist;
use crate::schedule::Span;
use crate::solver::respond::Response;
use crate::solver::state::State;

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
    fn load(&mut self, contact: usize, of: &Contact) -> Result<(), EngineError>;
    /// Steps the contacts through their spans, those that have one.
    fn advance(&mut self, contacts: &[Contact], spans: &[Option<Span>]) -> Result<(), EngineError>;
    /// Steps all contacts through their spans, which have one start and one end, and writes samples to `out`,
    /// whose times [s] are this start, times between, and this end. `progress` is called with the number of
    /// contact-samples just finished, without the present ones. If it asks to stop, [`EngineError::Stopped`]
    /// is the answer, and the contacts have to be loaded.
    fn record(
        &mut self,
        contacts: &[Contact],
        spans: &[Option<Span>],
        progress: &Progress<'_>,
        out: &mut Trajectories,
    ) -> Result<(), EngineError>;
    /// The present samples, with the inputs at the end of the last span.
    fn samples(&mut self, contacts: &[Contact], out: &mut [Sample]) -> Result<(), EngineError>;
    /// Asks for the present samples without waiting. `true` if they are written to `out` at once.
    fn request(&mut self, contacts: &[Contact], out: &mut [Sample]) -> Result<bool, EngineError> {
        self.samples(contacts, out).map(|()| true)
    }
    /// Writes the samples that were asked for last to `out`, if they are there; waits for them if it has to.
    fn requested(&mut self, waits: bool, out: &mut [Sample]) -> Result<bool, EngineError> {
        let _ = (waits, out);
        Ok(true)
    }
    /// The status of every contact.
    fn statuses(&mut self, out: &mut [Status]) -> Result<(), EngineError>;
    /// The states `zeta` [-] of the bristles of some of the contacts, after a pending stage is written back.
    fn bristles(&mut self, which: &[usize], contacts: &[Contact]) -> Result<Vec<Vec<[f64; 2]>>, EngineError>;
    /// The friction that a patch twist over `dt` [s] would cause; none of a contact that failed.
    fn respond(&mut self, contact: usize, of: &Contact, twist: Twist, dt: f64)
    -> Result<Option<Response>, EngineError>;
    /// Follows the map that the contact's patch now has, under `mu_c`; the bristles are kept.
    fn set_map(&mut self, contact: usize, of: &Contact, mu_c: f64) -> Result<(), EngineError>;
    /// Writes the states of all contacts in place of what is in `out`.
    fn save(&mut self, out: &mut [State]) -> Result<(), EngineError>;
    /// The state of one contact.
    fn state(&mut self, contact: usize) -> Result<State, EngineError>;
    /// Sets a contact to a saved state.
    fn restore(&mut self, contact: usize, of: &Contact, state: &State) -> Result<(), EngineError>;
}
