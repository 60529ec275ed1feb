//! From recordings and a fit file to unknowns with intervals.

use std::sync::Arc;
use std::time::Instant;

use bristle::error::{EngineError, ParameterError};
use bristle_scenario::{Scenario, ScenarioError};

use crate::file::{FitFile, Held, LossName, MOTION, UnknownSpec};
use crate::identify::{Direction, Speeds, beforehand, speeds};
use crate::interval::Spread;
use crate::model::Problem;
use crate::noise::median;
use crate::recording::{Recording, RecordingError};
use crate::repeated::{Repeated, spread as deviation_of};
use crate::residuals::{Channel, Misfit};
use crate::search::{Null, Searching};
use crate::trust_region::{Found, HUBER, Loss};
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
pub(crate) fn is_own(spec: Option<&UnknownSpec>, path: &str) -> bool {
    if spec.is_some_and(|spec| matches!(spec.value, Some(Held::Each(_)))) {
        return true;
    }
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
        if let Some(Held::Each(values)) = &spec.value
            && values.len() != repeated.len()
        {
            let (found, accepted) =
                (format!("{} values", values.len()), format!("{}, one a recording", repeated.len()));
            return Err(file.wrong(&ParameterError::new(format!("fit.unknowns.{path}.value"), found, accepted)).into());
        }
        let made = |r: usize| {
            let held = spec.value.as_ref().and_then(|held| held.of(r));
            unknown(path, spec, held, scenario, &names, size, sizes).map_err(|e| file.wrong(&e))
        };
        if is_own(Some(spec), path) && repeated.len() > 1 {
            for r in 0..repeated.len() {
                all.push(Unknown { name: format!("{path}@{r}"), recording: Some(r), ..made(r)? });
            }
        } else {
            all.push(made(0)?);
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
        needed.push((MOTION, 0.0));
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
    let is_huber = spec.loss == LossName::Huber;
    if is_huber {
        // Values that are far off shall not make the others small.
        repeated.iter_mut().for_each(Repeated::weigh_by_medians);
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
            repeated.begin_before(LEAD * period, &scenario.first().contact).map_err(|e| file.wrong(&e))?;
        }
    }
    let rows: usize = (0..recordings.len()).map(|r| problem.rows(r)).sum();
    let loss = if is_huber { HUBER } else { Loss::Squares };
    let mut search = Searching { problem, file, ask, stopped: false, loss };
    let free = search.held().iter().filter(|held| !**held).count();
    if rows < 10 * free.max(1) {
        let accepted = format!("at least ten for each of {free} unknowns");
        return Err(ParameterError::new("samples that are compared", rows, accepted).into());
    }
    let mut notes: Vec<String> =
        recordings.iter().flat_map(|r| &r.notes).map(|n| n.trim_end_matches('.').to_owned()).collect();
    if spec.burn_in == 0.0 && !is_free && recordings.iter().any(|r| r.pieces.len() > 1) {
        notes.push("bristles are unknown after a gap: `burn_in` leaves out the time after each".to_owned());
    }
    let starts = search.screen(&mut notes)?;
    search.refine(&starts[0].point, 4, &|_, _, values| 1e-3 * deviation_of(values))?;
    let before = beforehand(&search.problem, &search.held());
    let mut best = search.of_many(&starts, &mut notes)?;
    best = search.escaped(best)?;
    best = search.resolved(best)?;
    best = search.reweighted(best)?;
    let (best, directions) = search.identified(best, Vec::new())?;
    search.finish(best, directions, before, notes, begun, &needed, changes, &scenario)
}
