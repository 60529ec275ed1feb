//! How fast an Elasto-Plastic grid that sticks creeps under triangular loads. In the exact model it does not
//! creep.
#![cfg(feature = "gpu")]

mod common;

use bristle::cpu::Cpu;
use bristle::engine::Engine;
use bristle::gpu::{Choice, Gpu};

use common::{creep, most_creep, sticking};

#[test]
fn grids_that_stick_creep_no_faster_than_stated() {
    let engines: [(&str, Box<dyn Engine>); 3] = [
        ("cpu f64", Box::new(Cpu::new())),
        ("cpu f32", Box::new(Cpu::single())),
        ("gpu f32", Box::new(Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}")))),
    ];
    let mut wrong = Vec::new();
    for n in [5, 21] {
        let contacts = sticking(n);
        for step in [1e-3, 2e-4, 5e-5] {
            for (name, engine) in &engines {
                // The CPU takes a large grid that sticks as one body, in double precision.
                let is_double = *name == "cpu f64" || (*name == "cpu f32" && n == 21);
                let (most, k) = creep(&**engine, &contacts, step).unwrap_or_else(|e| panic!("{name}: {e}"));
                let text = format!("{n} x {n} cells, {name}, steps of {step} s, {}: {most:.1e} m/s", contacts[k].0);
                println!("{text}");
                if !(most <= most_creep(step, is_double)) {
                    wrong.push(text);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
