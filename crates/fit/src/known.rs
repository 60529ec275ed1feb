//! What the best fit tells: what is held because it cannot be told, and how far the intervals of the rest
//! reach.

use crate::fit::FitError;
use crate::identify::{mimicked_sensor, null_direction, slides_one_way, speeds};
use crate::interval::{Target, profile, spread};
use crate::noise::{Autoregression, rms};
use crate::search::{Known, Null, Searching, Stopped, is_ratio};
use crate::trust_region::{Found, Start};
use crate::unknown::{Part, Quantity, Unknown};

/// A gain or a delay that numbers of the contact can nearly replace is needed if the residual without it is
/// so many times as large.
const NEEDED: f64 = 1.5;

impl Searching<'_> {
    /// Holds what cannot be told beside `directions`, one after the other, and searches on with the rest.
    pub(crate) fn identified(
        &mut self,
        mut best: Found,
        mut directions: Vec<Null>,
    ) -> Result<(Found, Vec<Null>), FitError> {
        let segments = self.segments();
        if directions.is_empty() {
            best = self.hold_offsets(best, &mut directions)?;
        }
        // Gains and delays without which the residual is much larger.
        let mut needed = Vec::new();
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
            let mut jacobian = linear.jacobian.select_columns(&free);
            for segment in &segments {
                let residual = &self.loss.clipped(&best.linear.residual.as_slice()[segment.clone()]);
                let size = rms(residual.iter().copied());
                let n = segment.len();
                let process = Autoregression::of(residual, 0.0);
                let deviation = (size * (n as f64 / process.effective(n)).sqrt()).max(1e-300);
                jacobian.rows_mut(segment.start, n).unscale_mut(deviation);
            }
            let unknowns = &self.problem.unknowns;
            let null = null_direction(&jacobian, &free, unknowns);
            let may_be_needed = null.is_none();
            let null = null.or_else(|| mimicked_sensor(&jacobian, &free, unknowns, &needed));
            let Some((held, partners)) = null else { break };
            let mut point = best.point.clone();
            point[held] = self.problem.unknowns[held].rest();
            let mut all_held = best.held.clone();
            all_held[held] = true;
            self.problem.central = false;
            let with = best.clone();
            best = self.again(best, &all_held, point.clone(), "without what cannot be told")?;
            self.problem.central = true;
            if best.cost > NEEDED * NEEDED * with.cost {
                best = with;
                if may_be_needed {
                    needed.push(held);
                    continue;
                }
                // Nothing is seen of it here, but at its value in the scenario the others do not fit.
                point[held] = best.point[held];
            }
            directions.push((held, partners));
            (best.held, best.point[held]) = (all_held, point[held]);
        }
        self.add_coulomb(&best, &mut directions);
        Ok((best, directions))
    }

    /// Holds the offsets of forces where all recordings slide one way under a normal force that is constant
    /// but for the noise of its sensor: that noise would seem to tell the offset from friction.
    fn hold_offsets(&mut self, mut best: Found, directions: &mut Vec<Null>) -> Result<Found, FitError> {
        let unknowns = &self.problem.unknowns;
        let one_way = (0..self.problem.repeated.len()).map(|r| slides_one_way(&self.problem, r));
        // With a recording that turns back the coefficient is told.
        let Some(one_way) = one_way.collect::<Option<Vec<&str>>>() else { return Ok(best) };
        let beside = |j: usize| {
            let offset = &unknowns[j];
            let is_offset = matches!(offset.quantity, Quantity::Sensor { part: Part::Offset, .. });
            let is_of_force = offset.path().starts_with(one_way[offset.recording.unwrap_or(0)]);
            // One offset of several recordings is told by their loads or directions.
            let is_alone = one_way.len() == 1 || offset.recording.is_some();
            let of_it = |u: &Unknown| u.recording.is_none() || u.recording == offset.recording;
            let mu_c = unknowns.iter().position(|u| u.path() == "friction.mu_c" && of_it(u))?;
            let is_free = offset.prior.is_none() && !best.held[j] && !best.held[mu_c];
            (is_offset && is_of_force && is_alone && is_free).then_some((j, mu_c))
        };
        let offsets: Vec<(usize, usize)> = (0..best.point.len()).filter_map(beside).collect();
        for (j, mu_c) in offsets {
            let (mut point, mut held) = (best.point.clone(), best.held.clone());
            (point[j], held[j]) = (self.problem.unknowns[j].rest(), true);
            best = self.again(best, &held, point.clone(), "without what cannot be told")?;
            (best.held, best.point[j]) = (held, point[j]);
            directions.push((j, vec![mu_c]));
        }
        Ok(best)
    }

    /// Where the rise of friction at rest cannot be told, the Coulomb coefficient cannot be told alone,
    /// unless the Stribeck velocity is known to be far below the speeds of the recordings.
    pub(crate) fn add_coulomb(&self, best: &Found, directions: &mut [Null]) {
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
    pub(crate) fn intervals(&mut self, mut best: Found, mut directions: Vec<Null>) -> Result<Known, FitError> {
        let (segments, n) = (self.segments(), best.point.len());
        for round in 0..3 {
            let free: Vec<usize> = (0..n).filter(|j| !best.held[*j]).collect();
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
                    let mut held = best.held.clone();
                    // What was held, and fits better elsewhere, can be told.
                    directions.retain(|(j, _)| point[*j] == best.point[*j]);
                    held.iter_mut().enumerate().for_each(|(j, held)| *held &= point[j] == best.point[j]);
                    let is_released = held != best.held;
                    best = self.again(best, &held, point, "a better minimum")?;
                    if is_released {
                        (best, directions) = self.identified(best, directions)?;
                    }
                }
                _ => {
                    let mut all = vec![None; n];
                    free.iter().enumerate().for_each(|(k, j)| all[*j] = Some(spread.linear(k, best.point[*j])));
                    targets.iter().zip(intervals).for_each(|(target, interval)| all[target.unknown] = Some(interval));
                    return Ok(Known { best, spread: Some(spread), intervals: all, directions });
                }
            }
        }
        Ok(Known { best, spread: None, intervals: vec![None; n], directions })
    }
}
