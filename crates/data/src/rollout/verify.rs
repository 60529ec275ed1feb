//! Compares all files of a run with their digests.

use std::path::Path;

use super::check::{Fault, MOST_BYTES, Sums, fault_of_record};
use super::error::{ABSENT, NO_RUN, RolloutError, UNFINISHED, WITHOUT_SUMS, text, text_of};
use super::names::{BEGUN, MANIFEST, RECORD, SPOOL};
use super::{exists, partial, spool};

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

/// Reads every file of the complete run in `dir` and compares it with the manifest. Only regular files inside
/// the directory are read.
///
/// # Errors
/// A directory without a complete run, or files that cannot be read.
pub fn verify(dir: &Path) -> Result<Verified, RolloutError> {
    let (record, sums) = (text(dir, RECORD)?, text_of(dir, MANIFEST, MOST_BYTES)?);
    let (Some(record), Some(sums)) = (&record, sums) else {
        let has = |name: &str| exists(&dir.join(name));
        let why = match exists(dir) {
            false if exists(&partial(dir)) => UNFINISHED,
            false => ABSENT,
            true if record.is_some() => WITHOUT_SUMS,
            true if spool::progress(dir).is_some() || has(SPOOL) || has(BEGUN) => UNFINISHED,
            true => NO_RUN,
        };
        return Err(RolloutError::NoRun { path: dir.to_owned(), why });
    };
    let mut found = Verified::default();
    found.faults.extend(fault_of_record(record, sums.as_bytes()));
    let sums = match Sums::parse(dir, &sums) {
        Ok(sums) => sums,
        Err(what) => {
            found.faults.push(format!("{MANIFEST}: {what}"));
            return Ok(found);
        }
    };
    let (files, bytes, faults) = sums.compare(|_| true)?;
    found.faults.extend(faults.iter().map(Fault::told));
    Ok(Verified { files, bytes, ..found })
}
