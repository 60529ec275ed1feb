//! Tests the functions that every number type has.

use super::baseline::{F32, F64};
use super::lanes::Lanes;
use super::real::Real;
#[cfg(target_arch = "x86_64")]
use super::simd::Simd;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2F32, Avx2F64, Avx512F32, Avx512F64};

/// A generic function with a bound of its result, called with every number type that the processor runs: a
/// bound in double precision, and one in single.
macro_rules! with_all_numbers {
    ($check:ident, $double:expr, $single:expr) => {
        $check::<f64>($double);
        $check::<f32>($single);
        $check::<Lanes<f64>>($double);
        $check::<Lanes<f32>>($single);
        $check::<F64>($double);
        $check::<F32>($single);
        #[cfg(target_arch = "x86_64")]
        {
            if Simd::widest() >= Simd::Avx2 {
                $check::<Avx2F64>($double);
                $check::<Avx2F32>($single);
            }
            if Simd::widest() >= Simd::Avx512 {
                $check::<Avx512F64>($double);
                $check::<Avx512F32>($single);
            }
        }
    };
}

/// Checks numbers of 14 orders of magnitude, one in every lane.
fn each<R: Real>(check: impl Fn(R)) {
    for k in 0..8000 {
        let scale = 1.7f64.powi(k % 60 - 30) * (0.3 + f64::from(k) * 3e-4);
        let all: Vec<f64> = (0..R::LANES).map(|i| scale * (1.0 + i as f64 * 1e-5)).collect();
        check(R::pack(&all));
    }
    // Next to one, where the logarithm vanishes.
    for k in -1000..1000 {
        check(R::splat(1.0 + f64::from(k) * 1e-6));
    }
}

fn check_logarithm<R: Real>(most: f64) {
    each::<R>(|x| {
        for i in 0..R::LANES {
            let (found, wanted) = (x.ln().lane(i), x.lane(i).ln());
            assert!((found - wanted).abs() <= most * wanted.abs().max(1.0), "ln {}: {found} {wanted}", x.lane(i));
        }
    });
}

#[test]
fn logarithms_are_those_of_the_standard_library() {
    with_all_numbers!(check_logarithm, 2e-15, 1.5e-7);
}

fn check_quotient<R: Real>(most: f64) {
    each::<R>(|x| {
        for i in 0..R::LANES {
            let error = R::splat(3.0).over_sqrt(x).lane(i) * x.lane(i).sqrt() / 3.0 - 1.0;
            assert!(error.abs() <= most, "3 / sqrt {}: {error:e}", x.lane(i));
        }
    });
}

#[test]
fn quotients_by_a_root_are_as_exact_as_said() {
    with_all_numbers!(check_quotient, 1e-12, 3e-7);
}

fn check_signs<R: Real>(_: f64) {
    for (a, b, with_sign) in
        [(2.0, 3.0, 2.0), (2.0, -3.0, -2.0), (-2.0, -3.0, 2.0), (2.0, -0.0, -2.0), (0.0, -1.0, -0.0)]
    {
        let found = R::splat(a).times_sign(R::splat(b)).lane(R::LANES - 1);
        assert_eq!(found.to_bits(), f64::to_bits(with_sign), "{a} times the sign of {b}: {found}");
        assert_eq!(R::splat(a).abs().lane(0).to_bits(), a.abs().to_bits(), "|{a}|");
    }
}

#[test]
fn signs_are_those_of_the_standard_library() {
    with_all_numbers!(check_signs, 0.0, 0.0);
}
