//! Writes files: they are on the disk before they are reported as complete, and a full disk is an error of
//! its own.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

pub use bristle::error::{describe, out_of_space};
pub use bristle::memory::Bytes;

/// Free space [byte] on the disk of the file or directory `path`, which need not exist yet; none if the
/// system does not report it.
pub(crate) fn free(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find_map(|place| fs4::available_space(place).ok())
}

/// Size \[byte\] of all files in `dir` and in its subdirectories.
pub fn size(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let size_of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => size(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(size_of).sum()
}

/// Writes the file `path` and waits until it is on the disk.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Writes the file `path` under another name, which it loses when all of it is on the disk.
pub fn appear(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let begun = path.with_added_extension("begun");
    let mut file = File::create(&begun)?;
    write(&mut file)?;
    file.sync_all()?;
    std::fs::rename(begun, path)
}

/// Whether an open file is still the one of that name.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let same = |a: std::fs::Metadata, b: std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        file.metadata().is_ok_and(|open| path.symlink_metadata().is_ok_and(|there| same(open, there)))
    }
    // Where open files are not moved.
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// Writes `bytes` at a place of a file.
pub(crate) fn write_at(file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, at);
    #[cfg(not(unix))]
    {
        let mut file = file;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }
}

/// Reads bytes from a place of a file, from several threads at once.
pub(crate) fn read_at(file: &File, at: u64, bytes: &mut [u8]) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, bytes, at);
    #[cfg(windows)]
    {
        let mut done = 0;
        while done < bytes.len() {
            match std::os::windows::fs::FileExt::seek_read(file, &mut bytes[done..], at + done as u64)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                n => done += n,
            }
        }
        Ok(())
    }
    #[cfg(not(any(unix, windows)))]
    Err(ErrorKind::Unsupported.into())
}

/// Waits until the directory entries of `dir` are on the disk, on systems that offer that.
pub(crate) fn sync_names(dir: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(dir).and_then(|dir| dir.sync_all()) {
        Err(e)
            if [ErrorKind::InvalidInput, ErrorKind::Unsupported, ErrorKind::PermissionDenied].contains(&e.kind()) =>
        {
            Ok(())
        }
        done => done,
    }
}

/// A writer that reports its first error only: after it, it accepts all bytes, writes none, and returns that
/// error at the end. An archive that is dropped after an error tries to finish itself, and would print the
/// next error to stderr.
pub(crate) struct FirstError<W> {
    inner: W,
    failed: Option<ErrorKind>,
}

impl<W> FirstError<W> {
    pub fn new(inner: W) -> Self {
        Self { inner, failed: None }
    }

    /// The inner writer, or the first error.
    pub fn into_inner(self) -> io::Result<W> {
        self.failed.map_or(Ok(self.inner), |kind| Err(kind.into()))
    }

    fn note<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        let error = done.as_ref().err().map(io::Error::kind);
        self.failed = error.filter(|kind| *kind != ErrorKind::Interrupted);
        done
    }
}

impl<W: Write> Write for FirstError<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed.is_some() {
            return Ok(bytes.len());
        }
        let done = self.inner.write(bytes);
        self.note(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed.is_some() {
            return Ok(());
        }
        let done = self.inner.flush();
        self.note(done)
    }
}

impl<W: Seek> Seek for FirstError<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has room for so many bytes.
    struct Small(usize);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_error_is_told_once_and_not_lost() {
        let mut sink = FirstError::new(Small(10));
        sink.write_all(&[0; 8]).unwrap();
        assert_eq!(sink.write_all(&[0; 8]).unwrap_err().kind(), ErrorKind::StorageFull);
        sink.write_all(&[0; 2]).unwrap();
        sink.flush().unwrap();
        assert_eq!(sink.inner.0, 2, "nothing is written after an error");
        assert_eq!(sink.into_inner().err().map(|e| e.kind()), Some(ErrorKind::StorageFull));
        assert_eq!(FirstError::new(Small(3)).into_inner().unwrap().0, 3);
    }

    #[test]
    fn a_disk_without_room_says_what_to_do() {
        let told = |kind: ErrorKind| describe(&kind.into());
        assert_eq!(told(ErrorKind::StorageFull), "the disk is full: free some space and repeat the command");
        assert!(told(ErrorKind::QuotaExceeded).starts_with("the quota of the disk is used up: free some space"));
        assert!(told(ErrorKind::FileTooLarge).contains("no file may become larger here: raise that limit"));
        assert!(out_of_space(&ErrorKind::NotFound.into()).is_none());
    }

    #[test]
    fn there_is_space_where_nothing_is_yet() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free(&dir.path().join("not/yet/there")).is_some_and(|bytes| bytes > 0));
        std::fs::create_dir(dir.path().join("in")).unwrap();
        write(&dir.path().join("a"), &[0; 100]).unwrap();
        write(&dir.path().join("in/b"), &[0; 23]).unwrap();
        assert_eq!(size(dir.path()), 123);
    }
}
