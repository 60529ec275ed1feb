//! Contacts on which the GPU engine is compared with the CPU engine, and the comparisons: the tests and
//! `bristle bench --all` share them.
//!
//! The tests include this file by its path, so that a crate needs no other crate for them.

use std::sync::Arc;

use bristle::body::{Body, Frame, FreeBody};
use bristle::contact::{Bristles, Contact, Initial, Inputs, Model};
use bristle::engine::{Engine, Plan, Trajectories};
use bristle::friction::{Friction, Law};
use bristle::patch::{Exponent, Grid, Hertz, Patch, Shape};
use bristle::planar::Twist;
use bristle::random::Draw;
use bristle::schedule::Signal;

/// The samples of contact `k`.
#[must_use]
pub fn of<T>(all: &[T], k: usize, frames: usize) -> &[T] {
    &all[k * frames..(k + 1) * frames]
}

/// All numbers of poses, twists or wrenches.
pub fn flat<T: Copy + Into<[f64; 3]>>(all: &[T]) -> Vec<f64> {
    all.iter().flat_map(|&v| v.into()).collect()
}

/// The largest difference as a share of `limit`, 0 to 1 [-]; `Err` tells the first place where `found` is
/// further than `limit` from `wanted`, or not a number.
///
/// # Errors
/// Such a place, or other numbers of values.
pub fn compare(what: &str, found: &[f64], wanted: &[f64], limit: f64) -> Result<f64, String> {
    if found.len() != wanted.len() {
        return Err(format!("{what}: {} values, wanted {}", found.len(), wanted.len()));
    }
    let mut largest = 0.0f64;
    for (i, (f, w)) in found.iter().zip(wanted).enumerate() {
        let difference = (f - w).abs();
        if difference.is_nan() || difference > limit {
            return Err(format!("{what}[{i}] = {f:e}, wanted {w:e}: they differ by {difference:e}, limit {limit:e}"));
        }
        largest = largest.max(difference);
    }
    // A limit of zero allows no difference.
    Ok(if largest > 0.0 { largest / limit } else { 0.0 })
}

/// Everything an engine returned for contact `k`, as bits.
#[must_use]
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

/// The frame of a body whose patch is at its centre of mass and turns with it.
pub const WITH_THE_BODY: Frame = Frame::Body { offset: [0.0; 2] };

/// What moves a contact, as files name it.
pub const KINDS: [&str; 4] = ["prescribed", "gripper", "body", "world"];

/// Which of [`KINDS`] a contact is.
#[must_use]
pub fn kind(contact: &Contact) -> &'static str {
    KINDS[contact.body.free().map_or(0, |body| match body.frame {
        Frame::Gripper => 1,
        Frame::Body { .. } => 2,
        Frame::World => 3,
    })]
}

/// The body of a contact that moves freely.
///
/// # Panics
/// A contact whose motion is prescribed.
pub fn free(contact: &mut Contact) -> &mut FreeBody {
    contact.body.free_mut().expect("a body that moves freely")
}

/// A body of 1 kg on a table.
#[must_use]
pub fn on_table(frame: Frame, patch: &Arc<Patch>, friction: Friction) -> Contact {
    let body = FreeBody::new(frame, 1.0, 1.25e-3).into();
    let inputs = Inputs { normal_force: Signal::constant(9.81), ..Inputs::default() };
    Contact { patch: Arc::clone(patch), model: Model::Distributed, friction, body, inputs, initial: Initial::default() }
}

/// Numbers of a random contact, by name.
pub struct Dice(pub Draw);

impl Dice {
    /// Uniform between two numbers.
    #[must_use]
    pub fn between(&self, name: &str, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform(name)
    }

    /// Log-uniform between two positive numbers.
    #[must_use]
    pub fn log(&self, name: &str, low: f64, high: f64) -> f64 {
        self.between(name, low.ln(), high.ln()).exp()
    }

    /// One of some values.
    #[must_use]
    pub fn pick<T: Copy>(&self, name: &str, from: &[T]) -> T {
        from[(self.0.uniform(name) * from.len() as f64) as usize]
    }
}

/// Contact `k` of a batch in which everything differs: grid and cell shape, map, law, gamma, kind, loads,
/// start, bristles. Soft enough that a step of 2e-4 s has one solution.
#[must_use]
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

/// The length of the step that [`one_step`] makes \[s\].
pub const STEP: f64 = 1e-4;
/// What one step in f32 may differ from one in f64: a share of the largest number.
const ONE_STEP: f64 = 2e-5;

/// A plan of one step of [`STEP`] that returns the bristles too.
///
/// # Panics
/// Never: its times are in range.
#[must_use]
pub fn one_step() -> Plan {
    Plan { keep_bristles: true, ..Plan::new(STEP, STEP, STEP).expect("times in range") }
}

/// Compares what one step made of `contacts`: status, pose, twist and every bristle. Returns the largest
/// difference as a share of its limit [-].
///
/// # Errors
/// The first difference above its limit.
pub fn one_step_agrees(contacts: &[Contact], found: &Trajectories, wanted: &Trajectories) -> Result<f64, String> {
    let mut share = 0.0f64;
    for (k, contact) in contacts.iter().enumerate() {
        let name = |what: &str| format!("contact {k} ({}, {:?}): {what}", kind(contact), contact.friction.law);
        let (f, w) = (found.status[k], wanted.status[k]);
        if (f.failure, f.steps) != (w.failure, w.steps) {
            return Err(format!("{}: {f:?}, wanted {w:?}", name("status")));
        }
        let (last, arm) = (2 * k + 1, contact.patch.arm2().sqrt().max(1e-3));
        // Motion in m and m/s: angles count at the patch's arm.
        let flat = |v: [f64; 3]| [v[0], v[1], arm * v[2]];
        let moved = |t: &Trajectories| {
            let (from, to) = (t.pose[last - 1], t.pose[last]);
            [to.x - from.x, to.y - from.y, to.theta - from.theta]
        };
        let largest = |v: &[f64]| v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let twist = [found, wanted].map(|t| flat(t.twist[last].to_array()));
        // A step that almost stops a body is as good as the speed it took away.
        let before = largest(&flat(wanted.twist[last - 1].to_array()));
        let speed = largest(&twist[1]).max(before);
        let bristles = [found, wanted].map(|t| t.bristles[k].as_flattened());
        for of_one in [
            compare(&name("twist"), &twist[0], &twist[1], ONE_STEP * speed)?,
            compare(&name("way"), &flat(moved(found)), &flat(moved(wanted)), ONE_STEP * speed * STEP)?,
            compare(&name("bristles"), bristles[0], bristles[1], ONE_STEP * largest(bristles[1]))?,
        ] {
            share = share.max(of_one);
        }
    }
    Ok(share)
}

/// Compares the paths of `contacts`: poses may differ by 1e-6 m, which the rounding of the start is worth,
/// and by 1e-4 of the way. Returns the largest difference as a share of its limit [-].
///
/// # Errors
/// The first difference above its limit.
pub fn paths_agree(contacts: &[Contact], found: &Trajectories, wanted: &Trajectories) -> Result<f64, String> {
    let n = wanted.frames();
    let mut share = 0.0f64;
    for (k, contact) in contacts.iter().enumerate() {
        let arm = contact.patch.arm2().sqrt().max(1e-3);
        let path = of(&wanted.pose, k, n);
        let from = path[0];
        let way = path.iter().map(|q| (q.x - from.x).hypot(q.y - from.y).max(arm * (q.theta - from.theta).abs()));
        let limit = 1e-6 + 1e-4 * way.fold(0.0, f64::max);
        let flat =
            |t: &Trajectories| of(&t.pose, k, n).iter().flat_map(|q| [q.x, q.y, arm * q.theta]).collect::<Vec<_>>();
        let name = format!("contact {k} ({}, {:?}): pose", kind(contact), contact.friction.law);
        share = share.max(compare(&name, &flat(found), &flat(wanted), limit)?);
    }
    Ok(share)
}

/// Time of one triangle of a load [s].
const PERIOD: f64 = 0.2;
/// Triangles that are looked at, after one that is not.
const PERIODS: usize = 10;
/// Creep that is left in double precision and steps of any length [m/s]: of bodies that are pushed and turned
/// at once.
const TURNING: f64 = 2e-13;
/// What rounding of the bristles may add in single precision, for every step [m]; as stated in
/// `docs/accuracy.md`.
const ROUNDING: f64 = 3e-15;

/// How fast an Elasto-Plastic grid that sticks may creep in steps of `step` \[s\]: \[m/s\]. In the exact
/// model it does not creep; `is_double` says whether bristles are in double precision.
#[must_use]
pub const fn most_creep(step: f64, is_double: bool) -> f64 {
    TURNING + if is_double { 0.0 } else { ROUNDING / step }
}

/// Up, down and back to `mean`, by `amplitude`.
fn triangle(mean: f64, amplitude: f64) -> Signal {
    let points: Vec<(f64, f64)> = (0..4 * (PERIODS + 1) + 1)
        .map(|k| (0.25 * PERIOD * k as f64, mean + amplitude * [0.0, 1.0, 0.0, -1.0][k % 4]))
        .collect();
    Signal::linear(&points).expect("times in order")
}

/// Contacts of a disc of `n` x `n` cells that stick under triangular loads, which are shares of what holds
/// them, and what their loads are.
///
/// # Panics
/// A number of cells that no grid has.
#[must_use]
pub fn sticking(n: usize) -> Vec<(String, Contact)> {
    let grid = Grid::new(n, n, 0.02, 0.02).expect("a number of cells in range");
    let patch = Arc::new(Patch::shape(grid, Shape::Disc).expect("a disc with cells"));
    let friction = Friction { law: Law::ElastoPlastic, ..Friction::default() };
    let mut all = Vec::new();
    for (mean, amplitude) in [(0.0, 0.1), (0.0, 0.5), (0.3, 0.1), (0.3, 0.4), (0.55, 0.2)] {
        for [x, y, w] in [[1.0, 0.0, 0.0], [0.6, -0.5, 0.0], [0.4, 0.3, 0.4], [0.0, 0.0, 0.7]] {
            let mut contact = on_table(WITH_THE_BODY, &patch, friction);
            let most = friction.mu_c * 9.81;
            let force = |share: f64| triangle(mean * most * share, amplitude * most * share);
            free(&mut contact).wrench = [force(x), force(y), force(w * patch.radius())];
            all.push((format!("{mean} +- {amplitude} of {:?}", [x, y, w]), contact));
        }
    }
    all
}

/// The fastest creep of contacts of [`sticking`] in steps of `step` \[s\]: \[m/s\], of the position or of the
/// rotation times the radius, and which contact creeps so; NaN if a pose is not a number.
///
/// # Errors
/// An engine that fails, or a contact that comes near its limit.
pub fn creep(engine: &dyn Engine, contacts: &[(String, Contact)], step: f64) -> Result<(f64, usize), String> {
    let (all, plan) = creeping(contacts, step)?;
    creep_of(contacts, &engine.run(&all, &plan).map_err(|e| e.to_string())?)
}

/// What [`creep`] simulates.
///
/// # Errors
/// A step out of range.
pub fn creeping(contacts: &[(String, Contact)], step: f64) -> Result<(Vec<Contact>, Plan), String> {
    let plan = Plan::new(PERIOD * (PERIODS + 1) as f64, step, PERIOD).map_err(|e| e.to_string())?;
    Ok((contacts.iter().map(|(_, contact)| contact.clone()).collect(), plan))
}

/// What [`creep`] finds in the trajectories of [`creeping`].
///
/// # Errors
/// A contact that comes near its limit.
pub fn creep_of(contacts: &[(String, Contact)], out: &Trajectories) -> Result<(f64, usize), String> {
    let frames = out.frames();
    let mut fastest = (0.0, 0);
    for (k, (name, contact)) in contacts.iter().enumerate() {
        if !of(&out.near_limit, k, frames).iter().all(|share| *share == 0.0) {
            return Err(format!("{name}: bristles are near their limit, and should be far from it"));
        }
        let (first, last) = (of(&out.pose, k, frames)[1], of(&out.pose, k, frames)[PERIODS + 1]);
        let turned = (last.theta - first.theta).abs() * contact.patch.radius();
        let moved = (last.x - first.x).hypot(last.y - first.y);
        let speed = if moved >= turned { moved } else { turned } / (PERIOD * PERIODS as f64);
        // A speed that is not a number is the fastest.
        if !(speed <= fastest.0) {
            fastest = (speed, k);
        }
    }
    Ok(fastest)
}

/// Steps of a run long enough to lose a naive sum in single precision.
const MANY: f64 = 1e5;

/// Relative error of the way [-] after 1e5 steps at a tiny speed, far from zero: a step moves by 2e-9 m, a
/// thirtieth of the last digit of 1 m in single precision.
///
/// # Errors
/// An engine that fails, or that takes another number of steps.
pub fn lost_on_a_long_way(engine: &dyn Engine) -> Result<f64, String> {
    let (contact, plan) = long_way()?;
    lost_of(&engine.run(&[contact], &plan).map_err(|e| e.to_string())?)
}

/// Speed [m/s] and step [s] of the long way.
const LONG_WAY: [f64; 2] = [1e-5, 2e-4];

/// What [`lost_on_a_long_way`] simulates.
///
/// # Errors
/// None that is known.
pub fn long_way() -> Result<(Contact, Plan), String> {
    let [speed, step] = LONG_WAY;
    let grid = Grid::new(1, 1, 0.01, 0.01).map_err(|e| e.to_string())?;
    let patch = Arc::new(Patch::shape(grid, Shape::Square).map_err(|e| e.to_string())?);
    let mut contact = on_table(Frame::World, &patch, Friction::default());
    contact.body = Body::prescribed([speed, 0.0, 0.0].into());
    contact.inputs.normal_force = Signal::constant(1.0);
    contact.initial.pose.x = 1.0;
    let duration = MANY * step;
    let plan = Plan::new(duration, step, duration / 10.0).map_err(|e| e.to_string())?;
    Ok((contact, plan))
}

/// What [`lost_on_a_long_way`] finds in the trajectory of [`long_way`].
///
/// # Errors
/// Another number of steps.
pub fn lost_of(out: &Trajectories) -> Result<f64, String> {
    let [speed, step] = LONG_WAY;
    let duration = MANY * step;
    if out.status[0].steps != MANY as u64 {
        return Err(format!("{} steps, wanted {MANY}", out.status[0].steps));
    }
    let errors = out.pose.iter().zip(&out.time).map(|(q, t)| ((q.x - 1.0 - speed * t) / (speed * duration)).abs());
    Ok(errors.fold(0.0, |a, b| if b <= a { a } else { b }))
}
