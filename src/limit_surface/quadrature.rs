//! Coulomb wrenches of rotations as sums over the cells of a patch, by three rules.
//!
//! `points`, `bilinear` and `cells` are the rules; `mesh` sums over a patch for many centres of rotation at
//! once. Near field: `antiderivative` has the integrals over cells in closed form, and `near_field` uses them
//! around a centre of rotation in single precision. Far field: `cell_series` is the mean over one cell that
//! is far from the centre of rotation, `multipole` the whole patch from far away.

mod antiderivative;
mod bilinear;
mod cell_series;
mod cells;
mod frame;
mod mesh;
mod multipole;
mod near_field;
mod node_correlation;
mod one_cell;
mod points;
mod rule;
mod single_precision;

pub use bilinear::Bilinear;
pub use cell_series::{CellSeries, ORDERS};
pub use cells::Cells;
pub use frame::{Frame, unit, unit_shape};
pub use mesh::Mesh;
pub use multipole::{Multipole, SMALLEST_TERM};
pub use one_cell::OneCell;
pub use points::Points;
pub use rule::Rule;
pub use single_precision::SinglePrecision;

use crate::patch::Patch;

/// What tables are made from: unit Coulomb wrenches `(fx, fy, tau)` [-, -, m] for rotations with w > 0 about
/// centres [m] from the centre of pressure, by a rule.
pub trait Rotations {
    fn patch(&self) -> &Patch;
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
