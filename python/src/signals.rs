//! Long work that Ctrl-C ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors::Failure;

/// How often Python is asked whether to go on.
const ASK: Duration = Duration::from_millis(20);

/// Runs `work` in a thread of its own, while this one, which alone hears of signals, asks Python whether to
/// go on. `work` is given the answer, and ends early once it is false. The caller must not hold the GIL.
pub fn interruptible<T: Send>(work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> T + Send) -> Result<T, Failure> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (done, wait) = channel::<()>();
        let stop = &stop;
        let thread = scope.spawn(move || {
            let _done = done;
            work(&|| !stop.load(Ordering::Relaxed))
        });
        let mut interrupt = None;
        while wait.recv_timeout(ASK) == Err(RecvTimeoutError::Timeout) {
            if interrupt.is_none() {
                interrupt = Python::attach(|py| py.check_signals()).err();
                stop.store(interrupt.is_some(), Ordering::Relaxed);
            }
        }
        let out = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        interrupt.map_or(Ok(out), |interrupt| Err(interrupt.into()))
    })
}
