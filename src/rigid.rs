//! Rigid bodies with friction solved as such, without bristles.
//!
//! Symbols and equations are those of `docs/model.md`; each submodule names its section.

pub mod lcp;
pub mod world;
