//! Writes runs to files: datasets, shards, and merges of shards.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use bristle::ParameterError;
use bristle::engine::EngineInfo;
use bristle_data::rollout::{Datasets, Merge, Options, Place, Shard, Summary};
use bristle_scenario::Precision;
use pyo3::prelude::*;

use crate::batch::open;
use crate::errors::Failure;
use crate::scenario::PyScenario;

/// How often Python is asked whether to go on.
const ASK: Duration = Duration::from_millis(20);

/// The options of a run: `mode` is `new`, `resume`, `force` or `extend`.
fn options(out: PathBuf, formats: &[String], extras: &[String], mode: &str) -> Result<Options, Failure> {
    let mut options = Options::new(Place::directory(&out)?);
    options.datasets = Datasets {
        formats: formats.iter().map(|name| name.parse()).collect::<Result<_, _>>()?,
        extras: extras.iter().map(|name| name.parse()).collect::<Result<_, _>>()?,
    };
    match mode {
        "new" => {}
        "resume" => options.resume = true,
        "force" => options.force = true,
        "extend" => options.extend = true,
        _ => return Err(ParameterError::new("mode", mode, "`new`, `resume`, `force` or `extend`").into()),
    }
    Ok(options)
}

fn json(summary: &Summary) -> String {
    serde_json::to_string(summary).unwrap_or_default()
}

/// Simulates a scenario to files; returns the summary as JSON. `tell` is called now and then with the numbers
/// of contact-samples that are done and of all.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they are those of the function of Python that calls it")]
pub fn write_run(
    py: Python<'_>,
    scenario: &PyScenario,
    out: PathBuf,
    formats: Vec<String>,
    extras: Vec<String>,
    device: &str,
    shard: Option<(u64, u64)>,
    mode: &str,
    tell: Option<Py<PyAny>>,
) -> Result<String, Failure> {
    let mut options = options(out, &formats, &extras, mode)?;
    options.shard = shard.map(|(index, of)| format!("{index}/{of}").parse::<Shard>()).transpose()?;
    let scenario = scenario.0.clone();
    py.detach(|| {
        // The run keeps copies of them.
        scenario.check_files()?;
        let contacts = options.shard.map_or(scenario.contacts(), |shard| {
            let range = shard.range(scenario.contacts());
            range.end - range.start
        });
        let all = contacts * scenario.plan().samples.len() as u64;
        let engine = open(device, scenario.spec().precision)?;
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let (send, wait) = channel::<()>();
            let (options, scenario, engine, stop, done) = (&options, &scenario, &*engine, &stop, &done);
            let thread = scope.spawn(move || {
                let _send = send;
                bristle_data::rollout::rollout(scenario, engine, options, &|samples| {
                    done.fetch_add(samples, Ordering::Relaxed);
                    !stop.load(Ordering::Relaxed)
                })
            });
            let mut interrupt: Option<PyErr> = None;
            while wait.recv_timeout(ASK) == Err(RecvTimeoutError::Timeout) {
                if interrupt.is_none() {
                    interrupt = Python::attach(|py| {
                        let told = tell.as_ref().map(|tell| tell.call1(py, (done.load(Ordering::Relaxed), all)));
                        py.check_signals().and(told.transpose().map(drop))
                    })
                    .err();
                    stop.store(interrupt.is_some(), Ordering::Relaxed);
                }
            }
            let summary = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            interrupt.map_or(Ok(()), |interrupt| Err(Failure::from(interrupt)))?;
            Ok(json(&summary?))
        })
    })
}

/// Joins the shards of a run; returns the summary as JSON.
#[pyfunction]
pub fn merge_run(
    py: Python<'_>,
    shards: Vec<PathBuf>,
    out: PathBuf,
    formats: Vec<String>,
    extras: Vec<String>,
    mode: &str,
) -> Result<String, Failure> {
    let options = options(out, &formats, &extras, mode)?;
    py.detach(|| Ok(json(&bristle_data::rollout::merge(&Merge::open(&shards)?, &options)?)))
}

/// Checks, before anything is computed, that a run, one of its shards or their merge may go on, or begin, on
/// `device` in `out`; returns the summary as JSON if it is complete.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "they are those of the functions that it checks")]
pub fn check_run(
    py: Python<'_>,
    scenario: &PyScenario,
    out: PathBuf,
    formats: Vec<String>,
    extras: Vec<String>,
    device: &str,
    shard: Option<(u64, u64)>,
    merged: bool,
) -> Result<Option<String>, Failure> {
    let mut options = options(out, &formats, &extras, "resume")?;
    options.shard = shard.map(|(index, of)| format!("{index}/{of}").parse::<Shard>()).transpose()?;
    let scenario = scenario.0.clone();
    let engine = engine_of(device, scenario.spec().precision)?;
    py.detach(|| Ok(bristle_data::rollout::check(&scenario, &options, merged, engine.as_ref())?.as_ref().map(json)))
}

/// What a device computes with; none if that depends on the machine.
fn engine_of(device: &str, precision: Precision) -> Result<Option<EngineInfo>, Failure> {
    let (engine, precision) = match (device, precision) {
        ("auto", _) => return Ok(None),
        ("gpu", Precision::F64) => {
            let accepted = "\"cpu\" or \"auto\" with precision = \"f64\": a GPU computes in f32";
            return Err(ParameterError::new("device", device, accepted).into());
        }
        ("gpu", Precision::F32) => ("gpu", "f32"),
        (_, Precision::F32) => ("cpu", "f32"),
        (_, Precision::F64) => ("cpu", "f64"),
    };
    let [adapter, driver, shape] = [String::new(), String::new(), String::new()];
    Ok(Some(EngineInfo { engine, precision, adapter, driver, shape }))
}

/// Removes a complete run or shard, of which nothing else may be in its directory.
#[pyfunction]
pub fn remove_run(py: Python<'_>, run: PathBuf) -> Result<(), Failure> {
    py.detach(|| Ok(bristle_data::rollout::remove_run(&run)?))
}

/// Checks that nothing else is in the directory of a run or shard, so that it could be removed.
#[pyfunction]
pub fn check_own(py: Python<'_>, run: PathBuf) -> Result<(), Failure> {
    py.detach(|| Ok(bristle_data::rollout::check_own(&run)?))
}

/// What is damaged or missing in a run, a sentence a file.
#[pyfunction]
pub fn verify_run(py: Python<'_>, run: PathBuf) -> Result<Vec<String>, Failure> {
    py.detach(|| Ok(bristle_data::rollout::verify(&run)?.faults))
}
