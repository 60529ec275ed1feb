//! The samples of an unfinished run: one raw little-endian file for every array, appended to block
//! by block, and a small file that says how many contacts are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crc32fast::Hasher;
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::check;
use super::columns::{COLUMNS, Column, OF_PATCHES, SHEAR};
use super::difference::{self, different};
use super::error::{RolloutError, io, text};
use super::extend::Finished;
use super::names::SPOOL;
use super::outcome::NetMotion;
use super::raw::Raw;
use super::shear::Images;
use crate::disk;
use bristle::engine::{Status, Trajectories};
use bristle::pool;
use bristle_scenario::input::{self, InputError};

/// Its name in a shard, from before the record is written.
pub(super) const RAW: &str = "raw";
/// The file of an unfinished run that says what it is and how far it got.
pub(super) const PROGRESS: &str = "spool/progress.json";
/// What its identity says, in the order in which differences are told.
const IDENTITY: [&str; 6] = ["scenario", "maps", "engine", "version", "shard", "datasets"];
/// Its name while it is written.
const NEXT: &str = "spool/progress.json.next";

/// The unfinished run in its directory.
pub(super) struct Spool {
    partial: PathBuf,
    dir: PathBuf,
    identity: Value,
    columns: Vec<Column>,
    samples: usize,
    done: u64,
    seconds: f64,
    /// What computes, and all that has computed.
    processor: String,
    processors: Vec<String>,
    files: Vec<File>,
    /// Checksums of the complete contacts in every file, by which damage is found when the run is resumed.
    sums: Vec<Hasher>,
    /// When the files were last begun to be synchronised with the disk, and the number of contacts in them
    /// then.
    synced: Option<(Instant, u64)>,
    /// What synchronises them while more is appended.
    syncing: Option<JoinHandle<Result<(), RolloutError>>>,
}

/// Least time between two synchronisations with the disk; after every block of a few milliseconds they would
/// take longer than the simulation.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Whether a file with this name may be in [`SPOOL`] before [`PROGRESS`] is first written.
pub(super) fn is_first(name: &str) -> bool {
    NEXT.ends_with(&format!("/{name}"))
        || COLUMNS.iter().chain(&super::worlds::columns(1, 1, true)).any(|column| column.name == name)
        || SHEAR.contains(&name)
        || OF_PATCHES.contains(&name)
}

/// Whether a file with this name may be in [`SPOOL`]: one of the above, the progress file, or a note that
/// datasets are made with.
pub(super) fn is_its(name: &str) -> bool {
    let note = name.strip_suffix(".begun").unwrap_or(name);
    let is_note = ["parameters", "parts"].contains(&note) || note.starts_with("label-") || note.starts_with("lerobot-");
    !name.contains('/') && (is_first(name) || PROGRESS.ends_with(&format!("/{name}")) || is_note)
}

/// What the progress file of the unfinished run in `partial` says, if it has one.
pub(super) fn progress(partial: &Path) -> Option<Value> {
    found(partial).map(|(_, _, state)| state)
}

/// The progress file of the unfinished run in `partial`, if it has one: its name, its text and what that
/// says.
fn found(partial: &Path) -> Option<(String, String, Value)> {
    let of = |dir: &str| {
        let name = PROGRESS.replace(SPOOL, dir);
        // A directory that is a link is known by what is there, and is refused by its name afterwards.
        let text = text(&partial.join(dir), name.rsplit('/').next()?).ok()??;
        Some((name, text))
    };
    let (name, text) = of(SPOOL).or_else(|| of(RAW))?;
    let state = serde_json::from_str(&text).ok()?;
    Some((name, text, state))
}

/// Whether the unfinished run in `partial` has a progress file.
pub(super) fn is_begun(partial: &Path) -> bool {
    [SPOOL, RAW].iter().any(|dir| partial.join(PROGRESS.replace(SPOOL, dir)).exists())
}

/// Number of complete contacts of the unfinished run in `partial`, if it has a progress file.
pub(super) fn complete(partial: &Path) -> Option<u64> {
    progress(partial)?["contacts_done"].as_u64()
}

/// Gives the raw files back the name that they have in an unfinished run, if a shard was interrupted after
/// they had got their last one.
pub(super) fn take_back(partial: &Path) -> Result<(), RolloutError> {
    let (raw, spool) = (partial.join(RAW), partial.join(SPOOL));
    if raw.is_dir() && !spool.exists() { fs::rename(&raw, &spool).map_err(io(&raw)) } else { Ok(()) }
}

/// Marks `partial` as that unfinished run, of which no contact is simulated here; if it is to be resumed,
/// checks that it is the one that is there.
pub(super) fn mark(partial: &Path, identity: &Value, resume: bool) -> Result<(), RolloutError> {
    Spool::begin(partial, resume, identity, String::new(), &COLUMNS, 0).map(drop)
}

/// Refuses the unfinished run in `partial` if what it says of itself is damaged, or if it is another than
/// `identity` says, as far as that says something.
pub(super) fn check_identity(partial: &Path, identity: &Value) -> Result<(), RolloutError> {
    let Some((name, text, state)) = found(partial) else { return Ok(()) };
    if let Some(why) = check::fault_of_sealed(&text, &state) {
        return Err(RolloutError::Damaged { path: partial.join(name), why, others: 0 });
    }
    let there = &state["identity"];
    let differs = |what: &&str| there.is_object() && identity.get(*what).is_some_and(|own| there[*what] != *own);
    let Some(what) = IDENTITY.into_iter().find(differs) else { return Ok(()) };
    let (own, there_is) = (&identity[what], &there[what]);
    let text = identity["scenario"].as_str().unwrap_or_default();
    let first = match what {
        "scenario" => difference::of_scenarios(text, there_is.as_str().unwrap_or_default()),
        "maps" => difference::of_files(text, own, there_is),
        "engine" | "datasets" => difference::first("", own, there_is).unwrap_or_default(),
        what => difference::first(what, own, there_is).unwrap_or_default(),
    };
    Err(different(partial, what, first))
}

impl Spool {
    /// The one in `partial` with these arrays, on that processor. If it is to `resume` and there is one,
    /// which has to be the same run, it is continued; else it is empty.
    pub fn begin(
        partial: &Path,
        resume: bool,
        identity: &Value,
        processor: String,
        columns: &[Column],
        samples: usize,
    ) -> Result<Self, RolloutError> {
        let dir = partial.join(SPOOL);
        let found = if resume { text(partial, PROGRESS)? } else { None };
        let (state, sums) = if let Some(text) = &found {
            let path = partial.join(PROGRESS);
            let broken = || io(&path)(io::Error::other("not as this program writes it: start anew with `force`"));
            let state: Value = serde_json::from_str(text).map_err(|_| broken())?;
            check_identity(partial, identity)?;
            if !state["identity"].is_object() {
                return Err(broken());
            }
            let done =
                state["contacts_done"].as_u64().filter(|_| !state[check::DIGEST].is_null()).ok_or_else(broken)?;
            let sums = compare(&dir, columns, samples, done, &state["checksums"])?;
            (state, sums)
        } else {
            fs::create_dir_all(&dir).map_err(io(&dir))?;
            (Value::Null, vec![Hasher::new(); columns.len()])
        };
        let (done, seconds) = (state["contacts_done"].as_u64().unwrap_or(0), state["seconds"].as_f64().unwrap_or(0.0));
        let processors = serde_json::from_value(state["processors"].clone()).unwrap_or_default();
        let mut files = Vec::new();
        for column in columns {
            let path = dir.join(column.name);
            let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
            files.push(file.map_err(io(&path))?);
        }
        let (partial, identity, columns) = (partial.to_owned(), identity.clone(), columns.to_vec());
        let (synced, syncing) = (None, None);
        let spool = Self {
            partial,
            dir,
            identity,
            columns,
            samples,
            done,
            seconds,
            processor,
            processors,
            files,
            sums,
            synced,
            syncing,
        };
        spool.truncate()?;
        if found.is_none() {
            spool.saving()()?;
        }
        Ok(spool)
    }

    /// Removes the part of a block that was not written completely.
    fn truncate(&self) -> Result<(), RolloutError> {
        for (column, mut file) in self.columns.iter().zip(&self.files) {
            let cut = file.set_len(self.done * column.bytes(self.samples)).and_then(|()| file.seek(SeekFrom::End(0)));
            cut.map_err(io(&self.dir.join(column.name)))?;
        }
        Ok(())
    }

    /// Contacts that are complete.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Seconds the engine has worked, over all sessions of the run.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// All processors that have simulated its contacts.
    pub fn processors(&self) -> Vec<String> {
        self.processors.clone()
    }

    /// Takes over the contacts of a finished run, in place of what is there.
    pub fn take(&mut self, run: &Finished) -> Result<(), RolloutError> {
        self.done = 0;
        self.truncate()?;
        for ((column, file), sum) in self.columns.iter().zip(&mut self.files).zip(&mut self.sums) {
            sum.reset();
            run.read(column, self.samples, &mut Summed { file, sum })?;
        }
        (self.done, self.seconds) = (run.contacts, run.seconds);
        self.processors.clone_from(&run.processors);
        self.sync()
    }

    /// Appends a block that took `seconds`: all of it or, if there is no space, nothing.
    pub fn push(
        &mut self,
        t: &Trajectories,
        motions: &[NetMotion],
        images: &Images,
        seconds: f64,
    ) -> Result<(), RolloutError> {
        self.append(t.contacts as u64, seconds, |name| bytes(name, t, motions, images))
    }

    /// Appends the bytes of so many contacts to every array, by its name: all of them or, if there is no
    /// space, nothing.
    pub fn append(&mut self, contacts: u64, seconds: f64, data: impl Fn(&str) -> Vec<u8>) -> Result<(), RolloutError> {
        let mut sums = self.sums.clone();
        for (i, column) in self.columns.iter().enumerate() {
            if let Err(e) = (Summed { file: &mut self.files[i], sum: &mut sums[i] }).write_all(&data(column.name)) {
                // The first error is reported, not one of the truncation.
                let _ = self.truncate();
                return Err(io(&self.dir.join(column.name))(e));
            }
        }
        self.sums = sums;
        self.done += contacts;
        self.seconds += seconds;
        if !self.processors.contains(&self.processor) {
            self.processors.push(self.processor.clone());
        }
        let is_due = self.synced.is_none_or(|(at, _)| at.elapsed() >= SYNC_EVERY);
        match &self.syncing {
            Some(syncing) if is_due && syncing.is_finished() => {
                self.wait()?;
                self.begin_sync()
            }
            None if is_due => self.begin_sync(),
            _ => Ok(()),
        }
    }

    /// Synchronises all blocks with the disk, so that the run can be resumed after them.
    pub fn sync(&mut self) -> Result<(), RolloutError> {
        self.wait()?;
        self.begin_sync()?;
        self.wait()
    }

    /// Begins to synchronise the blocks that are there; others may be appended meanwhile.
    fn begin_sync(&mut self) -> Result<(), RolloutError> {
        let mut files = Vec::new();
        for (column, file) in self.columns.iter().zip(&self.files) {
            let path = self.dir.join(column.name);
            files.push((file.try_clone().map_err(io(&path))?, path));
        }
        let save = self.saving();
        self.synced = Some((Instant::now(), self.done));
        self.syncing = Some(std::thread::spawn(move || {
            files.iter().try_for_each(|(file, path)| file.sync_data().map_err(io(path)))?;
            save()
        }));
        Ok(())
    }

    /// Waits for the end of what [`Self::begin_sync`] has begun.
    fn wait(&mut self) -> Result<(), RolloutError> {
        let done = self.syncing.take().map(JoinHandle::join);
        done.unwrap_or(Ok(Ok(()))).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// What writes how far the run is now.
    fn saving(&self) -> impl FnOnce() -> Result<(), RolloutError> + Send + 'static {
        let sums = self.columns.iter().zip(&self.sums).map(|(c, sum)| (c.name.to_owned(), told(sum).into()));
        let state = json!({
            "contacts_done": self.done,
            "seconds": self.seconds,
            "processors": self.processors,
            "identity": self.identity,
            "checksums": sums.collect::<Map<_, _>>(),
        });
        let (path, next, dir) = (self.partial.join(PROGRESS), self.partial.join(NEXT), self.dir.clone());
        move || {
            let write = || {
                disk::write(&next, check::sealed(state).as_bytes())?;
                fs::rename(&next, &path)?;
                disk::sync_names(&dir)
            };
            write().map_err(io(&path))
        }
    }

    /// The complete contacts, to be read.
    pub fn raw(&self) -> Raw {
        Raw::of(&self.dir, self.done, self.samples)
    }
}

impl Drop for Spool {
    /// A run that ends early synchronises its last blocks, if it can.
    fn drop(&mut self) {
        let _ = self.wait();
        if self.synced.is_some_and(|(_, done)| done < self.done) {
            let _ = self.sync();
        }
    }
}

/// A file and the checksum of what is written to it.
struct Summed<'a> {
    file: &'a mut File,
    sum: &'a mut Hasher,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.sum.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A checksum as the progress file has it.
fn told(sum: &Hasher) -> String {
    format!("{:08x}", sum.clone().finalize())
}

/// Reads the raw files of `done` contacts in `dir` and compares their checksums with those that are `known`;
/// returns them, to go on with.
fn compare(
    dir: &Path,
    columns: &[Column],
    samples: usize,
    done: u64,
    known: &Value,
) -> Result<Vec<Hasher>, RolloutError> {
    let of = |column: &Column| {
        let mut sum = Hasher::new();
        let bytes = done.saturating_mul(column.bytes(samples));
        if bytes == 0 {
            return Ok(sum);
        }
        let path = dir.join(column.name);
        let damaged = |found: &str| {
            let expected = known[column.name].as_str().unwrap_or("nothing");
            let why = format!(
                "is damaged: expected the CRC-32 {} of the first {bytes} bytes, found {found}",
                check::short(expected)
            );
            Err(RolloutError::Damaged { path: path.clone(), why, others: 0 })
        };
        let file = match input::open_in(dir, column.name.as_ref()) {
            Err(InputError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return damaged("no file");
            }
            file => file?.into_inner(),
        };
        let mut read = 0;
        let each = check::each(&mut file.take(bytes), |some| {
            sum.update(some);
            read += some.len() as u64;
        });
        each.map_err(io(&path))?;
        match told(&sum) {
            _ if read < bytes => damaged(&format!("{read} bytes")),
            found if known[column.name] == found.as_str() => Ok(sum),
            found => damaged(&found),
        }
    };
    pool::run(|| columns.par_iter().map(of).collect::<Vec<_>>()).into_iter().collect()
}

/// The bytes of an array of a block.
fn bytes(name: &str, t: &Trajectories, motions: &[NetMotion], images: &Images) -> Vec<u8> {
    let u64s = |f: &dyn Fn(usize) -> u64| little_endian((0..t.contacts).map(f), u64::to_le_bytes);
    match name {
        "pose" => triples(&t.pose),
        "twist" => triples(&t.twist),
        "wrench" => triples(&t.wrench),
        "normal_force" => little_endian(t.normal_force.iter().copied(), f64::to_le_bytes),
        "slip" => little_endian(t.slip.iter().copied(), f64::to_le_bytes),
        "near_limit" => little_endian(t.near_limit.iter().copied(), f64::to_le_bytes),
        "displacement" => little_endian(motions.iter().map(|f| f.displacement), f64::to_le_bytes),
        "rotation" => little_endian(motions.iter().map(|f| f.rotation), f64::to_le_bytes),
        "status" => little_endian(t.status.iter().map(Status::word), u32::to_le_bytes),
        // Two's complement of -1 where there was no failure.
        "failed_step" => u64s(&|k| t.status[k].failure.map_or(u64::MAX, |(step, _)| step)),
        "frames" => u64s(&|k| finite_samples(t, k) as u64),
        "unconverged" => u64s(&|k| t.status[k].unconverged),
        "steps" => u64s(&|k| t.status[k].steps),
        "passes" => u64s(&|k| t.status[k].passes),
        own if OF_PATCHES.contains(&own) => little_endian(images.of_patches(own).iter().copied(), f64::to_le_bytes),
        image if SHEAR.contains(&image) => little_endian(images.of(image).iter().copied(), f32::to_le_bytes),
        other => unreachable!("no data for the array {other}"),
    }
}

/// The number of samples of contact `k` before the first that is not finite.
fn finite_samples(t: &Trajectories, k: usize) -> usize {
    if let Some(sample) = t.status[k].left {
        return sample as usize + 1;
    }
    if t.status[k].failure.is_none() {
        return t.frames();
    }
    let all = |v: [f64; 3]| v.iter().all(|v| v.is_finite());
    let is_finite = |i: usize| {
        all(t.pose[i].to_array())
            && all(t.twist[i].to_array())
            && all(t.wrench[i].to_array())
            && all([t.normal_force[i], t.slip[i], t.near_limit[i]])
    };
    t.of(k).position(|i| !is_finite(i)).unwrap_or_else(|| t.frames())
}

/// The bytes of numbers, reserved beforehand: appended one by one they take longer than to be written.
fn little_endian<T, const N: usize>(all: impl ExactSizeIterator<Item = T>, to_bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    let mut bytes = vec![0; all.len() * N];
    bytes.as_chunks_mut::<N>().0.iter_mut().zip(all).for_each(|(to, v)| *to = to_bytes(v));
    bytes
}

/// The bytes of poses, twists or wrenches.
fn triples<T: Copy + Into<[f64; 3]>>(all: &[T]) -> Vec<u8> {
    let mut bytes = vec![0; all.len() * 24];
    let (places, _) = bytes.as_chunks_mut::<8>();
    for (places, v) in places.as_chunks_mut::<3>().0.iter_mut().zip(all) {
        *places = (*v).into().map(f64::to_le_bytes);
    }
    bytes
}
