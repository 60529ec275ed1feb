//! Thousands of LuGre and Elasto-Plastic friction patches at once, on any GPU and on the CPU.
#![doc = include_str!("../ARCHITECTURE.md")]

pub mod body;
pub mod cli;
pub mod contact;
pub mod cpu;
pub mod engine;
pub mod error;
pub mod friction;
pub mod gpu;
pub mod kernel;
pub mod limit_surface;
pub mod patch;
pub mod planar;
pub mod random;
pub mod rollout;
pub mod scenario;
pub mod schedule;
pub mod surfaces;
