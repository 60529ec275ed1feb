//! `bristle margin`: how far loads may grow before a patch slips, and the friction when it slides.

mod wrench;

use std::path::{Path, PathBuf};
use std::time::Instant;

use rayon::prelude::*;
use serde_json::{Value, json};

use super::pressed::{PressedArguments, Source, digits, swept_text, unread};
use super::progress::Progress;
use super::{Failure, place, print, print_text};
use bristle::limit_surface::{Margin, MarginGradient, Surface};
use bristle::planar::Wrench;
use bristle_data::surfaces::{self, At, Gradients, Loads, Margins, PressedPatch};

/// Largest number of margins that are printed.
const MOST_PRINTED: usize = 100_000;
/// Largest number of derivatives by pressures that are printed.
const MOST_NUMBERS: usize = 1_000_000;
/// Largest memory for margins, and the memory of one [byte].
const MAX_BYTES: usize = 4 << 30;
const BYTES: usize = 16;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle margin patch.toml --load 1,0,0.005 --load=-0.5,2,0 --mu 0.8 --f-n 5
  bristle margin table.npz --load 1,0,0.005 --json
  bristle margin tables.npz --loads loads.csv --out margins.npz
  bristle margin map.toml --sweep patch.frame=all --loads loads.npy --out m.npz
  bristle margin patch.toml --twist 0.1,0,2 --gradients --mu 0.8 --f-n 5")]
pub(super) struct MarginArguments {
    #[command(flatten)]
    pressed: PressedArguments,
    /// Load on the body that ONE pad carries, fx,fy,tau [N, N, N m]; may be repeated.
    #[arg(
        long = "load",
        value_name = "FX,FY,TAU",
        allow_hyphen_values = true,
        required_unless_present_any = ["file_of_loads", "twists", "file_of_twists"]
    )]
    loads: Vec<String>,
    /// Loads from a file: an array [loads, 3] for all patches, or [patches, loads, 3] with loads of their
    /// own, as FILE.npy or FILE.npz:NAME; or FILE.csv with the columns fx, fy, tau.
    #[arg(long = "loads", id = "file_of_loads", value_name = "FILE", conflicts_with = "loads")]
    file_of_loads: Option<String>,
    /// In place of loads a twist of the sliding body, vx,vy,w [m/s, m/s, rad/s], whose friction is told; may
    /// be repeated.
    #[arg(
        long = "twist",
        id = "twists",
        value_name = "VX,VY,W",
        allow_hyphen_values = true,
        conflicts_with_all = ["loads", "file_of_loads"]
    )]
    twists: Vec<String>,
    /// Twists from a file, as loads are, with the columns vx, vy, w.
    #[arg(
        long = "twists",
        id = "file_of_twists",
        value_name = "FILE",
        conflicts_with_all = ["loads", "file_of_loads", "twists"]
    )]
    file_of_twists: Option<String>,
    /// Write the margins as arrays over patches and loads, or the friction over patches and twists, to this
    /// file, and print a summary.
    #[arg(long, value_name = "MARGINS.npz")]
    out: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long, requires = "out")]
    force: bool,
    /// Print only errors on stderr: no progress.
    #[arg(short, long)]
    quiet: bool,
    /// Reference point of loads and twists: the centre of pressure, or the origin of the patch (its centre).
    #[arg(long, value_enum, default_value = "cop")]
    at: At,
    /// Also the derivatives of the factors by the load, or of the friction by the twist, and by the pressure
    /// of every cell, mu and the normal force.
    #[arg(long)]
    gradients: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl MarginArguments {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let start = Instant::now();
        if let Some(out) = &self.out {
            if super::same_file(&self.pressed.file, out) {
                return Err(Failure::of_user(format!("--out {}: is FILE, too", out.display())));
            }
            place("--out", out, "npz", self.force)?;
        }
        let source = self.pressed.source(self.quiet)?;
        if self.slides() {
            return self.wrenches(&source, start);
        }
        let loads = match &self.file_of_loads {
            Some(file) => Loads::read(file, source.patches.len()).map_err(unread)?,
            None => Loads::shared(self.loads.iter().map(|l| load(l)).collect::<Result<_, _>>()?),
        };
        let margins = source.patches.len().saturating_mul(loads.each());
        if let Some(out) = &self.out {
            let most = MAX_BYTES / (BYTES + if self.gradients { Gradients::bytes(&source.patches) } else { 0 });
            if margins > most {
                return Err(Failure::of_user(format!("{margins} margins: expected at most {most} at once")));
            }
            return self.write(&source, &loads, out, start);
        }
        let cells = source.patches.iter().map(|p| p.patch.grid().len()).max().unwrap_or(1);
        let most = if self.gradients { MOST_NUMBERS / cells } else { MOST_PRINTED };
        if margins > most {
            let message = format!("{margins} margins: expected `--out MARGINS.npz`, or at most {most} to print");
            return Err(Failure::of_user(message));
        }
        let report = |k: usize| self.report(&source, k, loads.of(k));
        let reports: Vec<Value> = (0..source.patches.len()).into_par_iter().map(report).collect::<Result<_, _>>()?;
        source.print(&reports, self.json, text)
    }

    /// Writes the margins to a file, and prints a summary.
    fn write(&self, source: &Source, loads: &Loads, out: &Path, start: Instant) -> Result<(), Failure> {
        let Source { patches, sweeps, .. } = source;
        let progress = Progress::new(patches.len() as u64, 0, "patches".to_owned(), self.quiet);
        let done = || progress.advance(1);
        let made = if self.gradients {
            Gradients::new(patches, loads, self.at, &done).map(|(margins, gradients)| (margins, Some(gradients)))
        } else {
            Margins::new(patches, loads, self.at, &done).map(|margins| (margins, None))
        };
        drop(progress);
        let (made, gradients) = made.map_err(Failure::of_user)?;
        let io = |path, source| bristle_data::rollout::RolloutError::Io { path, source };
        surfaces::publish(out, io, |path| made.save(path, patches, loads, self.at, sweeps, gradients.as_ref()))
            .map_err(Failure::of_machine)?;
        let all = made.factor.len();
        let holding = made.factor.iter().filter(|k| **k >= 1.0).count();
        let least = made.factor.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).unwrap_or((0, &f32::NAN));
        let report = json!({
            "patches": patches.len(),
            "loads": loads.each(),
            "rule": patches[0].rule.name(),
            "at": self.at.name(),
            "hold": holding,
            "slip": all - holding,
            // JSON has no infinity: null is a load of zero.
            "least_factor": least.1.is_finite().then_some(least.1),
            "least_at": [least.0 / loads.each(), least.0 % loads.each()],
            "wall_s": start.elapsed().as_secs_f64(),
            "out": out.display().to_string(),
        });
        if self.json {
            return print(&report.to_string());
        }
        let [patches, loads] = [many(patches.len(), "patch", "patches"), many(loads.each(), "load each", "loads each")];
        let (rule, at) = (report["rule"].as_str().unwrap_or_default(), place_name(self.at.name()));
        let [patch, load] = [0, 1].map(|k| &report["least_at"][k]);
        let mut text = format!("{patches} under {loads}, rule {rule}, loads and twists at the {at}\n");
        text += &format!("  {holding:>9}  hold\n  {:>9}  SLIP\n", all - holding);
        text +=
            &format!("  the least factor is {}, of patch {patch}, load {load} (from 0)\n", digits(f64::from(*least.1)));
        text += &format!("{:.2} s\n{}", start.elapsed().as_secs_f64(), out.display());
        print_text(&text)
    }

    /// The margins of patch `k`.
    fn report(&self, source: &Source, k: usize, loads: &[Wrench]) -> Result<Value, Failure> {
        let PressedPatch { patch, rule, mu, f_n } = &source.patches[k];
        let surface = Surface::new(patch, *rule);
        let cop = surface.patch().cop();
        let (margins, gradients): (Vec<Margin>, Vec<Value>) = if self.gradients {
            let found = surface.margin_gradients(loads, self.at.into(), *mu, *f_n).map_err(Failure::of_user)?;
            found.iter().map(|found| (found.margin, gradient(found, patch.grid().nx))).unzip()
        } else {
            let found = surfaces::margins(&surface, loads, self.at, *mu, *f_n).map_err(Failure::of_user)?;
            (found, vec![Value::Null; loads.len()])
        };
        let margins: Vec<Value> = loads
            .iter()
            .zip(margins.iter().zip(gradients))
            .map(|(load, (m, gradient))| {
                let at_cop = if self.at == At::Origin { m.twist.at(cop) } else { m.twist };
                let [vx, vy, w] = at_cop.to_array();
                // A patch without extent turns without moving.
                let turns = (w * surface.radius()).abs() > 1e-9 || (surface.radius() == 0.0 && w != 0.0);
                let mut report = json!({
                    "load": load.to_array(),
                    "inside": m.holds(),
                    // JSON has no infinity: null is a load of zero.
                    "factor": m.factor.is_finite().then_some(m.factor),
                    "at_least": m.at_least.is_finite().then_some(m.at_least),
                    "twist": m.twist.to_array(),
                    "cor": turns.then(|| [cop[0] - vy / w, cop[1] + vx / w]),
                });
                if self.gradients {
                    report["gradient"] = gradient;
                }
                report
            })
            .collect();
        let found = json!({ "r": surface.radius(), "at": self.at.name(), "loads": margins });
        Ok(source.report(k, found))
    }
}

/// The derivatives of a factor; null for no load, which has none.
fn gradient(found: &MarginGradient, columns: usize) -> Value {
    let MarginGradient { margin, load, pressure, mu, f_n } = found;
    if margin.factor.is_infinite() {
        return Value::Null;
    }
    json!({ "load": load, "pressure": pressure.chunks(columns).collect::<Vec<_>>(), "mu": mu, "f_n": f_n })
}

fn many(n: usize, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}

fn place_name(at: &str) -> &'static str {
    if at == "cop" { "centre of pressure" } else { "origin of the patch" }
}

/// `fx,fy,tau`.
fn load(text: &str) -> Result<Wrench, Failure> {
    let parts: Option<Vec<f64>> = text.split(',').map(|p| p.trim().parse().ok()).collect();
    match parts.as_deref() {
        Some(&[fx, fy, tau]) => Ok(Wrench::new(fx, fy, tau)),
        _ => Err(Failure::of_user(format!("--load `{text}`: expected fx,fy,tau [N, N, N m], such as 1,-0.5,0.01"))),
    }
}

fn text(report: &Value) -> String {
    let number = |v: &Value| v.as_f64().unwrap_or(f64::NAN);
    // What is nothing beside `unit` is 0.
    let list = |v: &Value, unit: f64| {
        let values = v.as_array().map(Vec::as_slice).unwrap_or_default().iter().map(number);
        values.map(|v| if v.abs() < 1e-9 * unit { digits(0.0) } else { digits(v) }).collect::<Vec<_>>().join(", ")
    };
    let r = number(&report["r"]);
    let word = |key: &str| report[key].as_str().unwrap_or_default();
    let at = place_name(word("at"));
    let mut text = swept_text(report);
    text += &format!(
        "mu = {} ({}), f_N = {} N ({}), r = {:.4} mm, rule {}\nloads [N, N, N m] and twists at the {at}\n",
        report["mu"],
        word("mu_from"),
        report["f_n"],
        word("f_n_from"),
        1e3 * r,
        word("rule"),
    );
    for margin in report["loads"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let verdict = if margin["inside"] == true { "holds" } else { "SLIPS" };
        text += &format!("\n({})  {verdict}\n", list(&margin["load"], 0.0));
        let Some(factor) = margin["factor"].as_f64() else {
            text += "  no load, no slip\n";
            continue;
        };
        text += &format!("  slips at {} times this load\n", digits(factor));
        text += &format!(
            "  then moves along (vx, vy, w) = ({}), |(vx, vy, r w)| = 1{}",
            list(&margin["twist"], 1.0),
            if word("at") == "cop" { "" } else { " at the centre of pressure" }
        );
        text += &match &margin["cor"] {
            Value::Null => ", without turning\n".to_owned(),
            cor => format!(", about ({}) m of the patch\n", list(cor, r)),
        };
        let gradient = &margin["gradient"];
        if !gradient.is_null() {
            text += &format!(
                "  derivatives of that factor: by the load ({}), by mu {}, by the normal force {}\n",
                list(&gradient["load"], 0.0),
                digits(number(&gradient["mu"])),
                digits(number(&gradient["f_n"])),
            );
        }
    }
    text.trim_end().to_owned()
}
