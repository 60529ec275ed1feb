//! Shared by the tests: fixtures, contacts to start from, comparisons.
#![allow(dead_code, reason = "every test program uses its own part")]

use std::sync::Arc;

use bristle::Cpu;
use bristle::body::{Body, Frame, FreeBody};
use bristle::contact::{Bristles, Contact, Initial, Inputs, Model};
use bristle::engine::{Engine, EngineInfo, LONGEST_STEP, Plan, Progress, Trajectories};
use bristle::error::EngineError;
use bristle::friction::{Friction, Law};
use bristle::patch::{Exponent, Grid, Hertz, Patch, Shape};
use bristle::planar::Twist;
use bristle::random::Draw;
use bristle::schedule::Signal;

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

/// The samples of contact `k`.
pub fn of<T>(all: &[T], k: usize, frames: usize) -> &[T] {
    &all[k * frames..(k + 1) * frames]
}

/// Component `c` of every sample of contact `k`.
pub fn series<T: Copy + Into<[f64; 3]>>(all: &[T], k: usize, frames: usize, c: usize) -> Vec<f64> {
    of(all, k, frames).iter().map(|&v| v.into()[c]).collect()
}

/// All numbers of poses, twists or wrenches.
pub fn flat<T: Copy + Into<[f64; 3]>>(all: &[T]) -> Vec<f64> {
    all.iter().flat_map(|&v| v.into()).collect()
}

/// `Err` tells the first place where `found` is further than `limit` from `wanted`, or not a number.
pub fn compare(what: &str, found: &[f64], wanted: &[f64], limit: f64) -> Result<(), String> {
    if found.len() != wanted.len() {
        return Err(format!("{what}: {} values, wanted {}", found.len(), wanted.len()));
    }
    for (i, (f, w)) in found.iter().zip(wanted).enumerate() {
        let difference = (f - w).abs();
        if difference.is_nan() || difference > limit {
            return Err(format!("{what}[{i}] = {f:e}, wanted {w:e}: they differ by {difference:e}, limit {limit:e}"));
        }
    }
    Ok(())
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

/// Everything an engine returned for contact `k`, as bits.
pub fn bits(t: &Trajectories, k: usize) -> Vec<u64> {
    let n = t.frames();
    let status = t.status[k];
    let failure = status.failure.map_or([0, 0], |(step, reason)| [step + 1, reason as u64]);
    let threes = [flat(of(&t.pose, k, n)), flat(of(&t.twist, k, n)), flat(of(&t.wrench, k, n))].concat();
    let ones = [&t.normal_force, &t.slip, &t.near_limit].into_iter().flat_map(|all| of(all, k, n));
    let bristles = t.bristles.get(k).into_iter().flatten().flatten();
    let numbers = threes.iter().chain(ones).chain(bristles).map(|v| v.to_bits());
    let counts = [status.unconverged, status.steps, status.passes, status.left.map_or(0, |sample| sample + 1)];
    numbers.chain(failure).chain(counts).collect()
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

/// The frame of a body whose patch is at its centre of mass and turns with it.
pub const WITH_THE_BODY: Frame = Frame::Body { offset: [0.0; 2] };

/// What moves a contact, as files name it.
pub const KINDS: [&str; 4] = ["prescribed", "gripper", "body", "world"];

/// Which of [`KINDS`] a contact is.
pub fn kind(contact: &Contact) -> &'static str {
    KINDS[contact.body.free().map_or(0, |body| match body.frame {
        Frame::Gripper => 1,
        Frame::Body { .. } => 2,
        Frame::World => 3,
    })]
}

/// The body of a contact that moves freely.
pub fn free(contact: &mut Contact) -> &mut FreeBody {
    contact.body.free_mut().expect("a body that moves freely")
}

/// The twist of a contact whose motion is prescribed.
pub fn prescribed_twist(contact: &mut Contact) -> &mut [Signal; 3] {
    match &mut contact.body {
        Body::Prescribed { twist, .. } => twist,
        Body::Free(body) => panic!("{body:?} moves freely"),
    }
}

/// A body of 1 kg on a table.
pub fn on_table(frame: Frame, patch: &Arc<Patch>, friction: Friction) -> Contact {
    let body = FreeBody::new(frame, 1.0, 1.25e-3).into();
    let inputs = Inputs { normal_force: Signal::constant(9.81), ..Inputs::default() };
    Contact { patch: Arc::clone(patch), model: Model::Distributed, friction, body, inputs, initial: Initial::default() }
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

/// Numbers of a random contact, by name.
pub struct Dice(pub Draw);

impl Dice {
    pub fn between(&self, name: &str, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform(name)
    }

    pub fn log(&self, name: &str, low: f64, high: f64) -> f64 {
        self.between(name, low.ln(), high.ln()).exp()
    }

    pub fn pick<T: Copy>(&self, name: &str, from: &[T]) -> T {
        from[(self.0.uniform(name) * from.len() as f64) as usize]
    }
}

/// Contact `k` of a batch in which everything differs: grid and cell shape, map, law, gamma, kind, loads,
/// start, bristles. Soft enough that a step of 2e-4 s has one solution.
pub fn random_contact(seed: u64, k: u64) -> Contact {
    let d = Dice(Draw::new(seed, k));
    let (nx, ny) = d.pick("grid", &[(1, 1), (4, 3), (7, 7), (21, 21), (26, 20)]);
    let grid = Grid::new(nx, ny, d.log("width", 0.005, 0.05), d.log("height", 0.005, 0.05)).unwrap();
    let f_n = d.log("f_n", 0.2, 10.0);
    let patch = match d.pick("map", &[0, 1, 2, 3]) {
        0 => Patch::shape(grid, d.pick("shape", &[Shape::Square, Shape::Circle, Shape::LineGradient])).unwrap(),
        1 => {
            let exponent = d.pick("exponent", &[Exponent::Fixed(2.0), Exponent::Fixed(1.3), Exponent::PerNewton(0.7)]);
            Patch::hertz(grid, Hertz { radius: d.between("radius", 0.8, 4.0), exponent }, f_n).unwrap()
        }
        _ => {
            let cell = |i: usize| d.between(&format!("p{i}"), 0.0, 1.0);
            Patch::from_pressure(grid, &(0..grid.len()).map(cell).collect::<Vec<_>>()).unwrap()
        }
    };
    let mu_c = d.between("mu_c", 0.2, 1.2);
    let friction = Friction {
        law: d.pick("law", &[Law::LuGre, Law::ElastoPlastic, Law::ElastoPlastic, Law::Dahl, Law::ViscoelastoPlastic]),
        sigma0: d.log("sigma0", 1e4, 1e6),
        sigma1: d.log("sigma1", 1.0, 1e3),
        sigma2: d.between("sigma2", 0.0, 0.3),
        mu_c,
        mu_s: mu_c * d.between("mu_s", 1.0, 1.3),
        gamma: d.pick("gamma", &[2.0, 2.0, 0.7, 1.0, 3.1]),
        v_s: d.log("v_s", 2e-3, 2e-2),
        s_ba: d.between("s_ba", 0.0, 0.95),
    };
    let kind = d.pick("kind", &KINDS);
    let speed = |name: &str, scale: f64| d.between(name, -scale, scale) * d.log("slow", 1e-3, 1.0);
    let twist: Twist = [("vx", 0.05), ("vy", 0.05), ("w", 5.0)].map(|(n, s)| speed(n, s)).into();
    let frame = match kind {
        "gripper" => Frame::Gripper,
        "world" => Frame::World,
        _ => Frame::Body { offset: [d.between("ox", -0.01, 0.01), d.between("oy", -0.01, 0.01)] },
    };
    let body = if kind == "prescribed" {
        Body::prescribed(twist)
    } else {
        let mass = d.log("mass", 0.2, 2.0);
        let wrench = [("fx", 2.0), ("fy", 2.0), ("tau", 0.02)].map(|(n, s)| Signal::constant(d.between(n, -s, s)));
        FreeBody { wrench, twist, ..FreeBody::new(frame, mass, mass * d.log("inertia", 4e-4, 2e-3)) }.into()
    };
    let inputs = Inputs { normal_force: Signal::constant(f_n), ..Inputs::default() };
    let arm = if kind == "gripper" { 0.02 } else { 0.5 };
    let initial = Initial {
        pose: [("x", arm), ("y", arm), ("theta", 3.0)].map(|(n, s)| d.between(n, -s, s)).into(),
        bristles: Bristles::Unloaded,
    };
    let mut contact = Contact { patch: Arc::new(patch), model: Model::Distributed, friction, body, inputs, initial };
    let cells = contact.active_cells(&contact.timeline(&[0.0, 1.0])).len();
    let within = |i: usize| {
        let (size, angle) = (mu_c * d.between(&format!("z{i}"), 0.0, 1.0), d.between(&format!("a{i}"), 0.0, 6.3));
        [size * angle.cos(), size * angle.sin()]
    };
    contact.initial.bristles = Bristles::States((0..cells).map(within).collect());
    contact
}
