//! A grip that opens: no normal force, no friction, and a contact that goes on.

use std::sync::Arc;

use bristle::contact::{Contact, Form, Model};
use bristle::engine::Engine;
use bristle::friction::{Friction, Law};
use bristle::limit_surface::{Rule, Table};
use bristle::patch::{Exponent, Grid, Hertz, Patch, Shape};
use bristle::planar::Wrench;
use bristle::schedule::{Signal, Sine};

use crate::Limits;
use crate::common::{DAMPED_LAWS, assert_below, assert_close, flat, free, in_hand, of, plan, rollout, series, shape};

pub fn open_grip_lets_fall_freely_while_bristles_evolve(engine: &dyn Engine, limits: &Limits) {
    let patch = shape(6, 0.02, Shape::Square);
    let held = |&law: &Law| {
        let friction = Friction { law, ..Friction::default() };
        let mut c = in_hand(&patch, friction, [0.003, -0.002, 0.1], Signal::constant(0.0));
        free(&mut c).twist = [0.2, 0.0, 1.5].into();
        c
    };
    let contacts: Vec<Contact> = Law::ALL.iter().map(held).collect();
    let out = rollout(engine, &contacts, &plan(0.2, 2e-4, 0.02));
    let (n, time) = (out.frames(), &out.time);
    for (k, contact) in contacts.iter().enumerate() {
        let along = |f: &dyn Fn(f64) -> f64| time.iter().map(|&t| f(t)).collect::<Vec<f64>>();
        let far = limits.free;
        assert_close("x", &series(&out.pose, k, n, 0), &along(&|t| 0.003 + 0.2 * t), far);
        assert_close("y", &series(&out.pose, k, n, 1), &along(&|t| -0.002 - 0.5 * 9.81 * t * t), far);
        assert_close("theta", &series(&out.pose, k, n, 2), &along(&|t| 0.1 + 1.5 * t), far);
        assert_close("vy", &series(&out.twist, k, n, 1), &along(&|t| -9.81 * t), 4.0 * far);
        assert_close("friction", &flat(of(&out.wrench, k, n)), &vec![0.0; 3 * n], 0.0);
        // Bristles slide fully bent, along the fall, at the Coulomb coefficient.
        for z in &out.bristles[k] {
            assert_close("deflection", &[z[0].hypot(z[1])], &[contact.friction.mu_c], 1e-5);
            assert!(z[1] < -0.9, "along the fall: {z:?}");
        }
    }
}

/// Every model and rule on `patch`.
fn models(patch: &Patch) -> Vec<Model> {
    let mut all = vec![Model::Distributed];
    for form in [Form::Published, Form::Consistent] {
        all.push(Model::Ellipsoid(form));
        all.extend(Rule::ALL.map(|rule| Model::LimitSurface(Arc::new(Table::new(patch, rule, 5).unwrap()), form)));
    }
    all
}

pub fn grip_that_opens_and_closes_catches_again(engine: &dyn Engine, limits: &Limits) {
    let grip = Signal::steps(&[(0.0, 3.0), (0.1, 0.0), (0.14, 6.0)]).unwrap();
    // While nothing presses, a map that follows the force has one cell, and no radius by some rules.
    let hertz = |exponent| {
        let grid = Grid::new(7, 7, 0.02, 0.02).unwrap();
        Arc::new(Patch::hertz(grid, Hertz { radius: 2.0, exponent }, 3.0).unwrap())
    };
    let patches = [
        shape(7, 0.02, Shape::Circle),
        hertz(Exponent::Fixed(2.0)),
        hertz(Exponent::Fixed(1.4)),
        hertz(Exponent::PerNewton(2.0)),
    ];
    let mut contacts = Vec::new();
    for (patch, law) in patches.iter().flat_map(|patch| DAMPED_LAWS.map(|law| (patch, law))) {
        let friction = Friction { law, sigma2: 0.0, ..Friction::default() };
        for model in models(patch) {
            contacts.push(Contact { model, ..in_hand(patch, friction, [0.0; 3], grip.clone()) });
        }
    }
    let out = rollout(engine, &contacts, &plan(0.3, 2e-4, 0.02));
    let n = out.frames();
    let frame = |t: f64| out.time.iter().position(|s| (s - t).abs() < 1e-9).unwrap();
    for k in 0..contacts.len() {
        let (pose, twist) = (of(&out.pose, k, n), of(&out.twist, k, n));
        assert_below("it holds before", pose[frame(0.1)].y.abs(), 2e-6);
        let (from, to) = (frame(0.1), frame(0.14));
        let fallen = twist[to].vy - twist[from].vy;
        assert_close("speed gained in free fall", &[fallen], &[-9.81 * 0.04], 4.0 * limits.free);
        let way = pose[from].y + twist[from].vy * 0.04 - 0.5 * 9.81 * 0.04 * 0.04;
        assert_close("way in free fall", &[pose[to].y], &[way], limits.free);
        assert!(out.normal_force[k * n + to] == 0.0 && out.wrench[k * n + to] == Wrench::default(), "nothing held it");
        assert_close("it holds after", &twist[n - 1].to_array(), &[0.0; 3], 1e-5);
        // Caught by 2 mu f_N - m g after a fall of 0.04 s, by bristles that the fall has bent already.
        let stop = fallen.powi(2) / (2.0 * (2.0 * 6.0 / 0.2 - 9.81));
        assert_close("way to the stop", &[pose[to].y - pose[n - 1].y], &[stop], 2e-3 * stop);
        assert_eq!(out.status[k].failure, None);
    }
}

pub fn normal_force_through_zero_is_no_contact_below(engine: &dyn Engine, limits: &Limits) {
    let patch = shape(5, 0.02, Shape::Disc);
    let wave = Sine { amplitude: 3.0, omega: 10.0 * std::f64::consts::TAU, phase: 0.0 };
    let held = |&law: &Law| {
        let friction = Friction { law, gamma: 1.3, ..Friction::default() };
        in_hand(&patch, friction, [0.001, 0.0, 0.0], Signal::sines(0.5, vec![wave]))
    };
    let contacts: Vec<Contact> = Law::ALL.iter().map(held).collect();
    let out = rollout(engine, &contacts, &plan(0.3, 2e-4, 1e-3));
    let n = out.frames();
    for (k, contact) in contacts.iter().enumerate() {
        assert_eq!(out.status[k].failure, None);
        let mut open = 0;
        for i in 0..n {
            let wanted = (0.5 + 3.0 * (wave.omega * out.time[i]).sin()).max(0.0);
            assert_close("normal force", &[out.normal_force[k * n + i]], &[wanted], 3.0 * limits.steady.max(1e-12));
            if out.normal_force[k * n + i] == 0.0 {
                open += 1;
                assert_eq!(out.wrench[k * n + i], Wrench::default(), "sample {i}");
            }
        }
        assert!(open > n / 4, "the grip is open for a good part: {open} of {n}");
        let most = out.bristles[k].iter().map(|z| z[0].hypot(z[1])).fold(0.0, f64::max);
        assert_below("deflection", most, contact.friction.mu_s * (1.0 + 1e-5));
    }
}
