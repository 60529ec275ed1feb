//! Pictures of objects in hand: poses, paths, wrenches and the bristles of a pad.

use super::super::context::{Context, Error, Runs};
use super::cases::{CASES, GRID, PUBLISHED, setup};
use crate::page::{Chart, Key, Line, Picture, arrows, palette};
use bristle::engine::{DEFAULT_STEP, Plan};

/// What tells two cases of a picture apart.
type Names = [&'static str; 2];

/// Models that are drawn over each other, with colour and width.
const DRAWN: [(usize, &str, f64); 2] = [(GRID, palette::GRID, 2.4), (PUBLISHED, palette::SURFACE, 1.3)];

/// What colours and dashes stand for.
fn key([first, second]: Names) -> [Key; 4] {
    [
        Key::new(palette::GRID, "distributed"),
        Key::new(palette::SURFACE, "reduced, as published"),
        Key::new(palette::TEXT, first),
        Key::dashed(palette::TEXT, second),
    ]
}

/// Lines of two cases, the second dashed, of the first `models`; `series` gives x and y of run `k`.
fn lines(cases: [usize; 2], names: Names, models: usize, series: &dyn Fn(usize) -> [Vec<f64>; 2]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (i, (case, name)) in cases.into_iter().zip(names).enumerate() {
        for (model, colour, width) in DRAWN.into_iter().take(models) {
            let [x, y] = series(4 * case + model);
            let line = Line::new(colour, &x, &y).width(width);
            let line = if model == GRID { line.label(name) } else { line.belongs(name) };
            lines.push(if i == 1 { line.dashed() } else { line });
        }
    }
    lines
}

fn milli(v: &[f64]) -> Vec<f64> {
    v.iter().map(|v| 1e3 * v).collect()
}

/// Pose over time of two cases, distributed and reduced.
pub(super) fn poses(runs: &Runs, cases: [usize; 2], names: Names, grip: bool) -> Picture {
    let chart = |title: &str, y: &str, models: usize, series: &dyn Fn(usize) -> Vec<f64>| {
        let lines = lines(cases, names, models, &|k| [runs.time().to_vec(), series(k)]);
        Chart::new(title, "t [s]", y).lines(lines).svg()
    };
    let mut panels = vec![
        chart("Position along x", "x [mm]", 2, &|k| milli(&runs.pose(k, 0))),
        chart("Position along y", "y [mm]", 2, &|k| milli(&runs.pose(k, 1))),
        chart("Rotation", "\u{3b8} [rad]", 2, &|k| runs.pose(k, 2)),
    ];
    if grip {
        panels.push(chart("Normal force of a pad", "fN [N]", 1, &|k| runs.normal_force(k).to_vec()));
        panels.push(chart("Share of the pressure near the limit", "share [-]", 1, &|k| runs.near_limit(k).to_vec()));
        let path = lines(cases, names, 2, &|k| [0, 1].map(|c| milli(&runs.pose(k, c))));
        panels.push(Chart::new("Path of the centre of mass", "x [mm]", "y [mm]").equal().lines(path).svg());
    }
    Picture::new(panels, "").key(&key(names))
}

/// Bristles at chosen moments of the distributed run.
pub(super) fn fields(context: &Context<'_>, case: usize, moments: [f64; 3]) -> Result<Picture, Error> {
    let contact = setup(&CASES[case]).contact()?;
    let cells = contact.patch.cells();
    let mut panels = Vec::new();
    for moment in moments {
        let plan = Plan { keep_bristles: true, ..Plan::new(moment, DEFAULT_STEP, moment)? };
        let runs = context.simulate_in(std::slice::from_ref(&contact), &plan)?;
        let near = runs.near_limit(0).last().copied().unwrap_or(0.0);
        let (pose, twist) = (runs.out.pose.last(), runs.out.twist.last());
        let (pose, twist) = (pose.copied().unwrap_or_default(), twist.copied().unwrap_or_default());
        let twist = contact.body.transform(pose).twist(twist);
        let field: Vec<([f64; 4], &str)> = cells
            .iter()
            .zip(&runs.out.bristles[0])
            .map(|(cell, [zx, zy])| {
                let friction = &contact.friction;
                let [vx, vy] = twist.velocity([cell.x, cell.y]);
                let stribeck = (-(vx.hypot(vy) / friction.v_s).powf(friction.gamma)).exp();
                let g = friction.mu_c + (friction.mu_s - friction.mu_c) * stribeck;
                let near = zx.hypot(*zy) >= friction.s_ba * g;
                ([cell.x, cell.y, *zx, *zy], if near { palette::BAD } else { palette::GRID })
            })
            .collect();
        let below = format!("{:.0} % of the pressure is near its limit", 100.0 * near);
        panels.push(arrows(&format!("Bristles at {moment} s"), &below, 0.0118, contact.patch.grid().dx, 1.0, &field));
    }
    let caption = "Deflection of the bristles of one pad under f1; an arrow of one and a half cells is \
     \u{3bc}c. Red: at break-away and beyond.";
    Ok(Picture::new(panels, caption))
}

pub(super) fn wrenches(runs: &Runs, cases: [usize; 2], names: Names) -> Picture {
    let chart = |title: &str, y: &str, c: usize, unit: f64| {
        let of = |k: usize| runs.wrench(k, c).iter().map(|v| unit * v).collect();
        let lines = lines(cases, names, 2, &|k| [runs.time().to_vec(), of(k)]);
        Chart::new(title, "t [s]", y).lines(lines).svg()
    };
    Picture::new(
        vec![
            chart("Force along x", "fx [N]", 0, 1.0),
            chart("Force along y", "fy [N]", 1, 1.0),
            chart("Torque", "\u{3c4} [mN m]", 2, 1e3),
        ],
        "Friction of one pad on the object, about the centre of pressure.",
    )
    .key(&key(names))
}
