//! Batches on WebGPU in the browser have the numbers of the CPU natively, in double precision, within what
//! single precision allows; a saved batch goes on with the same bits; and a device that is lost is told.
//!
//! All scenarios run as they are, and in fixed steps. By tolerance both engines are as exact, but rounding
//! decides which steps a contact takes, so that two runs differ by the error of the steps.

use std::path::Path;

use bristle_web::Live;
use serde_json::Value;

use super::equal::{CALLS, CONTACTS, SCENARIOS, difference, forces, input, numbers, text};
use crate::browser;

/// The fixed step of all scenarios \[s\].
const STEP: &str = "step=2e-4";

/// What is compared, and the largest differences in these steps and as scenarios are, of 1 m, 1 rad, 1 N or
/// of itself. In single precision a force in fast sliding is off by `2e-7 sigma1 |v|/mu_c` of itself
/// (docs/scenario.md).
const KINDS: [(&str, [f64; 2]); 5] = [
    ("pose", [1e-5; 2]),
    ("twist", [1e-5, 2e-3]),
    ("wrench", [1e-5, 2e-3]),
    ("share", [SHARE; 2]),
    ("bristle", [2e-5, 2e-3]),
];
/// Of twist, wrench and bristle of a body without damping, under Dahl's law, on one bristle in fixed steps,
/// and by tolerance: it swings as long as it sticks, and rounding of the phase adds up. By tolerance the
/// steps themselves are off by 4e-2 N there.
const UNDAMPED: [f64; 2] = [2e-4, 1e-2];
/// Of the shares that slip or are near their limit: one cell on the edge of either is a larger difference
/// than any of rounding.
const SHARE: f64 = 0.02;

const SCRIPT: &str = "
const bristle = await import('/files/bristle.js');
await bristle.default();
const gpu = await bristle.Gpu.open();
const out = [];
const numbers = (all) => Array.from(all, String);
for (const {text, contacts, forces, calls} of input) {
  const batch = await gpu.batch(text, contacts);
  const samples = [], bristles = [];
  for (const [dt, share] of calls) {
    forces.forEach((force, k) => batch.set(k, 'inputs.normal_force', share * force));
    await batch.advanceAsync(dt);
    samples.push(...await batch.samplesAsync());
  }
  for (let k = 0; k < batch.length; k++) bristles.push(...await batch.bristlesAsync(k));
  const saved = await batch.saveAsync();
  await batch.advanceAsync(0.02);
  const once = numbers(await batch.samplesAsync());
  await batch.restoreAsync(saved);
  await batch.advanceAsync(0.02);
  const again = numbers(await batch.samplesAsync());
  await batch.resetAsync();
  const first = numbers(await batch.samplesAsync());
  out.push({samples: numbers(samples), bristles: numbers(bristles), once, again, first, engine: batch.engine});
}
const {text, contacts} = input[0];
const batch = await gpu.batch(text, contacts);
let refused = '';
try { batch.samples(); batch.advance(0.01); } catch (e) { refused = e.message; }
await batch.advanceAsync(0.01);
gpu.lose();
let lost = '';
for (let i = 0; i < 100 && !lost; i++) {
  try { await batch.advanceAsync(0.01); await batch.samplesAsync(); } catch (e) { lost = e.message; }
}
await post({out, refused, lost});
";

/// Runs all scenarios natively on the CPU, and in the browser on WebGPU.
pub fn test(folder: &Path) -> Result<(), String> {
    let fixed = SCENARIOS.map(|(file, changes)| (file, [changes, &[STEP]].concat()));
    let as_they_are = SCENARIOS.map(|(file, changes)| (file, changes.to_vec()));
    let all: Vec<(&str, Vec<&str>)> = fixed.into_iter().chain(as_they_are).collect();
    let texts: Vec<String> = all.iter().map(|(file, changes)| text(file, changes)).collect::<Result<_, _>>()?;
    let inputs: Vec<Value> = texts.iter().map(|text| input(text)).collect::<Result<_, _>>()?;
    let found = browser::run(SCRIPT, &Value::Array(inputs), Some(folder), true)?;
    let (mut largest, mut wrong) = ([[0.0f64; KINDS.len()]; 2], Vec::new());
    for (i, text) in texts.iter().enumerate() {
        let ((file, changes), there) = (&all[i], &found["out"][i]);
        let name = format!("{file} {}", changes.join(" "));
        let steps = usize::from(!changes.contains(&STEP));
        let native = native(text).map_err(|e| format!("{name}: {e}"))?;
        for (native, what) in native.iter().zip(["samples", "first", "bristles"]) {
            let there = numbers(&there[what]);
            let is_undamped = changes.contains(&"friction.law=dahl") && !file.starts_with("twist");
            let swings = is_undamped && (*file == "reduced.toml" || steps == 1);
            for (k, (kind, limits)) in KINDS.into_iter().enumerate() {
                let swings = swings && matches!(kind, "twist" | "wrench" | "bristle");
                let most = if swings { limits[steps].max(UNDAMPED[steps]) } else { limits[steps] };
                let of_kind = |all: &[f64]| {
                    let is_it = |(j, v): (usize, &f64)| (kind_of(what, j) == kind).then_some(*v);
                    all.iter().enumerate().filter_map(is_it).collect::<Vec<_>>()
                };
                let (own, there) = (of_kind(native), of_kind(&there));
                if own.is_empty() && there.is_empty() {
                    continue;
                }
                let worst = difference(&own, &there).unwrap_or(f64::INFINITY);
                if worst > most {
                    wrong.push(format!("{name}: {what}: {kind} differs by {worst:e}: expected at most {most:e}"));
                }
                if !swings {
                    let largest = &mut largest[steps][k];
                    *largest = largest.max(worst);
                }
            }
        }
        if there["once"] != there["again"] || numbers(&there["once"]).is_empty() {
            wrong.push(format!("{name}: a batch that was restored goes on with other bits"));
        }
    }
    for (what, wanted) in [("refused", "_async"), ("lost", "lost")] {
        let said = found[what].as_str().unwrap_or_default();
        if !said.contains(wanted) {
            wrong.push(format!("{what}: {said:?}: expected {wanted}"));
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    let engine = &found["out"][0]["engine"];
    for ([pose, twist, wrench, share, bristle], what) in largest.into_iter().zip(["in fixed steps", "as they are"]) {
        println!(
            "xtask: web: {engine} as the CPU natively, {what}: poses within {pose:.1e}, twists {twist:.1e}, wrenches \
             {wrench:.1e}, shares {share:.1e}, bristles {bristle:.1e}"
        );
    }
    Ok(())
}

/// What number `j` of the samples or of the bristles is.
fn kind_of(what: &str, j: usize) -> &'static str {
    match j % 12 {
        _ if what == "bristles" => "bristle",
        0..3 => "pose",
        3..6 => "twist",
        6..10 => "wrench",
        _ => "share",
    }
}

/// What the script computes: the samples after each call, those at the start, and all bristles at the end.
fn native(text: &str) -> Result<[Vec<f64>; 3], String> {
    let run = || {
        let mut live = Live::new(text, CONTACTS, "f64")?;
        let first = live.samples()?;
        let forces = forces(&mut live).unwrap_or_default();
        let (mut samples, mut bristles) = (Vec::new(), Vec::new());
        for (dt, share) in CALLS {
            for (k, force) in forces.iter().enumerate() {
                live.set(Some(k), "inputs.normal_force", share * force)?;
            }
            live.advance(dt)?;
            samples.extend(live.samples()?);
        }
        for k in 0..live.len() {
            bristles.extend(live.bristles(k)?);
        }
        Ok::<_, bristle_web::Error>([samples, first, bristles])
    };
    run().map_err(|e| e.to_string())
}
