//! Which of some experiments would tell most of what the recordings so far do not.
//!
//! An experiment is simulated with the fitted numbers, and its samples are added to those of the recordings:
//! the derivatives of what its sensors would say, and noise of the size and the correlation that the
//! residuals have in the fit. What is then held because it cannot be told is found as in the fit
//! (`identify.rs`), and the covariance `A^-1 B A^-1` of the others as there (`interval.rs`). Such predictions
//! of an experiment by the derivatives at the best fit are those of Box & Lucas (Biometrika 46, 1959).

use std::path::PathBuf;

use bristle::error::ParameterError;
use bristle_scenario::Scenario;
use nalgebra::DMatrix;
use serde::Serialize;

use crate::file::FitFile;
use crate::fit::{Ask, Fit, FitError, Minimum};
use crate::identify::{mimicked_sensor, null_direction};
use crate::interval::quantile;
use crate::model::Problem;
use crate::noise::{Autoregression, median};
use crate::recording::{Channel, Recording, Sign};
use crate::repeated::Repeated;
use crate::report::digits;
use crate::search::Null;
use crate::trust_region::Start;
use crate::unknown::{Part, Quantity, Unknown};

/// An experiment has no use if no interval is narrower than this share of what it was.
const SHRUNK: f64 = 0.95;

/// Most samples of an experiment.
const MOST: f64 = 200_000.0;

/// How well an unknown is known.
#[derive(Clone, Debug, Serialize)]
pub struct Known {
    /// The unknown.
    pub name: String,
    /// The ends of its 90 % interval, in SI units; its bounds if it is not told.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Whether it is told, and not only beside another one that is held.
    pub told: bool,
    /// Width of the interval over that of the bounds, in the scale of the unknown; 1 if it is not told.
    pub width: f64,
}

/// What an experiment would tell.
#[derive(Clone, Debug, Serialize)]
pub struct Experiment {
    /// Its file.
    pub experiment: String,
    /// The unknowns after it, in the order of [`Next::now`].
    pub then: Vec<Known>,
    /// Those that it tells and that the recordings do not.
    pub newly_told: Vec<String>,
}

/// Experiments, the best one first.
#[derive(Clone, Debug, Serialize)]
pub struct Next {
    /// The unknowns before.
    pub now: Vec<Known>,
    /// The experiments.
    pub experiments: Vec<Experiment>,
    /// In a sentence.
    pub sentence: String,
}

/// Samples of one sensor in a recording, or the priors: derivatives, a column an unknown, and noise.
#[derive(Clone)]
struct Block {
    jacobian: DMatrix<f64>,
    process: Autoregression,
}

impl Block {
    /// The derivatives over the standard deviation of independent samples.
    fn scaled(&self) -> DMatrix<f64> {
        let n = self.jacobian.nrows();
        let deviation = (self.process.variance * n as f64 / self.process.effective(n)).sqrt();
        &self.jacobian / deviation.max(1e-300)
    }

    /// With columns for unknowns that others have and it has not.
    fn wider(&self, columns: usize) -> Self {
        let jacobian = self.jacobian.clone().resize_horizontally(columns, 0.0);
        Self { jacobian, process: self.process.clone() }
    }
}

impl Minimum {
    /// The point at which derivatives are taken: beside bounds at which other unknowns have none, such as the
    /// Stribeck velocity where friction at rest is that of sliding.
    fn inside(&self) -> Vec<f64> {
        let at = |(j, x): (usize, &f64)| {
            let margin = if self.unknowns[j].path().starts_with("friction.mu_s") { 0.03 } else { 1e-4 };
            if self.asked[j] { *x } else { x.clamp(margin, 1.0 - margin) }
        };
        self.best.point.iter().enumerate().map(at).collect()
    }

    /// The blocks of the recordings.
    fn blocks(&self, processes: &[Autoregression]) -> Result<Vec<Block>, FitError> {
        let mut problem = self.problem();
        problem.central = true;
        let start = Start { point: self.inside(), held: self.asked.clone() };
        let Some(linear) = problem.evaluate(&[start])?.remove(0) else { return Err(FitError::NoStart) };
        let mut all = blocks(&problem, &linear.jacobian, processes);
        let data: usize = all.iter().map(|block| block.jacobian.nrows()).sum();
        let priors = linear.jacobian.rows(data, linear.jacobian.nrows() - data).into_owned();
        if priors.nrows() > 0 {
            let process = Autoregression { coefficients: Vec::new(), innovation: 1.0, variance: 1.0 };
            all.push(Block { jacobian: priors, process });
        }
        Ok(all)
    }

    /// The autoregression and the deviation of the first compared channel of a name.
    fn sensor(&self, name: &str, processes: &[Autoregression]) -> Option<(Autoregression, f64)> {
        let of = |r: &Repeated| {
            let names = r.recording.compared.iter().map(|c| c.name.clone());
            names.zip(r.deviations.clone()).collect::<Vec<(String, f64)>>()
        };
        let mut all = self.repeated.iter().flat_map(of).zip(processes);
        all.find(|((own, _), _)| own == name).map(|((_, deviation), process)| (process.clone(), deviation))
    }
}

/// The rows of each channel of each recording of a problem.
fn blocks(problem: &Problem<'_>, jacobian: &DMatrix<f64>, processes: &[Autoregression]) -> Vec<Block> {
    let channels = |r: usize| (0..problem.repeated[r].recording.compared.len()).map(move |c| (r, c));
    let mut row = 0;
    let of = |((r, c), process): ((usize, usize), &Autoregression)| {
        let repeated: &Repeated = &problem.repeated[r];
        let rows = (0..repeated.fitted).filter(|i| repeated.counts(c, *i)).count();
        row += rows;
        Block { jacobian: jacobian.rows(row - rows, rows).into_owned(), process: process.clone() }
    };
    (0..problem.repeated.len()).flat_map(channels).zip(processes).map(of).collect()
}

/// An experiment beside the recordings: its blocks, and all unknowns. Offsets and whatever else each
/// recording has for itself are new unknowns, behind the others.
fn added(
    minimum: &Minimum,
    scenario: &Scenario,
    name: &str,
    burn_in: f64,
    processes: &[Autoregression],
) -> Result<(Vec<Block>, Vec<Unknown>), FitError> {
    let period = median(minimum.repeated[0].recording.time.windows(2).map(|t| t[1] - t[0]).collect());
    let duration = scenario.spec().duration;
    if !(duration / period <= MOST) {
        let accepted = format!("at most {MOST} samples, {period} s apart as in the recording: {:.0} s", MOST * period);
        return Err(ParameterError::new(format!("{name}: duration"), duration, accepted).into());
    }
    let count = (duration / period).round() as usize + 1;
    let mut names: Vec<&str> =
        minimum.repeated.iter().flat_map(|r| &r.recording.compared).map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let sensors = names.iter().filter_map(|name| minimum.sensor(name, processes));
    let (own, deviations): (Vec<Autoregression>, Vec<f64>) = sensors.unzip();
    let channel = |name: &&str| Channel { name: (*name).to_owned(), values: vec![0.0; count], sign: Sign::Plus };
    let recording = Recording {
        name: name.to_owned(),
        time: (0..count).map(|i| i as f64 * period).collect(),
        pieces: std::iter::once(0..count).collect(),
        compared: names.iter().map(channel).collect(),
        ..Recording::default()
    };
    let mut repeated = Repeated::new(recording, 1.0, burn_in)?;
    repeated.deviations = deviations;
    let (inside, mut all) = (minimum.inside(), minimum.unknowns.clone());
    let (mut unknowns, mut point, mut held, mut places) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (j, unknown) in minimum.unknowns.iter().enumerate() {
        // What each recording has for itself is here as the first one of its path.
        if minimum.unknowns[..j].iter().any(|other| other.path() == unknown.path()) {
            continue;
        }
        let name = unknown.path().to_owned();
        unknowns.push(Unknown { name: name.clone(), recording: None, prior: None, ..unknown.clone() });
        point.push(inside[j]);
        held.push(minimum.asked[j]);
        places.push(j);
        if minimum.own[j] && !minimum.asked[j] {
            *places.last_mut().expect("just pushed") = all.len();
            all.push(Unknown { name: format!("{name}@next"), ..unknown.clone() });
        }
    }
    let problem = Problem { scenario, repeated: vec![repeated], unknowns, step: minimum.step, central: true };
    problem.check()?;
    let Some(linear) = problem.evaluate(&[Start { point, held }])?.remove(0) else {
        let accepted = "an experiment that can be simulated with the fitted numbers";
        return Err(ParameterError::new(name, "no finite prediction", accepted).into());
    };
    let mut jacobian = DMatrix::zeros(linear.jacobian.nrows(), all.len());
    places.iter().enumerate().for_each(|(k, j)| jacobian.set_column(*j, &linear.jacobian.column(k)));
    Ok((blocks(&problem, &jacobian, &own), all))
}

/// What is then held, and the standard deviation of each unknown in coordinates; 0 of what is held.
/// Gains and delays that the fit needs stay.
fn told(blocks: &[Block], unknowns: &[Unknown], asked: &[bool], needed: &[usize]) -> (Vec<Null>, Vec<f64>) {
    let mut free: Vec<usize> = (0..unknowns.len()).filter(|j| !asked.get(*j).is_some_and(|asked| *asked)).collect();
    let scaled: Vec<DMatrix<f64>> = blocks.iter().map(Block::scaled).collect();
    let rows = scaled.iter().flat_map(|block| block.row_iter()).collect::<Vec<_>>();
    let whole = if rows.is_empty() { DMatrix::zeros(0, unknowns.len()) } else { DMatrix::from_rows(&rows) };
    let mut null = Vec::new();
    let held = |free: &[usize]| {
        let jacobian = whole.select_columns(free);
        null_direction(&jacobian, free, unknowns).or_else(|| mimicked_sensor(&jacobian, free, unknowns, needed))
    };
    while let Some((held, partners)) = held(&free) {
        null.push((held, partners));
        free.retain(|j| *j != held);
    }
    let n = free.len();
    let (mut a, mut b) = (DMatrix::zeros(n, n), DMatrix::zeros(n, n));
    for block in blocks {
        let jacobian = block.jacobian.select_columns(&free);
        let x = block.process.colour(&jacobian);
        a += jacobian.tr_mul(&jacobian);
        b += x.tr_mul(&x) * block.process.innovation;
    }
    // Coordinates may differ in size by many orders: scaled to ones on the diagonal.
    let scale = a.diagonal().map(|d: f64| d.sqrt().recip());
    let even = |m: &DMatrix<f64>| DMatrix::from_fn(n, n, |i, j| m[(i, j)] * scale[i] * scale[j]);
    let mut deviations = vec![0.0; unknowns.len()];
    if let Some(inverse) = even(&a).cholesky().map(|c| c.inverse()) {
        let covariance = &inverse * even(&b) * &inverse;
        free.iter().enumerate().for_each(|(k, j)| deviations[*j] = covariance[(k, k)].max(0.0).sqrt() * scale[k]);
    }
    (null, deviations)
}

/// Whether an unknown is told alone: neither held, nor beside a number of the contact that is.
fn is_alone(j: usize, null: &[Null], unknowns: &[Unknown]) -> bool {
    null.iter().all(|(held, partners)| {
        let is_sensor =
            matches!(unknowns[*held].quantity, Quantity::Sensor { part: Part::Gain | Part::Delay | Part::Drift, .. });
        *held != j && (is_sensor || !partners.contains(&j))
    })
}

/// The experiments of some files beside the recordings of a fit, the best one first: the one after which the
/// widest interval is narrowest, an unknown that is not told counting as all of its bounds. Of equal ones the
/// next interval counts. Intervals that none of the experiments makes narrower, such as that of the offset of
/// an old recording, do not count.
///
/// # Errors
/// A file that cannot be read or makes no experiment, a fit without intervals, an engine that fails, or a
/// stop.
pub fn next(file: &FitFile, fit: &Fit, paths: &[PathBuf], ask: &Ask<'_>) -> Result<Next, FitError> {
    if !ask("experiments") {
        return Err(FitError::Stopped);
    }
    let minimum = &fit.minimum;
    let without = || ParameterError::new("next", "a fit without intervals", "one that was not stopped before");
    let spread = minimum.spread.as_ref().ok_or_else(without)?;
    let (processes, t, point) = (&spread.processes, quantile(spread.freedom), &minimum.best.point);
    let shown: Vec<usize> = (0..minimum.unknowns.len()).filter(|j| !minimum.asked[*j]).collect();
    let now: Vec<Known> = shown
        .iter()
        .map(|&j| {
            let unknown = &minimum.unknowns[j];
            let of = fit.estimates.iter().find(|e| e.name == unknown.name);
            match of.filter(|e| e.closed != [false; 2] && is_alone(j, &minimum.null, &minimum.unknowns)) {
                Some(e) => known(unknown, Some([e.low, e.high].map(|v| unknown.coordinate(v)))),
                None => known(unknown, None),
            }
        })
        .collect();
    let before = minimum.blocks(processes)?;
    let mut experiments = Vec::new();
    for path in paths {
        if !ask("experiments") {
            return Err(FitError::Stopped);
        }
        let name = path.display().to_string();
        let scenario = file.experiment(&fit.scenario, path)?;
        let (own, unknowns) = added(minimum, &scenario, &name, file.spec.burn_in, processes)?;
        let all: Vec<Block> = before.iter().map(|block| block.wider(unknowns.len())).chain(own).collect();
        let (null, deviations) = told(&all, &unknowns, &minimum.asked, &spread.free);
        let then = shown.iter().zip(&now).map(|(&j, now)| {
            let unknown = &unknowns[j];
            // Its partner in the fit that is still held is one that other rules hold there, too.
            let was = minimum.null.iter().filter(|(_, partners)| partners.contains(&j));
            let is_freed = was.map(|(held, _)| *held).all(|held| {
                is_alone(held, &null, &unknowns) || matches!(unknowns[held].quantity, Quantity::Sensor { .. })
            });
            let place = spread.free.iter().position(|free| *free == j);
            let linear = t * deviations[j];
            let reach = match place.filter(|_| now.told) {
                // The fit knows the interval by more than linear theory.
                Some(k) => {
                    let ratio = deviations[j] / spread.deviation(k);
                    [now.low, now.high].map(|v| (unknown.coordinate(v) - point[j]).abs() * ratio)
                }
                None => [linear; 2],
            };
            let is_told = is_freed && deviations[j] > 0.0 && is_alone(j, &null, &unknowns);
            // More data never tell less. What is held follows from derivatives beside the bounds, which may
            // differ from those of the fit.
            if now.told && !is_told {
                return now.clone();
            }
            known(unknown, is_told.then(|| [point[j] - reach[0], point[j] + reach[1]]))
        });
        let then: Vec<Known> = then.collect();
        let newly = then.iter().zip(&now).filter(|(then, now)| then.told && !now.told);
        let newly_told = newly.map(|(then, _)| then.name.clone()).collect();
        experiments.push(Experiment { experiment: name, then, newly_told });
    }
    Ok(ranked(now, experiments))
}

/// An unknown whose interval has these ends, in coordinates; none if it is not told.
fn known(unknown: &Unknown, ends: Option<[f64; 2]>) -> Known {
    let [low, high] = ends.unwrap_or([0.0, 1.0]).map(|end| end.clamp(0.0, 1.0));
    let [from, to] = [low, high].map(|end| unknown.value(end));
    Known { name: unknown.name.clone(), low: from, high: to, told: ends.is_some(), width: high - low }
}

/// Widths of some, the widest first.
fn widths(all: &[Known], some: &[usize]) -> Vec<f64> {
    let mut all: Vec<f64> = some.iter().map(|k| all[*k].width).collect();
    all.sort_by(|a, b| b.total_cmp(a));
    all
}

fn ranked(now: Vec<Known>, mut experiments: Vec<Experiment>) -> Next {
    let shrinks = |k: &usize| experiments.iter().any(|e| e.then[*k].width < SHRUNK * now[*k].width);
    let some: Vec<usize> = (0..now.len()).filter(shrinks).collect();
    experiments.sort_by(|a, b| {
        let pairs = widths(&a.then, &some).into_iter().zip(widths(&b.then, &some));
        pairs.map(|(a, b)| a.total_cmp(&b)).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    let shrunk = |e: &Experiment| {
        // The widest of those that become narrower.
        let pairs = now.iter().zip(&e.then).filter(|(now, then)| then.width < SHRUNK * now.width);
        pairs.max_by(|a, b| a.0.width.total_cmp(&b.0.width)).map(|(now, then)| (now.clone(), then.clone()))
    };
    let best = experiments.first().and_then(|e| Some((e, shrunk(e)?)));
    let sentence = match best {
        Some((best, (now, then))) if best.newly_told.is_empty() => format!(
            "{} is the best one: it shrinks the interval of {} from {} to {}",
            best.experiment,
            now.name,
            now.text(),
            then.text()
        ),
        Some((best, _)) => format!(
            "{} is the best one: it tells {}, which the recordings so far do not",
            best.experiment,
            best.newly_told.join(", ")
        ),
        None => "none of these experiments tells more than the recordings do".to_owned(),
    };
    Next { now, experiments, sentence }
}

impl Known {
    /// For people.
    pub fn text(&self) -> String {
        if self.told { format!("{} to {}", digits(self.low), digits(self.high)) } else { "cannot be told".to_owned() }
    }
}
