//! Friction inside another simulator: a rigid body that this file integrates, in steps of 2 ms, with the
//! friction of two finger pads from bristle.
//! `cargo run --release -p bristle --no-default-features --example cosim`.
//!
//! The pads are a contact whose motion is prescribed. In each step the host asks for the friction under a
//! twist and its derivative ([`Batch::respond`]), and solves for the twist at the end of the step. Then it
//! prescribes that twist and advances, so that the bristles follow.

use bristle::{Batch, Body, Contact, Cpu, Engine, Frame, FreeBody, Initial, Input, Inputs, Model, Pose, Signal};
use bristle::{EngineError, Friction, Grid, Patch, Shape, Stepping, Twist, Wrench};
use nalgebra::{Matrix3, Vector3};

/// Step of the host [s].
const STEP: f64 = 2e-3;
/// Mass [kg], moment of inertia [kg m^2] and gravity [m/s^2] of the body.
const MASS: f64 = 0.2;
const INERTIA: f64 = 4.8e-4;
const GRAVITY: f64 = -9.81;
/// Number of pads.
const PADS: f64 = 2.0;

/// How the host takes the friction.
#[derive(Clone, Copy, PartialEq)]
enum Coupling {
    /// The wrench at the end of the last step.
    Explicit,
    /// The wrench at the end of this one.
    Implicit,
}

/// The patch, gripped with `normal_force` [N], and what moves it.
fn contact(body: Body, normal_force: f64) -> Result<Contact, Box<dyn std::error::Error>> {
    Ok(Contact {
        patch: Patch::shape(Grid::new(21, 21, 0.02, 0.02)?, Shape::Circle)?.into(),
        model: Model::Distributed,
        friction: Friction::default(),
        body,
        inputs: Inputs { normal_force: Signal::constant(normal_force), ..Inputs::default() },
        initial: Initial { pose: START, ..Initial::default() },
    })
}

/// Where the centre of mass starts, from the pads [m, m, rad].
const START: Pose = Pose::new(0.01, -0.02, 0.0);

/// A body held between pads.
struct Host {
    pads: Batch,
    pose: Pose,
    twist: Twist,
    wrench: Wrench,
}

impl Host {
    fn new(normal_force: f64) -> Result<Self, Box<dyn std::error::Error>> {
        let pads = vec![contact(Body::prescribed(Twist::default()), normal_force)?];
        let pads = Cpu::new().batch(pads, Stepping::default())?;
        Ok(Self { pads, pose: START, twist: Twist::default(), wrench: Wrench::default() })
    }

    /// One step of the body, of `h` [s].
    fn step(&mut self, coupling: Coupling, h: f64) -> Result<(), EngineError> {
        // The pads stand still: the twist of the patch is that of the body at the pads.
        let to_patch = Frame::Gripper.transform(self.pose);
        let t = to_patch.matrix();
        let mass = Matrix3::from_diagonal(&Vector3::new(MASS, MASS, INERTIA));
        let start = Vector3::from(self.twist.to_array());
        let weight = Vector3::new(0.0, MASS * GRAVITY, 0.0);
        let mut u = start;
        match coupling {
            Coupling::Explicit => {
                let w = Vector3::from(to_patch.wrench(self.wrench).to_array());
                u += mass.try_inverse().unwrap_or_default() * h * (weight + PADS * w);
            }
            Coupling::Implicit => {
                // Newton's iteration for M (u - start) = h (weight + pads W(u)). A step that makes the rest
                // larger is halved: friction turns by half a turn where the motion reverses.
                let mut rest = |u: Vector3<f64>| {
                    let friction = self.pads.respond(0, to_patch.twist(Twist::new(u.x, u.y, u.z)), h)?;
                    let w = Vector3::from(to_patch.wrench(friction.wrench).to_array());
                    let gain = t.transpose() * Matrix3::from(friction.gain).transpose() * t;
                    Ok::<_, EngineError>((h * (weight + PADS * w) - mass * (u - start), mass - h * PADS * gain))
                };
                let size = |rest: Vector3<f64>| (rest.x.powi(2) + rest.y.powi(2)) / MASS + rest.z.powi(2) / INERTIA;
                let (mut r, mut matrix) = rest(u)?;
                for _ in 0..30 {
                    let mut change = matrix.try_inverse().unwrap_or_default() * r;
                    let mut next = rest(u + change)?;
                    for _ in 0..6 {
                        if size(next.0) < size(r) {
                            break;
                        }
                        change *= 0.5;
                        next = rest(u + change)?;
                    }
                    u += change;
                    (r, matrix) = next;
                    if size(r) < 1e-16 {
                        break;
                    }
                }
            }
        }
        self.twist = Twist::new(u.x, u.y, u.z);
        let patch = to_patch.twist(self.twist);
        for (input, v) in [(Input::Vx, patch.vx), (Input::Vy, patch.vy), (Input::W, patch.w)] {
            self.pads.set(0, input, v)?;
        }
        self.pads.advance(h)?;
        self.wrench = self.pads.samples()?[0].wrench;
        self.pose = Pose::new(self.pose.x + h * u.x, self.pose.y + h * u.y, self.pose.theta + h * u.z);
        Ok(())
    }
}

/// Where the body is after `duration` [s] in steps of `h` [s], with a grip that is loosened for 40 ms.
fn hold(coupling: Coupling, h: f64, duration: f64) -> Result<Pose, Box<dyn std::error::Error>> {
    let mut host = Host::new(4.0)?;
    let steps = (duration / h).round() as usize;
    for k in 0..steps {
        let t = k as f64 * h;
        host.pads.set(0, Input::NormalForce, if (0.1..0.14).contains(&(t + 1e-9)) { LOOSE } else { 4.0 })?;
        host.step(coupling, h)?;
        if !host.pose.x.is_finite() || host.pose.y.abs() > 10.0 {
            break;
        }
    }
    Ok(host.pose)
}

/// The grip when it is loosened [N].
const LOOSE: f64 = 0.6;

/// The same body as bristle integrates it.
fn reference(duration: f64) -> Result<Pose, Box<dyn std::error::Error>> {
    let gravity = [Signal::constant(0.0), Signal::constant(GRAVITY)];
    let mut held = contact(FreeBody { gravity, ..FreeBody::new(Frame::Gripper, MASS, INERTIA) }.into(), 4.0)?;
    held.inputs.normal_force = Signal::steps(&[(0.0, 4.0), (0.1, LOOSE), (0.14, 4.0)])?;
    let mut batch = Cpu::new().batch(vec![held], Stepping::default())?;
    batch.advance(duration)?;
    Ok(batch.samples()?[0].pose)
}

fn distance(a: Pose, b: Pose) -> f64 {
    (a.x - b.x).hypot(a.y - b.y)
}

/// Holds, fails to hold, and lets slip.
///
/// # Errors
/// None that is expected.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Held still for 0.1 s: the weight sags by micrometres, and no more.
    let sag = distance(hold(Coupling::Implicit, STEP, 0.1)?, START);
    println!("implicit, {STEP} s: the object sags by {:.2} um in 0.1 s", 1e6 * sag);
    assert!(sag < 2e-5, "holds still");
    let explicit = distance(hold(Coupling::Explicit, STEP, 0.1)?, START);
    println!("explicit, {STEP} s: it is {explicit:.3e} m away");
    assert!(!(explicit < 1e-3), "the stiffness of the bristles is too much for explicit steps of 2 ms");

    // It slips while the grip is loose, and is caught again. The error falls with the host's step.
    let wanted = reference(0.3)?;
    let errors: Vec<f64> = [STEP, STEP / 2.0, STEP / 4.0, STEP / 8.0]
        .into_iter()
        .map(|h| Ok(1e6 * distance(hold(Coupling::Implicit, h, 0.3)?, wanted)))
        .collect::<Result<_, Box<dyn std::error::Error>>>()?;
    println!(
        "it slips by {:.3} mm; steps of 2, 1, 0.5 and 0.25 ms are off by {errors:.2?} um",
        1e3 * distance(wanted, START)
    );
    assert!(distance(wanted, START) > 1e-3, "slips");
    assert!(errors[0] < 100.0 && errors[3] < 0.3 * errors[1], "first order in the step");
    Ok(())
}
