//! Figs. 6, 23, 24, 25: a disc that sticks under oscillating loads, distributed and reduced.

use super::context::{Context, Error, Runs};
use super::item::Item;
use super::item::Wanted::{AtLeast, AtMost, Near};
use super::setup::{Oscillating, Setup};
use crate::page::{Chart, Key, Line, Picture, palette, short};
use bristle::contact::Contact;
use bristle::limit_surface::{Rule, Surface};
use bristle::planar::Wrench;

pub(super) const IDS: &[&str] = &["fig6", "fig23", "fig24", "fig25"];

/// Contacts of one load: distributed LuGre, distributed Elasto-Plastic, the same reduced as published, and
/// reduced in the consistent form.
const GRID_LUGRE: usize = 0;
const GRID: usize = 1;
const REDUCED_LUGRE: usize = 2;
const REDUCED: usize = 3;
const CONSISTENT: usize = 4;
const MODELS: usize = 5;
const DURATION: f64 = 5.0;

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    let mut contacts: Vec<Contact> = Vec::new();
    for kind in [Oscillating::Load, Oscillating::NormalForce] {
        let grid = Setup::drift(kind);
        for setup in [
            grid.clone().law(true),
            grid.clone(),
            grid.clone().law(true).published(),
            grid.clone().published(),
            grid.consistent(),
        ] {
            contacts.push(setup.contact()?);
        }
    }
    let runs = context.simulate(&contacts, DURATION, 0.01)?;
    let mut items = vec![
        distributed("fig6", Oscillating::Load, &runs),
        reduced("fig23", Oscillating::Load, &runs),
        distributed("fig24", Oscillating::NormalForce, &runs),
        reduced("fig25", Oscillating::NormalForce, &runs),
    ];
    loads(&mut items[0], &contacts[GRID])?;
    Ok(items)
}

/// Creep per second of component `c`: the means over the periods around 3.67 s and 4.67 s, three periods
/// apart.
fn creep(runs: &Runs, k: usize, c: usize) -> f64 {
    let pose = runs.pose(k, c);
    let mean = |around: f64| {
        let inside = |t: &f64| (t - around).abs() < 1.0 / 6.0;
        let of: Vec<f64> = runs.time().iter().zip(&pose).filter(|(t, _)| inside(t)).map(|(_, q)| *q).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    mean(4.67) - mean(3.67)
}

/// From one sample to another a second later.
fn moved(runs: &Runs, k: usize, c: usize) -> f64 {
    let pose = runs.pose(k, c);
    pose[434] - pose[334]
}

fn pictures(runs: &Runs, first: usize, models: &[(usize, &'static str, &str, bool)]) -> Picture {
    let t = runs.time();
    let chart = |title: &str, y: &str, c: usize, unit: f64| {
        let lines = models.iter().map(|&(k, colour, label, dashed)| {
            let pose: Vec<f64> = runs.pose(first + k, c).iter().map(|v| unit * v).collect();
            let line = Line::new(colour, t, &pose).label(label);
            if dashed { line.dashed() } else { line }
        });
        Chart::new(title, "t [s]", y).lines(lines).svg()
    };
    Picture::new(
        vec![chart("Displacement", "x [\u{b5}m]", 0, 1e6), chart("Rotation", "\u{3b8} [\u{b5}rad]", 2, 1e6)],
        "",
    )
    .key(&[Key::dashed(palette::TEXT, "LuGre"), Key::new(palette::TEXT, "Elasto-Plastic")])
}

fn columns(runs: &Runs, first: usize, models: &[(usize, &str)]) -> Vec<(String, Vec<f64>)> {
    let mut out = vec![("t_s".to_owned(), runs.time().to_vec())];
    for (k, name) in models {
        for (c, component) in ["x_m", "y_m", "theta_rad"].into_iter().enumerate() {
            out.push((format!("{name}_{component}"), runs.pose(first + k, c)));
        }
    }
    out
}

const PARAMETERS: &str = "Table I, p = 1; a disc of 1 kg, inertia of a radius of 50 mm; patch 50 mm wide, 21 \
 x 21 cells; normal force 9.81 N; inputs held for 10 ms; step 0.2 ms";

fn distributed(id: &str, kind: Oscillating, runs: &Runs) -> Item {
    let (title, claim, first, slopes, converged) = match kind {
        Oscillating::Load => (
            "Figure 6: drift under an oscillating load",
            "Under a force and a torque that oscillate far below slip, a LuGre contact drifts and an \
             Elasto-Plastic one does not.",
            0,
            [1.100e-7, 1.08e-5],
            1.1163e-7,
        ),
        Oscillating::NormalForce => (
            "Figure 24: drift under an oscillating normal force",
            "Under constant loads and an oscillating normal force a LuGre contact drifts; an Elasto-Plastic \
             one does not, though it goes on oscillating.",
            MODELS,
            [3.217e-8, 3.26e-6],
            3.233e-8,
        ),
    };
    let mut item = Item::new(id, title, claim);
    let (lugre, plastic) = (first + GRID_LUGRE, first + GRID);
    let (drift, turn) = (creep(runs, lugre, 0), creep(runs, lugre, 2));
    let stays = creep(runs, plastic, 0).abs();
    item.claims("LuGre: creep along x [m/s]", drift, AtLeast(1e-8));
    item.claims("LuGre: creep in rotation [rad/s]", turn, AtLeast(1e-6));
    item.claims("Elasto-Plastic: creep along x over that of LuGre", stays / drift, AtMost(1e-5));
    let turns = creep(runs, plastic, 2).abs();
    item.claims("Elasto-Plastic: creep in rotation over that of LuGre", turns / turn, AtMost(1e-5));
    let (late, x) = (moved(runs, lugre, 0), moved(runs, plastic, 0));
    item.compare("LuGre: x(4.34 s) - x(3.34 s) [m]", late, Near(converged, 5e-3 * converged));
    item.compare("Elasto-Plastic: |x(4.34 s) - x(3.34 s)| [m]", x.abs(), AtMost(1e-17));
    item.compare("LuGre: creep along x [m/s], reference program", drift, Near(slopes[0], 0.03 * slopes[0]));
    item.compare("LuGre: creep in rotation [rad/s], reference program", turn, Near(slopes[1], 0.04 * slopes[1]));
    item.measured = format!(
        "LuGre creeps by {} nm/s and {} \u{b5}rad/s; Elasto-Plastic by {} m from 3.34 s to 4.34 s.",
        short(1e9 * drift, 3),
        short(1e6 * turn, 3),
        short(x.abs(), 2)
    );
    let models = [(GRID_LUGRE, palette::GRID, "LuGre", true), (GRID, palette::GRID, "Elasto-Plastic", false)];
    item.pictures.push(pictures(runs, first, &models));
    item.columns = columns(runs, first, &[(GRID_LUGRE, "lugre"), (GRID, "elasto_plastic")]);
    item.parameters = PARAMETERS.into();
    item.scenario = Some(Setup::drift(kind).text);
    item
}

/// How far the loads of Fig. 6 are from slip, by the limit surface.
fn loads(item: &mut Item, contact: &Contact) -> Result<(), Error> {
    let surface = Surface::new(&contact.patch, Rule::Cells);
    let (mu, f_n) = (contact.friction.mu_c, 9.81);
    let torque = surface.margin(Wrench::new(0.0, 0.0, 0.03), mu, f_n)?.factor;
    let force = surface.margin(Wrench::new(1.0, 0.0, 0.0), mu, f_n)?.factor;
    item.tell("mean force as a share of that which slips", 1.0 / force);
    item.tell("mean torque as a share of that which slips", 1.0 / torque);
    item.note = format!(
        "The text gives 1/12 of slip for the force and about 1/6 for the torque. By the limit surface they \
         are 1/{force:.1} and 1/{torque:.1} (\u{3bc}_c; the disc is 50 mm wide, not of radius 50 mm, see the \
         errata)."
    );
    Ok(())
}

fn reduced(id: &str, kind: Oscillating, runs: &Runs) -> Item {
    let (title, first, slopes) = match kind {
        Oscillating::Load => ("Figure 23: the reduced model under the loads of Fig. 6", 0, [1.356e-7, 1.23e-5]),
        Oscillating::NormalForce => {
            ("Figure 25: the reduced model under the loads of Fig. 24", MODELS, [4.069e-8, 3.65e-6])
        }
    };
    let mut item = Item::new(
        id,
        title,
        "The reduced model drifts with LuGre and does not with Elasto-Plastic, like the distributed one.",
    );
    let (lugre, plastic, ours) = (first + REDUCED_LUGRE, first + REDUCED, first + CONSISTENT);
    let (drift, turn) = (creep(runs, lugre, 0), creep(runs, lugre, 2));
    let published = [creep(runs, plastic, 0), creep(runs, plastic, 2)];
    let consistent = [creep(runs, ours, 0), creep(runs, ours, 2)];
    item.claims("LuGre: creep along x [m/s]", drift, AtLeast(1e-8));
    item.claims("Elasto-Plastic as published: |creep along x| [m/s]", published[0].abs(), AtMost(1e-12));
    item.claims("Elasto-Plastic as published: |creep in rotation| [rad/s]", published[1].abs(), AtMost(1e-9));
    item.compare("Elasto-Plastic, consistent: |creep along x| [m/s]", consistent[0].abs(), AtMost(1e-12));
    item.compare("Elasto-Plastic, consistent: |creep in rotation| [rad/s]", consistent[1].abs(), AtMost(1e-9));
    item.tell("LuGre: x(4.34 s) - x(3.34 s) [m]", moved(runs, lugre, 0));
    let same = (0..=500).map(|i| (runs.pose(ours, 0)[i] - runs.pose(first + GRID, 0)[i]).abs()).fold(0.0, f64::max);
    item.compare("consistent against distributed, largest difference of x [m]", same, AtMost(1e-12));
    item.compare("LuGre: creep along x [m/s], reference program", drift, Near(slopes[0], 0.03 * slopes[0]));
    item.compare("LuGre: creep in rotation [rad/s], reference program", turn, Near(slopes[1], 0.05 * slopes[1]));
    item.measured = format!(
        "LuGre creeps by {} nm/s; Elasto-Plastic as published by {} nm/s and {} \u{b5}rad/s, in the \
         consistent form by {} nm/s.",
        short(1e9 * drift, 3),
        short(1e9 * published[0], 2),
        short(1e6 * published[1], 2),
        short(1e9 * consistent[0], 2)
    );
    if kind == Oscillating::NormalForce {
        item.compare(
            "Elasto-Plastic as published: creep along x [m/s], reference program",
            published[0],
            Near(-4.1e-11, 4e-12),
        );
        item.erratum = Some(
            "The published form is not elastic below break-away: its load path here is not \
         straight, and it creeps, slowly, against the load. The consistent form does not."
                .into(),
        );
    }
    let models = [
        (GRID, palette::GRID, "distributed", false),
        (REDUCED_LUGRE, palette::SURFACE, "LuGre, reduced", true),
        (REDUCED, palette::SURFACE, "Elasto-Plastic, reduced", false),
    ];
    item.pictures.push(pictures(runs, first, &models));
    item.columns = columns(
        runs,
        first,
        &[(REDUCED_LUGRE, "lugre"), (REDUCED, "elasto_plastic_published"), (CONSISTENT, "elasto_plastic_consistent")],
    );
    item.parameters = format!("reduced model, limit surface, N_ls = 20, rule (23); {PARAMETERS}");
    item.scenario = Some(Setup::drift(kind).published().text);
    item
}
