//! Compiles the kernels for real GPUs and compares their statistics with docs/kernels.md.
#![cfg(all(feature = "kernels", target_os = "linux"))]

use std::process::Command;

#[test]
fn no_kernel_spills_or_has_grown() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["kernels", "--check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
