//! The memory of this process. Large allocations are counted beforehand, so that a call returns an error
//! where the system would kill the process.

use std::sync::atomic::{AtomicU64, Ordering};

use std::fmt;

#[cfg(not(target_family = "wasm"))]
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};
use unit_prefix::NumberPrefix;

/// A number of bytes that prints in decimal units, such as `1.50 GB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NumberPrefix::decimal(self.0 as f64) {
            NumberPrefix::Standalone(number) => write!(f, "{number:.0} B"),
            NumberPrefix::Prefixed(prefix, number) => write!(f, "{number:.2} {prefix}B"),
        }
    }
}

/// Memory that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {} of memory are needed, and {} are free: expected {remedy}", Bytes(*bytes), Bytes(*free))]
pub struct MemoryError {
    /// What would take it, with a number.
    pub what: String,
    /// What it would take \[byte\].
    pub bytes: u64,
    /// What there is for this process \[byte\].
    pub free: u64,
    /// What would take less.
    pub remedy: &'static str,
}

/// What would take less: of a batch.
pub(crate) const FEWER_CONTACTS: &str = "fewer contacts, or a machine with more memory";

/// What takes less than this [byte] is not compared: to ask the machine would take longer than to take it.
const LITTLE: u64 = 16 << 20;

/// What [`pretend_free`] was told; the largest number if nothing.
static PRETENDED: AtomicU64 = AtomicU64::new(u64::MAX);

/// Refuses what takes more memory than there is.
///
/// # Errors
/// Less memory than `bytes`.
pub fn check(what: impl FnOnce() -> String, bytes: u64, remedy: &'static str) -> Result<(), MemoryError> {
    let pretended = PRETENDED.load(Ordering::Relaxed);
    let free = match pretended {
        u64::MAX if bytes < LITTLE => return Ok(()),
        u64::MAX => left(),
        pretended => Some(pretended),
    };
    let short = |free: &u64| *free < bytes;
    free.filter(short).map_or(Ok(()), |free| Err(MemoryError { what: what(), bytes, free, remedy }))
}

/// An empty vector with space for `count` items.
///
/// # Errors
/// No such space.
pub(crate) fn space<T>(what: &str, count: usize, remedy: &'static str) -> Result<Vec<T>, MemoryError> {
    let mut out = Vec::new();
    out.try_reserve_exact(count).map_err(|_| {
        let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
        MemoryError { what: what.to_owned(), bytes, free: left().unwrap_or(0), remedy }
    })?;
    Ok(out)
}

/// A vector of `count` times `value`.
///
/// # Errors
/// No such space.
pub(crate) fn filled<T: Clone>(count: usize, value: T, remedy: &'static str) -> Result<Vec<T>, MemoryError> {
    let mut out = space("an array", count, remedy)?;
    out.resize(count, value);
    Ok(out)
}

/// From now on this process takes itself for one that has so much memory left [byte]; none undoes that: for
/// tests, which may not depend on the machine.
#[doc(hidden)]
pub fn pretend_free(bytes: Option<u64>) {
    PRETENDED.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Memory \[byte\] that this process may still take: of the machine's, of its control group's, and of its
/// address space. Nobody says so in a browser.
#[cfg(target_family = "wasm")]
pub const fn left() -> Option<u64> {
    None
}

/// Memory \[byte\] that this process may still take: of the machine's, of its control group's, and of its
/// address space.
#[cfg(not(target_family = "wasm"))]
pub fn left() -> Option<u64> {
    let pid = sysinfo::get_current_pid().ok()?;
    let mut system = System::new().ok()?;
    system.refresh_memory();
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[pid]),
        false,
        ProcessRefreshKind::nothing().with_memory(),
    );
    let process = system.process(pid);
    // Zero where the system does not say.
    let machine = Some(system.available_memory()).filter(|bytes| *bytes > 0).map(|bytes| bytes + system.free_swap());
    let group = process.and_then(sysinfo::Process::cgroup_limits).map(|l| l.total_memory.saturating_sub(l.rss));
    let addresses = address_space().zip(process).map(|(limit, p)| limit.saturating_sub(p.virtual_memory()));
    least([machine, group, addresses])
}

/// The least of the limits that there are.
#[cfg(not(target_family = "wasm"))]
fn least(limits: [Option<u64>; 3]) -> Option<u64> {
    limits.into_iter().flatten().min()
}

/// The limit of the address space [byte], if there is one.
#[cfg(not(target_family = "wasm"))]
fn address_space() -> Option<u64> {
    #[cfg(unix)]
    return rustix::process::getrlimit(rustix::process::Resource::As).current;
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which limits a machine has it says itself; the least of them counts.
    #[test]
    fn the_least_limit_counts() {
        assert_eq!(least([Some(3), None, Some(2)]), Some(2));
        assert_eq!(least([None; 3]), None);
    }

    #[test]
    fn what_no_machine_has_is_refused_with_both_numbers() {
        let what = || "10 planets".to_owned();
        let refused = MemoryError { what: what(), bytes: 1 << 60, free: 1 << 30, remedy: "fewer" };
        let message = refused.to_string();
        assert!(message.starts_with("10 planets: 1.15 EB of memory are needed, and "), "{message}");
        assert!(message.ends_with(" are free: expected fewer"), "{message}");
        check(what, 1000, "fewer").unwrap();
        let refused = space::<u64>("a planet", 1 << 58, "fewer").unwrap_err();
        assert_eq!(refused.bytes, 1 << 61);
        assert!(refused.to_string().starts_with("a planet: 2.31 EB"), "{refused}");
    }
}
