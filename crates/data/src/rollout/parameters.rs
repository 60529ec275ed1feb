//! Writes the parameters of all contacts to a file, one array a parameter. Contacts are drawn in blocks, so
//! that memory does not grow with their number.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::columns::Item;
use super::error::{RolloutError, io as io_error};
use super::npz::Npz;
use crate::disk;
use bristle_scenario::in_columns;

/// Contacts that are drawn together, if they have few numbers.
const BLOCK: u64 = 4096;
/// Most numbers that are drawn together: each has its name in memory then.
const MOST_NUMBERS: u64 = 1 << 20;

/// Every number that contacts are drawn with, in a file that is removed in the end.
#[derive(Debug)]
pub(super) struct Parameters {
    path: PathBuf,
    file: File,
    contacts: u64,
    columns: Vec<Drawn>,
}

/// The parameters of a contact by its number, with their names.
pub(super) trait Draw: Fn(u64) -> Result<Vec<(String, f64)>, RolloutError> + Sync {}
impl<F: Fn(u64) -> Result<Vec<(String, f64)>, RolloutError> + Sync> Draw for F {}

/// A parameter.
#[derive(Debug)]
struct Drawn {
    name: String,
    /// The first contact whose number is in the file; those before it have no such parameter.
    first: u64,
}

impl Parameters {
    /// Writes those of `contacts` contacts or worlds, of one from `of`, into a file of that name.
    pub fn draw(contacts: u64, path: &Path, of: impl Draw) -> Result<Self, RolloutError> {
        let file =
            File::options().create(true).truncate(true).read(true).write(true).open(path).map_err(io_error(path))?;
        let mut parameters = Self { path: path.to_owned(), file, contacts, columns: Vec::new() };
        let numbers = if contacts == 0 { 0 } else { of(0)?.len() as u64 };
        let block = (MOST_NUMBERS / numbers.max(1)).clamp(1, BLOCK);
        for from in (0..contacts).step_by(block as usize) {
            parameters.add(&of, from..contacts.min(from + block))?;
        }
        Ok(parameters)
    }

    /// Draws a block of contacts.
    fn add(&mut self, of: &impl Draw, block: Range<u64>) -> Result<(), RolloutError> {
        let mut columns = HashMap::new();
        for (i, (name, values)) in in_columns(block.clone(), of)?.into_iter().enumerate() {
            // Names come in the order of contact 0, except for shapes that have parameters of their own.
            let is_usual = self.columns.get(i).is_some_and(|column| column.name == name);
            if !is_usual && !self.columns.iter().any(|column| column.name == name) {
                self.columns.push(Drawn { name: name.clone(), first: block.start });
            }
            columns.insert(name, values);
        }
        let missing = vec![f64::NAN; (block.end - block.start) as usize];
        for (i, column) in self.columns.iter().enumerate() {
            let bytes: Vec<u8> =
                columns.get(&column.name).unwrap_or(&missing).iter().flat_map(|v| v.to_le_bytes()).collect();
            let at = (i as u64 * self.contacts + block.start) * 8;
            disk::write_at(&self.file, at, &bytes).map_err(io_error(&self.path))?;
        }
        Ok(())
    }

    /// The names of the parameters: dotted paths of fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// The numbers of some contacts; NaN where a contact has no such parameter.
    pub fn read(&self, i: usize, contacts: Range<u64>) -> Result<Vec<f64>, RolloutError> {
        let first = self.columns[i].first.clamp(contacts.start, contacts.end);
        let mut bytes = vec![0; (contacts.end - first) as usize * 8];
        let at = (i as u64 * self.contacts + first) * 8;
        disk::read_at(&self.file, at, &mut bytes).map_err(io_error(&self.path))?;
        let missing = std::iter::repeat_n(f64::NAN, (first - contacts.start) as usize);
        Ok(missing.chain(bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b))).collect())
    }

    /// The bytes of a parameter of all contacts, as a stream.
    pub fn reader(&self, i: usize) -> impl Read + Send {
        stream(self.contacts, 1 << 16, move |contacts| {
            Ok(self.read(i, contacts)?.into_iter().flat_map(f64::to_le_bytes).collect())
        })
    }

    /// Writes them as an NPZ file, one array a parameter; returns its digest.
    pub fn npz(&self, path: &Path) -> Result<String, RolloutError> {
        let mut npz = Npz::create(path)?;
        for (i, name) in self.names().enumerate() {
            npz.copy(name, Item::F64, &[self.contacts], &mut self.reader(i))?;
        }
        npz.finish()
    }

    /// The file is of no use any more.
    pub fn remove(self) {
        drop(self.file);
        // It lies in the directory of raw files, which is removed as a whole.
        let _ = fs::remove_file(&self.path);
    }
}

/// The bytes of an array of so many contacts as a stream, of which `make` makes blocks of so many contacts,
/// each when the one before has been read.
pub(super) fn stream(
    contacts: u64,
    block: u64,
    make: impl Fn(Range<u64>) -> Result<Vec<u8>, RolloutError> + Send,
) -> impl Read + Send {
    let blocks = (0..contacts)
        .step_by(block as usize)
        .map(move |from| make(from..contacts.min(from + block)).map_err(io::Error::other));
    Blocks { blocks, rest: Vec::new().into_iter() }
}

/// A stream of blocks of bytes.
struct Blocks<I> {
    blocks: I,
    rest: std::vec::IntoIter<u8>,
}

impl<I: Iterator<Item = io::Result<Vec<u8>>>> Read for Blocks<I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.as_slice().is_empty()
            && let Some(block) = self.blocks.next()
        {
            self.rest = block?.into_iter();
        }
        let n = self.rest.as_slice().read(buffer)?;
        self.rest.by_ref().take(n).for_each(drop);
        Ok(n)
    }
}
