//! Simulating a scenario to disk: contacts are drawn and simulated in blocks, every block goes to
//! disk at once, and the run appears at its place only when it is complete.
//!
//! While it runs, a run lives in `<out>.partial/`, from where it can be resumed: one that was stopped at its last complete
//! block, one that was killed, or whose machine failed, at most a second before. The results do not depend on the size of
//! the blocks.

mod blocks;
mod fate;
pub(crate) mod npz;
mod plot;
mod record;
mod spool;

pub use fate::{Fate, Outcome, ROTATION_SPUN, SLIPPED};
pub use record::{Counts, Summary};

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::scenario::{Scenario, ScenarioError};
use blocks::{Blocks, FEW};
use spool::Spool;

/// Where a run goes and what happens to what is there.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of the finished run.
    pub out: PathBuf,
    /// Replace a run (finished or not) that is there.
    pub force: bool,
    /// Continue the unfinished run that is there.
    pub resume: bool,
    /// Contacts in a block; chosen from the engine and the number of samples if none.
    pub block: Option<u64>,
}

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
    #[error("{0} exists: expected a new directory (`--out`), or `--force` to replace it")]
    Exists(PathBuf),
    /// There is an unfinished run.
    #[error("{0} holds an unfinished run: `--resume` continues it, `--force` starts anew")]
    Unfinished(PathBuf),
    /// A name that unfinished runs have.
    #[error("{0}: runs that are not finished have names like that: expected another `--out`")]
    Partial(PathBuf),
    /// Something that is no run is in the way.
    #[error("{0} is no run of bristle, and stays: expected another `--out`")]
    NotARun(PathBuf),
    /// Something where a run waits while another takes its place.
    #[error(
        "{0} is in the way: a run that is replaced waits there until the new one is in its place; move or remove it"
    )]
    SetAside(PathBuf),
    /// The run to resume is complete.
    #[error("{0} is complete: there is nothing to resume")]
    Complete(PathBuf),
    /// Another process is at it.
    #[error("{0} is being written by another process: wait for its end, or choose another `--out`")]
    Running(PathBuf),
    /// There is nothing to resume.
    #[error("{0}: no unfinished run to resume")]
    NothingToResume(PathBuf),
    /// The unfinished run is another one.
    #[error("{path} holds an unfinished run with another {what}: `--force` starts anew")]
    Different {
        /// The directory.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// The machine could not read or write.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The machine's own reason.
        source: std::io::Error,
    },
}

impl RolloutError {
    /// Whether the user can mend it by asking for something else (the CLI's exit code 2, else 1).
    #[must_use]
    pub fn is_users(&self) -> bool {
        !matches!(self, Self::Io { .. } | Self::Engine(_))
            || matches!(
                self,
                Self::Engine(EngineError::Parameter { .. } | EngineError::Limit { .. } | EngineError::Argument(_))
            )
    }
}

/// The file of an unfinished run that is locked while a process is at it.
const LOCK: &str = "lock";

pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> RolloutError + '_ {
    move |source| RolloutError::Io { path: path.to_owned(), source }
}

/// Simulates `scenario` on `engine` into `options.out`. `progress` gets the number of
/// contact-samples just finished and asks to stop by `false`.
///
/// # Errors
/// See [`RolloutError`]; whatever happens, `options.out` is complete or as it was.
pub fn rollout(
    scenario: &Scenario,
    engine: &dyn Engine,
    options: &Options,
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Result<Summary, RolloutError> {
    let out = &options.out;
    let partial = partial(out);
    check_place(options)?;
    scenario.check()?;
    if partial.exists() {
        hold(&partial)?;
    }
    clear(options, &partial)?;
    let held = hold(&partial)?;

    let plan = scenario.plan();
    let identity = record::identity(scenario, engine);
    let mut spool = if options.resume {
        Spool::resume(&partial, &identity, plan.samples.len())?
    } else {
        // What could not be begun is no run, and would be in the way of the next.
        let none_left = |_: &_| drop(fs::remove_dir_all(&partial));
        Spool::create(&partial, &identity, plan.samples.len()).inspect_err(none_left)?
    };
    record::keep_map(scenario, &partial)?;
    progress(spool.done() * plan.samples.len() as u64);
    let mut blocks = match options.block {
        Some(size) => Blocks::of(size),
        None => Blocks::new(engine, &plan, &scenario.block(0..scenario.contacts().min(FEW))?),
    };
    while spool.done() < scenario.contacts() {
        let from = spool.done();
        let to = (from + blocks.next).min(scenario.contacts());
        let start = Instant::now();
        let contacts = scenario.block(from..to)?;
        let trajectories = engine.rollout(&contacts, &plan, progress).map_err(|e| e.of_part(from))?;
        let fates: Vec<Fate> = contacts.iter().enumerate().map(|(k, c)| Fate::of(c, &trajectories, k)).collect();
        spool.push(&trajectories, &fates, start.elapsed().as_secs_f64())?;
        blocks.grow(&contacts, start.elapsed());
    }
    spool.keep()?;
    let summary = record::write(scenario, engine, &mut spool, &partial, out)?;
    // The raw files go last: until the run is in its place it can be resumed.
    drop((spool, held));
    publish(&partial, options)?;
    spool::remove(out)?;
    fs::remove_file(out.join(LOCK)).map_err(io(out))?;
    Ok(summary)
}

/// Where the unfinished run of `out` lives.
pub(crate) fn partial(out: &Path) -> PathBuf {
    beside(out, ".partial")
}

/// Where an old run waits while another takes its place.
fn set_aside(out: &Path) -> PathBuf {
    beside(out, ".old")
}

fn beside(out: &Path, ending: &str) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    out.with_file_name(name)
}

/// Checks, before anything is computed, that the run may go where `options` say.
///
/// # Errors
/// A run, an unfinished run or something else that is in the way, or nothing to resume.
pub fn check_place(options: &Options) -> Result<(), RolloutError> {
    let out = &options.out;
    if out.file_name().is_none() {
        let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "expected the name of a new directory");
        return Err(RolloutError::Io { path: out.clone(), source });
    }
    if out.extension().is_some_and(|ending| ending == "partial") {
        return Err(RolloutError::Partial(out.clone()));
    }
    let partial = partial(out);
    if exists(&partial) && !is_run(&partial) {
        return Err(RolloutError::NotARun(partial));
    }
    if options.resume && !exists(&partial) {
        let complete = out.join("run.json").is_file() && is_run(out);
        return Err(if complete {
            RolloutError::Complete(out.clone())
        } else {
            RolloutError::NothingToResume(partial)
        });
    }
    check_replace(options)?;
    if options.resume || options.force || !exists(&partial) {
        return Ok(());
    }
    match lock_of(&partial) {
        Err(TryLockError::WouldBlock) => Err(RolloutError::Running(partial)),
        // Without a contact there is nothing to lose, unless another process is at it that we cannot see.
        Ok(()) if spool::complete(&partial) == Some(0) => Ok(()),
        Ok(()) | Err(TryLockError::Error(_)) => Err(RolloutError::Unfinished(partial)),
    }
}

/// Contacts of the unfinished run of `out` that are complete.
pub(crate) fn unfinished(out: &Path) -> u64 {
    spool::complete(&partial(out)).unwrap_or(0)
}

/// Checks that what is in the run's place may go. A run beside an unfinished one was to be replaced by it.
fn check_replace(options: &Options) -> Result<(), RolloutError> {
    let out = &options.out;
    let old = set_aside(out);
    match exists(out) {
        false => Ok(()),
        true if !options.force && !options.resume => Err(RolloutError::Exists(out.clone())),
        true if !is_run(out) => Err(RolloutError::NotARun(out.clone())),
        true if exists(&old) => Err(RolloutError::SetAside(old)),
        true => Ok(()),
    }
}

/// Whether there is anything, be it a link to nothing.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether a directory is a run of bristle, finished or not, or empty.
fn is_run(dir: &Path) -> bool {
    let says = |file: &str, key: &str| {
        let text = fs::read_to_string(dir.join(file)).unwrap_or_default();
        serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|value| value.get(key).is_some())
    };
    let empty = |dir: &Path| fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    says("run.json", "bristle") || says(spool::PROGRESS, "identity") || empty(dir)
}

/// Makes the directory of the unfinished run, empty unless it is to be resumed.
fn clear(options: &Options, partial: &Path) -> Result<(), RolloutError> {
    if partial.exists() && !options.resume {
        fs::remove_dir_all(partial).map_err(io(partial))?;
    }
    fs::create_dir_all(partial).map_err(io(partial))
}

/// Locks an unfinished run against other processes until the file is closed.
fn hold(partial: &Path) -> Result<File, RolloutError> {
    let path = partial.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(io(&path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RolloutError::Running(partial.to_owned())),
        // Where files cannot be locked, runs go on as well.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Whether an unfinished run can be locked now, as far as its own file tells.
fn lock_of(partial: &Path) -> Result<(), TryLockError> {
    File::options().write(true).open(partial.join(LOCK)).map_or(Ok(()), |file| file.try_lock())
}

/// Moves the complete run to its place; an old one goes only when the new one is there.
fn publish(partial: &Path, options: &Options) -> Result<(), RolloutError> {
    // Hours may have passed since the first look.
    check_replace(options)?;
    let out = &options.out;
    if !exists(out) {
        return fs::rename(partial, out).map_err(io(out));
    }
    let old = set_aside(out);
    fs::rename(out, &old).map_err(io(out))?;
    fs::rename(partial, out).map_err(io(out))?;
    // The run is there: what is left of the old one does not make it a failure.
    let _ = fs::remove_dir_all(&old);
    Ok(())
}

#[cfg(test)]
mod tests;
