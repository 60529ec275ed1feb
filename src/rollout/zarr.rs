//! Zarr v3: a group with an array for every array of the run, every label and every parameter.
//!
//! A chunk is its numbers as they are, little-endian, in a file of at most some 16 MB, so that a reader of a store of
//! objects gets a block of contacts in one request. Chunks at the end are filled up, as the format has it.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::columns::{COLUMNS, Column, Item};
use super::episodes::{Layout, about, is_validation, outcomes};
use super::error::{RolloutError, io};
use super::outcome::Outcome;
use super::parameters::Parameters;
use super::raw::Raw;
use crate::disk;

/// Its directory in a run.
pub(super) const DIRECTORY: &str = "dataset.zarr";
/// Bytes that a chunk of samples should not exceed; it has one contact at least.
const CHUNK: u64 = 16 << 20;
/// Contacts in a chunk of an array with one number a contact: 8 MB.
const LONG: u64 = 1 << 20;

/// The numbers of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    F64,
    F32,
    I64,
    U64,
    U32,
    U8,
    Bool,
}

impl Type {
    const fn name(self) -> &'static str {
        match self {
            Self::F64 => "float64",
            Self::F32 => "float32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::U32 => "uint32",
            Self::U8 => "uint8",
            Self::Bool => "bool",
        }
    }

    const fn size(self) -> u64 {
        match self {
            Self::F64 | Self::I64 | Self::U64 => 8,
            Self::F32 | Self::U32 => 4,
            Self::U8 | Self::Bool => 1,
        }
    }

    fn fill(self) -> Value {
        match self {
            Self::F64 | Self::F32 => "NaN".into(),
            Self::Bool => false.into(),
            _ => 0.into(),
        }
    }

    const fn of(item: Item) -> Self {
        match item {
            Item::F64 => Self::F64,
            Item::U32 => Self::U32,
            Item::U64 => Self::U64,
            Item::I64 => Self::I64,
        }
    }
}

/// An array: its axes after that of the contacts, with their names.
struct Array {
    name: String,
    numbers: Type,
    axes: Vec<(&'static str, u64)>,
    about: String,
    /// Whether its chunks are those of samples.
    wide: bool,
}

impl Array {
    /// Bytes of a contact.
    fn bytes(&self) -> u64 {
        self.numbers.size() * self.axes.iter().map(|(_, n)| n).product::<u64>()
    }

    /// Its metadata for so many contacts in chunks of so many.
    fn metadata(&self, contacts: u64, chunk: u64) -> Value {
        let lengths =
            |first: u64| -> Vec<u64> { std::iter::once(first).chain(self.axes.iter().map(|(_, n)| *n)).collect() };
        let names: Vec<&str> = std::iter::once("contact").chain(self.axes.iter().map(|(name, _)| *name)).collect();
        metadata(self.numbers, &lengths(contacts), &lengths(chunk), &names, &self.about)
    }
}

fn metadata(numbers: Type, shape: &[u64], chunk: &[u64], names: &[&str], about: &str) -> Value {
    let bytes = if numbers.size() == 1 {
        json!({ "name": "bytes" })
    } else {
        json!({ "name": "bytes", "configuration": { "endian": "little" } })
    };
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": numbers.name(),
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "fill_value": numbers.fill(),
        "codecs": [bytes],
        "attributes": { "description": about },
        "dimension_names": names,
    })
}

/// A dataset that is written.
pub(super) struct Writer<'a> {
    pub dir: PathBuf,
    pub raw: &'a Raw,
    pub layout: &'a Layout<'a>,
    pub parameters: &'a Parameters,
}

impl Writer<'_> {
    /// Writes what is not there yet; the metadata of the group last.
    pub fn write(&self, attributes: &Value) -> Result<(), RolloutError> {
        let n = self.raw.contacts();
        let arrays = self.arrays();
        let widest = arrays.iter().filter(|a| a.wide).map(Array::bytes).max().unwrap_or(1);
        let wide = (CHUNK / widest).clamp(1, n);
        let long = LONG.min(n);
        let blocks =
            |size: u64| (0..n.div_ceil(size)).into_par_iter().map(move |i| (i, i * size..n.min((i + 1) * size)));
        blocks(wide).try_for_each(|(i, contacts)| self.wide(&arrays, i, contacts, wide))?;
        blocks(long).try_for_each(|(i, contacts)| self.long(&arrays, i, contacts, long))?;
        let mut all = Map::new();
        for array in &arrays {
            let metadata = array.metadata(n, if array.wide { wide } else { long });
            self.put(&format!("{}/zarr.json", array.name), pretty(&metadata).as_bytes())?;
            all.insert(array.name.clone(), metadata);
        }
        let times: Vec<u8> = self.layout.times.iter().flat_map(|t| t.to_le_bytes()).collect();
        let shape = [self.layout.times.len() as u64];
        let time = metadata(Type::F64, &shape, &shape, &["sample"], "[s]");
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
        let samples = self.raw.samples() as u64;
        let column = |column: &Column| {
            let sample = column.per_sample.then_some(("sample", samples));
            let width = (column.width > 1).then_some(("axis", column.width as u64));
            Array {
                name: column.name.to_owned(),
                numbers: Type::of(column.item),
                axes: [sample, width].into_iter().flatten().collect(),
                about: column.about.to_owned(),
                wide: column.per_sample,
            }
        };
        let mut arrays: Vec<Array> = COLUMNS.iter().map(column).collect();
        let mut add = |name: &str, numbers, axes: &[(&'static str, u64)], about: &str, wide| {
            arrays.push(Array { name: name.to_owned(), numbers, axes: axes.to_vec(), about: about.to_owned(), wide });
        };
        let actions: Vec<String> = self.layout.actions.iter().map(|(name, unit)| format!("{name} [{unit}]")).collect();
        let width = actions.len() as u64;
        add("action", Type::F64, &[("sample", samples), ("input", width)], &actions.join(", "), true);
        add("time_to_slip", Type::F64, &[("sample", samples)], about::TIME_TO_SLIP, true);
        if self.layout.margin {
            add("margin", Type::F64, &[("sample", samples)], about::MARGIN, true);
        }
        if let Some(grid) = self.layout.tactile {
            let axes = [("sample", samples), ("row", grid.ny as u64), ("column", grid.nx as u64)];
            add("tactile", Type::F32, &axes, about::TACTILE, true);
        }
        add("first_slip", Type::F64, &[], about::FIRST_SLIP, true);
        let outcomes: Vec<String> = Outcome::ALL.iter().enumerate().map(|(i, o)| format!("{i} {}", o.name())).collect();
        add("outcome", Type::U8, &[], &outcomes.join(", "), false);
        add("validation", Type::Bool, &[], about::VALIDATION, false);
        for name in self.parameters.names() {
            add(name, Type::F64, &[], "parameter of the scenario", false);
        }
        arrays
    }

    /// Writes a chunk of every array with samples.
    fn wide(&self, arrays: &[Array], i: u64, contacts: Range<u64>, chunk: u64) -> Result<(), RolloutError> {
        let wide = || arrays.iter().filter(|array| array.wide);
        if wide().all(|array| self.chunk(array, i).is_file()) {
            return Ok(());
        }
        let episodes = self.layout.episodes(self.raw, contacts.clone())?;
        for array in wide() {
            let bytes = match array.name.as_str() {
                "action" => bytes(&episodes.action, f64::to_le_bytes),
                "time_to_slip" => bytes(&episodes.time_to_slip, f64::to_le_bytes),
                "margin" => bytes(&episodes.margin, f64::to_le_bytes),
                "tactile" => bytes(&episodes.tactile, f32::to_le_bytes),
                "first_slip" => bytes(&episodes.first_slip, f64::to_le_bytes),
                raw => self.raw.bytes(Column::named(raw), contacts.clone())?,
            };
            self.put_chunk(array, i, bytes, chunk)?;
        }
        Ok(())
    }

    /// Writes a chunk of every array with one number a contact.
    fn long(&self, arrays: &[Array], i: u64, contacts: Range<u64>, chunk: u64) -> Result<(), RolloutError> {
        let parameters = arrays.len() - self.parameters.names().count();
        for (place, array) in arrays.iter().enumerate().filter(|(_, array)| !array.wide) {
            let bytes = match array.name.as_str() {
                _ if place >= parameters => {
                    bytes(&self.parameters.read(place - parameters, contacts.clone())?, f64::to_le_bytes)
                }
                "outcome" => outcomes(self.raw, contacts.clone())?.into_iter().map(|o| o as u8).collect(),
                "validation" => contacts.clone().map(|k| u8::from(is_validation(k))).collect(),
                raw => self.raw.bytes(Column::named(raw), contacts.clone())?,
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
                Type::F64 => bytes.extend(f64::NAN.to_le_bytes()),
                Type::F32 => bytes.extend(f32::NAN.to_le_bytes()),
                _ => bytes.push(0),
            }
        }
        put(&self.chunk(array, i), &bytes)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), RolloutError> {
        put(&self.dir.join(name), bytes)
    }
}

fn bytes<T: Copy, const N: usize>(values: &[T], to_bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|v| to_bytes(*v)).collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Writes a file that is not there yet.
fn put(path: &Path, bytes: &[u8]) -> Result<(), RolloutError> {
    if path.is_file() {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(io(parent))?;
    disk::appear(path, |file| std::io::Write::write_all(file, bytes)).map_err(io(path))
}
