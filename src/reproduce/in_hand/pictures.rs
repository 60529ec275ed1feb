//! Pictures of objects in hand: poses, paths, wrenches and the bristles of a pad.

use super::super::context::{Context, Error, Runs};
use super::{CASES, GRID, PUBLISHED, setup};
use crate::engine::{DEFAULT_STEP, Plan};
use crate::page::{Chart, Line, Picture, arrows, ink};

/// What stands at a line: the case at the distributed model's, and once that the other is the reduced one.
fn name(names: &[&str], i: usize, model: usize) -> String {
    let label = if model == GRID {
        names[i]
    } else if i == 0 {
        "reduced"
    } else {
        ""
    };
    label.to_owned()
}

/// Pose over time of some cases, distributed and reduced; the second case is dashed.
pub(super) fn poses(runs: &Runs, cases: &[usize], names: &[&str], grip: bool) -> Picture {
    let t = runs.time();
    let chart = |title: &str, y: &str, series: &dyn Fn(usize) -> Vec<f64>, reduced: bool| {
        let mut chart = Chart::new(title, "t [s]", y);
        for (i, &case) in cases.iter().enumerate() {
            let models = [(GRID, ink::GRID, 2.4), (PUBLISHED, ink::SURFACE, 1.3)];
            for (model, colour, width) in models.into_iter().take(if reduced { 2 } else { 1 }) {
                let line = Line::new(colour, t, &series(4 * case + model)).width(width).label(name(names, i, model));
                chart = chart.line(if i == 1 { line.dashed() } else { line });
            }
        }
        chart.svg()
    };
    let mm = |v: Vec<f64>| v.iter().map(|v| 1e3 * v).collect::<Vec<f64>>();
    let mut panels = vec![
        chart("Position along x", "x [mm]", &|k| mm(runs.pose(k, 0)), true),
        chart("Position along y", "y [mm]", &|k| mm(runs.pose(k, 1)), true),
        chart("Rotation", "\u{3b8} [rad]", &|k| runs.pose(k, 2), true),
    ];
    if grip {
        panels.push(chart("Normal force of a pad", "fN [N]", &|k| runs.normal_force(k).to_vec(), false));
        panels.push(chart("Sliding share of the pressure", "slip [-]", &|k| runs.slip(k).to_vec(), false));
        panels.push(path(runs, cases, names));
    }
    Picture::new(panels, "")
}

/// Paths of the centre of mass.
fn path(runs: &Runs, cases: &[usize], names: &[&str]) -> String {
    let mm = |v: Vec<f64>| v.iter().map(|v| 1e3 * v).collect::<Vec<f64>>();
    let mut chart = Chart::new("Path of the centre of mass", "x [mm]", "y [mm]").equal();
    for (i, &case) in cases.iter().enumerate() {
        for (model, colour, width) in [(GRID, ink::GRID, 2.4), (PUBLISHED, ink::SURFACE, 1.3)] {
            let k = 4 * case + model;
            let mut line = Line::new(colour, &mm(runs.pose(k, 0)), &mm(runs.pose(k, 1))).width(width);
            if model == GRID {
                line = line.label(names[i]);
            }
            chart = chart.line(if i == 1 { line.dashed() } else { line });
        }
    }
    chart.svg()
}

/// Bristles at chosen moments of the distributed run.
pub(super) fn fields(context: &Context<'_>, case: usize, moments: [f64; 3]) -> Result<Picture, Error> {
    let contact = setup(&CASES[case]).contact()?;
    let cells = contact.patch.cells();
    let mut panels = Vec::new();
    for moment in moments {
        let plan = Plan { keep_bristles: true, ..Plan::new(moment, DEFAULT_STEP, moment)? };
        let runs = context.simulate_in(std::slice::from_ref(&contact), &plan)?;
        let slip = runs.slip(0).last().copied().unwrap_or(0.0);
        let [pose, twist] = [&runs.out.pose, &runs.out.twist].map(|all| *all.last().unwrap_or(&[0.0; 3]));
        let twist = contact.body.transform(pose.into()).twist(twist.into());
        let field: Vec<([f64; 4], &str)> = cells
            .iter()
            .zip(&runs.out.bristles[0])
            .map(|(cell, [zx, zy])| {
                let friction = &contact.friction;
                let [vx, vy] = twist.velocity([cell.x, cell.y]);
                let stribeck = (-(vx.hypot(vy) / friction.v_s).powf(friction.gamma)).exp();
                let g = friction.mu_c + (friction.mu_s - friction.mu_c) * stribeck;
                let slides = zx.hypot(*zy) >= friction.s_ba * g;
                ([cell.x, cell.y, *zx, *zy], if slides { ink::BAD } else { ink::GRID })
            })
            .collect();
        let below = format!("{:.0} % of the pressure slides", 100.0 * slip);
        panels.push(arrows(&format!("Bristles at {moment} s"), &below, 0.0118, contact.patch.grid().dx, 1.0, &field));
    }
    let caption = "Deflection of the bristles of one pad under f1; an arrow of one and a half cells is \u{3bc}c. Red: at break-away and beyond.";
    Ok(Picture::new(panels, caption))
}

pub(super) fn wrenches(runs: &Runs, cases: &[usize], names: &[&str]) -> Picture {
    let t = runs.time();
    let chart = |title: &str, y: &str, c: usize, unit: f64| {
        let mut chart = Chart::new(title, "t [s]", y);
        for (i, &case) in cases.iter().enumerate() {
            for (model, colour, width) in [(GRID, ink::GRID, 2.4), (PUBLISHED, ink::SURFACE, 1.3)] {
                let f: Vec<f64> = runs.wrench(4 * case + model, c).iter().map(|v| unit * v).collect();
                let line = Line::new(colour, t, &f).width(width).label(name(names, i, model));
                chart = chart.line(if i == 1 { line.dashed() } else { line });
            }
        }
        chart.svg()
    };
    Picture::new(
        vec![
            chart("Force along x", "fx [N]", 0, 1.0),
            chart("Force along y", "fy [N]", 1, 1.0),
            chart("Torque", "\u{3c4} [mN m]", 2, 1e3),
        ],
        "Friction of one pad on the object, about the centre of pressure.",
    )
}
