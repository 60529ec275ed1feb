use super::*;
use crate::friction::{Friction, Law};
use crate::number::baseline::{F32, F64};
#[cfg(target_arch = "x86_64")]
use crate::number::{
    simd::Simd,
    x86::{Avx2F32, Avx2F64, Avx512F32, Avx512F64},
};
use crate::patch::Grid;

/// What a pass evaluates.
type Sums = (Vec3<f64>, Mat3<f64>);

/// Factors of friction by the number of a cell: none, two regions, and one in every cell.
const FACTORS: [fn(usize) -> f64; 3] = [|_| 1.0, |k| if k < 50 { 0.7 } else { 1.1 }, |k| 0.8 + 0.1 * (k % 5) as f64];

/// A grid of `n x n` cells with factors of friction.
fn cells<R: Real>(n: usize, factor: fn(usize) -> f64) -> Cells<R> {
    let grid = Grid::new(n, n, 0.02, 0.02).unwrap();
    let centres: Vec<[f64; 2]> = grid.centres().collect();
    let w: Vec<f64> = (0..n * n).map(|k| (1.0 + (k % 7) as f64) / (4 * n * n) as f64).collect();
    let zeta: Vec<[f64; 2]> = centres.iter().map(|[x, y]| [90.0 * x, -120.0 * y + 0.1]).collect();
    let factors: Vec<f64> = (0..n * n).map(factor).collect();
    Cells::new(&centres, &w, &factors, &zeta)
}

/// Sums and bases of three passes over cells that stick in the middle and slide at the rim.
fn passes<R: Real>(cells: &mut Cells<R>, law: Law) -> (Vec<Sums>, Vec<[f64; 2]>) {
    let k = Consts::new(&Friction { law, ..Friction::default() });
    let st = |extrapolation| Stage {
        a_sigma0: 60.0,
        damping: 0.1,
        mu_c: 0.9,
        mu_d: 0.2,
        chi: 1.0,
        extrapolation,
        cuts: 0.0,
    };
    let stages = [(None, Some(st(2.4))), (Some(st(2.4)), Some(st(1.0))), (Some(st(1.0)), None)];
    let twists = [Vec3::new(1e-3, 2e-3, 0.3), Vec3::new(-2e-3, 1e-3, 1.0), Vec3::new(4e-3, 0.0, -0.5)];
    let sums = stages.iter().zip(twists).map(|((commit, next), u)| sweep(cells, &k, u, commit.as_ref(), next.as_ref()));
    (sums.collect(), cells.bristles([0.0; 3]))
}

/// [`passes`] over `n x n` cells.
fn sweeps<R: Real>(n: usize, law: Law, factor: fn(usize) -> f64) -> (Vec<Sums>, Vec<[f64; 2]>) {
    passes(&mut cells::<R>(n, factor), law)
}

/// Contacts under all laws share the memory of a pass.
#[test]
fn what_a_pass_has_left_in_its_memory_changes_nothing() {
    for &before in Law::ALL {
        for &law in Law::ALL {
            let (mut used, mut other) = (cells::<F64>(21, FACTORS[0]), cells::<F64>(21, FACTORS[0]));
            passes(&mut used, before);
            std::mem::swap(&mut used.workspace, &mut other.workspace);
            assert_eq!(passes(&mut other, law).1, sweeps::<F64>(21, law, FACTORS[0]).1, "{law:?} after {before:?}");
        }
    }
}

fn assert_same<R: Real>(most: f64) {
    for n in [1, 3, 11, 21] {
        for (law, factor) in [Law::ElastoPlastic, Law::LuGre].into_iter().flat_map(|law| FACTORS.map(|of| (law, of))) {
            let ((sums, bases), (found, moved)) = (sweeps::<f64>(n, law, factor), sweeps::<R>(n, law, factor));
            for (a, b) in sums.iter().zip(&found) {
                let amax = |v: Vec3<f64>| v.x.abs().max(v.y.abs()).max(v.z.abs());
                let greatest = |m: Mat3<f64>| amax(m.x).max(amax(m.y)).max(amax(m.z));
                assert!(amax(a.0 - b.0) < most, "{n}: {a:?} {b:?}");
                assert!(greatest(a.1 + b.1 * -1.0) < most * greatest(a.1).max(1.0), "{n}: {a:?} {b:?}");
            }
            for (a, b) in bases.iter().zip(&moved) {
                assert!((a[0] - b[0]).abs().max((a[1] - b[1]).abs()) < most, "{n}: {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn elastic_cells_by_themselves_sum_to_what_they_do_together() {
    assert_same::<F64>(1e-12);
    assert_same::<F32>(2e-5);
    #[cfg(target_arch = "x86_64")]
    {
        if Simd::widest() >= Simd::Avx2 {
            assert_same::<Avx2F64>(1e-12);
            assert_same::<Avx2F32>(2e-5);
        }
        if Simd::widest() >= Simd::Avx512 {
            assert_same::<Avx512F64>(1e-12);
            assert_same::<Avx512F32>(2e-5);
        }
    }
}

/// A factor of all cells is one of the coefficients.
#[test]
fn factors_multiply_the_coefficients() {
    for &law in Law::ALL {
        let sums = |factor: fn(usize) -> f64, by: f64| {
            let k = Consts::new(&Friction { law, ..Friction::default() });
            let st = Stage {
                a_sigma0: 60.0,
                damping: 0.1,
                mu_c: 0.9 * by,
                mu_d: 0.2 * by,
                chi: 1.0,
                extrapolation: 2.4,
                cuts: 0.0,
            };
            let mut cells = cells::<f64>(5, factor);
            let first = sweep(&mut cells, &k, Vec3::new(1e-3, 2e-3, 0.3), None, Some(&st));
            (first, sweep(&mut cells, &k, Vec3::new(0.0, 2e-3, -0.3), Some(&st), Some(&st)), cells.bristles([0.0; 3]))
        };
        assert_eq!(format!("{:?}", sums(|_| 0.5, 1.0)), format!("{:?}", sums(|_| 1.0, 0.5)), "{law:?}");
        assert_ne!(format!("{:?}", sums(|_| 0.5, 1.0)), format!("{:?}", sums(|_| 1.0, 1.0)), "{law:?}");
    }
}

#[test]
fn some_cells_are_elastic_and_some_are_not() {
    let (_, bases) = sweeps::<f64>(21, Law::ElastoPlastic, FACTORS[0]);
    let below = bases.iter().filter(|z| z[0].hypot(z[1]) < 0.8).count();
    assert!((60..380).contains(&below), "{below}");
}
