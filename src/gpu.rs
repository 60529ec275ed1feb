//! The GPU engine: single precision in WGSL through `wgpu`, one workgroup a contact.
//!
//! `wgpu` changes every quarter; nothing outside this room names it.

mod adapter;
mod layout;
mod limit_surface;
mod map;
mod rollout;
mod shader;

pub use adapter::{Adapter, Choice, INSTALL_SOFTWARE_DRIVER, adapters};
pub use rollout::Gpu;
pub use shader::{Reduced, Shape, Variant, source};
