//! Joins the shards of a run: their raw arrays give the same datasets as a run in one piece.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::check::Sums;
use super::columns::{COLUMNS, OfBristles};
use super::error::{RolloutError, io};
use super::finish::Finish;
use super::format::Extra;
use super::names::RECORD;
use super::raw::Raw;
use super::record::{self, SCENARIO, Summary};
use super::shard::Shard;
use super::{Begun, Options, begin, complete, difference, find, needs, partial, place, publish, spool};
use bristle::error::ParameterError;
use bristle_scenario::Scenario;

/// What the identity of an unfinished merge says in place of a shard.
pub(super) const MERGED: &str = "all";

/// Shards that are complete and fit together.
#[derive(Debug)]
pub struct Merge {
    scenario: Scenario,
    name: String,
    summary: Summary,
    seconds: f64,
    processors: Vec<String>,
    raw: Raw,
    dirs: Vec<PathBuf>,
    /// Of what is recorded of bristles, what a shard has not, and its directory.
    without: Vec<(Extra, PathBuf)>,
}

/// A complete shard.
struct Part {
    dir: PathBuf,
    shard: Shard,
    record: Value,
    summary: Summary,
    scenario: Scenario,
    sums: Sums,
}

/// Most shards that are named in a message.
const MOST_NAMED: usize = 20;

impl Part {
    fn open(dir: &Path) -> Result<Self, RolloutError> {
        let path = dir.join(RECORD);
        let wrong = |why: &str| RolloutError::Shards(format!("{}: {why}", dir.display()));
        let Some((record, sums)) = Sums::of(dir)? else {
            return Err(wrong(
                "is no complete shard: expected the directory of a `rollout` with `shard` that has ended",
            ));
        };
        sums.check_small()?;
        let number = |name: &str| record["shard"][name].as_u64();
        let (Some(index), Some(of)) = (number("index"), number("of")) else {
            return Err(wrong("is a run, and no shard of one: expected directories of `rollout` with `shard`"));
        };
        let summary: Summary = serde_json::from_value(record["summary"].clone()).map_err(|e| io(&path)(e.into()))?;
        let scenario = Scenario::load(&dir.join(SCENARIO), &[])?;
        let shard = Shard { index, of };
        let all = scenario.contacts();
        let is_one = of <= all && (1..=of).contains(&index);
        let expected = if is_one { shard.range(all).end - shard.range(all).start } else { 0 };
        if !is_one || summary.contacts != expected {
            let found = format!("{} contacts in shard {shard} of {all}", summary.contacts);
            let accepted = if is_one { format!("{expected} contacts") } else { "a shard that there may be".to_owned() };
            return Err(RolloutError::File { path, reason: format!("{found}: expected {accepted}") });
        }
        Ok(Self { dir: dir.to_owned(), shard, record, summary, scenario, sums })
    }

    /// Why it is not of the same run as `other`.
    fn differs(&self, other: &Self) -> Option<String> {
        let engine = |part: &Self| (part.summary.engine.engine, part.summary.engine.precision);
        let checks = [
            ("scenario", self.scenario.text() == other.scenario.text()),
            ("maps", self.scenario.maps() == other.scenario.maps()),
            ("number of shards", self.shard.of == other.shard.of),
            ("engine or precision", engine(self) == engine(other)),
            ("version of the program", self.record["bristle"] == other.record["bristle"]),
        ];
        let (what, _) = checks.into_iter().find(|(_, is_same)| !is_same)?;
        let text = self.scenario.text();
        let first = match what {
            "scenario" => difference::of_scenarios(text, other.scenario.text()),
            "maps" => difference::of_files(text, &difference::maps(&self.scenario), &difference::maps(&other.scenario)),
            what => return Some(what.to_owned()),
        };
        Some(format!("scenario ({})", first.replacen("where it has", "where the first has", 1)))
    }

    /// Whether that was recorded.
    fn has(&self, extra: Extra) -> bool {
        let with = self.record["with"].as_array();
        with.is_some_and(|with| with.iter().any(|other| *other == extra.name()))
    }

    /// Refuses files that are not as they were written, and arrays of other lengths than the record says.
    fn check(&self) -> Result<(), RolloutError> {
        self.sums.check_all()?;
        let samples = self.scenario.plan().samples.len();
        let patch = &self.scenario.first().contact.patch;
        let recorded = OfBristles {
            shear: self.has(Extra::Shear).then(|| *patch.grid()),
            markers: self.scenario.first().contact.layer().is_some(),
            sensor: None,
            patches: self.has(Extra::Patches).then(|| patch.parts().len()),
        };
        for column in COLUMNS.into_iter().chain(recorded.columns()) {
            let path = self.dir.join(spool::RAW).join(column.name);
            self.sums.check_listed(&format!("{}/{}", spool::RAW, column.name))?;
            let (found, expected) = (
                path.metadata().map_err(io(&path))?.len(),
                self.summary.contacts.saturating_mul(column.bytes(samples)),
            );
            if found != expected {
                let reason = format!("{found} bytes: expected {expected}, as the record says");
                return Err(RolloutError::File { path, reason });
            }
        }
        Ok(())
    }
}

impl Merge {
    /// The run of which `dirs` are all shards, in any order.
    ///
    /// # Errors
    /// No shard, a shard that is not complete or damaged, shards of different runs, one that is there twice,
    /// or shards that are missing, which are named.
    pub fn open(dirs: &[PathBuf]) -> Result<Self, RolloutError> {
        let mut parts: Vec<Part> = dirs.iter().map(|dir| Part::open(dir)).collect::<Result<_, _>>()?;
        parts.sort_by_key(|part| part.shard.index);
        let Some(first) = parts.first() else {
            return Err(RolloutError::Shards("no shards: expected their directories".to_owned()));
        };
        let of = first.shard.of;
        for pair in parts.windows(2) {
            let places = format!("{} and {}", pair[0].dir.display(), pair[1].dir.display());
            if let Some(what) = pair[1].differs(&pair[0]) {
                return Err(RolloutError::Shards(format!("{places} are of different runs: another {what}")));
            }
            if pair[0].shard == pair[1].shard {
                return Err(RolloutError::Shards(format!("{places} are both shard {}", pair[0].shard)));
            }
        }
        let is_there = |index: &u64| parts.binary_search_by_key(index, |part| part.shard.index).is_ok();
        let missing = of - parts.len() as u64;
        if missing > 0 {
            let named = (1..=of).filter(|index| !is_there(index)).take(MOST_NAMED);
            let named: Vec<String> = named.map(|index| format!("{index}/{of}")).collect();
            let others = if missing > MOST_NAMED as u64 { ", .." } else { "" };
            let message = format!("{missing} of {of} shards are missing: {}{others}", named.join(", "));
            return Err(RolloutError::Shards(message));
        }
        parts.iter().try_for_each(Part::check)?;
        let samples = first.scenario.plan().samples.len();
        let mut raw = Raw::of(&first.dir.join(spool::RAW), first.summary.contacts, samples);
        parts[1..].iter().for_each(|part| raw.append(&part.dir.join(spool::RAW), part.summary.contacts));
        let seconds = parts.iter().map(|part| part.summary.wall_s).sum();
        let mut processors: Vec<String> = Vec::new();
        for processor in parts.iter().flat_map(|part| &part.summary.processors) {
            if !processors.contains(processor) {
                processors.push(processor.clone());
            }
        }
        let lacks = |extra| parts.iter().find(|part| !part.has(extra)).map(|part| (extra, part.dir.clone()));
        let without = [Extra::Shear, Extra::Patches].into_iter().filter_map(lacks).collect();
        let dirs = parts.iter().map(|part| part.dir.clone()).collect();
        let first = parts.swap_remove(0);
        let name = first.record["scenario"].as_str().unwrap_or_default().to_owned();
        let Part { summary, scenario, .. } = first;
        Ok(Self { name, seconds, processors, raw, dirs, without, summary, scenario })
    }

    /// The scenario of the run.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

/// Joins shards into the run that `options` say, with its datasets: the bytes are those of the run in one
/// piece. With [`Options::resume`] files that are complete stay as they are.
///
/// # Errors
/// See [`RolloutError`]; whatever happens, `options.out` is complete or as it was, and the shards are as they
/// were.
pub fn merge(merge: &Merge, options: &Options) -> Result<Summary, RolloutError> {
    let Merge { scenario, name, summary, seconds, processors, raw, dirs, without } = merge;
    let out = place::real(&options.out);
    let overlaps = |shard: &&PathBuf| {
        let shard = place::real(shard);
        out.starts_with(&shard) || shard.starts_with(&out)
    };
    if let Some(shard) = dirs.iter().find(overlaps) {
        let accepted = format!("a directory that is neither in nor around {}, which is merged", shard.display());
        return Err(RolloutError::Place(ParameterError::new("out", options.out.display(), accepted)));
    }
    if let Some((extra, dir)) = without.iter().find(|(extra, _)| options.datasets.with(*extra)) {
        let (what, name) = (if *extra == Extra::Shear { "cells" } else { "patches" }, extra.name());
        let why = format!(
            "{}: has no friction of {what}: expected shards that were simulated `--with {name}`",
            dir.display()
        );
        return Err(RolloutError::Shards(why));
    }
    if let Some(summary) = complete(scenario, options)? {
        return Ok(summary);
    }
    let disk_bytes = needs::of_merge(scenario, options)?;
    let dir = partial(&options.out);
    let held = match begin(options, &dir, &|dir| find(scenario, options, dir))? {
        Begun::Complete(summary) => return Ok(summary),
        Begun::Locked(held) => held,
    };
    let mut identity = record::identity(scenario, Some(&summary.engine), None, &options.datasets);
    // It has no raw arrays of its own, so that it is not one that a rollout has begun.
    identity["shard"] = MERGED.into();
    spool::mark(&dir, &identity, options.resume)?;
    record::keep_files(scenario, &dir)?;
    let (engine, processors) = (summary.engine.clone(), processors.clone());
    let finish = Finish { scenario, name, engine, processors, raw, seconds: *seconds, disk_bytes, dir: &dir, options };
    let summary = finish.write().inspect_err(|_| record::remove(&dir))?;
    publish(&dir, options, held)?;
    Ok(summary)
}
