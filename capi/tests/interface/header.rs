//! `include/bristle.h` agrees with the comments of the crate.

use crate::file;

/// What writes the header anew.
const RENEW: &str = "BRISTLE_RENEW=1 cargo test --release -p bristle-capi --test interface header";

#[test]
fn the_header_is_that_of_the_crate() {
    let config = cbindgen::Config::from_file(file("cbindgen.toml")).unwrap();
    // The files of its modules are found from it.
    let builder = cbindgen::Builder::new().with_config(config).with_src(file("src/lib.rs"));
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let made = String::from_utf8(made).unwrap();
    let path = file("include/bristle.h");
    if std::env::var_os("BRISTLE_RENEW").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = there.lines().zip(made.lines()).position(|(a, b)| a != b);
    assert!(there == made, "{}: line {:?} is out of date: `{RENEW}` renews it", path.display(), differs.map(|k| k + 1));
    assert!(made.contains(RENEW), "the header says another command than {RENEW}");
}
