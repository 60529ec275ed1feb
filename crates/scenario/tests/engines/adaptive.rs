//! Steps that each contact chooses for itself.

use std::sync::Arc;

use bristle::body::Frame;
use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_STEP, DEFAULT_TOLERANCE, Engine, LONGEST_STEP, Plan};
use bristle::friction::{Friction, Law};
use bristle::gpu::{Choice, Gpu};
use bristle::moving_surface::MovingSurface;
use bristle::patch::{FrictionAxes, Patch, Placed, Shape};
use bristle::planar::Pose;
use bristle::random::Draw;
use bristle::schedule::{Signal, Sine};

use crate::common::{
    Adaptive, Case, WITH_THE_BODY, cases, dry, free, in_hand, on_table, prescribed, rollout, run, shape,
};
use crate::converged::prescribed_error;
use crate::own_inputs::with_inputs_of_their_own;

/// Largest error of the positions [m] of the eight in-hand cases on the circle, and passes of the four under
/// Elasto-Plastic and of the four under LuGre.
fn error_and_passes(engine: &dyn Engine, tolerance: Option<f64>) -> (f64, [u64; 2]) {
    let cases: Vec<Case> = cases("inhand").into_iter().filter(|c| c.name.contains("circle")).collect();
    assert_eq!(cases.len(), 8);
    let (mut error, mut passes) = (0.0f64, [0; 2]);
    for case in &cases {
        let fixed = Plan { step: DEFAULT_STEP, ..case.plan.clone() };
        let plan = tolerance.map_or(fixed.clone(), |t| Plan { step: LONGEST_STEP, ..fixed }.with_tolerance(t).unwrap());
        let out = engine.rollout(std::slice::from_ref(&case.contact), &plan, &|_| true).unwrap();
        passes[usize::from(case.contact.friction.law == Law::LuGre)] += out.status[0].passes;
        for c in 0..2 {
            let found = case.samples(&out.pose, 0, out.frames(), c);
            error = found.iter().zip(case.column(c)).map(|(f, w)| (f - w).abs()).fold(error, f64::max);
        }
    }
    (error, passes)
}

#[test]
fn a_smaller_tolerance_is_more_exact_and_the_default_one_cheaper_than_fixed_steps() {
    let fixed = error_and_passes(&Cpu::new(), None);
    let found = [3e-5, 3e-6, 3e-7].map(|t| error_and_passes(&Cpu::new(), Some(t)));
    assert!(found[0].0 > 2.0 * found[1].0 && found[1].0 > 2.0 * found[2].0, "errors and passes: {found:?}");
    let ((error, chosen), steady) = (found[1], fixed.1);
    // LuGre pays for its creep, which is far slower than the tolerance and adds up.
    let cheaper = chosen[0] * 9 < steady[0] * 4 && chosen[1] * 5 < steady[1] * 3;
    assert!(cheaper && error < 1e-5, "tolerance 3e-6: {:?}, fixed steps: {fixed:?}", found[1]);
}

/// A box on a belt that swings takes as many passes in single precision as in double, also long after the
/// start, where the time has no digits for the differences within a step.
#[test]
fn a_surface_that_swings_takes_no_more_passes_in_single_precision() {
    let wave = Signal::sines(0.0, vec![Sine { amplitude: 0.2, omega: 31.4, phase: 0.3 }]);
    let belt = MovingSurface { twist: [wave, Signal::constant(0.0), Signal::constant(0.0)], at: [0.0; 2] };
    let mut contact = on_table(Frame::World, &shape(7, 0.02, Shape::Square), dry(Law::ElastoPlastic, 0.3));
    contact.inputs.surface = Some(belt);
    let plan = Plan::new(2.0, LONGEST_STEP, 2.0).unwrap().with_tolerance(DEFAULT_TOLERANCE).unwrap();
    let passes = |engine: &dyn Engine| {
        let out = engine.rollout(std::slice::from_ref(&contact), &plan, &|_| true).unwrap();
        out.status[0].passes as f64
    };
    let wanted = passes(&Cpu::new());
    for (name, found) in [("cpu", passes(&Cpu::single())), ("gpu", passes(&Gpu::new(Choice::Any).unwrap()))] {
        // They differ by less than a hundredth; with the sum of the times they are ten times as many.
        assert!(found < 1.1 * wanted, "{name}: {found} passes, f64 {wanted}");
    }
}

#[test]
fn a_long_rest_takes_the_longest_steps() {
    let mut case = cases("drift").into_iter().find(|c| c.name.contains("ep")).unwrap();
    // Nothing changes: no load but the weight, and the normal force that carries it.
    free(&mut case.contact).wrench = [0.0; 3].map(Signal::constant);
    // No falling branch, which would bound the step.
    case.contact.friction.mu_s = case.contact.friction.mu_c;
    let plan = Plan::new(1.0, 0.05, 0.1).unwrap().with_tolerance(1e-6).unwrap();
    let out = Cpu::new().rollout(std::slice::from_ref(&case.contact), &plan, &|_| true).unwrap();
    // Doubling from 2e-5 s to 0.05 s in 12 steps, then 20 in all.
    assert!(out.status[0].steps < 40, "{:?}", out.status[0]);
    assert!(run(&Cpu::new(), &[case], DEFAULT_STEP).status[0].steps > 1000);
}

/// Largest error of force and torque over their maxima, and passes, of Fig. 5 with continuous inputs on six
/// maps.
fn prescribed_error_and_passes(engine: &dyn Engine) -> (f64, u64) {
    let cases: Vec<Case> = cases("fig5").into_iter().filter(|c| !c.name.contains("zoh")).collect();
    assert_eq!(cases.len(), 12);
    let out = run(engine, &cases, DEFAULT_STEP);
    let errors = cases.iter().enumerate().flat_map(|(k, case)| prescribed_error(case, &out, k));
    (errors.fold(0.0, f64::max), out.status.iter().map(|s| s.passes).sum())
}

#[test]
fn a_smooth_prescribed_motion_is_exact_to_its_tolerance_in_a_fraction_of_the_passes() {
    let fixed = prescribed_error_and_passes(&Cpu::new());
    let found = [3e-5, DEFAULT_TOLERANCE, 3e-7].map(|t| prescribed_error_and_passes(&Adaptive::new(Cpu::new(), t)));
    for (k, tolerance) in [3e-5, DEFAULT_TOLERANCE, 3e-7].into_iter().enumerate() {
        assert!(found[k].0 < tolerance, "errors and passes: {found:?}");
    }
    assert!(found[0].0 > 3.0 * found[1].0 && found[1].0 > 3.0 * found[2].0, "errors and passes: {found:?}");
    assert!(found[1].1 * 4 < fixed.1, "errors and passes: {found:?}, fixed steps: {fixed:?}");
}

#[test]
fn steady_sliding_takes_the_longest_steps_after_the_bristles_have_bent() {
    for &law in Law::ALL {
        let friction = Friction { law, ..Friction::default() };
        // They bend in some 1e-4 s, or in less than the shortest step.
        for (speed, most) in [(0.01, 1500), (2.0, 100)] {
            let twist = [speed, 0.4 * speed, 30.0 * speed];
            for n in [9, 5] {
                let contact = prescribed(&shape(n, 0.02, Shape::Disc), friction, twist, 2.0);
                let plan = Plan::new(1.0, 0.05, 0.1).unwrap().with_tolerance(1e-6).unwrap();
                for engine in [Cpu::new(), Cpu::single(), Cpu::reference()] {
                    let status = rollout(&engine, std::slice::from_ref(&contact), &plan).status[0];
                    // Two passes a step, and few steps are taken back.
                    let few = status.steps < most && status.passes < 2 * status.steps + 60;
                    assert!(few, "{law:?}, {speed} m/s, {n} x {n}: {status:?}");
                }
            }
        }
    }
}

/// Grams under newtons with a steep Stribeck curve: where a stage of a long step has several solutions.
#[test]
fn hostile_contacts_follow_their_path_of_tiny_steps() {
    let mut errors: Vec<f64> = (0..40)
        .map(|k| {
            let draw = Draw::new(9, k);
            let [light, steep, soft, push] = ["mass", "v_s", "sigma0", "push"].map(|name| draw.uniform(name));
            let friction = Friction {
                v_s: 1e-4 * 100f64.powf(steep),
                sigma0: 1e4 * 100f64.powf(soft),
                mu_s: 1.3,
                ..Friction::default()
            };
            let mut contact = on_table(WITH_THE_BODY, &shape(3, 0.02, Shape::Square), friction);
            contact.inputs.normal_force = Signal::constant(1.0);
            let body = free(&mut contact);
            body.mass = 1e-3 * 100f64.powf(light);
            body.inertia = body.mass * 1e-4;
            body.wrench[0] = Signal::sines(1.0 + push, vec![]);
            body.wrench[2] = Signal::constant(2e-3 * push);
            let run = |plan: &Plan| Cpu::new().rollout(std::slice::from_ref(&contact), plan, &|_| true).unwrap();
            let tiny = run(&Plan::new(0.05, 1e-6, 5e-3).unwrap());
            let chosen = run(&Plan::new(0.05, LONGEST_STEP, 5e-3).unwrap().with_tolerance(DEFAULT_TOLERANCE).unwrap());
            let path = tiny.pose.iter().map(|q| q.x.hypot(q.y)).fold(1e-6, f64::max);
            let apart = |(a, b): (&Pose, &Pose)| (a.x - b.x).hypot(a.y - b.y);
            chosen.pose.iter().zip(&tiny.pose).map(apart).fold(0.0, f64::max) / path
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    assert!(errors[20] < 1e-4 && errors[36] < 1e-3, "errors over the path, sorted: {errors:?}");
}

/// Hands, belts and turntables that swing, drawn at random: at most the tolerance times the duration apart in
/// most, and never far from it.
#[test]
fn contacts_on_moving_surfaces_follow_their_path_of_tiny_steps() {
    let errors = errors_on_moving_surfaces(36, |patch, _| patch);
    assert!(errors[27] < 1.0 && errors[35] < 5.0, "errors over the tolerance times the duration: {errors:?}");
}

/// The same where friction differs by region.
#[test]
fn contacts_with_friction_maps_follow_their_path_of_tiny_steps() {
    let errors = errors_on_moving_surfaces(24, |patch, between| {
        let factors: Vec<f64> = (0..9).map(|i| between(&format!("factor {i}"), 0.3, 1.5)).collect();
        patch.with_friction_map(&factors).unwrap()
    });
    assert!(errors[17] < 1.0 && errors[23] < 5.0, "errors over the tolerance times the duration: {errors:?}");
}

/// The same where friction differs by direction.
#[test]
fn contacts_with_axes_of_friction_follow_their_path_of_tiny_steps() {
    let errors = errors_on_moving_surfaces(24, |patch, between| {
        let (across, angle) = (between("across", 0.2, 2.0), between("axis", 0.0, 3.2));
        patch.with_friction_axes(FrictionAxes::new(across, angle).unwrap())
    });
    assert!(errors[17] < 1.0 && errors[23] < 5.0, "errors over the tolerance times the duration: {errors:?}");
}

/// The same of two patches on a body, apart and turned, with shares and friction of their own.
#[test]
fn contacts_with_several_patches_follow_their_path_of_tiny_steps() {
    let errors = errors_on_moving_surfaces(24, two_patches);
    assert!(errors[17] < 1.0 && errors[23] < 5.0, "errors over the tolerance times the duration: {errors:?}");
}

/// The same where these patches have surface motions of their own, and half of them normal forces that
/// change. One contact breaks loose cell after cell, and takes up a difference of 1e-9 m a thousandfold
/// within 2 ms.
#[test]
fn contacts_with_patches_that_have_inputs_follow_their_path_of_tiny_steps() {
    let errors = errors_of_random_contacts(36, two_patches, |k, contact, between| {
        with_inputs_of_their_own(contact, between, k % 2 == 0);
        if k % 4 > 1 {
            contact.inputs.surface = None;
        }
    });
    assert!(errors[27] < 1.0 && errors[34] < 5.0, "errors over the tolerance times the duration: {errors:?}");
}

/// Numbers of a random contact, by name, uniform between two others.
type Between<'a> = &'a dyn Fn(&str, f64, f64) -> f64;

/// `patch` twice, in random places and with random shares and friction.
fn two_patches(patch: Patch, between: Between<'_>) -> Patch {
    let placed = |side: f64, friction: f64| {
        let at = Pose::new(side * between("apart", 0.005, 0.03), 0.0, side * between("turned", 0.0, 1.5));
        Placed { patch: patch.clone(), at, force: 1.0 + side * between("more", 0.0, 0.5), friction }
    };
    Patch::compound(&[placed(-1.0, 1.0), placed(1.0, between("friction", 0.4, 1.5))]).unwrap()
}

fn errors_on_moving_surfaces(count: u64, with: impl Fn(Patch, Between<'_>) -> Patch) -> Vec<f64> {
    errors_of_random_contacts(count, with, |_, _, _| {})
}

/// The errors of so many random contacts over the tolerance times the duration, in ascending order.
fn errors_of_random_contacts(
    count: u64,
    with: impl Fn(Patch, Between<'_>) -> Patch,
    change: impl Fn(u64, &mut Contact, Between<'_>),
) -> Vec<f64> {
    let duration = 0.05;
    let error = |k: u64| {
        let draw = Draw::new(11, k);
        let between = |name: &str, low: f64, high: f64| low + (high - low) * draw.uniform(name);
        let friction = Friction {
            law: Law::ALL[k as usize % Law::ALL.len()],
            mu_c: between("mu_c", 0.2, 0.6),
            mu_s: between("mu_s", 0.6, 0.7),
            sigma0: 1e5,
            sigma1: 1e2,
            ..Friction::default()
        };
        let patch = Arc::new(with(Arc::unwrap_or_clone(shape(3, 0.02, Shape::Square)), &between));
        let mut contact = match k % 3 {
            0 => in_hand(&patch, friction, [0.01, -0.01, 0.3], Signal::constant(between("grip", 1.0, 6.0))),
            1 => on_table(Frame::World, &patch, friction),
            _ => on_table(WITH_THE_BODY, &patch, friction),
        };
        contact.initial.pose.x += between("x", 0.0, 0.02);
        let wave = |name: &str, most: f64| {
            let (amplitude, omega) = (most * draw.uniform(name), between("omega", 20.0, 120.0));
            Signal::sines(0.0, vec![Sine { amplitude, omega, phase: between("phase", -3.0, 3.0) }])
        };
        let twist = [wave("vx", 0.2), wave("vy", 0.2), wave("w", 8.0)];
        contact.inputs.surface = Some(MovingSurface { twist, at: [between("at", -0.2, 0.0), 0.05] });
        change(k, &mut contact, &between);
        let run = |plan: &Plan| rollout(&Cpu::new(), std::slice::from_ref(&contact), plan);
        let tiny = run(&Plan::new(duration, 4e-6, 5e-3).unwrap());
        let chosen = run(&Plan::new(duration, LONGEST_STEP, 5e-3).unwrap().with_tolerance(DEFAULT_TOLERANCE).unwrap());
        let apart = |(a, b): (&Pose, &Pose)| (a.x - b.x).hypot(a.y - b.y);
        chosen.pose.iter().zip(&tiny.pose).map(apart).fold(0.0, f64::max) / (DEFAULT_TOLERANCE * duration)
    };
    let mut errors: Vec<f64> = (0..count).map(error).collect();
    errors.sort_by(f64::total_cmp);
    errors
}
