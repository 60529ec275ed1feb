//! The digests of the files of a run, by which damage is found: `SHA256SUMS`, as `sha256sum` writes and
//! checks it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::error::{ABSENT, NO_RUN, RolloutError, UNFINISHED, WITHOUT_SUMS, io, text};
use super::record::{BEGUN, RECORD};
use super::{LOCK, REPLACED, exists, partial, spool};
use crate::disk;
use crate::pool;

/// Its file in a run.
pub(super) const MANIFEST: &str = "SHA256SUMS";

/// What [`verify`] has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many files were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What is missing or damaged, one sentence a file.
    pub faults: Vec<String>,
}

/// Writes the digests of all files, and the record with that of the digests. The record appears only after
/// all other files are on the disk, so that a crash cannot leave it without them. `known` are names of files
/// whose digests are there already.
pub(super) fn appear(dir: &Path, mut run: Value, known: &[(&str, String)]) -> Result<(), RolloutError> {
    run["manifest"] = write(dir, &[spool::DIRECTORY, LOCK, REPLACED, MANIFEST, BEGUN], known)?.into();
    let begun = dir.join(BEGUN);
    disk::write(&begun, format!("{run:#}\n").as_bytes()).map_err(io(&begun))?;
    let appear = || {
        disk::sync_names(dir)?;
        fs::rename(&begun, dir.join(RECORD))?;
        disk::sync_names(dir)
    };
    appear().map_err(io(&dir.join(RECORD)))
}

/// Writes the digests of all files in `dir` but those that `leave` names; returns the digest of the manifest
/// itself.
fn write(dir: &Path, leave: &[&str], known: &[(&str, String)]) -> Result<String, RolloutError> {
    let mut files = Vec::new();
    collect(dir, Path::new(""), leave, &mut files)?;
    files.sort_unstable();
    let of = |file: &PathBuf| match known.iter().find(|(name, _)| file == Path::new(name)) {
        Some((_, digest)) => Ok(digest.clone()),
        None => Ok(digest(&dir.join(file))?.0),
    };
    let digests: Vec<Result<_, RolloutError>> = pool::run(|| files.par_iter().map(of).collect());
    let mut lines = String::new();
    for (file, digest) in files.iter().zip(digests) {
        lines += &format!("{}  {}\n", digest?, name(file));
    }
    let path = dir.join(MANIFEST);
    disk::write(&path, lines.as_bytes()).map_err(io(&path))?;
    Ok(hex(&Sha256::digest(lines)))
}

/// Reads every file of the complete run in `dir` and compares it with the manifest.
///
/// # Errors
/// A directory without a complete run, or files that cannot be read.
pub fn verify(dir: &Path) -> Result<Verified, RolloutError> {
    let manifest = text(&dir.join(MANIFEST));
    let (Ok(Some(record)), Ok(Some(manifest))) = (text(&dir.join(RECORD)), &manifest) else {
        let has = |name: &str| exists(&dir.join(name));
        let why = match exists(dir) {
            false if exists(&partial(dir)) => UNFINISHED,
            false => ABSENT,
            true if has(RECORD) && manifest?.is_none() => WITHOUT_SUMS,
            true if spool::progress(dir).is_some() || has(spool::DIRECTORY) || has(BEGUN) => UNFINISHED,
            true => NO_RUN,
        };
        return Err(RolloutError::NoRun { path: dir.to_owned(), why });
    };
    let mut found = Verified::default();
    found.faults.extend(fault_of_record(&serde_json::from_str(&record).unwrap_or_default(), manifest.as_bytes()));
    let entries: Vec<(&str, &str)> = manifest.lines().filter_map(|line| line.split_once("  ")).collect();
    let check = |(expected, file): &(&str, &str)| match digest(&dir.join(file)) {
        Ok((digest, bytes)) if digest == *expected => Ok((bytes, None)),
        Ok((_, bytes)) => Ok((bytes, Some(format!("{file}: is damaged: other bytes than were written")))),
        Err(RolloutError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok((0, Some(format!("{file}: is missing"))))
        }
        Err(e) => Err(e),
    };
    for checked in pool::run(|| entries.par_iter().map(check).collect::<Vec<_>>()) {
        let (bytes, fault) = checked?;
        found.files += 1;
        found.bytes += bytes;
        found.faults.extend(fault);
    }
    Ok(found)
}

/// What is wrong with a record, or with the manifest whose digest it has.
pub(super) fn fault_of_record(record: &Value, manifest: &[u8]) -> Option<String> {
    match record["manifest"].as_str() {
        None => Some(format!("{RECORD}: is damaged: other bytes than were written")),
        Some(digest) if digest != hex(&Sha256::digest(manifest)) => {
            Some(format!("{MANIFEST}: is not the one of {RECORD}"))
        }
        Some(_) => None,
    }
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

/// The digest of a file, and its length.
pub(super) fn digest(path: &Path) -> Result<(String, u64), RolloutError> {
    let read = || {
        let mut file = File::open(path)?;
        let (mut hash, mut buffer, mut length) = (Sha256::new(), vec![0; 1 << 18], 0);
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok((hex(&hash.finalize()), length)),
                n => {
                    hash.update(&buffer[..n]);
                    length += n as u64;
                }
            }
        }
    };
    read().map_err(io(path))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
        write(dir.path(), &["left"], &[("known", "00".to_owned())]).unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(fs::read_to_string(dir.path().join(MANIFEST)).unwrap(), format!("{abc}  in/abc\n00  known\n"));
    }
}
