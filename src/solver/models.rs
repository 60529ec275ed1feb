//! Models of a patch: a bristle in every cell, or one bristle for all.

pub mod cells;
pub mod distributed;
pub mod grid;
pub mod grids;
pub mod parts;
pub mod reduced;
