//! The baseline is a fair one: it solves the same equations to the same accuracy.

#[path = "../../scenario/tests/common/mod.rs"]
mod common;

use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_STEP, Engine, Plan, Trajectories};
use bristle::error::EngineError;
use bristle::friction::Law;
use bristle_bench::baseline::Baseline;
use bristle_bench::{BASELINE_STEP, converged, converged_error, in_hand, reduced};
use common::{Case, assert_below, assert_close, cases, random_contact, rollout, series};

const LAWS: [(Law, &str); 2] = [(Law::ElastoPlastic, "ep"), (Law::LuGre, "lugre")];

#[test]
fn the_measured_work_is_the_papers_case() {
    for (law, name) in LAWS {
        let case = Case::load("inhand_case2_circle_fN1", name);
        let plan = Plan { samples: case.plan.samples[..=60].to_vec(), ..case.plan.clone() };
        let ours = rollout(&Cpu::new(), &in_hand(21, law, 1).unwrap(), &plan);
        let theirs = rollout(&Cpu::new(), std::slice::from_ref(&case.contact), &plan);
        for c in 0..3 {
            let [a, b] = [&ours, &theirs].map(|out| series(&out.pose, 0, out.frames(), c));
            assert_close(name, &a, &b, 1e-9);
        }
        for (t, pose) in converged(law).unwrap() {
            let (_, row) = case.rows.iter().find(|(frame, _)| (case.plan.samples[*frame] - t).abs() < 1e-9).unwrap();
            assert_eq!(row[..3], pose.to_array(), "{name} at {t} s");
        }
    }
}

#[test]
fn the_baseline_is_as_exact_as_our_default_step() {
    let plan = Plan::new(1.0, BASELINE_STEP, 0.5).unwrap();
    for (law, name) in LAWS {
        let contact = in_hand(21, law, 1).unwrap();
        let error = |engine: &dyn Engine, step| {
            let out = rollout(engine, &contact, &Plan { step, ..plan.clone() });
            assert_eq!(out.status[0].failure, None);
            converged_error(law, &out.time, &out.pose).unwrap()
        };
        let (theirs, ours) = (error(&Baseline, BASELINE_STEP), error(&Cpu::new(), DEFAULT_STEP));
        println!("{name}: baseline {theirs:?}, default step {ours:?}");
        assert_below(&format!("{name}: position of the baseline [m]"), theirs[0], 3e-6);
        assert_below(&format!("{name}: angle of the baseline [rad]"), theirs[1], 3e-5);
        assert_below(&format!("{name}: position at the default step [m]"), ours[0], 3e-6);
    }
}

/// Explicit Euler is of first order, and of no use at the step of the others.
#[test]
fn the_baseline_converges_with_first_order_and_blows_up_at_our_step() {
    for (law, name) in LAWS {
        let contact = in_hand(11, law, 1).unwrap();
        let end = |engine: &dyn Engine, step| {
            let out = rollout(engine, &contact, &Plan::new(0.5, step, 0.5).unwrap());
            (out.pose[1], out.status[0].failure)
        };
        let (exact, _) = end(&Cpu::new(), 1e-5);
        let [coarse, fine] = [4e-6, 1e-6].map(|step| {
            let (pose, failure) = end(&Baseline, step);
            assert_eq!(failure, None);
            (pose.y - exact.y).hypot(pose.x - exact.x)
        });
        let order = (coarse / fine).log2() / 2.0;
        assert!((0.8..1.3).contains(&order), "{name}: errors {coarse:e}, {fine:e}: order {order}");
        let (pose, failure) = end(&Baseline, DEFAULT_STEP);
        assert!(failure.is_some() || (pose.y - exact.y).abs() > 1e-3, "{name}: {pose:?}");
    }
}

#[test]
fn the_baseline_gives_the_converged_wrenches() {
    let cases: Vec<Case> = cases("fig5_linegrad");
    assert_eq!(cases.len(), 2);
    for case in &cases {
        let out = rollout(&Baseline, std::slice::from_ref(&case.contact), &Plan { step: 2e-6, ..case.plan.clone() });
        let largest = case.column(1).iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let n = out.frames();
        assert_close(&case.name, &case.samples(&out.wrench, 0, n, 1), &case.column(1), 1e-3 * largest);
    }
}

/// Every kind of body, varying maps, given bristles: all that the other engines take.
#[test]
fn the_baseline_steps_random_contacts_as_the_cpu_does() {
    let known = |contact: &Contact| contact.friction.law != Law::ViscoelastoPlastic;
    let contacts: Vec<_> = (0..32).map(|k| random_contact(5, k)).filter(known).collect();
    let plan = |step| Plan { keep_bristles: true, ..Plan::new(0.005, step, 0.0025).unwrap() };
    let (theirs, ours) = (rollout(&Baseline, &contacts, &plan(4e-7)), rollout(&Cpu::new(), &contacts, &plan(2e-6)));
    let moved = |t: &Trajectories, k: usize, c: usize| {
        let q = series(&t.pose, k, 3, c);
        q[2] - q[0]
    };
    for k in 0..contacts.len() {
        assert_eq!(theirs.status[k].failure, None, "contact {k}");
        for c in 0..3 {
            let (a, b) = (moved(&theirs, k, c), moved(&ours, k, c));
            assert!((a - b).abs() <= 1e-3 * b.abs() + 1e-8, "contact {k}, pose[{c}]: {a:e}, wanted {b:e}");
        }
        let [a, b] = [&theirs, &ours].map(|t| t.bristles[k].as_flattened().to_vec());
        assert_close(&format!("bristles of contact {k}"), &a, &b, 2e-3);
        for (name, theirs, ours) in
            [("slip", &theirs.slip, &ours.slip), ("near_limit", &theirs.near_limit, &ours.near_limit)]
        {
            assert_close(&format!("{name} of contact {k}"), &[theirs[3 * k + 1]], &[ours[3 * k + 1]], 0.05);
        }
    }
}

#[test]
fn the_baseline_refuses_what_it_does_not_step() {
    let refused = |contacts: Vec<Contact>| {
        let refused = Baseline.rollout(&contacts, &Plan::new(0.01, 1e-6, 0.01).unwrap(), &|_| true);
        match refused {
            Err(EngineError::Parameter { contact: 0, error }) => error.field,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(reduced(in_hand(7, Law::LuGre, 1).unwrap()).unwrap()), "contact.model");
    assert_eq!(refused(in_hand(7, Law::ViscoelastoPlastic, 1).unwrap()), "friction.law");
}
