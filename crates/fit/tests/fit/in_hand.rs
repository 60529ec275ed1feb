//! Twenty noisy slides of an object in the grip: friction, mass and centre of mass from pose and force.

use bristle::engine::Plan;
use bristle::random::Draw;
use bristle::{Cpu, Sensitivity};
use bristle_fit::FitFile;
use bristle_fit::fit::fit;
use bristle_fit::model::Problem;
use bristle_fit::recording::{Channel, Recording, Sign};
use bristle_fit::repeated::{Reach, Repeated};
use bristle_fit::trust_region::Start;
use bristle_fit::unknown::{Sizes, Unknown, unknown};

const STEP: f64 = 5e-3;
const ROWS: usize = 120;
/// Noise of each compared quantity \[m, m, rad, N, N, N m\].
const NOISE: [(&str, f64); 6] = [
    ("pose.x", 1e-4),
    ("pose.y", 1e-4),
    ("pose.theta", 2e-3),
    ("wrench.fx", 0.02),
    ("wrench.fy", 0.02),
    ("wrench.tau", 2e-4),
];

const FILE: &str = r#"
step = 1e-3
patch = { shape = "disc", cells = 3, size = 0.02 }
friction = { mu_c = 0.8, mu_s_over_mu_c = 1.0, sigma0 = 1e4, sigma1 = 10, sigma2 = 0 }
body = { kind = "gripper", mass = 0.15, inertia = 5e-4 }
initial = { pose = [0.0, 0.0, 0.0] }
inputs = { gravity = [0.0, -9.81] }
[fit]
share = 1.0
starts = 1
[fit.unknowns]
"friction.mu_c" = { bounds = [0.2, 2.0] }
"friction.sigma0" = { bounds = [1e3, 1e5] }
"body.mass" = {}
"initial.pose.0" = {}
"initial.pose.1" = {}
"wrench.fx.offset" = { own = false }
"wrench.fy.offset" = { own = false }
"wrench.tau.offset" = { own = false }
"#;

/// A grip that loosens for a while.
fn slide(k: u64) -> Recording {
    let draw = Draw::new(11, k);
    let (loose, from) = (1.0 + 0.6 * draw.uniform("loose"), 0.1 + 0.1 * draw.uniform("from"));
    let until = from + 0.1 + 0.1 * draw.uniform("until");
    let time: Vec<f64> = (0..ROWS).map(|i| i as f64 * STEP).collect();
    let ramp = |t: f64, at: f64| ((t - at) / 0.02).clamp(0.0, 1.0);
    let grip = |t: &f64| 6.0 - (6.0 - loose) * (ramp(*t, from) - ramp(*t, until));
    let channel = |name: &str, values: Vec<f64>| Channel { name: name.into(), values, sign: Sign::Plus };
    Recording {
        name: format!("slide {k}"),
        pieces: std::iter::once(0..ROWS).collect(),
        inputs: vec![channel("normal_force", time.iter().map(grip).collect())],
        compared: NOISE.iter().map(|(name, _)| channel(name, vec![0.0; ROWS])).collect(),
        time,
        ..Recording::default()
    }
}

/// The derivatives that the search has, by differences of runs, are those that the engine computes exactly,
/// within half a hundredth of the largest, which changes an interval by as little.
#[test]
fn derivatives_are_those_of_the_engine() {
    let file = FitFile::parse(FILE, ".".as_ref(), "fit.toml").unwrap_or_else(|e| panic!("{e}"));
    let needed = [("duration", 1.0), ("inputs.normal_force", 1.0)];
    let scenario = file.scenario(&needed, &[]).unwrap_or_else(|e| panic!("{e}"));
    let recording = slide(0);
    let sizes = Sizes { speed: 0.1, duration: 0.6, period: STEP, travel: [0.0; 3] };
    let own = |path: &str| unknown(path, &file.spec.unknowns[path], None, &scenario, &[], |_| 1.0, sizes).unwrap();
    let unknowns = ["friction.mu_c", "friction.sigma0", "body.mass", "initial.pose.0"].map(own).to_vec();
    // The object hangs beside its centre of mass, so that it turns.
    let mut point: Vec<f64> = unknowns.iter().map(Unknown::rest).collect();
    point[3] = unknowns[3].coordinate(0.01);
    let start = Start { point, held: vec![false; unknowns.len()] };
    let slopes: Vec<f64> = unknowns.iter().zip(&start.point).map(|(u, x)| u.slope(*x)).collect();
    let mut repeated = Repeated::new(recording.clone(), 1.0, 0.0).unwrap();
    repeated.deviations = NOISE.iter().map(|(_, size)| *size).collect();
    let problem = Problem { scenario: &scenario, repeated: vec![repeated], unknowns, step: 1e-3, central: true };
    let found = problem.evaluate(&[start]).unwrap().remove(0).unwrap().jacobian;

    let mut contact = scenario.variant(0, 0, &[("initial.pose.0".to_owned(), 0.01)]).unwrap();
    contact.inputs.normal_force = recording.signal("normal_force").unwrap().unwrap();
    let plan = Plan { samples: recording.time.clone(), step: 1e-3, keep_bristles: false, ..scenario.plan() };
    // The static coefficient follows the Coulomb coefficient.
    let names = ["friction.mu_c", "friction.mu_s", "friction.sigma0", "body.mass", "initial.pose.0"];
    let (_, exact) = Cpu::new().sensitivities(&[contact], &plan, &names.map(Sensitivity::over)).unwrap();
    for (column, (parts, slope)) in [&[0usize, 1][..], &[2], &[3], &[4]].into_iter().zip(slopes).enumerate() {
        for (channel, (name, size)) in NOISE.into_iter().enumerate() {
            let of = if name.starts_with("pose") { &exact.pose } else { &exact.wrench };
            // The first sample is not compared.
            let wanted =
                |i: usize| parts.iter().map(|p| of[exact.at(0, i, *p)][channel % 3]).sum::<f64>() * slope / size;
            let rows = (1..ROWS).map(|i| (found[(channel * (ROWS - 1) + i - 1, column)], wanted(i)));
            let (off, most) =
                rows.fold((0.0f64, 0.0f64), |(off, most), (a, b)| (off.max((a - b).abs()), most.max(b.abs())));
            println!("{name} by {}: {:.1e} of {most:.1e}", names[parts[0]], off / most);
            assert!(off < 5e-3 * most + 1e-3, "{name} by {}: {off:e} of {most:e}", names[parts[0]]);
        }
    }
}

#[test]
fn friction_mass_and_centre_of_mass_come_from_twenty_slides() {
    let truth = [
        ("friction.mu_c", 0.55),
        ("friction.sigma0", 3000.0),
        ("body.mass", 0.23),
        ("initial.pose.0", 0.012),
        ("initial.pose.1", -0.004),
    ];
    let file = FitFile::parse(FILE, ".".as_ref(), "fit.toml").unwrap_or_else(|e| panic!("{e}"));
    let changes: Vec<String> = truth.iter().map(|(path, value)| format!("{path}={value:?}")).collect();
    let needed = [("duration", 1.0), ("inputs.normal_force", 1.0)];
    let scenario = file.scenario(&needed, &changes).unwrap_or_else(|e| panic!("{e}"));
    let mut recordings: Vec<Recording> = (0..20).map(slide).collect();
    for (k, recording) in recordings.iter_mut().enumerate() {
        let repeated = vec![Repeated::new(recording.clone(), 1.0, 0.0).unwrap()];
        // A shorter step than that of the fit.
        let problem = Problem { scenario: &scenario, repeated, unknowns: Vec::new(), step: 2.5e-4, central: false };
        let clean = problem.predict(&[], 0, Reach::All).unwrap().unwrap();
        for ((channel, (name, size)), clean) in recording.compared.iter_mut().zip(NOISE).zip(clean) {
            let draw = Draw::new(k as u64, 5);
            let noisy = |(i, x): (usize, &f64)| x + size * draw.normal(&format!("{name} {i}"));
            channel.values = clean.iter().enumerate().map(noisy).collect();
        }
    }
    let fit = fit(&file, &recordings, &[], &|_| true).unwrap_or_else(|e| panic!("{e}"));
    println!("{:.1} s\n{}", fit.seconds, bristle_fit::report::text(&fit));
    assert!(fit.converged && fit.directions.is_empty(), "{:?}", fit.directions);
    for (path, value) in truth {
        let e = fit.estimates.iter().find(|e| e.name == path).unwrap();
        // Twice the interval: five intervals of 90 % need not all have the truth.
        let reach = e.high - e.low;
        assert!((e.value - value).abs() < reach && e.identifiable, "{e:?}, true {value}");
        assert!(reach < 0.05 * value.abs() + 1e-3, "{e:?}");
    }
}
