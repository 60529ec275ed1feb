//! Simulates a scenario of rigid bodies to files, as [`rollout`](super::rollout) does for contacts: in
//! blocks, in a directory that appears when the run is complete. An interrupted run can be resumed.

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::blocks::Blocks;
use super::check::{self, Sums};
use super::columns::{Column, Item, contacts, samples};
use super::difference::{different, of_scenarios};
use super::error::{io, text};
use super::names::{RECORD, SPOOL};
use super::needs::{Needs, records};
use super::npz::Npz;
use super::own::Own;
use super::parameters::Parameters;
use super::partial;
use super::raw::Raw;
use super::record::{self, MOST_SHOWN, SCENARIO};
use super::spool::Spool;
use super::stopped::{MOST_STOPPED, StoppedWorld, WorldCounts, word};
use super::{Curve, Format, NetMotion, Options, RolloutError, Shown, check_place, find_complete, make, manifest};
use crate::disk;
use bristle::engine::EngineInfo;
use bristle::error::{EngineError, ParameterError};
use bristle::planar::Pose;
use bristle::schedule::Signal;
use bristle_rigid::world::{Failure, Kind, Pair, State, World, WorldBody, WorldPatch, Worlds};
use bristle_scenario::WorldScenario;

/// What steps the worlds of a run.
pub struct WorldEngine<'a> {
    /// What it is, for the record.
    pub info: EngineInfo,
    /// Makes a batch of worlds.
    pub make: &'a dyn Fn(Vec<World>) -> Result<Worlds, EngineError>,
}

/// A finished run of worlds in numbers; what `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldSummary {
    /// What ran: `engine`, `precision`, `adapter`, `driver`.
    #[serde(flatten, deserialize_with = "record::engine_of_record")]
    pub engine: EngineInfo,
    /// The processors that simulated the worlds, in the order in which they began.
    #[serde(default)]
    pub processors: Vec<String>,
    /// Number of worlds.
    pub worlds: u64,
    /// Steps of all worlds.
    pub steps: u64,
    /// Steps whose contacts were left to Lemke's method, because blocks had not converged.
    pub by_lemke: u64,
    /// Steps that were taken in shorter ones, because their contacts could not be solved as a whole.
    #[serde(default)]
    pub halved: u64,
    /// Groups of bodies that touched, in all steps, which the CPU solved although the engine is a GPU: those
    /// with too many contacts for it, and those of worlds with patches.
    #[serde(default)]
    pub on_cpu: u64,
    /// Largest residual of all steps [-].
    pub residual: f64,
    /// Worlds that were stopped.
    pub failed: u64,
    /// The same by the reason.
    #[serde(default)]
    pub status: WorldCounts,
    /// The first of them: where they were stopped, why, and what to do.
    #[serde(default)]
    pub stopped: Vec<StoppedWorld>,
    /// Time the engine took \[s\].
    pub wall_s: f64,
    /// Steps of all worlds over the engine's time.
    pub world_steps_per_s: f64,
    /// Longest step \[s\].
    pub step: f64,
    /// Directory of the run.
    pub out: String,
}

/// Most samples of a block [byte].
const BLOCK_BYTES: u64 = 64 << 20;
/// Most worlds of a block: a run that is stopped loses no more.
const MOST_WORLDS: u64 = 256;

/// What the patches of bristles do.
const PATCH_WRENCH: &str = "patch_wrench";
const SLIP: &str = "slip";
/// Which bodies a world was stopped for.
const FAILED_BODIES: &str = "failed_bodies";

/// Bytes of an array of an NPZ file beside its numbers: its name three times, and what it has to say.
const BYTES_OF_ARRAY: u64 = 512;
/// How often the text of the scenario is on the disk: in the run, and in its progress file, which is written
/// beside the old one.
const COPIES_OF_TEXT: u64 = 4;

/// The arrays of worlds with so many bodies and pairs, of which some are patches, all but `time`.
pub(super) fn columns(bodies: usize, pairs: usize, patches: bool) -> Vec<Column> {
    let of_patches = [
        samples(
            PATCH_WRENCH,
            3 * pairs,
            "friction [N, N, N m] of each patch on its second body, at the patch origin in the patch frame, NaN of \
             pairs without a patch: [worlds, samples, pairs, 3]",
        ),
        samples(
            SLIP,
            pairs,
            "share of the normal force of each patch on bristles that slip [-], NaN of pairs without a patch: [worlds, \
             samples, pairs]",
        ),
    ];
    let mut columns = vec![
        samples("pose", 7 * bodies, "x, y, z [m] and the quaternion (w, x, y, z) of each body: [.., bodies, 7]"),
        samples(
            "twist",
            6 * bodies,
            "velocity [m/s] and angular velocity [rad/s] of each body, in the world: [worlds, samples, bodies, 6]",
        ),
        samples(
            "force",
            3 * pairs,
            "force [N] of each pair of `contacts` on its second body, in the world: [worlds, samples, pairs, 3]",
        ),
        samples("energy", 1, "kinetic and potential energy [J]"),
        contacts("status", Item::U32, "0 is clean; 1 became non-finite; 4 no solution of a contact problem was found"),
        contacts("failed_step", Item::I64, "step at which the world was stopped, -1 if it was not"),
        contacts("failed_time", Item::F64, "simulated time [s] at which the world was stopped, NaN if it was not"),
        contacts(
            "failed_residual",
            Item::F64,
            "residual [-] of the best solution of the contact problem that was not solved, NaN if there is none",
        ),
        Column {
            width: bodies,
            ..contacts(
                FAILED_BODIES,
                Item::Bool,
                "bodies for which the world was stopped, [worlds, bodies]: those whose numbers were not finite, or all \
                 that touched each other where no solution was found",
            )
        },
        contacts("steps", Item::U64, "steps taken"),
        contacts("by_lemke", Item::U64, "steps whose contacts were left to Lemke's method"),
        contacts("halved", Item::U64, "steps that were taken in shorter ones to solve their contacts"),
        contacts(
            "on_cpu",
            Item::U64,
            "groups of bodies that touched, in all steps, which the CPU solved although the engine is a GPU: those \
             with too many contacts for it, and those of worlds with patches",
        ),
        contacts("residual", Item::F64, "largest residual of a step [-]"),
    ];
    columns.extend(of_patches.into_iter().filter(|_| patches));
    columns
}

/// The complete run of `scenario` that [`Options::resume`] finds, if it finds one.
///
/// # Errors
/// Something is in the way, or the run is another one.
pub fn complete_worlds(scenario: &WorldScenario, options: &Options) -> Result<Option<WorldSummary>, RolloutError> {
    check_place(options)?;
    check_datasets(options)?;
    find_complete(options, |dir| summary_of(scenario, dir))
}

/// Worlds are written as NPZ, in one piece, all of them at once.
fn check_datasets(options: &Options) -> Result<(), RolloutError> {
    let refuse = |field: &str, found: String, accepted: &str| {
        let accepted = format!("{accepted}, as the scenario is of rigid bodies");
        Err(ParameterError::new(field, found, accepted))
    };
    let check = || {
        if let Some(shard) = options.shard {
            let accepted = "a run in one piece, or a run for each part with `seed` and `worlds` of its own";
            return refuse("shard", shard.to_string(), accepted);
        }
        let formats = &options.datasets.formats;
        if formats.iter().any(|format| *format != Format::Npz) || formats.is_empty() {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            return refuse("format", names.join(","), "`npz` alone");
        }
        if let Some(extra) = options.datasets.extras.first() {
            return refuse("with", extra.name().to_owned(), "no extras: poses, twists and forces are written always");
        }
        if options.extend {
            let accepted = "a new run with more `worlds`, whose first worlds are those of the old one";
            return refuse("extend", "given".to_owned(), accepted);
        }
        Ok(())
    };
    check().map_err(RolloutError::Dataset)
}

/// The summary of the complete run in `dir`, whose files are as they were written; none if there is no
/// complete one.
fn summary_of(scenario: &WorldScenario, dir: &Path) -> Result<Option<WorldSummary>, RolloutError> {
    let found = claimed(scenario, dir)?;
    if found.is_some() {
        check::check_all(dir)?;
    }
    Ok(found)
}

/// The same of which only the record and the scenario are looked at, no data.
pub(super) fn claimed(scenario: &WorldScenario, dir: &Path) -> Result<Option<WorldSummary>, RolloutError> {
    let path = dir.join(RECORD);
    let Some((mut record, sums)) = Sums::of(dir)? else { return Ok(None) };
    sums.check_small()?;
    let there = text(dir, SCENARIO)?.unwrap_or_default();
    if there != scenario.text() {
        return Err(different(dir, "scenario", of_scenarios(scenario.text(), &there)));
    }
    serde_json::from_value(record["summary"].take()).map(Some).map_err(|e| io(&path)(e.into()))
}

/// Bytes of a world beside its samples: what it is and where it is, now and at the start.
fn bytes_of_one(world: &World) -> u64 {
    let bodies = world.bodies().iter().map(|body| {
        let signals = body.force.iter().chain(&body.torque).map(Signal::memory).sum::<usize>();
        size_of::<WorldBody>() + size_of::<State>() + signals
    });
    let patches = world.patches().iter().map(|patch| size_of::<WorldPatch>() + patch.bristles().memory());
    2 * (bodies.sum::<usize>() + world.pairs.len() * size_of::<Pair>() + patches.sum::<usize>()) as u64
}

/// The disk space and memory that the run of `scenario` needs.
///
/// # Errors
/// A world that cannot be drawn, or a machine that has less.
pub fn world_needs(scenario: &WorldScenario, options: &Options) -> Result<Needs, RolloutError> {
    let (spec, samples) = (scenario.spec(), scenario.plan().samples.len() as u64);
    let columns = columns(spec.bodies.len(), spec.contacts.len(), scenario.has_patches());
    let bytes = |per_sample: bool| {
        let chosen = columns.iter().filter(|c| c.per_sample == per_sample);
        chosen.map(|c| c.bytes(1)).sum::<u64>()
    };
    let (n, sample, outcome) = (spec.worlds, bytes(true), bytes(false));
    let arrays = scenario.parameters(0)?.len() as u64;
    let parameters = 8 * arrays;
    let block = options.block.unwrap_or((BLOCK_BYTES / (sample * samples)).clamp(1, MOST_WORLDS)).min(n);
    let (one, at_end) = (bytes_of_one(&scenario.world(0)?), parameters + outcome);
    let disk = vec![
        (
            2 * n * samples * sample,
            format!("{n} worlds x {samples} samples x {sample} bytes x 2, once raw and once as arrays"),
        ),
        (
            n * (parameters + 2 * outcome),
            format!("{n} worlds x {} bytes of parameters and outcomes", parameters + 2 * outcome),
        ),
        records(arrays * BYTES_OF_ARRAY + COPIES_OF_TEXT * scenario.text().len() as u64),
    ];
    let memory = vec![
        // The samples of a block as numbers, and once more as bytes when they are written.
        (
            2 * block * samples * sample,
            format!("{block} worlds at a time x {samples} samples x {sample} bytes x 2, as numbers and as bytes"),
        ),
        (block * one, format!("{block} worlds at a time x {one} bytes of bodies and signals")),
        (n * at_end, format!("{n} worlds x {at_end} bytes of parameters and outcomes")),
    ];
    Needs::of("worlds", disk, memory, Blocks::fixed(block), options)
}

/// Simulates `scenario`, whose `needs` are there, on `engine` into `options.out`. `progress` is called with
/// the number of samples of worlds just finished, and asks to stop by returning `false`.
///
/// # Errors
/// See [`RolloutError`]; whatever happens, `options.out` is complete or as it was.
pub fn worlds(
    scenario: &WorldScenario,
    engine: &WorldEngine<'_>,
    options: &Options,
    needs: &Needs,
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Result<WorldSummary, RolloutError> {
    if let Some(summary) = complete_worlds(scenario, options)? {
        return Ok(summary);
    }
    scenario.check()?;
    make(options, needs, &|dir| summary_of(scenario, dir), || simulate(scenario, engine, options, needs, progress))
}

fn simulate(
    scenario: &WorldScenario,
    engine: &WorldEngine<'_>,
    options: &Options,
    needs: &Needs,
    progress: &(dyn Fn(u64) -> bool + Sync),
) -> Result<WorldSummary, RolloutError> {
    let partial = &partial(&options.out);
    let (spec, samples) = (scenario.spec(), &scenario.plan().samples);
    let columns = columns(spec.bodies.len(), spec.contacts.len(), scenario.has_patches());
    let identity = json!({
        "scenario": scenario.text(), "maps": "", "engine": record::engine_of(&engine.info),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let processor = record::processor(&engine.info);
    let mut spool = Spool::begin(partial, options.resume, &identity, processor, &columns, samples.len())?;
    while spool.done() < spec.worlds {
        let start = Instant::now();
        let range = spool.done()..(spool.done() + needs.blocks.next).min(spec.worlds);
        let count = range.end - range.start;
        let mut worlds = (engine.make)(scenario.block(range.clone())?).map_err(|e| e.of_part(range.start))?;
        let mut recorded = Recorded::new(count as usize);
        recorded.take(&worlds);
        for times in samples.windows(2) {
            worlds.advance(times[1] - times[0])?;
            recorded.take(&worlds);
            if !progress(count) {
                return Err(EngineError::Stopped.into());
            }
        }
        progress(count);
        let end = worlds.worlds();
        spool.append(count, start.elapsed().as_secs_f64(), |name| recorded.bytes(name, end))?;
    }
    spool.sync()?;
    write(scenario, engine, &spool, &columns, partial, options).inspect_err(|_| record::remove(partial))
}

/// The samples of a block, each array world after world.
struct Recorded {
    arrays: [Vec<Vec<f64>>; 6],
}

impl Recorded {
    fn new(worlds: usize) -> Self {
        Self { arrays: std::array::from_fn(|_| vec![Vec::new(); worlds]) }
    }

    fn take(&mut self, worlds: &Worlds) {
        for (k, world) in worlds.worlds().iter().enumerate() {
            let [poses, twists, forces, energies, wrenches, slips] = &mut self.arrays;
            let (bodies, pairs) = (world.bodies().len(), world.pairs.len());
            if world.failure().is_some() {
                for (array, more) in [
                    (poses, 7 * bodies),
                    (twists, 6 * bodies),
                    (forces, 3 * pairs),
                    (energies, 1),
                    (wrenches, 3 * pairs),
                    (slips, pairs),
                ] {
                    array[k].extend(std::iter::repeat_n(f64::NAN, more));
                }
                continue;
            }
            for state in world.states() {
                let (t, q) = (state.pose.translation.vector, state.pose.rotation);
                poses[k].extend([t.x, t.y, t.z, q.w, q.i, q.j, q.k]);
                twists[k].extend(state.velocity.iter().chain(state.angular.iter()));
            }
            (0..pairs).for_each(|pair| forces[k].extend(world.force(pair).iter()));
            let [of_wrenches, of_slips] = [wrenches[k].len(), slips[k].len()];
            wrenches[k].resize(of_wrenches + 3 * pairs, f64::NAN);
            slips[k].resize(of_slips + pairs, f64::NAN);
            for patch in world.patches() {
                wrenches[k][of_wrenches + 3 * patch.pair()..][..3].copy_from_slice(&patch.wrench().to_array());
                slips[k][of_slips + patch.pair()] = patch.shares()[0];
            }
            energies[k].push(world.energy());
        }
    }

    /// The bytes of an array; of those with one item a world from the worlds at the end.
    fn bytes(&self, name: &str, end: &[World]) -> Vec<u8> {
        let samples = |k: usize| self.arrays[k].iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        match name {
            "pose" => samples(0),
            "twist" => samples(1),
            "force" => samples(2),
            "energy" => samples(3),
            PATCH_WRENCH => samples(4),
            SLIP => samples(5),
            "status" => end.iter().flat_map(|w| word(w.failure().map(|f| f.why)).to_le_bytes()).collect(),
            // Two's complement of -1 where there was no failure.
            "failed_step" => end.iter().flat_map(|w| w.failure().map_or(u64::MAX, |f| f.step).to_le_bytes()).collect(),
            "failed_time" => {
                end.iter().flat_map(|w| w.failure().map_or(f64::NAN, |_| w.time()).to_le_bytes()).collect()
            }
            "failed_residual" => {
                let residual = |w: &World| match w.failure()?.why {
                    Failure::Unsolved { residual } => Some(residual),
                    Failure::NotFinite => None,
                };
                end.iter().flat_map(|w| residual(w).unwrap_or(f64::NAN).to_le_bytes()).collect()
            }
            FAILED_BODIES => {
                let lost = |w: &World, body: &usize| w.failure().is_some_and(|f| f.bodies.contains(body));
                end.iter().flat_map(|w| (0..w.bodies().len()).map(move |body| lost(w, &body).into())).collect()
            }
            "steps" => end.iter().flat_map(|w| w.steps().to_le_bytes()).collect(),
            "by_lemke" => end.iter().flat_map(|w| w.by_lemke().to_le_bytes()).collect(),
            "halved" => end.iter().flat_map(|w| w.halved().to_le_bytes()).collect(),
            "on_cpu" => end.iter().flat_map(|w| w.on_cpu().to_le_bytes()).collect(),
            _ => end.iter().flat_map(|w| w.residual().to_le_bytes()).collect(),
        }
    }
}

/// Writes all files of the run from its spool.
fn write(
    scenario: &WorldScenario,
    engine: &WorldEngine<'_>,
    spool: &Spool,
    columns: &[Column],
    dir: &Path,
    options: &Options,
) -> Result<WorldSummary, RolloutError> {
    let (spec, n, time, raw) = (scenario.spec(), spool.done(), &scenario.plan().samples, spool.raw());
    let column =
        |name: &str| columns.iter().find(|c| c.name == name).unwrap_or_else(|| unreachable!("no array {name}"));
    let all = |name: &str| raw.numbers_of(column(name), 0..n);
    let path = dir.join("trajectories.npz");
    let mut npz = Npz::create(&path)?;
    npz.vector("time", time)?;
    for column in columns {
        let inner = match column.name {
            "pose" => 7,
            "twist" => 6,
            "force" | PATCH_WRENCH => 3,
            _ => 1,
        };
        let mut shape = vec![n];
        if column.per_sample {
            shape.push(time.len() as u64);
        }
        if inner > 1 {
            shape.extend([(column.width / inner) as u64, inner as u64]);
        } else if [FAILED_BODIES, SLIP].contains(&column.name) {
            shape.push(column.width as u64);
        }
        npz.copy(column.name, column.item, &shape, &mut raw.reader(column, 0..n)?)?;
    }
    let trajectories = npz.finish()?;
    let parameters = dir.join(SPOOL).join("parameters");
    let parameters = Parameters::draw(n, &parameters, |k| Ok(scenario.parameters(k)?))?;
    let drawn = parameters.npz(&dir.join("contacts.npz"))?;
    parameters.remove();
    let put = |name: &str, text: &str| {
        let path = dir.join(name);
        disk::write(&path, text.as_bytes()).map_err(io(&path))
    };
    put(SCENARIO, scenario.text())?;
    if let Some(draw) = options.draw {
        put("trajectories.svg", &draw(&shown(scenario, &raw, columns)?))?;
    }
    let sum = |name: &str| Ok::<u64, RolloutError>(all(name)?.iter().sum::<f64>() as u64);
    let (steps, wall_s) = (sum("steps")?, spool.seconds());
    let words: Vec<u32> = all("status")?.into_iter().map(|word| word as u32).collect();
    let summary = WorldSummary {
        engine: engine.info.clone(),
        processors: spool.processors(),
        worlds: n,
        steps,
        by_lemke: sum("by_lemke")?,
        halved: sum("halved")?,
        on_cpu: sum("on_cpu")?,
        residual: all("residual")?.into_iter().fold(0.0, f64::max),
        failed: words.iter().filter(|word| **word != 0).count() as u64,
        status: WorldCounts::of(&words),
        stopped: stopped(scenario, &raw, columns, &words, engine.info.precision == "f32")?,
        wall_s,
        world_steps_per_s: if wall_s > 0.0 { steps as f64 / wall_s } else { 0.0 },
        step: spec.step,
        out: options.name(),
    };
    let arrays: serde_json::Map<String, Value> =
        columns.iter().map(|c| (c.name.to_owned(), c.about.into())).chain([("time".into(), "[s]".into())]).collect();
    let bodies: Vec<&str> = spec.bodies.iter().map(|body| body.name.as_str()).collect();
    let run = json!({
        "bristle": env!("CARGO_PKG_VERSION"),
        "scenario": scenario.name(),
        "seed": spec.seed,
        "duration": spec.duration,
        "step": spec.step,
        "record_every": spec.record_every,
        "samples": time.len(),
        "bodies": bodies,
        "summary": summary,
        "arrays": arrays,
    });
    // What others have put here is not to become a file of the run.
    Own::of(dir, true)?.check()?;
    let digests = [("trajectories.npz".to_owned(), trajectories), ("contacts.npz".to_owned(), drawn)];
    manifest::appear(dir, run, &digests.into())?;
    Ok(summary)
}

/// The first of the worlds that were stopped, which are those with another word than 0; their contacts were
/// solved in single precision or not.
fn stopped(
    scenario: &WorldScenario,
    raw: &Raw,
    columns: &[Column],
    words: &[u32],
    is_single: bool,
) -> Result<Vec<StoppedWorld>, RolloutError> {
    let column =
        |name: &str| columns.iter().find(|c| c.name == name).unwrap_or_else(|| unreachable!("no array {name}"));
    let steps = (scenario.spec().step, is_single);
    let first = (0u64..).zip(words).filter(|(_, word)| **word != 0).take(MOST_STOPPED);
    let one = |(k, word): (u64, &u32)| {
        let number = |name: &str| Ok::<f64, RolloutError>(raw.numbers_of(column(name), k..k + 1)?[0]);
        let chosen = raw.bytes(column(FAILED_BODIES), k..k + 1)?;
        let names = scenario.spec().bodies.iter().zip(chosen).filter(|(_, chosen)| *chosen != 0);
        let names = names.map(|(body, _)| body.name.clone()).collect();
        let at = (number("failed_step")? as u64, number("failed_time")?);
        Ok(StoppedWorld::new((k, *word), at, number("failed_residual")?, names, steps))
    };
    first.map(one).collect()
}

/// The worlds of a run's picture: of each the first body that forces move, from above.
fn shown(scenario: &WorldScenario, raw: &Raw, columns: &[Column]) -> Result<Shown, RolloutError> {
    let (n, bodies) = (raw.contacts(), scenario.spec().bodies.len());
    let shown = n.min(MOST_SHOWN);
    let of = |name: &str, k: u64| {
        let column = columns.iter().find(|c| c.name == name).unwrap_or_else(|| unreachable!("no array {name}"));
        raw.numbers_of(column, k..k + 1)
    };
    let body = scenario.world(0)?.bodies().iter().position(|b| b.kind == Kind::Dynamic).unwrap_or(0);
    let mut curves = Vec::new();
    for i in 0..shown {
        let k = i * n / shown;
        let values = of("pose", k)?;
        let pose = |sample: &[f64]| {
            let [x, y, _, w, i, j, k] = sample[7 * body..7 * body + 7] else { unreachable!("seven numbers a body") };
            Pose::new(x, y, (2.0 * (w * k + i * j)).atan2(1.0 - 2.0 * (j * j + k * k)))
        };
        let poses: Vec<Pose> = values.chunks_exact(7 * bodies).map(pose).collect();
        let (first, last) = (poses[0], poses[poses.len() - 1]);
        let turn = (last.theta - first.theta).sin().atan2((last.theta - first.theta).cos());
        let motion = NetMotion { displacement: (last.x - first.x).hypot(last.y - first.y), rotation: turn };
        curves.push(Curve { poses, outcome: motion.outcome(of("failed_step", k)?[0] >= 0.0) });
    }
    let of = if shown < n { format!("{shown} of ") } else { String::new() };
    Ok(Shown {
        which: format!("{of}{n} world{}", if n == 1 { "" } else { "s" }),
        time: scenario.plan().samples.clone(),
        curves,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Datasets, Extra};
    use super::*;
    use bristle_rigid::world::Method;

    const TEXT: &str = "
        duration = 0.1
        record_every = 0.02
        worlds = 7
        [[bodies]]
        name = 'table'
        kind = 'prescribed'
        shape = 'plane'
        [[bodies]]
        name = 'box'
        shape = { box = [0.1, 0.1, 0.04] }
        mass = { uniform = [0.2, 0.4] }
        position = [0, 0, 0.02]
        velocity = [0.3, 0, 0]
        [[contacts]]
        bodies = ['table', 'box']
        mu = { uniform = [0.2, 0.8] }
        ";

    fn read(npz: &Path, name: &str) -> (Vec<u64>, Vec<f64>) {
        let mut zip = zip::ZipArchive::new(std::fs::File::open(npz).unwrap()).unwrap();
        let npy = npyz::NpyFile::new(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap();
        (npy.shape().to_vec(), npy.into_vec::<f64>().unwrap())
    }

    /// Friction and slip of patches are arrays of their own; the force of a pair has both friction and normal
    /// force.
    #[test]
    fn patches_have_arrays_of_their_own() {
        let text = include_str!("../../../../examples/grasp.toml").replace("worlds = 64", "worlds = 3");
        let text = text.replace("duration = 1.5", "duration = 0.62");
        let scenario = WorldScenario::parse(&text, "grasp.toml").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let (driver, shape) = (String::new(), String::new());
        let info = EngineInfo { engine: "cpu", precision: "f64", adapter: "x".into(), driver, shape };
        let make = |worlds| Worlds::new(worlds, 1e-3, Method::Double);
        let options = Options { draw: Some(|_| "<svg/>".into()), ..Options::new(dir.path().join("a")) };
        let needs = world_needs(&scenario, &options).unwrap();
        let summary = worlds(&scenario, &WorldEngine { info, make: &make }, &options, &needs, &|_| true).unwrap();
        assert_eq!((summary.worlds, summary.failed), (3, 0));
        let npz = dir.path().join("a").join("trajectories.npz");
        let [(of_wrench, wrench), (of_slip, slip), (_, force)] =
            [PATCH_WRENCH, SLIP, "force"].map(|name| read(&npz, name));
        assert_eq!((of_wrench, of_slip), (vec![3, 63, 3, 3], vec![3, 63, 3]));
        let weights: Vec<f64> = (0..3).map(|k| 9.81 * scenario.world(k).unwrap().bodies()[1].mass).collect();
        for (k, weight) in weights.into_iter().enumerate() {
            let at = |sample: usize, pair: usize| (k * 63 + sample) * 3 + pair;
            // Held at 0.3 s by both fingers; the table is far below, and has no bristles.
            let (left, right) = (at(30, 0), at(30, 1));
            assert!((force[3 * left + 2] + force[3 * right + 2] - weight).abs() < 1e-6 * weight);
            assert!((force[3 * left] - 4.0).abs() < 1e-6 && (force[3 * right] + 4.0).abs() < 1e-6);
            let friction = wrench[3 * left].hypot(wrench[3 * left + 1]);
            assert!((friction - force[3 * left + 1].hypot(force[3 * left + 2])).abs() < 1e-12);
            assert_eq!((slip[left], slip[right]), (0.0, 0.0));
            assert!(wrench[3 * at(30, 2)].is_nan() && slip[at(30, 2)].is_nan() && force[3 * at(30, 2) + 2] == 0.0);
        }
        // A grip of 1.2 N and less does not hold all of them.
        assert!((0..3).any(|k| slip[(k * 63 + 50) * 3] > 0.5), "{slip:?}");
        // Bristles take memory.
        let coarse = WorldScenario::parse(&text.replace("cells = 15", "cells = 2"), "coarse.toml").unwrap();
        let [one, other] = [&scenario, &coarse].map(|scenario| bytes_of_one(&scenario.world(0).unwrap()));
        assert!(one > other + 2 * 2 * 145 * 100, "{one} {other}");
    }

    /// Whatever the blocks, and stopped and resumed: the arrays of a run are those of a loop over `advance`.
    #[test]
    fn a_run_of_worlds_is_a_loop_over_a_batch_and_resumes() {
        let scenario = WorldScenario::parse(TEXT, "slide.toml").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let (driver, shape) = (String::new(), String::new());
        let info = EngineInfo { engine: "cpu", precision: "f64", adapter: "x".into(), driver, shape };
        let make = |worlds| Worlds::new(worlds, 1e-3, Method::Double);
        let engine = WorldEngine { info, make: &make };
        let options = |name: &str, block, resume| Options {
            resume,
            block: Some(block),
            draw: Some(|_| "<svg/>".into()),
            ..Options::new(dir.path().join(name))
        };
        let worlds = |options: &Options, progress: &(dyn Fn(u64) -> bool + Sync)| {
            worlds(&scenario, &engine, options, &world_needs(&scenario, options).unwrap(), progress)
        };
        let summary = worlds(&options("a", 7, false), &|_| true).unwrap();
        assert_eq!((summary.worlds, summary.steps, summary.failed), (7, 700, 0));
        let calls = std::sync::atomic::AtomicU64::new(0);
        let stop = |_| calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 9;
        let stopped = worlds(&options("b", 3, false), &stop);
        assert!(matches!(stopped, Err(RolloutError::Engine(EngineError::Stopped))));
        // It goes on upon another processor, and on no other engine.
        let run = |info: EngineInfo| {
            let (engine, options) = (WorldEngine { info, make: &make }, options("b", 2, true));
            let needs = world_needs(&scenario, &options).unwrap();
            super::worlds(&scenario, &engine, &options, &needs, &|_| true)
        };
        let single = run(EngineInfo { precision: "f32", ..engine.info.clone() }).unwrap_err();
        assert!(matches!(single, RolloutError::Different { what: "engine", .. }), "{single}");
        let other = run(EngineInfo { adapter: "y".into(), ..engine.info.clone() }).unwrap();
        assert_eq!(other.processors, [record::processor(&engine.info)]);
        assert_eq!(complete_worlds(&scenario, &options("b", 2, true)).unwrap().unwrap().steps, 700);
        let again = worlds(&options("b", 2, false), &|_| true);
        assert!(matches!(again, Err(RolloutError::Exists(_))));
        let mut by_hand = make(scenario.block(0..7).unwrap()).unwrap();
        let plan = scenario.plan();
        plan.samples.windows(2).for_each(|t| by_hand.advance(t[1] - t[0]).unwrap());
        for name in ["a", "b"] {
            let npz = dir.path().join(name).join("trajectories.npz");
            let (shape, poses) = read(&npz, "pose");
            assert_eq!(shape, [7, 6, 2, 7]);
            assert_eq!(read(&npz, "twist").0, [7, 6, 2, 6]);
            let (shape, forces) = read(&npz, "force");
            assert_eq!(shape, [7, 6, 1, 3]);
            for k in 0..7 {
                let state = &by_hand.world(k).states()[1];
                assert_eq!(poses[(k * 6 + 5) * 14 + 7..][..3], *state.pose.translation.vector.as_slice());
                let weight = 9.81 * by_hand.world(k).bodies()[1].mass;
                assert!((forces[(k * 6 + 5) * 3 + 2] - weight).abs() < 1e-9 * weight);
            }
            let mu = read(&dir.path().join(name).join("contacts.npz"), "contacts.0.mu").1;
            assert_eq!(mu[3], by_hand.world(3).pairs[0].mu);
            assert!(dir.path().join(name).join("trajectories.svg").exists());
        }
    }

    /// Worlds that are stopped are named by the summary and in the arrays, whatever the blocks, and if the
    /// run is resumed.
    #[test]
    fn a_summary_says_where_and_why_worlds_were_stopped() {
        // A body that turns too fast for the step about an axis that is not a principal one.
        let top = "[[bodies]]
            name = 'top'
            shape = { sphere = 0.1 }
            mass = 1
            inertia = [1e-3, 2e-3, 3e-3]
            position = [0, 0, 9]
            angular_velocity = [{ choice = [0, 1e9] }, 1, 0]
            ";
        let text = TEXT.replacen("[[contacts]]", &format!("{top}[[contacts]]"), 1).replace("worlds = 7", "worlds = 40");
        // It touches nothing meanwhile.
        let text = text.replace("position = [0, 0, 0.02]", "position = [0, 0, 5]");
        let scenario = WorldScenario::parse(&text, "tops.toml").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let (driver, shape) = (String::new(), String::new());
        let info = EngineInfo { engine: "cpu", precision: "f64", adapter: "x".into(), driver, shape };
        let make = |worlds| Worlds::new(worlds, 1e-3, Method::Double);
        let engine = WorldEngine { info, make: &make };
        let run = |name: &str, block, resume, progress: &(dyn Fn(u64) -> bool + Sync)| {
            let options = Options { resume, block: Some(block), ..Options::new(dir.path().join(name)) };
            worlds(&scenario, &engine, &options, &world_needs(&scenario, &options).unwrap(), progress)
        };
        let whole = run("whole", 40, false, &|_| true).unwrap();
        let calls = std::sync::atomic::AtomicU64::new(0);
        let stop = |_| calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 31;
        run("parts", 3, false, &stop).unwrap_err();
        let parts = run("parts", 7, true, &|_| true).unwrap();
        assert_eq!(parts.stopped, whole.stopped);
        assert_eq!((parts.failed, parts.status), (whole.failed, whole.status));

        let fast: Vec<u64> = (0..40).filter(|k| scenario.world(*k).unwrap().states()[2].angular.x > 0.0).collect();
        assert!(fast.len() > MOST_STOPPED && fast.len() < 40, "{fast:?}");
        assert_eq!(whole.failed, fast.len() as u64);
        assert_eq!(whole.status, WorldCounts { not_finite: whole.failed, unsolved: 0 });
        let named: Vec<u64> = whole.stopped.iter().map(|stopped| stopped.world).collect();
        assert_eq!(named, fast[..MOST_STOPPED]);
        let mut alone = make(scenario.block(0..40).unwrap()).unwrap();
        alone.advance(0.1).unwrap();
        for stopped in &whole.stopped {
            let world = alone.world(stopped.world as usize);
            let found = world.failure().unwrap();
            assert_eq!((stopped.step, stopped.time), (found.step, world.time()));
            assert_eq!(stopped.bodies, ["top"]);
        }
        for name in ["whole", "parts"] {
            let path = dir.path().join(name).join("trajectories.npz");
            let mut zip = zip::ZipArchive::new(std::fs::File::open(&path).unwrap()).unwrap();
            let npy = npyz::NpyFile::new(zip.by_name("failed_bodies.npy").unwrap()).unwrap();
            assert_eq!(npy.shape(), [40, 3]);
            let lost = npy.into_vec::<bool>().unwrap();
            for (k, lost) in (0u64..).zip(lost.chunks(3)) {
                assert_eq!(lost, [false, false, fast.contains(&k)], "{k}");
            }
            for (array, width) in [("pose", 21), ("twist", 18), ("force", 3), ("energy", 1)] {
                let samples = read(&path, array).1;
                assert_eq!(samples.len(), 40 * 6 * width);
                for (k, samples) in (0u64..).zip(samples.chunks(6 * width)) {
                    let (start, end) = (&samples[..width], &samples[width..]);
                    assert!(start.iter().all(|v| v.is_finite()), "{array} of world {k}");
                    assert!(end.iter().all(|v| v.is_nan() == fast.contains(&k)), "{array} of world {k}");
                }
            }
            let times = read(&path, "failed_time").1;
            assert!((0u64..).zip(&times).all(|(k, time)| time.is_nan() != fast.contains(&k)), "{times:?}");
            // The record says the same, and what each array is.
            let record = text_of_record(&dir.path().join(name));
            assert_eq!(record["summary"]["stopped"][0]["bodies"][0], "top");
            assert!(record["arrays"]["status"].as_str().unwrap().contains("4 no solution"), "{record}");
            assert!(record["arrays"]["failed_bodies"].is_string(), "{record}");
        }
    }

    fn text_of_record(run: &Path) -> Value {
        serde_json::from_str(&text(run, RECORD).unwrap().unwrap()).unwrap()
    }

    /// What only runs of patches do is refused before anything is written, in the words of the library.
    #[test]
    fn what_worlds_cannot_do_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let scenario = WorldScenario::parse(TEXT, "slide.toml").unwrap();
        let options = Options::new(dir.path().join("run"));
        let formats = |formats, extras| Datasets { formats, extras };
        for (options, wanted) in [
            (Options { shard: Some("2/3".parse().unwrap()), ..options.clone() }, "shard = 2/3: expected a run in one"),
            (Options { extend: true, ..options.clone() }, "extend = given: expected a new run with more `worlds`"),
            (
                Options { datasets: formats(vec![Format::Npz, Format::Zarr], Vec::new()), ..options.clone() },
                "format = npz,zarr: expected `npz` alone",
            ),
            (
                Options { datasets: formats(Vec::new(), Vec::new()), ..options.clone() },
                "format = : expected `npz` alone",
            ),
            (
                Options { datasets: formats(vec![Format::Npz], vec![Extra::Shear]), ..options },
                "with = shear: expected no extras",
            ),
        ] {
            let refused = complete_worlds(&scenario, &options).unwrap_err();
            assert!(refused.is_users() && refused.to_string().starts_with(wanted), "{refused}");
            assert!(refused.to_string().ends_with("as the scenario is of rigid bodies"), "{refused}");
        }
        assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none());
    }

    /// Names of arrays and the text of a scenario count where there are many bodies and few worlds.
    #[test]
    fn a_run_takes_no_more_disk_than_is_told() {
        let mut text = "duration = 0.002\nworlds = 2\nrecord_every = 0.001\n".to_owned();
        for k in 0..200 {
            text += &format!("[[bodies]]\nname = 'b{k}'\nshape = {{ sphere = 0.01 }}\nmass = 1\n");
            text += &format!("position = [{k}, 0, 0]\n");
        }
        for (a, b) in (0..200).flat_map(|a| (a + 1..200.min(a + 30)).map(move |b| (a, b))) {
            text += &format!("[[contacts]]\nbodies = ['b{a}', 'b{b}']\nmu = 0.5\n");
        }
        let scenario = WorldScenario::parse(&text, "many.toml").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let options = Options::new(dir.path().join("run"));
        let needs = world_needs(&scenario, &options).unwrap();
        let (driver, shape) = (String::new(), String::new());
        let info = EngineInfo { engine: "cpu", precision: "f64", adapter: "x".into(), driver, shape };
        let make = |worlds| Worlds::new(worlds, 1e-3, Method::Double);
        worlds(&scenario, &WorldEngine { info, make: &make }, &options, &needs, &|_| true).unwrap();
        let taken = disk::size(&options.out);
        assert!(taken < needs.disk_bytes && needs.disk_bytes < 4 * taken, "{taken} of {needs}");
    }

    #[test]
    fn what_multiplies_is_counted_and_told() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options::new(dir.path().join("run"));
        let needs = |worlds: u64, every: &str| {
            let text = TEXT.replace("worlds = 7", &format!("worlds = {worlds}"));
            let text = text.replace("record_every = 0.02", &format!("record_every = {every}"));
            world_needs(&WorldScenario::parse(&text, "slide.toml").unwrap(), &options)
        };
        // Two bodies with 7 and 6 numbers, a pair with 3, the energy: 30 numbers a sample, of which there are
        // six.
        let few = needs(7, "0.02").unwrap();
        assert!((2 << 20..3 << 20).contains(&few.disk_bytes), "{few}");
        let many = needs(100_000, "0.02").unwrap();
        assert!(many.to_string().contains("100000 worlds x 6 samples x 240 bytes x 2, once raw"), "{many}");
        assert_eq!(many.blocks.next, MOST_WORLDS);
        let raw = many.disk_bytes - few.disk_bytes;
        // Three sides, the mass, three numbers of place and velocity each, mu; nine outcomes, with a byte
        // for each of two bodies; and five more digits in the text.
        assert_eq!(raw, (100_000 - 7) * (2 * 6 * 240 + 11 * 8 + 2 * 70) + 5 * COPIES_OF_TEXT);
        // The samples of one world alone do not fit into a block, nor those of all on any disk.
        let refused = needs(1 << 32, "1e-5").unwrap_err().to_string();
        assert!(refused.contains("expected fewer worlds (`worlds`), fewer samples (`record_every`)"), "{refused}");
    }
}
