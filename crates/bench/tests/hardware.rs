//! The page docs/hardware.md and the files that it is made from.

use std::path::{Path, PathBuf};

use bristle_bench::hardware::page_of;

#[test]
fn the_page_is_what_the_files_give() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let entries = std::fs::read_dir(root.join("benches/hardware")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    assert!(!files.is_empty());
    let made = page_of(&files).unwrap_or_else(|e| panic!("{e}"));
    let page = std::fs::read_to_string(root.join("docs/hardware.md")).unwrap();
    let differs = made.lines().zip(page.lines()).find(|(made, there)| made != there);
    assert_eq!(differs, None, "`cargo xtask hardware` makes the page");
    assert!(made == page, "`cargo xtask hardware` makes the page");
}
