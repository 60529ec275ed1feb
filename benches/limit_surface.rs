//! Tables of limit surfaces per second: one patch and many, by the three rules, on both engines; slip queries.
//!
//! `RAYON_NUM_THREADS=1` measures one core.

use std::hint::black_box;

use bristle::gpu::{Choice, Gpu};
use bristle::limit_surface::{DEFAULT_N_LS, Rule, Surface, Table};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::Wrench;
use bristle::random::Draw;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const MANY: usize = 256;

fn grid() -> Grid {
    Grid::new(21, 21, 0.02, 0.02).expect("a grid")
}

fn tables(c: &mut Criterion) {
    let circle = Patch::shape(grid(), Shape::Circle).expect("a circle");
    let random = |k: usize| -> Patch {
        let map: Vec<f64> = (0..441).map(|i| Draw::new(k as u64, i).uniform("pressure")).collect();
        Patch::from_pressure(grid(), &map).expect("a map")
    };
    let many: Vec<Patch> = (0..MANY).map(random).collect();
    let mut group = c.benchmark_group("limit_surface");
    group.sample_size(20);
    for rule in [Rule::Points, Rule::Bilinear, Rule::Cells] {
        group.throughput(Throughput::Elements(1));
        for (name, patch) in [("circle", &circle), ("random", &many[0])] {
            group.bench_function(format!("table/{name}/{}", rule.name()), |b| {
                b.iter(|| Table::new(black_box(patch), rule, DEFAULT_N_LS));
            });
        }
        group.throughput(Throughput::Elements(MANY as u64));
        group.bench_function(format!("tables/random/{MANY}/{}", rule.name()), |b| {
            b.iter(|| Table::batch(black_box(&many), rule, DEFAULT_N_LS));
        });
    }
    match Gpu::new(Choice::Any) {
        Ok(gpu) => {
            println!("GPU: {}", gpu.adapter().name);
            for rule in [Rule::Points, Rule::Bilinear, Rule::Cells] {
                for patches in [&many[..1], &many[..]] {
                    group.throughput(Throughput::Elements(patches.len() as u64));
                    group.bench_function(format!("gpu/tables/random/{}/{}", patches.len(), rule.name()), |b| {
                        b.iter(|| gpu.tables(black_box(patches), rule, DEFAULT_N_LS));
                    });
                }
            }
        }
        Err(e) => println!("no GPU benches: {e}"),
    }
    group.throughput(Throughput::Elements(1));
    let surface = Surface::new(&circle, Rule::Cells);
    group.bench_function("margin/circle/cells", |b| {
        b.iter(|| surface.margin(black_box(Wrench::new(1.0, 0.4, 3e-3)), 0.5, 8.0));
    });
    group.finish();
}

criterion_group!(benches, tables);
criterion_main!(benches);
