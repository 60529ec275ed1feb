//! A tripod on a table: by the contact problem it slides at the limit surface of its three feet.

use super::super::context::{Context, Error};
use super::super::item::Item;
use super::super::item::Wanted::{AtLeast, AtMost};
use crate::page::{Chart, Line, Picture, palette};
use bristle::body::{Frame, FreeBody};
use bristle::contact::{Contact, Initial, Inputs, Model};
use bristle::engine::Plan;
use bristle::friction::{Friction, Law};
use bristle::limit_surface::{Rule, Surface};
use bristle::patch::{Grid, Patch, Placed};
use bristle::planar::{Pose, Wrench};
use bristle::schedule::Signal;
use bristle_rigid::world::{Method, Pair, State, World, WorldBody, WorldShape, Worlds};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

/// Where the feet are [m].
const FEET: [[f64; 2]; 3] = [[-0.04, -0.03], [0.04, -0.05], [0.0, 0.05]];
const MASS: f64 = 0.3;
const WEIGHT: f64 = MASS * 9.81;
const MU: f64 = 0.5;
const DIRECTIONS: [usize; 3] = [4, 8, 32];
/// Step of the contact problem [s], and how many of them show whether the tripod moves.
const STEP: f64 = 1e-3;
const STEPS: f64 = 10.0;
/// Slower than this it is at rest [m/s].
const REST: f64 = 1e-8;

pub(super) fn item(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "tripod",
        "A tripod slides where the limit surface of its three feet says",
        "The loads that begin to move a tripod by the contact problem are on the limit surface of a patch of three \
         cells, up to the polygon of n friction directions: never above it, and never below cos(180\u{b0}/n) of it. \
         A grid of three bristles holds below the surface and slides above it.",
    );
    let patch = patch()?;
    let surface = Surface::new(&patch, Rule::Points);
    let count = context.full_or(72, 24);
    let loads: Vec<Wrench> = (0..=count)
        .map(|k| TAU * f64::from(k) / f64::from(count))
        .map(|angle| Wrench::new(angle.cos(), 0.0, surface.radius() * angle.sin()))
        .collect();
    let margins = loads.iter().map(|load| Ok(surface.margin(*load, MU, WEIGHT)?.factor));
    let factors = margins.collect::<Result<Vec<f64>, Error>>()?;
    let mut chart = Chart::new("Loads that move a tripod", "force [N]", "torque over radius [N]");
    let plot = |colour, factors: &[f64]| {
        let [x, y] = [|w: &Wrench| w.fx, |w: &Wrench| w.tau]
            .map(|c| loads.iter().zip(factors).map(|(w, k)| k * c(w)).collect::<Vec<f64>>());
        Line::new(colour, &x, &y.iter().map(|tau| tau / surface.radius()).collect::<Vec<_>>())
    };
    chart = chart.line(plot(palette::SURFACE, &factors).label("limit surface"));
    item.columns.push(("force_N".into(), loads.iter().zip(&factors).map(|(w, k)| w.fx * k).collect()));
    item.columns.push(("torque_Nm".into(), loads.iter().zip(&factors).map(|(w, k)| w.tau * k).collect()));
    for (n, colour) in DIRECTIONS.into_iter().zip([palette::OTHER, palette::ELLIPSOID, palette::GRID]) {
        let found = first_moved(n, &patch, &loads, &factors)?;
        let ratios: Vec<f64> = found.iter().zip(&factors).map(|(f, k)| f / k).collect();
        let [least, most] =
            [f64::min as fn(f64, f64) -> f64, f64::max].map(|f| ratios.iter().copied().fold(f64::NAN, f));
        let name = format!("{n} directions: first load that moves it over that of the surface");
        item.claims(format!("{name}, largest"), most, AtMost(1.0 + 1e-4));
        item.claims(format!("{name}, least"), least, AtLeast((PI / n as f64).cos() - 1e-4));
        chart = chart.line(plot(colour, &found).dots().label(format!("{n} directions")));
        item.columns.push((format!("ratio_{n}"), ratios));
    }
    for law in [Law::LuGre, Law::ElastoPlastic, Law::ViscoelastoPlastic] {
        let speeds = [0.99, 1.01].map(|share| speeds(context, law, share, &patch, &loads, &factors));
        let [below, above] = speeds;
        item.claims(format!("{}: greatest speed at 0.99 of the surface [m/s]", law.name()), below?[1], AtMost(1e-6));
        item.claims(format!("{}: least speed at 1.01 of the surface [m/s]", law.name()), above?[0], AtLeast(1e-4));
    }
    item.measured = "Every load that moves it is between the surface and the polygon's share of it; grids of three \
                     bristles hold 1 % below the surface and slide 1 % above it."
        .into();
    item.pictures.push(Picture::new(vec![chart.equal().svg()], "Section without a force along y."));
    item.parameters = format!(
        "{MASS} kg on three feet that carry the same force, mu = {MU}, pushed at their height; steps of {STEP} s"
    );
    Ok(item)
}

fn patch() -> Result<Arc<Patch>, Error> {
    let foot = Patch::from_pressure(Grid::new(1, 1, 0.02, 0.02)?, &[1.0])?;
    let feet = FEET.map(|[x, y]| Placed { patch: foot.clone(), at: Pose::new(x, y, 0.0), force: 1.0, friction: 1.0 });
    Ok(Arc::new(Patch::compound(&feet)?))
}

/// The least factors of these loads by which the contact problem lets the tripod move, by bisection.
fn first_moved(directions: usize, patch: &Patch, loads: &[Wrench], near: &[f64]) -> Result<Vec<f64>, Error> {
    let cop = patch.cop();
    let feet = FEET.map(|[x, y]| [x - cop[0], y - cop[1], 0.0]);
    let world = |load: &Wrench, factor: f64| {
        let mut world = World::new(directions);
        let table = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
        let tripod = world.add(WorldBody::solid(MASS, WorldShape::Points(feet.to_vec())), State::default());
        world.pairs.push(Pair { bodies: [table, tripod], mu: MU });
        world.set_load(tripod, [factor * load.fx, factor * load.fy, 0.0], [0.0, 0.0, factor * load.tau]);
        world
    };
    // The polygon of four directions holds cos(45 degrees) = 0.707 of the circle.
    let mut bounds: Vec<[f64; 2]> = near.iter().map(|k| [0.65 * k, 1.1 * k]).collect();
    for _ in 0..16 {
        let middle = |b: &[f64; 2]| 0.5 * (b[0] + b[1]);
        let all = loads.iter().zip(&bounds).map(|(load, b)| world(load, middle(b))).collect();
        let mut worlds = Worlds::new(all, STEP, Method::Double)?;
        worlds.advance(STEPS * STEP)?;
        for (b, world) in bounds.iter_mut().zip(worlds.worlds()) {
            let state = &world.states()[1];
            let moves = state.velocity.norm() + 0.05 * state.angular.norm() > REST;
            b[usize::from(moves)] = middle(b);
        }
    }
    Ok(bounds.into_iter().map(|[low, high]| 0.5 * (low + high)).collect())
}

/// The least and the greatest speed of a foot's lever, at the end, of grids of three bristles under this
/// share of the loads of the surface.
fn speeds(
    context: &Context<'_>,
    law: Law,
    share: f64,
    patch: &Arc<Patch>,
    loads: &[Wrench],
    factors: &[f64],
) -> Result<[f64; 2], Error> {
    let friction = Friction { law, sigma0: 1e5, sigma1: 200.0, sigma2: 0.0, mu_c: MU, mu_s: MU, ..Friction::default() };
    let cop = patch.cop();
    let contact = |(load, factor): (&Wrench, &f64)| {
        let mut body = FreeBody::new(Frame::Body { offset: cop.map(|c| -c) }, MASS, MASS * 0.05 * 0.05);
        for (signal, most) in body.wrench.iter_mut().zip(load.to_array()) {
            *signal = Signal::linear(&[(0.0, 0.0), (0.5, share * factor * most)])?;
        }
        let inputs = Inputs { normal_force: Signal::constant(WEIGHT), ..Inputs::default() };
        let model = Model::Distributed;
        let initial = Initial::default();
        Ok(Contact { patch: Arc::clone(patch), model, friction, body: body.into(), inputs, initial })
    };
    let contacts = loads.iter().zip(factors).map(contact).collect::<Result<Vec<_>, Error>>()?;
    let runs = context.simulate_in(&contacts, &Plan::new(1.0, 2e-4, 1.0)?)?;
    let speed = |k: usize| {
        let [x, y, w] = [0, 1, 2].map(|c| runs.twist(k, c).last().copied().unwrap_or(f64::NAN));
        x.hypot(y) + 0.05 * w.abs()
    };
    let all = (0..contacts.len()).map(speed);
    Ok([all.clone().fold(f64::NAN, f64::min), all.fold(f64::NAN, f64::max)])
}
