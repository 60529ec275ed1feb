//! Shared by the benches: the engines of this machine, and contacts whose cost does not depend on their
//! number.
#![allow(dead_code, reason = "every bench uses its own part")]

use std::hint::black_box;
use std::time::Duration;

use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_STEP, Engine, Plan};
use bristle::friction::Law;
use bristle::gpu::{Choice, Gpu};
use bristle::planar::Twist;
use bristle_bench::baseline::Baseline;
use bristle_bench::{BASELINE_STEP, in_hand};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, SamplingMode, Throughput};

/// Steps of a rollout with so many bristles a contact: enough that setting it up does not show.
const fn steps(bristles: usize) -> u32 {
    if bristles < 150 { 50 } else { 10 }
}

/// In-hand contacts that all slide, everywhere, for as long as they are stepped: so that the cost of a batch
/// shows, not that of the phase its contacts are in.
pub fn sliding(n: usize, law: Law, contacts: usize) -> Vec<Contact> {
    let mut all = in_hand(n, law, contacts).expect("a valid size");
    all.iter_mut().filter_map(|c| c.body.free_mut()).for_each(|body| body.twist = Twist::new(0.1, -0.5, 10.0));
    all
}

/// An engine and how it is measured.
pub struct Subject {
    pub name: &'static str,
    pub engine: Box<dyn Engine>,
    /// Whether it is a software driver, which says nothing about a GPU.
    pub software: bool,
    /// Bristles of a whole batch at most, so that a row takes seconds.
    pub most_bristles: usize,
    step: f64,
}

impl Subject {
    fn of(name: &'static str, engine: impl Engine + 'static, most_bristles: usize) -> Self {
        let engine = Box::new(engine);
        Self { name, engine, software: false, most_bristles, step: DEFAULT_STEP }
    }

    /// Explicit Euler, cell after cell.
    pub fn baseline() -> Self {
        Self { step: BASELINE_STEP, ..Self::of("baseline", Baseline, 200_000) }
    }

    /// The CPU in both precisions, and the GPU if there is one.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::of("cpu f64", Cpu::new(), 12_000_000), Self::of("cpu f32", Cpu::single(), 12_000_000)];
        match Gpu::new(Choice::Any) {
            Ok(gpu) if gpu.adapter().software => {
                println!("{} is a software driver: its rows say nothing about a GPU", gpu.adapter().name);
                all.push(Self { software: true, ..Self::of("software f32", gpu, 200_000) });
            }
            Ok(gpu) => all.push(Self::of("gpu f32", gpu, usize::MAX)),
            Err(error) => println!("no GPU in this run: {error}"),
        }
        all
    }

    /// One row: some steps of `contacts` with so many `bristles` each. The throughput is in bristles (cells)
    /// times passes over them, which all contacts take as many of.
    pub fn row(&self, group: &mut BenchmarkGroup<'_, WallTime>, id: &str, contacts: &[Contact], bristles: usize) {
        let duration = f64::from(steps(bristles)) * self.step;
        let plan = Plan::new(duration, self.step, duration).expect("a valid plan");
        // Of one contact, as this runs for rows that are not asked for, too.
        let passes = self.engine.rollout(&contacts[..1], &plan, &|_| true).expect("a valid contact").status[0].passes;
        group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
        group.sampling_mode(SamplingMode::Flat).nresamples(2000);
        group.throughput(Throughput::Elements(passes * (bristles * contacts.len()) as u64));
        group.bench_function(format!("{}/{id}", self.name), |b| {
            b.iter(|| self.engine.rollout(black_box(contacts), &plan, &|_| true).expect("a valid batch"));
        });
    }
}
