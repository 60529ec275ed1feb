//! The tests of datasets: files that the program writes are opened by the programs that learners use, in a
//! virtual environment of Python under `target/datasets`.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::venv::{environment, run};

/// Runs `tests/datasets/check.py`, and the commands of the tutorial, on the program, which is built unless it
/// `is_built`.
pub fn test(root: &Path, is_built: bool) -> ExitCode {
    match try_test(root, is_built) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: datasets: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn try_test(root: &Path, is_built: bool) -> Result<(), String> {
    let python = environment(&root.join("target/datasets/env"))?;
    run(Command::new(&python)
        .current_dir(root)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg("tests/datasets/requirements.txt"))?;
    if !is_built {
        run(crate::cargo().current_dir(root).args(["build", "--release", "--bin", "bristle"]))?;
    }
    let program = root.join("target/release/bristle").with_extension(std::env::consts::EXE_EXTENSION);
    for script in ["check.py", "tutorial.py"] {
        run(Command::new(&python).current_dir(root).arg(Path::new("tests/datasets").join(script)).arg(&program))?;
    }
    Ok(())
}
