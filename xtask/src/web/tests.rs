//! Tests of the page and of the library behind it, in headless Chromium.

mod equal;
mod gpu;
mod page;
mod speed;

use std::path::Path;

pub use speed::bench;

/// Runs all tests on the folder.
pub fn run(folder: &Path) -> Result<(), String> {
    equal::test(folder)?;
    gpu::test(folder)?;
    page::test(folder)
}
