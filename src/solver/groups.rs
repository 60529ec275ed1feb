//! The cells of a pass as a structure of arrays. A group has as many cells as the number type has lanes.

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
