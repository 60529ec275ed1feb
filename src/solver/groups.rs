//! Cells as a pass takes them: structure of arrays, as many cells in a group as the number type has lanes.

use crate::number::real::Real;

/// Groups of cells of a pass: centres [m], shares of the normal force [-] and bases [-].
#[derive(Debug)]
pub struct Groups<'a, R: Real> {
    /// Centres [m].
    pub x: &'a [R],
    /// Centres [m].
    pub y: &'a [R],
    /// Shares of the normal force [-].
    pub w: &'a [R],
    /// Bases [-].
    pub zx: &'a mut [R],
    /// Bases [-].
    pub zy: &'a mut [R],
}
