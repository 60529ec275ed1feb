//! Runs the tests of the Python package: builds the wheel as a user does, but for features of dependencies
//! (see [`FEATURES`]), and installs it into a virtual environment of its own under `target/python`.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::venv::{environment, run};

/// With these features the wheel is made of what the tests of Rust have compiled (see `xtask/features`). They
/// change no code of the package. `.ci/run` lints it without them, as a user compiles it.
const FEATURES: &str = "maturin.build-args=--features as-tested";

/// Builds the wheel, checks types and style, and runs pytest with `arguments`.
pub fn test(root: &Path, arguments: &[String]) -> ExitCode {
    match try_test(root, arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: python: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn try_test(root: &Path, arguments: &[String]) -> Result<(), String> {
    let folder = root.join("target/python");
    let python = environment(&folder.join("env"))?;
    let wheels = folder.join("wheels");
    // The tests look for the only wheel there.
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels).map_err(|e| format!("{}: {e}", wheels.display()))?;
    }
    let module = |module: &str| {
        let mut command = Command::new(&python);
        command.current_dir(root).args(["-m", module]);
        command
    };
    let pip = |what: &str| {
        let mut command = module("pip");
        command.args([what, "--quiet", "--disable-pip-version-check"]);
        command
    };
    run(pip("install").args(["--requirement", "python/requirements-test.txt"]))?;
    run(pip("wheel").args(["--no-deps", "--config-settings", FEATURES, "--wheel-dir"]).arg(&wheels).arg("."))?;
    run(pip("install")
        .args(["--no-deps", "--force-reinstall", "--no-index", "--find-links"])
        .arg(&wheels)
        .arg("bristle"))?;
    run(module("ruff").args(["check", "python", "examples/python"]))?;
    run(module("ruff").args(["format", "--check", "python", "examples/python"]))?;
    run(&mut module("mypy"))?;
    // Of the package that is installed, not of the folder beside this one.
    run(module("mypy.stubtest").arg("bristle._bristle").current_dir(&folder))?;
    let temporary = std::env::var_os("XDG_RUNTIME_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    run(module("pytest").args(arguments).env("XDG_RUNTIME_DIR", temporary).env("BRISTLE_WHEELS", &wheels))
}
