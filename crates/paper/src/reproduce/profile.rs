//! Figs. 5, 13, 17 and 19 to 22: the twist of Fig. 5 on six maps, distributed and reduced.

use super::context::{Context, Error, Runs};
use super::item::Item;
use super::item::Wanted::{AtLeast, AtMost, Near};
use super::setup::{PROFILE_DURATION, Setup};
use crate::page::{Chart, Line, Picture, Scale, Table, arrows, palette, short};
use bristle::contact::Contact;
use bristle::engine::{DEFAULT_STEP, Plan};
use bristle_data::statistics::{greatest, quantile};

pub(super) const IDS: &[&str] = &["fig5", "fig13", "fig17", "fig19", "fig20", "fig21", "fig22"];

/// Name in a scenario and on the page.
const MAPS: [(&str, &str); 6] = [
    ("circle", "circle"),
    ("square", "square"),
    ("line", "line"),
    ("line-gradient", "line gradient"),
    ("non-convex-1", "non-convex 1"),
    ("non-convex-2", "non-convex 2"),
];
const SHORT: [&str; 6] = ["circle", "square", "line", "gradient", "n.-c. 1", "n.-c. 2"];
/// Models of a map, in the order of the runs.
const GRID: usize = 0;
const SURFACE: usize = 1;
const ELLIPSOID: usize = 2;
/// Moments at which bristles are drawn [s].
const MOMENTS: [f64; 3] = [0.7, 1.1, 2.65];

/// Fig. 22 of the reference program: medians and third quartiles of force [N] and torque [N m] with the limit
/// surface.
const QUARTILES: [[f64; 4]; 6] = [
    [5.55e-4, 1.49e-3, 1.85e-5, 2.46e-5],
    [4.91e-4, 1.02e-3, 2.06e-5, 2.25e-5],
    [6.28e-4, 3.06e-3, 7.40e-6, 5.04e-5],
    [1.58e-3, 1.80e-2, 4.67e-6, 6.64e-5],
    [1.41e-4, 8.79e-4, 1.25e-5, 1.81e-5],
    [2.64e-3, 4.24e-3, 1.17e-5, 4.22e-5],
];

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    let (lugre, plastic) = (simulate(context, true)?, simulate(context, false)?);
    let mut items = vec![coupled(context, &lugre)?, ellipsoid(&lugre), surface(&lugre)];
    for (id, map, about) in [
        (
            "fig19",
            3,
            "Forces differ strongly from those of the round patch; a rotation about the centre of pressure \
             gives a force.",
        ),
        ("fig20", 4, "The reduced model does well on a map that is no convex area."),
        (
            "fig21",
            5,
            "The reduced model does well on a map without symmetry; a rotation about the centre of pressure \
             gives a force.",
        ),
    ] {
        items.push(other_map(id, map, about, &lugre));
    }
    items.push(boxes(&plastic));
    Ok(items)
}

/// Three models of every map.
fn simulate(context: &Context<'_>, lugre: bool) -> Result<Runs, Error> {
    let mut contacts: Vec<Contact> = Vec::new();
    for (map, _) in MAPS {
        let grid = Setup::profile(map).law(lugre);
        for setup in [grid.clone(), grid.clone().published(), grid.ellipsoid()] {
            contacts.push(setup.contact()?);
        }
    }
    context.simulate(&contacts, PROFILE_DURATION, 0.01)
}

fn force(runs: &Runs, k: usize) -> [Vec<f64>; 2] {
    [runs.wrench(k, 0), runs.wrench(k, 1)]
}

fn milli(v: &[f64]) -> Vec<f64> {
    v.iter().map(|v| 1e3 * v).collect()
}

/// Error of force and torque of contact `k` against the distributed contact of the same map.
fn errors(runs: &Runs, k: usize) -> [Vec<f64>; 2] {
    let truth = k / 3 * 3;
    let ([fx, fy], [gx, gy]) = (force(runs, k), force(runs, truth));
    let (a, b) = (runs.wrench(k, 2), runs.wrench(truth, 2));
    let force = (0..fx.len()).map(|i| (fx[i] - gx[i]).hypot(fy[i] - gy[i])).collect();
    [force, a.iter().zip(&b).map(|(a, b)| (a - b).abs()).collect()]
}

/// Root mean square over the greatest of the truth.
fn relative(runs: &Runs, k: usize) -> [f64; 2] {
    let truth = k / 3 * 3;
    let [gx, gy] = force(runs, truth);
    let most = [gx.iter().zip(&gy).map(|(x, y)| x.hypot(*y)).fold(0.0, f64::max), greatest(&runs.wrench(truth, 2))];
    let errors = errors(runs, k);
    [0, 1].map(|c| (errors[c].iter().map(|e| e * e).sum::<f64>() / errors[c].len() as f64).sqrt() / most[c])
}

/// Forces and torque of some models over each other.
fn overlay(runs: &Runs, models: &[(usize, &'static str, &str)]) -> Picture {
    let t = runs.time();
    let chart = |title: &str, y: &str, series: &dyn Fn(usize) -> Vec<f64>| {
        let lines = models.iter().enumerate().map(|(i, &(k, colour, label))| {
            Line::new(colour, t, &series(k)).width(if i == 0 { 2.4 } else { 1.3 }).label(label)
        });
        Chart::new(title, "t [s]", y).lines(lines).svg()
    };
    Picture::new(
        vec![
            chart("Force along x", "fx [N]", &|k| runs.wrench(k, 0)),
            chart("Force along y", "fy [N]", &|k| runs.wrench(k, 1)),
            chart("Torque", "\u{3c4} [mN m]", &|k| milli(&runs.wrench(k, 2))),
        ],
        "",
    )
}

/// Errors of reduced models against the distributed one of their map, as bands from zero.
fn error_bands(runs: &Runs, models: &[(usize, &'static str, &str)]) -> Picture {
    let t = runs.time();
    let chart = |title: &str, y: &str, c: usize, unit: f64| {
        let mut chart = Chart::new(title, "t [s]", y).height(200.0);
        for &(k, colour, label) in models {
            let error: Vec<f64> = errors(runs, k)[c].iter().map(|e| unit * e).collect();
            chart = chart
                .band(colour, t, &vec![0.0; error.len()], &error)
                .line(Line::new(colour, t, &error).width(0.9).label(label));
        }
        chart.svg()
    };
    Picture::new(
        vec![
            chart("Error of the force", "|\u{394}f| [N]", 0, 1.0),
            chart("Error of the torque", "|\u{394}\u{3c4}| [mN m]", 1, 1e3),
        ],
        "Distance of the reduced model from the distributed one.",
    )
}

/// Columns for a CSV of some models.
fn columns(runs: &Runs, models: &[(usize, &str)]) -> Vec<(String, Vec<f64>)> {
    let mut out = vec![("t_s".to_owned(), runs.time().to_vec())];
    for (k, name) in models {
        for (c, component) in ["fx_N", "fy_N", "tau_Nm"].into_iter().enumerate() {
            out.push((format!("{name}_{component}"), runs.wrench(*k, c)));
        }
    }
    out
}

const PARAMETERS: &str = "Table I, p = 1; 21 x 21 cells over 20 mm; normal force 1 N; twist and wrench at \
 the centre of pressure; step 0.2 ms";

fn coupled(context: &Context<'_>, runs: &Runs) -> Result<Item, Error> {
    let mut item = Item::new(
        "fig5",
        "Figure 5: forces of a prescribed motion",
        "In planar sliding force and torque depend on each other: a patch that spins resists translation \
         less, and one that translates resists spin less. Every motion starts with a peak of static \
         friction.",
    );
    let t = runs.time();
    let at = |time: f64| t.iter().position(|s| *s >= time - 1e-9).unwrap_or(0);
    let (fx, fy, tau) = (runs.wrench(GRID, 0), runs.wrench(GRID, 1), runs.wrench(GRID, 2));
    let torque = tau[at(1.5)] / tau[at(0.75)];
    item.claims("torque at 15 mm/s over that of the same spin alone", torque, AtMost(0.7));
    let force = fy[at(3.3)] / fy[at(4.2)];
    item.claims("force at 6 mm/s with 1 rad/s over that without spin", force, AtMost(0.7));
    let peak = greatest(&tau[..at(0.2)]) / tau[at(0.75)].abs();
    item.claims("torque's peak at the start over its value in steady spin", peak, AtLeast(1.02));
    let last = greatest(&fy[at(4.3)..]) / fy[at(4.2)].abs();
    item.claims("force's peak when translation ends over its steady value", last, AtLeast(1.02));
    item.tell("greatest force [N]", greatest(&fx).max(greatest(&fy)));
    item.tell("greatest torque [mN m]", 1e3 * greatest(&tau));
    item.measured = format!(
        "Translation at 15 mm/s takes the torque down to {:.0} % of that of spin alone; spin takes the force \
         at 6 mm/s down to {:.0} %. Spin starts with a peak of {:.0} %, translation ends with one of {:.0} \
         %.",
        100.0 * torque,
        100.0 * force,
        100.0 * peak,
        100.0 * last
    );
    let v = |c: usize| Line::new(palette::CYCLE[c + 3], t, &milli(&runs.twist(GRID, c)));
    let twist = Chart::new("Prescribed twist", "t [s]", "v [mm/s], 10 \u{3c9} [rad/s]")
        .line(v(0).label("vx"))
        .line(v(1).label("vy"))
        .line(
            Line::new(palette::OTHER, t, &runs.twist(GRID, 2).iter().map(|w| 10.0 * w).collect::<Vec<_>>())
                .label("10 \u{3c9}"),
        );
    let forces = Chart::new("Force", "t [s]", "f [N]")
        .line(Line::new(palette::GRID, t, &fx).label("fx"))
        .line(Line::new(palette::GRID, t, &fy).dashed().label("fy"));
    let torques = Chart::new("Torque", "t [s]", "\u{3c4} [mN m]").line(Line::new(palette::GRID, t, &milli(&tau)));
    item.pictures.push(Picture::new(vec![twist.svg(), forces.svg(), torques.svg()], ""));
    item.pictures.push(fields(context)?);
    item.parameters = format!("LuGre, circle; {PARAMETERS}");
    item.scenario = Some(Setup::profile("circle").text);
    item.columns = columns(runs, &[(GRID, "distributed")]);
    Ok(item)
}

/// The bristles at three moments.
fn fields(context: &Context<'_>) -> Result<Picture, Error> {
    let contact = Setup::profile("circle").contact()?;
    let cells = contact.patch.cells();
    let mut panels = Vec::new();
    for (moment, what) in
        MOMENTS.into_iter().zip(["spin", "spin and translation along x", "spin and translation along y"])
    {
        let plan = Plan { keep_bristles: true, ..Plan::new(moment, DEFAULT_STEP, moment)? };
        let runs = context.simulate_in(std::slice::from_ref(&contact), &plan)?;
        let field: Vec<([f64; 4], &str)> = cells
            .iter()
            .zip(&runs.out.bristles[0])
            .map(|(cell, [zx, zy])| ([cell.x, cell.y, *zx, *zy], palette::GRID))
            .collect();
        let title = format!("Bristles at {moment} s");
        panels.push(arrows(&title, what, 0.0118, contact.patch.grid().dx, 1.0, &field));
    }
    Ok(Picture::new(
        panels,
        "The deflection of every bristle, drawn from its cell; an arrow of one and a half cells is the \
         deflection of steady sliding. The bristles turn around the centre of rotation, which moves through \
         the patch.",
    ))
}

fn ellipsoid(runs: &Runs) -> Item {
    let mut item = Item::new(
        "fig13",
        "Figure 13: the ellipsoid under the same motion",
        "The reduced model on an ellipsoid does not reproduce the distributed model.",
    );
    let ([f, tau], [g, sigma]) = (relative(runs, ELLIPSOID), relative(runs, SURFACE));
    item.claims("rms error of force over that of Fig. 17", f / g, AtLeast(5.0));
    item.claims("rms error of torque over that of Fig. 17", tau / sigma, AtLeast(2.0));
    item.tell("rms error of force over its greatest", f);
    item.tell("rms error of torque over its greatest", tau);
    item.measured = format!(
        "Force is off by {:.1} % and torque by {:.1} % of their greatest (rms), {:.0} and {:.1} times as \
         much as with the limit surface.",
        100.0 * f,
        100.0 * tau,
        f / g,
        tau / sigma
    );
    let models = [(GRID, palette::GRID, "distributed"), (ELLIPSOID, palette::ELLIPSOID, "ellipsoid")];
    item.pictures.push(overlay(runs, &models));
    item.pictures.push(error_bands(runs, &models[1..]));
    item.parameters = format!("LuGre, circle; {PARAMETERS}");
    item.columns = columns(runs, &[(GRID, "distributed"), (ELLIPSOID, "ellipsoid")]);
    item
}

fn surface(runs: &Runs) -> Item {
    let mut item = Item::new(
        "fig17",
        "Figure 17: the limit surface under the same motion",
        "With the limit surface the reduced model comes close to the distributed one.",
    );
    let [f, tau] = relative(runs, SURFACE);
    item.claims("rms error of force over its greatest", f, AtMost(0.01));
    item.claims("rms error of torque over its greatest", tau, AtMost(0.01));
    item.measured =
        format!("Force is off by {:.2} % and torque by {:.2} % of their greatest (rms).", 100.0 * f, 100.0 * tau);
    let models = [(GRID, palette::GRID, "distributed"), (SURFACE, palette::SURFACE, "limit surface")];
    item.pictures.push(overlay(runs, &models));
    item.pictures.push(error_bands(
        runs,
        &[(ELLIPSOID, palette::ELLIPSOID, "ellipsoid"), (SURFACE, palette::SURFACE, "limit surface")],
    ));
    item.parameters = format!("LuGre, circle; N_ls = 20, rule (23); {PARAMETERS}");
    item.columns = columns(runs, &[(GRID, "distributed"), (SURFACE, "limit_surface")]);
    item
}

fn other_map(id: &str, map: usize, claim: &str, runs: &Runs) -> Item {
    let number = &id[3..];
    let mut item = Item::new(id, format!("Figure {number}: the same motion, {}", MAPS[map].1), claim);
    let (grid, surface) = (3 * map, 3 * map + SURFACE);
    let [f, tau] = relative(runs, surface);
    let limit = if map == 3 { 0.03 } else { 0.015 };
    item.claims("rms error of the reduced model's force over its greatest", f, AtMost(limit));
    item.claims("rms error of the reduced model's torque over its greatest", tau, AtMost(limit));
    // Spin alone from 0.6 to 0.8 s.
    let frame = runs.time().iter().position(|t| *t >= 0.75 - 1e-9).unwrap_or(0);
    let spin = runs.wrench(grid, 0)[frame].hypot(runs.wrench(grid, 1)[frame]);
    if map == 4 {
        item.tell("force in rotation about the centre of pressure [N]", spin);
    } else {
        item.claims("force in rotation about the centre of pressure [N]", spin, AtLeast(0.02));
    }
    item.measured = format!(
        "The reduced model is off by {:.2} % in force and {:.2} % in torque (rms over the greatest). \
         Rotation about the centre of pressure gives a force of {} N under 1 N of normal force.",
        100.0 * f,
        100.0 * tau,
        if spin < 1e-6 { "0".into() } else { short(spin, 2) }
    );
    let models = [(grid, palette::GRID, "distributed"), (surface, palette::SURFACE, "limit surface")];
    item.pictures.push(overlay(runs, &models));
    let ellipsoid = (3 * map + ELLIPSOID, palette::ELLIPSOID, "ellipsoid");
    item.pictures.push(error_bands(runs, &[ellipsoid, (surface, palette::SURFACE, "limit surface")]));
    if map == 3 {
        item.note = "The steps in the distributed force come from cells that the centre of rotation passes \
         (Fig. 10); they are most of the difference."
            .into();
    }
    item.parameters = format!("LuGre, {}; N_ls = 20, rule (23); {PARAMETERS}", MAPS[map].1);
    item.columns = columns(runs, &[(grid, "distributed"), (surface, "limit_surface")]);
    item
}

fn boxes(runs: &Runs) -> Item {
    let mut item = Item::new(
        "fig22",
        "Figure 22: errors on six maps",
        "On every map the limit surface is much better than the ellipsoid.",
    );
    let mut table = Table::new(
        "Errors against the distributed model, 501 samples: median / third quartile",
        &["map", "force [N], limit surface", "ellipsoid", "torque [N m], limit surface", "ellipsoid"],
    );
    let mut charts = [("Force", "error [N]"), ("Torque", "error [N m]")]
        .map(|(title, y)| Chart::new(title, "", y).scales(Scale::Linear, Scale::Log).height(330.0));
    let (mut better, mut medians) = (0, 0);
    for (map, (_, name)) in MAPS.into_iter().enumerate() {
        let [ours, theirs] = [SURFACE, ELLIPSOID].map(|model| errors(runs, 3 * map + model));
        let mut row = vec![name.to_owned()];
        for c in 0..2 {
            let found = [&ours[c], &theirs[c]].map(|e| [quantile(e, 0.5), quantile(e, 0.75)]);
            better += u32::from(found[0][1] < found[1][1]);
            medians += u32::from(found[0][0] < found[1][0]);
            row.extend(found.map(|[median, third]| format!("{median:.2e} / {third:.2e}")));
            let what = ["force [N]", "torque [N m]"][c];
            for (q, word) in ["median", "third quartile"].into_iter().enumerate() {
                let wanted = QUARTILES[map][2 * c + q];
                let limit = Near(wanted, 0.35 * wanted);
                item.compare(format!("{name}: {word} of the error of {what}"), found[0][q], limit);
            }
            item.tell(format!("{name}: third quartile of the ellipsoid's error of {what}"), found[1][1]);
            let floor = [1e-6, 1e-8][c];
            let drawn = |e: &[f64]| e.iter().map(|v| v.max(floor)).collect::<Vec<_>>();
            let chart = std::mem::take(&mut charts[c]);
            charts[c] = chart.boxed(SHORT[map], palette::SURFACE, drawn(&ours[c])).boxed(
                " ",
                palette::ELLIPSOID,
                drawn(&theirs[c]),
            );
            item.columns.push((format!("{name}_limit_surface_{}", ["N", "Nm"][c]), ours[c].clone()));
            item.columns.push((format!("{name}_ellipsoid_{}", ["N", "Nm"][c]), theirs[c].clone()));
        }
        table.row(row);
    }
    item.claims("third quartiles, of 12, that are smaller with the limit surface", f64::from(better), AtLeast(12.0));
    item.tell("medians, of 12, that are smaller with the limit surface", f64::from(medians));
    item.measured = format!(
        "The third quartile of the error is smaller with the limit surface in {better} of 12 comparisons, \
         the median in {medians}."
    );
    item.note = "Where the median is not smaller, the ellipsoid is exact in pure rotation or translation, \
     while rule (23) makes the table's torsional radius slightly too small."
        .into();
    let caption = "Boxes from the first to the third quartile, whiskers to the last sample within one and a \
     half of that. Orange: limit surface, green: ellipsoid.";
    item.pictures.push(Picture::new(charts.map(Chart::svg).to_vec(), caption));
    item.tables.push(table);
    item.parameters = format!("Elasto-Plastic, six maps of Fig. 8; N_ls = 20, rule (23); {PARAMETERS}");
    item
}
