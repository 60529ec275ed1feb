//! The number type of the cell's arithmetic.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A number, or several side by side: the cell's equations are written once over this.
///
/// Decisions are masks and selections, so that the same text serves one number and many lanes.
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + Send
    + Sync
{
    /// The outcome of a comparison.
    type Mask: Copy;
    /// Added under square roots, so that the direction of a zero vector is zero.
    const TINY: f64;
    /// Newton iterations on the ramp, from a start that is off by a few percent.
    const RAMP_ITERATIONS: usize;

    /// The nearest number (in every lane).
    fn of(value: f64) -> Self;
    /// Sum over the lanes.
    fn sum(self) -> f64;
    /// `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// `a` where the mask is set, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// Whether the mask is set anywhere.
    fn any(mask: Self::Mask) -> bool;
    /// Both masks.
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// The smaller.
    fn min(self, other: Self) -> Self;
    /// The larger.
    fn max(self, other: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// e^self.
    fn exp(self) -> Self;
    /// self^exponent, for self > 0.
    fn powf(self, exponent: Self) -> Self;
    /// Terms of the series of [`Real::sin_cos_pi`].
    const SERIES: usize;

    /// `(sin(pi p), cos(pi p))` for |p| <= 1/2, by their series: within 3e-16 in f64 (11 terms) and
    /// 2e-7 in f32 (7 terms).
    #[inline(always)]
    fn sin_cos_pi(self) -> (Self, Self) {
        let t = self * Self::of(std::f64::consts::PI);
        let t2 = t * t;
        let one = Self::of(1.0);
        let (mut sin, mut cos) = (one, one);
        for k in (1..Self::SERIES).rev() {
            let n = 2.0 * k as f64;
            sin = one - t2 * Self::of(1.0 / (n * (n + 1.0))) * sin;
            cos = one - t2 * Self::of(1.0 / (n * (n - 1.0))) * cos;
        }
        (t * sin, cos)
    }
}

macro_rules! scalar {
    ($t:ty, $tiny:expr, $iterations:expr, $series:expr) => {
        impl Real for $t {
            type Mask = bool;
            const TINY: f64 = $tiny;
            const RAMP_ITERATIONS: usize = $iterations;
            const SERIES: usize = $series;

            fn of(value: f64) -> Self {
                value as $t
            }
            fn sum(self) -> f64 {
                f64::from(self)
            }
            fn lt(self, other: Self) -> bool {
                self < other
            }
            fn select(mask: bool, a: Self, b: Self) -> Self {
                if mask { a } else { b }
            }
            fn any(mask: bool) -> bool {
                mask
            }
            fn and(a: bool, b: bool) -> bool {
                a && b
            }
            fn min(self, other: Self) -> Self {
                if self < other { self } else { other }
            }
            fn max(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            fn exp(self) -> Self {
                self.exp()
            }
            fn powf(self, exponent: Self) -> Self {
                self.powf(exponent)
            }
        }
    };
}

scalar!(f64, 1e-280, 3, 11);
scalar!(f32, 1e-30, 2, 7);

#[cfg(test)]
mod tests {
    use super::Real;

    #[test]
    fn the_series_are_as_exact_as_said() {
        for i in -500..=500 {
            let p = f64::from(i) / 1000.0;
            let (sin, cos) = (std::f64::consts::PI * p).sin_cos();
            let (s64, c64) = p.sin_cos_pi();
            assert!((s64 - sin).abs() < 3e-16 && (c64 - cos).abs() < 3e-16, "{p}: {s64} {sin} {c64} {cos}");
            let (s32, c32) = (p as f32).sin_cos_pi();
            assert!((f64::from(s32) - sin).abs() < 2e-7 && (f64::from(c32) - cos).abs() < 2e-7, "{p}");
        }
    }
}
