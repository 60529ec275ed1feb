//! The progress of writing the datasets of a run: the bytes of raw arrays that have been read, and the bytes
//! that there are.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is told of the writing of files: bytes that were done, and bytes that there are, about. At the end
/// both are the same.
#[derive(Clone)]
pub struct Writing(Arc<dyn Fn(u64, u64) + Send + Sync>);

impl Writing {
    /// Calls `tell`, also from several threads at once.
    pub fn new(tell: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writing")
    }
}

/// The bytes that were read of those that there are.
#[derive(Debug)]
pub(super) struct Count {
    writing: Writing,
    done: AtomicU64,
    total: u64,
}

impl Count {
    pub fn new(writing: Writing, total: u64) -> Self {
        Self { writing, done: AtomicU64::new(0), total }
    }

    fn add(&self, bytes: u64) {
        // Some is read twice, and other things once less: it is an estimate until the end.
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        (self.writing.0)(done.min(self.total.saturating_sub(1)), self.total);
    }

    /// All is written.
    pub fn end(&self) {
        (self.writing.0)(self.total, self.total);
    }
}

/// A stream whose bytes are counted.
pub(super) struct Counted<R> {
    pub stream: R,
    pub count: Arc<Count>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.stream.read(buffer)?;
        self.count.add(n as u64);
        Ok(n)
    }
}
