//! Sums over cells that the compiler turns into vector instructions.
//!
//! Numbers come in blocks; a sum is a plain loop over the numbers of a block into as many partial sums, which
//! the compiler vectorises. Multiplications and additions are fused where the code says `mul_add`, with or
//! without hardware for it, and the order of summation is fixed: results are the same bits on every machine,
//! but for those of [`super::vector`].

/// Numbers in a block: the compiler makes two AVX-512 or four AVX2 registers of them.
pub const LANES: usize = 16;

/// One number a lane.
pub type Block = [f64; LANES];

/// `1/sqrt(x)` to 8e-13 for normal x > 0: the exponent halved, and a polynomial of what is left of it.
#[inline(always)]
pub fn rsqrt12(x: f64) -> f64 {
    // The seed is within 3.5 %: 1 - x y^2 lies between -0.0692 and 0.0676.
    let y = f64::from_bits(0x5fe6_eb50_c7b5_37a9 - (x.to_bits() >> 1));
    let e = (-(x * y)).mul_add(y, 1.0);
    let p = 0.209_982_854_581_541_56_f64.mul_add(e, 0.227_424_233_409_737_4);
    let p = p.mul_add(e, 0.246_097_269_811_099_9).mul_add(e, 0.273_432_141_014_831);
    let p = p.mul_add(e, 0.312_499_988_032_313_94).mul_add(e, 0.375_000_004_996_384_14);
    y * p.mul_add(e, 0.500_000_000_007_101_4).mul_add(e, 0.999_999_999_999_272_1)
}

/// `1/sqrt(x)` to 4e-16 for normal x > 0.
#[inline(always)]
pub fn rsqrt(x: f64) -> f64 {
    let y = rsqrt12(x);
    (0.5 * y).mul_add((-(x * y)).mul_add(y, 1.0), y)
}

/// `ln(x)` to 2e-15 for normal x > 0: exponent apart, and a polynomial of the mantissa.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    const MAGIC: f64 = (1u64 << 52) as f64;
    // Counting from sqrt(1/2) leaves a mantissa in [sqrt(1/2), sqrt 2).
    const START: u64 = 0x3fe6_a09e_667f_3bcd;
    let shifted = x.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - START);
    let exponent = f64::from_bits((shifted >> 52) | MAGIC.to_bits()) - (MAGIC + 1023.0);
    let f = f64::from_bits((shifted & MANTISSA) + START) - 1.0;
    // Even and odd powers apart: half as long a chain.
    let f2 = f * f;
    let (mut even, mut odd) = (LN[LN.len() - 2], LN[LN.len() - 1]);
    for k in (0..LN.len() / 2 - 1).rev() {
        even = even.mul_add(f2, LN[2 * k]);
        odd = odd.mul_add(f2, LN[2 * k + 1]);
    }
    exponent.mul_add(std::f64::consts::LN_2, odd.mul_add(f, even).mul_add(f2, f))
}

/// `(ln(1 + f) - f)/f^2` over the mantissas of [`ln`], lowest power first.
const LN: [f64; 18] = [
    -0.499_999_999_999_998_33,
    0.333_333_333_333_328_5,
    -0.250_000_000_002_214_7,
    0.200_000_000_004_664_95,
    -0.166_666_666_184_908_16,
    0.142_857_141_726_238_84,
    -0.125_000_039_562_860_07,
    0.111_111_220_155_228,
    -0.099_998_439_115_049_27,
    0.090_903_970_538_628_45,
    -0.083_365_007_760_293_71,
    0.077_050_970_169_689_6,
    -0.071_124_647_206_484_83,
    0.064_952_527_357_662_24,
    -0.063_065_881_688_740_5,
    0.070_006_910_475_843_12,
    -0.066_187_730_096_786_13,
    0.030_817_563_724_378_06,
];

/// The sum of a block, always in the same order.
#[inline(always)]
pub fn total(mut b: Block) -> f64 {
    let mut n = LANES;
    while n > 1 {
        n /= 2;
        for i in 0..n {
            b[i] += b[i + n];
        }
    }
    b[0]
}

/// A number of every item, padded with zeros to whole blocks.
pub fn blocks<T>(items: &[T], number: impl Fn(&T) -> f64) -> Vec<Block> {
    let block = |items: &[T]| {
        let mut block = [0.0; LANES];
        block.iter_mut().zip(items).for_each(|(to, item)| *to = number(item));
        block
    };
    items.chunks(LANES).map(block).collect()
}

/// A function compiled for AVX-512, for AVX2 and for any processor; the widest that runs is called. `<V>` is
/// the [`Vector`](super::vector::Vector) that goes with it.
macro_rules! vectorised {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block) => {
        vectorised! { @copies [] [] [] $(#[$doc])* $vis fn $name($($arg: $ty),*) -> $ret $body }
    };
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$v:ident>($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block) => {
        vectorised! {
            @copies [<$v: $crate::limit_surface::vector::Vector>] [::<$crate::limit_surface::vector::Portable>]
            [::<$crate::limit_surface::zmm::Zmm>] $(#[$doc])* $vis fn $name($($arg: $ty),*) -> $ret $body
        }
    };
    (
        @copies [$($generic:tt)*] [$($portable:tt)*] [$($zmm:tt)*]
        $(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $body:block
    ) => {
        $(#[$doc])*
        $vis fn $name($($arg: $ty),*) -> $ret {
            #[inline(always)]
            fn body $($generic)* ($($arg: $ty),*) -> $ret $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,fma")]
                fn avx512($($arg: $ty),*) -> $ret {
                    body $($zmm)* ($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),*) -> $ret {
                    body $($portable)* ($($arg),*)
                }
                if is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
                {
                    // SAFETY: the processor has the features, as just asked.
                    #[expect(unsafe_code, reason = "calling a copy compiled for features that were just detected")]
                    return unsafe { avx512($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: as above.
                    #[expect(unsafe_code, reason = "calling a copy compiled for features that were just detected")]
                    return unsafe { avx2($($arg),*) };
                }
            }
            body $($portable)* ($($arg),*)
        }
    };
}
pub(super) use vectorised;

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn logarithm_and_inverse_root_are_those_of_the_standard_library() {
        for k in 0..40_000 {
            let x = 1.7f64.powi(k % 60 - 30) * (0.3 + f64::from(k) * 1e-4);
            assert_relative_eq!(ln(x), x.ln(), max_relative = 2e-15, epsilon = 4e-16);
            assert_relative_eq!(rsqrt(x), 1.0 / x.sqrt(), max_relative = 5e-16);
        }
    }
}
