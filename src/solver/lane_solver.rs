//! What steps the contacts in its lanes from one call to the next: the solver of bristles, and that of point
//! contacts.

use super::bristles::{Bits, Shares};
use super::respond::Response;
use super::state::State;
use super::step::Events;
use crate::contact::Contact;
use crate::plan::Status;
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::{Interval, MapKey, slot};

/// Contacts in lanes, one in each.
pub trait LaneSolver {
    /// Puts a contact at its start into a lane, to be stepped by at most `step` [s]; `active` are the cells
    /// of a grid that carry pressure at some time.
    fn load(&mut self, l: usize, contact: &Contact, step: f64, active: &[usize]);
    /// Lets a lane take `steps` more steps.
    fn allow(&mut self, l: usize, steps: u64);
    /// Makes a pressure map anew at the start of `interval`, if the interval says so.
    fn remap(&mut self, l: usize, contact: &Contact, interval: &Interval);
    /// Follows the map that the contact's patch now has, under `mu_c`; no stage is pending if that must be.
    fn set_map(&mut self, l: usize, contact: &Contact, mu_c: f64);
    /// Whether a pending stage must be committed before the map changes.
    fn commits_before_remap(&self) -> bool;
    /// Whether a lane must commit a pending stage before its map is made anew for `key`.
    fn must_flush_before(&self, l: usize, key: MapKey) -> bool;
    /// Lets a lane step through an interval, from its start.
    fn start_interval(&mut self, l: usize, interval: &Interval);
    /// Whether a lane has a stage that is solved but not committed.
    fn is_pending(&self, l: usize) -> bool;
    /// Lets the next pass commit the pending stage of a lane and do nothing else for it.
    fn flush(&mut self, l: usize);
    /// Leaves the pass of a [`LaneSolver::flush`] out of the count of a lane.
    fn forget_pass(&mut self, l: usize);
    /// The lanes that take part in a pass.
    fn running(&self) -> Bits;
    /// One pass over all lanes that run.
    fn pass(&mut self) -> Events;
    /// Pose, twist, friction wrench and shares of bristles in a lane at inputs `v`; no stage is pending.
    fn sample(&mut self, l: usize, contact: &Contact, v: &[f64; slot::COUNT]) -> (Pose, Twist, Wrench, Shares);
    /// The friction wrench if the patch moved with `twist` for `dt` [s] under inputs `v`; no stage is
    /// pending. `pairs` is memory.
    fn respond(
        &mut self,
        l: usize,
        contact: &Contact,
        motion: (Twist, f64),
        v: &[f64; slot::COUNT],
        pairs: &mut Vec<[f64; 2]>,
    ) -> Response;
    /// The counts of a lane's status.
    fn status(&self, l: usize) -> Status;
    /// Empties a lane.
    fn clear(&mut self, l: usize);
    /// The states `zeta` [-] of a lane.
    fn states(&self, l: usize) -> Vec<[f64; 2]>;
    /// Number of pairs that [`LaneSolver::export`] writes.
    fn pairs(&self, l: usize) -> usize;
    /// The state of a lane without its inputs; what else it has is written to `pairs`.
    fn export(&self, l: usize, pairs: &mut [[f64; 2]]) -> State;
    /// Sets a lane to what [`LaneSolver::export`] gave.
    fn import(&mut self, l: usize, contact: &Contact, state: &State, pairs: &[[f64; 2]]);
}
