//! The search of a fit: from which points, with which weights and steps.

use std::ops::Range;

use bristle::error::EngineError;
use bristle::random::Draw;

use crate::file::{FitFile, LossName};
use crate::fit::{Ask, FitError};
use crate::interval::{Interval, Spread};
use crate::model::Problem;
use crate::noise::{Autoregression, median, rms};
use crate::recording::Sign;
use crate::repeated::{Reach, Repeated};
use crate::trust_region::{Found, Linear, Loss, Settings, Start, minimise};
use crate::unknown::{Quantity, Unknown};

/// An unknown that is held because it cannot be told, and its partners.
pub(crate) type Null = (usize, Vec<usize>);

/// A minimum, and how well each unknown is known there.
pub(crate) struct Known {
    pub best: Found,
    pub spread: Option<Spread>,
    /// None of an unknown that is held.
    pub intervals: Vec<Option<Interval>>,
    /// What is held because it cannot be told.
    pub directions: Vec<Null>,
}

/// What stops a search: the engine, or the user.
pub(crate) enum Stopped {
    Engine(EngineError),
    Asked,
}

/// Whether an unknown says how far friction rises towards rest.
pub(crate) fn is_ratio(unknown: &Unknown) -> bool {
    ["friction.mu_s_over_mu_c", "friction.mu_s"].contains(&unknown.path())
}

/// A given sign of the force is doubted if the other one leaves less than this share of the squares.
const WRONG_SIGN: f64 = 0.5;

/// Searches whose costs differ by at most this factor count as ended at one minimum.
const SAME_MINIMUM: f64 = 1.01;

/// The starts that are looked at for each one that is searched from.
const SCREENED: usize = 6;

/// A fit on its way.
pub(crate) struct Searching<'a> {
    pub problem: Problem<'a>,
    pub file: &'a FitFile,
    pub ask: &'a Ask<'a>,
    /// Whether somebody has asked to stop.
    pub stopped: bool,
    pub loss: Loss,
}

impl Searching<'_> {
    /// Searches from some points; what was found until a stop counts.
    pub(crate) fn search(
        &mut self,
        starts: &[Start],
        settings: Settings,
        what: &str,
    ) -> Result<Vec<Option<Found>>, FitError> {
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
    pub(crate) fn held(&self) -> Vec<bool> {
        let spec = |unknown: &Unknown| self.file.spec.unknowns.get(unknown.path());
        self.problem.unknowns.iter().map(|unknown| spec(unknown).is_some_and(|spec| spec.value.is_some())).collect()
    }

    /// Points to search from, the best first: of those that a random choice within the bounds gives.
    pub(crate) fn screen(&mut self, notes: &mut Vec<String>) -> Result<Vec<Start>, FitError> {
        let (held, spec, loss) = (self.held(), &self.file.spec, self.loss);
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
            Ok(all.iter().map(|l| l.as_ref().map_or(f64::INFINITY, |l| loss.cost(&l.residual))).collect())
        };
        let mut best = costs(&self.problem)?;
        // All channels of a recording whose sign is unknown have the same.
        for r in 0..self.problem.repeated.len() {
            let is_asked = |c: &crate::recording::Channel| c.sign == Sign::Auto;
            let compared = &self.problem.repeated[r].recording.compared;
            let mut channels = compared.iter().map(is_asked).collect::<Vec<_>>();
            let is_given = !channels.contains(&true);
            if is_given {
                channels = compared.iter().map(|c| c.name.starts_with("wrench.")).collect();
            }
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
            if is_given {
                if least(&turned) < WRONG_SIGN * least(&best) {
                    notes.push(format!("{name}: the opposite `sign` of the force fits far better"));
                }
                turn(&mut self.problem);
            } else if least(&turned) < least(&best) {
                notes.push(format!(
                    "{name}: the force is taken with the opposite sign, which fits better; its offset \
                                 is that of the turned force"
                ));
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

    /// Shortens the step of a prescribed motion, `most` times to a quarter, until a quarter of it changes
    /// what is compared by less than `allowed` of a channel (the number of its recording, its own, and its
    /// predicted values), in all recordings: the fast ones ask for shorter steps than the slow ones.
    pub(crate) fn refine(
        &mut self,
        point: &[f64],
        most: usize,
        allowed: &dyn Fn(usize, usize, &[f64]) -> f64,
    ) -> Result<bool, FitError> {
        let problem = &mut self.problem;
        let predicted = |problem: &Problem<'_>| -> Result<Option<Vec<Vec<Vec<f64>>>>, FitError> {
            let of = (0..problem.repeated.len()).map(|r| problem.predict(point, r, Reach::Fitted));
            Ok(of.collect::<Result<Vec<_>, _>>()?.into_iter().collect())
        };
        if problem.scenario.first().contact.body.free().is_some() {
            return Ok(false);
        }
        for shortened in 0..=most {
            let step = problem.step;
            let long = predicted(problem)?;
            problem.step = (step / 4.0).max(1e-7);
            let short = predicted(problem)?;
            let (Some(long), Some(short)) = (long, short) else { return Ok(shortened > 0) };
            let is_near = |r: usize| {
                let near = |(c, (a, b)): (usize, (&Vec<f64>, &Vec<f64>))| {
                    rms(a.iter().zip(b).map(|(a, b)| a - b)) <= allowed(r, c, b)
                };
                long[r].iter().zip(&short[r]).enumerate().all(near)
            };
            if shortened == most || (0..long.len()).all(is_near) {
                problem.step = step;
                return Ok(shortened > 0);
            }
        }
        Ok(true)
    }

    /// Shortens the step until its error is small beside what the intervals allow, and searches on: as if all
    /// of the error moved one unknown, by a fifth of its standard deviation.
    pub(crate) fn resolved(&mut self, best: Found) -> Result<Found, FitError> {
        let segments = self.segments();
        let mut segment = segments.iter();
        let mut of_channel = |deviation: &f64| {
            let segment = segment.next().expect("the rows of every channel");
            let residual = &best.linear.residual.as_slice()[segment.clone()];
            let effective = Autoregression::of(residual, 0.0).effective(segment.len());
            0.2 * deviation * rms(residual.iter().copied()) / effective.sqrt()
        };
        let of_recording = |r: &Repeated| r.deviations.iter().map(&mut of_channel).collect();
        let allowed: Vec<Vec<f64>> = self.problem.repeated.iter().map(of_recording).collect();
        if self.stopped || !self.refine(&best.point, 2, &|r, c, _| allowed[r][c])? {
            return Ok(best);
        }
        let (held, point) = (best.held.clone(), best.point.clone());
        self.again(best, &held, point, "shorter steps")
    }

    /// The best of the searches from many points: all a little way, and the best three to the end. Where the
    /// others of these end elsewhere, `notes` says so: there may be a better minimum than the best.
    pub(crate) fn of_many(&mut self, starts: &[Start], notes: &mut Vec<String>) -> Result<Found, FitError> {
        let settings = Settings { evaluations: self.file.spec.evaluations.min(10), ..Settings::default() };
        let mut some: Vec<Found> = self.search(starts, settings, "starts")?.into_iter().flatten().collect();
        some.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        some.truncate(3);
        let starts: Vec<Start> = some.iter().map(|f| Start { point: f.point.clone(), held: f.held.clone() }).collect();
        let settings = Settings { evaluations: self.file.spec.evaluations, ..Settings::default() };
        let more: Vec<Found> = self.search(&starts, settings, "best starts")?.into_iter().flatten().collect();
        // Without noise all are near 0.
        let nothing = |f: &Found| 1e-8 * f.linear.residual.len() as f64;
        let least = more.iter().map(|f| f.cost.max(nothing(f))).fold(f64::INFINITY, f64::min);
        let worse = more.iter().filter(|f| f.converged && f.cost > SAME_MINIMUM * least).count();
        if worse > 0 && worse + 1 == more.len() && !self.stopped {
            notes.push(format!(
                "of the best {} starts one alone came to the least misfit of them: more `starts` may find a better fit",
                more.len()
            ));
        }
        let all = more.into_iter().chain(some);
        let none = if self.stopped { FitError::Stopped } else { FitError::NoStart };
        all.min_by(|a, b| a.cost.total_cmp(&b.cost)).ok_or(none)
    }

    /// The best fit, after a look along each unknown: where the others have adapted to a value at which an
    /// unknown moves nothing, such as a stiffness that is far too large, no derivative leads away.
    pub(crate) fn escaped(&mut self, best: Found) -> Result<Found, FitError> {
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
    pub(crate) fn again(
        &mut self,
        found: Found,
        held: &[bool],
        point: Vec<f64>,
        what: &str,
    ) -> Result<Found, FitError> {
        let settings = Settings { evaluations: self.file.spec.evaluations, ..Settings::default() };
        let start = Start { point, held: held.to_vec() };
        Ok(self.search(&[start], settings, what)?.remove(0).unwrap_or(Found { converged: false, ..found }))
    }

    /// Where channels, a loss or priors compare residuals with each other or with something else, their
    /// deviations are estimated from the residuals, and the search goes on.
    pub(crate) fn reweighted(&mut self, mut best: Found) -> Result<Found, FitError> {
        let is_huber = self.file.spec.loss == LossName::Huber;
        let has_prior = self.problem.unknowns.iter().any(|u| u.prior.is_some());
        let segments = self.segments();
        let rounds = if segments.len() > 1 || has_prior { 3 } else { usize::from(is_huber) * 3 };
        for _ in 0..rounds {
            let mut k = 0;
            let mut by_channel: Vec<Vec<f64>> = self.problem.repeated.iter().map(|r| r.deviations.clone()).collect();
            for own in &mut by_channel {
                for deviation in own {
                    let residual = &best.linear.residual.as_slice()[segments[k].clone()];
                    let size = if is_huber {
                        median(residual.iter().map(|x| x.abs()).collect()) / 0.6745
                    } else {
                        rms(residual.iter().copied())
                    };
                    // Correlated residuals say less against a prior.
                    let process = Autoregression::of(residual, 0.0);
                    let n = segments[k].len();
                    let many = if has_prior { (n as f64 / process.effective(n)).sqrt() } else { 1.0 };
                    *deviation *= (size * many).max(1e-12);
                    k += 1;
                }
            }
            self.problem.repeated.iter_mut().zip(by_channel).for_each(|(r, own)| r.deviations = own);
            let (held, point) = (best.held.clone(), best.point.clone());
            best = self.again(best, &held, point, "weights")?;
        }
        Ok(best)
    }

    /// The rows of each channel of each recording.
    pub(crate) fn segments(&self) -> Vec<Range<usize>> {
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
}
