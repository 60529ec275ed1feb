//! Lanes in the vector registers of x86-64: AVX2 with FMA, and AVX-512.
//!
//! Values of these types are made only after [`super::simd::Simd::widest`] has found the instructions: every
//! choice of a type (`Cpu`, and the macro `widest!`) calls it first. Therefore the intrinsics are safe to
//! call. Methods are inlined into the copies of a function that are compiled for the same instructions
//! ([`super::simd::copies`]); elsewhere each is a call.

/// A number type of lanes in a register, from its intrinsics.
macro_rules! lanes {
    (
        $(#[$doc:meta])*
        $name:ident: $simd:ident, $lanes:literal of $t:ident in $register:ident, mask $mask:ident, bits $bits:ident,
        set $set:ident, integer $set_int:ident, load $load:ident, store $store:ident,
        add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident, fma $fma:ident,
        min $min:ident, max $max:ident, sqrt $sqrt:ident,
        and $and_lanes:ident, and not $and_not:ident, xor $xor:ident,
        to integers $to_int:ident, from integers $from_int:ident, add integers $add_int:ident,
        shift $shift:ident by $mantissa:literal,
        indices: load $load_at:ident, store $store_at:ident, set $set_at:ident, add $add_at:ident, min $min_at:ident,
        truncate $truncate:ident, gather |$from:ident, $at:ident| $gather:expr,
        lt $lt:expr, select |$selecting:ident, $a:ident, $b:ident| $select:expr,
        masks: and |$one:ident, $other:ident| $and:expr, not |$negated:ident| $not:expr,
        bits |$counted:ident| $bits_of:expr,
        pack |$packing:ident, $packed:ident| $pack:expr,
        spread |$spreading:ident, $old:ident, $new:ident| $spread:expr,
        sum $sum:ident, $($more:item)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name($register);

        // SAFETY: the type exists only where its instructions do; so everywhere in this file.
        operators! { $name:
            Add add |self, other| Self(unsafe { $add(self.0, other.0) });
            Sub sub |self, other| Self(unsafe { $sub(self.0, other.0) });
            Mul mul |self, other| Self(unsafe { $mul(self.0, other.0) });
            Div div |self, other| Self(unsafe { $div(self.0, other.0) });
        }

        #[allow(unused_unsafe, reason = "masks of AVX-512 are integers")]
        impl Real for $name {
            type Scalar = $t;
            type Mask = $mask;
            type Each<T: Copy + Send + Sync> = [T; $lanes];
            const LANES: usize = $lanes;
            const SIMD: Simd = Simd::$simd;

            #[inline(always)]
            fn each<T: Copy + Send + Sync>(of: T) -> [T; $lanes] {
                [of; $lanes]
            }
            #[inline(always)]
            fn splat(value: f64) -> Self {
                // SAFETY: as above.
                Self(unsafe { $set(value as $t) })
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
            fn select($selecting: $mask, $a: Self, $b: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $select })
            }
            #[inline(always)]
            fn bitmask($counted: $mask) -> u32 {
                // SAFETY: as above.
                unsafe { $bits_of as u32 }
            }
            #[inline(always)]
            fn and($one: $mask, $other: $mask) -> $mask {
                // SAFETY: as above.
                unsafe { $and }
            }
            #[inline(always)]
            fn not($negated: $mask) -> $mask {
                // SAFETY: as above.
                unsafe { $not }
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
            fn split_exp2(self) -> (Self, Self) {
                // Adding and subtracting 1.5 2^mantissa rounds to an integer, and leaves it in the low bits.
                const MANTISSA: u32 = $mantissa;
                let magic = Self::splat(1.5 * (1u64 << MANTISSA) as f64);
                let shifted = self + magic;
                let bias = (<$bits>::MAX >> (MANTISSA + 2)) as _;
                // SAFETY: as above.
                let scale = unsafe {
                    let sum = $add_int($to_int(shifted.0), $set_int(bias));
                    Self($from_int($shift::<$mantissa>(sum)))
                };
                (scale, self - (shifted - magic))
            }
            #[inline(always)]
            fn gather($from: &[$t], at: &[u32; LANES], plus: usize) -> Self {
                let $from = &$from[plus..];
                let last = ($from.len() - 1).min(i32::MAX as usize) as i32;
                let $from = $from.as_ptr();
                // SAFETY: as above; no index is beyond the last.
                Self(unsafe {
                    let $at = $min_at($load_at(at.as_ptr().cast()), $set_at(last));
                    $gather
                })
            }
            #[inline(always)]
            fn add_to_indices(self, base: &[u32; LANES], to: &mut [u32; LANES]) {
                // SAFETY: as above; both arrays are as long as the longest register.
                unsafe {
                    let sum = $add_at($load_at(base.as_ptr().cast()), $truncate(self.0));
                    $store_at(to.as_mut_ptr().cast(), sum);
                }
            }
            #[inline(always)]
            fn compress_into(self, $packing: $mask, to: &mut [Self], at: usize) {
                assert!(at + $lanes <= to.len() * $lanes, "space for a whole register from `at` on");
                let $packed = self.0;
                // SAFETY: as above, and within the slice.
                unsafe { $store(to.as_mut_ptr().cast::<$t>().add(at), $pack) }
            }
            #[inline(always)]
            fn expand_from(self, $spreading: $mask, from: &[Self], at: usize) -> Self {
                assert!(at + $lanes <= from.len() * $lanes, "space for a whole register from `at` on");
                let $old = self.0;
                // SAFETY: as above, and within the slice.
                Self(unsafe {
                    let $new = $load(from.as_ptr().cast::<$t>().add(at));
                    $spread
                })
            }

            $($more)*
        }
    };
}

mod avx2;
mod avx512;
mod newton;

pub use avx2::{Avx2F32, Avx2F64};
pub use avx512::{Avx512F32, Avx512F64};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::real::Real;
    use crate::number::simd::Simd;

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
