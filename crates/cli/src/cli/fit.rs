//! `bristle fit`: friction identified from recordings.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::changes::Changes;
use super::interrupt::INTERRUPTED;
use super::{Failure, note, print, print_text};
use bristle::error::ParameterError;
use bristle_fit::fit::FitError;
use bristle_fit::run::{Request, run};
use bristle_fit::{FitFile, report};

/// Exit code of a search that has not converged.
const NOT_CONVERGED: i32 = 3;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle example tribometer > my.toml
  bristle fit strokes.tsv --scenario my.toml --out fitted
  bristle fit strokes.tsv --scenario my.toml --compare lugre,dahl --json
  bristle fit a.csv b.csv --scenario my.toml --set fit.share=0.7
  bristle fit strokes.tsv --scenario my.toml --next fast.toml turns.toml")]
pub(super) struct FitArguments {
    /// Recordings: CSV, TSV, NPZ, Parquet or MCAP files.
    #[arg(required = true)]
    recordings: Vec<PathBuf>,
    /// A scenario with the tables `[fit]` (see `bristle docs identification`).
    #[arg(long, value_name = "FIT.toml")]
    scenario: PathBuf,
    #[command(flatten)]
    changes: Changes,
    /// Directory of the results: the page `fit.html`, `fit.json`, `residuals.csv`, and `scenario.toml` with
    /// the fitted values.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace existing results.
    #[arg(long, requires = "out")]
    force: bool,
    /// Fit these laws in place of the scenario's, and say which one predicts the rest of the recordings best.
    /// Of a point contact they are its laws.
    #[arg(long, value_delimiter = ',', value_name = "LAW")]
    compare: Vec<String>,
    /// Experiments (files with the keys of a scenario that differ, such as `duration` and `[inputs]`): say
    /// which of them would shrink the widest interval most.
    #[arg(long, num_args = 1.., value_name = "FILE")]
    next: Vec<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Print only errors on stderr: not the progress.
    #[arg(short, long)]
    quiet: bool,
    /// CPU threads [default: all].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

fn failure(error: FitError) -> Failure {
    match error {
        FitError::Scenario(error) => Failure::of_scenario(error),
        FitError::Engine(error) => Failure::of_engine(error),
        error => Failure::of_user(error),
    }
}

impl FitArguments {
    pub(super) fn run(&self) -> Result<(), Failure> {
        super::set_threads(self.threads)?;
        if let Some(out) = &self.out {
            let inputs = self.recordings.iter().chain([&self.scenario]).chain(&self.next);
            let inputs: Vec<&Path> = inputs.map(PathBuf::as_path).collect();
            report::check_place(out, self.force, &inputs).map_err(|e| {
                let told = ParameterError { field: "--out".into(), ..e }.to_string();
                Failure::of_user(told.replace("`force`", "`--force`"))
            })?;
        }
        let file = FitFile::load(&self.scenario, &self.changes.0).map_err(Failure::of_scenario)?;
        let recordings = file.read(&self.recordings).map_err(failure)?;
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        // Without a handler the program ends all the same. A second signal ends it at once.
        let _ = ctrlc::set_handler(move || {
            if asked.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
        });
        let said = std::sync::Mutex::new(String::new());
        let ask = |what: &str| {
            let mut said = said.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if !self.quiet && *said != what {
                note(format_args!("{what}"));
                what.clone_into(&mut said);
            }
            !stop.load(Ordering::Relaxed)
        };
        let request = Request { compare: self.compare.clone(), next: self.next.clone(), page: self.out.is_some() };
        let outcome = match run(&file, &recordings, &request, &ask) {
            Err(error @ FitError::Stopped) => {
                note(error);
                std::process::exit(INTERRUPTED);
            }
            done => done.map_err(failure)?,
        };
        // Before files, which may fail: a fit takes long.
        if self.json {
            print(&outcome.json().to_string())?;
        } else {
            print_text(&outcome.text())?;
        }
        if let Some(out) = &self.out {
            let failed = |e: std::io::Error| Failure::of_machine(format!("{}: {e}", out.display()));
            report::write(out, &outcome).map_err(failed)?;
        }
        if stop.load(Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
        if outcome.fits.iter().any(|fit| !fit.converged) {
            std::process::exit(NOT_CONVERGED);
        }
        Ok(())
    }
}
