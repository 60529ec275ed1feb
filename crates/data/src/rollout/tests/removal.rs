//! Nothing is removed that a run has not written, and links are not followed.

use super::*;

/// What is in a directory, links not followed.
fn all(dir: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for path in fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()) {
            let kind = path.symlink_metadata().unwrap();
            found.push((path.clone(), kind.is_file().then(|| fs::read(&path).unwrap())));
            if kind.is_dir() {
                dirs.push(path);
            }
        }
    }
    found.sort();
    found
}

fn of(contacts: u64) -> Scenario {
    let text = SLIDE.replace("contacts = 7", &format!("contacts = {contacts}"));
    Scenario::parse(&text, ".".as_ref(), "slide.toml").unwrap()
}

fn in_all_formats(out: &Path) -> Options {
    let formats = vec![
        Format::Npz,
        Format::Zarr,
        #[cfg(feature = "lerobot")]
        Format::Lerobot,
    ];
    Options { datasets: Datasets { formats, extras: Vec::new() }, ..options(out.to_owned()) }
}

fn never(_: u64) -> bool {
    panic!("computed something")
}

/// Puts something into a directory; returns what refuses it names.
fn put(run: &Path, name: &str) -> PathBuf {
    let path = run.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if name.ends_with('/') {
        fs::create_dir(&path).unwrap();
    } else {
        fs::write(&path, "mine").unwrap();
    }
    path
}

/// Notes, checkpoints and other files in the directory of a complete run are refused by name when it is
/// replaced, before anything is changed.
#[test]
fn what_a_run_has_not_written_is_not_removed_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    rollout(&scenario(), &Cpu::new(), &in_all_formats(&out), &|_| true).unwrap();
    let force = Options { force: true, ..in_all_formats(&out) };
    let extend = Options { extend: true, ..in_all_formats(&out) };
    for name in ["notes.txt", "checkpoints/1.pt", "empty/", "dataset.zarr/notes.txt", "report.html", "spool/notes.txt"]
    {
        let other = put(&out, name);
        let before = all(dir.path());
        for (scenario, options) in [(of(7), &force), (of(9), &extend)] {
            let refused = rollout(&scenario, &Cpu::new(), options, &never).unwrap_err();
            assert!(matches!(&refused, RolloutError::NotOfTheRun { path, .. } if *path == other), "{name}: {refused}");
            assert!(refused.is_users());
            assert!(all(dir.path()) == before, "{name}");
        }
        // A complete run is returned as it is.
        let found = rollout(&of(7), &Cpu::new(), &Options { resume: true, ..in_all_formats(&out) }, &never).unwrap();
        assert_eq!(found.contacts, 7);
        assert!(other.exists());
        let top = out.join(name.split('/').next().unwrap());
        match name {
            "dataset.zarr/notes.txt" => fs::remove_file(other).unwrap(),
            _ if top.is_dir() => fs::remove_dir_all(top).unwrap(),
            _ => fs::remove_file(top).unwrap(),
        }
    }
    rollout(&of(9), &Cpu::new(), &extend, &|_| true).unwrap();
    rollout(&of(7), &Cpu::new(), &force, &|_| true).unwrap();
    assert!(verify(&out).unwrap().faults.is_empty());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// The pages of a run go with it if it is replaced, and of one that is extended if they are made again.
#[test]
fn pages_go_with_their_run() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
    let pages = || {
        fs::write(out.join("report.html"), format!("<!DOCTYPE html><head>{}<title>", own::GENERATOR)).unwrap();
        fs::write(out.join("report_slip.svg"), format!("<svg>\n{PICTURE}\n")).unwrap();
    };
    pages();
    let extend = Options { extend: true, ..options(out.clone()) };
    let before = all(dir.path());
    let refused = rollout(&of(9), &Cpu::new(), &extend, &never).unwrap_err().to_string();
    assert!(refused.contains("report.html is a page of the run that would be replaced"), "{refused}");
    assert!(all(dir.path()) == before);
    rollout(&of(9), &Cpu::new(), &Options { report: true, ..extend }, &|_| true).unwrap();
    assert!(!out.join("report.html").exists() && !out.join("report_slip.svg").exists());
    pages();
    // A page of another name is somebody's own.
    fs::write(out.join("mine.html"), own::GENERATOR).unwrap();
    let force = Options { force: true, ..options(out.clone()) };
    let refused = rollout(&of(7), &Cpu::new(), &force, &never).unwrap_err().to_string();
    assert!(refused.contains("mine.html is no file of the run"), "{refused}");
    fs::remove_file(out.join("mine.html")).unwrap();
    rollout(&of(7), &Cpu::new(), &force, &|_| true).unwrap();
    assert!(!out.join("report.html").exists());
}

/// What comes into the directory of a run while it is computed is refused at its end; the run loses nothing.
#[test]
fn what_comes_while_a_run_is_made_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (out, whole) = (dir.path().join("run"), dir.path().join("whole"));
    rollout(&of(9), &Cpu::new(), &options(whole.clone()), &|_| true).unwrap();
    for into in [&out, &partial(&out)] {
        rollout(&of(7), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
        let note = into.join("notes.txt");
        let write = |_| fs::write(&note, "mine").is_ok();
        let extend = Options { extend: true, ..options(out.clone()) };
        let refused = rollout(&of(9), &Cpu::new(), &extend, &write).unwrap_err();
        assert!(matches!(&refused, RolloutError::NotOfTheRun { path, .. } if *path == note), "{refused}");
        let again = rollout(&of(9), &Cpu::new(), &extend, &never).unwrap_err();
        assert!(matches!(&again, RolloutError::NotOfTheRun { path, .. } if *path == note), "{again}");
        assert_eq!(fs::read_to_string(&note).unwrap(), "mine");
        fs::remove_file(&note).unwrap();
        rollout(&of(9), &Cpu::new(), &extend, &|_| true).unwrap();
        assert_eq!(content(&out), content(&whole));
        fs::remove_dir_all(&out).unwrap();
    }
}

/// What an interrupted move has left is removed, and nothing else.
#[test]
fn a_run_that_is_tidied_keeps_what_is_not_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (out, old) = (dir.path().join("run"), dir.path().join("old"));
    rollout(&scenario(), &Cpu::new(), &options(old.clone()), &|_| true).unwrap();
    rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
    fs::rename(&old, out.join(REPLACED)).unwrap();
    let kept =
        ["replaced/notes.txt", "spool/notes.txt", "report_mine.partial", "notes.txt"].map(|name| put(&out, name));
    put(&out, "spool/pose");
    put(&out, "lock");
    rollout(&scenario(), &Cpu::new(), &resume(&out), &never).unwrap();
    assert!(kept.iter().all(|path| path.exists()));
    let count = |name: &str| fs::read_dir(out.join(name)).unwrap().count();
    assert_eq!((count("replaced"), count("spool")), (1, 1));
    assert!(!out.join("lock").exists());
}

/// An interruption while a complete run is cleared leaves no part of it that is taken for all of it.
#[test]
fn a_part_of_a_run_is_not_taken_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let (out, whole) = (dir.path().join("run"), dir.path().join("whole"));
    rollout(&scenario(), &Cpu::new(), &options(whole.clone()), &|_| true).unwrap();
    let beside = partial(&out);
    let names =
        ["contacts.npz", "trajectories.npz", "scenario.toml", "trajectories.svg", "SHA256SUMS", "run.json.begun"];
    for removed in 0..=names.len() {
        rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
        fs::rename(&out, &beside).unwrap();
        fs::write(beside.join(LOCK), "").unwrap();
        fs::rename(beside.join("run.json"), beside.join("run.json.begun")).unwrap();
        names[..removed].iter().for_each(|name| fs::remove_file(beside.join(name)).unwrap());
        // What is there may be of another run.
        if removed == 0 {
            fs::create_dir(beside.join("dataset.zarr")).unwrap();
            fs::write(beside.join("dataset.zarr/zarr.json"), "another").unwrap();
        }
        rollout(&scenario(), &Cpu::new(), &resume(&out), &|_| true).unwrap();
        assert_eq!(content(&out), content(&whole), "{removed}");
        fs::remove_dir_all(&out).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;

    let dir = tempfile::tempdir().unwrap();
    let (mine, out) = (dir.path().join("mine"), dir.path().join("run"));
    let beside = partial(&out);
    // An unfinished run, in which its raw files are in another place; files there have the names of raw
    // files.
    let small = Options { block: Some(2), ..options(out.clone()) };
    rollout(&scenario(), &Cpu::new(), &small, &stops_after_a_block(&out)).unwrap_err();
    let ways = [small.clone(), Options { resume: true, ..small.clone() }, Options { force: true, ..small.clone() }];
    let refused = |link: &Path| {
        let before = all(dir.path());
        for options in &ways {
            let refused = rollout(&scenario(), &Cpu::new(), options, &never).unwrap_err();
            assert!(
                matches!(&refused, RolloutError::NotOfTheRun { path, why } if path == link && why.contains("link")),
                "{refused}"
            );
            assert!(all(dir.path()) == before);
        }
    };
    let spool = beside.join("spool");
    fs::rename(&spool, &mine).unwrap();
    symlink(&mine, &spool).unwrap();
    refused(&spool);
    fs::remove_file(&spool).unwrap();
    fs::rename(&mine, &spool).unwrap();
    // A file of the run, and the whole of it.
    fs::write(&mine, "mine").unwrap();
    symlink(&mine, beside.join("trajectories.npz")).unwrap();
    refused(&beside.join("trajectories.npz"));
    fs::remove_file(beside.join("trajectories.npz")).unwrap();
    fs::remove_file(&mine).unwrap();
    fs::rename(&beside, &mine).unwrap();
    symlink(&mine, &beside).unwrap();
    refused(&beside);
    fs::remove_file(&beside).unwrap();
    fs::rename(&mine, &beside).unwrap();
    rollout(&scenario(), &Cpu::new(), &resume(&out), &|_| true).unwrap();
    // A complete run that is a link is read, but neither tidied nor replaced.
    fs::rename(&out, &mine).unwrap();
    symlink(&mine, &out).unwrap();
    fs::write(mine.join(LOCK), "").unwrap();
    let before = all(dir.path());
    rollout(&scenario(), &Cpu::new(), &resume(&out), &never).unwrap();
    let force = Options { force: true, ..options(out.clone()) };
    let error = rollout(&scenario(), &Cpu::new(), &force, &never).unwrap_err();
    assert!(matches!(&error, RolloutError::NotOfTheRun { path, .. } if *path == out), "{error}");
    assert!(all(dir.path()) == before);
}

/// A shard is removed with all its files, or not at all.
#[test]
fn runs_are_removed_by_their_record() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("1-of-2");
    let shard = Options { shard: Some(Shard { index: 1, of: 2 }), ..options(out.clone()) };
    rollout(&scenario(), &Cpu::new(), &shard, &|_| true).unwrap();
    let note = put(&out, "raw/notes.txt");
    let before = all(dir.path());
    for refused in [check_own(&out), remove_run(&out)] {
        assert!(matches!(refused, Err(RolloutError::NotOfTheRun { path, .. }) if path == note));
    }
    assert!(all(dir.path()) == before);
    fs::remove_file(note).unwrap();
    remove_run(&out).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    let mine = put(dir.path(), "mine/notes.txt");
    assert!(matches!(remove_run(mine.parent().unwrap()), Err(RolloutError::NotARun(_))));
}

/// A process that waits for the lock of a run that ends returns the run, at whichever moment that ends: moved
/// to its place, or left complete beside it by a process that was killed.
#[test]
fn a_process_that_waits_for_a_run_that_ends_returns_it() {
    for moves in [true, false] {
        for moment in 0..5 {
            let dir = tempfile::tempdir().unwrap();
            let out = dir.path().join("run");
            let first = rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
            let (whole, beside) = (content(&out), partial(&out));
            fs::rename(&out, &beside).unwrap();
            let held = lock(&beside).unwrap();
            let ends = {
                let out = out.clone();
                move || {
                    if moves {
                        fs::rename(&beside, &out).unwrap();
                    }
                    drop(held);
                }
            };
            let passed = at_moment(moment, ends);
            let found = rollout(&scenario(), &Cpu::new(), &resume(&out), &never).unwrap();
            no_moment();
            assert!(passed.get(), "moment {moment}");
            assert_eq!((found, content(&out)), (first, whole), "moment {moment}");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }
}

/// The same where the run is not complete when it is looked for, and another process completes it before this
/// one has its lock.
#[test]
fn a_run_that_another_process_completes_meanwhile_is_not_made_again() {
    for moment in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let (out, done) = (dir.path().join("run"), dir.path().join("done"));
        let first = rollout(&scenario(), &Cpu::new(), &options(done.clone()), &|_| true).unwrap();
        let small = Options { block: Some(2), ..options(out.clone()) };
        rollout(&scenario(), &Cpu::new(), &small, &stops_after_a_block(&out)).unwrap_err();
        let beside = partial(&out);
        let (to, gone) = (out.clone(), dir.path().join("gone"));
        let passed = at_moment(moment, move || {
            fs::rename(&beside, gone).unwrap();
            fs::rename(&done, &to).unwrap();
        });
        let found = rollout(&scenario(), &Cpu::new(), &resume(&out), &never).unwrap();
        no_moment();
        assert!(passed.get(), "moment {moment}");
        assert_eq!(found, first, "moment {moment}");
        assert!(!partial(&out).exists());
        // Nor is a new run begun over it.
        let new = rollout(&scenario(), &Cpu::new(), &options(out.clone()), &never).unwrap_err();
        assert!(matches!(new, RolloutError::Exists(_)));
    }
}

/// While a run is moved to its place it is locked, and after that it is complete there.
#[test]
fn a_run_is_locked_until_it_is_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
    let seen = Rc::new(Cell::new((0, 0)));
    let (told, of) = (Rc::clone(&seen), out.clone());
    MOMENT.set(Some(Box::new(move || {
        let (beside, (locked, complete)) = (partial(&of), told.get());
        if beside.join("run.json").exists() && !of.exists() {
            assert!(matches!(lock(&beside), Err(RolloutError::Running(_))));
            told.set((locked + 1, complete));
        } else if of.exists() && !beside.exists() && of.join("run.json").exists() && locked > 0 {
            assert!(super::complete(&scenario(), &resume(&of)).unwrap().is_some());
            told.set((locked, complete + 1));
        }
    })));
    rollout(&scenario(), &Cpu::new(), &Options { force: true, ..options(out.clone()) }, &|_| true).unwrap();
    no_moment();
    assert_eq!(seen.get(), (1, 1));
    assert!(!out.join(LOCK).exists() && !out.join(REPLACED).exists());
    assert!(verify(&out).unwrap().faults.is_empty());
}

/// An unfinished run goes on, and a complete one is extended, on another processor; shards may come from
/// several. The record lists all of them. Engine and precision have to agree.
#[test]
fn a_run_goes_on_upon_another_processor() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let own = bristle::cpu::processor_name();
    let both = ["Another CPU".to_owned(), own.clone()];
    let upon_another = |scenario: &Scenario, options: &Options, progress: &(dyn Fn(u64) -> bool + Sync)| {
        PROCESSOR.set(Some("Another CPU".to_owned()));
        let done = rollout(scenario, &Cpu::new(), options, progress);
        PROCESSOR.set(None);
        done
    };
    let small = Options { block: Some(2), ..options(out.clone()) };
    upon_another(&scenario(), &small, &stops_after_a_block(&out)).unwrap_err();
    let again = Options { resume: true, ..small };
    let single = rollout(&scenario(), &Cpu::single(), &again, &never).unwrap_err();
    assert!(matches!(single, RolloutError::Different { what: "engine", .. }), "{single}");
    assert!(single.to_string().contains("(precision = \"f32\", where it has \"f64\")"), "{single}");
    assert_eq!(rollout(&scenario(), &Cpu::new(), &again, &|_| true).unwrap().processors, both);
    let record: serde_json::Value = serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(record["summary"]["processors"], serde_json::json!(both));
    // Who simulates nothing is not in the list.
    assert_eq!(upon_another(&scenario(), &again, &never).unwrap().processors, both);
    let extended = dir.path().join("extended");
    upon_another(&scenario(), &options(extended.clone()), &|_| true).unwrap();
    let extend = Options { extend: true, ..options(extended) };
    assert_eq!(rollout(&of(9), &Cpu::new(), &extend, &|_| true).unwrap().processors, both);
    let part = |index| Options { shard: Some(Shard { index, of: 2 }), ..options(dir.path().join(format!("{index}"))) };
    let first = upon_another(&scenario(), &part(1), &|_| true).unwrap();
    assert_eq!(first.processors, ["Another CPU"]);
    assert_eq!(rollout(&scenario(), &Cpu::new(), &part(2), &|_| true).unwrap().processors, [own]);
    let merged = Options::new(dir.path().join("merged"));
    assert_eq!(merge(&Merge::open(&[part(2).out, part(1).out]).unwrap(), &merged).unwrap().processors, both);
}
