//! `bristle margin --twist`: the friction of patches that slide.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::{MarginArguments, many, place_name};
use crate::cli::pressed::{Source, digits, swept_text, unread};
use crate::cli::progress::Progress;
use crate::cli::{Failure, print, print_text};
use bristle::limit_surface::WrenchGradient;
use bristle::planar::Twist;
use bristle_data::surfaces::{self, Twists, Wrenches};

/// Largest memory for wrenches [byte].
const MAX_BYTES: usize = 4 << 30;
/// Largest number of numbers that are printed.
const MOST_NUMBERS: usize = 1_000_000;

impl MarginArguments {
    /// Whether wrenches of twists are asked for, in place of margins.
    pub(super) fn slides(&self) -> bool {
        !self.twists.is_empty() || self.file_of_twists.is_some()
    }

    /// Prints wrenches of steady sliding, or writes them to a file.
    pub(super) fn wrenches(&self, source: &Source, start: Instant) -> Result<(), Failure> {
        let patches = &source.patches;
        let twists = match &self.file_of_twists {
            Some(file) => Twists::read(file, patches.len()).map_err(unread)?,
            None => Twists::shared(self.twists.iter().map(|t| twist(t)).collect::<Result<_, _>>()?),
        };
        let each = Wrenches::bytes(patches, self.gradients);
        let wrenches = patches.len().saturating_mul(twists.each());
        let most = if self.out.is_some() { MAX_BYTES / each } else { 8 * MOST_NUMBERS / each };
        if wrenches > most {
            let at_once = if self.out.is_some() { "at once" } else { "to print, or `--out WRENCHES.npz`" };
            return Err(Failure::of_user(format!("{wrenches} wrenches: expected at most {most} {at_once}")));
        }
        let progress = Progress::new(patches.len() as u64, 0, "patches".to_owned(), self.quiet);
        let made = Wrenches::new(patches, &twists, self.at, self.gradients, &|| progress.advance(1));
        drop(progress);
        let made = made.map_err(Failure::of_user)?;
        if let Some(out) = &self.out {
            return self.write_wrenches(source, &twists, &made, out, start);
        }
        let reports: Vec<Value> = (0..patches.len()).map(|k| self.wrench_report(source, &twists, &made, k)).collect();
        source.print(&reports, self.json, text)
    }

    fn write_wrenches(
        &self,
        source: &Source,
        twists: &Twists,
        made: &Wrenches,
        out: &Path,
        start: Instant,
    ) -> Result<(), Failure> {
        let Source { patches, sweeps, .. } = source;
        let io = |path, source| bristle_data::rollout::RolloutError::Io { path, source };
        surfaces::publish(out, io, |path| made.save(path, patches, twists, self.at, sweeps))
            .map_err(Failure::of_machine)?;
        let report = json!({
            "patches": patches.len(),
            "twists": twists.each(),
            "rule": patches[0].rule.name(),
            "at": self.at.name(),
            "wall_s": start.elapsed().as_secs_f64(),
            "out": out.display().to_string(),
        });
        if self.json {
            return print(&report.to_string());
        }
        print_text(&format!(
            "{} along {}, rule {}, twists and wrenches at the {}\n{:.2} s\n{}",
            many(patches.len(), "patch", "patches"),
            many(twists.each(), "twist each", "twists each"),
            patches[0].rule.name(),
            place_name(self.at.name()),
            start.elapsed().as_secs_f64(),
            out.display(),
        ))
    }

    /// The wrenches of patch `k`.
    fn wrench_report(&self, source: &Source, twists: &Twists, made: &Wrenches, k: usize) -> Value {
        let columns = source.patches[k].patch.grid().nx;
        let of_twist = |(i, twist): (usize, &Twist)| {
            let mut report = json!({ "twist": twist.to_array(), "wrench": made.wrenches[k][i].to_array() });
            if let Some(gradients) = &made.gradients {
                report["gradient"] = gradient(&gradients[k][i], columns);
            }
            report
        };
        let twists: Vec<Value> = twists.of(k).iter().enumerate().map(of_twist).collect();
        source.report(k, json!({ "at": self.at.name(), "twists": twists }))
    }
}

/// The derivatives of a wrench; those by the pressures as three maps, bottom row first.
fn gradient(found: &WrenchGradient, columns: usize) -> Value {
    let WrenchGradient { twist, pressure, mu, f_n, .. } = found;
    // JSON has no NaN: null is the derivative by the twist at rest.
    let twist = twist.iter().flatten().all(|d| d.is_finite()).then_some(twist);
    let map = |i: usize| -> Vec<Vec<f64>> {
        pressure.chunks(columns).map(|row| row.iter().map(|cell| cell[i]).collect()).collect()
    };
    json!({ "twist": twist, "pressure": [map(0), map(1), map(2)], "mu": mu, "f_n": f_n })
}

/// `vx,vy,w`.
fn twist(text: &str) -> Result<Twist, Failure> {
    let parts: Option<Vec<f64>> = text.split(',').map(|p| p.trim().parse().ok()).collect();
    match parts.as_deref() {
        Some(&[vx, vy, w]) if [vx, vy, w].iter().all(|v| v.is_finite()) => Ok(Twist::new(vx, vy, w)),
        _ => {
            let accepted = "expected vx,vy,w [m/s, m/s, rad/s], such as 0.1,-0.05,2";
            Err(Failure::of_user(format!("--twist `{text}`: {accepted}")))
        }
    }
}

fn text(report: &Value) -> String {
    let number = |v: &Value| v.as_f64().unwrap_or(f64::NAN);
    // What is nothing beside the largest is 0.
    let list = |v: &Value| {
        let values: Vec<f64> = v.as_array().map(Vec::as_slice).unwrap_or_default().iter().map(number).collect();
        let most = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        let shown = values.iter().map(|v| digits(if v.abs() < 1e-9 * most { 0.0 } else { *v }));
        shown.collect::<Vec<_>>().join(", ")
    };
    let word = |key: &str| report[key].as_str().unwrap_or_default();
    let mut text = swept_text(report);
    text += &format!(
        "mu = {} ({}), f_N = {} N ({}), rule {}\ntwists [m/s, m/s, rad/s] and wrenches [N, N, N m] at the {}\n",
        report["mu"],
        word("mu_from"),
        report["f_n"],
        word("f_n_from"),
        word("rule"),
        place_name(word("at")),
    );
    for found in report["twists"].as_array().map(Vec::as_slice).unwrap_or_default() {
        text += &format!("\n({})  friction ({})\n", list(&found["twist"]), list(&found["wrench"]));
        let gradient = &found["gradient"];
        if gradient.is_null() {
            continue;
        }
        let by_twist = gradient["twist"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (name, row) in ["fx", "fy", "tau"].iter().zip(by_twist) {
            text += &format!("  derivatives of {name}: by the twist ({})\n", list(row));
        }
        let (by_mu, by_force) = (list(&gradient["mu"]), list(&gradient["f_n"]));
        text += &format!("  by mu ({by_mu}), by the normal force ({by_force})\n");
    }
    text.trim_end().to_owned()
}
