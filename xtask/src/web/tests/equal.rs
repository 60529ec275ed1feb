//! The library in the browser has the numbers of the native one: rollouts and batches of scenarios of every
//! law and model. Native programs multiply and add in one rounding where the processor can, and a browser
//! never does, so that the bits differ.

use std::path::Path;

use bristle_web::Live;
use serde_json::{Value, json};

use crate::browser;
use crate::root;

/// The scenarios: an example, and what is changed in it. The viscoelasto-plastic law is without a Stribeck
/// curve: under a falling one a bristle that slips jumps, and one rounding unit of sigma0 moves the native
/// result by 2e-3 m.
pub(super) const SCENARIOS: [(&str, &[&str]); 23] = [
    ("in_hand.toml", &[]),
    ("in_hand.toml", &["friction.law=lugre"]),
    ("in_hand.toml", &["friction.law=dahl"]),
    ("in_hand.toml", &["friction.law=viscoelasto-plastic", "friction.mu_s_over_mu_c=1.0"]),
    ("in_hand.toml", &["patch.cells=11", "patch.shape=disc"]),
    ("in_hand.toml", &["patch.cells=5", "patch.shape=square"]),
    ("in_hand.toml", &["patch.shape=line-gradient"]),
    ("in_hand.toml", &["step=2e-4"]),
    ("push.toml", &[]),
    ("push.toml", &["friction.law=lugre"]),
    ("push.toml", &["inputs.tilt.angle=0.3", "body.offset=[0.01, 0.0]"]),
    ("reduced.toml", &[]),
    ("reduced.toml", &["friction.law=lugre", "~contact.form"]),
    ("reduced.toml", &["contact.surface=ellipsoid"]),
    ("reduced.toml", &["contact.form=published"]),
    ("reduced.toml", &["friction.law=dahl", "~contact.form"]),
    (
        "reduced.toml",
        &[
            "friction.law=viscoelasto-plastic",
            "friction.mu_s_over_mu_c=1.0",
            "contact.surface=ellipsoid",
            "~contact.form",
        ],
    ),
    ("twist_profile.toml", &[]),
    ("twist_profile.toml", &["friction.law=dahl"]),
    ("twist_profile.toml", &["friction.law=dahl", "contact.model=reduced"]),
    ("drift.toml", &[]),
    ("c/hold.toml", &[]),
    ("c/hold.toml", &["contact.model=point", "~patch", "~body.inertia"]),
];

/// Contacts of each, and how long they are simulated \[s\].
pub(super) const CONTACTS: u32 = 3;
const DURATION: f64 = 0.4;
/// Largest difference of a number, of one or of itself.
const MOST: f64 = 1e-12;
/// Of a batch: the times \[s\] between calls and the shares of the normal force that are set before them.
pub(super) const CALLS: [(f64, f64); 3] = [(0.05, 1.0), (0.03, 0.6), (0.07, 1.2)];

const SCRIPT: &str = "
const bristle = await import('/files/bristle.js');
await bristle.default();
const out = [];
for (const {text, contacts, forces, calls, refused} of input) {
  const batch = new bristle.Batch(text, contacts, 'f64');
  const live = [];
  calls.forEach(([dt, share]) => {
    forces.forEach((force, k) => batch.set(k, 'inputs.normal_force', share * force));
    batch.advance(dt);
    live.push(...batch.samples());
  });
  for (let k = 0; k < batch.length; k++) {
    live.push(...batch.bristles(k), ...batch.margin(k), ...batch.pressed(k), ...batch.weights(k));
  }
  live.push(...batch.surface(0, 4));
  let error = '';
  try { bristle.change(text, refused); new bristle.Batch(bristle.change(text, refused), 1, 'f64'); }
  catch (e) { error = e.message; }
  // JSON has neither infinity nor NaN.
  const numbers = (all) => Array.from(all, String);
  out.push({rollout: numbers(bristle.rollout(text, contacts, 'f64')), live: numbers(live), error});
}
await post(out);
";

/// A change that the library refuses, with a text of its own.
const REFUSED: &str = "friction.sigma0=-1";

/// Runs all scenarios natively and in the browser.
pub fn test(folder: &Path) -> Result<(), String> {
    let texts: Vec<String> = SCENARIOS.iter().map(|(file, changes)| text(file, changes)).collect::<Result<_, _>>()?;
    let inputs: Vec<Value> = texts.iter().map(|text| input(text)).collect::<Result<_, _>>()?;
    let found = browser::run(SCRIPT, &Value::Array(inputs), Some(folder), false)?;
    let mut largest = 0.0f64;
    for (i, text) in texts.iter().enumerate() {
        let name = format!("{} {}", SCENARIOS[i].0, SCENARIOS[i].1.join(" "));
        let rollout = bristle_web::rollout(text, CONTACTS, "f64").map_err(|e| format!("{name}: {e}"))?;
        for (what, native) in [("rollout", rollout), ("live", live(text)?)] {
            let there = numbers(&found[i][what]);
            let worst = difference(&native, &there).ok_or_else(|| {
                format!("{name}: {what}: {} numbers, and {} in the browser", native.len(), there.len())
            })?;
            if worst > MOST {
                return Err(format!("{name}: {what} differs by {worst:e}: expected at most {MOST:e}"));
            }
            largest = largest.max(worst);
        }
        let error = bristle_web::change(text, REFUSED).and_then(|text| Live::new(&text, 1, "f64"));
        let error = error.err().map(|e| e.to_string()).unwrap_or_default();
        if error.is_empty() || found[i]["error"] != error {
            return Err(format!("{name}: `{error}` is refused by `{}` in the browser", found[i]["error"]));
        }
    }
    println!("xtask: web: {} scenarios as natively, within {largest:e}", SCENARIOS.len());
    Ok(())
}

/// The text of an example with changes.
pub(super) fn text(file: &str, changes: &[&str]) -> Result<String, String> {
    let path = root().join("examples").join(file);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let duration = format!("duration={DURATION}");
    let mut changes = changes.iter().copied().chain([duration.as_str()]);
    let changed = changes.try_fold(text, |text, change| bristle_web::change(&text, change));
    changed.map_err(|e| format!("{file}: {e}"))
}

pub(super) fn input(text: &str) -> Result<Value, String> {
    let forces = forces(&mut Live::new(text, CONTACTS, "f64").map_err(|e| e.to_string())?)?;
    Ok(json!({ "text": text, "contacts": CONTACTS, "forces": forces, "calls": CALLS, "refused": REFUSED }))
}

/// The normal forces at the start \[N\], a little more than nothing.
pub(super) fn forces(live: &mut Live) -> Result<Vec<f64>, String> {
    let samples = live.samples().map_err(|e| e.to_string())?;
    Ok(samples.chunks(12).map(|sample| sample[9].max(0.1)).collect())
}

/// What the script calls, natively.
fn live(text: &str) -> Result<Vec<f64>, String> {
    let mut all = Vec::new();
    let mut run = || {
        let mut live = Live::new(text, CONTACTS, "f64")?;
        let forces = forces(&mut live).unwrap_or_default();
        for (dt, share) in CALLS {
            for (k, force) in forces.iter().enumerate() {
                live.set(Some(k), "inputs.normal_force", share * force)?;
            }
            live.advance(dt)?;
            all.extend(live.samples()?);
        }
        for k in 0..live.len() {
            all.extend(live.bristles(k)?);
            all.extend(live.margin(k)?);
            all.extend(live.pressed(k)?);
            all.extend(live.weights(k)?);
        }
        all.extend(live.surface(0, 4)?);
        Ok::<(), bristle_web::Error>(())
    };
    run().map_err(|e| e.to_string())?;
    Ok(all)
}

pub(super) fn numbers(values: &Value) -> Vec<f64> {
    let texts = values.as_array().into_iter().flatten().filter_map(Value::as_str);
    // As JavaScript prints them.
    texts.map(|text| text.replace("Infinity", "inf").parse().unwrap_or(f64::NAN)).collect()
}

/// The largest difference, where both are as long and have no number that the other has not.
pub(super) fn difference(native: &[f64], there: &[f64]) -> Option<f64> {
    let of = |(a, b): (&f64, &f64)| match (a.is_finite(), b.is_finite()) {
        (true, true) => Some((a - b).abs() / a.abs().max(1.0)),
        _ if a.is_nan() == b.is_nan() && (a.is_nan() || a == b) => Some(0.0),
        _ => None,
    };
    let all = native.iter().zip(there).map(of).collect::<Option<Vec<f64>>>()?;
    (!native.is_empty() && native.len() == there.len()).then(|| all.into_iter().fold(0.0, f64::max))
}
