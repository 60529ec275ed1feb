//! Friction by direction, `docs/model.md` (20c) to (20e): bristles are isotropic, under the twist `(A v, w)`
//! and with places multiplied by `cof(A)`, and their force is multiplied by `A`. Twin:
//! `shaders/directed.wgsl`.
//!
//! Only here: `none`, `set`, `with_axes`.

use super::bristles::{Bits, Bristles};
use super::lanes::{Solver, set_bit};
use super::linalg::{Mat3, Vec3};
use crate::number::real::Real;
use crate::number::simd::copies;
use crate::patch::FrictionAxes;

/// The matrix `A` in every lane; the unit matrix without axes of friction.
pub(super) struct Directions<R> {
    /// Lanes with axes of friction.
    pub(super) lanes: Bits,
    /// Entries xx, xy and yy [-].
    matrix: [R; 3],
    /// One over the determinant [-].
    inverse: R,
    /// The greater of the eigenvalues [-].
    pub(super) most: R,
}

impl<R: Real> Directions<R> {
    pub(super) fn none() -> Self {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        Self { lanes: 0, matrix: [one, zero, one], inverse: one, most: one }
    }

    /// Replaces the axes of a lane.
    pub(super) fn set(&mut self, l: usize, axes: Option<&FrictionAxes>) {
        set_bit(&mut self.lanes, l, axes.is_some());
        let (matrix, across) = axes.map_or(([1.0, 0.0, 1.0], 1.0), |axes| (axes.matrix(), axes.across()));
        self.matrix.iter_mut().zip(matrix).for_each(|(to, from)| to.set(l, from));
        self.inverse.set(l, 1.0 / across);
        self.most.set(l, across.max(1.0));
    }

    /// `(A v, w)`: of a twist of the patch that of the bristles, and of a wrench of the bristles that of the
    /// patch.
    #[inline(always)]
    pub(super) fn apply(&self, v: Vec3<R>) -> Vec3<R> {
        let [xx, xy, yy] = self.matrix;
        Vec3::new(xx.fma(v.x, xy * v.y), xy.fma(v.x, yy * v.y), v.z)
    }

    /// The place of a bristle at a place of the isotropic patch.
    #[inline(always)]
    fn patch_place(&self, at: [R; 2]) -> [R; 2] {
        let v = self.apply(Vec3::new(at[0], at[1], R::splat(0.0)));
        [self.inverse * v.x, self.inverse * v.y]
    }
}

impl<R: Real, B: Bristles<R>> Solver<R, B> {
    /// Of a twist of the patch that of the bristles, and of a wrench of the bristles that of the patch, both
    /// at the same point.
    #[inline(always)]
    pub(super) fn directed(&self, mut v: Vec3<R>) -> Vec3<R> {
        // Changed in its place, here and below: without axes nothing is copied.
        if self.directions.lanes != 0 {
            v = self.directions.apply(v);
        }
        v
    }

    /// The wrench of the patch of a wrench of the bristles, and its derivative over the patch's twist of that
    /// over the bristles'.
    #[inline(always)]
    pub(super) fn patch_wrench(&self, mut sums: (Vec3<R>, Mat3<R>)) -> (Vec3<R>, Mat3<R>) {
        if self.directions.lanes != 0 {
            sums = with_axes(&self.directions, sums);
        }
        sums
    }

    /// The point of the patch that twists and wrenches of the bristles refer to [m].
    #[inline(always)]
    pub(super) fn patch_point(&self) -> [R; 2] {
        let mut point = self.bristles.reference_point();
        if self.directions.lanes != 0 {
            point = self.directions.patch_place(point);
        }
        point
    }
}

copies! {
    /// [`Solver::patch_wrench`] where some lanes have axes; apart, so that all models share what is compiled.
    fn with_axes<R>(directions: &Directions<R>, sums: (Vec3<R>, Mat3<R>)) -> (Vec3<R>, Mat3<R>) {
        let (resist, Mat3 { x, y, z }) = sums;
        let [x, y, z] = [directions.apply(x), directions.apply(y), directions.apply(z)];
        let a = directions.apply(Vec3::new(x.x, y.x, z.x));
        let b = directions.apply(Vec3::new(x.y, y.y, z.y));
        let c = directions.apply(Vec3::new(x.z, y.z, z.z));
        let rows = Mat3::new(Vec3::new(a.x, b.x, c.x), Vec3::new(a.y, b.y, c.y), Vec3::new(a.z, b.z, c.z));
        (directions.apply(resist), rows)
    }
}
