//! The pool of threads for all parallel work. A forked child has none of its parent's threads, so that work
//! in rayon's global pool would never be done. So all parallel work of the library goes through [`run`] or
//! [`for_each`], which give a child a pool of its own. `crates/data/tests/process.rs` blocks the global pool
//! and calls every parallel function. In a browser there is one thread, the caller's.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

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

/// Does `work` on each of `items`, in the calling thread and up to `others` of the pool. The caller begins at
/// once: a call that takes as long as it takes to wake a thread loses little.
///
/// # Panics
/// As [`run`], where others are asked for.
pub fn for_each<T: Send>(items: &mut [T], others: usize, work: impl Fn(&mut T) + Sync) {
    let others = others.min(items.len().saturating_sub(1));
    let others = if others == 0 { 0 } else { others.min(threads() - 1) };
    if others == 0 {
        return items.iter_mut().for_each(work);
    }
    let rest = Mutex::new(items.iter_mut());
    let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).next();
    let do_rest = || {
        while let Some(item) = next() {
            work(item);
        }
    };
    match own() {
        Some(pool) => pool.in_place_scope(|scope| share(scope, others, &do_rest)),
        None => rayon::in_place_scope(|scope| share(scope, others, &do_rest)),
    }
}

/// Lets `others` threads do the same `work` as the caller.
fn share<'scope>(scope: &Scope<'scope>, others: usize, work: &'scope (dyn Fn() + Sync)) {
    (0..others).for_each(|_| scope.spawn(|_| work()));
    work();
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread::current;

    use super::*;

    #[test]
    fn every_item_is_worked_on_once_whoever_calls() {
        for threads in [1, 3] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for others in [0, 1, 9] {
                let mut items = vec![0; 100];
                for_each(&mut items, others, |n| *n += 1);
                pool.install(|| for_each(&mut items, others, |n| *n += 1));
                assert_eq!(items, [2; 100], "{others} of {threads} threads");
                for_each(&mut items[..0], others, |n| *n += 1);
            }
        }
    }

    #[test]
    fn the_caller_and_the_others_work_at_the_same_time() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (both, mut by) = (Barrier::new(2), [None; 2]);
        let caller = pool.install(|| {
            // Either waits for the other.
            for_each(&mut by, 1, |by| {
                *by = Some(current().id());
                both.wait();
            });
            current().id()
        });
        assert!(by[0] != by[1] && by.contains(&Some(caller)), "{by:?}");
    }
}
