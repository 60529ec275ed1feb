//! NPZ files, which are archives of arrays.

use std::fs::File;
use std::io::{BufReader, Error, Read, Write};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::{Array, InputError};

/// Most bytes that come of one that is deflated.
const DEFLATED: u64 = 1032;

/// Bytes that are copied at a time.
const COPIED: usize = 1 << 18;

/// An NPZ file that is open; its arrays may be read in part.
pub struct Npz {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
    length: u64,
}

impl Npz {
    /// Opens the file `path`.
    ///
    /// # Errors
    /// As [`super::open`], or a file that is no archive.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let file = super::open(path)?;
        let length = super::length(path, &file)?;
        let zip = ZipArchive::new(file).map_err(|e| InputError::file(path, format!("not an NPZ file: {e}")))?;
        Ok(Self { path: path.to_owned(), zip, length })
    }

    /// Names of the arrays.
    pub fn names(&self) -> Vec<String> {
        let names = self.zip.file_names().filter_map(Result::ok);
        names.filter_map(|n| n.strip_suffix(".npy").map(str::to_owned)).collect()
    }

    /// Lengths of an array along its axes; the file has that many numbers.
    ///
    /// # Errors
    /// No array of that name, or one that is not what it says; of one that is read to its end, bytes that
    /// have changed.
    pub fn shape(&mut self, name: &str) -> Result<Vec<usize>, InputError> {
        self.array(name, |array| Ok(array.shape.clone()))
    }

    /// All numbers of an array, the last axis the fastest.
    ///
    /// # Errors
    /// As [`Npz::shape`], or more numbers than [`super::MAX_BYTES`] holds.
    pub fn numbers(&mut self, name: &str) -> Result<Vec<f64>, InputError> {
        #[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself is of one lifetime")]
        self.array(name, |array| array.all())
    }

    /// Rows of an array along the first axis, those of `chosen`, which increase.
    ///
    /// # Errors
    /// As [`Npz::numbers`], or fewer rows.
    pub fn rows(&mut self, name: &str, chosen: &[usize]) -> Result<Vec<Vec<f64>>, InputError> {
        let shape = self.shape(name)?;
        let (rows, width) = (shape.first().copied().unwrap_or(1), shape.iter().skip(1).product());
        if chosen.last().is_some_and(|last| *last >= rows) {
            let reason = format!("array {name} has {rows} rows: expected one for every contact");
            return Err(InputError::file(&self.path, reason));
        }
        // The rows together may take no more memory than one array may.
        let most = super::MAX_BYTES / 8;
        if (width as u64).saturating_mul(chosen.len() as u64) > most {
            let reason = format!("{} rows of array {name}: expected at most {most} numbers at once", chosen.len());
            return Err(InputError::file(&self.path, reason));
        }
        self.array(name, |array| {
            if array.fortran && array.shape.len() > 1 {
                return Err(Error::other("first axis fastest: expected a file that this program wrote"));
            }
            let mut next = 0;
            let row = |k: &usize| {
                array.skip((k - next) * width)?;
                next = k + 1;
                array.numbers(width)
            };
            chosen.iter().map(row).collect()
        })
    }

    /// Writes the bytes of the numbers of an array of that shape, each of so many bytes, to `to`.
    ///
    /// # Errors
    /// As [`Npz::shape`], another shape, or numbers of another size; what cannot be written.
    pub fn copy(&mut self, name: &str, shape: &[usize], item: usize, to: &mut impl Write) -> Result<(), InputError> {
        let written = self.array(name, |array| {
            if array.shape != shape || array.item != item || (array.fortran && shape.len() > 1) {
                let found = format!("shape {:?} of {} bytes each", array.shape, array.item);
                return Err(Error::other(format!("{found}: expected {shape:?} of {item}, the last axis the fastest")));
            }
            let mut left = array.len() * item;
            let mut buffer = vec![0; COPIED.min(left)];
            while left > 0 {
                let bytes = &mut buffer[..COPIED.min(left)];
                array.reader.read_exact(bytes)?;
                left -= bytes.len();
                if let Err(e) = to.write_all(bytes) {
                    return Ok(Err(e));
                }
            }
            Ok(Ok(()))
        })?;
        written.map_err(|source| InputError::Io { path: self.path.clone(), source })
    }

    /// An array of bytes that are JSON.
    ///
    /// # Errors
    /// As [`Npz::shape`], more bytes than [`super::MAX_TEXT`], or no JSON.
    pub fn json(&mut self, name: &str) -> Result<serde_json::Value, InputError> {
        let bytes: Vec<u8> = self.array(name, |array| match array.len() as u64 {
            0..=super::MAX_TEXT => Ok(array.numbers(array.len())?.into_iter().map(|v| v as u8).collect()),
            n => Err(Error::other(format!("{n} bytes of text: expected at most {}", super::MAX_TEXT))),
        })?;
        let wrong =
            |e| InputError::file(&self.path, format!("{name} is not JSON: {e}; expected a file of this program"));
        serde_json::from_slice(&bytes).map_err(wrong)
    }

    /// Calls `read` with an array.
    fn array<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Array<Box<dyn Read + '_>>) -> std::io::Result<T>,
    ) -> Result<T, InputError> {
        let wrong = |reason: String| InputError::file(&self.path, format!("array {name}: {reason}"));
        let file = format!("{name}.npy");
        let Some(index) = self.zip.index_for_name(&file) else {
            let known = self.names().join(", ");
            return Err(InputError::file(&self.path, format!("no array `{name}`: expected one of {known}")));
        };
        let entry = self.zip.by_index_raw(index).map_err(|e| wrong(e.to_string()))?;
        // An entry cannot hold more than the file does, whatever the archive says.
        let (size, method, sum) = (entry.size(), entry.compression(), entry.crc32());
        let (length, bytes): (u64, Box<dyn Read + '_>) = match method {
            CompressionMethod::STORE => (size.min(self.length), Box::new(entry)),
            CompressionMethod::DEFLATE => {
                (size.min(self.length.saturating_mul(DEFLATED)), Box::new(DeflateDecoder::new(entry)))
            }
            method => {
                let accepted = "expected one as by `numpy.savez` or `numpy.savez_compressed`";
                return Err(wrong(format!("compressed by the method {method}: {accepted}")));
            }
        };
        let mut summed = Summed { bytes, sum: Hasher::new(), read: 0 };
        let all: Box<dyn Read + '_> = Box::new(&mut summed);
        let mut array = Array::new(all, length).map_err(|e| wrong(e.to_string()))?;
        let out = read(&mut array).map_err(|e| wrong(e.to_string()))?;
        drop(array);
        // Of an entry that was read in part nothing can be said.
        match summed.sum.finalize() {
            found if summed.read == size && found != sum => {
                Err(wrong(format!("is damaged: expected the CRC-32 {sum:08x}, found {found:08x}")))
            }
            _ => Ok(out),
        }
    }
}

/// The bytes of an entry and their checksum.
struct Summed<'a> {
    bytes: Box<dyn Read + 'a>,
    sum: Hasher,
    read: u64,
}

impl Read for Summed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.bytes.read(buffer)?;
        self.sum.update(&buffer[..n]);
        self.read += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Archives have checksums, which are compared when an array is read to its end.
    #[test]
    fn a_bit_that_has_changed_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("some.npz");
        let header = b"\x93NUMPY\x01\x00\x3b\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9,), }  ";
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let stored = zip::write::SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file("numbers.npy", stored).unwrap();
        zip.write_all(header).unwrap();
        (0..9).for_each(|_| zip.write_all(&1.5f64.to_le_bytes()).unwrap());
        let mut bytes = zip.finish().unwrap().into_inner();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(Npz::open(&path).unwrap().numbers("numbers").unwrap(), [1.5; 9]);
        let place = bytes.windows(8).position(|some| some == 1.5f64.to_le_bytes()).unwrap();
        bytes[place + 8 * 4] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let error = Npz::open(&path).unwrap().numbers("numbers").unwrap_err().to_string();
        assert!(error.contains("some.npz: array numbers: is damaged: expected the CRC-32 "), "{error}");
    }
}
