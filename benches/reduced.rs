//! The step with one bristle on a limit surface (exact cells, `N_ls = 20`) or an ellipsoid, over the size of the batch:
//! contact-passes per second.

mod common;

use bristle::bench::reduced;
use bristle::contact::{Contact, Form, Model};
use bristle::friction::Law;
use common::{Subject, sliding};
use criterion::{Criterion, criterion_group, criterion_main};

const BATCHES: [usize; 5] = [1, 64, 512, 4096, 32_768];

fn step(c: &mut Criterion) {
    let mut group = c.benchmark_group("reduced");
    let subjects = Subject::all();
    for law in [Law::ElastoPlastic, Law::LuGre] {
        let consistent = reduced(sliding(21, law, BATCHES[4])).expect("a valid resolution");
        let with = |model: &Model| -> Vec<Contact> {
            consistent.iter().map(|c| Contact { model: model.clone(), ..c.clone() }).collect()
        };
        let Model::LimitSurface(table, _) = consistent[0].model.clone() else { unreachable!("reduced on a table") };
        let mut kinds = vec![("surface", consistent.clone()), ("ellipsoid", with(&Model::Ellipsoid(Form::Consistent)))];
        if law == Law::ElastoPlastic {
            // LuGre has one form.
            kinds.push(("surface, published", with(&Model::LimitSurface(table, Form::Published))));
        }
        for (name, contacts) in &kinds {
            for subject in &subjects {
                for batch in BATCHES {
                    subject.row(&mut group, &format!("{law:?}/{name}/{batch}"), &contacts[..batch], 1);
                }
            }
        }
    }
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);
