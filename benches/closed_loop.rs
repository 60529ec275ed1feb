//! Times batches in closed loop: the cost of a call beyond its passes, and of a snapshot.
//! `cargo bench -p bristle --bench closed_loop`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bristle::batch::{Batch, Input, Snapshot};
use bristle::contact::Contact;
use bristle::engine::{Engine, Plan, Stepping};
use bristle::friction::Law;
use bristle::gpu::{Choice, Gpu};
use bristle::schedule::Signal;
use bristle::{Cpu, DEFAULT_STEP};
use bristle_bench::{in_hand, reduced};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// A controller's interval [s].
const CALL: f64 = 2e-3;
/// Calls of a run.
const CALLS: usize = 20;

fn engines() -> Vec<(&'static str, usize, Box<dyn Engine>)> {
    let mut engines: Vec<(_, usize, Box<dyn Engine>)> =
        vec![("cpu f64", 4096, Box::new(Cpu::new())), ("cpu f32", 4096, Box::new(Cpu::single()))];
    if let Ok(gpu) = Gpu::new(Choice::Any) {
        engines.push(("gpu", 4096, Box::new(gpu)));
    }
    engines
}

/// The grips of all contacts in every call: those of the in-hand boxes, held for a call.
fn grips(contacts: &[Contact]) -> Vec<Vec<f64>> {
    let of_call = |k| contacts.iter().map(|c| c.inputs.normal_force.value(k as f64 * CALL)).collect();
    (0..CALLS).map(of_call).collect()
}

/// The same boxes whose grips are held for a call each.
fn held(n: usize) -> Vec<Contact> {
    let mut contacts = in_hand(21, Law::ElastoPlastic, n).expect("21 x 21 cells");
    for contact in &mut contacts {
        let points: Vec<(f64, f64)> =
            (0..CALLS).map(|k| (k as f64 * CALL, contact.inputs.normal_force.value(k as f64 * CALL))).collect();
        contact.inputs.normal_force = Signal::steps(&points).expect("times increase");
    }
    contacts
}

/// 4096 in-hand boxes in calls of 2 ms, the grip set at each, against the same rollout in one piece. Sampled
/// in turns, because a machine is not equally fast all the time.
fn loop_against_rollout(c: &mut Criterion) {
    let mut group = c.benchmark_group("loop");
    group.sample_size(10).warm_up_time(Duration::from_secs(1));
    for (name, n, engine) in engines() {
        let contacts = held(n);
        let plan = Plan::new(CALLS as f64 * CALL, DEFAULT_STEP, CALLS as f64 * CALL).expect("a valid plan");
        let mut batch = engine.batch(contacts.clone(), Stepping::default()).expect("valid contacts");
        let start = batch.save().expect("a snapshot");
        let grips = grips(&contacts);
        group.throughput(Throughput::Elements((n * CALLS) as u64));
        group.bench_function(BenchmarkId::new("rollout", name), |b| {
            b.iter(|| engine.run(&contacts, &plan).expect("runs"));
        });
        for reads in [false, true] {
            let what = if reads { "calls, each read" } else { "calls" };
            group.bench_function(BenchmarkId::new(what, name), |b| {
                b.iter_custom(|iterations| {
                    let mut took = Duration::ZERO;
                    for _ in 0..iterations {
                        batch.restore(&start).expect("its own snapshot");
                        batch.samples().expect("reads");
                        let begun = Instant::now();
                        for forces in &grips {
                            batch.set_each(Input::NormalForce, forces).expect("a force");
                            batch.advance(CALL).expect("advances");
                            if reads {
                                black_box(batch.samples().expect("reads"));
                            }
                        }
                        black_box(batch.samples().expect("reads"));
                        took += begun.elapsed();
                    }
                    took
                });
            });
        }
    }
    group.finish();
}

/// One contact, one call of 2 ms on the CPU, and the passes alone: a rollout of the same length, divided by
/// its calls.
fn one_call(c: &mut Criterion) {
    let mut group = c.benchmark_group("one call of 2 ms");
    let grid = held(1);
    let one_bristle = reduced(grid.clone()).expect("a table");
    for (name, contacts) in [("grid 21 x 21", grid), ("reduced", one_bristle)] {
        let mut batch = Cpu::new().batch(contacts.clone(), Stepping::default()).expect("valid contacts");
        let mut k = 0;
        group.bench_function(BenchmarkId::new("call", name), |b| b.iter(|| call(&mut batch, &mut k)));
        let plan = Plan::new(50.0 * CALL, DEFAULT_STEP, 50.0 * CALL).expect("a valid plan");
        group.bench_function(BenchmarkId::new("50 calls in one rollout", name), |b| {
            b.iter(|| Cpu::new().run(&contacts, &plan).expect("runs"));
        });
        // The slowest calls: criterion tells means.
        let mut times: Vec<Duration> = (0..100_000)
            .map(|_| {
                let start = Instant::now();
                call(&mut batch, &mut k);
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!("{name}: a call takes {:?} (median), {:?} (99 %)", times[50_000], times[99_000]);
    }
    group.finish();
}

fn call(batch: &mut Batch, k: &mut usize) {
    *k += 1;
    let force = if k.is_multiple_of(2) { 1.6 } else { 1.7 };
    batch.set(0, Input::NormalForce, force).expect("a force");
    batch.advance(CALL).expect("advances");
}

/// A snapshot of 4096 x 441 cells.
fn snapshot(c: &mut Criterion) {
    let mut group = c.benchmark_group("snapshot of 4096 x 441 cells");
    group.sample_size(20);
    for (name, n, engine) in engines() {
        let patch =
            bristle::Patch::shape(bristle::Grid::new(21, 21, 0.02, 0.02).expect("a grid"), bristle::Shape::Square);
        let patch = Arc::new(patch.expect("a square"));
        let contacts = held(n).into_iter().map(|c| Contact { patch: Arc::clone(&patch), ..c }).collect();
        let mut batch = engine.batch(contacts, Stepping::default()).expect("valid contacts");
        batch.advance(CALL).expect("advances");
        let mut into = Snapshot::default();
        group.bench_function(BenchmarkId::new("save", name), |b| b.iter(|| batch.save_into(&mut into).expect("saves")));
        group.bench_function(BenchmarkId::new("restore", name), |b| b.iter(|| batch.restore(&into).expect("restores")));
    }
    group.finish();
}

criterion_group!(benches, loop_against_rollout, one_call, snapshot);
criterion_main!(benches);
