//! Results beyond the paper: looping loads, exact cells.

use super::context::{Context, Error};
use super::item::Item;
use super::item::Wanted::{AtMost, Near};
use crate::page::{Chart, Line, Picture, Scale, palette, short};
use bristle::body::{Frame, FreeBody};
use bristle::contact::{Contact, Form, Initial, Inputs, Model};
use bristle::friction::Friction;
use bristle::limit_surface::{Rule, Surface, Table as LimitTable};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::Twist;
use bristle::schedule::Signal;
use bristle_data::statistics::order;

pub(super) const IDS: &[&str] = &["loops", "cells"];

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    Ok(vec![loops(context)?, cells(context)?])
}

/// Period of a loop [s], loops, and share of the slip load in each direction.
const LOOP: f64 = 0.3;
const LOOPS: usize = 6;
const SHARE: f64 = 1.0 / 3.0;

/// A kilogram on a round patch. The force rises, then the torque, then both go straight back, again and
/// again.
fn looping(patch: &Patch, model: Model) -> Result<Contact, Error> {
    let friction = Friction::default();
    let (f_n, third) = (9.81, LOOP / 3.0);
    let top = SHARE * friction.mu_c * f_n;
    let signal = |rises: f64, top: f64| {
        let mut points = vec![(0.0, 0.0)];
        for start in (0..LOOPS).map(|k| k as f64 * LOOP) {
            let corners =
                [(start + rises, 0.0), (start + rises + third, top), (start + 2.0 * third, top), (start + LOOP, 0.0)];
            for (t, v) in corners {
                if points.last().is_none_or(|(last, _)| t > last + 1e-9) {
                    points.push((t, v));
                }
            }
        }
        Signal::linear(&points)
    };
    let wrench = [signal(0.0, top)?, Signal::constant(0.0), signal(third, top * patch.radius())?];
    Ok(Contact {
        patch: patch.clone().into(),
        model,
        friction,
        body: FreeBody { wrench, ..FreeBody::new(Frame::World, 1.0, 1.25e-3) }.into(),
        inputs: Inputs { normal_force: Signal::constant(f_n), ..Inputs::default() },
        initial: Initial::default(),
    })
}

fn loops(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "loops",
        "Loads that loop: the published and the consistent reduced model",
        "Ours: under a load that loops far below slip the published reduced Elasto-Plastic model creeps, and \
         one that is elastic below break-away does not.",
    );
    let patch = Patch::shape(Grid::new(21, 21, 0.05, 0.05)?, Shape::Circle)?;
    let table = std::sync::Arc::new(LimitTable::new(&patch, Rule::Cells, 20)?);
    let surface = |form| Model::LimitSurface(table.clone(), form);
    let models = [Model::Distributed, surface(Form::Published), surface(Form::Consistent)];
    let contacts = models.into_iter().map(|m| looping(&patch, m)).collect::<Result<Vec<_>, _>>()?;
    let runs = context.simulate(&contacts, LOOPS as f64 * LOOP, 0.005)?;
    let per_loop = (LOOP / 0.005).round() as usize;
    // What a loop adds, once the first has settled.
    let creep = |k: usize, c: usize| {
        let q = runs.pose(k, c);
        (q[LOOPS * per_loop] - q[per_loop]) / (LOOPS - 1) as f64
    };
    item.claims("published: creep of a loop along x, against the load [m]", creep(1, 0), AtMost(-5e-9));
    item.claims("published: creep of a loop in rotation, against the load [rad]", creep(1, 2), AtMost(-2e-7));
    item.claims("consistent: |creep of a loop along x| [m]", creep(2, 0).abs(), AtMost(1e-12));
    item.claims("consistent: |creep of a loop in rotation| [rad]", creep(2, 2).abs(), AtMost(1e-12));
    let (grid, ours) = ([0, 2].map(|c| runs.pose(0, c)), [0, 2].map(|c| runs.pose(2, c)));
    let difference = |c: usize| grid[c].iter().zip(&ours[c]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    item.compare("consistent against distributed, largest difference of x [m]", difference(0), AtMost(1e-12));
    item.compare("consistent against distributed, largest difference of the angle [rad]", difference(1), AtMost(1e-12));
    item.measured = format!(
        "A loop at a third of slip moves the published model by {} nm and {} \u{b5}rad against the load; the \
         consistent one by less than {} m, and it agrees with the distributed model to {} m.",
        short(1e9 * creep(1, 0), 3),
        short(1e6 * creep(1, 2), 3),
        short(creep(2, 0).abs().max(1e-18), 1),
        short(difference(0).max(1e-18), 1)
    );
    let chart = |title: &str, y: &str, c: usize, unit: f64| {
        let line = |k: usize, colour, label: &str| {
            let q: Vec<f64> = runs.pose(k, c).iter().map(|v| unit * v).collect();
            Line::new(colour, runs.time(), &q).label(label)
        };
        Chart::new(title, "t [s]", y)
            .line(line(0, palette::GRID, "distributed").width(2.6))
            .line(line(2, palette::SURFACE, "consistent").width(1.2))
            .line(line(1, palette::PUBLISHED, "published"))
            .svg()
    };
    let panels = vec![chart("Displacement", "x [\u{b5}m]", 0, 1e6), chart("Rotation", "\u{3b8} [\u{b5}rad]", 2, 1e6)];
    item.pictures.push(Picture::new(panels, "The load: force up, torque up, both straight back, six times."));
    item.columns.push(("t_s".into(), runs.time().to_vec()));
    for (k, name) in ["distributed", "published", "consistent"].into_iter().enumerate() {
        item.columns.push((format!("{name}_x_m"), runs.pose(k, 0)));
        item.columns.push((format!("{name}_theta_rad"), runs.pose(k, 2)));
    }
    item.parameters = "Elasto-Plastic, Table I, p = 1; 1 kg, circle of 21 x 21 cells over 50 mm, 9.81 N; \
     loads of a third of slip; N_ls = 20, exact cells; step 0.2 ms"
        .into();
    Ok(item)
}

/// Twists all around, from rotation to translation; the places are fixed and in no order.
fn directions(count: usize, radius: f64) -> Vec<Twist> {
    (0..count)
        .map(|i| {
            let (u, v) = ((i as f64 * 0.618_034).fract(), (i as f64 + 0.5) / count as f64);
            let (theta, phi) = (std::f64::consts::TAU * u, 0.5 * std::f64::consts::PI * v);
            Twist::new(radius * theta.cos() * phi.sin(), radius * theta.sin() * phi.sin(), phi.cos())
        })
        .collect()
}

/// Root mean square errors of the wrenches of `patches` by `rule`, over `mu f_N` and with torques over the
/// radius of the truth.
fn errors_against(truth: &Surface, patches: &[Patch], rule: Rule) -> Vec<f64> {
    let r = truth.radius();
    let twists = directions(200, r);
    let wanted = truth.coulombs(&twists);
    let rms = |patch: &Patch| {
        let found = Surface::new(patch, rule).coulombs(&twists);
        let off = found.iter().zip(&wanted).map(|(f, w)| (f.fx - w.fx).hypot(f.fy - w.fy).hypot((f.tau - w.tau) / r));
        (off.map(|e| e * e).sum::<f64>() / twists.len() as f64).sqrt()
    };
    patches.iter().map(rms).collect()
}

fn cells(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "cells",
        "Exact cells and the bilinear rule over N",
        "Ours: exact integrals over the cells are exact on a square for any N, where rule (23) errs with N \
         squared; on a disc, where the map itself is the error, both converge with order two. No exact \
         torque is greater than that of rotation about the centre of pressure.",
    );
    let sizes: Vec<usize> = context.full_or((3..=61).step_by(2).collect(), vec![5, 9, 13, 21, 33, 49]);
    let x: Vec<f64> = sizes.iter().map(|n| *n as f64).collect();
    let mut panels = Vec::new();
    item.columns.push(("N".into(), x.clone()));
    let truth_n = context.full_or(301, 201);
    // By whole cells the circle's area changes with N; the disc's does not.
    for (name, shape) in [("square", Shape::Square), ("disc", Shape::Disc)] {
        let patch = |n: usize| -> Result<Patch, Error> { Ok(Patch::shape(Grid::new(n, n, 0.02, 0.02)?, shape)?) };
        let truth = Surface::new(&patch(truth_n)?, Rule::Cells);
        let mut chart = Chart::new(name, "N", "rms error of the wrench / (\u{3bc} fN)").scales(Scale::Log, Scale::Log);
        let mut orders = Vec::new();
        for (rule, colour) in
            [(Rule::Points, palette::OTHER), (Rule::Bilinear, palette::SURFACE), (Rule::Cells, palette::ELLIPSOID)]
        {
            let patches = sizes.iter().map(|n| patch(*n)).collect::<Result<Vec<_>, _>>()?;
            let errors = errors_against(&truth, &patches, rule);
            let worst = errors.iter().copied().fold(0.0, f64::max);
            let order = -order(&x, &errors);
            let exact = rule == Rule::Cells && shape == Shape::Square;
            if exact {
                item.claims("square, exact cells: largest error of any N", worst, AtMost(1e-9));
            } else {
                item.tell(format!("{name}, {}: order over N", rule.name()), order);
                let shown: Vec<f64> = errors.iter().map(|e| e.max(1e-14)).collect();
                let label = match rule {
                    Rule::Points => "cell centres",
                    Rule::Bilinear => "bilinear rule",
                    Rule::Cells => "exact cells",
                };
                chart = chart.line(Line::new(colour, &x, &shown).marks().label(label));
                orders.push((rule, order));
            }
            item.columns.push((format!("{name}_{}", rule.name()), errors));
        }
        let bilinear = orders.iter().find(|o| o.0 == Rule::Bilinear).map_or(f64::NAN, |o| o.1);
        item.claims(format!("{name}, bilinear rule: order over N"), bilinear, Near(2.0, 0.4));
        if shape == Shape::Disc {
            item.claims(
                "disc, exact cells: order over N",
                item.number("disc, cells: order over N").unwrap_or(f64::NAN),
                Near(2.0, 0.4),
            );
            item.compare(
                "disc: r of the truth over 2/3 of the radius",
                truth.radius() / (2.0 / 3.0 * 0.01),
                Near(1.0, 1e-4),
            );
        } else {
            // Mean distance from the centre of a square of side a: a (sqrt 2 + asinh 1)/6.
            let mean = 0.02 * (2f64.sqrt() + 1f64.asinh()) / 6.0;
            let found = Surface::new(&patch(5)?, Rule::Cells).radius();
            item.compare("square of 5 x 5 exact cells: r over the closed form", found / mean, Near(1.0, 1e-12));
        }
        panels.push(chart.svg());
    }
    let circle = Patch::shape(Grid::new(21, 21, 0.02, 0.02)?, Shape::Circle)?;
    let [exact, bilinear] = [Rule::Cells, Rule::Bilinear].map(|rule| {
        let table = LimitTable::of(&Surface::new(&circle, rule), 20);
        table.map(|t| t.nodes().iter().map(|h| h[2].abs()).fold(0.0, f64::max))
    });
    item.claims("circle, exact cells: greatest |h_tau| of a table", exact?, AtMost(1.0 + 1e-12));
    item.tell("circle, bilinear rule: greatest |h_tau| of a table", bilinear?);
    describe_cells(&mut item, panels, truth_n);
    Ok(item)
}

/// The texts and pictures of [`cells`].
fn describe_cells(item: &mut Item, panels: Vec<String>, truth_n: usize) {
    let number = |name: &str| item.number(name).unwrap_or(f64::NAN);
    item.measured = format!(
        "On the square exact cells are off by {} at most; the bilinear rule converges with order {:.1} \
         there. On a disc both do, with {:.1} (bilinear) and {:.1}: there the stepped rim is the error.",
        short(number("square, exact cells: largest error of any N"), 1),
        number("square, bilinear rule: order over N"),
        number("disc, bilinear rule: order over N"),
        number("disc, exact cells: order over N")
    );
    item.pictures.push(Picture::new(
        panels,
        "Against exact cells on a fine grid. On the square exact cells have no error to show.",
    ));
    item.parameters = format!("200 directions of motion; truth: exact cells with N = {truth_n}");
}
