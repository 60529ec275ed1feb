//! The trust region on problems whose answers are published.

use approx::assert_relative_eq;
use bristle_fit::trust_region::{Found, Linear, Loss, Settings, Start, minimise};
use nalgebra::{DMatrix, DVector};

/// Minimises from some starts; derivatives by central differences.
fn solve(
    residual: &dyn Fn(&[f64]) -> Vec<f64>,
    bounds: &[[f64; 2]],
    starts: &[&[f64]],
    loss: Loss,
) -> Vec<Option<Found>> {
    let mut evaluate = |starts: &[Start]| {
        let one = |start: &Start| {
            let at = |x: &[f64]| DVector::from_vec(residual(x));
            let columns: Vec<DVector<f64>> = (0..start.point.len())
                .map(|j| {
                    let h = 1e-6 * start.point[j].abs().max(1e-3);
                    let [mut up, mut down] = [start.point.clone(), start.point.clone()];
                    up[j] += h;
                    down[j] -= h;
                    (at(&up) - at(&down)) / (2.0 * h)
                })
                .collect();
            let residual = at(&start.point);
            residual
                .iter()
                .all(|r| r.is_finite())
                .then(|| Linear { jacobian: DMatrix::from_columns(&columns), residual })
        };
        Ok::<_, std::convert::Infallible>(starts.iter().map(one).collect())
    };
    let starts: Vec<Start> = starts.iter().map(|x| Start { point: x.to_vec(), held: vec![false; x.len()] }).collect();
    let settings = Settings { evaluations: 500, tolerance: 1e-14 };
    minimise(&mut evaluate, bounds, &starts, loss, settings).unwrap_or_else(|never| match never {})
}

const FREE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

fn rosenbrock(x: &[f64]) -> Vec<f64> {
    vec![10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0]]
}

#[test]
fn rosenbrocks_valley_is_followed_to_its_end() {
    for found in solve(&rosenbrock, &[FREE, FREE], &[&[-1.2, 1.0], &[3.0, -4.0]], Loss::Squares) {
        let found = found.unwrap();
        assert!(found.converged);
        assert_relative_eq!(found.point[..], [1.0, 1.0][..], max_relative = 1e-6);
    }
}

/// With x <= 0.5 the minimum is at the bound, where y = x^2.
#[test]
fn a_bound_holds_and_the_rest_is_best() {
    let found = solve(&rosenbrock, &[[-2.0, 0.5], FREE], &[&[-1.2, 1.0]], Loss::Squares).remove(0).unwrap();
    assert!(found.converged);
    assert_eq!(found.point[0], 0.5);
    assert_relative_eq!(found.point[1], 0.25, max_relative = 1e-6);
    // y >= 2: x where the derivative by x, 200 x (x^2 - 2) - (1 - x) with the sign of the valley, is zero.
    let found = solve(&rosenbrock, &[FREE, [2.0, 9.0]], &[&[-1.2, 5.0]], Loss::Squares).remove(0).unwrap();
    assert!(found.converged && found.point[1] == 2.0, "{found:?}");
    let x = found.point[0];
    assert!((200.0 * x * (x * x - 2.0) - (1.0 - x)).abs() < 1e-3, "{x}");
}

/// Powell's singular function: the Jacobian loses rank at the minimum, 0.
#[test]
fn powells_singular_function_comes_near_zero() {
    let powell = |x: &[f64]| {
        vec![
            x[0] + 10.0 * x[1],
            5f64.sqrt() * (x[2] - x[3]),
            (x[1] - 2.0 * x[2]).powi(2),
            10f64.sqrt() * (x[0] - x[3]).powi(2),
        ]
    };
    let found = solve(&powell, &[FREE; 4], &[&[3.0, -1.0, 0.0, 1.0]], Loss::Squares).remove(0).unwrap();
    assert!(found.cost < 1e-20, "{found:?}");
}

/// NIST StRD, Misra1a: y = b1 (1 - exp(-b2 x)), certified b1 = 2.3894212918E+02, b2 = 5.5015643181E-04,
/// residual sum of squares 1.2455138894E-01.
#[test]
fn a_data_set_of_nist_has_its_certified_values() {
    const DATA: [[f64; 2]; 14] = [
        [10.07, 77.6],
        [14.73, 114.9],
        [17.94, 141.1],
        [23.93, 190.8],
        [29.61, 239.9],
        [35.18, 289.0],
        [40.02, 332.8],
        [44.82, 378.4],
        [50.76, 434.8],
        [55.05, 477.3],
        [61.01, 536.8],
        [66.40, 593.1],
        [75.47, 689.1],
        [81.78, 760.0],
    ];
    let misra = |b: &[f64]| DATA.iter().map(|[y, x]| b[0] * (1.0 - (-b[1] * x).exp()) - y).collect();
    for found in solve(&misra, &[FREE; 2], &[&[500.0, 1e-4], &[250.0, 5e-4]], Loss::Squares) {
        let found = found.unwrap();
        assert_relative_eq!(found.point[0], 2.389_421_291_8e2, max_relative = 1e-6);
        assert_relative_eq!(found.point[1], 5.501_564_318_1e-4, max_relative = 1e-6);
        assert_relative_eq!(2.0 * found.cost, 1.245_513_889_4e-1, max_relative = 1e-8);
    }
}

/// Of a constant with one outlier Huber's estimate is where the pulls balance: 9 points at 0 and one at 100
/// with k = 1: 9 m = 1.
#[test]
fn an_outlier_pulls_no_more_than_its_share() {
    let residual = |x: &[f64]| (0..10).map(|i| x[0] - if i == 9 { 100.0 } else { 0.0 }).collect();
    let found = solve(&residual, &[FREE], &[&[10.0]], Loss::Huber(1.0)).remove(0).unwrap();
    assert_relative_eq!(found.point[0], 1.0 / 9.0, max_relative = 1e-5);
}

/// A start without an answer is none, and does not disturb its neighbour; a held unknown stays.
#[test]
fn starts_do_not_touch_each_other() {
    let root = |x: &[f64]| vec![x[0].sqrt() - 2.0, x[1] - 1.0];
    let found = solve(&root, &[FREE; 2], &[&[-1.0, 0.0], &[1.0, 0.0]], Loss::Squares);
    assert!(found[0].is_none());
    assert_relative_eq!(found[1].as_ref().unwrap().point[0], 4.0, max_relative = 1e-6);
}
