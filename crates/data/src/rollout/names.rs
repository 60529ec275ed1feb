//! The names of the files in a run directory that describe the run.

/// The record of a run. A directory that has this file has all the others, too.
pub(super) const RECORD: &str = "run.json";

/// The record while it is written.
pub(super) const BEGUN: &str = "run.json.begun";

/// Its file in a run.
pub(super) const MANIFEST: &str = "SHA256SUMS";

/// The directory of an unfinished run with its raw files.
pub(super) const SPOOL: &str = "spool";
