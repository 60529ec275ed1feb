//! Adds contacts to a complete run: its contacts are copied, the others are simulated.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::check::Sums;
use super::columns::{Column, OF_PATCHES, SHEAR};
use super::difference::{self, different};
use super::error::{RolloutError, io};
use super::format::{Datasets, Extra};
use super::names::RECORD;
use super::record::{Summary, check_scenario};
use bristle::engine::EngineInfo;
use bristle::error::ParameterError;
use bristle_scenario::input::Npz;
use bristle_scenario::{Scenario, change};

/// The file with the contacts that are taken over.
const TRAJECTORIES: &str = "trajectories.npz";

/// A finished run that is to be extended.
pub(super) struct Finished {
    trajectories: PathBuf,
    sums: Sums,
    /// How many contacts it has.
    pub contacts: u64,
    /// Time that the engine took [s].
    pub seconds: f64,
    /// What has simulated them.
    pub processors: Vec<String>,
    engine: EngineInfo,
    version: Value,
}

impl Finished {
    /// The run in `dir`, which is of `scenario` but for the number of its contacts.
    ///
    /// # Errors
    /// No finished run, a record or a scenario that is damaged, one of another scenario or with other maps,
    /// one with more contacts, one without NPZ, one without the friction of cells, which only a simulation
    /// makes, that is in `datasets`, or one with formats or extras that are not.
    pub fn open(scenario: &Scenario, datasets: &Datasets, dir: &Path) -> Result<Self, RolloutError> {
        let wrong = |what: &str, accepted: &str| {
            RolloutError::Extend(ParameterError::new("out", format!("{}, {what}", dir.display()), accepted))
        };
        let path = dir.join(RECORD);
        let Some((record, sums)) = Sums::of(dir)? else {
            return Err(wrong("where no finished run is", "the directory of the run that is to be extended"));
        };
        sums.check_small()?;
        let summary: Summary = serde_json::from_value(record["summary"].clone()).map_err(|e| io(&path)(e.into()))?;
        if !record["shard"].is_null() {
            return Err(wrong("a shard", "a run in one piece"));
        }
        let with_as_many = |text: &str| change(text, &format!("contacts={}", scenario.contacts()));
        check_scenario(dir, scenario, with_as_many)?;
        if summary.contacts > scenario.contacts() {
            let accepted = format!("at least {}, which the run has that is extended", summary.contacts);
            return Err(RolloutError::Extend(ParameterError::new("contacts", scenario.contacts(), accepted)));
        }
        let trajectories = dir.join(TRAJECTORIES);
        if summary.contacts < scenario.contacts() && !trajectories.is_file() {
            return Err(wrong("a run without `trajectories.npz`", "a run with the format npz"));
        }
        for (extra, array) in [(Extra::Shear, SHEAR[0]), (Extra::Patches, OF_PATCHES[0])] {
            if datasets.with(extra) && record["arrays"][array].is_null() {
                let name = extra.name();
                let accepted = format!("one that was made `--with {name}`, or no `{name}`");
                return Err(wrong(&format!("a run without `{name}`"), &accepted));
            }
        }
        let (own, there) = (datasets.record(), &record["datasets"]);
        let names = |of: &Value| {
            of.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        };
        let [has, asked] = [there, &own].map(|of| ["formats", "with"].map(|what| -> Vec<String> { names(&of[what]) }));
        if has.iter().zip(&asked).any(|(has, asked)| has.iter().any(|name| !asked.contains(name))) {
            let [formats, extras] = has.map(|names| names.join(","));
            let extras = if extras.is_empty() { extras } else { format!(" --with {extras}") };
            let found = format!("a run that was made `--format {formats}{extras}`");
            return Err(wrong(&found, "these formats and extras, or more: what is left out would be lost"));
        }
        let Summary { contacts, wall_s: seconds, processors, engine, .. } = summary;
        let version = record["bristle"].clone();
        Ok(Self { trajectories, sums, contacts, seconds, processors, engine, version })
    }

    /// Checks that what comes is computed as the contacts were that are there.
    pub fn check_engine(&self, engine: &EngineInfo, out: &Path) -> Result<(), RolloutError> {
        let checks = [
            ("engine", engine.engine, Some(self.engine.engine)),
            ("precision", engine.precision, Some(self.engine.precision)),
            ("version", env!("CARGO_PKG_VERSION"), self.version.as_str()),
        ];
        let mut differences = checks
            .into_iter()
            .filter_map(|(what, own, there)| Some((what, difference::first(what, &own.into(), &there.into())?)));
        differences.next().map_or(Ok(()), |(what, first)| Err(different(out, what, first)))
    }

    /// Checks that what is taken over is as it was written.
    pub fn check_files(&self) -> Result<(), RolloutError> {
        self.sums.check_file(TRAJECTORIES)
    }

    /// Writes the bytes of an array of all contacts, as they are in its raw file.
    pub fn read(&self, column: &Column, samples: usize, to: &mut impl Write) -> Result<(), RolloutError> {
        let shape: Vec<usize> = column.shape(self.contacts, samples).into_iter().map(|n| n as usize).collect();
        Ok(Npz::open(&self.trajectories)?.copy(column.name, &shape, column.item.size() as usize, to)?)
    }
}
