//! Checks and tests of the project. `cargo xtask test` checks that the tools of the tests are installed,
//! among them a Vulkan driver (a software driver is enough; see `setup`), and runs every test: the tests of
//! Rust, and without further arguments the tests of datasets and of the Python package, which
//! `cargo xtask datasets` and `cargo xtask python` run alone. `cargo xtask asan` runs the tests under the
//! address sanitizer, `cargo xtask swiftshader` those of the engines on another driver. `cargo xtask check`
//! finds faults that the compiler does not see. `cargo xtask kernels` compiles the kernels for real GPUs and
//! prints their statistics, or writes their texts. `cargo xtask web` makes the page, and tests it with
//! `--test`. `cargo xtask hardware` makes docs/hardware.md from files of `bristle bench --all`.

mod beside;
#[cfg(any(feature = "kernels", feature = "web-tests"))]
mod browser;
mod check;
mod datasets;
#[cfg(feature = "kernels")]
mod kernels;
mod python;
mod setup;
mod venv;
#[cfg(feature = "web")]
mod web;

use std::path::Path;
use std::process::{Command, ExitCode};

use beside::Beside;
use setup::{Need, set_up};

const USAGE: &str = "usage: cargo xtask test|asan|swiftshader [arguments of cargo test], \
                     cargo xtask python [arguments of pytest], cargo xtask datasets [--built | --learners], \
                     cargo xtask check, \
                     cargo xtask kernels [--nvidia] [--renew|--check], cargo xtask kernels --predict [--renew], \
                     cargo xtask kernels --browser, cargo xtask kernels --dump DIR, \
                     cargo xtask web [--test | --bench], \
                     cargo xtask hardware [FILES]";

/// The features with which everything is tested.
const FEATURES: &str = "bristle-cli/cloud,xtask/kernels,xtask/web-tests";

/// With this Mesa's software driver compiles without LLVM's optimisations. Tests of kernels wait for their
/// compiler most of the time, which takes half as long so. Those of the engines take 0.6 of the processor
/// time.
const DRIVER_OPTIONS: (&str, &str) = ("GALLIVM_PERF", "nopt");

/// Tests that cannot pass under the address sanitizer, which makes programs larger and slower.
const NOT_UNDER_ASAN: [(&str, &str); 1] = [("the_program_is_small", "it measures the program without a sanitizer")];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((task, rest)) if task == "test" => test(rest),
        Some((task, rest)) if task == "asan" => asan(rest),
        Some((task, rest)) if task == "swiftshader" => swiftshader(rest),
        Some((task, rest)) if task == "python" => python::test(root(), rest),
        Some((task, [])) if task == "datasets" => datasets::test(root(), &datasets::READERS, false),
        Some((task, [what])) if task == "datasets" && what == "--built" => {
            datasets::test(root(), &datasets::READERS, true)
        }
        Some((task, [what])) if task == "datasets" && what == "--learners" => {
            datasets::test(root(), &datasets::LEARNERS, false)
        }
        Some((task, [])) if task == "check" => check(),
        Some((task, rest)) if task == "kernels" => kernels(rest),
        Some((task, rest)) if task == "web" => web(rest),
        Some((task, rest)) if task == "hardware" => hardware(rest),
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
    let needs: &[Need] = match arguments.first().map(String::as_str) {
        Some("--dump" | "--nvidia" | "--predict") => &[],
        Some("--browser") => &[Need::Browser],
        _ => &[Need::Radv],
    };
    with(needs, command.args(arguments))
}

#[cfg(feature = "web")]
fn web(arguments: &[String]) -> ExitCode {
    web::run(arguments)
}

/// Runs this program again with the feature that brings what makes JavaScript of a module.
#[cfg(not(feature = "web"))]
fn web(arguments: &[String]) -> ExitCode {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "--package", "xtask", "--features"]);
    let (feature, needs): (_, &[Need]) =
        if arguments.is_empty() { ("web", &[]) } else { ("web-tests", &[Need::Browser]) };
    with(needs, command.args([feature, "--", "web"]).args(arguments))
}

/// Makes docs/hardware.md of the files that are named, or else of all in benches/hardware. The crate that
/// writes the files reads them, too.
fn hardware(arguments: &[String]) -> ExitCode {
    let mut files = arguments.to_vec();
    if files.is_empty() {
        let entries = std::fs::read_dir(root().join("benches/hardware")).into_iter().flatten().flatten();
        files.extend(entries.map(|entry| entry.path().display().to_string()).filter(|path| path.ends_with(".json")));
    }
    files.sort();
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "bristle-bench", "--no-default-features"]);
    command.args(["--features", "terminal", "--example", "hardware"]);
    command.arg("--").arg(root().join("docs/hardware.md")).args(files);
    with(&[], &mut command)
}

fn test(arguments: &[String]) -> ExitCode {
    let quickly = |mut command: Command| {
        if std::env::var_os(DRIVER_OPTIONS.0).is_none() {
            command.env(DRIVER_OPTIONS.0, DRIVER_OPTIONS.1);
        }
        command
    };
    let tests = |arguments: &[String]| {
        let mut command = quickly(cargo());
        command.args(["test", "--release", "--workspace", "--features", FEATURES]).args(arguments);
        command
    };
    let rust = [Need::Vulkan, Need::Radv, Need::Browser, Need::C, Need::Valgrind];
    // Arguments choose among the tests of Rust.
    if !arguments.is_empty() {
        return with(&rust, &mut tests(arguments));
    }
    if with(&[&rust[..], &[Need::Python]].concat(), &mut tests(&["--no-run".to_owned()])) == ExitCode::FAILURE {
        return ExitCode::FAILURE;
    }
    // The programs are built now. Built alone they would be compiled once more, as the features of their
    // dependencies differ without those of the tests. Two commands at a time, as many a test of either takes
    // one core for long.
    let task = |arguments: &[&str]| {
        let mut command = quickly(Command::new(root().join("target/release/xtask")));
        command.args(arguments);
        command
    };
    let others = Beside::start(vec![task(&["web", "--test"]), task(&["datasets", "--built"]), task(&["python"])]);
    let done = with(&[], &mut tests(&[])) == ExitCode::SUCCESS;
    if others.end() && done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
        "--workspace",
        "--exclude",
        "bristle-capi",
        "--exclude",
        "bristle-python",
        "--exclude",
        "xtask",
        "--features",
        "bristle-cli/cloud",
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
    with(&[Need::Vulkan], &mut command)
}

/// Runs the tests of the engines on SwiftShader, the software driver of Vulkan that Chromium brings: another
/// compiler of the same shaders, with subgroups of four lanes. It takes some times as long as Mesa's, so that
/// `cargo xtask test` leaves it out.
fn swiftshader(arguments: &[String]) -> ExitCode {
    const DRIVER: &str = "/usr/lib/chromium/vk_swiftshader_icd.json";
    // The tests that run an engine on a GPU.
    const TESTS: [&str; 5] = ["bodies", "device", "engines", "reduced", "solver"];
    let mut command = cargo();
    command.args(["test", "--release", "--no-fail-fast", "--workspace", "--features", FEATURES]);
    command.args(TESTS.iter().flat_map(|test| ["--test", test])).args(arguments);
    command.env("VK_DRIVER_FILES", DRIVER).env("VK_ICD_FILENAMES", DRIVER);
    // SwiftShader compiles by recursion, on the thread that asks for a pipeline.
    command.env("RUST_MIN_STACK", (256 << 20).to_string());
    if !set_up(&[Need::Vulkan, Need::Browser]) {
        return ExitCode::FAILURE;
    }
    if !Path::new(DRIVER).exists() {
        eprintln!("xtask: no {DRIVER}, which Debian's package `chromium` brings");
        return ExitCode::FAILURE;
    }
    with(&[], &mut command)
}

/// Runs a command if all that it needs is installed.
fn with(needs: &[Need], command: &mut Command) -> ExitCode {
    if !set_up(needs) {
        return ExitCode::FAILURE;
    }
    // The driver complains without a place for its sockets.
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    command.env("XDG_RUNTIME_DIR", runtime);
    eprintln!("xtask: {command:?}");
    if run(command) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
