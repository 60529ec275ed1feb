//! `bristle rollout --sweep`: makes a run for every value of a key, and a table of all runs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::interrupt::stop_when_interrupted;
use super::options::failure;
use super::rollout::{REPORT, Rollout};
use super::{Failure, print, print_text};
use bristle::error::ParameterError;
use bristle_bench::terminal;
use bristle_data::rollout::{Options, Place, RolloutError, Summary, check_own, check_place, remove_run};
use bristle_data::surfaces::{self, Sweep};
use bristle_scenario::{Scenario, input};

/// The table of a sweep, in its directory.
const TABLE: &str = "sweep.csv";

/// What the table says of a run after the values of its keys.
const COLUMNS: [&str; 9] =
    ["contacts", "slipped", "spun", "slipped_and_spun", "stuck", "failed", "left", "steps", "run"];

impl Rollout {
    /// Makes the runs one after the other, in directories that are numbered in the order of the combinations.
    pub(super) fn run_sweep(&self, file: &Path, sweeps: &[Sweep]) -> Result<(), Failure> {
        let stop = stop_when_interrupted(self.report);
        let mut whole = self.options();
        whole.out = Place::directory(&whole.out).map_err(failure)?;
        let count = surfaces::combinations(sweeps);
        let digits = (count - 1).to_string().len();
        surfaces::check(sweeps).map_err(Failure::of_scenario)?;
        // All scenarios are read before the first is simulated, and no directory may be in the way.
        let mut runs = Vec::new();
        for k in 0..count {
            let values: Vec<&str> =
                surfaces::places(sweeps, k).iter().zip(sweeps).map(|(i, sweep)| sweep.values[*i].as_str()).collect();
            let settings = sweeps.iter().zip(&values).map(|(sweep, value)| format!("{}={value}", sweep.key));
            let changes: Vec<String> = self.changes("contacts").into_iter().chain(settings).collect();
            let scenario = Scenario::load(file, &changes).map_err(Failure::of_scenario)?;
            let options = Options { out: whole.out.join(format!("{k:0digits$}")), ..whole.clone() };
            check_place(&options).map_err(failure)?;
            runs.push((k, values, scenario, options));
        }
        let others = others(&whole.out, &runs.iter().map(|(.., options)| options.out.clone()).collect::<Vec<_>>());
        if let (Some(other), false) = (others.first(), whole.force) {
            let accepted = "a directory without runs of another sweep, or `force` to replace them";
            return Err(Failure::of_user(ParameterError::new(
                "out",
                format!("{}, with the run {}", whole.out.display(), other.display()),
                accepted,
            )));
        }
        others.iter().try_for_each(|other| check_own(other)).map_err(failure)?;
        let table = whole.out.join(TABLE);
        if table.symlink_metadata().is_ok() && !is_table(&table) {
            return Err(failure(RolloutError::NotOfTheRun { path: table, why: "is no table of a sweep" }));
        }
        std::fs::create_dir_all(&whole.out)
            .map_err(|source| failure(RolloutError::Io { path: whole.out.clone(), source }))?;
        let (mut rows, mut objects, mut engine) = (Vec::new(), Vec::new(), None);
        for (k, values, scenario, options) in &runs {
            let report = self.reports(&options.out);
            let summary = self.simulate(scenario, options, &mut engine, &stop)?;
            if report && !options.out.join(REPORT).exists() {
                super::report::write(&options.out, None)?;
            }
            rows.push(row(values, &summary, options));
            objects.push(json!({ "sweep": super::swept(sweeps, *k), "summary": summary }));
        }
        others.iter().try_for_each(|other| remove_run(other)).map_err(failure)?;
        let head = sweeps.iter().map(|sweep| sweep.key.clone()).chain(COLUMNS.map(str::to_owned)).collect();
        let rows = [vec![head], rows].concat();
        write(&whole.out.join(TABLE), &rows)?;
        if self.json {
            return print(&Value::Array(objects).to_string());
        }
        let table = terminal::columns(&rows, terminal::width().unwrap_or(usize::MAX));
        print_text(&format!("{table}{}", whole.out.join(TABLE).display()))
    }
}

/// The runs of the sweep whose table is in `out` that are not among those of this one.
fn others(out: &Path, own: &[PathBuf]) -> Vec<PathBuf> {
    let text = input::text(&out.join(TABLE)).unwrap_or_default();
    let mut table = csv::Reader::from_reader(text.as_bytes());
    let names = table.records().flatten().filter_map(|row| row.iter().next_back().map(str::to_owned));
    let names = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    names.map(|name| out.join(name)).filter(|run| !own.contains(run) && run.join("run.json").is_file()).collect()
}

/// Whether a file is the table of a sweep, by its head.
fn is_table(path: &Path) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
    let text = if is_file { input::text(path).unwrap_or_default() } else { String::new() };
    let mut table = csv::Reader::from_reader(text.as_bytes());
    table.headers().is_ok_and(|head| head.iter().collect::<Vec<_>>().ends_with(&COLUMNS))
}

/// A row of the table.
fn row(values: &[&str], summary: &Summary, options: &Options) -> Vec<String> {
    let s = &summary.status;
    let counts = [summary.contacts, s.slipped, s.spun, s.slipped_and_spun, s.stuck, s.failed, s.left, summary.steps];
    let name = options.out.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let values = values.iter().map(|value| super::unquoted(value));
    values.chain(counts.map(|count| count.to_string())).chain([name]).collect()
}

/// Writes the table, whole or not at all.
fn write(path: &Path, rows: &[Vec<String>]) -> Result<(), Failure> {
    let write = || {
        let mut table = csv::Writer::from_writer(Vec::new());
        rows.iter().try_for_each(|row| table.write_record(row))?;
        let bytes = table.into_inner().map_err(csv::IntoInnerError::into_error)?;
        bristle_data::disk::appear(path, |file| std::io::Write::write_all(file, &bytes))
    };
    write().map_err(|source| failure(RolloutError::Io { path: path.to_owned(), source }))
}
