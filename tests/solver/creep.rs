//! How fast an Elasto-Plastic grid that sticks creeps under triangular loads. In the exact model it does not
//! creep. And what bristles keep of a force while nothing moves.

use bristle::cpu::Cpu;
use bristle::engine::Engine;
use bristle::gpu::{Choice, Gpu};

use bristle::contact::Contact;
use bristle::friction::{Friction, Law};
use bristle::patch::{FrictionAxes, Patch, Shape};
use bristle::schedule::Signal;

use crate::common::{creep, engines, most_creep, plan, prescribed, prescribed_twist, rollout, shape, sticking};

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

/// Bristles that are bent, and then held at rest for ten seconds, keep their force, by fixed steps and by
/// tolerance: with numbers whose reciprocals are rounded, with friction by region and by direction.
#[test]
fn bristles_that_are_held_keep_their_force() {
    let mut contacts: Vec<(String, Contact)> = Vec::new();
    for law in [Law::ElastoPlastic, Law::LuGre, Law::Dahl, Law::ViscoelastoPlastic] {
        for (name, mu_c, mu_s) in [("even", 0.77, 0.91), ("map", 0.6, 0.6), ("axes", 1.3, 1.3)] {
            let even = shape(6, 0.02, Shape::Disc);
            let factors: Vec<f64> = (0..36).map(|k| [0.37, 0.61, 0.83, 1.07, 1.29, 1.53][k % 6]).collect();
            let patch = match name {
                "map" => Patch::clone(&even).with_friction_map(&factors).unwrap().into(),
                "axes" if law == Law::ElastoPlastic || law == Law::LuGre => {
                    Patch::clone(&even).with_friction_axes(FrictionAxes::new(0.3, 0.4).unwrap()).into()
                }
                "axes" => continue,
                _ => even,
            };
            let friction = Friction { law, mu_c, mu_s, ..Friction::default() };
            let mut contact = prescribed(&patch, friction, [0.0; 3], 1.7);
            let moves = |v: f64| Signal::steps(&[(0.0, v), (0.1, 0.0)]).unwrap();
            let twist = prescribed_twist(&mut contact);
            (twist[0], twist[1], twist[2]) = (moves(4e-6), moves(-1e-6), moves(1e-4));
            contacts.push((format!("{law:?}, {name}"), contact));
        }
    }
    let (names, contacts): (Vec<String>, Vec<Contact>) = contacts.into_iter().unzip();
    let fixed = plan(10.2, 1e-3, 0.2);
    let by_tolerance = fixed.clone().with_tolerance(3e-6).unwrap();
    for (engine, of) in engines() {
        for plan in [&fixed, &by_tolerance] {
            let run = rollout(&*of, &contacts, plan);
            for (k, name) in names.iter().enumerate() {
                let samples: Vec<usize> = run.of(k).collect();
                let [first, last] = [samples[1], samples[samples.len() - 1]].map(|at| run.wrench[at]);
                let size = first.fx.hypot(first.fy);
                let apart = (first.fx - last.fx).hypot(first.fy - last.fy) / size;
                assert!(size > 0.01, "{engine}, {name}: {size} N");
                assert!(apart < 1e-6, "{engine}, {name}, {:?}: {apart:e} of the force is lost", plan.tolerance);
                let turned = (last.tau / first.tau - 1.0).abs();
                assert!(turned < 1e-6, "{engine}, {name}, {:?}: {turned:e} of the torque is lost", plan.tolerance);
            }
        }
    }
}
