//! Newton steps that double the digits of an estimate of a reciprocal or a root.

use crate::number::real::Real;

/// One Newton step for `1/x`.
#[inline(always)]
pub fn sharper_recip<R: Real>(x: R, y: R) -> R {
    y.fma((-x).fma(y, R::splat(1.0)), y)
}

/// One Newton step for `1/sqrt(x)`.
#[inline(always)]
pub fn sharper_rsqrt<R: Real>(x: R, y: R) -> R {
    y.fma((R::splat(-0.5) * x * y).fma(y, R::splat(0.5)), y)
}
