//! The samples of an unfinished run: one raw little-endian file for every array, appended to block
//! by block, and a small file that says how many contacts are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::error::{RolloutError, io, text};
use super::outcome::NetMotion;
use crate::disk;
use crate::engine::Trajectories;
use crate::input;
use crate::planar::Pose;

/// The directory of an unfinished run with its raw files.
pub(super) const DIRECTORY: &str = "spool";
/// The file of an unfinished run that says what it is and how far it got.
pub(super) const PROGRESS: &str = "spool/progress.json";
/// Its name while it is written.
const NEXT: &str = "spool/progress.json.next";

/// Type of an array's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    F64,
    U32,
    U64,
    I64,
}

/// An array of the run, `[contact]`, `[contact, sample]` or `[contact, sample, width]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub name: &'static str,
    pub item: Item,
    pub per_sample: bool,
    pub width: usize,
    pub about: &'static str,
}

const fn samples(name: &'static str, width: usize, about: &'static str) -> Column {
    Column { name, item: Item::F64, per_sample: true, width, about }
}

const fn contacts(name: &'static str, item: Item, about: &'static str) -> Column {
    Column { name, item, per_sample: false, width: 1, about }
}

/// All arrays but `time`.
pub(super) const COLUMNS: [Column; 12] = [
    samples("pose", 3, "x [m], y [m], theta [rad] of the centre of mass; of the patch if its twist is prescribed"),
    samples("twist", 3, "vx [m/s], vy [m/s], w [rad/s] at the same point"),
    samples("wrench", 3, "friction of one pad on the body at the patch origin: fx [N], fy [N], tau [N m]"),
    samples("normal_force", 1, "of one pad [N]"),
    samples("slip", 1, "share of the normal force carried by sliding bristles: 0 sticks, 1 slides everywhere"),
    contacts("displacement", Item::F64, "distance [m] from start to end of the body's point at the centre of pressure"),
    contacts("rotation", Item::F64, "rotation [rad] from start to end"),
    contacts(
        "status",
        Item::U32,
        "0 is clean; 1 twist and 2 wrench became non-finite; 4 some stages had not converged; 8 took as many \
         steps as it may",
    ),
    contacts("failed_step", Item::I64, "step at which the contact failed, -1 if it did not"),
    contacts("unconverged", Item::U64, "stages that had not converged after three iterations"),
    contacts("steps", Item::U64, "steps taken"),
    contacts("passes", Item::U64, "passes over the cells"),
];

/// Bytes of one sample of one contact over all arrays.
pub(super) const BYTES_PER_SAMPLE: u64 = 11 * 8;
/// Bytes of one contact in the arrays without samples.
pub(super) const BYTES_PER_CONTACT: u64 = 6 * 8 + 4;

impl Column {
    pub fn item_size(&self) -> u64 {
        if self.item == Item::U32 { 4 } else { 8 }
    }

    /// Bytes of one contact.
    pub fn bytes(&self, samples: usize) -> u64 {
        self.item_size() * self.width as u64 * if self.per_sample { samples as u64 } else { 1 }
    }
}

/// The unfinished run in its directory.
pub(super) struct Spool {
    partial: PathBuf,
    dir: PathBuf,
    identity: Value,
    columns: Vec<Column>,
    samples: usize,
    done: u64,
    seconds: f64,
    files: Vec<File>,
    /// When the files were last synchronised with the disk, and the number of contacts in them then.
    synced: Option<(Instant, u64)>,
}

/// Least time between two synchronisations with the disk; after every block of a few milliseconds they would take
/// longer than the simulation.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Whether a file with this name may be in [`DIRECTORY`] before [`PROGRESS`] is first written.
pub(super) fn is_its(name: &str) -> bool {
    NEXT.ends_with(&format!("/{name}"))
        || COLUMNS.iter().map(|column| column.name).chain(super::worlds::NAMES).any(|known| known == name)
}

/// Number of complete contacts of the unfinished run in `partial`, if it has a progress file.
pub(super) fn complete(partial: &Path) -> Option<u64> {
    let text = input::text(&partial.join(PROGRESS)).ok()?;
    serde_json::from_str::<Value>(&text).ok()?["contacts_done"].as_u64()
}

impl Spool {
    /// Starts an empty one with these arrays in `partial`.
    pub fn create(partial: &Path, identity: &Value, columns: &[Column], samples: usize) -> Result<Self, RolloutError> {
        let dir = partial.join(DIRECTORY);
        fs::create_dir_all(&dir).map_err(io(&dir))?;
        let spool = Self::open(partial, identity, columns, samples, 0, 0.0)?;
        spool.save()?;
        Ok(spool)
    }

    /// Continues the one in `partial` if it is the same run, or starts one if there is none.
    pub fn resume(partial: &Path, identity: &Value, columns: &[Column], samples: usize) -> Result<Self, RolloutError> {
        let path = partial.join(PROGRESS);
        let Some(text) = text(&path)? else { return Self::create(partial, identity, columns, samples) };
        let broken = || io(&path)(std::io::Error::other("not as this program writes it: start anew with `force`"));
        let state: Value = serde_json::from_str(&text).map_err(|_| broken())?;
        for what in ["scenario", "maps", "engine", "version"] {
            if state["identity"][what] != identity[what] {
                return Err(RolloutError::Different { path: partial.to_owned(), what });
            }
        }
        let done = state["contacts_done"].as_u64().ok_or_else(broken)?;
        Self::open(partial, identity, columns, samples, done, state["seconds"].as_f64().unwrap_or(0.0))
    }

    fn open(
        partial: &Path,
        identity: &Value,
        columns: &[Column],
        samples: usize,
        done: u64,
        seconds: f64,
    ) -> Result<Self, RolloutError> {
        let dir = partial.join(DIRECTORY);
        let mut files = Vec::new();
        for column in columns {
            let path = dir.join(column.name);
            let open = || {
                let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
                if file.metadata()?.len() < done.saturating_mul(column.bytes(samples)) {
                    return Err(std::io::Error::other("shorter than the progress file says: start anew with `force`"));
                }
                Ok(file)
            };
            files.push(open().map_err(io(&path))?);
        }
        let (partial, identity, columns) = (partial.to_owned(), identity.clone(), columns.to_vec());
        let spool = Self { partial, dir, identity, columns, samples, done, seconds, files, synced: None };
        spool.truncate()?;
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

    /// Appends a block that took `seconds`: all of it or, if there is no space, nothing.
    pub fn push(&mut self, t: &Trajectories, motions: &[NetMotion], seconds: f64) -> Result<(), RolloutError> {
        let f64s = |v: &[f64]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let u64s = |f: &dyn Fn(usize) -> u64| (0..t.contacts).flat_map(|k| f(k).to_le_bytes()).collect::<Vec<u8>>();
        self.append(t.contacts as u64, seconds, |name| {
            match name {
                "pose" => triples(&t.pose),
                "twist" => triples(&t.twist),
                "wrench" => triples(&t.wrench),
                "normal_force" => f64s(&t.normal_force),
                "slip" => f64s(&t.slip),
                "displacement" => f64s(&motions.iter().map(|f| f.displacement).collect::<Vec<_>>()),
                "rotation" => f64s(&motions.iter().map(|f| f.rotation).collect::<Vec<_>>()),
                "status" => t.status.iter().flat_map(|s| s.word().to_le_bytes()).collect(),
                // Two's complement of -1 where there was no failure.
                "failed_step" => u64s(&|k| t.status[k].failure.map_or(u64::MAX, |(step, _)| step)),
                "unconverged" => u64s(&|k| t.status[k].unconverged),
                "steps" => u64s(&|k| t.status[k].steps),
                "passes" => u64s(&|k| t.status[k].passes),
                other => unreachable!("no data for the array {other}"),
            }
        })
    }

    /// Appends the bytes of so many contacts to every array, by its name: all of them or, if there is no space,
    /// nothing.
    pub fn append(&mut self, contacts: u64, seconds: f64, data: impl Fn(&str) -> Vec<u8>) -> Result<(), RolloutError> {
        for (i, column) in self.columns.iter().enumerate() {
            let bytes = data(column.name);
            if let Err(e) = (&self.files[i]).write_all(&bytes) {
                // The first error is reported, not one of the truncation.
                let _ = self.truncate();
                return Err(io(&self.dir.join(column.name))(e));
            }
        }
        self.done += contacts;
        self.seconds += seconds;
        if self.synced.is_none_or(|(at, _)| at.elapsed() >= SYNC_EVERY) { self.sync() } else { Ok(()) }
    }

    /// Synchronises all blocks with the disk, so that the run can be resumed after them.
    pub fn sync(&mut self) -> Result<(), RolloutError> {
        for (column, file) in self.columns.iter().zip(&self.files) {
            file.sync_data().map_err(io(&self.dir.join(column.name)))?;
        }
        self.synced = Some((Instant::now(), self.done));
        self.save()
    }

    fn save(&self) -> Result<(), RolloutError> {
        let state = json!({ "contacts_done": self.done, "seconds": self.seconds, "identity": self.identity });
        let (path, next) = (self.partial.join(PROGRESS), self.partial.join(NEXT));
        let write = || {
            disk::write(&next, state.to_string().as_bytes())?;
            fs::rename(&next, &path)?;
            disk::sync_names(&self.dir)
        };
        write().map_err(io(&path))
    }

    /// The raw bytes of an array, from contact `from` on.
    pub fn reader(&self, column: &Column, from: u64) -> Result<impl Read, RolloutError> {
        let path = self.dir.join(column.name);
        let open = || {
            let mut file = File::open(&path)?;
            file.seek(SeekFrom::Start(from * column.bytes(self.samples)))?;
            Ok(BufReader::with_capacity(1 << 18, file))
        };
        open().map_err(io(&path))
    }

    /// An array of numbers with one item a contact, as f64.
    pub fn scalars(&self, name: &str) -> Result<Vec<f64>, RolloutError> {
        let column = self.column(name);
        let mut bytes = Vec::new();
        self.reader(&column, 0)?.read_to_end(&mut bytes).map_err(io(&self.dir.join(name)))?;
        Ok(match column.item {
            Item::F64 => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
            Item::U32 => bytes.as_chunks().0.iter().map(|b| f64::from(u32::from_le_bytes(*b))).collect(),
            Item::U64 => bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b) as f64).collect(),
            Item::I64 => bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b) as f64).collect(),
        })
    }

    fn column(&self, name: &str) -> Column {
        *self.columns.iter().find(|c| c.name == name).unwrap_or_else(|| unreachable!("no array {name}"))
    }

    /// All numbers of one contact in an array of f64.
    pub fn values(&self, name: &str, contact: u64) -> Result<Vec<f64>, RolloutError> {
        let column = self.column(name);
        let mut bytes = vec![0; column.bytes(self.samples) as usize];
        self.reader(&column, contact)?.read_exact(&mut bytes).map_err(io(&self.dir.join(name)))?;
        Ok(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect())
    }

    /// The poses of one contact.
    pub fn poses(&self, contact: u64) -> Result<Vec<Pose>, RolloutError> {
        let values = self.values("pose", contact)?;
        Ok(values.as_chunks().0.iter().map(|q| Pose::from(*q)).collect())
    }
}

impl Drop for Spool {
    /// A run that ends early synchronises its last blocks, if it can.
    fn drop(&mut self) {
        if self.synced.is_some_and(|(_, done)| done < self.done) {
            let _ = self.sync();
        }
    }
}

/// The bytes of poses, twists or wrenches.
fn triples<T: Copy + Into<[f64; 3]>>(all: &[T]) -> Vec<u8> {
    all.iter().flat_map(|&v| v.into()).flat_map(f64::to_le_bytes).collect()
}
