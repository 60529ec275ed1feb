//! Writes NPZ files as a stream: stored zip entries with one `.npy` array each.

use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::mpsc::{channel, sync_channel};

use npyz::WriterBuilder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::columns::Item;
use super::error::{RolloutError, io};
use super::follow::Followed;
use crate::disk::FirstError;

type Sink = BufWriter<FirstError<Followed>>;

/// An NPZ file that is being written.
pub(crate) struct Npz<'a> {
    path: &'a Path,
    zip: ZipWriter<Sink>,
}

impl<'a> Npz<'a> {
    pub fn create(path: &'a Path) -> Result<Self, RolloutError> {
        let file = Followed::create(path).map_err(io(path))?;
        Ok(Self { path, zip: ZipWriter::new(BufWriter::with_capacity(1 << 20, FirstError::new(file))) })
    }

    /// Adds an array of `shape` whose little-endian items come from `data`, of which one thread reads while
    /// another writes.
    pub(super) fn copy(
        &mut self,
        name: &str,
        item: Item,
        shape: &[u64],
        data: &mut (dyn Read + Send),
    ) -> Result<(), RolloutError> {
        let count: u64 = shape.iter().product();
        let header = match item {
            Item::F64 => header::<f64>(shape),
            Item::F32 => header::<f32>(shape),
            Item::U32 => header::<u32>(shape),
            Item::U64 => header::<u64>(shape),
            Item::I64 => header::<i64>(shape),
            Item::U8 => header::<u8>(shape),
            Item::Bool => header::<bool>(shape),
        };
        let write = || {
            self.zip.start_file(format!("{name}.npy"), stored())?;
            self.zip.write_all(&header?)?;
            // The numbers are in the bytes of the file already: they go through whole blocks at a time.
            blocks(data, count * item.size(), &mut |block| self.zip.write_all(block))
        };
        write().map_err(io(self.path))
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

    /// Starts an entry of the archive.
    fn begin<T: npyz::AutoSerialize>(
        &mut self,
        name: &str,
        shape: &[u64],
    ) -> std::io::Result<npyz::NpyWriter<T, Buffered<&mut ZipWriter<Sink>>>> {
        self.zip.start_file(format!("{name}.npy"), stored())?;
        npyz::WriteOptions::<T>::new().default_dtype().shape(shape).writer(Buffered::new(&mut self.zip)).begin_nd()
    }

    /// Writes the directory of the archive and waits for the disk; returns the digest of the file.
    pub fn finish(self) -> Result<String, RolloutError> {
        let finish = || {
            let file = self.zip.finish()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.into_inner()?.finish()
        };
        finish().map_err(io(self.path))
    }
}

/// Bytes that are read at once.
const BLOCK: u64 = 1 << 18;

/// Calls `write` with the next `length` bytes of `data`, block by block.
fn blocks(
    data: &mut (dyn Read + Send),
    length: u64,
    write: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let sizes = (0..length).step_by(BLOCK as usize).map(|from| (length - from).min(BLOCK) as usize);
    if length <= 4 * BLOCK {
        // It takes less time than a thread to begin.
        let mut buffer = vec![0; BLOCK as usize];
        return sizes.into_iter().try_for_each(|n| {
            data.read_exact(&mut buffer[..n])?;
            write(&buffer[..n])
        });
    }
    std::thread::scope(|scope| {
        let (send, full) = sync_channel::<std::io::Result<Vec<u8>>>(4);
        let (back, empty) = channel::<Vec<u8>>();
        scope.spawn(move || {
            for n in sizes {
                let mut buffer = empty.try_recv().unwrap_or_default();
                buffer.resize(n, 0);
                let read = data.read_exact(&mut buffer).map(|()| buffer);
                let failed = read.is_err();
                // A writer that has failed does not wait for more.
                if send.send(read).is_err() || failed {
                    return;
                }
            }
        });
        full.into_iter().try_for_each(|block| {
            let block = block?;
            write(&block)?;
            let _ = back.send(block);
            Ok(())
        })
    })
}

/// An entry may be larger than 4 GiB, so that every entry has 64-bit sizes.
fn stored() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true)
}

/// What is before the numbers of an array.
fn header<T: npyz::AutoSerialize>(shape: &[u64]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // It is written at the beginning; that no numbers follow is no error of a writer that is dropped.
    drop(npyz::WriteOptions::<T>::new().default_dtype().shape(shape).writer(&mut bytes).begin_nd()?);
    Ok(bytes)
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
