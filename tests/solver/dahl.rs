//! The Dahl law on every engine, against its analytic solution.

use std::sync::Arc;

use crate::common::{of, prescribed, rollout, shape};
use bristle::contact::{Contact, Form, Model};
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::gpu::{Choice, Gpu};
use bristle::limit_surface::{Rule, Table};
use bristle::patch::Shape;
use bristle::planar::Wrench;

const MU: f64 = 0.7;
const SIGMA0: f64 = 2e4;

/// Dahl with numbers that it has no use for.
fn dahl() -> Friction {
    Friction { law: Law::Dahl, sigma0: SIGMA0, mu_c: MU, mu_s: 1.5, sigma1: 50.0, sigma2: 3.0, ..Friction::default() }
}

/// Straight motion along a direction of a grid, of an ellipsoid and on a limit surface. Along an axis the
/// table of the surface has a node; between nodes it is a part in a thousand off.
fn contacts(speed: f64) -> Vec<([f64; 2], Contact)> {
    let patch = shape(9, 0.02, Shape::Square);
    let table = Arc::new(Table::new(&patch, Rule::Cells, 10).unwrap());
    let models = [
        ([0.6, 0.8], Model::Distributed),
        ([0.6, 0.8], Model::Ellipsoid(Form::Consistent)),
        ([0.0, 1.0], Model::LimitSurface(table, Form::Published)),
    ];
    let along = |[x, y]: [f64; 2]| prescribed(&patch, dahl(), [x * speed, y * speed, 0.0], 2.0);
    models.into_iter().map(|(axis, model)| (axis, Contact { model, ..along(axis) })).collect()
}

/// Engines, and the largest errors of their forces [N]. In steady sliding single precision holds a state to
/// its last place over the share that a stage takes of it, here a thousandth.
fn engines() -> Vec<(Box<dyn Engine>, f64)> {
    let gpu = Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}"));
    vec![
        (Box::new(Cpu::reference()), 1e-6),
        (Box::new(Cpu::new()), 1e-6),
        (Box::new(Cpu::single()), 5e-5),
        (Box::new(gpu), 5e-5),
    ]
}

/// From rest along a straight line the force is `mu_c f_N (1 - exp(-sigma0 x/mu_c))`, at any speed.
#[test]
fn the_force_is_the_exponential_of_the_way_alone() {
    for (engine, limit) in engines() {
        for speed in [1e-4, 1e-2] {
            let duration = 2e-4 / speed;
            let plan = Plan::new(duration, duration / 2000.0, duration / 10.0).unwrap();
            let (axes, all): (Vec<_>, Vec<_>) = contacts(speed).into_iter().unzip();
            let out = rollout(engine.as_ref(), &all, &plan);
            for (k, [x, y]) in axes.into_iter().enumerate() {
                for (t, &Wrench { fx, fy, tau }) in plan.samples.iter().zip(of(&out.wrench, k, plan.samples.len())) {
                    let force = 2.0 * MU * (1.0 - (-SIGMA0 * speed * t / MU).exp());
                    let errors = [fx + x * force, fy + y * force, 10.0 * tau].map(f64::abs);
                    let what =
                        format!("{:?}, contact {k}, {speed} m/s, {t} s: {fx} {fy} {tau}, {force}", engine.info());
                    assert!(errors.iter().all(|e| *e < limit), "{what}: {errors:?}");
                }
            }
        }
    }
}

/// A grid, and a single bristle for all of it, slide with `mu_c f_N` and no more at any speed.
#[test]
fn no_speed_changes_the_friction_of_steady_sliding() {
    for (engine, limit) in engines() {
        for speed in [1e-3, 1.0] {
            let (_, all): (Vec<_>, Vec<_>) = contacts(speed).into_iter().unzip();
            let out = rollout(engine.as_ref(), &all, &Plan::new(1.0, 1e-3, 1.0).unwrap());
            for wrench in out.wrench.chunks(2) {
                let Wrench { fx, fy, .. } = wrench[1];
                assert!((fx.hypot(fy) - 2.0 * MU).abs() < limit, "{:?}, {speed}: {fx} {fy}", engine.info());
            }
        }
    }
}
