//! Limit surfaces: the wrench of a patch in steady sliding as a function of the direction of its twist.
//!
//! This folder has the surface of one patch, with its table, slip margins, gradients and fits. `quadrature`
//! has the sums over cells from which surfaces are made, and `batch` the tables of many maps on one grid.
//!
//! Equation numbers are those of Waltersson & Karayiannidis, *Planar Friction Modelling with LuGre Dynamics
//! and Limit Surfaces*.

mod batch;
mod compound;
mod directions;
mod fit;
mod gradient;
mod margin;
mod nodes;
mod quadrature;
mod radius_basis;
mod surface;
mod symmetry;
mod table;

pub use batch::Basis;
pub use fit::{Ellipsoid, FitError, Quartic};
pub use gradient::{MarginGradient, ReferencePoint, WrenchGradient};
pub use margin::Margin;
pub use nodes::MAX_N_LS;
#[cfg(feature = "gpu")]
pub(crate) use quadrature::AT_REST_ON_GPU;
pub use quadrature::Rule;
#[cfg(feature = "gpu")]
pub(crate) use quadrature::{CellSeries, ORDERS};
pub use surface::Surface;
pub use symmetry::Symmetry;
pub use table::{DEFAULT_N_LS, LookUp, Passivity, Table};
