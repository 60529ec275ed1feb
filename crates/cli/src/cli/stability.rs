//! `bristle stability`: whether contacts hold a load, and how far it may grow.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::changes::Changes;
use super::{Failure, place, print, print_text, same_file};
use bristle_bench::terminal;
use bristle_data::surfaces;
use bristle_paper::stability_picture;
use bristle_rigid::cone::{Fit, Section};
use bristle_rigid::stability::{PointContact, Stability};
use bristle_scenario::StabilityFile;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle example hand > hand.toml
  bristle stability hand.toml --plot hand.svg
  bristle stability hand.toml --set mu=0.4 --set cone.pyramid=8 --json")]
pub(super) struct StabilityArguments {
    /// A stability file: bodies, their loads, and their contacts (`bristle docs stability`).
    file: PathBuf,
    /// Draw the contacts with their cones and forces, or the motion that no contact stops.
    #[arg(long, value_name = "STABILITY.svg")]
    plot: Option<PathBuf>,
    /// Replace an existing picture.
    #[arg(long, requires = "plot")]
    force: bool,
    #[command(flatten)]
    changes: Changes,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl StabilityArguments {
    pub(super) fn run(&self) -> Result<(), Failure> {
        if let Some(plot) = &self.plot {
            if same_file(&self.file, plot) {
                return Err(Failure::of_user(format!("--plot {}: is FILE, too", plot.display())));
            }
            place("--plot", plot, "svg", self.force)?;
        }
        let file = StabilityFile::load(&self.file, &self.changes.0).map_err(Failure::of_scenario)?;
        let answer = file.assembly.stability();
        let answer = answer.map_err(|e| Failure::of_user(format!("{}: {e}", self.file.display())))?;
        if let Some(plot) = &self.plot {
            let title = self.file.file_name().unwrap_or_default().to_string_lossy();
            let picture = stability_picture::svg(&file, &answer, &title);
            let io = |path, source| bristle_data::rollout::RolloutError::Io { path, source };
            surfaces::publish(plot, io, |path| std::fs::write(path, &picture).map_err(|e| io(path.to_owned(), e)))
                .map_err(Failure::of_machine)?;
        }
        let report = report(&file, &answer);
        if self.json { print(&report.to_string()) } else { print_text(&text(&report)) }
    }
}

/// JSON has no infinity: null is an infinite factor or force.
fn finite(v: f64) -> Value {
    if v.is_finite() { json!(v) } else { Value::Null }
}

fn report(file: &StabilityFile, answer: &Stability) -> Value {
    let (assembly, names) = (&file.assembly, &file.names);
    let cone = match assembly.contacts.first().map(|c| c.cone.section()) {
        Some(Section::Polygon(polygon)) => {
            let kind = if polygon.fit == Fit::Inner { "inner" } else { "outer" };
            json!({ "pyramid": polygon.sides, "kind": kind, "angle": polygon.angle })
        }
        _ => json!("circle"),
    };
    let contact = |(k, contact): (usize, &PointContact)| {
        let mut of = json!({
            "body": names[contact.body],
            "on": contact.on.map(|on| names[on].clone()),
            "mu": contact.cone.mu(),
            "most": finite(contact.most),
        });
        if let Some(f) = answer.forces.as_ref().map(|forces| &forces[k]) {
            let [t, b, n] = contact.cone.frame().to_contact(f.force);
            of["force"] = json!(f.force);
            of["normal"] = json!(n);
            of["tangential"] = json!(t.hypot(b));
            of["margin"] = json!(contact.margin(f));
            of["torsion"] = json!(f.torsion);
        }
        of
    };
    let motion = answer.motion.as_ref().map(|motion| {
        let twist = |(name, t): (&String, &[f64; 6])| json!({ "body": name, "velocity": t[..3], "turn": t[3..] });
        let mut of = json!({
            "twists": names.iter().zip(&motion.twists).map(twist).collect::<Vec<_>>(),
            "fixed_power": motion.fixed_power,
            "load_power": motion.load_power,
            "resistance": motion.resistance,
            "leak": motion.leak,
            "bound": finite(motion.bound()),
        });
        if !answer.holds {
            of["proves_below"] = finite(motion.proves_below(1.0));
        }
        of
    });
    json!({
        "holds": answer.holds,
        "factors": answer.factors.map(|factors| factors.map(finite)),
        "residual": answer.residual,
        "cone": cone,
        "bodies": names,
        "contacts": assembly.contacts.iter().enumerate().map(contact).collect::<Vec<_>>(),
        "motion": motion,
    })
}

/// A number with four significant digits; 0 if it is at most 1e-6 of `unit`.
fn digits(v: f64, unit: f64) -> String {
    if v.abs() <= 1e-6 * unit {
        return "0".to_owned();
    }
    let rounded: f64 = format!("{v:.3e}").parse().unwrap_or(v);
    if (1e-4..1e7).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// A sentence: whether the load holds, and between which factors.
fn verdict(report: &Value) -> String {
    let factor = |k: usize| report["factors"][k].as_f64();
    let holds = report["holds"] == true;
    let from = factor(0).filter(|least| *least > 0.0).map_or(String::new(), |least| digits(least, 0.0));
    if report["factors"].is_null() {
        return "DOES NOT HOLD: neither what is fixed alone nor any factor of the load is held\n".to_owned();
    }
    let range = match (from.as_str(), factor(1)) {
        ("", None) => "any factor of the load is held".to_owned(),
        ("", Some(most)) => format!("the load may be up to {} times as large", digits(most, 1.0)),
        (from, None) => format!("the load must be at least {from} times as large, and may grow without end"),
        (from, Some(most)) => format!("the load may be {from} to {} times as large", digits(most, 1.0)),
    };
    format!("{}: {range}\n", if holds { "HOLDS" } else { "DOES NOT HOLD" })
}

fn text(report: &Value) -> String {
    let contacts = report["contacts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names = report["bodies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let many = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    let cone = match &report["cone"] {
        Value::String(_) => "circular cones".to_owned(),
        cone => format!("{} pyramids of {} sides", cone["kind"].as_str().unwrap_or_default(), cone["pyramid"]),
    };
    let bodies = many(names.len(), "body", "bodies");
    let mut text = format!("{bodies}, {}, {cone}\n{}", many(contacts.len(), "contact", "contacts"), verdict(report));
    if report["holds"] == true && !contacts.is_empty() {
        text += "\ncontact forces that balance it, with the least sum of normal parts [N, N m]\n";
        text += &forces(contacts, names.len() > 1);
    }
    if let motion @ Value::Object(_) = &report["motion"] {
        text += if report["holds"] == true {
            "\nwhy no larger load is held: in this motion it does more work than any contact forces take\n"
        } else {
            "\nwhy it is not held: in this motion it does more work than any contact forces take\n"
        };
        for twist in motion["twists"].as_array().into_iter().flatten() {
            let list = |v: &Value| {
                let values = v.as_array().into_iter().flatten().map(|v| v.as_f64().unwrap_or(f64::NAN));
                values.map(|v| digits(v, 1.0)).collect::<Vec<_>>().join(", ")
            };
            let (name, v, w) = (twist["body"].as_str().unwrap_or_default(), &twist["velocity"], &twist["turn"]);
            text += &format!("  {name}: velocity at the origin ({}), turn ({})\n", list(v), list(w));
        }
        let power = |key: &str| digits(motion[key].as_f64().unwrap_or(f64::NAN), 0.0);
        text += &format!(
            "  power [W] of what is fixed {}, of the load {}, that contacts can take {}\n",
            power("fixed_power"),
            power("load_power"),
            power("resistance")
        );
    }
    text.trim_end().to_owned()
}

/// The forces as a table.
fn forces(contacts: &[Value], several: bool) -> String {
    let mut head = vec!["contact", "normal", "tangential", "of mu f_n", "torsion"];
    if several {
        head.insert(1, "between");
    }
    let mut rows: Vec<Vec<String>> = vec![head.into_iter().map(ToOwned::to_owned).collect()];
    let number = |v: &Value| v.as_f64().unwrap_or(f64::NAN);
    let unit = contacts.iter().map(|c| number(&c["normal"])).fold(0.0, f64::max);
    for (k, contact) in contacts.iter().enumerate() {
        let [n, t, mu] = ["normal", "tangential", "mu"].map(|key| number(&contact[key]));
        let share = if n > 1e-6 * unit && mu > 0.0 { format!("{:.0} %", 100.0 * t / (mu * n)) } else { "-".to_owned() };
        let mut row = vec![k.to_string(), digits(n, unit), digits(t, unit), share];
        row.push(digits(number(&contact["torsion"]), unit));
        if several {
            let on = contact["on"].as_str().unwrap_or("world");
            row.insert(1, format!("{} on {on}", contact["body"].as_str().unwrap_or_default()));
        }
        rows.push(row);
    }
    terminal::columns(&rows, terminal::width().unwrap_or(usize::MAX))
}
