//! The GPU engine: single precision in WGSL through `wgpu`, one workgroup a contact.
//!
//! `wgpu` changes every quarter; nothing outside this module names it.

mod batch;
mod buffer;
mod contact;
mod core;
mod device;
mod engine;
mod group;
mod inputs;
pub mod kernel;
mod layout;
mod limit_surface;
mod live;
mod memory;
mod pace;
mod patch_state;
mod pipeline;
mod program;
mod shader;
mod shape;
mod unroll;
mod watched;

pub use device::{Adapter, Choice, adapters};
pub use engine::Gpu;
#[doc(hidden)]
pub use program::Program;
pub use shader::{Reduced, Variant, source};
pub use shape::{Layout, Shape, Storage};
pub use unroll::{MarkError, MarkFault};
