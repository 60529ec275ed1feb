//! Friction by direction: coefficients of friction along one axis of a patch and across it, `docs/model.md`
//! (20c) to (20e).

use std::borrow::Cow;
use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

use super::{Grid, Patch};
use crate::error::{ParameterError, check};
use crate::planar::{Twist, Wrench};
use crate::range::FRICTION_FACTOR;

/// The ellipse of friction of a patch: along one axis the coefficients `mu_c` and `mu_s`, across it `across`
/// times as much, with maximal dissipation in between.
///
/// With the symmetric matrix `A` that has the eigenvalues 1 along the axis and `across` across it, a bristle
/// under a velocity `v` is an isotropic bristle under `A v` whose force is multiplied by `A`, `docs/model.md`
/// (20c). All other parameters hold along the axis: across it stiffness and viscous friction are `across^2`
/// times as large, and the Stribeck velocity `1/across` times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrictionAxes {
    across: f64,
    angle: f64,
    /// `A`: its entries xx, xy and yy [-].
    matrix: [f64; 3],
}

impl FrictionAxes {
    /// Friction that is `across` [-] times as large across the axis as along it, 1e-3 to 1e3; the axis is at
    /// `angle` \[rad\] from x of the patch frame, counter-clockwise.
    ///
    /// # Errors
    /// A factor out of range, or an angle that is not finite.
    pub fn new(across: f64, angle: f64) -> Result<Self, ParameterError> {
        FRICTION_FACTOR.check("friction.mu.ratio", across)?;
        check("friction.mu.angle", angle, "a finite angle [rad]", true)?;
        let quarters = angle / FRAC_PI_2;
        // Along x or y the matrix is diagonal, without what rounding would leave beside the diagonal.
        let [sin, cos] = if (quarters - quarters.round()).abs() < 1e-9 {
            let odd = quarters.round().rem_euclid(2.0);
            [odd, 1.0 - odd]
        } else {
            [angle.sin(), angle.cos()]
        };
        let matrix = [cos * cos + across * sin * sin, (1.0 - across) * sin * cos, sin * sin + across * cos * cos];
        Ok(Self { across, angle, matrix })
    }

    /// Friction across the axis over friction along it [-].
    pub const fn across(&self) -> f64 {
        self.across
    }

    /// From x of the patch frame to the axis \[rad\].
    pub const fn angle(&self) -> f64 {
        self.angle
    }

    /// The matrix `A`: its entries xx, xy and yy [-].
    pub const fn matrix(&self) -> [f64; 3] {
        self.matrix
    }

    /// Whether the axes are those of the grid, so that (20d) turns rectangular cells into rectangular cells.
    pub const fn are_of_grid(&self) -> bool {
        self.matrix[1] == 0.0
    }

    /// The twist `(A v, w)` under which isotropic bristles move, at the same point.
    pub fn isotropic_twist(&self, v: Twist) -> Twist {
        let [vx, vy] = times(self.matrix, [v.vx, v.vy]);
        Twist::new(vx, vy, v.w)
    }

    /// The wrench `(A f, tau)` of a wrench of isotropic bristles, at the same point.
    pub fn wrench(&self, w: Wrench) -> Wrench {
        let [fx, fy] = times(self.matrix, [w.fx, w.fy]);
        Wrench::new(fx, fy, w.tau)
    }

    /// The inverse of [`FrictionAxes::isotropic_twist`].
    pub fn twist(&self, v: Twist) -> Twist {
        let [vx, vy] = times(self.inverse(), [v.vx, v.vy]);
        Twist::new(vx, vy, v.w)
    }

    /// The inverse of [`FrictionAxes::wrench`].
    pub fn isotropic_wrench(&self, w: Wrench) -> Wrench {
        let [fx, fy] = times(self.inverse(), [w.fx, w.fy]);
        Wrench::new(fx, fy, w.tau)
    }

    /// The place of the isotropic bristle for one at `at`, `docs/model.md` (20d): `cof(A)` times the place.
    pub fn isotropic_place(&self, at: [f64; 2]) -> [f64; 2] {
        times(self.cofactors(), at)
    }

    /// The inverse of `A`. Its determinant is the product of 1 and `across`.
    fn inverse(&self) -> [f64; 3] {
        self.cofactors().map(|a| a / self.across)
    }

    const fn cofactors(&self) -> [f64; 3] {
        let [xx, xy, yy] = self.matrix;
        [yy, -xy, xx]
    }
}

/// A symmetric matrix times a vector.
pub(super) const fn times([xx, xy, yy]: [f64; 3], [x, y]: [f64; 2]) -> [f64; 2] {
    [xx * x + xy * y, xy * x + yy * y]
}

impl Patch {
    /// The same patch, whose friction differs by direction.
    ///
    /// ```
    /// use bristle::limit_surface::{Rule, Surface};
    /// use bristle::patch::{FrictionAxes, Grid, Patch, Shape};
    /// use bristle::planar::Twist;
    /// // A belt that holds along its ribs, which are along x, and gives way along y.
    /// let square = Patch::shape(Grid::new(5, 5, 0.02, 0.02)?, Shape::Square)?;
    /// let belt = Surface::new(&square.with_friction_axes(FrictionAxes::new(0.1, 0.0)?), Rule::Cells);
    /// let along_y = belt.wrench(Twist::new(0.0, 1.0, 0.0), 0.5, 10.0);
    /// assert!((along_y.fy + 0.1 * 0.5 * 10.0).abs() < 1e-12);
    /// # Ok::<(), bristle::error::PatchError>(())
    /// ```
    #[must_use]
    pub fn with_friction_axes(self, axes: FrictionAxes) -> Self {
        Self { axes: (axes.across != 1.0).then_some(axes), ..self }
    }

    /// How friction differs by direction, if it does.
    pub const fn friction_axes(&self) -> Option<&FrictionAxes> {
        self.axes.as_ref()
    }

    /// The twist of the isotropic patch at a twist of this one, both at the same point.
    pub(crate) fn bristle_twist(&self, v: Twist) -> Twist {
        self.axes.map_or(v, |axes| axes.isotropic_twist(v))
    }

    /// The wrench of this patch at a wrench of the isotropic one, both at the same point.
    pub(crate) fn patch_wrench(&self, w: Wrench) -> Wrench {
        self.axes.map_or(w, |axes| axes.wrench(w))
    }

    /// The deflection of a bristle of this patch, of that of the isotropic one: the inverse of (20d).
    pub(crate) fn deflection(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let Some([xx, xy, yy]) = self.axes.map(|axes| axes.matrix()) else { return [x, y] };
        let det = xx * yy - xy * xy;
        [(yy * x - xy * y) / det, (xx * y - xy * x) / det]
    }

    /// The derivative of the wrench over the twist of this patch, at that of the isotropic one.
    pub(crate) fn patch_gain(&self, gain: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let of = |row: [f64; 3]| self.patch_wrench(Wrench::from(row)).to_array();
        let transpose = |m: [[f64; 3]; 3]| [0, 1, 2].map(|i| [0, 1, 2].map(|j| m[j][i]));
        transpose(transpose(gain.map(of)).map(of))
    }

    /// The isotropic patch of `docs/model.md` (20d): the wrench of this patch is that of the isotropic one
    /// under the [isotropic twist](FrictionAxes::isotropic_twist), times `A`. Its map does not change.
    pub(crate) fn isotropic(&self) -> Cow<'_, Self> {
        let Some(axes) = self.axes else { return Cow::Borrowed(self) };
        let weights = Arc::clone(&self.weights);
        let patch = if axes.are_of_grid() && self.compound.is_none() {
            let [dx, dy] = axes.isotropic_place([self.grid.dx, self.grid.dy]);
            Self::from_weights(Grid { dx, dy, ..self.grid }, weights)
        } else {
            Self::with_cells_at(self.grid, self.compound.clone(), Some(axes.cofactors()), weights)
        };
        Cow::Owned(Self { takes_frames: self.takes_frames, friction: self.friction.clone(), ..patch })
    }

    /// Whether all places are multiplied by a matrix: those of the isotropic patch of one that is compound,
    /// or whose axes of friction are not those of its grid.
    pub(crate) const fn is_oblique(&self) -> bool {
        self.oblique.is_some()
    }

    /// A place \[m\] of the grid on its cells as they are, which may be oblique.
    pub(crate) fn on_cells(&self, at: [f64; 2]) -> [f64; 2] {
        self.oblique.map_or(at, |matrix| times(matrix, at))
    }

    /// The area of a cell [m^2].
    pub(crate) fn cell_area(&self) -> f64 {
        let [xx, xy, yy] = self.oblique.unwrap_or([1.0, 0.0, 1.0]);
        self.grid.dx * self.grid.dy * (xx * yy - xy * xy)
    }

    /// Centres \[m\] of some cells.
    pub(crate) fn places(&self, cells: &[usize]) -> Vec<[f64; 2]> {
        if self.is_irregular() {
            return cells.iter().map(|i| self.place(*i)).collect();
        }
        let grid = &self.grid;
        cells.iter().map(|i| grid.centre(i % grid.nx, i / grid.nx)).collect()
    }

    /// Centre \[m\] of cell `i`.
    pub(crate) fn place(&self, i: usize) -> [f64; 2] {
        self.on_cells(self.centre_of(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::Shape;

    #[test]
    fn axes_out_of_range_are_refused() {
        for (across, angle) in [(0.0, 0.0), (-1.0, 0.0), (1e4, 0.0), (f64::NAN, 0.0), (0.5, f64::INFINITY)] {
            let error = FrictionAxes::new(across, angle).unwrap_err().to_string();
            assert!(error.starts_with("friction.mu."), "{error}");
        }
    }

    /// The maps are inverse to each other, and power is the same on both sides.
    #[test]
    fn power_is_that_of_the_isotropic_patch() {
        for angle in [0.0, FRAC_PI_2, -7.0 * FRAC_PI_2, 0.7, 2.0] {
            let axes = FrictionAxes::new(0.3, angle).unwrap();
            let (twist, wrench) = (Twist::new(0.3, -0.2, 1.5), Wrench::new(-2.0, 0.7, 0.4));
            let back = axes.twist(axes.isotropic_twist(twist));
            assert!((back.vx - twist.vx).abs() < 1e-15 && (back.vy - twist.vy).abs() < 1e-15);
            let power = axes.wrench(wrench).power(twist);
            assert!((power - wrench.power(axes.isotropic_twist(twist))).abs() < 1e-15);
            let same = axes.isotropic_wrench(axes.wrench(wrench));
            assert!((same.fx - wrench.fx).abs() < 1e-14 && (same.fy - wrench.fy).abs() < 1e-14);
            // The velocity of a place is that of the isotropic place.
            let at = [0.01, -0.02];
            let isotropic = axes.isotropic_place(at);
            let (moved, other) = (axes.isotropic_twist(twist.at(at)), axes.isotropic_twist(twist).at(isotropic));
            assert!((moved.vx - other.vx).abs() < 1e-15 && (moved.vy - other.vy).abs() < 1e-15);
        }
    }

    #[test]
    fn axes_along_the_grid_keep_cells_rectangular() {
        let patch = Patch::shape(Grid::new(4, 6, 0.02, 0.03).unwrap(), Shape::LineGradient).unwrap();
        for (angle, [kx, ky]) in [(0.0, [0.25, 1.0]), (FRAC_PI_2, [1.0, 0.25]), (-std::f64::consts::PI, [0.25, 1.0])] {
            let axes = FrictionAxes::new(0.25, angle).unwrap();
            let isotropic = patch.clone().with_friction_axes(axes).isotropic().into_owned();
            assert!(axes.are_of_grid() && !isotropic.is_oblique());
            assert_eq!(*isotropic.grid(), Grid { dx: kx * 0.005, dy: ky * 0.005, ..*patch.grid() });
        }
        // Axes that are almost those of the grid give almost the same patch.
        let near = FrictionAxes::new(0.25, 1e-6).unwrap();
        let oblique = patch.clone().with_friction_axes(near).isotropic().into_owned();
        let exact = patch.clone().with_friction_axes(FrictionAxes::new(0.25, 0.0).unwrap()).isotropic().into_owned();
        assert!(oblique.is_oblique());
        for (a, b) in [(oblique.radius(), exact.radius()), (oblique.arm2(), exact.arm2())] {
            assert!((a / b - 1.0).abs() < 1e-5);
        }
        assert_eq!(patch.clone().with_friction_axes(FrictionAxes::new(1.0, 0.4).unwrap()), patch);
    }
}
