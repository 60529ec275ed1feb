//! Contacts that have been sliding for long when the run begins.

use std::sync::Arc;

use bristle::body::{Body, Frame, TwistPoint};
use bristle::contact::{Bristles, Contact, Form, Model};
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::limit_surface::{Rule, Table};
use bristle::patch::{Exponent, Grid, Hertz, Patch, Shape};
use bristle::planar::Wrench;
use bristle::schedule::Signal;

use crate::Limits;
use crate::common::{WITH_THE_BODY, assert_close, dry, free, kind, of, on_table, prescribed, rollout, shape};

/// Every model and form on `patch`.
fn models(patch: &Patch) -> [Model; 5] {
    let table = Arc::new(Table::new(patch, Rule::Cells, 8).unwrap());
    let [published, consistent] = [Form::Published, Form::Consistent];
    let on = |form| Model::LimitSurface(Arc::clone(&table), form);
    [Model::Distributed, Model::Ellipsoid(published), Model::Ellipsoid(consistent), on(published), on(consistent)]
}

/// Under a constant twist nothing changes from the first sample on, and bristles that start unloaded come to
/// the same wrench.
pub fn a_constant_twist_has_its_steady_wrench_from_the_start(engine: &dyn Engine, limits: &Limits) {
    let rule = |exponent| Hertz { radius: 2.5, exponent };
    // As made without force: one cell, which has no radius on an ellipsoid.
    let hertz = |exponent| Arc::new(Patch::hertz(Grid::new(9, 9, 0.02, 0.02).unwrap(), rule(exponent), 0.0).unwrap());
    let patches = [
        shape(9, 0.02, Shape::LineGradientX),
        shape(8, 0.02, Shape::NonConvex2),
        hertz(Exponent::Fixed(2.0)),
        hertz(Exponent::PerNewton(1.0)),
    ];
    let (twist, normal_force) = ([0.01, -0.006, 3.0], 3.0);
    let (mut steady, mut held) = (Vec::new(), 0.0);
    for patch in &patches {
        for &law in Law::ALL {
            let friction =
                Friction { law, mu_c: 0.7, mu_s: 0.9, gamma: 1.4, v_s: 1e-2, sigma1: 100.0, ..Friction::default() };
            // A steady state is held to two last places, which the damper feels sigma1 v/g times as large.
            held = 2.0 * limits.last_place * friction.sigma1 * 0.05 / friction.mu_c;
            for (at, model) in models(&patch.under(normal_force)).into_iter().enumerate() {
                let mut contact = Contact { model, ..prescribed(patch, friction, twist, normal_force) };
                contact.initial.bristles = Bristles::Steady;
                if at % 2 == 0 {
                    if let Body::Prescribed { at, .. } = &mut contact.body {
                        *at = TwistPoint::Origin;
                    }
                    contact.inputs.mu_c = Some(Signal::constant(0.6));
                }
                steady.push(contact);
            }
        }
    }
    let mut unloaded = steady.clone();
    unloaded.iter_mut().for_each(|contact| contact.initial.bristles = Bristles::Unloaded);
    let plan = Plan::new(0.05, 2e-4, 0.01).unwrap();
    let [steady, unloaded] = [steady, unloaded].map(|contacts| (rollout(engine, &contacts, &plan), contacts));
    let scale = [1.0, 1.0, 0.01].map(|arm| arm * normal_force);
    for (k, contact) in steady.1.iter().enumerate() {
        let [own, other] = [&steady.0, &unloaded.0].map(|out| of(&out.wrench, k, out.frames()));
        let what = format!("contact {k}, {:?}, {:?}", contact.model, contact.friction.law);
        let over = |wrench: &Wrench| [0, 1, 2].map(|c| wrench.to_array()[c] / scale[c]);
        for wrench in own {
            assert_close(&what, &over(wrench), &over(&own[5]), limits.steady + held);
        }
        assert!(over(&own[0]).iter().any(|c| c.abs() > 0.2), "{what}: {:?}", own[0]);
        assert_close(&what, &over(&own[0]), &over(&other[5]), 1e-4);
        // What moves unloaded bristles at first is their damper.
        assert!((over(&other[0])[0] - over(&own[0])[0]).abs() > 0.05, "{what}: {:?}", other[0]);
    }
}

/// A body that has been sliding straight on is slowed by `mu g` from the start: no speed goes into its
/// bristles.
pub fn a_body_that_has_been_sliding_slows_by_mu_g(engine: &dyn Engine, limits: &Limits) {
    let (mu, speed, duration) = (0.3, 0.1, 0.03);
    let patch = shape(9, 0.02, Shape::Circle);
    let mut contacts = Vec::new();
    for &law in Law::ALL {
        for frame in [Frame::World, WITH_THE_BODY] {
            for model in models(&patch) {
                let mut contact = Contact { model, ..on_table(frame, &patch, dry(law, mu)) };
                // Half a turn of the body turns the patch, too; along a node of the table.
                contact.initial.pose.theta = std::f64::consts::PI;
                free(&mut contact).twist.vx = speed;
                contact.initial.bristles = Bristles::Steady;
                contacts.push(contact);
            }
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(duration, 2e-4, 0.01).unwrap());
    let held = 4.0 * limits.last_place * contacts[0].friction.sigma1 * speed / mu;
    for (k, contact) in contacts.iter().enumerate() {
        let what = format!("contact {k}, {:?}, {:?}, {}", contact.model, contact.friction.law, kind(contact));
        for (frame, t) in out.time.iter().enumerate() {
            let at = k * out.frames() + frame;
            let x = speed * t - 0.5 * mu * 9.81 * t * t;
            let found = [out.pose[at].x / 2e-3, out.twist[at].vx / speed, out.wrench[at].fx.abs() / (mu * 9.81)];
            let wanted = [x / 2e-3, 1.0 - mu * 9.81 * t / speed, 1.0];
            assert_close(&format!("{what} at {t} s"), &found, &wanted, limits.steady + held);
        }
    }
}

/// A cell about which the patch turns has no direction: its bristle is unloaded, and a spinning patch bears
/// no force.
pub fn a_spin_has_no_force(engine: &dyn Engine, limits: &Limits) {
    let grid = Grid::new(7, 7, 0.02, 0.02).unwrap();
    // The centre of pressure of these is off the middle by rounding.
    let hertz = Patch::hertz(grid, Hertz { radius: 1.5, exponent: Exponent::Fixed(1.3) }, 1.0).unwrap();
    let rings = Patch::from_fn(grid, |x, y| 1.0 + 0.3 * (700.0 * (x * x + y * y)).sin()).unwrap();
    let twist = [0.0, 0.0, 3.0];
    let contact = |patch| {
        let friction = Friction { sigma1: 0.0, ..Friction::default() };
        let mut c = prescribed(&Arc::new(patch), friction, twist, 1.0);
        c.initial.bristles = Bristles::Steady;
        c
    };
    let contacts = [shape(3, 0.02, Shape::Disc), shape(5, 0.02, Shape::Circle)].map(|p| Patch::clone(&p));
    let contacts: Vec<Contact> = contacts.into_iter().chain([hertz, rings]).map(contact).collect();
    let out = rollout(engine, &contacts, &Plan::new(0.01, 2e-4, 0.005).unwrap());
    for k in 0..contacts.len() {
        for w in of(&out.wrench, k, out.frames()) {
            assert!(w.fx.hypot(w.fy) < 10.0 * limits.steady && w.tau < -1e-3, "contact {k}: {w:?}");
        }
    }
}
