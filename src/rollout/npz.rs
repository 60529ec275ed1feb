//! NPZ files, written as a stream: stored zip entries with one `.npy` array each.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use npyz::WriterBuilder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::spool::Item;
use super::{RolloutError, io};
use crate::disk::FirstError;

type Sink = BufWriter<FirstError<File>>;

/// An NPZ file that is being written.
pub(crate) struct Npz<'a> {
    path: &'a Path,
    zip: ZipWriter<Sink>,
}

impl<'a> Npz<'a> {
    pub fn create(path: &'a Path) -> Result<Self, RolloutError> {
        let file = File::create(path).map_err(io(path))?;
        Ok(Self { path, zip: ZipWriter::new(BufWriter::with_capacity(1 << 20, FirstError::new(file))) })
    }

    /// Adds an array of `shape` whose little-endian items come from `data`.
    pub(super) fn copy(
        &mut self,
        name: &str,
        item: Item,
        shape: &[u64],
        data: &mut dyn Read,
    ) -> Result<(), RolloutError> {
        match item {
            Item::F64 => self.stream(name, shape, data, f64::from_le_bytes),
            Item::U32 => self.stream(name, shape, data, u32::from_le_bytes),
            Item::U64 => self.stream(name, shape, data, u64::from_le_bytes),
            Item::I64 => self.stream(name, shape, data, i64::from_le_bytes),
        }
        .map_err(io(self.path))
    }

    /// Adds a 1-D array.
    pub fn vector(&mut self, name: &str, values: &[f64]) -> Result<(), RolloutError> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.copy(name, Item::F64, &[values.len() as u64], &mut bytes.as_slice())
    }

    /// Adds an array of `shape` with `values` in C order.
    pub fn array<T: npyz::AutoSerialize>(
        &mut self,
        name: &str,
        shape: &[u64],
        values: impl IntoIterator<Item = T>,
    ) -> Result<(), RolloutError> {
        let write = || {
            let mut npy = self.begin::<T>(name, shape)?;
            npy.extend(values)?;
            npy.finish()
        };
        write().map_err(io(self.path))
    }

    fn stream<T: npyz::AutoSerialize, const N: usize>(
        &mut self,
        name: &str,
        shape: &[u64],
        data: &mut dyn Read,
        item: fn([u8; N]) -> T,
    ) -> std::io::Result<()> {
        let count: u64 = shape.iter().product();
        let mut npy = self.begin::<T>(name, shape)?;
        let mut bytes = [0; N];
        for _ in 0..count {
            data.read_exact(&mut bytes)?;
            npy.push(&item(bytes))?;
        }
        npy.finish()
    }

    /// Starts an entry of the archive.
    fn begin<T: npyz::AutoSerialize>(
        &mut self,
        name: &str,
        shape: &[u64],
    ) -> std::io::Result<npyz::NpyWriter<T, Buffered<&mut ZipWriter<Sink>>>> {
        // An entry may be larger than 4 GiB, so that every entry has 64-bit sizes.
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        self.zip.start_file(format!("{name}.npy"), stored)?;
        npyz::WriteOptions::<T>::new().default_dtype().shape(shape).writer(Buffered::new(&mut self.zip)).begin_nd()
    }

    /// Writes the directory of the archive and waits for the disk.
    pub fn finish(self) -> Result<(), RolloutError> {
        let finish = || {
            let file = self.zip.finish()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.into_inner()?.sync_all()
        };
        finish().map_err(io(self.path))
    }
}

/// Collects small writes into large ones, as the archive updates its checksum with every write.
struct Buffered<W: Write>(BufWriter<W>);

impl<W: Write> Buffered<W> {
    fn new(inner: W) -> Self {
        Self(BufWriter::with_capacity(1 << 18, inner))
    }
}

impl<W: Write> Write for Buffered<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}
