//! What steps the contacts in its lanes from one call to the next: the solver of patches
//! ([`Solver`](super::lanes::Solver)), and that of point contacts ([`Points`](super::point::lanes::Points)).

use super::bristles::{Bits, Shares};
use super::respond::Response;
use super::state::State;
use super::step::Events;
use crate::contact::Contact;
use crate::plan::Status;
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::{Interval, MapKey, slot};

/// Contacts in lanes, one in each. Only patches need the methods with a default; point contacts keep that.
pub trait LaneSolver {
    /// Number of lanes.
    const LANES: usize;
    /// Scratch arrays of a pass that solvers share if they step one after the other.
    type Scratch: Default + Send;

    /// Puts a contact at its start into a lane, to be stepped by at most `step` [s]; `active` are the cells
    /// of a grid that carry pressure at some time.
    fn load(&mut self, l: usize, contact: &Contact, step: f64, active: &[usize]);
    /// Lets a lane take `steps` more steps.
    fn allow(&mut self, l: usize, steps: u64);
    /// Lets a lane step through an interval, from its start.
    fn start_interval(&mut self, l: usize, interval: &Interval);
    /// The lanes that take part in a pass.
    fn running(&self) -> Bits;
    /// One pass over all lanes that run.
    fn pass(&mut self) -> Events;
    /// Pose, twist, friction wrench and shares of bristles in a lane at inputs `v`; no stage is pending.
    fn sample(&mut self, l: usize, contact: &Contact, v: &[f64; slot::COUNT]) -> (Pose, Twist, Wrench, Shares);
    /// The friction wrench if the patch moved with `twist` for `dt` [s] under inputs `v`; no stage is
    /// pending.
    fn respond(&mut self, l: usize, contact: &Contact, twist: Twist, dt: f64, v: &[f64; slot::COUNT]) -> Response;
    /// The counts of a lane's status.
    fn status(&self, l: usize) -> Status;
    /// Empties a lane.
    fn clear(&mut self, l: usize);
    /// The states `zeta` [-] of a lane, as [`crate::Bristles::States`] has them.
    fn states(&self, l: usize) -> Vec<[f64; 2]>;
    /// Writes the state of a lane between two steps, without its inputs, in place of what is in `state`.
    fn export(&self, l: usize, state: &mut State);
    /// Sets the contact in a lane to what [`LaneSolver::export`] wrote.
    fn import(&mut self, l: usize, contact: &Contact, state: &State);

    /// Changes to the map that `interval` asks for at its start, unless it is the present one; the bristles
    /// are kept.
    fn remap(&mut self, l: usize, contact: &Contact, interval: &Interval) {
        let _ = (l, contact, interval);
    }
    /// Follows the map that the contact's patch now has, under `mu_c`. The caller has had a pending stage
    /// written back where [`LaneSolver::must_flush_before`] says so.
    fn set_map(&mut self, l: usize, contact: &Contact, mu_c: f64) {
        let _ = (l, contact, mu_c);
    }
    /// What the present map was made for; none for the first one.
    fn mapped(&self, l: usize) -> Option<MapKey> {
        let _ = l;
        None
    }
    /// Takes over the inputs of several patches for what is asked of the present state; no stage is pending.
    fn take_parts(&mut self, l: usize, contact: &Contact, of_parts: &[[f64; slot::OF_PART]]) {
        let _ = (l, contact, of_parts);
    }
    /// Whether a pending stage must be written back before the map changes: to the map of `key`, if given.
    fn must_flush_before(&self, l: usize, key: Option<MapKey>) -> bool {
        let _ = (l, key);
        false
    }
    /// Whether a lane has a stage that is solved but not written back to its bristles yet.
    fn is_pending(&self, l: usize) -> bool {
        let _ = l;
        false
    }
    /// Lets the next pass write the pending stage of a lane back and do nothing else for it.
    fn flush(&mut self, l: usize) {
        let _ = l;
    }
    /// Leaves the pass of a [`LaneSolver::flush`] out of the count of a lane.
    fn forget_pass(&mut self, l: usize) {
        let _ = l;
    }
    /// Exchanges its scratch arrays for others.
    fn exchange_scratch(&mut self, other: &mut Self::Scratch) {
        let _ = other;
    }
    /// Shares what cells have in common with those of `other`.
    fn share(&mut self, other: &Self) {
        let _ = other;
    }
    /// Brings what the next pass needs into the caches.
    fn prefetch(&self) {}
}
