//! Runs, shards and merges that are killed again and again, while they simulate and while they write, end
//! with the same files as undisturbed ones. `BRISTLE_KILLS=100 cargo test --release --test kill` kills a
//! hundred times, by default fewer.
//!
//! A process kills itself after a given amount of work, so that the place depends on its own progress and not
//! on the load of the machine.
#![cfg(all(feature = "lerobot", unix))]

#[path = "../../../tests/content/mod.rs"]
mod content;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use bristle::Cpu;
use bristle::random::Draw;
use bristle_data::rollout::{Datasets, Extra, Format, Merge, Options, Shard, Writing, merge, rollout, verify};
use bristle_scenario::Scenario;
use content::assert_same;

const SCENARIO: &str = r#"duration = 0.5
record_every = 0.005
contacts = 300
[patch]
shape = "disc"
cells = 5
[friction]
mu_c = { uniform = [0.3, 0.9] }
[body]
kind = "body"
mass = { uniform = [0.5, 1.5] }
inertia = { disc = 0.05 }
[initial]
twist = [0.1, 0, 1.0]
[inputs]
tilt = { angle = 0.2 }
"#;

/// Kills of a test that is run with all others.
const FEW: u64 = 9;

/// What the process makes: `single`, `merge`, or a shard such as `1/2`.
const WHAT: &str = "BRISTLE_TEST_KILL_WHAT";
/// Where.
const OUT: &str = "BRISTLE_TEST_KILL_OUT";
/// When it kills itself: below 1 at that share of the simulation, from 1 to 2 at that share of the writing.
const AT: &str = "BRISTLE_TEST_KILL_AT";
/// A process that is not killed.
const NEVER: f64 = f64::INFINITY;

fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    unreachable!("killed");
}

/// What the test runs as processes of their own; in the directory in which it is.
#[test]
#[ignore = "it is the process that the other test kills"]
fn process() {
    let [Ok(what), Ok(out), Ok(at)] = [WHAT, OUT, AT].map(std::env::var) else { return };
    let at: f64 = at.parse().unwrap();
    let writing = Writing::new(move |done, of| {
        // All of the simulation is done.
        if done as f64 >= (at - 1.0) * of as f64 {
            die();
        }
    });
    let datasets = Datasets { formats: vec![Format::Npz, Format::Zarr, Format::Lerobot], extras: vec![Extra::Margin] };
    let options = Options { resume: true, block: Some(20), writing: Some(writing), ..Options::new(out) };
    if what == "merge" {
        let shards = ["1", "2"].map(|name| PathBuf::from("shards").join(name));
        merge(&Merge::open(&shards).unwrap(), &Options { datasets, ..options }).unwrap();
        return;
    }
    let scenario = Scenario::parse(SCENARIO, ".".as_ref(), "slide").unwrap();
    let shard: Option<Shard> = what.parse().ok();
    let contacts = scenario.contacts() / shard.map_or(1, |shard| shard.of);
    let samples = contacts * scenario.plan().samples.len() as u64;
    // Who is to die keeps it, so that no other thread goes on.
    let done = Mutex::new(0);
    let progress = |n| {
        let mut done = done.lock().unwrap();
        *done += n;
        if at < 1.0 && *done as f64 >= at * samples as f64 {
            die();
        }
        true
    };
    let datasets = if shard.is_some() { Datasets::default() } else { datasets };
    rollout(&scenario, &Cpu::new(), &Options { shard, datasets, ..options }, &progress).unwrap();
}

/// Makes `what` in a process that kills itself `at` that share.
fn make(dir: &Path, what: &str, out: &str, at: f64) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.current_dir(dir).args(["process", "--exact", "--ignored", "--nocapture"]);
    command.env(WHAT, what).env(OUT, out).env(AT, at.to_string()).output().unwrap()
}

fn whole(dir: &Path, what: &str, out: &str) {
    let output = make(dir, what, out, NEVER);
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
}

fn killed(dir: &Path, what: &str, out: &str, at: f64) {
    const KILL: i32 = 9;
    let output = make(dir, what, out, at);
    assert_eq!(output.status.signal(), Some(KILL), "{what} at {at}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(!dir.join(out).exists(), "{what} at {at}: it is in its place");
}

#[test]
fn what_was_killed_ends_with_the_files_of_what_was_not() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    // What is not interrupted.
    for (what, out) in [("single", "whole"), ("1/2", "shards/1"), ("2/2", "shards/2"), ("merge", "merged")] {
        whole(dir, what, out);
    }
    assert_same(&dir.join("whole"), &dir.join("merged"));
    let kills = std::env::var("BRISTLE_KILLS").map_or(FEW, |n| n.parse().expect("a number of kills"));
    for k in 0..kills {
        let uniform = |name, from: f64, to: f64| from + (to - from) * Draw::new(1, k).uniform(name);
        // Twice, so that what was resumed is killed, too. A shard writes nothing when it has simulated all,
        // and the second time it has at least the half left that it had not done.
        let (what, out, expected, at) = match k % 3 {
            0 => ("single", "again", "whole", [uniform("first", 0.0, 2.0), uniform("second", 0.0, 2.0)]),
            1 => ("2/2", "shard", "shards/2", [uniform("first", 0.0, 0.5), uniform("second", 0.0, 0.4)]),
            _ => ("merge", "again", "whole", [uniform("first", 1.0, 2.0), uniform("second", 1.0, 2.0)]),
        };
        at.iter().for_each(|at| killed(dir, what, out, *at));
        whole(dir, what, out);
        assert_same(&dir.join(expected), &dir.join(out));
        let left = fs::read_dir(dir).unwrap().any(|e| e.unwrap().path().extension().is_some_and(|e| e == "partial"));
        assert!(!left, "an unfinished run is left beside the whole one");
        assert_eq!(verify(&dir.join(out)).unwrap().faults, Vec::<String>::new());
        fs::remove_dir_all(dir.join(out)).unwrap();
    }
}
