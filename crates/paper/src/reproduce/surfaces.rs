//! Figs. 14, 15 and 16: limit surfaces, where motions land on them, and the point of no force.

use super::context::{Context, Error};
use super::item::Item;
use super::item::Wanted::{AtLeast, AtMost};
use crate::page::{Chart, Line, Picture, Table, heat_marked, palette};
use crate::surface_picture::{outline, solid};
use bristle::limit_surface::{Ellipsoid, Rule, Surface, Table as LimitTable};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::Twist;

pub(super) const IDS: &[&str] = &["fig14", "fig15", "fig16"];

const SIDE: f64 = 0.02;

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    Ok(vec![curves(context)?, body()?, no_force()?])
}

fn patch(n: usize, shape: Shape) -> Result<Patch, Error> {
    Ok(Patch::shape(Grid::new(n, n, SIDE, SIDE)?, shape)?)
}

/// `(|f|, |tau|/r)/(mu f_N)` of the twist at `phi` from pure rotation, translating along `direction`.
fn wrench(surface: &Surface, direction: [f64; 2], phi: f64) -> [f64; 2] {
    let (sin, cos) = phi.sin_cos();
    let r = surface.radius();
    let w = surface.coulomb(Twist::new(r * sin * direction[0], r * sin * direction[1], cos));
    [-(w.fx * direction[0] + w.fy * direction[1]), -w.tau / r]
}

fn curves(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "fig14",
        "Figure 14: limit curves and where motions land on them",
        "Limit curves of all maps look like an ellipse, but the wrench of a given motion lies elsewhere on \
         the curve than on the ellipse.",
    );
    const X: [f64; 2] = [1.0, 0.0];
    const Y: [f64; 2] = [0.0, 1.0];
    let n = context.full_or(101, 51);
    let maps = [
        ("circle", Shape::Circle, X, palette::GRID),
        ("square", Shape::Square, X, palette::SURFACE),
        ("line, along x", Shape::Line, X, palette::PUBLISHED),
        ("line, along y", Shape::Line, Y, palette::BAD),
        ("line gradient, along x", Shape::LineGradient, X, palette::OTHER),
    ];
    let angle = |degrees: usize| (degrees as f64).to_radians();
    let mut table = Table::new(
        "Distance of the curve from the ellipse, and angle on it between the two wrenches of one motion",
        &["map", "largest distance", "largest angle [\u{b0}]"],
    );
    let ellipse: Vec<[f64; 2]> = (0..=90).map(|d| [angle(d).sin(), angle(d).cos()]).collect();
    let columns = |points: &[[f64; 2]]| [0, 1].map(|c| points.iter().map(|p| p[c]).collect::<Vec<f64>>());
    let [ex, ey] = columns(&ellipse);
    let marks = |points: &[[f64; 2]]| columns(&points.iter().step_by(10).copied().collect::<Vec<_>>());
    let mut chart =
        Chart::new("Curves and every tenth degree of motion", "f / (\u{3bc} fN)", "\u{3c4} / (\u{3bc} fN r)")
            .equal()
            .x_range(0.0, 1.08)
            .y_range(0.0, 1.12)
            .height(420.0)
            .line(Line::new(palette::ELLIPSOID, &ex, &ey).label("ellipse").dashed());
    let [mx, my] = marks(&ellipse);
    chart = chart.line(Line::new(palette::ELLIPSOID, &mx, &my).dots());
    let mut shift = Chart::new(
        "Where a motion lands",
        "motion: 0 is rotation, 90 translation [\u{b0}]",
        "wrench on the curve [\u{b0}]",
    )
    .line(Line::new(palette::ELLIPSOID, &[0.0, 90.0], &[0.0, 90.0]).dashed().label("ellipse"))
    .height(420.0);
    let degrees: Vec<f64> = (0..=90).map(f64::from).collect();
    item.columns.push(("motion_deg".into(), degrees.clone()));
    let (mut farthest, mut widest) = (0f64, f64::INFINITY);
    for (name, shape, direction, colour) in maps {
        let surface = Surface::new(&patch(n, shape)?, Rule::Cells);
        let points: Vec<[f64; 2]> = (0..=90).map(|d| wrench(&surface, direction, angle(d))).collect();
        let at: Vec<f64> = points.iter().map(|[f, tau]| f.atan2(*tau).to_degrees()).collect();
        let distance = points.iter().map(|[f, tau]| (f.hypot(*tau) - 1.0).abs()).fold(0.0, f64::max);
        let turned = at.iter().zip(&degrees).map(|(a, d)| (a - d).abs()).fold(0.0, f64::max);
        (farthest, widest) = (farthest.max(distance), widest.min(turned));
        item.tell(format!("{name}: largest distance from the ellipse"), distance);
        item.tell(format!("{name}: largest angle between the wrenches [deg]"), turned);
        table.row([name.to_owned(), format!("{distance:.3}"), format!("{turned:.1}")]);
        let [x, y] = columns(&points);
        let [mx, my] = marks(&points);
        chart = chart.line(Line::new(colour, &x, &y).label(name)).line(Line::new(colour, &mx, &my).dots());
        shift = shift.line(Line::new(colour, &degrees, &at).label(name));
        item.columns.push((format!("{name} f"), x));
        item.columns.push((format!("{name} tau"), y));
    }
    item.claims("largest distance of any curve from the ellipse", farthest, AtMost(0.25));
    item.claims("angle by which motions land elsewhere, least of all curves [deg]", widest, AtLeast(4.0));
    item.measured = format!(
        "Every curve is within {:.0} % of the ellipse, but a motion's wrench lies up to {widest:.0}\u{b0} \
         and more from where it lies on the ellipse.",
        100.0 * farthest
    );
    item.pictures.push(Picture::new(
        vec![chart.svg(), shift.svg()],
        "Each divided by its own torque of pure rotation, so that the ellipse is one for all.",
    ));
    item.tables.push(table);
    item.parameters = format!("Coulomb friction, {n} x {n} cells, exact integrals");
    Ok(item)
}

fn body() -> Result<Item, Error> {
    let mut item = Item::new(
        "fig15",
        "Figure 15: limit surface of the line gradient",
        "The normalised limit surface of a line with falling pressure looks much like an ellipsoid.",
    );
    let patch = patch(21, Shape::LineGradient)?;
    let surface = Surface::new(&patch, Rule::Cells);
    let table = LimitTable::of(&surface, 20)?;
    let (_, error) = Ellipsoid::fit(&surface);
    let largest = table.nodes().iter().flatten().fold(0.0f64, |m, h| m.max(h.abs()));
    item.claims("largest component of h", largest, AtMost(1.0 + 1e-12));
    item.claims("largest power of friction over all look-ups, unit motion", table.passivity(3).largest, AtMost(0.0));
    item.tell("ellipsoid: largest distance of a wrench", error.max);
    item.tell("ellipsoid: largest angle to a wrench [deg]", error.max_angle.to_degrees());
    item.measured = format!(
        "The surface is closed, convex and inside the unit box; but for a given motion the ellipsoid's \
         wrench is off by up to {:.0} % and {:.0}\u{b0}.",
        100.0 * error.max,
        error.max_angle.to_degrees()
    );
    let circle: Vec<[f64; 2]> = (0..=180).map(|d| (f64::from(d) * 2.0).to_radians().sin_cos().into()).collect();
    let section = |axis: usize| {
        let points = outline(&table, axis, 1 - axis);
        let close = |p: &[[f64; 2]], c: usize| p.iter().chain(p.first()).map(|q| q[c]).collect::<Vec<f64>>();
        let name = ["x", "y"][axis];
        Chart::new(
            format!("Section through f{name} and \u{3c4}"),
            format!("f{name} / (\u{3bc} fN)"),
            "\u{3c4} / (\u{3bc} fN r)",
        )
        .equal()
        .x_range(-1.2, 1.2)
        .y_range(-1.2, 1.2)
        .height(400.0)
        .line(Line::new(palette::ELLIPSOID, &close(&circle, 0), &close(&circle, 1)).dashed().label("ellipsoid"))
        .line(Line::new(palette::SURFACE, &close(&points, 0), &close(&points, 1)).label("limit surface"))
        .svg()
    };
    item.pictures.push(Picture::new(
        vec![solid(&table), section(0), section(1)],
        "Dots on the body: motions six degrees apart.",
    ));
    for (c, name) in ["fx", "fy", "tau_over_r"].into_iter().enumerate() {
        item.columns.push((name.into(), table.nodes().iter().map(|h| h[c]).collect()));
    }
    item.parameters = "line gradient of 21 cells over 20 mm, exact integrals, N_ls = 20".into();
    Ok(item)
}

/// The centre of rotation without tangential force: where the dissipated power per rotation is least.
fn balance(surface: &Surface) -> [f64; 2] {
    // The force at rotation about C is the gradient of the convex mean distance to C: damped fixed point
    // steps.
    let unit = surface.radius();
    let mut c = [0.0; 2];
    for _ in 0..400 {
        // Rotation with w = 1 about c, relative to the centre of pressure.
        let w = surface.coulomb(Twist::new(c[1], -c[0], 1.0));
        c = [c[0] - 0.3 * unit * w.fy, c[1] + 0.3 * unit * w.fx];
    }
    c
}

fn no_force() -> Result<Item, Error> {
    let mut item = Item::new(
        "fig16",
        "Figure 16: where a rotation gives no force",
        "The centre of rotation without tangential force is not the centre of pressure; on a line it has \
         equal pressure on either side.",
    );
    let mut panels = Vec::new();
    let mut told = Vec::new();
    for (name, shape) in [("line gradient", Shape::LineGradient), ("non-convex 2", Shape::NonConvex2)] {
        let patch = patch(21, shape)?;
        let surface = Surface::new(&patch, Rule::Cells);
        let (cop, found) = (patch.cop(), balance(&surface));
        let left = surface.coulomb(Twist::new(found[1], -found[0], 1.0));
        let at = [cop[0] + found[0], cop[1] + found[1]];
        let apart = found[0].hypot(found[1]);
        item.claims(format!("{name}: distance of the two points [mm]"), 1e3 * apart, AtLeast(0.1));
        item.compare(format!("{name}: force left over [-]"), left.fx.hypot(left.fy), AtMost(1e-6));
        if shape == Shape::LineGradient {
            let split = median(&patch);
            item.claims(
                "line gradient: distance from the median of the pressure [mm]",
                1e3 * (at[1] - split).abs(),
                AtMost(0.02),
            );
        }
        told.push(format!("{:.2} mm ({name})", 1e3 * apart));
        panels.push(heat_marked(
            name,
            "\u{25cb} centre of pressure, + no force",
            21,
            patch.weights(),
            palette::GRID,
            &[([cop[0] / SIDE, cop[1] / SIDE], "\u{25cb}"), ([at[0] / SIDE, at[1] / SIDE], "+")],
        ));
        item.columns.push((format!("{name}: cop_x, cop_y, p_x, p_y [m]"), vec![cop[0], cop[1], at[0], at[1]]));
    }
    item.measured = format!("They are {} apart; on the line half the pressure is on either side.", told.join(" and "));
    item.pictures.push(Picture::new(panels, ""));
    item.parameters = "21 x 21 cells over 20 mm, exact integrals".into();
    Ok(item)
}

/// Height [m] with half of the pressure of a column of cells below it.
fn median(patch: &Patch) -> f64 {
    let mut below = 0.0;
    for cell in patch.cells() {
        if below + cell.w >= 0.5 {
            return cell.y + patch.grid().dy * ((0.5 - below) / cell.w - 0.5);
        }
        below += cell.w;
    }
    f64::NAN
}
