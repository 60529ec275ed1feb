//! A plate on three feet that is pushed in many directions on two surfaces: friction on each, and what each
//! foot carries, from made pushes and from measured ones. The measured data are not part of the project:
//! without their folder (`BRISTLE_REAL_PUSHES`, or `../shared/data/real_pushes`) the test prints this and
//! passes.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use bristle::random::Draw;
use bristle_fit::FitFile;
use bristle_fit::fit::{Estimate, Fit, fit};
use bristle_fit::recording::{Recording, RecordingSpec};

/// A push: the twist of the plate at its centre of mass, in its own axes, and the wrench of the pusher there.
type Push = ([f64; 3], [f64; 3]);

const WEIGHT: f64 = 15.0;

/// The example with other feet \[m\] and a weight \[N\]; the first `share` of the pushes is fitted.
fn file(feet: &[[f64; 2]; 3], weight: f64, share: f64) -> FitFile {
    let changes: Vec<String> = (feet.iter().enumerate())
        .map(|(k, at)| format!("patches.{k}.at={at:?}"))
        .chain([format!("inputs.normal_force={weight:?}"), format!("fit.share={share:?}")])
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pushes.toml");
    FitFile::load(&path, &changes).unwrap_or_else(|e| panic!("{e}"))
}

/// Pushes as a recording of that file.
fn recording(name: &str, pushes: &[Push], spec: &RecordingSpec) -> Recording {
    let names = ["time [s]", "vx [m/s]", "vy [m/s]", "w [rad/s]", "fx [N]", "fy [N]", "tau [N m]"];
    let mut columns: Vec<(String, Vec<f64>)> = names.map(|name| (name.to_owned(), Vec::new())).to_vec();
    for (k, (twist, wrench)) in pushes.iter().enumerate() {
        for (time, wrench) in [(0.0, [f64::NAN; 3]), (0.5, [f64::NAN; 3]), (0.99, *wrench)] {
            let row = [&[k as f64 + time], &twist[..], &wrench[..]].concat();
            columns.iter_mut().zip(row).for_each(|((_, column), x)| column.push(x));
        }
    }
    Recording::of_columns(name, columns, spec).unwrap_or_else(|e| panic!("{e}"))
}

fn fitted(file: &FitFile, surfaces: &[Vec<Push>]) -> Fit {
    let spec = file.spec.recording.as_ref().unwrap();
    let recordings: Vec<Recording> =
        surfaces.iter().enumerate().map(|(k, pushes)| recording(&format!("surface {k}"), pushes, spec)).collect();
    fit(file, &recordings, &[], &|_| true).unwrap_or_else(|e| panic!("{e}"))
}

fn of<'f>(fit: &'f Fit, name: &str) -> &'f Estimate {
    fit.estimates.iter().find(|e| e.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// The wrench of the pusher against Coulomb friction at points: feet that are small.
fn wrench([vx, vy, w]: [f64; 3], feet: &[[f64; 2]; 3], forces: [f64; 3]) -> [f64; 3] {
    feet.iter().zip(forces).fold([0.0; 3], |[fx, fy, tau], ([x, y], force)| {
        let v = [vx - w * y, vy + w * x];
        let [x_force, y_force] = v.map(|c| force * c / v[0].hypot(v[1]));
        [fx + x_force, fy + y_force, tau + x * y_force - y * x_force]
    })
}

/// Pushes of 2 to 8 mm and up to 6 degrees, measured with noise of a share of the friction.
fn made(seed: u64, feet: &[[f64; 2]; 3], forces: [f64; 3], noise: f64) -> Vec<Push> {
    let most: f64 = forces.iter().sum();
    let push = |k: u64| {
        let draw = Draw::new(seed, k);
        let (way, angle) = (0.002 + 0.006 * draw.uniform("way"), std::f64::consts::TAU * draw.uniform("angle"));
        let twist = [way * angle.cos(), way * angle.sin(), 0.2 * (draw.uniform("turn") - 0.5)];
        let [fx, fy, tau] = wrench(twist, feet, forces);
        let of = |name: &str, size: f64| noise * most * size * draw.normal(name);
        (twist, [fx + of("fx", 1.0), fy + of("fy", 1.0), tau + of("tau", 0.05)])
    };
    (0..25).map(push).collect()
}

#[test]
fn friction_and_the_pressure_of_three_feet_are_found() {
    let feet = [[-0.04, -0.04], [0.08, -0.04], [-0.04, 0.08]];
    let (friction, shares) = ([0.28, 0.36], [0.45, 0.2, 0.35]);
    let surfaces = [0, 1].map(|k| made(k as u64, &feet, shares.map(|s| s * WEIGHT * friction[k]), 0.03));
    let fit = fitted(&file(&feet, WEIGHT, 1.0), &surfaces);
    assert!(fit.converged && fit.directions.is_empty(), "{:?}", fit.directions);
    let truths = [
        ("friction.mu_c@0", friction[0]),
        ("friction.mu_c@1", friction[1]),
        ("patches.1.share", shares[1] / shares[0]),
        ("patches.2.share", shares[2] / shares[0]),
    ];
    for (name, truth) in truths {
        let e = of(&fit, name);
        // Three standard deviations of an interval that has 1.645 to each side.
        let [low, high] = [e.low, e.high].map(|end| e.value * (end / e.value).powf(3.0 / 1.645));
        assert!(e.identifiable && low < truth && truth < high && high < 1.25 * low, "{name} {truth}: {e:?}");
    }
}

/// Ten samples for each unknown are enough where the file holds others.
#[test]
fn unknowns_that_are_held_need_no_samples() {
    let feet = [[-0.04, -0.04], [0.08, -0.04], [-0.04, 0.08]];
    let few = |k: u64| made(k, &feet, [2.0, 1.0, 1.5], 0.02)[..11].to_vec();
    // 66 numbers for four unknowns; six are held.
    let fit = fitted(&file(&feet, WEIGHT, 1.0), &[few(0), few(1)]);
    assert_eq!(fit.estimates.iter().filter(|e| e.identifiable).count(), 4, "{:?}", fit.estimates);
}

/// The measured pushes of one layout of the feet on two surfaces.
fn measured(folder: &Path, layout: &str) -> [Vec<Push>; 2] {
    ["hardboard", "plywood"].map(|surface| {
        let text = std::fs::read_to_string(folder.join(format!("{surface}_{layout}.csv"))).unwrap();
        let push = |line: &str| {
            let x: Vec<f64> = line.split(',').map(|x| x.parse().unwrap()).collect();
            // Measured in the frame at the start of the push; the mean twist is seen from half-way.
            let (sin, cos) = (0.5 * x[2]).sin_cos();
            ([cos * x[0] + sin * x[1], cos * x[1] - sin * x[0], x[2]], [x[3], x[4], x[5]])
        };
        text.lines().skip(1).map(push).collect()
    })
}

/// Angle [deg] between two wrenches whose torques are in units of 50 mm.
fn angle(a: [f64; 3], b: [f64; 3]) -> f64 {
    let [a, b] = [a, b].map(|[fx, fy, tau]| nalgebra::Vector3::new(fx, fy, tau / 0.05));
    a.angle(&b).to_degrees()
}

/// The layouts of the measured pushes: their feet \[m\], and the median angle [deg] between measured wrenches
/// and those of the loads at rest.
const LAYOUTS: [(&str, [[f64; 2]; 3], f64); 4] = [
    ("10_130_10_10_10_130", [[-0.04, -0.04], [0.08, -0.04], [-0.04, 0.08]], 9.04),
    ("10_90_10_10_30_130", [[-0.04, -0.04], [0.04, -0.02], [-0.04, 0.08]], 7.39),
    ("30_63.33_43.33_30_43.33_63.33", [[-0.02, -0.02], [0.01333, -0.00667], [-0.00667, 0.01333]], 15.05),
    ("30_90_30_30_30_90", [[-0.02, -0.02], [0.04, -0.02], [-0.02, 0.04]], 9.77),
];

/// Each fifth of the pushes is predicted from the others.
#[test]
fn measured_pushes_have_friction_pressure_and_predictions() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/real_pushes");
    let folder = PathBuf::from(std::env::var_os("BRISTLE_REAL_PUSHES").unwrap_or_else(|| default.into()));
    if !folder.join("supports.csv").is_file() {
        println!("skipped: no measured pushes at {}", folder.display());
        return;
    }
    let mut text = String::new();
    for (layout, feet, at_rest) in LAYOUTS {
        let surfaces = measured(&folder, layout);
        let whole = fitted(&file(&feet, 14.8764, 1.0), &surfaces);
        writeln!(text, "{layout}").unwrap();
        for name in ["friction.mu_c@0", "friction.mu_c@1", "patches.1.share", "patches.2.share"] {
            let Estimate { value, low, high, identifiable, .. } = of(&whole, name);
            assert!(*identifiable, "{layout}: {name}");
            writeln!(text, "  {name} {value:.3} ({low:.3} to {high:.3})").unwrap();
        }
        let mut angles = Vec::new();
        for fold in 0..5 {
            let last = |pushes: &Vec<Push>| -> Vec<Push> {
                let (held, others): (Vec<_>, Vec<_>) = pushes.iter().enumerate().partition(|(i, _)| i % 5 == fold);
                others.into_iter().chain(held).map(|(_, push)| *push).collect()
            };
            let surfaces = [last(&surfaces[0]), last(&surfaces[1])];
            let fit = fitted(&file(&feet, 14.8764, 0.8), &surfaces);
            for (k, pushes) in surfaces.iter().enumerate() {
                let channels: Vec<_> = fit.channels.iter().filter(|c| c.place == k).collect();
                for i in 20..pushes.len() {
                    let predicted = [0, 1, 2].map(|c| channels[c].model[3 * i + 2]);
                    let found = [0, 1, 2].map(|c| channels[c].measured[3 * i + 2]);
                    angles.push(angle(predicted, found));
                }
            }
        }
        angles.sort_by(f64::total_cmp);
        let median = 0.5 * (angles[24] + angles[25]);
        writeln!(text, "  median angle of 50 predicted pushes {median:.2} deg, {at_rest} by loads at rest").unwrap();
        assert!(median < 1.1 * at_rest, "{layout}: {median:.2} deg");
    }
    println!("{text}");
}
