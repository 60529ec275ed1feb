//! `bristle report`: makes a page on a run or on limit surfaces.

use std::path::{Path, PathBuf};

use super::options::failure;
use super::{Failure, print};
use crate::report::{ReportError, report};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle report runs/in_hand
  bristle report tables.npz --out tables.html")]
pub(super) struct Report {
    /// Directory of `bristle rollout`, or NPZ file of `bristle surface`.
    run: PathBuf,
    /// The page; its pictures are SVG files beside it [default: report.html in the directory; for an NPZ file
    /// its name with the ending html].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Report {
    pub(super) fn run(&self) -> Result<(), Failure> {
        print(&write(&self.run, self.out.as_deref())?.display().to_string())
    }
}

/// Writes the page of `of` and returns where.
pub(super) fn write(of: &Path, out: Option<&Path>) -> Result<PathBuf, Failure> {
    report(of, out).map_err(|e| match e {
        ReportError::Run(e) => failure(e),
        e if e.is_users() => Failure::of_user(e),
        e => Failure::of_machine(e),
    })
}
