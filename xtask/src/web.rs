//! `cargo xtask web`: compiles `crates/web` for a browser and puts it beside its page into `target/web`, a
//! folder that any web server serves as it is. `cargo xtask web --test` also tests it in a browser, and
//! `cargo xtask web --bench` measures it there.

#[cfg(feature = "web-tests")]
mod tests;
mod toolchain;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use flate2::Compression;
use flate2::write::GzEncoder;
use wasm_bindgen_cli_support::Bindgen;

use crate::root;
use toolchain::Toolchain;

/// The most that a visitor loads, compressed \[byte\].
const MOST_BYTES: u64 = 1_500_000;

/// Makes the folder, and with `--test` tests it.
pub fn run(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => make().map(|folder| println!("{}", folder.display())),
        #[cfg(feature = "web-tests")]
        ["--test"] => make().and_then(|folder| tests::run(&folder)),
        #[cfg(feature = "web-tests")]
        ["--bench"] => make().and_then(|folder| tests::bench(&folder)),
        _ => Err("usage: cargo xtask web [--test | --bench]".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask: web: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Makes the folder and returns it.
fn make() -> Result<PathBuf, String> {
    let built = root().join("target/wasm");
    let mut command = Toolchain::find()?.build()?;
    command.current_dir(root()).args(["--profile", "web", "--package", "bristle-web"]);
    command.args(["--target", "wasm32-unknown-unknown", "--target-dir"]).arg(&built);
    eprintln!("xtask: {command:?}");
    if !crate::run(&mut command) {
        return Err("the library does not compile for a browser".to_owned());
    }
    let folder = root().join("target/web");
    let io = |e: std::io::Error| format!("{}: {e}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(io)?;
    }
    fs::create_dir_all(&folder).map_err(io)?;
    Bindgen::new()
        .input_path(built.join("wasm32-unknown-unknown/web/bristle_web.wasm"))
        .out_name("bristle")
        .remove_name_section(true)
        .remove_producers_section(true)
        .omit_default_module_path(false)
        .web(true)
        .and_then(|bindgen| bindgen.typescript(false).generate(&folder))
        .map_err(|e| format!("{e:#}"))?;
    for entry in fs::read_dir(root().join("crates/web/page")).map_err(io)? {
        let entry = entry.map_err(io)?;
        fs::copy(entry.path(), folder.join(entry.file_name())).map_err(io)?;
    }
    let bytes = compressed(&folder).map_err(io)?;
    eprintln!("xtask: {}: {:.2} MB compressed", folder.display(), bytes as f64 / 1e6);
    if bytes > MOST_BYTES {
        return Err(format!("{bytes} bytes, compressed: expected at most {MOST_BYTES}"));
    }
    Ok(folder)
}

/// What all files of a folder take when each is compressed \[byte\].
fn compressed(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        std::io::copy(&mut fs::File::open(entry?.path())?, &mut encoder)?;
        bytes += encoder.finish()?.len() as u64;
    }
    Ok(bytes)
}
