//! Registers of AVX-512.
//!
//! SAFETY throughout, where nothing else is said: the types exist only where the instructions do, see
//! [`super`].
#![expect(unsafe_code, reason = "intrinsics, behind the choice of the type")]

use std::arch::x86_64::*;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use super::newton::{sharper_recip, sharper_rsqrt};
use crate::number::real::{LANES, Real, operators, polynomial};
use crate::number::simd::Simd;

// Estimates of 14 bits, and a series that doubles or quadruples them: division and square root would hold up
// the processor's one divider for several times as long. Sums are in double precision, in a fixed order.

lanes! {
    /// Sixteen `f32` in a register of AVX-512.
    Avx512F32: Avx512, 16 of f32 in __m512, mask __mmask16, bits u32,
    set _mm512_set1_ps, integer _mm512_set1_epi32, load _mm512_loadu_ps, store _mm512_storeu_ps,
    add _mm512_add_ps, sub _mm512_sub_ps, mul _mm512_mul_ps, div _mm512_div_ps, fma _mm512_fmadd_ps,
    min _mm512_min_ps, max _mm512_max_ps, sqrt _mm512_sqrt_ps,
    and _mm512_and_ps, and not _mm512_andnot_ps, xor _mm512_xor_ps,
    to integers _mm512_castps_si512, from integers _mm512_castsi512_ps, add integers _mm512_add_epi32,
    shift _mm512_slli_epi32 by 23,
    indices: load _mm512_loadu_si512, store _mm512_storeu_si512, set _mm512_set1_epi32, add _mm512_add_epi32,
    min _mm512_min_epu32, truncate _mm512_cvttps_epi32, gather |from, at| _mm512_i32gather_ps::<4>(at, from),
    lt _mm512_cmp_ps_mask::<_CMP_LT_OQ>, select |mask, a, b| _mm512_mask_blend_ps(mask, b.0, a.0),
    masks: and |a, b| a & b, not |mask| !mask, bits |mask| mask,
    pack |mask, v| _mm512_maskz_compress_ps(mask, v),
    spread |mask, old, new| _mm512_mask_expand_ps(old, mask, new),
    sum sum_ps,
    #[inline(always)]
    fn from_bitmask(bits: u32) -> Self::Mask {
        bits as __mmask16
    }
    #[inline(always)]
    fn exponent_mantissa(self) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let mantissa = _mm512_getmant_ps::<_MM_MANT_NORM_1_2, _MM_MANT_SIGN_ZERO>(self.0);
            (Self(_mm512_getexp_ps(self.0)), Self(mantissa))
        }
    }
    #[inline(always)]
    fn exp_negative(self) -> Self {
        let x = self * Self::splat(std::f64::consts::LOG2_E);
        // SAFETY: as above.
        let r = Self(unsafe { _mm512_reduce_ps::<0>(x.0) });
        let power = polynomial(Self::EXP2_SERIES, r);
        Self(unsafe { _mm512_scalef_ps(power.0, (x - r).0) })
    }
    #[inline(always)]
    fn approx_recip(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_rcp14_ps(self.0) })
    }
    #[inline(always)]
    fn approx_rsqrt(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm512_rsqrt14_ps(self.0) })
    }
    #[inline(always)]
    fn approx_sqrt(self) -> Self {
        self * self.approx_rsqrt()
    }
    #[inline(always)]
    fn recip(self) -> Self {
        sharper_recip(self, self.approx_recip())
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        sharper_rsqrt(self, self.approx_rsqrt())
    }
}

lanes! {
    /// Eight `f64` in a register of AVX-512.
    Avx512F64: Avx512, 8 of f64 in __m512d, mask __mmask8, bits u64,
    set _mm512_set1_pd, integer _mm512_set1_epi64, load _mm512_loadu_pd, store _mm512_storeu_pd,
    add _mm512_add_pd, sub _mm512_sub_pd, mul _mm512_mul_pd, div _mm512_div_pd, fma _mm512_fmadd_pd,
    min _mm512_min_pd, max _mm512_max_pd, sqrt _mm512_sqrt_pd,
    and _mm512_and_pd, and not _mm512_andnot_pd, xor _mm512_xor_pd,
    to integers _mm512_castpd_si512, from integers _mm512_castsi512_pd, add integers _mm512_add_epi64,
    shift _mm512_slli_epi64 by 52,
    indices: load _mm256_loadu_si256, store _mm256_storeu_si256, set _mm256_set1_epi32, add _mm256_add_epi32,
    min _mm256_min_epu32, truncate _mm512_cvttpd_epi32, gather |from, at| _mm512_i32gather_pd::<8>(at, from),
    lt _mm512_cmp_pd_mask::<_CMP_LT_OQ>, select |mask, a, b| _mm512_mask_blend_pd(mask, b.0, a.0),
    masks: and |a, b| a & b, not |mask| !mask, bits |mask| mask,
    pack |mask, v| _mm512_maskz_compress_pd(mask, v),
    spread |mask, old, new| _mm512_mask_expand_pd(old, mask, new),
    sum _mm512_reduce_add_pd,
    #[inline(always)]
    fn from_bitmask(bits: u32) -> Self::Mask {
        bits as __mmask8
    }
    #[inline(always)]
    fn exponent_mantissa(self) -> (Self, Self) {
        // SAFETY: as above.
        unsafe {
            let mantissa = _mm512_getmant_pd::<_MM_MANT_NORM_1_2, _MM_MANT_SIGN_ZERO>(self.0);
            (Self(_mm512_getexp_pd(self.0)), Self(mantissa))
        }
    }
    #[inline(always)]
    fn ln(self) -> Self {
        // Multiplied by an estimate of its reciprocal, whose logarithm is in a table, the mantissa is so near
        // 1 that the series is short. A division, which the other types take, would need more operations.
        let (exponent, mantissa) = self.exponent_mantissa();
        // SAFETY: as above; the permutation looks at the four lowest bits alone, here the mantissa's highest.
        let [reciprocal, log] = unsafe {
            let part = _mm512_srli_epi64::<48>(_mm512_castpd_si512(self.0));
            [&RECIPROCALS, &LOGARITHMS].map(|table| {
                let [low, high] = [_mm512_loadu_pd(table.as_ptr()), _mm512_loadu_pd(table.as_ptr().add(8))];
                Self(_mm512_permutex2var_pd(low, part, high))
            })
        };
        let f = mantissa.fma(reciprocal, Self::splat(-1.0));
        polynomial(LN_NEAR_ONE, f).fma(f, exponent.fma(Self::splat(std::f64::consts::LN_2), log))
    }
    #[inline(always)]
    fn over_sqrt(self, x: Self) -> Self {
        // A correction of third order of the estimate is within 1e-12.
        let y = estimate_pd(x);
        let e = (-(x * y)).fma(y, Self::splat(1.0));
        let estimate = self * y;
        estimate.fma(e * e.fma(Self::splat(0.375), Self::splat(0.5)), estimate)
    }
    #[inline(always)]
    fn exp_negative(self) -> Self {
        let x = self * Self::splat(std::f64::consts::LOG2_E);
        // SAFETY: as above.
        let r = Self(unsafe { _mm512_reduce_pd::<0>(x.0) });
        let power = polynomial(Self::EXP2_SERIES, r);
        Self(unsafe { _mm512_scalef_pd(power.0, (x - r).0) })
    }
    #[inline(always)]
    fn approx_sqrt(self) -> Self {
        self * estimate_pd(self)
    }
    #[inline(always)]
    fn recip(self) -> Self {
        // SAFETY: as above.
        let y = Self(unsafe { _mm512_rcp14_pd(self.0) });
        let e = (-self).fma(y, Self::splat(1.0));
        let sharper = y.fma(e, y);
        sharper.fma(e * e, sharper)
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        let y = estimate_pd(self);
        let e = (-(self * y)).fma(y, Self::splat(1.0));
        (y * e).fma(polynomial(&[0.5, 0.375, 0.3125], e), y)
    }
}

/// `1/sqrt(x)` to 14 bits.
#[inline(always)]
fn estimate_pd(x: Avx512F64) -> Avx512F64 {
    // SAFETY: as above.
    Avx512F64(unsafe { _mm512_rsqrt14_pd(x.0) })
}

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

/// `ln(1 + f)/f` for |f| up to 0.0306, which a mantissa times its part's reciprocal is from 1, within
/// 1e-17/f; lowest power first.
const LN_NEAR_ONE: &[f64] = &[
    0.999_999_999_999_997_1,
    -0.499_999_999_999_997_35,
    0.333_333_333_375_475_7,
    -0.250_000_000_037_929_3,
    0.199_999_837_124_999_82,
    -0.166_666_520_075_085_37,
    0.143_090_239_888_452_5,
    -0.125_209_791_771_133_53,
];

#[inline(always)]
unsafe fn sum_ps(v: __m512) -> f64 {
    // SAFETY: called by a type of AVX-512.
    unsafe {
        let (low, high) = (_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v));
        _mm512_reduce_add_pd(_mm512_add_pd(_mm512_cvtps_pd(low), _mm512_cvtps_pd(high)))
    }
}
