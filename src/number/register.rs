//! Lanes in vector registers of 128 bits, where every processor for which the program is compiled has the
//! same: SSE2 on x86-64, and SIMD128 in WebAssembly.
//!
//! A product and a sum are rounded one by one: SSE2 has no instruction that fuses them, and SIMD128 none with
//! the same result on every processor.
#![expect(unsafe_code, reason = "intrinsics, and a register as its lanes")]

#[cfg(target_arch = "wasm32")]
use std::arch::wasm32::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use super::real::{Real, operators};

/// A number type of lanes in a register, from its intrinsics.
macro_rules! lanes {
    (
        $(#[$doc:meta])*
        $name:ident: $lanes:literal of $t:ident in $register:ident, splat $splat:ident,
        add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident, sqrt $sqrt:ident,
        min |$min_a:ident, $min_b:ident| $min:expr, max |$max_a:ident, $max_b:ident| $max:expr,
        and $and:ident, or $or:ident, xor $xor:ident, and not |$kept:ident, $cleared:ident| $and_not:expr,
        lt $lt:ident, any |$anywhere:ident| $any:expr, bits |$counted:ident| $bits:expr,
        integers $integers:ident, numbers $numbers:ident, set $set_int:ident, add integers $add_int:ident,
        shift |$shifted:ident| $shift:expr, back |$shifted_back:ident| $back:expr, by $mantissa:literal,
        sum |$summed:ident| $sum:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct $name($register);

        // SAFETY: every processor for which this is compiled has the instruction; so everywhere in this
        // macro.
        operators! { $name:
            Add add |self, other| Self(unsafe { $add(self.0, other.0) });
            Sub sub |self, other| Self(unsafe { $sub(self.0, other.0) });
            Mul mul |self, other| Self(unsafe { $mul(self.0, other.0) });
            Div div |self, other| Self(unsafe { $div(self.0, other.0) });
        }

        #[allow(unused_unsafe, reason = "intrinsics of WebAssembly are safe")]
        impl $name {
            /// The bits of `kept` that are not set in `cleared`.
            #[inline(always)]
            fn and_not($kept: $register, $cleared: $register) -> $register {
                // SAFETY: as above.
                unsafe { $and_not }
            }
        }

        #[allow(unused_unsafe, reason = "as above")]
        impl Real for $name {
            type Scalar = $t;
            /// All bits of a lane, or none.
            type Mask = $register;
            type Each<T: Copy + Send + Sync> = [T; $lanes];
            const LANES: usize = $lanes;

            #[inline(always)]
            fn each<T: Copy + Send + Sync>(of: T) -> [T; $lanes] {
                [of; $lanes]
            }
            #[inline(always)]
            fn splat(value: f64) -> Self {
                // SAFETY: as above.
                Self(unsafe { $splat(value as $t) })
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
                let $summed = self.0;
                // SAFETY: as above.
                unsafe { $sum }
            }
            #[inline(always)]
            fn fma(self, by: Self, plus: Self) -> Self {
                self * by + plus
            }
            #[inline(always)]
            fn lt(self, other: Self) -> $register {
                // SAFETY: as above.
                unsafe { $lt(self.0, other.0) }
            }
            #[inline(always)]
            fn select(mask: $register, a: Self, b: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $or($and(mask, a.0), Self::and_not(b.0, mask)) })
            }
            #[inline(always)]
            fn any($anywhere: $register) -> bool {
                // SAFETY: as above.
                unsafe { $any }
            }
            #[inline(always)]
            fn bitmask($counted: $register) -> u32 {
                // SAFETY: as above.
                unsafe { $bits as u32 }
            }
            #[inline(always)]
            fn and(a: $register, b: $register) -> $register {
                // SAFETY: as above.
                unsafe { $and(a, b) }
            }
            #[inline(always)]
            fn not(mask: $register) -> $register {
                // SAFETY: as above.
                Self::and_not(unsafe { $numbers($set_int(-1)) }, mask)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                // The second where one is no number, as on other machines; so for the larger.
                let ($min_a, $min_b) = (self.0, other.0);
                // SAFETY: as above.
                Self(unsafe { $min })
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                let ($max_a, $max_b) = (self.0, other.0);
                // SAFETY: as above.
                Self(unsafe { $max })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                Self(Self::and_not(self.0, Self::splat(-0.0).0))
            }
            #[inline(always)]
            fn times_sign(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $xor(self.0, $and(other.0, $splat(-0.0))) })
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn split_exp2(self) -> (Self, Self) {
                // Adding and subtracting 1.5 2^mantissa rounds to an integer, and leaves it in the low bits.
                let magic = Self::splat(Self::ROUNDER);
                let shifted = self + magic;
                // SAFETY: as above.
                let scale = unsafe {
                    let $shifted = $add_int($integers(shifted.0), $set_int((<$t>::MAX_EXP - 1) as _));
                    Self($numbers($shift))
                };
                (scale, self - (shifted - magic))
            }
            #[inline(always)]
            fn exponent_mantissa(self) -> (Self, Self) {
                // The integer as the last bits of a number, as for one number.
                let magic = Self::splat(Self::ROUNDER);
                let bias = Self::splat(f64::from(<$t>::MAX_EXP - 1));
                // SAFETY: as above.
                let (exponent, mantissa) = unsafe {
                    let $shifted_back = $integers(self.0);
                    let below = $numbers($set_int((1 << $mantissa) - 1));
                    ($or($numbers($back), magic.0), $or($and(self.0, below), $splat(1.0)))
                };
                (Self(exponent) - (magic + bias), Self(mantissa))
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
lanes! {
    /// Four `f32` in a register.
    F32: 4 of f32 in __m128, splat _mm_set1_ps,
    add _mm_add_ps, sub _mm_sub_ps, mul _mm_mul_ps, div _mm_div_ps, sqrt _mm_sqrt_ps,
    min |a, b| _mm_min_ps(a, b), max |a, b| _mm_max_ps(a, b),
    and _mm_and_ps, or _mm_or_ps, xor _mm_xor_ps, and not |a, b| _mm_andnot_ps(b, a),
    lt _mm_cmplt_ps, any |m| _mm_movemask_ps(m) != 0, bits |m| _mm_movemask_ps(m),
    integers _mm_castps_si128, numbers _mm_castsi128_ps, set _mm_set1_epi32, add integers _mm_add_epi32,
    shift |v| _mm_slli_epi32::<23>(v), back |v| _mm_srli_epi32::<23>(v), by 23,
    sum |v| {
        let pairs = _mm_add_pd(_mm_cvtps_pd(v), _mm_cvtps_pd(_mm_movehl_ps(v, v)));
        _mm_cvtsd_f64(pairs) + _mm_cvtsd_f64(_mm_unpackhi_pd(pairs, pairs))
    }
}

#[cfg(target_arch = "x86_64")]
lanes! {
    /// Two `f64` in a register.
    F64: 2 of f64 in __m128d, splat _mm_set1_pd,
    add _mm_add_pd, sub _mm_sub_pd, mul _mm_mul_pd, div _mm_div_pd, sqrt _mm_sqrt_pd,
    min |a, b| _mm_min_pd(a, b), max |a, b| _mm_max_pd(a, b),
    and _mm_and_pd, or _mm_or_pd, xor _mm_xor_pd, and not |a, b| _mm_andnot_pd(b, a),
    lt _mm_cmplt_pd, any |m| _mm_movemask_pd(m) != 0, bits |m| _mm_movemask_pd(m),
    integers _mm_castpd_si128, numbers _mm_castsi128_pd, set _mm_set1_epi64x, add integers _mm_add_epi64,
    shift |v| _mm_slli_epi64::<52>(v), back |v| _mm_srli_epi64::<52>(v), by 52,
    sum |v| _mm_cvtsd_f64(v) + _mm_cvtsd_f64(_mm_unpackhi_pd(v, v))
}

/// The bits of a register of WebAssembly are of no type.
#[cfg(target_arch = "wasm32")]
#[inline(always)]
fn same(bits: v128) -> v128 {
    bits
}

#[cfg(target_arch = "wasm32")]
lanes! {
    /// Four `f32` in a register.
    F32: 4 of f32 in v128, splat f32x4_splat,
    add f32x4_add, sub f32x4_sub, mul f32x4_mul, div f32x4_div, sqrt f32x4_sqrt,
    min |a, b| f32x4_pmin(b, a), max |a, b| f32x4_pmax(b, a),
    and v128_and, or v128_or, xor v128_xor, and not |a, b| v128_andnot(a, b),
    lt f32x4_lt, any |m| v128_any_true(m), bits |m| i32x4_bitmask(m),
    integers same, numbers same, set i32x4_splat, add integers i32x4_add,
    shift |v| i32x4_shl(v, 23), back |v| u32x4_shr(v, 23), by 23,
    sum |v| {
        let pairs = f64x2_add(f64x2_promote_low_f32x4(v), f64x2_promote_low_f32x4(i64x2_shuffle::<1, 1>(v, v)));
        f64x2_extract_lane::<0>(pairs) + f64x2_extract_lane::<1>(pairs)
    }
}

#[cfg(target_arch = "wasm32")]
lanes! {
    /// Two `f64` in a register.
    F64: 2 of f64 in v128, splat f64x2_splat,
    add f64x2_add, sub f64x2_sub, mul f64x2_mul, div f64x2_div, sqrt f64x2_sqrt,
    min |a, b| f64x2_pmin(b, a), max |a, b| f64x2_pmax(b, a),
    and v128_and, or v128_or, xor v128_xor, and not |a, b| v128_andnot(a, b),
    lt f64x2_lt, any |m| v128_any_true(m), bits |m| i64x2_bitmask(m),
    integers same, numbers same, set i64x2_splat, add integers i64x2_add,
    shift |v| i64x2_shl(v, 52), back |v| u64x2_shr(v, 52), by 52,
    sum |v| f64x2_extract_lane::<0>(v) + f64x2_extract_lane::<1>(v)
}
