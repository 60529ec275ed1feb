//! Tables of many pressure maps on one grid.

mod basis;
mod parity_product;

pub use basis::Basis;
