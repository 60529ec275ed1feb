//! Simulating a scenario to files: contacts are drawn and simulated in blocks, a block is written while the
//! next one is simulated, and the run appears in its directory only when it is complete.
//!
//! An unfinished run is in `<out>.partial/`, from where it can be resumed: after a stop from its last
//! complete block, after a crash from the last block that was synchronised with the disk, which is at most a
//! second before. The results do not depend on the size of the blocks. The record of the run, `run.json`, is
//! written when all other files are on the disk. From then on the run is complete; what remains is to remove
//! its raw files and to rename its directory.
//!
//! A process holds the lock of an unfinished run until the run is in its place. A process that gets a lock
//! checks that its file is still the file of that name; if it is not, another process has moved the run,
//! and the complete run is looked for again.

mod blocks;
mod check;
mod columns;
mod difference;
mod episodes;
mod error;
mod extend;
mod finish;
mod follow;
mod format;
mod labels;
#[cfg(feature = "lerobot")]
mod lerobot;
mod manifest;
mod merge;
mod names;
mod needs;
#[cfg(not(feature = "cloud"))]
mod no_store;
pub(crate) mod npz;
mod outcome;
mod own;
mod parameters;
mod parts;
mod place;
mod raw;
mod record;
mod sensor;
mod shard;
mod shear;
mod side_by_side;
mod spool;
mod stopped;
#[cfg(feature = "cloud")]
mod store;
mod verify;
mod worlds;
mod writing;
mod zarr;

pub use crate::disk::Bytes;
pub use check::{Sums, check_scenario_of};
pub use error::RolloutError;
pub(crate) use error::io;
pub use format::{Datasets, Extra, Format};
pub use merge::{Merge, merge};
pub use needs::{Needs, needs};
#[cfg(not(feature = "cloud"))]
pub use no_store::Store;
pub use outcome::{NetMotion, Outcome, ROTATION_SPUN, SLIPPED};
pub use own::{PICTURE, check_own, is_made_here, is_of_page, remove_run};
pub use place::Place;
pub use record::{Counts, Summary};
pub use shard::Shard;
pub use stopped::{StoppedWorld, WorldCounts};
#[cfg(feature = "cloud")]
pub use store::Store;
pub use verify::{Verified, verify};
pub use worlds::{WorldEngine, WorldSummary, complete_worlds, world_needs, worlds};
pub use writing::Writing;

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::disk;
use blocks::Blocks;
use bristle::engine::{Engine, EngineInfo, Plan, Trajectories};
use bristle::error::ParameterError;
use bristle::planar::Pose;
use bristle::pool;
use bristle_scenario::Scenario;
use columns::OfBristles;
use extend::Finished;
use names::{BEGUN, RECORD, SPOOL};
use own::Own;
use shear::Images;
use spool::Spool;

/// Where a run goes and what happens to what is there.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of the finished run.
    pub out: PathBuf,
    /// What the record calls the place of the run, if it is sent from `out` to another.
    pub sent_to: Option<String>,
    /// Replace a run (finished or not) that is there, with the pages that were made of it. What else is in
    /// its directory is refused by name: nothing is removed that is not the run's.
    pub force: bool,
    /// Continue an unfinished run that is there, return a complete one as it is, or begin a new one.
    pub resume: bool,
    /// Take over the contacts of the complete run that is there, which is of the same scenario with fewer
    /// contacts and has NPZ files, and simulate the others: the run that replaces it is equal to that of all
    /// contacts at once. Files in its directory that are not the run's are refused by name.
    pub extend: bool,
    /// The caller makes the page of the run again, so that those which were made of a run that is replaced go
    /// with it, as they do with [`Self::force`].
    pub report: bool,
    /// Contacts in a block; chosen from the engine and the number of samples if none.
    pub block: Option<u64>,
    /// Simulate a part of the contacts, whose raw arrays [`merge`] joins with those of the others.
    pub shard: Option<Shard>,
    /// The datasets that the run writes; a shard writes none.
    pub datasets: Datasets,
    /// Draws `trajectories.svg`, the picture of the run; without it there is none.
    pub draw: Option<fn(&Shown) -> String>,
    /// Is told how much of the datasets is written.
    pub writing: Option<Writing>,
}

impl Options {
    /// A run of NPZ files that goes to `out`, where nothing is yet.
    pub fn new(out: impl Into<PathBuf>) -> Self {
        let datasets = Datasets::default();
        Self {
            out: out.into(),
            sent_to: None,
            force: false,
            resume: false,
            extend: false,
            report: false,
            block: None,
            shard: None,
            datasets,
            draw: None,
            writing: None,
        }
    }

    /// Whether what is there is kept.
    const fn keeps(&self) -> bool {
        self.resume || self.extend
    }

    /// What the record calls the place of the run.
    fn name(&self) -> String {
        self.sent_to.clone().unwrap_or_else(|| self.out.display().to_string())
    }

    /// The contacts that are simulated.
    pub fn contacts(&self, scenario: &Scenario) -> Range<u64> {
        let n = scenario.contacts();
        self.shard.map_or(0..n, |shard| shard.range(n))
    }
}

/// What the picture of a run shows: some of its contacts.
#[derive(Clone, Debug)]
pub struct Shown {
    /// How many they are, such as `200 of 1000 contacts`.
    pub which: String,
    /// Sample times \[s\].
    pub time: Vec<f64>,
    /// The contacts, evenly chosen.
    pub curves: Vec<Curve>,
}

/// One contact of the picture.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its pose [m, m, rad] at every sample time.
    pub poses: Vec<Pose>,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The file of an unfinished run that a process locks while it works on the run.
const LOCK: &str = "lock";

/// Simulates `scenario` on `engine` into `options.out`. `progress` is called with the number of samples of
/// contacts just finished, which add up to those of all contacts that were left to simulate, and asks to stop
/// by returning `false`.
///
/// # Errors
/// See [`RolloutError`]; whatever happens, `options.out` is complete or as it was.
pub fn rollout(
    scenario: &Scenario,
    engine: &dyn Engine,
    options: &Options,
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Result<Summary, RolloutError> {
    if let Some(summary) = complete(scenario, options)? {
        return Ok(summary);
    }
    run(scenario, engine, options, &needs(scenario, engine, options)?, progress)
}

/// As [`rollout`], of a run that is not complete and whose `needs` are there.
pub fn run(
    scenario: &Scenario,
    engine: &dyn Engine,
    options: &Options,
    needs: &Needs,
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Result<Summary, RolloutError> {
    scenario.check()?;
    if options.extend {
        // Before there is an unfinished run, which a resumed one would go on with.
        let finished = Finished::open(scenario, &options.datasets, &options.out)?;
        finished.check_engine(&engine.info(), &options.out)?;
        if !matches!(left(&options.out), Left::Contacts(done) if done >= finished.contacts) {
            finished.check_files()?;
        }
    }
    make(options, needs, &|dir| find(scenario, options, dir), || simulate(scenario, engine, options, needs, progress))
}

/// Makes a run in its unfinished directory, locked, and moves it to its place. `of` reads the summary in a
/// directory, if there is the complete run in it.
fn make<S>(
    options: &Options,
    needs: &Needs,
    of: &Find<'_, S>,
    simulate: impl FnOnce() -> Result<S, RolloutError>,
) -> Result<S, RolloutError> {
    let partial = partial(&options.out);
    let held = match begin(options, &partial, of)? {
        Begun::Complete(summary) => return Ok(summary),
        Begun::Locked(held) => held,
    };
    let summary = simulate().map_err(|e| needs.full(e, &options.out))?;
    publish(&partial, options, held)?;
    Ok(summary)
}

/// What reads the summary in a directory, if there is the complete run in it.
type Find<'a, S> = dyn Fn(&Path) -> Result<Option<S>, RolloutError> + 'a;

/// A run that may be made.
enum Begun<S> {
    /// Another process has completed it since it was looked for.
    Complete(S),
    /// It is to be made, in its directory, which is locked.
    Locked(File),
}

/// Makes and locks the directory of the unfinished run; it is empty, unless it is to be resumed.
fn begin<S>(options: &Options, partial: &Path, of: &Find<'_, S>) -> Result<Begun<S>, RolloutError> {
    let held = loop {
        fs::create_dir_all(partial).map_err(io(partial))?;
        moment();
        if let Some(held) = if options.keeps() { lock_after_exit(partial)? } else { lock(partial)? } {
            break held;
        }
    };
    let is_new = has_only_lock(partial);
    let ready = || {
        // The process that had the lock before may have completed the run.
        let found = if options.keeps() { of(if is_new { &options.out } else { partial })? } else { None };
        if found.is_none() {
            check_partial(partial)?;
            check_replace(options, true)?;
            // A directory that cannot be replaced, such as a mounted one, is known now and not at the end.
            if is_empty(&options.out) {
                fs::remove_dir(&options.out).map_err(io(&options.out))?;
            }
            // What an interruption has left while it cleared the directory is of another run, perhaps.
            if !options.keeps() || !spool::is_begun(partial) {
                discard(partial)?;
            }
        }
        Ok(found)
    };
    match ready() {
        Ok(None) => Ok(Begun::Locked(held)),
        Ok(Some(summary)) if is_new => {
            abandon(partial);
            Ok(Begun::Complete(summary))
        }
        Ok(Some(summary)) => publish(partial, options, held).map(|()| Begun::Complete(summary)),
        Err(e) => {
            abandon(partial);
            Err(e)
        }
    }
}

/// Checks that the datasets that are asked for can hold what the scenario says.
fn check_datasets(scenario: &Scenario, options: &Options) -> Result<(), RolloutError> {
    let asked = &options.datasets;
    let formats = asked.formats.iter().filter(|format| asked.formats.len() > 1 || **format != Format::Npz);
    let formats = formats.map(|format| ("format", format.name()));
    let extras = asked.extras.iter().filter(|extra| !extra.is_recorded()).map(|extra| ("with", extra.name()));
    if let Some((field, value)) = formats.chain(extras).next().filter(|_| options.shard.is_some()) {
        let accepted = "nothing but `shear` and `patches` of a shard, which has raw arrays: `bristle merge` writes \
                        datasets of all shards";
        return Err(RolloutError::Dataset(ParameterError::new(field, value, accepted)));
    }
    episodes::of_bristles(scenario, &options.datasets)?;
    if asked.with(Extra::Margin) && scenario.first().contact.patch_on_own_surface().is_some() {
        let accepted = "nothing of patches with a `surface` of their own, which slide against each other: they have no \
                        limit surface in common";
        return Err(RolloutError::Dataset(ParameterError::new("with", "margin", accepted)));
    }
    if options.extend && options.shard.is_some() {
        return Err(RolloutError::Extend(ParameterError::new("shard", "given", "a run in one piece is extended")));
    }
    if let Some(shard) = options.shard.filter(|shard| shard.of > scenario.contacts()) {
        let accepted = format!("at most {} shards, one a contact", scenario.contacts());
        return Err(RolloutError::Dataset(ParameterError::new("shard", shard.to_string(), accepted)));
    }
    #[cfg(feature = "lerobot")]
    if options.datasets.has(Format::Lerobot) {
        lerobot::fps(scenario)?;
    }
    Ok(())
}

/// The complete run of `scenario` that [`Options::resume`] finds, if it finds one: in `options.out`, or
/// beside it if it was not renamed yet. Files that an interruption has left in it are removed.
///
/// # Errors
/// Something is in the way, see [`check_place`], the run is another one, or a dataset cannot hold what the
/// scenario asks for.
pub fn complete(scenario: &Scenario, options: &Options) -> Result<Option<Summary>, RolloutError> {
    check_place(options)?;
    check_datasets(scenario, options)?;
    find_complete(options, |dir| find(scenario, options, dir))
}

/// The summary of the complete run in `dir`, if there is one; of one that is extended, with all contacts.
fn find(scenario: &Scenario, options: &Options, dir: &Path) -> Result<Option<Summary>, RolloutError> {
    if options.extend
        && dir == options.out
        && Finished::open(scenario, &options.datasets, dir)?.contacts < scenario.contacts()
    {
        check_replace(options, true)?;
        return Ok(None);
    }
    record::of(scenario, options.shard, &options.datasets, dir)
}

/// As [`complete`], and refuses an unfinished run in its place that [`rollout`], or [`merge`] if it
/// `is_merged`, would not go on with on `engine`, before anything is opened or computed. Without an engine
/// none is compared.
///
/// # Errors
/// As [`complete`], or another run is unfinished there.
pub fn check(
    scenario: &Scenario,
    options: &Options,
    is_merged: bool,
    engine: Option<&EngineInfo>,
) -> Result<Option<Summary>, RolloutError> {
    if let Some(summary) = complete(scenario, options)? {
        let asked = engine.map(record::engine_of).unwrap_or_default();
        let found = record::engine_of(&summary.engine);
        return match difference::first("", &asked, &found).filter(|_| engine.is_some()) {
            Some(first) => Err(difference::different(&options.out, "engine", first)),
            None => Ok(Some(summary)),
        };
    }
    if options.keeps() {
        let mut identity = record::identity(scenario, engine, options.shard, &options.datasets);
        if is_merged {
            identity["shard"] = merge::MERGED.into();
        }
        spool::check_identity(&partial(&options.out), &identity)?;
    }
    Ok(None)
}

/// The complete run for which nothing is in the way. `of` reads the summary in a directory, if there is a
/// complete run in it.
fn find_complete<S>(
    options: &Options,
    of: impl Fn(&Path) -> Result<Option<S>, RolloutError>,
) -> Result<Option<S>, RolloutError> {
    let (out, partial) = (&options.out, partial(&options.out));
    if !options.keeps() {
        return Ok(None);
    }
    while exists(&partial) {
        moment();
        // The process that had locked it has moved it to its place: it may be complete there.
        let Some(held) = lock_after_exit(&partial)? else { continue };
        let summary = of(&partial)?;
        if summary.is_some() {
            publish(&partial, options, held)?;
        }
        return Ok(summary);
    }
    let summary = of(out)?;
    if summary.is_some() {
        tidy(out)?;
    }
    Ok(summary)
}

/// Simulates what is left of the run and writes all its files.
fn simulate(
    scenario: &Scenario,
    engine: &dyn Engine,
    options: &Options,
    needs: &Needs,
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Result<Summary, RolloutError> {
    let (samples, partial) = (scenario.plan().samples.len(), partial(&options.out));
    let recorded = episodes::of_bristles(scenario, &options.datasets)?;
    let columns = [columns::COLUMNS.to_vec(), recorded.columns()].concat();
    let identity = record::identity(scenario, Some(&engine.info()), options.shard, &options.datasets);
    let processor = record::processor(&engine.info());
    let finished = if options.extend { Some(Finished::open(scenario, &options.datasets, &options.out)?) } else { None };
    if options.keeps() {
        spool::take_back(&partial)?;
    }
    let spool = Spool::begin(&partial, options.keeps(), &identity, processor, &columns, samples);
    let mut spool = spool.inspect_err(|_| {
        // A directory in which a run could not even begin is removed, as it would be in the way of the next
        // run.
        if !options.keeps() {
            let _ = discard(&partial);
            abandon(&partial);
        }
    })?;
    if let Some(run) = finished.filter(|run| spool.done() < run.contacts) {
        spool.take(&run)?;
    }
    record::keep_files(scenario, &partial)?;
    let plan = Plan { sample_bristles: recorded.is_any(), ..scenario.plan() };
    contacts(scenario, engine, (&plan, recorded), options, needs.blocks, &mut spool, progress)?;
    spool.sync()?;
    let finish = finish::Finish {
        scenario,
        name: scenario.name(),
        engine: engine.info(),
        processors: spool.processors(),
        raw: &spool.raw(),
        seconds: spool.seconds(),
        disk_bytes: needs.disk_bytes,
        dir: &partial,
        options,
    };
    finish.write().inspect_err(|_| record::remove(&partial))
}

/// Simulates the contacts that the spool has not got yet. A block is written while the next one is simulated.
/// What is `recorded` of the bristles is written, too.
fn contacts(
    scenario: &Scenario,
    engine: &dyn Engine,
    (plan, recorded): (&Plan, OfBristles),
    options: &Options,
    mut blocks: Blocks,
    spool: &mut Spool,
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Result<(), RolloutError> {
    let samples = plan.samples.len() as u64;
    let Range { start, end } = options.contacts(scenario);
    let mut from = start + spool.done();
    let reported = AtomicU64::new((from - start) * samples);
    let report = |n: u64| {
        reported.fetch_add(n, Ordering::Relaxed);
        progress(n)
    };
    report(0);
    std::thread::scope(|scope| {
        // One block waits at most, so that memory is that of three.
        let (send, blocks_done) = sync_channel::<(Trajectories, Vec<NetMotion>, Images, f64)>(0);
        let writer = scope.spawn(move || {
            let mut all = blocks_done.into_iter();
            all.try_for_each(|(block, motions, images, seconds)| spool.push(&block, &motions, &images, seconds))
        });
        let mut simulate = || -> Result<(), RolloutError> {
            while from < end {
                let to = (from + blocks.next).min(end);
                let start_of_block = Instant::now();
                let contacts = scenario.block(from..to)?;
                let trajectories = engine.rollout(&contacts, plan, &report).map_err(|e| e.of_part(from))?;
                let motion = |(k, c)| NetMotion::of(c, &trajectories, k);
                let motions = pool::run(|| contacts.par_iter().enumerate().map(motion).collect());
                blocks.grow(&contacts, start_of_block.elapsed());
                let images = Images::new(&contacts, from, &trajectories, &recorded)?;
                let trajectories = Trajectories { sampled_bristles: Vec::new(), ..trajectories };
                let seconds = start_of_block.elapsed().as_secs_f64();
                if send.send((trajectories, motions, images, seconds)).is_err() {
                    // The writer has failed, and says why.
                    return Ok(());
                }
                from = to;
                // Engines do not report the first sample of each contact, nor those that failed contacts have
                // not reached.
                report(((to - start) * samples).saturating_sub(reported.load(Ordering::Relaxed)));
            }
            Ok(())
        };
        let simulated = simulate();
        drop(send);
        let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        simulated.and(written)
    })
}

/// The directory of the unfinished run of `out`.
pub fn partial(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    out.with_file_name(name)
}

/// Checks, before anything is computed, that the run may go where `options` say.
///
/// # Errors
/// A run, an unfinished run or something else that is in the way.
pub fn check_place(options: &Options) -> Result<(), RolloutError> {
    let out = &options.out;
    if Place::directory(out)? != *out || out.file_name().is_none() {
        let source = std::io::Error::new(ErrorKind::InvalidInput, "expected the name of a new directory");
        return Err(RolloutError::Io { path: out.clone(), source });
    }
    if out.extension().is_some_and(|ending| ending == "partial") {
        return Err(RolloutError::Partial(out.clone()));
    }
    let partial = partial(out);
    check_partial(&partial)?;
    check_replace(options, exists(&partial))?;
    if options.keeps() || options.force || !exists(&partial) {
        return Ok(());
    }
    match try_lock(&partial) {
        Err(TryLockError::WouldBlock) => Err(RolloutError::Running(partial)),
        // A run without a finished contact may be replaced. Where files cannot be locked, another process may
        // be working on it, so that it is not.
        Ok(()) if left(out) == Left::Nothing => Ok(()),
        Ok(()) | Err(TryLockError::Error(_)) => Err(RolloutError::Unfinished(partial)),
    }
}

/// Checks that an unfinished run is one, and that nothing else is in its directory.
fn check_partial(partial: &Path) -> Result<(), RolloutError> {
    let is_ours = || is_run(partial) || is_begun(partial);
    match exists(partial) {
        true if own::is_link(partial) || is_ours() => Own::of(partial, true)?.check().map(drop),
        // Unless it was moved to its place just now.
        true if exists(partial) => Err(RolloutError::NotARun(partial.to_owned())),
        _ => Ok(()),
    }
}

/// Checks that what is in the place of the run may be replaced; if the run `replaces` it, that there is
/// nothing in its directory but it. If an unfinished run is resumed, a run that is there was to be replaced
/// by it.
fn check_replace(options: &Options, replaces: bool) -> Result<(), RolloutError> {
    let out = &options.out;
    match exists(out) {
        true if is_empty(out) => Ok(()),
        true if !options.force && !options.keeps() => Err(RolloutError::Exists(out.clone())),
        true if !is_run(out) => Err(RolloutError::NotARun(out.clone())),
        true if options.force || replaces => Own::of(out, options.force || options.report)?.check().map(drop),
        _ => Ok(()),
    }
}

/// How far an unfinished run has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// No contact.
    Nothing,
    /// So many contacts.
    Contacts(u64),
    /// All of its files; it is not in its place yet.
    All,
}

/// Contacts that are not simulated, as they are there already.
pub fn already(scenario: &Scenario, options: &Options) -> u64 {
    let finished = if options.extend { Finished::open(scenario, &options.datasets, &options.out).ok() } else { None };
    match left(&options.out) {
        Left::Contacts(done) if options.keeps() => done.max(finished.map_or(0, |run| run.contacts)),
        _ => finished.map_or(0, |run| run.contacts),
    }
}

/// How far the unfinished run of `out` has got.
pub fn left(out: &Path) -> Left {
    let partial = partial(out);
    match spool::complete(&partial) {
        _ if partial.join(RECORD).is_file() => Left::All,
        None | Some(0) => Left::Nothing,
        Some(n) => Left::Contacts(n),
    }
}

/// Whether there is anything with that name, even a broken symbolic link.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether a directory is a run of bristle, finished or not, or empty.
fn is_run(dir: &Path) -> bool {
    let record = |name| -> Option<serde_json::Value> { serde_json::from_str(&error::text(dir, name).ok()??).ok() };
    let says = |value: Option<serde_json::Value>, key: &str| value.is_some_and(|value| value.get(key).is_some());
    says(record(RECORD), "bristle")
        || says(spool::progress(dir), "identity")
        || says(record(BEGUN), "bristle")
        || is_empty(dir)
}

/// Whether it is a directory without anything in it.
fn is_empty(dir: &Path) -> bool {
    dir.symlink_metadata().is_ok_and(|data| data.is_dir())
        && fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether a directory has only files of an unfinished run from before its progress file was written.
fn is_begun(dir: &Path) -> bool {
    let all = |dir: &Path, ours: &dyn Fn(&str) -> bool| {
        fs::read_dir(dir).is_ok_and(|mut all| all.all(|e| e.is_ok_and(|e| e.file_name().to_str().is_some_and(ours))))
    };
    let spool = dir.join(SPOOL);
    all(dir, &|name| [LOCK, SPOOL].contains(&name)) && (!exists(&spool) || all(&spool, &spool::is_first))
}

/// Removes the files of the unfinished run in `partial`, but its lock. What says that it is one is removed
/// last, so that an interruption leaves nothing that is taken for something else.
fn discard(partial: &Path) -> Result<(), RolloutError> {
    let record = partial.join(RECORD);
    if exists(&record) {
        // A part of a complete run is not to be taken for all of it.
        fs::rename(&record, partial.join(BEGUN)).map_err(io(&record))?;
    }
    Own::of(partial, true)?.check()?.remove(Some(LOCK))
}

/// Removes the directory of an unfinished run in which nothing is but the lock.
fn abandon(partial: &Path) {
    if has_only_lock(partial) {
        // Whether it works or not, it is in nobody's way.
        let _ = fs::remove_file(partial.join(LOCK)).and_then(|()| fs::remove_dir(partial));
    }
}

fn has_only_lock(partial: &Path) -> bool {
    fs::read_dir(partial).is_ok_and(|mut all| all.all(|entry| entry.is_ok_and(|entry| entry.file_name() == LOCK)))
}

/// Is called where another process may change what is there; tests do.
fn moment() {
    #[cfg(test)]
    tests::moment();
}

/// Locks an unfinished run against other processes until the file is closed; none if it is not there any
/// more, because the process that had locked it has moved it to its place.
fn lock(partial: &Path) -> Result<Option<File>, RolloutError> {
    let path = partial.join(LOCK);
    let file = match File::options().create(true).truncate(false).write(true).open(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound && !exists(&path) => return Ok(None),
        opened => opened.map_err(io(&path))?,
    };
    moment();
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RolloutError::Running(partial.to_owned())),
        // On file systems without locks, runs are not protected from each other. The file may have been moved
        // between the two calls.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(disk::is_at(&file, &path).then_some(file)),
    }
}

/// How long a process that was killed may take to release its lock.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// As [`lock`], but waits for the end of a process that was killed just before.
fn lock_after_exit(partial: &Path) -> Result<Option<File>, RolloutError> {
    let start = Instant::now();
    loop {
        match lock(partial) {
            Err(RolloutError::Running(_)) if start.elapsed() < EXIT_TIMEOUT => {
                moment();
                std::thread::sleep(EXIT_TIMEOUT / 100);
            }
            held => return held,
        }
    }
}

/// Tries to lock an unfinished run, without creating its lock file.
fn try_lock(partial: &Path) -> Result<(), TryLockError> {
    File::options().write(true).open(partial.join(LOCK)).map_or(Ok(()), |file| file.try_lock())
}

/// The directory inside a new run to which the run that it replaces is moved until the new one is in place.
const REPLACED: &str = "replaced";

/// Moves the complete run, which `held` locks, to its place; a run that it replaces is removed only when the
/// new one is there. An interruption between any two of these steps can be resumed.
fn publish(partial: &Path, options: &Options, held: File) -> Result<(), RolloutError> {
    // Hours may have passed since this was checked first.
    check_partial(partial)?;
    check_replace(options, true)?;
    let out = &options.out;
    Own::raw(partial)?.remove(None)?;
    disk::sync_names(partial).map_err(io(partial))?;
    // It is locked until it is in its place, where processes that wait for the lock look for it then. Windows
    // does not rename a directory with an open file in it.
    let held = if cfg!(windows) {
        drop(held);
        None
    } else {
        Some(held)
    };
    if exists(out) {
        fs::rename(out, partial.join(REPLACED)).map_err(io(out))?;
    }
    moment();
    fs::rename(partial, out).map_err(io(out))?;
    moment();
    let beside = out.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    disk::sync_names(beside).map_err(io(beside))?;
    // The run is complete and in place, so that a failure to remove the old one is not an error.
    let _ = tidy(out);
    drop(held);
    Ok(())
}

/// Removes from a complete run the files that are not part of it: those that an interrupted move has left,
/// and unfinished pages or pictures of pages.
fn tidy(run: &Path) -> Result<(), RolloutError> {
    Own::leftovers(run)?.remove(None)
}

#[cfg(test)]
mod tests;
