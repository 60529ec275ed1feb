//! Contact-steps per second of point contacts, a law a row, against a LuGre grid of one cell on the same
//! bodies. They slide, so that nothing is skipped.
//!
//! `cargo bench -p bristle --bench point -- "cpu f32/implicit"` runs a part.
//! `RAYON_NUM_THREADS=1` measures one core.

mod common;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bristle::body::{Frame, FreeBody};
use bristle::contact::{Contact, Initial, Inputs, Model};
use bristle::engine::{DEFAULT_STEP, Plan};
use bristle::friction::{Friction, Law};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::Twist;
use bristle::point::{PointElement, PointLaw, PointModel};
use bristle::schedule::Signal;
use common::Subject;
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};

const CONTACTS: usize = 4096;
const STEPS: u32 = 500;

/// Masses that are pulled in a circle by more than friction.
fn contacts(model: &Model, law: Law) -> Vec<Contact> {
    let patch: Arc<Patch> =
        Patch::shape(Grid::new(1, 1, 1e-3, 1e-3).expect("a grid"), Shape::Square).expect("a map").into();
    let contact = |k: usize| {
        let speed = 0.1 + 0.2 * k as f64 / CONTACTS as f64;
        let mut body = FreeBody::new(Frame::World, 0.2, 1e-4);
        body.twist = Twist::new(speed, 0.0, 0.0);
        body.wrench = [3.0.into(), 1.0.into(), 0.0.into()];
        Contact {
            patch: Arc::clone(&patch),
            model: model.clone(),
            friction: Friction { law, sigma0: 1e5, sigma1: 200.0, mu_c: 0.4, mu_s: 0.5, ..Friction::default() },
            body: body.into(),
            inputs: Inputs { normal_force: Signal::constant(2.0), ..Inputs::default() },
            initial: Initial::default(),
        }
    };
    (0..CONTACTS).map(contact).collect()
}

fn point(c: &mut Criterion) {
    let mut group = c.benchmark_group("point");
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    group.sampling_mode(SamplingMode::Flat);
    group.throughput(Throughput::Elements(CONTACTS as u64 * u64::from(STEPS)));
    let duration = f64::from(STEPS) * DEFAULT_STEP;
    let plan = Plan::new(duration, DEFAULT_STEP, duration).expect("a valid plan");
    let elements = vec![PointElement { share: 0.25, stiffness: 0.25 }; 4];
    let maxwell_slip = PointModel { elements, ..PointLaw::ViscoelastoPlastic.into() };
    let mut rows = vec![("grid of one cell, LuGre".to_owned(), Model::Distributed)];
    rows.extend(PointLaw::ALL.iter().map(|law| (law.name().to_owned(), Model::Point((*law).into()))));
    rows.push(("viscoelasto-plastic, 4 elements".to_owned(), Model::Point(maxwell_slip)));
    for subject in Subject::all() {
        for (name, model) in &rows {
            let contacts = contacts(model, Law::LuGre);
            group.bench_function(BenchmarkId::new(subject.name, name), |b| {
                b.iter(|| subject.engine.rollout(black_box(&contacts), &plan, &|_| true).expect("a valid batch"));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, point);
criterion_main!(benches);
