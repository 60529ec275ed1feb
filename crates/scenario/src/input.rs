//! The only place where files are opened and read that this program did not write, or that may have changed
//! since.
//!
//! Such a file may be a pipe that nothing is written to, a device without an end, or an array whose header
//! claims more numbers than there is memory for. Only regular files are opened (or links to them), every
//! length that a header claims is compared with the length of the file (of a compressed one with what it may
//! hold), and what is read takes at most [`MAX_BYTES`], before memory is taken for it.

mod csv;
mod npy;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;

pub use csv::Csv;
pub(crate) use npy::Array;
pub use npz::Npz;
#[cfg(feature = "parquet")]
pub use parquet::{ParquetColumn, parquet_columns};

use bristle::error::PatchError;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Most memory \[byte\] that the numbers of a file take when they are read, as `f64`.
pub const MAX_BYTES: u64 = 1 << 30;

/// Longest text file \[byte\]: what is read from text takes up to sixteen times as much memory, or is counted
/// (see [`MAX_VALUES`]).
pub const MAX_TEXT: u64 = MAX_BYTES / 16;

/// Most values of a TOML file, whose reader takes up to 256 bytes for each.
pub const MAX_VALUES: u64 = MAX_BYTES / 256;

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The machine could not open or read it.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The machine's own reason.
        source: std::io::Error,
    },
    /// It is not what it should be.
    #[error("{path}: {}", bristle::quote::message(reason))]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what would be accepted.
        reason: String,
    },
}

impl InputError {
    pub(crate) fn file(path: &Path, reason: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), reason: reason.into() }
    }

    /// An error met while reading: about the file if its bytes are wrong or missing, else about the machine.
    pub fn of(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => Self::file(path, source.to_string()),
            _ => Self::Io { path: path.to_owned(), source },
        }
    }
}

/// Opens a regular file, or one that a symbolic link leads to.
///
/// # Errors
/// Anything else, and what the machine says.
pub fn open(path: &Path) -> Result<BufReader<File>, InputError> {
    let io = |source| InputError::Io { path: path.to_owned(), source };
    // The type is checked before the file is opened, because opening waits for the other end of a pipe and
    // may activate a device.
    let found = std::fs::metadata(path).map_err(io)?.file_type();
    if !found.is_file() {
        return Err(InputError::file(path, format!("is {}: expected a regular file", what(found))));
    }
    File::open(path).map(BufReader::new).map_err(io)
}

/// Opens the regular file `name` in the directory `dir` or below it, or one there that a symbolic link leads
/// to.
///
/// # Errors
/// As [`open`], or a link that leads out of `dir`.
pub fn open_in(dir: &Path, name: &Path) -> Result<BufReader<File>, InputError> {
    let path = dir.join(name);
    let real = |path: &Path| path.canonicalize().map_err(|source| InputError::Io { path: path.to_owned(), source });
    let whole = real(if dir.as_os_str().is_empty() { Path::new(".") } else { dir })?;
    if !real(&path)?.starts_with(whole) {
        return Err(InputError::file(&path, "leads out of its directory: expected a regular file in it"));
    }
    open(&path)
}

/// Opens a regular file of text, of at most [`MAX_TEXT`] bytes.
///
/// # Errors
/// As [`open`], or a longer file.
pub fn open_text(path: &Path) -> Result<std::io::Take<BufReader<File>>, InputError> {
    at_most(MAX_TEXT, path, open(path)?)
}

/// The file, which has at most so many bytes.
fn at_most(most: u64, path: &Path, file: BufReader<File>) -> Result<std::io::Take<BufReader<File>>, InputError> {
    let length = length(path, &file)?;
    if length > most {
        return Err(InputError::file(path, format!("{length} bytes of text: expected at most {most}")));
    }
    // A file that grows in the meantime is read up to this length.
    Ok(file.take(most))
}

/// All of a text file.
///
/// # Errors
/// As [`open_text`], or bytes that are no UTF-8.
pub fn text(path: &Path) -> Result<String, InputError> {
    all(path, open_text(path)?)
}

/// All of the text file `name` in the directory `dir`, of at most `most` bytes.
///
/// # Errors
/// As [`open_in`], a longer file, or bytes that are no UTF-8.
pub fn text_in(dir: &Path, name: &str, most: u64) -> Result<String, InputError> {
    let path = &dir.join(name);
    all(path, at_most(most, path, open_in(dir, name.as_ref())?)?)
}

fn all(path: &Path, mut file: impl Read) -> Result<String, InputError> {
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|e| match e.kind() {
        ErrorKind::InvalidData => InputError::file(path, "is no UTF-8: expected text"),
        _ => InputError::of(path, e),
    })?;
    Ok(text)
}

/// Shape and numbers of an `.npy` file, the last axis the fastest.
///
/// # Errors
/// As [`open`], or a file that is no array of real numbers.
pub fn npy_numbers(path: &Path) -> Result<(Vec<usize>, Vec<f64>), InputError> {
    let file = open(path)?;
    let length = length(path, &file)?;
    let array = Array::new(file, length).and_then(|mut array| array.all().map(|all| (array.shape, all)));
    array.map_err(|e| InputError::of(path, e))
}

/// Bytes of an open file.
pub(crate) fn length(path: &Path, file: &BufReader<File>) -> Result<u64, InputError> {
    let io = |source| InputError::Io { path: path.to_owned(), source };
    Ok(file.get_ref().metadata().map_err(io)?.len())
}

fn what(found: std::fs::FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if found.is_fifo() {
            return "a named pipe (FIFO)";
        } else if found.is_socket() {
            return "a socket";
        } else if found.is_char_device() || found.is_block_device() {
            return "a device";
        }
    }
    if found.is_dir() { "a directory" } else { "no file" }
}

impl From<InputError> for PatchError {
    fn from(e: InputError) -> Self {
        match e {
            InputError::Io { path, source } => Self::Io { path, source },
            InputError::File { path, reason } => Self::File { path, reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn pipes_devices_directories_and_sockets_are_refused_and_links_to_files_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for (name, what) in
            [("pipe", "a named pipe (FIFO)"), ("zero", "a device"), ("socket", "a socket"), ("", "a directory")]
        {
            for error in [open(&at(name)).map(drop), text(&at(name)).map(drop)] {
                let message = error.unwrap_err().to_string();
                assert!(message.ends_with(&format!("is {what}: expected a regular file")), "{message}");
                assert!(message.starts_with(&*at(name).to_string_lossy()), "{message}");
            }
        }
        std::fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        assert_eq!(text(&at("link")).unwrap(), "text");
        // Of a directory that is read as a whole, nothing outside of it is.
        std::fs::create_dir(at("in")).unwrap();
        std::fs::write(at("in/own"), "own").unwrap();
        for (link, to) in [("inside", "own"), ("out", "../file"), ("far", "/etc/hostname"), ("dir", "..")] {
            std::os::unix::fs::symlink(to, at("in").join(link)).unwrap();
        }
        let of = |name: &str| text_in(&at("in"), name, 9);
        assert_eq!((of("own").unwrap(), of("inside").unwrap()), ("own".to_owned(), "own".to_owned()));
        for name in ["out", "far", "dir/file", "../file"] {
            let message = of(name).unwrap_err().to_string();
            assert!(message.ends_with("leads out of its directory: expected a regular file in it"), "{message}");
        }
        assert!(text_in(&at("in"), "own", 2).unwrap_err().to_string().ends_with("expected at most 2"));
        assert!(matches!(of("none"), Err(InputError::Io { source, .. }) if source.kind() == ErrorKind::NotFound));
    }

    #[test]
    fn text_is_bounded_and_is_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, [b'a', 0xff]).unwrap();
        assert!(text(&path).unwrap_err().to_string().ends_with("is no UTF-8: expected text"));
        // Without blocks on the disk.
        File::create(&path).unwrap().set_len(MAX_TEXT + 1).unwrap();
        let message = text(&path).unwrap_err().to_string();
        assert!(message.contains("67108865 bytes of text: expected at most 67108864"), "{message}");
        assert!(matches!(text(&dir.path().join("none")), Err(InputError::Io { .. })));
    }
}
