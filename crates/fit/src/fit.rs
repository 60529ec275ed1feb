//! From recordings and a fit file to unknowns with intervals.

use std::sync::Arc;
use std::time::Instant;

use bristle::error::{EngineError, ParameterError};
use bristle_scenario::{Scenario, ScenarioError};

use crate::file::{FitFile, UnknownSpec};
use crate::identify::{Direction, Speeds, beforehand, sentence, speeds};
use crate::interval::Spread;
use crate::model::{Problem, Repeated, spread as deviation_of};
use crate::noise::median;
use crate::posterior::samples;
use crate::recording::{Recording, RecordingError};
use crate::residuals::{Channel, Misfit, channels, misfit};
use crate::search::{Known, Null, Searching, Stopped};
use crate::trust_region::{Found, Loss, Start};
use crate::unknown::{Quantity, START, Sizes, Unknown, unknown};

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
    /// The minimum, for what is asked of it later.
    pub(crate) minimum: Minimum,
}

/// The minimum that was found, and the problem that it is of.
#[derive(Clone, Debug)]
pub(crate) struct Minimum {
    pub scenario: Arc<Scenario>,
    pub repeated: Vec<Repeated>,
    pub unknowns: Vec<Unknown>,
    pub step: f64,
    pub loss: Loss,
    pub best: Found,
    pub spread: Option<Spread>,
    /// Unknowns that the file holds.
    pub asked: Vec<bool>,
    /// Unknowns that every recording has for itself.
    pub own: Vec<bool>,
    /// What cannot be told.
    pub null: Vec<Null>,
}

impl Minimum {
    /// The problem.
    pub(crate) fn problem(&self) -> Problem<'_> {
        let Self { scenario, repeated, unknowns, step, .. } = self;
        let (repeated, unknowns) = (repeated.clone(), unknowns.clone());
        Problem { scenario, repeated, unknowns, step: *step, central: false }
    }
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

    /// The samples as the text of that table.
    pub fn table(&self) -> String {
        let row = |row: &Vec<f64>| row.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(",");
        let rows = std::iter::once(self.names.join(",")).chain(self.rows.iter().map(row));
        rows.map(|row| row + "\n").collect()
    }
}

/// How long a patch moves before a recording, if it does, in median times between samples.
const LEAD: f64 = 20.0;

/// Called on the way with what is being done; `false` asks to stop, and the best so far is the result.
pub type Ask<'a> = dyn Fn(&str) -> bool + Sync + 'a;

/// Whether each recording has an unknown for itself.
fn is_own(spec: Option<&UnknownSpec>, path: &str) -> bool {
    let of_one = || path.ends_with(".offset") || path.ends_with(".drift") || START.contains(&path);
    spec.and_then(|spec| spec.own).unwrap_or_else(of_one)
}

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
        if is_own(Some(spec), path) && repeated.len() > 1 {
            let own = |r: usize| Unknown { name: format!("{path}@{r}"), recording: Some(r), ..made.clone() };
            all.extend((0..repeated.len()).map(own));
        } else {
            all.push(made);
        }
    }
    Ok(all)
}

/// Keys of a scenario that recordings say, with values to begin with.
pub(crate) fn needed(recordings: &[Recording]) -> Vec<(&'static str, f64)> {
    let duration = recordings.iter().filter_map(|r| r.time.last()).copied().fold(0.0, f64::max);
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
    needed
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
    let needed = needed(recordings);
    let scenario = Arc::new(file.scenario(&needed, changes)?);
    let is_free = scenario.first().contact.body.free().is_some();
    let step = if is_free { scenario.plan().step } else { period.clamp(1e-7, 0.1) };
    let mut problem = Problem { scenario: &scenario, repeated, unknowns: Vec::new(), step, central: false };
    problem.check()?;
    // A joint turns: cells slide at the torsional radius.
    let numbers = &scenario.first().parameters;
    let radius = numbers.iter().find(|(name, r)| name == "patch.torsional_radius" && *r > 0.0).map_or(1.0, |n| n.1);
    let of_sliding = |s: Speeds| if s.is_rotation { radius * s.usual } else { s.usual };
    let speed = (0..recordings.len()).filter_map(|r| speeds(&problem, r)).map(of_sliding).fold(0.0, f64::max);
    let travel = recordings.iter().map(Recording::travel);
    let travel = travel.fold([0.0; 3], |most, of| [0, 1, 2].map(|i| f64::max(most[i], of[i])));
    let sizes = Sizes { speed: if speed > 0.0 { speed } else { 1.0 }, duration, period, travel };
    problem.unknowns = unknowns(file, &scenario, &problem.repeated, sizes)?;
    if problem.unknowns.iter().any(|u| matches!(u.quantity, Quantity::Start(_))) {
        for repeated in &mut problem.repeated {
            repeated.begin_before(LEAD * period)?;
        }
    }
    let rows: usize = (0..recordings.len()).map(|r| problem.rows(r)).sum();
    if rows < 10 * problem.unknowns.len().max(1) {
        let accepted = format!("at least ten for each of {} unknowns", problem.unknowns.len());
        return Err(ParameterError::new("samples that are compared", rows, accepted).into());
    }
    let mut search = Searching { problem, file, ask, stopped: false, loss: Loss::Squares };
    let mut notes: Vec<String> =
        recordings.iter().flat_map(|r| &r.notes).map(|n| n.trim_end_matches('.').to_owned()).collect();
    let starts = search.screen(&mut notes)?;
    search.refine(&starts[0].point, 4, &|_, values| 1e-3 * deviation_of(values))?;
    let before = beforehand(&search.problem);
    let mut best = search.of_many(&starts)?;
    best = search.escaped(best)?;
    best = search.resolved(best)?;
    best = search.reweighted(best)?;
    let (best, directions) = search.identified(best, Vec::new())?;
    search.finish(best, directions, before, notes, begun, &needed, changes, &scenario)
}

impl Searching<'_> {
    #[allow(clippy::too_many_arguments, reason = "all that a result is made of")]
    fn finish(
        mut self,
        best: Found,
        directions: Vec<Null>,
        before: Vec<String>,
        notes: Vec<String>,
        begun: Instant,
        needed: &[(&str, f64)],
        changes: &[String],
        scenario: &Arc<Scenario>,
    ) -> Result<Fit, FitError> {
        let Known { best, spread, intervals, directions } = self.intervals(best, directions)?;
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
                _ => ["lower", "upper"]
                    .into_iter()
                    .zip([best.point[j], 1.0 - best.point[j]])
                    .zip(unknown.natural)
                    .find(|((_, room), natural)| *room < 1e-6 && !natural && !held)
                    .map_or_else(String::new, |((side, _), _)| {
                        format!("at its {side} bound: wider ones may fit better")
                    }),
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
        let said = |(held, partners): &Null| {
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
        let misfit = misfit(problem, &channels);
        let directions_said = directions.iter().map(said).collect();
        let is_own = |u: &Unknown| is_own(self.file.spec.unknowns.get(u.path()), u.path());
        let own: Vec<bool> = unknowns.iter().map(is_own).collect();
        let effective = spread.as_ref().map_or(0.0, |s| s.effective);
        let converged = best.converged && !self.stopped;
        let Problem { repeated, unknowns, step, .. } = self.problem;
        Ok(Fit {
            law,
            estimates,
            directions: directions_said,
            before,
            notes,
            misfit,
            channels,
            free: best.held.iter().filter(|held| !**held).count(),
            effective,
            converged,
            seconds: begun.elapsed().as_secs_f64(),
            scenario: self.file.fitted(needed, &changes)?,
            posterior,
            minimum: Minimum {
                scenario: Arc::clone(scenario),
                repeated,
                unknowns,
                step,
                loss: self.loss,
                best,
                spread,
                asked,
                own,
                null: directions,
            },
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
