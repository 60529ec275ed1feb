//! The transform from the twist of a body to the twist of its patch, for a contact in each lane:
//! [`crate::body::Transform`] over the number type. Twin: `shaders/transform.wgsl`.
//!
//! Only here: `row`, `column`.

use super::linalg::{Mat3, Vec3};
use crate::number::real::Real;

/// Maps from a body's twist to the patch's; [`body::Transform`] in lanes.
#[derive(Clone, Copy, Debug)]
pub struct Transform<R> {
    /// Cosine of the grid's orientation.
    pub cos: R,
    /// Sine of the grid's orientation.
    pub sin: R,
    /// Patch origin from the centre of mass, in the patch frame [m].
    pub o: [R; 2],
}

impl<R: Real> Transform<R> {
    /// Twist at the patch origin in the patch frame, of a body's twist at its centre of mass in the world.
    #[inline(always)]
    pub fn twist(&self, u: Vec3<R>) -> Vec3<R> {
        at(Vec3::new(self.cos.fma(u.x, self.sin * u.y), self.cos.fma(u.y, -(self.sin * u.x)), u.z), self.o)
    }

    /// The inverse of [`Transform::twist`].
    #[inline(always)]
    pub fn body_twist(&self, patch: Vec3<R>) -> Vec3<R> {
        let v = at(patch, [-self.o[0], -self.o[1]]);
        Vec3::new(self.cos.fma(v.x, -(self.sin * v.y)), self.sin.fma(v.x, self.cos * v.y), v.z)
    }

    /// The wrench at the centre of mass of one at `o + c`, both as they act on the body.
    #[inline(always)]
    pub fn wrench(&self, w: Vec3<R>, c: [R; 2]) -> Vec3<R> {
        let (px, py) = (self.o[0] + c[0], self.o[1] + c[1]);
        let tau = px.fma(w.y, (-py).fma(w.x, w.z));
        Vec3::new(self.cos.fma(w.x, -(self.sin * w.y)), self.sin.fma(w.x, self.cos * w.y), tau)
    }

    /// The gain over the body's twist of one over the twist at `o + c`.
    #[inline(always)]
    pub fn gain(&self, m: &Mat3<R>, c: [R; 2]) -> Mat3<R> {
        let (x, y, z) = (self.row(m.x, c), self.row(m.y, c), self.row(m.z, c));
        // The same for the columns.
        let (x0, x1, x2) = self.column(x.x, y.x, z.x, c);
        let (y0, y1, y2) = self.column(x.y, y.y, z.y, c);
        let (z0, z1, z2) = self.column(x.z, y.z, z.z, c);
        Mat3::new(Vec3::new(x0, y0, z0), Vec3::new(x1, y1, z1), Vec3::new(x2, y2, z2))
    }

    #[inline(always)]
    fn row(&self, w: Vec3<R>, c: [R; 2]) -> Vec3<R> {
        self.wrench(w, c)
    }

    #[inline(always)]
    fn column(&self, x: R, y: R, z: R, c: [R; 2]) -> (R, R, R) {
        let w = self.wrench(Vec3::new(x, y, z), c);
        (w.x, w.y, w.z)
    }
}

/// The motion of the point `p` from the reference point.
#[inline(always)]
pub fn at<R: Real>(v: Vec3<R>, p: [R; 2]) -> Vec3<R> {
    Vec3::new((-v.z).fma(p[1], v.x), v.z.fma(p[0], v.y), v.z)
}
