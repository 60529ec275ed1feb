//! A compiler for browsers: the one that runs, for which rustup installs the target, else that of Debian's
//! packages `rustc-web`, which are unpacked and not installed, as they conflict with rustup's.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";

/// What to do where there is no compiler.
const ADVICE: &str = "`rustup target add wasm32-unknown-unknown` installs what compiles for browsers";

/// Packages that every machine with a compiler has, and whose libraries may not stand before the machine's.
const LEFT_OUT: [&str; 6] = ["libc6", "libc-", "gcc", "cpp", "libgcc", "binutils"];

/// A compiler for browsers.
#[derive(Debug)]
pub enum Toolchain {
    /// The one that runs.
    Own,
    /// Debian's, unpacked in this folder. It compiles the standard library, too, from its source.
    Debian(PathBuf),
}

impl Toolchain {
    /// The compiler of this machine.
    pub fn find() -> Result<Self, String> {
        let is_there = || {
            let library = said(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]));
            library.is_ok_and(|path| Path::new(path.trim()).is_dir())
        };
        // Without rustup, or where it cannot be reached, there is another way.
        if is_there() || (said(Command::new("rustup").args(["target", "add", TARGET])).is_ok() && is_there()) {
            return Ok(Self::Own);
        }
        if !Path::new("/usr/bin/apt-get").exists() {
            return Err(ADVICE.to_owned());
        }
        let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home).ok_or(ADVICE)?;
        unpacked(&cache.join("bristle")).map(Self::Debian).map_err(|e| format!("{e}\n{ADVICE}"))
    }

    /// `cargo build` by this compiler.
    pub fn build(&self) -> Result<Command, String> {
        let Self::Debian(folder) = self else {
            let mut command = crate::cargo();
            command.arg("build");
            return Ok(command);
        };
        let found = |folder: &Path, is_it: &dyn Fn(&Path) -> bool| {
            let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            let mut paths = entries.flatten().map(|entry| entry.path());
            paths.find(|path| is_it(path)).ok_or_else(|| format!("{}: lacks a part of the compiler", folder.display()))
        };
        let programs = folder.join("usr/bin");
        let is_linker = |path: &Path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("wasm-ld"));
        let mut command = Command::new(programs.join("cargo"));
        // Those of the folder of this kind of machine, such as x86_64-linux-gnu.
        let libraries = found(&folder.join("usr/lib"), &holds_llvm)?;
        let linker = found(&programs, &is_linker)?;
        command.env("LD_LIBRARY_PATH", libraries).env("RUSTC", programs.join("rustc"));
        command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        // The standard library is compiled by a cargo that is not a nightly one, and without backtraces.
        command.env("RUSTC_BOOTSTRAP", "1").args(["build", "-Zbuild-std=std,panic_abort", "-Zbuild-std-features="]);
        Ok(command)
    }
}

/// Whether a folder has the library with which the compiler makes its code.
fn holds_llvm(folder: &Path) -> bool {
    let mut names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.any(|name| name.to_string_lossy().starts_with("libLLVM"))
}

/// What a command says.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.env("LC_ALL", "C").output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Unpacks Debian's compiler below `cache`, if it is not there yet, and returns its folder.
fn unpacked(cache: &Path) -> Result<PathBuf, String> {
    // One that is there is kept: it compiles what it has compiled before.
    let kept = cache.join("rustc-web");
    if kept.is_dir() {
        return Ok(kept);
    }
    let packages = packages().or_else(|e| {
        // In a fresh container there are no lists of packages, or old ones.
        said(Command::new("apt-get").arg("update")).map_err(|_| e)?;
        packages()
    })?;
    eprintln!("xtask: gets {} into {}, which installs nothing", packages.join(" "), kept.display());
    let io = |e: std::io::Error| format!("{}: {e}", cache.display());
    fs::create_dir_all(cache).map_err(io)?;
    // It goes with what it holds, also if the packages cannot be had.
    let parts = tempfile::Builder::new().prefix("rustc-web.").tempdir_in(cache).map_err(io)?;
    said(Command::new("apt-get").arg("download").args(&packages).current_dir(parts.path()))?;
    let whole = parts.path().join("whole");
    for entry in fs::read_dir(parts.path()).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            said(Command::new("dpkg").args([OsString::from("-x"), path.into(), whole.clone().into()]))?;
        }
    }
    // Another run may have been faster.
    if fs::rename(&whole, &kept).is_err() && !kept.is_dir() {
        return Err(format!("{}: cannot be made", kept.display()));
    }
    parts.close().map_err(io)?;
    Ok(kept)
}

/// The packages of Debian's compiler that are not installed.
fn packages() -> Result<Vec<String>, String> {
    let names = |asked: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(["install", "--print-uris", "--yes", "--no-install-recommends", "--quiet"]).args(asked);
        said(&mut command).map(|text| listed(&text))
    };
    let asked = ["rustc-web", "cargo-web", "rust-web-src"];
    let first = names(&asked)?;
    let llvm = first.iter().find_map(|name| name.strip_prefix("libllvm")).unwrap_or("");
    // Debian's stable release has an old compiler beside the new one of its updates.
    let minor = first.iter().find_map(|name| name.strip_prefix("libstd-rust-web-1."));
    let least = env!("CARGO_PKG_RUST_VERSION").split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    if minor.and_then(|minor| minor.parse().ok()) < least {
        return Err(format!("Debian's `rustc-web` is 1.{}, which is too old", minor.unwrap_or("?")));
    }
    names(&[&asked[..], &[&format!("lld-{llvm}")]].concat())
}

/// The names of packages in what `apt-get install --print-uris` says.
fn listed(text: &str) -> Vec<String> {
    let files = text.lines().filter(|line| line.starts_with('\'')).filter_map(|line| line.split(' ').nth(1));
    let names = files.filter_map(|file| file.split('_').next());
    names.filter(|name| !LEFT_OUT.iter().any(|other| name.starts_with(other))).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_are_those_that_apt_names_without_the_machines_own() {
        let text = "Reading package lists...\nNeed to get 147 MB of archives.\n\
                    'http://deb/rustc-web_1.96.0%2bdfsg1_amd64.deb' rustc-web_1.96.0+dfsg1_amd64.deb 4450500 SHA256:0\n\
                    'http://deb/libc6_2.36_amd64.deb' libc6_2.36_amd64.deb 1 MD5Sum:0\n\
                    'http://deb/libllvm22_22.1_amd64.deb' libllvm22_1%3a22.1_amd64.deb 29378692 \n";
        assert_eq!(listed(text), ["rustc-web", "libllvm22"]);
    }
}
