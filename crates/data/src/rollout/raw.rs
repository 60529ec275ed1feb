//! Reads the raw arrays of complete contacts: little-endian numbers, one file an array. The arrays of a run
//! are in one directory, or, if it was made in shards, in one directory for each shard.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::columns::{Column, Item};
use super::error::{RolloutError, io};
use super::writing::{Count, Counted};
use bristle::planar::Pose;
use bristle_scenario::input;

/// Raw arrays of contacts that follow one another, from one directory or several.
#[derive(Clone, Debug, Default)]
pub(super) struct Raw {
    parts: Vec<Part>,
    samples: usize,
    count: Option<Arc<Count>>,
}

/// Some contacts of the whole, in a directory of their own.
#[derive(Clone, Debug)]
struct Part {
    dir: PathBuf,
    contacts: Range<u64>,
}

impl Raw {
    /// The first `contacts` of a directory.
    pub fn of(dir: &Path, contacts: u64, samples: usize) -> Self {
        let mut raw = Self { parts: Vec::new(), samples, count: None };
        raw.append(dir, contacts);
        raw
    }

    /// Adds the first `contacts` of another directory behind those that are there.
    pub fn append(&mut self, dir: &Path, contacts: u64) {
        let from = self.contacts();
        self.parts.push(Part { dir: dir.to_owned(), contacts: from..from + contacts });
    }

    /// The same, of which what is read is counted.
    pub fn counted(&self, count: Option<&Arc<Count>>) -> Self {
        Self { count: count.cloned(), ..self.clone() }
    }

    /// How many contacts there are.
    pub fn contacts(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.contacts.end)
    }

    /// Samples of a contact.
    pub const fn samples(&self) -> usize {
        self.samples
    }

    /// The bytes of an array, of some contacts, as a stream.
    pub fn reader(&self, column: &Column, contacts: Range<u64>) -> Result<Box<dyn Read + Send>, RolloutError> {
        let size = column.bytes(self.samples);
        let mut stream: Box<dyn Read + Send> = Box::new(std::io::empty());
        for part in &self.parts {
            let from = contacts.start.max(part.contacts.start);
            let to = contacts.end.min(part.contacts.end);
            if from >= to {
                continue;
            }
            let path = part.dir.join(column.name);
            let open = || {
                let mut file = input::open(&path)?.into_inner();
                file.seek(SeekFrom::Start((from - part.contacts.start) * size)).map_err(io(&path))?;
                Ok::<_, RolloutError>(BufReader::with_capacity(1 << 18, file).take((to - from) * size))
            };
            stream = Box::new(stream.chain(open()?));
        }
        if let Some(count) = &self.count {
            stream = Box::new(Counted { stream, count: Arc::clone(count) });
        }
        Ok(stream)
    }

    /// The bytes of an array, of some contacts.
    pub fn bytes(&self, column: &Column, contacts: Range<u64>) -> Result<Vec<u8>, RolloutError> {
        let mut bytes = vec![0; ((contacts.end - contacts.start) * column.bytes(self.samples)) as usize];
        let path = self.parts.first().map(|part| part.dir.join(column.name)).unwrap_or_default();
        self.reader(column, contacts)?.read_exact(&mut bytes).map_err(io(&path))?;
        Ok(bytes)
    }

    /// An array of some contacts as f64.
    pub fn numbers(&self, name: &str, contacts: Range<u64>) -> Result<Vec<f64>, RolloutError> {
        self.numbers_of(Column::named(name), contacts)
    }

    /// The same of an array that is not one of [`COLUMNS`](super::columns::COLUMNS).
    pub fn numbers_of(&self, column: &Column, contacts: Range<u64>) -> Result<Vec<f64>, RolloutError> {
        let bytes = self.bytes(column, contacts)?;
        Ok(match column.item {
            Item::F32 | Item::U8 | Item::Bool => unreachable!("no raw array of numbers has such items"),
            Item::F64 => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
            Item::U32 => bytes.as_chunks().0.iter().map(|b| f64::from(u32::from_le_bytes(*b))).collect(),
            Item::U64 => bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b) as f64).collect(),
            Item::I64 => bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b) as f64).collect(),
        })
    }

    /// How many samples of each of some contacts are before its failure: all of them at most.
    ///
    /// # Errors
    /// A file that says more.
    pub fn frames(&self, contacts: Range<u64>) -> Result<Vec<usize>, RolloutError> {
        let frames: Vec<usize> = self.numbers("frames", contacts.clone())?.into_iter().map(|n| n as usize).collect();
        let Some(i) = frames.iter().position(|n| *n > self.samples) else { return Ok(frames) };
        let k = contacts.start + i as u64;
        let part = self.parts.iter().find(|part| part.contacts.contains(&k));
        let path = part.map(|part| part.dir.join("frames")).unwrap_or_default();
        let reason = format!("{} samples of contact {k}: expected at most {}", frames[i], self.samples);
        Err(RolloutError::File { path, reason })
    }

    /// The poses of one contact.
    pub fn poses(&self, contact: u64) -> Result<Vec<Pose>, RolloutError> {
        let values = self.numbers("pose", contact..contact + 1)?;
        Ok(values.as_chunks().0.iter().map(|q| Pose::from(*q)).collect())
    }
}
