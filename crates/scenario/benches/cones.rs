//! Times friction cones, in queries per second: margins and projections of a million forces, circle and
//! pyramids, on the CPU in both precisions (all cores, and one), one at a time, and on the GPU. Also times
//! the stability of a hand.

use std::hint::black_box;

use bristle::gpu::{Choice, Gpu};
use bristle::random::Draw;
use bristle_rigid::cone::{Cone, ContactFrame, Fit, Polygon, Section, margins, projections};
use bristle_rigid::gpu::RigidGpu;
use bristle_scenario::StabilityFile;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const MANY: usize = 1_000_000;

fn cones(c: &mut Criterion) {
    let draw = |k: usize, name: &str| Draw::new(1, k as u64).uniform(name);
    let mu: Vec<f64> = (0..MANY).map(|k| 0.2 + draw(k, "mu")).collect();
    let forces: Vec<[f64; 3]> = (0..MANY).map(|k| ["t", "b", "n"].map(|name| 2.0 * draw(k, name) - 1.0)).collect();
    let mu_single: Vec<f32> = mu.iter().map(|v| *v as f32).collect();
    let forces_single: Vec<[f32; 3]> = forces.iter().map(|f| f.map(|v| v as f32)).collect();
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let gpu = Gpu::new(Choice::Any).map(|gpu| RigidGpu::new(&gpu));
    match &gpu {
        Ok(gpu) => println!("GPU: {}", gpu.gpu().adapter().name),
        Err(e) => println!("no GPU benches: {e}"),
    }
    let polygon = |sides| Section::Polygon(Polygon { sides, fit: Fit::Inner, angle: 0.0 });
    let mut group = c.benchmark_group("cones");
    group.sample_size(10).throughput(Throughput::Elements(MANY as u64));
    for (name, section) in [("circle", Section::Circle), ("4", polygon(4)), ("16", polygon(16))] {
        group.bench_function(format!("{name}/margins/f64"), |b| b.iter(|| margins(&section, &mu, black_box(&forces))));
        group.bench_function(format!("{name}/projections/f64"), |b| {
            b.iter(|| projections(&section, &mu, black_box(&forces)));
        });
        group.bench_function(format!("{name}/projections/f64/one core"), |b| {
            one.install(|| b.iter(|| projections(&section, &mu, black_box(&forces))));
        });
        group.bench_function(format!("{name}/projections/f64/one by one"), |b| {
            let frame = ContactFrame::identity();
            let cones: Vec<Cone> = mu.iter().map(|mu| Cone::new(section, *mu, frame).expect("a cone")).collect();
            b.iter(|| cones.iter().zip(&forces).map(|(cone, f)| cone.project(*f)).collect::<Vec<_>>());
        });
        group.bench_function(format!("{name}/margins/f32"), |b| {
            b.iter(|| margins(&section, &mu_single, black_box(&forces_single)));
        });
        group.bench_function(format!("{name}/projections/f32"), |b| {
            b.iter(|| projections(&section, &mu_single, black_box(&forces_single)));
        });
        if let Ok(gpu) = &gpu {
            group.bench_function(format!("{name}/margins/gpu"), |b| {
                b.iter(|| gpu.cone_margins(&section, &mu_single, black_box(&forces_single)));
            });
            group.bench_function(format!("{name}/projections/gpu"), |b| {
                b.iter(|| gpu.cone_projections(&section, &mu_single, black_box(&forces_single)));
            });
        }
    }
    group.finish();
    let mut group = c.benchmark_group("stability");
    for cone in ["cone = 'circle'", "cone = { pyramid = 8 }"] {
        let text = include_str!("../../../examples/hand.toml").replace("cone = \"circle\"", cone);
        let file = StabilityFile::parse(&text, "hand.toml").expect("an example");
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("hand/{cone}"), |b| b.iter(|| black_box(&file.assembly).stability()));
    }
    group.finish();
}

criterion_group!(benches, cones);
criterion_main!(benches);
