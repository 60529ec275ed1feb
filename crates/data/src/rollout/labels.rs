//! Actions and labels as arrays of datasets. They follow from the scenario and the raw arrays.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::columns::Item;
use super::episodes::{Episodes, Layout, about, is_validation, outcomes};
use super::error::{RolloutError, io};
use super::outcome::Outcome;
use super::parameters::stream;
use super::raw::Raw;

/// An array of a dataset: its axes after that of the contacts, with their names.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub name: String,
    pub numbers: Item,
    pub axes: Vec<(&'static str, u64)>,
    pub about: String,
    /// Whether [`wide`] makes it, from episodes; else [`narrow`], from the index or the raw arrays alone.
    pub wide: bool,
}

impl Array {
    /// Bytes of a contact.
    pub fn bytes(&self) -> u64 {
        self.numbers.size() * self.axes.iter().map(|(_, n)| n).product::<u64>()
    }

    /// Lengths of its axes with so many along the first.
    pub fn shape(&self, contacts: u64) -> Vec<u64> {
        std::iter::once(contacts).chain(self.axes.iter().map(|(_, n)| *n)).collect()
    }
}

/// The name of the array of actions.
pub(super) const ACTION: &str = "action";

/// Actions, if the layout has them, and labels.
pub(super) fn arrays(layout: &Layout) -> Vec<Array> {
    let samples = layout.times.len() as u64;
    let mut arrays = Vec::new();
    let mut add = |name: &str, numbers, axes: &[(&'static str, u64)], about: &str, wide| {
        arrays.push(Array { name: name.to_owned(), numbers, axes: axes.to_vec(), about: about.to_owned(), wide });
    };
    if layout.has_actions {
        let actions: Vec<String> = layout.actions.iter().map(|(name, unit)| format!("{name} [{unit}]")).collect();
        let width = actions.len() as u64;
        add(ACTION, Item::F64, &[("sample", samples), ("input", width)], &actions.join(", "), true);
    }
    add("time_to_slip", Item::F64, &[("sample", samples)], about::TIME_TO_SLIP, true);
    if layout.margin {
        add("margin", Item::F64, &[("sample", samples)], about::MARGIN, true);
    }
    if let Some(grid) = layout.tactile {
        let axes = [("sample", samples), ("row", grid.ny as u64), ("column", grid.nx as u64)];
        add("tactile", Item::F32, &axes, about::TACTILE, true);
    }
    add("first_slip", Item::F64, &[], about::FIRST_SLIP, true);
    let patches = layout.patches() as u64;
    if patches > 0 {
        let axes = [("sample", samples), ("patch", patches)];
        add("patch_time_to_slip", Item::F64, &axes, about::PATCH_TIME_TO_SLIP, true);
        add("patch_first_slip", Item::F64, &[("patch", patches)], about::PATCH_FIRST_SLIP, true);
        if layout.margin {
            add("patch_margin", Item::F64, &axes, about::PATCH_MARGIN, true);
        }
    }
    let outcomes: Vec<String> = Outcome::ALL.iter().enumerate().map(|(i, o)| format!("{i} {}", o.name())).collect();
    add("outcome", Item::U8, &[], &outcomes.join(", "), false);
    add("validation", Item::Bool, &[], about::VALIDATION, false);
    arrays
}

/// The bytes of an array that is made with the samples; none if it is not one of [`arrays`].
pub(super) fn wide(name: &str, episodes: &Episodes) -> Option<Vec<u8>> {
    Some(match name {
        ACTION => bytes(&episodes.action, f64::to_le_bytes),
        "time_to_slip" => bytes(&episodes.time_to_slip, f64::to_le_bytes),
        "margin" => bytes(&episodes.margin, f64::to_le_bytes),
        "tactile" => bytes(&episodes.tactile, f32::to_le_bytes),
        "first_slip" => bytes(&episodes.first_slip, f64::to_le_bytes),
        "patch_time_to_slip" => bytes(&episodes.patch_time_to_slip, f64::to_le_bytes),
        "patch_margin" => bytes(&episodes.patch_margin, f64::to_le_bytes),
        "patch_first_slip" => bytes(&episodes.patch_first_slip, f64::to_le_bytes),
        _ => return None,
    })
}

/// The bytes of an array with one number a contact; none if it is not one of [`arrays`].
pub(super) fn narrow(name: &str, raw: &Raw, contacts: Range<u64>) -> Result<Option<Vec<u8>>, RolloutError> {
    Ok(Some(match name {
        "outcome" => outcomes(raw, contacts)?.into_iter().map(|o| o as u8).collect(),
        "validation" => contacts.map(|k| u8::from(is_validation(k))).collect(),
        _ => return Ok(None),
    }))
}

/// Numbers as little-endian bytes.
pub(super) fn bytes<T: Copy, const N: usize>(values: &[T], to_bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * N];
    bytes.as_chunks_mut::<N>().0.iter_mut().zip(values).for_each(|(to, v)| *to = to_bytes(*v));
    bytes
}

/// The actions of all contacts, made while they are read.
pub(super) fn actions(layout: &Layout, contacts: u64) -> impl Read + Send {
    let each = 8 * (layout.times.len() * layout.actions.len()) as u64;
    stream(contacts, (BLOCK / 8 / each).max(1), |some| Ok(bytes(&layout.actions(some)?, f64::to_le_bytes)))
}

/// Bytes of arrays that are in memory at once, about.
const BLOCK: u64 = 16 << 20;

/// The arrays of a layout in a file each, for a dataset that takes them one after the other.
pub(super) struct Files {
    arrays: Vec<Array>,
    dir: PathBuf,
}

impl Files {
    /// Makes them in `dir`.
    pub fn write(layout: &Layout, raw: &Raw, dir: &Path) -> Result<Self, RolloutError> {
        let files = Self { arrays: arrays(layout), dir: dir.to_owned() };
        let mut writers = Vec::new();
        for array in &files.arrays {
            let path = files.path(array);
            writers.push(BufWriter::new(File::create(&path).map_err(io(&path))?));
        }
        let n = raw.contacts();
        // With the raw arrays that they are made of.
        let each = files.arrays.iter().map(Array::bytes).sum::<u64>() + 48 * raw.samples() as u64;
        let block = (BLOCK / each).max(1);
        for from in (0..n).step_by(block as usize) {
            let contacts = from..n.min(from + block);
            let episodes = layout.episodes(raw, contacts.clone())?;
            for (array, writer) in files.arrays.iter().zip(&mut writers) {
                let bytes = match wide(&array.name, &episodes) {
                    Some(bytes) => bytes,
                    None => narrow(&array.name, raw, contacts.clone())?.unwrap_or_default(),
                };
                writer.write_all(&bytes).map_err(io(&files.path(array)))?;
            }
        }
        for (array, writer) in files.arrays.iter().zip(&mut writers) {
            writer.flush().map_err(io(&files.path(array)))?;
        }
        Ok(files)
    }

    /// The arrays.
    pub fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    /// The bytes of an array.
    pub fn reader(&self, array: &Array) -> Result<impl Read + Send, RolloutError> {
        let path = self.path(array);
        File::open(&path).map_err(io(&path))
    }

    /// Removes the files.
    pub fn remove(self) {
        // They are in the directory of raw files, which is removed as a whole.
        self.arrays.iter().for_each(|array| drop(std::fs::remove_file(self.path(array))));
    }

    fn path(&self, array: &Array) -> PathBuf {
        self.dir.join(format!("label-{}", array.name))
    }
}
