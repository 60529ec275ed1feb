//! Sixteen numbers in two registers of AVX-512.
#![expect(
    unsafe_code,
    reason = "intrinsics, in copies of functions that run only where the instructions were detected"
)]

use std::arch::x86_64::*;
use std::ops::{Add, Mul, Sub};

use super::block::Block;
use super::vector::{Number, Vector};

#[derive(Clone, Copy, Debug)]
pub struct Avx512(__m512d, __m512d);

/// Reciprocals, to a few bits, of the middles of 16 equal parts of [1, 2).
const RECIPROCALS: [f64; 16] = {
    let (mut reciprocals, mut k) = ([0.0; 16], 0);
    while k < 16 {
        reciprocals[k] = (4096 * 32 / (33 + 2 * k)) as f64 / 4096.0;
        k += 1;
    }
    reciprocals
};
/// Minus their logarithms.
const LOGARITHMS: [f64; 16] = [
    0.030_992_935_588_092_248,
    0.089_856_329_121_861_05,
    0.145_319_348_376_564_88,
    0.198_069_913_762_093_8,
    0.248_110_859_833_178_43,
    0.295_525_249_912_806_8,
    0.341_170_757_402_767_14,
    0.384_686_394_838_929_2,
    0.426_435_409_057_455_25,
    0.466_104_988_830_078_2,
    0.504_578_899_197_927_5,
    0.541_650_689_620_601_6,
    0.577_536_641_956_162_2,
    0.612_053_342_824_916_3,
    0.645_473_711_090_588_4,
    0.677_642_994_023_980_1,
];

/// `(ln(1 + f) - f)/f^2`, lowest power first: a series, as `f` is below 1/32.
const LN: [f64; 8] = [-1.0 / 2.0, 1.0 / 3.0, -1.0 / 4.0, 1.0 / 5.0, -1.0 / 6.0, 1.0 / 7.0, -1.0 / 8.0, 1.0 / 9.0];

/// An intrinsic on both registers.
macro_rules! both {
    ($intrinsic:ident; $($arg:expr),*) => {
        // SAFETY: called where AVX-512 was detected; so everywhere in this file.
        unsafe { Avx512($intrinsic($($arg.0),*), $intrinsic($($arg.1),*)) }
    };
}

/// In which of the 16 parts a number's mantissa lies, in the four lowest bits. The permutation that looks up
/// the tables ignores the other bits.
#[inline(always)]
unsafe fn parts(x: __m512d) -> __m512d {
    // SAFETY: as above.
    unsafe { _mm512_castsi512_pd(_mm512_srli_epi64::<48>(_mm512_castpd_si512(x))) }
}

#[inline(always)]
unsafe fn mantissa(x: __m512d) -> __m512d {
    // SAFETY: as above.
    unsafe { _mm512_getmant_pd::<_MM_MANT_NORM_1_2, _MM_MANT_SIGN_ZERO>(x) }
}

#[inline(always)]
unsafe fn entry(table: &[f64; 16], part: __m512d) -> __m512d {
    let Avx512(low, high) = Avx512::load(table);
    // SAFETY: as above.
    unsafe { _mm512_permutex2var_pd(low, _mm512_castpd_si512(part), high) }
}

#[inline(always)]
unsafe fn reciprocal(part: __m512d) -> __m512d {
    // SAFETY: as above.
    unsafe { entry(&RECIPROCALS, part) }
}

#[inline(always)]
unsafe fn logarithm(part: __m512d) -> __m512d {
    // SAFETY: as above.
    unsafe { entry(&LOGARITHMS, part) }
}

macro_rules! operators {
    ($($trait:ident $name:ident $intrinsic:ident),*) => {
        $(impl $trait for Avx512 {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                both!($intrinsic; self, other)
            }
        })*
    };
}
operators!(Add add _mm512_add_pd, Sub sub _mm512_sub_pd, Mul mul _mm512_mul_pd);

impl Number for Avx512 {
    const TINY: f64 = 1e-34;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: as above.
        let x = unsafe { _mm512_set1_pd(x) };
        Self(x, x)
    }
    #[inline(always)]
    fn mul_add(self, by: Self, plus: Self) -> Self {
        both!(_mm512_fmadd_pd; self, by, plus)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        both!(_mm512_abs_pd; self)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        both!(_mm512_max_pd; self, other)
    }
    #[inline(always)]
    fn times_sign(self, other: Self) -> Self {
        let sign = both!(_mm512_and_pd; other, Self::splat(-0.0));
        both!(_mm512_xor_pd; self, sign)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let y = both!(_mm512_rsqrt14_pd; self);
        let xy = self * y;
        let e = both!(_mm512_fnmadd_pd; xy, y, Self::splat(1.0));
        let root = xy.mul_add(e * e.mul_add(Self::splat(0.375), Self::splat(0.5)), xy);
        // The residual x - root^2 is below 1e-12 of x, so the estimate is exact enough for 1/(2 root).
        both!(_mm512_fnmadd_pd; root, root, self).mul_add(y * Self::splat(0.5), root)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        let part = both!(parts; self);
        // The product of mantissa and reciprocal is near 1, so the fused subtraction rounds away little.
        let f = both!(mantissa; self).mul_add(both!(reciprocal; part), Self::splat(-1.0));
        let f2 = f * f;
        // Even and odd powers are summed separately, which halves the chain of dependent operations.
        let (mut even, mut odd) = (Self::splat(LN[6]), Self::splat(LN[7]));
        for k in (0..3).rev() {
            even = even.mul_add(f2, Self::splat(LN[2 * k]));
            odd = odd.mul_add(f2, Self::splat(LN[2 * k + 1]));
        }
        let whole = both!(_mm512_getexp_pd; self).mul_add(Self::splat(std::f64::consts::LN_2), both!(logarithm; part));
        odd.mul_add(f, even).mul_add(f2, f) + whole
    }
}

impl Vector for Avx512 {
    #[inline(always)]
    fn load(x: &Block) -> Self {
        // SAFETY: as above; two registers of eight numbers.
        unsafe { Self(_mm512_loadu_pd(x.as_ptr()), _mm512_loadu_pd(x.as_ptr().add(8))) }
    }
    #[inline(always)]
    fn store(self) -> Block {
        let mut out = [0.0; 16];
        // SAFETY: as above.
        unsafe {
            _mm512_storeu_pd(out.as_mut_ptr(), self.0);
            _mm512_storeu_pd(out.as_mut_ptr().add(8), self.1);
        }
        out
    }
    #[inline(always)]
    fn over_sqrt(w: f64, x: Self) -> Self {
        // The estimate has 14 bits; a correction of third order in the residual 1 - x y^2 makes it 1e-12.
        let y = both!(_mm512_rsqrt14_pd; x);
        let e = both!(_mm512_fnmadd_pd; x * y, y, Self::splat(1.0));
        let wy = Self::splat(w) * y;
        wy.mul_add(e * e.mul_add(Self::splat(0.375), Self::splat(0.5)), wy)
    }
}
