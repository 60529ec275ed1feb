//! Slip is motion: no bristle slips while a body rests near the limit of friction, and all do once it slides.

use std::sync::Arc;

use bristle::contact::{Bristles, Contact, Form, Model};
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::limit_surface::{Rule, Table};
use bristle::patch::Shape;
use bristle::schedule::Signal;

use crate::Limits;
use crate::common::{dry, free, in_hand, of, prescribed, rollout, shape};

/// Share of what two pads of 4 N hold under which a body rests.
const SHARE: f64 = 0.95;
/// Friction coefficient, and what the pads hold [N].
const MU: f64 = 0.5;
const HOLDS: f64 = 2.0 * MU * 4.0;
/// The load has been there for long, and more than what the pads hold begins to pull [s].
const RESTS: f64 = 0.55;
const PULLS: f64 = 0.6;
const EVERY: f64 = 0.05;

/// Grids small and large, and the reduced model in every form.
pub fn models() -> Vec<(&'static str, usize, Model)> {
    let table = Arc::new(Table::new(&shape(5, 0.02, Shape::Square), Rule::Cells, 10).unwrap());
    vec![
        ("5 x 5 cells", 5, Model::Distributed),
        ("11 x 11 cells", 11, Model::Distributed),
        ("ellipsoid, published", 5, Model::Ellipsoid(Form::Published)),
        ("ellipsoid, consistent", 5, Model::Ellipsoid(Form::Consistent)),
        ("limit surface, published", 5, Model::LimitSurface(Arc::clone(&table), Form::Published)),
        ("limit surface, consistent", 5, Model::LimitSurface(table, Form::Consistent)),
    ]
}

/// A body between two pads, whose load rises to [`SHARE`] of what they hold within 0.2 s, and at [`PULLS`]
/// to more.
fn held(law: Law, sigma0: f64, cells: usize, model: &Model) -> Contact {
    let mass = 0.2;
    // The critical damping of a body that sticks.
    let friction = Friction { sigma0, sigma1: (8.0 * sigma0 * mass).sqrt() / 4.0, ..dry(law, MU) };
    let mut contact = in_hand(&shape(cells, 0.02, Shape::Square), friction, [0.0; 3], Signal::constant(4.0));
    contact.model = model.clone();
    let body = free(&mut contact);
    body.gravity = [Signal::constant(0.0), Signal::constant(0.0)];
    let load = SHARE * HOLDS;
    let steps = [(PULLS, load), (PULLS + 1e-3, 1.3 * HOLDS)];
    if law == Law::Dahl {
        // Without a damper it would swing for long: it begins where the bristles hold the load.
        body.wrench[1] = Signal::linear(&steps).unwrap();
        let count = if contact.model.is_grid() { cells * cells } else { 2 };
        let mut states = vec![[0.0, SHARE * MU]; count];
        if !contact.model.is_grid() {
            states[1] = [0.0; 2];
        }
        contact.initial.bristles = Bristles::States(states);
    } else {
        body.wrench[1] = Signal::linear(&[&[(0.0, 0.0), (0.2, load)], &steps[..]].concat()).unwrap();
    }
    contact
}

/// Whether a sum of shares is one, but for rounding.
fn is_one(sum: f64) -> bool {
    (sum - 1.0).abs() < 1e-6
}

pub fn nothing_slips_at_rest_near_the_limit_and_all_does_in_motion(engine: &dyn Engine, _: &Limits) {
    let (mut names, mut contacts) = (Vec::new(), Vec::new());
    for &law in Law::ALL {
        for (name, cells, model) in models() {
            // Without a damper what is stiffer does not come to rest in steps of this length.
            let stiffest = if law == Law::Dahl { 1e5 } else { 1e7 };
            for sigma0 in [1e3, 1e5, stiffest] {
                names.push(format!("{law:?}, {name}, sigma0 = {sigma0}"));
                contacts.push(held(law, sigma0, cells, &model));
            }
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(PULLS + 2.0 * EVERY, 2e-4, EVERY).unwrap());
    let n = out.frames();
    let at = |t: f64| (t / EVERY).round() as usize;
    for (k, name) in names.iter().enumerate() {
        let (slip, near, twist) = (of(&out.slip, k, n), of(&out.near_limit, k, n), of(&out.twist, k, n));
        for i in at(RESTS)..=at(PULLS) {
            assert!(slip[i] == 0.0 && is_one(near[i]), "{name}: at rest, {}, {}, {:?}", slip[i], near[i], twist[i]);
        }
        for i in [at(PULLS) + 1, n - 1] {
            assert!(is_one(slip[i]) && is_one(near[i]), "{name}: slides, {}, {}, {:?}", slip[i], near[i], twist[i]);
        }
    }
}

/// A twist that is given: bristles that are dragged faster than the limit speed slip, slower ones do not, and
/// those of a patch that stands still do not, whatever their load.
pub fn what_is_dragged_slips_above_the_limit_speed_alone(engine: &dyn Engine, _: &Limits) {
    let (mut names, mut contacts) = (Vec::new(), Vec::new());
    for &law in Law::ALL {
        for (name, cells, model) in models() {
            for speed in [0.0, 0.8e-5, 1.2e-5, 1e-2] {
                let patch = shape(cells, 0.02, Shape::Square);
                let mut contact = prescribed(&patch, dry(law, MU), [0.6 * speed, 0.8 * speed, 0.0], 2.0);
                contact.model = model.clone();
                contact.initial.bristles = if speed > 0.0 { Bristles::Steady } else { Bristles::Unloaded };
                names.push((format!("{law:?}, {name}, {speed} m/s"), speed));
                contacts.push(contact);
            }
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(0.02, 1e-3, 0.01).unwrap());
    for (k, (name, speed)) in names.iter().enumerate() {
        let wanted = [*speed > 1e-5, *speed > 0.0].map(|is| f64::from(u8::from(is)));
        for (slip, near) in of(&out.slip, k, 3).iter().zip(of(&out.near_limit, k, 3)) {
            let off = (slip - wanted[0]).abs().max((near - wanted[1]).abs());
            assert!(off < 1e-6, "{name}: slip {slip}, near the limit {near}");
        }
    }
}
