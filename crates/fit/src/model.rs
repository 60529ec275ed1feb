//! From candidates to residuals: every candidate, and every change of it for a derivative, is a contact of
//! one batch, driven by what was recorded.

use bristle::body::Body;
use bristle::contact::Contact;
use bristle::engine::{Engine, Plan, Trajectories};
use bristle::error::{EngineError, ParameterError};
use bristle::schedule::Signal;
use bristle::{Cpu, pool};
use bristle_scenario::Scenario;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use crate::recording::{Recording, TwistSteps};
use crate::trust_region::{Linear, Start};
use crate::unknown::{Part, Quantity, Unknown};

/// Most contact-samples that are computed at once; they take 100 bytes each.
const AT_ONCE: usize = 500_000;

/// How far a coordinate is moved for a derivative. The friction of a prescribed motion is exact to rounding;
/// the velocity of a free body is solved to 1e-4 m/s only before the last step of Newton's method.
const NUDGE: [f64; 2] = [1e-6, 1e-4];

/// A recording, and what a contact is driven with to repeat it.
#[derive(Clone, Debug)]
pub struct Repeated {
    /// The recording.
    pub recording: Recording,
    /// Samples that are fitted; the others are predicted.
    pub fitted: usize,
    /// Whether a sample is compared.
    pub used: Vec<bool>,
    /// The sign of each compared channel, 1 or -1, by which the recorded values are multiplied.
    pub signs: Vec<f64>,
    /// What one standard deviation of each compared channel is taken as.
    pub deviations: Vec<f64>,
    inputs: Vec<(String, Signal)>,
    /// Of a patch that had moved before: how long before the first sample its run begins \[s\], and the twist
    /// from the first sample on as steps; the inputs are later by as much.
    before: Option<(f64, TwistSteps)>,
}

/// Which samples are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those that are fitted.
    Fitted,
    /// All.
    All,
}

/// The recordings, the scenario and its unknowns.
#[derive(Debug)]
pub struct Problem<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The recordings.
    pub repeated: Vec<Repeated>,
    /// The unknowns.
    pub unknowns: Vec<Unknown>,
    /// The longest step \[s\].
    pub step: f64,
    /// Whether derivatives are taken to both sides, which is more exact and costs twice as much.
    pub central: bool,
}

impl Repeated {
    /// A recording of which the `share` from its start is fitted, without what comes within `burn_in` \[s\]
    /// after a start.
    ///
    /// # Errors
    /// Inputs that cannot be made signals of.
    pub fn new(recording: Recording, share: f64, burn_in: f64) -> Result<Self, ParameterError> {
        let time = &recording.time;
        let end = share * time.last().copied().unwrap_or(0.0);
        let fitted = time.partition_point(|t| *t <= end + 1e-9);
        let mut used = vec![true; time.len()];
        for piece in &recording.pieces {
            let Some(&start) = time.get(piece.start) else { continue };
            piece.clone().for_each(|i| used[i] = time[i] >= start + burn_in);
        }
        // At its start a contact has no history.
        used.first_mut().into_iter().for_each(|first| *first = false);
        let inputs = signals(&recording)?;
        let channels = recording.compared.len();
        let deviations = recording.compared.iter().map(|c| spread(&c.values).max(f64::MIN_POSITIVE)).collect();
        Ok(Self { fitted, used, signs: vec![1.0; channels], deviations, inputs, before: None, recording })
    }

    /// Lets the run begin `lead` \[s\] before the first sample, for a motion before the recording; the other
    /// inputs have the values of the first sample until then.
    ///
    /// # Errors
    /// Inputs that cannot be made signals of.
    pub fn begin_before(&mut self, lead: f64) -> Result<(), ParameterError> {
        let mut early = self.recording.clone();
        early.time.iter_mut().for_each(|t| *t += lead);
        early.time.insert(0, 0.0);
        early.inputs.retain(|c| !is_motion(&c.name));
        early.inputs.iter_mut().for_each(|c| c.values.insert(0, c.values[0]));
        self.inputs = signals(&early)?;
        let late = |steps: Vec<(f64, f64)>| steps.into_iter().map(|(t, v)| (t + lead, v)).collect();
        let still = || [const { Vec::new() }; 3];
        self.before = Some((lead, self.recording.steps().map_or_else(still, |steps| steps.map(late))));
        Ok(())
    }

    /// How long before the first sample a run begins \[s\].
    fn lead(&self) -> f64 {
        self.before.as_ref().map_or(0.0, |(lead, _)| *lead)
    }

    /// The samples that are asked for.
    pub fn reach(&self, reach: Reach) -> usize {
        if reach == Reach::Fitted { self.fitted } else { self.recording.time.len() }
    }

    /// Whether a sample of a compared channel counts.
    pub fn counts(&self, channel: usize, i: usize) -> bool {
        self.used[i] && self.recording.compared[channel].values[i].is_finite()
    }

    /// What the sensor said, with its sign.
    pub fn measured(&self, channel: usize, i: usize) -> f64 {
        self.signs[channel] * self.recording.compared[channel].values[i]
    }

    /// Puts the recorded inputs into a contact that moves by `start` before; false if it cannot.
    fn drive(&self, contact: &mut Contact, start: [f64; 3]) -> bool {
        for (name, signal) in &self.inputs {
            *slot(contact, name).expect("inputs are checked when a problem is made") = signal.clone();
        }
        let Some((lead, steps)) = &self.before else { return true };
        ["twist.vx", "twist.vy", "twist.w"].into_iter().zip(steps).zip(start).all(|((name, steps), moved)| {
            let points: Vec<(f64, f64)> = std::iter::once((0.0, moved / lead)).chain(steps.iter().copied()).collect();
            let is_still = points.iter().all(|(_, v)| *v == 0.0);
            let signal = if is_still { Ok(Signal::constant(0.0)) } else { Signal::steps(&points) };
            slot(contact, name).zip(signal.ok()).map(|(slot, signal)| *slot = signal).is_some()
        })
    }
}

/// Standard deviation of the values that are finite.
pub fn spread(values: &[f64]) -> f64 {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let n = finite().count().max(1) as f64;
    let mean = finite().sum::<f64>() / n;
    (finite().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// The signal of a contact that an input of a recording replaces.
fn slot<'c>(contact: &'c mut Contact, name: &str) -> Option<&'c mut Signal> {
    let [of_twist, of_wrench] = [["vx", "vy", "w"], ["fx", "fy", "tau"]];
    let (kind, part) = name.split_once('.').unwrap_or((name, ""));
    let place = |parts: [&str; 3]| parts.iter().position(|p| *p == part);
    match (kind, &mut contact.body) {
        ("normal_force", _) => Some(&mut contact.inputs.normal_force),
        ("mu_c", _) => Some(contact.inputs.mu_c.get_or_insert(Signal::constant(0.0))),
        ("mu_s", _) => Some(contact.inputs.mu_s.get_or_insert(Signal::constant(0.0))),
        ("twist", Body::Prescribed { twist, .. }) => twist.get_mut(place(of_twist)?),
        ("wrench", Body::Free(body)) => body.wrench.get_mut(place(of_wrench)?),
        ("gravity", Body::Free(body)) => body.gravity.get_mut(part.parse::<usize>().ok()?),
        ("anchor", Body::Free(body)) => body.anchor.get_mut(part.parse::<usize>().ok()?),
        _ => None,
    }
}

/// Whether an input says how the patch moves.
fn is_motion(name: &str) -> bool {
    name.starts_with("position.") || name.starts_with("twist.")
}

/// The inputs of a recording as signals. Recorded positions become velocities that are held from sample to
/// sample, so that displacements are those that were recorded.
fn signals(recording: &Recording) -> Result<Vec<(String, Signal)>, ParameterError> {
    let mut all = Vec::new();
    if let Some(twist) = recording.twist()? {
        // A direction without motion is one number, whose break points take no time.
        let is_still = |signal: &Signal| recording.time.iter().all(|t| signal.value(*t) == 0.0);
        let lean = twist.map(|signal| if is_still(&signal) { Signal::constant(0.0) } else { signal });
        all.extend(["twist.vx", "twist.vy", "twist.w"].map(str::to_owned).into_iter().zip(lean));
    }
    for channel in recording.inputs.iter().filter(|c| !is_motion(&c.name)) {
        all.extend(recording.signal(&channel.name)?.map(|signal| (channel.name.clone(), signal)));
    }
    Ok(all)
}

/// A number of the last `samples` of a contact by the name of a compared channel.
fn quantity(trajectories: &Trajectories, contact: usize, name: &str, samples: usize) -> Option<Vec<f64>> {
    let of = trajectories.of(contact);
    let of = of.end - samples..of.end;
    let (kind, part) = name.split_once('.')?;
    let axes: [&str; 3] = match kind {
        "wrench" => ["fx", "fy", "tau"],
        "pose" => ["x", "y", "theta"],
        "twist" => ["vx", "vy", "w"],
        _ => return None,
    };
    let axis = axes.iter().position(|a| *a == part)?;
    Some(match kind {
        "wrench" => trajectories.wrench[of].iter().map(|w| [w.fx, w.fy, w.tau][axis]).collect(),
        "pose" => trajectories.pose[of].iter().map(|p| [p.x, p.y, p.theta][axis]).collect(),
        _ => trajectories.twist[of].iter().map(|t| [t.vx, t.vy, t.w][axis]).collect(),
    })
}

/// The names that a compared channel may have.
pub const COMPARED: &str =
    "wrench.fx, wrench.fy, wrench.tau, pose.x, pose.y, pose.theta, twist.vx, twist.vy or twist.w";

/// A compared quantity through its sensor: `gain x(t - delay) + offset + drift t`, and the slopes that the
/// derivatives need.
struct Sensed {
    /// What the sensor says.
    values: Vec<f64>,
    /// `x(t - delay)`.
    late: Vec<f64>,
    /// `x'(t - delay)`.
    rate: Vec<f64>,
}

/// The values, and the slopes, of a polygon through `(time, x)` at `time - delay`.
fn delayed(time: &[f64], x: &[f64], delay: f64) -> (Vec<f64>, Vec<f64>) {
    let last = x.len() - 1;
    let mut k = 0;
    let at = |t: f64, k: &mut usize| {
        while *k + 1 < last && time[*k + 1] <= t {
            *k += 1;
        }
        let slope = (x[*k + 1] - x[*k]) / (time[*k + 1] - time[*k]);
        let within = (t - time[*k]).clamp(0.0, time[*k + 1] - time[*k]);
        (x[*k] + slope * within, slope)
    };
    time[..=last].iter().map(|t| at(t - delay, &mut k)).unzip()
}

/// The numbers of a sensor at a point.
fn sensor(unknowns: &[Unknown], point: &[f64], recording: usize, channel: &str) -> [f64; 4] {
    let mut numbers = [Part::Offset, Part::Drift, Part::Gain, Part::Delay].map(Part::neutral);
    for (unknown, coordinate) in unknowns.iter().zip(point) {
        let is_of = unknown.recording.is_none_or(|own| own == recording);
        match &unknown.quantity {
            Quantity::Sensor { channel: own, part } if is_of && own == channel => {
                numbers[*part as usize] = unknown.value(*coordinate);
            }
            _ => {}
        }
    }
    numbers
}

impl Sensed {
    fn new(time: &[f64], x: &[f64], [offset, drift, gain, delay]: [f64; 4]) -> Self {
        let (late, rate) = delayed(time, x, delay);
        let values = time.iter().zip(&late).map(|(t, x)| gain * x + offset + drift * t).collect();
        Self { values, late, rate }
    }
}

impl Problem<'_> {
    /// Checks that the contact has what the recordings drive and compare.
    ///
    /// # Errors
    /// An input or a compared quantity that it does not have.
    pub fn check(&self) -> Result<(), ParameterError> {
        let mut contact = self.scenario.first().contact.clone();
        let kind = if contact.body.free().is_some() { "free" } else { "prescribed" };
        for Repeated { recording, inputs, .. } in &self.repeated {
            for (name, _) in inputs {
                if slot(&mut contact, name).is_none() {
                    let accepted = "normal_force, mu_c, mu_s; of a prescribed body position.* or twist.*; of a free \
                                    one wrench.*, gravity.* or anchor.*";
                    let value = format!("an input of a {kind} body");
                    return Err(ParameterError::new(format!("{}: {name}", recording.name), value, accepted));
                }
            }
            for channel in &recording.compared {
                if !is_compared(&channel.name) {
                    let name = format!("{}: {}", recording.name, channel.name);
                    return Err(ParameterError::new(name, "compared", COMPARED));
                }
            }
        }
        Ok(())
    }

    /// The numbers of the scenario at a point.
    pub fn numbers(&self, point: &[f64], recording: usize) -> Vec<(String, f64)> {
        let all = self.unknowns.iter().zip(point);
        let own = all.filter(|(u, _)| u.quantity == Quantity::Scenario && u.recording.is_none_or(|r| r == recording));
        own.map(|(unknown, coordinate)| (unknown.path().to_owned(), unknown.value(*coordinate))).collect()
    }

    /// The contact of a point, driven as in a recording; none if a number is out of range there.
    fn contact(&self, point: &[f64], recording: usize) -> Option<Contact> {
        let numbers = self.numbers(point, recording);
        let mut contact = self.scenario.variant(0, self.scenario.spec().seed, &numbers).ok()?;
        let mut start = [0.0; 3];
        for (unknown, coordinate) in self.unknowns.iter().zip(point) {
            match unknown.quantity {
                Quantity::Start(axis) if unknown.recording.is_none_or(|own| own == recording) => {
                    start[axis] = unknown.value(*coordinate);
                }
                _ => {}
            }
        }
        self.repeated[recording].drive(&mut contact, start).then_some(contact)
    }

    fn plan(&self, recording: usize, samples: usize) -> Plan {
        let plan = self.scenario.plan();
        let (time, lead) = (&self.repeated[recording].recording.time, self.repeated[recording].lead());
        let begin = (lead > 0.0).then_some(0.0);
        let times = begin.into_iter().chain(time[..samples].iter().map(|t| t + lead)).collect();
        Plan { samples: times, step: self.step, keep_bristles: false, ..plan }
    }

    /// Every compared channel of a recording at some points: `[point][channel][sample]`, before the sensor.
    /// A point whose contact fails has none.
    fn simulate(
        &self,
        points: &[Vec<f64>],
        recording: usize,
        samples: usize,
    ) -> Result<Vec<Option<Vec<Vec<f64>>>>, EngineError> {
        let plan = self.plan(recording, samples);
        let channels = &self.repeated[recording].recording.compared;
        let mut all = Vec::with_capacity(points.len());
        for chunk in points.chunks((AT_ONCE / samples).max(8)) {
            let made: Vec<Option<Contact>> =
                pool::run(|| chunk.par_iter().map(|point| self.contact(point, recording)).collect());
            let contacts: Vec<Contact> = made.iter().flatten().cloned().collect();
            let trajectories = Cpu::new().run(&contacts, &plan)?;
            let mut next = 0;
            for made in made {
                all.push(made.and_then(|_| {
                    next += 1;
                    if trajectories.status[next - 1].failure.is_some() {
                        return None;
                    }
                    channels.iter().map(|c| quantity(&trajectories, next - 1, &c.name, samples)).collect()
                }));
            }
        }
        Ok(all)
    }

    /// What the sensors of a recording would say at a point: `[channel][sample]`.
    ///
    /// # Errors
    /// An engine that fails.
    pub fn predict(&self, point: &[f64], recording: usize, reach: Reach) -> Result<Option<Vec<Vec<f64>>>, EngineError> {
        let repeated = &self.repeated[recording];
        let samples = repeated.reach(reach);
        let raw = self.simulate(&[point.to_vec()], recording, samples)?.remove(0);
        let time = &repeated.recording.time[..samples];
        Ok(raw.map(|raw| {
            let sensed = raw.iter().zip(&repeated.recording.compared).map(|(x, channel)| {
                Sensed::new(time, x, sensor(&self.unknowns, point, recording, &channel.name)).values
            });
            sensed.collect()
        }))
    }

    /// Weighted residuals and their derivatives at the fitted samples, `(model - measured)/deviation`: of all
    /// recordings, their channels, and their samples in this order, and then of priors. Derivatives by
    /// coordinates are differences of two contacts, and exact for the numbers of sensors.
    ///
    /// # Errors
    /// An engine that fails.
    pub fn evaluate(&self, starts: &[Start]) -> Result<Vec<Option<Linear>>, EngineError> {
        let n = self.unknowns.len();
        let rows: usize = (0..self.repeated.len()).map(|r| self.rows(r)).sum();
        let priors: Vec<usize> = (0..n).filter(|j| self.unknowns[*j].prior.is_some()).collect();
        let empty = || {
            let residual = DVector::zeros(rows + priors.len());
            Some(Linear { jacobian: DMatrix::zeros(residual.len(), n), residual })
        };
        let mut all: Vec<Option<Linear>> = starts.iter().map(|_| empty()).collect();
        let mut row = 0;
        for recording in 0..self.repeated.len() {
            self.evaluate_one(starts, recording, row, &mut all)?;
            row += self.rows(recording);
        }
        for (start, linear) in starts.iter().zip(&mut all) {
            for (k, j) in priors.iter().enumerate() {
                let Some(([value, slope], linear)) =
                    self.unknowns[*j].prior_residual(start.point[*j]).zip(linear.as_mut())
                else {
                    continue;
                };
                linear.residual[rows + k] = value;
                linear.jacobian[(rows + k, *j)] = slope;
            }
        }
        Ok(all)
    }

    /// Number of residuals of a recording.
    pub fn rows(&self, recording: usize) -> usize {
        let repeated = &self.repeated[recording];
        let channels = 0..repeated.recording.compared.len();
        channels.map(|c| (0..repeated.fitted).filter(|i| repeated.counts(c, *i)).count()).sum()
    }

    /// Fills the rows of one recording, from `row` on.
    fn evaluate_one(
        &self,
        starts: &[Start],
        recording: usize,
        row: usize,
        all: &mut [Option<Linear>],
    ) -> Result<(), EngineError> {
        let repeated = &self.repeated[recording];
        let samples = repeated.fitted;
        let is_moved = |start: &Start, j: usize| {
            let unknown = &self.unknowns[j];
            let is_of = unknown.recording.is_none_or(|own| own == recording);
            !start.held[j] && is_of && unknown.quantity.is_of_contact()
        };
        let nudge = NUDGE[usize::from(self.scenario.first().contact.body.free().is_some())];
        // For each start its point, and then one or two for each derivative.
        let (mut points, mut moves) = (Vec::new(), Vec::new());
        for start in starts {
            let first = points.len();
            points.push(start.point.clone());
            let mut of_start = Vec::new();
            for j in (0..start.point.len()).filter(|j| is_moved(start, *j)) {
                let x = start.point[j];
                let (up, down) = ((x + nudge).min(1.0), (x - nudge).max(0.0));
                let ends = if self.central {
                    [up, down]
                } else if x + nudge <= 1.0 {
                    [up, x]
                } else {
                    [x, down]
                };
                let mut at = |value: f64| {
                    if value == x {
                        return first;
                    }
                    let mut point = start.point.clone();
                    point[j] = value;
                    points.push(point);
                    points.len() - 1
                };
                of_start.push((j, ends.map(&mut at), ends[0] - ends[1]));
            }
            moves.push((first, of_start));
        }
        let raw = self.simulate(&points, recording, samples)?;
        let time = &repeated.recording.time[..samples];
        let fill = |((start, linear), (first, moves)): ((&Start, &mut Option<Linear>), &(usize, Vec<_>))| {
            let Some(filled) = linear else { return };
            let whole = raw[*first].as_ref();
            let all_there =
                moves.iter().all(|(_, ends, _): &(usize, [usize; 2], f64)| ends.iter().all(|end| raw[*end].is_some()));
            let Some(whole) = whole.filter(|_| all_there) else {
                *linear = None;
                return;
            };
            let mut row = row;
            for (c, channel) in repeated.recording.compared.iter().enumerate() {
                let numbers = sensor(&self.unknowns, &start.point, recording, &channel.name);
                let sensed = Sensed::new(time, &whole[c], numbers);
                let changes: Vec<(usize, Vec<f64>)> = moves
                    .iter()
                    .map(|(j, ends, by)| {
                        let [up, down] = ends.map(|end| &raw[end].as_ref().expect("checked above")[c]);
                        let slope: Vec<f64> = up.iter().zip(down).map(|(up, down)| (up - down) / by).collect();
                        (*j, delayed(time, &slope, numbers[Part::Delay as usize]).0)
                    })
                    .collect();
                let of_sensor: Vec<(usize, Part)> = (0..start.point.len())
                    .filter_map(|j| {
                        let unknown = &self.unknowns[j];
                        match &unknown.quantity {
                            Quantity::Sensor { channel: own, part }
                                if *own == channel.name && unknown.recording.is_none_or(|own| own == recording) =>
                            {
                                Some((j, *part))
                            }
                            _ => None,
                        }
                    })
                    .collect();
                let deviation = repeated.deviations[c];
                let gain = numbers[Part::Gain as usize];
                for i in (0..samples).filter(|i| repeated.counts(c, *i)) {
                    filled.residual[row] = (sensed.values[i] - repeated.measured(c, i)) / deviation;
                    for (j, change) in &changes {
                        filled.jacobian[(row, *j)] = gain * change[i] / deviation;
                    }
                    for &(j, part) in of_sensor.iter().filter(|(j, _)| !start.held[*j]) {
                        let slope = match part {
                            Part::Offset => 1.0,
                            Part::Drift => time[i],
                            Part::Gain => sensed.late[i],
                            Part::Delay => -gain * sensed.rate[i],
                        };
                        filled.jacobian[(row, j)] = slope * self.unknowns[j].slope(start.point[j]) / deviation;
                    }
                    row += 1;
                }
            }
        };
        pool::run(|| starts.par_iter().zip(all.par_iter_mut()).zip(moves.par_iter()).for_each(fill));
        Ok(())
    }
}

/// Whether a compared channel has such a name.
fn is_compared(name: &str) -> bool {
    COMPARED.replace(" or ", ", ").split(", ").any(|known| known == name)
}
