//! Cases with an analytic solution.

use bristle::body::Frame;
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::patch::Shape;
use bristle::schedule::Signal;
use bristle_scenario::Scenario;

use crate::Limits;
use crate::common::{
    WITH_THE_BODY, assert_below, assert_close, dry, free, in_hand, of, on_table, prescribed, rollout, series, shape,
    sliding_friction,
};

pub fn pure_sliding_takes_mu_times_the_normal_force(engine: &dyn Engine, limits: &Limits) {
    let patch = shape(9, 0.02, Shape::NonConvex2);
    let (mut contacts, mut wanted) = (Vec::new(), Vec::new());
    let angle = 0.6f64;
    for &law in Law::ALL {
        for gamma in [2.0, 1.0, 0.6] {
            let friction = Friction { law, mu_c: 0.7, mu_s: 0.9, gamma, v_s: 2e-3, ..Friction::default() };
            // Far above the Stribeck velocity, at it, and at half of it.
            for speed in [0.05, 2e-3, 1e-3] {
                let twist = [speed * angle.cos(), speed * angle.sin(), 0.0];
                contacts.push(prescribed(&patch, friction, twist, 3.0));
                let g = 0.7 + 0.2 * (-(speed / 2e-3).powf(gamma)).exp();
                // A steady state is held to two last places, which the damper feels sigma1 v/g times as
                // large.
                let held = 2.0 * limits.last_place * friction.sigma1 * speed / g;
                wanted.push((3.0 * sliding_friction(&friction, speed), limits.steady + held));
            }
        }
    }
    let plan = Plan::new(0.05, 2e-4, 0.05).unwrap();
    let out = rollout(engine, &contacts, &plan);
    for (k, (force, limit)) in wanted.into_iter().enumerate() {
        let wrench = of(&out.wrench, k, 2)[1];
        let found = [wrench.fx / -angle.cos() / force, wrench.fy / -angle.sin() / force];
        assert_close(&format!("contact {k}: force over the wanted one"), &found, &[1.0, 1.0], limit);
        let about_cop = wrench.about(patch.cop()).tau / (force * patch.radius());
        assert_close(&format!("contact {k}: torque about the centre of pressure"), &[about_cop], &[0.0], limit);
    }
}

pub fn spinning_disc_takes_two_thirds_of_mu_f_n_r(engine: &dyn Engine, _: &Limits) {
    let (mu, f_n, radius) = (0.6, 5.0, 0.01);
    // Even numbers: no cell sits at the centre of rotation.
    let cells = [8, 16, 32, 64];
    let contacts: Vec<_> = cells
        .iter()
        .flat_map(|&n| {
            let spinning =
                move |law: &Law| prescribed(&shape(n, 0.02, Shape::Disc), dry(*law, mu), [0.0, 0.0, 100.0], f_n);
            Law::ALL.iter().map(spinning)
        })
        .collect();
    let out = rollout(engine, &contacts, &Plan::new(0.01, 2e-4, 0.01).unwrap());
    let wanted = -2.0 / 3.0 * mu * f_n * radius;
    let error = |k: usize| (of(&out.wrench, k, 2)[1].tau / wanted - 1.0).abs();
    let laws = Law::ALL.len();
    for law in 0..laws {
        let errors = [0, 1, 2, 3].map(|n| error(laws * n + law));
        let order = (errors[0] / errors[3]).log2() / 3.0;
        assert!(errors[3] < 1e-3 && order > 1.4, "errors {errors:?} with {cells:?} cells: order {order}");
    }
}

pub fn stick_oscillates_at_the_bristles_frequency_with_second_order(engine: &dyn Engine, _: &Limits) {
    // Without damping a sticking patch is a spring: x = v0/omega sin(omega t), omega^2 = sigma0 f_N n_s / m.
    let spring = Friction { sigma0: 1e4, sigma1: 0.0, ..dry(Law::ElastoPlastic, 1.0) };
    let patch = shape(5, 0.02, Shape::Square);
    let mut one_pad = on_table(Frame::World, &patch, spring);
    one_pad.inputs.normal_force = Signal::constant(1.0);
    let mut two_pads = in_hand(&patch, spring, [0.0; 3], Signal::constant(0.5));
    free(&mut two_pads).gravity = [Signal::constant(0.0), Signal::constant(0.0)];
    let mut contacts = [one_pad, two_pads];
    let speed = 4e-3;
    let omega = contacts.each_mut().map(|c| {
        let stiffness = c.friction.sigma0 * c.inputs.normal_force.value(0.0);
        let body = free(c);
        body.twist.vx = speed;
        (stiffness * f64::from(body.pads) / body.mass).sqrt()
    });
    let runs = [4e-4, 2e-4].map(|h| rollout(engine, &contacts, &Plan::new(0.1, h, 2e-3).unwrap()));
    for (k, omega) in omega.into_iter().enumerate() {
        let n = runs[0].frames();
        let exact: Vec<f64> = runs[0].time.iter().map(|t| speed / omega * (omega * t).sin()).collect();
        let [coarse, fine] = [0, 1].map(|run| series(&runs[run].pose, k, n, 0));
        let error = |x: &[f64]| x.iter().zip(&exact).map(|(x, e)| (x - e).abs()).fold(0.0, f64::max);
        let order = (error(&coarse) / error(&fine)).log2();
        assert!((1.85..2.15).contains(&order), "contact {k}: order {order}");
        // What is left when the step goes to zero.
        let limit: Vec<f64> = coarse.iter().zip(&fine).map(|(c, f)| f + (f - c) / 3.0).collect();
        assert_close(&format!("contact {k}: x"), &limit, &exact, 1e-3 * speed / omega);
        assert_close(&format!("contact {k}: y"), &series(&runs[1].pose, k, n, 1), &vec![0.0; n], 1e-12);
    }
}

/// The bristles of a body that starts in motion are loaded within microseconds, which takes speed that no
/// later step can make up for.
pub fn a_body_set_in_motion_loses_the_speed_that_bends_its_bristles(engine: &dyn Engine, _: &Limits) {
    let patch = shape(15, 0.04, Shape::Disc);
    let mut contacts: Vec<_> = Law::ALL
        .iter()
        .flat_map(|&law| [1e5, 1e6].map(|sigma0| (law, sigma0)))
        .map(|(law, sigma0)| {
            let friction = Friction { sigma0, sigma1: 3e-3 * sigma0, ..dry(law, 0.3) };
            let mut contact = on_table(Frame::World, &patch, friction);
            free(&mut contact).twist = [0.5, 0.1, 4.0].into();
            contact
        })
        .collect();
    // A turn about a distant centre of mass moves the patch, too.
    let mut on_a_lever = contacts[2].clone();
    let body = free(&mut on_a_lever);
    body.twist = [0.0, 0.0, 5.0].into();
    (body.frame, body.inertia) = (Frame::Body { offset: [0.06, -0.08] }, 5e-3);
    contacts.push(on_a_lever.clone());
    free(&mut on_a_lever).frame = Frame::Gripper;
    on_a_lever.initial.pose = [0.1, 0.0, 0.0].into();
    contacts.push(on_a_lever);
    let end = |engine: &dyn Engine, step: f64| rollout(engine, &contacts, &Plan::new(0.05, step, 0.05).unwrap()).pose;
    let (found, wanted) = (end(engine, 2e-4), end(&Cpu::new(), 2e-6));
    for k in 0..contacts.len() {
        let [a, b] = [found[2 * k + 1], wanted[2 * k + 1]].map(bristle::Pose::to_array);
        assert_close(&format!("contact {k}: x, y"), &a[..2], &b[..2], 2e-7);
        assert_close(&format!("contact {k}: theta"), &a[2..], &b[2..], 2e-6);
    }
}

pub fn sliding_body_stops_where_its_energy_is_spent(engine: &dyn Engine, limits: &Limits) {
    let (mu, speed, angle) = (0.3, 0.1, 0.5f64);
    let patch = shape(7, 0.02, Shape::Square);
    let mut contacts = Vec::new();
    for &law in Law::ALL {
        for frame in [Frame::World, WITH_THE_BODY] {
            let mut contact = on_table(frame, &patch, dry(law, mu));
            free(&mut contact).twist = [speed * angle.cos(), speed * angle.sin(), 0.0].into();
            contact.initial.pose.theta = 1.1;
            contacts.push(contact);
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(0.1, 2e-4, 0.01).unwrap());
    // Bending the bristles takes sigma1/sigma0 of their force as an impulse, under Dahl's law none; then
    // friction is mu m g.
    let Friction { sigma0, sigma1, .. } = contacts[0].friction;
    let distance = |law: Law| {
        let bent = if law == Law::Dahl { speed } else { speed - sigma1 / sigma0 * mu * 9.81 };
        bent * bent / (2.0 * mu * 9.81)
    };
    // They bend before they slide, and spring back.
    let bend = 2.0 * mu / sigma0;
    for (k, contact) in contacts.iter().enumerate() {
        let distance = distance(contact.friction.law);
        let last = of(&out.pose, k, out.frames()).last().unwrap().to_array();
        let wanted = [distance * angle.cos(), distance * angle.sin(), 1.1];
        assert_close(&format!("contact {k}: pose at rest"), &last, &wanted, bend + limits.steady * distance);
        let twist = of(&out.twist, k, out.frames()).last().unwrap().to_array();
        // Without a damper it swings on its bristles, at first with all that they have stored.
        let swing = if contact.friction.law == Law::Dahl { mu * (9.81 / sigma0).sqrt() } else { 1e-6 };
        assert_close(&format!("contact {k}: twist at rest"), &twist, &[0.0; 3], swing);
    }
}

pub fn tilted_table_holds_below_the_friction_angle_and_lets_go_above(engine: &dyn Engine, limits: &Limits) {
    let (mu, direction) = (0.5f64, 2.2f64);
    let at = |share: f64, kind: &str| {
        let angle = share * mu.atan();
        let text = format!(
            r#"
            duration = 0.2
            record_every = 0.1
            patch = {{ shape = "disc", cells = 8 }}
            friction = {{ mu_c = {mu}, mu_s = {mu}, sigma2 = 0 }}
            body = {{ kind = "{kind}", mass = 0.7, inertia = {{ disc = 0.03 }} }}
            inputs = {{ tilt = {{ angle = {angle}, direction = {direction} }} }}
            "#
        );
        let scenario = Scenario::parse(&text, ".".as_ref(), "tilt").unwrap();
        (scenario.contact(0).unwrap(), 9.81 * (angle.sin() - mu * angle.cos()))
    };
    let cases = [at(0.85, "world"), at(0.85, "body"), at(1.2, "world"), at(1.2, "body")];
    let contacts = cases.clone().map(|(contact, _)| contact);
    let out = rollout(engine, &contacts, &Plan::new(0.2, 2e-4, 0.1).unwrap());
    for (k, (_, acceleration)) in cases.iter().enumerate() {
        let pose = |c: usize| series(&out.pose, k, 3, c);
        let twist = |c: usize| series(&out.twist, k, 3, c);
        let slip = of(&out.slip, k, 3)[2];
        assert_below("turn", pose(2)[2].abs(), 1e-6);
        if *acceleration < 0.0 {
            let way = pose(0)[2].hypot(pose(1)[2]);
            assert_below(&format!("contact {k}: way of a body that sticks"), way, mu / 1e6);
            assert_eq!(slip, 0.0, "contact {k} sticks");
            continue;
        }
        // From 0.1 s on it slides, and speeds up evenly.
        for (c, along) in [direction.cos(), direction.sin()].into_iter().enumerate() {
            let (q, u) = (pose(c), twist(c));
            let gained = u[2] - u[1];
            let way = q[2] - q[1] - 0.1 * u[1];
            let wanted = [0.1 * acceleration * along, 0.005 * acceleration * along];
            assert_close(&format!("contact {k}: speed and way"), &[gained, way], &wanted, limits.steady);
        }
        assert!((slip - 1.0).abs() < 1e-6, "contact {k} slides everywhere: {slip}");
    }
}
