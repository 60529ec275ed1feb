//! The commands of the program, run as a user runs them.

#[path = "../../../../tests/content/mod.rs"]
mod content;
#[path = "../common/program.rs"]
mod program;

mod bench;
mod demo;
mod fit;
mod gradients;
mod reproduce;
mod rollout;
mod sequences;
mod stability;
mod surface;
mod sweep;
mod torsion;
mod worlds;
