//! Chores of the project. `cargo xtask test` is the test command: it makes sure that there is a
//! Vulkan driver (a software one will do), then runs every test.

use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask test [arguments of cargo test]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((task, rest)) if task == "test" => test(rest),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn test(arguments: &[String]) -> ExitCode {
    if vulkan_is_there() {
        println!("xtask: found a Vulkan driver");
    } else if !install_software_driver() {
        eprintln!("xtask: no Vulkan driver, and none could be installed: the tests of the GPU engine cannot run");
        return ExitCode::FAILURE;
    }
    // The driver complains without a place for its sockets.
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").unwrap_or_else(|| std::env::temp_dir().into());
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--release", "--workspace"]).args(arguments).env("XDG_RUNTIME_DIR", runtime);
    println!("xtask: {command:?}");
    if run(&mut command) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether there is a loader and at least one driver for it. Other systems than Linux bring their own.
fn vulkan_is_there() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].iter().any(|name| std::env::var_os(name).is_some());
    let driver = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"]
        .iter()
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .any(|mut files| files.any(|file| file.is_ok_and(|f| f.path().extension().is_some_and(|e| e == "json"))));
    let cache = Command::new("/sbin/ldconfig").arg("-p").output().map(|o| o.stdout).unwrap_or_default();
    let loader = String::from_utf8_lossy(&cache).contains("libvulkan.so.1");
    loader && (driver || named)
}

/// Installs Mesa's software driver with apt-get; `false` if that is not possible here.
fn install_software_driver() -> bool {
    if !Path::new("/usr/bin/apt-get").exists() {
        eprintln!("xtask: install a Vulkan driver with your package manager (Mesa's lavapipe is enough)");
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
    let install = ["install", "-y", "--no-install-recommends", "mesa-vulkan-drivers", "libvulkan1"];
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
