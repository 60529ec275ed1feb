//! What the step asks of the bristles of a contact, whatever its model.

use nalgebra::Vector3;

use super::distributed::{Rate, Sums};
use super::friction::Stage;
use crate::patch::Patch;
use crate::planar::{Twist, Wrench};

/// A Newton step is also as good as its derivative only if it turns the twist of a bristle on a limit surface
/// by less than this [rad], two or three cells of a table: [`Bristles::reach`], `docs/model.md`, section 6.4.
pub const STRAIGHT: f64 = 0.2;
/// A Newton step smaller than this [m/s] may turn it by any angle.
pub const LEAST_REACH: f64 = 3e-6;

/// The bristles of a contact, whatever its model and the numbers that it is computed in.
pub trait Bristles {
    /// One sweep at patch twist `u`: finishes the stage `finish`, answers for the stage `next`.
    fn sweep(&mut self, u: Twist, finish: Option<&Stage<f64>>, next: Option<&Stage<f64>>) -> Sums;
    /// The friction wrench [N, N, N m] at the patch origin in the present state, and the share of the normal
    /// force on slipping bristles.
    fn wrench(&self, u: Twist, rate: &Rate<f64>, f_n: f64) -> (Wrench, f64);
    /// Remembers the states.
    fn keep(&mut self);
    /// Goes back to the states that were kept.
    fn restore(&mut self);
    /// How far [m/s] around patch twist `u` the derivative of the force is good.
    fn reach(&self, _u: Twist) -> f64 {
        f64::INFINITY
    }
    /// How near a single bristle was to slipping when it last answered: `|zeta*|` over its limit [-]; 0 of a
    /// grid, whose cells slip one after the other.
    fn loading(&self) -> f64 {
        0.0
    }
    /// How far the force has moved since the states were kept: `sum w E^T (zeta - kept)` [-, -, m].
    fn moved(&self) -> Vector3<f64>;
    /// The states `zeta` [-], as [`crate::contact::Initial::bristles`] takes them.
    fn states(&self) -> Vec<[f64; 2]>;
    /// `L^2` [m^2], which weighs angular against linear velocity.
    fn arm2(&self, patch: &Patch) -> f64;
    /// Follows the map of `patch`, under `mu_c`.
    fn remap(&mut self, patch: &Patch, mu_c: f64);
    /// Whether a stage must be finished on the map that it was solved on.
    fn holds_map(&self) -> bool;
}
