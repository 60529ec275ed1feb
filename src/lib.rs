//! Thousands of LuGre and Elasto-Plastic friction patches at once, on any GPU and on the CPU.
//!
//! An object of 200 g held between two finger pads that open a little: it slips, and is caught again.
//!
//! ```
//! use std::sync::Arc;
//! use bristle::body::{Body, Kind};
//! use bristle::contact::{Contact, Initial, Inputs, Model};
//! use bristle::cpu::Cpu;
//! use bristle::engine::{DEFAULT_STEP, Engine, Plan};
//! use bristle::friction::Friction;
//! use bristle::patch::{Grid, Patch, Shape};
//! use bristle::schedule::Signal;
//!
//! let contact = Contact {
//!     patch: Arc::new(Patch::shape(Grid::new(11, 11, 0.02, 0.02)?, Shape::Disc)?),
//!     model: Model::Distributed,
//!     friction: Friction { mu_c: 0.8, mu_s: 0.9, ..Friction::default() },
//!     body: Body { kind: Kind::Gripper, mass: 0.2, inertia: 4.8e-4, pads: 2, offset: [0.0; 2] },
//!     inputs: Inputs {
//!         normal_force: Signal::steps(&[(0.0, 2.0), (0.05, 1.0), (0.1, 2.0)])?,
//!         gravity: [0.0.into(), (-9.81).into()],
//!         ..Inputs::default()
//!     },
//!     initial: Initial::default(),
//! };
//! // A gripper of 2 N holds mu f_N = 3.2 N on both pads, more than the 1.96 N of the weight; 1 N does not.
//! let plan = Plan::new(0.2, DEFAULT_STEP, 0.01)?;
//! let out = Cpu::new().rollout(&[contact], &plan, &|_| true)?;
//! let y: Vec<f64> = out.pose.iter().map(|q| q[1]).collect();
//! assert!(y[5].abs() < 1e-6 && y[10] < -1e-3, "sticks, then slips");
//! assert!((y[19] - y[20]).abs() < 1e-6, "is caught again");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![doc = include_str!("../ARCHITECTURE.md")]
// Some of what modules share only the GPU's engine or the application takes.
#![cfg_attr(not(all(feature = "gpu", feature = "cli")), allow(dead_code, unused_imports))]

#[cfg(feature = "cli")]
pub mod app;
pub mod body;
pub mod contact;
pub mod cpu;
mod disk;
pub mod engine;
pub mod error;
pub mod friction;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod input;
pub mod kernel;
pub mod limit_surface;
pub mod number;
pub mod patch;
pub mod planar;
pub mod random;
pub mod rollout;
pub mod scenario;
pub mod schedule;
pub mod statistics;
pub mod surfaces;
