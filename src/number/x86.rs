//! Lanes in the vector registers of x86-64: AVX2 with FMA, and AVX-512.
//!
//! A value of these types exists only where [`Simd::widest`] has found the instructions: whoever chooses the
//! type asks it. Methods are inlined into the copies of a sweep that are compiled for the same instructions,
//! and cost a call each elsewhere.
#![expect(unsafe_code, reason = "intrinsics, behind the choice of the type")]

use std::arch::x86_64::*;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use super::block::{RSQRT_SEED, RSQRT_SERIES};
use super::real::{LANES, Real};
use super::simd::Simd;

macro_rules! lanes {
    (
        $(#[$doc:meta])*
        $name:ident: $simd:ident, $lanes:literal of $t:ident in $register:ident, mask $mask:ident, bits $bits:ident,
        set $set:ident, integer $set_int:ident,
        add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident, fma $fma:ident,
        min $min:ident, max $max:ident, sqrt $sqrt:ident,
        and $and_lanes:ident, and not $and_not:ident, xor $xor:ident,
        to integers $to_int:ident, from integers $from_int:ident, add integers $add_int:ident,
        shift $shift:ident by $mantissa:literal,
        lt $lt:expr, select $select:expr, and $and:expr, mask bits $mask_bits:expr,
        recip $recip:expr, rsqrt $rsqrt:expr, sum $sum:ident, $($more:item)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name($register);

        impl Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: the type exists only where its instructions do; so everywhere in this file.
                Self(unsafe { $add(self.0, other.0) })
            }
        }
        impl AddAssign for $name {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $sub(self.0, other.0) })
            }
        }
        impl Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $mul(self.0, other.0) })
            }
        }
        impl Div for $name {
            type Output = Self;
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $div(self.0, other.0) })
            }
        }
        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::splat(-0.0) - self
            }
        }

        impl Real for $name {
            type Scalar = $t;
            type Mask = $mask;
            const LANES: usize = $lanes;
            const SIMD: Simd = Simd::$simd;
            const TINY: f64 = <$t as Real>::TINY;
            const TRANSITION_ITERATIONS: usize = <$t as Real>::TRANSITION_ITERATIONS;
            const EXP_DEGREE: usize = <$t as Real>::EXP_DEGREE;
            const SINE_TERMS: usize = <$t as Real>::SINE_TERMS;
            const APPROACH_TERMS: usize = <$t as Real>::APPROACH_TERMS;
            const ATAN_TERMS: usize = <$t as Real>::ATAN_TERMS;
            const LN_SERIES: &'static [f64] = <$t as Real>::LN_SERIES;
            const ROUNDER: f64 = <$t as Real>::ROUNDER;
            const ROOT_RESIDUAL: f64 = <$t as Real>::ROOT_RESIDUAL;

            #[inline(always)]
            fn splat(value: f64) -> Self {
                // SAFETY: as above.
                Self(unsafe { $set(value as $t) })
            }
            fn pack(values: &[f64]) -> Self {
                let mut out = Self::splat(0.0);
                for (to, from) in out.lanes_mut().iter_mut().zip(values) {
                    *to = *from as $t;
                }
                out
            }
            #[inline(always)]
            fn lane(self, lane: usize) -> f64 {
                f64::from(self.lanes()[lane])
            }
            #[inline(always)]
            fn lanes(&self) -> &[$t] {
                // SAFETY: a register is its lanes side by side, aligned for more than one of them.
                unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), $lanes) }
            }
            #[inline(always)]
            fn lanes_mut(&mut self) -> &mut [$t] {
                // SAFETY: as above, and borrowed as long.
                unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(self).cast(), $lanes) }
            }
            #[inline(always)]
            fn reduce_sum(self) -> f64 {
                // SAFETY: as above.
                unsafe { $sum(self.0) }
            }
            #[inline(always)]
            fn fma(self, by: Self, plus: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $fma(self.0, by.0, plus.0) })
            }
            #[inline(always)]
            fn lt(self, other: Self) -> $mask {
                // SAFETY: as above.
                unsafe { $lt(self.0, other.0) }
            }
            #[inline(always)]
            fn select(mask: $mask, a: Self, b: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $select(mask, a.0, b.0) })
            }
            #[inline(always)]
            fn any(mask: $mask) -> bool {
                Self::bitmask(mask) != 0
            }
            #[inline(always)]
            fn bitmask(mask: $mask) -> u32 {
                // SAFETY: as above.
                #[allow(unused_unsafe, reason = "masks of AVX-512 are integers")]
                unsafe {
                    $mask_bits(mask) as u32
                }
            }
            #[inline(always)]
            fn and(a: $mask, b: $mask) -> $mask {
                // SAFETY: as above.
                #[allow(unused_unsafe, reason = "masks of AVX-512 are integers")]
                unsafe {
                    $and(a, b)
                }
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $min(self.0, other.0) })
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $max(self.0, other.0) })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $and_not($set(-0.0), self.0) })
            }
            #[inline(always)]
            fn times_sign(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $xor(self.0, $and_lanes(other.0, $set(-0.0))) })
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn recip(self) -> Self {
                $recip(self)
            }
            #[inline(always)]
            fn rsqrt(self) -> Self {
                $rsqrt(self)
            }
            #[inline(always)]
            fn split_exp(self) -> (Self, Self) {
                // Adding and subtracting 1.5 2^mantissa rounds to an integer, and leaves it in the low bits.
                const MANTISSA: u32 = $mantissa;
                let magic = Self::splat(1.5 * (1u64 << MANTISSA) as f64);
                let shifted = self.fma(Self::splat(std::f64::consts::LOG2_E), magic);
                let k = -(shifted - magic);
                let bias = (<$bits>::MAX >> (MANTISSA + 2)) as _;
                // SAFETY: as above.
                let scale = unsafe {
                    let sum = $add_int($to_int(shifted.0), $set_int(bias));
                    Self($from_int($shift::<$mantissa>(sum)))
                };
                (scale, k.fma(Self::splat(std::f64::consts::LN_2), self))
            }
            #[inline(never)]
            fn powf(self, exponent: Self) -> Self {
                let mut out = self;
                for (v, e) in out.lanes_mut().iter_mut().zip(exponent.lanes()) {
                    *v = v.powf(*e);
                }
                out
            }

            $($more)*
        }
    };
}

/// One Newton step for `1/x`.
#[inline(always)]
fn sharper_recip<R: Real>(x: R, y: R) -> R {
    y.fma((-x).fma(y, R::splat(1.0)), y)
}

/// One Newton step for `1/sqrt(x)`.
#[inline(always)]
fn sharper_rsqrt<R: Real>(x: R, y: R) -> R {
    y.fma((R::splat(-0.5) * x * y).fma(y, R::splat(0.5)), y)
}

lanes! {
    /// Sixteen `f32` in a register of AVX-512.
    Avx512F32: Avx512, 16 of f32 in __m512, mask __mmask16, bits u32,
    set _mm512_set1_ps, integer _mm512_set1_epi32,
    add _mm512_add_ps, sub _mm512_sub_ps, mul _mm512_mul_ps, div _mm512_div_ps, fma _mm512_fmadd_ps,
    min _mm512_min_ps, max _mm512_max_ps, sqrt _mm512_sqrt_ps,
    and _mm512_and_ps, and not _mm512_andnot_ps, xor _mm512_xor_ps,
    to integers _mm512_castps_si512, from integers _mm512_castsi512_ps, add integers _mm512_add_epi32,
    shift _mm512_slli_epi32 by 23,
    lt _mm512_cmp_ps_mask::<_CMP_LT_OQ>, select avx512_select_ps, and and_bits, mask bits same,
    recip avx512_recip_ps, rsqrt avx512_rsqrt_ps, sum avx512_sum_ps,
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
    fn gather(from: &[Self::Scalar], at: &[u32; LANES], plus: usize) -> Self {
        let from = &from[plus..];
        let last = (from.len() - 1).min(i32::MAX as usize) as i32;
        // SAFETY: as above; no index is beyond the last.
        Self(unsafe {
            let at = _mm512_min_epu32(_mm512_loadu_si512(at.as_ptr().cast()), _mm512_set1_epi32(last));
            _mm512_i32gather_ps::<4>(at, from.as_ptr())
        })
    }
    #[inline(always)]
    fn add_to_indices(self, base: &[u32; LANES], to: &mut [u32; LANES]) {
        // SAFETY: as above; both arrays are as long as the longest register.
        unsafe {
            let sum = _mm512_add_epi32(_mm512_loadu_si512(base.as_ptr().cast()), _mm512_cvttps_epi32(self.0));
            _mm512_storeu_si512(to.as_mut_ptr().cast(), sum);
        }
    }
    #[inline(always)]
    fn compress_into(self, mask: Self::Mask, to: &mut [Self], at: usize) {
        assert!(at + Self::LANES <= to.len() * Self::LANES, "a group of room beyond the last");
        // SAFETY: as above, and within the slice.
        unsafe {
            let packed = _mm512_maskz_compress_ps(mask, self.0);
            _mm512_storeu_ps(to.as_mut_ptr().cast::<Self::Scalar>().add(at), packed);
        }
    }
    #[inline(always)]
    fn expand_from(self, mask: Self::Mask, from: &[Self], at: usize) -> Self {
        assert!(at + Self::LANES <= from.len() * Self::LANES, "a group of room beyond the last");
        // SAFETY: as above, and within the slice.
        Self(unsafe {
            let packed = _mm512_loadu_ps(from.as_ptr().cast::<Self::Scalar>().add(at));
            _mm512_mask_expand_ps(self.0, mask, packed)
        })
    }
}

lanes! {
    /// Eight `f64` in a register of AVX-512.
    Avx512F64: Avx512, 8 of f64 in __m512d, mask __mmask8, bits u64,
    set _mm512_set1_pd, integer _mm512_set1_epi64,
    add _mm512_add_pd, sub _mm512_sub_pd, mul _mm512_mul_pd, div _mm512_div_pd, fma _mm512_fmadd_pd,
    min _mm512_min_pd, max _mm512_max_pd, sqrt _mm512_sqrt_pd,
    and _mm512_and_pd, and not _mm512_andnot_pd, xor _mm512_xor_pd,
    to integers _mm512_castpd_si512, from integers _mm512_castsi512_pd, add integers _mm512_add_epi64,
    shift _mm512_slli_epi64 by 52,
    lt _mm512_cmp_pd_mask::<_CMP_LT_OQ>, select avx512_select_pd, and and_bits, mask bits same,
    recip avx512_recip_pd, rsqrt avx512_rsqrt_pd, sum _mm512_reduce_add_pd,
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
        // Multiplied by an estimate of its reciprocal, whose logarithm is in a table, the mantissa is so near 1
        // that the series is short. A division, which the other types take, would need more operations.
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
        let mut sum = Self::splat(LN_NEAR_ONE[LN_NEAR_ONE.len() - 1]);
        for k in (0..LN_NEAR_ONE.len() - 1).rev() {
            sum = sum.fma(f, Self::splat(LN_NEAR_ONE[k]));
        }
        sum.fma(f, exponent.fma(Self::splat(std::f64::consts::LN_2), log))
    }
    #[inline(always)]
    fn over_sqrt(self, x: Self) -> Self {
        // A correction of third order of the estimate is within 1e-12.
        // SAFETY: as above.
        let y = Self(unsafe { _mm512_rsqrt14_pd(x.0) });
        let e = (-(x * y)).fma(y, Self::splat(1.0));
        let estimate = self * y;
        estimate.fma(e * e.fma(Self::splat(0.375), Self::splat(0.5)), estimate)
    }
    #[inline(always)]
    fn from_bitmask(bits: u32) -> Self::Mask {
        bits as __mmask8
    }
    #[inline(always)]
    fn gather(from: &[Self::Scalar], at: &[u32; LANES], plus: usize) -> Self {
        let from = &from[plus..];
        let last = (from.len() - 1).min(i32::MAX as usize) as i32;
        // SAFETY: as above; no index is beyond the last.
        Self(unsafe {
            let at = _mm256_min_epu32(_mm256_loadu_si256(at.as_ptr().cast()), _mm256_set1_epi32(last));
            _mm512_i32gather_pd::<8>(at, from.as_ptr())
        })
    }
    #[inline(always)]
    fn add_to_indices(self, base: &[u32; LANES], to: &mut [u32; LANES]) {
        // SAFETY: as above; both arrays are as long as the longest register.
        unsafe {
            let sum = _mm256_add_epi32(_mm256_loadu_si256(base.as_ptr().cast()), _mm512_cvttpd_epi32(self.0));
            _mm256_storeu_si256(to.as_mut_ptr().cast(), sum);
        }
    }
    #[inline(always)]
    fn compress_into(self, mask: Self::Mask, to: &mut [Self], at: usize) {
        assert!(at + Self::LANES <= to.len() * Self::LANES, "a group of room beyond the last");
        // SAFETY: as above, and within the slice.
        unsafe {
            let packed = _mm512_maskz_compress_pd(mask, self.0);
            _mm512_storeu_pd(to.as_mut_ptr().cast::<Self::Scalar>().add(at), packed);
        }
    }
    #[inline(always)]
    fn expand_from(self, mask: Self::Mask, from: &[Self], at: usize) -> Self {
        assert!(at + Self::LANES <= from.len() * Self::LANES, "a group of room beyond the last");
        // SAFETY: as above, and within the slice.
        Self(unsafe {
            let packed = _mm512_loadu_pd(from.as_ptr().cast::<Self::Scalar>().add(at));
            _mm512_mask_expand_pd(self.0, mask, packed)
        })
    }
}

lanes! {
    /// Eight `f32` in a register of AVX2.
    Avx2F32: Avx2, 8 of f32 in __m256, mask __m256, bits u32,
    set _mm256_set1_ps, integer _mm256_set1_epi32,
    add _mm256_add_ps, sub _mm256_sub_ps, mul _mm256_mul_ps, div _mm256_div_ps, fma _mm256_fmadd_ps,
    min _mm256_min_ps, max _mm256_max_ps, sqrt _mm256_sqrt_ps,
    and _mm256_and_ps, and not _mm256_andnot_ps, xor _mm256_xor_ps,
    to integers _mm256_castps_si256, from integers _mm256_castsi256_ps, add integers _mm256_add_epi32,
    shift _mm256_slli_epi32 by 23,
    lt _mm256_cmp_ps::<_CMP_LT_OQ>, select avx2_select_ps, and _mm256_and_ps, mask bits _mm256_movemask_ps,
    recip avx2_recip_ps, rsqrt avx2_rsqrt_ps, sum avx2_sum_ps,
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
    fn gather(from: &[Self::Scalar], at: &[u32; LANES], plus: usize) -> Self {
        let from = &from[plus..];
        let last = (from.len() - 1).min(i32::MAX as usize) as i32;
        // SAFETY: as above; no index is beyond the last.
        Self(unsafe {
            let at = _mm256_min_epu32(_mm256_loadu_si256(at.as_ptr().cast()), _mm256_set1_epi32(last));
            _mm256_i32gather_ps::<4>(from.as_ptr(), at)
        })
    }
    #[inline(always)]
    fn add_to_indices(self, base: &[u32; LANES], to: &mut [u32; LANES]) {
        // SAFETY: as above; both arrays are as long as the longest register.
        unsafe {
            let sum = _mm256_add_epi32(_mm256_loadu_si256(base.as_ptr().cast()), _mm256_cvttps_epi32(self.0));
            _mm256_storeu_si256(to.as_mut_ptr().cast(), sum);
        }
    }
    #[inline(always)]
    fn compress_into(self, mask: Self::Mask, to: &mut [Self], at: usize) {
        assert!(at + Self::LANES <= to.len() * Self::LANES, "a group of room beyond the last");
        // SAFETY: as above, and within the slice.
        unsafe {
            let packed = avx2_permute_ps(self.0, &PACK[Self::bitmask(mask) as usize]);
            _mm256_storeu_ps(to.as_mut_ptr().cast::<Self::Scalar>().add(at), packed);
        }
    }
    #[inline(always)]
    fn expand_from(self, mask: Self::Mask, from: &[Self], at: usize) -> Self {
        assert!(at + Self::LANES <= from.len() * Self::LANES, "a group of room beyond the last");
        // SAFETY: as above, and within the slice.
        Self(unsafe {
            let packed = _mm256_loadu_ps(from.as_ptr().cast::<Self::Scalar>().add(at));
            avx2_select_ps(mask, avx2_permute_ps(packed, &SPREAD[Self::bitmask(mask) as usize]), self.0)
        })
    }
}

lanes! {
    /// Four `f64` in a register of AVX2.
    Avx2F64: Avx2, 4 of f64 in __m256d, mask __m256d, bits u64,
    set _mm256_set1_pd, integer _mm256_set1_epi64x,
    add _mm256_add_pd, sub _mm256_sub_pd, mul _mm256_mul_pd, div _mm256_div_pd, fma _mm256_fmadd_pd,
    min _mm256_min_pd, max _mm256_max_pd, sqrt _mm256_sqrt_pd,
    and _mm256_and_pd, and not _mm256_andnot_pd, xor _mm256_xor_pd,
    to integers _mm256_castpd_si256, from integers _mm256_castsi256_pd, add integers _mm256_add_epi64,
    shift _mm256_slli_epi64 by 52,
    lt _mm256_cmp_pd::<_CMP_LT_OQ>, select avx2_select_pd, and _mm256_and_pd, mask bits _mm256_movemask_pd,
    recip avx2_recip_pd, rsqrt avx2_rsqrt_pd, sum avx2_sum_pd,
    #[inline(always)]
    fn over_sqrt(self, x: Self) -> Self {
        let y = avx2_rsqrt_seed(x);
        let e = (-(x * y)).fma(y, Self::splat(1.0));
        let mut sum = Self::splat(RSQRT_SERIES[RSQRT_SERIES.len() - 1]);
        for k in (0..RSQRT_SERIES.len() - 1).rev() {
            sum = sum.fma(e, Self::splat(RSQRT_SERIES[k]));
        }
        self * (y * sum)
    }
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
    fn gather(from: &[Self::Scalar], at: &[u32; LANES], plus: usize) -> Self {
        let from = &from[plus..];
        let last = (from.len() - 1).min(i32::MAX as usize) as i32;
        // SAFETY: as above; no index is beyond the last.
        Self(unsafe {
            let at = _mm_min_epu32(_mm_loadu_si128(at.as_ptr().cast()), _mm_set1_epi32(last));
            _mm256_i32gather_pd::<8>(from.as_ptr(), at)
        })
    }
    #[inline(always)]
    fn add_to_indices(self, base: &[u32; LANES], to: &mut [u32; LANES]) {
        // SAFETY: as above; both arrays are as long as the longest register.
        unsafe {
            let sum = _mm_add_epi32(_mm_loadu_si128(base.as_ptr().cast()), _mm256_cvttpd_epi32(self.0));
            _mm_storeu_si128(to.as_mut_ptr().cast(), sum);
        }
    }
    #[inline(always)]
    fn compress_into(self, mask: Self::Mask, to: &mut [Self], at: usize) {
        assert!(at + Self::LANES <= to.len() * Self::LANES, "a group of room beyond the last");
        // SAFETY: as above, and within the slice.
        unsafe {
            let packed = avx2_permute_pd(self.0, &PACK[TWICE[Self::bitmask(mask) as usize]]);
            _mm256_storeu_pd(to.as_mut_ptr().cast::<Self::Scalar>().add(at), packed);
        }
    }
    #[inline(always)]
    fn expand_from(self, mask: Self::Mask, from: &[Self], at: usize) -> Self {
        assert!(at + Self::LANES <= from.len() * Self::LANES, "a group of room beyond the last");
        // SAFETY: as above, and within the slice.
        Self(unsafe {
            let packed = _mm256_loadu_pd(from.as_ptr().cast::<Self::Scalar>().add(at));
            avx2_select_pd(mask, avx2_permute_pd(packed, &SPREAD[TWICE[Self::bitmask(mask) as usize]]), self.0)
        })
    }
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

/// `ln(1 + f)/f` for |f| up to 0.0306, which a mantissa times its part's reciprocal is from 1, within 1e-17/f;
/// lowest power first.
const LN_NEAR_ONE: [f64; 8] = [
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
fn same<T>(mask: T) -> T {
    mask
}

#[inline(always)]
fn and_bits<T: std::ops::BitAnd<Output = T>>(a: T, b: T) -> T {
    a & b
}

/// For every set of eight lanes, which lane goes where if they are packed to the front; AVX2 has no
/// instruction for that.
static PACK: [[u32; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut lane, mut at) = (0, 0);
        while lane < 8 {
            if (bits >> lane) & 1 == 1 {
                table[bits][at] = lane as u32;
                at += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    table
};

/// The way back.
static SPREAD: [[u32; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut lane, mut at) = (0, 0);
        while lane < 8 {
            if (bits >> lane) & 1 == 1 {
                table[bits][lane] = at;
                at += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    table
};

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
unsafe fn avx2_permute_ps(v: __m256, order: &[u32; 8]) -> __m256 {
    // SAFETY: called by a type of AVX2; eight indices.
    unsafe { _mm256_permutevar8x32_ps(v, _mm256_loadu_si256(order.as_ptr().cast())) }
}

#[inline(always)]
unsafe fn avx2_permute_pd(v: __m256d, order: &[u32; 8]) -> __m256d {
    // SAFETY: as above.
    unsafe { _mm256_castps_pd(avx2_permute_ps(_mm256_castpd_ps(v), order)) }
}

// Sums in double precision, in a fixed order.

#[inline(always)]
unsafe fn avx512_sum_ps(v: __m512) -> f64 {
    // SAFETY: called by a type of AVX-512; so below.
    unsafe {
        let (low, high) = (_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v));
        _mm512_reduce_add_pd(_mm512_add_pd(_mm512_cvtps_pd(low), _mm512_cvtps_pd(high)))
    }
}

#[inline(always)]
unsafe fn avx2_sum_ps(v: __m256) -> f64 {
    // SAFETY: called by a type of AVX2; so below.
    unsafe {
        let (low, high) = (_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        avx2_sum_pd(_mm256_add_pd(_mm256_cvtps_pd(low), _mm256_cvtps_pd(high)))
    }
}

#[inline(always)]
unsafe fn avx2_sum_pd(v: __m256d) -> f64 {
    // SAFETY: as above.
    unsafe {
        let pair = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
        _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
    }
}

#[inline(always)]
unsafe fn avx512_select_ps(mask: __mmask16, a: __m512, b: __m512) -> __m512 {
    // SAFETY: called by a type of AVX-512; so below.
    unsafe { _mm512_mask_blend_ps(mask, b, a) }
}

#[inline(always)]
unsafe fn avx512_select_pd(mask: __mmask8, a: __m512d, b: __m512d) -> __m512d {
    // SAFETY: as above.
    unsafe { _mm512_mask_blend_pd(mask, b, a) }
}

#[inline(always)]
unsafe fn avx2_select_ps(mask: __m256, a: __m256, b: __m256) -> __m256 {
    // SAFETY: called by a type of AVX2; so below.
    unsafe { _mm256_blendv_ps(b, a, mask) }
}

#[inline(always)]
unsafe fn avx2_select_pd(mask: __m256d, a: __m256d, b: __m256d) -> __m256d {
    // SAFETY: as above.
    unsafe { _mm256_blendv_pd(b, a, mask) }
}

// Estimates of 14 bits (AVX-512) or 12 (AVX2), and a series that doubles or quadruples them: division and
// square root would hold up the processor's one divider for several times as long.

#[inline(always)]
fn avx512_recip_ps(x: Avx512F32) -> Avx512F32 {
    // SAFETY: as above.
    sharper_recip(x, Avx512F32(unsafe { _mm512_rcp14_ps(x.0) }))
}

#[inline(always)]
fn avx512_rsqrt_ps(x: Avx512F32) -> Avx512F32 {
    // SAFETY: as above.
    sharper_rsqrt(x, Avx512F32(unsafe { _mm512_rsqrt14_ps(x.0) }))
}

#[inline(always)]
fn avx512_recip_pd(x: Avx512F64) -> Avx512F64 {
    // SAFETY: as above.
    let y = Avx512F64(unsafe { _mm512_rcp14_pd(x.0) });
    let e = (-x).fma(y, Avx512F64::splat(1.0));
    let sharper = y.fma(e, y);
    sharper.fma(e * e, sharper)
}

#[inline(always)]
fn avx512_rsqrt_pd(x: Avx512F64) -> Avx512F64 {
    // SAFETY: as above.
    let y = Avx512F64(unsafe { _mm512_rsqrt14_pd(x.0) });
    let e = (-(x * y)).fma(y, Avx512F64::splat(1.0));
    let sum = Avx512F64::splat(0.3125).fma(e, Avx512F64::splat(0.375)).fma(e, Avx512F64::splat(0.5));
    (y * e).fma(sum, y)
}

#[inline(always)]
fn avx2_recip_ps(x: Avx2F32) -> Avx2F32 {
    // SAFETY: as above.
    let y = Avx2F32(unsafe { _mm256_rcp_ps(x.0) });
    let e = (-x).fma(y, Avx2F32::splat(1.0));
    y.fma(e.fma(e, e), y)
}

#[inline(always)]
fn avx2_rsqrt_ps(x: Avx2F32) -> Avx2F32 {
    // SAFETY: as above.
    let y = Avx2F32(unsafe { _mm256_rsqrt_ps(x.0) });
    let e = (-(x * y)).fma(y, Avx2F32::splat(1.0));
    y.fma(e * Avx2F32::splat(0.375).fma(e, Avx2F32::splat(0.5)), y)
}

#[inline(always)]
fn avx2_recip_pd(x: Avx2F64) -> Avx2F64 {
    Avx2F64::splat(1.0) / x
}

/// There is no estimate in AVX2; this one is that of [`super::block::rsqrt`].
#[inline(always)]
fn avx2_rsqrt_seed(x: Avx2F64) -> Avx2F64 {
    // SAFETY: as above.
    Avx2F64(unsafe {
        let half = _mm256_srli_epi64::<1>(_mm256_castpd_si256(x.0));
        _mm256_castsi256_pd(_mm256_sub_epi64(_mm256_set1_epi64x(RSQRT_SEED as i64), half))
    })
}

#[inline(always)]
fn avx2_rsqrt_pd(x: Avx2F64) -> Avx2F64 {
    let mut y = avx2_rsqrt_seed(x);
    for _ in 0..4 {
        y = sharper_rsqrt(x, y);
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worst relative errors of reciprocal, reciprocal root and (over 1 + |x|) exponential; and of the
    /// estimates of the first two, over 2000.
    fn worst<R: Real>() -> [f64; 5] {
        let mut worst = [0.0f64; 5];
        for i in 0..20_000 {
            let x = R::splat(10f64.powf(f64::from(i) * 3e-3 - 28.0));
            let v = x.lane(0);
            let e = R::splat(-f64::from(i) * 4e-3);
            for (w, (found, exact, bound)) in worst.iter_mut().zip([
                (x.recip(), 1.0 / v, 1.0),
                (x.rsqrt(), 1.0 / v.sqrt(), 1.0),
                (e.exp_negative(), e.lane(0).exp(), 1.0 - e.lane(0)),
                (x.approx_recip(), 1.0 / v, 2000.0),
                (x.approx_rsqrt(), 1.0 / v.sqrt(), 2000.0),
            ]) {
                *w = w.max((found.lane(R::LANES - 1) / exact - 1.0).abs() / bound);
            }
        }
        worst
    }

    #[test]
    fn estimates_are_sharpened_to_the_last_places() {
        let all =
            |errors: [f64; 5], most: f64| assert!(errors.iter().all(|e| *e < most), "{errors:?}, at most {most:e}");
        if Simd::widest() >= Simd::Avx2 {
            all(worst::<Avx2F32>(), 2e-7);
            all(worst::<Avx2F64>(), 4.5e-16);
        }
        if Simd::widest() >= Simd::Avx512 {
            all(worst::<Avx512F32>(), 2e-7);
            all(worst::<Avx512F64>(), 4.5e-16);
        }
    }

    /// Masks, selections and lanes mean what they mean for numbers.
    fn decisions<R: Real>() {
        let a: Vec<f64> = (0..R::LANES).map(|i| i as f64).collect();
        let (a, three) = (R::pack(&a), R::splat(3.0));
        let mask = a.lt(three);
        assert_eq!(R::bitmask(mask), 0b111);
        assert!(R::any(mask) && !R::any(R::and(mask, three.lt(a))));
        let chosen = R::select(mask, a, -three);
        assert_eq!([chosen.lane(0), chosen.lane(2), chosen.lane(3)], [0.0, 2.0, -3.0]);
        assert_eq!([a.min(three).lane(1), a.max(three).lane(1)], [1.0, 3.0]);
        // Packed behind others and spread again.
        let odd = (0..R::LANES).map(|i| if i % 2 == 1 { 1.0 } else { 0.0 }).collect::<Vec<_>>();
        let odd = R::splat(0.5).lt(R::pack(&odd));
        let mut packed = [R::splat(-1.0); 3];
        (a + three).compress_into(odd, &mut packed, R::LANES - 1);
        assert_eq!(packed[0].lane(R::LANES - 2), -1.0);
        assert_eq!([packed[0].lane(R::LANES - 1), packed[1].lane(0)], [4.0, 6.0]);
        let spread = a.expand_from(odd, &packed, R::LANES - 1);
        assert!((0..R::LANES).all(|i| spread.lane(i) == i as f64 + if i % 2 == 1 { 3.0 } else { 0.0 }));
        assert_eq!(a.reduce_sum(), (R::LANES * (R::LANES - 1) / 2) as f64);
        assert_eq!([three.powf(three).lane(1), (three * three).sqrt().lane(0)], [27.0, 3.0]);
        for (x, parts) in [(40.0, [5.0, 1.25]), (1.0, [0.0, 1.0]), (0.375, [-2.0, 1.5])] {
            let (exponent, mantissa) = R::splat(x).exponent_mantissa();
            assert_eq!([exponent.lane(0), mantissa.lane(R::LANES - 1)], parts);
        }
    }

    #[test]
    fn decisions_are_made_lane_by_lane() {
        if Simd::widest() >= Simd::Avx2 {
            decisions::<Avx2F32>();
            decisions::<Avx2F64>();
        }
        if Simd::widest() >= Simd::Avx512 {
            decisions::<Avx512F32>();
            decisions::<Avx512F64>();
        }
    }
}
