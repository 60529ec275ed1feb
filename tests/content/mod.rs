//! Compares the files of runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The bytes of all files of a run. Of its record, that which depends on time and place is left out, as is
/// the progress of a shard.
fn content(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut dirs = vec![run.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(run).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                dirs.push(path);
            } else if !["run.json", "raw/progress.json"].contains(&name.as_str()) {
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    // The line of the progress of a shard, too.
    if let Some(manifest) = files.get_mut("SHA256SUMS") {
        let text = String::from_utf8(manifest.clone()).unwrap();
        let lines = text.lines().filter(|line| !line.ends_with("raw/progress.json"));
        *manifest = lines.collect::<Vec<_>>().join("\n").into_bytes();
    }
    files
}

/// Checks that two runs have the same files.
pub fn assert_same(one: &Path, other: &Path) {
    let (one, other) = (content(one), content(other));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    for (name, bytes) in &one {
        assert!(*bytes == other[name], "{name} differs");
    }
}

/// The names of all files of a run.
#[allow(dead_code, reason = "not every test asks for them")]
pub fn names(run: &Path) -> Vec<String> {
    if run.exists() { content(run).into_keys().collect() } else { Vec::new() }
}
