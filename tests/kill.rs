//! Runs, shards and merges that are killed at random moments, again and again, end with the files of those
//! that were not. `BRISTLE_KILLS=100 cargo test --release --test kill` kills a hundred times; without it
//! some.
#![cfg(all(feature = "cli", unix))]

mod content;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bristle::random::Draw;
use content::assert_same;

const SCENARIO: &str = r#"duration = 0.5
record_every = 0.005
contacts = 600
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

const FORMATS: [&str; 4] = ["--format", "npz,zarr,lerobot", "--with", "margin"];

fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bristle"));
    command.current_dir(dir).args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end; returns how long it took.
fn whole(dir: &Path, arguments: &[&str]) -> Duration {
    let start = Instant::now();
    let output = command(dir, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    start.elapsed()
}

/// Kills a command after `time`; returns whether it was still running.
fn killed(dir: &Path, arguments: &[&str], time: Duration) -> bool {
    let mut child = command(dir, arguments).spawn().unwrap();
    std::thread::sleep(time);
    let was_running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(was_running || output.status.success(), "{arguments:?}: {message}");
    was_running
}

#[test]
fn what_was_killed_ends_with_the_files_of_what_was_not() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("slide.toml"), SCENARIO).unwrap();
    let run = ["rollout", "slide.toml", "--engine", "cpu", "-q", "--resume"];
    let runs = |more: &[&'static str]| [&run[..], more].concat();
    let merge = |out: &'static str| [&["merge", "shards", "--resume", "--out", out][..], &FORMATS].concat();
    // What is not interrupted.
    let single = |out| [runs(&["--out", out]), FORMATS.to_vec()].concat();
    let times = [
        whole(dir, &single("whole")),
        whole(dir, &runs(&["--shard", "1/2", "--out", "shards/1"])),
        whole(dir, &runs(&["--shard", "2/2", "--out", "shards/2"])),
        whole(dir, &merge("merged")),
    ];
    assert_same(&dir.join("whole"), &dir.join("merged"));
    let kills = std::env::var("BRISTLE_KILLS").map_or(FEW, |n| n.parse().expect("a number of kills"));
    let kinds = [
        (single("again"), times[0]),
        (runs(&["--shard", "2/2", "--out", "shard"]), times[2]),
        (merge("again"), times[3]),
    ];
    let mut hits = 0;
    for k in 0..kills {
        let (arguments, time) = &kinds[(k % 3) as usize];
        let (out, expected) = if k % 3 == 1 { ("shard", "shards/2") } else { ("again", "whole") };
        // Twice, so that what was resumed is killed, too.
        for name in ["first", "second"] {
            let share = 1.1 * Draw::new(1, k).uniform(name);
            hits += u64::from(killed(dir, arguments, time.mul_f64(share)));
        }
        whole(dir, arguments);
        assert_same(&dir.join(expected), &dir.join(out));
        let left = fs::read_dir(dir).unwrap().any(|e| e.unwrap().path().extension().is_some_and(|e| e == "partial"));
        assert!(!left, "an unfinished run is left beside the whole one");
        whole(dir, &["verify", out]);
        fs::remove_dir_all(dir.join(out)).unwrap();
    }
    println!("{hits} of {} processes were running when they were killed", 2 * kills);
    assert!(hits >= kills / 2, "{hits} of {} processes were running when they were killed", 2 * kills);
}
