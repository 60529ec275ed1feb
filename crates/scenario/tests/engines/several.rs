//! Several patches on one body.

use std::f64::consts::{FRAC_PI_2, TAU};
use std::sync::Arc;

use bristle::body::Frame;
use bristle::contact::{Bristles, Form, Model};
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::limit_surface::{Rule, Surface, Table};
use bristle::patch::{Patch, Placed, Shape};
use bristle::planar::{Pose, Twist, Wrench};
use bristle::random::Draw;
use bristle::schedule::Signal;

use crate::Limits;
use crate::common::{
    DAMPED_LAWS, Dice, WITH_THE_BODY, assert_close, dry, free, in_hand, of, on_table, prescribed, rollout, shape,
    sliding_friction,
};
use crate::regions::{every_second_slides, under_a_share};

/// Cells on a side of the patches: few, whose cells are in the lanes of one contact, and more.
const CELLS: [usize; 2] = [3, 7];

pub fn placed(n: usize, size: f64, of: Shape, at: [f64; 3], force: f64, friction: f64) -> Placed {
    Placed { patch: Patch::clone(&shape(n, size, of)), at: at.into(), force, friction }
}

pub fn compound(patches: &[Placed]) -> Arc<Patch> {
    Arc::new(Patch::compound(patches).unwrap())
}

/// Three feet `radius` [m] from the middle, each of `n` x `n` cells.
pub fn stool(n: usize, radius: f64, friction: [f64; 3]) -> Vec<Placed> {
    let foot = |k: usize| {
        let (sin, cos) = (k as f64 * TAU / 3.0).sin_cos();
        placed(n, 0.01, Shape::Disc, [radius * cos, radius * sin, 0.4 * k as f64], 1.0, friction[k])
    };
    (0..3).map(foot).collect()
}

/// `-sum s_p R_p W_p` from the geometry of the patches alone: the friction of every cell of every patch at
/// its velocity, with the part `s_p` of the normal force.
pub fn steady(patches: &[Placed], f: &Friction, twist: Twist, f_n: f64) -> Wrench {
    let all: f64 = patches.iter().map(|placed| placed.force).sum();
    let mut sum = Wrench::default();
    for Placed { patch, at, force, friction } in patches {
        for cell in patch.cells() {
            let (sin, cos) = at.theta.sin_cos();
            let [x, y] = [at.x + cos * cell.x - sin * cell.y, at.y + sin * cell.x + cos * cell.y];
            let [vx, vy] = twist.velocity([x, y]);
            let speed = vx.hypot(vy);
            let viscous = if f.law == Law::Dahl { 0.0 } else { f.sigma2 * speed };
            let size = friction * (sliding_friction(f, speed) - viscous) + viscous;
            let [fx, fy] = [vx, vy].map(|v| -f_n * force / all * cell.w * size * v / speed);
            sum = sum + Wrench::new(fx, fy, x * fy - y * fx);
        }
    }
    sum
}

/// Patches at random places, turned and loaded at random, slide steadily after 80 ms, and those that start so
/// at once, with the sum of their friction; reduced bristles in translation.
pub fn steady_sliding_sums_the_friction_of_the_patches(engine: &dyn Engine, limits: &Limits) {
    let end = 0.08;
    let (mut contacts, mut of_each) = (Vec::new(), Vec::new());
    for k in 0..20 {
        let d = Dice(Draw::new(14, k));
        let friction = Friction {
            law: d.pick("law", Law::ALL),
            gamma: d.pick("gamma", &[2.0, 1.0]),
            v_s: d.log("v_s", 1e-3, 0.1),
            sigma2: d.between("sigma2", 0.0, 2.0),
            ..Friction::default()
        };
        let patches: Vec<Placed> = (0..2 + k % 3)
            .map(|p| {
                let of = |name: &str| format!("{name} {p}");
                let map = d.pick(&of("map"), &[Shape::Square, Shape::Circle, Shape::LineGradient]);
                let n = CELLS[(k + p) as usize % 2];
                let at = [
                    d.between(&of("x"), -0.04, 0.04),
                    d.between(&of("y"), -0.04, 0.04),
                    d.between(&of("turn"), -3.0, 3.0),
                ];
                let factor = if k % 2 == 0 { 1.0 } else { d.log(&of("friction"), 0.3, 2.0) };
                placed(n, d.between(&of("size"), 0.005, 0.02), map, at, d.between(&of("force"), 0.5, 2.0), factor)
            })
            .collect();
        let (speed, angle) = (d.log("speed", 0.02, 0.2), d.between("angle", 0.0, 6.3));
        let turn = if k < 14 { d.between("w", -20.0, 20.0) } else { 0.0 };
        let patch = compound(&patches);
        let twist = [speed * angle.cos(), speed * angle.sin(), speed * turn];
        let mut contact = prescribed(&patch, friction, twist, d.log("f_n", 0.1, 20.0));
        if k >= 14 && k % 2 == 0 {
            let table = Arc::new(Table::new(&patch, Rule::Cells, 40).unwrap());
            let reduced = [Model::LimitSurface(table, Form::Consistent), Model::Ellipsoid(Form::Consistent)];
            contact.model = reduced[k as usize / 2 % 2].clone();
        }
        if k % 3 == 0 {
            contact.initial.bristles = Bristles::Steady;
        }
        contacts.push(contact);
        of_each.push(patches);
    }
    let out = rollout(engine, &contacts, &Plan::new(end, 2e-4, end).unwrap());
    for (k, (c, patches)) in contacts.iter().zip(&of_each).enumerate() {
        let starts_steady = c.initial.bristles == Bristles::Steady;
        for frame in if starts_steady { 0..2 } else { 1..2 } {
            let twist = of(&out.twist, k, 2)[frame];
            let wanted = steady(patches, &c.friction, twist, c.inputs.normal_force.value(0.0));
            let found = of(&out.wrench, k, 2)[frame];
            assert!(found.power(twist) < 0.0, "contact {k}: friction dissipates");
            // A table is a chord between two of its 160 directions.
            let chord = if matches!(c.model, Model::LimitSurface(..)) { 2e-4 } else { 0.0 };
            let limit = (2.0 * limits.steady + chord) * wanted.fx.hypot(wanted.fy);
            let [found, wanted] = [found, wanted].map(Wrench::to_array);
            assert_close(&format!("contact {k}, sample {frame}: force"), &found[..2], &wanted[..2], limit);
            assert_close(&format!("contact {k}, sample {frame}: torque"), &found[2..], &wanted[2..], 0.03 * limit);
        }
    }
}

/// A patch given twice with half the force each is that patch; twice in one place with the whole force, two
/// pads; a patch of which each half is given is that patch; and all patches turned are a turned patch.
pub fn a_patch_in_parts_moves_as_the_whole(engine: &dyn Engine, limits: &Limits) {
    let friction = Friction { law: Law::ElastoPlastic, ..Friction::default() };
    let mut contacts = Vec::new();
    for n in [4, 8] {
        let whole = shape(n, 0.02, Shape::Square);
        let twice = |force: f64| [0, 1].map(|_| placed(n, 0.02, Shape::Square, [0.0; 3], force, 1.0));
        let halves = [-0.005, 0.005].map(|x| {
            let patch = Patch::from_fn(bristle::patch::Grid::new(n / 2, n, 0.01, 0.02).unwrap(), |_, _| 1.0).unwrap();
            Placed { patch, at: Pose::new(x, 0.0, 0.0), force: 3.0, friction: 1.0 }
        });
        let turned = [placed(n, 0.02, Shape::Square, [0.0, 0.0, FRAC_PI_2], 1.0, 1.0)];
        let grip = Signal::linear(&[(0.0, 1.6), (0.2, 0.5)]).unwrap();
        let held = |patch: &Arc<Patch>| in_hand(patch, friction, [0.012, 0.004, 0.2], grip.clone());
        contacts.push(held(&whole));
        for patch in [compound(&twice(0.5)), compound(&halves), compound(&turned)] {
            contacts.push(held(&patch));
        }
        // Two pads of a gripper are four patches with half of the force each.
        let mut four = held(&compound(&[twice(1.0), twice(1.0)].concat()));
        free(&mut four).pads = 1;
        four.inputs.normal_force = Signal::linear(&[(0.0, 3.2), (0.2, 1.0)]).unwrap();
        contacts.push(four);
    }
    let out = rollout(engine, &contacts, &Plan::new(0.2, 2e-4, 0.01).unwrap());
    for k in (0..contacts.len()).filter(|k| k % 5 > 0) {
        let frames = out.frames();
        let [found, wanted] = [k, k - k % 5].map(|k| of(&out.pose, k, frames));
        let most = wanted.iter().map(|q| (q.x - 0.012).hypot(q.y - 0.004)).fold(0.0, f64::max);
        assert!(most > 1e-4, "it slides: {most}");
        for (q, wanted) in found.iter().zip(wanted) {
            let [q, wanted] = [*q, *wanted].map(|q| [q.x, q.y, 0.02 * q.theta]);
            assert_close(&format!("contact {k}"), &q, &wanted, limits.symmetry * most);
        }
    }
}

/// A stool holds under a load inside the limit surface of its three feet, and slides under one outside.
pub fn a_stool_holds_inside_the_limit_surface_of_its_feet(engine: &dyn Engine, _: &Limits) {
    let mu = 0.5;
    let mut contacts = Vec::new();
    for (k, n) in CELLS.into_iter().enumerate() {
        let patch = compound(&stool(n, 0.03, [1.0, 0.6, 1.4]));
        let surface = Surface::new(&patch, Rule::Points);
        for law in [DAMPED_LAWS[1], DAMPED_LAWS[2]] {
            let mut contact = on_table(if k == 0 { Frame::World } else { WITH_THE_BODY }, &patch, dry(law, mu));
            contacts.extend([0.96, 1.04].map(|share| under_a_share(&mut contact, &surface, mu, share)));
        }
    }
    every_second_slides(engine, &contacts, 2e-5);
}
