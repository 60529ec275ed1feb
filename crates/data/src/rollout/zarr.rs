//! Zarr v3: a group with an array for every array of the run, every label and every parameter.
//!
//! A chunk is a file of at most some 4 MB of little-endian numbers. If a contact has a megabyte or more, a
//! chunk has few contacts, so that a reader of one episode does not read a hundred. Else a chunk has a block
//! of contacts, so that there are few small files. The last chunk is padded, as the format requires.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::columns::{Column, Item};
use super::episodes::Layout;
use super::error::{RolloutError, io};
use super::labels::{self, Array};
use super::parameters::Parameters;
use super::parts::Parts;
use super::raw::Raw;
use super::side_by_side::side_by_side;
use crate::disk;
use bristle_scenario::Descriptions;

/// Its directory in a run.
pub(super) const DIRECTORY: &str = "dataset.zarr";
/// Bytes that a chunk of samples should not exceed; it has one contact at least.
const CHUNK: u64 = 4 << 20;
/// Bytes of the widest array that are made together.
const BLOCK: u64 = 16 << 20;
/// Contacts in a chunk of an array with one number a contact: 8 MB.
const LONG: u64 = 1 << 20;

/// Whether a name in [`DIRECTORY`] is that of a chunk or of metadata, also while it is written.
pub(super) fn is_its(name: &str) -> bool {
    let name = name.strip_suffix(".begun").unwrap_or(name);
    let last = name.rsplit('/').next().unwrap_or_default();
    let is_chunk = name.contains("/c/") && !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    last == "zarr.json" || is_chunk
}

/// The name of a type of numbers.
const fn name(numbers: Item) -> &'static str {
    match numbers {
        Item::F64 => "float64",
        Item::F32 => "float32",
        Item::I64 => "int64",
        Item::U64 => "uint64",
        Item::U32 => "uint32",
        Item::U8 => "uint8",
        Item::Bool => "bool",
    }
}

/// What stands where nothing was written.
fn fill(numbers: Item) -> Value {
    match numbers {
        Item::F64 | Item::F32 => "NaN".into(),
        Item::Bool => false.into(),
        _ => 0.into(),
    }
}

/// The metadata of an array of so many contacts in chunks of so many.
fn metadata_of(array: &Array, contacts: u64, chunk: u64) -> Value {
    let names: Vec<&str> = std::iter::once("contact").chain(array.axes.iter().map(|(name, _)| *name)).collect();
    metadata(array.numbers, &array.shape(contacts), &array.shape(chunk), &names, &array.about)
}

fn metadata(numbers: Item, shape: &[u64], chunk: &[u64], names: &[&str], about: &str) -> Value {
    let bytes = if numbers.size() == 1 {
        json!({ "name": "bytes" })
    } else {
        json!({ "name": "bytes", "configuration": { "endian": "little" } })
    };
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": name(numbers),
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "fill_value": fill(numbers),
        "codecs": [bytes],
        "attributes": { "description": about },
        "dimension_names": names,
    })
}

/// As many of `n` contacts with so many bytes each as have at most `most`: a power of two, or all.
fn contacts_of(most: u64, bytes: u64, n: u64) -> u64 {
    let fit = (most / bytes.max(1)).max(1);
    // The largest power of two in it, so that chunks are parts of blocks.
    (1 << fit.ilog2()).min(n)
}

/// A dataset that is written.
pub(super) struct Writer<'a> {
    pub dir: PathBuf,
    pub raw: &'a Raw,
    pub layout: &'a Layout<'a>,
    pub parameters: &'a Parameters,
    pub parts: &'a Parts,
}

impl Writer<'_> {
    /// Writes what is not there yet; the metadata of the group last.
    pub fn write(&self, attributes: &Value) -> Result<(), RolloutError> {
        let n = self.raw.contacts();
        let arrays = self.arrays();
        let widest = arrays.iter().filter(|a| a.wide).map(Array::bytes).max().unwrap_or(1);
        let wide = contacts_of(BLOCK, widest, n);
        let long = LONG.min(n);
        let contacts = |i: u64, size: u64| i * size..n.min((i + 1) * size);
        side_by_side(n.div_ceil(wide), |i| self.wide(&arrays, contacts(i, wide), wide))?;
        side_by_side(n.div_ceil(long), |i| self.long(&arrays, i, contacts(i, long), long))?;
        let mut all = Map::new();
        for array in &arrays {
            let metadata = metadata_of(array, n, if array.wide { of_chunk(array, wide) } else { long });
            self.put(&format!("{}/zarr.json", array.name), pretty(&metadata).as_bytes())?;
            all.insert(array.name.clone(), metadata);
        }
        let times: Vec<u8> = self.layout.times.iter().flat_map(|t| t.to_le_bytes()).collect();
        let shape = [self.layout.times.len() as u64];
        let time = metadata(Item::F64, &shape, &shape, &["sample"], "[s]");
        self.put("time/c/0", &times)?;
        self.put("time/zarr.json", pretty(&time).as_bytes())?;
        all.insert("time".to_owned(), time);
        let group = json!({
            "zarr_format": 3,
            "node_type": "group",
            "attributes": attributes,
            "consolidated_metadata": { "kind": "inline", "must_understand": false, "metadata": all },
        });
        self.put("zarr.json", pretty(&group).as_bytes())
    }

    /// All arrays but `time`.
    fn arrays(&self) -> Vec<Array> {
        let column = |column: Column| Array {
            name: column.name.to_owned(),
            numbers: column.item,
            axes: column.axes(self.raw.samples()),
            about: column.about.to_owned(),
            wide: column.per_sample,
        };
        let mut arrays: Vec<Array> = self.layout.columns().map(column).collect();
        arrays.extend(labels::arrays(self.layout));
        let about = Descriptions::of_scenarios();
        arrays.extend(self.parameters.names().map(|name| Array {
            name: name.to_owned(),
            numbers: Item::F64,
            axes: Vec::new(),
            about: about.of(name),
            wide: false,
        }));
        arrays
    }

    /// Writes the chunks of every array with samples, of a block of at most `block` contacts.
    fn wide(&self, arrays: &[Array], contacts: Range<u64>, block: u64) -> Result<(), RolloutError> {
        let wide = || arrays.iter().filter(|array| array.wide);
        let chunks = |array: &Array| {
            let size = of_chunk(array, block);
            (contacts.start / size..contacts.end.div_ceil(size), size)
        };
        let mut are_there = true;
        for array in wide() {
            for i in chunks(array).0 {
                are_there = are_there && self.parts.has(&self.chunk(array, i))?;
            }
        }
        if are_there {
            return Ok(());
        }
        let episodes = self.layout.episodes(self.raw, contacts.clone())?;
        for array in wide() {
            let bytes = match labels::wide(&array.name, &episodes) {
                Some(bytes) => bytes,
                None => self.raw.bytes(&self.layout.column(&array.name), contacts.clone())?,
            };
            let (places, size) = chunks(array);
            for (i, bytes) in places.zip(bytes.chunks((size * array.bytes()) as usize)) {
                self.put_chunk(array, i, bytes.to_vec(), size)?;
            }
        }
        Ok(())
    }

    /// Writes a chunk of every array with one number a contact.
    fn long(&self, arrays: &[Array], i: u64, contacts: Range<u64>, chunk: u64) -> Result<(), RolloutError> {
        let parameters = arrays.len() - self.parameters.names().count();
        for (place, array) in arrays.iter().enumerate().filter(|(_, array)| !array.wide) {
            let bytes = if place >= parameters {
                labels::bytes(&self.parameters.read(place - parameters, contacts.clone())?, f64::to_le_bytes)
            } else if let Some(bytes) = labels::narrow(&array.name, self.raw, contacts.clone())? {
                bytes
            } else {
                self.raw.bytes(&self.layout.column(&array.name), contacts.clone())?
            };
            self.put_chunk(array, i, bytes, chunk)?;
        }
        Ok(())
    }

    /// The file of a chunk.
    fn chunk(&self, array: &Array, i: u64) -> PathBuf {
        let zeros = "/0".repeat(array.axes.len());
        self.dir.join(format!("{}/c/{i}{zeros}", array.name))
    }

    /// Writes a chunk, filled up to its size.
    fn put_chunk(&self, array: &Array, i: u64, mut bytes: Vec<u8>, chunk: u64) -> Result<(), RolloutError> {
        let size = (chunk * array.bytes()) as usize;
        while bytes.len() < size {
            match array.numbers {
                Item::F64 => bytes.extend(f64::NAN.to_le_bytes()),
                Item::F32 => bytes.extend(f32::NAN.to_le_bytes()),
                _ => bytes.push(0),
            }
        }
        self.put_file(&self.chunk(array, i), &bytes)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), RolloutError> {
        self.put_file(&self.dir.join(name), bytes)
    }

    /// Writes a file that is not there yet.
    fn put_file(&self, path: &Path, bytes: &[u8]) -> Result<(), RolloutError> {
        if self.parts.has(path)? {
            return Ok(());
        }
        let parent = path.parent().unwrap_or(path);
        fs::create_dir_all(parent).map_err(io(parent))?;
        disk::appear(path, |file| std::io::Write::write_all(file, bytes)).map_err(io(path))?;
        self.parts.add(path, bytes)
    }
}

/// Contacts in a chunk of an array with samples, which is made in blocks of so many.
fn of_chunk(array: &Array, block: u64) -> u64 {
    contacts_of(CHUNK, array.bytes(), block)
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk has few episodes where they are large, and many where they are not; blocks are whole chunks.
    #[test]
    fn chunks_are_of_few_large_episodes_or_of_many_small_ones() {
        let frames = 501 * 21 * 21 * 4;
        for (bytes, chunk) in [(100 << 20, 1), (2 * frames, 2), (frames, 4), (501 * 24, 256), (8, 1 << 19)] {
            assert_eq!(contacts_of(CHUNK, bytes, u64::MAX), chunk, "{bytes}");
            let block = contacts_of(BLOCK, bytes, 1 << 40);
            assert!(block.is_multiple_of(chunk) && block >= chunk);
        }
        assert_eq!(contacts_of(CHUNK, 501 * 24, 37), 37);
    }
}
