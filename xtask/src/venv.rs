//! Virtual environments of Python, in which tests run that take its packages.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether an interpreter is new enough and can make virtual environments.
const USABLE: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/// The interpreter of a virtual environment, which is made if it is not there.
pub fn environment(folder: &Path) -> Result<PathBuf, String> {
    let inside = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let python = folder.join(inside);
    let works = |python: &Path| Command::new(python).args(["-c", USABLE]).output().is_ok_and(|o| o.status.success());
    if works(&python) {
        return Ok(python);
    }
    let system = Path::new(if cfg!(windows) { "python" } else { "python3" });
    if !works(system) {
        println!("xtask: no Python 3.11 or later that makes virtual environments");
        crate::install(&["python3", "python3-venv"]);
        if !works(system) {
            return Err("expected `python3` of version 3.11 or later with the module venv".to_owned());
        }
    }
    run(Command::new(system).args(["-m", "venv", "--clear"]).arg(folder))?;
    Ok(python)
}

/// Runs a command, and says which.
pub fn run(command: &mut Command) -> Result<(), String> {
    println!("xtask: {command:?}");
    if crate::run(command) { Ok(()) } else { Err(format!("{command:?} has failed")) }
}
