//! Compiles the kernels for real GPUs and compares their statistics with docs/kernels.md.
#![cfg(all(feature = "kernels", target_os = "linux"))]

use std::io::Write;
use std::process::Command;

#[test]
fn no_kernel_spills_or_has_grown() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["kernels", "--check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn no_kernel_is_worse_by_the_compilers_of_nvidia() {
    let arguments = ["kernels", "--nvidia", "--check", "--if-there"];
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Says that nothing was compared, if so; what is written in this way is shown for tests that pass, too.
    std::io::stderr().write_all(&output.stderr).unwrap();
}
