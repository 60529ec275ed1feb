//! The pool of threads for all parallel work. A forked child has none of its parent's threads, so that work
//! in rayon's global pool would never be done. So all parallel work of the library goes through [`run`],
//! which gives a child a pool of its own. `crates/data/tests/process.rs` blocks the global pool and calls
//! every parallel function. In a browser there is one thread, the caller's.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The number of this process; the only one where a machine has no processes, as a browser.
fn process_id() -> u32 {
    if cfg!(target_family = "wasm") { 1 } else { std::process::id() }
}

/// The process to which something belongs that a fork does not take along.
#[derive(Debug, Default)]
pub(crate) struct Owner(AtomicU32);

impl Owner {
    /// Nobody's yet.
    pub const fn nobody() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Whether it is this process', which it becomes if it was nobody's.
    pub fn claim(&self) -> bool {
        let own = process_id();
        let before = self.0.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed);
        before.map_or_else(|owner| owner == own, |_| true)
    }

    /// Whether it belongs to another process: this one was forked since.
    #[cfg(feature = "gpu")]
    pub fn is_anothers(&self) -> bool {
        let owner = self.0.load(Ordering::Relaxed);
        owner != 0 && owner != process_id()
    }
}

/// Whose rayon's global pool is: the first process that computed.
static GLOBAL: Owner = Owner::nobody();

/// The pool of a process that was forked from one that had computed, and of those that were forked from it in
/// turn. A pool stays here when its process is left behind: to end it would be to wait for threads that are
/// not there.
static OWN: OnceLock<Box<Own>> = OnceLock::new();

struct Own {
    process: u32,
    pool: ThreadPool,
    next: OnceLock<Box<Self>>,
}

/// Does `work`, whose parallel parts have the threads of the rayon pool that the caller is in, else those of
/// this process: of rayon's global pool, or of a pool of its own in a child that was forked after its parent
/// had computed.
///
/// # Panics
/// A child in which no thread can be started.
pub fn run<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match own() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Number of threads that [`run`] has.
///
/// # Panics
/// As [`run`].
pub fn threads() -> usize {
    own().map_or_else(rayon::current_num_threads, ThreadPool::current_num_threads)
}

/// The pool of this process, if the caller is in none and may not use the global one.
fn own() -> Option<&'static ThreadPool> {
    if rayon::current_thread_index().is_some() || GLOBAL.claim() {
        return None;
    }
    let process = process_id();
    let mut place = &OWN;
    loop {
        match place.get() {
            Some(own) if own.process == process => return Some(&own.pool),
            Some(own) => place = &own.next,
            None => {
                let pool = ThreadPoolBuilder::new().build().expect("a process can start threads");
                // Another thread may have been faster: then its pool is taken, and this one ends.
                let _ = place.set(Box::new(Own { process, pool, next: OnceLock::new() }));
            }
        }
    }
}

/// From now on this process takes itself for a child that was forked: for tests.
#[doc(hidden)]
pub fn pretend_forked() {
    GLOBAL.0.store(u32::MAX, Ordering::Relaxed);
}
