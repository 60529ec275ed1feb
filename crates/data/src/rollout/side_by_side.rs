//! Makes the parts of a dataset in parallel, with a fixed limit, so that memory does not grow with the number
//! of threads.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::error::RolloutError;
use bristle::pool;

/// Parts that are made at once, at most. A part may have an array of 16 MB and the numbers that it is made
/// of.
const AT_ONCE: usize = 4;

/// Does `work` for all numbers below `n`; what it returns is in their order. A thread that waits within
/// `work` begins no other number.
pub(super) fn side_by_side<T: Send>(
    n: u64,
    work: impl Fn(u64) -> Result<T, RolloutError> + Sync,
) -> Result<Vec<T>, RolloutError> {
    let next = AtomicU64::new(0);
    let some = |_| {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n {
                return Ok(done);
            }
            done.push((i, work(i)?));
        }
    };
    let workers = pool::threads().min(AT_ONCE);
    let all: Vec<_> = pool::run(|| (0..workers).into_par_iter().map(some).collect::<Result<_, RolloutError>>())?;
    let mut all: Vec<(u64, T)> = all.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(i, _)| *i);
    Ok(all.into_iter().map(|(_, done)| done).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn few_parts_are_made_at_once_and_all_of_them() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let part = |i: u64| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // A thread that waits here looks for other work.
            let sum: u64 = (0..100_000u64).into_par_iter().map(|k| k % 7).sum();
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(i * sum)
        };
        let wide = rayon::ThreadPoolBuilder::new().num_threads(16).build().unwrap();
        let done = wide.install(|| side_by_side(50, part)).unwrap();
        let sum: u64 = (0..100_000u64).map(|k| k % 7).sum();
        assert_eq!(done, (0..50).map(|i| i * sum).collect::<Vec<_>>());
        assert!((1..=AT_ONCE).contains(&most.into_inner()));
        let failed = side_by_side(50, |i| if i == 7 { Err(RolloutError::Shards("seven".to_owned())) } else { Ok(i) });
        assert_eq!(failed.unwrap_err().to_string(), "seven");
    }
}
