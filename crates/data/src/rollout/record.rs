//! The record of a complete run, `run.json`: scenario, engine, files, and outcomes of its contacts.

use std::fs::{self, File};
use std::path::Path;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::check::{self, Sums};
use super::difference::{self, different};
use super::error::{RolloutError, io};
use super::format::Datasets;
use super::names::{BEGUN, RECORD};
use super::parts::Parts;
use super::shard::Shard;
use crate::disk;
use bristle::engine::EngineInfo;
use bristle_scenario::{BASELINE, FILE_KEYS, FRICTION_MAP, RELIEF, Scenario, ScenarioError, change};

pub(super) const SCENARIO: &str = "scenario.toml";
/// The other files of a run that are written from their beginning again, and the names of files while they
/// are written.
pub(super) const OTHER_FILES: [&str; 6] =
    ["trajectories.npz", "contacts.npz", SCENARIO, "trajectories.svg", "file.begun", BEGUN];
/// Most contacts, or worlds, in a picture.
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
    /// Left, as `stop_when` of the scenario says, and was stopped.
    #[serde(default)]
    pub left: u64,
    /// Had stages that did not converge.
    pub unconverged: u64,
}

/// A finished run in numbers; what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What ran: `engine`, `precision`, `adapter`, `driver`, and on a GPU `shape`.
    #[serde(flatten, deserialize_with = "engine_of_record")]
    pub engine: EngineInfo,
    /// The processors, or GPUs with their drivers, that simulated the contacts, in the order in which they
    /// began; `adapter` and `driver` are those of the last process.
    #[serde(default)]
    pub processors: Vec<String>,
    /// Number of contacts.
    pub contacts: u64,
    /// Steps of all contacts.
    pub steps: u64,
    /// Passes over the cells of all contacts.
    pub passes: u64,
    /// Time the engine took \[s\].
    pub wall_s: f64,
    /// Steps of all contacts over the engine's time.
    pub contact_steps_per_s: f64,
    /// Counts of contacts.
    pub status: Counts,
    /// Stages that did not converge, of two a step; of a point contact, steps with several solutions.
    pub unconverged_stages: u64,
    /// Longest step \[s\].
    pub step: f64,
    /// Largest estimated error of a step's velocity [m/s], if that chose the steps.
    pub tolerance: Option<f64>,
    /// Most disk space that the run took while it was written, as estimated before it began \[byte\].
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

/// What must be the same for an unfinished run to be continued; without an engine, what that does not
/// tell. The processor may be another: a job that is begun again may come to another machine.
pub(super) fn identity(
    scenario: &Scenario,
    engine: Option<&EngineInfo>,
    shard: Option<Shard>,
    datasets: &Datasets,
) -> Value {
    let mut identity = json!({
        "scenario": scenario.text(),
        // The text of the scenario has only the name of a map file, not its content.
        "maps": difference::maps(scenario),
        "version": env!("CARGO_PKG_VERSION"),
        "shard": shard.map(|shard| shard.to_string()),
        "datasets": datasets.record(),
    });
    if let Some(engine) = engine {
        identity["engine"] = engine_of(engine);
    }
    identity
}

/// What of an engine must be the same for a run to be continued.
pub(super) fn engine_of(info: &EngineInfo) -> Value {
    json!({ "engine": info.engine, "precision": info.precision })
}

/// What an engine computes with: the processor, or the GPU, its driver and the shape of its work. Results do
/// not depend on the number of threads.
pub(super) fn processor(info: &EngineInfo) -> String {
    #[cfg(test)]
    if let Some(other) = super::tests::other_processor() {
        return other;
    }
    if info.engine == "cpu" {
        return bristle::cpu::processor_name();
    }
    let parts = [&info.adapter, &info.driver, &info.shape];
    parts.into_iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ")
}

/// Removes files that were not all written.
pub(super) fn remove(dir: &Path) {
    // Errors are ignored: the files are in the directory of an unfinished run, which writes them again when
    // resumed.
    OTHER_FILES.iter().for_each(|name| drop(fs::remove_file(dir.join(name))));
}

/// The summary of the complete run in `dir`; none if there is no complete one.
///
/// # Errors
/// As [`claimed`], or a file that is not as it was written.
pub(super) fn of(
    scenario: &Scenario,
    shard: Option<Shard>,
    datasets: &Datasets,
    dir: &Path,
) -> Result<Option<Summary>, RolloutError> {
    let found = claimed(scenario, shard, datasets, dir)?;
    if found.is_some() {
        check::check_all(dir)?;
    }
    Ok(found)
}

/// The same of which only the record and the scenario are looked at, no data.
///
/// # Errors
/// A record or a scenario that is damaged; the run is not of `scenario` and its maps, another shard, has
/// other datasets, or it cannot be read.
pub(super) fn claimed(
    scenario: &Scenario,
    shard: Option<Shard>,
    datasets: &Datasets,
    dir: &Path,
) -> Result<Option<Summary>, RolloutError> {
    let path = dir.join(RECORD);
    let Some((mut record, sums)) = Sums::of(dir)? else { return Ok(None) };
    sums.check_small()?;
    check_scenario(dir, scenario, |text| Ok(text.to_owned()))?;
    if record["shard"]["of"].as_u64() != shard.map(|s| s.of)
        || record["shard"]["index"].as_u64() != shard.map(|s| s.index)
    {
        let own = json!(shard.map(|s| json!({ "index": s.index, "of": s.of })));
        let shard = difference::first("shard", &own, &record["shard"]).unwrap_or_default();
        return Err(different(dir, "shard", shard));
    }
    let own = datasets.record();
    if if shard.is_some() { record["with"] != own["with"] } else { record["datasets"] != own } {
        let datasets = match shard {
            Some(_) => difference::first("with", &own["with"], &record["with"]),
            None => difference::first("", &own, &record["datasets"]),
        };
        return Err(different(dir, "datasets", datasets.unwrap_or_default()));
    }
    serde_json::from_value(record["summary"].take()).map(Some).map_err(|e| io(&path)(e.into()))
}

/// Refuses a run in `dir` that is not of `scenario` and its files, `but` for what that makes of both texts.
pub(super) fn check_scenario(
    dir: &Path,
    scenario: &Scenario,
    but: impl Fn(&str) -> Result<String, ScenarioError>,
) -> Result<(), RolloutError> {
    let unread = |_| different(dir, "scenario", "a scenario that cannot be read any more".to_owned());
    let stored = Scenario::load(&dir.join(SCENARIO), &[]).map_err(unread)?;
    let (own, there) = (but(&stored_scenario(scenario)?)?, but(stored.text())?);
    if own != there {
        return Err(different(dir, "scenario", difference::of_scenarios(&own, &there)));
    }
    if stored.maps() != scenario.maps() {
        let (own, there) = (difference::maps(scenario), difference::maps(&stored));
        return Err(different(dir, "maps", difference::of_files(scenario.text(), &own, &there)));
    }
    Ok(())
}

/// Copies the files that `scenario` has read (a map, a table of contacts) into the directory of its run,
/// unless they are there already, as they were copied. The copies are made at the start, because a file may
/// have changed when the run ends.
pub(super) fn keep_files(scenario: &Scenario, dir: &Path) -> Result<(), RolloutError> {
    let parts = Parts::open(dir)?;
    scenario.files().try_for_each(|(key, file)| keep(key, &file, dir, &parts))
}

fn keep(key: &str, map: &Path, dir: &Path, parts: &Parts) -> Result<(), RolloutError> {
    let copy = dir.join(kept_name(key, map));
    if parts.has(&copy)? {
        return Ok(());
    }
    // The copy gets its name only when it is complete, so that an interruption leaves no part of a map under
    // that name.
    let begun = dir.join("file.begun");
    let blamed = |e: std::io::Error| if disk::out_of_space(&e).is_some() { io(&copy)(e) } else { io(map)(e) };
    fs::copy(map, &begun).map_err(blamed)?;
    let last = || File::options().write(true).open(&begun)?.sync_all();
    last().and_then(|()| fs::rename(&begun, &copy)).map_err(io(&copy))?;
    parts.add_file(&copy)
}

/// The name of the copy of the file that `key` names. A table may well be called `contacts.npz`, as a file of
/// the run itself is, and a baseline as the map is; their copies therefore have a prefix.
fn kept_name(key: &str, file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let prefix = match key {
        "table.file" => "table-",
        BASELINE => "baseline-",
        FRICTION_MAP => "friction-",
        RELIEF => "relief-",
        _ => "",
    };
    if name.starts_with(prefix) { name.into_owned() } else { format!("{prefix}{name}") }
}

/// The names of the copies that an unfinished run has of the files that its scenario has read, by what its
/// progress file says.
pub(super) fn kept_names(progress: &Value) -> Vec<String> {
    let text = progress["identity"]["scenario"].as_str().unwrap_or_default();
    let scenario: Value = toml::from_str(text).unwrap_or_default();
    let name = |key: &str| {
        let file = key.split('.').try_fold(&scenario, |table, name| table.get(name))?;
        Some(kept_name(key, Path::new(file.as_str()?)))
    };
    FILE_KEYS.into_iter().filter_map(name).collect()
}

/// The effective scenario, by which the run can be repeated from its directory.
pub(super) fn stored_scenario(scenario: &Scenario) -> Result<String, RolloutError> {
    scenario.files().try_fold(scenario.text().to_owned(), |text, (key, file)| {
        let quoted = toml_edit::Value::from(kept_name(key, &file)).to_string();
        Ok(change(&text, &format!("{key}={quoted}"))?)
    })
}
