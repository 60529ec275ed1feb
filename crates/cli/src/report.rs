//! The page of `bristle report`: the outcomes of the contacts of a run, or pictures of limit surfaces.

mod rollout;
mod run;
mod surface;

use std::path::{Path, PathBuf};

use bristle_data::rollout::{RolloutError, is_made_here};
use bristle_data::surfaces::publish;
use bristle_paper::page::{Document, file_names, files};
use bristle_scenario::ScenarioError;
use bristle_scenario::input::InputError;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The operating system could not read or write.
    #[error("{path}: {}", bristle_data::disk::describe(source))]
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
    /// A file of the run is not as it was written.
    #[error(transparent)]
    Run(#[from] RolloutError),
    /// The run's scenario cannot be read.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

impl From<InputError> for ReportError {
    fn from(e: InputError) -> Self {
        match e {
            InputError::Io { path, source } => Self::Io { path, source },
            InputError::File { path, reason } => Self::File { path, reason },
        }
    }
}

impl ReportError {
    /// Whether the user can avoid it by a different request.
    pub fn is_users(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            Self::Run(e) => e.is_users(),
            _ => true,
        }
    }

    fn file(path: &Path, reason: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), reason: reason.into() }
    }
}

/// Writes the page of `of` and returns where: a directory of `bristle rollout` gets `report.html` inside, an
/// NPZ file of `bristle surface` one with the ending `html` beside it, unless `out` says otherwise. Every
/// picture of the page is also a file beside it, such as `report_motion.svg`.
///
/// # Errors
/// A directory or file that is neither, a file of another kind in the place of the page or of a picture, or
/// what the machine says; no page is then written.
pub fn report(of: &Path, out: Option<&Path>) -> Result<PathBuf, ReportError> {
    let npz = of.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"));
    let (mut document, default): (Document, PathBuf) = if npz {
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
    let stem = out.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut all: Vec<(PathBuf, String)> = Vec::new();
    for part in document.groups.iter_mut().flat_map(|(_, parts)| parts) {
        let id = format!("{stem}_{}", part.id);
        part.files.extend(file_names(&id, &part.pictures));
        all.extend(files(&id, &part.pictures).map(|(name, svg)| (out.with_file_name(name), svg)));
    }
    all.push((out.clone(), document.html()));
    if let Some((path, _)) = all.iter().find(|(path, _)| path.symlink_metadata().is_ok() && !is_made_here(path)) {
        return Err(ReportError::file(path, "exists and is no page or picture of bristle: expected another `--out`"));
    }
    for (path, text) in all {
        publish(
            &path,
            |path, source| ReportError::Io { path, source },
            |partial| std::fs::write(partial, &text).map_err(|source| ReportError::Io { path: path.clone(), source }),
        )?;
    }
    Ok(out)
}
