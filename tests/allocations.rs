//! A controller's loop allocates no memory: set, advance and read, call after call.
#![expect(unsafe_code, reason = "an allocator that counts")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bristle::batch::Input;
use bristle::contact::{Contact, Form, Inputs, Model, PatchInputs};
use bristle::engine::{Engine, Stepping};
use bristle::friction::Friction;
use bristle::limit_surface::{Rule, Table};
use bristle::patch::{Patch, Placed, Shape};
use bristle::planar::Pose;
use bristle::schedule::Signal;
use bristle::{Cpu, DEFAULT_STEP, MovingSurface};
use common::{in_hand, shape};

/// The system's allocator, which counts.
struct Counting;

static TAKEN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread's allocations count: those of the test, which steps one contact by itself, not
    /// those of the program that runs it and tells after a minute that it is slow.
    static COUNTS: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: all that it does is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTS.get() {
            TAKEN.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_call_for_one_contact_allocates_nothing() {
    COUNTS.set(true);
    drop(std::hint::black_box(vec![1.0]));
    assert_eq!(TAKEN.swap(0, Ordering::Relaxed), 1, "nothing is counted");
    let patch = shape(21, 0.02, Shape::Circle);
    let grid = in_hand(&patch, Friction::default(), [0.01, -0.02, 0.0], Signal::constant(2.0));
    let small = Contact { patch: shape(5, 0.02, Shape::Circle), ..grid.clone() };
    let table = Arc::new(Table::new(&patch, Rule::Cells, 8).unwrap());
    let reduced = Contact { model: Model::LimitSurface(table, Form::Consistent), ..grid.clone() };
    // Two fingers, each with a force of its own, the second on a belt.
    let placed =
        |x: f64| Placed { patch: Patch::clone(&small.patch), at: Pose::new(x, 0.0, x), force: 1.0, friction: 1.0 };
    let own = |surface| PatchInputs { normal_force: Some(Signal::constant(1.0)), surface };
    let patches = vec![own(None), own(Some(MovingSurface::new([0.01, 0.0, 0.0])))];
    let mut fingers =
        Contact { patch: Patch::compound(&[placed(-0.02), placed(0.02)]).unwrap().into(), ..grid.clone() };
    fingers.inputs = Inputs { patches, ..fingers.inputs };
    for engine in [Cpu::reference(), Cpu::new(), Cpu::single()] {
        for stepping in [Stepping::fixed(DEFAULT_STEP), Stepping::adaptive(3e-6)] {
            for (contact, input) in [
                (&grid, Input::NormalForce),
                (&small, Input::NormalForce),
                (&reduced, Input::NormalForce),
                (&fingers, Input::PatchNormalForce(0)),
            ] {
                let mut batch = engine.batch(vec![contact.clone()], stepping).unwrap();
                let mut snapshot = batch.save().unwrap();
                let mut turn = |k: usize| {
                    let force = 1.0 + 0.5 * (k as f64).sin();
                    if k.is_multiple_of(3) {
                        batch.ramp(0, input, force, 1e-3).unwrap();
                    } else {
                        batch.set_each(input, &[force]).unwrap();
                    }
                    batch.advance(2e-3).unwrap();
                    assert!(batch.samples().unwrap()[0].pose.y.is_finite());
                    assert!(batch.statuses().unwrap()[0].failure.is_none());
                };
                (0..10).for_each(&mut turn);
                let before = TAKEN.load(Ordering::Relaxed);
                (10..200).for_each(&mut turn);
                let taken = TAKEN.load(Ordering::Relaxed) - before;
                assert_eq!(taken, 0, "{engine:?} {stepping:?}: memory was taken {taken} times");
                batch.save_into(&mut snapshot).unwrap();
            }
            let mut framed = grid.clone();
            framed.patch = Arc::new((*framed.patch).clone().with_frames());
            let mut batch = engine.batch(vec![framed], stepping).unwrap();
            let mut frame = vec![1.0; 441];
            let mut turn = |k: usize| {
                frame[k % 441] = k as f64;
                batch.set_frame(0, &frame).unwrap();
                batch.advance(2e-3).unwrap();
                batch.request_samples().unwrap();
                assert!(batch.requested_samples().unwrap()[0].pose.y.is_finite());
            };
            (0..10).for_each(&mut turn);
            let before = TAKEN.load(Ordering::Relaxed);
            (10..100).for_each(&mut turn);
            let taken = TAKEN.load(Ordering::Relaxed) - before;
            assert_eq!(taken, 0, "{engine:?} {stepping:?}: frames took memory {taken} times");
        }
    }
}
