//! What a recording cannot tell: before the fit by rules about what was done in it, and at the best fit by
//! directions of the unknowns in which the residuals do not change.

use nalgebra::DMatrix;

use crate::model::Problem;
use crate::noise::{median, sensor_noise};
use crate::recording::{Channel, samples_of_a_speed};
use crate::repeated::spread;
use crate::report::digits;
use crate::unknown::{Part, Quantity, Unknown};

/// Unknowns that can change together while the residuals stay.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Direction {
    /// Their names: the one that is held first.
    pub unknowns: Vec<String>,
    /// The value at which the first is held, so that the others can be told.
    pub held_at: f64,
    /// What that means, in a sentence.
    pub sentence: String,
}

/// Members of a direction have at least this share of its largest component.
const MEMBER: f64 = 0.1;

/// A direction is null if its 90 % interval is wider than this share of the box of all bounds.
const WIDE: f64 = 0.5;

/// A number of a sensor is held if so much of the square of its effect is that of other unknowns, too.
const MIMICKED: f64 = 0.9;

/// In which order unknowns are held: those first that can be measured otherwise, and then those that a
/// contact is least often described by.
fn rank(unknown: &Unknown) -> usize {
    match (&unknown.quantity, unknown.path()) {
        (Quantity::Sensor { part: Part::Gain, .. }, _) => 0,
        (Quantity::Sensor { part: Part::Delay, .. }, _) => 1,
        (Quantity::Sensor { part: Part::Drift, .. }, _) => 2,
        (_, "inputs.normal_force") => 3,
        (_, path) if path.starts_with("patch.") => 4,
        (_, "friction.gamma") => 5,
        (_, "friction.v_s") => 6,
        (_, "friction.mu_s_over_mu_c" | "friction.mu_s") => 7,
        (_, "friction.sigma2") => 8,
        (_, "friction.sigma1") => 9,
        (_, "friction.s_ba") => 10,
        (Quantity::Sensor { .. } | Quantity::Start(_), _) => 11,
        (_, "friction.mu_c") => 13,
        _ => 12,
    }
}

/// The null direction that is to be removed first, if there is one: which unknown is held, and its partners.
/// `jacobian` has the residuals over the standard deviation of independent samples, a column each of the
/// `free` unknowns.
pub fn null_direction(jacobian: &DMatrix<f64>, free: &[usize], unknowns: &[Unknown]) -> Option<(usize, Vec<usize>)> {
    let n = free.len();
    if n == 0 {
        return None;
    }
    let gram = jacobian.tr_mul(jacobian);
    // An unknown that moves nothing at all, or less than its bounds are apart.
    let least = (1.645 / WIDE).powi(2);
    if let Some(k) = (0..n).filter(|k| gram[(*k, *k)] < least).min_by_key(|k| rank(&unknowns[free[*k]])) {
        return Some((free[k], Vec::new()));
    }
    let eigen = gram.clone().symmetric_eigen();
    let k = eigen.eigenvalues.imin();
    if eigen.eigenvalues[k] < least {
        let vector = eigen.eigenvectors.column(k);
        let most = vector.amax();
        let members: Vec<usize> = (0..n).filter(|i| vector[*i].abs() >= MEMBER * most).collect();
        let held = *members.iter().min_by_key(|i| rank(&unknowns[free[**i]]))?;
        let mut partners = partners(&gram, held);
        // Where there is another null direction, none of them is told better without this one.
        if partners.is_empty() {
            partners.extend(members.iter().copied().filter(|i| *i != held));
        }
        // Beside a number of a sensor it harms nobody to be named.
        if matches!(unknowns[free[held]].quantity, Quantity::Sensor { .. }) {
            partners.extend(members.into_iter().filter(|i| *i != held));
            partners.sort_unstable();
            partners.dedup();
        }
        return Some((free[held], partners.into_iter().map(|i| free[i]).collect()));
    }
    None
}

/// The gain or the delay of a sensor that does nearly the same as numbers of the contact, if there is one and
/// it is none of `needed`, and its partners. One calibrates such numbers, and a small misfit of the law would
/// be put into them; a prior is a calibration.
pub fn mimicked_sensor(
    jacobian: &DMatrix<f64>,
    free: &[usize],
    unknowns: &[Unknown],
    needed: &[usize],
) -> Option<(usize, Vec<usize>)> {
    let gram = jacobian.tr_mul(jacobian);
    let is_calibrated = |k: &usize| {
        let unknown = &unknowns[free[*k]];
        rank(unknown) <= 1 && unknown.prior.is_none() && !needed.contains(&free[*k])
    };
    let held = (0..free.len()).filter(is_calibrated).find(|k| mimicked(&gram, *k) > MIMICKED)?;
    Some((free[held], partners(&gram, held).into_iter().map(|i| free[i]).collect()))
}

/// Those who are known half as well or worse as long as unknown `held` is not known: by their standard
/// deviations, with nothing known before but the bounds.
fn partners(gram: &DMatrix<f64>, held: usize) -> Vec<usize> {
    let n = gram.nrows();
    // A uniform distribution between the bounds has the variance 1/12.
    let known = gram + DMatrix::identity(n, n) * 12.0;
    let others: Vec<usize> = (0..n).filter(|i| *i != held).collect();
    let deviations = |precision: DMatrix<f64>| precision.cholesky().map(|c| c.inverse().diagonal().map(f64::sqrt));
    let beside = deviations(known.clone());
    let alone = deviations(known.select_rows(&others).select_columns(&others));
    let Some((beside, alone)) = beside.zip(alone) else { return others };
    others.iter().enumerate().filter(|(k, i)| beside[**i] > 2.0 * alone[*k]).map(|(_, i)| *i).collect()
}

/// How much of the square of column `k` other columns explain.
fn mimicked(gram: &DMatrix<f64>, k: usize) -> f64 {
    let others: Vec<usize> = (0..gram.nrows()).filter(|i| *i != k).collect();
    explained(gram, k, &others)
}

/// How much of the square of column `k` the columns `others` explain.
fn explained(gram: &DMatrix<f64>, k: usize, others: &[usize]) -> f64 {
    if others.is_empty() {
        return 0.0;
    }
    let own = gram.select_rows(others).select_columns(others);
    let cross = gram.select_rows(others).column(k).into_owned();
    // Columns of others may be dependent; then the rest of them explains as much.
    let Ok(inverse) = own.pseudo_inverse(1e-12 * gram.diagonal().max()) else { return 0.0 };
    cross.dot(&(inverse * &cross)) / gram[(k, k)]
}

/// What a direction means.
pub fn sentence(held: &Unknown, partners: &[&Unknown], at: f64) -> String {
    let name = &held.name;
    let at = digits(at);
    let list = partners.iter().map(|u| u.name.as_str()).collect::<Vec<_>>().join(", ");
    match (partners.is_empty(), &held.quantity) {
        (true, _) => format!("{name} moves nothing that is seen beside the residual: it is held at {at}"),
        (false, Quantity::Sensor { part: Part::Gain | Part::Delay, .. }) => {
            format!("{name} is one direction with {list}: it is held at {at}; only a calibration can tell it")
        }
        _ => format!("{name} and {list} are one direction: {name} is held at {at}, the others hold for that alone"),
    }
}

/// How fast the contact moved in a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speeds {
    /// Median speed of what moves faster than a tenth of the fastest [m/s].
    pub usual: f64,
    /// The 5 % and the 95 % quantile of the same [m/s].
    pub range: [f64; 2],
    /// Whether the motion turns back.
    pub turns_back: bool,
    /// Whether it is turning alone: speeds are in rad/s.
    pub is_rotation: bool,
}

/// Speeds by the recorded positions, poses or velocities of a recording; none if it has none.
pub fn speeds(problem: &Problem<'_>, recording: usize) -> Option<Speeds> {
    // What it slides on moves by itself.
    if problem.scenario.first().contact.inputs.surface.is_some() {
        return None;
    }
    let recording = &problem.repeated[recording].recording;
    let of = |name: &str| {
        let all = recording.inputs.iter().chain(&recording.compared);
        all.filter(|c| c.name == name).map(|c| &c.values).next()
    };
    // Of positions that are coarse or noisy over several samples.
    let apart = samples_of_a_speed(recording);
    let over = |values: &[f64], i: usize| {
        let (from, to) = (i.saturating_sub(apart / 2), (i + 1 + (apart - 1) / 2).min(values.len() - 1));
        (values[to] - values[from]) / (recording.time[to] - recording.time[from])
    };
    let differences = |values: &Vec<f64>| -> Vec<f64> { (0..values.len() - 1).map(|i| over(values, i)).collect() };
    let velocity = |axis: usize| {
        let twist = ["twist.vx", "twist.vy", "twist.w"][axis];
        let places = [["position.x", "pose.x"], ["position.y", "pose.y"], ["position.theta", "pose.theta"]][axis];
        of(twist).cloned().or_else(|| of(places[0]).or_else(|| of(places[1])).map(differences))
    };
    let [vx, vy, w] = [0, 1, 2].map(velocity);
    let is_rotation = vx.is_none() && vy.is_none();
    let parts: Vec<Vec<f64>> = if is_rotation { vec![w?] } else { [vx, vy].into_iter().flatten().collect() };
    let n = parts.iter().map(Vec::len).min()?;
    let speed = |i: usize| parts.iter().map(|p| p[i] * p[i]).sum::<f64>().sqrt();
    let mut all: Vec<f64> = (0..n).map(speed).filter(|s| s.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let fast = *all.get(all.len().checked_sub(1)? * 98 / 100)?;
    let moving: Vec<f64> = all.into_iter().filter(|s| *s > 0.1 * fast && *s > 0.0).collect();
    let at = |share: f64| moving.get(((moving.len() as f64 - 1.0) * share) as usize).copied();
    // It turns back if it goes back by a tenth of its way from end to end: a slow way back counts, and noise
    // does not.
    let turns_back = parts.iter().any(|p| {
        let (mut at, mut ends, mut tops, mut back) = (0.0f64, [0.0f64; 2], [0.0f64; 2], [0.0f64; 2]);
        for (v, t) in p.iter().zip(recording.time.windows(2)).filter(|(v, _)| v.is_finite()) {
            at += v * (t[1] - t[0]);
            ends = [ends[0].min(at), ends[1].max(at)];
            tops = [tops[0].max(at), tops[1].max(-at)];
            back = [back[0].max(tops[0] - at), back[1].max(tops[1] + at)];
        }
        back[0].min(back[1]) > 0.1 * (ends[1] - ends[0])
    });
    Some(Speeds { usual: median(moving.clone()), range: [at(0.05)?, at(0.95)?], turns_back, is_rotation })
}

/// Whether all of a recording slides one way, without a rest, under a normal force that is constant but for
/// noise: which wrenches then have friction that their offset may have, by the beginning of their names.
pub fn slides_one_way(problem: &Problem<'_>, recording: usize) -> Option<&'static str> {
    let speeds = speeds(problem, recording).filter(|s| !s.turns_back && s.range[1] < 1.5 * s.range[0])?;
    let recording = &problem.repeated[recording].recording;
    let (n, stride) = (recording.time.len(), (recording.time.len() / 50).max(1));
    let motion = |kind: &str| -> Vec<&Vec<f64>> {
        let is_it = |c: &&Channel| {
            c.name.starts_with(kind) && (c.name.ends_with("theta") || c.name.ends_with(".w")) == speeds.is_rotation
        };
        recording.inputs.iter().filter(is_it).map(|c| &c.values).collect()
    };
    // A rest shows the force without the friction of sliding.
    let is_fast = |i: usize| {
        let to = (i + stride).min(n - 1);
        let way = motion("position.").iter().map(|p| (p[to] - p[i]).powi(2)).sum::<f64>().sqrt();
        let speed = motion("twist.").iter().map(|v| v[i].powi(2)).sum::<f64>().sqrt();
        way / (recording.time[to] - recording.time[i]) + speed > 0.2 * speeds.usual
    };
    let is_constant = recording.input("normal_force").is_none_or(|force| {
        let mean = force.values.iter().sum::<f64>() / force.values.len().max(1) as f64;
        spread(&force.values) < (2.0 * sensor_noise(&force.values)).max(1e-3 * mean.abs())
    });
    let one_way = is_constant && (0..n - 1).step_by(stride).all(is_fast);
    one_way.then_some(if speeds.is_rotation { "wrench.tau" } else { "wrench.f" })
}

/// What the recordings cannot tell by what was done in them, in sentences; what the file holds is known.
pub fn beforehand(problem: &Problem<'_>, held: &[bool]) -> Vec<String> {
    let mut all = Vec::new();
    let unknowns = || problem.unknowns.iter().zip(held).filter(|(_, held)| !**held).map(|(unknown, _)| unknown);
    let has = |path: &str| unknowns().any(|u| u.path() == path);
    let has_part = |part: Part| {
        let is_it = |u: &&Unknown| matches!(&u.quantity, Quantity::Sensor { part: own, .. } if *own == part);
        unknowns().find(is_it).filter(|u| u.prior.is_none())
    };
    let listed = |paths: &[&str]| {
        let some: Vec<&str> = paths.iter().copied().filter(|path| has(path)).collect();
        (!some.is_empty()).then(|| some.join(", "))
    };
    let known: Vec<Speeds> = (0..problem.repeated.len()).filter_map(|r| speeds(problem, r)).collect();
    let is_free = problem.scenario.first().contact.body.free().is_some();
    if !known.is_empty() && !is_free {
        let low = known.iter().map(|s| s.range[0]).fold(f64::INFINITY, f64::min);
        let high = known.iter().map(|s| s.range[1]).fold(0.0, f64::max);
        let unit = if known[0].is_rotation { "rad/s" } else { "m/s" };
        if high < 3.0 * low
            && let Some(list) =
                listed(&["friction.v_s", "friction.mu_s_over_mu_c", "friction.gamma", "friction.sigma2"])
        {
            let [low, high] = [low, high].map(digits);
            all.push(format!(
                "it slides at {low} to {high} {unit} alone: that shows the sliding friction at this speed, not \
                 how it depends on the speed ({list})"
            ));
        }
        if known.iter().all(|s| !s.turns_back)
            && let Some(list) = listed(&["friction.sigma0", "friction.sigma1", "friction.s_ba"])
        {
            all.push(format!("the motion never turns back: only its first start can show {list}"));
        }
    }
    let contact = ["friction.mu_c", "friction.sigma0", "friction.sigma1", "friction.sigma2"];
    let forces_alone =
        problem.repeated.iter().all(|r| r.recording.compared.iter().all(|c| c.name.starts_with("wrench.")));
    // Forces scale with all of them together: one that is known tells the gain.
    let scales = ["friction.mu_c", "friction.sigma0"].into_iter().all(has);
    let forces_alone = forces_alone && scales;
    if let (Some(gain), Some(list), true) = (has_part(Part::Gain), listed(&contact), forces_alone && !is_free) {
        all.push(format!("{} is one direction with {list} together: forces alone cannot tell it", gain.name));
    }
    if let (Some(delay), true) = (has_part(Part::Delay), has("friction.sigma1")) {
        all.push(format!("{} is nearly one direction with friction.sigma1: both lead or lag the force", delay.name));
    }
    if let (true, true, Some(list)) = (has("inputs.normal_force"), forces_alone && !is_free, listed(&contact)) {
        all.push(format!("inputs.normal_force is one direction with {list} together: forces show their products"));
    }
    all
}
