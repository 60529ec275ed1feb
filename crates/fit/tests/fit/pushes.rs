//! A plate on three feet that is pushed in many directions on two surfaces: friction on each, and what each
//! foot carries, from made pushes and from measured ones. The measured data are not part of the project:
//! without their folder (`BRISTLE_REAL_PUSHES`, or `../shared/data/real_pushes`) the test prints this and
//! passes.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use bristle::random::Draw;
use bristle_fit::FitFile;
use bristle_fit::fit::{Estimate, Fit, FitError, fit};
use bristle_fit::recording::{Recording, RecordingSpec};
use nalgebra::{Matrix3, Vector3};

/// A push: the twist of the plate at its centre of mass, in its own axes, and the wrench of the pusher there.
type Push = ([f64; 3], [f64; 3]);

const WEIGHT: f64 = 15.0;
/// Of made pushes above the surface \[m\].
const HEIGHT: f64 = 0.02;

/// The example with other feet \[m\] and a weight \[N\]; the first `share` of the pushes is fitted.
fn file(feet: &[[f64; 2]; 3], weight: f64, share: f64) -> FitFile {
    changed(feet, weight, share, &[])
}

/// The same with more changes.
fn changed(feet: &[[f64; 2]; 3], weight: f64, share: f64, more: &[String]) -> FitFile {
    let changes: Vec<String> = (feet.iter().enumerate())
        .map(|(k, at)| format!("patches.{k}.at={at:?}"))
        .chain([format!("inputs.normal_force={weight:?}"), format!("fit.share={share:?}")])
        .chain(more.iter().cloned())
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
    fit_of(file, &recordings).unwrap_or_else(|e| panic!("{e}"))
}

fn fit_of(file: &FitFile, recordings: &[Recording]) -> Result<Fit, FitError> {
    fit(file, recordings, &[], &|_| true)
}

fn of<'f>(fit: &'f Fit, name: &str) -> &'f Estimate {
    fit.estimates.iter().find(|e| e.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// The wrench of the pusher, at a height \[m\], against Coulomb friction `mu` at points: feet that are small.
/// The loads on the feet balance its moment: their centre of pressure is ahead of that at rest by the height
/// times its force over the weight.
fn wrench([vx, vy, w]: [f64; 3], feet: &[[f64; 2]; 3], shares: [f64; 3], mu: f64, height: f64) -> [f64; 3] {
    let places = Matrix3::from_columns(&feet.map(|[x, y]| Vector3::new(1.0, x, y)));
    let rest = places * Vector3::from(shares);
    let way = feet.map(|[x, y]| Vector3::new(0.0, vx - w * y, vy + w * x).normalize());
    let moment = Matrix3::from_columns(&way) * (height * mu);
    let loads = (places - moment).lu().solve(&rest).unwrap();
    assert!(loads.min() > 0.0, "{loads}");
    let of_foot = |k: usize| {
        let ([x, y], [fx, fy]) = (feet[k], [1, 2].map(|axis| WEIGHT * mu * loads[k] * way[k][axis]));
        [fx, fy, x * fy - y * fx]
    };
    [0, 1, 2].map(|axis| (0..3).map(|k| of_foot(k)[axis]).sum())
}

/// Pushes of 2 to 8 mm and up to 6 degrees, measured with noise of a share of the friction.
fn made(seed: u64, feet: &[[f64; 2]; 3], (shares, mu): ([f64; 3], f64), noise: f64) -> Vec<Push> {
    let most = mu * WEIGHT;
    let push = |k: u64| {
        let draw = Draw::new(seed, k);
        let (way, angle) = (0.002 + 0.006 * draw.uniform("way"), std::f64::consts::TAU * draw.uniform("angle"));
        let twist = [way * angle.cos(), way * angle.sin(), 0.2 * (draw.uniform("turn") - 0.5)];
        let [fx, fy, tau] = wrench(twist, feet, shares, mu, HEIGHT);
        let of = |name: &str, size: f64| noise * most * size * draw.normal(name);
        (twist, [fx + of("fx", 1.0), fy + of("fy", 1.0), tau + of("tau", 0.05)])
    };
    (0..25).map(push).collect()
}

#[test]
fn friction_and_the_pressure_of_three_feet_are_found() {
    let feet = [[-0.04, -0.04], [0.08, -0.04], [-0.04, 0.08]];
    let (friction, shares) = ([0.28, 0.36], [0.45, 0.2, 0.35]);
    let surfaces = [0, 1].map(|k| made(k as u64, &feet, (shares, friction[k]), 0.03));
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
    let e = of(&fit, "inputs.push_height");
    let off = 3.0 / 1.645 * 0.5 * (e.high - e.low);
    assert!(e.identifiable && (e.value - HEIGHT).abs() < off && off < 0.5 * HEIGHT, "{e:?}");
}

/// One recording has the feet in other places and shares than the other: known numbers of each.
#[test]
fn known_numbers_may_differ_between_recordings() {
    let feet = [[[-0.04, -0.04], [0.08, -0.04], [-0.04, 0.08]], [[-0.03, -0.03], [0.05, -0.02], [-0.02, 0.06]]];
    let shares = [[0.45, 0.2, 0.35], [0.3, 0.3, 0.4]];
    let surfaces = [0, 1].map(|k| made(k as u64, &feet[k], (shares[k], 0.3), 0.01));
    let held = |path: &str, of: [f64; 2]| format!("fit.unknowns.{path:?}={{ value = {of:?} }}");
    let mut changes: Vec<String> = (0..6)
        .map(|i| held(&format!("patches.{}.at.{}", i / 2, i % 2), feet.map(|feet| feet[i / 2][i % 2])))
        .chain([1, 2].map(|i| held(&format!("patches.{i}.share"), shares.map(|shares| shares[i] / shares[0]))))
        .collect();
    let fit = fitted(&changed(&feet[0], WEIGHT, 1.0, &changes), &surfaces);
    let e = of(&fit, "inputs.push_height");
    assert!(fit.converged && (e.value - HEIGHT).abs() < 0.05 * HEIGHT, "{e:?}");
    changes.push(held("patches.2.share", [1.0; 2]).replace("[1.0, ", "["));
    let file = changed(&feet[0], WEIGHT, 1.0, &changes);
    let spec = file.spec.recording.as_ref().unwrap();
    let recordings = [0, 1].map(|k: usize| recording("pushes", &surfaces[k], spec));
    let error = fit_of(&file, &recordings).unwrap_err().to_string();
    assert!(error.contains("patches.2.share.value") && error.contains("2, one a recording"), "{error}");
}

/// Ten samples for each unknown are enough where the file holds others.
#[test]
fn unknowns_that_are_held_need_no_samples() {
    let feet = [[-0.04, -0.04], [0.08, -0.04], [-0.04, 0.08]];
    let few = |k: u64| made(k, &feet, ([0.45, 0.2, 0.35], 0.3), 0.02)[..11].to_vec();
    // 66 numbers for five unknowns; six are held.
    let fit = fitted(&file(&feet, WEIGHT, 1.0), &[few(0), few(1)]);
    assert_eq!(fit.estimates.iter().filter(|e| e.identifiable).count(), 5, "{:?}", fit.estimates);
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
    let [a, b] = [a, b].map(|[fx, fy, tau]| Vector3::new(fx, fy, tau / 0.05));
    a.angle(&b).to_degrees()
}

/// The layouts of the measured pushes: their feet \[m\].
const LAYOUTS: [(&str, [[f64; 2]; 3]); 4] = [
    ("10_130_10_10_10_130", [[-0.04, -0.04], [0.08, -0.04], [-0.04, 0.08]]),
    ("10_90_10_10_30_130", [[-0.04, -0.04], [0.04, -0.02], [-0.04, 0.08]]),
    ("30_63.33_43.33_30_43.33_63.33", [[-0.02, -0.02], [0.01333, -0.00667], [-0.00667, 0.01333]]),
    ("30_90_30_30_30_90", [[-0.02, -0.02], [0.04, -0.02], [-0.02, 0.04]]),
];
/// The weight of the plate [N].
const PLATE: f64 = 14.8764;

/// Pushes with a fifth of them last, that of a fold.
fn with_fifth_last(pushes: &[Push], fold: usize) -> Vec<Push> {
    let (last, others): (Vec<_>, Vec<_>) = pushes.iter().enumerate().partition(|(i, _)| i % 5 == fold);
    others.into_iter().chain(last).map(|(_, push)| *push).collect()
}

/// Angles [deg] between measured wrenches and those that a fit predicts, of the last fifth of the pushes.
fn angles(fit: &Fit, recording: usize, pushes: usize) -> Vec<f64> {
    let channels: Vec<_> = fit.channels.iter().filter(|c| c.place == recording).collect();
    let of_push = |i: usize| {
        let predicted = [0, 1, 2].map(|c| channels[c].model[3 * i + 2]);
        angle(predicted, [0, 1, 2].map(|c| channels[c].measured[3 * i + 2]))
    };
    (pushes - pushes / 5..pushes).map(of_push).collect()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    0.5 * (values[(n - 1) / 2] + values[n / 2])
}

/// The folder of the measured pushes, if it is there.
fn folder() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/real_pushes");
    let folder = PathBuf::from(std::env::var_os("BRISTLE_REAL_PUSHES").unwrap_or_else(|| default.into()));
    if folder.join("supports.csv").is_file() {
        return Some(folder);
    }
    println!("skipped: no measured pushes at {}", folder.display());
    None
}

/// Friction on each surface, what each foot carries and the height of the push, one layout after the other.
#[test]
fn measured_pushes_have_friction_pressure_and_a_height() {
    let Some(folder) = folder() else { return };
    let mut text = String::new();
    for (layout, feet) in LAYOUTS {
        let surfaces = measured(&folder, layout);
        let whole = fitted(&file(&feet, PLATE, 1.0), &surfaces);
        writeln!(text, "{layout}").unwrap();
        for name in ["friction.mu_c@0", "friction.mu_c@1", "patches.1.share", "patches.2.share", "inputs.push_height"] {
            let Estimate { value, low, high, identifiable, .. } = of(&whole, name);
            assert!(*identifiable, "{layout}: {name}");
            writeln!(text, "  {name} {value:.3} ({low:.3} to {high:.3})").unwrap();
        }
    }
    println!("{text}");
}

/// All layouts in one fit, under the loads of statics: each fifth of the pushes is predicted from the others.
#[test]
fn measured_pushes_are_predicted_from_others() {
    let Some(folder) = folder() else { return };
    let mut pushes = Vec::new();
    let mut changes: Vec<String> =
        ["patches.1.share", "patches.2.share"].map(|path| format!("~fit.unknowns.{path:?}")).into();
    let mut of_all: Vec<Vec<String>> = vec![Vec::new(); 8];
    for (layout, feet) in LAYOUTS {
        let places = Matrix3::from_columns(&feet.map(|[x, y]| Vector3::new(1.0, x, y)));
        let shares = places.lu().solve(&Vector3::x()).unwrap();
        for surface in measured(&folder, layout) {
            pushes.push(surface);
            let numbers = feet.iter().flatten().copied().chain([shares[1] / shares[0], shares[2] / shares[0]]);
            of_all.iter_mut().zip(numbers).for_each(|(all, number)| all.push(format!("{number:?}")));
        }
    }
    for (k, values) in of_all.iter().enumerate() {
        let path = if k < 6 { format!("patches.{}.at.{}", k / 2, k % 2) } else { format!("patches.{}.share", k - 5) };
        changes.push(format!("fit.unknowns.{path:?}={{ value = [{}] }}", values.join(", ")));
    }
    let file = |share: f64| changed(&LAYOUTS[0].1, PLATE, share, &changes);
    let mut by_recording = vec![Vec::new(); pushes.len()];
    for fold in 0..5 {
        let ordered: Vec<Vec<Push>> = pushes.iter().map(|pushes| with_fifth_last(pushes, fold)).collect();
        let fit = fitted(&file(0.8), &ordered);
        let Estimate { value, low, high, .. } = of(&fit, "inputs.push_height");
        println!("height {:.1} mm ({:.1} to {:.1})", 1e3 * value, 1e3 * low, 1e3 * high);
        by_recording.iter_mut().enumerate().for_each(|(k, all)| all.extend(angles(&fit, k, ordered[k].len())));
    }
    for ((layout, _), two) in LAYOUTS.iter().zip(by_recording.chunks(2)) {
        println!("{layout}: median of {} pushes {:.2} deg", 2 * two[0].len(), median(&mut two.concat()));
    }
    let mut all = by_recording.concat();
    let (median, mean) = (median(&mut all), all.iter().sum::<f64>() / all.len() as f64);
    println!("all {}: median {median:.2}, mean {mean:.2} deg", all.len());
    // `bristle reproduce pushes`, which fits the angles: 8.82 and 12.76 deg; loads at rest 9.31 and 13.72.
    assert!(median < 8.85 && mean < 12.9, "{median:.2} {mean:.2}");
}
