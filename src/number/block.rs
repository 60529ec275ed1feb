//! Blocks of sixteen numbers, and functions of one number, for plain loops that the compiler vectorises.
//!
//! Loops that only add and multiply need no intrinsics: the copy of the function that they are in
//! ([`super::simd::copies`]) determines the instructions. Multiplications and additions are fused where the
//! code says `mul_add`, with or without hardware for it, and the order of summation is fixed, so that results
//! have the same bits on every machine.

use super::real::LANES;

/// One number in every lane: two registers of AVX-512 or four of AVX2.
pub type Block = [f64; LANES];

/// Less half the bits of `x`, the bits of `1/sqrt(x)` within 3.5 %: that halves the exponent.
pub(super) const RSQRT_SEED: u64 = 0x5fe6_eb50_c7b5_37a9;
/// The correction of that estimate `y`, within 8e-13, as a polynomial of `e = 1 - x y^2`, which lies between
/// -0.0692 and 0.0676; lowest power first.
pub(super) const RSQRT_SERIES: [f64; 8] = [
    0.999_999_999_999_272_1,
    0.500_000_000_007_101_4,
    0.375_000_004_996_384_14,
    0.312_499_988_032_313_94,
    0.273_432_141_014_831,
    0.246_097_269_811_099_9,
    0.227_424_233_409_737_4,
    0.209_982_854_581_541_56,
];

/// `1/sqrt(x)` to 4e-16 for normal x > 0.
#[inline(always)]
pub fn rsqrt(x: f64) -> f64 {
    let y = f64::from_bits(RSQRT_SEED - (x.to_bits() >> 1));
    let e = (-(x * y)).mul_add(y, 1.0);
    let mut sum = RSQRT_SERIES[RSQRT_SERIES.len() - 1];
    for k in (0..RSQRT_SERIES.len() - 1).rev() {
        sum = sum.mul_add(e, RSQRT_SERIES[k]);
    }
    let y = y * sum;
    (0.5 * y).mul_add((-(x * y)).mul_add(y, 1.0), y)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn inverse_root_is_that_of_the_standard_library() {
        for k in 0..40_000 {
            let x = 1.7f64.powi(k % 60 - 30) * (0.3 + f64::from(k) * 1e-4);
            assert_relative_eq!(rsqrt(x), 1.0 / x.sqrt(), max_relative = 5e-16);
        }
    }
}
