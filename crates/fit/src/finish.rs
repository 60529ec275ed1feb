//! From the end of a search to the result of a fit.

use std::sync::Arc;
use std::time::Instant;

use bristle_scenario::Scenario;

use crate::fit::{Estimate, Fit, FitError, Minimum, Posterior, is_own};
use crate::identify::{Direction, sentence, speeds};
use crate::interval::Spread;
use crate::model::Problem;
use crate::noise::median;
use crate::posterior::samples;
use crate::report::digits;
use crate::residuals::{Channel, channels, misfit};
use crate::search::{Known, Null, Searching, Stopped};
use crate::trust_region::{Found, Loss, Start};
use crate::unknown::{Part, Quantity, Unknown};

/// Recordings whose usual speeds differ by at most this factor have one sliding friction.
const SAME_SPEED: f64 = 1.2;

/// What is said of a channel with a few samples that are far off.
fn outliers(channel: &Channel) -> Option<String> {
    const FAR: f64 = 10.0;
    // More of them are no outliers: the law does not fit.
    const MOST: f64 = 0.05;
    let errors = channel.errors(0..channel.fitted);
    // The usual deviation, which a few samples do not change.
    let usual = median(errors.iter().map(|e| e.abs()).collect()) / 0.6745;
    let far = errors.iter().filter(|e| e.abs() > FAR * usual).count();
    (far > 0 && (far as f64) < MOST * errors.len() as f64 && channel.residual > 2.0 * usual).then(|| {
        format!(
            "{}: {far} of {} samples are more than {FAR} usual deviations off; `loss = \"huber\"` bears such ones",
            channel.name,
            errors.len()
        )
    })
}

impl Searching<'_> {
    #[allow(clippy::too_many_arguments, reason = "all that a result is made of")]
    pub(crate) fn finish(
        mut self,
        best: Found,
        directions: Vec<Null>,
        before: Vec<String>,
        mut notes: Vec<String>,
        begun: Instant,
        needed: &[(&str, f64)],
        changes: &[String],
        scenario: &Arc<Scenario>,
    ) -> Result<Fit, FitError> {
        let Known { best, spread, intervals, directions } = self.intervals(best, directions)?;
        let posterior = self.posterior(&best, spread.as_ref(), needed, changes)?;
        let problem = &self.problem;
        let unknowns = &problem.unknowns;
        // A gain or a delay is calibrated; an offset that is held is a guess.
        let is_guess = |j: usize| {
            !matches!(unknowns[j].quantity, Quantity::Sensor { part: Part::Gain | Part::Delay | Part::Drift, .. })
        };
        let asked: Vec<bool> = self.held();
        let estimate = |j: usize| {
            let unknown = &unknowns[j];
            let value = unknown.value(best.point[j]);
            // Who is told only beside such an unknown is not told alone.
            let beside = directions.iter().find(|(held, partners)| partners.contains(&j) && is_guess(*held));
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
                        format!("at its {side} bound: wider bounds may fit better")
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
        // With a held offset it is not told, however its parts are.
        let is_offset = |j: usize| matches!(unknowns[j].quantity, Quantity::Sensor { part: Part::Offset, .. });
        let guess = directions.iter().find(|(held, partners)| is_offset(*held) && !partners.is_empty());
        estimates.extend(self.sliding_friction(&best, spread.as_ref()).into_iter().map(|e| match guess {
            Some((held, _)) => {
                let note = format!(
                    "{}; for {} = {} alone",
                    e.note,
                    unknowns[*held].name,
                    digits(unknowns[*held].value(best.point[*held]))
                );
                Estimate { identifiable: false, note, ..e }
            }
            None => e,
        }));
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
        if self.loss == Loss::Squares {
            notes.extend(channels.iter().filter_map(outliers));
        }
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

    /// The friction of steady sliding at the usual speed of each recording, which can be told where its parts
    /// cannot; of recordings at about one speed it is one number.
    fn sliding_friction(&self, best: &Found, spread: Option<&Spread>) -> Vec<Estimate> {
        let of = |r: usize| Some((r, speeds(&self.problem, r).filter(|s| !s.is_rotation)?.usual));
        let all: Vec<(usize, f64)> = (0..self.problem.repeated.len()).filter_map(of).collect();
        let low = all.iter().map(|of| of.1).fold(f64::INFINITY, f64::min);
        let high = all.iter().map(|of| of.1).fold(0.0, f64::max);
        let unknowns = &self.problem.unknowns;
        let is_own = |u: &Unknown| u.quantity == Quantity::Scenario && u.recording.is_some();
        let is_one = high <= SAME_SPEED * low && !unknowns.iter().any(is_own);
        let some = if is_one { &all[..all.len().min(1)] } else { &all[..] };
        let name = |r: usize| if is_one { "sliding_friction".to_owned() } else { format!("sliding_friction@{r}") };
        some.iter().filter_map(|(r, speed)| self.sliding_friction_at(*r, *speed, name(*r), best, spread)).collect()
    }

    /// `g(v) + sigma2 v` at a speed, over all of the pressure; none of a body that moves freely, of several
    /// patches, and of friction by direction, whose sliding friction is no one number.
    fn sliding_friction_at(
        &self,
        recording: usize,
        speed: f64,
        name: String,
        best: &Found,
        spread: Option<&Spread>,
    ) -> Option<Estimate> {
        let problem = &self.problem;
        let contact = &problem.scenario.first().contact;
        let patch = &contact.patch;
        if contact.body.free().is_some() || patch.friction_axes().is_some() || !patch.parts().is_empty() {
            return None;
        }
        let at = |point: &[f64]| {
            let numbers = problem.numbers(point, recording);
            let contact = problem.scenario.variant(0, problem.scenario.spec().seed, &numbers).ok()?;
            let f = contact.friction.effective_for_law();
            let falling = f.mu_c + (f.mu_s - f.mu_c) * (-(speed / f.v_s).powf(f.gamma)).exp();
            Some(falling * contact.patch.mean_friction() + f.sigma2 * speed)
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
            name,
            value,
            low: value - reach,
            high: value + reach,
            // An interval as wide as the number says nothing of it.
            identifiable: reach < 0.5 * value.abs(),
            closed: [true; 2],
            profile: false,
            held: false,
            note: format!("friction over normal force in steady sliding at {} m/s", digits(speed)),
        })
    }
}
