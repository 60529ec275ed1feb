//! The step with a bristle in every cell, over the size of the grid and of the batch: cell-passes per second,
//! which stay the same where the cost is linear. Objects in hand, circle, all of them sliding.
//!
//! `cargo bench -p bristle --bench step -- "cpu f32/ElastoPlastic/21 x 21"` runs a part.
//! `RAYON_NUM_THREADS=1` measures one core.

mod common;

use bristle::friction::Law;
use common::{Subject, sliding};
use criterion::{Criterion, criterion_group, criterion_main};

const SIDES: [usize; 6] = [5, 11, 21, 33, 64, 101];
const BATCHES: [usize; 5] = [1, 64, 512, 4096, 32_768];

fn step(c: &mut Criterion) {
    let mut group = c.benchmark_group("step");
    let mut subjects = Subject::all();
    subjects.insert(0, Subject::baseline());
    for law in [Law::ElastoPlastic, Law::LuGre] {
        for n in SIDES {
            let contacts = sliding(n, law, BATCHES[4]);
            let cells = contacts[0].patch.cells().len();
            for subject in &subjects {
                // A contact alone is measured at every size; a batch while it takes seconds, not minutes.
                for batch in BATCHES.into_iter().filter(|b| *b == 1 || b * cells <= subject.most_bristles) {
                    let id = format!("{law:?}/{n} x {n}/{batch}");
                    subject.row(&mut group, &id, &contacts[..batch], cells);
                }
            }
        }
    }
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);
