//! The tests of the Python package: the wheel is built as a user builds it, and installed into a virtual environment
//! of its own under `target/python`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Whether an interpreter is new enough and can make virtual environments.
const USABLE: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

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
    run(pip("wheel").args(["--no-deps", "--wheel-dir"]).arg(&wheels).arg("."))?;
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

/// The interpreter of a virtual environment, which is made if it is not there.
fn environment(folder: &Path) -> Result<PathBuf, String> {
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

fn run(command: &mut Command) -> Result<(), String> {
    println!("xtask: {command:?}");
    if crate::run(command) { Ok(()) } else { Err(format!("{command:?} has failed")) }
}
