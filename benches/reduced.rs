//! Contact-steps per second of the reduced model on the CPU over batch size.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bristle::body::{Body, Kind};
use bristle::contact::{Contact, Form, Initial, Inputs, Model};
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan};
use bristle::friction::Friction;
use bristle::limit_surface::{DEFAULT_N_LS, Rule, Table};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::Pose;
use bristle::schedule::{Signal, Sine};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Simulated time of one measurement [s]: 500 steps.
const DURATION: f64 = 0.1;

/// In-hand sliding under a pulsing grip (the paper's case 2), the same for every contact.
fn batch(patch: &Arc<Patch>, model: &Model, contacts: usize) -> Vec<Contact> {
    let pulse = Sine { amplitude: 0.91, omega: 4.0 * std::f64::consts::PI, phase: 4.0 };
    let contact = Contact {
        patch: Arc::clone(patch),
        model: model.clone(),
        friction: Friction::default(),
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

fn reduced(c: &mut Criterion) {
    let grid = Grid::new(21, 21, 0.02, 0.02).expect("a valid grid");
    let patch = Arc::new(Patch::shape(grid, Shape::Circle).expect("a valid shape"));
    let table = Arc::new(Table::new(&patch, Rule::Cells, DEFAULT_N_LS).expect("a valid resolution"));
    let plan = Plan::new(DURATION, 2e-4, DURATION).expect("a valid plan");
    let steps = (DURATION / plan.step).round() as u64;
    let models = [
        ("limit surface, consistent", Model::LimitSurface(Arc::clone(&table), Form::Consistent)),
        ("limit surface, published", Model::LimitSurface(table, Form::Published)),
        ("ellipsoid, consistent", Model::Ellipsoid(Form::Consistent)),
        ("distributed", Model::Distributed),
    ];
    let mut group = c.benchmark_group("reduced");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    for (name, model) in &models {
        for contacts in [1, 16, 256, 4096] {
            // The grid is here to be compared with; a small batch is enough.
            if matches!(model, Model::Distributed) && contacts > 16 {
                continue;
            }
            let contacts_in = batch(&patch, model, contacts);
            group.throughput(Throughput::Elements(contacts as u64 * steps));
            let id = BenchmarkId::new(*name, format!("{contacts} contacts"));
            group.bench_with_input(id, &contacts_in, |b, contacts| {
                b.iter(|| Cpu::new().rollout(black_box(contacts), &plan, &|_| true).expect("a valid batch"));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, reduced);
criterion_main!(benches);
