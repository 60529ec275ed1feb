//! Why a recording cannot be used.

use std::path::{Path, PathBuf};

use bristle::error::ParameterError;
use bristle_scenario::input::InputError;

/// A recording that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] InputError),
    /// A setting that no recording can have; the field is named from the table of the recording on.
    #[error(transparent)]
    Setting(ParameterError),
    /// A setting that this file does not fit, such as a column that it does not have.
    #[error("{}: {error}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The field, from the table of the recording on.
        error: ParameterError,
    },
    /// Something in the file's numbers.
    #[error("{}: {}", path.display(), bristle::quote::message(reason))]
    Data {
        /// The file.
        path: PathBuf,
        /// Where it is, what is wrong and what would be accepted.
        reason: String,
    },
}

impl RecordingError {
    pub(super) fn data(path: &Path, reason: impl Into<String>) -> Self {
        Self::Data { path: path.to_owned(), reason: reason.into() }
    }

    pub(super) fn column(path: &Path, error: ParameterError) -> Self {
        Self::Column { path: path.to_owned(), error }
    }
}
