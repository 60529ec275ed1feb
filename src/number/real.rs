//! The number type of the arithmetic over cells and in limit surfaces.

use super::simd::Simd;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Index, IndexMut, Mul, Neg, Sub};

/// A number, or several in the lanes of a vector register. The equations of a cell and the sums of limit
/// surfaces are generic over this trait, so that each is written once.
///
/// Generic code has no branches on values: a comparison gives a mask, and a selection takes one of two
/// results by it, in every lane by itself.
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
    + 'static
{
    /// The type of the number in one lane.
    type Scalar: Real<Scalar = Self::Scalar> + Into<f64>;
    /// The outcome of a comparison, in every lane.
    type Mask: Copy + Debug + Send + Sync;
    /// Number of lanes.
    const LANES: usize;
    /// Something else for each lane.
    type Each<T: Copy + Send + Sync>: Copy + Send + Sync + Index<usize, Output = T> + IndexMut<usize>;
    /// The instructions that operations on this type compile to.
    const SIMD: Simd = Simd::Baseline;
    /// Whether numbers carry derivatives along ([`super::dual`]). A root that an iteration finds then needs
    /// one more step from the value alone, in which its derivatives become exact.
    const HAS_TANGENTS: bool = false;
    /// Added under square roots, so that the direction of a zero vector is zero.
    const TINY: f64 = Self::Scalar::TINY;
    /// Iterations of a root in the transition.
    const TRANSITION_ITERATIONS: usize = Self::Scalar::TRANSITION_ITERATIONS;
    /// Coefficients of `2^r` for |r| <= 1/2.
    const EXP2_SERIES: &'static [f64] = Self::Scalar::EXP2_SERIES;
    /// Terms of the series for sine and cosine up to a quarter turn.
    const SINE_TERMS: usize = Self::Scalar::SINE_TERMS;
    /// Coefficients of `sin(t)/t` and `cos t` in `t^2` for |t| <= pi/4.
    const SINE_COSINE: [&'static [f64]; 2] = Self::Scalar::SINE_COSINE;
    /// Terms of the series for the arc tangent up to an eighth of a half turn.
    const ATAN_TERMS: usize = Self::Scalar::ATAN_TERMS;
    /// Coefficients of `2 atanh(s)/s` in `s^2` up to `s = (sqrt 2 - 1)/(sqrt 2 + 1)`, for the logarithm.
    const LN_SERIES: &'static [f64] = Self::Scalar::LN_SERIES;
    /// `1.5 2^m` with mantissas of `m` bits: adding and subtracting it rounds to an integer.
    const ROUNDER: f64 = Self::Scalar::ROUNDER;
    /// Residual [-] below which one more step of Newton is enough: the error after it is of the order of the
    /// residual's square, which is below the rounding.
    const ROOT_RESIDUAL: f64 = Self::Scalar::ROOT_RESIDUAL;

    /// The same for every lane.
    fn each<T: Copy + Send + Sync>(of: T) -> Self::Each<T>;
    /// The nearest number, in every lane.
    fn splat(value: f64) -> Self;
    /// The nearest numbers, a lane each; lanes beyond `values` are 0.
    fn pack(values: &[f64]) -> Self {
        let mut out = Self::splat(0.0);
        for (to, from) in out.lanes_mut().iter_mut().zip(values) {
            *to = Self::Scalar::splat(*from);
        }
        out
    }
    /// The number in one lane.
    #[inline(always)]
    fn lane(self, lane: usize) -> f64 {
        self.lanes()[lane].into()
    }
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
    /// The numbers in the lanes.
    fn lanes(&self) -> &[Self::Scalar];
    /// The numbers in the lanes, to be changed.
    fn lanes_mut(&mut self) -> &mut [Self::Scalar];
    /// Sum over the lanes.
    fn reduce_sum(self) -> f64 {
        self.lanes().iter().map(|v| (*v).into()).sum()
    }
    /// `self * by + plus`, in one instruction where the processor has it. Not `mul_add` as in `std`: that is
    /// always rounded once, for which it calls the library where there is no instruction.
    fn fma(self, by: Self, plus: Self) -> Self;
    /// `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// `a` where the mask is set, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// Whether the mask is set anywhere.
    #[inline(always)]
    fn any(mask: Self::Mask) -> bool {
        Self::bitmask(mask) != 0
    }
    /// The mask as a number: bit `i` for lane `i`.
    fn bitmask(mask: Self::Mask) -> u32;
    /// Both masks.
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// The other lanes.
    fn not(mask: Self::Mask) -> Self::Mask;
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
    #[inline(always)]
    fn recip(self) -> Self {
        Self::splat(1.0) / self
    }
    /// `1 / sqrt(self)`, for normal numbers > 0.
    #[inline(always)]
    fn rsqrt(self) -> Self {
        Self::splat(1.0) / self.sqrt()
    }
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
    /// `sqrt(self)` within 4e-4, for normal numbers > 0: for the start of an iteration.
    #[inline(always)]
    fn approx_sqrt(self) -> Self {
        self.sqrt()
    }
    /// `2^k` and the remainder `self - k` with the nearest integer `k`, for -120 <= self <= 0.
    #[inline(always)]
    fn split_exp2(self) -> (Self, Self) {
        let (mut scale, mut rest) = (self, self);
        for lane in 0..Self::LANES {
            (scale.lanes_mut()[lane], rest.lanes_mut()[lane]) = self.lanes()[lane].split_exp2();
        }
        (scale, rest)
    }
    /// self^exponent, for self > 0.
    #[inline(never)]
    fn powf(mut self, exponent: Self) -> Self {
        for (v, e) in self.lanes_mut().iter_mut().zip(exponent.lanes()) {
            *v = v.powf(*e);
        }
        self
    }

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
        // With `s = (m - c)/(m + c)`, `ln(m/c) = 2 atanh(s)`. The middle `c = sqrt 2` of the mantissas' range
        // is half a power of two.
        let (exponent, mantissa) = self.exponent_mantissa();
        let middle = Self::splat(std::f64::consts::SQRT_2);
        let s = (mantissa - middle) * (mantissa + middle).recip();
        let s2 = s * s;
        let sum = polynomial(Self::LN_SERIES, s2);
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

    /// Derivative `k`; 0 of a number that carries none.
    fn tangent(&self, k: usize) -> f64 {
        let _ = k;
        0.0
    }

    /// Adds to derivative `k`, where the number carries derivatives.
    fn add_tangent(&mut self, k: usize, by: f64) {
        let _ = (k, by);
    }

    /// The value alone.
    #[inline(always)]
    fn without_tangents(self) -> Self {
        self
    }

    /// Sine and cosine of any angle \[rad\] in one lane.
    #[inline(always)]
    fn sin_cos_of(self, lane: usize) -> [Self::Scalar; 2] {
        let (sin, cos) = self.lane(lane).sin_cos();
        [sin, cos].map(Self::Scalar::splat)
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

    /// The lanes of both, in turns, `[a0 b0 a1 b1 ..]` of the first half of the lanes, then of the second.
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
        let (scale, r) = (self * Self::splat(std::f64::consts::LOG2_E)).split_exp2();
        scale * polynomial(Self::EXP2_SERIES, r)
    }

    /// `(sin t, cos t)` for |t| <= pi/2: within 4e-16 in f64; in f32 within 2e-7 and 7e-7.
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let t2 = self * self;
        let last = Self::SINE_TERMS - 1;
        let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        let (mut sin, mut cos) =
            (Self::splat(sign(last) * TAYLOR[2 * last + 1]), Self::splat(sign(last) * TAYLOR[2 * last]));
        for k in (0..last).rev() {
            sin = sin.fma(t2, Self::splat(sign(k) * TAYLOR[2 * k + 1]));
            cos = cos.fma(t2, Self::splat(sign(k) * TAYLOR[2 * k]));
        }
        (self * sin, cos)
    }

    /// `(sin t, cos t)` for |t| <= pi/4: within 2e-16 in f64, 1e-7 in f32.
    #[inline(always)]
    fn sin_cos_near(self) -> (Self, Self) {
        let t2 = self * self;
        (self * polynomial(Self::SINE_COSINE[0], t2), polynomial(Self::SINE_COSINE[1], t2))
    }

    /// [`Real::sin_cos_near`] within 1e-7: for a step of an iteration that goes on.
    #[inline(always)]
    fn rough_sin_cos_near(self) -> (Self, Self) {
        let t2 = self * self;
        (self * polynomial(f32::SINE_COSINE[0], t2), polynomial(f32::SINE_COSINE[1], t2))
    }
}

/// The operators of a number type, from an expression for each of the four.
macro_rules! operators {
    ($type:ty: $($operator:ident $name:ident |$a:ident, $b:ident| $result:expr;)+) => {
        $(impl $operator for $type {
            type Output = Self;
            #[inline(always)]
            fn $name($a, $b: Self) -> Self {
                $result
            }
        })+
        impl AddAssign for $type {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl Neg for $type {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::splat(-0.0) - self
            }
        }
    };
}
pub(super) use operators;

/// The polynomial with these coefficients, lowest power first.
#[inline(always)]
pub fn polynomial<R: Real>(coefficients: &[f64], x: R) -> R {
    let last = coefficients.len() - 1;
    let mut sum = R::splat(coefficients[last]);
    for k in (0..last).rev() {
        sum = sum.fma(x, R::splat(coefficients[k]));
    }
    sum
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

/// Lanes of the widest number type, and numbers in a [`super::block::Block`].
pub const LANES: usize = 16;
