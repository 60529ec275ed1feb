//! The errors of a run.

use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};

use crate::disk::{self, Bytes};
use bristle::error::{EngineError, ParameterError};
use bristle_scenario::ScenarioError;
use bristle_scenario::input::{self, InputError, MAX_TEXT};

/// Why there is no complete run to read.
pub(super) const ABSENT: &str = "is not there: expected the directory of a run or of a shard";
pub(super) const NO_RUN: &str =
    "is no run of bristle: expected the directory of a run or of a shard (a sweep has one in each of its directories)";
pub(super) const UNFINISHED: &str =
    "is an unfinished run: expected a complete run; repeat its command with `resume` to complete it";
pub(super) const WITHOUT_SUMS: &str = "has no SHA256SUMS, with whose digests the files of a run are compared";

/// A run that could not be done.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    /// A contact of the scenario is out of range.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// There is a run already.
    #[error("{0} exists: expected a new directory (`out`), or `force` to replace it")]
    Exists(PathBuf),
    /// There is an unfinished run.
    #[error("{0} holds an unfinished run: `resume` continues it, `force` starts anew")]
    Unfinished(PathBuf),
    /// A name that unfinished runs have.
    #[error("{0}: unfinished runs have names like this: expected another `out`")]
    Partial(PathBuf),
    /// Something that is no run is in the way.
    #[error("{0} is no run of bristle and is not replaced: expected another `out`")]
    NotARun(PathBuf),
    /// A file or a link in the directory of a run that is replaced or continued, which the run has not
    /// written.
    #[error(
        "{path} {why}; a run is replaced or continued only if its directory has no other files: move it to \
         another place, or choose another `out`"
    )]
    NotOfTheRun {
        /// The file, link or directory.
        path: PathBuf,
        /// What it is.
        why: &'static str,
    },
    /// There is no complete run to read.
    #[error("{path} {why}")]
    NoRun {
        /// The directory, or place in a store.
        path: PathBuf,
        /// What it is, and what would be accepted.
        why: &'static str,
    },
    /// Another process is working on it.
    #[error("{0} is being written by another process: wait for its end, or choose another `out`")]
    Running(PathBuf),
    /// The run to resume is another one.
    #[error("{path} holds another run ({difference}): expected another `out`, or `force` to start anew")]
    Different {
        /// The directory.
        path: PathBuf,
        /// What differs: `scenario`, `maps`, `engine`, ..
        what: &'static str,
        /// The first difference, as in `seed = 9, where it has 3`.
        difference: String,
    },
    /// A place to which a run cannot go.
    #[error(transparent)]
    Place(ParameterError),
    /// A store of objects does not answer, or refuses.
    #[error("{url}: {why}")]
    Store {
        /// The place in the store.
        url: String,
        /// What it did not do, why, and what would be accepted.
        why: String,
    },
    /// A dataset cannot hold what the scenario asks for.
    #[error(transparent)]
    Dataset(ParameterError),
    /// A run that cannot be extended.
    #[error(transparent)]
    Extend(ParameterError),
    /// Shards that cannot be joined.
    #[error("{0}")]
    Shards(String),
    /// A file of a run has other bytes than were written, or is missing.
    #[error("{path}: {why}{}: restore it from a copy, or make the run anew with `force`", more(*others))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it: the digest that was expected, and the one that was found.
        why: String,
        /// How many other files of the run are damaged or missing.
        others: usize,
    },
    /// A file of a run is not what it should be.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what would be accepted.
        reason: String,
    },
    /// The machine has less memory or disk space than the run needs.
    #[error("the run takes {bytes} of {what}, and {free} are free: {remedy}. The sum: {sum}")]
    Needs {
        /// Memory, or the disk.
        what: String,
        /// How much the run takes.
        bytes: Bytes,
        /// How much there is.
        free: Bytes,
        /// What it is the sum of.
        sum: String,
        /// What takes less.
        remedy: String,
    },
    /// There is no space for a file.
    #[error("{path}: {why}, {more} more are needed and {free} free: {remedy} and repeat the command{resume}")]
    Full {
        /// The file.
        path: PathBuf,
        /// The disk, its quota, or the limit of a file.
        why: &'static str,
        /// How much the rest of the run takes.
        more: Bytes,
        /// How much there is.
        free: Bytes,
        /// What to do.
        remedy: &'static str,
        /// How to keep what is there; empty if nothing is.
        resume: String,
    },
    /// The operating system could not read or write a file.
    #[error("{path}: {}", disk::describe(source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The machine's own reason.
        source: std::io::Error,
    },
}

impl RolloutError {
    /// Whether the user can avoid it by a different request; the command line then exits with code 2, else
    /// with 1.
    pub fn is_users(&self) -> bool {
        !matches!(
            self,
            Self::Io { .. }
                | Self::Store { .. }
                | Self::Damaged { .. }
                | Self::Needs { .. }
                | Self::Full { .. }
                | Self::Engine(_)
        ) || matches!(
            self,
            Self::Engine(EngineError::Parameter { .. } | EngineError::Limit { .. } | EngineError::Argument(_))
        )
    }
}

/// What is said of files beside the first that is damaged.
fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " (and one other file is damaged or missing)".to_owned(),
        n => format!(" (and {n} other files are damaged or missing)"),
    }
}

impl From<InputError> for RolloutError {
    fn from(e: InputError) -> Self {
        match e {
            InputError::Io { path, source } => Self::Io { path, source },
            InputError::File { path, reason } => Self::File { path, reason },
        }
    }
}

/// An error of a file or directory.
pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> RolloutError + '_ {
    move |source| RolloutError::Io { path: path.to_owned(), source }
}

/// The text of the file `name` of the run in `dir`, if there is such a file.
pub(super) fn text(dir: &Path, name: &str) -> Result<Option<String>, RolloutError> {
    text_of(dir, name, MAX_TEXT)
}

/// The same of at most `most` bytes.
pub(super) fn text_of(dir: &Path, name: &str, most: u64) -> Result<Option<String>, RolloutError> {
    match input::text_in(dir, name, most) {
        Ok(text) => Ok(Some(text)),
        Err(InputError::Io { source, .. }) if [NotFound, NotADirectory].contains(&source.kind()) => Ok(None),
        Err(e) => Err(e.into()),
    }
}
