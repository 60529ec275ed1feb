//! The cost along an unknown, the others free: what the end of an interval is read from.

use bristle::error::EngineError;

use crate::fit::{Ask, Fit, Minimum};
use crate::interval::Target;
use crate::trust_region::{Settings, Start, minimise};

/// The cost over the values of an unknown.
#[derive(Clone, Debug)]
pub struct Along {
    /// The unknown.
    pub name: String,
    /// Values in SI units that increase, and how much the cost rises there, over the rise at which the 90 %
    /// interval ends; the best value among them, with 0.
    pub points: Vec<[f64; 2]>,
}

/// A profile on its way: the coordinates of its points, and their places among the searches.
struct Arms {
    along: Along,
    rise: f64,
    places: Vec<(f64, usize)>,
}

/// Places between the best value and an end of the interval, and beyond: 1 is the end.
const PLACES: [f64; 4] = [0.4, 0.8, 1.2, 1.6];

impl Minimum {
    /// What an end of the interval of an unknown is looked for with; none if it has no interval.
    fn target(&self, unknown: usize) -> Option<Target> {
        let spread = self.spread.as_ref()?;
        match spread.free.iter().position(|j| *j == unknown) {
            Some(k) => Some(spread.target(k)),
            // Held because it moves nothing, which may set a limit further away.
            None => (!self.asked[unknown]).then(|| spread.target_of_held(unknown)),
        }
    }
}

/// The cost along every unknown that has an interval; of nothing if `ask` says to stop.
///
/// # Errors
/// An engine that fails.
pub fn along(fit: &Fit, ask: &Ask<'_>) -> Result<Vec<Along>, EngineError> {
    let minimum = &fit.minimum;
    let (problem, best) = (minimum.problem(), &minimum.best);
    let mut starts: Vec<Start> = Vec::new();
    let mut all: Vec<Arms> = Vec::new();
    for (j, unknown) in minimum.unknowns.iter().enumerate() {
        let Some((target, estimate)) =
            minimum.target(j).zip(fit.estimates.iter().find(|e| e.name == unknown.name && e.closed != [false; 2]))
        else {
            continue;
        };
        let at = best.point[j];
        let ends = [estimate.low, estimate.high].map(|v| unknown.coordinate(v).clamp(0.0, 1.0));
        let mut places = Vec::new();
        for end in ends {
            for x in PLACES.map(|share| (at + share * (end - at)).clamp(0.0, 1.0)) {
                if places.iter().chain([&(at, 0)]).any(|(other, _): &(f64, usize)| (other - x).abs() < 1e-9) {
                    continue;
                }
                places.push((x, starts.len()));
                let mut start = Start { point: minimum.beside(j, x - at), held: best.held.clone() };
                (start.point[j], start.held[j]) = (x, true);
                starts.push(start);
            }
        }
        let points = vec![[unknown.value(at), 0.0]];
        all.push(Arms { along: Along { name: unknown.name.clone(), points }, rise: target.rise, places });
    }
    let bounds = vec![[0.0, 1.0]; best.point.len()];
    let mut evaluate = |starts: &[Start]| {
        if !ask("profiles") {
            return Ok(starts.iter().map(|_| None).collect());
        }
        problem.evaluate(starts)
    };
    let settings = Settings { evaluations: 8, tolerance: 1e-6 };
    let found = minimise::<EngineError>(&mut evaluate, &bounds, &starts, minimum.loss, settings)?;
    let filled = all.into_iter().map(|Arms { mut along, rise, places }| {
        let unknown = minimum.unknowns.iter().find(|u| u.name == along.name);
        for (x, place) in places {
            if let Some((found, unknown)) = found[place].as_ref().zip(unknown) {
                along.points.push([unknown.value(x), (found.cost - best.cost) / rise]);
            }
        }
        along.points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        along
    });
    Ok(filled.filter(|along| along.points.len() > 2).collect())
}

impl Minimum {
    /// The best point with unknown `j` moved by `by` and the others as linear theory has them follow.
    fn beside(&self, j: usize, by: f64) -> Vec<f64> {
        let mut point = self.best.point.clone();
        if let Some(spread) = &self.spread
            && let Some(k) = spread.free.iter().position(|own| *own == j)
        {
            for (i, other) in spread.free.iter().enumerate() {
                let follows = spread.inverse[(i, k)] / spread.inverse[(k, k)];
                point[*other] = (point[*other] + by * follows).clamp(0.0, 1.0);
            }
        }
        point
    }
}
