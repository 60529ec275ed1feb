//! Records the digests of complete files of an unfinished run: copies of the files that its scenario reads,
//! and parts of datasets. When the run is resumed, files that match their digest stay, and other files are
//! made again.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::check;
use super::error::{RolloutError, io, text_of};
use super::manifest::{self, Digests};
use super::names::SPOOL;
use bristle_scenario::input::InputError;

/// The file with their digests, in the directory of raw files. Every line has a digest and a name, the last
/// one of a name counts; one that a crash has cut off says nothing.
pub(super) const PARTS: &str = "parts";

/// The files of an unfinished run that are complete.
pub(super) struct Parts {
    dir: PathBuf,
    /// Digests that were noted before.
    noted: Digests,
    /// The file, and the digests of those that are there now.
    now: Mutex<(File, Digests)>,
}

impl Parts {
    /// Those of the unfinished run in `dir`.
    pub fn open(dir: &Path) -> Result<Self, RolloutError> {
        let spool = dir.join(SPOOL);
        let path = spool.join(PARTS);
        let text = text_of(&spool, PARTS, check::MOST_BYTES)?.unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once("  "));
        let noted = lines.map(|(digest, name)| (name.to_owned(), digest.to_owned())).collect();
        let mut file = File::options().create(true).append(true).open(&path).map_err(io(&path))?;
        if !(text.is_empty() || text.ends_with('\n')) {
            file.write_all(b"\n").map_err(io(&path))?;
        }
        Ok(Self { dir: dir.to_owned(), noted, now: Mutex::new((file, Digests::new())) })
    }

    /// Whether a file of the run is there, and is as it was written.
    pub fn has(&self, path: &Path) -> Result<bool, RolloutError> {
        let name = self.name(path);
        let Some(noted) = self.noted.get(&name) else { return Ok(false) };
        let digest = match check::digest_in(&self.dir, &name) {
            Ok((digest, _)) => digest,
            // What is in its place is no file of the run.
            Err(InputError::Io { .. } | InputError::File { .. }) => return Ok(false),
        };
        let is_same = digest == *noted;
        if is_same {
            self.now.lock().unwrap_or_else(PoisonError::into_inner).1.insert(name, digest);
        }
        Ok(is_same)
    }

    /// Notes a file that was written with these bytes.
    pub fn add(&self, path: &Path, bytes: &[u8]) -> Result<(), RolloutError> {
        self.note(path, check::of(bytes))
    }

    /// Notes a file that was written just now.
    pub fn add_file(&self, path: &Path) -> Result<(), RolloutError> {
        self.note(path, check::digest_in(&self.dir, &self.name(path))?.0)
    }

    fn note(&self, path: &Path, digest: String) -> Result<(), RolloutError> {
        let name = self.name(path);
        let (file, digests) = &mut *self.now.lock().unwrap_or_else(PoisonError::into_inner);
        // Names with line breaks are not found again, so that their files are made again.
        let notes = self.dir.join(SPOOL).join(PARTS);
        file.write_all(format!("{digest}  {name}\n").as_bytes()).map_err(io(&notes))?;
        digests.insert(name, digest);
        Ok(())
    }

    /// The digests of all that are there.
    pub fn digests(self) -> Digests {
        self.now.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }

    /// The name of a file in the run.
    fn name(&self, path: &Path) -> String {
        manifest::name(path.strip_prefix(&self.dir).unwrap_or(path))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_with_other_bytes_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        fs::create_dir(dir.join(SPOOL)).unwrap();
        let path = |name: &str| dir.join(name);
        let write = |name: &str, text: &str| fs::write(path(name), text).unwrap();
        let parts = Parts::open(dir).unwrap();
        for name in ["a", "b", "c"] {
            write(name, name);
            assert!(!parts.has(&path(name)).unwrap(), "nobody has said so");
        }
        parts.add(&path("a"), b"a").unwrap();
        parts.add_file(&path("b")).unwrap();
        drop(parts);
        let notes = dir.join(SPOOL).join(PARTS);
        // A crash has cut off the last line.
        fs::write(&notes, fs::read_to_string(&notes).unwrap() + "00  c").unwrap();
        write("b", "B");
        let parts = Parts::open(dir).unwrap();
        assert_eq!(["a", "b", "c"].map(|name| parts.has(&path(name)).unwrap()), [true, false, false]);
        write("b", "b");
        parts.add_file(&path("b")).unwrap();
        assert_eq!(parts.digests().len(), 2);
        let parts = Parts::open(dir).unwrap();
        assert_eq!(["a", "b", "c"].map(|name| parts.has(&path(name)).unwrap()), [true, true, false]);
    }
}
