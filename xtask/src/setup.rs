//! Finds the programs that tests need beside Rust. As root on Debian and Ubuntu it installs missing ones;
//! else it prints the command that installs them.

use std::path::Path;
use std::process::Command;

use crate::venv;

/// Where drivers of Vulkan put their files.
pub const DRIVER_FOLDERS: [&str; 3] = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];

/// Names under which systems install Chromium.
pub const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Something that a task takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A loader and a driver of Vulkan; a software one will do.
    Vulkan,
    /// Mesa's driver of AMD GPUs, which compiles kernels on any machine.
    Radv,
    /// A browser that compiles kernels by all rules of WGSL.
    Browser,
    /// A compiler of C.
    C,
    /// The checker of memory.
    Valgrind,
    /// Python that makes virtual environments.
    Python,
}

impl Need {
    const fn name(self) -> &'static str {
        match self {
            Self::Vulkan => "a Vulkan driver (Mesa's lavapipe is enough)",
            Self::Radv => "Mesa's Vulkan driver of AMD GPUs",
            Self::Browser => "Chromium or Google Chrome",
            Self::C => "a compiler of C (`cc`)",
            Self::Valgrind => "valgrind",
            Self::Python => "Python 3.11 or later that makes virtual environments",
        }
    }

    /// The packages of Debian and Ubuntu that bring it.
    const fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Vulkan | Self::Radv => &["mesa-vulkan-drivers", "libvulkan1"],
            Self::Browser => &["chromium"],
            Self::C => &["gcc", "libc6-dev"],
            Self::Valgrind => &["valgrind"],
            Self::Python => &["python3", "python3-venv"],
        }
    }

    /// Whether it is there. Other systems than Linux bring a compiler and a driver, and have no valgrind.
    fn is_there(self) -> bool {
        let answers = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success());
        match self {
            Self::Python => venv::is_there(),
            _ if !cfg!(target_os = "linux") => true,
            Self::Vulkan => vulkan_is_there(),
            Self::Radv => drivers().any(|name| name.starts_with("radeon_icd")),
            Self::Browser => BROWSERS.iter().any(|name| answers(name)),
            Self::C => answers("cc"),
            Self::Valgrind => answers("valgrind"),
        }
    }
}

/// Names of the files of drivers.
fn drivers() -> impl Iterator<Item = String> {
    let files = DRIVER_FOLDERS.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten();
    files.map(|file| file.file_name().to_string_lossy().into_owned()).filter(|name| name.ends_with(".json"))
}

/// Whether there is a loader and at least one driver for it.
fn vulkan_is_there() -> bool {
    let named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].iter().any(|name| std::env::var_os(name).is_some());
    let cache = Command::new("/sbin/ldconfig").arg("-p").output().map(|o| o.stdout).unwrap_or_default();
    let loader = String::from_utf8_lossy(&cache).contains("libvulkan.so.1");
    loader && (named || drivers().next().is_some())
}

/// What is to be done where something is missing.
#[derive(Debug, PartialEq)]
enum Plan {
    /// These packages are installed.
    Install(Vec<&'static str>),
    /// This is said, and nothing is done.
    Tell(String),
}

/// The plan for what is `missing`: it depends on whether `apt-get` is there, and on who asks.
fn plan(missing: &[Need], has_apt: bool, is_root: bool) -> Plan {
    let names: Vec<&str> = missing.iter().map(|need| need.name()).collect();
    let mut packages: Vec<&str> = Vec::new();
    for package in missing.iter().flat_map(|need| need.packages()) {
        if !packages.contains(package) {
            packages.push(package);
        }
    }
    match (has_apt, is_root) {
        (true, true) => Plan::Install(packages),
        (true, false) => Plan::Tell(format!(
            "missing: {}; this command installs it:\nsudo sh -c 'apt-get update && apt-get install -y \
             --no-install-recommends {}'",
            names.join("; "),
            packages.join(" ")
        )),
        (false, _) => {
            let packages = packages.join(" ");
            Plan::Tell(format!(
                "missing: {}; install it with your system's package manager (on Debian: {packages})",
                names.join("; ")
            ))
        }
    }
}

/// Makes sure that all `needs` are there, or says how to get what is not; whether they are.
pub fn set_up(needs: &[Need]) -> bool {
    let missing = || needs.iter().copied().filter(|need| !need.is_there()).collect::<Vec<_>>();
    let found = missing();
    if found.is_empty() {
        return true;
    }
    let id = Command::new("id").arg("-u").output().map(|o| o.stdout).unwrap_or_default();
    let is_root = String::from_utf8_lossy(&id).trim() == "0";
    let packages = match plan(&found, Path::new("/usr/bin/apt-get").exists(), is_root) {
        Plan::Install(packages) => packages,
        Plan::Tell(text) => {
            eprintln!("xtask: {text}");
            return false;
        }
    };
    println!("xtask: installs {}", packages.join(" "));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        println!("xtask: {command:?}");
        crate::run(&mut command)
    };
    let install = [&["install", "-y", "--no-install-recommends"], &packages[..]].concat();
    // Without package lists (a fresh container) the first try fails.
    if !(apt(&install) || (apt(&["update"]) && apt(&install))) {
        return false;
    }
    let still = missing();
    still.iter().for_each(|need| eprintln!("xtask: {} is missing: these packages do not bring it", need.name()));
    still.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MISSING: [Need; 3] = [Need::Vulkan, Need::Radv, Need::Python];

    #[test]
    fn root_installs_each_package_once() {
        let packages = vec!["mesa-vulkan-drivers", "libvulkan1", "python3", "python3-venv"];
        assert_eq!(plan(&MISSING, true, true), Plan::Install(packages));
    }

    #[test]
    fn others_are_told_one_command() {
        let Plan::Tell(text) = plan(&MISSING, true, false) else { panic!("it would install") };
        let commands: Vec<&str> = text.lines().skip(1).collect();
        let packages = "mesa-vulkan-drivers libvulkan1 python3 python3-venv";
        let install = format!("apt-get install -y --no-install-recommends {packages}");
        assert_eq!(commands, [format!("sudo sh -c 'apt-get update && {install}'")]);
        assert!(text.contains("missing: a Vulkan driver"), "{text}");
        let Plan::Tell(text) = plan(&[Need::C], false, true) else { panic!("it would install") };
        assert!(text.contains("a compiler of C") && text.contains("package manager"), "{text}");
    }
}
