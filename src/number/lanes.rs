//! The number types without intrinsics: single numbers, and small arrays that the compiler turns into vector
//! registers.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use super::real::{Real, operators};

/// A small array of numbers, which the compiler turns into the vector registers that every processor has.
/// Where there is a type made of the processor's own instructions ([`super::x86`]), that one is faster.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct Lanes<T>([T; WIDTH]);

/// Lanes of [`Lanes`].
const WIDTH: usize = 4;

/// What each lane has, one after the other without a loop: the compiler would have to unroll one in every
/// operation.
#[inline(always)]
fn lanes<T>(of: impl Fn(usize) -> T) -> [T; WIDTH] {
    [of(0), of(1), of(2), of(3)]
}

/// Whether every processor of this kind multiplies and adds in one instruction. Elsewhere `mul_add` is a call
/// into the library.
const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

macro_rules! real {
    (
        $t:ty, $bits:ty, $tiny:expr, $iterations:expr, $exp:expr, $terms:expr, $near:expr, $atan:expr,
        $ln:expr, $root:expr, $magic:expr, $bias:expr, $mantissa:expr
    ) => {
        impl Real for $t {
            type Scalar = Self;
            type Mask = bool;
            type Each<T: Copy + Send + Sync> = [T; 1];
            const LANES: usize = 1;
            const TINY: f64 = $tiny;
            const TRANSITION_ITERATIONS: usize = $iterations;
            const EXP2_SERIES: &'static [f64] = $exp;
            const SINE_TERMS: usize = $terms;
            const SINE_COSINE: [&'static [f64]; 2] = $near;
            const ATAN_TERMS: usize = $atan;
            const LN_SERIES: &'static [f64] = $ln;
            const ROUNDER: f64 = $magic;
            const ROOT_RESIDUAL: f64 = $root;

            #[inline(always)]
            fn each<T: Copy + Send + Sync>(of: T) -> [T; 1] {
                [of]
            }
            #[inline(always)]
            fn splat(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn lanes(&self) -> &[Self] {
                std::slice::from_ref(self)
            }
            #[inline(always)]
            fn lanes_mut(&mut self) -> &mut [Self] {
                std::slice::from_mut(self)
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
            fn bitmask(mask: bool) -> u32 {
                u32::from(mask)
            }
            #[inline(always)]
            fn and(a: bool, b: bool) -> bool {
                a && b
            }
            #[inline(always)]
            fn not(mask: bool) -> bool {
                !mask
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
            fn split_exp2(self) -> (Self, Self) {
                // Adding and subtracting 1.5 2^mantissa rounds to an integer, and leaves it in the low bits.
                let shifted = self + $magic;
                let scale = <$t>::from_bits(shifted.to_bits().wrapping_add($bias) << $mantissa);
                (scale, self - (shifted - $magic))
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
                Self(lanes(|i| f(self.0[i])))
            }
            #[inline(always)]
            fn zip(self, other: Self, f: impl Fn($t, $t) -> $t) -> Self {
                Self(lanes(|i| f(self.0[i], other.0[i])))
            }
        }

        operators! { Lanes<$t>:
            Add add |self, other| self.zip(other, |a, b| a + b);
            Sub sub |self, other| self.zip(other, |a, b| a - b);
            Mul mul |self, other| self.zip(other, |a, b| a * b);
            Div div |self, other| self.zip(other, |a, b| a / b);
        }

        impl Real for Lanes<$t> {
            /// All bits of a lane, or none.
            type Mask = [$bits; WIDTH];
            type Scalar = $t;
            type Each<T: Copy + Send + Sync> = [T; WIDTH];
            const LANES: usize = WIDTH;

            #[inline(always)]
            fn each<T: Copy + Send + Sync>(of: T) -> [T; WIDTH] {
                [of; WIDTH]
            }
            #[inline(always)]
            fn splat(value: f64) -> Self {
                Self([value as $t; WIDTH])
            }
            #[inline(always)]
            fn lanes(&self) -> &[$t] {
                &self.0
            }
            #[inline(always)]
            fn lanes_mut(&mut self) -> &mut [$t] {
                &mut self.0
            }
            #[inline(always)]
            fn fma(self, by: Self, plus: Self) -> Self {
                Self(lanes(
                    |i| {
                        if FUSED { self.0[i].mul_add(by.0[i], plus.0[i]) } else { self.0[i] * by.0[i] + plus.0[i] }
                    },
                ))
            }
            #[inline(always)]
            fn lt(self, other: Self) -> Self::Mask {
                lanes(|i| if self.0[i] < other.0[i] { <$bits>::MAX } else { 0 })
            }
            #[inline(always)]
            fn select(mask: Self::Mask, a: Self, b: Self) -> Self {
                Self(lanes(|i| <$t>::from_bits((a.0[i].to_bits() & mask[i]) | (b.0[i].to_bits() & !mask[i]))))
            }
            #[inline(always)]
            fn any(mask: Self::Mask) -> bool {
                let [a, b, c, d] = mask;
                (a | b) | (c | d) != 0
            }
            #[inline(always)]
            fn bitmask(mask: Self::Mask) -> u32 {
                let [a, b, c, d] = lanes(|i| u32::from(mask[i] != 0) << i);
                (a | b) | (c | d)
            }
            #[inline(always)]
            fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask {
                lanes(|i| a[i] & b[i])
            }
            #[inline(always)]
            fn not(mask: Self::Mask) -> Self::Mask {
                lanes(|i| !mask[i])
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
        }
    };
}

real!(f64, u64, 1e-280, 2, EXP2_DOUBLE, 11, NEAR_DOUBLE, 20, LN_DOUBLE, 1e-9, 6_755_399_441_055_744.0, 1023, 52);
real!(f32, u32, 1e-30, 1, EXP2_SINGLE, 6, NEAR_SINGLE, 9, LN_SINGLE, 1e-5, 12_582_912.0, 127, 23);

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

/// Polynomials of least relative error for [`Real::EXP2_SERIES`]: within 1e-17 and 8e-8.
const EXP2_DOUBLE: &[f64] = &[
    1.0,
    std::f64::consts::LN_2,
    0.240_226_506_959_101_55,
    0.055_504_108_664_819_92,
    0.009_618_129_107_588_337,
    0.001_333_355_814_679_012,
    0.000_154_035_304_625_114_4,
    1.525_273_348_978_799_7e-5,
    1.321_543_309_117_148_3e-6,
    1.017_819_810_877_755_6e-7,
    7.074_105_359_801_098e-9,
    4.435_269_214_488_552e-10,
];
const EXP2_SINGLE: &[f64] = &[
    1.000_000_071_654_41,
    0.693_146_967_062_582_5,
    0.240_221_197_227_455_36,
    0.055_507_132_757_482_71,
    0.009_675_541_393_929_61,
    0.001_327_647_151_625_036,
];

/// Polynomials of least error for [`Real::SINE_COSINE`]: within 5e-17 and 3e-8.
const NEAR_DOUBLE: [&[f64]; 2] = [
    &[
        1.0,
        -0.166_666_666_666_666_16,
        0.008_333_333_333_319_995,
        -0.000_198_412_698_283_969_25,
        2.755_731_329_721_919_6e-6,
        -2.505_070_556_345_770_8e-8,
        1.589_411_978_095_898_5e-10,
    ],
    &[
        1.0,
        -0.499_999_999_999_992_5,
        0.041_666_666_666_472_34,
        -0.001_388_888_886_998_023_2,
        2.480_157_853_880_217_7e-5,
        -2.755_523_387_562_763e-7,
        2.063_045_228_093_023e-9,
    ],
];
const NEAR_SINGLE: [&[f64]; 2] = [
    &[0.999_999_996_760_507_5, -0.166_666_502_192_751_92, 0.008_332_016_188_862_734, -0.000_195_017_881_006_972_8],
    &[0.999_999_972_412_453_5, -0.499_998_566_534_537_8, 0.041_655_024_586_752_44, -0.001_358_587_865_378_169],
];

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
