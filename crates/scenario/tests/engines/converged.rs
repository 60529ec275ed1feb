//! Compares with converged solutions of an independent program: `tests/fixtures/distributed`.

use bristle::engine::{DEFAULT_STEP, Engine, Trajectories};
use bristle::friction::Law;

use crate::common::{Case, assert_below, assert_close, cases, compare, kind, maps, run};
use crate::{F64, Limits};

pub fn prescribed_twists_give_the_converged_wrenches(engine: &dyn Engine, limits: &Limits) {
    let cases = cases("fig");
    assert!(cases.len() >= 17, "Fig. 5 on six maps under both laws, held inputs, and Fig. 10");
    let out = run(engine, &cases, DEFAULT_STEP);
    for (k, case) in cases.iter().enumerate() {
        let [force, torque] = prescribed_error(case, &out, k);
        assert_below(&format!("{}: rms of the force over its maximum", case.name), force, limits.prescribed);
        assert_below(&format!("{}: rms of the torque over its maximum", case.name), torque, limits.prescribed);
    }
}

/// Root mean squares of the errors of force and torque about the centre of pressure, over their maxima.
pub fn prescribed_error(case: &Case, out: &Trajectories, k: usize) -> [f64; 2] {
    let n = out.frames();
    let [fx, fy, tau] = [0, 1, 2].map(|c| case.samples(&out.wrench, k, n, c));
    let [x, y] = case.contact.patch.cop();
    let (mut force, mut force_most, mut torque, mut torque_most) = (0.0, 0.0f64, 0.0, 0.0f64);
    for (i, (_, row)) in case.rows.iter().enumerate() {
        let tau_cop = tau[i] - (x * fy[i] - y * fx[i]);
        force += (fx[i] - row[0]).powi(2) + (fy[i] - row[1]).powi(2);
        torque += (tau_cop - row[2]).powi(2);
        force_most = force_most.max(row[0].hypot(row[1]));
        torque_most = torque_most.max(row[2].abs());
    }
    let rows = case.rows.len() as f64;
    [(force / rows).sqrt() / force_most, (torque / rows).sqrt() / torque_most]
}

pub fn in_hand_poses_are_the_converged_ones(engine: &dyn Engine, limits: &Limits) {
    let cases = cases("inhand");
    assert!(cases.len() >= 14, "cases 1 and 2, both laws and forces, four maps");
    assert!(cases.iter().all(|c| kind(&c.contact) == "gripper"));
    assert_eq!(cases.iter().filter(|c| c.name == "inhand_case2_square_fN1 ep").count(), 1);
    let out = run(engine, &cases, DEFAULT_STEP);
    for (k, case) in cases.iter().enumerate() {
        let [metres, radians] = match case.name.as_str() {
            "inhand_case2_square_fN1 ep" => limits.in_hand_near_rest,
            name if name.contains("linegrad") => limits.in_hand_line,
            _ => limits.in_hand,
        };
        for (c, limit) in [metres, metres, radians].into_iter().enumerate() {
            let what = format!("{}: pose.{}", case.name, ["x", "y", "theta"][c]);
            assert_close(&what, &case.samples(&out.pose, k, out.frames(), c), &case.column(c), limit);
        }
    }
}

/// Times between which drift is measured [s], a whole number of periods apart: samples of the fixtures.
const DRIFT: [f64; 2] = [3.34, 4.34];

pub fn lugre_drifts_as_the_model_says_and_elasto_plastic_does_not(engine: &dyn Engine, limits: &Limits) {
    let cases = cases("drift");
    assert!(cases.len() >= 12, "Figs. 6 and 24, both laws, both sizes, continuous and held");
    let out = run(engine, &cases, DEFAULT_STEP);
    for (k, case) in cases.iter().enumerate() {
        let frames = DRIFT.map(|t| case.plan.samples.iter().position(|s| (s - t).abs() < 1e-9).unwrap());
        let row = |t: usize| case.rows.iter().position(|(frame, _)| *frame == frames[t]).unwrap();
        let (early, late) = (row(0), row(1));
        let drift = |x: &[f64]| (x[late] - x[early]) / (DRIFT[1] - DRIFT[0]);
        let found = drift(&case.samples(&out.pose, k, out.frames(), 0));
        let wanted = drift(&case.column(0));
        if case.contact.friction.law == Law::LuGre {
            assert!(wanted > 1e-8, "{}: LuGre creeps", case.name);
            assert_close(&format!("{}: drift", case.name), &[found / wanted], &[1.0], limits.drift);
        } else {
            assert_below(&format!("{}: drift", case.name), found.abs(), limits.no_drift);
        }
    }
}

#[test]
fn the_comparison_with_converged_poses_fails_for_the_other_law() {
    let (ep, lugre) = (Case::load("inhand_case2_circle_fN1", "ep"), Case::load("inhand_case2_circle_fN1", "lugre"));
    let out = run(&bristle::cpu::Cpu::new(), &[ep], DEFAULT_STEP);
    let y = lugre.samples(&out.pose, 0, out.frames(), 1);
    let message = compare("y", &y, &lugre.column(1), F64.in_hand[0]).unwrap_err();
    assert!(message.contains("limit 7e-6"), "{message}");
}

#[test]
fn the_maps_have_the_radius_and_the_moment_of_the_converged_cases() {
    for (name, [r, u, x, y]) in maps() {
        let patch = Case::load(&name, if name.starts_with("fig10") { "lugre" } else { "ep" }).contact.patch;
        let relative = [patch.radius() / r, patch.viscous() / u];
        assert_close(&format!("{name}: r, u over the wanted ones"), &relative, &[1.0, 1.0], 1e-12);
        assert_close(&format!("{name}: centre of pressure"), &patch.cop(), &[x, y], 1e-13);
    }
}

#[test]
fn prescribed_twists_converge_with_second_order() {
    let cases: Vec<Case> =
        ["circle", "linegrad", "nonconvex2"].iter().flat_map(|map| cases(&format!("fig5_{map}"))).collect();
    assert_eq!(cases.len(), 6);
    // The worst of all cases, at each step.
    let steps = [4e-4, 2e-4, 1e-4, 5e-5];
    let worst = steps.map(|h| {
        let out = run(&bristle::cpu::Cpu::new(), &cases, h);
        let errors = cases.iter().enumerate().map(|(k, case)| prescribed_error(case, &out, k));
        errors.flatten().fold(0.0, f64::max)
    });
    // Least squares in logarithms: the steps are evenly spaced there.
    let e = worst.map(f64::ln);
    let order = (3.0 * (e[0] - e[3]) + (e[1] - e[2])) / (10.0 * 2f64.ln());
    assert!(order >= 1.8, "errors {worst:?} at steps {steps:?}: order {order}");
}

#[test]
fn in_hand_poses_converge_with_second_order() {
    let cases: Vec<Case> = cases("inhand").into_iter().filter(|c| c.name.contains("circle")).collect();
    assert_eq!(cases.len(), 8);
    let largest = [4e-4, 5e-5].map(|h| {
        let out = run(&bristle::cpu::Cpu::new(), &cases, h);
        let error = |k: usize, c: usize| {
            let found = cases[k].samples(&out.pose, k, out.frames(), c);
            found.iter().zip(cases[k].column(c)).map(|(f, w)| (f - w).abs()).fold(0.0, f64::max)
        };
        let largest = |c: usize| (0..cases.len()).map(|k| error(k, c)).fold(0.0, f64::max);
        [largest(0).max(largest(1)), largest(2)]
    });
    for (c, what) in ["position", "angle"].into_iter().enumerate() {
        let order = (largest[0][c] / largest[1][c]).log2() / 3.0;
        assert!(order >= 1.7, "largest errors of {what}: {largest:?}, order {order}");
    }
}
