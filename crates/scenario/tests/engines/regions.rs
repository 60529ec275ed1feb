//! Friction by region.

use std::sync::Arc;

use bristle::body::Frame;
use bristle::contact::{Bristles, Contact};
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::limit_surface::{Rule, Surface};
use bristle::patch::{Exponent, Grid, Hertz, Patch, Shape};
use bristle::planar::{Twist, Wrench};
use bristle::random::Draw;
use bristle::schedule::Signal;

use crate::Limits;
use crate::common::{
    DAMPED_LAWS, Dice, WITH_THE_BODY, assert_close, dry, free, in_hand, of, on_table, prescribed, rollout, shape,
    sliding_friction,
};

/// The patch with a factor of friction at every place.
fn by_place(patch: &Patch, factor: impl Fn(f64, f64) -> f64) -> Arc<Patch> {
    let factors: Vec<f64> = patch.grid().centres().map(|[x, y]| factor(x, y)).collect();
    Arc::new(patch.clone().with_friction_map(&factors).unwrap())
}

/// Grids whose cells are in the lanes of one contact, and in those of several.
const CELLS: [usize; 2] = [5, 11];

pub fn one_factor_everywhere_is_another_coefficient(engine: &dyn Engine, limits: &Limits) {
    let factor = 0.6;
    let mut contacts = Vec::new();
    for n in CELLS {
        for &law in Law::ALL {
            let patch = shape(n, 0.02, Shape::Circle);
            let friction = Friction { law, ..Friction::default() };
            let less = Friction { mu_c: factor * friction.mu_c, mu_s: factor * friction.mu_s, ..friction };
            let grip = Signal::steps(&[(0.0, 4.0), (0.05, 1.2), (0.1, 4.0)]).unwrap();
            let held = |patch: &Arc<Patch>, friction| in_hand(patch, friction, [0.01, 0.02, 0.3], grip.clone());
            contacts.extend([held(&by_place(&patch, |_, _| factor), friction), held(&patch, less)]);
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(0.15, 2e-4, 0.05).unwrap());
    for k in (0..contacts.len()).step_by(2) {
        let last = |k: usize| *of(&out.pose, k, out.frames()).last().unwrap();
        let moved = last(k).to_array().iter().zip([0.01, 0.02, 0.3]).map(|(q, from)| (q - from).abs()).sum::<f64>();
        assert!(moved > 1e-3, "contact {k} slides: {moved}");
        let limit = limits.symmetry * moved;
        assert_close(&format!("contact {k}: pose"), &last(k).to_array(), &last(k + 1).to_array(), limit);
        let [a, b] = [k, k + 1].map(|k| of(&out.near_limit, k, out.frames()).to_vec());
        assert_close(&format!("contact {k}: near the limit"), &a, &b, 0.02);
    }
}

/// In steady sliding, from maps that follow the normal force too, and at once for
/// bristles that start steady.
pub fn steady_sliding_sums_friction_cell_by_cell(engine: &dyn Engine, limits: &Limits) {
    let mut contacts = Vec::new();
    for k in 0..16 {
        let d = Dice(Draw::new(12, k));
        let n = CELLS[k as usize % 2];
        let map = d.pick("map", &[Shape::Square, Shape::Circle, Shape::LineGradient]);
        let friction = Friction {
            law: d.pick("law", Law::ALL),
            gamma: d.pick("gamma", &[2.0, 1.0]),
            v_s: d.log("v_s", 1e-3, 0.1),
            sigma2: d.between("sigma2", 0.0, 2.0),
            ..Friction::default()
        };
        let (speed, angle) = (d.log("speed", 0.02, 0.2), d.between("angle", 0.0, 6.3));
        let twist = [speed * angle.cos(), speed * angle.sin(), speed * d.between("w", -50.0, 50.0)];
        // Halves of one coefficient each, and one that is different in every cell.
        let halves = |x: f64, _: f64| if x < 0.0 { 0.4 } else { 1.0 };
        let waves = |x: f64, y: f64| (40.0 * x - 70.0 * y).exp();
        let factor = |x, y| if k % 4 < 2 { halves(x, y) } else { waves(x, y) };
        let patch = by_place(&shape(n, 0.02, map), factor);
        let mut contact = prescribed(&patch, friction, twist, d.log("f_n", 0.1, 20.0));
        if k >= 12 {
            let rule = Hertz { radius: 2.0, exponent: Exponent::Fixed(2.5) };
            let hertz = Patch::hertz(Grid::new(n, n, 0.02, 0.02).unwrap(), rule, 0.5).unwrap();
            contact.patch = by_place(&hertz, factor);
            contact.inputs.normal_force = Signal::linear(&[(0.0, 0.5), (0.01, 6.0)]).unwrap();
            contact.inputs.remap_every = Some(1e-3);
        } else if k % 3 == 0 {
            contact.initial.bristles = Bristles::Steady;
        }
        contacts.push(contact);
    }
    become_steady(engine, &contacts, |c| if c.patch.changes() { 4.0 } else { 1.0 } * limits.steady);
}

/// Whether contacts slide steadily after 80 ms, and those that start so at once, to a `limit` relative to the
/// force, and dissipate.
pub fn become_steady(engine: &dyn Engine, contacts: &[Contact], limit: impl Fn(&Contact) -> f64) {
    let end = 0.08;
    let out = rollout(engine, contacts, &Plan::new(end, 2e-4, end).unwrap());
    for (k, c) in contacts.iter().enumerate() {
        let starts_steady = c.initial.bristles == Bristles::Steady;
        for frame in if starts_steady { 0..2 } else { 1..2 } {
            let twist = of(&out.twist, k, 2)[frame];
            let f_n = c.inputs.normal_force.value(if frame == 0 { 0.0 } else { end });
            let wanted = steady(c, twist, f_n);
            let found = of(&out.wrench, k, 2)[frame];
            assert!(found.power(twist) < 0.0, "contact {k}: friction dissipates");
            let limit = limit(c) * wanted.fx.hypot(wanted.fy);
            let [found, wanted] = [found, wanted].map(Wrench::to_array);
            assert_close(&format!("contact {k}, sample {frame}: force"), &found[..2], &wanted[..2], limit);
            assert_close(&format!("contact {k}, sample {frame}: torque"), &found[2..], &wanted[2..], 0.01 * limit);
        }
    }
}

/// `-f_N sum w (f g(s) + sigma2 s) A^2 v/s` with `s = |A v|`; `A` is the unit matrix without axes.
fn steady(c: &Contact, twist: Twist, f_n: f64) -> Wrench {
    let patch = c.patch.under(f_n);
    let f = c.friction;
    let (ratio, angle) = patch.friction_axes().map_or((1.0, 0.0), |axes| (axes.across(), axes.angle()));
    let [sin, cos] = [angle.sin(), angle.cos()];
    let mut sum = Wrench::default();
    for (i, [x, y]) in patch.grid().centres().enumerate() {
        let [vx, vy] = twist.velocity([x, y]);
        let (along, across) = (cos * vx + sin * vy, ratio * (cos * vy - sin * vx));
        let speed = along.hypot(across);
        let viscous = if f.law == Law::Dahl { 0.0 } else { f.sigma2 * speed };
        let friction = patch.friction_factor(i) * (sliding_friction(&f, speed) - viscous) + viscous;
        let over_speed = -f_n * patch.weights()[i] * friction / speed;
        let (f1, f2) = (over_speed * along, ratio * over_speed * across);
        let (fx, fy) = (cos * f1 - sin * f2, sin * f1 + cos * f2);
        sum = sum + Wrench::new(fx, fy, x * fy - y * fx);
    }
    sum
}

/// A bristle is as stiff as another, whatever its factor.
pub fn what_sticks_does_not_feel_the_factors(engine: &dyn Engine, limits: &Limits) {
    let mut contacts = Vec::new();
    for n in CELLS {
        let patch = shape(n, 0.02, Shape::Square);
        let mapped = by_place(&patch, |x, y| (40.0 * x - 70.0 * y).exp());
        for patch in [mapped, patch] {
            let friction = Friction { s_ba: 0.95, ..dry(Law::ElastoPlastic, 0.6) };
            contacts.push(prescribed(&patch, friction, [2e-6, -1e-6, 1e-4], 3.0));
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(0.02, 2e-4, 0.01).unwrap());
    for k in [0, 2] {
        for frame in 0..3 {
            let [found, wanted] = [k, k + 1].map(|k| of(&out.wrench, k, 3)[frame].to_array());
            let limit = 10.0 * limits.last_place * wanted[0].abs();
            assert_close(&format!("contact {k}, sample {frame}"), &found, &wanted, limit);
        }
        assert_eq!(of(&out.slip, k, 3)[2], 0.0);
    }
}

/// A body holds under a load inside the limit surface of its patch, and slides under one outside.
pub fn a_body_holds_inside_the_limit_surface_of_its_regions(engine: &dyn Engine, _: &Limits) {
    let mu = 0.5;
    let mut contacts = Vec::new();
    for (k, n) in CELLS.into_iter().enumerate() {
        let patch = by_place(&shape(n, 0.04, Shape::Square), |x, y| if x < 0.0 { 0.3 } else { 1.0 + 10.0 * y });
        let surface = Surface::new(&patch, Rule::Points);
        for law in [DAMPED_LAWS[1], DAMPED_LAWS[2]] {
            let mut contact = on_table(if k == 0 { Frame::World } else { WITH_THE_BODY }, &patch, dry(law, mu));
            contacts.extend([0.96, 1.04].map(|share| under_a_share(&mut contact, &surface, mu, share)));
        }
    }
    every_second_slides(engine, &contacts, 2e-5);
}

/// The contact under a load that grows to a share of what its patch holds, and under which it turns.
pub fn under_a_share(contact: &mut Contact, surface: &Surface, mu: f64, share: f64) -> Contact {
    let f_n = contact.inputs.normal_force.value(0.0);
    let load = Wrench::new(1.0, 0.4, 0.006);
    let margin = surface.margin(load.about(surface.patch().cop()), mu, f_n).unwrap();
    assert!(margin.factor > 0.1 && margin.twist.w.abs() > 1.0, "the patch turns as it slips: {margin:?}");
    let ramp = |c: f64| {
        let most = c * share * margin.factor;
        Signal::linear(&[(0.0, 0.0), (0.1, most), (0.2, most)]).unwrap()
    };
    free(contact).wrench = load.to_array().map(ramp);
    contact.clone()
}

/// Of each two contacts the first moves less than `held` [m], and the second slides.
pub fn every_second_slides(engine: &dyn Engine, contacts: &[Contact], held: f64) {
    let out = rollout(engine, contacts, &Plan::new(0.2, 2e-4, 0.1).unwrap());
    for k in 0..contacts.len() {
        let last = of(&out.pose, k, 3)[2];
        let moved = last.x.hypot(last.y) + 0.02 * last.theta.abs();
        let slides = k % 2 == 1;
        assert!(if slides { moved > 3e-4 } else { moved < held }, "contact {k}: slides {slides}, moved {moved} m");
    }
}
