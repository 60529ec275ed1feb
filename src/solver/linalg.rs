//! Vectors of three and 3 x 3 matrices over the number type.

use std::ops::{Add, Mul, Neg, Sub};

use crate::number::real::Real;

/// A vector of three.
#[derive(Clone, Copy, Debug)]
pub struct Vec3<R> {
    /// First component.
    pub x: R,
    /// Second component.
    pub y: R,
    /// Third component.
    pub z: R,
}

/// A matrix by its rows.
#[derive(Clone, Copy, Debug)]
pub struct Mat3<R> {
    /// First row.
    pub x: Vec3<R>,
    /// Second row.
    pub y: Vec3<R>,
    /// Third row.
    pub z: Vec3<R>,
}

impl<R: Real> Vec3<R> {
    /// From its components.
    #[inline(always)]
    pub fn new(x: R, y: R, z: R) -> Self {
        Self { x, y, z }
    }

    /// The zero vector.
    #[inline(always)]
    pub fn zero() -> Self {
        let zero = R::splat(0.0);
        Self::new(zero, zero, zero)
    }

    /// `self + by v`.
    #[inline(always)]
    pub fn plus(self, by: R, v: Self) -> Self {
        Self::new(by.fma(v.x, self.x), by.fma(v.y, self.y), by.fma(v.z, self.z))
    }

    /// Inner product.
    #[inline(always)]
    pub fn dot(self, v: Self) -> R {
        self.x.fma(v.x, self.y.fma(v.y, self.z * v.z))
    }

    /// Component by component.
    #[inline(always)]
    pub fn times(self, v: Self) -> Self {
        Self::new(self.x * v.x, self.y * v.y, self.z * v.z)
    }

    /// Length, and its inverse: large rather than infinite at 0.
    #[inline(always)]
    pub fn norm(self) -> (R, R) {
        let square = self.dot(self);
        let inverse = (square + R::splat(R::TINY)).rsqrt();
        (square * inverse, inverse)
    }

    /// `a` where the mask is set, else `b`.
    #[inline(always)]
    pub fn select(mask: R::Mask, a: Self, b: Self) -> Self {
        Self::new(R::select(mask, a.x, b.x), R::select(mask, a.y, b.y), R::select(mask, a.z, b.z))
    }

    /// The values alone.
    #[inline(always)]
    pub fn without_tangents(self) -> Self {
        Self::new(self.x.without_tangents(), self.y.without_tangents(), self.z.without_tangents())
    }

    /// The numbers of one lane.
    pub fn lane(self, lane: usize) -> [f64; 3] {
        [self.x.lane(lane), self.y.lane(lane), self.z.lane(lane)]
    }

    /// Replaces the numbers of one lane.
    pub fn set(&mut self, lane: usize, [x, y, z]: [f64; 3]) {
        self.x.set(lane, x);
        self.y.set(lane, y);
        self.z.set(lane, z);
    }
}

impl<R> From<[R; 3]> for Vec3<R> {
    #[inline(always)]
    fn from([x, y, z]: [R; 3]) -> Self {
        Self { x, y, z }
    }
}

impl<R: Real> Add for Vec3<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, v: Self) -> Self {
        Self::new(self.x + v.x, self.y + v.y, self.z + v.z)
    }
}

impl<R: Real> Sub for Vec3<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, v: Self) -> Self {
        Self::new(self.x - v.x, self.y - v.y, self.z - v.z)
    }
}

impl<R: Real> Neg for Vec3<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.x, -self.y, -self.z)
    }
}

impl<R: Real> Mul<R> for Vec3<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, by: R) -> Self {
        Self::new(self.x * by, self.y * by, self.z * by)
    }
}

impl<R: Real> Mat3<R> {
    /// From its rows.
    #[inline(always)]
    pub fn new(x: Vec3<R>, y: Vec3<R>, z: Vec3<R>) -> Self {
        Self { x, y, z }
    }

    /// A diagonal matrix.
    #[inline(always)]
    pub fn diagonal(d: Vec3<R>) -> Self {
        let zero = R::splat(0.0);
        Self::new(Vec3::new(d.x, zero, zero), Vec3::new(zero, d.y, zero), Vec3::new(zero, zero, d.z))
    }

    /// `self + a b^T`.
    #[inline(always)]
    pub fn plus_outer(self, a: Vec3<R>, b: Vec3<R>) -> Self {
        Self::new(self.x.plus(a.x, b), self.y.plus(a.y, b), self.z.plus(a.z, b))
    }

    /// `self + diag(d)`.
    #[inline(always)]
    pub fn plus_diagonal(mut self, d: Vec3<R>) -> Self {
        self.x.x += d.x;
        self.y.y += d.y;
        self.z.z += d.z;
        self
    }

    /// `self v`.
    #[inline(always)]
    pub fn apply(self, v: Vec3<R>) -> Vec3<R> {
        Vec3::new(self.x.dot(v), self.y.dot(v), self.z.dot(v))
    }

    /// `self^T v`.
    #[inline(always)]
    pub fn apply_transposed(self, v: Vec3<R>) -> Vec3<R> {
        (self.x * v.x).plus(v.y, self.y).plus(v.z, self.z)
    }

    /// `diag(a) self diag(b)`.
    #[inline(always)]
    pub fn between(self, a: Vec3<R>, b: Vec3<R>) -> Self {
        Self::new(self.x.times(b) * a.x, self.y.times(b) * a.y, self.z.times(b) * a.z)
    }

    /// `a` where the mask is set, else `b`.
    #[inline(always)]
    pub fn select(mask: R::Mask, a: Self, b: Self) -> Self {
        Self::new(Vec3::select(mask, a.x, b.x), Vec3::select(mask, a.y, b.y), Vec3::select(mask, a.z, b.z))
    }

    /// The values alone.
    #[inline(always)]
    pub fn without_tangents(self) -> Self {
        Self::new(self.x.without_tangents(), self.y.without_tangents(), self.z.without_tangents())
    }

    /// The least pivot of the symmetric part's elimination: > 0 where that is positive definite.
    #[inline(always)]
    pub fn least_pivot(self) -> R {
        let half = R::splat(0.5);
        let (xy, xz) = (half * (self.x.y + self.y.x), half * (self.x.z + self.z.x));
        let yz = half * (self.y.z + self.z.y);
        let inv0 = self.x.x.recip();
        let (l1, l2) = (xy * inv0, xz * inv0);
        let (a11, a12) = ((-l1).fma(xy, self.y.y), (-l1).fma(xz, yz));
        let a22 = (-l2).fma(xz, self.z.z);
        let last = (-(a12 * a11.recip())).fma(a12, a22);
        self.x.x.min(a11).min(last)
    }

    /// The `v` with `self v = b`, by elimination; for definite matrices, which need no pivots.
    #[inline(always)]
    pub fn solve(self, b: Vec3<R>) -> Vec3<R> {
        let inv0 = self.x.x.recip();
        let (l1, l2) = (self.y.x * inv0, self.z.x * inv0);
        let (a11, a12) = ((-l1).fma(self.x.y, self.y.y), (-l1).fma(self.x.z, self.y.z));
        let (a21, a22) = ((-l2).fma(self.x.y, self.z.y), (-l2).fma(self.x.z, self.z.z));
        let b1 = (-l1).fma(b.x, b.y);
        let inv1 = a11.recip();
        let l21 = a21 * inv1;
        let z = (-l21).fma(b1, (-l2).fma(b.x, b.z)) * (-l21).fma(a12, a22).recip();
        let y = (-a12).fma(z, b1) * inv1;
        Vec3::new((-self.x.y).fma(y, (-self.x.z).fma(z, b.x)) * inv0, y, z)
    }
}

impl<R: Real> Mul<R> for Mat3<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, by: R) -> Self {
        Self::new(self.x * by, self.y * by, self.z * by)
    }
}

impl<R: Real> Add for Mat3<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, m: Self) -> Self {
        Self::new(self.x + m.x, self.y + m.y, self.z + m.z)
    }
}

/// `high + d` and what it rounds off, where `low` is what `high` could not hold, `docs/model.md` (64).
#[inline(always)]
pub fn add<R: Real>(high: R, low: R, d: R) -> (R, R) {
    let y = d + low;
    let s = high + y;
    let t = s - high;
    (s, (high - (s - t)) + (y - t))
}

/// [`add`] of every component.
#[inline(always)]
pub fn add3<R: Real>(high: Vec3<R>, low: Vec3<R>, d: Vec3<R>) -> (Vec3<R>, Vec3<R>) {
    let (x, y, z) = (add(high.x, low.x, d.x), add(high.y, low.y, d.y), add(high.z, low.z, d.z));
    (Vec3::new(x.0, y.0, z.0), Vec3::new(x.1, y.1, z.1))
}
