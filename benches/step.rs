//! Contact-steps per second of both engines over grid size and batch size.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bristle::body::{Body, Kind};
use bristle::contact::{Contact, Initial, Inputs};
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::gpu::{Choice, Gpu};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::Pose;
use bristle::schedule::{Signal, Sine};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Simulated time of one measurement [s]: 50 steps.
const DURATION: f64 = 0.01;

/// In-hand sliding under a pulsing grip (the paper's case 2), the same for every contact.
fn batch(n: usize, contacts: usize, law: Law) -> Vec<Contact> {
    let grid = Grid::new(n, n, 0.02, 0.02).expect("a valid grid");
    let pulse = Sine { amplitude: 0.91, omega: 4.0 * std::f64::consts::PI, phase: 4.0 };
    let contact = Contact {
        patch: Arc::new(Patch::shape(grid, Shape::Square).expect("a valid shape")),
        friction: Friction { law, ..Friction::default() },
        body: Body { kind: Kind::Gripper, mass: 0.2, inertia: 4.8e-4, pads: 2, offset: [0.0; 2] },
        inputs: Inputs {
            normal_force: Signal::sines(1.73, vec![pulse]),
            gravity: [Signal::constant(0.0), Signal::constant(-9.81)],
            ..Inputs::default()
        },
        initial: Initial { pose: Pose::new(0.002, 0.0, 0.0), ..Initial::default() },
    };
    vec![contact; contacts]
}

fn step(c: &mut Criterion) {
    let mut engines: Vec<(&str, Box<dyn Engine>)> = vec![("cpu", Box::new(Cpu::new()))];
    match Gpu::new(Choice::Any) {
        Ok(gpu) => engines.push(("gpu", Box::new(gpu))),
        Err(error) => println!("no GPU in this run: {error}"),
    }
    let plan = Plan::new(DURATION, 2e-4, DURATION).expect("a valid plan");
    let steps = (DURATION / plan.step).round();
    let mut group = c.benchmark_group("step");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    for (engine_name, engine) in &engines {
        for law in [Law::ElastoPlastic, Law::LuGre] {
            for (n, contacts) in [(5, 64), (11, 64), (21, 1), (21, 64), (21, 512), (33, 64), (64, 64)] {
                let contacts_in = batch(n, contacts, law);
                group.throughput(Throughput::Elements(contacts as u64 * steps as u64));
                let id = BenchmarkId::new(format!("{engine_name}/{law:?}"), format!("{n}x{n}, {contacts} contacts"));
                group.bench_with_input(id, &contacts_in, |b, contacts| {
                    b.iter(|| engine.rollout(black_box(contacts), &plan, &|_| true).expect("a valid batch"));
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);
