//! Limit surfaces: the wrench of a patch in steady sliding as a function of the direction of its twist.
//!
//! Equation numbers are those of Waltersson & Karayiannidis, *Planar Friction Modelling with LuGre Dynamics
//! and Limit Surfaces*.

mod arms;
mod basis;
mod bilinear;
mod cells;
mod centres;
mod far;
mod file;
mod fit;
mod folded;
mod lanes;
mod lattice;
mod moments;
mod newton;
mod points;
mod query;
mod rule;
mod sample;
mod single;
mod symmetry;
mod table;
mod vector;
mod window;
#[cfg(target_arch = "x86_64")]
mod zmm;

pub use basis::Basis;
pub(crate) use far::{Far, ORDERS};
pub use fit::{Ellipsoid, FitError, Quartic};
pub use query::Margin;
pub use rule::Rule;
pub use sample::Surface;
pub(crate) use symmetry::Symmetry;
pub use table::{DEFAULT_N_LS, LookUp, MAX_N_LS, Passivity, Table};
