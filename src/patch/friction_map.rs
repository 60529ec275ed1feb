//! Friction by region: a factor of the coefficients of friction in every cell of a patch, `docs/model.md`
//! (20a).

use std::borrow::Cow;
use std::sync::Arc;

use super::{Patch, PatchError};
use crate::error::ParameterError;
use crate::range::FRICTION_FACTOR;

/// The factors of all cells of a grid, bottom row first, and the least and the greatest of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FrictionMap {
    factors: Arc<[f64]>,
    range: [f64; 2],
}

impl Patch {
    /// The same patch, whose coefficients of friction `mu_c` and `mu_s` are multiplied by a factor of each
    /// cell, 1e-3 to 1e3, bottom row first: friction by region, `docs/model.md` (20a). The bristles are
    /// otherwise the same. The factors stay with the grid where the pressure follows the normal force or
    /// frames.
    ///
    /// ```
    /// use bristle::patch::{Grid, Patch};
    /// // Rubber on the left, polished steel on the right.
    /// let patch = Patch::from_pressure(Grid::new(2, 1, 0.02, 0.01)?, &[1.0, 1.0])?;
    /// let patch = patch.with_friction_map(&[1.0, 0.2])?;
    /// assert!((patch.mean_friction() - 0.6).abs() < 1e-15);
    /// # Ok::<(), bristle::error::PatchError>(())
    /// ```
    ///
    /// # Errors
    /// A wrong number of values, or one out of range.
    pub fn with_friction_map(self, factors: &[f64]) -> Result<Self, PatchError> {
        if factors.len() != self.grid.len() {
            let accepted = format!("{} for a grid of {} x {} cells", self.grid.len(), self.grid.nx, self.grid.ny);
            return Err(ParameterError::new("friction.map", format!("{} values", factors.len()), accepted).into());
        }
        factors.iter().try_for_each(|factor| FRICTION_FACTOR.check("friction.map", *factor))?;
        let range = factors.iter().fold([f64::INFINITY, 0.0], |[low, high], f| [f.min(low), f.max(high)]);
        Ok(Self { friction: Some(FrictionMap { factors: factors.into(), range }), ..self })
    }

    /// The factors of [`Patch::with_friction_map`], if there are.
    pub fn friction_map(&self) -> Option<&[f64]> {
        self.friction.as_ref().map(|map| &*map.factors)
    }

    /// The factor of cell `i` of the grid [-]; 1 without a friction map.
    pub fn friction_factor(&self, i: usize) -> f64 {
        self.friction.as_ref().map_or(1.0, |map| map.factors[i])
    }

    /// The greatest factor by which friction and its slope over the velocity are multiplied [-]: that of the
    /// friction map, times the square of the greater eigenvalue of the axes of friction; 1 without both.
    pub(crate) fn most_friction(&self) -> f64 {
        let by_direction = self.axes.map_or(1.0, |axes| axes.across().max(1.0).powi(2));
        by_direction * self.friction.as_ref().map_or(1.0, |map| map.range[1])
    }

    /// The address of the friction map, by which contacts that share it are known; 0 without one.
    #[cfg(feature = "gpu")]
    pub(crate) fn friction_address(&self) -> usize {
        self.friction.as_ref().map_or(0, |map| map.factors.as_ptr().addr())
    }

    /// Memory of the friction map \[byte\], and its address.
    pub(crate) fn friction_memory(&self) -> Option<(usize, usize)> {
        self.friction.as_ref().map(|map| (map.factors.as_ptr().addr(), size_of_val(&*map.factors)))
    }

    /// The mean of the factors over the pressure, `sum w f` [-], `docs/model.md` (20b); 1 without a friction
    /// map.
    pub fn mean_friction(&self) -> f64 {
        self.friction_map().map_or(1.0, |factors| self.weights.iter().zip(factors).map(|(w, f)| w * f).sum())
    }

    /// The patch without a friction map whose friction in steady sliding, under coefficients that are
    /// [`Patch::mean_friction`] times as large, is that of this patch, `docs/model.md` (20b): its pressure is
    /// the product of pressure and factor. Viscous friction and the stiffness of the bristles stay with the
    /// pressure, and differ.
    pub fn with_friction_in_pressure(&self) -> Self {
        let Some(factors) = self.friction_map() else { return self.clone() };
        let mean = self.mean_friction();
        let weights = self.weights.iter().zip(factors).map(|(w, f)| w * f / mean).collect();
        Self { axes: self.axes, ..Self::with_cells_at(self.grid, self.compound.clone(), self.oblique, weights) }
    }
}

/// The isotropic patches of `docs/model.md` (20d), with their friction maps in the pressure.
pub(crate) fn isotropic_in_pressure(patches: &[Patch]) -> Cow<'_, [Patch]> {
    if patches.iter().all(|patch| patch.friction.is_none() && patch.axes.is_none()) {
        return Cow::Borrowed(patches);
    }
    patches.iter().map(|patch| patch.isotropic().with_friction_in_pressure()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{Exponent, Grid, Hertz, Shape};

    fn half() -> Vec<f64> {
        (0..25).map(|i| if i % 5 < 2 { 0.5 } else { 1.25 }).collect()
    }

    #[test]
    fn factors_out_of_range_and_of_other_grids_are_refused() {
        let patch = Patch::shape(Grid::new(5, 5, 0.02, 0.02).unwrap(), Shape::Square).unwrap();
        for bad in [0.0, -1.0, 1e4, f64::NAN, f64::INFINITY] {
            let mut factors = half();
            factors[7] = bad;
            let error = patch.clone().with_friction_map(&factors).unwrap_err().to_string();
            assert!(error.starts_with("friction.map = "), "{error}");
        }
        let error = patch.with_friction_map(&[1.0; 24]).unwrap_err().to_string();
        assert_eq!(error, "friction.map = 24 values: expected 25 for a grid of 5 x 5 cells");
    }

    /// A patch that is changed in any way keeps the factors of its cells.
    #[test]
    fn the_factors_stay_with_the_grid() {
        let grid = Grid::new(5, 5, 0.02, 0.02).unwrap();
        let square = || Patch::shape(grid, Shape::Square).unwrap().with_friction_map(&half()).unwrap();
        let rule = Hertz { radius: 1.5, exponent: Exponent::Fixed(2.0) };
        let hertz = Patch::hertz(grid, rule, 1.0).unwrap().with_friction_map(&half()).unwrap();
        let mut replaced = square().with_frames();
        replaced.set_pressure(&[1.0; 25]).unwrap();
        let kept = [square().scaled(2.0, 3.0).unwrap(), hertz.under(7.0), square().with_frames(), replaced];
        for patch in kept {
            assert_eq!(patch.friction_map(), Some(&*half()));
        }
        assert_ne!(hertz.under(7.0).mean_friction(), hertz.mean_friction());
    }

    #[test]
    fn friction_moves_into_the_pressure() {
        let grid = Grid::new(2, 1, 0.02, 0.01).unwrap();
        let patch = Patch::from_pressure(grid, &[3.0, 1.0]).unwrap().with_friction_map(&[0.5, 2.0]).unwrap();
        assert!((patch.mean_friction() - 0.875).abs() < 1e-15);
        let moved = patch.with_friction_in_pressure();
        assert_eq!(moved.friction_map(), None);
        assert!((moved.weights()[0] - 1.5 / 3.5).abs() < 1e-15 && (moved.cop()[0] - 0.005 / 7.0).abs() < 1e-15);
        let without = Patch::from_pressure(grid, &[3.0, 1.0]).unwrap();
        assert_eq!((without.mean_friction(), without.with_friction_in_pressure()), (1.0, without.clone()));
    }
}
