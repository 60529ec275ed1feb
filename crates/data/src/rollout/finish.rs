//! The files of a finished run, from its raw arrays. Datasets (`npz`, `zarr`, `lerobot`) are written side by
//! side, each in parts. What is in a part depends on the run alone, so that a complete part stays when an
//! interrupted run is resumed. An NPZ file is one part. The record is written last.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::columns::Column;
use super::episodes::Layout;
use super::error::{RolloutError, io};
use super::format::Format;
use super::manifest::Digests;
use super::names::SPOOL;
use super::npz::Npz;
use super::outcome::{NetMotion, Outcome};
use super::own::Own;
use super::parameters::Parameters;
use super::parts::{PARTS, Parts};
use super::raw::Raw;
use super::record::{Counts, MOST_SHOWN, SCENARIO, Summary, stored_scenario};
use super::writing::Count;
use super::{Curve, Options, Shown, labels, manifest, spool, zarr};
use crate::disk;
use bristle::engine::{EngineInfo, LEFT, Reason, UNCONVERGED};
use bristle::pool;
use bristle_scenario::{Descriptions, Scenario};

/// Contacts whose outcomes are read together.
const BLOCK: u64 = 1 << 16;

/// A run whose contacts are complete.
pub(super) struct Finish<'a> {
    pub scenario: &'a Scenario,
    /// What the record calls the scenario.
    pub name: &'a str,
    pub engine: EngineInfo,
    /// What has simulated the contacts.
    pub processors: Vec<String>,
    pub raw: &'a Raw,
    /// Time that engines took [s].
    pub seconds: f64,
    pub disk_bytes: u64,
    /// The directory of the unfinished run.
    pub dir: &'a Path,
    pub options: &'a Options,
}

/// What is known of datasets when they are written.
#[derive(Default)]
struct Written {
    /// What their parameters are.
    parameters: Map<String, Value>,
    /// Digests of files.
    digests: Digests,
}

impl Finish<'_> {
    /// Writes all files.
    pub fn write(&self) -> Result<Summary, RolloutError> {
        let is_whole = self.options.shard.is_none();
        let datasets = || if is_whole { self.datasets() } else { Ok(Written::default()) };
        let others = || {
            self.put(SCENARIO, &stored_scenario(self.scenario)?)?;
            if let (Some(draw), true) = (self.options.draw, is_whole) {
                self.put("trajectories.svg", &draw(&self.shown()?))?;
            }
            self.summary()
        };
        let (datasets, summary) = pool::run(|| rayon::join(datasets, others));
        let (Written { parameters, digests }, summary) = (datasets?, summary?);
        if !is_whole {
            let spool = self.dir.join(SPOOL);
            let parts = spool.join(PARTS);
            if parts.exists() {
                fs::remove_file(&parts).map_err(io(&parts))?;
            }
            fs::rename(&spool, self.dir.join(spool::RAW)).map_err(io(&spool))?;
        }
        // What others have put here is not to become a file of the run.
        Own::of(self.dir, true)?.check()?;
        manifest::appear(self.dir, self.record(&summary, parameters)?, &digests)?;
        Ok(summary)
    }

    /// Writes the datasets, side by side.
    fn datasets(&self) -> Result<Written, RolloutError> {
        let datasets = &self.options.datasets;
        let notes = self.dir.join(SPOOL);
        let parameters = Parameters::draw(self.scenario.contacts(), &notes.join("parameters"), |k| {
            Ok(self.scenario.parameters(k)?)
        })?;
        let layout = Layout::new(self.scenario, datasets)?;
        let count =
            self.options.writing.as_ref().map(|writing| Arc::new(Count::new(writing.clone(), self.bytes(&layout))));
        let raw = &self.raw.counted(count.as_ref());
        let parts = Parts::open(self.dir)?;
        let attributes = self.attributes();
        let npz =
            || if datasets.has(Format::Npz) { self.npz(raw, &parameters, &layout, &notes) } else { Ok(Vec::new()) };
        let zarr = || {
            let dir = self.dir.join(zarr::DIRECTORY);
            let writer = zarr::Writer { dir, raw, layout: &layout, parameters: &parameters, parts: &parts };
            if datasets.has(Format::Zarr) { writer.write(&attributes) } else { Ok(()) }
        };
        #[cfg(feature = "lerobot")]
        let lerobot = || {
            use super::lerobot;
            let dir = self.dir.join(lerobot::DIRECTORY);
            let scenario = self.scenario;
            let (layout, parameters, parts, notes) = (&layout, &parameters, &parts, notes.clone());
            let writer = lerobot::Writer { dir, notes, scenario, raw, layout, parameters, parts };
            if datasets.has(Format::Lerobot) { writer.write(&attributes) } else { Ok(()) }
        };
        #[cfg(not(feature = "lerobot"))]
        let lerobot = || Ok(());
        let (npz, (zarr, lerobot)) = pool::run(|| rayon::join(npz, || rayon::join(zarr, lerobot)));
        zarr.and(lerobot)?;
        count.iter().for_each(|count| count.end());
        let about = Descriptions::of_scenarios();
        let described = parameters.names().map(|name| (name.to_owned(), about.of(name).into())).collect();
        parameters.remove();
        let mut digests = parts.digests();
        digests.extend(npz?.into_iter().map(|(name, digest)| (name.to_owned(), digest)));
        Ok(Written { parameters: described, digests })
    }

    /// Bytes of raw arrays that the datasets are made of, about: each format takes all of them, and again
    /// half of them for labels and actions.
    fn bytes(&self, layout: &Layout) -> u64 {
        let contact: u64 = layout.columns().map(|column| column.bytes(self.raw.samples())).sum();
        let formats = self.options.datasets.formats.len() as u64;
        formats * self.raw.contacts() * contact * 3 / 2
    }

    /// Writes `trajectories.npz` and `contacts.npz`; returns their digests.
    fn npz(
        &self,
        raw: &Raw,
        parameters: &Parameters,
        layout: &Layout,
        notes: &Path,
    ) -> Result<Vec<(&'static str, String)>, RolloutError> {
        let [trajectories, contacts] = ["trajectories.npz", "contacts.npz"];
        let n = raw.contacts();
        let write = || {
            let path = self.dir.join(trajectories);
            let mut npz = Npz::create(&path)?;
            let action = labels::arrays(layout).into_iter().find(|array| array.name == labels::ACTION);
            let columns = |npz: &mut Npz| {
                npz.vector("time", &self.scenario.plan().samples)?;
                for (i, column) in layout.columns().enumerate() {
                    let shape = column.shape(n, raw.samples());
                    npz.copy(column.name, column.item, &shape, &mut raw.reader(&column, 0..n)?)?;
                    // An array is hashed when it is complete, while the next ones are written: actions, which
                    // are many and are written as they are made, come between others.
                    if let (0, Some(action)) = (i, &action) {
                        let mut actions = labels::actions(layout, n);
                        npz.copy(&action.name, action.numbers, &action.shape(n), &mut actions)?;
                    }
                }
                Ok(())
            };
            // Labels are made while the columns before them are written.
            let labels = || labels::Files::write(&layout.without_actions(), raw, notes);
            let (columns, labels) = pool::run(|| rayon::join(|| columns(&mut npz), labels));
            let labels = columns.and(labels)?;
            for array in labels.arrays() {
                npz.copy(&array.name, array.numbers, &array.shape(n), &mut labels.reader(array)?)?;
            }
            labels.remove();
            npz.finish()
        };
        let (written, drawn) = pool::run(|| rayon::join(write, || parameters.npz(&self.dir.join(contacts))));
        Ok(vec![(trajectories, written?), (contacts, drawn?)])
    }

    /// What the metadata of datasets say of the run.
    fn attributes(&self) -> Value {
        let spec = self.scenario.spec();
        json!({
            "bristle": env!("CARGO_PKG_VERSION"),
            "seed": spec.seed,
            "duration": spec.duration,
            "record_every": spec.record_every,
            "engine": self.engine.engine,
            "precision": self.engine.precision,
            "scenario": self.scenario.text(),
        })
    }

    /// The record of the run, with what its `parameters` are.
    fn record(&self, summary: &Summary, parameters: Map<String, Value>) -> Result<Value, RolloutError> {
        let spec = self.scenario.spec();
        let layout = Layout::new(self.scenario, &self.options.datasets)?;
        let about = |c: Column| (c.name.to_owned(), c.about.into());
        let mut arrays: Map<String, Value> =
            layout.columns().map(about).chain([("time".into(), "[s]".into())]).collect();
        if self.options.shard.is_none() {
            arrays.extend(labels::arrays(&layout).into_iter().map(|array| (array.name, array.about.into())));
        }
        let mut run = json!({
            "bristle": env!("CARGO_PKG_VERSION"),
            "scenario": self.name,
            "seed": spec.seed,
            "duration": spec.duration,
            "step": spec.step.longest,
            "tolerance": spec.step.tolerance,
            "record_every": spec.record_every,
            "samples": self.raw.samples(),
            "summary": summary,
            "arrays": arrays,
        });
        if let Some(clipped) = self.scenario.clipped() {
            run["clipped"] = json!(clipped);
        }
        match self.options.shard {
            Some(shard) => {
                let range = shard.range(self.scenario.contacts());
                run["shard"] = json!({ "index": shard.index, "of": shard.of, "from": range.start, "to": range.end });
                run["with"] = self.options.datasets.record()["with"].take();
            }
            None => {
                run["datasets"] = self.options.datasets.record();
                run["parameters"] = parameters.into();
            }
        }
        Ok(run)
    }

    /// The contacts of a run's picture: as many as may be, over the whole run.
    fn shown(&self) -> Result<Shown, RolloutError> {
        let n = self.raw.contacts();
        let shown = n.min(MOST_SHOWN);
        let mut curves = Vec::new();
        for i in 0..shown {
            let k = i * n / shown;
            let one = |name| self.raw.numbers(name, k..k + 1).map(|all| all[0]);
            let motion = NetMotion { displacement: one("displacement")?, rotation: one("rotation")? };
            curves.push(Curve { poses: self.raw.poses(k)?, outcome: motion.outcome(one("failed_step")? >= 0.0) });
        }
        let of = if shown < n { format!("{shown} of ") } else { String::new() };
        let which = format!("{of}{n} contact{}", if n == 1 { "" } else { "s" });
        Ok(Shown { which, time: self.scenario.plan().samples, curves })
    }

    fn summary(&self) -> Result<Summary, RolloutError> {
        let n = self.raw.contacts();
        let (mut status, mut steps, mut passes, mut unconverged) = (Counts::default(), 0, 0, 0);
        for from in (0..n).step_by(BLOCK as usize) {
            let contacts = from..n.min(from + BLOCK);
            let read = |name| self.raw.numbers(name, contacts.clone());
            let motions = read("displacement")?.into_iter().zip(read("rotation")?);
            let words = read("status")?.into_iter().zip(read("failed_step")?);
            for ((displacement, rotation), (word, failed)) in motions.zip(words) {
                status.add(NetMotion { displacement, rotation }.outcome(failed >= 0.0), word as u32);
            }
            // Files may claim any number.
            let add = |to: u64, name| {
                Ok::<u64, RolloutError>(read(name)?.iter().fold(to, |to, v| to.saturating_add(*v as u64)))
            };
            steps = add(steps, "steps")?;
            passes = add(passes, "passes")?;
            unconverged = add(unconverged, "unconverged")?;
        }
        Ok(Summary {
            engine: self.engine.clone(),
            processors: self.processors.clone(),
            contacts: n,
            steps,
            passes,
            wall_s: self.seconds,
            contact_steps_per_s: if self.seconds > 0.0 { steps as f64 / self.seconds } else { 0.0 },
            status,
            unconverged_stages: unconverged,
            step: self.scenario.spec().step.longest,
            tolerance: self.scenario.spec().step.tolerance,
            disk_bytes: self.disk_bytes,
            out: self.options.name(),
        })
    }

    fn put(&self, name: &str, text: &str) -> Result<(), RolloutError> {
        let path = self.dir.join(name);
        disk::write(&path, text.as_bytes()).map_err(io(&path))
    }
}

impl Counts {
    /// Counts a contact with that outcome and that word of its status.
    fn add(&mut self, outcome: Outcome, word: u32) {
        let is = |any: &[Outcome]| u64::from(any.contains(&outcome));
        self.unconverged += u64::from(word & UNCONVERGED != 0);
        self.stuck += is(&[Outcome::Stuck]);
        self.slipped += is(&[Outcome::Slipped, Outcome::SlippedAndSpun]);
        self.spun += is(&[Outcome::Spun, Outcome::SlippedAndSpun]);
        self.slipped_and_spun += is(&[Outcome::SlippedAndSpun]);
        self.failed += is(&[Outcome::Failed]);
        self.out_of_steps += u64::from(word & Reason::Steps as u32 != 0);
        self.left += u64::from(word & LEFT != 0);
    }
}
