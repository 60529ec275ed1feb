//! Times `examples/in_hand.toml` from its text to its files, in contacts per second: drawing, stepping,
//! writing, the picture.

#[path = "../../../benches/common/mod.rs"]
mod common;

use std::path::Path;
use std::time::Duration;

use bristle_data::rollout::{Options, rollout};
use bristle_paper::run_picture::svg;
use bristle_scenario::Scenario;
use common::Subject;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

fn end_to_end(c: &mut Criterion) {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("examples/in_hand.toml");
    let mut group = c.benchmark_group("rollout");
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(5));
    for subject in &Subject::all() {
        // A software driver would take minutes over the two seconds that the others simulate.
        let (contacts, duration) = if subject.software { (32, 0.2) } else { (64, 2.0) };
        let changes = [format!("contacts={contacts}"), format!("duration={duration:?}")];
        group.throughput(Throughput::Elements(contacts));
        group.bench_function(format!("{}/in_hand, {contacts} x {duration} s", subject.name), |b| {
            b.iter_batched(
                || tempfile::tempdir().expect("a place for files"),
                |dir| {
                    let scenario = Scenario::load(&file, &changes).expect("the example is valid");
                    let out = dir.path().join("run");
                    let options = Options { draw: Some(svg), ..Options::new(out) };
                    rollout(&scenario, &*subject.engine, &options, &|_| true).expect("the rollout runs");
                    dir
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, end_to_end);
criterion_main!(benches);
