use super::*;
use crate::cpu::Cpu;

const SLIDE: &str = r#"
duration = 0.05
record_every = 0.01
contacts = 7
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

fn scenario() -> Scenario {
    Scenario::parse(SLIDE, ".".as_ref(), "slide.toml").unwrap()
}

fn options(out: PathBuf) -> Options {
    Options { out, force: false, resume: false, block: None }
}

fn read(npz: &Path, name: &str) -> (Vec<u64>, Vec<f64>) {
    let mut zip = zip::ZipArchive::new(File::open(npz).unwrap()).unwrap();
    let npy = npyz::NpyFile::new(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap();
    (npy.shape().to_vec(), npy.into_vec::<f64>().unwrap())
}

#[test]
fn a_run_is_complete_and_opens() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a/slide");
    let summary = rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
    assert_eq!(summary.contacts, 7);
    assert_eq!(summary.status.slipped, 7);
    let (shape, pose) = read(&out.join("trajectories.npz"), "pose");
    assert_eq!(shape, [7, 6, 3]);
    assert!(pose.iter().all(|v| v.is_finite()));
    assert_eq!(read(&out.join("trajectories.npz"), "time").1, scenario().plan().samples);
    let (shape, mu_c) = read(&out.join("contacts.npz"), "friction.mu_c");
    assert_eq!((shape, mu_c[3]), (vec![7], scenario().contact(3).unwrap().friction.mu_c));
    for file in ["scenario.toml", "run.json", "trajectories.svg"] {
        assert!(out.join(file).exists(), "{file}");
    }
    assert!(!out.join("spool").exists() && !partial(&out).exists());
    let again = rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true);
    assert!(matches!(again, Err(RolloutError::Exists(_))));
    let force = Options { force: true, ..options(out) };
    rollout(&scenario(), &Cpu::new(), &force, &|_| true).unwrap();
}

#[test]
fn every_contact_has_one_outcome() {
    let fate = |displacement: f64, rotation: f64| Fate { displacement, rotation };
    let (far, near) = (2.0 * SLIPPED, 0.5 * SLIPPED);
    for (fate, failed, outcome) in [
        (fate(near, 0.0), false, Outcome::Stuck),
        (fate(far, 0.0), false, Outcome::Slipped),
        (fate(near, -2.0 * ROTATION_SPUN), false, Outcome::Spun),
        (fate(far, 2.0 * ROTATION_SPUN), false, Outcome::SlippedAndSpun),
        (fate(far, f64::NAN), true, Outcome::Failed),
    ] {
        assert_eq!(fate.outcome(failed), outcome);
        assert!(Outcome::ALL.contains(&outcome) && Outcome::DRAWN.contains(&outcome));
    }
    let dir = tempfile::tempdir().unwrap();
    let status = rollout(&scenario(), &Cpu::new(), &options(dir.path().join("run")), &|_| true).unwrap().status;
    assert_eq!(status.stuck + status.slipped + status.spun - status.slipped_and_spun + status.failed, 7);
}

#[test]
fn results_depend_neither_on_the_block_nor_on_an_interruption() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let dir = tempfile::tempdir().unwrap();
    let (whole, cut) = (dir.path().join("whole"), dir.path().join("cut"));
    rollout(&scenario(), &Cpu::new(), &options(whole.clone()), &|_| true).unwrap();
    let small = Options { block: Some(2), ..options(cut.clone()) };
    let seen = AtomicU64::new(0);
    let stop = |n: u64| seen.fetch_add(n, Ordering::Relaxed) < 14;
    assert!(matches!(
        rollout(&scenario(), &Cpu::new(), &small, &stop),
        Err(RolloutError::Engine(EngineError::Stopped))
    ));
    assert!(!cut.exists());
    assert!(matches!(rollout(&scenario(), &Cpu::new(), &small, &|_| true), Err(RolloutError::Unfinished(_))));
    let resume = Options { resume: true, ..small };
    let other = Scenario::parse(&SLIDE.replace("0.2 }", "0.3 }"), ".".as_ref(), "slide.toml").unwrap();
    assert!(matches!(
        rollout(&other, &Cpu::new(), &resume, &|_| true),
        Err(RolloutError::Different { what: "scenario", .. })
    ));
    rollout(&scenario(), &Cpu::new(), &resume, &|_| true).unwrap();
    for name in ["pose", "wrench", "displacement"] {
        let bits = |out: &Path| -> Vec<u64> {
            read(&out.join("trajectories.npz"), name).1.into_iter().map(f64::to_bits).collect()
        };
        assert_eq!(bits(&whole), bits(&cut), "{name}");
    }
}

/// The text of a scenario says of a map file but the name: a run goes on with the map that it began with, or not at all.
#[test]
fn a_map_file_that_changed_is_another_run() {
    let dir = tempfile::tempdir().unwrap();
    let (map, out) = (dir.path().join("map.csv"), dir.path().join("run"));
    let text = SLIDE.replace("shape = \"disc\"\ncells = 5", "file = \"map.csv\"\nsize = 0.02");
    let scenario = || Scenario::parse(&text, dir.path(), "map.toml").unwrap();
    let write = |middle: f64| {
        let cell = |k: i32| format!("{},{},{}\n", k % 3 - 1, k / 3 - 1, if k == 4 { middle } else { 1.0 });
        fs::write(&map, (0..9).fold("x,y,w\n".to_owned(), |text, k| text + &cell(k))).unwrap();
    };
    write(1.0);
    let small = Options { block: Some(2), ..options(out.clone()) };
    let seen = std::sync::atomic::AtomicU64::new(0);
    let stop = |n: u64| seen.fetch_add(n, std::sync::atomic::Ordering::Relaxed) < 14;
    rollout(&scenario(), &Cpu::new(), &small, &stop).unwrap_err();
    let resume = Options { resume: true, ..small };
    write(2.0);
    let other = rollout(&scenario(), &Cpu::new(), &resume, &|_| true);
    assert!(matches!(other, Err(RolloutError::Different { what: "maps", .. })));
    // The run's own copy is of the map that it was begun with.
    write(1.0);
    let begun = scenario();
    write(3.0);
    rollout(&begun, &Cpu::new(), &resume, &|_| true).unwrap();
    let kept = fs::read_to_string(out.join("map.csv")).unwrap();
    assert!(kept.contains("0,0,1\n"), "{kept}");
}

/// A run that has not got anywhere is not in the way of the next.
#[test]
fn an_unfinished_run_without_a_contact_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let stopped = rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| false).unwrap_err();
    assert!(matches!(stopped, RolloutError::Engine(EngineError::Stopped)));
    assert!(partial(&out).exists() && unfinished(&out) == 0);
    rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
    assert!(!partial(&out).exists() && out.join("run.json").exists());
}

/// Whatever is no run stays as it is, and is told before anything is computed.
#[test]
fn force_replaces_runs_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (mine, run) = (dir.path().join("mine"), dir.path().join("run"));
    fs::create_dir_all(&mine).unwrap();
    fs::write(mine.join("data.txt"), "mine").unwrap();
    let force = |out: &Path| Options { force: true, ..options(out.to_owned()) };
    let never = |_| panic!("computed something");
    let refused = |options: &Options| rollout(&scenario(), &Cpu::new(), options, &never).unwrap_err();
    assert!(matches!(refused(&force(&mine)), RolloutError::NotARun(path) if path == mine));
    assert!(matches!(refused(&force(&mine.join("data.txt"))), RolloutError::NotARun(_)));
    let mine_now = dir.path().join("run.partial");
    fs::rename(&mine, &mine_now).unwrap();
    // Nor does it look like one for having a file of that name.
    fs::write(mine_now.join("run.json"), "{}").unwrap();
    fs::create_dir_all(mine_now.join("spool")).unwrap();
    for some in [options(run.clone()), force(&run), Options { resume: true, ..options(run.clone()) }] {
        assert!(matches!(refused(&some), RolloutError::NotARun(path) if path == mine_now));
    }
    fs::rename(mine_now, dir.path().join("run.old")).unwrap();
    // A link to nothing is something.
    #[cfg(unix)]
    {
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(matches!(refused(&options(link.clone())), RolloutError::Exists(_)));
        assert!(matches!(refused(&force(&link)), RolloutError::NotARun(_)));
    }
    rollout(&scenario(), &Cpu::new(), &options(run.clone()), &|_| true).unwrap();
    assert!(matches!(refused(&force(&run)), RolloutError::SetAside(path) if path == dir.path().join("run.old")));
    let resume = Options { resume: true, ..options(run) };
    assert!(matches!(refused(&resume), RolloutError::Complete(_)));
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(matches!(refused(&Options { resume: true, ..options(empty) }), RolloutError::NothingToResume(_)));
    assert_eq!(fs::read_to_string(dir.path().join("run.old/data.txt")).unwrap(), "mine");
}

/// A run that a process is at is neither replaced nor continued by another.
#[test]
fn one_process_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let run = options(dir.path().join("run"));
    let partial = partial(&run.out);
    let others = |_| {
        for other in [Options { force: true, ..run.clone() }, Options { resume: true, ..run.clone() }] {
            let refused = rollout(&scenario(), &Cpu::new(), &other, &|_| panic!("computed something")).unwrap_err();
            assert!(matches!(refused, RolloutError::Running(ref path) if *path == partial), "{refused}");
        }
        true
    };
    rollout(&scenario(), &Cpu::new(), &run, &others).unwrap();
    let left: Vec<_> = fs::read_dir(&run.out).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 5, "{left:?}");
    assert!(!partial.exists());
}

#[test]
fn nothing_is_left_where_nothing_can_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = rollout(&scenario(), &Cpu::new(), &options(file.join("out")), &|_| true).unwrap_err();
    assert!(matches!(error, RolloutError::Io { .. }) && !error.is_users(), "{error}");
}

/// A patch that turns about its centre of pressure does not slip there; one that turns about the origin does.
#[test]
fn a_prescribed_motion_has_the_displacement_of_its_centre_of_pressure() {
    for (at, slips) in [("cop", 0.0), ("origin", 0.4)] {
        let text = format!(
            r#"
            duration = 0.2
            patch = {{ shape = "line-gradient", cells = 7 }}
            friction = {{ mu_c = 0.5 }}
            body = {{ kind = "prescribed" }}
            inputs = {{ normal_force = 2, twist = {{ w = 2, at = "{at}" }} }}
            "#
        );
        let scenario = Scenario::parse(&text, ".".as_ref(), "turn.toml").unwrap();
        let contact = scenario.contact(0).unwrap();
        let out = Cpu::new().rollout(std::slice::from_ref(&contact), &scenario.plan(), &|_| true).unwrap();
        let fate = Fate::of(&contact, &out, 0);
        let [cx, cy] = contact.patch.cop();
        assert!((fate.displacement - slips * cx.hypot(cy)).abs() < 1e-12, "{at}: {fate:?}");
        assert!(
            (fate.rotation - 0.4).abs() < 1e-12 && fate.spun() && fate.slipped() == (slips > 0.0),
            "{at}: {fate:?}"
        );
    }
}
