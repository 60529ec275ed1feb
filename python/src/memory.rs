//! Refuses a call of Python that needs more memory than there is.

use bristle::memory;
use pyo3::prelude::*;

use crate::errors::Failure;

/// What would take less.
const LESS: &str = "less in one call, or a machine with more memory";

/// Refuses what takes more memory [byte] than there is.
pub fn check(what: impl FnOnce() -> String, bytes: usize) -> Result<(), Failure> {
    Ok(memory::check(what, bytes as u64, LESS)?)
}

/// The product of some numbers, or the largest number.
pub fn product<const N: usize>(numbers: [usize; N]) -> usize {
    numbers.into_iter().fold(1, usize::saturating_mul)
}

/// Refuses `what` if it takes more memory than there is.
#[pyfunction]
pub fn check_memory(what: String, bytes: u128) -> Result<(), Failure> {
    check(|| what, usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// From now on the process takes itself for one that has so much memory left; None undoes that: for tests.
#[pyfunction]
#[pyo3(signature = (bytes))]
pub fn pretend_free(bytes: Option<u64>) {
    memory::pretend_free(bytes);
}
