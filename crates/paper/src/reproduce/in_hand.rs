//! Figs. 27 to 32, 34 and 35: an object that slips and sticks between two pads.

mod cases;
mod pictures;

use super::context::{Context, Error, Runs};
use super::item::Item;
use super::item::Wanted::{AtLeast, AtMost, Near};
use super::setup::IN_HAND_DURATION;
use crate::page::Table;
use bristle::contact::Contact;
use bristle::planar::Pose;
use bristle_data::statistics::greatest;
use cases::{CASES, GRID, MODELS, PUBLISHED, setup};
use pictures::{fields, poses, wrenches};

pub(super) const IDS: &[&str] = &["fig27", "fig28", "fig29", "fig30", "fig31", "fig32", "fig34", "fig35"];

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    let mut contacts: Vec<Contact> = Vec::new();
    for case in &CASES {
        let grid = setup(case);
        for setup in [grid.clone(), grid.clone().published(), grid.clone().consistent(), grid.ellipsoid()] {
            contacts.push(setup.contact()?);
        }
    }
    let runs = context.simulate(&contacts, IN_HAND_DURATION, 0.01)?;
    Ok(vec![
        pivot(context, &runs)?,
        forces("fig28", [0, 1], &runs),
        slide(context, &runs)?,
        other("fig30", 4, &runs),
        other("fig31", 6, &runs),
        forces("fig32", [2, 3], &runs),
        follows(&runs),
        following_forces(&runs),
    ])
}

/// Final poses of the cases of an item, compared with the reference program.
fn compare(item: &mut Item, cases: &[usize], runs: &Runs) {
    let mut table = Table::new("Final pose: x [mm], y [mm], \u{3b8} [rad]", &["case"]);
    table.head.extend(MODELS.map(str::to_owned));
    for &case in cases {
        let (name, _, map, reference) = &CASES[case];
        for (model, pose) in [(GRID, reference[0].to_array()), (PUBLISHED, reference[1].to_array())] {
            let end = runs.end(4 * case + model).to_array();
            // The reference program holds 1e-6 of a relative tolerance; paths of the gradient run along
            // kinks.
            let kinked = model == PUBLISHED && *map == "line-gradient-x";
            let [metres, radians] = if model == GRID {
                [4e-5, 1e-4]
            } else if kinked {
                [2e-4, 5e-3]
            } else {
                [1e-4, 1e-3]
            };
            for (c, what) in ["x [m]", "y [m]", "\u{3b8} [rad]"].into_iter().enumerate() {
                let limit = if c < 2 { metres } else { radians };
                item.compare(format!("{name}, {}: final {what}", MODELS[model]), end[c], Near(pose[c], limit));
            }
        }
        let pose = |model: usize| {
            let Pose { x, y, theta } = runs.end(4 * case + model);
            format!("{:.2}, {:.2}, {theta:.4}", 1e3 * x, 1e3 * y)
        };
        table.row([(*name).to_owned()].into_iter().chain((0..4).map(pose)));
    }
    item.tables.push(table);
}

/// Greatest distance of the reduced model's path from the distributed one's over the way gone, in position
/// and angle.
fn apart(runs: &Runs, case: usize, model: usize) -> [f64; 2] {
    let of = |k: usize| [0, 1, 2].map(|c| runs.pose(k, c));
    let ([x, y, a], [u, v, b]) = (of(4 * case + GRID), of(4 * case + model));
    let way = (0..x.len()).map(|i| (x[i] - x[0]).hypot(y[i] - y[0])).fold(0.0, f64::max);
    let off = (0..x.len()).map(|i| (x[i] - u[i]).hypot(y[i] - v[i])).fold(0.0, f64::max);
    let turn = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    [off / way, turn / greatest(&a)]
}

fn columns(runs: &Runs, cases: &[usize]) -> Vec<(String, Vec<f64>)> {
    let mut out = vec![("t_s".to_owned(), runs.time().to_vec())];
    for &case in cases {
        for (model, name) in MODELS.into_iter().enumerate() {
            let k = 4 * case + model;
            let column = |what: &str| format!("\"{}; {name}; {what}\"", CASES[case].0);
            for (c, what) in ["x_m", "y_m", "theta_rad"].into_iter().enumerate() {
                out.push((column(what), runs.pose(k, c)));
            }
            for (c, what) in ["fx_N", "fy_N", "tau_Nm"].into_iter().enumerate() {
                out.push((column(what), runs.wrench(k, c)));
            }
        }
    }
    out
}

const PARAMETERS: &str = "Elasto-Plastic, Table I with p = 1; 0.2 kg, 0.15 x 0.08 m, two pads of 20 mm and \
 21 x 21 cells; gravity along -y; inputs held for 10 ms; reduced model with N_ls = 20 and rule (23); step \
 0.2 ms";

fn pivot(context: &Context<'_>, runs: &Runs) -> Result<Item, Error> {
    let mut item = Item::new(
        "fig27",
        "Figure 27: in hand, case 1, motion",
        "With the centre of mass 25 mm from the pads the object pivots; both force profiles give a similar \
         motion, and the reduced model nearly the same as the distributed one.",
    );
    let (a, b) = (runs.end(GRID), runs.end(4 + GRID));
    let between = (a.x - b.x).hypot(a.y - b.y) / (a.x - 0.025).hypot(a.y);
    item.claims("distance of the final positions under f1 and f2 over the way gone", between, AtMost(0.05));
    item.claims(
        "difference of the final angles over the angle turned",
        ((a.theta - b.theta) / a.theta).abs(),
        AtMost(0.05),
    );
    let off = [apart(runs, 0, PUBLISHED), apart(runs, 1, PUBLISHED)];
    let [way, turn] = [0, 1].map(|c| off[0][c].max(off[1][c]));
    item.claims("reduced from distributed over the way gone, at most", way, AtMost(0.02));
    item.claims("the same in angle", turn, AtMost(0.02));
    item.measured = format!(
        "The two force profiles end {:.1} % of the way apart; the reduced model is within {:.1} % of the way \
         and {:.1} % of the angle of the distributed one.",
        100.0 * between,
        100.0 * way,
        100.0 * turn
    );
    compare(&mut item, &[0, 1], runs);
    item.pictures.push(poses(runs, [0, 1], ["f1", "f2"], true));
    item.pictures.push(fields(context, 0, [0.1, 0.3, 0.42])?);
    item.columns = columns(runs, &[0, 1]);
    item.parameters = format!("circle, {PARAMETERS}");
    item.scenario = Some(setup(&CASES[0]).text);
    Ok(item)
}

fn slide(context: &Context<'_>, runs: &Runs) -> Result<Item, Error> {
    let mut item = Item::new(
        "fig29",
        "Figure 29: in hand, case 2, circle",
        "With the centre of mass 2 mm from the pads the object slides and turns, and the force profile \
         decides how; the reduced model does about the same.",
    );
    let (a, b) = (runs.end(8).theta, runs.end(12).theta);
    item.claims("difference of the final angles under f1 and f2 over the lesser", (a / b - 1.0).abs(), AtLeast(0.1));
    let off = [apart(runs, 2, PUBLISHED), apart(runs, 3, PUBLISHED)];
    let [way, turn] = [0, 1].map(|c| off[0][c].max(off[1][c]));
    item.claims("reduced from distributed over the way gone, at most", way, AtMost(0.1));
    item.claims("the same in angle", turn, AtMost(0.1));
    item.measured = format!(
        "f1 turns the object {:.0} % further than f2; the reduced model is within {:.1} % of the way and \
         {:.1} % of the angle of the distributed one.",
        100.0 * (a / b - 1.0),
        100.0 * way,
        100.0 * turn
    );
    compare(&mut item, &[2, 3], runs);
    item.pictures.push(poses(runs, [2, 3], ["f1", "f2"], true));
    item.pictures.push(fields(context, 2, [0.2, 0.32, 0.42])?);
    item.columns = columns(runs, &[2, 3]);
    item.parameters = format!("circle, {PARAMETERS}");
    item.scenario = Some(setup(&CASES[2]).text);
    Ok(item)
}

/// Figs. 30 and 31: case 2 on another map.
fn other(id: &str, case: usize, runs: &Runs) -> Item {
    let gradient = case == 6;
    let (title, claim) = if gradient {
        (
            "Figure 31: in hand, case 2, line gradient",
            "The line gradient lets the object turn much further than the circle. Under f1 it first slips \
             and turns, later it slips without turning, because the centre of mass has come to hang below \
             the centre of pressure.",
        )
    } else {
        ("Figure 30: in hand, case 2, square", "Circle and square move the object alike.")
    };
    let mut item = Item::new(id, title, claim);
    let [(x, y, a), (u, v, b)] = [runs.end(8), runs.end(4 * case)].map(|q| (q.x, q.y, q.theta));
    if gradient {
        item.claims("final angle over the circle's, f1", b / a, AtLeast(3.0));
        let (turn, fall) = (runs.twist(4 * case, 2), runs.twist(4 * case, 1));
        let late = runs.time().iter().position(|t| *t > 1.0).unwrap_or(0);
        let (early, later) = (greatest(&turn[..late]), greatest(&turn[late..]));
        let speed = greatest(&fall[late..]);
        item.claims("fastest turn after 1 s over that before, f1", later / early, AtMost(0.2));
        item.claims("fastest fall after 1 s [m/s], f1", speed, AtLeast(5e-3));
        item.measured = format!(
            "It turns {:.1} times as far as on the circle; after 1 s it turns no faster than {:.0} % of \
             before, while it still falls at up to {:.0} mm/s.",
            b / a,
            100.0 * later / early,
            1e3 * speed
        );
    } else {
        let way = x.hypot(y);
        item.claims(
            "distance of the final position from the circle's over the way gone, f1",
            (x - u).hypot(y - v) / way,
            AtMost(0.1),
        );
        item.claims("final angle over the circle's, f1", b / a, Near(1.0, 0.15));
        item.measured = format!(
            "Square and circle end {:.1} % of the way and {:.0} % of the angle apart.",
            100.0 * (x - u).hypot(y - v) / way,
            100.0 * (1.0 - b / a).abs()
        );
    }
    let off = [apart(runs, case, PUBLISHED), apart(runs, case + 1, PUBLISHED)];
    item.tell("reduced from distributed over the way gone, at most", off[0][0].max(off[1][0]));
    compare(&mut item, &[case, case + 1], runs);
    item.pictures.push(poses(runs, [case, case + 1], ["f1", "f2"], false));
    item.columns = columns(runs, &[case, case + 1]);
    item.parameters = format!("{}, {PARAMETERS}", if gradient { "line gradient, heaviest at -x" } else { "square" });
    item.scenario = Some(setup(&CASES[case]).text);
    item
}

/// Rms of the reduced wrench's error over the distributed one's greatest: force, torque.
fn wrench_error(runs: &Runs, case: usize) -> [f64; 2] {
    let of = |k: usize| [0, 1, 2].map(|c| runs.wrench(k, c));
    let ([fx, fy, tau], [gx, gy, sigma]) = (of(4 * case + PUBLISHED), of(4 * case + GRID));
    [bristle_data::statistics::rmse(&[fx, fy], &[gx, gy]), bristle_data::statistics::rmse(&[tau], &[sigma])]
}

/// Figs. 28 and 32.
fn forces(id: &str, cases: [usize; 2], runs: &Runs) -> Item {
    let first = cases[0] == 0;
    let (title, claim) = if first {
        ("Figure 28: in hand, case 1, forces", "The reduced model's friction follows the distributed model's closely.")
    } else {
        (
            "Figure 32: in hand, case 2, forces",
            "The force profile decides the friction over time; the reduced model follows the distributed one.",
        )
    };
    let mut item = Item::new(id, title, claim);
    let errors = cases.map(|case| wrench_error(runs, case));
    let [force, torque] = [0, 1].map(|c| errors[0][c].max(errors[1][c]));
    let limits = if first { [0.03, 0.03] } else { [0.05, 0.08] };
    item.claims("rms error of the reduced force over its greatest, at most", force, AtMost(limits[0]));
    item.claims("rms error of the reduced torque over its greatest, at most", torque, AtMost(limits[1]));
    item.measured =
        format!("Force is off by {:.1} %, torque by {:.1} % of their greatest (rms).", 100.0 * force, 100.0 * torque);
    item.pictures.push(wrenches(runs, cases, ["f1", "f2"]));
    item.columns = columns(runs, &cases);
    item.parameters = format!("circle, {PARAMETERS}");
    item
}

fn follows(runs: &Runs) -> Item {
    let mut item = Item::new(
        "fig34",
        "Figure 34: in hand, a map that follows the force, motion",
        "Whether the map only grows with the force (k = 2) or also flattens (k = 2 f_N) makes little difference.",
    );
    let apart = |model: usize| {
        let (a, b) = (runs.end(32 + model), runs.end(36 + model));
        [(a.x - b.x).hypot(a.y - b.y) / (a.x - 0.002).hypot(a.y), ((a.theta - b.theta) / a.theta).abs()]
    };
    for model in [GRID, PUBLISHED] {
        let [way, turn] = apart(model);
        item.claims(format!("{}: distance of the final positions over the way gone", MODELS[model]), way, AtMost(0.02));
        item.claims(
            format!("{}: difference of the final angles over the angle turned", MODELS[model]),
            turn,
            AtMost(0.02),
        );
    }
    let [y, reduced] = [32, 33].map(|k| 1e3 * runs.end(k).y);
    item.measured = format!(
        "The final poses differ by {:.1} % of the way and {:.1} % of the angle. With k = 2 the object ends \
         at y = {y:.2} mm, reduced {reduced:.2} mm.",
        100.0 * apart(GRID)[0],
        100.0 * apart(GRID)[1]
    );
    item.note = "The curve of the reduced model with k = 2 that was published ends at -22.84 mm: it came \
     from a fault in the look-up, since repaired. The repaired public program ends at -20.30 mm."
        .into();
    compare(&mut item, &[8, 9], runs);
    item.pictures.push(poses(runs, [8, 9], ["k = 2", "k = 2 fN"], true));
    item.columns = columns(runs, &[8, 9]);
    item.parameters = format!("eq. (46), a = 6 f_N^(1/3) cells; case 2, f1; {PARAMETERS}");
    item.scenario = Some(setup(&CASES[8]).text);
    item
}

fn following_forces(runs: &Runs) -> Item {
    let mut item = Item::new(
        "fig35",
        "Figure 35: in hand, a map that follows the force, forces",
        "The friction is alike for both maps, and the reduced model follows the distributed one.",
    );
    let errors = [8, 9].map(|case| wrench_error(runs, case));
    let [force, torque] = [0, 1].map(|c| errors[0][c].max(errors[1][c]));
    item.claims("rms error of the reduced force over its greatest, at most", force, AtMost(0.05));
    item.claims("rms error of the reduced torque over its greatest, at most", torque, AtMost(0.08));
    item.measured =
        format!("Force is off by {:.1} %, torque by {:.1} % of their greatest (rms).", 100.0 * force, 100.0 * torque);
    item.pictures.push(wrenches(runs, [8, 9], ["k = 2", "k = 2 fN"]));
    item.columns = columns(runs, &[8, 9]);
    item.parameters = format!("eq. (46); case 2, f1; {PARAMETERS}");
    item
}
