//! Shared by the tests: fixtures, contacts to start from, comparisons.
#![allow(dead_code, unused_imports, reason = "every test program uses its own part")]

#[path = "../../crates/bench/src/twins.rs"]
mod twins;

use std::sync::Arc;

use bristle::Cpu;
use bristle::body::{Body, Frame, FreeBody};
use bristle::contact::{Contact, Initial, Inputs, Model};
use bristle::engine::{Engine, EngineInfo, LONGEST_STEP, Plan, Progress, Trajectories};
use bristle::error::EngineError;
use bristle::friction::{Friction, Law};
use bristle::patch::{Grid, Patch, Shape};
use bristle::schedule::Signal;

pub use twins::*;

/// Runs to the end, whatever happens.
pub fn rollout(engine: &dyn Engine, contacts: &[Contact], plan: &Plan) -> Trajectories {
    engine.run(contacts, plan).unwrap_or_else(|e| panic!("{e}"))
}

/// Every engine by its name; the last on any adapter.
#[cfg(feature = "gpu")]
pub fn engines() -> Vec<(&'static str, Box<dyn Engine>)> {
    let gpu = bristle::Gpu::new(bristle::Choice::Any).unwrap();
    let reference = ("reference", Box::new(Cpu::reference()) as Box<dyn Engine>);
    vec![reference, ("f64", Box::new(Cpu::new())), ("f32", Box::new(Cpu::single())), ("gpu", Box::new(gpu))]
}

/// A plan that returns the bristles too.
pub fn plan(duration: f64, step: f64, record_every: f64) -> Plan {
    Plan { keep_bristles: true, ..Plan::new(duration, step, record_every).unwrap() }
}

/// An engine whose every plan has a tolerance instead of a step.
pub struct Adaptive(Box<dyn Engine>, f64);

impl Adaptive {
    pub fn new(engine: impl Engine + 'static, tolerance: f64) -> Self {
        Self(Box::new(engine), tolerance)
    }
}

impl Engine for Adaptive {
    fn info(&self) -> EngineInfo {
        self.0.info()
    }

    fn rollout(&self, contacts: &[Contact], plan: &Plan, progress: &Progress<'_>) -> Result<Trajectories, EngineError> {
        let plan = Plan { step: LONGEST_STEP, tolerance: Some(self.1), ..plan.clone() };
        self.0.rollout(contacts, &plan, progress)
    }
}

/// Component `c` of every sample of contact `k`.
pub fn series<T: Copy + Into<[f64; 3]>>(all: &[T], k: usize, frames: usize, c: usize) -> Vec<f64> {
    of(all, k, frames).iter().map(|&v| v.into()[c]).collect()
}

/// As [`compare`], but fails the test.
#[track_caller]
pub fn assert_close(what: &str, found: &[f64], wanted: &[f64], limit: f64) {
    compare(what, found, wanted, limit).unwrap_or_else(|e| panic!("{e}"));
}

#[track_caller]
pub fn assert_below(what: &str, found: f64, limit: f64) {
    assert!(found <= limit, "{what}: {found:e}, limit {limit:e}");
}

pub fn shape(n: usize, size: f64, shape: Shape) -> Arc<Patch> {
    Arc::new(Patch::shape(Grid::new(n, n, size, size).unwrap(), shape).unwrap())
}

/// Dry friction with one coefficient.
pub fn dry(law: Law, mu: f64) -> Friction {
    Friction { law, mu_c: mu, mu_s: mu, sigma2: 0.0, ..Friction::default() }
}

/// The laws with a damper. Without one, under Dahl's law, a body that has come to rest swings on its bristles
/// for long.
pub const DAMPED_LAWS: [Law; 3] = [Law::LuGre, Law::ElastoPlastic, Law::ViscoelastoPlastic];

/// Friction over the normal force [-] in steady sliding at `speed` [m/s].
pub fn sliding_friction(friction: &Friction, speed: f64) -> f64 {
    let Friction { law, mu_c, mu_s, v_s, gamma, sigma2, .. } = *friction;
    if law == Law::Dahl {
        return mu_c;
    }
    mu_c + (mu_s - mu_c) * (-(speed / v_s).powf(gamma)).exp() + sigma2 * speed
}

/// A patch that moves with a constant twist at its centre of pressure.
pub fn prescribed(patch: &Arc<Patch>, friction: Friction, twist: [f64; 3], normal_force: f64) -> Contact {
    let inputs = Inputs { normal_force: Signal::constant(normal_force), ..Inputs::default() };
    Contact {
        patch: Arc::clone(patch),
        model: Model::Distributed,
        friction,
        body: Body::prescribed(twist.into()),
        inputs,
        initial: Initial::default(),
    }
}

/// The twist of a contact whose motion is prescribed.
pub fn prescribed_twist(contact: &mut Contact) -> &mut [Signal; 3] {
    match &mut contact.body {
        Body::Prescribed { twist, .. } => twist,
        Body::Free(body) => panic!("{body:?} moves freely"),
    }
}

/// The paper's object between two pads, its centre of mass at `pose`, under gravity along -y.
pub fn in_hand(patch: &Arc<Patch>, friction: Friction, pose: [f64; 3], normal_force: Signal) -> Contact {
    let mass = 0.2;
    let inertia = mass / 12.0 * (0.15f64.powi(2) + 0.08f64.powi(2));
    let gravity = [Signal::constant(0.0), Signal::constant(-9.81)];
    let body = FreeBody { gravity, ..FreeBody::new(Frame::Gripper, mass, inertia) }.into();
    let inputs = Inputs { normal_force, ..Inputs::default() };
    let initial = Initial { pose: pose.into(), ..Initial::default() };
    Contact { patch: Arc::clone(patch), model: Model::Distributed, friction, body, inputs, initial }
}
