//! The trait by which tables and margins use the sums over a patch.

use super::multipole::Multipole;
use super::rule::Rule;
use crate::patch::Patch;

/// What tables are made from: unit Coulomb wrenches `(fx, fy, tau)` [-, -, m] for rotations with w > 0 about
/// centres [m] from the centre of pressure, by a rule.
pub trait Rotations {
    /// The patch of the sums, with the same friction in all directions.
    fn isotropic(&self) -> &Patch;
    fn rule(&self) -> Rule;
    /// Whether the sums are in single precision.
    fn is_single(&self) -> bool;
    /// Torsional radius [m].
    fn radius(&self) -> f64;
    /// The wrench of the rotation about the centre of pressure.
    fn spin(&self) -> [f64; 3];
    /// Whether the wrench of the rotation about `c` is the mean of four nodes of the `bilinear` rule, and not
    /// the sum over the cells. It is where `c` is over the grid.
    fn is_mean_of_nodes(&self, c: [f64; 2]) -> bool;
    /// The multipole expansion of the sums for centres of rotation from the distance `closest` [m] on, and
    /// its unit of length [m].
    fn multipole(&self, closest: f64) -> Option<(Multipole, f64)>;
    /// The wrenches of many rotations.
    fn rotations(&self, centres: &[[f64; 2]]) -> Vec<[f64; 3]>;
}
