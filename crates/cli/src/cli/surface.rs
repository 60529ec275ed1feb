//! `bristle surface`: computes the table of the limit surface of one patch, or of many.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rayon::prelude::*;
use serde_json::{Value, json};

use super::changes::Changes;
use super::progress::Progress;
use super::{Failure, place, print, print_text, same_file, scenario_file};
use bristle::error::PatchError;
use bristle::limit_surface::{Basis, DEFAULT_N_LS, Ellipsoid, FitError, MAX_N_LS, Quartic, Rule, Surface, Table};
use bristle::patch::Patch;
use bristle_data::rollout::RolloutError;
use bristle_data::surfaces::{self, At, Case, Sweep};
use bristle_paper::surface_picture;
use bristle_scenario::{Precision, RuleName};

/// Number of tables made between two steps of the progress bar, enough that every core has a product of
/// several maps.
const CHUNK: usize = 256;
/// Largest number of cells of the patches that are in memory at the same time; a cell takes some 100 bytes.
const CHUNK_CELLS: usize = 1 << 22;
/// Most memory for the tables of a sweep [byte].
const MAX_BYTES: usize = 2 << 30;
/// Number of points along each side of a cell of the table at which its passivity is evaluated.
const PASSIVITY_PER_CELL: usize = 3;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle surface patch.toml --out table.npz --plot surface.svg
  bristle surface patch.toml --out tables.npz --sweep patch.size=0.01:0.03:5
  bristle surface map.toml --out frames.npz --sweep patch.frame=all --no-fits")]
pub(super) struct SurfaceArguments {
    /// A scenario (its contact 0) or a run, or a file with a table `[patch]` and optional `mu` and `f_n` [N]
    /// (1 each).
    file: PathBuf,
    /// NPZ file of the table.
    #[arg(long, value_name = "TABLE.npz")]
    out: PathBuf,
    /// Draw the surface, its sections, and where twists land on it; for one table only.
    #[arg(long, value_name = "SURFACE.svg", conflicts_with = "sweeps")]
    plot: Option<PathBuf>,
    /// How cells are integrated [default: the scenario's, else cells].
    #[arg(long, value_enum)]
    rule: Option<RuleName>,
    /// Resolution of the table, 1 to 1000 [default: the scenario's, else 20].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    n_ls: Option<i64>,
    /// `f32` makes tables within 2e-5 (for random maps of 21 x 21 cells within 2e-6) if that is faster: maps
    /// of many pressures take a fifth of the time. Other tables are made in f64, and the report says so. The
    /// scenario's precision is not used, as it is of bristles [default: f64].
    #[arg(long, value_enum, value_name = "f64|f32", default_value_t = Precision::F64)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    precision: Precision,
    /// Reference point of twists and wrenches: the centre of pressure, or the origin of the patch (its
    /// centre) with the radius of its grid. At the origin, the tables of many maps on one grid, also scaled,
    /// are one matrix product, whatever the rule. Fits stay about the centre of pressure.
    #[arg(long, value_enum, default_value = "cop")]
    at: At,
    #[command(flatten)]
    changes: Changes,
    /// Make a table for every value of a key, `key=first:last:count` or `key=[value, ..]`; several sweeps
    /// make every combination, and the last one varies fastest. `patch.frame=all` takes the frames of the map
    /// file that have pressure.
    #[arg(long = "sweep", value_name = "KEY=VALUES")]
    sweeps: Vec<String>,
    /// Leave out the errors of the fits, which take longer than a table.
    #[arg(long)]
    no_fits: bool,
    /// Replace existing files.
    #[arg(long)]
    force: bool,
    /// Print one JSON object at the end.
    #[arg(long)]
    json: bool,
    /// Print only errors on stderr: no progress.
    #[arg(short, long)]
    quiet: bool,
}

/// A set of tables and their properties.
struct Made {
    tables: Vec<Table>,
    /// Time for the tables alone [s].
    seconds: f64,
    /// Largest `f.v` over all look-ups of all tables.
    passivity: f64,
    /// Worst errors of ellipsoid and quartic over all tables.
    fits: Option<[FitError; 2]>,
}

impl SurfaceArguments {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let start = Instant::now();
        let (file, changes) = (scenario_file(&self.file)?, &self.changes.0);
        let sweeps = super::sweeps(&file, changes, &self.sweeps)?;
        if self.at == At::Origin && self.plot.is_some() {
            return Err(Failure::of_user(
                "--plot: draws a table about the centre of pressure; expected `--at cop` with it",
            ));
        }
        let mut taken = vec![("FILE", &file)];
        for (argument, path, ending) in [("--out", Some(&self.out), "npz"), ("--plot", self.plot.as_ref(), "svg")] {
            let Some(path) = path else { continue };
            if let Some((other, _)) = taken.iter().find(|(_, other)| same_file(other, path)) {
                return Err(Failure::of_user(format!("{argument} {}: is {other}, too", path.display())));
            }
            place(argument, path, ending, self.force)?;
            taken.push((argument, path));
        }
        let asked = self.n_ls.map(|n| usize::try_from(n).unwrap_or(0));
        if let Some(n) = self.n_ls.filter(|n| !(1..=MAX_N_LS as i64).contains(n)) {
            return Err(Failure::of_user(format!("--n-ls {n}: expected 1 to {MAX_N_LS}")));
        }
        let count = sweeps.iter().fold(1usize, |n, s| n.saturating_mul(s.values.len()));
        let check_size = |n_ls: usize| {
            let bytes = count.saturating_mul((4 * n_ls + 1) * (n_ls + 1) * 24);
            let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
            let message = format!(
                "{count} tables of N_ls = {n_ls} take {:.1} GiB: expected at most {:.0} GiB at once",
                gib(bytes),
                gib(MAX_BYTES)
            );
            if bytes > MAX_BYTES { Err(Failure::of_user(message)) } else { Ok(()) }
        };
        check_size(asked.unwrap_or(1))?;
        let cases = surfaces::cases(&file, changes, &sweeps).map_err(Failure::of_scenario)?;
        super::note_clipped(&cases, self.quiet);
        if cases.iter().any(|case| case.source.patch.friction_axes().is_some()) {
            let message = "friction.mu: given: expected none, as a table is of one friction in all directions; \
                           `bristle margin` takes it";
            return Err(Failure::of_user(format!("{}: {message}", file.display())));
        }
        if self.at == At::Origin && cases.iter().any(|case| !case.source.patch.parts().is_empty()) {
            let message = "--at origin: several patches have no grid in common; expected `--at cop`";
            return Err(Failure::of_user(format!("{}: {message}", file.display())));
        }
        let cases: Vec<Case> = cases.into_iter().map(Case::with_friction_in_pressure).collect();
        let source = &cases[0].source;
        let rule = self.rule.map(Rule::from).or(source.rule).unwrap_or_default();
        let n_ls = asked.or(source.n_ls).unwrap_or(DEFAULT_N_LS);
        check_size(n_ls)?;

        let made = self.make(&cases, rule, n_ls)?;
        self.write(&made.tables, &cases, &sweeps)?;
        if let Some(path) = &self.plot {
            let surface = Surface::new(&source.patch, rule);
            let title = self.file.file_name().unwrap_or_default().to_string_lossy();
            let picture = surface_picture::svg(&made.tables[0], &title, &Ellipsoid::fit(&surface).1);
            publish(path, |path| std::fs::write(path, &picture).map_err(|e| io(path.to_owned(), e)))?;
        }
        let report = self.report(&made, &sweeps, start.elapsed().as_secs_f64());
        if self.json { print(&report.to_string()) } else { print_text(&text(&report)) }
    }

    fn make(&self, cases: &[Case], rule: Rule, n_ls: usize) -> Result<Made, Failure> {
        let progress = Progress::new(cases.len() as u64, 0, "tables".to_owned(), self.quiet);
        let mut basis = None;
        let mut made =
            Made { tables: Vec::with_capacity(cases.len()), seconds: 0.0, passivity: f64::NEG_INFINITY, fits: None };
        let largest = cases.iter().map(|c| c.source.patch.grid().len()).max().unwrap_or(1);
        for cases in cases.chunks((CHUNK_CELLS / largest).clamp(1, CHUNK)) {
            let patches: Vec<Patch> = cases.iter().map(|c| Patch::clone(&c.source.patch)).collect();
            let start = Instant::now();
            let single = self.precision == Precision::F32;
            let mut surfaces = Vec::new();
            let tables = match (self.at, single) {
                (At::Origin, true) => Basis::batch(&patches, |grid| Basis::single(grid, rule, n_ls), &mut basis),
                (At::Origin, false) => Basis::batch(&patches, |grid| Basis::new(grid, rule, n_ls), &mut basis),
                (At::Cop, true) => Table::batch_single(&patches, rule, n_ls),
                (At::Cop, false) => {
                    surfaces = Surface::batch(&patches, rule);
                    surfaces.par_iter().map(|s| Table::of(s, n_ls)).collect()
                }
            };
            let tables = tables.map_err(Failure::of_user)?;
            made.seconds += start.elapsed().as_secs_f64();
            // NaN, too, is larger.
            let larger = |a: f64, b: f64| if b <= a { a } else { b };
            let powers = tables.par_iter().map(|t| t.passivity(PASSIVITY_PER_CELL).largest);
            made.passivity = larger(made.passivity, powers.reduce(|| f64::NEG_INFINITY, larger));
            if !self.no_fits {
                if surfaces.is_empty() {
                    surfaces = Surface::batch(&patches, rule);
                }
                let fits = surfaces.par_iter().map(|s| [Ellipsoid::fit(s).1, Quartic::fit(s).1]);
                let fits = fits.reduce_with(worse);
                made.fits = made.fits.into_iter().chain(fits).reduce(worse);
            }
            made.tables.extend(tables);
            progress.advance(cases.len() as u64);
        }
        drop(progress);
        Ok(made)
    }

    fn write(&self, tables: &[Table], cases: &[Case], sweeps: &[Sweep]) -> Result<(), Failure> {
        let source = &cases[0].source;
        let write = |path: &Path| match tables {
            [table] if sweeps.is_empty() => {
                let saved =
                    bristle_data::table_file::save(table, path, source.mu.unwrap_or(1.0), source.f_n.unwrap_or(1.0));
                saved.map_err(|e| match e {
                    PatchError::Io { path, source } => io(path, source),
                    e => io(path.to_owned(), std::io::Error::other(e)),
                })
            }
            _ => surfaces::save(path, tables, cases, sweeps),
        };
        publish(&self.out, write)
    }

    fn report(&self, made: &Made, sweeps: &[Sweep], wall_s: f64) -> Value {
        let each = |of: fn(&Table) -> f64| match made.tables.as_slice() {
            [table] if sweeps.is_empty() => json!(of(table)),
            tables => json!(tables.iter().map(of).collect::<Vec<_>>()),
        };
        let fit = |k: usize| {
            made.fits.map(|fits| {
                let FitError { max, rms, max_angle, rms_angle } = fits[k];
                json!({ "max": max, "rms": rms, "max_angle_rad": max_angle, "rms_angle_rad": rms_angle })
            })
        };
        let first = &made.tables[0];
        json!({
            "rule": first.rule().name(),
            "n_ls": first.n_ls(),
            // Not what was asked for: some tables are faster in f64, or not exact enough in f32.
            "precision": match made.tables.iter().filter(|t| t.is_single()).count() {
                0 => "f64",
                n if n == made.tables.len() => "f32",
                _ => "mixed",
            },
            "at": self.at.name(),
            "tables": made.tables.len(),
            "r": each(Table::radius),
            "u": each(|t| t.patch().viscous()),
            "passivity": made.passivity,
            "ellipsoid": fit(0),
            "quartic": fit(1),
            "wall_s": wall_s,
            "tables_per_s": made.tables.len() as f64 / made.seconds,
            "out": self.out.display().to_string(),
            "plot": self.plot.as_ref().map(|p| p.display().to_string()),
        })
    }
}

fn io(path: PathBuf, source: std::io::Error) -> RolloutError {
    RolloutError::Io { path, source }
}

/// Lets `write` make the file `path`. An error has that name, not the temporary name of the file.
fn publish(path: &Path, write: impl FnOnce(&Path) -> Result<(), RolloutError>) -> Result<(), Failure> {
    let done = surfaces::publish(path, io, write);
    done.map_err(|e| match e {
        RolloutError::Io { source, .. } => Failure::of_machine(io(path.to_owned(), source)),
        e => Failure::of_machine(e),
    })
}

fn worse(a: [FitError; 2], b: [FitError; 2]) -> [FitError; 2] {
    [0, 1].map(|k| FitError {
        max: a[k].max.max(b[k].max),
        rms: a[k].rms.max(b[k].rms),
        max_angle: a[k].max_angle.max(b[k].max_angle),
        rms_angle: a[k].rms_angle.max(b[k].rms_angle),
    })
}

fn text(report: &Value) -> String {
    let number = |key: &str| report[key].as_f64().unwrap_or(f64::NAN);
    let numbers = |key: &str| -> Vec<f64> {
        match &report[key] {
            Value::Array(values) => values.iter().filter_map(Value::as_f64).collect(),
            one => one.as_f64().into_iter().collect(),
        }
    };
    let range = |key: &str, scale: f64| {
        let values = numbers(key);
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(*v), b.max(*v)));
        if low == high { format!("{:.6}", low * scale) } else { format!("{:.6} to {:.6}", low * scale, high * scale) }
    };
    let many = report["tables"] != 1;
    let mut text = format!(
        "{} table{} of {} directions, rule {}, {}{}\n",
        report["tables"],
        if many { "s" } else { "" },
        report["n_ls"].as_u64().map_or(0, |n| (4 * n + 1) * (n + 1)),
        report["rule"].as_str().unwrap_or_default(),
        report["precision"].as_str().unwrap_or_default(),
        if report["at"] == "origin" { ", about the origin of the patch" } else { "" }
    );
    let fitted = if report["at"] == "origin" { " about the centre of pressure" } else { "" };
    let worst = if many { ", the worst table" } else { "" };
    text += &format!("  r          {} mm\n  u          {} mm^2\n", range("r", 1e3), range("u", 1e6));
    let points = numbers("r").iter().filter(|r| **r == 0.0).count();
    if points > 0 {
        let of = if many { format!(" of {points} tables") } else { String::new() };
        text += &format!(
            "  r = 0{of}: by this rule all pressure is in one point, and no twist turns; `--rule cells` has an extent\n"
        );
    }
    let passivity = number("passivity");
    let verdict =
        if passivity <= 0.0 { "always dissipates" } else { "does NOT always dissipate: a finer --n-ls helps" };
    text += &format!("  largest f.v/|v| {passivity:.4}: {verdict}{worst}\n");
    for fit in ["ellipsoid", "quartic"] {
        if let (Some(max), Some(angle)) = (report[fit]["max"].as_f64(), report[fit]["max_angle_rad"].as_f64()) {
            let (percent, degrees) = (100.0 * max, angle.to_degrees());
            text += &format!("  {fit:<10}{fitted} off by at most {percent:.2} % and {degrees:.2} degrees{worst}\n");
        }
    }
    text += &format!("{:.3} s in all; tables alone {:.3e} per second\n", number("wall_s"), number("tables_per_s"));
    for key in ["out", "plot"] {
        text += &report[key].as_str().map(|path| format!("{path}\n")).unwrap_or_default();
    }
    text.trim_end().to_owned()
}
