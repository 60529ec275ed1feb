use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::names::MANIFEST;
use super::*;
use bristle::cpu::Cpu;
use bristle::error::EngineError;
use bristle_scenario::change;

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

mod removal;

type Hook = Box<dyn FnMut()>;

thread_local! {
    /// What another process does at each moment at which it may.
    static MOMENT: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

thread_local! {
    /// The processor that this one is taken for.
    static PROCESSOR: RefCell<Option<String>> = const { RefCell::new(None) };
}

pub(super) fn other_processor() -> Option<String> {
    PROCESSOR.with_borrow(Clone::clone)
}

/// A moment at which another process may change what is there.
pub(super) fn moment() {
    // What it does has no such moments itself.
    let Some(mut hook) = MOMENT.take() else { return };
    hook();
    MOMENT.set(Some(hook));
}

/// Lets another process do something at moment `k`; returns whether that has passed.
fn at_moment(k: usize, does: impl FnOnce() + 'static) -> Rc<Cell<bool>> {
    let (mut does, mut passed) = (Some(does), 0);
    let done = Rc::new(Cell::new(false));
    let told = Rc::clone(&done);
    MOMENT.set(Some(Box::new(move || {
        if passed == k
            && let Some(does) = does.take()
        {
            does();
            told.set(true);
        }
        passed += 1;
    })));
    done
}

fn no_moment() {
    MOMENT.set(None);
}

fn scenario() -> Scenario {
    Scenario::parse(SLIDE, ".".as_ref(), "slide.toml").unwrap()
}

fn options(out: PathBuf) -> Options {
    Options { draw: Some(|_| "<svg/>".into()), ..Options::new(out) }
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
    for file in ["scenario.toml", "run.json", "trajectories.svg", "SHA256SUMS"] {
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
    let motion = |displacement: f64, rotation: f64| NetMotion { displacement, rotation };
    let (far, near) = (2.0 * SLIPPED, 0.5 * SLIPPED);
    for (motion, failed, outcome) in [
        (motion(near, 0.0), false, Outcome::Stuck),
        (motion(far, 0.0), false, Outcome::Slipped),
        (motion(near, -2.0 * ROTATION_SPUN), false, Outcome::Spun),
        (motion(far, 2.0 * ROTATION_SPUN), false, Outcome::SlippedAndSpun),
        (motion(far, f64::NAN), true, Outcome::Failed),
    ] {
        assert_eq!(motion.outcome(failed), outcome);
        assert!(Outcome::ALL.contains(&outcome));
    }
    let dir = tempfile::tempdir().unwrap();
    let status = rollout(&scenario(), &Cpu::new(), &options(dir.path().join("run")), &|_| true).unwrap().status;
    assert_eq!(status.stuck + status.slipped + status.spun - status.slipped_and_spun + status.failed, 7);
}

#[test]
fn results_depend_neither_on_the_block_nor_on_an_interruption() {
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

/// The text of a scenario says of a map file but the name: a run goes on with the map that it began with, or
/// not at all.
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
    let seen = AtomicU64::new(0);
    let stop = |n: u64| seen.fetch_add(n, Ordering::Relaxed) < 14;
    rollout(&scenario(), &Cpu::new(), &small, &stop).unwrap_err();
    let resume = Options { resume: true, ..small };
    write(2.0);
    let other = rollout(&scenario(), &Cpu::new(), &resume, &|_| true);
    assert!(matches!(other, Err(RolloutError::Different { what: "maps", .. })));
    let told = other.unwrap_err().to_string();
    assert!(told.contains("(patch.file = map.csv, whose content has changed)"), "{told}");
    // The run's own copy is of the map that it was begun with.
    write(1.0);
    let begun = scenario();
    write(3.0);
    rollout(&begun, &Cpu::new(), &resume, &|_| true).unwrap();
    let kept = fs::read_to_string(out.join("map.csv")).unwrap();
    assert!(kept.contains("0,0,1\n"), "{kept}");
}

/// The table of a run is kept with it, under a name that none of the run's own files has, so that the run can
/// be repeated from its directory; a table that changed is another run.
#[test]
fn a_run_keeps_its_table() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let table = dir.path().join("contacts.csv");
    let text = SLIDE.replace("contacts = 7", "").replace("[body]", "[table]\nfile = \"contacts.csv\"\n[body]");
    let text = change(&text, "body.mass={ column = \"mass\" }").unwrap();
    let write = |masses: &str| fs::write(&table, format!("mass\n{masses}")).unwrap();
    write("0.5\n0.75\n1\n");
    let scenario = || Scenario::parse(&text, dir.path(), "table.toml").unwrap();
    rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
    let again = Scenario::load(&out.join("scenario.toml"), &[]).unwrap();
    let mass = |k| again.contact(k).unwrap().body.free().unwrap().mass;
    assert_eq!([0, 1, 2].map(mass), [0.5, 0.75, 1.0]);
    assert!(out.join("table-contacts.csv").exists() && out.join("contacts.npz").exists());
    let resume = Options { resume: true, ..options(out) };
    write("0.5\n0.75\n2\n");
    let other = rollout(&scenario(), &Cpu::new(), &resume, &|_| true);
    assert!(matches!(other, Err(RolloutError::Different { what: "maps", .. })), "{other:?}");
    let told = other.unwrap_err().to_string();
    assert!(told.contains("(table.file = contacts.csv, whose content has changed)"), "{told}");
}

/// A directory that somebody has made for it may be used; it is seen at once whether it can be replaced.
#[test]
fn an_empty_directory_is_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let (made, none) = (dir.path().join("made"), dir.path().join("none"));
    fs::create_dir(&made).unwrap();
    for out in [&made, &none] {
        rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
    }
    assert_eq!(content(&made), content(&none));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside them");
}

/// An unfinished run without a complete contact is replaced by the next.
#[test]
fn an_unfinished_run_without_a_contact_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let stopped = rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| false).unwrap_err();
    assert!(matches!(stopped, RolloutError::Engine(EngineError::Stopped)));
    assert!(partial(&out).exists() && left(&out) == Left::Nothing);
    rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
    assert!(!partial(&out).exists() && out.join("run.json").exists());
}

/// A directory that is no run is left as it is, and refused before anything is computed.
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
    // A file with the name of a record does not make it one.
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
    rollout(&scenario(), &Cpu::new(), &force(&run), &|_| true).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("run.old/data.txt")).unwrap(), "mine");
}

fn resume(out: &Path) -> Options {
    Options { resume: true, ..options(out.to_owned()) }
}

/// The names of a run's files and a number that tells others from their bytes; of its record what does not
/// change from one time to the next.
fn content(run: &Path) -> Vec<(String, u64)> {
    let mut files: Vec<_> = fs::read_dir(run).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut bytes = fs::read(&path).unwrap();
        if name == RECORD {
            let mut record: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            for key in ["wall_s", "contact_steps_per_s", "out"] {
                record["summary"][key].take();
            }
            record[check::DIGEST].take();
            bytes = record.to_string().into_bytes();
        }
        let mut hasher = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(&bytes, &mut hasher);
        (name, std::hash::Hasher::finish(&hasher))
    };
    files.into_iter().map(read).collect()
}

/// A job that was interrupted can repeat its command, however far it had got.
#[test]
fn resume_begins_continues_or_returns_a_complete_run() {
    let dir = tempfile::tempdir().unwrap();
    let (out, empty) = (dir.path().join("run"), dir.path().join("empty"));
    fs::create_dir(&empty).unwrap();
    for place in [&out, &empty] {
        let first = rollout(&scenario(), &Cpu::new(), &resume(place), &|_| true).unwrap();
        let was = content(place);
        let again = rollout(&scenario(), &Cpu::new(), &resume(place), &|_| panic!("computed something")).unwrap();
        assert_eq!(first, again);
        assert_eq!(was, content(place));
    }
    let other = Scenario::parse(&SLIDE.replace("0.2 }", "0.3 }"), ".".as_ref(), "slide.toml").unwrap();
    let refused = rollout(&other, &Cpu::new(), &resume(&out), &|_| panic!("computed something")).unwrap_err();
    assert!(matches!(refused, RolloutError::Different { what: "scenario", ref path, .. } if *path == out), "{refused}");
    assert!(refused.to_string().contains("(inputs.tilt.angle = 0.3, where it has 0.2)"), "{refused}");
}

/// Wherever the end of a run is cut off, the next one with `resume` finishes it and leaves nothing behind,
/// without computing anything.
#[test]
fn a_run_that_was_cut_off_at_its_end_is_tidied() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let beside = partial(&out);
    rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
    let whole = content(&out);
    let raw = |run: &Path, files: &[&str]| {
        fs::create_dir(run.join("spool")).unwrap();
        files.iter().for_each(|name| fs::write(run.join("spool").join(name), "raw").unwrap());
    };
    let old = |run: &Path| {
        fs::create_dir(run.join(REPLACED)).unwrap();
        fs::write(run.join(REPLACED).join(RECORD), "{ \"bristle\": 0 }").unwrap();
    };
    let lock = |run: &Path| fs::write(run.join(LOCK), "").unwrap();
    type Cut<'a> = &'a dyn Fn();
    let aside = || fs::rename(&out, &beside).unwrap();
    let cuts: [Cut<'_>; 8] = [
        // Before its place: with all raw files, with some, without, and when the old run has gone aside.
        &|| (aside(), raw(&beside, &["pose", "twist", "progress.json"]), lock(&beside)).0,
        &|| (aside(), raw(&beside, &["twist"]), lock(&beside)).0,
        &|| aside(),
        &|| (aside(), old(&beside)).0,
        // In its place, beside the old run, and as earlier versions left it.
        &|| old(&out),
        &|| fs::write(out.join("report.html.17.partial"), "<html>").unwrap(),
        &|| fs::write(out.join("report_slip.svg.17.partial"), "<svg").unwrap(),
        &|| (raw(&out, &["pose", "progress.json"]), lock(&out)).0,
    ];
    for (i, cut) in cuts.iter().enumerate() {
        cut();
        rollout(&scenario(), &Cpu::new(), &resume(&out), &|_| panic!("{i}: computed something")).unwrap();
        assert_eq!(content(&out), whole, "{i}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "{i}");
    }
    // Nor does it begin another one in its place.
    aside();
    let new = rollout(&scenario(), &Cpu::new(), &options(out.clone()), &|_| panic!("computed something"));
    assert!(matches!(new, Err(RolloutError::Unfinished(_))));
}

/// Stops a run of blocks of two contacts with six samples in its second block, when the first is on the disk:
/// another thread writes it, for as long as it takes.
fn stops_after_a_block(out: &Path) -> impl Fn(u64) -> bool {
    let told = AtomicU64::new(0);
    move |n| {
        if told.fetch_add(n, Ordering::Relaxed) + n <= 2 * 6 {
            return true;
        }
        while left(out) == Left::Nothing {
            std::thread::yield_now();
        }
        false
    }
}

/// A run that was cut off while it wrote its files or before it had said what it is goes on.
#[test]
fn files_that_are_written_in_part_do_not_count() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, out) = (dir.path().join("whole/run"), dir.path().join("run"));
    rollout(&scenario(), &Cpu::new(), &options(whole.clone()), &|_| true).unwrap();
    let begun = partial(&out);
    fs::create_dir_all(begun.join("spool")).unwrap();
    fs::write(begun.join(LOCK), "").unwrap();
    fs::write(begun.join("spool/pose"), "part").unwrap();
    fs::write(begun.join("spool/progress.json.next"), "{ ").unwrap();
    // Another one may begin there, too.
    check_place(&options(out.clone())).unwrap();
    let small = Options { block: Some(2), ..resume(&out) };
    let stopped = rollout(&scenario(), &Cpu::new(), &small, &stops_after_a_block(&out)).unwrap_err();
    assert!(matches!(stopped, RolloutError::Engine(EngineError::Stopped)), "{stopped}");
    for name in ["trajectories.npz", "contacts.npz", "scenario.toml", "run.json.begun"] {
        fs::write(begun.join(name), "part").unwrap();
    }
    rollout(&scenario(), &Cpu::new(), &small, &|_| true).unwrap();
    assert_eq!(content(&out), content(&whole));
    // What is there but cannot be read is not thrown away.
    let broken = dir.path().join("broken");
    fs::create_dir_all(partial(&broken).join("spool")).unwrap();
    fs::write(partial(&broken).join(spool::PROGRESS), "{ \"identity\"").unwrap();
    let refused = rollout(&scenario(), &Cpu::new(), &resume(&broken), &|_| true).unwrap_err();
    assert!(matches!(refused, RolloutError::NotARun(_)), "{refused}");
}

/// A shard whose contacts are complete but whose record was not written yet is an unfinished run like others.
#[test]
fn a_shard_that_was_interrupted_before_its_record_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("shard");
    let shard = Some(Shard { index: 2, of: 2 });
    let options = Options { shard, ..options(out.clone()) };
    rollout(&scenario(), &Cpu::new(), &options, &|_| true).unwrap();
    let sums = || {
        let text = fs::read_to_string(out.join(MANIFEST)).unwrap();
        text.lines().filter(|line| !line.ends_with("progress.json")).map(str::to_owned).collect::<Vec<_>>()
    };
    let whole = sums();
    fs::rename(&out, partial(&out)).unwrap();
    for name in [RECORD, MANIFEST] {
        fs::remove_file(partial(&out).join(name)).unwrap();
    }
    assert_eq!(left(&out), Left::Contacts(4));
    let refused = rollout(&scenario(), &Cpu::new(), &options, &|_| true).unwrap_err();
    assert!(matches!(refused, RolloutError::Unfinished(_)), "{refused}");
    let resume = Options { resume: true, ..options };
    rollout(&scenario(), &Cpu::new(), &resume, &|_| true).unwrap();
    assert_eq!(sums(), whole);
    assert!(whole.len() > 10 && verify(&out).unwrap().faults.is_empty());
}

/// Progress is reported for all samples of all contacts, also of those that fail and of those that an earlier
/// process has computed.
#[test]
fn progress_comes_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let told = AtomicU64::new(0);
    let count = |n| told.fetch_add(n, Ordering::Relaxed) < u64::MAX;
    let fails = SLIDE.replace("[0.1, 0, 1.0]", "[{ choice = [0.1, 1e9] }, 0, 1.0]");
    // In single precision a fast contact on the stiffest bristles has no finite friction.
    let fails = change(&fails, "friction.sigma0=1e15").unwrap();
    let fails = Scenario::parse(&fails, ".".as_ref(), "fails.toml").unwrap();
    let summary = rollout(&fails, &Cpu::single(), &options(dir.path().join("run")), &count).unwrap();
    assert!((1..7).contains(&summary.status.failed), "{:?}", summary.status);
    assert_eq!(told.swap(0, Ordering::Relaxed), 7 * 6);
    let small = Options { block: Some(2), ..options(dir.path().join("cut")) };
    rollout(&fails, &Cpu::single(), &small, &stops_after_a_block(&small.out)).unwrap_err();
    let Left::Contacts(kept @ (2 | 4 | 6)) = left(&small.out) else { panic!("{:?}", left(&small.out)) };
    rollout(&fails, &Cpu::single(), &Options { resume: true, ..small }, &count).unwrap();
    assert_eq!(told.into_inner(), (7 - kept) * 6);
}

/// A run on which a process works is neither replaced nor continued by another one.
#[test]
fn one_process_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let run = options(dir.path().join("run"));
    let partial = partial(&run.out);
    let refused = |other: &Options| {
        let refused = rollout(&scenario(), &Cpu::new(), other, &|_| panic!("computed something")).unwrap_err();
        assert!(matches!(refused, RolloutError::Running(ref path) if *path == partial), "{refused}");
    };
    let looked = std::sync::Once::new();
    let others = |_| {
        looked.call_once(|| {
            refused(&Options { force: true, ..run.clone() });
            refused(&Options { resume: true, ..run.clone() });
        });
        true
    };
    rollout(&scenario(), &Cpu::new(), &run, &others).unwrap();
    assert!(looked.is_completed());
    let left: Vec<_> = fs::read_dir(&run.out).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 6, "{left:?}");
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
        let motion = NetMotion::of(&contact, &out, 0);
        let [cx, cy] = contact.patch.cop();
        assert!((motion.displacement - slips * cx.hypot(cy)).abs() < 1e-12, "{at}: {motion:?}");
        assert!(
            (motion.rotation - 0.4).abs() < 1e-12 && motion.spun() && motion.slipped() == (slips > 0.0),
            "{at}: {motion:?}"
        );
    }
}

/// A box that a belt or a turntable carries along is stuck, in whatever axes its pose is; one that the belt
/// leaves behind has slipped by what the belt has moved.
#[test]
fn a_surface_that_carries_a_box_along_does_not_make_it_slip() {
    let belt = "vx = { points = [[0, 0], [0.2, 0.1]] }";
    let table = "w = 0.5, at = [0.02, 0.01]";
    let still = "initial = { twist = [0.005, -0.01, 0.5] }";
    for (kind, mu, surface, more, outcome) in [
        ("world", 0.8, belt, "", Outcome::Stuck),
        ("body", 0.8, belt, "", Outcome::Stuck),
        ("world", 0.8, table, still, Outcome::Stuck),
        ("body", 0.8, table, still, Outcome::Stuck),
        ("world", 1e-4, belt, "", Outcome::Slipped),
    ] {
        let text = format!(
            r#"
            duration = 0.5
            patch = {{ shape = "disc", cells = 7, size = 0.04 }}
            friction = {{ law = "elasto-plastic", mu_c = {mu}, mu_s_over_mu_c = 1.0, sigma1 = 0, sigma2 = 0 }}
            body = {{ kind = "{kind}", mass = 0.2, inertia = 1e-4 }}
            inputs = {{ normal_force = 1.962, surface = {{ {surface} }} }}
            {more}
            "#
        );
        let scenario = Scenario::parse(&text, ".".as_ref(), "belt.toml").unwrap();
        let contact = scenario.contact(0).unwrap();
        let out = Cpu::new().rollout(std::slice::from_ref(&contact), &scenario.plan(), &|_| true).unwrap();
        let motion = NetMotion::of(&contact, &out, 0);
        assert_eq!(motion.outcome(false), outcome, "{kind}, {surface}: {motion:?}");
        let last = out.pose[out.of(0).end - 1];
        if outcome == Outcome::Stuck {
            assert!(last.x.hypot(last.y) > 4e-3, "{kind}, {surface}: it does not move: {last:?}");
        } else {
            // 0.01 m while it accelerates, and 0.03 m after it.
            assert!((motion.displacement - 0.04).abs() < 2e-4, "{motion:?}");
        }
    }
}

/// Whether it is done in one go or stopped and begun again, a run that is extended has the files of all
/// contacts at once, and simulates those alone that it does not have.
#[test]
fn a_run_that_is_extended_is_that_of_all_contacts_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let of = |contacts: u64, seed: u64| {
        let text = SLIDE.replace("contacts = 7", &format!("contacts = {contacts}\nseed = {seed}"));
        Scenario::parse(&text, ".".as_ref(), "slide.toml").unwrap()
    };
    let whole = dir.path().join("whole");
    rollout(&of(17, 1), &Cpu::new(), &options(whole.clone()), &|_| true).unwrap();
    let extend = |out: &Path| Options { extend: true, block: Some(2), ..options(out.to_owned()) };
    let told = AtomicU64::new(0);
    for stops in [false, true] {
        let out = dir.path().join(format!("{stops}"));
        let nothing = rollout(&of(17, 1), &Cpu::new(), &extend(&out), &|_| true).unwrap_err().to_string();
        assert!(nothing.contains("where no finished run is"), "{nothing}");
        rollout(&of(7, 1), &Cpu::new(), &options(out.clone()), &|_| true).unwrap();
        assert_eq!(already(&of(17, 1), &extend(&out)), 7);
        if stops {
            // In the third block, when the first is written.
            let seen = AtomicU64::new(0);
            let stop = |n| seen.fetch_add(n, Ordering::Relaxed) + n <= 2 * 2 * 6;
            rollout(&of(17, 1), &Cpu::new(), &extend(&out), &stop).unwrap_err();
            assert!(already(&of(17, 1), &extend(&out)) >= 9 && out.join("run.json").is_file());
        }
        told.store(0, Ordering::Relaxed);
        let count = |n| told.fetch_add(n, Ordering::Relaxed) < u64::MAX;
        let summary = rollout(&of(17, 1), &Cpu::new(), &extend(&out), &count).unwrap();
        assert_eq!(summary.contacts, 17);
        let simulated = told.load(Ordering::Relaxed) / 6;
        assert!(if stops { simulated <= 8 } else { simulated == 10 }, "{simulated}");
        assert_eq!(content(&out), content(&whole));
        assert!(!partial(&out).exists());
        // Again there is nothing to do.
        assert_eq!(rollout(&of(17, 1), &Cpu::new(), &extend(&out), &|_| false).unwrap(), summary);
        let fewer = rollout(&of(16, 1), &Cpu::new(), &extend(&out), &|_| true).unwrap_err().to_string();
        assert!(fewer.contains("contacts = 16") && fewer.contains("at least 17"), "{fewer}");
        let other = rollout(&of(20, 2), &Cpu::new(), &extend(&out), &|_| true).unwrap_err();
        assert!(matches!(other, RolloutError::Different { what: "scenario", .. }), "{other}");
        let single = rollout(&of(20, 1), &Cpu::single(), &extend(&out), &|_| true).unwrap_err();
        assert!(matches!(single, RolloutError::Different { what: "precision", .. }), "{single}");
        assert_eq!(content(&out), content(&whole));
    }
}
