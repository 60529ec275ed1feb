//! Rollouts with derivatives: contacts in parallel, each with as many runs as its parameters fill numbers.

use rayon::prelude::*;

use crate::batch::Sample;
use crate::contact::{Contact, Model};
use crate::engine::{Plan, Status, Trajectories, share};
use crate::error::{EngineError, ParameterError};
use crate::number::dual::{Dual, TANGENTS};
use crate::number::real::Real;
use crate::pool;
use crate::sensitivity::{Sensitivities, Sensitivity};
use crate::solver::lanes::Solver;
use crate::solver::models::reduced::Reduced;
use crate::solver::point::lanes::Points;
use crate::solver::sensitivity::{Point, Seed, TangentGrid, resolve, rollout};

/// One contact's samples with the derivatives over some parameters, and how it ended.
type Part = (Vec<Point>, Status);

/// The rollout of contacts, and its derivatives, with the cells of grids in numbers `C`.
pub fn sensitivities<C: Real>(
    contacts: &[Contact],
    plan: &Plan,
    with: &[Sensitivity],
) -> Result<(Trajectories, Sensitivities), EngineError> {
    let mut out = Trajectories::for_plan(contacts.len(), plan)?;
    let mut tangents = Sensitivities::unwritten([contacts.len(), plan.samples.len(), with.len()])?;
    let timeline = |contact: &Contact| contact.timeline(&plan.samples);
    let seeds = |(k, contact): (usize, &Contact)| {
        if contact.drives_parts() {
            let accepted = "contacts whose patches have no normal forces and surface motions of their own";
            let error = ParameterError::new("sensitivities", "inputs.patches are given", accepted);
            return Err(EngineError::Parameter { contact: k, error });
        }
        if contact.layer().is_some() {
            let accepted = "contacts without: the map of a layer takes bristles back to their limits, all at once";
            let error = ParameterError::new("sensitivities", "an elastic layer", accepted);
            return Err(EngineError::Parameter { contact: k, error });
        }
        let timeline = timeline(contact);
        let seed = |with| resolve(contact, &timeline, with);
        let seeds: Result<Vec<Seed>, _> = with.iter().map(seed).collect();
        seeds.map_err(|error| EngineError::Parameter { contact: k, error })
    };
    let seeds: Vec<Vec<Seed>> = contacts.iter().enumerate().map(seeds).collect::<Result<_, _>>()?;
    let run = |(contact, seeds): (&Contact, &Vec<Seed>)| -> Vec<Part> {
        // Without parameters there is a run all the same.
        let chunks: Vec<&[Seed]> = if seeds.is_empty() { vec![&[]] } else { seeds.chunks(TANGENTS).collect() };
        chunks.into_iter().map(|seeds| part::<C>(contact, plan, seeds)).collect()
    };
    let parts: Vec<Vec<Part>> = pool::run(|| contacts.par_iter().zip(&seeds).map(run).collect());
    for (k, parts) in parts.into_iter().enumerate() {
        for (chunk, (points, status)) in parts.into_iter().enumerate() {
            if chunk == 0 {
                out.status[k] = status;
                points.iter().enumerate().for_each(|(frame, point)| out.write(k, frame, &sample(point)));
            }
            let first = chunk * TANGENTS;
            for (frame, Point { tangents: of, .. }) in points.iter().enumerate() {
                for p in first..with.len().min(first + TANGENTS) {
                    let at = tangents.at(k, frame, p);
                    let [pose, twist, wrench] = of.map(|v| [v.x, v.y, v.z].map(|v| v.d[p - first]));
                    (tangents.pose[at], tangents.twist[at], tangents.wrench[at]) = (pose, twist, wrench);
                }
            }
        }
    }
    Ok((out, tangents))
}

fn sample(point: &Point) -> Sample {
    let Point { pose, twist, wrench, normal_force, shares, .. } = *point;
    let [slip, near_limit] = [shares.slip, shares.near_limit].map(share);
    Sample { pose, twist, wrench, normal_force, slip, near_limit }
}

/// One run with at most as many seeds as numbers have derivatives.
fn part<C: Real>(contact: &Contact, plan: &Plan, seeds: &[Seed]) -> Part {
    let timeline = contact.timeline(&plan.samples);
    let mut points = Vec::with_capacity(plan.samples.len());
    let write = |_, point| points.push(point);
    let tolerance = plan.tolerance;
    let status = match &contact.model {
        Model::Point(model) => {
            rollout(Points::<Dual>::new(model, &contact.friction), contact, plan, &timeline, seeds, write)
        }
        Model::Distributed | Model::Layer(_) => {
            let cells = TangentGrid::<C>::new(contact, seeds.len());
            rollout(Solver::new(cells, tolerance), contact, plan, &timeline, seeds, write)
        }
        _ => rollout(Solver::new(Reduced::new(contact), tolerance), contact, plan, &timeline, seeds, write),
    };
    (points, status)
}
