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
    /// Numbers side by side.
    const LANES: usize;
    /// Added under square roots, so that the direction of a zero vector is zero.
    const TINY: f64;
    /// Newton iterations on the ramp, from a start that is off by a few percent.
    const RAMP_ITERATIONS: usize;
    /// Terms of the series of [`Real::sin_cos_pi`] and [`Real::exp_negative`].
    const SERIES: usize;

    /// The nearest number, in every lane.
    fn of(value: f64) -> Self;
    /// The nearest numbers, a lane each; lanes beyond `values` are 0.
    fn pack(values: &[f64]) -> Self;
    /// The number in one lane.
    fn lane(self, lane: usize) -> f64;
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
    /// `2^k` and the remainder `self - k ln 2`, for -100 <= self <= 0.
    fn split_exp(self) -> (Self, Self);
    /// self^exponent, for self > 0.
    fn powf(self, exponent: Self) -> Self;

    /// `e^self` for -80 <= self <= 0: relative error below 8e-16 in f64, 2e-7 in f32.
    #[inline(always)]
    fn exp_negative(self) -> Self {
        let (scale, r) = self.split_exp();
        let one = Self::of(1.0);
        let mut sum = one;
        for k in (1..=Self::SERIES + 3).rev() {
            sum = one + r * Self::of(1.0 / k as f64) * sum;
        }
        scale * sum
    }

    /// `(sin(pi p), cos(pi p))` for |p| <= 1/2: within 3e-16 in f64, 2e-7 in f32.
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

/// Numbers side by side. An array of 16 is what the compiler turns into vector registers, whatever
/// their width.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<T>([T; LANES]);

/// ln 2 beyond the digits of an `f64`.
const LN_2_BEYOND: f64 = 2.319_046_813_846_3e-17;

/// Lanes of [`Lanes`].
pub const LANES: usize = 16;

macro_rules! real {
    ($t:ty, $bits:ty, $tiny:expr, $iterations:expr, $series:expr, $magic:expr, $bias:expr, $mantissa:expr) => {
        impl Real for $t {
            type Mask = bool;
            const LANES: usize = 1;
            const TINY: f64 = $tiny;
            const RAMP_ITERATIONS: usize = $iterations;
            const SERIES: usize = $series;

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $t
            }
            fn pack(values: &[f64]) -> Self {
                values[0] as $t
            }
            fn lane(self, _: usize) -> f64 {
                f64::from(self)
            }
            fn sum(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn select(mask: bool, a: Self, b: Self) -> Self {
                if mask { a } else { b }
            }
            #[inline(always)]
            fn any(mask: bool) -> bool {
                mask
            }
            #[inline(always)]
            fn and(a: bool, b: bool) -> bool {
                a && b
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if self < other { self } else { other }
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
            #[inline(always)]
            fn split_exp(self) -> (Self, Self) {
                // Adding and subtracting 1.5 2^mantissa rounds to an integer, and leaves it in the low bits.
                let shifted = self * std::f64::consts::LOG2_E as $t + $magic;
                let k = shifted - $magic;
                let scale = <$t>::from_bits(shifted.to_bits().wrapping_add($bias) << $mantissa);
                // ln 2 in two parts, the first short enough that k times it is exact.
                let high = <$t>::from_bits((std::f64::consts::LN_2 as $t).to_bits() & (<$bits>::MAX << 12));
                let low = ((std::f64::consts::LN_2 - f64::from(high)) + LN_2_BEYOND) as $t;
                (scale, (self - k * high) - k * low)
            }
            #[inline(always)]
            fn powf(self, exponent: Self) -> Self {
                <$t>::powf(self, exponent)
            }
        }

        impl Lanes<$t> {
            #[inline(always)]
            fn map(self, f: impl Fn($t) -> $t) -> Self {
                let mut out = self;
                for i in 0..LANES {
                    out.0[i] = f(self.0[i]);
                }
                out
            }
            #[inline(always)]
            fn zip(self, other: Self, f: impl Fn($t, $t) -> $t) -> Self {
                let mut out = self;
                for i in 0..LANES {
                    out.0[i] = f(self.0[i], other.0[i]);
                }
                out
            }
        }

        impl Add for Lanes<$t> {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.zip(other, |a, b| a + b)
            }
        }
        impl AddAssign for Lanes<$t> {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl Sub for Lanes<$t> {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.zip(other, |a, b| a - b)
            }
        }
        impl Mul for Lanes<$t> {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.zip(other, |a, b| a * b)
            }
        }
        impl Div for Lanes<$t> {
            type Output = Self;
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self.zip(other, |a, b| a / b)
            }
        }
        impl Neg for Lanes<$t> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                self.map(|a| -a)
            }
        }

        impl Real for Lanes<$t> {
            /// All bits of a lane, or none.
            type Mask = [$bits; LANES];
            const LANES: usize = LANES;
            const TINY: f64 = $tiny;
            const RAMP_ITERATIONS: usize = $iterations;
            const SERIES: usize = $series;

            #[inline(always)]
            fn of(value: f64) -> Self {
                Self([value as $t; LANES])
            }
            fn pack(values: &[f64]) -> Self {
                let mut out = Self::of(0.0);
                for (to, from) in out.0.iter_mut().zip(values) {
                    *to = *from as $t;
                }
                out
            }
            fn lane(self, lane: usize) -> f64 {
                f64::from(self.0[lane])
            }
            fn sum(self) -> f64 {
                self.0.iter().map(|v| f64::from(*v)).sum()
            }
            #[inline(always)]
            fn lt(self, other: Self) -> Self::Mask {
                let mut out = [0; LANES];
                for i in 0..LANES {
                    out[i] = if self.0[i] < other.0[i] { <$bits>::MAX } else { 0 };
                }
                out
            }
            #[inline(always)]
            fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
                let mut out = a;
                for i in 0..LANES {
                    out.0[i] = <$t>::from_bits((a.0[i].to_bits() & mask[i]) | (b.0[i].to_bits() & !mask[i]));
                }
                out
            }
            #[inline(always)]
            fn any(mask: Self::Mask) -> bool {
                let mut all = 0;
                for m in mask {
                    all |= m;
                }
                all != 0
            }
            #[inline(always)]
            fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask {
                let mut out = a;
                for i in 0..LANES {
                    out[i] &= b[i];
                }
                out
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                self.zip(other, |a, b| Real::min(a, b))
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                self.zip(other, |a, b| Real::max(a, b))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.map(|a| a.sqrt())
            }
            #[inline(always)]
            fn split_exp(self) -> (Self, Self) {
                let (mut scale, mut rest) = (self, self);
                for i in 0..LANES {
                    (scale.0[i], rest.0[i]) = self.0[i].split_exp();
                }
                (scale, rest)
            }
            #[inline(always)]
            fn powf(self, exponent: Self) -> Self {
                self.zip(exponent, |a, b| a.powf(b))
            }
        }
    };
}

real!(f64, u64, 1e-280, 4, 11, 6_755_399_441_055_744.0, 1023, 52);
real!(f32, u32, 1e-30, 3, 7, 12_582_912.0, 127, 23);

#[cfg(test)]
mod tests {
    use super::*;

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
        for i in 0..=80_000 {
            let x = -f64::from(i) / 1000.0;
            let e64 = x.exp_negative() / x.exp() - 1.0;
            let x32 = x as f32;
            let e32 = f64::from(x32.exp_negative()) / f64::from(x32).exp() - 1.0;
            assert!(e64.abs() < 8e-16 && e32.abs() < 2e-7, "{x}: {e64} {e32}");
        }
    }

    /// Every lane does what a single number does, bit for bit.
    #[test]
    fn lanes_agree_with_numbers() {
        let a: Vec<f64> = (0..LANES).map(|i| 0.05 * i as f64 - 0.4).collect();
        let b: Vec<f64> = (0..LANES).map(|i| 0.3 - 0.03 * i as f64).collect();
        let (va, vb) = (Lanes::<f64>::pack(&a), Lanes::<f64>::pack(&b));
        let chosen = Lanes::select(va.lt(vb), va.sin_cos_pi().0, (-(vb * vb)).exp_negative());
        for i in 0..LANES {
            let one = if a[i] < b[i] { a[i].sin_cos_pi().0 } else { (-(b[i] * b[i])).exp_negative() };
            assert_eq!(chosen.lane(i).to_bits(), one.to_bits());
        }
    }
}
