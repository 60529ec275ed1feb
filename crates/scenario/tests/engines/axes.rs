//! Friction by direction.

use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

use bristle::body::Frame;
use bristle::contact::{Bristles, Contact, Form, Model};
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::limit_surface::{Rule, Surface, Table};
use bristle::patch::{Exponent, FrictionAxes, Grid, Hertz, Patch, Shape};
use bristle::planar::{Twist, Wrench};
use bristle::random::Draw;
use bristle::schedule::{Signal, Sine};

use crate::Limits;
use crate::common::{
    DAMPED_LAWS, Dice, WITH_THE_BODY, assert_close, dry, free, of, on_table, prescribed, prescribed_twist, rollout,
    shape,
};
use crate::regions::{become_steady, every_second_slides, under_a_share};

fn with_axes(patch: &Patch, across: f64, angle: f64) -> Arc<Patch> {
    Arc::new(patch.clone().with_friction_axes(FrictionAxes::new(across, angle).unwrap()))
}

/// The models of a patch: a grid, and reduced bristles.
fn models(patch: &Patch) -> [Model; 3] {
    let table = Arc::new(Table::new(patch, Rule::Points, 40).unwrap());
    [Model::Distributed, Model::LimitSurface(table, Form::Consistent), Model::Ellipsoid(Form::Consistent)]
}

/// Grids whose cells are in the lanes of one contact, and in those of several.
const CELLS: [usize; 2] = [5, 11];

/// `-f_N sum w g(|A v|) A^2 v/|A v|`: the normal of the ellipse of friction is along the velocity, and the
/// power is negative. From maps that follow the normal force and factors by region too, at once for bristles
/// that start steady, and for reduced bristles in translation.
pub fn steady_sliding_is_along_the_normal_of_the_ellipse(engine: &dyn Engine, limits: &Limits) {
    let mut contacts = Vec::new();
    for k in 0..24 {
        let d = Dice(Draw::new(13, k));
        let n = CELLS[k as usize % 2];
        let friction = Friction {
            law: d.pick("law", Law::ALL),
            gamma: d.pick("gamma", &[2.0, 1.0]),
            v_s: d.log("v_s", 1e-3, 0.1),
            sigma2: d.between("sigma2", 0.0, 2.0),
            ..Friction::default()
        };
        let (speed, angle) = (d.log("speed", 0.02, 0.2), d.between("angle", 0.0, 6.3));
        let turn = if k < 16 { d.between("w", -50.0, 50.0) } else { 0.0 };
        let twist = [speed * angle.cos(), speed * angle.sin(), speed * turn];
        let (across, axis) = (d.log("across", 0.25, 2.0), d.pick("axis", &[0.0, FRAC_PI_2, 0.4, 2.5]));
        let flat = shape(n, 0.02, d.pick("map", &[Shape::Square, Shape::Circle, Shape::LineGradient]));
        let patch = with_axes(&flat, across, axis);
        let mut contact = prescribed(&patch, friction, twist, d.log("f_n", 0.1, 20.0));
        if k >= 16 {
            contact.model = models(&patch)[1 + k as usize % 2].clone();
        } else if k >= 12 {
            let rule = Hertz { radius: 2.0, exponent: Exponent::Fixed(2.5) };
            let hertz = Patch::hertz(Grid::new(n, n, 0.02, 0.03).unwrap(), rule, 0.5).unwrap();
            contact.patch = with_axes(&hertz, across, axis);
            contact.inputs.normal_force = Signal::linear(&[(0.0, 0.5), (0.01, 6.0)]).unwrap();
            contact.inputs.remap_every = Some(1e-3);
        } else if k % 4 == 3 {
            let factors: Vec<f64> = flat.grid().centres().map(|[x, y]| (40.0 * x - 70.0 * y).exp()).collect();
            contact.patch = Arc::new(Patch::clone(&patch).with_friction_map(&factors).unwrap());
        }
        if !contact.patch.changes() && k % 3 == 0 {
            contact.initial.bristles = Bristles::Steady;
        }
        contacts.push(contact);
    }
    become_steady(engine, &contacts, |c| {
        // A table is a chord between two of its 160 directions.
        let chord = if matches!(c.model, Model::LimitSurface(..)) { 2e-4 } else { 0.0 };
        let share = if c.patch.changes() { 4.0 } else { 2.0 };
        share * limits.steady + chord
    });
}

/// A bristle that sticks is `across^2` times as stiff across the axis.
pub fn what_sticks_is_as_stiff_as_the_square_of_its_friction(engine: &dyn Engine, limits: &Limits) {
    let (across, angle, move_to) = (0.4, 0.7f64, [2e-7, -1e-7]);
    let friction = Friction { s_ba: 0.95, ..dry(Law::ElastoPlastic, 0.6) };
    let mut contacts = Vec::new();
    for n in CELLS {
        let patch = with_axes(&shape(n, 0.02, Shape::Square), across, angle);
        for model in models(&patch) {
            let twist = [move_to[0] / 0.02, move_to[1] / 0.02, 0.0];
            contacts.push(Contact { model, ..prescribed(&patch, friction, twist, 3.0) });
        }
    }
    // The damper adds sigma1/sigma0 times the velocity to the deflection.
    let late = friction.sigma1 / friction.sigma0 / 0.02;
    let z = move_to.map(|x| x * (1.0 + late));
    let (along, over) = (angle.cos() * z[0] + angle.sin() * z[1], angle.cos() * z[1] - angle.sin() * z[0]);
    let [f1, f2] = [along, across * across * over].map(|z| -3.0 * friction.sigma0 * z);
    let wanted = [angle.cos() * f1 - angle.sin() * f2, angle.sin() * f1 + angle.cos() * f2];
    let out = rollout(engine, &contacts, &Plan::new(0.02, 2e-4, 0.02).unwrap());
    for k in 0..contacts.len() {
        let found = of(&out.wrench, k, 2)[1];
        let limit = 200.0 * limits.last_place * wanted[0].abs();
        assert_close(&format!("contact {k}"), &[found.fx, found.fy], &wanted, limit);
        assert_eq!(of(&out.slip, k, 2)[1], 0.0);
    }
}

/// A motion that changes its direction, sticks and slips, and the same one turned by a right angle with the
/// axes of friction.
pub fn what_is_turned_with_its_axes_has_a_turned_wrench(engine: &dyn Engine, limits: &Limits) {
    let sine = |amplitude, omega, phase| Signal::sines(0.0, vec![Sine { amplitude, omega, phase }]);
    let mut contacts = Vec::new();
    for n in CELLS {
        for law in [Law::LuGre, Law::ElastoPlastic] {
            let flat = shape(n, 0.02, Shape::Circle);
            let motion = [sine(0.02, 40.0, 0.0), sine(0.01, 70.0, 0.5), sine(1.0, 30.0, 1.0)];
            let turned = [sine(-0.01, 70.0, 0.5), motion[0].clone(), motion[2].clone()];
            for (motion, angle) in [(motion, 0.3), (turned, 0.3 + FRAC_PI_2)] {
                let patch = with_axes(&flat, 0.3, angle);
                for model in models(&patch) {
                    let friction = Friction { law, ..Friction::default() };
                    let mut contact = Contact { model, ..prescribed(&patch, friction, [0.0; 3], 2.0) };
                    *prescribed_twist(&mut contact) = motion.clone();
                    contacts.push(contact);
                }
            }
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(0.2, 2e-4, 0.01).unwrap());
    for k in (0..contacts.len()).filter(|k| k % 6 < 3) {
        let [a, b] = [k, k + 3].map(|k| of(&out.wrench, k, out.frames()));
        let most = a.iter().map(|w| w.fx.hypot(w.fy)).fold(0.0, f64::max);
        for (frame, (w, turned)) in a.iter().zip(b).enumerate() {
            let (found, wanted) = ([turned.fx, turned.fy, 100.0 * turned.tau], [-w.fy, w.fx, 100.0 * w.tau]);
            assert_close(&format!("contact {k}, sample {frame}"), &found, &wanted, 10.0 * limits.symmetry * most);
        }
    }
}

/// On a belt that holds ten times as much along its axis as across it a load moves a body at the velocity at
/// which friction and viscous friction are its opposite: along `A^-2` times the load.
pub fn a_body_moves_across_a_belt_that_holds_along(engine: &dyn Engine, limits: &Limits) {
    let (mu, sigma2, speed) = (0.5, 0.5, 0.02);
    let mut contacts = Vec::new();
    for (k, angle) in [0.0, 0.6].into_iter().enumerate() {
        let axes = FrictionAxes::new(0.1, angle).unwrap();
        let patch = with_axes(&shape(CELLS[k], 0.03, Shape::Square), 0.1, angle);
        for law in [Law::LuGre, Law::ElastoPlastic] {
            let friction = Friction { sigma2, ..dry(law, mu) };
            let mut contact = on_table(Frame::World, &patch, friction);
            let f_n = contact.inputs.normal_force.value(0.0);
            // The velocity of the isotropic bristles, along the axis and across it.
            let (along, across) = (0.8 * speed, 0.6 * speed);
            let direction = [angle.cos() * along - angle.sin() * across, angle.sin() * along + angle.cos() * across];
            let twist = axes.twist(Twist::new(direction[0], direction[1], 0.0));
            let load = axes.wrench(Wrench::new(direction[0], direction[1], 0.0) * (f_n * (mu / speed + sigma2)));
            free(&mut contact).twist = twist;
            free(&mut contact).wrench = load.to_array().map(Signal::constant);
            contact.initial.bristles = Bristles::Steady;
            contacts.push(contact);
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(0.1, 2e-4, 0.05).unwrap());
    for (k, c) in contacts.iter().enumerate() {
        let first = of(&out.twist, k, 3)[0];
        for frame in 1..3 {
            let found = of(&out.twist, k, 3)[frame].to_array();
            let limit = 20.0 * limits.steady * first.vx.hypot(first.vy);
            assert_close(&format!("contact {k}, sample {frame}"), &found[..2], &first.to_array()[..2], limit);
        }
        let angle = c.patch.friction_axes().unwrap().angle();
        let [along, across] =
            [angle.cos() * first.vx + angle.sin() * first.vy, angle.cos() * first.vy - angle.sin() * first.vx];
        assert!(across > 7.0 * along, "a load along both moves it across: {along} {across}");
    }
}

/// A body holds under a load inside the limit surface of its patch, and slides under one outside.
pub fn a_body_holds_inside_the_limit_surface_of_its_axes(engine: &dyn Engine, _: &Limits) {
    let mu = 0.5;
    let mut contacts = Vec::new();
    for (k, n) in CELLS.into_iter().enumerate() {
        let patch = with_axes(&shape(n, 0.04, Shape::LineGradient), 0.3, [0.0, 0.8][k]);
        let surface = Surface::new(&patch, Rule::Points);
        for (i, model) in models(&patch).into_iter().take(2).enumerate() {
            // The last law has no table.
            for &law in &DAMPED_LAWS[1..3 - i] {
                let frame = if k == 0 { Frame::World } else { WITH_THE_BODY };
                let mut contact = Contact { model: model.clone(), ..on_table(frame, &patch, dry(law, mu)) };
                // A table is between its nodes where no grid is.
                let shares = [[0.96, 1.06], [0.94, 1.1]][i];
                contacts.extend(shares.map(|share| under_a_share(&mut contact, &surface, mu, share)));
            }
        }
    }
    every_second_slides(engine, &contacts, 1e-4);
}
