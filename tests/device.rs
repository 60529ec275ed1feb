//! Batches and their device: reads without waiting, several batches on one device, a device that is lost or
//! has no memory.
#![cfg(feature = "gpu")]

mod common;

use std::sync::Arc;

use bristle::batch::{Batch, Input, Sample, Snapshot};
use bristle::contact::{Contact, Form, Initial, Model};
use bristle::engine::{Engine, Plan, Stepping};
use bristle::error::{DeviceError, EngineError};
use bristle::friction::Friction;
use bristle::gpu::{Choice, Gpu};
use bristle::limit_surface::{Rule, Table};
use bristle::patch::{Grid, Patch, Shape};
use bristle::schedule::{Segment, Signal, Sine};
use bristle::{Cpu, DEFAULT_STEP, Twist};
use common::{in_hand, prescribed, shape};

/// One call of a controller [s].
const CALL: f64 = 1.0 / 512.0;

fn engines() -> Vec<(&'static str, Box<dyn Engine>)> {
    vec![
        ("reference", Box::new(Cpu::reference())),
        ("f64", Box::new(Cpu::new())),
        ("f32", Box::new(Cpu::single())),
        ("gpu", Box::new(gpu())),
    ]
}

fn gpu() -> Gpu {
    Gpu::new(Choice::Any).unwrap()
}

/// A grid that takes frames, one in the lanes of a vector, a reduced bristle, and a prescribed motion.
fn contacts() -> Vec<Contact> {
    let (large, small) = (shape(15, 0.02, Shape::Circle), shape(5, 0.02, Shape::Disc));
    let framed = Patch::shape(Grid::new(9, 9, 0.02, 0.02).unwrap(), Shape::Circle).unwrap().with_frames();
    let table = Arc::new(Table::new(&large, Rule::Cells, 8).unwrap());
    let held = |patch: &Arc<Patch>, model| {
        let grip = Signal::linear(&[(0.0, 2.0), (0.05, 0.8)]).unwrap();
        Contact { model, ..in_hand(patch, Friction::default(), [0.01, -0.02, 0.3], grip) }
    };
    vec![
        held(&Arc::new(framed), Model::Distributed),
        held(&small, Model::Distributed),
        held(&large, Model::LimitSurface(table, Form::Consistent)),
        prescribed(&large, Friction::default(), [0.01, 0.0, 1.0], 1.0),
    ]
}

/// A frame of the first contact.
fn frame(k: usize) -> Vec<f64> {
    (0..81).map(|i| ((5 * i + 3 * k + i / 9) % 7) as f64).collect()
}

fn bits(samples: &[Sample]) -> Vec<u64> {
    let one = |s: &Sample| {
        let threes = [s.pose.to_array(), s.twist.to_array(), s.wrench.to_array()];
        threes
            .as_flattened()
            .iter()
            .chain(&[s.normal_force, s.slip, s.near_limit])
            .map(|v| v.to_bits())
            .collect::<Vec<_>>()
    };
    samples.iter().flat_map(one).collect()
}

fn present(batch: &mut Batch) -> Vec<u64> {
    bits(batch.samples().unwrap())
}

/// What may be called between a request and its samples.
fn disturb(batch: &mut Batch, k: usize, start: &Snapshot) {
    match k {
        0 => batch.advance(CALL).unwrap(),
        1 => batch.advance_some(&[1, 3], CALL).unwrap(),
        2 => batch.set_each(Input::NormalForce, &[0.5; 4]).unwrap(),
        3 => batch.reset(&[0, 2]).unwrap(),
        4 => batch.set_frame(0, &frame(5)).unwrap(),
        5 => batch.copy(0, &[0]).unwrap(),
        6 => batch.restore(start).unwrap(),
        7 => {
            let initial = Initial { pose: [0.1, 0.2, 0.3].into(), ..Initial::default() };
            batch.reset_to(1, initial, Twist::new(0.5, 0.0, 1.0)).unwrap();
        }
        8 => assert_eq!(batch.samples().unwrap().len(), 4),
        9 => assert_eq!(batch.statuses().unwrap().len(), 4),
        10 => assert!(!batch.bristles(0).unwrap().is_empty()),
        11 => assert!(batch.respond(0, Twist::new(0.01, 0.0, 0.0), CALL).is_ok()),
        _ => assert_eq!(batch.save().unwrap().len(), 4),
    }
}

/// Kinds of [`disturb`].
const DISTURBANCES: usize = 13;

#[test]
fn samples_asked_for_are_those_of_the_moment_whatever_is_called_meanwhile() {
    for (name, engine) in engines() {
        let mut batch = engine.batch(contacts(), Stepping::default()).unwrap();
        let mut waiting = engine.batch(contacts(), Stepping::default()).unwrap();
        let start = batch.save().unwrap();
        for first in 0..DISTURBANCES {
            for second in [0, first, 12] {
                let calls = [first, second];
                // At the state after a call; and at one that is set by the host, on which no call has
                // followed.
                if (first + second).is_multiple_of(2) {
                    batch.advance(CALL).unwrap();
                    waiting.advance(CALL).unwrap();
                }
                let expected = present(&mut waiting);
                batch.request_samples().unwrap();
                for k in calls {
                    disturb(&mut batch, k, &start);
                    disturb(&mut waiting, k, &start);
                }
                if first.is_multiple_of(3) {
                    while batch.poll_samples().unwrap().is_none() {}
                }
                let found = bits(batch.requested_samples().unwrap());
                assert_eq!(found, expected, "{name}, {calls:?}");
                assert_eq!(bits(batch.requested_samples().unwrap()), expected, "{name}: they stay");
            }
        }
        // Asking leaves no trace.
        for batch in [&mut batch, &mut waiting] {
            batch.advance(CALL).unwrap();
        }
        assert_eq!(present(&mut batch), present(&mut waiting), "{name}");
    }
}

/// Now and then, or after each call: an engine may prepare for reads that it expects, but that must not be
/// seen.
#[test]
fn what_is_read_now_and_then_are_the_samples_of_a_rollout_at_these_times() {
    // A quadratic with a sinusoid, anew in each call.
    let piece = |k: usize| {
        let sine = Sine { amplitude: 0.4, omega: 300.0 + k as f64, phase: 0.2 * k as f64 };
        Segment { from: k as f64 * CALL, c: [1.5, 3.0 * (k % 3) as f64, 200.0], sines: vec![sine] }
    };
    let grip = Signal::segments((0..12).map(piece).collect()).unwrap();
    let reads = [0, 1, 2, 5, 6, 7, 11, 12];
    for (name, engine) in engines() {
        for stepping in [Stepping::default(), Stepping::adaptive(3e-6)] {
            let mut own = contacts();
            own.iter_mut().for_each(|c| c.inputs.normal_force = grip.clone());
            let samples = reads.map(|k| f64::from(k) * CALL).to_vec();
            let plan = Plan { samples, step: stepping.step, tolerance: stepping.tolerance, ..plan_of_a_call() };
            let whole = engine.run(&own, &plan).unwrap();
            let mut batch = engine.batch(own, stepping).unwrap();
            let mut frame = 0;
            for call in 0..=12 {
                if reads.contains(&call) {
                    for (k, found) in batch.samples().unwrap().iter().enumerate() {
                        let at = k * reads.len() + frame;
                        let [pose, twist] = [whole.pose[at].into(), whole.twist[at].into()];
                        let wanted: [[f64; 3]; 3] = [pose, twist, whole.wrench[at].into()];
                        let found_here: [[f64; 3]; 3] = [found.pose.into(), found.twist.into(), found.wrench.into()];
                        assert_eq!(found_here, wanted, "{name}, {stepping:?}, call {call}, contact {k}");
                        assert_eq!(found.normal_force, whole.normal_force[at], "{name}, call {call}, contact {k}");
                        let shares = [whole.slip[at], whole.near_limit[at]];
                        assert_eq!([found.slip, found.near_limit], shares, "{name}, call {call}, contact {k}");
                    }
                    frame += 1;
                }
                batch.advance(CALL).unwrap();
            }
        }
    }
}

fn plan_of_a_call() -> Plan {
    Plan::new(CALL, DEFAULT_STEP, CALL).unwrap()
}

#[test]
fn what_was_not_asked_for_is_not_there_and_the_last_request_counts() {
    for (name, engine) in engines() {
        let mut batch = engine.batch(contacts(), Stepping::default()).unwrap();
        let asked = |batch: &mut Batch| match batch.requested_samples() {
            Err(EngineError::Argument(e)) => assert_eq!(e.field, "samples", "{name}"),
            other => panic!("{name}: {other:?}"),
        };
        asked(&mut batch);
        assert!(batch.poll_samples().is_err(), "{name}");
        batch.request_samples().unwrap();
        batch.advance(CALL).unwrap();
        batch.request_samples().unwrap();
        batch.advance(CALL).unwrap();
        let mut other = engine.batch(contacts(), Stepping::default()).unwrap();
        other.advance(CALL).unwrap();
        assert_eq!(bits(batch.requested_samples().unwrap()), present(&mut other), "{name}");
        // Of a contact that has failed there is none.
        let few = Stepping { most_steps: Some(20), ..Stepping::default() };
        let mut batch = engine.batch(contacts(), few).unwrap();
        batch.advance_some(&[1], 0.1).unwrap();
        batch.request_samples().unwrap();
        batch.reset(&[1]).unwrap();
        batch.advance(CALL).unwrap();
        let isnan: Vec<bool> = batch.requested_samples().unwrap().iter().map(|s| s.pose.x.is_nan()).collect();
        assert_eq!(isnan, [false, true, false, false], "{name}");
        assert!(batch.samples().unwrap()[1].pose.x.is_finite(), "{name}");
    }
}

/// A call on a batch that may fail.
type Call = fn(&mut Batch, &Snapshot) -> Result<(), EngineError>;

/// All of them.
const CALLS: [(&str, Call); 20] = [
    ("advance", |batch, _| batch.advance(CALL)),
    ("advance_some", |batch, _| batch.advance_some(&[1], CALL)),
    ("set", |batch, _| batch.set(0, Input::NormalForce, 1.0)),
    ("set_each", |batch, _| batch.set_each(Input::NormalForce, &[1.0; 2])),
    ("ramp", |batch, _| batch.ramp(0, Input::NormalForce, 1.0, CALL)),
    ("follow", |batch, _| batch.follow(0, Input::NormalForce, Signal::constant(1.0))),
    ("set_frame", |batch, _| batch.set_frame(0, &frame(1))),
    ("samples", |batch, _| batch.samples().map(|_| ())),
    ("request_samples", |batch, _| batch.request_samples()),
    ("poll_samples", |batch, _| batch.poll_samples().map(|_| ())),
    ("requested_samples", |batch, _| batch.requested_samples().map(|_| ())),
    ("statuses", |batch, _| batch.statuses().map(|_| ())),
    ("bristles", |batch, _| batch.bristles(0).map(|_| ())),
    ("respond", |batch, _| batch.respond(0, Twist::default(), CALL).map(|_| ())),
    ("reset", |batch, _| batch.reset(&[0])),
    ("reset_to", |batch, _| batch.reset_to(0, Initial::default(), Twist::default())),
    ("copy", |batch, _| batch.copy(0, &[0])),
    ("save", |batch, _| batch.save().map(|_| ())),
    ("save_into", |batch, _| batch.save_into(&mut Snapshot::default())),
    ("restore", |batch, snapshot| batch.restore(snapshot)),
];

/// Two of the contacts, to be started anew often.
fn two() -> Vec<Contact> {
    let mut all = contacts();
    vec![all.swap_remove(0), all.swap_remove(2)]
}

fn lost(result: Result<(), EngineError>) -> Option<DeviceError> {
    match result {
        Err(EngineError::Device(e @ DeviceError::Lost { .. })) => Some(e),
        Err(other) => panic!("{other:?}"),
        Ok(()) => None,
    }
}

/// The device is lost while it computes, and each of the calls is the first after that.
#[test]
fn whatever_is_called_first_a_lost_device_is_an_error_and_the_batch_says_so_from_then_on() {
    for (name, first) in CALLS {
        let engine = gpu();
        let [mut batch, mut beside] = [(); 2].map(|()| engine.batch(two(), Stepping::default()).unwrap());
        batch.advance(3.0 * CALL).unwrap();
        let snapshot = batch.save().unwrap();
        batch.request_samples().unwrap();
        batch.advance(CALL).unwrap();
        engine.lose();
        // Calls that only note an input need not notice, nor one that starts the device and does not wait for
        // it.
        let noticed = (0..2).find_map(|_| lost(first(&mut batch, &snapshot)));
        let error = noticed.or_else(|| lost(batch.samples().map(|_| ()))).expect("a read asks the device");
        for (then, call) in CALLS {
            assert_eq!(lost(call(&mut batch, &snapshot)), Some(error.clone()), "{name}, then {then}");
            // The other batch of the device, which had nothing to do.
            assert_eq!(lost(call(&mut beside, &snapshot)), Some(error.clone()), "{name}, beside {then}");
        }
        assert!(error.to_string().contains("lost"), "{error}");
        assert_eq!(batch.len(), 2, "what the host knows can be asked");
    }
}

#[test]
fn an_engine_whose_device_is_lost_refuses_all_and_a_snapshot_goes_on_on_another() {
    let engine = gpu();
    let mut batch = engine.batch(contacts(), Stepping::default()).unwrap();
    batch.advance(3.0 * CALL).unwrap();
    batch.set_frame(0, &frame(2)).unwrap();
    batch.advance(3.0 * CALL).unwrap();
    let snapshot = batch.save().unwrap();
    let bytes = snapshot.to_bytes().unwrap();
    batch.advance(4.0 * CALL).unwrap();
    let expected = present(&mut batch);
    engine.lose();
    let plan = plan_of_a_call();
    let patch = (*contacts()[1].patch).clone();
    let twists = [Twist::new(1.0, 0.0, 0.0)];
    assert!(lost(engine.run(&contacts(), &plan).map(|_| ())).is_some());
    assert!(lost(engine.run(&contacts(), &plan).map(|_| ())).is_some());
    assert!(lost(engine.batch(contacts(), Stepping::default()).map(|_| ())).is_some());
    assert!(lost(engine.tables(std::slice::from_ref(&patch), Rule::Cells, 4).map(|_| ())).is_some());
    assert!(lost(engine.coulomb(&[patch], Rule::Cells, &twists).map(|_| ())).is_some());
    assert!(lost(batch.advance(CALL)).is_some());
    let another = gpu();
    for snapshot in [snapshot, Snapshot::from_bytes(&bytes).unwrap()] {
        let mut next = another.batch(contacts(), Stepping::default()).unwrap();
        next.restore(&snapshot).unwrap();
        next.advance(4.0 * CALL).unwrap();
        assert_eq!(present(&mut next), expected);
    }
    // Those who have no other device go on on the CPU.
    let mut cpu = Cpu::single().batch(contacts(), Stepping::default()).unwrap();
    cpu.restore(&snapshot_of(&bytes)).unwrap();
    cpu.advance(4.0 * CALL).unwrap();
    assert!(cpu.samples().unwrap().iter().all(|s| s.pose.x.is_finite()));
}

fn snapshot_of(bytes: &[u8]) -> Snapshot {
    Snapshot::from_bytes(bytes).unwrap()
}

fn is_full(result: Result<(), EngineError>) -> bool {
    match result {
        Err(EngineError::Device(e @ DeviceError::OutOfMemory { .. })) => e.to_string().contains("memory"),
        Err(other) => panic!("{other:?}"),
        Ok(()) => false,
    }
}

#[test]
fn what_finds_no_memory_is_refused_and_what_fits_goes_on() {
    let plan = plan_of_a_call();
    let engine = gpu().with_memory_of(2 << 20);
    let many = vec![contacts().swap_remove(3); 1200];
    let patch = (*contacts()[1].patch).clone();
    let mut beside = engine.batch(two(), Stepping::default()).unwrap();
    for _ in 0..2 {
        assert!(is_full(engine.batch(many.clone(), Stepping::default()).map(|_| ())));
        assert!(is_full(engine.run(&many, &plan).map(|_| ())));
        assert!(is_full(engine.tables(&vec![patch.clone(); 6000], Rule::Cells, 8).map(|_| ())));
        beside.advance(CALL).unwrap();
        assert!(beside.samples().unwrap()[0].pose.x.is_finite());
    }
    // What was refused has left no memory behind.
    drop(beside);
    assert!(engine.batch(many[..200].to_vec(), Stepping::default()).is_ok());
}

/// Inputs of one call that are too many for the memory that is left.
#[test]
fn a_batch_that_runs_out_of_memory_says_so_from_then_on() {
    let engine = gpu().with_memory_of(1 << 20);
    let mut batch = engine.batch(two(), Stepping::default()).unwrap();
    let mut beside = engine.batch(two(), Stepping::default()).unwrap();
    batch.advance(CALL).unwrap();
    let snapshot = batch.save().unwrap();
    let points: Vec<(f64, f64)> = (0..10_000).map(|k| (f64::from(k) * 1e-4, 1.0 + f64::from(k % 2))).collect();
    batch.follow(0, Input::NormalForce, Signal::linear(&points).unwrap()).unwrap();
    let said = batch.advance(0.9).unwrap_err().to_string();
    for (name, call) in CALLS {
        let result = call(&mut batch, &snapshot);
        assert_eq!(result.as_ref().unwrap_err().to_string(), said, "{name}");
        assert!(is_full(result), "{name}");
    }
    // The others go on, and the contacts from their snapshot.
    beside.advance(CALL).unwrap();
    let expected = present(&mut beside);
    drop(batch);
    let mut next = engine.batch(two(), Stepping::default()).unwrap();
    next.restore(&snapshot).unwrap();
    assert_eq!(present(&mut next), expected);
}

/// Batches of one device, called in turns and from several threads.
#[test]
fn batches_that_share_a_device_do_not_feel_each_other() {
    let history = |batch: &mut Batch, force: f64, between: &mut dyn FnMut()| {
        let mut all = Vec::new();
        for k in 0..6 {
            batch.set(1, Input::NormalForce, force + 0.1 * k as f64).unwrap();
            batch.set_frame(0, &frame(k)).unwrap();
            batch.advance(CALL).unwrap();
            between();
            batch.request_samples().unwrap();
            batch.advance(0.5 * CALL).unwrap();
            between();
            all.extend(bits(batch.requested_samples().unwrap()));
        }
        all
    };
    let alone = [0.9, 1.3, 2.0]
        .map(|force| history(&mut gpu().batch(contacts(), Stepping::default()).unwrap(), force, &mut || {}));
    let engine = gpu();
    let start = || engine.batch(contacts(), Stepping::default()).unwrap();
    let (mut one, mut other) = (start(), start());
    let mut steps = 0;
    let found = history(&mut one, 0.9, &mut || {
        // A rollout and another batch in between.
        other.advance([1.0, 0.3][steps % 2] * CALL).unwrap();
        if steps % 4 == 0 {
            engine.run(&contacts(), &plan_of_a_call()).unwrap();
        }
        steps += 1;
    });
    assert_eq!(found, alone[0]);
    std::thread::scope(|scope| {
        let runs = [0.9, 1.3, 2.0].map(|force| scope.spawn(move || history(&mut start(), force, &mut || {})));
        for (run, alone) in runs.into_iter().zip(&alone) {
            assert_eq!(&run.join().unwrap(), alone);
        }
    });
}
