//! The state of a contact between two steps, as numbers: for snapshots, for copies, and to continue on
//! another engine.
//!
//! Most of the state is the same on all engines. The rest serves only the engine that saved it: a stage that
//! is solved and not written back, and a grid that moves as one rigid body.

use crate::number::real::LANES;
use crate::plan::Reason;
use crate::schedule::{MapKey, slot};

/// The state of one contact. The numbers are exact: an engine that gets back a state that it gave continues
/// with the same bits.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct State {
    /// Twist [m/s, m/s, rad/s] and pose [m, m, rad] of the centre of mass as compensated sums, each with its
    /// low part.
    pub u: [f64; 3],
    /// See [`State::u`].
    pub u_low: [f64; 3],
    /// See [`State::u`].
    pub q: [f64; 3],
    /// See [`State::u`].
    pub q_low: [f64; 3],
    /// How far a moving hand has turned since the start [rad], with its low part.
    pub turn: [f64; 2],
    /// The patch twist of the last solve, relative to the surface [m/s, m/s, rad/s].
    pub patch_twist: [f64; 3],
    /// With a tolerance: the derivative by time of what the step control compares.
    pub rate: [f64; 3],
    /// With a tolerance: the step to try next [s].
    pub h_next: f64,
    /// The pending stage, which is solved but not committed to the bristles yet, if there is one: the fields
    /// of `Stage`.
    pub pending: Option<[f64; 6]>,
    /// What the present map was made for, if it follows the normal force or frames.
    pub mapped: Option<MapKey>,
    /// The inputs at the end of the last interval, in the order of their slots.
    pub inputs: [f64; slot::COUNT],
    /// Those of each of several patches with inputs of their own.
    pub of_parts: Vec<[f64; slot::OF_PART]>,
    /// Steps taken.
    pub steps: u64,
    /// Passes over the bristles.
    pub passes: u64,
    /// Stages that had not converged; of a point contact, steps with several roots.
    pub unconverged: u64,
    /// After how many steps the contact has failed, and why; none if it has not.
    pub failure: Option<(u64, Reason)>,
    /// The numbers of the bristles, in pairs: `zeta` [-] of the cells of a grid; of a reduced bristle
    /// `zeta_x zeta_y`, `zeta_3` and the low parts of all three, the residual of its map and its last root;
    /// of a point contact its friction [N], then of each element share and stiffness, `zeta`, low parts and
    /// memory.
    pub bristles: Vec<[f64; 2]>,
    /// Of a grid that moves as one rigid body because all its bristles are elastic: its displacement since
    /// its bristles were stored [-, -, 1/m], and the sum of their forces.
    pub rigid: Option<Rigid>,
    /// Passes until it is next checked whether a grid moves as one rigid body, passes from then until the
    /// check after that, and passes until elastic cells are separated again.
    pub checks: [u32; 3],
    /// Bristles of the lanes behind the last cell of a grid. They carry no pressure, but take part in the
    /// count of elastic cells, so that results depend on them to the last bit.
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
            turn: [0.0; 2],
            patch_twist: [0.0; 3],
            rate: [0.0; 3],
            h_next: super::constants::FRESH_STEP,
            pending: None,
            mapped: None,
            inputs: [0.0; slot::COUNT],
            of_parts: Vec::new(),
            steps: 0,
            passes: 0,
            unconverged: 0,
            failure: None,
            bristles: Vec::new(),
            rigid: None,
            checks: [0; 3],
            padding: [[0.0; 2]; LANES - 1],
        }
    }
}
