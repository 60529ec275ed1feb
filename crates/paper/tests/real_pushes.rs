//! Compares pushes of a plate with the limit surface of its supports: synthetic pushes, whose height and
//! friction the fit must find, and measured pushes. The measured data are not part of the project: without
//! their folder (`BRISTLE_REAL_PUSHES`, or `../shared/data/real_pushes`) the test prints this and passes.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use bristle_data::statistics::{mean, quantile};
use bristle_paper::reproduce::pushes::{self, Errors, Judged, Judgement};
use nalgebra::{Matrix3, Vector3};

/// Largest median angle [deg] of a set, by layout of its supports in the order of their names.
const MEDIAN: [f64; 4] = [10.7, 9.5, 19.7, 12.6];

fn median(v: &[f64]) -> f64 {
    quantile(v, 0.5)
}

#[test]
fn coulomb_friction_predicts_measured_pushes() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/real_pushes");
    let folder = PathBuf::from(std::env::var_os("BRISTLE_REAL_PUSHES").unwrap_or_else(|| default.into()));
    if !folder.join("supports.csv").is_file() {
        println!("skipped: no measured pushes at {}", folder.display());
        return;
    }
    let Judgement { sets, .. } = pushes::judge(&folder).unwrap();
    let layouts = pushes::by_layout(&sets);
    assert_eq!(layouts.len(), MEDIAN.len());
    for (name, Judged { statics, fitted }) in sets.iter().chain(&layouts) {
        let text = |e: &Errors| {
            let [half, most, size] = [median(&e.angle), quantile(&e.angle, 0.9), 100.0 * median(&e.size)];
            format!("{half:.2} and {most:.2} deg, size {size:.1} %")
        };
        println!("{name}: median and 90 % {} by statics, {} fitted", text(statics), text(fitted));
    }
    let limit = |layout: &str| MEDIAN[layouts.keys().position(|l| l == layout).unwrap()];
    // Every layout was pushed on two surfaces.
    assert_eq!(sets.len(), 2 * MEDIAN.len());
    let alone = sets.iter().map(|(name, a)| (name, &a.statics.angle, limit(pushes::layout(name))));
    let fitted = layouts.iter().map(|(name, a)| (name, &a.fitted.angle, limit(name)));
    for (name, angles, limit) in alone.chain(fitted) {
        let found = median(angles);
        assert!(found <= limit, "{name}: median {found:.2} deg, at most {limit}");
    }
    // The medians of 50 pushes are too few to tell where the supports are far apart; means and far ends are
    // not.
    for (name, Judged { statics, fitted }) in &layouts {
        for (what, of) in [("mean", mean as fn(&[f64]) -> f64), ("90 %", |v| quantile(v, 0.9))] {
            let [before, after] = [statics, fitted].map(|e| of(&e.angle));
            assert!(after < before, "{name}: {what} {after:.2} deg fitted, {before:.2} deg without");
        }
    }
    let over = |pick: fn(&Judged) -> &[f64]| layouts.values().map(|a| median(pick(a))).sum::<f64>() / 4.0;
    let (statics, fitted) = (over(|a| &a.statics.angle), over(|a| &a.fitted.angle));
    assert!(fitted < 0.92 * statics, "mean of the medians: {fitted:.2} deg fitted, {statics:.2} deg without");
    let (statics, fitted) = (over(|a| &a.statics.size), over(|a| &a.fitted.size));
    assert!(fitted < 0.85 * statics, "mean of the medians: size off by {fitted:.3} fitted, {statics:.3} without");
}

/// Supports of the made plate [m]; its weight rests on them at the origin, in thirds.
const SUPPORTS: [[f64; 2]; 3] = [[-0.02, -0.02], [0.04, -0.02], [-0.02, 0.04]];
const WEIGHT: f64 = 15.0;

/// Wrench of the pusher [N, N, N m] under `mu` for a push at `height` [m]: points on squares of 20/3 mm, and
/// the moments of the pushing force balanced by iteration.
fn push(twist: [f64; 3], mu: f64, height: f64) -> [f64; 3] {
    const N: usize = 60;
    let side = 0.02 / 3.0;
    let unit: [[f64; 3]; 3] = SUPPORTS.map(|[cx, cy]| {
        let mut sum = [0.0; 3];
        for k in 0..N * N {
            let [x, y] =
                [cx + side * ((k % N) as f64 + 0.5 - 30.0) / 60.0, cy + side * ((k / N) as f64 + 0.5 - 30.0) / 60.0];
            let (vx, vy) = (twist[0] - twist[2] * y, twist[1] + twist[2] * x);
            let speed = vx.hypot(vy).max(1e-300) * (N * N) as f64;
            sum = [sum[0] + vx / speed, sum[1] + vy / speed, sum[2] + (x * vy - y * vx) / speed];
        }
        sum
    });
    let triangle = Matrix3::from_columns(&SUPPORTS.map(|[x, y]| Vector3::new(1.0, x, y))).try_inverse().unwrap();
    let mut force = [0.0; 3];
    for _ in 0..200 {
        let cop = [force[0], force[1]].map(|f| height * f / WEIGHT);
        let loads = triangle * Vector3::new(WEIGHT, WEIGHT * cop[0], WEIGHT * cop[1]);
        assert!(loads.min() > 0.0);
        force = [0, 1, 2].map(|k| (0..3).map(|i| mu * loads[i] * unit[i][k]).sum());
    }
    force
}

/// A folder of made pushes at `height` [m] on two surfaces, whose coefficients of friction are said to be a
/// fifth less than they are.
fn made(folder: &Path, height: f64) {
    let mut supports = "set,x_m,y_m,normal_N,mu\n".to_owned();
    for (surface, mu) in [("ice", 0.3), ("felt", 0.4)] {
        for [x, y] in SUPPORTS {
            writeln!(supports, "{surface}_a,{x},{y},{},{}", WEIGHT / 3.0, 0.8 * mu).unwrap();
        }
        let mut rows = "dx_m,dy_m,dtheta_rad,fx_N,fy_N,tau_Nm,samples\n".to_owned();
        for k in 0..24 {
            let (way, turn) = (f64::from(k) * 2.4, 0.1 * (f64::from(k) * 1.7 + mu).sin());
            let twist = [0.005 * way.cos(), 0.005 * way.sin(), turn];
            let [fx, fy, tau] = push(twist, mu, height);
            // Measured in the frame at the start of the push; the twist is seen from half-way.
            let (sin, cos) = (0.5 * turn).sin_cos();
            let [dx, dy] = [cos * twist[0] - sin * twist[1], sin * twist[0] + cos * twist[1]];
            writeln!(rows, "{dx},{dy},{turn},{fx},{fy},{tau},1").unwrap();
        }
        std::fs::write(folder.join(format!("{surface}_a.csv")), rows).unwrap();
    }
    std::fs::write(folder.join("supports.csv"), supports).unwrap();
}

#[test]
fn the_fit_finds_height_and_friction() {
    for height in [0.0, 0.012] {
        let folder = tempfile::tempdir().unwrap();
        made(folder.path(), height);
        let Judgement { sets, fits } = pushes::judge(folder.path()).unwrap();
        for fit in fits {
            assert!((fit.height - height).abs() < 1.1e-3, "{height}: {fit:?}");
            for (surface, mu) in [("ice", 0.3), ("felt", 0.4)] {
                assert!((fit.friction[surface] / mu - 1.0).abs() < 0.03, "{height}: {fit:?}");
            }
        }
        for (set, Judged { statics, fitted }) in sets {
            assert_eq!(fitted.angle.len(), 24);
            let ([before, after], [size_before, size_after]) =
                ([&statics.angle, &fitted.angle].map(|v| median(v)), [&statics.size, &fitted.size].map(|v| median(v)));
            assert!(after < 0.3, "{set}: {after} deg");
            assert!(if height > 0.0 { before > 2.0 } else { (before - after).abs() < 1e-3 }, "{set}: {before} deg");
            assert!((0.15..0.25).contains(&size_before) && size_after < 0.03, "{set}: {size_before} {size_after}");
        }
    }
}

#[test]
fn supports_that_do_not_hold_a_plate_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |supports: &str| {
        made(folder.path(), 0.0);
        let list = folder.path().join("supports.csv");
        std::fs::write(&list, format!("set,x_m,y_m,normal_N,mu\n{supports}")).unwrap();
        pushes::judge(folder.path()).unwrap_err().to_string()
    };
    let two = refused("ice_a,0,0,1,0.3\nice_a,0.1,0,1,0.3\n");
    assert!(two.contains("supports.csv") && two.contains("ice_a: 2 supports: expected three"), "{two}");
    let line = refused("ice_a,0,0,1,0.3\nice_a,0.1,0,1,0.3\nice_a,0.2,0,1,0.3\n");
    assert!(line.contains("in one line"), "{line}");
    made(folder.path(), 0.0);
    std::fs::write(folder.path().join("felt_a.csv"), "dx_m,dy_m,dtheta_rad,fx_N,fy_N,tau_Nm,samples\n").unwrap();
    let none = pushes::judge(folder.path()).unwrap_err().to_string();
    assert!(none.contains("felt_a.csv") && none.contains("expected at least two"), "{none}");
}
