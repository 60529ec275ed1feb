//! Writes a LeRobotDataset v3.0: a directory of Parquet files with one row for every sample, for training
//! policies.
//!
//! A data file holds a fixed range of contacts, in row groups of whole episodes, and is written independently
//! of the others. So a complete file stays when a run is resumed. An episode ends where its contact failed.

mod stats;
mod table;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::columns::{Each, Item};
use super::episodes::{Episodes, Layout, about, is_validation, outcomes};
use super::error::{RolloutError, io, text};
use super::outcome::Outcome;
use super::parameters::Parameters;
use super::parts::Parts;
use super::raw::Raw;
use super::side_by_side::side_by_side;
use crate::disk;
use bristle::error::ParameterError;
use bristle_scenario::{Descriptions, Scenario};
use stats::{Drawn, Stats};
use table::{Column, Values, write};

/// Its directory in a run.
pub(super) const DIRECTORY: &str = "lerobot";
/// Rows of a row group, at most, and its bytes.
const GROUP: [u64; 2] = [1 << 16, 32 << 20];
/// Episodes whose metadata are in memory at once: a row group of their file.
const EPISODES: u64 = 1 << 14;
/// Bytes of a data file, about; in megabytes that is what `info.json` says.
const FILE_MB: u64 = 100;
/// Files of a directory.
const CHUNK: u64 = 1000;
/// Paths of files, with the numbers of directory and file.
const DATA_PATH: &str = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet";

const STATE: [(&str, &str); 6] =
    [("x", "m"), ("y", "m"), ("theta", "rad"), ("vx", "m/s"), ("vy", "m/s"), ("w", "rad/s")];
const ENVIRONMENT: [(&str, &str); 4] = [("fx", "N"), ("fy", "N"), ("tau", "N m"), ("normal_force", "N")];
/// Features that every dataset has, which are integers but for `timestamp`.
const INDICES: [&str; 5] = ["timestamp", "frame_index", "episode_index", "index", "task_index"];

/// Whether a name in [`DIRECTORY`] is that of a file of the dataset, also while it is written.
pub(super) fn is_its(name: &str) -> bool {
    let name = name.strip_suffix(".begun").unwrap_or(name);
    let last = name.rsplit('/').next().unwrap_or_default();
    let is_numbered = last.starts_with("file-") && [".parquet", ".rows"].iter().any(|ending| last.ends_with(ending));
    ["info.json", "stats.json", "bristle.json", "tasks.parquet"].contains(&last) || is_numbered
}

/// Samples a second, which the format has as an integer.
///
/// # Errors
/// A time between samples that is not a second over an integer, or a last sample after a shorter time.
pub(super) fn fps(scenario: &Scenario) -> Result<u64, RolloutError> {
    let (every, samples) = (scenario.spec().record_every, scenario.plan().samples);
    let fps = (1.0 / every).round();
    let off = |(k, t): (usize, &f64)| (t - k as f64 / fps).abs() > 1e-6 * (1.0 + t);
    if fps >= 1.0 && !samples.iter().enumerate().any(off) {
        return Ok(fps as u64);
    }
    // Round ones, those next to the one that is asked for first.
    let duration = scenario.spec().duration;
    let is_whole = |n: f64| (n - n.round()).abs() < 1e-9 * (1.0 + n);
    let mut fit: Vec<f64> =
        [1000.0, 500.0, 250.0, 200.0, 125.0, 100.0, 50.0, 40.0, 25.0, 20.0, 10.0, 8.0, 5.0, 4.0, 2.0]
            .into_iter()
            .filter(|fps| is_whole(duration * fps))
            .map(|fps| 1.0 / fps)
            .collect();
    fit.sort_by(|a, b| (a - every).abs().total_cmp(&(b - every).abs()));
    let such = fit.iter().take(2).map(f64::to_string).collect::<Vec<_>>().join(" or ");
    let such = if such.is_empty() { such } else { format!(", such as {such}") };
    let accepted =
        format!("for LeRobot 1 s over an integer, of which the {duration} s of the run are a multiple{such}");
    Err(RolloutError::Dataset(ParameterError::new("record_every", every, accepted)))
}

/// A dataset that is written.
pub(super) struct Writer<'a> {
    pub dir: PathBuf,
    /// Where statistics of complete files lie until the whole is complete.
    pub notes: PathBuf,
    pub scenario: &'a Scenario,
    pub raw: &'a Raw,
    pub layout: &'a Layout<'a>,
    pub parameters: &'a Parameters,
    pub parts: &'a Parts,
}

/// A data file: its number, its contacts, and the row of its first sample in the whole.
struct File {
    number: u64,
    contacts: Range<u64>,
    row: u64,
}

impl File {
    /// Its path in a directory of the dataset.
    fn path(&self, kind: &str) -> String {
        format!("{kind}/chunk-{:03}/file-{:03}.parquet", self.number / CHUNK, self.number % CHUNK)
    }
}

/// A feature of the rows: its column, and what `info.json` and `bristle.json` say of it.
struct Feature {
    column: Column,
    names: Vec<&'static str>,
    units: Vec<&'static str>,
    about: &'static str,
}

impl Writer<'_> {
    /// Writes what is not there yet; `meta/info.json` last.
    pub fn write(&self, attributes: &Value) -> Result<(), RolloutError> {
        let fps = fps(self.scenario)?;
        let (group, per_file) = self.sizes();
        let (files, rows) = self.files(per_file)?;
        let features = self.features(&self.episodes(0..1)?, 0..1, 0)?;
        let drawn = Drawn::new(rows, features.iter().map(Feature::numbers).sum());
        let stats = side_by_side(files.len() as u64, |i| self.file(&files[i as usize], group, drawn))?;
        let mut whole = Stats::default();
        stats.iter().for_each(|stats| whole.merge(stats));
        drop(stats);
        self.tasks()?;
        let n = self.raw.contacts();
        self.put("meta/stats.json", &whole.json())?;
        self.put("meta/bristle.json", &self.about(&features, &whole, attributes))?;
        let info = json!({
            "codebase_version": "v3.0",
            "robot_type": "bristle",
            "total_episodes": n,
            "total_frames": rows,
            "total_tasks": 1,
            "chunks_size": CHUNK,
            "data_files_size_in_mb": FILE_MB,
            "video_files_size_in_mb": 500,
            "fps": fps,
            "splits": splits(n),
            "data_path": DATA_PATH,
            "video_path": null,
            "features": features.iter().map(Feature::info).collect::<Map<_, _>>(),
        });
        self.put("meta/info.json", &info)
    }

    /// Contacts of a row group, and of a data file.
    fn sizes(&self) -> (u64, u64) {
        let shear: u64 = self.layout.recorded.iter().map(|column| column.bytes(1)).sum();
        let cells = self.layout.tactile.map_or(0, |grid| grid.len() as u64) + shear / 4;
        let row = 4 * (STATE.len() + ENVIRONMENT.len() + self.layout.actions.len()) as u64 + 4 * cells + 50;
        let samples = self.raw.samples() as u64;
        let group = (GROUP[0].min(GROUP[1] / row) / samples).max(1);
        (group, group * ((FILE_MB << 20) / (group * samples * row)).max(1))
    }

    /// All data files, and their rows.
    fn files(&self, per_file: u64) -> Result<(Vec<File>, u64), RolloutError> {
        let n = self.raw.contacts();
        let mut row = 0;
        let next = |number| {
            let contacts = number * per_file..n.min((number + 1) * per_file);
            let rows: usize = self.raw.frames(contacts.clone())?.iter().sum();
            let file = File { number, contacts, row };
            row += rows as u64;
            Ok(file)
        };
        let files = (0..n.div_ceil(per_file)).map(next).collect::<Result<_, RolloutError>>()?;
        Ok((files, row))
    }

    fn episodes(&self, contacts: Range<u64>) -> Result<Episodes, RolloutError> {
        self.layout.episodes(self.raw, contacts)
    }

    /// Writes a data file, the metadata of its episodes and its statistics, if it is not there.
    fn file(&self, file: &File, group: u64, drawn: Drawn) -> Result<Stats, RolloutError> {
        let data = self.dir.join(file.path("data"));
        let episodes = self.dir.join(file.path("meta/episodes"));
        let name = format!("lerobot-{}.json", file.number);
        let note = self.notes.join(&name);
        if self.parts.has(&data)?
            && self.parts.has(&episodes)?
            && self.parts.has(&note)?
            && let Some(stats) = text(&self.notes, &name)?.and_then(|text| Stats::parse(&text))
        {
            return Ok(stats);
        }
        let (mut stats, mut first_slip) = (Stats::default(), Vec::new());
        let Range { start, end } = file.contacts;
        let mut row = file.row;
        let groups = (start..end).step_by(group as usize).map(|from| {
            let contacts = from..end.min(from + group);
            let episodes = self.episodes(contacts.clone())?;
            let features = self.features(&episodes, contacts, row)?;
            let rows = episodes.frames.iter().sum();
            stats.add(features.iter().map(|feature| &feature.column), rows, row, drawn);
            row += rows as u64;
            let patches = self.layout.patches();
            for (k, whole) in episodes.first_slip.iter().enumerate() {
                first_slip.push(*whole);
                first_slip.extend_from_slice(&episodes.patch_first_slip[k * patches..(k + 1) * patches]);
            }
            Ok(features.into_iter().map(|feature| feature.column).collect())
        });
        let place = |path: PathBuf| {
            let parent = path.parent().unwrap_or(&self.dir);
            fs::create_dir_all(parent).map_err(io(parent))?;
            Ok::<_, RolloutError>(path)
        };
        // Under another name until the other two files are there.
        let begun = place(data.with_extension("rows"))?;
        write(&begun, None, groups)?;
        let episodes = place(episodes)?;
        let mut row = file.row;
        let groups = (start..end).step_by(EPISODES as usize).map(|from| {
            let at = (from - start) as usize * (1 + self.layout.patches());
            let contacts = from..end.min(from + EPISODES);
            self.metadata(file, contacts, &first_slip[at..], &mut row)
        });
        write(&episodes, None, groups)?;
        disk::appear(&note, |file| std::io::Write::write_all(file, stats.note().to_string().as_bytes()))
            .and_then(|()| fs::rename(&begun, &data))
            .map_err(io(&data))?;
        [&data, &episodes, &note].into_iter().try_for_each(|path| self.parts.add_file(path))?;
        Ok(stats)
    }

    /// The rows of some episodes, the first of which is row `row` of the whole.
    fn features(&self, episodes: &Episodes, contacts: Range<u64>, row: u64) -> Result<Vec<Feature>, RolloutError> {
        let n = self.raw.samples();
        let read = |name| self.raw.numbers(name, contacts.clone());
        let places: Vec<(usize, usize)> =
            episodes.frames.iter().enumerate().flat_map(|(i, frames)| (0..*frames).map(move |k| (i, k))).collect();
        // Vectors of several arrays that have so many numbers a sample, side by side.
        let vectors = |of: &[(&[f64], usize)]| {
            let width = of.iter().map(|(_, width)| width).sum();
            let values = places.iter().flat_map(|(i, k)| {
                let at = i * n + k;
                of.iter().flat_map(move |(all, width)| all[at * width..(at + 1) * width].iter().map(|v| *v as f32))
            });
            Values::F32s(values.collect(), vec![width])
        };
        let about_column = |name| self.layout.column(name).about;
        let scalars = |all: &[f64]| Values::F32(places.iter().map(|(i, k)| all[i * n + k] as f32).collect());
        let indices = |of: &dyn Fn(usize, usize, usize) -> u64| {
            Values::I64(places.iter().enumerate().map(|(row, (i, k))| of(row, *i, *k) as i64).collect())
        };
        let (pose, twist, wrench, normal_force) =
            (read("pose")?, read("twist")?, read("wrench")?, read("normal_force")?);
        let state = vectors(&[(&pose, 3), (&twist, 3)]);
        let environment = vectors(&[(&wrench, 3), (&normal_force, 1)]);
        let action = vectors(&[(&episodes.action, self.layout.actions.len())]);
        let mut all = vec![
            Feature::vector("observation.state", state, &STATE, "pose and twist"),
            Feature::vector("observation.environment_state", environment, &ENVIRONMENT, "wrench and normal force"),
            Feature::vector("action", action, &self.layout.actions, "the inputs from here on"),
            Feature::scalar("label.slip", scalars(&read("slip")?), "-", about_column("slip")),
            Feature::scalar("label.near_limit", scalars(&read("near_limit")?), "-", about_column("near_limit")),
            Feature::scalar("label.time_to_slip", scalars(&episodes.time_to_slip), "s", about::TIME_TO_SLIP),
        ];
        let patches = self.layout.patches();
        if patches > 0 {
            let values = vectors(&[(&episodes.patch_time_to_slip, patches)]);
            all.push(Feature::scalar("label.patch_time_to_slip", values, "s", about::PATCH_TIME_TO_SLIP));
        }
        if patches > 0 && self.layout.margin {
            let values = vectors(&[(&episodes.patch_margin, patches)]);
            all.push(Feature::scalar("label.patch_margin", values, "-", about::PATCH_MARGIN));
        }
        if self.layout.margin {
            all.push(Feature::scalar("label.margin", scalars(&episodes.margin), "-", about::MARGIN));
        }
        if let Some(grid) = self.layout.tactile {
            let cells = grid.len();
            let frame = |(i, k): &(usize, usize)| &episodes.tactile[(i * n + k) * cells..][..cells];
            let values = Values::F32s(places.iter().flat_map(frame).copied().collect(), vec![grid.ny, grid.nx]);
            all.push(Feature::scalar("observation.tactile", values, "N", about::TACTILE));
        }
        for column in &self.layout.recorded {
            let (all_bytes, width) = (self.raw.bytes(column, contacts.clone())?, column.bytes(1) as usize);
            let frame = |(i, k): &(usize, usize)| &all_bytes[(i * n + k) * width..][..width];
            let bytes = places.iter().flat_map(frame).copied().collect::<Vec<u8>>();
            let values = match column.item {
                Item::F32 => bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
                _ => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b) as f32).collect(),
            };
            let (name, unit) = match column.name {
                "shear" => ("observation.shear", "N"),
                "marker_displacement" => ("observation.marker_displacement", "m"),
                "cell_nearness" => ("observation.cell_nearness", "-"),
                "patch_wrench" => ("observation.patch_wrench", "N, N, N m"),
                "patch_normal_force" => ("observation.patch_normal_force", "N"),
                "patch_slip" => ("label.patch_slip", "-"),
                "patch_near_limit" => ("label.patch_near_limit", "-"),
                other => unreachable!("no feature for the array {other}"),
            };
            // What the axes are of one sample.
            let shape = column.axes(1)[1..].iter().map(|(_, n)| *n as usize).collect();
            all.push(Feature::scalar(name, Values::F32s(values, shape), unit, column.about));
        }
        let is_last = |(i, k): &(usize, usize)| k + 1 == episodes.frames[*i];
        let done = Values::Bool(places.iter().map(is_last).collect());
        all.push(Feature::scalar("next.done", done, "-", "whether this is the last sample"));
        let fps = fps(self.scenario)? as f64;
        let time = Values::F32(places.iter().map(|(_, k)| (*k as f64 / fps) as f32).collect());
        let [timestamp, frame_index, episode_index, index, task_index] = INDICES;
        all.extend([
            Feature::scalar(timestamp, time, "s", "time in the episode"),
            Feature::scalar(frame_index, indices(&|_, _, k| k as u64), "-", "place in the episode"),
            Feature::scalar(episode_index, indices(&|_, i, _| contacts.start + i as u64), "-", "the contact"),
            Feature::scalar(index, indices(&|i, _, _| row + i as u64), "-", "place in the whole"),
            Feature::scalar(task_index, indices(&|_, _, _| 0), "-", "the task"),
        ]);
        Ok(all)
    }

    /// The metadata of some episodes of a data file, the first of which begins at `row`, which becomes that
    /// after them. `first_slip` begins with theirs: that of the whole and of each patch that is recorded.
    fn metadata(
        &self,
        file: &File,
        contacts: Range<u64>,
        first_slip: &[f64],
        row: &mut u64,
    ) -> Result<Vec<Column>, RolloutError> {
        let read = |name| self.raw.numbers(name, contacts.clone());
        let frames: Vec<i64> = self.raw.frames(contacts.clone())?.into_iter().map(|n| n as i64).collect();
        let n = frames.len();
        let mut to = *row as i64;
        let ends: Vec<i64> = frames.iter().map(|n| (to += n, to).1).collect();
        *row = to as u64;
        let starts = ends.iter().zip(&frames).map(|(end, n)| end - n).collect();
        let chunk = || Values::I64(vec![(file.number / CHUNK) as i64; n]);
        let number = || Values::I64(vec![(file.number % CHUNK) as i64; n]);
        let outcome = outcomes(self.raw, contacts.clone())?;
        let outcome = outcome.into_iter().map(|i| Outcome::ALL[i].name().to_owned()).collect();
        let split = |k| if is_validation(k) { "validation" } else { "train" }.to_owned();
        let patches = self.layout.patches();
        let first = |of: usize| Values::F64(first_slip[of..].iter().step_by(1 + patches).take(n).copied().collect());
        let mut all = vec![
            Column::new("episode_index", Values::I64(contacts.clone().map(|k| k as i64).collect())),
            Column::new("tasks", Values::TextList(vec![self.task().to_owned(); n])),
            Column::new("length", Values::I64(frames)),
            Column::new("dataset_from_index", Values::I64(starts)),
            Column::new("dataset_to_index", Values::I64(ends)),
            Column::new("data/chunk_index", chunk()),
            Column::new("data/file_index", number()),
            Column::new("meta/episodes/chunk_index", chunk()),
            Column::new("meta/episodes/file_index", number()),
            Column::new("bristle/outcome", Values::Text(outcome)),
            Column::new("bristle/split", Values::Text(contacts.clone().map(split).collect())),
            Column::new("bristle/first_slip", first(0)),
            Column::new("bristle/displacement", Values::F64(read("displacement")?)),
            Column::new("bristle/rotation", Values::F64(read("rotation")?)),
            Column::new("bristle/failed_step", Values::F64(read("failed_step")?)),
        ];
        let of_patch = |k| Column::new(format!("bristle/patches.{k}.first_slip"), first(1 + k));
        all.extend((0..patches).map(of_patch));
        for (i, name) in self.parameters.names().enumerate() {
            let values = self.parameters.read(i, contacts.clone())?;
            all.push(Column::new(format!("bristle/{name}"), Values::F64(values)));
        }
        Ok(all)
    }

    /// What a policy would do: it follows from the kind of body, so that it is the same in all parts of a
    /// run.
    fn task(&self) -> &'static str {
        if self.layout.actions.iter().any(|(name, _)| *name == "vx") {
            "Slide a patch along a prescribed motion."
        } else {
            "Hold or slide a body by friction."
        }
    }

    /// The table of tasks. `pandas` takes the text for the index, which its own metadata has to say: without
    /// it the text is lost.
    fn tasks(&self) -> Result<(), RolloutError> {
        let path = self.dir.join("meta/tasks.parquet");
        let column = |name: &str, pandas: &str, numpy: &str| {
            json!({
                "name": name, "field_name": name, "pandas_type": pandas, "numpy_type": numpy, "metadata": null
            })
        };
        let pandas = json!({
            "index_columns": ["task"],
            "column_indexes": [],
            "columns": [column("task_index", "int64", "int64"), column("task", "unicode", "object")],
            "creator": { "library": "bristle", "version": env!("CARGO_PKG_VERSION") },
            "pandas_version": "2.0.0",
        });
        let columns = vec![
            Column::new("task_index", Values::I64(vec![0])),
            Column::new("task", Values::Text(vec![self.task().to_owned()])),
        ];
        write(&path, Some(("pandas", pandas.to_string())), std::iter::once(Ok(columns)))
    }

    /// What the format has no place for: units, splits, and what the numbers are.
    fn about(&self, features: &[Feature], stats: &Stats, attributes: &Value) -> Value {
        let about = |feature: &Feature| {
            let about = json!({ "units": feature.units, "description": feature.about });
            (feature.column.name.clone(), about)
        };
        let described = Descriptions::of_scenarios();
        let described = |name: &str| (format!("bristle/{name}"), described.of(name).into());
        let parameters: Map<String, Value> = self.parameters.names().map(described).collect();
        let tactile = self.layout.tactile.map(|grid| json!({ "rows": grid.ny, "columns": grid.nx }));
        let shear = self.layout.recorded.iter().find_map(|column| match column.each {
            Some(Each::Cell(size)) => Some(size),
            _ => None,
        });
        let shear = shear.map(|[rows, columns]| json!({ "rows": rows, "columns": columns, "axes": ["fx", "fy"] }));
        json!({
            "features": features.iter().map(about).collect::<Map<_, _>>(),
            "tactile": tactile,
            "shear": shear,
            "parameters": parameters,
            "splits": "by a hash of the episode's index: column `bristle/split` of meta/episodes, `splits` of \
                       meta/info.json",
            "quantiles": { "of_rows": stats.drawn(), "rows": stats.rows() },
            "run": attributes,
        })
    }

    fn put(&self, name: &str, value: &Value) -> Result<(), RolloutError> {
        let path: &Path = &self.dir.join(name);
        disk::appear(path, |file| std::io::Write::write_all(file, format!("{value:#}\n").as_bytes())).map_err(io(path))
    }
}

impl Feature {
    /// One number a sample, or an image of one unit.
    fn scalar(name: &'static str, values: Values, unit: &'static str, about: &'static str) -> Self {
        Self { column: Column::new(name, values), names: Vec::new(), units: vec![unit], about }
    }

    fn vector(
        name: &'static str,
        values: Values,
        numbers: &[(&'static str, &'static str)],
        about: &'static str,
    ) -> Self {
        let names = numbers.iter().map(|(name, _)| *name).collect();
        let units = numbers.iter().map(|(_, unit)| *unit).collect();
        Self { column: Column::new(name, values), names, units, about }
    }

    /// What `info.json` says of it.
    fn info(&self) -> (String, Value) {
        let (dtype, shape) = match &self.column.values {
            Values::Bool(_) => ("bool", vec![1]),
            Values::I64(_) => ("int64", vec![1]),
            Values::F32s(_, shape) => ("float32", shape.clone()),
            _ => ("float32", vec![1]),
        };
        let names = if self.names.is_empty() { Value::Null } else { json!(self.names) };
        (self.column.name.clone(), json!({ "dtype": dtype, "shape": shape, "names": names }))
    }

    /// Numbers of a sample.
    fn numbers(&self) -> u64 {
        if let Values::F32s(_, shape) = &self.column.values { shape.iter().product::<usize>() as u64 } else { 1 }
    }
}

/// The splits of `n` episodes: the ranges of each, one after the other, such as `0:2,3:18`.
fn splits(n: u64) -> Value {
    let of = |validation: bool| {
        let (mut ranges, mut from) = (Vec::new(), None);
        for k in 0..=n {
            if k < n && is_validation(k) == validation {
                from = from.or(Some(k));
            } else if let Some(from) = from.take() {
                ranges.push(format!("{from}:{k}"));
            }
        }
        ranges.join(",")
    };
    let named = [("train", of(false)), ("validation", of(true))];
    let named = named.into_iter().filter(|(_, ranges)| !ranges.is_empty());
    named.map(|(name, ranges)| (name.to_owned(), ranges.into())).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every episode is in one split, in the one that it has elsewhere.
    #[test]
    fn splits_are_ranges_of_episodes() {
        assert_eq!(splits(4), json!({ "train": "0:2,3:4", "validation": "2:3" }));
        assert_eq!(splits(2), json!({ "train": "0:2" }));
        let all = splits(500);
        let mut seen = 0;
        for (name, validation) in [("train", false), ("validation", true)] {
            for range in all[name].as_str().unwrap().split(',') {
                let (from, to) = range.split_once(':').unwrap();
                for k in from.parse::<u64>().unwrap()..to.parse().unwrap() {
                    assert_eq!(is_validation(k), validation, "{k}");
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, 500);
    }
}
