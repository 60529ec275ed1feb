//! Rigid bodies, friction cones and grasps, against analytic answers, laws of physics and patches.

#[path = "../../../../tests/common/mod.rs"]
mod common;
#[path = "../common/mod.rs"]
mod worlds;

#[cfg(feature = "gpu")]
mod agreement;
mod cones;
mod holding;
mod patches;
mod rigid;
#[cfg(feature = "gpu")]
mod rigid_properties;
mod stability;
