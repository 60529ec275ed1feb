//! What a contact takes along from one step to the next, as numbers: for a snapshot, a copy, another engine.

use crate::number::real::LANES;
use crate::schedule::slot;

/// The state of one contact but for its bristles. All numbers are exact: an engine that takes back what it gave
/// goes on with the same bits.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct State {
    /// Twist [m/s, m/s, rad/s] and pose [m, m, rad] of the centre of mass, each with what rounding has cut off.
    pub u: [f64; 3],
    /// See [`State::u`].
    pub u_low: [f64; 3],
    /// See [`State::u`].
    pub q: [f64; 3],
    /// See [`State::u`].
    pub q_low: [f64; 3],
    /// The patch twist of the last solve [m/s, m/s, rad/s].
    pub patch_twist: [f64; 3],
    /// With a tolerance: the derivative by time of what the step control compares.
    pub rate: [f64; 3],
    /// With a tolerance: the step to try next [s].
    pub h_next: f64,
    /// The stage that is solved, but whose bristles have not moved yet, if there is one: the fields of `Stage`.
    pub pending: Option<[f64; 6]>,
    /// The normal force of the present map [N], if that follows the normal force.
    pub mapped: Option<f64>,
    /// The inputs at the end of the last interval, in the order of their slots.
    pub inputs: [f64; slot::COUNT],
    /// Steps taken.
    pub steps: u64,
    /// Passes over the bristles.
    pub passes: u64,
    /// Stages that had not converged.
    pub unconverged: u64,
    /// While all bristles of a grid are elastic and it moves as one rigid body: how far since its bristles were
    /// written down [-, -, 1/m], and the sums that go with it.
    pub rigid: Option<Rigid>,
    /// Passes until a grid looks whether it sticks, and for elastic cells.
    pub looks: [u32; 3],
    /// Bristles of the lanes beyond the last cell of a grid. They carry no pressure, but count where a grid asks how
    /// many of its cells are elastic.
    pub padding: [[f64; 2]; LANES - 1],
}

/// See [`State::rigid`].
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Rigid {
    /// How far all bases have moved [-, -, 1/m].
    pub shift: [f64; 3],
    /// `sum w E^T zeta` of the bases.
    pub force: [f64; 3],
}

impl Default for State {
    fn default() -> Self {
        Self {
            u: [0.0; 3],
            u_low: [0.0; 3],
            q: [0.0; 3],
            q_low: [0.0; 3],
            patch_twist: [0.0; 3],
            rate: [0.0; 3],
            h_next: super::constants::FRESH_STEP,
            pending: None,
            mapped: None,
            inputs: [0.0; slot::COUNT],
            steps: 0,
            passes: 0,
            unconverged: 0,
            rigid: None,
            looks: [0; 3],
            padding: [[0.0; 2]; LANES - 1],
        }
    }
}
