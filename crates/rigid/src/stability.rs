//! Whether contacts can hold a load, and how far it may grow: `docs/model.md` section 11.
//!
//! Rigid bodies touch the world and each other at points with friction cones. They stay at rest if forces
//! inside the cones balance the loads. A rigid model does not determine the forces, so that the question is
//! whether such forces exist. This is a linear program for pyramids and a second-order cone program for
//! circles. If there are no such forces, a motion of the bodies proves it: the load does work in it, and no
//! contact force can slow it down.

mod answer;
mod assembly;
mod conic;
mod motion;
mod program;

pub use answer::Stability;
pub use assembly::{Assembly, ContactForce, PointContact, RigidBody, SpatialWrench, StabilityError};
pub use motion::Motion;
