//! The result of a contact does not depend on the contacts that are simulated with it.

use bristle::contact::{Contact, Form, Model};
use bristle::engine::{Engine, Plan, Reason, Trajectories};
use bristle::friction::{Friction, Law};
use bristle::patch::Shape;
use bristle::schedule::Signal;

use crate::Limits;
use crate::common::{
    KINDS, WITH_THE_BODY, bits, dry, flat, free, in_hand, kind, on_table, plan, prescribed, prescribed_twist,
    random_contact, rollout, shape,
};

#[track_caller]
fn assert_same(what: &str, a: (&Trajectories, usize), b: (&Trajectories, usize)) {
    let (left, right) = (bits(a.0, a.1), bits(b.0, b.1));
    assert_eq!(left.len(), right.len(), "{what}: as many numbers");
    if let Some(i) = (0..left.len()).find(|&i| left[i] != right[i]) {
        panic!("{what}: number {i} has bits {:#x}, wanted {:#x}", left[i], right[i]);
    }
}

pub fn results_do_not_depend_on_neighbours_order_or_threads(engine: &dyn Engine, _: &Limits) {
    let mixed: Vec<Contact> = (0..20).map(|k| random_contact(3, k)).collect();
    for wanted in KINDS {
        assert!(mixed.iter().any(|c| kind(c) == wanted), "{wanted} is in the batch");
    }
    let grids = mixed.iter().map(|c| c.patch.grid().nx).collect::<std::collections::BTreeSet<_>>();
    let gammas = mixed.iter().map(|c| c.friction.gamma.to_bits()).collect::<std::collections::BTreeSet<_>>();
    assert!(grids.len() >= 4 && gammas.len() >= 4 && mixed.iter().any(|c| c.patch.rule().is_some()));

    let plan = plan(0.03, 2e-4, 0.01);
    let whole = rollout(engine, &mixed, &plan);
    assert!(flat(&whole.pose).iter().all(|v| v.is_finite()));
    for (k, contact) in mixed.iter().enumerate().step_by(3) {
        let alone = rollout(engine, std::slice::from_ref(contact), &plan);
        assert_same(&format!("contact {k} alone"), (&alone, 0), (&whole, k));
    }
    let backwards: Vec<Contact> = mixed.iter().rev().cloned().collect();
    let halves = [&backwards[..7], &backwards[7..]].map(|half| rollout(engine, half, &plan));
    for k in 0..mixed.len() {
        let place = mixed.len() - 1 - k;
        let (half, at) = if place < 7 { (&halves[0], place) } else { (&halves[1], place - 7) };
        assert_same(&format!("contact {k} in a reversed part"), (half, at), (&whole, k));
    }
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let again = pool.install(|| rollout(engine, &mixed, &plan));
        for k in 0..mixed.len() {
            assert_same(&format!("contact {k} on {threads} threads"), (&again, k), (&whole, k));
        }
    }
}

/// A gram on a steep Stribeck curve wants steps of microseconds, in a grid alone, in one side by side with
/// others, and as one bristle.
pub fn a_contact_that_takes_too_many_steps_is_stopped_and_its_neighbours_are_unchanged(
    engine: &dyn Engine,
    _: &Limits,
) {
    let friction = dry(Law::ElastoPlastic, 0.5);
    let mut contacts = Vec::new();
    for (n, model) in [(9, None), (5, None), (5, Some(Model::Ellipsoid(Form::Consistent)))] {
        let mut plain = on_table(WITH_THE_BODY, &shape(n, 0.02, Shape::Disc), friction);
        plain.model = model.unwrap_or(plain.model);
        let body = free(&mut plain);
        body.wrench[0] = Signal::constant(2.0 * body.mass * 9.81);
        let mut light = plain.clone();
        light.friction = Friction { mu_s: 1.5, v_s: 1e-4, ..friction };
        light.inputs.normal_force = Signal::constant(10.0);
        let body = free(&mut light);
        (body.mass, body.inertia) = (1e-3, 1e-7);
        body.wrench[0] = Signal::linear(&[(0.0, 0.0), (0.01, 30.0)]).unwrap();
        contacts.extend([plain, light]);
    }
    let plan = Plan { most_steps: Some(1000), ..plan(0.02, 2e-4, 0.01) };
    let out = rollout(engine, &contacts, &plan);
    let free = rollout(engine, &contacts, &Plan { most_steps: None, ..plan.clone() });
    for (k, status) in out.status.iter().enumerate() {
        if k % 2 == 0 {
            assert_same(&format!("contact {k}"), (&out, k), (&free, k));
            assert!(status.failure.is_none(), "contact {k}: {status:?}");
            continue;
        }
        // The last one may end an interval.
        let last = status.steps;
        assert!(
            (1000..1003).contains(&last) && status.failure == Some((last, Reason::Steps)),
            "contact {k}: {status:?}"
        );
        assert_eq!(status.word() & 11, 8, "contact {k}");
        assert!(flat(&out.pose[3 * k + 2..][..1]).iter().all(|v| v.is_nan()), "contact {k}");
        // The default is generous.
        assert!(free.status[k].failure.is_none() && free.status[k].steps > 1000, "contact {k}: {:?}", free.status[k]);
    }
}

pub fn failed_contact_is_marked_and_its_neighbours_are_unchanged(engine: &dyn Engine, _: &Limits) {
    let patch = shape(6, 0.02, Shape::Disc);
    let friction = dry(Law::ElastoPlastic, 0.5);
    let at = 0.013;
    // The largest that are accepted, which are too much for single precision together.
    let huge = |most| Signal::steps(&[(0.0, 0.1), (at, most)]).unwrap();
    let mut pushed = on_table(WITH_THE_BODY, &patch, friction);
    free(&mut pushed).wrench[0] = huge(1e12);
    free(&mut pushed).mass = 1e-12;
    let mut carried = prescribed(&patch, Friction { sigma0: 1e15, ..friction }, [0.0; 3], 1.0);
    prescribed_twist(&mut carried)[1] = huge(1e9);
    let neighbour = |y: f64| in_hand(&patch, friction, [0.002, y, 0.0], Signal::constant(1.7));
    let good = [neighbour(0.0), neighbour(1e-3), neighbour(-1e-3)];
    let [a, b, c] = good.clone();
    let plan = plan(0.04, 2e-4, 0.01);
    let with = rollout(engine, &[a, pushed, b, carried, c], &plan);
    let without = rollout(engine, &good, &plan);
    for (k, place) in [0, 2, 4].into_iter().enumerate() {
        assert_same(&format!("neighbour {k}"), (&with, place), (&without, k));
        assert_eq!(with.status[place].word(), 0);
    }
    let n = with.frames();
    let carried = &with.wrench[3 * n..4 * n];
    assert!(with.status[3].failure.is_some() || carried.iter().all(|w| w.to_array().iter().all(|v| v.is_finite())));
    let (k, status) = (1, with.status[1]);
    if engine.info().precision == "f64" {
        let x = with.pose[(k + 1) * n - 1].x;
        assert!(status.failure.is_none() && x.is_finite(), "{status:?}, {x}");
        return;
    }
    let (step, why) = status.failure.expect("the contact fails");
    assert_eq!((why, status.word() & 3), (Reason::Twist, Reason::Twist as u32));
    // Its steps before the load comes, and at most those to the next sample.
    assert!((64..102).contains(&step), "it failed at step {step}");
    for (i, t) in with.time.iter().enumerate() {
        let at_i = k * n + i;
        let (q, u, w) = (with.pose[at_i], with.twist[at_i], with.wrench[at_i]);
        let numbers = [q.to_array(), u.to_array(), w.to_array()];
        let others = [with.normal_force[at_i], with.slip[at_i], with.near_limit[at_i]];
        let all = numbers.as_flattened().iter().chain(&others);
        if *t < at {
            assert!(all.clone().all(|v| v.is_finite()), "sample {i} comes before: {numbers:?}");
        } else {
            assert!(all.clone().all(|v| v.is_nan()), "sample {i} comes after: {numbers:?}");
        }
    }
}
