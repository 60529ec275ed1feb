//! From candidates to residuals: every candidate, and every change of it for a derivative, is a contact of
//! one batch, driven by what was recorded.

use bristle::contact::Contact;
use bristle::engine::{Engine, Plan, Trajectories};
use bristle::error::{EngineError, ParameterError};
use bristle::{Cpu, pool};
use bristle_scenario::Scenario;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use crate::repeated::{Reach, Repeated, input};
use crate::sensor::{Sensed, delayed, sensor};
use crate::trust_region::{Linear, Start};
use crate::unknown::{Part, Quantity, Unknown};

/// Most contact-samples that are computed at once; they take 100 bytes each.
const AT_ONCE: usize = 500_000;

/// How far a coordinate is moved for a derivative. The friction of a prescribed motion is exact to rounding;
/// the velocity of a free body is solved to 1e-4 m/s only before the last step of Newton's method.
const NUDGE: [f64; 2] = [1e-6, 1e-4];

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

impl Problem<'_> {
    /// Checks that the contact has what the recordings drive and compare.
    ///
    /// # Errors
    /// An input or a compared quantity that it does not have.
    pub fn check(&self) -> Result<(), ParameterError> {
        let mut contact = self.scenario.first().contact.clone();
        if contact.layer().is_some() {
            let accepted = "none: the pressure on an elastic layer cannot be fitted through";
            return Err(ParameterError::new("patch.layer", "given", accepted));
        }
        if contact.inputs.patches.iter().any(|own| own.normal_force.is_some() || own.surface.is_some()) {
            let accepted = "none: patches with normal forces or surfaces of their own cannot be fitted";
            return Err(ParameterError::new("patches", "`normal_force` or `surface`", accepted));
        }
        let kind = if contact.body.free().is_some() { "free" } else { "prescribed" };
        for Repeated { recording, inputs, .. } in &self.repeated {
            for (name, _) in inputs {
                if input(name).and_then(|input| input.signal(&mut contact)).is_none() {
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
