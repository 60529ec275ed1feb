//! Sentences about numbers that can hardly be what they are said to be, most of all for a wrong unit.

use super::units::Kind;
use super::{Channel, Recording};

/// Largest size that a quantity of a friction experiment has, in SI units.
fn largest(kind: Kind) -> f64 {
    match kind {
        Kind::Time => f64::INFINITY,
        Kind::Length | Kind::Speed => 100.0,
        Kind::Angle | Kind::AngularSpeed => 1e4,
        Kind::Force => 1e5,
        Kind::Torque => 1e4,
    }
}

/// The least and the largest size of friction over the normal force.
const FRICTION: [f64; 2] = [1e-4, 20.0];

/// What is odd about the numbers; `kinds` are those of the inputs and of what is compared.
pub(super) fn notes(recording: &Recording, kinds: [&[Kind]; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    let inputs = recording.inputs.iter().zip(kinds[0]);
    for (channel, kind) in inputs.chain(recording.compared.iter().zip(kinds[1])) {
        let (name, size) = (&channel.name, median_size(channel));
        if size > largest(*kind) {
            let unit = kind.si();
            notes.push(format!("`{name}` is {size:.3e} {unit} (median of its size): check its unit."));
        }
        let mut finite = channel.values.iter().filter(|v| v.is_finite());
        let first = finite.next();
        if first.is_some() && finite.all(|v| Some(v) == first) && name != "normal_force" {
            let value = first.copied().unwrap_or_default();
            notes.push(format!("`{name}` is {value} in all samples: check its column."));
        }
    }
    if let Some(normal) = recording.input("normal_force").map(median_size).filter(|force| *force > 0.0) {
        let forces = recording.compared.iter().filter(|c| ["wrench.fx", "wrench.fy"].contains(&&*c.name));
        let most = forces.map(median_size).fold(f64::NAN, f64::max);
        let ratio = most / normal;
        if ratio.is_finite() && !(FRICTION[0]..=FRICTION[1]).contains(&ratio) {
            let forces = format!("{most:.3e} N over {normal:.3e} N, medians of their sizes");
            notes.push(format!("Friction is {ratio:.3e} of the normal force ({forces}): check their units."));
        }
    }
    notes
}

/// Median of the size of the values that are there; 0 without any.
fn median_size(channel: &Channel) -> f64 {
    let mut sizes: Vec<f64> = channel.values.iter().filter(|v| v.is_finite()).map(|v| v.abs()).collect();
    median(&mut sizes)
}

/// The median; 0 of nothing.
pub(super) fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        _ => *values.select_nth_unstable_by(middle, f64::total_cmp).1,
    }
}
