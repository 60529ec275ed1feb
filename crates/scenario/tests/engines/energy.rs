//! Friction takes energy: from bristles that are not bent, its work on what moves relative to each other is
//! never positive.

use std::sync::Arc;

use bristle::body::{Body, Frame, TwistPoint};
use bristle::contact::Contact;
use bristle::engine::{Engine, Plan, Trajectories};
use bristle::friction::{Friction, Law};
use bristle::moving_surface::MovingSurface;
use bristle::patch::{FrictionAxes, Patch, Shape};
use bristle::planar::{Twist, Wrench};
use bristle::random::Draw;
use bristle::schedule::{Signal, Sine};

use super::several::{compound, stool};
use crate::Limits;
use crate::common::{Dice, WITH_THE_BODY, free, of, on_table, prescribed, prescribed_twist, rollout, shape};

/// Largest work over the sum of its changes, which sampling leaves: a sample is one of some ten steps while
/// bristles load.
const SAMPLING: f64 = 2e-3;

fn dice(seed: u64, k: u64) -> Dice {
    Dice(Draw::new(seed, k))
}

/// A wave that begins and goes on with velocities up to `most`.
fn wave(d: &Dice, of: [&str; 3], most: f64) -> Signal {
    let [amplitude, omega, phase] = of;
    let sine = Sine {
        amplitude: d.log(amplitude, 0.05 * most, most),
        omega: d.between(omega, 20.0, 90.0),
        phase: d.between(phase, 0.0, 6.3),
    };
    Signal::sines(0.0, vec![sine])
}

/// A patch with friction that differs by direction, by region, by both or not at all; every fourth is of
/// three feet.
fn patch(k: u64, d: &Dice) -> Arc<Patch> {
    let n = [5, 9][(k / 4) as usize % 2];
    let map = d.pick("map", &[Shape::Disc, Shape::LineGradient, Shape::Circle]);
    let mut patch = match k % 4 {
        3 => Patch::clone(&compound(&stool(3, 0.02, [1.0, 0.5, 1.5]))),
        _ => Patch::clone(&shape(n, 0.03, map)),
    };
    if k % 4 == 1 {
        let factors: Vec<f64> = patch.grid().centres().map(|[x, y]| (30.0 * x - 50.0 * y).exp()).collect();
        patch = patch.with_friction_map(&factors).unwrap();
    }
    if k % 4 > 1 || k % 8 == 1 {
        let axes = FrictionAxes::new(d.log("across", 0.1, 3.0), d.between("angle", 0.0, 3.1)).unwrap();
        patch = patch.with_friction_axes(axes);
    }
    Arc::new(patch)
}

fn friction(k: u64, d: &Dice) -> Friction {
    let law =
        if k.is_multiple_of(4) { d.pick("law", Law::ALL) } else { d.pick("law", &[Law::LuGre, Law::ElastoPlastic]) };
    Friction { law, sigma2: d.between("sigma2", 0.0, 1.0), ..Friction::default() }
}

fn moving(d: &Dice) -> MovingSurface {
    let twist =
        [wave(d, ["ax", "ox", "px"], 0.05), wave(d, ["ay", "oy", "py"], 0.05), wave(d, ["aw", "ow", "pw"], 3.0)];
    MovingSurface { twist, at: [d.between("x", -0.05, 0.05), d.between("y", -0.05, 0.05)] }
}

/// The twist of a surface at time `t`, at a place in its axes.
fn of_surface(surface: &MovingSurface, t: f64, place: [f64; 2]) -> Twist {
    let [vx, vy, w] = surface.twist.each_ref().map(|signal| signal.value(t));
    Twist::new(vx, vy, w).at([place[0] - surface.at[0], place[1] - surface.at[1]])
}

/// Checks that what `power` [W] gives in the samples has never added up to more than sampling leaves, and
/// that it has taken something.
fn takes(what: &str, time: &[f64], power: &[f64]) {
    let (mut work, mut turnover, mut most) = (0.0, 0.0, 0.0f64);
    for (t, p) in time.windows(2).zip(power.windows(2)) {
        work += 0.5 * (p[0] + p[1]) * (t[1] - t[0]);
        turnover += 0.5 * (p[0].abs() + p[1].abs()) * (t[1] - t[0]);
        most = most.max(work);
    }
    assert!(most <= SAMPLING * turnover, "{what}: friction gives {most} J of {turnover} J");
    assert!(work < -0.7 * turnover, "{what}: friction takes {work} J of {turnover} J");
}

/// The twist of a patch and that of its surface are both given.
pub fn friction_takes_work_from_what_is_led(engine: &dyn Engine, _: &Limits) {
    let contact = |k| {
        let d = dice(31, k);
        let mut contact = prescribed(&patch(k, &d), friction(k, &d), [0.0; 3], d.log("f_n", 0.5, 8.0));
        *prescribed_twist(&mut contact) =
            [wave(&d, ["bx", "qx", "rx"], 0.05), wave(&d, ["by", "qy", "ry"], 0.05), wave(&d, ["bw", "qw", "rw"], 3.0)];
        let Body::Prescribed { at, .. } = &mut contact.body else { unreachable!() };
        *at = TwistPoint::Origin;
        contact.inputs.surface = Some(moving(&d));
        contact
    };
    let contacts: Vec<Contact> = (0..24).map(contact).collect();
    let out = rollout(engine, &contacts, &Plan::new(0.2, 1e-4, 1e-4).unwrap());
    for (k, contact) in contacts.iter().enumerate() {
        let surface = contact.inputs.surface.as_ref().unwrap();
        // Both twists have the axes of the patch, and its origin is that of the surface's places.
        let power = |(n, t): (usize, &f64)| {
            let own = of(&out.twist, k, out.frames())[n];
            let under = of_surface(surface, *t, [0.0; 2]);
            let relative = Twist::new(own.vx - under.vx, own.vy - under.vy, own.w - under.w);
            of(&out.wrench, k, out.frames())[n].power(relative)
        };
        takes(&format!("contact {k}"), &out.time, &out.time.iter().enumerate().map(power).collect::<Vec<_>>());
    }
}

/// A body that slides on a table that moves and turns: what its kinetic energy loses, and what the table puts
/// in, friction takes.
pub fn friction_takes_what_a_table_puts_in_and_a_body_loses(engine: &dyn Engine, _: &Limits) {
    let contact = |k| {
        let d = dice(37, k);
        let frame = if k % 2 == 0 { Frame::World } else { WITH_THE_BODY };
        let mut contact = on_table(frame, &patch(k / 2, &d), friction(k / 2, &d));
        free(&mut contact).twist =
            [d.between("vx", -0.3, 0.3), d.between("vy", -0.3, 0.3), d.between("w", -5.0, 5.0)].into();
        contact.initial.pose =
            [d.between("qx", -0.1, 0.1), d.between("qy", -0.1, 0.1), d.between("angle", 0.0, 6.0)].into();
        contact.inputs.surface = Some(moving(&d));
        contact
    };
    let contacts: Vec<Contact> = (0..24).map(contact).collect();
    let out = rollout(engine, &contacts, &Plan::new(0.2, 1e-4, 1e-4).unwrap());
    for (k, contact) in contacts.iter().enumerate() {
        let power = power_on_table(contact, k, &out);
        // The first step bends the bristles: in it friction is no line between two samples.
        takes(&format!("contact {k}"), &out.time[2..], &power[1..]);
    }
}

/// The change of the body's kinetic energy and the work on the table, over the time between two samples.
fn power_on_table(contact: &Contact, k: usize, out: &Trajectories) -> Vec<f64> {
    let (n, body, surface) = (out.frames(), contact.body.free().unwrap(), contact.inputs.surface.as_ref().unwrap());
    let (poses, twists, wrenches) = (of(&out.pose, k, n), of(&out.twist, k, n), of(&out.wrench, k, n));
    let energy = |v: &Twist| 0.5 * body.mass * (v.vx * v.vx + v.vy * v.vy) + 0.5 * body.inertia * v.w * v.w;
    let on_table = |i: usize| {
        let Wrench { fx, fy, tau } = wrenches[i];
        // The axes of the patch are the world's, or the body's.
        let angle = if matches!(body.frame, Frame::World) { 0.0 } else { poses[i].theta };
        let (sin, cos) = angle.sin_cos();
        let wrench = Wrench::new(cos * fx - sin * fy, sin * fx + cos * fy, tau);
        -wrench.power(of_surface(surface, out.time[i], [poses[i].x, poses[i].y]))
    };
    let between = |i: usize| {
        let gained = (energy(&twists[i]) - energy(&twists[i - 1])) / (out.time[i] - out.time[i - 1]);
        gained + 0.5 * (on_table(i - 1) + on_table(i))
    };
    (1..n).map(between).collect()
}
