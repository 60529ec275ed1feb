//! Whether contacts can hold a load, and how far it may grow: `docs/model.md` section 11.
//!
//! Rigid bodies touch the world and each other at points with friction cones. They stay at rest if forces
//! inside the cones balance what acts on them; which forces a rigid model leaves open, so the answer is
//! whether there are any. That is a linear program for pyramids and a second-order cone program for circles.
//! Where there are none, a motion of the bodies proves it: one in which the load does work, and that no force
//! of any contact can slow down.

mod answer;
mod assembly;
mod conic;
mod motion;
mod program;

pub use answer::Stability;
pub use assembly::{Assembly, ContactForce, PointContact, RigidBody, SpatialWrench, StabilityError};
pub use motion::Motion;
