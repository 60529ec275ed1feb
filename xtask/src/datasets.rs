//! The tests of datasets: files that the program writes are opened by the programs that learners use, in a
//! virtual environment of Python under `target/datasets`.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::venv::{environment, run};

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
    let python = environment(&root.join("target/datasets/env"))?;
    run(Command::new(&python)
        .current_dir(root)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg("tests/datasets/requirements.txt"))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo).current_dir(root).args(["build", "--release", "--bin", "bristle"]))?;
    let program = root.join("target/release/bristle").with_extension(std::env::consts::EXE_EXTENSION);
    run(Command::new(&python).current_dir(root).arg("tests/datasets/check.py").arg(program))
}
