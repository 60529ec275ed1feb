//! How fast an Elasto-Plastic grid that sticks creeps under triangular loads. In the exact model it does not
//! creep.
#![cfg(feature = "gpu")]

mod common;

use std::sync::Arc;

use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::gpu::{Choice, Gpu};
use bristle::patch::{Patch, Shape};
use bristle::schedule::Signal;

use common::{WITH_THE_BODY, free, of, on_table, rollout, shape};

/// Time of one triangle [s].
const PERIOD: f64 = 0.2;
/// Triangles that are looked at, after one that is not.
const PERIODS: usize = 10;

/// Up, down and back to `mean`, by `amplitude`.
fn triangle(mean: f64, amplitude: f64) -> Signal {
    let points: Vec<(f64, f64)> = (0..4 * (PERIODS + 1) + 1)
        .map(|k| (0.25 * PERIOD * k as f64, mean + amplitude * [0.0, 1.0, 0.0, -1.0][k % 4]))
        .collect();
    Signal::linear(&points).unwrap()
}

/// Contacts whose loads are shares of what holds them, and what their loads are.
fn contacts(patch: &Arc<Patch>) -> Vec<(String, Contact)> {
    let friction = Friction { law: Law::ElastoPlastic, ..Friction::default() };
    let mut all = Vec::new();
    for (mean, amplitude) in [(0.0, 0.1), (0.0, 0.5), (0.3, 0.1), (0.3, 0.4), (0.55, 0.2)] {
        for [x, y, w] in [[1.0, 0.0, 0.0], [0.6, -0.5, 0.0], [0.4, 0.3, 0.4], [0.0, 0.0, 0.7]] {
            let mut contact = on_table(WITH_THE_BODY, patch, friction);
            let most = friction.mu_c * 9.81;
            let force = |share: f64| triangle(mean * most * share, amplitude * most * share);
            free(&mut contact).wrench = [force(x), force(y), force(w * patch.radius())];
            all.push((format!("{mean} +- {amplitude} of {:?}", [x, y, w]), contact));
        }
    }
    all
}

/// Creep of every contact [m/s]: of the position, and of the rotation times the radius.
fn creep(engine: &dyn Engine, contacts: &[(String, Contact)], step: f64) -> Vec<f64> {
    let all: Vec<Contact> = contacts.iter().map(|(_, contact)| contact.clone()).collect();
    let plan = Plan::new(PERIOD * (PERIODS + 1) as f64, step, PERIOD).unwrap();
    let out = rollout(engine, &all, &plan);
    let frames = out.frames();
    (0..all.len())
        .map(|k| {
            assert!(of(&out.near_limit, k, frames).iter().all(|share| *share == 0.0), "it is far from its limit");
            let (first, last) = (of(&out.pose, k, frames)[1], of(&out.pose, k, frames)[PERIODS + 1]);
            let turned = (last.theta - first.theta).abs() * all[k].patch.radius();
            (last.x - first.x).hypot(last.y - first.y).max(turned) / (PERIOD * PERIODS as f64)
        })
        .collect()
}

/// What is left in double precision and steps of any length [m/s]: of bodies that are pushed and turned at
/// once.
const TURNING: f64 = 2e-13;
/// What rounding of the bristles may add in single precision, for every step [m]; as stated in
/// `docs/accuracy.md`.
const ROUNDING: f64 = 3e-15;

#[test]
fn grids_that_stick_creep_no_faster_than_stated() {
    let engines: [(&str, Box<dyn Engine>); 3] = [
        ("cpu f64", Box::new(Cpu::new())),
        ("cpu f32", Box::new(Cpu::single())),
        ("gpu f32", Box::new(Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}")))),
    ];
    let mut wrong = Vec::new();
    for n in [5, 21] {
        let contacts = contacts(&shape(n, 0.02, Shape::Disc));
        for step in [1e-3, 2e-4, 5e-5] {
            for (name, engine) in &engines {
                // The CPU takes a large grid that sticks as one body, in double precision.
                let exact = *name == "cpu f64" || (*name == "cpu f32" && n == 21);
                let limit = TURNING + if exact { 0.0 } else { ROUNDING / step };
                let found = creep(&**engine, &contacts, step);
                let (k, most) = found.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
                let text = format!("{n} x {n} cells, {name}, steps of {step} s, {}: {most:.1e} m/s", contacts[k].0);
                println!("{text}");
                if !(*most <= limit) {
                    wrong.push(text);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
