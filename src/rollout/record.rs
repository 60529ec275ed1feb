//! The files of a finished run.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::npz::Npz;
use super::spool::{COLUMNS, Spool};
use super::{Curve, Needs, NetMotion, Options, Outcome, RolloutError, Shown, io, text};
use crate::disk;
use crate::engine::{Engine, EngineInfo, Reason, UNCONVERGED};
use crate::scenario::{Scenario, change};

/// The record of a run. A directory that has this file has all the others, too.
pub(super) const RECORD: &str = "run.json";
pub(super) const SCENARIO: &str = "scenario.toml";
/// The other files of a run, and the names of files while they are written.
const OTHER_FILES: [&str; 6] =
    ["trajectories.npz", "contacts.npz", SCENARIO, "trajectories.svg", "file.begun", "run.json.begun"];

/// Most contacts in a picture.
pub(super) const MOST_SHOWN: u64 = 200;

/// Numbers of contacts by their outcome. A contact that has slipped and spun counts as both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Neither slipped nor spun.
    pub stuck: u64,
    /// The body's point at the centre of pressure moved by more than [`super::SLIPPED`].
    pub slipped: u64,
    /// The body turned by more than [`super::ROTATION_SPUN`].
    pub spun: u64,
    /// Both slipped and spun.
    pub slipped_and_spun: u64,
    /// Became non-finite, or took more steps than it may, and was stopped.
    pub failed: u64,
    /// Took more steps than it may: `limits.steps` of the scenario.
    #[serde(default)]
    pub out_of_steps: u64,
    /// Had stages that did not converge.
    pub unconverged: u64,
}

/// A finished run in numbers; what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What ran: `engine`, `precision`, `adapter`, `driver`, and on a GPU `shape`.
    #[serde(flatten, deserialize_with = "engine_of_record")]
    pub engine: EngineInfo,
    /// Number of contacts.
    pub contacts: u64,
    /// Steps of all contacts.
    pub steps: u64,
    /// Passes over the cells of all contacts.
    pub passes: u64,
    /// Time the engine took [s].
    pub wall_s: f64,
    /// Steps of all contacts over the engine's time.
    pub contact_steps_per_s: f64,
    /// Counts of contacts.
    pub status: Counts,
    /// Stages that did not converge, of two a step.
    pub unconverged_stages: u64,
    /// Longest step [s].
    pub step: f64,
    /// Largest estimated error of a step's velocity [m/s], if that chose the steps.
    pub tolerance: Option<f64>,
    /// Most disk space that the run took while it was written, as estimated before it began [byte].
    #[serde(default)]
    pub disk_bytes: u64,
    /// Directory of the run.
    pub out: String,
}

/// Reads the engine from a record. Its names are static strings, so that only known ones are accepted.
pub(super) fn engine_of_record<'de, D: Deserializer<'de>>(record: D) -> Result<EngineInfo, D::Error> {
    #[derive(Deserialize)]
    struct Names {
        engine: String,
        precision: String,
        adapter: String,
        driver: String,
        #[serde(default)]
        shape: String,
    }
    let Names { engine, precision, adapter, driver, shape } = Names::deserialize(record)?;
    let known = |name: String, all: &[&'static str]| {
        all.iter()
            .find(|known| **known == name)
            .copied()
            .ok_or_else(|| D::Error::custom(format!("`{name}` is unknown")))
    };
    Ok(EngineInfo {
        engine: known(engine, &["cpu", "gpu", "baseline"])?,
        precision: known(precision, &["f32", "f64"])?,
        adapter,
        driver,
        shape,
    })
}

/// What must be the same for an unfinished run to be continued.
pub(super) fn identity(scenario: &Scenario, engine: &dyn Engine) -> Value {
    let mut info = engine.info();
    if info.engine == "cpu" {
        // Results do not depend on the number of threads.
        info.adapter = crate::cpu::processor_name();
    }
    // The text of the scenario has only the name of a map file, not its content.
    let maps = format!("{:016x}", scenario.maps());
    json!({ "scenario": scenario.text(), "maps": maps, "engine": info, "version": env!("CARGO_PKG_VERSION") })
}

/// Writes all files of the run from its spool.
pub(super) fn write(
    scenario: &Scenario,
    engine: &dyn Engine,
    spool: &Spool,
    needs: &Needs,
    dir: &Path,
    options: &Options,
) -> Result<Summary, RolloutError> {
    let (plan, n) = (scenario.plan(), spool.done());
    let samples = plan.samples.len() as u64;

    let path = dir.join("trajectories.npz");
    let mut npz = Npz::create(&path)?;
    npz.vector("time", &plan.samples)?;
    for column in &COLUMNS {
        let mut shape = vec![n];
        if column.per_sample {
            shape.push(samples);
        }
        if column.width > 1 {
            shape.push(column.width as u64);
        }
        npz.copy(column.name, column.item, &shape, &mut spool.reader(column, 0)?)?;
    }
    npz.finish()?;

    contacts(scenario, &dir.join("contacts.npz"))?;
    let text = stored_scenario(scenario)?;
    let put = |name: &str, text: &str| {
        let path = dir.join(name);
        disk::write(&path, text.as_bytes()).map_err(io(&path))
    };
    put(SCENARIO, &text)?;
    if let Some(draw) = options.draw {
        put("trajectories.svg", &draw(&shown(scenario, spool)?))?;
    }

    let summary = Summary { disk_bytes: needs.disk_bytes, ..summarise(scenario, engine, spool, &options.out)? };
    let spec = scenario.spec();
    let arrays: serde_json::Map<String, Value> =
        COLUMNS.iter().map(|c| (c.name.to_owned(), c.about.into())).chain([("time".into(), "[s]".into())]).collect();
    let run = json!({
        "bristle": env!("CARGO_PKG_VERSION"),
        "scenario": scenario.name(),
        "seed": spec.seed,
        "duration": spec.duration,
        "step": spec.step.longest,
        "tolerance": spec.step.tolerance,
        "record_every": spec.record_every,
        "samples": samples,
        "summary": summary,
        "arrays": arrays,
    });
    appear(dir, &run)?;
    Ok(summary)
}

/// Writes the record. It appears only after all other files are on the disk, so that a crash cannot leave it without
/// them.
pub(super) fn appear(dir: &Path, run: &Value) -> Result<(), RolloutError> {
    let begun = dir.join("run.json.begun");
    disk::write(&begun, format!("{run:#}\n").as_bytes()).map_err(io(&begun))?;
    let appear = || {
        disk::sync_names(dir)?;
        fs::rename(&begun, dir.join(RECORD))?;
        disk::sync_names(dir)
    };
    appear().map_err(io(&dir.join(RECORD)))
}

/// Removes files that were not all written.
pub(super) fn remove(dir: &Path) {
    // Errors are ignored: the files are in the directory of an unfinished run, which writes them again when resumed.
    OTHER_FILES.iter().for_each(|name| drop(fs::remove_file(dir.join(name))));
}

/// The summary of the complete run in `dir`; none if there is no complete one.
///
/// # Errors
/// The run is not of `scenario` and its maps, or it cannot be read.
pub(super) fn of(scenario: &Scenario, dir: &Path) -> Result<Option<Summary>, RolloutError> {
    let path = dir.join(RECORD);
    let Some(record) = text(&path)? else { return Ok(None) };
    let different = |what| RolloutError::Different { path: dir.to_owned(), what };
    let stored = Scenario::load(&dir.join(SCENARIO), &[]).map_err(|_| different("scenario"))?;
    if stored.text() != stored_scenario(scenario)? {
        return Err(different("scenario"));
    }
    if stored.maps() != scenario.maps() {
        return Err(different("maps"));
    }
    let mut record: Value = serde_json::from_str(&record).map_err(|e| io(&path)(e.into()))?;
    serde_json::from_value(record["summary"].take()).map(Some).map_err(|e| io(&path)(e.into()))
}

/// Every parameter of every contact, one array a parameter.
fn contacts(scenario: &Scenario, path: &Path) -> Result<(), RolloutError> {
    parameters(scenario.contacts(), |k| Ok(scenario.parameters(k)?), path)
}

/// The parameters of `n` contacts or worlds, those of one from `of`.
pub(super) fn parameters(
    n: u64,
    of: impl Fn(u64) -> Result<Vec<(String, f64)>, RolloutError>,
    path: &Path,
) -> Result<(), RolloutError> {
    let mut columns: Vec<(String, Vec<f64>)> = Vec::new();
    let mut places = HashMap::new();
    for k in 0..n {
        for (i, (name, value)) in of(k)?.into_iter().enumerate() {
            // Names come in the order of contact 0, except for shapes that have parameters of their own.
            let i = match columns.get(i) {
                Some((known, _)) if *known == name => i,
                _ => *places.entry(name).or_insert_with_key(|name| {
                    columns.push((name.clone(), vec![f64::NAN; n as usize]));
                    columns.len() - 1
                }),
            };
            columns[i].1[k as usize] = value;
        }
    }
    let mut npz = Npz::create(path)?;
    for (name, values) in &columns {
        npz.vector(name, values)?;
    }
    npz.finish()
}

/// Copies the files that `scenario` has read (a map, a table of contacts) into the directory of its run, unless they
/// are there already. The copies are made at the start, because a file may have changed when the run ends.
pub(super) fn keep_files(scenario: &Scenario, dir: &Path) -> Result<(), RolloutError> {
    scenario.files().try_for_each(|(key, file)| keep(key, &file, dir))
}

fn keep(key: &str, map: &Path, dir: &Path) -> Result<(), RolloutError> {
    let copy = dir.join(kept_name(key, map));
    if copy.exists() {
        return Ok(());
    }
    // The copy gets its name only when it is complete, so that an interruption leaves no part of a map under that
    // name.
    let begun = dir.join("file.begun");
    let blamed = |e: std::io::Error| if disk::out_of_space(&e).is_some() { io(&copy)(e) } else { io(map)(e) };
    fs::copy(map, &begun).map_err(blamed)?;
    let last = || File::options().write(true).open(&begun)?.sync_all();
    last().and_then(|()| fs::rename(&begun, &copy)).map_err(io(&copy))
}

/// The name of the copy of the file that `key` names. A table may well be called `contacts.npz`, as a file of the run
/// itself is; its copy therefore has a prefix.
fn kept_name(key: &str, file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if key == "table.file" && !name.starts_with("table-") { format!("table-{name}") } else { name.into_owned() }
}

/// The effective scenario, by which the run can be repeated from its directory.
fn stored_scenario(scenario: &Scenario) -> Result<String, RolloutError> {
    scenario.files().try_fold(scenario.text().to_owned(), |text, (key, file)| {
        let quoted = toml_edit::Value::from(kept_name(key, &file)).to_string();
        Ok(change(&text, &format!("{key}={quoted}"))?)
    })
}

/// The contacts of a run's picture: as many as may be, over the whole run.
fn shown(scenario: &Scenario, spool: &Spool) -> Result<Shown, RolloutError> {
    let n = spool.done();
    let shown = n.min(MOST_SHOWN);
    let (displacement, rotation, failed) =
        (spool.scalars("displacement")?, spool.scalars("rotation")?, spool.scalars("failed_step")?);
    let mut curves = Vec::new();
    for i in 0..shown {
        let k = i * n / shown;
        let at = k as usize;
        let motion = NetMotion { displacement: displacement[at], rotation: rotation[at] };
        curves.push(Curve { poses: spool.poses(k)?, outcome: motion.outcome(failed[at] >= 0.0) });
    }
    let of = if shown < n { format!("{shown} of ") } else { String::new() };
    let which = format!("{of}{n} contact{}", if n == 1 { "" } else { "s" });
    Ok(Shown { which, time: scenario.plan().samples, curves })
}

fn summarise(scenario: &Scenario, engine: &dyn Engine, spool: &Spool, out: &Path) -> Result<Summary, RolloutError> {
    let sum = |name: &str| Ok::<u64, RolloutError>(spool.scalars(name)?.iter().sum::<f64>() as u64);
    let mut status = Counts::default();
    let motions = spool.scalars("displacement")?.into_iter().zip(spool.scalars("rotation")?);
    let words = spool.scalars("status")?.into_iter().zip(spool.scalars("failed_step")?);
    for ((displacement, rotation), (word, failed)) in motions.zip(words) {
        let motion = NetMotion { displacement, rotation };
        status.unconverged += u64::from(word as u32 & UNCONVERGED != 0);
        let outcome = motion.outcome(failed >= 0.0);
        let is = |any: &[Outcome]| u64::from(any.contains(&outcome));
        status.stuck += is(&[Outcome::Stuck]);
        status.slipped += is(&[Outcome::Slipped, Outcome::SlippedAndSpun]);
        status.spun += is(&[Outcome::Spun, Outcome::SlippedAndSpun]);
        status.slipped_and_spun += is(&[Outcome::SlippedAndSpun]);
        status.failed += is(&[Outcome::Failed]);
        status.out_of_steps += u64::from(word as u32 & Reason::Steps as u32 != 0);
    }
    let (steps, wall_s) = (sum("steps")?, spool.seconds());
    Ok(Summary {
        engine: engine.info(),
        contacts: spool.done(),
        steps,
        passes: sum("passes")?,
        wall_s,
        contact_steps_per_s: if wall_s > 0.0 { steps as f64 / wall_s } else { 0.0 },
        status,
        unconverged_stages: sum("unconverged")?,
        step: scenario.spec().step.longest,
        tolerance: scenario.spec().step.tolerance,
        disk_bytes: 0,
        out: out.display().to_string(),
    })
}
