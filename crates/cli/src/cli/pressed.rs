//! Patches under normal forces, as arguments of commands.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::changes::Changes;
use super::{Failure, print, print_text, scenario_file, swept};
use bristle::error::PatchError;
use bristle::limit_surface::Rule;
use bristle_data::surfaces::{self, Case, PressedPatch, Sweep, per_patch};

/// The file of patches, and what is changed of it.
#[derive(clap::Args)]
pub(super) struct PressedArguments {
    /// A table or a sweep of `bristle surface`, a scenario (its contact 0) or a run, or a file with a
    /// `[patch]` table.
    pub(super) file: PathBuf,
    /// Coefficient of friction: mu_c for a load that keeps a body sliding, mu_s for break-away. A number, or
    /// a file with one for every patch: FILE.npy, FILE.npz:NAME, or FILE.csv with the column mu [default: the
    /// file's (mu_c of a scenario), else 1].
    #[arg(long, value_name = "NUMBER|FILE", allow_hyphen_values = true)]
    mu: Option<String>,
    /// Normal force of one pad [N], which a `hertz` map follows; a table keeps the map that it was made from.
    /// A number, or a file as for `--mu`, with the column f_n [default: the file's, else 1].
    #[arg(long, value_name = "NEWTON|FILE", allow_hyphen_values = true)]
    f_n: Option<String>,
    #[command(flatten)]
    changes: Changes,
    /// Take every value of a key, as in `bristle surface`: `patch.frame=all`,
    /// `key=first:last:count` or `key=[value, ..]`.
    #[arg(long = "sweep", value_name = "KEY=VALUES")]
    sweeps: Vec<String>,
    /// How cells are integrated [default: the table's, else cells].
    #[arg(long, value_enum)]
    rule: Option<DissipativeRule>,
}

/// The rules that derive from a dissipation.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DissipativeRule {
    Cells,
    Points,
}

/// The patches of a file, and the sources of their coefficients and forces.
pub(super) struct Source {
    pub(super) patches: Vec<PressedPatch>,
    pub(super) mu_from: &'static str,
    pub(super) f_n_from: &'static str,
    pub(super) sweeps: Vec<Sweep>,
}

impl Source {
    /// Prints the report of the patch, or those of all cases of a sweep, as JSON or as `text`.
    pub(super) fn print(&self, reports: &[Value], as_json: bool, text: fn(&Value) -> String) -> Result<(), Failure> {
        match (reports, as_json) {
            ([report], true) if self.sweeps.is_empty() => print(&report.to_string()),
            (_, true) => print(&json!({ "cases": reports }).to_string()),
            (_, false) => print_text(&reports.iter().map(text).collect::<Vec<_>>().join("\n\n")),
        }
    }

    /// The report of patch `k`: what it was made for, and what was `found`.
    pub(super) fn report(&self, k: usize, found: Value) -> Value {
        let PressedPatch { patch, rule, mu, f_n } = &self.patches[k];
        let mut report = json!({
            "mu": mu,
            "mu_from": self.mu_from,
            "f_n": f_n,
            "f_n_from": self.f_n_from,
            "rule": rule.name(),
            "cop": patch.cop(),
        });
        if !self.sweeps.is_empty() {
            report["sweep"] = Value::Object(swept(&self.sweeps, k));
        }
        if let (Value::Object(report), Value::Object(found)) = (&mut report, found) {
            report.extend(found);
        }
        report
    }
}

/// The keys and values of a sweep in a report, a line each; nothing of a report without.
pub(super) fn swept_text(report: &Value) -> String {
    let values = report["sweep"].as_object().into_iter().flatten();
    let show = |value: &Value| value.as_f64().map_or_else(|| value.to_string(), |v| v.to_string());
    values.map(|(key, value)| format!("{key} = {}\n", show(value))).collect()
}

impl PressedArguments {
    /// The patches of the file, with coefficients, forces and rule replaced by those of the arguments.
    pub(super) fn source(&self, quiet: bool) -> Result<Source, Failure> {
        let mut source = self.of_file(quiet)?;
        let count = source.patches.len();
        if let Some(text) = &self.mu {
            let mu = per_patch(text, "mu", count, ("a finite number > 0", |v| v > 0.0)).map_err(unread)?;
            source.patches.iter_mut().zip(mu).for_each(|(patch, mu)| patch.mu = mu);
            source.mu_from = "--mu";
        }
        if let Some(text) = &self.f_n {
            let f_n = per_patch(text, "f_n", count, ("a finite force >= 0 [N]", |v| v >= 0.0)).map_err(unread)?;
            for (pressed, f_n) in source.patches.iter_mut().zip(f_n) {
                // Itself, unless its map follows the force.
                *pressed = PressedPatch { patch: pressed.patch.under(f_n), f_n, ..*pressed };
            }
            source.f_n_from = "--f-n";
        }
        // The limit surface of a patch with a friction map is that of another pressure.
        for pressed in source.patches.iter_mut().filter(|pressed| pressed.patch.friction_map().is_some()) {
            pressed.mu *= pressed.patch.mean_friction();
            pressed.patch = pressed.patch.with_friction_in_pressure();
            source.mu_from = "mean of the friction map, which is a part of the pressure here";
        }
        for pressed in &mut source.patches {
            pressed.rule = match self.rule {
                Some(DissipativeRule::Cells) => Rule::Cells,
                Some(DissipativeRule::Points) => Rule::Points,
                None => pressed.rule,
            };
            if pressed.rule == Rule::Bilinear {
                let message = "rule = bilinear: expected `--rule cells` or `--rule points`, which have a dissipation";
                return Err(Failure::of_user(format!("{}: {message}", self.file.display())));
            }
        }
        Ok(source)
    }

    /// The patches of the file.
    fn of_file(&self, quiet: bool) -> Result<Source, Failure> {
        const DEFAULT: &str = "default";
        if self.file.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz")) {
            if !self.changes.0.is_empty() || !self.sweeps.is_empty() {
                let message =
                    "a table, which is made already: expected `--set` or `--sweep` with a scenario or a patch";
                return Err(Failure::of_user(format!("{}: {message}", self.file.display())));
            }
            let (patches, sweeps) = surfaces::load(&self.file).map_err(unread)?;
            return Ok(Source { patches, mu_from: "table", f_n_from: "table", sweeps });
        }
        let (file, changes) = (scenario_file(&self.file)?, &self.changes.0);
        let sweeps = super::sweeps(&file, changes, &self.sweeps)?;
        let cases = surfaces::cases(&file, changes, &sweeps).map_err(Failure::of_scenario)?;
        super::note_clipped(&cases, quiet);
        let from = |given: fn(&Case) -> Option<f64>, scenario, file| match (given(&cases[0]), cases[0].source.scenario)
        {
            (Some(_), true) => scenario,
            (Some(_), false) => file,
            (None, _) => DEFAULT,
        };
        let mu_from = from(|c| c.source.mu, "mu_c of contact 0 at the start", "mu of the file");
        let f_n_from = from(|c| c.source.f_n, "normal force of contact 0 at the start", "f_n of the file");
        let pressed = |Case { source, .. }: &Case| PressedPatch {
            patch: source.patch.as_ref().clone(),
            rule: Rule::Cells,
            mu: source.mu.unwrap_or(1.0),
            f_n: source.f_n.unwrap_or(1.0),
        };
        Ok(Source { patches: cases.iter().map(pressed).collect(), mu_from, f_n_from, sweeps })
    }
}

/// The failure for a file that could not be read: the machine's if the file exists and reading it failed,
/// else the user's.
pub(super) fn unread(e: PatchError) -> Failure {
    match e {
        PatchError::Io { ref source, .. } if source.kind() != std::io::ErrorKind::NotFound => Failure::of_machine(e),
        e => Failure::of_user(e),
    }
}

/// A number with six significant digits.
pub(super) fn digits(v: f64) -> String {
    let rounded: f64 = format!("{v:.5e}").parse().unwrap_or(v);
    if rounded == 0.0 || (1e-4..1e7).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}
