//! Runs `bristle fit` on eight seconds of a tribometer: the printed answer, the files, exit codes, and errors
//! for bad input.

use std::fs;
use std::path::Path;

use crate::program::{bristle, json};
use serde_json::Value;

fn path(of_repository: &str) -> String {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(of_repository);
    path.to_str().unwrap().to_owned()
}

/// The arguments that fit the eight seconds as the example fits all of it; the bristles are loaded at their
/// start.
fn arguments<'a>(recording: &'a str, file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let span = ["--unset", "fit.recording.from,fit.recording.to", "--set", "fit.starts=2"];
    let part = ["--set", "fit.burn_in=1.5", "--set", "fit.share=0.6"];
    ["fit", recording, "--scenario", file].into_iter().chain(span).chain(part).chain(more.iter().copied()).collect()
}

fn parameter<'v>(report: &'v Value, name: &str) -> &'v Value {
    let all = report["parameters"].as_array().unwrap();
    all.iter().find(|p| p["name"] == name).unwrap_or_else(|| panic!("{name} in {report}"))
}

#[test]
fn the_answer_is_printed_and_written() {
    let (recording, file) = (path("crates/fit/tests/data/tribometer.tsv"), path("examples/tribometer.toml"));
    let dir = tempfile::tempdir().unwrap();
    let arguments = arguments(&recording, &file, &["--out", "fitted", "-q", "--set", "fit.samples=40"]);
    let report = json(dir.path(), &arguments);
    assert_eq!(report["converged"], true);
    let mu = parameter(&report, "friction.mu_c");
    assert!((mu["value"].as_f64().unwrap() / 0.47 - 1.0).abs() < 0.05, "{mu}");
    assert!(mu["low"].as_f64() < mu["value"].as_f64() && mu["value"].as_f64() < mu["high"].as_f64(), "{mu}");
    assert_eq!(mu["identifiable"], true);
    assert!(report["noise"][0]["residual"].as_f64() > report["noise"][0]["sensor"].as_f64());
    assert!(report["held_out"][0]["share_of_normal_force"].as_f64().unwrap() < 0.04, "{}", report["held_out"]);
    let written = |name: &str| fs::read_to_string(dir.path().join("fitted").join(name)).unwrap();
    let of_file: Value = serde_json::from_str(&written("fit.json")).unwrap();
    assert_eq!(of_file["parameters"], report["parameters"]);
    assert_eq!(written("residuals.csv").lines().next().unwrap(), "recording,quantity,time,measured,model,fitted");
    assert_eq!(written("posterior.csv").lines().count(), 41);
    let page = written("fit.html");
    assert!(page.contains("<td>friction.sigma0</td>") && page.contains("Over displacement"), "{page}");
    // Both scenarios can be simulated.
    for (scenario, contacts) in [("scenario.toml", 1), ("posterior.toml", 40)] {
        let scenario = format!("fitted/{scenario}");
        let run = ["rollout", &scenario, "--engine", "cpu", "--out", &format!("run{contacts}"), "-q"];
        assert_eq!(json(dir.path(), &run)["contacts"], contacts, "{scenario}");
    }
    // What cannot be written is refused before the fit.
    let beside = format!("{file}/fitted");
    let (code, out, told) = bristle(dir.path(), &["fit", &recording, "--scenario", &file, "--out", &beside]);
    assert!(code == 2 && out.is_empty() && told.contains("a directory that can be written"), "{told}");
    // What is there is not replaced unless that is asked for, and samples of before do not stay.
    let (code, _, told) = bristle(dir.path(), &arguments);
    assert!(code == 2 && told.contains("--force"), "{told}");
    let again: Vec<&str> = arguments.iter().copied().filter(|a| *a != "fit.samples=40").collect();
    let again: Vec<&str> = again[..again.len() - 1].iter().copied().chain(["--force"]).collect();
    assert_eq!(bristle(dir.path(), &again).0, 0);
    assert!(!dir.path().join("fitted/posterior.csv").exists());
}

/// A file that is read, or that is not of a fit, is never replaced.
#[test]
fn files_of_others_stay() {
    let recording = path("crates/fit/tests/data/tribometer.tsv");
    let example = fs::read_to_string(path("examples/tribometer.toml")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("scenario.toml"), &example).unwrap();
    fs::write(dir.path().join("my.toml"), &example).unwrap();
    for (file, mark) in [("scenario.toml", false), ("my.toml", false), ("scenario.toml", true)] {
        if mark {
            fs::write(dir.path().join("fit.json"), "{}").unwrap();
        }
        let arguments = arguments(&recording, file, &["--out", ".", "--force", "-q"]);
        let (code, _, told) = bristle(dir.path(), &arguments);
        assert!(code == 2 && told.contains("--out = ./scenario.toml: expected a directory without"), "{told}");
        assert_eq!(fs::read_to_string(dir.path().join("scenario.toml")).unwrap(), example);
    }
}

#[test]
fn laws_are_compared() {
    let (recording, file) = (path("crates/fit/tests/data/tribometer.tsv"), path("examples/tribometer.toml"));
    let dir = tempfile::tempdir().unwrap();
    let report = json(dir.path(), &arguments(&recording, &file, &["--compare", "lugre,elasto-plastic", "-q"]));
    assert_eq!(report["law"], "elasto-plastic");
    assert_eq!(report["compare"]["best"], "elasto-plastic");
    assert_eq!(report["laws"].as_array().unwrap().len(), 2);
}

/// More of the slow strokes tells most of `s_ba`, whose interval is the widest; faster ones more of `sigma2`.
#[test]
fn the_best_experiment_is_named() {
    let (recording, file) = (path("crates/fit/tests/data/tribometer.tsv"), path("examples/tribometer.toml"));
    let dir = tempfile::tempdir().unwrap();
    for (name, speed) in [("same.toml", 2.5e-4), ("fast.toml", 1e-1)] {
        let turns = format!("[[0, {speed}], [2, {}], [4, {speed}], [6, {}]]", -speed, -speed);
        let twist = format!("twist = {{ vx = {{ points = {turns}, interpolate = \"constant\" }} }}");
        fs::write(dir.path().join(name), format!("duration = 8\n[inputs]\nnormal_force = 5\n{twist}\n")).unwrap();
    }
    let unknowns = "fit.unknowns={ 'friction.mu_c' = {}, 'friction.sigma0' = {}, 'friction.s_ba' = {}, \
                    'friction.sigma2' = {} }";
    let more = ["-q", "--set", unknowns, "--next", "same.toml", "fast.toml"];
    let all = arguments(&recording, &file, &more);
    let report = json(dir.path(), &all);
    // The widest interval is that of `s_ba`, which slow turns show.
    assert_eq!(report["next"][0]["experiment"], "same.toml");
    let width = |all: &Value| {
        let known = all.as_array().unwrap().iter().find(|k| k["name"] == "friction.sigma2").unwrap();
        known["width"].as_f64().unwrap()
    };
    let [same, fast] = [0, 1].map(|k| width(&report["next"][k]["then"]));
    assert!(3.0 * fast < same && same <= width(&report["now"]), "{fast} {same} {}", report["now"]);
    // Nothing is searched for if a file is wrong.
    fs::write(dir.path().join("fast.toml"), "duration = -1\n").unwrap();
    let (code, said, told) = bristle(dir.path(), &all);
    assert!(code == 2 && said.is_empty() && told.contains("duration = -1"), "{said}{told}");
}

#[test]
fn a_search_that_is_cut_short_says_so_by_its_exit_code() {
    let (recording, file) = (path("crates/fit/tests/data/tribometer.tsv"), path("examples/tribometer.toml"));
    let dir = tempfile::tempdir().unwrap();
    let (code, said, told) = bristle(dir.path(), &arguments(&recording, &file, &["--set", "fit.evaluations=1", "-q"]));
    assert!(code == 3 && said.contains("NOT CONVERGED"), "{said}{told}");
}

#[test]
fn bad_input_gets_one_clear_sentence() {
    let recording = path("crates/fit/tests/data/tribometer.tsv");
    let dir = tempfile::tempdir().unwrap();
    let example = fs::read_to_string(path("examples/tribometer.toml")).unwrap();
    for (from, to, part) in [
        ("\"friction.mu_c\" = {}", "\"friction.mu\" = {}", "fit.unknowns.friction.mu = unknown: expected one of"),
        ("\"friction.mu_c\" = {}", "\"friction.mu_c\" = { bounds = [1, 0] }", "two finite numbers, the lower first"),
        ("share = 0.5", "evaluations = 0", "fit.evaluations = 0: expected 1 to 10000"),
        ("share = 0.5", "shares = 2", "unknown field `shares`"),
        ("wrench.fx", "wrench.f", "unknown field `f`"),
        ("mu_c = 0.5", "mu_c = -1", "friction.mu_c = -1: expected"),
        ("[fit.recording.inputs]", "[fit.recording.input]", "unknown field `input`"),
    ] {
        fs::write(dir.path().join("my.toml"), example.replacen(from, to, 1)).unwrap();
        let (code, _, told) = bristle(dir.path(), &arguments(&recording, "my.toml", &["-q"]));
        assert!(code == 2 && told.contains(part), "{to}: {told}");
    }
    assert_eq!(bristle(dir.path(), &arguments("nothing.tsv", "my.toml", &["-q"])).0, 2);
}
