//! The cells of an elastic layer, `docs/model.md` (20k): all bristles have one stiffness, and the pressure
//! limits how much each carries.

use super::Patch;

/// The factor of friction of a cell without pressure [-]: not zero, by which a step would divide.
pub(crate) const LIFTED: f64 = 1e-9;

impl Patch {
    /// The share of the reference force that cell `i` of a layer with so many `active` cells has [-]: all
    /// have the same, but for cells without pressure, which have none.
    pub(crate) fn layer_share(&self, i: usize, active: usize) -> f64 {
        if self.weights[i] > 0.0 && self.relative_force > 0.0 { 1.0 / active as f64 } else { 0.0 }
    }

    /// The factor of friction of cell `i` of a layer with so many `active` cells [-], (20k).
    pub(crate) fn layer_factor(&self, i: usize, active: usize) -> f64 {
        (self.weights[i] * active as f64 * self.relative_force).max(LIFTED)
    }
}
