//! The memory of large runs, on the device and in the program. Allocations are counted, so that the result
//! does not depend on the machine.
#![cfg(feature = "gpu")]
#![expect(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bristle::Cpu;
use bristle::batch::Input;
use bristle::contact::Contact;
use bristle::engine::{Engine, Plan, Stepping};
use bristle::friction::Law;
use bristle::gpu::{Choice, Gpu};
use bristle::patch::{Grid, Patch, Shape};
use bristle_bench::in_hand;
use bristle_data::rollout::{Options, needs, rollout};
use bristle_scenario::Scenario;

/// Bytes that the program has, and the most that it had.
static LIVE: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(0);

/// Held by the test that is running, as these are counted for all threads.
static ALONE: Mutex<()> = Mutex::new(());

/// The system's allocator, which counts.
struct Counting;

// SAFETY: all that it does is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size() as u64;
        MOST.fetch_max(LIVE.fetch_add(size, Ordering::Relaxed) + size, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let [old, new] = [layout.size() as u64, size as u64];
        MOST.fetch_max(LIVE.fetch_add(new, Ordering::Relaxed) + new - old, Ordering::Relaxed);
        LIVE.fetch_sub(old, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// 32768 contacts with a bristle in every one of 21 x 21 cells.
#[test]
fn large_batch_stays_below_200_mb_on_the_device() {
    let _alone = ALONE.lock();
    let gpu = Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}"));
    let square = Arc::new(Patch::shape(Grid::new(21, 21, 0.02, 0.02).unwrap(), Shape::Square).unwrap());
    let contacts: Vec<Contact> = in_hand(21, Law::LuGre, 32_768)
        .unwrap()
        .into_iter()
        .map(|c| Contact { patch: Arc::clone(&square), ..c })
        .collect();
    let most = [const { AtomicU64::new(0) }; 2];
    let look = |_: u64| {
        let now = gpu.memory().expect("Vulkan and DX12 count their memory");
        most.iter().zip(now).for_each(|(most, now)| {
            most.fetch_max(now, Ordering::Relaxed);
        });
        true
    };
    // The number of steps does not matter to the memory; on a software driver it does to the time.
    let out = gpu.rollout(&contacts, &Plan::new(2e-4, 2e-4, 2e-4).unwrap(), &look).unwrap();
    assert!(out.pose.iter().all(|q| q.to_array().iter().all(|v| v.is_finite())));
    let [used, taken] = most.map(AtomicU64::into_inner);
    println!("{used} bytes in use, {taken} taken from the device");
    assert!(used > 50_000_000, "{used} bytes: the bristles alone are 58 MB in each of two parts");
    assert!(used <= taken && taken < 200_000_000, "{used} bytes in use, {taken} taken from the device");
}

/// A run takes no more memory than was told before it began, however much it writes.
#[test]
fn a_run_is_written_in_the_memory_that_was_told() {
    let _alone = ALONE.lock();
    let dir = tempfile::tempdir().unwrap();
    let text = r#"
        contacts = 160
        duration = 0.5
        step = 2e-5
        record_every = 2e-5
        [patch]
        shape = "square"
        cells = 1
        [body]
        kind = "prescribed"
        [inputs]
        normal_force = 1.0
        twist = { vx = { uniform = [0.01, 0.1] } }
    "#;
    let scenario = Scenario::parse(text, dir.path(), "long").unwrap();
    let (engine, options) = (Cpu::new(), Options::new(dir.path().join("long")));
    let told = needs(&scenario, &engine, &options).unwrap().memory_bytes;
    let before = LIVE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    rollout(&scenario, &engine, &options, &|_| true).unwrap();
    let taken = MOST.load(Ordering::Relaxed) - before;
    let npz = options.out.join("trajectories.npz");
    let size = std::fs::metadata(&npz).unwrap().len();
    println!("{taken} bytes taken, {told} told, {size} written");
    assert!(taken <= told, "{taken} bytes taken, {told} told");
    assert!(size > 2 * told, "{size} bytes are no test of {told}");
    // The last sample of the last contact is where its twist took it.
    let last = |file: &Path, name: &str, items: u64| -> f64 {
        let mut zip = zip::ZipArchive::new(std::fs::File::open(file).unwrap()).unwrap();
        let npy = npyz::NpyFile::new(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap();
        let shape = npy.shape().to_vec();
        assert_eq!(shape.iter().product::<u64>() % items, 0);
        npy.data::<f64>().unwrap().map(Result::unwrap).nth((shape.iter().product::<u64>() - items) as usize).unwrap()
    };
    let x = last(&npz, "pose", 3);
    let vx = last(&options.out.join("contacts.npz"), "inputs.twist.vx", 1);
    assert!((x - 0.5 * vx).abs() < 1e-9, "x = {x}, vx = {vx}");
}

/// Batches that come and go leave nothing.
#[test]
fn a_batch_that_is_dropped_is_freed() {
    let _alone = ALONE.lock();
    let contacts = in_hand(21, Law::LuGre, 2).unwrap();
    for engine in [Cpu::new(), Cpu::single()] {
        let live_and_die = || {
            let mut batch = engine.batch(contacts.clone(), Stepping::default()).unwrap();
            batch.set(0, Input::NormalForce, 1.0).unwrap();
            batch.advance(1e-3).unwrap();
            let snapshot = batch.save().unwrap();
            batch.restore(&snapshot).unwrap();
            let held = LIVE.load(Ordering::Relaxed);
            drop((batch, snapshot));
            held - LIVE.load(Ordering::Relaxed)
        };
        for _ in 0..10 {
            live_and_die();
        }
        let before = LIVE.load(Ordering::Relaxed);
        let taken = (0..100).map(|_| live_and_die()).min().unwrap();
        let left = LIVE.load(Ordering::Relaxed).saturating_sub(before);
        println!("{engine:?}: {taken} bytes taken each time, {left} left after a hundred");
        assert!(left < taken, "{engine:?}: {left} bytes are left of a hundred times {taken}");
    }
}
