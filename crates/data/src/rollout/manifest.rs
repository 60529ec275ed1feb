//! The digests of the files of a run, by which damage is found: `SHA256SUMS`, as `sha256sum` writes and
//! checks it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::Value;

use super::error::{RolloutError, io};
use super::names::{BEGUN, MANIFEST, RECORD, SPOOL};
use super::{LOCK, REPLACED, check};
use crate::disk;
use bristle::pool;

/// Digests of files, by their names in the manifest.
pub(super) type Digests = HashMap<String, String>;

/// Writes the digests of all files, and the record with that of the digests. The record appears only after
/// all other files are on the disk, so that a crash cannot leave it without them. `known` are digests that
/// are there already.
pub(super) fn appear(dir: &Path, mut run: Value, known: &Digests) -> Result<(), RolloutError> {
    run["manifest"] = write(dir, &[SPOOL, LOCK, REPLACED, MANIFEST, BEGUN], known)?.into();
    let begun = dir.join(BEGUN);
    disk::write(&begun, check::sealed(run).as_bytes()).map_err(io(&begun))?;
    let appear = || {
        disk::sync_names(dir)?;
        fs::rename(&begun, dir.join(RECORD))?;
        disk::sync_names(dir)
    };
    appear().map_err(io(&dir.join(RECORD)))
}

/// Writes the digests of all files in `dir` but those that `leave` names; returns the digest of the manifest
/// itself.
fn write(dir: &Path, leave: &[&str], known: &Digests) -> Result<String, RolloutError> {
    let mut files = Vec::new();
    collect(dir, Path::new(""), leave, &mut files)?;
    files.sort_unstable();
    let of = |file: &PathBuf| {
        let name = name(file);
        let digest = match known.get(&name) {
            Some(digest) => digest.clone(),
            None => check::digest_in(dir, &name)?.0,
        };
        let (before, name) = check::escaped(&name);
        Ok(format!("{before}{digest}  {name}\n"))
    };
    let lines: Vec<Result<_, RolloutError>> = pool::run(|| files.par_iter().map(of).collect());
    let lines = lines.into_iter().collect::<Result<String, _>>()?;
    let path = dir.join(MANIFEST);
    disk::write(&path, lines.as_bytes()).map_err(io(&path))?;
    Ok(check::of(lines.as_bytes()))
}

/// The names of all files below `dir`.
pub(super) fn collect(dir: &Path, inside: &Path, leave: &[&str], files: &mut Vec<PathBuf>) -> Result<(), RolloutError> {
    let whole = dir.join(inside);
    for entry in fs::read_dir(&whole).map_err(io(&whole))? {
        let entry = entry.map_err(io(&whole))?;
        let path = inside.join(entry.file_name());
        if leave.iter().any(|name| path == Path::new(name)) {
            continue;
        }
        if entry.file_type().map_err(io(&whole))?.is_dir() {
            collect(dir, &path, leave, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// A path as the manifest has it.
pub(super) fn name(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of "abc" in FIPS 180-2; `sha256sum -c` reads the same lines.
    #[test]
    fn digests_are_those_of_the_standard() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("in")).unwrap();
        fs::write(dir.path().join("in/abc"), "abc").unwrap();
        fs::write(dir.path().join("left"), "").unwrap();
        fs::write(dir.path().join("known"), "").unwrap();
        write(dir.path(), &["left"], &HashMap::from([("known".to_owned(), "00".to_owned())])).unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(fs::read_to_string(dir.path().join(MANIFEST)).unwrap(), format!("{abc}  in/abc\n00  known\n"));
    }
}
