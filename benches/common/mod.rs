//! What the benches share: the engines of this machine, and plans of about the same work whatever the size.
#![allow(dead_code, reason = "every bench uses its own part")]

use std::hint::black_box;
use std::time::Duration;

use bristle::baseline::Baseline;
use bristle::bench::BASELINE_STEP;
use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_STEP, Engine, Plan};
use bristle::gpu::{Choice, Gpu};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Throughput};

/// An engine and how it is measured.
pub struct Subject {
    pub name: &'static str,
    pub engine: Box<dyn Engine>,
    /// Whether it is a software driver, which says nothing about a GPU.
    pub software: bool,
    /// Bristles of a whole batch at most, so that a row takes seconds.
    pub most_bristles: usize,
    /// Bristles times passes of one rollout, about.
    work: f64,
    step: f64,
    passes_per_step: u64,
}

impl Subject {
    fn of(name: &'static str, engine: impl Engine + 'static, most_bristles: usize, work: f64) -> Self {
        let engine = Box::new(engine);
        Self { name, engine, software: false, most_bristles, work, step: DEFAULT_STEP, passes_per_step: 2 }
    }

    /// Explicit Euler, cell after cell.
    pub fn baseline() -> Self {
        Self { step: BASELINE_STEP, passes_per_step: 1, ..Self::of("baseline", Baseline, 50_000, 2e6) }
    }

    /// The CPU in both precisions, and the GPU if there is one.
    pub fn all() -> Vec<Self> {
        let mut all = vec![
            Self::of("cpu f64", Cpu::new(), 2_000_000, 4e6),
            Self::of("cpu f32", Cpu::single(), 2_000_000, 4e6),
        ];
        match Gpu::new(Choice::Any) {
            Ok(gpu) if gpu.adapter().software => {
                println!("{} is a software driver: its rows say nothing about a GPU", gpu.adapter().name);
                all.push(Self { software: true, ..Self::of("software f32", gpu, 200_000, 2e6) });
            }
            Ok(gpu) => all.push(Self::of("gpu f32", gpu, usize::MAX, 1e9)),
            Err(error) => println!("no GPU in this run: {error}"),
        }
        all
    }

    /// One row: rollouts of `contacts` with so many `bristles` each, 10 to 1000 steps. The throughput is in bristles
    /// (cells) times passes, two a step (one of the baseline); those that Newton repeats are not counted.
    pub fn row(&self, group: &mut BenchmarkGroup<'_, WallTime>, id: &str, contacts: &[Contact], bristles: usize) {
        let all = (bristles * contacts.len()) as u64;
        let steps = (self.work / (self.passes_per_step * all) as f64).clamp(10.0, 1000.0).round();
        let duration = steps * self.step;
        let plan = Plan::new(duration, self.step, duration).expect("a valid plan");
        group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
        group.throughput(Throughput::Elements(self.passes_per_step * all * steps as u64));
        group.bench_function(format!("{}/{id}", self.name), |b| {
            b.iter(|| self.engine.rollout(black_box(contacts), &plan, &|_| true).expect("a valid batch"));
        });
    }
}
