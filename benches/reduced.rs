//! The step with one bristle on a limit surface (exact cells, `N_ls = 20`) or an ellipsoid, over the size of
//! the batch: contact-passes per second.

mod common;

use std::sync::Arc;

use bristle::contact::{Contact, Form, Model};
use bristle::friction::Law;
use bristle::limit_surface::{DEFAULT_N_LS, Rule, Table};
use bristle::patch::{Exponent, Hertz, Patch};
use bristle_bench::reduced;
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
        // A map is made anew once a row, as every 10 ms of a rollout: of another size, or of another shape
        // with a table of its own.
        for (name, exponent) in [("map grows", Exponent::Fixed(2.0)), ("map changes", Exponent::PerNewton(2.0))] {
            let rule = Hertz { exponent, ..Hertz::default() };
            let patch = Arc::new(Patch::hertz(*consistent[0].patch.grid(), rule, 2.0).expect("a valid map"));
            let table = Arc::new(Table::new(&patch, Rule::Cells, DEFAULT_N_LS).expect("a valid resolution"));
            let model = Model::LimitSurface(table, Form::Consistent);
            let of = |c: &Contact| Contact { patch: Arc::clone(&patch), model: model.clone(), ..c.clone() };
            kinds.push((name, consistent.iter().map(of).collect()));
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
