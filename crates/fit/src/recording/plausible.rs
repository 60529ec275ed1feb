//! Sentences about numbers that can hardly be what they are said to be, most of all for a wrong unit.

use super::units::Kind;
use super::{Channel, Recording};
use crate::noise::resolution;
use crate::report::digits;

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
    notes.extend(coarse(recording));
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

/// Share of the motion between samples above which the noise of positions is said.
const COARSE: f64 = 0.2;

/// Positions whose noise or resolution is large beside the motion between samples: the velocities of the
/// model are their differences.
fn coarse(recording: &Recording) -> Option<String> {
    let (name, off, between) = coarseness(recording)?;
    let n = recording.time.len();
    let usual = (recording.time[n - 1] - recording.time[0]) / (n - 1) as f64;
    (off > COARSE * between).then(|| {
        format!(
            "`{name}` is known to {} and moves by {} between samples: velocities are differences of positions, and \
             noise here; `every = {}` s evens it out.",
            digits(off),
            digits(between),
            digits(usual * apart(off, between))
        )
    })
}

/// Number of samples between which a motion is ten times what its positions are off.
fn apart(off: f64, between: f64) -> f64 {
    (10.0 * off / between).ceil().max(1.0)
}

/// Number of samples over which recorded positions show a speed: 1 of positions that are fine enough.
pub(crate) fn samples_of_a_speed(recording: &Recording) -> usize {
    let coarse = coarseness(recording).filter(|(_, off, between)| *off > COARSE * between);
    coarse.map_or(1, |(_, off, between)| (apart(off, between) as usize).min(recording.time.len() / 10).max(1))
}

/// The position that is least exact beside the motion between samples, by how much the difference of two
/// samples is off, and that motion.
fn coarseness(recording: &Recording) -> Option<(String, f64, f64)> {
    let all = || recording.inputs.iter().filter(|c| c.name.starts_with("position.") && c.values.len() > 20);
    let is_turn = |c: &&Channel| c.name == "position.theta";
    let (turns, moves): (Vec<&Channel>, Vec<&Channel>) = all().partition(is_turn);
    let some = if moves.is_empty() { turns } else { moves };
    let n = some.first()?.values.len();
    // Over many samples noise hardly shows.
    let stride = (n / 200).max(2);
    let way = |i: usize| some.iter().map(|c| (c.values[i + stride] - c.values[i]).powi(2)).sum::<f64>().sqrt();
    let ways: Vec<f64> = (0..n - stride).step_by(stride).map(way).filter(|w| w.is_finite()).collect();
    let most = ways.iter().copied().fold(0.0, f64::max);
    let between = median(&mut ways.into_iter().filter(|w| *w > 0.1 * most).collect::<Vec<f64>>()) / stride as f64;
    let off = |c: &&Channel| {
        let step = resolution(&c.values);
        // Steps of a counter: all changes are a few of them, and not all are the same.
        let steps = || c.values.windows(2).map(|w| (w[1] - w[0]).abs() / step).filter(|n| n.is_finite());
        let is_counted =
            step > 0.1 * between && steps().all(|n| (n - n.round()).abs() < 0.01) && steps().any(|n| n.round() != 1.0);
        (if is_counted { step / 6.0f64.sqrt() } else { 2.0f64.sqrt() * noise_of(&c.values) }, c.name.clone())
    };
    let (off, name) = some.iter().map(off).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (between > 0.0).then_some((name, off, between))
}

/// The noise of positions by their second to sixth differences: of motion that bends between samples the
/// higher ones have less.
fn noise_of(values: &[f64]) -> f64 {
    let (mut differences, mut least) = (values.to_vec(), f64::INFINITY);
    // The root of the sum of the squares of binomial coefficients.
    for root in [6.0f64, 70.0, 924.0].map(f64::sqrt) {
        for _ in 0..2 {
            differences = differences.windows(2).map(|w| w[1] - w[0]).collect();
        }
        let mut sizes: Vec<f64> = differences.iter().map(|d| d.abs()).filter(|d| d.is_finite()).collect();
        least = least.min(median(&mut sizes) / (0.6745 * root));
    }
    least
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
