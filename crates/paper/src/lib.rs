//! The application: the command line, the pages and pictures that it makes, and its measurements.
//!
//! The library knows none of this; a program that depends on the library alone leaves the feature `cli` out.

pub mod baseline;
pub mod bench;
pub mod cli;
#[cfg(not(feature = "gpu"))]
pub(crate) mod no_gpu;
pub mod page;
pub mod report;
pub mod reproduce;
pub mod run_picture;
pub(crate) mod stability_picture;
pub(crate) mod surface_picture;
pub mod terminal;

#[cfg(feature = "gpu")]
pub(crate) use crate::gpu;
#[cfg(not(feature = "gpu"))]
pub(crate) use no_gpu as gpu;
