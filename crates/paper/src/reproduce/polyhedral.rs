//! The error of polyhedral friction cones: a particle slides to rest on a plane, in all directions.

use nalgebra::Vector3;
use std::f64::consts::PI;

use super::context::{Context, Error};
use super::item::Item;
use super::item::Wanted::{AtMost, Near};
use crate::page::{Chart, Line, Picture, palette};
use bristle_rigid::world::{Method, Pair, State, World, WorldBody, WorldShape, Worlds};

pub(super) const IDS: &[&str] = &["polyhedral"];

const SPEED: f64 = 1.0;
const MU: f64 = 0.4;
const G: f64 = 9.81;
/// Step [s].
const H: f64 = 1e-3;
const DIRECTIONS: [usize; 4] = [4, 8, 16, 32];
const COLOURS: [&str; 4] = [palette::OTHER, palette::ELLIPSOID, palette::SURFACE, palette::GRID];

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    let mut item = Item::new(
        "polyhedral",
        "Friction with polyhedral cones depends on the direction of motion",
        "With n directions, half of their angle being beta = 180\u{b0}/n, a particle that slides at psi from the \
         nearest of them stops after |v| (cos psi + sin psi tan beta) / (mu g), up to 1/cos(beta) times as late as \
         with Coulomb's circle, and off its straight line.",
    );
    let angles: Vec<f64> = (0..=context.full_or(90, 30)).map(|k| f64::from(k) * context.full_or(1.0, 3.0)).collect();
    let coulomb = [SPEED / (MU * G), SPEED * SPEED / (2.0 * MU * G)];
    let mut late = Chart::new("Time to stop over Coulomb's", "direction [\u{b0}]", "T / T Coulomb");
    let mut off = Chart::new("Where it stops", "direction [\u{b0}]", "off the line [\u{b0}]");
    item.columns.push(("direction_deg".into(), angles.clone()));
    for (n, colour) in DIRECTIONS.into_iter().zip(COLOURS) {
        let [times, turns] = slide(n, &angles)?;
        let beta = PI / n as f64;
        let exact = |angle: &f64| {
            let turns = angle.to_radians() / (2.0 * beta);
            let psi = (turns - turns.round()).abs() * 2.0 * beta;
            coulomb[0] * (psi.cos() + psi.sin() * beta.tan())
        };
        let error = angles.iter().zip(&times).map(|(a, t)| (t - exact(a)).abs()).fold(0.0, f64::max);
        item.claims(format!("{n} directions: largest error of the time [s], in steps of {H} s"), error, AtMost(H));
        let ratio: Vec<f64> = times.iter().map(|t| t / coulomb[0]).collect();
        let most = ratio.iter().copied().fold(0.0, f64::max);
        item.claims(
            format!("{n} directions: latest over Coulomb's"),
            most,
            Near(1.0 / beta.cos(), 2.0 * H / coulomb[0] + context.full_or(0.002, 0.02)),
        );
        let worst = turns.iter().map(|t| t.abs()).fold(0.0, f64::max);
        item.tell(format!("{n} directions: furthest off the line [\u{b0}]"), worst);
        late = late.line(Line::new(colour, &angles, &ratio).label(format!("{n}")));
        off = off.line(Line::new(colour, &angles, &turns).label(format!("{n}")));
        item.columns.push((format!("time_{n}_s"), times));
        item.columns.push((format!("off_{n}_deg"), turns));
    }
    item.measured =
        "The steps of the contact problem follow the closed form to a step; 8 directions are late by at most \
                     8.2 %, 32 by 0.5 %."
            .into();
    item.note = "A world has 8 directions unless its scenario says `directions = ..`.".into();
    item.parameters = format!("A particle, |v| = {SPEED} m/s, mu = {MU}, steps of {H} s, blocks in f64");
    item.pictures.push(Picture::new(vec![late.svg(), off.svg()], "4, 8, 16 and 32 friction directions."));
    Ok(vec![item])
}

/// When particles stop that slide at these angles [\u{b0}], and by how much the way there is turned [\u{b0}].
fn slide(directions: usize, angles: &[f64]) -> Result<[Vec<f64>; 2], Error> {
    let world = |angle: &f64| {
        let mut world = World::new(directions);
        let plane = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
        let (sin, cos) = angle.to_radians().sin_cos();
        let start = State { velocity: SPEED * Vector3::new(cos, sin, 0.0), ..State::default() };
        let body = world.add(WorldBody::solid(1.0, WorldShape::Points(vec![[0.0; 3]])), start);
        world.pairs.push(Pair { bodies: [plane, body], mu: MU });
        world
    };
    let mut worlds = Worlds::new(angles.iter().map(world).collect(), H, Method::Double)?;
    let mut times = vec![0.0; angles.len()];
    while worlds.world(0).time() < 1.5 * SPEED / (MU * G) {
        worlds.advance(H)?;
        for (time, world) in times.iter_mut().zip(worlds.worlds()) {
            let speed = world.states()[1].velocity.norm();
            // It stops within the step that follows.
            if speed > 1e-9 {
                *time = world.time() + 0.5 * H;
            }
        }
    }
    let turn = |(angle, world): (&f64, &World)| {
        let at = world.states()[1].pose.translation.vector;
        at.y.atan2(at.x).to_degrees() - angle
    };
    let turns = angles.iter().zip(worlds.worlds()).map(turn).collect();
    Ok([times, turns])
}
