//! The interface between the step and the bristles of the contacts in its lanes, for every model of a patch.

use super::friction::Stage;
use super::linalg::{Mat3, Vec3};
use super::state::State;
use crate::contact::Contact;
use crate::number::real::Real;
use crate::patch::Patch;
use crate::planar::{Twist, Wrench};

/// A set of lanes, one bit for each.
pub type Bits = u32;

/// Largest angle [rad] by which a Newton step may turn the twist of a bristle on a limit surface and end a
/// stage: two or three cells of a table, beyond which the derivative at the guess is no longer that at the
/// result ([`Bristles::trust_radius`], `docs/model.md`, section 6.4).
pub const MAX_TURN: f64 = 0.2;
/// A Newton step smaller than this [m/s] may turn the twist by any angle.
pub const LEAST_TRUST_RADIUS: f64 = 3e-6;

/// Shares of the normal force on bristles in a sample [-].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// On bristles that slip faster than [`SLIP_SPEED`](crate::plan::SLIP_SPEED), `docs/model.md` (14a).
    pub slip: f64,
    /// On bristles near their limit: longer than the share `s_ba` of it, `docs/model.md` (14b).
    pub near_limit: f64,
}

/// Constants of a recorded wrench.
#[derive(Clone, Copy, Debug)]
pub struct Rate<R> {
    /// `sigma1` [s/m].
    pub sigma1: R,
    /// Coulomb coefficient [-].
    pub mu_c: R,
    /// `mu_s - mu_c` [-].
    pub mu_d: R,
}

/// What the bristles of one of several patches need of its own inputs.
#[derive(Clone, Copy, Debug)]
pub struct PartNow<R> {
    /// What is subtracted from the twist of the bristles.
    pub surface: Vec3<R>,
    /// Its share of the normal force [-].
    pub share: R,
}

/// The bristles of as many contacts as the number type of the step has lanes.
pub trait Bristles<R: Real> {
    /// Scratch arrays of a sweep that grids share if they are stepped one after the other.
    type Scratch: Default + Send;

    /// Whether [`super::respond::respond`] is compiled for several lanes: where a pass is short, as that of
    /// reduced bristles is, it takes less time than making a solver with one lane.
    const RESPONDS_IN_LANES: bool = false;

    /// Whether they may be those of several patches with inputs of their own.
    const TAKES_PARTS: bool = false;

    /// Puts the bristles of a contact at the start of its run into a lane; `active` are the cells of a grid
    /// that carry pressure at some time.
    fn load(&mut self, lane: usize, contact: &Contact, active: &[usize]);
    /// Empties a lane; the numbers in it stay finite from then on.
    fn clear(&mut self, lane: usize);
    /// The states `zeta` [-] of a lane, as [`crate::contact::Initial::bristles`] takes them.
    fn states(&self, lane: usize) -> Vec<[f64; 2]>;
    /// Writes all numbers from which the bristles of a lane can be continued to `state`, whose
    /// [`State::bristles`] is empty.
    fn export(&self, lane: usize, state: &mut State);
    /// Sets the bristles of a lane to what [`Bristles::export`] wrote.
    fn import(&mut self, lane: usize, state: &State);
    /// The friction wrench [N, N, N m] of a lane at the patch origin in the present state at patch twist `u`,
    /// and the shares of the normal force on bristles that slip, and on bristles near their limit.
    fn wrench(&mut self, lane: usize, u: Twist, rate: &Rate<f64>, f_n: f64) -> (Wrench, Shares);
    /// `L^2` [m^2] on the map of `patch`, which weighs angular against linear velocity; with axes of friction
    /// that of the isotropic patch.
    fn arm2(&self, patch: &Patch) -> f64;
    /// Takes over a new map of a lane; `mu` [-] are the Coulomb and the static coefficient at that time.
    fn remap(&mut self, lane: usize, patch: &Patch, mu: [f64; 2]);
    /// Whether a pending stage must be committed before the map changes, because it depends on the map.
    fn commits_before_remap(&self) -> bool;

    /// The points of the patches that twists and wrenches refer to [m].
    fn reference_point(&self) -> [R; 2];
    /// One pass at twists `v`: lanes of the first bits commit a stage, those of the second evaluate one, as
    /// the opposite of the friction wrench per unit normal force and its derivative over `v`. Other lanes
    /// keep their states; what is returned for them has no meaning.
    fn sweep(&mut self, v: Vec3<R>, commit: (&Stage<R>, Bits), next: (&Stage<R>, Bits)) -> (Vec3<R>, Mat3<R>);
    /// Whether the forces of the next sweeps need their derivatives, if the number type carries some; what
    /// the sweeps commit has them always.
    fn differentiate(&mut self, forces: bool) {
        let _ = forces;
    }
    /// Takes over the inputs of several patches, for the sweeps from now on.
    fn set_parts(&mut self, parts: &[PartNow<R>]) {
        let _ = parts;
    }
    /// Commits a stage at twists `v` and evaluates none, where patches have inputs of their own. It is not a
    /// [`Bristles::sweep`], which would be compiled once more for all bristles without such patches.
    fn commit_parts(&mut self, v: Vec3<R>, stage: &Stage<R>) {
        let _ = (v, stage);
    }
    /// Size [m/s] of a change of the twists `v` up to which the derivative of the force holds.
    fn trust_radius(&self, v: Vec3<R>) -> R;
    /// Load of a single bristle at its last evaluation, `|zeta*|` over its limit [-]; 0 for a grid, whose
    /// cells slip one after the other, so that no moment of break-away has to be resolved.
    fn loading(&self) -> R {
        R::splat(0.0)
    }
    /// Saves the states where the mask is set.
    fn save(&mut self, lanes: R::Mask);
    /// Restores the saved states where the mask is set.
    fn restore(&mut self, lanes: R::Mask);
    /// Exchanges the scratch arrays for others.
    fn exchange_scratch(&mut self, other: &mut Self::Scratch) {
        let _ = other;
    }
    /// Shares places and weights of cells with `other`, where they are the same.
    fn share(&mut self, other: &Self) {
        let _ = other;
    }
    /// Brings what the next sweep needs into the caches.
    fn prefetch(&self) {}
    /// How the force has changed since the states were saved: `sum w E^T (zeta - saved)` [-, -, m].
    fn force_change(&self) -> Vec3<R>;
}
