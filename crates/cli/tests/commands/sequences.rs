//! Runs of scenarios whose patches follow recorded frames: whole, resumed and in shards they are the same,
//! and their tactile labels are the frames.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::content::assert_same;
use crate::program::{bristle, json, read};
use bristle::{Cpu, Engine as _};
use bristle_data::rollout::{Options, RolloutError, rollout};
use bristle_scenario::Scenario;

const SCENARIO: &str = r#"
duration = 0.06
record_every = 0.005
contacts = 24
[patch]
file = "press.npy"
unit = "Pa"
size = [0.02, { uniform = [0.01, 0.02] }]
frames = { from = 1, to = 6, every = 0.01 }
[friction]
mu_c = { uniform = [0.3, 1.2] }
[body]
kind = "gripper"
mass = 0.1
inertia = 1e-4
[inputs]
gravity = [0, -9.81]
"#;

/// Pressure [Pa] of the cell in row `j`, column `i` of frame `k`; none in frame 3.
fn pressure(k: usize, j: usize, i: usize) -> f64 {
    if k == 3 { 0.0 } else { 1e3 * ((5 * k + 3 * j + i) % 7) as f64 }
}

const ROWS: usize = 4;
const COLUMNS: usize = 6;

fn write_frames(dir: &Path, scale: f64) {
    use npyz::WriterBuilder;
    let file = fs::File::create(dir.join("press.npy")).unwrap();
    let shape = [8, ROWS as u64, COLUMNS as u64];
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(file).begin_nd().unwrap();
    let places = (0..8).flat_map(|k| (0..ROWS).flat_map(move |j| (0..COLUMNS).map(move |i| (k, j, i))));
    writer.extend(places.map(|(k, j, i)| scale * pressure(k, j, i))).unwrap();
    writer.finish().unwrap();
}

fn prepared() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("press.toml"), SCENARIO).unwrap();
    write_frames(dir.path(), 1.0);
    dir
}

#[test]
fn shards_of_a_sequence_are_the_whole_run() {
    let dir = prepared();
    let dir = dir.path();
    let run = ["rollout", "press.toml", "--engine", "cpu", "-q"];
    let with = ["--format", "npz,zarr", "--with", "tactile,margin"];
    let done = |arguments: &[&str]| {
        let (code, _, stderr) = bristle(dir, arguments);
        assert_eq!(code, 0, "{arguments:?}: {stderr}");
    };
    done(&[&run[..], &with, &["--out", "whole"]].concat());
    done(&[&run[..], &["--shard", "1/2", "--out", "shards/1"]].concat());
    done(&[&run[..], &["--shard", "2/2", "--out", "shards/2"]].concat());
    done(&[&["merge", "shards", "--out", "merged"][..], &with].concat());
    assert_same(&dir.join("whole"), &dir.join("merged"));
    // The copy of the frames beside the scenario makes the same run.
    done(&[&["rollout", "whole", "--engine", "cpu", "-q", "--out", "again"][..], &with].concat());
    assert_same(&dir.join("whole"), &dir.join("again"));
}

/// The tactile label of a sample is the frame that pressed there, and its sum is the normal force.
#[test]
fn labels_are_the_frames() {
    let dir = prepared();
    let run = ["rollout", "press.toml", "--engine", "cpu", "--with", "tactile", "-q", "--out", "run"];
    json(dir.path(), &run);
    let npz = dir.path().join("run/trajectories.npz");
    let mut zip = zip::ZipArchive::new(fs::File::open(&npz).unwrap()).unwrap();
    let labels = npyz::NpyFile::new(zip.by_name("tactile.npy").unwrap()).unwrap();
    let (shape, tactile) = (labels.shape().to_vec(), labels.into_vec::<f32>().unwrap());
    assert_eq!(shape, [24, 13, ROWS as u64, COLUMNS as u64]);
    let (_, force) = read(&npz, "normal_force");
    let (_, height) = read(&dir.path().join("run/contacts.npz"), "patch.size.1");
    for (at, frame) in tactile.chunks(ROWS * COLUMNS).enumerate() {
        let (contact, sample) = (at / 13, at % 13);
        // A sample at the time of a frame has what was before.
        let k = 1 + (sample.saturating_sub(1) / 2).min(4);
        let area = 0.02 / COLUMNS as f64 * height[contact] / ROWS as f64;
        let mut sum = 0.0;
        for (i, found) in frame.iter().enumerate() {
            let wanted = area * pressure(k, ROWS - 1 - i / COLUMNS, i % COLUMNS);
            assert!(
                (f64::from(*found) - wanted).abs() < 1e-6,
                "contact {contact}, sample {sample}: {found}, wanted {wanted}"
            );
            sum += wanted;
        }
        assert!((force[at] - sum).abs() < 1e-9, "contact {contact}, sample {sample}: {} N of {sum}", force[at]);
    }
}

/// Times of another clock end the command before it writes anything, and a key makes them those of the run.
#[test]
fn frames_of_another_clock_are_refused_or_counted_from_the_first() {
    let dir = prepared();
    let dir = dir.path();
    let times = |zero: f64| format!("{:?}", (0..5).map(|k| zero + f64::from(k) / 128.0).collect::<Vec<_>>());
    let run = |out: &str, times: &str| {
        let frames = format!("patch.frames={{ from = 1, to = 6, times = {times} }}");
        bristle(dir, &["rollout", "press.toml", "-n", "3", "--engine", "cpu", "-q", "--set", &frames, "--out", out])
    };
    let (code, _, stderr) = run("epoch", &times(1764093600.0));
    let told =
        "patch.frames.times = 1764093600 to 1764093600.03125 s: expected several times [s] in the run, 0 to 0.06 s";
    assert!(code == 2 && stderr.contains(told) && stderr.contains("`times_from = \"first\"`"), "{code}: {stderr}");
    assert!(!dir.join("epoch").exists() && !dir.join("epoch.partial").exists());
    for (out, times) in [("zero", times(0.0)), ("first", format!("{}, times_from = \"first\"", times(1764093600.0)))] {
        let (code, _, stderr) = run(out, &times);
        assert_eq!(code, 0, "{stderr}");
    }
    let trajectories = |out: &str, name: &str| read(&dir.join(out).join("trajectories.npz"), name);
    for name in ["pose", "wrench", "normal_force"] {
        assert_eq!(trajectories("zero", name), trajectories("first", name), "{name}");
    }
    // In the library, too, where a patch is made by hand.
    let contact = Scenario::load(&dir.join("press.toml"), &[]).unwrap().contact(0).unwrap();
    let plan = bristle::Plan::new(0.005, 1e-3, 1e-3).unwrap();
    let error = Cpu::new().run(&[contact], &plan).unwrap_err().to_string();
    assert!(error.contains("contact 0: patch.frames.times = 0 to 0.04 s: expected several times [s] in"), "{error}");
}

/// What was counted as zero is told, and a copy of the baseline is kept.
#[test]
fn a_run_tells_how_many_readings_it_clipped() {
    use npyz::WriterBuilder;
    let dir = prepared();
    let dir = dir.path();
    fs::create_dir(dir.join("untouched")).unwrap();
    let file = fs::File::create(dir.join("untouched/press.npy")).unwrap();
    let shape = [ROWS as u64, COLUMNS as u64];
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(file).begin_nd().unwrap();
    writer.extend([1500.0; ROWS * COLUMNS]).unwrap();
    writer.finish().unwrap();
    let clip = ["--set", "patch.baseline=untouched/press.npy", "--set", "patch.clip=true"];
    let run = ["rollout", "press.toml", "-n", "2", "--engine", "cpu", "--out", "run"];
    let (code, _, stderr) = bristle(dir, &[&run[..], &clip].concat());
    let below = (1..6).flat_map(|k| (0..24).map(move |i| (k, i / 6, i % 6)));
    let below = below.filter(|(k, j, i)| pressure(*k, *j, *i) < 1500.0).count();
    let told = format!("patch.clip: {below} of 120 readings were below zero, the lowest -1500, and count as zero");
    assert!(code == 0 && stderr.contains(&told), "{code}: {stderr}");
    let record: serde_json::Value = serde_json::from_slice(&fs::read(dir.join("run/run.json")).unwrap()).unwrap();
    assert_eq!(record["clipped"], serde_json::json!({ "readings": below, "of": 120, "lowest": -1500.0 }));
    let (code, _, stderr) = bristle(dir, &["rollout", "run", "--engine", "cpu", "-q", "--out", "again"]);
    assert_eq!(code, 0, "{stderr}");
    assert_same(&dir.join("run"), &dir.join("again"));
}

#[test]
fn a_run_goes_on_with_the_frames_that_it_began_with() {
    let dir = prepared();
    let dir = dir.path();
    let scenario = || Scenario::load(&dir.join("press.toml"), &[]).unwrap();
    let options = |name: &str| Options { block: Some(4), ..Options::new(dir.join(name)) };
    rollout(&scenario(), &Cpu::new(), &options("whole"), &|_| true).unwrap();
    let seen = AtomicU64::new(0);
    let stop = |n: u64| seen.fetch_add(n, Ordering::Relaxed) < 130;
    rollout(&scenario(), &Cpu::new(), &options("cut"), &stop).unwrap_err();
    let resume = Options { resume: true, ..options("cut") };
    write_frames(dir, 2.0);
    let other = rollout(&scenario(), &Cpu::new(), &resume, &|_| true);
    assert!(matches!(other, Err(RolloutError::Different { what: "maps", .. })));
    write_frames(dir, 1.0);
    rollout(&scenario(), &Cpu::new(), &resume, &|_| true).unwrap();
    assert_same(&dir.join("whole"), &dir.join("cut"));
}
