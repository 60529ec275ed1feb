//! A page for a user's own run: what happened to the contacts of a rollout, or what limit surfaces look like.

mod archive;
mod rollout;
mod run;
mod surface;

use std::path::{Path, PathBuf};

use crate::page::Document;
use crate::scenario::ScenarioError;
use crate::surfaces::publish;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The machine could not read or write.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The machine's own reason.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what would be accepted.
        reason: String,
    },
    /// The run's scenario cannot be read.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

impl ReportError {
    /// Whether the user can mend it by asking for something else.
    #[must_use]
    pub fn is_users(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            _ => true,
        }
    }

    fn file(path: &Path, reason: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), reason: reason.into() }
    }
}

/// Writes the page of `of` and returns where: a directory of `bristle rollout` gets `report.html` inside, an NPZ
/// file of `bristle surface` one with the ending `html` beside it, unless `out` says otherwise.
///
/// # Errors
/// A directory or file that is neither, a file that is no page in the place of the page, or what the machine says; no page is
/// then written.
pub fn report(of: &Path, out: Option<&Path>) -> Result<PathBuf, ReportError> {
    let npz = of.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"));
    let (document, default): (Document, PathBuf) = if npz {
        (surface::document(of)?, of.with_extension("html"))
    } else if of.is_dir() {
        (rollout::document(of)?, of.join("report.html"))
    } else if of.exists() {
        return Err(ReportError::file(of, "expected a directory of `bristle rollout` or an .npz of `bristle surface`"));
    } else {
        let source = std::fs::metadata(of).err().unwrap_or_else(|| std::io::ErrorKind::NotFound.into());
        return Err(ReportError::Io { path: of.to_owned(), source });
    };
    let out = out.map_or(default, Path::to_owned);
    let is_ours = || out.is_file() && std::fs::read_to_string(&out).is_ok_and(|text| Document::is_ours(&text));
    if out.exists() && !is_ours() {
        return Err(ReportError::file(&out, "exists and is no page of bristle: expected another `--out`"));
    }
    let html = document.html();
    publish(
        &out,
        |path, source| ReportError::Io { path, source },
        |partial| std::fs::write(partial, &html).map_err(|source| ReportError::Io { path: out.clone(), source }),
    )?;
    Ok(out)
}
