//! Tests `bristle rollout` with `--sweep` and with `--extend`.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const SLIDE: &str = r#"duration = 0.05
contacts = 3
[patch]
shape = "disc"
cells = 5
[friction]
mu_c = { uniform = [0.3, 0.9] }
[body]
kind = "body"
mass = 1.0
inertia = { disc = 0.05 }
[initial]
twist = [0.1, 0, 1.0]
[inputs]
tilt = { angle = 0.2 }
"#;

/// Runs `bristle rollout slide.toml` in `dir`; returns exit code, stdout and stderr.
fn rollout(dir: &Path, arguments: &str) -> (i32, String, String) {
    let mut command = Command::cargo_bin("bristle").unwrap();
    command
        .current_dir(dir)
        .args(["rollout", "slide.toml", "--engine", "cpu", "-q"])
        .args(arguments.split_whitespace());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn slide() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("slide.toml"), SLIDE).unwrap();
    dir
}

#[test]
fn a_sweep_is_a_run_for_every_value_with_one_table() {
    let dir = slide();
    let arguments = "--sweep initial.twist.0=0.0:0.1:2 --sweep friction.law=['lugre','dahl'] --out all";
    let (code, stdout, stderr) = rollout(dir.path(), arguments);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("initial.twist.0") && stdout.ends_with("all/sweep.csv\n"), "{stdout}");
    let mut table = csv::Reader::from_path(dir.path().join("all/sweep.csv")).unwrap();
    let head = table.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let value = |row: usize, key: &str| rows[row].get(head.iter().position(|k| k == key).unwrap()).unwrap().to_owned();
    assert_eq!(rows.len(), 4);
    for (k, [speed, law]) in
        [["0.0", "lugre"], ["0.0", "dahl"], ["0.1", "lugre"], ["0.1", "dahl"]].into_iter().enumerate()
    {
        assert_eq!(value(k, "initial.twist.0").parse::<f64>().unwrap(), speed.parse::<f64>().unwrap());
        assert_eq!(value(k, "friction.law"), law);
        // Each is the run with these values.
        let alone = format!("--set initial.twist.0={speed} --set friction.law={law} --out alone{k}");
        assert_eq!(rollout(dir.path(), &alone).0, 0);
        let bytes = |run: String| fs::read(dir.path().join(run).join("trajectories.npz")).unwrap();
        assert_eq!(bytes(format!("alone{k}")), bytes(format!("all/{}", value(k, "run"))));
        let record = fs::read_to_string(dir.path().join(format!("alone{k}/run.json"))).unwrap();
        let record: Value = serde_json::from_str(&record).unwrap();
        for key in ["slipped", "spun", "stuck", "failed", "left"] {
            assert_eq!(value(k, key), record["summary"]["status"][key].to_string(), "{key}");
        }
        assert_eq!(value(k, "steps"), record["summary"]["steps"].to_string());
    }
    // One that was interrupted goes on; what is complete stays.
    fs::remove_dir_all(dir.path().join("all/2")).unwrap();
    assert!(rollout(dir.path(), arguments).2.contains("exists"));
    let written = |k: u32| fs::metadata(dir.path().join(format!("all/{k}/run.json"))).unwrap().modified().unwrap();
    let before = written(1);
    let (code, stdout, stderr) = rollout(dir.path(), &format!("{arguments} --resume --json"));
    assert_eq!(code, 0, "{stderr}");
    let runs: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (runs[2]["sweep"]["initial.twist.0"].as_f64(), runs[2]["summary"]["contacts"].as_u64()),
        (Some(0.1), Some(3))
    );
    assert_eq!(written(1), before);
    // A smaller one takes its place as a whole, or not at all.
    let smaller = "--sweep initial.twist.0=0.0:0.1:2 --out all";
    let (code, _, stderr) = rollout(dir.path(), &format!("{smaller} --resume"));
    assert!(code == 2 && stderr.contains("all/2"), "{code} {stderr}");
    // What is not of the runs is refused by name, before anything is simulated.
    for other in ["all/2/notes.txt", "all/0/notes.txt"] {
        fs::write(dir.path().join(other), "mine").unwrap();
        let (code, _, stderr) = rollout(dir.path(), &format!("{smaller} --force"));
        assert!(code == 2 && stderr.contains(&format!("{other} is no file of the run")), "{code} {stderr}");
        assert_eq!(written(1), before);
        fs::remove_file(dir.path().join(other)).unwrap();
    }
    let table = dir.path().join("all/sweep.csv");
    let own = fs::read(&table).unwrap();
    fs::write(&table, "a,b\n1,2\n").unwrap();
    let (code, _, stderr) = rollout(dir.path(), &format!("{arguments} --force"));
    assert!(code == 2 && stderr.contains("all/sweep.csv is no table of a sweep"), "{code} {stderr}");
    fs::write(&table, own).unwrap();
    // A run that is in no table of a sweep stays.
    assert_eq!(rollout(dir.path(), "--out all/7").0, 0);
    assert_eq!(rollout(dir.path(), &format!("{smaller} --force")).0, 0);
    let there = |k: u32| dir.path().join(format!("all/{k}")).exists();
    assert_eq!([there(0), there(1), there(2), there(3), there(7)], [true, true, false, false, true]);
}

#[test]
fn what_cannot_be_swept_is_refused_before_anything_is_simulated() {
    let dir = slide();
    for (arguments, part) in [
        ("--sweep friction.mu_c=0.4:1", "`key=first:last:count`"),
        ("--sweep friction.mu_c=-1:1:3", "friction.mu_c"),
        ("--sweep seed=1:2:2 --sweep seed=[3]", "swept twice"),
        ("--extend", "where no finished run is"),
    ] {
        let (code, _, stderr) = rollout(dir.path(), arguments);
        assert!(code == 2 && stderr.contains(part), "{arguments}: {code} {stderr}");
        assert!(!dir.path().join("runs").exists());
    }
}

#[test]
fn contacts_are_added_to_a_complete_run() {
    let dir = slide();
    assert_eq!(rollout(dir.path(), "-n 5 --out whole").0, 0);
    assert_eq!(rollout(dir.path(), "--out run").0, 0);
    let (code, stdout, stderr) = rollout(dir.path(), "-n 5 --out run --extend --json");
    assert_eq!(code, 0, "{stderr}");
    let summary: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(summary["contacts"], 5);
    for file in ["trajectories.npz", "contacts.npz", "scenario.toml", "trajectories.svg", "SHA256SUMS"] {
        let [whole, run] = ["whole", "run"].map(|run| fs::read(dir.path().join(run).join(file)).unwrap());
        assert!(whole == run, "{file}");
    }
    // Its report is made anew, and what else is there is refused by name.
    assert_eq!(rollout(dir.path(), "-n 5 --out run --resume --report").0, 0);
    let at = |name: &str| dir.path().join("run").join(name);
    let page = || fs::read_to_string(at("report.html")).unwrap();
    assert!(page().contains("5 contacts"), "of five");
    fs::write(at("notes.txt"), "mine").unwrap();
    let (code, _, stderr) = rollout(dir.path(), "-n 6 --out run --extend");
    assert!(code == 2 && stderr.contains("run/notes.txt is no file of the run"), "{stderr}");
    assert!(stderr.contains("choose another `--out`") && page().contains("5 contacts"), "{stderr}");
    fs::remove_file(at("notes.txt")).unwrap();
    assert_eq!(rollout(dir.path(), "-n 6 --out run --extend").0, 0);
    assert!(page().contains("6 contacts") && at("report_motion.svg").exists());
}
