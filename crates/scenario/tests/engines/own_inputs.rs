//! Several patches with normal forces and surface motions of their own.

use std::f64::consts::{FRAC_PI_2, TAU};
use std::sync::Arc;

use bristle::Cpu;
use bristle::body::Frame;
use bristle::contact::{Bristles, Contact, PatchInputs};
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::moving_surface::MovingSurface;
use bristle::patch::{FrictionAxes, Patch, Placed, Shape};
use bristle::planar::{Twist, Wrench};
use bristle::random::Draw;
use bristle::schedule::{Signal, Sine};
use nalgebra::{Matrix3, Vector3};

use crate::Limits;
use crate::common::{Dice, WITH_THE_BODY, assert_close, dry, free, in_hand, of, on_table, prescribed, rollout};
use crate::several::{compound, placed, steady, stool};

const G: f64 = 9.81;

fn wave(mean: f64, amplitude: f64, omega: f64, phase: f64) -> Signal {
    Signal::sines(mean, vec![Sine { amplitude, omega, phase }])
}

/// Patches at random places press with forces that change, on surfaces that move by themselves: after 80 ms
/// of sliding, and at once where they start so, friction is the sum of that of every patch, from the geometry
/// alone.
pub fn steady_sliding_sums_the_friction_at_each_surface(engine: &dyn Engine, limits: &Limits) {
    let end = 0.08;
    let (mut contacts, mut of_each) = (Vec::new(), Vec::new());
    for k in 0..12 {
        let d = Dice(Draw::new(15, k));
        let friction = Friction {
            law: d.pick("law", Law::ALL),
            v_s: d.log("v_s", 1e-3, 0.1),
            sigma2: d.between("sigma2", 0.0, 2.0),
            ..Friction::default()
        };
        let (mut patches, mut own, mut twists) = (Vec::new(), Vec::new(), Vec::new());
        for p in 0..2 + k % 3 {
            let of = |name: &str| format!("{name} {p}");
            let at =
                [d.between(&of("x"), -0.04, 0.04), d.between(&of("y"), -0.04, 0.04), d.between(&of("turn"), -3.0, 3.0)];
            let n = [3, 7][(k + p) as usize % 2];
            let factor = if k % 2 == 0 { 1.0 } else { d.log(&of("friction"), 0.3, 2.0) };
            let (first, last) = (d.between(&of("force"), 0.5, 2.0), d.between(&of("last"), 0.5, 2.0));
            let surface =
                ["vx", "vy", "w"].map(|name| d.between(&of(name), -0.2, 0.2)).map(|v| if k == 3 { 0.0 } else { v });
            let surface = [surface[0], surface[1], 30.0 * surface[2]];
            let about = [d.between(&of("about x"), -0.05, 0.05), 0.01];
            let force = Signal::linear(&[(0.0, first), (end, last)]).unwrap();
            let moving = MovingSurface { at: about, ..MovingSurface::new(surface) };
            own.push(PatchInputs {
                normal_force: (k % 4 < 3).then_some(force),
                surface: (k % 3 < 2 || p == 0).then_some(moving),
            });
            let twist = Twist::from(surface).at(about.map(|x| -x));
            twists.push(if k % 3 < 2 || p == 0 { twist } else { Twist::default() });
            patches
                .push((placed(n, d.between(&of("size"), 0.005, 0.02), Shape::Circle, at, 1.0, factor), [first, last]));
        }
        let (speed, angle) = (d.log("speed", 0.3, 0.6), d.between("angle", 0.0, 6.3));
        let shape: Vec<Placed> = patches.iter().map(|(placed, _)| placed.clone()).collect();
        let twist = [speed * angle.cos(), speed * angle.sin(), d.between("w", -4.0, 4.0)];
        let mut contact = prescribed(&compound(&shape), friction, twist, patches.len() as f64);
        contact.inputs.patches = own;
        if k % 2 == 0 {
            contact.initial.bristles = Bristles::Steady;
        }
        contacts.push(contact);
        of_each.push((patches, twists));
    }
    let out = rollout(engine, &contacts, &Plan::new(end, 2e-4, end).unwrap());
    for (k, (c, (patches, surfaces))) in contacts.iter().zip(&of_each).enumerate() {
        let starts_steady = c.initial.bristles == Bristles::Steady;
        for frame in if starts_steady { 0..2 } else { 1..2 } {
            let twist = of(&out.twist, k, 2)[frame];
            let (mut wanted, mut f_n) = (Wrench::default(), 0.0);
            for ((placed, forces), surface) in patches.iter().zip(surfaces) {
                let force = if c.inputs.patches[0].normal_force.is_some() { forces[frame] } else { 1.0 };
                let slip = Twist::new(twist.vx - surface.vx, twist.vy - surface.vy, twist.w - surface.w);
                wanted = wanted + steady(std::slice::from_ref(placed), &c.friction, slip, force);
                f_n += force;
            }
            let found = of(&out.wrench, k, 2)[frame];
            assert!((of(&out.normal_force, k, 2)[frame] - f_n).abs() < 1e-6 * f_n, "contact {k}: the forces sum");
            let limit = 2.0 * limits.steady * 2.0 * f_n;
            let [found, wanted] = [found, wanted].map(Wrench::to_array);
            assert_close(&format!("contact {k}, sample {frame}: force"), &found[..2], &wanted[..2], limit);
            assert_close(&format!("contact {k}, sample {frame}: torque"), &found[2..], &wanted[2..], 0.06 * limit);
        }
    }
}

/// A body on three to five feet is pushed at a height: after 80 ms of sliding friction is that of the feet
/// under loads whose centre of pressure is ahead of that at rest by the height times the push over the normal
/// force. Iteration finds these loads here, from friction by the geometry of each foot.
pub fn a_push_above_the_surface_loads_the_feet_ahead(engine: &dyn Engine, limits: &Limits) {
    let (end, f_n) = (0.08, 3.0);
    let (mut contacts, mut of_each) = (Vec::new(), Vec::new());
    for k in 0..12 {
        let d = Dice(Draw::new(19, k));
        let friction = Friction {
            law: d.pick("law", Law::ALL),
            v_s: d.log("v_s", 1e-3, 0.1),
            sigma2: d.between("sigma2", 0.0, 0.2),
            ..Friction::default()
        };
        let count = 3 + k % 3;
        let foot = |p: u64| {
            let of = |name: &str| format!("{name} {p}");
            let angle = TAU / count as f64 * p as f64 + d.between(&of("angle"), -0.3, 0.3);
            let (sin, cos) = angle.sin_cos();
            let far = d.between(&of("far"), 0.03, 0.06);
            let at = [far * cos, far * sin, d.between(&of("turn"), -3.0, 3.0)];
            let factor = if k % 2 == 0 { 1.0 } else { d.between(&of("friction"), 0.7, 1.3) };
            placed([3, 5][k as usize % 2], 0.01, Shape::Disc, at, d.between(&of("force"), 1.0, 1.5), factor)
        };
        let feet: Vec<Placed> = (0..count).map(foot).collect();
        let (speed, angle) = (d.log("speed", 0.3, 0.6), d.between("angle", 0.0, 6.3));
        let twist = [speed * angle.cos(), speed * angle.sin(), d.between("w", -10.0, 10.0)];
        let mut contact = prescribed(&compound(&feet), friction, twist, f_n);
        contact.inputs.patches = vec![PatchInputs::default(); feet.len()];
        contact.inputs.push_height = match k {
            9 => 1e-300,
            11 => 0.0,
            _ => d.between("height", 0.002, 0.012),
        };
        if k % 2 == 0 {
            contact.initial.bristles = Bristles::Steady;
        }
        contacts.push(contact);
        of_each.push(feet);
    }
    let out = rollout(engine, &contacts, &Plan::new(end, 2e-4, end).unwrap());
    let mut moved_most = 0.0f64;
    for (k, (c, feet)) in contacts.iter().zip(&of_each).enumerate() {
        let all: f64 = feet.iter().map(|foot| foot.force).sum();
        let rest: Vec<f64> = feet.iter().map(|foot| foot.force / all).collect();
        let twist = of(&out.twist, k, 2)[1];
        let alone: Vec<Wrench> =
            feet.iter().map(|foot| steady(std::slice::from_ref(foot), &c.friction, twist, 1.0)).collect();
        let sum = |shares: &[f64], number: &dyn Fn(usize) -> f64| {
            shares.iter().enumerate().map(|(p, share)| share * number(p)).sum::<f64>()
        };
        // A rigid body on equal springs: the loads change by a linear function of the place.
        let rows: Vec<Vector3<f64>> = feet.iter().map(|foot| Vector3::new(1.0, foot.at.x, foot.at.y)).collect();
        let square: Matrix3<f64> = rows.iter().map(|row| row * row.transpose()).sum();
        let mut shares = rest.clone();
        for _ in 0..400 {
            let push = [-sum(&shares, &|p| alone[p].fx), -sum(&shares, &|p| alone[p].fy)];
            let moment = c.inputs.push_height * Vector3::new(0.0, push[0], push[1]);
            let tilt = square.lu().solve(&moment).unwrap();
            shares.iter_mut().zip(rest.iter().zip(&rows)).for_each(|(to, (rest, row))| *to = rest + tilt.dot(row));
        }
        assert!(shares.iter().all(|share| *share > 0.02), "contact {k} does not tip over: {shares:?}");
        moved_most = shares.iter().zip(&rest).fold(moved_most, |most, (a, b)| most.max((a - b).abs()));
        let of_axis = |axis: fn(&Wrench) -> f64| f_n * sum(&shares, &|p| axis(&alone[p]));
        let wanted = [of_axis(|w| w.fx), of_axis(|w| w.fy), of_axis(|w| w.tau)];
        for frame in if c.initial.bristles == Bristles::Steady { 0..2 } else { 1..2 } {
            let found = of(&out.wrench, k, 2)[frame].to_array();
            let limit = 2.0 * limits.steady * 2.0 * f_n;
            assert_close(&format!("contact {k}, sample {frame}: force"), &found[..2], &wanted[..2], limit);
            assert_close(&format!("contact {k}, sample {frame}: torque"), &found[2..], &wanted[2..], 0.06 * limit);
        }
    }
    assert!(moved_most > 0.05, "some loads move: {moved_most}");
}

/// Pushes so high that feet lift, that load moves over a line of feet, or that the body tips over, on stands
/// with feet close together and at one place: engines divide the load as the one in double precision does.
pub fn a_high_push_lifts_feet(engine: &dyn Engine, limits: &Limits) {
    let (end, f_n) = (0.02, 3.0);
    let mut contacts = Vec::new();
    for k in 0..48 {
        let d = Dice(Draw::new(23, k));
        let friction = dry(d.pick("law", Law::ALL), 0.4);
        let count = 3 + k % 4;
        let mut feet: Vec<Placed> = (0..count)
            .map(|p| {
                let of = |name: &str| format!("{name} {p}");
                let at = [d.between(&of("x"), -0.1, 0.1), d.between(&of("y"), -0.1, 0.1), 0.0];
                let factor = if k % 3 > 0 { 1.0 } else { d.between(&of("friction"), 0.9, 1.1) };
                placed(3, 0.01, Shape::Disc, at, d.between(&of("force"), 1.0, 3.0), factor)
            })
            .collect();
        let by = if k % 2 == 0 { 0.005 } else { 0.0 };
        let mut beside = feet[0].clone();
        (beside.at.x, beside.at.y) = (beside.at.x + by, beside.at.y - by);
        feet.push(beside);
        let mut contact = prescribed(&compound(&feet), friction, [d.between("vx", 0.3, 0.6), 0.2, 0.0], f_n);
        contact.inputs.patches = vec![PatchInputs::default(); feet.len()];
        contact.inputs.push_height = d.between("height", 0.05, 0.6);
        contact.initial.bristles = Bristles::Steady;
        contacts.push(contact);
    }
    // In each sample the load is divided by an iteration of its own.
    for every in [end, 2e-4] {
        let plan = Plan::new(end, 2e-4, every).unwrap();
        let (out, wanted) = (rollout(engine, &contacts, &plan), rollout(&Cpu::new(), &contacts, &plan));
        let n = out.frames();
        for (k, i) in (0..contacts.len()).flat_map(|k| (1..n).map(move |i| (k, i))) {
            let [found, wanted] = [&out, &wanted].map(|out| of(&out.wrench, k, n)[i].to_array());
            // Shares in single precision are those of matrices of bad condition where feet are close.
            let limit = 20.0 * limits.steady * f_n;
            assert_close(&format!("contact {k}, sample {i} of {n}: force"), &found[..2], &wanted[..2], limit);
            assert_close(&format!("contact {k}, sample {i} of {n}: torque"), &found[2..], &wanted[2..], 0.1 * limit);
        }
    }
}

/// Patches whose forces keep their shares move as patches with these shares; patches whose surfaces all move
/// alike, as on a surface that moves so.
pub fn inputs_of_all_patches_are_those_of_the_contact(engine: &dyn Engine, limits: &Limits) {
    let friction = Friction { law: Law::ElastoPlastic, ..Friction::default() };
    let forces = [0.5, 0.3, 0.2];
    let mut feet = stool(4, 0.01, [1.0, 0.7, 1.2]);
    feet.iter_mut().zip(forces).for_each(|(foot, force)| foot.force = force);
    let axes = FrictionAxes::new(0.5, 0.4).unwrap();
    let plain = compound(&feet);
    let directed = Arc::new(Patch::clone(&plain).with_friction_axes(axes));
    let grip = |share: f64| Signal::linear(&[(0.0, 1.6 * share), (0.2, 0.5 * share)]).unwrap();
    let mut contacts = Vec::new();
    for patch in [&plain, &directed] {
        let held = in_hand(patch, friction, [0.012, 0.004, 0.2], grip(1.0));
        let mut own = held.clone();
        own.inputs.patches =
            forces.map(|share| PatchInputs { normal_force: Some(grip(share)), surface: None }).to_vec();
        contacts.extend([held, own]);
        for frame in [Frame::World, WITH_THE_BODY] {
            let mut moved = on_table(frame, patch, friction);
            let twist = |share: f64| {
                [
                    wave(share * 0.1, share * 0.05, 40.0, 0.3),
                    wave(0.0, share * 0.1, 30.0, 0.0),
                    wave(share, share, 20.0, 0.0),
                ]
            };
            let surface = |share: f64| MovingSurface { twist: twist(share), at: [0.05, -0.02] };
            moved.initial.pose = [0.02, 0.01, 0.4].into();
            let mut own = moved.clone();
            moved.inputs.surface = Some(surface(1.0));
            // A part of the motion may be that of the contact.
            let share = if matches!(frame, Frame::World) { 1.0 } else { 0.25 };
            own.inputs.surface = (share < 1.0).then(|| surface(1.0 - share));
            own.inputs.patches = vec![PatchInputs { normal_force: None, surface: Some(surface(share)) }; 3];
            contacts.extend([moved, own]);
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(0.2, 1e-4, 0.01).unwrap());
    let frames = out.frames();
    for k in (1..contacts.len()).step_by(2) {
        let start = contacts[k].initial.pose;
        let [found, wanted] = [k, k - 1].map(|k| of(&out.pose, k, frames));
        let most = wanted.iter().map(|q| (q.x - start.x).hypot(q.y - start.y)).fold(0.0, f64::max);
        assert!(most > 1e-4, "contact {k} moves: {most}");
        // The pose ahead, at which a surface that turns is evaluated, is another one.
        let limit = if k % 6 == 1 { limits.symmetry } else { limits.symmetry.max(1e-4) };
        for (q, wanted) in found.iter().zip(wanted) {
            let [q, wanted] = [*q, *wanted].map(|q| [q.x, q.y, 0.02 * q.theta]);
            assert_close(&format!("contact {k}"), &q, &wanted, limit * most);
        }
    }
}

/// A plank on two belts that run towards each other: with the same force on both it stays, and with forces
/// that swing by the share `a` it swings by `a mu g/w^2`, Timoshenko's plank on two rollers with its forces
/// given.
pub fn a_plank_on_two_belts_swings_as_its_forces_do(engine: &dyn Engine, limits: &Limits) {
    let (mu, share, omega, speed) = (0.3, 0.4, 40.0, 0.5);
    let belts = [-0.05, 0.05].map(|x| placed(5, 0.01, Shape::Square, [x, 0.0, 0.0], 1.0, 1.0));
    let patch = compound(&belts);
    let mut contacts = Vec::new();
    for share in [0.0, share] {
        for frame in [Frame::World, Frame::Body { offset: [0.0; 2] }] {
            let mut contact = on_table(frame, &patch, dry(Law::ElastoPlastic, mu));
            let weight = free(&mut contact).mass * G;
            // It begins where it is slowest.
            free(&mut contact).twist = Twist::default();
            contact.initial.bristles = Bristles::Steady;
            contact.inputs.patches = [1.0, -1.0]
                .map(|side| PatchInputs {
                    normal_force: Some(wave(0.5 * weight, 0.5 * side * share * weight, omega, FRAC_PI_2)),
                    surface: Some(MovingSurface::new([side * speed, 0.0, 0.0])),
                })
                .to_vec();
            contacts.push(contact);
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(0.3, 1e-4, 0.02).unwrap());
    let amplitude = share * mu * G / (omega * omega);
    for (k, contact) in contacts.iter().enumerate() {
        for (i, q) in of(&out.pose, k, out.frames()).iter().enumerate() {
            let t = out.time[i];
            let x = if k < 2 { 0.0 } else { amplitude * (1.0 - (omega * t).cos()) };
            let start = contact.initial.pose;
            let found = [q.x - start.x, q.y - start.y, 0.1 * (q.theta - start.theta)];
            // Second order in the step.
            let limit = limits.free.max(limits.steady) * amplitude + 2e-5 * amplitude;
            assert_close(&format!("contact {k} at {t} s"), &found, &[x, 0.0, 0.0], limit);
        }
    }
}

/// A foot that is lifted takes no part, whatever its surface does, and takes it again when it is put down.
pub fn a_lifted_foot_takes_no_part(engine: &dyn Engine, limits: &Limits) {
    let mu = 0.4;
    let feet = [[-0.03, 0.0], [0.03, 0.0]].map(|[x, y]| placed(5, 0.01, Shape::Square, [x, y, 0.0], 1.0, 1.0));
    let patch = compound(&feet);
    let lifted = Signal::steps(&[(0.0, 5.0), (0.02, -3.0), (0.04, 5.0)]).unwrap();
    let mut contacts = Vec::new();
    for law in [Law::ElastoPlastic, Law::Dahl, Law::ViscoelastoPlastic] {
        let mut contact = prescribed(&patch, dry(law, mu), [0.2, 0.0, 0.0], 1.0);
        contact.initial.bristles = Bristles::Steady;
        contact.inputs.patches = vec![
            PatchInputs { normal_force: Some(Signal::constant(5.0)), surface: None },
            PatchInputs { normal_force: Some(lifted.clone()), surface: Some(MovingSurface::new([0.5, 0.0, 0.0])) },
        ];
        contacts.push(contact);
    }
    let out = rollout(engine, &contacts, &Plan::new(0.06, 2e-4, 0.01).unwrap());
    for k in 0..contacts.len() {
        for (i, t) in out.time.iter().enumerate() {
            let (found, f_n) = (of(&out.wrench, k, out.frames())[i], of(&out.normal_force, k, out.frames())[i]);
            // The one foot brakes, the other, whose surface is faster, drives; samples have the inputs
            // before.
            let is_lifted = *t > 0.02 + 1e-9 && *t < 0.04 + 1e-9;
            let wanted = if is_lifted { -5.0 * mu } else { 0.0 };
            assert_close(&format!("contact {k} at {t} s"), &[found.fx, found.fy], &[wanted, 0.0], 20.0 * limits.steady);
            assert!((f_n - if is_lifted { 5.0 } else { 10.0 }).abs() < 1e-6, "contact {k} at {t} s: {f_n} N");
        }
    }
}

/// Two feet in a hand whose surfaces turn: a body of its own between two motors, for random tests.
pub fn with_inputs_of_their_own(contact: &mut Contact, between: &dyn Fn(&str, f64, f64) -> f64, forces: bool) {
    let f_n = contact.inputs.normal_force.value(0.0);
    let own = |k: usize| {
        let name = |what: &str| format!("{what} of part {k}");
        let signal = |what: &str, mean: f64, most: f64| {
            let (size, omega) = (between(&name(what), 0.0, most), between(&name("omega"), 20.0, 120.0));
            wave(mean, size, omega, between(&name("phase"), -3.0, 3.0))
        };
        let share = contact.patch.parts()[k].share();
        PatchInputs {
            normal_force: forces.then(|| signal("force", share * f_n, 0.7 * share * f_n)),
            surface: Some(MovingSurface {
                twist: [signal("vx", 0.0, 0.1), signal("vy", 0.0, 0.1), signal("w", 0.0, 4.0)],
                at: [between(&name("at"), -0.1, 0.0), 0.02],
            }),
        }
    };
    contact.inputs.patches = (0..contact.patch.parts().len()).map(own).collect();
}
