//! Scenarios of rigid bodies from the command line.

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use program::read;

fn bristle(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("bristle").unwrap();
    command.current_dir(dir).args(arguments);
    command
}

/// The example that the program prints runs, is complete, and can be repeated from its directory with the
/// same bits.
#[test]
fn the_example_of_rigid_bodies_runs_and_repeats() {
    let dir = tempfile::tempdir().unwrap();
    let printed = bristle(dir.path(), &["example", "tower"]).assert().success().get_output().stdout.clone();
    fs::write(dir.path().join("my.toml"), printed).unwrap();
    let run = ["rollout", "my.toml", "-n", "5", "--engine", "cpu", "--set", "duration=0.2", "--json"];
    let out = bristle(dir.path(), &run).assert().success().get_output().stdout.clone();
    let summary: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((summary["worlds"].as_u64(), summary["failed"].as_u64()), (Some(5), Some(0)), "{summary}");
    assert_eq!(summary["steps"].as_u64(), Some(5 * 200));
    assert!(summary["residual"].as_f64().unwrap() <= 1e-6);
    let poses = |name: &str| read(&dir.path().join(name).join("trajectories.npz"), "pose");
    assert_eq!(poses("runs/my").0, [5, 11, 4, 7]);
    assert!(dir.path().join("runs/my/trajectories.svg").exists());
    // A page would say nothing of slip or of patches, which these have not; what there is, is named.
    let failed = bristle(dir.path(), &["report", "runs/my"]).assert().failure().code(2).get_output().stderr.clone();
    let text = String::from_utf8(failed).unwrap();
    assert!(text.contains("`[[bodies]]`: expected one of patches") && text.contains("trajectories.npz"), "{text}");
    let again = ["rollout", "runs/my", "--engine", "cpu", "--out", "again", "--threads", "1"];
    bristle(dir.path(), &again).assert().success();
    assert_eq!(poses("runs/my"), poses("again"));
    bristle(dir.path(), &run).assert().failure().code(2);
    bristle(dir.path(), &[&run[..], &["--resume"]].concat()).assert().success();
    let mu = read(&dir.path().join("runs/my/contacts.npz"), "contacts.0.mu").1;
    assert!(mu.len() == 5 && mu.iter().all(|mu| (0.2..0.8).contains(mu)) && mu[0] != mu[1]);
}

#[test]
fn the_schema_lists_the_keys_of_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let out = bristle(dir.path(), &["schema", "worlds"]).assert().success().get_output().stdout.clone();
    let schema: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let page = include_str!("../../../docs/worlds.md");
    let of = |table: &serde_json::Value| -> Vec<String> {
        table["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    let keys = [of(&schema), of(&schema["$defs"]["WorldBodySpec"]), of(&schema["$defs"]["PairSpec"])].concat();
    assert!(keys.len() > 20, "{keys:?}");
    for key in keys {
        assert!(page.contains(&format!("`{key}`")) || page.contains(&format!("`[[{key}]]`")), "{key}");
    }
    // What the example of the page says is in the schema.
    let example: toml::Table = toml::from_str(include_str!("../../../examples/tower.toml")).unwrap();
    assert!(example.keys().all(|key| schema["properties"].get(key).is_some()), "{example:?}");
}

/// Before anything is computed, a run says what it takes, and one that no disk could hold is refused.
#[test]
fn a_run_says_what_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("my.toml"), include_str!("../../../examples/tower.toml")).unwrap();
    let run = ["rollout", "my.toml", "-n", "2", "--engine", "cpu", "--set", "duration=0.02"];
    let told = bristle(dir.path(), &run).assert().success().get_output().stderr.clone();
    let told = String::from_utf8(told).unwrap();
    assert!(told.contains("the run takes ") && told.contains(" are free"), "{told}");
    let much = ["rollout", "my.toml", "-n", "4000000000", "--set", "record_every=1e-5", "--out", "much"];
    let failed = bristle(dir.path(), &much).assert().failure().code(1).get_output().stderr.clone();
    let text = String::from_utf8(failed).unwrap();
    assert!(text.contains("expected fewer worlds (`worlds`)"), "{text}");
    assert!(!dir.path().join("much").exists() && !dir.path().join("much.partial").exists());
}

#[test]
fn what_a_world_cannot_have_is_refused_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("my.toml"), include_str!("../../../examples/tower.toml")).unwrap();
    for (arguments, wanted) in [
        (&["--set", "directions=3"][..], "directions = 3: expected an integer from 4 to 32"),
        (&["--set", "bodies.1.mass=-1"], "bodies[1].mass = -1"),
        (&["--set", "contacts.0.mu={ uniform = [-1, 0] }"], "contacts[0].mu"),
        (&["--report"], "--report: expected a scenario of patches"),
        (&["--engine", "gpu", "--precision", "f64"], "a GPU solves contacts by blocks in f32"),
    ] {
        let all = [&["rollout", "my.toml"], arguments].concat();
        let failed = bristle(dir.path(), &all).assert().failure().code(2).get_output().stderr.clone();
        let text = String::from_utf8(failed).unwrap();
        assert!(text.contains(wanted), "{text}");
    }
}
