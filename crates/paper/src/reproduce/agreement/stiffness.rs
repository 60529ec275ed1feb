//! Stiff bristles approach Coulomb's motion; so do the point law and the contact problem in short steps.

use super::super::context::{Context, Error};
use super::super::item::{Item, Wanted::Near};
use super::task::{self, DURATION, FRICTION, MASS, MU, Push, WEIGHT, orders};
use crate::page::{Chart, Line, Picture, Scale, palette};
use bristle::contact::Model;
use bristle::engine::Plan;
use bristle::friction::{Friction, Law};
use bristle::point::{PointLaw, PointModel};
use bristle_rigid::world::{Method, Worlds};

/// Stiffnesses of the bristles [1/m].
const STIFFNESSES: [f64; 5] = [1e3, 4e3, 1.6e4, 6.4e4, 2.56e5];
/// Step of the grids [s].
const STEP: f64 = 5e-5;
/// Steps of the point law and of the contact problem [s].
const STEPS: [f64; 5] = [8e-3, 4e-3, 2e-3, 1e-3, 5e-4];
/// How far orders may be from what they should be.
const NEAR: f64 = 0.08;

/// Laws, and the order of each under the growing load, `docs/model.md` section 14.
const LAWS: [(Law, &str, &str, f64); 4] = [
    (Law::LuGre, "LuGre", palette::GRID, 2.0 / 3.0),
    (Law::ElastoPlastic, "Elasto-Plastic", palette::SURFACE, 0.5),
    (Law::Dahl, "Dahl", palette::ELLIPSOID, 2.0 / 3.0),
    (Law::ViscoelastoPlastic, "springs on sliders", palette::PUBLISHED, 1.0),
];

pub(super) fn item(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "stiffness",
        "Bristles that grow stiff, the point law and the contact problem: one motion",
        "A grid approaches Coulomb's motion as sigma0 to the power -1/2 under a load that begins at once, since \
         friction builds up over a time of that order. Under a load that grows from zero it does as 1/sigma0 if its \
         bristles are springs on sliders, and as sigma0 to the power -2/3 under LuGre and Dahl, whose bristles slip \
         before break-away; Elasto-Plastic has the power -1/2 as long as the transition before break-away decides. \
         The implicit point law and the contact problem approach the same motion in proportion to their step.",
    );
    let count = context.full_or(STIFFNESSES.len(), 3);
    let ramp = grids(context, &mut item, Push::Ramp, count)?;
    let jump = grids(context, &mut item, Push::Jump, count)?;
    springs(context, &mut item, count)?;
    let rigid = rigid(context, &mut item)?;
    item.measured = format!(
        "Orders of the grids are {} under the growing load and {} under the sudden one, those of the point law and \
         the contact problem {}.",
        range(&ramp.orders),
        range(&jump.orders),
        range(&rigid.orders)
    );
    item.pictures.push(Picture::new(
        vec![ramp.chart.svg(), jump.chart.svg(), rigid.chart.svg()],
        "Error of the position at the end: grids over their stiffness, rigid models over their step.",
    ));
    item.parameters = format!(
        "A block of {MASS} kg, {WEIGHT} N, mu = {MU}, so that it slides above {FRICTION} N; a load of 8 N until 0.4 \
         s, then 2 N, until {DURATION} s; 21 cells of a circle in steps of {STEP} s, sigma1 half the critical \
         damping; the load is along the first friction direction of the contact problem"
    );
    Ok(item)
}

/// Lines of errors, and their orders.
struct Errors {
    chart: Chart,
    orders: Vec<f64>,
}

fn range(orders: &[f64]) -> String {
    let [low, high] = [f64::min as fn(f64, f64) -> f64, f64::max].map(|f| orders.iter().copied().fold(f64::NAN, f));
    format!("{low:.2} to {high:.2}")
}

/// Grids of every law, at each of the stiffnesses.
fn grids(context: &Context<'_>, item: &mut Item, push: Push, count: usize) -> Result<Errors, Error> {
    let stiffnesses = &STIFFNESSES[..count];
    let name = if push == Push::Ramp { "growing load" } else { "sudden load" };
    let chart = Chart::new(name, "sigma0 [1/m]", "error [m]").scales(Scale::Log, Scale::Log);
    let mut out = Errors { chart, orders: Vec::new() };
    for (law, title, colour, growing) in LAWS {
        let order = if push == Push::Ramp { growing } else { 0.5 };
        let errors = ends(context, push, |sigma0| bristles(law, sigma0, 0.5), stiffnesses)?;
        let found = orders(stiffnesses, &errors);
        for (found, from) in found.iter().zip(stiffnesses) {
            item.claims(format!("{name}, {title}: order from sigma0 = {from:e}/m on"), *found, Near(order, NEAR));
        }
        out.orders.extend(found);
        out.chart = out.chart.line(Line::new(colour, stiffnesses, &errors).marks().label(title));
        item.columns.push((format!("{title}_{name}_error_m").replace(' ', "_"), errors));
    }
    Ok(out)
}

/// Dry friction of bristles with this share of the critical damping.
fn bristles(law: Law, sigma0: f64, damping: f64) -> Friction {
    let sigma1 = 2.0 * damping * (sigma0 * MASS / WEIGHT).sqrt();
    Friction { law, sigma0, sigma1, sigma2: 0.0, mu_c: MU, mu_s: MU, ..Friction::default() }
}

/// How far from Coulomb's position grids of these stiffnesses are at the end [m].
fn ends(
    context: &Context<'_>,
    push: Push,
    friction: impl Fn(f64) -> Friction,
    stiffnesses: &[f64],
) -> Result<Vec<f64>, Error> {
    let patch = task::disc(5)?;
    let contact = |sigma0: &f64| task::contact(&patch, Model::Distributed, friction(*sigma0), push, 0.0);
    let contacts = stiffnesses.iter().map(contact).collect::<Result<Vec<_>, _>>()?;
    let runs = context.simulate_in(&contacts, &Plan::new(DURATION, STEP, DURATION)?)?;
    Ok((0..contacts.len()).map(|k| (runs.end(k).x - push.position(DURATION)).abs()).collect())
}

/// Springs on sliders under the sudden load, against the closed form of the velocity that they let the block
/// gain.
fn springs(context: &Context<'_>, item: &mut Item, count: usize) -> Result<(), Error> {
    let stiffest = STIFFNESSES[count - 1];
    let error = ends(context, Push::Jump, |s| bristles(Law::ViscoelastoPlastic, s, 0.0), &[stiffest])?[0];
    item.claims(
        format!("sudden load, springs on sliders without damping, sigma0 = {stiffest:e}/m: error over the closed form"),
        error / Push::further(stiffest),
        Near(1.0, context.full_or(0.03, 0.1)),
    );
    Ok(())
}

/// The implicit point law and the contact problem in shorter and shorter steps.
fn rigid(context: &Context<'_>, item: &mut Item) -> Result<Errors, Error> {
    let (push, exact) = (Push::Ramp, Push::Ramp.position(DURATION));
    let patch = task::disc(1)?;
    let point = task::contact(
        &patch,
        Model::Point(PointModel::from(PointLaw::Implicit)),
        bristles(Law::default(), 1e3, 0.0),
        push,
        0.0,
    )?;
    let (mut law, mut lcp) = (Vec::new(), Vec::new());
    for step in STEPS {
        let runs = context.simulate_in(std::slice::from_ref(&point), &Plan::new(DURATION, step, DURATION)?)?;
        law.push((runs.end(0).x - exact).abs());
        let mut worlds = Worlds::new(vec![task::world(8, push, 0.0)?], step, Method::Double)?;
        worlds.advance(DURATION)?;
        lcp.push((worlds.world(0).states()[1].pose.translation.x - exact).abs());
    }
    let mut out = Errors {
        chart: Chart::new("rigid, growing load", "step [s]", "error [m]").scales(Scale::Log, Scale::Log),
        orders: Vec::new(),
    };
    let inverse = STEPS.map(|h| 1.0 / h);
    for (name, errors, colour) in [("point law", law, palette::GRID), ("contact problem", lcp, palette::BAD)] {
        let found = orders(&inverse, &errors);
        for (found, from) in found.iter().zip(STEPS) {
            item.claims(format!("{name}: order from steps of {from:e} s on"), *found, Near(1.0, NEAR));
        }
        out.orders.extend(found);
        out.chart = out.chart.line(Line::new(colour, &STEPS, &errors).marks().label(name));
    }
    Ok(out)
}
