//! The header, the functions called from Rust, and a program in C.
#![allow(clippy::undocumented_unsafe_blocks, reason = "pointers are to locals of the tests, or wrong on purpose")]

mod functions;
mod header;
#[cfg(target_os = "linux")]
mod program;

use std::path::PathBuf;

/// A file of this crate.
fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), name].iter().collect()
}
