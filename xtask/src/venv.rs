//! Makes the virtual environments of Python in which tests run.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::setup::{Need, set_up};

/// Whether an interpreter is new enough and can make virtual environments.
const USABLE: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/// The interpreter of the system.
const SYSTEM: &str = if cfg!(windows) { "python" } else { "python3" };

fn works(python: &Path) -> bool {
    Command::new(python).args(["-c", USABLE]).output().is_ok_and(|o| o.status.success())
}

/// Whether the system has an interpreter that makes virtual environments.
pub fn is_there() -> bool {
    works(SYSTEM.as_ref())
}

/// The interpreter of a virtual environment, which is made if it is not there.
pub fn environment(folder: &Path) -> Result<PathBuf, String> {
    let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let python = folder.join(inside);
    if works(&python) {
        return Ok(python);
    }
    if !set_up(&[Need::Python]) {
        return Err(format!("expected `{SYSTEM}` of version 3.11 or later with the module venv"));
    }
    run(Command::new(SYSTEM).args(["-m", "venv", "--clear"]).arg(folder))?;
    Ok(python)
}

/// Runs a command, and says which.
pub fn run(command: &mut Command) -> Result<(), String> {
    println!("xtask: {command:?}");
    if crate::run(command) { Ok(()) } else { Err(format!("{command:?} has failed")) }
}
