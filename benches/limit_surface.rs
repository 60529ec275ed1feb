//! Tables of limit surfaces on one thread: one patch (a circle, a random map) and 256 random maps on one
//! grid, by the three rules, in double and in single precision; the same from a basis; the same batches on
//! the GPU; slip queries.

use std::hint::black_box;

use bristle::gpu::{Choice, Gpu};
use bristle::limit_surface::{Basis, DEFAULT_N_LS, Rule, Surface, Table};
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
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    for rule in Rule::ALL {
        group.throughput(Throughput::Elements(1));
        for (name, patch) in [("circle", &circle), ("random", &many[0])] {
            group.bench_function(format!("table/{name}/{}/f64", rule.name()), |b| {
                b.iter(|| Table::new(black_box(patch), rule, DEFAULT_N_LS));
            });
            group.bench_function(format!("table/{name}/{}/f32", rule.name()), |b| {
                b.iter(|| Table::single(black_box(patch), rule, DEFAULT_N_LS));
            });
        }
        group.throughput(Throughput::Elements(MANY as u64));
        group.bench_function(format!("tables/random/{MANY}/{}/f64", rule.name()), |b| {
            one.install(|| b.iter(|| Table::batch(black_box(&many), rule, DEFAULT_N_LS)));
        });
        group.bench_function(format!("tables/random/{MANY}/{}/f32", rule.name()), |b| {
            one.install(|| b.iter(|| Table::batch_single(black_box(&many), rule, DEFAULT_N_LS)));
        });
    }
    for (name, new) in [("f64", Basis::new as fn(&_, _, _) -> _), ("f32", Basis::single)] {
        let basis = || new(&grid(), Rule::Cells, DEFAULT_N_LS).expect("a basis");
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("basis/cells/{name}"), |b| one.install(|| b.iter(basis)));
        let basis = basis();
        for patches in [&many[..1], &many[..]] {
            group.throughput(Throughput::Elements(patches.len() as u64));
            group.bench_function(format!("basis/random/{}/cells/{name}", patches.len()), |b| {
                one.install(|| b.iter(|| basis.tables(black_box(patches))));
            });
        }
    }
    match Gpu::new(Choice::Any) {
        Ok(gpu) => {
            println!("GPU: {}", gpu.adapter().name);
            for rule in Rule::ALL {
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
    // Loads of every direction, a quarter of them along an axis and half of them nearly so.
    let loads: Vec<[f64; 3]> = (0..1000usize)
        .map(|k| {
            let mut f = ["x", "y", "w"].map(|name| Draw::new(1, k as u64).normal(name));
            f[k / 4 % 3] *= [1.0, 1e-3, 1e-8, 0.0][k % 4];
            f
        })
        .collect();
    group.throughput(Throughput::Elements(loads.len() as u64));
    for (name, patch) in [("circle", &circle), ("random", &many[0])] {
        let surface = Surface::new(patch, Rule::Cells);
        let loads: Vec<Wrench> = loads.iter().map(|f| Wrench::new(f[0], f[1], surface.radius() * f[2])).collect();
        group.bench_function(format!("margins/{name}/cells"), |b| {
            one.install(|| b.iter(|| surface.margins(black_box(&loads), 0.5, 8.0)));
        });
    }
    group.finish();
}

criterion_group!(benches, tables);
criterion_main!(benches);
