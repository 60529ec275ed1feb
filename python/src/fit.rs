//! Friction identified from recordings.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bristle::ParameterError;
use bristle_fit::fit::{Ask, FitError};
use bristle_fit::recording::{Recording, RecordingError};
use bristle_fit::run::{Outcome, Request, run};
use bristle_fit::{FitFile, report};
use bristle_scenario::change;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors::Failure;

/// How often Python is asked whether to go on.
const ASK: Duration = Duration::from_millis(20);

/// Where a recording is.
#[derive(FromPyObject)]
pub enum Columns<'py> {
    /// A file.
    File(PathBuf),
    /// Arrays and their names.
    Arrays(Vec<(String, PyReadonlyArray1<'py, f64>)>),
}

/// The same without Python.
enum Source {
    File(PathBuf),
    Arrays(String, Vec<(String, Vec<f64>)>),
}

impl From<RecordingError> for Failure {
    fn from(error: RecordingError) -> Self {
        match error {
            RecordingError::Setting(error) => error.into(),
            RecordingError::Column { path, error } => {
                let field = format!("{}: {}", path.display(), error.field);
                ParameterError { field, ..error }.into()
            }
            other => Self::of_words("recordings", &other.to_string()),
        }
    }
}

impl From<FitError> for Failure {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Scenario(error) => error.into(),
            FitError::Parameter(error) => error.into(),
            FitError::Recording(error) => error.into(),
            FitError::Engine(error) => error.into(),
            FitError::NoStart => Self::of_words("scenario", &error.to_string()),
            FitError::Stopped => Self::Python(PyKeyboardInterrupt::new_err(())),
        }
    }
}

/// What a fit has found: JSON, the scenario with the fitted numbers, names and rows of samples, the page, and
/// whether it was interrupted.
pub type Found = (String, String, Option<(Vec<String>, Vec<Vec<f64>>)>, String, bool);

/// Fits the unknowns of a fit file to recordings; `scenario` is its text, or its path if `base` is none.
/// `tell` is called with what is being done. Ctrl-C ends the search, and the best so far is the result.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they are those of the function of Python that calls it")]
pub fn fit(
    py: Python<'_>,
    recordings: Vec<Columns<'_>>,
    scenario: &str,
    base: Option<PathBuf>,
    changes: Vec<String>,
    compare: Vec<String>,
    next: Vec<PathBuf>,
    out: Option<PathBuf>,
    force: bool,
    tell: Option<Py<PyAny>>,
) -> Result<Found, Failure> {
    let own = |(k, columns): (usize, Columns<'_>)| match columns {
        Columns::File(path) => Source::File(path),
        Columns::Arrays(all) => {
            let owned = all.into_iter().map(|(name, values)| (name, values.as_array().to_vec()));
            Source::Arrays(format!("recordings.{k}"), owned.collect())
        }
    };
    let sources: Vec<Source> = recordings.into_iter().enumerate().map(own).collect();
    let request = Request { compare, next, page: true };
    py.detach(|| {
        if let Some(out) = &out {
            let paths = sources.iter().filter_map(|source| match source {
                Source::File(path) => Some(path.as_path()),
                Source::Arrays(..) => None,
            });
            let files = paths.chain(request.next.iter().map(PathBuf::as_path));
            let files: Vec<&Path> = files.chain(base.is_none().then(|| Path::new(scenario))).collect();
            report::check_place(out, force, &files)?;
        }
        let file = match &base {
            None => FitFile::load(Path::new(scenario), &changes)?,
            Some(base) => {
                let text = changes.iter().try_fold(scenario.to_owned(), |text, c| change(&text, c))?;
                FitFile::parse(&text, base, "scenario")?
            }
        };
        let recordings = file.read_by(&sources, |source, spec| match source {
            Source::File(path) => Recording::read(path, spec),
            Source::Arrays(name, columns) => Recording::of_columns(name, columns.clone(), spec),
        })?;
        let (outcome, is_interrupted) = interruptible(tell.as_ref(), |ask| run(&file, &recordings, &request, ask))?;
        let outcome = outcome?;
        if let Some(out) = &out {
            report::write(out, &outcome).map_err(|e| Failure::Run(format!("{}: {e}", out.display())))?;
        }
        Ok(found(outcome, is_interrupted))
    })
}

fn found(outcome: Outcome, is_interrupted: bool) -> Found {
    let json = outcome.json().to_string();
    let Outcome { mut fits, page, .. } = outcome;
    let best = fits.swap_remove(0);
    let posterior = best.posterior.map(|p| (p.names, p.rows));
    (json, best.scenario, posterior, page.unwrap_or_default(), is_interrupted)
}

/// Runs `work` in a thread of its own, while this one, which alone hears of signals, asks Python whether to
/// go on, and says whether it was interrupted. `work` waits where it says something else than before until
/// `tell` has been called. An exception that is no interrupt is passed on.
fn interruptible<T: Send>(
    tell: Option<&Py<PyAny>>,
    work: impl FnOnce(&Ask<'_>) -> T + Send,
) -> Result<(T, bool), Failure> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (send, wait) = channel::<(String, Sender<()>)>();
        let stop = &stop;
        let thread = scope.spawn(move || {
            let said = Mutex::new(String::new());
            work(&|what: &str| {
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                if *said != what {
                    what.clone_into(&mut said);
                    let (heard, answer) = channel();
                    // The other end is dropped once it has been heard.
                    let _ = send.send((what.to_owned(), heard)).map(|()| answer.recv());
                }
                !stop.load(Ordering::Relaxed)
            })
        });
        let mut interrupt: Option<PyErr> = None;
        loop {
            let message = match wait.recv_timeout(ASK) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if interrupt.is_none() {
                interrupt = Python::attach(|py| {
                    let told = tell.zip(message.as_ref()).map(|(tell, (what, _))| tell.call1(py, (what,)));
                    told.transpose().and_then(|_| py.check_signals())
                })
                .err();
                stop.store(interrupt.is_some(), Ordering::Relaxed);
            }
        }
        let out = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let is_interrupt = |e: &PyErr| Python::attach(|py| e.is_instance_of::<PyKeyboardInterrupt>(py));
        match interrupt {
            Some(error) if !is_interrupt(&error) => Err(error.into()),
            interrupt => Ok((out, interrupt.is_some())),
        }
    })
}
