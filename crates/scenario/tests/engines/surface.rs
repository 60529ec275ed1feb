//! Surfaces that move: belts, turntables, hands.

use bristle::body::{Body, Frame, TwistPoint};
use bristle::contact::{Bristles, Contact};
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::moving_surface::MovingSurface;
use bristle::patch::Shape;
use bristle::schedule::{Signal, Sine};

use crate::Limits;
use crate::common::{
    DAMPED_LAWS, WITH_THE_BODY, assert_below, assert_close, dry, free, in_hand, of, on_table, prescribed,
    prescribed_twist, rollout, series, shape,
};

const G: f64 = 9.81;

fn zero() -> Signal {
    Signal::constant(0.0)
}

/// A box that is put on a belt lags behind by `v^2/(2 mu g)`.
pub fn a_box_on_a_belt_lags_by_its_braking_distance(engine: &dyn Engine, limits: &Limits) {
    let (mu, speed, angle) = (0.3, 0.1, 0.5f64);
    let patch = shape(7, 0.02, Shape::Square);
    let mut contacts = Vec::new();
    for &law in &DAMPED_LAWS {
        for frame in [Frame::World, WITH_THE_BODY] {
            let mut contact = on_table(frame, &patch, dry(law, mu));
            contact.inputs.surface = Some(MovingSurface::new([speed * angle.cos(), speed * angle.sin(), 0.0]));
            contact.initial.pose.theta = 1.1;
            contacts.push(contact);
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(0.1, 2e-4, 0.01).unwrap());
    let Friction { sigma0, sigma1, .. } = contacts[0].friction;
    // Bending the bristles takes sigma1/sigma0 of their force as an impulse.
    let slip = speed - sigma1 / sigma0 * mu * G;
    let way = speed * 0.1 - slip * slip / (2.0 * mu * G);
    for k in 0..contacts.len() {
        let last = of(&out.pose, k, out.frames()).last().unwrap().to_array();
        let wanted = [way * angle.cos(), way * angle.sin(), 1.1];
        assert_close(&format!("contact {k}: pose"), &last, &wanted, 2.0 * mu / sigma0 + limits.steady * way);
        let twist = of(&out.twist, k, out.frames()).last().unwrap().to_array();
        assert_close(&format!("contact {k}: twist"), &twist, &[speed * angle.cos(), speed * angle.sin(), 0.0], 1e-6);
        let slips: Vec<f64> = of(&out.slip, k, out.frames()).to_vec();
        assert!(slips[1] > 0.99 && slips[10] == 0.0, "contact {k} slides at first, and not at last: {slips:?}");
    }
}

/// A load leaves a turntable where `mu g = w^2 r`.
pub fn a_turntable_throws_its_load_at_the_speed_it_must(engine: &dyn Engine, _: &Limits) {
    let (mu, radius, axis) = (0.4, 0.15, [0.03, -0.02]);
    let critical = (mu * G / radius).sqrt();
    let patch = shape(7, 0.02, Shape::Square);
    let mut contacts = Vec::new();
    for share in [0.95, 1.05] {
        for frame in [Frame::World, WITH_THE_BODY] {
            let mut contact = on_table(frame, &patch, dry(Law::ElastoPlastic, mu));
            let w = Signal::linear(&[(0.0, 0.0), (1.0, share * critical), (1.2, share * critical)]).unwrap();
            contact.inputs.surface = Some(MovingSurface { twist: [zero(), zero(), w], at: axis });
            contact.initial.pose = [axis[0] + radius, axis[1], 0.0].into();
            contacts.push(contact);
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(1.2, 2e-4, 0.6).unwrap());
    for k in 0..contacts.len() {
        let last = of(&out.pose, k, out.frames()).last().unwrap();
        let [x, y] = [last.x - axis[0], last.y - axis[1]];
        if k > 1 {
            assert!(x.hypot(y) > radius + 1e-3, "contact {k} is thrown: {} m from the axis", x.hypot(y));
            continue;
        }
        let angle = 0.7 * 0.95 * critical;
        let wanted = [radius * angle.cos(), radius * angle.sin(), angle];
        assert_close(&format!("contact {k}: rides along"), &[x, y, last.theta], &wanted, 1e-5);
    }
}

/// A hand that accelerates keeps what friction can accelerate.
pub fn a_hand_loses_its_object_at_the_acceleration_it_must(engine: &dyn Engine, _: &Limits) {
    let (mu, grip, angle) = (0.5, 1.5, 0.7f64);
    let patch = shape(9, 0.02, Shape::Disc);
    let most = 2.0 * mu * grip / 0.2;
    let contact = |share: f64| {
        let along = |e: f64| {
            let v = share * most * 0.2 * e;
            Signal::linear(&[(0.0, 0.0), (0.05, 0.0), (0.25, v)]).unwrap()
        };
        let mut contact = in_hand(&patch, dry(Law::ElastoPlastic, mu), [0.0; 3], Signal::constant(grip));
        free(&mut contact).gravity = [zero(), zero()];
        contact.inputs.surface =
            Some(MovingSurface { twist: [along(angle.cos()), along(angle.sin()), zero()], at: [0.0; 2] });
        contact
    };
    let contacts = [contact(0.97), contact(1.05)];
    let out = rollout(engine, &contacts, &Plan::new(0.25, 2e-4, 0.05).unwrap());
    let frames = out.frames();
    let held = of(&out.pose, 0, frames).last().unwrap().to_array();
    assert_close("held", &held, &[0.0; 3], 2.0 * mu / 1e6);
    let behind = -0.5 * 0.05 * most * 0.2 * 0.2;
    // At the start of the slip the damper takes up some of the speed.
    let lost = of(&out.pose, 1, frames).last().unwrap().to_array();
    assert_close("lost", &lost, &[behind * angle.cos(), behind * angle.sin(), 0.0], 0.025 * behind.abs());
    let twist = of(&out.twist, 1, frames).last().unwrap().to_array();
    let speed = -0.05 * most * 0.2;
    assert_close("its twist in the hand", &twist, &[speed * angle.cos(), speed * angle.sin(), 0.0], 0.025 * -speed);
}

/// What holds nothing leaves the object where it is in the world, so that its pose in the hand is the inverse
/// of the hand's motion.
pub fn an_open_hand_turns_away_from_its_object(engine: &dyn Engine, limits: &Limits) {
    let patch = shape(5, 0.02, Shape::Disc);
    let mut contact = in_hand(&patch, Friction::default(), [0.01, -0.02, 0.3], zero());
    let at = [-0.1, 0.05];
    let w = Signal::linear(&[(0.0, 2.0), (0.3, 8.0)]).unwrap();
    contact.inputs.surface = Some(MovingSurface { twist: [zero(), zero(), w], at });
    let body = free(&mut contact);
    body.gravity = [zero(), zero()];
    // At rest in the world.
    body.twist = [2.0 * (-0.02 - at[1]), -2.0 * (0.01 - at[0]), -2.0].into();
    let out = rollout(engine, &[contact], &Plan::new(0.3, 1e-4, 0.1).unwrap());
    for (t, q) in out.time.iter().zip(&out.pose) {
        let angle = 2.0 * t + 10.0 * t * t;
        let (sin, cos) = angle.sin_cos();
        let (x, y) = (0.01 - at[0], -0.02 - at[1]);
        let wanted = [cos * x + sin * y + at[0], -sin * x + cos * y + at[1], 0.3 - angle];
        assert_close(&format!("pose at {t} s"), &q.to_array(), &wanted, 1e-6 + limits.steady);
    }
}

/// An object that is held in a hand on an arc has the acceleration of the arc, and its weight turns in the
/// hand.
pub fn a_grip_on_an_arc_carries_weight_and_centripetal_force(engine: &dyn Engine, limits: &Limits) {
    let (w, mass, at, com) = (3.0, 0.2, [-0.2, 0.02], [0.01, -0.005]);
    let patch = shape(9, 0.02, Shape::Disc);
    let mut contacts = Vec::new();
    for &law in &DAMPED_LAWS {
        let mut contact = in_hand(&patch, dry(law, 0.9), [com[0], com[1], 0.4], Signal::constant(20.0));
        contact.inputs.surface = Some(MovingSurface { at, ..MovingSurface::new([0.0, 0.0, w]) });
        contacts.push(contact);
    }
    let out = rollout(engine, &contacts, &Plan::new(0.3, 2e-4, 0.1).unwrap());
    for (k, contact) in contacts.iter().enumerate() {
        for n in 1..out.frames() {
            let angle: f64 = w * out.time[n];
            let (sin, cos) = angle.sin_cos();
            // m (a - g) in axes of the hand.
            let force = [mass * (-w * w * (com[0] - at[0]) + G * sin), mass * (-w * w * (com[1] - at[1]) + G * cos)];
            let torque = com[0] * force[1] - com[1] * force[0];
            let pad = of(&out.wrench, k, out.frames())[n];
            let found = [2.0 * pad.fx, 2.0 * pad.fy, 50.0 * 2.0 * pad.tau];
            // The damper feels the rounding of the hand's speed.
            let speed = w * (com[0] - at[0]).hypot(com[1] - at[1]);
            let limit =
                5e-4 + 300.0 * limits.symmetry + 4.0 * limits.last_place * speed * 40.0 * contact.friction.sigma1;
            assert_close(&format!("contact {k}, {n}"), &found, &[force[0], force[1], 50.0 * torque], limit);
            let pose = of(&out.pose, k, out.frames())[n].to_array();
            assert_close(&format!("contact {k}, {n}: place in the hand"), &pose[..2], &com, 2e-6);
            assert_close(&format!("contact {k}, {n}: angle in the hand"), &pose[2..], &[0.4], 3e-5);
        }
    }
}

/// On a surface that accelerates a body moves as on one at rest under the opposite inertial load.
pub fn an_accelerating_surface_is_one_at_rest_under_inertial_loads(engine: &dyn Engine, limits: &Limits) {
    let points = [(0.0, 0.0), (0.03, 0.2), (0.08, -0.1), (0.12, -0.1)];
    let scaled = |by: f64| Signal::linear(&points.map(|(t, v)| (t, by * v))).unwrap();
    let loads = |by: f64| {
        let slope = |i: usize| (points[i + 1].1 - points[i].1) / (points[i + 1].0 - points[i].0);
        Signal::steps(&[0, 1, 2].map(|i| (points[i].0, -by * slope(i)))).unwrap()
    };
    let way = |t: f64| {
        let pieces = points.windows(2).map(|w| {
            let ((t0, v0), (t1, v1)) = (w[0], w[1]);
            let d = (t.min(t1) - t0).max(0.0);
            v0 * d + 0.5 * (v1 - v0) / (t1 - t0) * d * d
        });
        pieces.sum::<f64>()
    };
    let patch = shape(8, 0.03, Shape::NonConvex2);
    let mut moving = Vec::new();
    for &law in Law::ALL {
        let friction = Friction { mu_c: 0.25, mu_s: 0.3, law, ..Friction::default() };
        for frame in [Frame::World, Frame::Body { offset: [0.004, -0.002] }] {
            let mut contact = on_table(frame, &patch, friction);
            free(&mut contact).twist = [0.0, 0.03, 1.5].into();
            moving.push(contact);
        }
        let mut held = in_hand(&patch, friction, [0.01, 0.004, 0.2], Signal::constant(2.5));
        free(&mut held).twist = [0.02, 0.0, -1.0].into();
        moving.push(held);
    }
    let mut resting = moving.clone();
    for (a, b) in moving.iter_mut().zip(&mut resting) {
        a.inputs.surface = Some(MovingSurface { twist: [scaled(1.0), scaled(-0.5), zero()], at: [0.3, 0.1] });
        let body = free(b);
        body.wrench = [loads(body.mass), loads(-0.5 * body.mass), zero()];
    }
    let plan = Plan::new(0.12, 1e-4, 0.02).unwrap();
    let [a, b] = [&moving, &resting].map(|contacts| rollout(engine, contacts, &plan));
    let n = a.frames();
    for k in 0..moving.len() {
        let is_held = k % 3 == 2;
        for (c, by) in [(0, 1.0), (1, -0.5), (2, 0.0)] {
            let carried: Vec<f64> = a.time.iter().map(|t| if is_held { 0.0 } else { by * way(*t) }).collect();
            let wanted: Vec<f64> = series(&b.pose, k, n, c).iter().zip(&carried).map(|(q, d)| q + d).collect();
            let limit = limits.symmetry * if c == 2 { 0.1 } else { 0.01 };
            assert_close(&format!("contact {k}: pose {c}"), &series(&a.pose, k, n, c), &wanted, limit);
        }
    }
}

/// A hand that spins up around its object is a hand at rest under the opposite torque.
pub fn a_spinning_hand_is_one_at_rest_under_a_torque(engine: &dyn Engine, limits: &Limits) {
    let patch = shape(8, 0.03, Shape::Square);
    let mut moving = Vec::new();
    for &law in Law::ALL {
        let friction = Friction { mu_c: 0.25, mu_s: 0.3, law, ..Friction::default() };
        let mut contact = in_hand(&patch, friction, [0.0; 3], Signal::constant(2.5));
        let body = free(&mut contact);
        body.gravity = [zero(), zero()];
        moving.push(contact);
    }
    let mut resting = moving.clone();
    for (a, b) in moving.iter_mut().zip(&mut resting) {
        let w = Signal::linear(&[(0.0, 0.0), (0.05, 3.0), (0.1, -4.0)]).unwrap();
        a.inputs.surface = Some(MovingSurface { twist: [zero(), zero(), w], at: [0.0; 2] });
        let body = free(b);
        let torque = Signal::steps(&[(0.0, -60.0 * body.inertia), (0.05, 140.0 * body.inertia)]).unwrap();
        body.wrench = [zero(), zero(), torque];
    }
    let plan = Plan::new(0.1, 1e-4, 0.02).unwrap();
    let [a, b] = [&moving, &resting].map(|contacts| rollout(engine, contacts, &plan));
    let n = a.frames();
    for k in 0..moving.len() {
        let [found, wanted] = [&a, &b].map(|out| series(&out.pose, k, n, 2));
        assert!(wanted[n - 1].abs() > 1e-3, "contact {k} turns by {} rad", wanted[n - 1]);
        assert_close(&format!("contact {k}: turn"), &found, &wanted, 0.5 * limits.symmetry);
    }
}

/// A prescribed twist counts relative to the surface, and so do the bristles at the start.
pub fn a_prescribed_twist_is_felt_relative_to_the_surface(engine: &dyn Engine, limits: &Limits) {
    let wave =
        |mean: f64, amplitude: f64, phase: f64| Signal::sines(mean, vec![Sine { amplitude, omega: 80.0, phase }]);
    let patch = shape(9, 0.02, Shape::Disc);
    let at = [0.012, -0.03];
    let (mut moving, mut resting) = (Vec::new(), Vec::new());
    for &law in Law::ALL {
        for bristles in [Bristles::Unloaded, Bristles::Steady] {
            let mut own = prescribed(&patch, Friction { law, ..Friction::default() }, [0.0; 3], 2.0);
            own.initial.bristles = bristles;
            let Body::Prescribed { at: point, .. } = &mut own.body else { unreachable!() };
            *point = TwistPoint::Origin;
            let mut relative = own.clone();
            *prescribed_twist(&mut own) = [wave(0.02, 0.0, 0.0), wave(0.0, 0.01, 0.3), wave(0.5, 2.0, 1.0)];
            // v - w z^ x at, of a surface whose angular velocity is 1.5 + 3 sin.
            own.inputs.surface =
                Some(MovingSurface { twist: [wave(-0.01, 0.0, 0.0), zero(), wave(1.5, 3.0, 1.0)], at });
            *prescribed_twist(&mut relative) = [
                wave(0.03 - 1.5 * at[1], -3.0 * at[1], 1.0),
                Signal::sines(
                    1.5 * at[0],
                    vec![
                        Sine { amplitude: 0.01, omega: 80.0, phase: 0.3 },
                        Sine { amplitude: 3.0 * at[0], omega: 80.0, phase: 1.0 },
                    ],
                ),
                wave(-1.0, -1.0, 1.0),
            ];
            moving.push(own);
            resting.push(relative);
        }
    }
    let plan = Plan::new(0.1, 1e-4, 0.01).unwrap();
    let [a, b] = [&moving, &resting].map(|contacts| rollout(engine, contacts, &plan));
    let n = a.frames();
    for k in 0..moving.len() {
        for (c, size) in [(0, 2.0), (1, 2.0), (2, 0.02)] {
            let [found, wanted] = [&a, &b].map(|out| series(&out.wrench, k, n, c));
            assert_close(&format!("contact {k}: wrench {c}"), &found, &wanted, size * limits.prescribed);
        }
        let slips = [&a, &b].map(|out| of(&out.slip, k, n).to_vec());
        assert_close(&format!("contact {k}: slip"), &slips[0], &slips[1], 0.02);
        assert_below("the turn is that of the patch", (series(&a.pose, k, n, 2)[0]).abs(), 0.0);
    }
}

/// A surface whose twist is zero is one at rest.
pub fn a_surface_that_does_not_move_is_one_at_rest(engine: &dyn Engine, limits: &Limits) {
    let patch = shape(8, 0.03, Shape::NonConvex2);
    let friction = Friction { mu_c: 0.3, mu_s: 0.4, ..Friction::default() };
    let mut resting: Vec<Contact> = [Frame::World, Frame::Body { offset: [0.004, -0.002] }]
        .map(|frame| {
            let mut contact = on_table(frame, &patch, friction);
            free(&mut contact).twist = [0.1, 0.03, 2.5].into();
            contact
        })
        .to_vec();
    resting.push(in_hand(&patch, friction, [0.01, 0.004, 0.2], Signal::constant(2.5)));
    resting.push(prescribed(&patch, friction, [0.02, 0.01, 1.0], 2.0));
    let mut moving = resting.clone();
    moving.iter_mut().for_each(|c| c.inputs.surface = Some(MovingSurface::new([0.0; 3])));
    let plan = Plan::new(0.1, 1e-4, 0.02).unwrap();
    let [a, b] = [&moving, &resting].map(|contacts| rollout(engine, contacts, &plan));
    let n = a.frames();
    for k in 0..moving.len() {
        for c in 0..3 {
            let [found, wanted] = [&a, &b].map(|out| series(&out.pose, k, n, c));
            assert_close(&format!("contact {k}: pose {c}"), &found, &wanted, 0.1 * limits.symmetry);
        }
    }
}
