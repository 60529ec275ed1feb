//! Counts instructions of the hot kernels under valgrind. The counts do not depend on the load of the
//! machine, so that a regression shows.
//!
//! ```text
//! cargo install --locked --version 0.20.0 gungraun-runner     # and valgrind, from your system
//! cargo bench -p bristle --profile profiling --bench instructions   # valgrind wants its names and lines
//! ```
//!
//! One contact on one thread, 40 steps of the paper's in-hand case 2. Valgrind (3.19 at least) hides AVX-512
//! from a program, so that this counts the copy for AVX2; instructions are not time, and lanes of another
//! width are other instructions. Each count is compared with the last run's (`target/gungraun`).
#![allow(missing_docs, unused_qualifications, reason = "what gungraun's macros write")]

use std::hint::black_box;

use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_STEP, Engine, Plan, Trajectories};
use bristle::friction::Law;
use bristle::limit_surface::{DEFAULT_N_LS, Rule, Table};
use bristle::patch::Patch;
use bristle::planar::Twist;
use bristle_bench::baseline::Baseline;
use bristle_bench::{in_hand, random_maps, reduced};
use gungraun::{Callgrind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};

/// Steps of a rollout.
const STEPS: f64 = 40.0;

/// Work of this thread: what happens on another would not be counted.
fn here() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("no pool before");
}

fn plan(step: f64) -> Plan {
    Plan::new(STEPS * step, step, STEPS * step).expect("a valid plan")
}

/// The contact from rest, where it sticks, or in motion, where its cells slide.
fn contact(law: Law, slides: bool) -> Vec<Contact> {
    here();
    let mut contacts = in_hand(21, law, 1).expect("a valid size");
    if slides {
        contacts[0].body.free_mut().expect("a body in a gripper").twist = Twist::new(0.02, -0.1, 3.0);
    }
    contacts
}

fn one_bristle(law: Law, slides: bool) -> Vec<Contact> {
    reduced(contact(law, slides)).expect("a valid resolution")
}

fn map() -> Patch {
    here();
    random_maps(21, 1).expect("a valid size").remove(0)
}

fn run(engine: &impl Engine, contacts: &[Contact], step: f64) -> Trajectories {
    engine.rollout(black_box(contacts), &plan(step), &|_| true).expect("a valid batch")
}

#[library_benchmark]
#[bench::elasto_plastic_sticks(contact(Law::ElastoPlastic, false))]
#[bench::elasto_plastic_slides(contact(Law::ElastoPlastic, true))]
#[bench::lugre_slides(contact(Law::LuGre, true))]
fn step_f64(contacts: Vec<Contact>) -> Trajectories {
    run(&Cpu::new(), &contacts, DEFAULT_STEP)
}

#[library_benchmark]
#[bench::elasto_plastic_sticks(contact(Law::ElastoPlastic, false))]
#[bench::elasto_plastic_slides(contact(Law::ElastoPlastic, true))]
#[bench::lugre_slides(contact(Law::LuGre, true))]
fn step_f32(contacts: Vec<Contact>) -> Trajectories {
    run(&Cpu::single(), &contacts, DEFAULT_STEP)
}

#[library_benchmark]
#[bench::elasto_plastic_sticks(contact(Law::ElastoPlastic, false))]
#[bench::elasto_plastic_slides(contact(Law::ElastoPlastic, true))]
#[bench::lugre_slides(contact(Law::LuGre, true))]
fn baseline(contacts: Vec<Contact>) -> Trajectories {
    run(&Baseline, &contacts, bristle_bench::BASELINE_STEP)
}

#[library_benchmark]
#[bench::elasto_plastic_sticks(one_bristle(Law::ElastoPlastic, false))]
#[bench::elasto_plastic_slides(one_bristle(Law::ElastoPlastic, true))]
#[bench::lugre_slides(one_bristle(Law::LuGre, true))]
fn reduced_step(contacts: Vec<Contact>) -> Trajectories {
    run(&Cpu::new(), &contacts, DEFAULT_STEP)
}

#[library_benchmark]
#[bench::cells(map(), Rule::Cells)]
#[bench::bilinear(map(), Rule::Bilinear)]
fn table(patch: Patch, rule: Rule) -> Table {
    Table::new(black_box(&patch), rule, DEFAULT_N_LS).expect("a valid resolution")
}

#[library_benchmark]
#[bench::cells(map(), Rule::Cells)]
#[bench::bilinear(map(), Rule::Bilinear)]
fn table_f32(patch: Patch, rule: Rule) -> Table {
    Table::single(black_box(&patch), rule, DEFAULT_N_LS).expect("a valid resolution")
}

library_benchmark_group!(name = kernels, benchmarks = [step_f64, step_f32, baseline, reduced_step, table, table_f32]);

main!(
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=no"])),
    library_benchmark_groups = kernels
);
