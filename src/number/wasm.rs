//! Lanes in the vector registers of WebAssembly, for programs that are compiled for SIMD128.
//!
//! A product and a sum are rounded one by one: there is no instruction that fuses them on every processor
//! with the same result.
#![expect(unsafe_code, reason = "a register as its lanes")]

use std::arch::wasm32::*;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use super::real::{Real, operators};

/// A number type of lanes in a register, from its intrinsics.
macro_rules! lanes {
    (
        $(#[$doc:meta])*
        $name:ident: $lanes:literal of $t:ident, splat $splat:ident,
        add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident, abs $abs:ident,
        min $min:ident, max $max:ident, sqrt $sqrt:ident, lt $lt:ident, bits $bits:ident,
        integer $set_int:ident, add integers $add_int:ident, shift $shift:ident, back $back:ident by $mantissa:literal,
        sum |$summed:ident| $sum:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct $name(v128);

        operators! { $name:
            Add add |self, other| Self($add(self.0, other.0));
            Sub sub |self, other| Self($sub(self.0, other.0));
            Mul mul |self, other| Self($mul(self.0, other.0));
            Div div |self, other| Self($div(self.0, other.0));
        }

        impl Real for $name {
            type Scalar = $t;
            /// All bits of a lane, or none.
            type Mask = v128;
            type Each<T: Copy + Send + Sync> = [T; $lanes];
            const LANES: usize = $lanes;

            #[inline(always)]
            fn each<T: Copy + Send + Sync>(of: T) -> [T; $lanes] {
                [of; $lanes]
            }
            #[inline(always)]
            fn splat(value: f64) -> Self {
                Self($splat(value as $t))
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
                $sum
            }
            #[inline(always)]
            fn fma(self, by: Self, plus: Self) -> Self {
                Self($add($mul(self.0, by.0), plus.0))
            }
            #[inline(always)]
            fn lt(self, other: Self) -> v128 {
                $lt(self.0, other.0)
            }
            #[inline(always)]
            fn select(mask: v128, a: Self, b: Self) -> Self {
                Self(v128_bitselect(a.0, b.0, mask))
            }
            #[inline(always)]
            fn any(mask: v128) -> bool {
                v128_any_true(mask)
            }
            #[inline(always)]
            fn bitmask(mask: v128) -> u32 {
                u32::from($bits(mask))
            }
            #[inline(always)]
            fn and(a: v128, b: v128) -> v128 {
                v128_and(a, b)
            }
            #[inline(always)]
            fn not(mask: v128) -> v128 {
                v128_not(mask)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                // The smaller as on other machines: the second where one is no number.
                Self($min(other.0, self.0))
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                Self($max(other.0, self.0))
            }
            #[inline(always)]
            fn abs(self) -> Self {
                Self($abs(self.0))
            }
            #[inline(always)]
            fn times_sign(self, other: Self) -> Self {
                Self(v128_xor(self.0, v128_and(other.0, $splat(-0.0))))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self($sqrt(self.0))
            }
            #[inline(always)]
            fn split_exp2(self) -> (Self, Self) {
                // Adding and subtracting 1.5 2^mantissa rounds to an integer, and leaves it in the low bits.
                let magic = Self::splat(Self::ROUNDER);
                let shifted = self + magic;
                let bias = $set_int(<$t>::MAX_EXP as _);
                let scale = $shift($add_int(shifted.0, $add_int(bias, $set_int(-1))), $mantissa);
                (Self(scale), self - (shifted - magic))
            }
            #[inline(always)]
            fn exponent_mantissa(self) -> (Self, Self) {
                // The integer as the last bits of a number, as for one number.
                let magic = Self::splat(Self::ROUNDER);
                let exponent = v128_or($back(self.0, $mantissa), magic.0);
                let below = $set_int((1 << $mantissa) - 1);
                let mantissa = v128_or(v128_and(self.0, below), $splat(1.0));
                let bias = Self::splat(f64::from(<$t>::MAX_EXP - 1));
                (Self(exponent) - (magic + bias), Self(mantissa))
            }
        }
    };
}

lanes! {
    /// Four `f32` in a register.
    SimdF32: 4 of f32, splat f32x4_splat,
    add f32x4_add, sub f32x4_sub, mul f32x4_mul, div f32x4_div, abs f32x4_abs,
    min f32x4_pmin, max f32x4_pmax, sqrt f32x4_sqrt, lt f32x4_lt, bits i32x4_bitmask,
    integer i32x4_splat, add integers i32x4_add, shift i32x4_shl, back u32x4_shr by 23,
    sum |v| {
        let pairs = f64x2_add(f64x2_promote_low_f32x4(v), f64x2_promote_low_f32x4(i64x2_shuffle::<1, 1>(v, v)));
        f64x2_extract_lane::<0>(pairs) + f64x2_extract_lane::<1>(pairs)
    }
}

lanes! {
    /// Two `f64` in a register.
    SimdF64: 2 of f64, splat f64x2_splat,
    add f64x2_add, sub f64x2_sub, mul f64x2_mul, div f64x2_div, abs f64x2_abs,
    min f64x2_pmin, max f64x2_pmax, sqrt f64x2_sqrt, lt f64x2_lt, bits i64x2_bitmask,
    integer i64x2_splat, add integers i64x2_add, shift i64x2_shl, back u64x2_shr by 52,
    sum |v| f64x2_extract_lane::<0>(v) + f64x2_extract_lane::<1>(v)
}
