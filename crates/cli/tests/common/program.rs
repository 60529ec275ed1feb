//! Functions that tests of the program share: they run it and read what it writes.
#![allow(dead_code, reason = "every test program uses its own part")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// Runs `bristle` in `dir`; returns exit code, stdout and stderr.
pub fn bristle(dir: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("bristle").unwrap().current_dir(dir).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The object that `bristle .. --json` prints; it says nothing else.
pub fn json(dir: &Path, arguments: &[&str]) -> Value {
    let (code, stdout, stderr) = bristle(dir, &[arguments, &["--json"]].concat());
    assert_eq!((code, stderr.as_str()), (0, ""), "{arguments:?}");
    serde_json::from_str(&stdout).unwrap()
}

/// Shape and numbers of an array of an NPZ file.
pub fn read(npz: &Path, name: &str) -> (Vec<u64>, Vec<f64>) {
    let mut zip = zip::ZipArchive::new(fs::File::open(npz).unwrap()).unwrap();
    let npy = npyz::NpyFile::new(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap();
    (npy.shape().to_vec(), npy.into_vec::<f64>().unwrap())
}
