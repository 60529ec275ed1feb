//! Runs with changed files: every command that reads such a run names the file, with the expected and the
//! actual digest, and writes nothing.
#![cfg(unix)]

#[path = "../../../tests/content/mod.rs"]
mod content;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use bristle::Cpu;
use bristle_cli::report::report;
use bristle_data::rollout::{
    Datasets, Extra, Format, Merge, Options, RolloutError, Shard, complete, merge, rollout, verify,
};
use bristle_scenario::{Scenario, change};
use content::{assert_same, names};
use sha2::{Digest, Sha256};

const SCENARIO: &str = r#"duration = 0.05
record_every = 0.01
contacts = 7
[patch]
file = "map.csv"
size = 0.02
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

/// A directory with a map, and the scenario.
fn place() -> (tempfile::TempDir, Scenario) {
    let dir = tempfile::tempdir().unwrap();
    let cells = (0..9).map(|k| format!("{},{},{}\n", k % 3 - 1, k / 3 - 1, 1 + k % 2));
    fs::write(dir.path().join("map.csv"), "x,y,w\n".to_owned() + &cells.collect::<String>()).unwrap();
    let scenario = of(dir.path(), 7);
    (dir, scenario)
}

/// The scenario with so many contacts.
fn of(dir: &Path, contacts: u64) -> Scenario {
    Scenario::parse(&change(SCENARIO, &format!("contacts={contacts}")).unwrap(), dir, "slide.toml").unwrap()
}

fn shear() -> Datasets {
    Datasets { extras: vec![Extra::Shear], ..Datasets::default() }
}

fn all_formats() -> Datasets {
    Datasets { formats: vec![Format::Npz, Format::Zarr, Format::Lerobot], extras: vec![Extra::Margin] }
}

fn options(out: &Path) -> Options {
    Options { block: Some(2), draw: Some(|_| "<svg/>".into()), ..Options::new(out) }
}

/// All files below a directory with their bytes.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { dirs.push(path) } else { drop(all.insert(path.clone(), fs::read(&path).unwrap())) }
        }
    }
    all
}

/// Calls `check` for every file of a run with each of some faults: a bit flipped at its beginning, in its
/// middle and at its end, no bytes, and no file; then it is as it was.
fn each_fault(run: &Path, mut check: impl FnMut(&Path, &str)) {
    for (path, bytes) in files(run) {
        for place in [0, bytes.len() / 2, bytes.len().saturating_sub(1)] {
            if let Some(mut damaged) = Some(bytes.clone()).filter(|bytes| !bytes.is_empty()) {
                damaged[place] ^= 1;
                fs::write(&path, damaged).unwrap();
                check(&path, "flipped");
            }
        }
        if !bytes.is_empty() {
            fs::write(&path, "").unwrap();
            check(&path, "empty");
        }
        fs::remove_file(&path).unwrap();
        check(&path, "missing");
        fs::write(&path, bytes).unwrap();
    }
}

/// Fails unless a command has refused the run, and has named the file and both digests. A record that is no
/// JSON any more is that of no run, and there is nothing to compare SHA256SUMS or itself with.
#[track_caller]
fn assert_named(error: &str, path: &Path, fault: &str) {
    let name = path.file_name().unwrap().to_str().unwrap();
    match (name, fault) {
        ("run.json", _) => assert!(error.contains("run.json") || error.contains(" is no "), "{fault}: {error}"),
        ("SHA256SUMS", "missing") => assert!(error.contains("has no SHA256SUMS"), "{error}"),
        _ => {
            assert!(error.starts_with(&format!("{}: is ", path.display())), "{}: {fault}: {error}", path.display());
            assert!(error.contains("expected the sha256 ") && error.contains(", found "), "{error}");
            assert!(error.contains("restore it from a copy"), "{error}");
        }
    }
}

/// Writes the digests of a run anew, as somebody would who made it up.
fn sign(run: &Path, lines: Option<&str>) {
    let hex = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let sums = run.join("SHA256SUMS");
    let old = fs::read_to_string(&sums).unwrap();
    let line = |line: &str| {
        let (digest, name) = line.split_once("  ").unwrap();
        let file = run.join(name);
        let digest = if file.is_file() { hex(&fs::read(file).unwrap()) } else { digest.to_owned() };
        format!("{digest}  {name}\n")
    };
    let lines = lines.map_or_else(|| old.lines().map(line).collect(), str::to_owned);
    fs::write(&sums, &lines).unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
    record.as_object_mut().unwrap().remove("digest");
    record["manifest"] = hex(lines.as_bytes()).into();
    fs::write(run.join("run.json"), record.to_string()).unwrap();
}

/// The two shards of the run.
fn shards(dir: &Path, scenario: &Scenario) -> Vec<PathBuf> {
    let shard = |index| {
        let shard = Some(Shard { index, of: 2 });
        let out = dir.join(format!("shards/{index}"));
        rollout(scenario, &Cpu::new(), &Options { shard, datasets: shear(), ..options(&out) }, &|_| true).unwrap();
        out
    };
    vec![shard(1), shard(2)]
}

fn merged(shards: &[PathBuf], out: &Path) -> Result<(), RolloutError> {
    merge(&Merge::open(shards)?, &Options { datasets: shear(), ..options(out) }).map(drop)
}

#[test]
fn damaged_shards_are_not_merged() {
    let (dir, scenario) = place();
    let (shards, out) = (shards(dir.path(), &scenario), dir.path().join("merged"));
    let mut count = 0;
    each_fault(&shards[1], |path, fault| {
        let error = merged(&shards, &out).unwrap_err();
        assert!(path.ends_with("run.json") || path.ends_with("SHA256SUMS") || !error.is_users(), "{error}");
        assert_named(&error.to_string(), path, fault);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is written");
        count += 1;
    });
    assert!(count > 5 * 18, "{count}");
    // All are named together.
    fs::write(shards[0].join("raw/pose"), "").unwrap();
    fs::remove_file(shards[0].join("raw/slip")).unwrap();
    let error = merged(&shards, &out).unwrap_err().to_string();
    assert!(error.contains("raw/pose: is damaged") && error.contains("(and one other file is damaged"), "{error}");
}

/// What the record of a shard says is not taken for granted, nor what its arrays hold, whoever wrote them.
#[test]
fn shards_that_were_made_up_do_not_panic() {
    let (dir, scenario) = place();
    let (shards, out) = (shards(dir.path(), &scenario), dir.path().join("merged"));
    let refused = |part: &str| {
        let error = merged(&shards, &out).unwrap_err().to_string();
        assert!(error.contains(part) && error.len() < 1000, "{error}");
        assert!(!out.exists());
        let _ = fs::remove_dir_all(dir.path().join("merged.partial"));
    };
    let frames = fs::read(shards[1].join("raw/frames")).unwrap();
    for number in [7, u64::MAX] {
        let more = [&number.to_le_bytes(), &frames[8..]].concat();
        fs::write(shards[1].join("raw/frames"), more).unwrap();
        sign(&shards[1], None);
        refused(&format!("raw/frames: {number} samples of contact 3: expected at most 6"));
    }
    fs::write(shards[1].join("raw/frames"), &frames).unwrap();
    for name in ["steps", "passes", "unconverged"] {
        let path = shards[1].join("raw").join(name);
        let was = fs::read(&path).unwrap();
        fs::write(&path, vec![0xff; was.len()]).unwrap();
        sign(&shards[1], None);
        merged(&shards, &out).unwrap();
        fs::remove_dir_all(&out).unwrap();
        fs::write(path, was).unwrap();
    }
    // One array is too long, and says so itself.
    let slip = fs::read(shards[1].join("raw/slip")).unwrap();
    fs::write(shards[1].join("raw/slip"), [&slip[..], &[0]].concat()).unwrap();
    sign(&shards[1], None);
    refused("raw/slip: 193 bytes: expected 192");
    fs::write(shards[1].join("raw/slip"), &slip).unwrap();
    sign(&shards[1], None);
    let whole = fs::read_to_string(shards[1].join("run.json")).unwrap();
    for (key, index, of, contacts) in
        [("shard", 0u64, 2u64, 4u64), ("shard", 2, u64::MAX, 4), ("shard", 3, 2, 4), ("contacts", 2, 2, u64::MAX)]
    {
        let mut record: serde_json::Value = serde_json::from_str(&whole).unwrap();
        record["shard"]["index"] = index.into();
        record["shard"]["of"] = of.into();
        record["summary"]["contacts"] = contacts.into();
        fs::write(shards[1].join("run.json"), record.to_string()).unwrap();
        refused(if key == "shard" { "expected a shard that there may be" } else { "expected 4 contacts" });
    }
}

#[test]
fn a_complete_run_that_is_damaged_is_not_resumed_and_gets_no_page() {
    let (dir, scenario) = place();
    let out = dir.path().join("run");
    let new = Options { datasets: all_formats(), ..options(&out) };
    rollout(&scenario, &Cpu::new(), &new, &|_| true).unwrap();
    let resume = Options { resume: true, ..new };
    let files = files(&out);
    assert!(files.len() > 60, "{}", files.len());
    each_fault(&out, |path, fault| {
        let error = rollout(&scenario, &Cpu::new(), &resume, &|_| panic!("computed something")).unwrap_err();
        assert_named(&error.to_string(), path, fault);
        let name = path.strip_prefix(&out).unwrap().to_str().unwrap();
        if ["trajectories.npz", "contacts.npz", "scenario.toml", "map.csv", "SHA256SUMS"].contains(&name) {
            assert_named(&report(&out, None).unwrap_err().to_string(), path, fault);
        }
        // In `verify`, the file alone.
        match verify(&out) {
            Ok(found) if name == "run.json" => assert!(found.faults[0].starts_with("run.json: is damaged")),
            Ok(found) => assert!(found.faults[0].starts_with(&format!("{name}: is ")), "{:?}", found.faults),
            Err(e) => assert!(fault == "missing" && ["run.json", "SHA256SUMS"].contains(&name), "{e}"),
        }
    });
    assert_eq!(crate::files(&out), files, "nothing is written");
    // It is not moved to its place, either.
    let partial = dir.path().join("run.partial");
    fs::rename(&out, &partial).unwrap();
    let bytes = fs::read(partial.join("contacts.npz")).unwrap();
    fs::write(partial.join("contacts.npz"), &bytes[1..]).unwrap();
    let error = complete(&scenario, &resume).unwrap_err().to_string();
    assert!(error.contains("run.partial/contacts.npz: is damaged") && !out.exists(), "{error}");
    fs::write(partial.join("contacts.npz"), &bytes).unwrap();
    assert!(complete(&scenario, &resume).unwrap().is_some() && out.exists());
}

/// Every bit of the record counts, though no other file has its digest.
#[test]
fn a_record_has_its_own_digest() {
    let (dir, scenario) = place();
    let out = dir.path().join("run");
    rollout(&scenario, &Cpu::new(), &options(&out), &|_| true).unwrap();
    let path = out.join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find("\"wall_s\": ").unwrap() + 10;
    for (place, bit) in (at..at + 8).flat_map(|place| (0..3).map(move |bit| (place, bit))) {
        let mut damaged = text.clone().into_bytes();
        damaged[place] ^= 1 << bit;
        fs::write(&path, damaged).unwrap();
        let resume = Options { resume: true, ..options(&out) };
        let error = complete(&scenario, &resume).unwrap_err().to_string();
        assert!(error.contains("run.json: is damaged: expected the sha256") || error.contains("is no run"), "{error}");
        assert!(!verify(&out).unwrap().faults.is_empty());
    }
}

#[test]
fn a_damaged_run_is_not_extended() {
    let (dir, scenario) = place();
    let out = dir.path().join("run");
    rollout(&scenario, &Cpu::new(), &options(&out), &|_| true).unwrap();
    let extend = Options { extend: true, ..options(&out) };
    let larger = of(dir.path(), 11);
    each_fault(&out, |path, fault| {
        if ["contacts.npz", "trajectories.svg"].contains(&path.file_name().unwrap().to_str().unwrap()) {
            // Nothing of them is taken over.
            return;
        }
        let error = rollout(&larger, &Cpu::new(), &extend, &|_| panic!("computed something")).unwrap_err().to_string();
        let is_named = path.ends_with("trajectories.npz") && fault == "missing" && error.contains("trajectories.npz");
        if !is_named && !path.ends_with("run.json") {
            assert_named(&error, path, fault);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is written");
    });
    rollout(&larger, &Cpu::new(), &extend, &|_| true).unwrap();
    let whole = dir.path().join("whole");
    rollout(&larger, &Cpu::new(), &options(&whole), &|_| true).unwrap();
    assert_same(&whole, &out);
}

/// Stops a run of blocks of two contacts with six samples in its third block.
fn stop(scenario: &Scenario, options: &Options) {
    let (told, partial) = (AtomicU64::new(0), options.out.with_extension("partial"));
    let is_written = || fs::read_to_string(partial.join("spool/progress.json")).is_ok_and(|t| !t.contains("done\": 0"));
    let stop = |n| {
        if told.fetch_add(n, Ordering::Relaxed) + n <= 4 * 6 {
            return true;
        }
        while !is_written() {
            std::thread::yield_now();
        }
        false
    };
    rollout(scenario, &Cpu::new(), options, &stop).unwrap_err();
}

#[test]
fn an_unfinished_run_that_is_damaged_is_not_resumed() {
    let (dir, scenario) = place();
    let (whole, out) = (dir.path().join("whole"), dir.path().join("run"));
    let of = |out: &Path| Options { datasets: shear(), ..options(out) };
    rollout(&scenario, &Cpu::new(), &of(&whole), &|_| true).unwrap();
    stop(&scenario, &of(&out));
    let spool = dir.path().join("run.partial/spool");
    let resume = Options { resume: true, ..of(&out) };
    let before = files(&spool);
    assert!(before.len() > 15);
    each_fault(&spool, |path, fault| {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name == "parts" || (name == "progress.json" && fault == "missing") {
            // The run is begun anew, and copies its files again.
            return;
        }
        let error = rollout(&scenario, &Cpu::new(), &resume, &|_| panic!("computed something")).unwrap_err();
        let error = error.to_string();
        if name == "progress.json" {
            assert!(error.contains("progress.json: ") || error.contains("is no run"), "{fault}: {error}");
        } else {
            let expected = format!("{}: is damaged: expected the CRC-32 ", path.display());
            assert!(error.starts_with(&expected) && error.contains(", found "), "{fault}: {error}");
        }
    });
    assert_eq!(files(&spool), before, "nothing is written");
    // What is behind the last block that was complete is cut off, as ever.
    for (path, bytes) in &before {
        if !["parts", "progress.json"].contains(&path.file_name().unwrap().to_str().unwrap()) {
            fs::write(path, [&bytes[..], b"part of a block"].concat()).unwrap();
        }
    }
    rollout(&scenario, &Cpu::new(), &resume, &|_| true).unwrap();
    assert_same(&whole, &out);
}

/// Every bit of what an unfinished run says of itself counts.
#[test]
fn progress_has_its_own_digest() {
    let (dir, scenario) = place();
    let out = dir.path().join("run");
    stop(&scenario, &options(&out));
    let path = dir.path().join("run.partial/spool/progress.json");
    let text = fs::read_to_string(&path).unwrap();
    let resume = Options { resume: true, ..options(&out) };
    for place in (0..text.len()).step_by(7) {
        let mut damaged = text.clone().into_bytes();
        damaged[place] ^= 1;
        fs::write(&path, damaged).unwrap();
        rollout(&scenario, &Cpu::new(), &resume, &|_| panic!("computed something")).unwrap_err();
    }
    fs::write(&path, text).unwrap();
    rollout(&scenario, &Cpu::new(), &resume, &|_| true).unwrap();
}

/// Parts of datasets that were complete when a run was interrupted stay, but for those that are damaged.
#[test]
fn damaged_parts_of_datasets_are_made_again() {
    let (dir, scenario) = place();
    let (whole, out, partial) = (dir.path().join("whole"), dir.path().join("run"), dir.path().join("run.partial"));
    let of = |out: &Path| Options { datasets: all_formats(), ..options(out) };
    rollout(&scenario, &Cpu::new(), &of(&whole), &|_| true).unwrap();
    // Datasets are complete when the picture cannot be written.
    let picture = partial.join("trajectories.svg");
    rollout(&scenario, &Cpu::new(), &of(&out), &|_| fs::create_dir_all(&picture).is_ok()).unwrap_err();
    fs::remove_dir(&picture).unwrap();
    let times = |run: &Path| -> BTreeMap<String, (u64, i64)> {
        let data = |name: String| (name.clone(), fs::metadata(run.join(name)).unwrap());
        names(run).into_iter().map(data).map(|(name, data)| (name, (data.ino(), data.mtime_nsec()))).collect()
    };
    let before = times(&partial);
    let is_part = |name: &str| name.contains("/c/") || name.contains("file-") || name == "map.csv";
    let parts: Vec<&String> = before.keys().filter(|name| is_part(name)).collect();
    assert!(parts.len() > 20, "{parts:?}");
    let damaged: BTreeSet<&String> = parts.iter().copied().step_by(3).chain(parts.last().copied()).collect();
    for (i, name) in damaged.iter().enumerate() {
        let mut bytes = fs::read(partial.join(name)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        bytes.truncate(if i % 4 == 3 { middle } else { bytes.len() });
        fs::write(partial.join(name), bytes).unwrap();
    }
    let before = times(&partial);
    rollout(&scenario, &Cpu::new(), &Options { resume: true, ..of(&out) }, &|_| true).unwrap();
    assert_same(&whole, &out);
    assert!(verify(&out).unwrap().faults.is_empty());
    let after = times(&out);
    let stayed = parts.iter().filter(|name| before[**name] == after[**name]).count();
    assert!(stayed > parts.len() / 3, "{stayed} of {}", parts.len());
}

/// Nothing but regular files inside the directory of a run is read: what a name or a link says is not
/// followed out of it, and nothing waits for a pipe.
#[test]
fn only_regular_files_inside_a_run_are_read() {
    let (dir, scenario) = place();
    let shards = shards(dir.path(), &scenario);
    let (shard, out) = (&shards[0], dir.path().join("merged"));
    let sums = fs::read_to_string(shard.join("SHA256SUMS")).unwrap();
    let resume = Options { resume: true, shard: Some(Shard { index: 1, of: 2 }), datasets: shear(), ..options(shard) };
    let refused = |told: &str| {
        let found = verify(shard).unwrap();
        assert_eq!(found.faults.len(), 1, "{:?}", found.faults);
        assert!(found.faults[0].contains(told) && found.faults[0].len() < 400, "{:?}", found.faults);
        for error in [merged(&shards, &out).unwrap_err(), complete(&scenario, &resume).unwrap_err()] {
            assert!(error.to_string().contains(told), "{error}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is written");
    };
    let first = sums.split(' ').next().unwrap();
    for name in ["../../etc/passwd", "/etc/passwd", "raw/../../shards/1/raw/pose", &"x/../".repeat(1 << 16)] {
        sign(shard, Some(&format!("{sums}{first}  {name}\n")));
        let short: String = name.chars().take(100).collect();
        refused(&format!("SHA256SUMS: line {} names `{short}", sums.lines().count() + 1));
    }
    sign(shard, Some(&format!("{sums}{}\n", "no digest ".repeat(1 << 16))));
    refused("is `no digest no digest ");
    sign(shard, Some(&sums));
    // In the place of files that are listed.
    let (pose, copy) = (shard.join("raw/pose"), dir.path().join("shards/pose"));
    fs::rename(&pose, &copy).unwrap();
    assert!(Command::new("mkfifo").arg(&pose).status().unwrap().success());
    refused("raw/pose: is a named pipe (FIFO): expected a regular file");
    for (to, told) in [
        (copy.as_path(), "raw/pose: leads out of its directory: expected a regular file in it"),
        (Path::new("/dev/zero"), "raw/pose: leads out of its directory: expected a regular file in it"),
        (Path::new("../raw"), "raw/pose: is a directory: expected a regular file"),
    ] {
        fs::remove_file(&pose).unwrap();
        symlink(to, &pose).unwrap();
        refused(told);
    }
    // A link to a file of the run is one.
    fs::remove_file(&pose).unwrap();
    fs::rename(&copy, shard.join("raw/moved")).unwrap();
    symlink("moved", &pose).unwrap();
    assert!(verify(shard).unwrap().faults.is_empty());
    // The record and the digests themselves.
    for name in ["run.json", "SHA256SUMS"] {
        let path = shard.join(name);
        let text = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        for error in [verify(shard).unwrap_err(), merged(&shards, &out).unwrap_err()] {
            assert!(error.to_string().contains(&format!("{name}: is a named pipe (FIFO)")), "{error}");
        }
        complete(&scenario, &resume).unwrap_err();
        fs::remove_file(&path).unwrap();
        fs::write(&path, text).unwrap();
    }
    let long = shard.join("SHA256SUMS");
    fs::File::options().write(true).open(&long).unwrap().set_len(1 << 40).unwrap();
    let error = verify(shard).unwrap_err().to_string();
    assert!(error.contains("SHA256SUMS: 1099511627776 bytes of text: expected at most"), "{error}");
}

/// The program in `dir`: its exit code and stderr.
fn bristle(dir: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_bristle")).current_dir(dir).args(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// Sweeps, worlds, pages and runs that are repeated look at their files, too.
#[test]
fn every_command_checks_the_run_that_it_reads() {
    let (dir, _) = place();
    let dir = dir.path();
    fs::write(dir.join("slide.toml"), SCENARIO).unwrap();
    let sweep = ["rollout", "slide.toml", "--engine", "cpu", "-q", "-n", "2", "--sweep", "seed=[1, 2]", "--out", "all"];
    assert_eq!(bristle(dir, &sweep), (0, String::new()));
    let tower = Command::new(env!("CARGO_BIN_EXE_bristle")).args(["example", "tower"]).output().unwrap();
    fs::write(dir.join("tower.toml"), tower.stdout).unwrap();
    let worlds =
        ["rollout", "tower.toml", "--engine", "cpu", "-q", "-n", "1", "--set", "duration=0.1", "--out", "worlds"];
    assert_eq!(bristle(dir, &worlds), (0, String::new()));
    for (command, file) in [(&sweep[..], "all/1/trajectories.npz"), (&worlds[..], "worlds/contacts.npz")] {
        let resume = [command, &["--resume"]].concat();
        assert_eq!(bristle(dir, &resume), (0, String::new()));
        let bytes = fs::read(dir.join(file)).unwrap();
        fs::write(dir.join(file), &bytes[..bytes.len() - 1]).unwrap();
        let (code, stderr) = bristle(dir, &resume);
        assert!(code == 1 && stderr.contains(&format!("{file}: is damaged: expected the sha256")), "{stderr}");
        assert!(stderr.contains("or make the run anew with `--force`"), "{stderr}");
    }
    // The run of a directory is repeated by its scenario, with its map.
    let again = ["rollout", "all/0", "--engine", "cpu", "-q", "--out", "again"];
    let map = fs::read_to_string(dir.join("all/0/map.csv")).unwrap();
    fs::write(dir.join("all/0/map.csv"), map.replacen(",1\n", ",3\n", 1)).unwrap();
    for command in [&again[..], &["surface", "all/0", "--out", "t.npz"], &["margin", "all/0", "--load", "1,0,0"]] {
        let (code, stderr) = bristle(dir, command);
        assert!(code == 1 && stderr.contains("all/0/map.csv: is damaged: expected the sha256"), "{stderr}");
    }
    fs::write(dir.join("all/0/map.csv"), map).unwrap();
    assert_eq!(bristle(dir, &again), (0, String::new()));
    let (code, stderr) = bristle(dir, &["report", "all/1"]);
    assert!(code == 1 && stderr.contains("all/1/trajectories.npz: is damaged"), "{stderr}");
    assert!(!dir.join("all/1/report.html").exists());
}
