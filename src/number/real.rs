//! The number type of the cell's arithmetic.

use super::simd::Simd;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A number, or several side by side: the cell's equations are written once over this.
///
/// Decisions are masks and selections, so that the same text serves one number and many lanes.
pub trait Real:
    Copy
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + Send
    + Sync
{
    /// One of the numbers.
    type Scalar: Real<Scalar = Self::Scalar>;
    /// The outcome of a comparison.
    type Mask: Copy + Debug + Send + Sync;
    /// Numbers side by side.
    const LANES: usize;
    /// The instructions that the numbers are made of.
    const SIMD: Simd;
    /// Added under square roots, so that the direction of a zero vector is zero.
    const TINY: f64;
    /// Halley iterations in the transition, from a start that is off by a few percent.
    const TRANSITION_ITERATIONS: usize;
    /// Degree of the polynomial for `e^r`, |r| <= ln(2)/2.
    const EXP_DEGREE: usize;
    /// Terms of the series for sine and cosine up to a quarter turn.
    const SINE_TERMS: usize;
    /// As many leave 1e-8, or all that there are: enough for all iterations in the transition but the last.
    const APPROACH_TERMS: usize;
    /// Terms of the series for the arc tangent up to an eighth of a half turn.
    const ATAN_TERMS: usize;
    /// Coefficients of `2 atanh(s)/s` in `s^2` up to `s = (sqrt 2 - 1)/(sqrt 2 + 1)`, for the logarithm.
    const LN_SERIES: &'static [f64];
    /// `1.5 2^m` with mantissas of `m` bits: adding and subtracting it rounds to an integer.
    const ROUNDER: f64;
    /// Newton's step from a residual below this [-] is the last: the next error goes with its square.
    const ROOT_RESIDUAL: f64;

    /// The nearest number, in every lane.
    fn splat(value: f64) -> Self;
    /// The nearest numbers, a lane each; lanes beyond `values` are 0.
    fn pack(values: &[f64]) -> Self;
    /// The number in one lane.
    fn lane(self, lane: usize) -> f64;
    /// As many numbers as there are lanes, the first of `from`.
    #[inline(always)]
    fn from_slice(from: &[Self::Scalar]) -> Self {
        let mut out = Self::splat(0.0);
        out.lanes_mut().copy_from_slice(&from[..Self::LANES]);
        out
    }
    /// Replaces the first numbers of `to` by the lanes.
    #[inline(always)]
    fn copy_to_slice(self, to: &mut [Self::Scalar]) {
        to[..Self::LANES].copy_from_slice(self.lanes());
    }
    /// The numbers.
    fn lanes(&self) -> &[Self::Scalar];
    /// The numbers.
    fn lanes_mut(&mut self) -> &mut [Self::Scalar];
    /// Sum over the lanes.
    fn reduce_sum(self) -> f64;
    /// `self * by + plus`, in one instruction where the processor has it. Not `mul_add` as in `std`: that is
    /// always rounded once, for which it calls the library where there is no instruction.
    fn fma(self, by: Self, plus: Self) -> Self;
    /// `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// `a` where the mask is set, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// Whether the mask is set anywhere.
    fn any(mask: Self::Mask) -> bool;
    /// The mask as a number: bit `i` for lane `i`.
    fn bitmask(mask: Self::Mask) -> u32;
    /// Both masks.
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// The smaller.
    fn min(self, other: Self) -> Self;
    /// The larger.
    fn max(self, other: Self) -> Self;
    /// The absolute value.
    #[inline(always)]
    fn abs(self) -> Self {
        self.max(-self)
    }
    /// `self`, negated where `other` is negative.
    fn times_sign(self, other: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `1 / self`, for normal numbers.
    fn recip(self) -> Self;
    /// `1 / sqrt(self)`, for normal numbers > 0.
    fn rsqrt(self) -> Self;
    /// `self / sqrt(x)` within 1e-12 in f64 and as [`Real::rsqrt`] in f32, for normal numbers `x` > 0.
    #[inline(always)]
    fn over_sqrt(self, x: Self) -> Self {
        self * x.rsqrt()
    }
    /// `1 / self` within 4e-4: enough for a step of an iteration that goes on.
    #[inline(always)]
    fn approx_recip(self) -> Self {
        self.recip()
    }
    /// `1 / sqrt(self)` within 4e-4, as [`Real::approx_recip`].
    #[inline(always)]
    fn approx_rsqrt(self) -> Self {
        self.rsqrt()
    }
    /// `2^k` and the remainder `self - k ln 2`, within `k` times the rounding of ln 2, for -100 <= self <= 0.
    fn split_exp(self) -> (Self, Self);
    /// self^exponent, for self > 0.
    fn powf(self, exponent: Self) -> Self;

    /// `e` and `m` of `self = m 2^e`, 1 <= m < 2, for normal numbers > 0.
    #[inline(always)]
    fn exponent_mantissa(self) -> (Self, Self) {
        let (mut exponent, mut mantissa) = (self, self);
        for lane in 0..Self::LANES {
            (exponent.lanes_mut()[lane], mantissa.lanes_mut()[lane]) = self.lanes()[lane].exponent_mantissa();
        }
        (exponent, mantissa)
    }

    /// `ln self` for normal numbers > 0: within 2e-15 in f64 and 1.5e-7 in f32, of 1 or of itself.
    #[inline(always)]
    fn ln(self) -> Self {
        // With `s = (m - c)/(m + c)`, `ln(m/c) = 2 atanh(s)`. The middle `c = sqrt 2` of the mantissas' range is
        // half a power of two.
        let (exponent, mantissa) = self.exponent_mantissa();
        let middle = Self::splat(std::f64::consts::SQRT_2);
        let s = (mantissa - middle) * (mantissa + middle).recip();
        let s2 = s * s;
        let last = Self::LN_SERIES.len() - 1;
        let mut sum = Self::splat(Self::LN_SERIES[last]);
        for k in (0..last).rev() {
            sum = sum.fma(s2, Self::splat(Self::LN_SERIES[k]));
        }
        let half = 0.5 * std::f64::consts::LN_2;
        s.fma(sum, exponent.fma(Self::splat(std::f64::consts::LN_2), Self::splat(half)))
    }

    /// The mask whose [`Real::bitmask`] these are.
    #[inline(always)]
    fn from_bitmask(bits: u32) -> Self::Mask {
        let mut v = Self::splat(0.0);
        for lane in 0..Self::LANES {
            v.lanes_mut()[lane] =
                if bits >> lane & 1 == 1 { Self::Scalar::splat(1.0) } else { Self::Scalar::splat(0.0) };
        }
        Self::splat(0.5).lt(v)
    }

    /// Replaces the number in one lane.
    fn set(&mut self, lane: usize, value: f64) {
        self.lanes_mut()[lane] = Self::Scalar::splat(value);
    }

    /// The integer below, for 0 <= self < 2^21.
    #[inline(always)]
    fn floor(self) -> Self {
        let magic = Self::splat(Self::ROUNDER);
        let near = (self + magic) - magic;
        Self::select(self.lt(near), near - Self::splat(1.0), near)
    }

    /// `to = base + self` of every lane, for whole numbers.
    #[inline(always)]
    fn add_to_indices(self, base: &[u32; LANES], to: &mut [u32; LANES]) {
        for lane in 0..Self::LANES {
            to[lane] = base[lane].wrapping_add(self.lane(lane) as u32);
        }
    }

    /// `from[at + plus]` in every lane.
    #[inline(always)]
    fn gather(from: &[Self::Scalar], at: &[u32; LANES], plus: usize) -> Self {
        let mut out = Self::splat(0.0);
        for lane in 0..Self::LANES {
            out.lanes_mut()[lane] = from[at[lane] as usize + plus];
        }
        out
    }

    /// `atan self` for 0 <= self <= 1: within 4e-16 in f64, 2e-7 in f32.
    #[inline(always)]
    fn atan(self) -> Self {
        let one = Self::splat(1.0);
        let far = Self::splat(std::f64::consts::SQRT_2 - 1.0).lt(self);
        let z = Self::select(far, (self - one) * (self + one).recip(), self);
        let z2 = z * z;
        let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        let last = Self::ATAN_TERMS - 1;
        let mut sum = Self::splat(sign(last) / (2 * last + 1) as f64);
        for k in (1..last).rev() {
            sum = sum.fma(z2, Self::splat(sign(k) / (2 * k + 1) as f64));
        }
        let base = Self::select(far, Self::splat(std::f64::consts::FRAC_PI_4), Self::splat(0.0));
        base + (z * z2).fma(sum, z)
    }

    /// The lanes of both, in turns: `[a0 b0 a1 b1 ..]` of the first half of the lanes, then of the second.
    #[inline(always)]
    fn interleave(self, other: Self) -> [Self; 2] {
        let mut out = [self; 2];
        for lane in 0..Self::LANES {
            for (at, from) in [(2 * lane, self), (2 * lane + 1, other)] {
                out[at / Self::LANES].lanes_mut()[at % Self::LANES] = from.lanes()[lane];
            }
        }
        out
    }

    /// Writes the lanes whose mask is set to `to`, one after the other from its lane `at` on. What was in the
    /// other lanes of that group and the next may be lost.
    #[inline(always)]
    fn compress_into(self, mask: Self::Mask, to: &mut [Self], at: usize) {
        let (mut bits, mut at) = (Self::bitmask(mask), at);
        while bits != 0 {
            let lane = bits.trailing_zeros() as usize;
            to[at / Self::LANES].lanes_mut()[at % Self::LANES] = self.lanes()[lane];
            bits &= bits - 1;
            at += 1;
        }
    }

    /// Replaces the lanes whose mask is set by those of `from`, one after the other from its lane `at` on.
    #[inline(always)]
    fn expand_from(mut self, mask: Self::Mask, from: &[Self], at: usize) -> Self {
        let (mut bits, mut at) = (Self::bitmask(mask), at);
        while bits != 0 {
            let lane = bits.trailing_zeros() as usize;
            self.lanes_mut()[lane] = from[at / Self::LANES].lanes()[at % Self::LANES];
            bits &= bits - 1;
            at += 1;
        }
        self
    }

    /// `e^self` for -80 <= self <= 0: relative error below (1 + |self|) times 3e-16 in f64, 2e-7 in f32.
    #[inline(always)]
    fn exp_negative(self) -> Self {
        let (scale, r) = self.split_exp();
        let mut sum = Self::splat(TAYLOR[Self::EXP_DEGREE]);
        for k in (0..Self::EXP_DEGREE).rev() {
            sum = sum.fma(r, Self::splat(TAYLOR[k]));
        }
        scale * sum
    }

    /// `(sin t, cos t)` for |t| <= pi/2: within 4e-16 in f64; in f32 within 2e-7 and 7e-7.
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        self.sin_cos_by(Self::SINE_TERMS)
    }

    /// [`Real::sin_cos`] by so many terms of the series.
    #[inline(always)]
    fn sin_cos_by(self, terms: usize) -> (Self, Self) {
        let t2 = self * self;
        let last = terms - 1;
        let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        let (mut sin, mut cos) =
            (Self::splat(sign(last) * TAYLOR[2 * last + 1]), Self::splat(sign(last) * TAYLOR[2 * last]));
        for k in (0..last).rev() {
            sin = sin.fma(t2, Self::splat(sign(k) * TAYLOR[2 * k + 1]));
            cos = cos.fma(t2, Self::splat(sign(k) * TAYLOR[2 * k]));
        }
        (self * sin, cos)
    }
}

/// `1/k!`.
const TAYLOR: [f64; 22] = {
    let mut t = [1.0; 22];
    let mut k = 1;
    while k < t.len() {
        t[k] = t[k - 1] / k as f64;
        k += 1;
    }
    t
};

/// Numbers side by side: a small array, which the compiler turns into the vector registers that every
/// processor has. Where a type of its own knows the processor's instructions ([`super::x86`]), that one is
/// faster.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct Lanes<T>([T; WIDTH]);

/// Lanes of [`Lanes`].
const WIDTH: usize = 4;

/// Whether every processor of this kind multiplies and adds in one instruction. Elsewhere `mul_add` is a call
/// into the library.
const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

/// Lanes of the widest number type, and numbers in a [`super::block::Block`].
pub const LANES: usize = 16;

macro_rules! real {
    (
        $t:ty, $bits:ty, $tiny:expr, $iterations:expr, $degree:expr, $terms:expr, $atan:expr, $ln:expr, $root:expr, $magic:expr,
        $bias:expr, $mantissa:expr
    ) => {
        impl Real for $t {
            type Scalar = Self;
            type Mask = bool;
            const LANES: usize = 1;
            const SIMD: Simd = Simd::Baseline;
            const TINY: f64 = $tiny;
            const TRANSITION_ITERATIONS: usize = $iterations;
            const EXP_DEGREE: usize = $degree;
            const SINE_TERMS: usize = $terms;
            const APPROACH_TERMS: usize = if $terms < 7 { $terms } else { 7 };
            const ATAN_TERMS: usize = $atan;
            const LN_SERIES: &'static [f64] = $ln;
            const ROUNDER: f64 = $magic;
            const ROOT_RESIDUAL: f64 = $root;

            #[inline(always)]
            fn splat(value: f64) -> Self {
                value as $t
            }
            fn pack(values: &[f64]) -> Self {
                values[0] as $t
            }
            fn lane(self, _: usize) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn lanes(&self) -> &[Self] {
                std::slice::from_ref(self)
            }
            #[inline(always)]
            fn lanes_mut(&mut self) -> &mut [Self] {
                std::slice::from_mut(self)
            }
            fn reduce_sum(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn fma(self, by: Self, plus: Self) -> Self {
                self * by + plus
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
            fn bitmask(mask: bool) -> u32 {
                u32::from(mask)
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
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn times_sign(self, other: Self) -> Self {
                <$t>::from_bits(self.to_bits() ^ (other.to_bits() & <$t>::to_bits(-0.0)))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
            #[inline(always)]
            fn recip(self) -> Self {
                1.0 / self
            }
            #[inline(always)]
            fn rsqrt(self) -> Self {
                1.0 / <$t>::sqrt(self)
            }
            #[inline(always)]
            fn split_exp(self) -> (Self, Self) {
                // Adding and subtracting 1.5 2^mantissa rounds to an integer, and leaves it in the low bits.
                let shifted = self * std::f64::consts::LOG2_E as $t + $magic;
                let k = shifted - $magic;
                let scale = <$t>::from_bits(shifted.to_bits().wrapping_add($bias) << $mantissa);
                (scale, self - k * std::f64::consts::LN_2 as $t)
            }
            #[inline(always)]
            fn powf(self, exponent: Self) -> Self {
                <$t>::powf(self, exponent)
            }
            #[inline(always)]
            fn exponent_mantissa(self) -> (Self, Self) {
                const BELOW: $bits = (1 << $mantissa) - 1;
                const MAGIC: $t = $magic;
                let bits = self.to_bits();
                // The integer as the last bits of a number: vectors convert no 64-bit integers.
                let exponent = <$t>::from_bits((bits >> $mantissa) | MAGIC.to_bits()) - (MAGIC + $bias as $t);
                (exponent, <$t>::from_bits(bits & BELOW | ($bias << $mantissa)))
            }
        }

        impl Lanes<$t> {
            #[inline(always)]
            fn map(self, f: impl Fn($t) -> $t) -> Self {
                let mut out = self;
                for i in 0..WIDTH {
                    out.0[i] = f(self.0[i]);
                }
                out
            }
            #[inline(always)]
            fn zip(self, other: Self, f: impl Fn($t, $t) -> $t) -> Self {
                let mut out = self;
                for i in 0..WIDTH {
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
            type Mask = [$bits; WIDTH];
            type Scalar = $t;
            const LANES: usize = WIDTH;
            const SIMD: Simd = Simd::Baseline;
            const TINY: f64 = $tiny;
            const TRANSITION_ITERATIONS: usize = $iterations;
            const EXP_DEGREE: usize = $degree;
            const SINE_TERMS: usize = $terms;
            const APPROACH_TERMS: usize = if $terms < 7 { $terms } else { 7 };
            const ATAN_TERMS: usize = $atan;
            const LN_SERIES: &'static [f64] = $ln;
            const ROUNDER: f64 = $magic;
            const ROOT_RESIDUAL: f64 = $root;

            #[inline(always)]
            fn splat(value: f64) -> Self {
                Self([value as $t; WIDTH])
            }
            fn pack(values: &[f64]) -> Self {
                let mut out = Self::splat(0.0);
                for (to, from) in out.0.iter_mut().zip(values) {
                    *to = *from as $t;
                }
                out
            }
            fn lane(self, lane: usize) -> f64 {
                f64::from(self.0[lane])
            }
            #[inline(always)]
            fn lanes(&self) -> &[$t] {
                &self.0
            }
            #[inline(always)]
            fn lanes_mut(&mut self) -> &mut [$t] {
                &mut self.0
            }
            fn reduce_sum(self) -> f64 {
                self.0.iter().map(|v| f64::from(*v)).sum()
            }
            #[inline(always)]
            fn fma(self, by: Self, plus: Self) -> Self {
                let mut out = plus;
                for i in 0..WIDTH {
                    out.0[i] =
                        if FUSED { self.0[i].mul_add(by.0[i], plus.0[i]) } else { self.0[i] * by.0[i] + plus.0[i] };
                }
                out
            }
            #[inline(always)]
            fn lt(self, other: Self) -> Self::Mask {
                let mut out = [0; WIDTH];
                for i in 0..WIDTH {
                    out[i] = if self.0[i] < other.0[i] { <$bits>::MAX } else { 0 };
                }
                out
            }
            #[inline(always)]
            fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
                let mut out = a;
                for i in 0..WIDTH {
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
            fn bitmask(mask: Self::Mask) -> u32 {
                (0..WIDTH).fold(0, |bits, i| bits | u32::from(mask[i] != 0) << i)
            }
            #[inline(always)]
            fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask {
                let mut out = a;
                for i in 0..WIDTH {
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
            fn abs(self) -> Self {
                self.map(|a| a.abs())
            }
            #[inline(always)]
            fn times_sign(self, other: Self) -> Self {
                self.zip(other, |a, b| a.times_sign(b))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.map(|a| a.sqrt())
            }
            #[inline(always)]
            fn recip(self) -> Self {
                self.map(|a| 1.0 / a)
            }
            #[inline(always)]
            fn rsqrt(self) -> Self {
                self.map(|a| 1.0 / a.sqrt())
            }
            #[inline(always)]
            fn split_exp(self) -> (Self, Self) {
                let (mut scale, mut rest) = (self, self);
                for i in 0..WIDTH {
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

real!(f64, u64, 1e-280, 3, 12, 11, 20, LN_DOUBLE, 1e-9, 6_755_399_441_055_744.0, 1023, 52);
real!(f32, u32, 1e-30, 2, 6, 6, 9, LN_SINGLE, 1e-5, 12_582_912.0, 127, 23);

/// Chebyshev's polynomials of [`Real::LN_SERIES`], which leave errors of 3e-17 and 2e-8.
const LN_DOUBLE: &[f64] = &[
    2.000_000_000_000_002_6,
    0.666_666_666_663_368_4,
    0.400_000_001_205_332_97,
    0.285_714_091_673_119_97,
    0.222_238_228_787_475_2,
    0.181_113_746_061_802_8,
    0.169_480_917_976_304_4,
];
const LN_SINGLE: &[f64] = &[2.000_000_837_038_474, 0.666_440_780_355_624_7, 0.415_177_062_122_342_24];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_are_as_exact_as_said() {
        for i in -500..=500 {
            let t = std::f64::consts::PI * f64::from(i) / 1000.0;
            let (sin, cos) = f64::sin_cos(t);
            let (s64, c64) = Real::sin_cos(t);
            assert!((s64 - sin).abs() < 4e-16 && (c64 - cos).abs() < 4e-16, "{t}: {s64} {sin} {c64} {cos}");
            let (s32, c32) = Real::sin_cos(t as f32);
            assert!((f64::from(s32) - sin).abs() < 2e-7 && (f64::from(c32) - cos).abs() < 7e-7, "{t}");
        }
        for i in 0..=80_000 {
            let x = -f64::from(i) / 1000.0;
            let e64 = x.exp_negative() / x.exp() - 1.0;
            let x32 = x as f32;
            let e32 = f64::from(x32.exp_negative()) / f64::from(x32).exp() - 1.0;
            let most = 1.0 - x;
            assert!(e64.abs() < 3e-16 * most && e32.abs() < 2e-7 * most, "{x}: {e64} {e32}");
        }
    }

    /// Every lane does what a single number does, bit for bit.
    #[test]
    fn lanes_agree_with_numbers() {
        let a: Vec<f64> = (0..WIDTH).map(|i| 0.25 * i as f64 - 0.3).collect();
        let b: Vec<f64> = (0..WIDTH).map(|i| 0.3 - 0.03 * i as f64).collect();
        let (va, vb) = (Lanes::<f64>::pack(&a), Lanes::<f64>::pack(&b));
        let chosen = Lanes::select(va.lt(vb), va.sin_cos().0, (-(vb * vb)).exp_negative());
        for i in 0..WIDTH {
            let one = if a[i] < b[i] { Real::sin_cos(a[i]).0 } else { (-(b[i] * b[i])).exp_negative() };
            assert_eq!(chosen.lane(i).to_bits(), one.to_bits());
        }
    }
}
