//! On the CPU the lanes of one solver step contacts with few bristles, one or a small grid. Each contact has
//! the result that it has without the others, and agrees with the reference.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{KINDS, bits, free, kind, plan, random_contact, rollout, series};
use bristle::Simd;
use bristle::contact::{Bristles, Contact, Form, Model};
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan, Reason, Trajectories};
use bristle::friction::Law;
use bristle::limit_surface::{Rule, Table};
use bristle::patch::Exponent;
use bristle::schedule::{Signal, Sine};

/// Contacts of every kind of body, law, form and surface, a quarter with maps that follow the force.
fn contacts(n: usize) -> Vec<Contact> {
    let all: Vec<Contact> = (0..n as u64)
        .map(|k| random_contact(11, k))
        .enumerate()
        .map(|(k, c)| {
            let form = if k % 2 == 0 { Form::Consistent } else { Form::Published };
            let follows = c.patch.rule().is_some();
            let is_grid = k % 2 == 0 && (c.patch.grid().len() < 50 || !follows && c.patch.cells().len() < 50);
            let model = match k % 3 {
                0 => Model::Ellipsoid(form),
                // Every contact has a table of its own, not all of one size.
                _ => {
                    Model::LimitSurface(Arc::new(Table::new(&c.patch, Rule::ALL[k / 3 % 3], 4 + k % 5).unwrap()), form)
                }
            };
            let mut c = Contact { model: if is_grid { Model::Distributed } else { model }, ..c };
            c.friction.law = Law::ALL[k / 2 % Law::ALL.len()];
            let zeta = match &c.initial.bristles {
                Bristles::States(states) => states[0],
                other => panic!("{other:?}"),
            };
            c.initial.bristles = match k % 7 {
                // More cells may come to carry pressure.
                _ if is_grid && follows => Bristles::Unloaded,
                _ if is_grid => c.initial.bristles,
                0 => Bristles::Steady,
                _ => Bristles::States(vec![[0.6 * zeta[0], 0.6 * zeta[1]], [0.5 * zeta[1], 0.0]]),
            };
            if k % 4 == 1 {
                let wave = |amplitude, omega| vec![Sine { amplitude, omega, phase: 0.3 * k as f64 }];
                if let Some(body) = c.body.free_mut() {
                    body.wrench[k % 3] = Signal::sines(0.01, wave(0.01, 200.0));
                }
                c.inputs.normal_force = Signal::sines(1.0, wave(1.5, 300.0));
            }
            if k % 4 == 2 || follows && k % 8 != 3 {
                c.inputs.normal_force = Signal::linear(&[(0.0, 1.0), (0.004, 3.0), (0.011, 0.5)]).unwrap();
            }
            // At samples and between them.
            c.inputs.remap_every = [None, Some(0.003), Some(0.005)][k % 3];
            c
        })
        .collect();
    // A small batch has not all of them.
    for &law in Law::ALL.iter().filter(|_| n > 60) {
        let of_law = all.iter().filter(|c| c.friction.law == law);
        let grids = of_law.filter(|c| c.model.is_grid()).map(|c| c.patch.cells().len());
        assert!(grids.collect::<BTreeSet<_>>().len() > 1, "{law:?}: grids of several sizes are in the batch");
    }
    for grid in [true, false] {
        let of_kind = all.iter().filter(|c| c.patch.rule().is_some() && c.model.is_grid() == grid);
        let follow = of_kind.filter(|c| !c.inputs.normal_force.is_constant()).count();
        assert!(follow > 0, "maps that follow the force are in the batch, of grids: {grid}");
    }
    for wanted in KINDS {
        assert!(all.iter().any(|c| kind(c) == wanted), "{wanted} is in the batch");
    }
    all
}

/// Largest distance of the samples of contact `k` from `wanted`, over the largest of their kind.
fn error(found_all: &Trajectories, wanted_all: &Trajectories, k: usize) -> f64 {
    let n = wanted_all.frames();
    let component = |t: &Trajectories, c: usize| match c / 3 {
        0 => series(&t.pose, k, n, c % 3),
        1 => series(&t.twist, k, n, c % 3),
        _ => series(&t.wrench, k, n, c % 3),
    };
    let most = |v: &[f64]| v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let mut worst = 0.0f64;
    for c in 0..9 {
        let (found, wanted) = (component(found_all, c), component(wanted_all, c));
        // The two components in the plane share a scale.
        let other = if c % 3 == 2 { c } else { c - c % 3 + 1 - c % 3 };
        let level = most(&wanted).max(most(&component(wanted_all, other)));
        let difference: Vec<f64> = found.iter().zip(&wanted).map(|(f, w)| f - w).collect();
        assert!(
            difference.iter().all(|d| d.is_finite()),
            "contact {k}: {:?} {:?}",
            found_all.status[k],
            wanted_all.status[k]
        );
        worst = worst.max(most(&difference) / level.max(f64::MIN_POSITIVE));
    }
    worst
}

#[test]
fn lanes_agree_with_the_reference() {
    let all = contacts(96);
    let long = plan(0.02, 2e-4, 0.005);
    let adaptive = Plan { step: 5e-3, ..long.clone() }.with_tolerance(1e-5).unwrap();
    let short = plan(2e-4, 2e-4, 2e-4);
    let cases = [
        ("f64", Cpu::new(), &long, 1e-9),
        ("f64, AVX2 at most", Cpu::new().up_to(Simd::Avx2), &long, 1e-9),
        ("f64, baseline", Cpu::new().up_to(Simd::Baseline), &long, 1e-9),
        ("f64, adaptive", Cpu::new(), &adaptive, 1e-9),
        ("f32, one step", Cpu::single(), &short, 2e-5),
        ("f32, one step, AVX2 at most", Cpu::single().up_to(Simd::Avx2), &short, 2e-5),
        ("f32, one step, baseline", Cpu::single().up_to(Simd::Baseline), &short, 2e-5),
    ];
    for (name, engine, plan, limit) in cases {
        let (found, wanted) = (rollout(&engine, &all, plan), rollout(&Cpu::reference(), &all, plan));
        for (k, contact) in all.iter().enumerate() {
            let e = error(&found, &wanted, k);
            assert!(e <= limit, "{name}, contact {k}: {e:e} of the largest, limit {limit:e}: {contact:?}");
            if limit < 1e-6 {
                assert_eq!(found.status[k], wanted.status[k], "{name}, contact {k}");
            }
        }
    }
}

#[test]
fn neighbours_do_not_matter() {
    let mut all = contacts(70);
    // Gripped alike, contacts ask for the same tables, some of them sooner.
    let reshaped = |c: &&Contact| {
        let rule = c.patch.rule().filter(|rule| matches!(rule.exponent, Exponent::PerNewton(_)));
        rule.is_some() && matches!(c.model, Model::LimitSurface(..)) && !c.inputs.normal_force.is_constant()
    };
    let like = all.iter().find(reshaped).expect("a map that changes its shape").clone();
    for k in 0..12 {
        let mut c = like.clone();
        c.body.free_mut().into_iter().for_each(|body| body.mass *= 1.0 + 0.1 * f64::from(k));
        c.inputs.remap_every = Some(0.001 * f64::from(1 + k % 3));
        all.push(c);
    }
    for engine in [Cpu::new(), Cpu::single()] {
        for tolerance in [None, Some(1e-5)] {
            let plan = Plan { tolerance, ..plan(0.02, 1e-3, 0.01) };
            let whole = rollout(&engine, &all, &plan);
            let passes: BTreeSet<u64> = whole.status.iter().map(|s| s.passes).collect();
            assert!(passes.len() > 10, "each at a pace of its own");
            for k in (0..all.len()).step_by(7) {
                let alone = rollout(&engine, &all[k..=k], &plan);
                assert!(bits(&alone, 0) == bits(&whole, k), "contact {k} alone");
            }
            let backwards: Vec<Contact> = all.iter().rev().cloned().collect();
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let again = pool.install(|| rollout(&engine, &backwards, &plan));
                for k in 0..all.len() {
                    assert!(bits(&again, all.len() - 1 - k) == bits(&whole, k), "contact {k}, {threads} threads");
                }
            }
        }
    }
}

#[test]
fn a_contact_that_fails_leaves_its_neighbours_alone() {
    let mut all = contacts(24);
    let plan = plan(0.02, 2e-4, 0.01);
    for engine in [Cpu::new(), Cpu::single()] {
        let before = rollout(&engine, &all, &plan);
        let pushed = all.iter().position(|c| kind(c) == "world").unwrap();
        let calm = all[pushed].clone();
        let body = free(&mut all[pushed]);
        (body.wrench[0], body.mass) = (Signal::steps(&[(0.0, 0.1), (0.013, 1e12)]).unwrap(), 1e-12);
        let after = rollout(&engine, &all, &plan);
        let x = series(&after.pose, pushed, 3, 0);
        if engine.info().precision == "f32" {
            let (step, why) = after.status[pushed].failure.expect("it fails");
            assert!(why == Reason::Twist && (64..101).contains(&step), "{why:?} at step {step}");
            assert!(x[1].is_finite() && x[2].is_nan());
        } else {
            // No load that is accepted is too much for double precision.
            assert!(after.status[pushed].failure.is_none() && x[2].is_finite());
        }
        for k in (0..all.len()).filter(|k| *k != pushed) {
            assert!(bits(&after, k) == bits(&before, k), "contact {k}");
        }
        all[pushed] = calm;
    }
}
