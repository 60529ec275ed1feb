//! Registers of AVX2, with FMA.
//!
//! SAFETY throughout, where nothing else is said: the types exist only where the instructions do, see
//! [`super`].
#![expect(unsafe_code, reason = "intrinsics, behind the choice of the type")]

use std::arch::x86_64::*;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use super::newton::sharper_rsqrt;
use crate::number::block::{RSQRT_SEED, RSQRT_SERIES};
use crate::number::real::{LANES, Real, operators, polynomial};
use crate::number::simd::Simd;

// Estimates of 12 bits, and a series that triples them: division and square root would hold up the
// processor's one divider for several times as long. Sums are in double precision, in a fixed order.

lanes! {
    /// Eight `f32` in a register of AVX2.
    Avx2F32: Avx2, 8 of f32 in __m256, mask __m256, bits u32,
    set _mm256_set1_ps, integer _mm256_set1_epi32, load _mm256_loadu_ps, store _mm256_storeu_ps,
    add _mm256_add_ps, sub _mm256_sub_ps, mul _mm256_mul_ps, div _mm256_div_ps, fma _mm256_fmadd_ps,
    min _mm256_min_ps, max _mm256_max_ps, sqrt _mm256_sqrt_ps,
    and _mm256_and_ps, and not _mm256_andnot_ps, xor _mm256_xor_ps,
    to integers _mm256_castps_si256, from integers _mm256_castsi256_ps, add integers _mm256_add_epi32,
    shift _mm256_slli_epi32 by 23,
    indices: load _mm256_loadu_si256, store _mm256_storeu_si256, set _mm256_set1_epi32, add _mm256_add_epi32,
    min _mm256_min_epu32, truncate _mm256_cvttps_epi32, gather |from, at| _mm256_i32gather_ps::<4>(from, at),
    lt _mm256_cmp_ps::<_CMP_LT_OQ>, select |mask, a, b| _mm256_blendv_ps(b.0, a.0, mask),
    masks: and |a, b| _mm256_and_ps(a, b), not |mask| _mm256_xor_ps(mask, _mm256_castsi256_ps(_mm256_set1_epi32(-1))),
    bits |mask| _mm256_movemask_ps(mask),
    pack |mask, v| permute_ps(v, &PACK[_mm256_movemask_ps(mask) as usize]),
    spread |mask, old, new| _mm256_blendv_ps(old, permute_ps(new, &SPREAD[_mm256_movemask_ps(mask) as usize]), mask),
    sum sum_ps,
    #[inline(always)]
    fn exponent_mantissa(self) -> (Self, Self) {
        // The integer as the last bits of a number, as for one number.
        let magic = Self::splat(Self::ROUNDER);
        // SAFETY: as above.
        let (exponent, mantissa) = unsafe {
            let exponent = _mm256_castsi256_ps(_mm256_srli_epi32::<23>(_mm256_castps_si256(self.0)));
            let below = _mm256_castsi256_ps(_mm256_set1_epi32((1 << 23) - 1));
            let one = Self::splat(1.0);
            (_mm256_or_ps(exponent, magic.0), _mm256_or_ps(_mm256_and_ps(self.0, below), one.0))
        };
        (Self(exponent) - Self::splat(Self::ROUNDER + 127.0), Self(mantissa))
    }
    #[inline(always)]
    fn approx_recip(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_rcp_ps(self.0) })
    }
    #[inline(always)]
    fn approx_rsqrt(self) -> Self {
        // SAFETY: as above.
        Self(unsafe { _mm256_rsqrt_ps(self.0) })
    }
    #[inline(always)]
    fn recip(self) -> Self {
        let y = self.approx_recip();
        let e = (-self).fma(y, Self::splat(1.0));
        y.fma(e.fma(e, e), y)
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        let y = self.approx_rsqrt();
        let e = (-(self * y)).fma(y, Self::splat(1.0));
        y.fma(e * Self::splat(0.375).fma(e, Self::splat(0.5)), y)
    }
}

lanes! {
    /// Four `f64` in a register of AVX2.
    Avx2F64: Avx2, 4 of f64 in __m256d, mask __m256d, bits u64,
    set _mm256_set1_pd, integer _mm256_set1_epi64x, load _mm256_loadu_pd, store _mm256_storeu_pd,
    add _mm256_add_pd, sub _mm256_sub_pd, mul _mm256_mul_pd, div _mm256_div_pd, fma _mm256_fmadd_pd,
    min _mm256_min_pd, max _mm256_max_pd, sqrt _mm256_sqrt_pd,
    and _mm256_and_pd, and not _mm256_andnot_pd, xor _mm256_xor_pd,
    to integers _mm256_castpd_si256, from integers _mm256_castsi256_pd, add integers _mm256_add_epi64,
    shift _mm256_slli_epi64 by 52,
    indices: load _mm_loadu_si128, store _mm_storeu_si128, set _mm_set1_epi32, add _mm_add_epi32,
    min _mm_min_epu32, truncate _mm256_cvttpd_epi32, gather |from, at| _mm256_i32gather_pd::<8>(from, at),
    lt _mm256_cmp_pd::<_CMP_LT_OQ>, select |mask, a, b| _mm256_blendv_pd(b.0, a.0, mask),
    masks: and |a, b| _mm256_and_pd(a, b), not |mask| _mm256_xor_pd(mask, _mm256_castsi256_pd(_mm256_set1_epi32(-1))),
    bits |mask| _mm256_movemask_pd(mask),
    pack |mask, v| permute_pd(v, &PACK[TWICE[_mm256_movemask_pd(mask) as usize]]),
    spread |mask, old, new|
        _mm256_blendv_pd(old, permute_pd(new, &SPREAD[TWICE[_mm256_movemask_pd(mask) as usize]]), mask),
    sum sum_pd,
    #[inline(always)]
    fn exponent_mantissa(self) -> (Self, Self) {
        // The integer as the last bits of a number, as for one number.
        let magic = Self::splat(Self::ROUNDER);
        // SAFETY: as above.
        let (exponent, mantissa) = unsafe {
            let exponent = _mm256_castsi256_pd(_mm256_srli_epi64::<52>(_mm256_castpd_si256(self.0)));
            let below = _mm256_castsi256_pd(_mm256_set1_epi64x((1 << 52) - 1));
            let one = Self::splat(1.0);
            (_mm256_or_pd(exponent, magic.0), _mm256_or_pd(_mm256_and_pd(self.0, below), one.0))
        };
        (Self(exponent) - Self::splat(Self::ROUNDER + 1023.0), Self(mantissa))
    }
    #[inline(always)]
    fn over_sqrt(self, x: Self) -> Self {
        let y = estimate_pd(x);
        let e = (-(x * y)).fma(y, Self::splat(1.0));
        self * (y * polynomial(&RSQRT_SERIES, e))
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        let mut y = estimate_pd(self);
        for _ in 0..4 {
            y = sharper_rsqrt(self, y);
        }
        y
    }
}

/// For every set of eight lanes, which lane goes where if they are packed to the front; AVX2 has no
/// instruction for that.
static PACK: [[u32; 8]; 256] = orders(false);
/// The way back.
static SPREAD: [[u32; 8]; 256] = orders(true);

const fn orders(spread: bool) -> [[u32; 8]; 256] {
    let mut table = [[0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut lane, mut at) = (0, 0);
        while lane < 8 {
            if (bits >> lane) & 1 == 1 {
                let (to, from) = if spread { (lane, at) } else { (at, lane) };
                table[bits][to] = from as u32;
                at += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    table
}

/// Every bit of four doubled: the halves of four `f64`.
const TWICE: [usize; 16] = {
    let mut table = [0; 16];
    let mut bits = 0;
    while bits < 16 {
        let mut lane = 0;
        while lane < 4 {
            table[bits] |= (((bits >> lane) & 1) * 3) << (2 * lane);
            lane += 1;
        }
        bits += 1;
    }
    table
};

#[inline(always)]
unsafe fn permute_ps(v: __m256, order: &[u32; 8]) -> __m256 {
    // SAFETY: called by a type of AVX2; eight indices.
    unsafe { _mm256_permutevar8x32_ps(v, _mm256_loadu_si256(order.as_ptr().cast())) }
}

#[inline(always)]
unsafe fn permute_pd(v: __m256d, order: &[u32; 8]) -> __m256d {
    // SAFETY: as above.
    unsafe { _mm256_castps_pd(permute_ps(_mm256_castpd_ps(v), order)) }
}

#[inline(always)]
unsafe fn sum_ps(v: __m256) -> f64 {
    // SAFETY: called by a type of AVX2; so below.
    unsafe {
        let (low, high) = (_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        sum_pd(_mm256_add_pd(_mm256_cvtps_pd(low), _mm256_cvtps_pd(high)))
    }
}

#[inline(always)]
unsafe fn sum_pd(v: __m256d) -> f64 {
    // SAFETY: as above.
    unsafe {
        let pair = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
        _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
    }
}

/// There is no estimate in AVX2; this one is that of [`crate::number::block::rsqrt`].
#[inline(always)]
fn estimate_pd(x: Avx2F64) -> Avx2F64 {
    // SAFETY: as above.
    Avx2F64(unsafe {
        let half = _mm256_srli_epi64::<1>(_mm256_castpd_si256(x.0));
        _mm256_castsi256_pd(_mm256_sub_epi64(_mm256_set1_epi64x(RSQRT_SEED as i64), half))
    })
}
