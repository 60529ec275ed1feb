//! The numbers over which sums with roots and logarithms are written: sixteen in double precision side by
//! side, or those of a [`Real`], exact to single precision.
//!
//! AVX-512 estimates roots and splits numbers into exponent and mantissa; elsewhere the compiler vectorises
//! arrays. The two differ in the last places.

use std::ops::{Add, Mul, Sub};

use super::block::{Block, LANES, ln, rsqrt, rsqrt12};
use crate::number::real::Real;

/// What the antiderivatives of the `cells` rule need of a number.
pub trait Number: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// A square far below that of any distance between a corner of a cell and a centre of rotation. It takes
    /// the place of zero under roots and logarithms.
    const TINY: f64;

    fn splat(x: f64) -> Self;
    /// `self * by + plus`, fused.
    fn mul_add(self, by: Self, plus: Self) -> Self;
    fn abs(self) -> Self;
    fn max(self, other: Self) -> Self;
    /// `self`, negated where `other` is negative.
    fn times_sign(self, other: Self) -> Self;
    /// `sqrt(self)` for normal numbers > 0: to 5e-16, or to single precision.
    fn sqrt(self) -> Self;
    /// `ln(self)` for normal numbers > 0: to 2e-15 of 1 or itself, or to single precision.
    fn ln(self) -> Self;
}

/// A [`Block`] in registers. Arguments go by value so that the compiler keeps them there.
pub trait Vector: Number {
    fn load(x: &Block) -> Self;
    fn store(self) -> Block;
    /// `w/sqrt(x)` to 1e-12 for normal `x` > 0.
    fn over_sqrt(w: f64, x: Self) -> Self;
}

/// Arrays, as the compiler vectorises them.
#[derive(Clone, Copy, Debug)]
pub struct Portable(Block);

/// A loop over the lanes. Closures would not be compiled for the instructions of the calling copy.
macro_rules! each {
    ($lane:ident => $term:expr) => {{
        let mut out = [0.0; LANES];
        for $lane in 0..LANES {
            out[$lane] = $term;
        }
        Portable(out)
    }};
}

macro_rules! operators {
    ($($trait:ident $name:ident $operator:tt),*) => {
        $(impl $trait for Portable {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                each!(i => self.0[i] $operator other.0[i])
            }
        })*
    };
}
operators!(Add add +, Sub sub -, Mul mul *);

impl Number for Portable {
    const TINY: f64 = 1e-34;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([x; LANES])
    }
    #[inline(always)]
    fn mul_add(self, by: Self, plus: Self) -> Self {
        each!(i => self.0[i].mul_add(by.0[i], plus.0[i]))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        each!(i => self.0[i].abs())
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        each!(i => self.0[i].max(other.0[i]))
    }
    #[inline(always)]
    fn times_sign(self, other: Self) -> Self {
        each!(i => self.0[i] * 1f64.copysign(other.0[i]))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        each!(i => self.0[i] * rsqrt(self.0[i]))
    }
    #[inline(always)]
    fn ln(self) -> Self {
        each!(i => ln(self.0[i]))
    }
}

impl Vector for Portable {
    #[inline(always)]
    fn load(x: &Block) -> Self {
        Self(*x)
    }
    #[inline(always)]
    fn store(self) -> Block {
        self.0
    }
    #[inline(always)]
    fn over_sqrt(w: f64, x: Self) -> Self {
        each!(i => w * rsqrt12(x.0[i]))
    }
}

/// Roots and logarithms are exact to single precision, whatever the type.
impl<R: Real> Number for R {
    const TINY: f64 = 1e-20;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        R::splat(x)
    }
    #[inline(always)]
    fn mul_add(self, by: Self, plus: Self) -> Self {
        self.fma(by, plus)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Real::max(self, -self)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Real::max(self, other)
    }
    #[inline(always)]
    fn times_sign(self, other: Self) -> Self {
        self * R::select(other.lt(R::splat(0.0)), R::splat(-1.0), R::splat(1.0))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self * self.rsqrt()
    }
    #[inline(always)]
    fn ln(self) -> Self {
        let (exponent, mantissa) = self.exponent_mantissa();
        let t = mantissa - R::splat(1.5);
        let mut sum = R::splat(LN[LN.len() - 1]);
        for k in (0..LN.len() - 1).rev() {
            sum = sum.fma(t, R::splat(LN[k]));
        }
        exponent.fma(R::splat(std::f64::consts::LN_2), sum)
    }
}

/// Chebyshev's polynomial of `ln(3/2 + t)` for |t| <= 1/2, lowest power first. It is within 4e-8.
const LN: [f64; 9] = [
    0.405_465_103_792_990_8,
    0.666_666_166_058_678_7,
    -0.222_221_368_226_873_7,
    0.098_791_751_637_975_38,
    -0.049_409_618_339_370_166,
    0.025_967_329_512_681_707,
    -0.014_338_342_043_373_496,
    0.010_243_828_630_815_965,
    -0.006_151_470_961_718_078,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit_surface::simd::vectorised;

    vectorised! {
        /// `3/sqrt(x)`, `sqrt(x)`, `ln(x)` and `x` with the sign of `ln(x)`.
        fn functions<V>(x: &Block) -> [Block; 4] {
            let v = V::load(x);
            [V::over_sqrt(3.0, v).store(), v.sqrt().store(), v.ln().store(), v.times_sign(v.ln()).store()]
        }
    }

    /// Largest errors of `3/sqrt(x)` and `sqrt(x)`, relative, and of `ln(x)`, over 1 or itself.
    fn worst(functions: impl Fn(&Block) -> [Block; 4]) -> [f64; 3] {
        let mut worst = [0.0f64; 3];
        for k in 0..8000 {
            let x = std::array::from_fn(|i| 1.7f64.powi(k % 60 - 30) * (0.3 + f64::from(k) * 3e-4 + i as f64 * 1e-5));
            let [over, root, ln, signed] = functions(&x);
            for (i, x) in x.iter().enumerate() {
                let errors = [
                    over[i] * x.sqrt() / 3.0 - 1.0,
                    root[i] / x.sqrt() - 1.0,
                    (ln[i] - x.ln()) / x.ln().abs().max(1.0),
                ];
                worst.iter_mut().zip(errors).for_each(|(w, e)| *w = w.max(e.abs()));
                assert_eq!(signed[i], x.copysign(ln[i]));
            }
        }
        worst
    }

    #[test]
    fn roots_and_logarithms_are_those_of_the_standard_library() {
        let portable = |x: &Block| {
            let v = Portable::load(x);
            let ln = v.ln();
            [Portable::over_sqrt(3.0, v).store(), v.sqrt().store(), ln.store(), v.times_sign(ln).store()]
        };
        for [over, root, ln] in [worst(portable), worst(functions)] {
            assert!(over < 1e-12 && root < 5e-16 && ln < 2e-15, "{over:e}, {root:e}, {ln:e}");
        }
    }

    #[test]
    fn logarithms_in_single_precision_are_those_of_the_standard_library() {
        for k in 0..40_000 {
            let x = 1.7f32.powi(k % 60 - 30) * (0.3 + k as f32 * 1e-4);
            let wanted = f64::from(x).ln();
            assert!((f64::from(Number::ln(x)) - wanted).abs() < 1.5e-7 * wanted.abs().max(1.0), "{x}");
        }
    }
}
