//! A fit as JSON, as text, and as files.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use bristle::error::ParameterError;
use bristle_data::disk::appear;
use serde_json::{Value, json};

use crate::compare::Comparison;
use crate::fit::{Estimate, Fit, Posterior};
use crate::next::Next;
use crate::residuals::Channel;
use crate::run::Outcome;

/// What a fit says, for programs; null for a number that is not finite.
pub fn json(fit: &Fit) -> Value {
    let noise = |c: &Channel| {
        json!({
            "recording": c.recording,
            "quantity": c.name,
            "sensor": c.sensor,
            "repeatability": c.repeatability,
            "residual": c.residual,
            "correlated": c.correlated,
            "normal_force": c.normal_force,
        })
    };
    let held_out = |c: &Channel| {
        c.held_out.map(|rms| {
            json!({
                "recording": c.recording,
                "quantity": c.name,
                "rms": rms,
                "fitted_rms": c.residual,
                "ratio": rms / c.residual,
                "share_of_normal_force": c.normal_force.map(|n| rms / n),
            })
        })
    };
    json!({
        "law": fit.law,
        "parameters": fit.estimates,
        "noise": fit.channels.iter().map(noise).collect::<Vec<_>>(),
        "held_out": fit.channels.iter().filter_map(held_out).collect::<Vec<_>>(),
        "misfit": fit.misfit,
        "directions": fit.directions,
        "before": fit.before,
        "notes": fit.notes,
        "independent_samples": fit.effective,
        "converged": fit.converged,
        "seconds": fit.seconds,
    })
}

/// A number with four significant digits.
pub fn digits(v: f64) -> String {
    let rounded: f64 = format!("{v:.3e}").parse().unwrap_or(v);
    let is_plain = rounded == 0.0 || (1e-3..1e7).contains(&rounded.abs());
    if is_plain { rounded.to_string() } else { format!("{rounded:e}") }
}

/// What the data say of an unknown.
pub(crate) fn interval(e: &Estimate) -> String {
    let [low, high] = [digits(e.low), digits(e.high)];
    match e.closed {
        [false, false] if e.held => "held: cannot be told".to_owned(),
        [true, true] => format!("{low} to {high}"),
        [false, true] => format!("below {high}"),
        [true, false] => format!("above {low}"),
        [false, false] => "cannot be told".to_owned(),
    }
}

/// What a fit says, for people.
pub fn text(fit: &Fit) -> String {
    let mut out = format!("Law: {}\n", fit.law);
    let width = fit.estimates.iter().map(|e| e.name.len()).max().unwrap_or(0).max(7);
    let mut line = |text: String| {
        let _ = writeln!(out, "{}", text.trim_end());
    };
    line(format!("  {:width$}  {:>10}  90 % interval", "unknown", "value"));
    for e in &fit.estimates {
        let mark = if e.identifiable || e.held || e.closed != [true; 2] { "" } else { "  not alone" };
        let note = if e.note.is_empty() { String::new() } else { format!("  ({})", e.note) };
        line(format!("  {:width$}  {:>10}  {}{mark}{note}", e.name, digits(e.value), interval(e)));
    }
    for c in &fit.channels {
        let share = |v: f64| c.normal_force.map_or(String::new(), |n| format!(" ({:.4} of the normal force)", v / n));
        line(format!("{} of {}:", c.name, c.recording));
        line(format!("  residual of the fitted part  {}{}", digits(c.residual), share(c.residual)));
        if let Some(rest) = c.held_out {
            line(format!("  of the predicted rest        {}{}", digits(rest), share(rest)));
        }
        if let Some(repeat) = c.repeatability {
            line(format!("  repeatability of periods     {}{}", digits(repeat), share(repeat)));
        }
        line(format!("  noise of the sensor          {}{}", digits(c.sensor), share(c.sensor)));
    }
    for direction in &fit.directions {
        line(format!("Cannot be told: {}.", direction.sentence));
    }
    fit.misfit.iter().for_each(|misfit| line(format!("Misfit: {}.", misfit.sentence)));
    if !fit.converged {
        line("NOT CONVERGED: the numbers above are the best that were found.".to_owned());
    }
    out
}

/// What a comparison says, for people.
pub fn text_of(comparison: &Comparison) -> String {
    let mut out = format!("{}.\n", comparison.sentence);
    for law in &comparison.laws {
        let ratio = law.held_out_ratio.map_or(String::new(), |r| format!("rms of the rest x {r:.2}, "));
        let _ = writeln!(out, "  {:20} {ratio}criterion {:+.0}", law.law, law.criterion);
    }
    out
}

/// The mark of a directory of results, which is written last, and the other files in it.
const MARK: &str = "fit.json";
const OTHERS: [&str; 5] = ["fit.html", "residuals.csv", "scenario.toml", Posterior::FILE, "posterior.toml"];

/// Checks that results may be written into the directory `dir`, which need not be there yet: nothing is
/// replaced but results, those only with `force`, and none of the files that are read, `inputs`.
///
/// # Errors
/// A place where something else is, or where nothing can be written.
pub fn check_place(dir: &Path, force: bool, inputs: &[&Path]) -> Result<(), ParameterError> {
    let wrong = |at: &Path, accepted: &str| Err(ParameterError::new("out", at.display(), accepted));
    if dir.exists() && !dir.is_dir() {
        return wrong(dir, "a directory, or a name that is not taken");
    }
    let real = |path: &Path| path.canonicalize().ok();
    let there = |name: &&str| dir.join(name).symlink_metadata().is_ok();
    if let Some(name) = OTHERS.iter().chain([&MARK]).filter(|name| there(name)).find(|name| {
        let file = real(&dir.join(name));
        file.is_some() && inputs.iter().any(|input| real(input) == file)
    }) {
        return wrong(&dir.join(name), "a directory without a file that is read");
    }
    let has_results = there(&MARK);
    match OTHERS.iter().find(|name| there(name)) {
        Some(name) if !has_results => wrong(&dir.join(name), "a directory without files that are not of a fit"),
        _ if has_results && !force => wrong(dir, "a directory without results, or `force` to replace them"),
        _ => writable(dir).or_else(|e| wrong(dir, &format!("a directory that can be written ({e})"))),
    }
}

/// Whether files can be made in a directory, or where it would be made: by one that is removed again. A fit
/// takes long, and what it found would be lost.
fn writable(dir: &Path) -> io::Result<()> {
    let at = dir.ancestors().map(|at| if at.as_os_str().is_empty() { Path::new(".") } else { at });
    let there = at.into_iter().find(|at| at.exists()).unwrap_or(dir);
    let file = there.join(format!(".bristle-fit-{}", std::process::id()));
    match std::fs::OpenOptions::new().write(true).create_new(true).open(&file) {
        Ok(_) => std::fs::remove_file(file),
        // Of another process by this number, which can write here.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e),
    }
}

/// What some experiments would tell, for people.
pub fn text_of_next(next: &Next) -> String {
    let width = next.experiments.iter().map(|e| e.experiment.len()).max().unwrap_or(0).max(3);
    let mut out = format!("Next: {}.\n", next.sentence);
    for (j, now) in next.now.iter().enumerate() {
        let _ = writeln!(out, "  {}\n    {:width$}  {}", now.name, "now", now.text());
        for e in &next.experiments {
            let _ = writeln!(out, "    {:width$}  {}", e.experiment, e.then[j].text());
        }
    }
    out
}

/// Writes `fit.json`, the page as `fit.html`, and `residuals.csv` and `scenario.toml` of the first fit into
/// the directory `dir`, and its samples as `posterior.csv` and `posterior.toml`; each appears as a whole.
/// Samples of results before, which [`check_place`] has allowed to replace, are removed if there are none.
///
/// # Errors
/// The disk.
pub fn write(dir: &Path, outcome: &Outcome) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let fit = &outcome.fits[0];
    appear(&dir.join("residuals.csv"), |file| {
        let mut out = csv::Writer::from_writer(io::BufWriter::new(file));
        out.write_record(["recording", "quantity", "time", "measured", "model", "fitted"])?;
        for c in &fit.channels {
            for i in (0..c.model.len()).filter(|i| c.model[*i].is_finite()) {
                let numbers = [c.time[i], c.measured[i], c.model[i]].map(|x| x.to_string());
                let [time, measured, model] = &numbers;
                let part = if i < c.fitted { "1" } else { "0" };
                out.write_record([&c.recording, &c.name, time, measured, model, part])?;
            }
        }
        out.flush()
    })?;
    if let Some(page) = &outcome.page {
        appear(&dir.join("fit.html"), |file| file.write_all(page.as_bytes()))?;
    }
    appear(&dir.join("scenario.toml"), |file| file.write_all(fit.scenario.as_bytes()))?;
    if let Some(posterior) = &fit.posterior {
        appear(&dir.join(Posterior::FILE), |file| file.write_all(posterior.table().as_bytes()))?;
        appear(&dir.join("posterior.toml"), |file| file.write_all(posterior.scenario.as_bytes()))?;
    } else {
        for name in [Posterior::FILE, "posterior.toml"] {
            match std::fs::remove_file(dir.join(name)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
    }
    let text = serde_json::to_string_pretty(&outcome.json())?;
    appear(&dir.join(MARK), |file| writeln!(file, "{text}"))
}
