//! Why a patch could not be made.

use std::path::Path;

use bristle::error::PatchError;

/// The key of a file of maps.
pub(super) const FILE: &str = "patch.file";

/// A patch could not be made: the field it is about, and why.
#[derive(Debug)]
pub(super) struct PatchFailure {
    pub field: String,
    pub message: String,
}

impl PatchFailure {
    pub fn of(field: &str, error: PatchError) -> Self {
        match error {
            PatchError::Parameter(e) => Self { field: e.field.clone(), message: e.to_string() },
            e => Self { field: field.to_owned(), message: format!("{field}: {e}") },
        }
    }

    pub fn wrong<T>(field: &str, message: impl AsRef<str>) -> Result<T, Self> {
        Err(Self { field: field.to_owned(), message: format!("{field}: {}", message.as_ref()) })
    }

    /// The same of a patch in the table `table`.
    pub fn within(self, table: &str) -> Self {
        let message = self.message.replacen(&self.field, &format!("{table}.{}", self.field), 1);
        Self { field: format!("{table}.{}", self.field), message }
    }

    /// Says that readings below zero may count as zero, if some of `readings` are below it, and none is no
    /// number.
    pub fn below_zero(mut self, readings: &[f64]) -> Self {
        if readings.iter().any(|p| *p < 0.0) && readings.iter().all(|p| p.is_finite()) {
            self.message += "; `patch.clip = true` counts readings below zero as zero";
        }
        self
    }

    /// Adds the name of the file to the message, unless it is there.
    pub fn named(self, path: &Path) -> Self {
        let message = if self.message.contains(&*path.to_string_lossy()) {
            self.message
        } else {
            self.message.replacen(FILE, &format!("{FILE}: {}", path.display()), 1)
        };
        Self { message, ..self }
    }
}
