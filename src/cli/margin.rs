//! `bristle margin`: how far loads may grow before a patch slips.

use std::path::PathBuf;

use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::{Failure, Point, print};
use crate::error::PatchError;
use crate::limit_surface::{Rule, Surface, Table};
use crate::patch::Patch;
use crate::planar::Wrench;
use crate::surfaces::{self, Case};

#[derive(clap::Args)]
pub(super) struct MarginArguments {
    /// A table of `bristle surface`, a scenario (its contact 0), or a file with a `[patch]` table.
    file: PathBuf,
    /// Load on the body that ONE pad carries, fx,fy,tau [N, N, N m]; as many as wanted.
    #[arg(long = "load", value_name = "FX,FY,TAU", allow_hyphen_values = true, required = true)]
    loads: Vec<String>,
    /// Coefficient of friction: mu_c for a load that keeps a body sliding, mu_s for break-away [default: the
    /// file's (mu_c of a scenario), else 1].
    #[arg(long, allow_hyphen_values = true)]
    mu: Option<f64>,
    /// Normal force of one pad [N], which a `hertz` map follows; a table has the map that it was made of [default: the file's, else 1].
    #[arg(long, value_name = "NEWTON", allow_hyphen_values = true)]
    f_n: Option<f64>,
    /// Where loads act and twists are told: the centre of pressure, or the origin of the patch (its centre).
    #[arg(long, value_enum, default_value = "cop")]
    at: Point,
    /// Change a value of the file, such as `patch.cells=31`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    changes: Vec<String>,
    /// Ask for every value of a key, as `bristle surface` does: `patch.frame=all`, `key=first:last:count` or `key=[value, ..]`.
    #[arg(long = "sweep", value_name = "KEY=VALUES")]
    sweeps: Vec<String>,
    /// How cells become integrals [default: the table's, else cells].
    #[arg(long, value_enum)]
    rule: Option<MarginRule>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The rules that derive from a dissipation.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MarginRule {
    Cells,
    Points,
}

/// What a file says.
struct Source {
    patch: Patch,
    rule: Rule,
    mu: (f64, &'static str),
    f_n: (f64, &'static str),
    /// The values of its sweeps.
    swept: Map<String, Value>,
}

impl MarginArguments {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let loads: Vec<Wrench> = self.loads.iter().map(|l| load(l)).collect::<Result<_, _>>()?;
        let sources = self.sources()?;
        let mut reports: Vec<Value> =
            sources.into_par_iter().map(|source| self.report(&loads, source)).collect::<Result<_, _>>()?;
        if self.sweeps.is_empty() {
            let report = reports.swap_remove(0);
            return if self.json { print(&report.to_string()) } else { print(&text(&report)) };
        }
        if self.json {
            return print(&json!({ "cases": reports }).to_string());
        }
        print(&reports.iter().map(text).collect::<Vec<_>>().join("\n\n"))
    }

    /// The answers of one patch.
    fn report(&self, loads: &[Wrench], mut source: Source) -> Result<Value, Failure> {
        if let Some(mu) = self.mu {
            source.mu = (mu, "--mu");
        }
        if let Some(f_n) = self.f_n {
            source.f_n = (f_n, "--f-n");
            // Itself, unless its map follows the force.
            source.patch = source.patch.under(f_n);
        }
        let rule = match self.rule {
            Some(MarginRule::Cells) => Rule::Cells,
            Some(MarginRule::Points) => Rule::Points,
            None => source.rule,
        };
        if rule == Rule::Bilinear {
            let message = "rule = bilinear: expected `--rule cells` or `--rule points`, which have a dissipation";
            return Err(Failure::of_user(format!("{}: {message}", self.file.display())));
        }
        let surface = Surface::new(&source.patch, rule);
        let cop = surface.patch().cop();
        let local: Vec<Wrench> =
            loads.iter().map(|l| if self.at == Point::Origin { l.about(cop) } else { *l }).collect();
        let margins = surface.margins(&local, source.mu.0, source.f_n.0).map_err(Failure::of_user)?;
        let answers: Vec<Value> = loads
            .iter()
            .zip(&margins)
            .map(|(load, m)| {
                // From the centre of pressure to the origin is the way back.
                let twist = if self.at == Point::Origin { m.twist.at([-cop[0], -cop[1]]) } else { m.twist };
                let [vx, vy, w] = m.twist.to_array();
                // A patch without extent turns without moving.
                let turns = (w * surface.radius()).abs() > 1e-9 || (surface.radius() == 0.0 && w != 0.0);
                json!({
                    "load": load.to_array(),
                    "inside": m.holds(),
                    // JSON has no infinity: null is a load of zero.
                    "factor": m.factor.is_finite().then_some(m.factor),
                    "at_least": m.at_least.is_finite().then_some(m.at_least),
                    "twist": twist.to_array(),
                    "cor": turns.then(|| [cop[0] - vy / w, cop[1] + vx / w]),
                })
            })
            .collect();
        let mut report = json!({
            "mu": source.mu.0,
            "mu_from": source.mu.1,
            "f_n": source.f_n.0,
            "f_n_from": source.f_n.1,
            "rule": rule.name(),
            "r": surface.radius(),
            "cop": cop,
            "at": self.at.name(),
            "loads": answers,
        });
        if !source.swept.is_empty() {
            report["sweep"] = Value::Object(source.swept);
        }
        Ok(report)
    }

    fn sources(&self) -> Result<Vec<Source>, Failure> {
        const DEFAULT: &str = "default";
        if self.file.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz")) {
            if !self.changes.is_empty() || !self.sweeps.is_empty() {
                let message =
                    "a table, which is made already: expected `--set` or `--sweep` with a scenario or a patch";
                return Err(Failure::of_user(format!("{}: {message}", self.file.display())));
            }
            let table = Table::load(&self.file).map_err(|e| match e {
                PatchError::Io { ref source, .. } if source.kind() != std::io::ErrorKind::NotFound => {
                    Failure::of_machine(e)
                }
                e => Failure::of_user(e),
            })?;
            let (mu, f_n) = Table::saved_load(&self.file).map_err(Failure::of_user)?;
            let (patch, rule) = (table.patch().clone(), table.rule());
            return Ok(vec![Source { patch, rule, mu: (mu, "table"), f_n: (f_n, "table"), swept: Map::new() }]);
        }
        let sweeps = super::sweeps(&self.file, &self.changes, &self.sweeps)?;
        let cases = surfaces::cases(&self.file, &self.changes, &sweeps).map_err(Failure::of_user)?;
        let source = |Case { at, source }: Case| {
            let of = |given: Option<f64>, scenario, file| match given {
                Some(v) => (v, if source.scenario { scenario } else { file }),
                None => (1.0, DEFAULT),
            };
            let mu = of(source.mu, "mu_c of contact 0 at the start", "mu of the file");
            let f_n = of(source.f_n, "normal force of contact 0 at the start", "f_n of the file");
            let value = |text: &String| text.parse::<f64>().map_or_else(|_| json!(text), |v| json!(v));
            let swept = sweeps.iter().zip(at).map(|(sweep, i)| (sweep.key.clone(), value(&sweep.values[i]))).collect();
            Source { patch: Patch::clone(&source.patch), rule: Rule::Cells, mu, f_n, swept }
        };
        Ok(cases.into_iter().map(source).collect())
    }
}

/// `fx,fy,tau`.
fn load(text: &str) -> Result<Wrench, Failure> {
    let parts: Option<Vec<f64>> = text.split(',').map(|p| p.trim().parse().ok()).collect();
    match parts.as_deref() {
        Some(&[fx, fy, tau]) => Ok(Wrench::new(fx, fy, tau)),
        _ => Err(Failure::of_user(format!("--load `{text}`: expected fx,fy,tau [N, N, N m], such as 1,-0.5,0.01"))),
    }
}

/// Six digits that count.
fn digits(v: f64) -> String {
    let rounded: f64 = format!("{v:.5e}").parse().unwrap_or(v);
    if rounded == 0.0 || (1e-4..1e7).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
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
    let at = if word("at") == "cop" { "centre of pressure" } else { "origin of the patch" };
    let values = report["sweep"].as_object().into_iter().flatten();
    let show = |value: &Value| value.as_f64().map_or_else(|| value.to_string(), |v| v.to_string());
    let mut text: String = values.map(|(key, value)| format!("{key} = {}\n", show(value))).collect();
    text += &format!(
        "mu = {} ({}), f_N = {} N ({}), r = {:.4} mm, rule {}\nloads [N, N, N m] and twists at the {at}\n",
        report["mu"],
        word("mu_from"),
        report["f_n"],
        word("f_n_from"),
        1e3 * r,
        word("rule"),
    );
    for answer in report["loads"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let verdict = if answer["inside"] == true { "holds" } else { "SLIPS" };
        text += &format!("\n({})  {verdict}\n", list(&answer["load"], 0.0));
        let Some(factor) = answer["factor"].as_f64() else {
            text += "  no load, no slip\n";
            continue;
        };
        text += &format!("  slips at {} times this load\n", digits(factor));
        text += &format!(
            "  then moves along (vx, vy, w) = ({}), |(vx, vy, r w)| = 1{}",
            list(&answer["twist"], 1.0),
            if word("at") == "cop" { "" } else { " at the centre of pressure" }
        );
        text += &match &answer["cor"] {
            Value::Null => ", without turning\n".to_owned(),
            cor => format!(", about ({}) m of the patch\n", list(cor, r)),
        };
    }
    text.trim_end().to_owned()
}
