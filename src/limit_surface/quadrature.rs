//! Coulomb wrenches of rotations as sums over the cells of a patch, by three rules.
//!
//! `points`, `bilinear` and `cells` are the rules, the last for parallelograms in `parallelograms`; `mesh`
//! sums over a patch for many centres of rotation at once. Near field: `antiderivative` has the integrals
//! over cells in closed form, and `near_field` uses them around a centre of rotation in single precision. Far
//! field: `cell_series` is the mean over one cell that is far from the centre of rotation, `multipole` the
//! sum over a patch that is far from it.

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
mod parallelograms;
mod points;
mod rotations;
mod rule;
mod single_precision;

pub use bilinear::Bilinear;
#[cfg(feature = "gpu")]
pub use cell_series::{CellSeries, ORDERS};
pub use cells::{Cells, completed};
pub use frame::{Frame, unit, unit_shape};
pub use mesh::Mesh;
pub use multipole::{Multipole, SMALLEST_TERM};
pub use one_cell::OneCell;
pub use parallelograms::Parallelograms;
#[cfg(feature = "gpu")]
pub use points::AT_REST_ON_GPU;
pub use points::Points;
pub use rotations::Rotations;
pub use rule::Rule;
pub use single_precision::SinglePrecision;
