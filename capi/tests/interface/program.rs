//! Compiles `examples/c/hold.c` as a user would, and runs it, also under valgrind.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bristle::{Cpu, Engine, Input, Stepping, Twist};
use bristle_scenario::Scenario;

use crate::file;

/// What installs the tools on Debian and Ubuntu.
const INSTALL: &str = "sudo apt-get install --no-install-recommends gcc libc6-dev valgrind";

/// A library that cargo has made beside this test.
fn library(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let beside = test.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|path| path.exists());
    beside.unwrap_or_else(|| panic!("no {name} beside {}", test.display()))
}

/// A folder for the programs of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compiles hold.c with a library.
fn compile(folder: &Folder, library: &Path, more: &[&str]) -> Result<PathBuf, String> {
    let program = folder.0.join("hold");
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-g", "-I"]).arg(file("include"));
    command.arg(file("../examples/c/hold.c")).arg(library).arg("-o").arg(&program);
    command.args(more).args(["-lm", "-lpthread", "-ldl"]);
    let output = command.output().unwrap_or_else(|e| panic!("cc: {e}: `{INSTALL}` installs it"));
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(program) } else { Err(format!("{command:?}: {errors}")) }
}

fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {status}\n{}\n{stderr}", String::from_utf8_lossy(&stdout));
    String::from_utf8(stdout).unwrap()
}

fn hold(program: impl AsRef<std::ffi::OsStr>, device: &str) -> String {
    run(Command::new(program).arg(file("../examples/c/hold.toml")).arg(device))
}

/// What the program should print, by [`bristle::Batch`].
fn expected(engine: &dyn Engine) -> Vec<(String, Vec<f64>)> {
    let text = std::fs::read_to_string(file("../examples/c/hold.toml")).unwrap();
    let scenario = Scenario::parse(&text, "".as_ref(), "hold").unwrap();
    let contacts = [0, 1, 1, 1].map(|k| scenario.contact(k).unwrap());
    let mut batch = engine.batch(contacts.to_vec(), Stepping::fixed(2e-4)).unwrap();
    let mut grip = [2.0; 4];
    for _ in 0..200 {
        batch.set_each(Input::NormalForce, &grip).unwrap();
        batch.advance_some(&[0, 1], 2e-3).unwrap();
        for (grip, sample) in grip.iter_mut().zip(batch.samples().unwrap()).take(2) {
            *grip *= if sample.near_limit > 0.2 { 1.1 } else { 0.995 };
        }
    }
    let mut out = Vec::new();
    for (k, sample) in batch.samples().unwrap()[..2].iter().enumerate() {
        out.push((format!("grip {k}"), vec![grip[k]]));
        out.push((format!("pose {k}"), <[f64; 3]>::from(sample.pose).to_vec()));
        out.push((format!("twist {k}"), <[f64; 3]>::from(sample.twist).to_vec()));
        out.push((format!("wrench {k}"), <[f64; 3]>::from(sample.wrench).to_vec()));
        out.push((format!("normal_force {k}"), vec![sample.normal_force]));
        out.push((format!("near_limit {k}"), vec![sample.near_limit]));
    }
    let saved = batch.save().unwrap();
    batch.copy(1, &[2, 3]).unwrap();
    batch.set(2, Input::NormalForce, 0.5).unwrap();
    batch.ramp(3, Input::NormalForce, 8.0, 0.02).unwrap();
    batch.advance(0.1).unwrap();
    for (name, k) in [("let go", 2), ("gripped", 3)] {
        out.push((format!("{name} {k}"), <[f64; 3]>::from(batch.samples().unwrap()[k].pose).to_vec()));
    }
    batch.restore(&saved).unwrap();
    let answer = batch.respond(1, Twist::new(0.0, -1e-5, 0.0), 2e-3).unwrap();
    out.push(("answer 1".to_owned(), <[f64; 3]>::from(answer.wrench).to_vec()));
    out.push(("gain 1".to_owned(), answer.gain.as_flattened().to_vec()));
    out
}

/// Rows of numbers that the program printed, by name.
fn rows(stdout: &str) -> Vec<(String, Vec<f64>)> {
    let rows = stdout.lines().filter(|line| !line.starts_with("error")).filter_map(|line| line.split_once(": "));
    rows.map(|(name, row)| (name.to_owned(), row.split(' ').map(|v| v.parse().unwrap()).collect())).collect()
}

#[test]
fn the_program_in_c_has_the_bits_of_the_batch() {
    let folder = Folder::new("static");
    let program = compile(&folder, &library("libbristle_capi.a"), &[]).unwrap();
    let engines: [(&str, Box<dyn Engine>); 2] = [("cpu", Box::new(Cpu::new())), ("cpu-f32", Box::new(Cpu::single()))];
    for (device, engine) in engines {
        let stdout = hold(&program, device);
        let (found, expected) = (rows(&stdout), expected(&*engine));
        assert_eq!(found, expected, "{device}");
        let error = "error: contact = 99: expected an index below 4, the number of contacts";
        assert_eq!(stdout.lines().last(), Some(error), "{device}");
    }
    let failed = Command::new(&program).arg(file("cbindgen.toml")).arg("cpu").output().unwrap();
    let stderr = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && stderr.starts_with("new: status 3: "), "{stderr}");
}

#[test]
fn the_program_runs_with_the_shared_library() {
    let library = library("libbristle_capi.so");
    let folder = Folder::new("shared");
    let at = format!("-Wl,-rpath,{}", library.parent().unwrap().display());
    let program = compile(&folder, &library, &[&at]).unwrap();
    assert_eq!(rows(&hold(program, "cpu")), expected(&Cpu::new()));
}

/// By valgrind, which looks into the library as well, or else by the sanitizer of the compiler, which looks
/// at the program and at what is freed.
#[test]
fn the_program_reads_and_writes_what_it_may_and_frees_all() {
    let folder = Folder::new("checked");
    let library = library("libbristle_capi.a");
    let valgrind = Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success());
    let stdout = if valgrind {
        let program = compile(&folder, &library, &[]).unwrap();
        // Threads that wait for work when the program ends are no leaks; memory that nothing points to is
        // one.
        let checks = ["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"];
        let mut command = Command::new("valgrind");
        run(command.args(checks).arg("-q").arg(program).arg(file("../examples/c/hold.toml")).arg("cpu"))
    } else {
        let program = compile(&folder, &library, &["-fsanitize=address"]);
        let program = program.unwrap_or_else(|e| panic!("no valgrind, `{INSTALL}` installs it; and no sanitizer: {e}"));
        hold(program, "cpu")
    };
    // Valgrind has lesser vectors than this processor may have, whose sums round otherwise.
    for ((name, found), (_, expected)) in rows(&stdout).iter().zip(expected(&Cpu::new())) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "{name}: {found} {expected}");
        }
    }
}
