//! What an experiment would tell, against formulas and against fits of recordings of it.

use std::path::PathBuf;

use crate::common::{file, fitted, noise, with_force};
use bristle::random::Draw;
use bristle_fit::FitFile;
use bristle_fit::fit::{Fit, fit};
use bristle_fit::next::{Known, Next, next};
use bristle_fit::recording::{Channel, Recording, Sign};

/// Samples are 20 ms apart, for 20 s; noise [N], normal force [N] and speed [m/s].
const STEP: f64 = 0.02;
const ROWS: usize = 1001;
const NOISE: f64 = 0.05;
const FORCE: f64 = 5.0;
const SPEED: f64 = 1e-3;

/// A recording of a motion with the velocity `v` at a time, with the force of a contact.
fn recorded(file: &FitFile, seed: u64, v: impl Fn(f64) -> f64, truth: &[(&str, f64)]) -> Recording {
    let time: Vec<f64> = (0..ROWS).map(|i| i as f64 * STEP).collect();
    let mut x = 0.0;
    let place = time.iter().map(|t| {
        x += v(*t) * STEP;
        x - v(*t) * STEP
    });
    let channel = |name: &str, values: Vec<f64>| Channel { name: name.into(), values, sign: Sign::Plus };
    let recording = Recording {
        name: format!("recording {seed}"),
        pieces: std::iter::once(0..ROWS).collect(),
        inputs: vec![channel("normal_force", vec![FORCE; ROWS]), channel("position.x", place.collect())],
        compared: vec![channel("wrench.fx", vec![0.0; ROWS])],
        time,
        ..Recording::default()
    };
    let noise: Vec<f64> = noise(&Draw::new(seed, 1), ROWS, STEP, 0.0).iter().map(|n| NOISE * n).collect();
    with_force(file, recording, truth, 0.0, &noise)
}

/// The answer for some experiments, whose texts are written to files.
fn asked(file: &FitFile, fit: &Fit, experiments: &[(&str, &str)]) -> Next {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = experiments.iter().map(|(name, _)| dir.path().join(name)).collect();
    for (path, (_, text)) in paths.iter().zip(experiments) {
        std::fs::write(path, text).unwrap();
    }
    let next = next(file, fit, &paths, &|_| true).unwrap_or_else(|e| panic!("{e}"));
    println!("{}", bristle_fit::report::text_of_next(&next));
    next
}

fn of<'n>(next: &'n Next, experiment: &str, unknown: &str) -> &'n Known {
    let found = next.experiments.iter().find(|e| e.experiment.ends_with(experiment));
    found.unwrap_or_else(|| panic!("{experiment}")).then.iter().find(|k| k.name == unknown).unwrap()
}

fn moved(speed: f64) -> String {
    format!("duration = 20\n[inputs]\nnormal_force = 5\ntwist = {{ vx = {speed} }}\n")
}

const OFFSET: &str = "\"wrench.fx.offset\" = { value = 0 }\n";

/// Sliding at one speed shows `mu_c + sigma2 v` there. A second speed separates the two: the covariance is
/// that of a straight line through the forces at two speeds.
#[test]
fn a_second_speed_separates_what_one_speed_does_not() {
    let unknowns = format!("{OFFSET}\"friction.mu_c\" = {{}}\n\"friction.sigma2\" = {{ bounds = [0, 100] }}");
    let file = file("elasto-plastic", &unknowns, "burn_in = 1.0");
    let truth = [("friction.mu_c", 0.4), ("friction.sigma2", 20.0)];
    let changed: String = "friction.sigma2=20".into();
    let recordings = [recorded(&file, 1, |_| SPEED, &truth)];
    let fit = fit(&file, &recordings, &[changed], &|_| true).unwrap_or_else(|e| panic!("{e}"));
    let fast = 10.0 * SPEED;
    let next = asked(&file, &fit, &[("same.toml", &moved(SPEED)), ("fast.toml", &moved(fast))]);
    assert!(next.now.iter().all(|k| !k.told), "{:?}", next.now);
    assert!(next.experiments[0].experiment.ends_with("fast.toml"), "{}", next.sentence);
    assert_eq!(next.experiments[0].newly_told, ["friction.mu_c", "friction.sigma2"]);
    assert!(next.experiments[1].newly_told.is_empty());
    // n samples at each speed, of the friction coefficient with noise s.
    let (n, s) = (950.0f64, NOISE / FORCE);
    let rate = s * (2.0 / n).sqrt() / (fast - SPEED);
    let intercept = s / n.sqrt() * (fast * fast + SPEED * SPEED).sqrt() / (fast - SPEED);
    for (name, deviation) in [("friction.sigma2", rate), ("friction.mu_c", intercept)] {
        let known = of(&next, "fast.toml", name);
        let (found, wanted) = (known.high - known.low, 2.0 * 1.645 * deviation);
        assert!((found / wanted - 1.0).abs() < 0.15, "{name}: {found} {wanted}");
    }
}

/// Sliding one way shows nothing of the stiffness; turning back does. The intervals that are predicted are
/// those of a fit of both recordings.
#[test]
fn a_reversal_shows_the_stiffness_as_a_fit_of_it_does() {
    let unknowns = format!("{OFFSET}\"friction.mu_c\" = {{}}\n\"friction.sigma0\" = {{}}");
    let file = file("elasto-plastic", &unknowns, "burn_in = 1.0");
    // The stiffness of the file: what is not told is simulated with that.
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 1e4)];
    let once = recorded(&file, 1, |_| SPEED, &truth);
    let fit_once = fitted(&file, &once);
    // Back and forth every 2 s.
    let turns: Vec<String> =
        (0..10).map(|k| format!("[{}, {}]", 2 * k, if k % 2 == 0 { SPEED } else { -SPEED })).collect();
    let twist = format!("{{ vx = {{ points = [{}], interpolate = \"constant\" }} }}", turns.join(", "));
    let text = format!("duration = 20\n[inputs]\nnormal_force = 5\ntwist = {twist}\n");
    let next = asked(&file, &fit_once, &[("on.toml", &moved(SPEED)), ("turns.toml", &text)]);
    let told = |name: &str| next.now.iter().find(|k| k.name == name).unwrap().told;
    assert!(told("friction.mu_c") && !told("friction.sigma0"), "{:?}", next.now);
    assert!(next.experiments[0].experiment.ends_with("turns.toml"), "{}", next.sentence);
    assert_eq!(next.experiments[0].newly_told, ["friction.sigma0"]);
    assert!(!of(&next, "on.toml", "friction.sigma0").told);
    let back = |t: f64| if ((t / 2.0) as usize).is_multiple_of(2) { SPEED } else { -SPEED };
    let both = [once, recorded(&file, 2, back, &truth)];
    let both = fit(&file, &both, &[], &|_| true).unwrap_or_else(|e| panic!("{e}"));
    println!("{}", bristle_fit::report::text(&both));
    for name in ["friction.mu_c", "friction.sigma0"] {
        let real = both.estimates.iter().find(|e| e.name == name).unwrap();
        let predicted = of(&next, "turns.toml", name);
        let ratio = (predicted.high / predicted.low).ln() / (real.high / real.low).ln();
        assert!(real.identifiable && (1.0 / 1.5..1.5).contains(&ratio), "{name}: {ratio}, {real:?}, {predicted:?}");
    }
}

/// Two recordings and an experiment with an offset each: an offset of its own is no knowledge of the others.
#[test]
fn an_offset_of_each_recording_is_new_in_an_experiment() {
    let file = file("elasto-plastic", "\"friction.mu_c\" = {}", "burn_in = 1.0");
    let once = recorded(&file, 1, |_| SPEED, &[]);
    // The file's own coefficient: one way of sliding does not tell it from the offset.
    let fit = fitted(&file, &once);
    let next = asked(&file, &fit, &[("on.toml", &moved(SPEED)), ("back.toml", &moved(-SPEED))]);
    // Whatever direction it slides in, there is one more offset for one more force.
    assert!(next.experiments.iter().all(|e| e.newly_told.is_empty()), "{}", next.sentence);
    let width = |k: &Known| k.high - k.low;
    let now = next.now.iter().find(|k| k.name == "friction.mu_c").unwrap();
    for experiment in ["on.toml", "back.toml"] {
        let then = of(&next, experiment, "friction.mu_c");
        assert!((width(then) / width(now) - 1.0).abs() < 0.02, "{then:?} {now:?}");
    }
}

#[test]
fn an_experiment_that_cannot_be_is_refused() {
    let unknowns = format!("{OFFSET}\"friction.mu_c\" = {{}}");
    let file = file("elasto-plastic", &unknowns, "burn_in = 1.0");
    let fit = fitted(&file, &recorded(&file, 1, |_| SPEED, &[]));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.toml");
    for (text, part) in [
        ("duration = 1e5", "duration = 100000: expected at most"),
        ("[inputs]\ntwist = { vx = 1e400 }", "a.toml"),
        ("[input]\ntwist = 3", "unknown field `input`"),
        ("duration = ", "a.toml"),
    ] {
        std::fs::write(&path, text).unwrap();
        let told = next(&file, &fit, std::slice::from_ref(&path), &|_| true).unwrap_err().to_string();
        assert!(told.contains(part), "{text}: {told}");
    }
    assert!(next(&file, &fit, &[dir.path().join("none.toml")], &|_| true).is_err());
}

/// An interval that no experiment can shrink, that of the offset of the recording, does not decide which one
/// is the best.
#[test]
fn the_best_experiment_is_the_one_that_shrinks_most() {
    let unknowns = "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}\n\"friction.sigma2\" = {}\n";
    let file = file("elasto-plastic", unknowns, "burn_in = 0.5");
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 5e3), ("friction.sigma2", 2.0)];
    let back = |t: f64| if ((t / 2.0) as usize).is_multiple_of(2) { SPEED } else { -SPEED };
    let fit = fitted(&file, &recorded(&file, 1, back, &truth));
    let turns = |speed: f64| {
        let of = |k: usize| format!("[{}, {}]", 2 * k, if k.is_multiple_of(2) { speed } else { -speed });
        let turns: Vec<String> = (0..10).map(of).collect();
        let twist = format!("{{ vx = {{ points = [{}], interpolate = \"constant\" }} }}", turns.join(", "));
        format!("duration = 20\n[inputs]\nnormal_force = 5\ntwist = {twist}\n")
    };
    let next = asked(&file, &fit, &[("same.toml", &turns(SPEED)), ("fast.toml", &turns(20.0 * SPEED))]);
    let width = |experiment: &str| of(&next, experiment, "friction.sigma2").width;
    assert!(width("fast.toml") < 0.2 * width("same.toml"), "{} {}", width("fast.toml"), width("same.toml"));
    assert!(next.experiments[0].experiment.ends_with("fast.toml"), "{}", next.sentence);
    assert!(next.sentence.contains("fast.toml is the best one"), "{}", next.sentence);
}
