//! The tests of datasets: files that the program writes are opened by the programs that learners use, in a virtual
//! environment of Python under `target/datasets`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Whether an interpreter is new enough and can make virtual environments.
const USABLE: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/// Builds the program and runs `tests/datasets/check.py` on it.
pub fn test(root: &Path) -> ExitCode {
    match try_test(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: datasets: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn try_test(root: &Path) -> Result<(), String> {
    let python = environment(&root.join("target/datasets"))?;
    run(Command::new(&python)
        .current_dir(root)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg("tests/datasets/requirements.txt"))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo).current_dir(root).args(["build", "--release", "--bin", "bristle"]))?;
    let program = root.join("target/release/bristle").with_extension(std::env::consts::EXE_EXTENSION);
    run(Command::new(&python).current_dir(root).arg("tests/datasets/check.py").arg(program))
}

/// The interpreter of a virtual environment, which is made if it is not there.
fn environment(folder: &Path) -> Result<PathBuf, String> {
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
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

fn run(command: &mut Command) -> Result<(), String> {
    println!("xtask: {command:?}");
    if crate::run(command) { Ok(()) } else { Err(format!("{command:?} has failed")) }
}
