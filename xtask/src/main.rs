//! Chores of the project. `cargo xtask test` is the test command: it makes sure that there is a Vulkan driver
//! (a software one will do) and what the tests of the C interface take, then runs every test: those of Rust,
//! and with no further arguments those of datasets and of the Python package, which `cargo xtask datasets`
//! and `cargo xtask python` run alone. `cargo xtask asan` runs them under the address sanitizer. `cargo xtask
//! check` looks for what the compiler does not see. `cargo xtask kernels` prints what compilers for real GPUs
//! make of the kernels.

mod check;
mod datasets;
#[cfg(feature = "kernels")]
mod kernels;
mod python;
mod venv;

use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask test|asan [arguments of cargo test], cargo xtask python [arguments of pytest], \
                     cargo xtask datasets [--learners], cargo xtask check, cargo xtask kernels [--renew|--check]";

/// Where drivers of Vulkan put their files.
const DRIVER_FOLDERS: [&str; 3] = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];

/// Tests that cannot pass under the address sanitizer, which needs terabytes of addresses and makes programs
/// larger and slower.
const NOT_UNDER_ASAN: [(&str, &str); 3] = [
    ("a_run_that_cannot_fit_is_refused", "it limits the addresses of the program"),
    ("a_run_larger_than_memory_is_recorded", "it limits the addresses of the program"),
    ("the_program_is_small", "it measures the program without a sanitizer"),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((task, rest)) if task == "test" => test(rest),
        Some((task, rest)) if task == "asan" => asan(rest),
        Some((task, rest)) if task == "python" => python::test(root(), rest),
        Some((task, [])) if task == "datasets" => datasets::test(root(), &datasets::READERS, false),
        Some((task, [what])) if task == "datasets" && what == "--learners" => {
            datasets::test(root(), &datasets::LEARNERS, false)
        }
        Some((task, [])) if task == "check" => check(),
        Some((task, rest)) if task == "kernels" => kernels(rest),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The project's folder, one above the manifest's.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

fn check() -> ExitCode {
    match check::faults(root()) {
        Ok(faults) if faults.is_empty() => ExitCode::SUCCESS,
        Ok(faults) => {
            faults.iter().for_each(|fault| eprintln!("{fault}"));
            eprintln!("xtask: {} faults", faults.len());
            ExitCode::FAILURE
        }
        Err(e) => {
            eprintln!("xtask: {e}");
            ExitCode::FAILURE
        }
    }
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

#[cfg(feature = "kernels")]
fn kernels(arguments: &[String]) -> ExitCode {
    kernels::run(arguments)
}

/// Runs this program again with the feature that needs the crate itself; the other tasks compile in a second
/// without.
#[cfg(not(feature = "kernels"))]
fn kernels(arguments: &[String]) -> ExitCode {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "--package", "xtask", "--features", "kernels", "--", "kernels"]);
    with_driver(command.args(arguments))
}

fn test(arguments: &[String]) -> ExitCode {
    let mut command = cargo();
    command.args(["test", "--release", "--workspace", "--features", "bristle/cloud,xtask/kernels"]).args(arguments);
    find_tools_of_c();
    find_radv();
    let done = with_driver(&mut command);
    // Arguments choose among the tests of Rust.
    if done == ExitCode::FAILURE || !arguments.is_empty() {
        return done;
    }
    // The tests of Rust have built the program. Built alone it would be compiled once more, as the features
    // of its dependencies differ without those of the tests.
    let others = [datasets::test(root(), &datasets::READERS, true), python::test(root(), &[])];
    if others == [ExitCode::SUCCESS; 2] { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the tests under the address sanitizer, with the checks of unsafe code that the standard library has.
/// It finds what SIMD code reads or writes beyond its slices.
fn asan(arguments: &[String]) -> ExitCode {
    const TOOLCHAIN: &str = "nightly";
    let version = Command::new("rustup").args(["run", TOOLCHAIN, "rustc", "-vV"]).output();
    let Some(version) = version.ok().filter(|output| output.status.success()) else {
        eprintln!("xtask: the address sanitizer needs a nightly toolchain, and rustup to find it: there is none");
        eprintln!(
            "xtask: `rustup toolchain install {TOOLCHAIN} --profile minimal` installs one; rustup is at \
             https://rustup.rs"
        );
        return ExitCode::FAILURE;
    };
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let Some(host) = version.lines().find_map(|line| line.strip_prefix("host: ")) else {
        eprintln!("xtask: `rustc -vV` does not say its host: {version}");
        return ExitCode::FAILURE;
    };
    let mut command = Command::new("rustup");
    // With a target of its own, tools that run while compiling (and the standard library's doc tests) are
    // left as they are.
    command.args([
        "run",
        TOOLCHAIN,
        "cargo",
        "test",
        "--release",
        "--features",
        "cloud",
        "--target",
        host,
        "--target-dir",
        "target/asan",
    ]);
    // Documentation tests are compiled without a sanitizer.
    if !arguments.iter().any(|argument| ["--lib", "--bin", "--bins", "--test", "--tests"].contains(&argument.as_str()))
    {
        command.args(["--lib", "--bins", "--tests"]);
    }
    command.args(arguments);
    if !arguments.iter().any(|argument| argument == "--") {
        command.arg("--");
    }
    for (test, reason) in NOT_UNDER_ASAN {
        println!("xtask: without {test}: {reason}");
        command.args(["--skip", test]);
    }
    command.env("RUSTFLAGS", "-Zsanitizer=address -Zub-checks=yes");
    // Vulkan drivers keep what they have made until the program ends.
    command.env("ASAN_OPTIONS", "detect_leaks=0");
    with_driver(&mut command)
}

/// Runs a command that needs a Vulkan driver, which is installed if there is none.
fn with_driver(command: &mut Command) -> ExitCode {
    if vulkan_is_there() {
        eprintln!("xtask: found a Vulkan driver");
    } else if !install_software_driver() {
        eprintln!("xtask: no Vulkan driver, and none could be installed: the tests of the GPU engine cannot run");
        return ExitCode::FAILURE;
    }
    // The driver complains without a place for its sockets.
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    command.env("XDG_RUNTIME_DIR", runtime);
    eprintln!("xtask: {command:?}");
    if run(command) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether there is a loader and at least one driver for it. Other systems than Linux bring their own.
fn vulkan_is_there() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].iter().any(|name| std::env::var_os(name).is_some());
    let driver = DRIVER_FOLDERS
        .iter()
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .any(|mut files| files.any(|file| file.is_ok_and(|f| f.path().extension().is_some_and(|e| e == "json"))));
    let cache = Command::new("/sbin/ldconfig").arg("-p").output().map(|o| o.stdout).unwrap_or_default();
    let loader = String::from_utf8_lossy(&cache).contains("libvulkan.so.1");
    loader && (driver || named)
}

/// Looks for the compiler of C and for valgrind, and installs them if need be. Tests that miss them say so.
fn find_tools_of_c() {
    let missing = |tool: &&str| !Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success());
    if cfg!(target_os = "linux") && ["cc", "valgrind"].iter().any(missing) {
        let done = install(&["gcc", "libc6-dev", "valgrind"]);
        println!("xtask: {} the compiler of C and valgrind", if done { "installed" } else { "could not install" });
    }
}

/// Looks for Mesa's driver of AMD GPUs, which the test of the kernels compiles with on any machine, and
/// installs it if need be.
fn find_radv() {
    let mut files = DRIVER_FOLDERS.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten();
    let there = files.any(|file| file.file_name().to_string_lossy().starts_with("radeon_icd"));
    if cfg!(target_os = "linux") && !there {
        let done = install(&["mesa-vulkan-drivers", "libvulkan1"]);
        println!("xtask: {} Mesa's driver of AMD GPUs", if done { "installed" } else { "could not install" });
    }
}

/// Installs Mesa's software driver; `false` if that is not possible here.
fn install_software_driver() -> bool {
    let done = install(&["mesa-vulkan-drivers", "libvulkan1"]);
    if !done {
        eprintln!("xtask: install a Vulkan driver with your package manager (Mesa's lavapipe is enough)");
    }
    done
}

/// Installs packages with apt-get; `false` if that is not possible here.
fn install(packages: &[&str]) -> bool {
    if !Path::new("/usr/bin/apt-get").exists() {
        return false;
    }
    let id = Command::new("id").arg("-u").output().map(|o| o.stdout).unwrap_or_default();
    let root = String::from_utf8_lossy(&id).trim() == "0";
    let apt = |arguments: &[&str]| {
        let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
        if !root {
            command.arg("apt-get");
        }
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        println!("xtask: {command:?}");
        run(&mut command)
    };
    let install = [&["install", "-y", "--no-install-recommends"], packages].concat();
    // Without package lists (a fresh container) the first try fails.
    apt(&install) || (apt(&["update"]) && apt(&install))
}

fn run(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(e) => {
            eprintln!("xtask: {command:?}: {e}");
            false
        }
    }
}
