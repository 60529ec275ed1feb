//! Scenarios of rigid bodies from the command line.

use std::fs;
use std::path::Path;

use crate::program::read;
use assert_cmd::Command;

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
    let page = include_str!("../../../../docs/worlds.md");
    let of = |table: &serde_json::Value| -> Vec<String> {
        table["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    let keys = [of(&schema), of(&schema["$defs"]["WorldBodySpec"]), of(&schema["$defs"]["PairSpec"])].concat();
    assert!(keys.len() > 20, "{keys:?}");
    for key in keys {
        assert!(page.contains(&format!("`{key}`")) || page.contains(&format!("`[[{key}]]`")), "{key}");
    }
    // What the example of the page says is in the schema.
    let example: toml::Table = toml::from_str(include_str!("../../../../examples/tower.toml")).unwrap();
    assert!(example.keys().all(|key| schema["properties"].get(key).is_some()), "{example:?}");
}

/// Before anything is computed, a run says what it takes, and one that no disk could hold is refused.
#[test]
fn a_run_says_what_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("my.toml"), include_str!("../../../../examples/tower.toml")).unwrap();
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
    fs::write(dir.path().join("my.toml"), include_str!("../../../../examples/tower.toml")).unwrap();
    for (arguments, wanted) in [
        (&["--set", "directions=3"][..], "directions = 3: expected an integer from 4 to 32"),
        (&["--set", "bodies.1.mass=-1"], "bodies.1.mass = -1"),
        (&["--set", "contacts.0.mu={ uniform = [-1, 0] }"], "contacts.0.mu"),
        (&["--set", "bodies.1.inertia=[1, 1, 3]"], "bodies.1.inertia = [1.0, 1.0, 3.0]: expected moments of a rigid"),
        (&["--engine", "gpu", "--precision", "f64"], "a GPU solves contacts in f32"),
    ] {
        let all = [&["rollout", "my.toml"], arguments].concat();
        let failed = bristle(dir.path(), &all).assert().failure().code(2).get_output().stderr.clone();
        let text = String::from_utf8(failed).unwrap();
        assert!(text.contains(wanted), "{text}");
    }
}

/// What only runs of patches do is refused in a sentence that says what to do in its place, before anything
/// is written.
#[test]
fn what_worlds_cannot_do_is_refused_with_what_they_can() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("my.toml"), include_str!("../../../../examples/tower.toml")).unwrap();
    let refused = |arguments: &[&str], wanted: &str| {
        let failed = bristle(dir.path(), arguments).assert().failure().code(2).get_output().stderr.clone();
        let text = String::from_utf8(failed).unwrap();
        assert!(text.contains(wanted), "{arguments:?}\n{text}");
    };
    let of_patches = "expected a scenario of patches; of this one, with `[[bodies]]`, ";
    for (arguments, instead) in [
        (&["--report"][..], "trajectories.svg has a picture of the paths"),
        (&["--tolerance", "1e-6"], "all steps are as long as `--step` says"),
        (&["--sweep", "contacts.3.mu=0.1:0.5:3"], "`--set 'KEY={ choice = [..] }'` draws one of some values"),
        (&["-n", "200", "--extend"], "a new run with more worlds (`-n`) begins with the worlds of the old one"),
        (&["--shard", "1/2"], "a run on each machine has a `--seed` and an `--out` of its own"),
        (&["--format", "npz,zarr"], "trajectories.npz and contacts.npz are written always"),
        (&["--with", "shear"], "poses, twists and forces are written always"),
    ] {
        refused(&[&["rollout", "my.toml"], arguments].concat(), &format!("{of_patches}{instead}"));
        let option = arguments.iter().find(|a| a.starts_with("--")).unwrap();
        refused(&[&["rollout", "my.toml"], arguments].concat(), &format!("error: {option}"));
    }
    refused(&["rollout", "my.toml", "--work", "here"], "--work: expected with `--out s3://");
    // Other commands that read scenarios name the key, its place, and the command that takes it.
    for arguments in [
        &["surface", "my.toml", "--out", "table.npz"][..],
        &["margin", "my.toml", "--load", "1,0,0"],
        &["torsion", "my.toml"],
    ] {
        refused(arguments, "my.toml:9:1: bodies = given: expected a scenario of patches");
        refused(arguments, "one of rigid bodies is simulated by `bristle rollout` alone");
    }
    refused(&["stability", "my.toml"], "duration = given: expected a stability file");
    refused(&["stability", "my.toml"], "of rigid bodies, is simulated by `bristle rollout`");
    let other = tempfile::tempdir().unwrap();
    let forces = other.path().join("forces.csv");
    fs::write(&forces, "t,f\n0,1\n1,2\n").unwrap();
    let fit = ["fit", forces.to_str().unwrap(), "--scenario", "my.toml", "--out", "found"];
    refused(&fit, "my.toml:9:1: bodies = given: expected a scenario of patches");
    refused(&fit, "motions of rigid bodies are not fitted");
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["my.toml"]);

    let run = ["rollout", "my.toml", "-n", "2", "--engine", "cpu", "--set", "duration=0.02", "--out", "run"];
    bristle(dir.path(), &run).assert().success();
    bristle(dir.path(), &["verify", "run"]).assert().success();
    refused(&["merge", "run", "--out", "merged"], "run: is a run, and no shard of one");
    refused(&["report", "run"], "expected one of patches");
    // A complete run of another engine is not taken for the one that is asked for.
    let resumed = |more: &[&'static str]| [&run[..], &["--resume"], more].concat();
    bristle(dir.path(), &resumed(&["--precision", "f64"])).assert().success();
    refused(&resumed(&["--precision", "f32"]), "run holds another run (precision = f32, where it has f64)");
    refused(&resumed(&["--seed", "7"]), "run holds another run (seed = 7, where it has 1)");
    assert!(!dir.path().join("merged").exists());
    // Lemke's method has its own precision, so that the same command ends again.
    let lemke = ["rollout", "my.toml", "-n", "1", "--set", "duration=0.002", "--set", "solver=lemke", "--resume"];
    let lemke = [&lemke[..], &["--precision", "f32", "--out", "lemke"]].concat();
    bristle(dir.path(), &lemke).assert().success();
    bristle(dir.path(), &lemke).assert().success();
}

/// A body that turns too fast for its step, in all worlds or in some, and one that touches nothing.
const TOP: &str = "
    duration = 0.1
    worlds = 30
    engine = 'cpu'
    [[bodies]]
    name = 'floor'
    kind = 'prescribed'
    shape = 'plane'
    [[bodies]]
    name = 'spinning top'
    shape = { sphere = 0.1 }
    mass = 1
    inertia = [1e-3, 2e-3, 3e-3]
    position = [0, 0, 9]
    angular_velocity = [{ choice = [0, 1e9] }, 1, 0]
    [[bodies]]
    name = 'ghost'
    shape = { sphere = 0.1 }
    mass = 1
    [[contacts]]
    bodies = ['floor', 'spinning top']
    mu = 0.5
    ";

#[test]
fn a_world_that_stops_says_where_why_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("top.toml"), TOP).unwrap();
    let told = |arguments: &[&str], code: i32| {
        let output = bristle(dir.path(), arguments).assert().code(code).get_output().clone();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [out, err] = told(&["rollout", "top.toml"], 0);
    assert!(err.contains("no contact names the body ghost: it touches nothing"), "{err}");
    let failed = read(&dir.path().join("runs/top/trajectories.npz"), "failed_time").1;
    let failed = failed.iter().filter(|time| time.is_finite()).count();
    assert!(failed > 8 && failed < 30, "{failed}");
    assert!(out.contains(&format!("{failed} of 30 stopped:\n  world ")), "{out}");
    assert_eq!(out.matches("bodies spinning top: the pose or the twist of these bodies was not finite").count(), 8);
    assert!(out.contains(&format!("  and {} others: `status` and `failed_bodies` in", failed - 8)), "{out}");
    assert!(
        out.contains("\nto do: look at their masses, inertias, speeds and forces, or take a smaller step than 0.001")
    );
    // The record of the run says the same, and so does a run that is there already.
    let [again, _] = told(&["rollout", "top.toml", "--resume", "--json"], 0);
    let summary: serde_json::Value = serde_json::from_str(&again).unwrap();
    let record = fs::read_to_string(dir.path().join("runs/top/run.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(summary, record["summary"]);
    let first = &summary["stopped"][0];
    assert_eq!(
        (summary["status"]["not_finite"].as_u64(), first["bodies"][0].as_str()),
        (Some(failed as u64), Some("spinning top"))
    );
    for key in ["world", "step", "time", "why", "remedy"] {
        assert!(!first[key].is_null(), "{first}");
    }

    // If none is left, that is a failure of the run, which is written all the same.
    let all = ["rollout", "top.toml", "--set", "bodies.1.angular_velocity.0=1e9", "--out", "all", "--quiet"];
    let [out, err] = told(&all, 1);
    assert!(out.contains("30 of 30 stopped:"), "{out}");
    assert!(err.starts_with("error: no world has finished: 30 of 30 were stopped, world 0 at step "), "{err}");
    assert!(err.contains("; look at their masses"), "{err}");
    told(&["verify", "all"], 0);
    let [out, _] = told(&[&all[..], &["--resume", "--json"]].concat(), 1);
    assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok_and(|summary| summary["failed"] == 30), "{out}");
}

/// A file with contacts and no bodies is not read as one of patches.
#[test]
fn errors_of_files_have_their_line_and_column() {
    let dir = tempfile::tempdir().unwrap();
    for (text, wanted) in [
        ("duration = 1\n[[contacts]]\nbodies = ['a', 'b']\nmu = 1\n", "missing field `bodies`"),
        (&TOP.replace("mu = 0.5", ""), "w.toml:20:5: contacts.0.mu = missing: expected the coefficient"),
        (&TOP.replace("mass = 1\n    inertia", "mass = 0\n    inertia"), "w.toml:12:12: world 0: bodies.1.mass = 0"),
        (&TOP.replace("3e-3]", "3e-2]"), "w.toml:13:15: world 0: bodies.1.inertia = [0.001, 0.002, 0.03]: expected"),
        // Of a drawn number, with the world that drew it.
        (&TOP.replace("mu = 0.5", "mu = { normal = [0.3, 0.2] }"), "w.toml:22:10: world "),
    ] {
        fs::write(dir.path().join("w.toml"), text).unwrap();
        let failed = bristle(dir.path(), &["rollout", "w.toml"]).assert().failure().code(2).get_output().stderr.clone();
        let told = String::from_utf8(failed).unwrap();
        assert!(told.contains(wanted), "{wanted}\n{told}");
    }
    assert!(!dir.path().join("runs").exists());
}
