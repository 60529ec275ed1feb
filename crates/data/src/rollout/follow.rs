//! A large file whose digest is computed, and which is put on the disk, while it is still being written.
//! Afterwards both would take time in which at most one processor works.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use sha2::{Digest, Sha256};

use super::check::hex;
use crate::disk;

/// Bytes that are put on the disk together.
const TOGETHER: u64 = 32 << 20;

/// A file that is written from its beginning to its end. Its writer may return to what it has written, such
/// as the header of an entry of an archive, but when it comes back to the end, all before that stays as it
/// is.
pub(super) struct Followed {
    file: File,
    at: u64,
    end: u64,
    settled: [Sender<u64>; 2],
    digest: JoinHandle<io::Result<String>>,
    /// Apart, as the digest does not wait for the disk.
    on_disk: JoinHandle<io::Result<()>>,
}

impl Followed {
    /// Creates the file, or empties it.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        let (reader, writer) = (File::open(path)?, file.try_clone()?);
        let [(to_digest, digest), (to_disk, on_disk)] = [channel(), channel()];
        let digest = std::thread::spawn(move || digest_of(&reader, digest));
        let on_disk = std::thread::spawn(move || put_on_disk(&writer, on_disk));
        Ok(Self { file, at: 0, end: 0, settled: [to_digest, to_disk], digest, on_disk })
    }

    /// Waits until all is on the disk; returns the digest.
    pub fn finish(self) -> io::Result<String> {
        self.tell();
        drop(self.settled);
        let synced = self.file.sync_all().and(joined(self.on_disk));
        joined(self.digest).and_then(|digest| synced.map(|()| digest))
    }

    /// Says that all up to the end stays as it is.
    fn tell(&self) {
        for settled in &self.settled {
            // A thread that has failed says why in the end.
            let _ = settled.send(self.end);
        }
    }
}

fn joined<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Puts the file on the disk up to the places that come, many together.
fn put_on_disk(file: &File, settled: Receiver<u64>) -> io::Result<()> {
    let mut done = 0;
    for end in settled {
        if end - done >= TOGETHER {
            file.sync_data()?;
            done = end;
        }
    }
    Ok(())
}

/// Hashes the file up to the places that come, one after the other.
fn digest_of(file: &File, settled: Receiver<u64>) -> io::Result<String> {
    let (mut hash, mut buffer, mut at) = (Sha256::new(), vec![0; 1 << 18], 0);
    for end in settled {
        while at < end {
            let n = (end - at).min(buffer.len() as u64) as usize;
            disk::read_at(file, at, &mut buffer[..n])?;
            hash.update(&buffer[..n]);
            at += n as u64;
        }
    }
    Ok(hex(&hash.finalize()))
}

impl Write for Followed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.at += n as u64;
        self.end = self.end.max(self.at);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Followed {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let was = self.at;
        self.at = self.file.seek(to)?;
        if was < self.at && self.at == self.end {
            self.tell();
        }
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::digest_in;
    use super::*;

    /// The digest is that of the file at the end, whatever was written over on the way.
    #[test]
    fn a_file_with_headers_that_are_written_again_has_its_digest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("entries");
        let mut file = Followed::create(&path).unwrap();
        for entry in 0..5u8 {
            let start = file.end;
            file.write_all(&[0; 16]).unwrap();
            // More than is hashed at once, and with the last entries more than is put on the disk together.
            file.write_all(&vec![entry; (entry as usize) << 22]).unwrap();
            for place in [start + 4, start + 8] {
                file.seek(SeekFrom::Start(place)).unwrap();
                file.write_all(&[entry + 1; 4]).unwrap();
            }
            let end = file.end;
            file.seek(SeekFrom::Start(end)).unwrap();
        }
        file.write_all(b"directory").unwrap();
        let found = file.finish().unwrap();
        let digest = || digest_in(dir.path(), "entries").unwrap();
        assert_eq!((found, 5 * 16 + (10 << 22) + 9), digest());
        assert_eq!(Followed::create(&path).unwrap().finish().unwrap(), digest().0, "an empty file");
    }
}
