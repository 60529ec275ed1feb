//! Functions that tests share, and contacts with converged solutions of an independent program.
#![allow(dead_code, unused_imports, reason = "every test program uses its own part")]

#[path = "../../../../tests/common/mod.rs"]
mod base;

use std::path::{Path, PathBuf};

pub use base::*;
use bristle::contact::Contact;
use bristle::engine::{Engine, Plan, Trajectories};
use bristle_scenario::{Scenario, change};

fn fixtures() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/distributed")).to_owned()
}

/// A converged solution and the contact it belongs to.
pub struct Case {
    pub name: String,
    pub contact: Contact,
    pub plan: Plan,
    /// Index of the sample, and the row without its time.
    pub rows: Vec<(usize, Vec<f64>)>,
}

impl Case {
    /// Reads the scenario and the rows of `case` under `law`, `ep` or `lugre`.
    pub fn load(case: &str, law: &str) -> Self {
        let folder = fixtures();
        let mut text = std::fs::read_to_string(folder.join(format!("{case}.toml"))).unwrap();
        if law == "lugre" {
            text = change(&text, "friction.law=lugre").unwrap();
        }
        let scenario = Scenario::parse(&text, &folder, case).unwrap();
        let plan = scenario.plan();
        let mut reader = csv::Reader::from_path(folder.join(format!("{case}_{law}.csv"))).unwrap();
        let rows = reader.records().map(|record| {
            let row: Vec<f64> = record.unwrap().iter().map(|field| field.parse().unwrap()).collect();
            let frame = plan.samples.iter().position(|t| (t - row[0]).abs() < 1e-9).expect("a sample at every row");
            (frame, row[1..].to_vec())
        });
        let rows = rows.collect();
        Self { name: format!("{case} {law}"), contact: scenario.contact(0).unwrap(), plan, rows }
    }

    /// Column `c` of the converged solution.
    pub fn column(&self, c: usize) -> Vec<f64> {
        self.rows.iter().map(|(_, row)| row[c]).collect()
    }

    /// Component `c` of contact `k` at the times of the rows.
    pub fn samples<T: Copy + Into<[f64; 3]>>(&self, all: &[T], k: usize, frames: usize, c: usize) -> Vec<f64> {
        let own = series(all, k, frames, c);
        self.rows.iter().map(|(frame, _)| own[*frame]).collect()
    }
}

/// All converged cases whose name starts with `prefix`.
pub fn cases(prefix: &str) -> Vec<Case> {
    let mut reader = csv::Reader::from_path(fixtures().join("cases.csv")).unwrap();
    let names = reader.records().map(|r| r.map(|r| (r[0].to_owned(), r[1].to_owned())).unwrap());
    names.filter(|(case, _)| case.starts_with(prefix)).map(|(case, law)| Case::load(&case, &law)).collect()
}

/// Torsional radius, viscous factor and centre of pressure of every fixed map: name, then four numbers.
pub fn maps() -> Vec<(String, [f64; 4])> {
    let mut reader = csv::Reader::from_path(fixtures().join("cases.csv")).unwrap();
    let rows = reader.records().map(Result::unwrap).filter(|r| !r[2].is_empty());
    rows.map(|r| (r[0].to_owned(), [2, 3, 4, 5].map(|i| r[i].parse().unwrap()))).collect()
}

/// Runs cases that share a plan as one batch, and names the contact whose status is not clean.
pub fn run(engine: &dyn Engine, cases: &[Case], step: f64) -> Trajectories {
    let plan = Plan { step, ..cases[0].plan.clone() };
    assert!(cases.iter().all(|c| c.plan.samples == plan.samples), "one plan a batch");
    let contacts: Vec<Contact> = cases.iter().map(|c| c.contact.clone()).collect();
    let out = rollout(engine, &contacts, &plan);
    for (case, status) in cases.iter().zip(&out.status) {
        assert_eq!(status.failure, None, "{}", case.name);
    }
    out
}
