//! The GPU engine: single precision in WGSL through `wgpu`. A contact has one lane, a part of a subgroup,
//! or a workgroup.
//!
//! Only this module names `wgpu`, because its interface changes every quarter.
//!
//! A file imports from those before it in this list alone:
//!
//! - `device`: adapters, the device that is opened, and its errors.
//! - `layout`: structs that Rust and WGSL share.
//! - `buffer`, `pipeline`: buffers of the device; a compiled shader and its bindings.
//! - `shape`: the layouts of kernels, and which layout an adapter gets.
//! - `unroll`, `shader`: marks of loops; the text of a shader for a shape.
//! - `pace`: the number of passes of a dispatch.
//! - `limit_surface`: wrenches and tables of many patches.
//! - `program`: all shaders beside those of rollouts.
//! - `patch_state`: pressure maps over time, for reduced bristles.
//! - `contact`: one contact: its pipeline, its parameters, its state.
//! - `memory`: how many contacts form a group, and how many samples a window has.
//! - `inputs`: what is sent to the device: contacts at the start, intervals window by window.
//! - `core`: what an engine and its batches share: the device and compiled shaders.
//! - `group`: the buffers of contacts that are stepped together, and their dispatches.
//! - `live`: a group that stays on the device between calls, and its recording window by window.
//! - `batch`: the groups of a batch, on a device that may fail: the `Stepper` of this engine.
//! - `engine`: `Gpu`, which groups contacts by pipeline.
//! - `captured`: dispatches as the device ran them, for tests on another device.
//! - `kernel`: shaders of other crates, compiled, run over buffers, and read back.

mod batch;
mod buffer;
mod captured;
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

#[doc(hidden)]
pub use captured::{Captured, Captures};
pub use device::{Adapter, Choice, adapters};
pub use engine::Gpu;
#[doc(hidden)]
pub use program::Program;
pub use shader::{Reduced, Variant, source};
pub use shape::{KernelShape, Layout, Storage};
pub use unroll::{MarkError, MarkFault};
