//! Runs the tests of datasets: packages for machine learning open the files of the program, in virtual
//! environments of Python under `target/datasets`.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::venv::{environment, run};

/// Scripts of `tests/datasets` that share an environment: its folder, and the file of its packages.
pub struct Scripts {
    folder: &'static str,
    packages: &'static str,
    names: &'static [&'static str],
}

/// Scripts that open datasets and run the commands of the tutorial.
pub const READERS: Scripts =
    Scripts { folder: "env", packages: "requirements.txt", names: &["check.py", "tutorial.py"] };

/// Scripts that train on datasets. They need 8 GB of packages, so that the test command leaves them out.
pub const LEARNERS: Scripts =
    Scripts { folder: "learners", packages: "requirements-learners.txt", names: &["learners.py"] };

/// Runs scripts on the program, which is built unless it `is_built`.
pub fn test(root: &Path, scripts: &Scripts, is_built: bool) -> ExitCode {
    match try_test(root, scripts, is_built) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: datasets: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn try_test(root: &Path, scripts: &Scripts, is_built: bool) -> Result<(), String> {
    let python = environment(&root.join("target/datasets").join(scripts.folder))?;
    let files = Path::new("tests/datasets");
    run(Command::new(&python)
        .current_dir(root)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(files.join(scripts.packages)))?;
    if !is_built {
        run(crate::cargo().current_dir(root).args(["build", "--release", "--bin", "bristle"]))?;
    }
    let program = root.join("target/release/bristle").with_extension(std::env::consts::EXE_EXTENSION);
    for name in scripts.names {
        run(Command::new(&python).current_dir(root).arg(files.join(name)).arg(&program))?;
    }
    Ok(())
}
