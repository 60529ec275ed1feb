//! The GPU engine: single precision in WGSL through `wgpu`, one workgroup a contact.
//!
//! `wgpu` changes every quarter; nothing outside this room names it.

mod adapter;
mod chunk;
mod engine;
mod item;
mod layout;
mod limit_surface;
mod map;
mod pace;
mod room;
mod shader;
mod staging;

pub use adapter::{Adapter, Choice, adapters};
pub use engine::Gpu;
pub use shader::{Reduced, Shape, Variant, source};
