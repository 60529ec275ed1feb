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
        set $set:ident, integer $set_int:ident,
        add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident, fma $fma:ident,
        min $min:ident, max $max:ident, sqrt $sqrt:ident,
        and $and_lanes:ident, and not $and_not:ident, xor $xor:ident,
        to integers $to_int:ident, from integers $from_int:ident, add integers $add_int:ident,
        shift $shift:ident by $mantissa:literal,
        lt $lt:expr, select $select:expr, and $and:expr, other lanes $not:expr, mask bits $mask_bits:expr,
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
            const EXP2_SERIES: &'static [f64] = <$t as Real>::EXP2_SERIES;
            const SINE_TERMS: usize = <$t as Real>::SINE_TERMS;
            const SINE_COSINE: [&'static [f64]; 2] = <$t as Real>::SINE_COSINE;
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
            fn not(mask: $mask) -> $mask {
                // SAFETY: as above.
                #[allow(unused_unsafe, reason = "masks of AVX-512 are integers")]
                unsafe {
                    $not(mask)
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
