//! Thousands of LuGre and Elasto-Plastic friction patches at once, on any GPU and on the CPU.
//!
//! In this example two finger pads hold an object of 200 g and open a little: the object slips and is caught
//! again.
//!
//! ```
//! use bristle::{Body, Contact, Frame, FreeBody, Initial, Input, Inputs, Model, Signal};
//! use bristle::{Cpu, DEFAULT_STEP, Engine, Plan, Stepping};
//! use bristle::{Friction, Grid, Patch, Shape};
//!
//! let contact = Contact {
//!     patch: Patch::shape(Grid::new(11, 11, 0.02, 0.02)?, Shape::Disc)?.into(),
//!     model: Model::Distributed,
//!     friction: Friction { mu_c: 0.8, mu_s: 0.9, ..Friction::default() },
//!     body: Body::Free(FreeBody {
//!         gravity: [0.0.into(), (-9.81).into()],
//!         ..FreeBody::new(Frame::Gripper, 0.2, 4.8e-4)
//!     }),
//!     inputs: Inputs {
//!         normal_force: Signal::steps(&[(0.0, 2.0), (0.05, 1.0), (0.1, 2.0)])?,
//!         ..Inputs::default()
//!     },
//!     initial: Initial::default(),
//! };
//! // A gripper of 2 N holds mu f_N = 3.2 N on both pads, more than the 1.96 N of the weight; 1 N does not.
//! let out = Cpu::new().run(&[contact.clone()], &Plan::new(0.2, DEFAULT_STEP, 0.01)?)?;
//! let y: Vec<f64> = out.pose.iter().map(|q| q.y).collect();
//! assert!(y[5].abs() < 1e-6 && y[10] < -1e-3, "sticks, then slips");
//! assert!((y[19] - y[20]).abs() < 1e-6, "is caught again");
//!
//! // In closed loop: every 2 ms the grip is loosened while the object sticks, and tightened near its limit.
//! let mut batch = Cpu::new().batch(vec![contact], Stepping::default())?;
//! let mut grip = 2.0;
//! for _ in 0..200 {
//!     batch.set(0, Input::NormalForce, grip)?;
//!     batch.advance(2e-3)?;
//!     grip *= if batch.samples()?[0].near_limit > 0.2 { 1.1 } else { 0.995 };
//! }
//! assert!(grip < 1.5 && batch.samples()?[0].pose.y > -1e-3, "grips no harder than it must");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! - A [`Contact`] is a [`Patch`] with pressure on its [`Grid`], its [`Friction`], the [`Body`] that moves it
//!   with its loads, and [`Inputs`] over time.
//! - What a body slides on, or the hand that holds it, may itself move ([`MovingSurface`]).
//! - An [`Engine`] simulates contacts over a [`Plan`] and returns [`Trajectories`]: [`Cpu`], or `Gpu` in
//!   single precision. [`Engine::rollout`] reports its progress, and can be stopped.
//! - A [`Batch`] has contacts that live on an engine between calls: a controller sets inputs and pressure
//!   frames, advances, reads ([`Batch::request_samples`] does not wait), saves, branches. A lost GPU is a
//!   [`DeviceError`].
//! - A [`Table`] holds the limit surface of a patch, the wrenches of steady sliding; [`Surface`] says how far
//!   a load may grow before the patch slips.
//! - Lengths are in metres, forces in newtons, angles in radians, unless a field says otherwise.
//!
//! Scenarios in files, runs on disk, rigid worlds and the program are crates of their own:
//! `bristle-scenario`, `bristle-data`, `bristle-rigid`, `bristle-cli`.
//!
//! # Features
//!
//! - `gpu`, on by default: the GPU engine, through `wgpu`. Without it there is the CPU engine.
//! - `schema`: JSON schemas of the choices that files name, through `schemars`.
//!
//! The library compiles for browsers (wasm32-unknown-unknown), where it has one thread and no
//! [`Cpu::sensitivities`]. Its GPU engine is there on WebGPU, for which no thread may wait: programs call
//! [`Gpu::new_async`], [`Gpu::batch_async`] and the calls of [`Batch`] that end in `_async`. `bristle-web` is
//! the interface to JavaScript.

pub mod batch;
pub mod body;
pub mod contact;
pub mod cpu;
pub mod engine;
pub mod error;
#[cfg(test)]
mod fixtures;
pub mod friction;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod implicit;
pub mod limit_surface;
pub mod memory;
pub mod moving_surface;
pub mod number;
pub mod parameter;
pub mod patch;
pub mod plan;
pub mod planar;
pub mod point;
pub mod pool;
pub mod quote;
pub mod random;
pub mod range;
pub mod schedule;
pub mod sensitivity;
mod solver;
mod wait;

pub use batch::{Batch, Input, Response, Sample, Snapshot};
pub use body::{Body, Frame, FreeBody, TwistPoint};
pub use contact::{Bristles, Contact, Form, Initial, Inputs, Model, PatchInputs};
pub use cpu::{Cpu, Simd};
pub use engine::{
    DEFAULT_STEP, DEFAULT_TOLERANCE, Engine, EngineInfo, LONGEST_STEP, Plan, Reason, Status, Stepping, StopWhen,
    Trajectories,
};
pub use error::{DeviceError, EngineError, ParameterError, PatchError};
pub use friction::{Friction, Law};
#[cfg(feature = "gpu")]
pub use gpu::{Choice, Gpu};
pub use limit_surface::{
    DEFAULT_N_LS, Ellipsoid, LookUp, Margin, MarginGradient, Quartic, ReferencePoint, Rule, Surface, Table,
    WrenchGradient,
};
pub use moving_surface::MovingSurface;
pub use patch::{FrictionAxes, Grid, Patch, Shape};
pub use planar::{Pose, Twist, Wrench};
pub use point::{PointElement, PointLaw, PointModel};
pub use schedule::Signal;
pub use sensitivity::{Sensitivities, Sensitivity};
pub use solver::shear;
