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

/// The least and the largest time between samples \[s\].
const STEP: [f64; 2] = [1e-6, 2.0];

/// Travel \[m\] below which hardly any bristle bends.
const TRAVEL: f64 = 1e-7;

/// What is odd about the numbers; `kinds` are those of the inputs and of what is compared.
pub(super) fn notes(recording: &Recording, kinds: [&[Kind]; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    let inputs = recording.inputs.iter().zip(kinds[0]);
    for (channel, kind) in inputs.chain(recording.compared.iter().zip(kinds[1])) {
        let (name, unit) = (&channel.name, kind.si());
        // Where the zero of a position is says nothing.
        let (size, what) = match kind {
            Kind::Length | Kind::Angle => (range(channel), "from end to end"),
            _ => (median_size(channel), "median of its size"),
        };
        if size > largest(*kind) {
            notes.push(format!("`{name}` is {size:.3e} {unit} ({what}): check its unit."));
        }
        let mut finite = channel.values.iter().filter(|v| v.is_finite());
        let first = finite.next();
        if first.is_some() && finite.all(|v| Some(v) == first) && name != "normal_force" {
            let value = first.copied().unwrap_or_default();
            notes.push(format!("`{name}` is {value} in all samples: check its column."));
        }
    }
    let positions = || recording.inputs.iter().filter(|c| c.name.starts_with("position."));
    let travel = positions().filter(|c| c.name != "position.theta").map(range).fold(0.0, f64::max);
    let turns = positions().any(|c| c.name == "position.theta" && range(c) > 0.0);
    if travel > 0.0 && travel < TRAVEL && !turns {
        notes.push(format!("The patch travels {travel:.3e} m from end to end: check the unit of its position."));
    }
    notes.extend(super::coarse::note(recording));
    notes.extend(positions().filter_map(|c| jump(recording, c)));
    let mut steps: Vec<f64> = recording.time.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let step = median(&mut steps);
    if !(STEP[0]..=STEP[1]).contains(&step) {
        notes.push(format!("Samples are {step:.3e} s apart (median): check the unit of the times."));
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

/// A position that jumps faster than anything moves.
fn jump(recording: &Recording, channel: &Channel) -> Option<String> {
    let most = if channel.name == "position.theta" { largest(Kind::AngularSpeed) } else { largest(Kind::Speed) };
    let speed =
        |k: usize| (channel.values[k + 1] - channel.values[k]).abs() / (recording.time[k + 1] - recording.time[k]);
    let count = (0..channel.values.len().saturating_sub(1)).filter(|k| speed(*k) > most).count();
    (count > 0)
        .then(|| format!("`{}` jumps {count} times faster than {most} per second: check its values.", channel.name))
}

/// The largest value less the smallest.
fn range(channel: &Channel) -> f64 {
    let finite = || channel.values.iter().copied().filter(|v| v.is_finite());
    finite().fold(f64::NEG_INFINITY, f64::max) - finite().fold(f64::INFINITY, f64::min)
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
