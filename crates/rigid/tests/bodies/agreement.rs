//! Three families of models on one task: stiff bristles, the point law and the contact problem approach the
//! motion under Coulomb's law, each with its order.
//!
//! A block is pushed, slides, and comes to rest under a smaller load. The exact motion is elementary.

use std::sync::Arc;

use crate::common::{engines, rollout, shape};
use bristle::body::{Frame, FreeBody};
use bristle::contact::{Contact, Initial, Inputs, Model};
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::patch::{Patch, Shape};
use bristle::point::{PointLaw, PointModel};
use bristle::schedule::Signal;
use bristle_rigid::world::{self, Method, Pair, State, World, Worlds};

const MASS: f64 = 1.0;
const WEIGHT: f64 = 9.81;
const MU: f64 = 0.5;
/// The largest load, and the one that friction holds [N].
const LOADS: [f64; 2] = [8.0, 2.0];
/// The load is the larger one until so late in a push that begins at once, and is reached then in one that
/// grows from zero [s].
const PUSHED: f64 = 0.4;
const DURATION: f64 = 1.2;

/// How the push begins.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Push {
    /// With the whole load.
    Jump,
    /// With none; the load grows in proportion to the time.
    Ramp,
}

impl Push {
    fn load(self) -> Signal {
        let [most, held] = LOADS;
        match self {
            Self::Jump => Signal::steps(&[(0.0, most), (PUSHED, held)]),
            // Once the block slides a jump of the load is none of friction.
            Self::Ramp => Signal::linear(&[(0.0, 0.0), (PUSHED, most), (PUSHED + 1e-9, held)]),
        }
        .unwrap()
    }

    /// Velocity and position when the load falls, and how far Coulomb's law brings the block.
    fn coulomb(self) -> [f64; 3] {
        let ([most, held], friction) = (LOADS, MU * WEIGHT);
        let [v, x] = match self {
            Self::Jump => {
                let a = (most - friction) / MASS;
                [a * PUSHED, 0.5 * a * PUSHED * PUSHED]
            }
            Self::Ramp => {
                let rate = most / PUSHED;
                let sliding = PUSHED - friction / rate;
                [rate * sliding.powi(2) / (2.0 * MASS), rate * sliding.powi(3) / (6.0 * MASS)]
            }
        };
        [v, x, x + 0.5 * v * v * MASS / (friction - held)]
    }
}

fn contact(patch: &Arc<Patch>, model: Model, friction: Friction, push: Push) -> Contact {
    let mut body = FreeBody::new(Frame::World, MASS, 1e-3);
    body.wrench[0] = push.load();
    let inputs = Inputs { normal_force: Signal::constant(WEIGHT), ..Inputs::default() };
    Contact { patch: Arc::clone(patch), model, friction, body: body.into(), inputs, initial: Initial::default() }
}

/// Bristles of a stiffness [1/m] with this share of critical damping.
fn bristles(law: Law, sigma0: f64, damping: f64) -> Friction {
    let sigma1 = damping * 2.0 * (sigma0 * MASS / WEIGHT).sqrt();
    Friction { law, sigma0, sigma1, ..crate::common::dry(law, MU) }
}

/// Where contacts are at the end [m].
fn ends(engine: &dyn Engine, contacts: &[Contact], step: f64) -> Vec<f64> {
    let out = rollout(engine, contacts, &Plan::new(DURATION, step, DURATION).unwrap());
    assert!(out.status.iter().all(|s| s.failure.is_none()), "{:?}", out.status);
    (0..contacts.len()).map(|k| out.pose[out.of(k)][1].x).collect()
}

/// The exponents `p` of errors that fall as `x^-p`, between values of `x` that grow by `factor`.
fn orders(errors: &[f64], factor: f64) -> Vec<f64> {
    errors.windows(2).map(|e| (e[0] / e[1]).ln() / factor.ln()).collect()
}

const FACTOR: f64 = 4.0;

/// `docs/model.md`, section 14. Under a load that begins with a jump the bristles take up friction over a
/// time that falls as `1/sqrt(sigma0)`, and so does the velocity that the block gains meanwhile. Under a load
/// that grows from zero, springs on sliders are wrong by their deflection alone; under the laws whose
/// bristles slip before break-away the block has a velocity before that, which falls more slowly.
#[test]
fn stiff_grids_approach_coulomb_with_the_orders_of_their_laws() {
    let patch = shape(5, 0.02, Shape::Circle);
    for (name, engine) in engines() {
        for push in [Push::Ramp, Push::Jump] {
            for law in Law::ALL {
                let order = match (push, law) {
                    (Push::Jump, _) | (Push::Ramp, Law::ElastoPlastic) => 0.5,
                    (Push::Ramp, Law::LuGre | Law::Dahl) => 2.0 / 3.0,
                    (Push::Ramp, Law::ViscoelastoPlastic) => 1.0,
                };
                let stiffnesses = [1e3, 1e3 * FACTOR, 1e3 * FACTOR * FACTOR];
                let of = |sigma0: f64| contact(&patch, Model::Distributed, bristles(*law, sigma0, 0.5), push);
                let found = ends(engine.as_ref(), &stiffnesses.map(of), 1e-4);
                let errors: Vec<f64> = found.iter().map(|x| (x - push.coulomb()[2]).abs()).collect();
                for found in orders(&errors, FACTOR) {
                    assert!((found - order).abs() < 0.08, "{name} {push:?} {law:?}: {errors:?} has order {found}");
                }
            }
        }
    }
}

/// In shorter and shorter steps the implicit point law and the contact problem, whose load is along a
/// friction direction, have the same motion; single precision as far as it can.
#[test]
fn rigid_models_approach_coulomb_with_order_one() {
    let patch = shape(1, 0.02, Shape::Square);
    let steps = [8e-3, 4e-3, 2e-3, 1e-3];
    let exact = Push::Ramp.coulomb()[2];
    let check = |name: &str, errors: &[f64]| {
        for order in orders(errors, 2.0) {
            assert!((order - 1.0).abs() < 0.1, "{name}: {errors:?} has order {order}");
        }
    };
    for (name, engine) in engines() {
        let model = Model::Point(PointModel::from(PointLaw::Implicit));
        let point = contact(&patch, model, crate::common::dry(Law::LuGre, MU), Push::Ramp);
        let end = |step: &f64| ends(engine.as_ref(), std::slice::from_ref(&point), *step)[0];
        check(name, &steps.iter().map(|h| (end(h) - exact).abs()).collect::<Vec<_>>());
    }
    let world = || {
        let mut world = World::new(8);
        let plane = world.add(world::WorldBody::prescribed(world::WorldShape::Plane), State::default());
        let mut block = world::WorldBody::solid(MASS, world::WorldShape::Points(vec![[0.0; 3]]));
        block.force[0] = Push::Ramp.load();
        let block = world.add(block, State::default());
        world.pairs.push(Pair { bodies: [plane, block], mu: MU });
        world
    };
    let gpu = bristle_rigid::gpu::RigidGpu::new(&bristle::Gpu::new(bristle::Choice::Any).unwrap());
    for method in [Some(Method::Lemke), Some(Method::Double), Some(Method::Single), None] {
        let end = |step: &f64| {
            let mut worlds = match method {
                Some(method) => Worlds::new(vec![world()], *step, method).unwrap(),
                None => gpu.worlds(vec![world()], *step).unwrap(),
            };
            worlds.advance(DURATION).unwrap();
            worlds.world(0).states()[1].pose.translation.x
        };
        check(&format!("{method:?}"), &steps.iter().map(|h| (end(h) - exact).abs()).collect::<Vec<_>>());
    }
}
