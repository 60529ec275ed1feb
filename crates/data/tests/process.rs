//! Tests a forked process, which has none of its parent's threads, and a process without memory. Both states
//! are simulated, so that the tests do not depend on the machine.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use bristle::error::EngineError;
use bristle::{Cpu, Engine, Input, Rule, Snapshot, Surface, Table, Wrench, memory, pool};
use bristle_data::rollout::{Datasets, Merge, Options, merge, rollout, verify};
use bristle_rigid::cone::{Section, margins};
use bristle_scenario::Scenario;

/// The tests change what the whole process takes itself for.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Lets a test run alone, in a process that takes itself for a forked child. In a child the global pool of
/// rayon has no threads: what it is given is never done. Here its only thread is kept busy for ever, before
/// the first test, whichever that is.
fn alone() -> MutexGuard<'static, ()> {
    static FORKED: Once = Once::new();
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    FORKED.call_once(|| {
        rayon::ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
        rayon::spawn(|| {
            loop {
                std::thread::park();
            }
        });
        pool::pretend_forked();
    });
    guard
}

/// Contacts of two sizes, so that there are several groups.
const SCENARIO: &str = r#"
    contacts = 24
    duration = 0.02
    record_every = 0.01
    [patch]
    shape = { choice = ["disc", "square"] }
    cells = 7
    [body]
    kind = "gripper"
    mass = { uniform = [0.15, 0.25] }
    inertia = 1e-3
    [inputs]
    gravity = [0, -9.81]
    normal_force = 2
"#;

fn scenario() -> Scenario {
    Scenario::parse(SCENARIO, "".as_ref(), "scenario").unwrap()
}

/// Most of what the library does in parallel.
fn everything() {
    let scenario = scenario();
    scenario.check().unwrap();
    let contacts = scenario.block(0..24).unwrap();
    let plan = scenario.plan();
    for engine in [Cpu::new(), Cpu::single(), Cpu::reference()] {
        engine.run(&contacts, &plan).unwrap();
        let mut batch = engine.batch(contacts.clone(), plan.stepping()).unwrap();
        batch.set_each(Input::NormalForce, &[3.0; 24]).unwrap();
        // Long enough that other threads are woken.
        batch.advance(0.01).unwrap();
        batch.samples().unwrap();
        let saved = batch.save().unwrap();
        batch.record(&[0.011, 0.012], &|_| true).unwrap();
        batch.restore(&saved).unwrap();
    }
    let patches: Vec<_> = contacts.iter().map(|c| (*c.patch).clone()).collect();
    let surfaces = Surface::batch(&patches, Rule::Cells);
    let loads: Vec<Wrench> = (0..500).map(|k| Wrench::new(f64::from(k).cos(), f64::from(k).sin(), 1e-3)).collect();
    surfaces[0].margins(&loads, 0.5, 1.0).unwrap();
    assert_eq!(surfaces[0].coulombs(&[[0.1, 0.0, 1.0].into(); 100]).len(), 100);
    Table::batch(&patches[..2], Rule::Cells, 4).unwrap();
    margins(&Section::Circle, &[0.5], &[[0.1, 0.2, 1.0]; 100]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let datasets = Datasets {
        formats: ["npz", "zarr"].map(|name| name.parse().unwrap()).to_vec(),
        extras: ["tactile", "shear", "margin"].map(|name| name.parse().unwrap()).to_vec(),
    };
    let whole = Options { datasets: datasets.clone(), ..Options::new(dir.path().join("whole")) };
    rollout(&scenario, &Cpu::single(), &whole, &|_| true).unwrap();
    assert!(verify(&whole.out).unwrap().faults.is_empty());
    let shards = ["1/2", "2/2"].map(|shard| {
        let out = dir.path().join(shard.replace('/', " of "));
        let datasets = Datasets { extras: vec!["shear".parse().unwrap()], ..Datasets::default() };
        let options = Options { shard: Some(shard.parse().unwrap()), datasets, ..Options::new(&out) };
        rollout(&scenario, &Cpu::single(), &options, &|_| true).unwrap();
        out
    });
    let joined = Options { datasets, ..Options::new(dir.path().join("joined")) };
    merge(&Merge::open(&shards).unwrap(), &joined).unwrap();
}

#[test]
fn a_forked_child_computes_on_threads_of_its_own() {
    let _alone = alone();
    assert_eq!(pool::run(rayon::current_num_threads), pool::threads());
    let (send, done) = channel();
    let work = std::thread::spawn(move || {
        everything();
        send.send(()).unwrap();
    });
    match done.recv_timeout(Duration::from_secs(300)) {
        Ok(()) | Err(RecvTimeoutError::Disconnected) => work.join().unwrap(),
        Err(RecvTimeoutError::Timeout) => panic!("something waits for rayon's global pool"),
    }
}

#[test]
fn what_takes_more_memory_than_there_is_is_refused_with_both_numbers_and_changes_nothing() {
    let _alone = alone();
    let scenario = scenario();
    let contacts = scenario.block(0..24).unwrap();
    let mut batch = Cpu::new().batch(contacts.clone(), scenario.plan().stepping()).unwrap();
    batch.advance(1e-3).unwrap();
    let before = batch.samples().unwrap().to_vec();
    memory::pretend_free(Some(10_000));
    let made = Cpu::new().batch(contacts.clone(), scenario.plan().stepping()).map(drop);
    let many = bristle::batch::check_memory(&contacts[..4], 10_000_000, 1).map_err(EngineError::from);
    let recorded = batch.record(&[0.01, 0.02, 0.03, 0.04, 0.05, 0.06], &|_| true).map(drop);
    let mut snapshot = Snapshot::default();
    let saved = batch.save_into(&mut snapshot);
    memory::pretend_free(None);
    let refused = [(made, "a batch of 24 contacts"), (many, "a batch of 10000000 contacts"), (saved, "a snapshot")];
    for (result, what) in refused.into_iter().chain([(recorded, "24 contacts")]) {
        match result {
            Err(EngineError::Memory(e)) => {
                assert!(e.what.contains(what), "{e}");
                assert!(e.free == 10_000 && e.bytes > e.free, "{e}");
                assert!(e.to_string().contains(" and 10.00 kB are free: expected fewer"), "{e}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    assert_eq!(batch.samples().unwrap(), before);
    assert_eq!((batch.time(0), snapshot.len()), (1e-3, 0));
    batch.advance(1e-3).unwrap();
    // What ten million contacts take is about what they are measured to take.
    let each = bristle::batch::memory_of(&contacts[..4], 1, 1);
    assert!((4_000..50_000).contains(&each), "{each} bytes a contact");
}
