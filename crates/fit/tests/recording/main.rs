//! Recordings: files of all formats, units, and what is done to the samples.

mod faults;
mod formats;
#[cfg(feature = "mcap")]
mod mcap_files;
mod mutations;
mod samples;
mod tribometer;

use std::path::{Path, PathBuf};

use bristle_fit::recording::{Recording, RecordingError, RecordingSpec};

/// The settings in a text of TOML.
pub fn spec(text: &str) -> RecordingSpec {
    toml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Reads a file with these settings.
pub fn read(path: &Path, text: &str) -> Result<Recording, RecordingError> {
    Recording::read(path, &spec(text))
}

/// Reads a text that stands in a file of that name.
pub fn read_text(name: &str, content: &str, text: &str) -> Result<Recording, RecordingError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, content).unwrap();
    read(&path, text)
}

/// A file of the tests.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Values of a quantity, of inputs or of what is compared.
pub fn values<'a>(recording: &'a Recording, name: &str) -> &'a [f64] {
    let all = recording.inputs.iter().chain(&recording.compared);
    &all.into_iter().find(|channel| channel.name == name).unwrap_or_else(|| panic!("no {name}")).values
}
