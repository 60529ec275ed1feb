//! From recordings and a fit file to unknowns with intervals.

use std::ops::Range;
use std::time::Instant;

use bristle::error::{EngineError, ParameterError};
use bristle::random::Draw;
use bristle_scenario::{Scenario, ScenarioError};

use crate::file::{FitFile, LossName, UnknownSpec};
use crate::identify::{Direction, beforehand, null_direction, sentence, speeds};
use crate::interval::{Interval, Spread, Target, profile, spread};
use crate::model::{Problem, Reach, Repeated, spread as deviation_of};
use crate::noise::{median, rms};
use crate::posterior::samples;
use crate::recording::{Recording, RecordingError, Sign};
use crate::residuals::{Channel, Misfit, channels, misfit};
use crate::trust_region::{Found, Linear, Loss, Settings, Start, minimise};
use crate::unknown::{Part, Quantity, Sizes, Unknown, unknown};

/// Why a fit has no result.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The fit file, or the scenario in it.
    #[error("{0}")]
    Scenario(#[from] ScenarioError),
    /// A recording that does not fit the scenario, or too short a one.
    #[error("{0}")]
    Parameter(#[from] ParameterError),
    /// A recording that cannot be read.
    #[error("{0}")]
    Recording(#[from] RecordingError),
    /// The engine.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// No start gave finite numbers.
    #[error("no start within the bounds of the unknowns gave a finite prediction: expected narrower bounds")]
    NoStart,
    /// Stopped before anything was found.
    #[error("stopped before anything was found")]
    Stopped,
}

/// An unknown with what the recordings say of it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Estimate {
    /// The dotted path; behind `@` the number of the recording that it belongs to, from 0.
    pub name: String,
    /// The best value, in SI units.
    pub value: f64,
    /// The lower end of its 90 % interval; the bound where the data set none.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Whether the data set both ends, alone: without another unknown that is held.
    pub identifiable: bool,
    /// Whether the data set the lower and the upper end.
    pub closed: [bool; 2],
    /// Whether the interval comes from the profile of the cost.
    pub profile: bool,
    /// Whether it was held because it could not be told.
    pub held: bool,
    /// What else there is to say.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The result of a fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The law, or the model, that was fitted.
    pub law: String,
    /// The unknowns, and what follows from them.
    pub estimates: Vec<Estimate>,
    /// What cannot be told, as directions.
    pub directions: Vec<Direction>,
    /// What could be said before.
    pub before: Vec<String>,
    /// What was done to the recordings.
    pub notes: Vec<String>,
    /// The compared quantities.
    pub channels: Vec<Channel>,
    /// Where the model misses.
    pub misfit: Vec<Misfit>,
    /// Number of unknowns that were fitted, and of independent samples.
    pub free: usize,
    /// Number of independent samples.
    pub effective: f64,
    /// Whether the search has converged, and was not stopped.
    pub converged: bool,
    /// Time that it took \[s\].
    pub seconds: f64,
    /// The scenario with the fitted numbers.
    pub scenario: String,
    /// Samples of what is known after the fit, if the file asks for them.
    pub posterior: Option<Posterior>,
}

/// Samples of the unknowns of the scenario, which a scenario can draw its contacts from.
#[derive(Clone, Debug)]
pub struct Posterior {
    /// The paths.
    pub names: Vec<String>,
    /// A row a sample, in SI units.
    pub rows: Vec<Vec<f64>>,
    /// The scenario, whose numbers are columns of [`Posterior::FILE`].
    pub scenario: String,
}

impl Posterior {
    /// The table beside the scenario.
    pub const FILE: &str = "posterior.csv";
}

/// Called on the way with what is being done; `false` asks to stop, and the best so far is the result.
pub type Ask<'a> = dyn Fn(&str) -> bool + Sync + 'a;

/// What stops a search: the engine, or the user.
enum Stopped {
    Engine(EngineError),
    Asked,
}

/// Whether an unknown says how far friction rises towards rest.
fn is_ratio(unknown: &Unknown) -> bool {
    ["friction.mu_s_over_mu_c", "friction.mu_s"].contains(&unknown.path())
}

/// The starts that are looked at for each one that is searched from.
const SCREENED: usize = 6;

/// The unknowns of a file, for so many recordings.
fn unknowns(
    file: &FitFile,
    scenario: &Scenario,
    repeated: &[Repeated],
    sizes: Sizes,
) -> Result<Vec<Unknown>, FitError> {
    let mut names: Vec<&str> = repeated.iter().flat_map(|r| &r.recording.compared).map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut specs = file.spec.unknowns.clone();
    for name in names.iter().filter(|name| name.starts_with("wrench.")) {
        specs.entry(format!("{name}.offset")).or_default();
    }
    let size = |channel: &str| {
        let of = repeated.iter().flat_map(|r| &r.recording.compared).filter(|c| c.name == channel);
        of.flat_map(|c| &c.values).filter(|v| v.is_finite()).fold(0.0f64, |most, v| most.max(v.abs()))
    };
    let mut all = Vec::new();
    for (path, spec) in &specs {
        let made = unknown(path, spec, scenario, &names, size, sizes).map_err(|e| file.wrong(&e))?;
        let is_own = spec.own.unwrap_or(path.ends_with(".offset") || path.ends_with(".drift"));
        if is_own && repeated.len() > 1 {
            let own = |r: usize| Unknown { name: format!("{path}@{r}"), recording: Some(r), ..made.clone() };
            all.extend((0..repeated.len()).map(own));
        } else {
            all.push(made);
        }
    }
    Ok(all)
}

/// Fits the unknowns of a file to recordings; `changes` (`key=value`) of the scenario come first, such as
/// another law.
///
/// # Errors
/// A file or a recording that is refused, or an engine that fails.
pub fn fit(file: &FitFile, recordings: &[Recording], changes: &[String], ask: &Ask<'_>) -> Result<Fit, FitError> {
    let begun = Instant::now();
    let spec = &file.spec;
    let mut repeated = Vec::new();
    for recording in recordings {
        repeated.push(Repeated::new(recording.clone(), spec.share, spec.burn_in)?);
    }
    let duration = recordings.iter().filter_map(|r| r.time.last()).copied().fold(0.0, f64::max);
    let period = median(recordings.iter().flat_map(|r| r.time.windows(2).map(|t| t[1] - t[0])).collect());
    let mut needed = vec![("duration", duration)];
    if recordings.iter().all(|r| r.inputs.iter().any(|c| c.name == "normal_force")) {
        let forces = recordings.iter().flat_map(|r| &r.inputs).filter(|c| c.name == "normal_force");
        let values: Vec<f64> = forces.flat_map(|c| &c.values).copied().collect();
        needed.push(("inputs.normal_force", values.iter().sum::<f64>() / values.len().max(1) as f64));
    }
    let moves = |name: &str| name.starts_with("position.") || name.starts_with("twist.");
    if recordings.iter().all(|r| r.inputs.iter().any(|c| moves(&c.name))) {
        needed.push(("inputs.twist.vx", 0.0));
    }
    let scenario = file.scenario(&needed, changes)?;
    let is_free = scenario.first().contact.body.free().is_some();
    let step = if is_free { scenario.plan().step } else { period.clamp(1e-7, 0.1) };
    let mut problem = Problem { scenario: &scenario, repeated, unknowns: Vec::new(), step, central: false };
    problem.check()?;
    let speed = (0..recordings.len()).filter_map(|r| speeds(&problem, r)).map(|s| s.usual).fold(0.0, f64::max);
    let sizes = Sizes { speed: if speed > 0.0 { speed } else { 1.0 }, duration, period };
    problem.unknowns = unknowns(file, &scenario, &problem.repeated, sizes)?;
    let rows: usize = (0..recordings.len()).map(|r| problem.rows(r)).sum();
    if rows < 10 * problem.unknowns.len().max(1) {
        let accepted = format!("at least ten for each of {} unknowns", problem.unknowns.len());
        return Err(ParameterError::new("samples that are compared", rows, accepted).into());
    }
    let mut search = Searching { problem, file, ask, stopped: false, loss: Loss::Squares };
    let mut notes: Vec<String> =
        recordings.iter().flat_map(|r| &r.notes).map(|n| n.trim_end_matches('.').to_owned()).collect();
    let starts = search.screen(&mut notes)?;
    search.refine(&starts[0].point)?;
    let before = beforehand(&search.problem);
    let mut best = search.from_many(&starts)?;
    best = search.escaped(best)?;
    best = search.reweighted(best)?;
    let (best, directions) = search.identified(best)?;
    search.finish(best, directions, before, notes, begun, &needed, changes)
}

struct Searching<'a> {
    problem: Problem<'a>,
    file: &'a FitFile,
    ask: &'a Ask<'a>,
    stopped: bool,
    loss: Loss,
}

impl Searching<'_> {
    /// Searches from some points; what was found until a stop counts.
    fn search(&mut self, starts: &[Start], settings: Settings, what: &str) -> Result<Vec<Option<Found>>, FitError> {
        let Self { problem, ask, stopped, loss, .. } = self;
        let bounds = vec![[0.0, 1.0]; problem.unknowns.len()];
        // The best points so far, in case of a stop.
        let mut evaluate = |starts: &[Start]| {
            if *stopped || !ask(what) {
                *stopped = true;
                return Ok(starts.iter().map(|_| None).collect());
            }
            problem.evaluate(starts)
        };
        Ok(minimise::<EngineError>(&mut evaluate, &bounds, starts, *loss, settings)?)
    }

    /// Unknowns that the file holds.
    fn held(&self) -> Vec<bool> {
        let spec = |unknown: &Unknown| self.file.spec.unknowns.get(unknown.path()).copied().unwrap_or_default();
        let held = |unknown: &Unknown| UnknownSpec::default().value.or(spec(unknown).value).is_some();
        self.problem.unknowns.iter().map(held).collect()
    }

    /// Points to search from, the best first: of those that a random choice within the bounds gives.
    fn screen(&mut self, notes: &mut Vec<String>) -> Result<Vec<Start>, FitError> {
        let (held, spec) = (self.held(), &self.file.spec);
        let unknowns = &self.problem.unknowns;
        let chosen = |k: usize| {
            let draw = Draw::new(spec.seed, k as u64);
            let coordinate = |(unknown, held): (&Unknown, &bool)| match (&unknown.quantity, k) {
                (Quantity::Sensor { .. }, _) | (_, 0) => unknown.rest(),
                _ if *held => unknown.rest(),
                // Rates are more often small.
                _ if unknown.natural == [true, false] => draw.uniform(&unknown.name).powi(3),
                _ => draw.uniform(&unknown.name),
            };
            unknowns.iter().zip(&held).map(coordinate).collect::<Vec<f64>>()
        };
        let none = vec![true; unknowns.len()];
        let starts: Vec<Start> =
            (0..SCREENED * spec.starts).map(|k| Start { point: chosen(k), held: none.clone() }).collect();
        let costs = |problem: &Problem<'_>| -> Result<Vec<f64>, FitError> {
            let all = problem.evaluate(&starts)?;
            Ok(all.iter().map(|l| l.as_ref().map_or(f64::INFINITY, |l| Loss::Squares.cost(&l.residual))).collect())
        };
        let mut best = costs(&self.problem)?;
        // All channels of a recording whose sign is unknown have the same.
        for r in 0..self.problem.repeated.len() {
            let is_asked = |c: &crate::recording::Channel| c.sign == Sign::Auto;
            let channels = self.problem.repeated[r].recording.compared.iter().map(is_asked).collect::<Vec<_>>();
            if !channels.contains(&true) {
                continue;
            }
            let turn = |problem: &mut Problem<'_>| {
                problem.repeated[r].signs.iter_mut().zip(&channels).filter(|(_, a)| **a).for_each(|(s, _)| *s = -*s);
            };
            turn(&mut self.problem);
            let turned = costs(&self.problem)?;
            let least = |costs: &[f64]| costs.iter().copied().fold(f64::INFINITY, f64::min);
            let name = &self.problem.repeated[r].recording.name;
            if least(&turned) < least(&best) {
                notes.push(format!("{name}: the force is taken with the opposite sign, which fits better"));
                best = turned;
            } else {
                notes.push(format!("{name}: the force has the sign of friction on the body as it stands"));
                turn(&mut self.problem);
            }
        }
        let mut order: Vec<usize> = (0..starts.len()).filter(|k| best[*k].is_finite()).collect();
        order.sort_by(|a, b| best[*a].total_cmp(&best[*b]));
        order.truncate(spec.starts);
        if order.is_empty() {
            return Err(FitError::NoStart);
        }
        Ok(order.into_iter().map(|k| Start { point: starts[k].point.clone(), held: held.clone() }).collect())
    }

    /// Shortens the step of a prescribed motion until a quarter of it changes what is compared by less than a
    /// thousandth of its size.
    fn refine(&mut self, point: &[f64]) -> Result<(), FitError> {
        let problem = &mut self.problem;
        if problem.scenario.first().contact.body.free().is_some() {
            return Ok(());
        }
        for _ in 0..4 {
            let long = problem.predict(point, 0, Reach::Fitted)?;
            let step = problem.step;
            problem.step = (step / 4.0).max(1e-7);
            let short = problem.predict(point, 0, Reach::Fitted)?;
            let (Some(long), Some(short)) = (long, short) else { return Ok(()) };
            let change = |(a, b): (&Vec<f64>, &Vec<f64>)| {
                let error = rms(a.iter().zip(b).map(|(a, b)| a - b));
                error <= 1e-3 * deviation_of(b)
            };
            if long.iter().zip(&short).all(change) {
                problem.step = step;
                break;
            }
        }
        Ok(())
    }

    /// The best of the searches from many points: all a little way, and the best three to the end.
    fn from_many(&mut self, starts: &[Start]) -> Result<Found, FitError> {
        let settings = Settings { evaluations: self.file.spec.evaluations.min(10), ..Settings::default() };
        let mut some: Vec<Found> = self.search(starts, settings, "starts")?.into_iter().flatten().collect();
        some.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        some.truncate(3);
        let starts: Vec<Start> = some.iter().map(|f| Start { point: f.point.clone(), held: f.held.clone() }).collect();
        let settings = Settings { evaluations: self.file.spec.evaluations, ..Settings::default() };
        let more = self.search(&starts, settings, "best starts")?;
        let all = more.into_iter().flatten().chain(some);
        let none = if self.stopped { FitError::Stopped } else { FitError::NoStart };
        all.min_by(|a, b| a.cost.total_cmp(&b.cost)).ok_or(none)
    }

    /// The best fit, after a look along each unknown: where the others have adapted to a value at which an
    /// unknown moves nothing, such as a stiffness that is far too large, no derivative leads away.
    fn escaped(&mut self, best: Found) -> Result<Found, FitError> {
        const ALONG: usize = 12;
        if self.stopped {
            return Ok(best);
        }
        let none = vec![true; best.point.len()];
        let mut points = Vec::new();
        for (j, unknown) in self.problem.unknowns.iter().enumerate() {
            if best.held[j] || matches!(unknown.quantity, Quantity::Sensor { .. }) {
                continue;
            }
            for k in 0..ALONG {
                let x = (k as f64 + 0.5) / ALONG as f64;
                let mut point = best.point.clone();
                point[j] = if unknown.natural == [true, false] { x.powi(3) } else { x };
                if (point[j] - best.point[j]).abs() > 0.02 {
                    points.push(Start { point, held: none.clone() });
                }
            }
        }
        let all = self.problem.evaluate(&points)?;
        let cost = |l: &Option<Linear>| l.as_ref().map_or(f64::INFINITY, |l| self.loss.cost(&l.residual));
        let costs: Vec<f64> = all.iter().map(cost).collect();
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|a, b| costs[*a].total_cmp(&costs[*b]));
        let start = |k: usize| Start { point: points[k].point.clone(), held: best.held.clone() };
        let starts: Vec<Start> = order.into_iter().take(4).map(start).collect();
        let settings = Settings { evaluations: self.file.spec.evaluations.min(20), ..Settings::default() };
        let found = self.search(&starts, settings, "other minima")?.into_iter().flatten();
        let other = found.min_by(|a, b| a.cost.total_cmp(&b.cost)).filter(|f| f.cost < best.cost * (1.0 - 1e-6));
        let Some(other) = other else { return Ok(best) };
        let (held, point) = (other.held.clone(), other.point.clone());
        self.again(other, &held, point, "other minima")
    }

    /// Searches on from a point, or keeps it after a stop.
    fn again(&mut self, found: Found, held: &[bool], point: Vec<f64>, what: &str) -> Result<Found, FitError> {
        let settings = Settings { evaluations: self.file.spec.evaluations, ..Settings::default() };
        let start = Start { point, held: held.to_vec() };
        Ok(self.search(&[start], settings, what)?.remove(0).unwrap_or(Found { converged: false, ..found }))
    }

    /// Where channels, a loss or priors compare residuals with each other or with something else, their
    /// deviations are estimated from the residuals, and the search goes on.
    fn reweighted(&mut self, mut best: Found) -> Result<Found, FitError> {
        let is_huber = self.file.spec.loss == LossName::Huber;
        let has_prior = self.problem.unknowns.iter().any(|u| u.prior.is_some());
        let segments = self.segments();
        let rounds = if segments.len() > 1 || has_prior { 3 } else { usize::from(is_huber) * 3 };
        for _ in 0..rounds {
            let mut k = 0;
            let mut by_channel: Vec<Vec<f64>> = self.problem.repeated.iter().map(|r| r.deviations.clone()).collect();
            for (r, own) in by_channel.iter_mut().enumerate() {
                for (c, deviation) in own.iter_mut().enumerate() {
                    let residual = &best.linear.residual.as_slice()[segments[k].clone()];
                    let size = if is_huber {
                        median(residual.iter().map(|x| x.abs()).collect()) / 0.6745
                    } else {
                        rms(residual.iter().copied())
                    };
                    // Correlated residuals say less against a prior.
                    let process = crate::noise::Autoregression::of(residual, 0.0);
                    let n = segments[k].len();
                    let many = if has_prior { (n as f64 / process.effective(n)).sqrt() } else { 1.0 };
                    let _ = (r, c);
                    *deviation *= (size * many).max(1e-12);
                    k += 1;
                }
            }
            self.problem.repeated.iter_mut().zip(by_channel).for_each(|(r, own)| r.deviations = own);
            self.loss = if is_huber { Loss::Huber(1.345) } else { Loss::Squares };
            let (held, point) = (best.held.clone(), best.point.clone());
            best = self.again(best, &held, point, "weights")?;
        }
        Ok(best)
    }

    /// The rows of each channel of each recording.
    fn segments(&self) -> Vec<Range<usize>> {
        let (mut all, mut row) = (Vec::new(), 0);
        for repeated in &self.problem.repeated {
            for c in 0..repeated.recording.compared.len() {
                let n = (0..repeated.fitted).filter(|i| repeated.counts(c, *i)).count();
                all.push(row..row + n);
                row += n;
            }
        }
        all
    }

    /// Holds what cannot be told, one after the other, and searches on with the rest.
    fn identified(&mut self, mut best: Found) -> Result<(Found, Vec<(usize, Vec<usize>)>), FitError> {
        let (segments, mut directions) = (self.segments(), Vec::new());
        self.problem.central = true;
        while !self.stopped {
            let free: Vec<usize> = (0..best.point.len()).filter(|j| !best.held[*j]).collect();
            // At a bound where physics ends, such as mu_s = mu_c, other unknowns move nothing: look inside.
            let margin = |j: usize| if is_ratio(&self.problem.unknowns[j]) { 0.03 } else { 1e-4 };
            let inside = |j: usize| {
                let x = best.point[j];
                if best.held[j] { x } else { x.clamp(margin(j), 1.0 - margin(j)) }
            };
            let point: Vec<f64> = (0..best.point.len()).map(inside).collect();
            let start = Start { point, held: best.held.clone() };
            let Some(linear) = self.problem.evaluate(&[start])?.remove(0) else { break };
            let data = segments.last().map_or(0, |s| s.end);
            let mut jacobian = linear.jacobian.select_columns(&free);
            for segment in &segments {
                let residual = &best.linear.residual.as_slice()[segment.clone()];
                let size = rms(residual.iter().copied());
                let n = segment.len();
                let process = crate::noise::Autoregression::of(residual, 0.0);
                let deviation = (size * (n as f64 / process.effective(n)).sqrt()).max(1e-300);
                jacobian.rows_mut(segment.start, n).unscale_mut(deviation);
            }
            debug_assert!(data <= jacobian.nrows());
            let Some((held, partners)) = null_direction(&jacobian, &free, &self.problem.unknowns) else { break };
            directions.push((held, partners));
            let mut point = best.point.clone();
            point[held] = self.problem.unknowns[held].rest();
            let mut all_held = best.held.clone();
            all_held[held] = true;
            self.problem.central = false;
            best = self.again(best, &all_held, point.clone(), "without what cannot be told")?;
            self.problem.central = true;
            (best.held, best.point[held]) = (all_held, point[held]);
        }
        self.add_coulomb(&best, &mut directions);
        Ok((best, directions))
    }

    /// Where the rise of friction at rest cannot be told, the Coulomb coefficient cannot be told alone either,
    /// unless the Stribeck velocity is known to be far below the speeds of the recordings.
    fn add_coulomb(&self, best: &Found, directions: &mut [(usize, Vec<usize>)]) {
        let unknowns = &self.problem.unknowns;
        let place = |path: &str| unknowns.iter().position(|u| u.path() == path);
        let Some(mu_c) = place("friction.mu_c").filter(|j| !best.held[*j]) else { return };
        let is_unknown = place("friction.v_s").is_some_and(|j| !self.held()[j]);
        let friction = self.problem.scenario.first().contact.friction;
        let speed = speeds(&self.problem, 0).map_or(0.0, |s| s.range[1]);
        let rise = (-(speed / friction.v_s).powf(friction.gamma)).exp();
        for (held, partners) in directions {
            if is_ratio(&unknowns[*held]) && (is_unknown || rise > 0.05) && !partners.contains(&mu_c) {
                partners.push(mu_c);
            }
        }
    }

    /// Intervals by linear theory, and by the profile where that is doubtful.
    fn intervals(
        &mut self,
        best: Found,
        directions: &[(usize, Vec<usize>)],
    ) -> Result<(Found, Option<Spread>, Vec<Option<Interval>>), FitError> {
        let (segments, n) = (self.segments(), best.point.len());
        let free: Vec<usize> = (0..n).filter(|j| !best.held[*j]).collect();
        let mut best = best;
        for round in 0..3 {
            let Some(spread) = spread(&best, &free, &segments, self.loss) else { break };
            let Self { problem, ask, stopped, loss, .. } = self;
            problem.central = false;
            let mut evaluate = |starts: &[Start]| {
                if *stopped || !ask("intervals") {
                    *stopped = true;
                    return Err(Stopped::Asked);
                }
                problem.evaluate(starts).map_err(Stopped::Engine)
            };
            // Offsets and drifts are linear.
            let is_linear = |j: usize| {
                matches!(problem.unknowns[j].quantity, Quantity::Sensor { part: Part::Offset | Part::Drift, .. })
            };
            let places: Vec<usize> = (0..free.len()).filter(|k| !is_linear(free[*k])).collect();
            let mut targets: Vec<Target> = places.iter().map(|k| spread.target(*k)).collect();
            // What moves nothing here may do so further away, which sets a limit.
            let lonely = directions
                .iter()
                .filter(|(j, partners)| partners.is_empty() && problem.unknowns[*j].quantity == Quantity::Scenario);
            targets.extend(lonely.map(|(j, _)| spread.target_of_held(*j)));
            let found = profile(&mut evaluate, &best, &targets, *loss);
            let (intervals, better) = match found {
                Ok(found) => found,
                Err(Stopped::Engine(error)) => return Err(error.into()),
                Err(Stopped::Asked) => (Vec::new(), None),
            };
            match better {
                Some(point) if round < 2 => {
                    let held = best.held.clone();
                    best = self.again(best, &held, point, "a better minimum")?;
                }
                _ => {
                    let mut all = vec![None; n];
                    free.iter().enumerate().for_each(|(k, j)| all[*j] = Some(spread.linear(k, best.point[*j])));
                    targets.iter().zip(intervals).for_each(|(target, interval)| all[target.unknown] = Some(interval));
                    return Ok((best, Some(spread), all));
                }
            }
        }
        Ok((best, None, vec![None; n]))
    }

    #[allow(clippy::too_many_arguments, reason = "all that a result is made of")]
    fn finish(
        mut self,
        best: Found,
        directions: Vec<(usize, Vec<usize>)>,
        before: Vec<String>,
        notes: Vec<String>,
        begun: Instant,
        needed: &[(&str, f64)],
        changes: &[String],
    ) -> Result<Fit, FitError> {
        let (best, spread, intervals) = self.intervals(best, &directions)?;
        let posterior = self.posterior(&best, spread.as_ref(), needed, changes)?;
        let problem = &self.problem;
        let unknowns = &problem.unknowns;
        let is_sensor = |j: usize| matches!(unknowns[j].quantity, Quantity::Sensor { .. });
        let asked: Vec<bool> = self.held();
        let estimate = |j: usize| {
            let unknown = &unknowns[j];
            let value = unknown.value(best.point[j]);
            // Who is told only beside a held unknown of the contact is not told alone.
            let beside = directions.iter().find(|(held, partners)| partners.contains(&j) && !is_sensor(*held));
            let held = best.held[j];
            let closed = intervals[j].map_or([false; 2], |i| i.closed);
            let ends = intervals[j].map_or(unknown.bounds, |i| i.ends.map(|e| unknown.value(e)));
            let note = match beside {
                Some((held, _)) if !best.held[j] => {
                    format!("for {} = {} alone", unknowns[*held].name, unknowns[*held].value(best.point[*held]))
                }
                _ => String::new(),
            };
            Estimate {
                name: unknown.name.clone(),
                value,
                low: ends[0],
                high: ends[1],
                identifiable: !held && beside.is_none() && closed == [true; 2],
                closed,
                profile: intervals[j].is_some_and(|i| i.is_profile),
                held,
                note,
            }
        };
        let mut estimates: Vec<Estimate> = (0..unknowns.len()).filter(|j| !asked[*j]).map(estimate).collect();
        estimates.extend(self.sliding_friction(&best, spread.as_ref()));
        let said = |(held, partners): &(usize, Vec<usize>)| {
            let unknown = &unknowns[*held];
            let at = unknown.value(best.point[*held]);
            let others: Vec<&Unknown> = partners.iter().map(|j| &unknowns[*j]).collect();
            let names = std::iter::once(&unknown.name).chain(others.iter().map(|u| &u.name)).cloned().collect();
            Direction { unknowns: names, held_at: at, sentence: sentence(unknown, &others, at) }
        };
        let law = problem.scenario.spec();
        let law = match problem.scenario.first().contact.model.point() {
            Some(point) => format!("point, {}", point.law.name()),
            None => law.friction.law.name().to_owned(),
        };
        let channels = channels(problem, &best.point)?;
        let numbers = problem.numbers(&best.point, 0);
        let set = numbers.iter().map(|(path, value)| format!("{path}={value:?}"));
        let changes: Vec<String> = changes.iter().cloned().chain(set).collect();
        Ok(Fit {
            law,
            estimates,
            directions: directions.iter().map(said).collect(),
            before,
            notes,
            misfit: misfit(problem, &channels),
            channels,
            free: best.held.iter().filter(|held| !**held).count(),
            effective: spread.as_ref().map_or(0.0, |s| s.effective),
            converged: best.converged && !self.stopped,
            seconds: begun.elapsed().as_secs_f64(),
            scenario: self.file.fitted(needed, &changes)?,
            posterior,
        })
    }

    /// Samples of what is known, if the file asks for them and nobody has asked to stop.
    fn posterior(
        &mut self,
        best: &Found,
        spread: Option<&Spread>,
        needed: &[(&str, f64)],
        changes: &[String],
    ) -> Result<Option<Posterior>, FitError> {
        let count = self.file.spec.samples;
        let Some(spread) = spread.filter(|_| count > 0 && !self.stopped) else { return Ok(None) };
        let Self { problem, ask, stopped, loss, file } = self;
        let mut evaluate = |starts: &[Start]| {
            if *stopped || !ask("samples") {
                *stopped = true;
                return Err(Stopped::Asked);
            }
            problem.evaluate(starts).map_err(Stopped::Engine)
        };
        let points = match samples(&mut evaluate, best, spread, *loss, count, file.spec.seed) {
            Ok(points) => points,
            Err(Stopped::Engine(error)) => return Err(error.into()),
            Err(Stopped::Asked) => return Ok(None),
        };
        let names: Vec<String> = problem.numbers(&best.point, 0).into_iter().map(|(name, _)| name).collect();
        let row = |point: &Vec<f64>| problem.numbers(point, 0).into_iter().map(|(_, value)| value).collect();
        let columns = names.iter().map(|name| format!("{name}={{ column = \"{name}\" }}"));
        let table = [format!("table.file=\"{}\"", Posterior::FILE), format!("contacts={count}")];
        let changes: Vec<String> = changes.iter().cloned().chain(table).chain(columns).collect();
        let scenario = file.fitted(needed, &changes)?;
        Ok(Some(Posterior { rows: points.iter().map(row).collect(), names, scenario }))
    }

    /// The friction of steady sliding at the usual speed of the recordings, `g(v) + sigma2 v`, which can be
    /// told where its parts cannot; none of a contact whose speed is not recorded.
    fn sliding_friction(&self, best: &Found, spread: Option<&Spread>) -> Option<Estimate> {
        let problem = &self.problem;
        if problem.scenario.first().contact.body.free().is_some() {
            return None;
        }
        let speed = speeds(problem, 0).filter(|s| !s.is_rotation)?.usual;
        let at = |point: &[f64]| {
            let numbers = problem.numbers(point, 0);
            let contact = problem.scenario.variant(0, problem.scenario.spec().seed, &numbers).ok()?;
            let f = contact.friction.effective_for_law();
            Some(f.mu_c + (f.mu_s - f.mu_c) * (-(speed / f.v_s).powf(f.gamma)).exp() + f.sigma2 * speed)
        };
        let value = at(&best.point)?;
        let spread = spread?;
        let gradient: Vec<f64> = spread
            .free
            .iter()
            .map(|&j| {
                let (mut point, h) = (best.point.clone(), if best.point[j] > 0.5 { -1e-6 } else { 1e-6 });
                point[j] += h;
                at(&point).map_or(0.0, |moved| (moved - value) / h)
            })
            .collect();
        if gradient.iter().all(|g| *g == 0.0) {
            return None;
        }
        let gradient = nalgebra::DVector::from_vec(gradient);
        let deviation = gradient.dot(&(&spread.covariance * &gradient)).max(0.0).sqrt();
        let reach = crate::interval::quantile(spread.freedom) * deviation;
        Some(Estimate {
            name: "sliding_friction".into(),
            value,
            low: value - reach,
            high: value + reach,
            identifiable: true,
            closed: [true; 2],
            profile: false,
            held: false,
            note: format!("friction over normal force in steady sliding at {speed:.3e} m/s"),
        })
    }
}
