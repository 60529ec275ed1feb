//! Figs. 8 and 33: pressure maps.

use super::context::{Context, Error};
use super::item::Item;
use super::item::Wanted::{AtLeast, Near};
use crate::page::{Picture, Table, heat, palette};
use bristle::patch::{Exponent, Grid, Hertz, Patch, Shape};

pub(super) const IDS: &[&str] = &["fig8", "fig33"];

const N: usize = 21;
const SIDE: f64 = 0.02;

/// Name, shape, and cells that carry pressure by the definition.
const MAPS: [(&str, Shape, usize); 6] = [
    ("square", Shape::Square, 441),
    ("circle", Shape::Circle, 317),
    ("line", Shape::Line, 21),
    ("line gradient", Shape::LineGradient, 21),
    ("non-convex 1", Shape::NonConvex1, 18),
    ("non-convex 2", Shape::NonConvex2, 84),
];

pub(super) fn run(_context: &Context<'_>) -> Result<Vec<Item>, Error> {
    Ok(vec![shapes()?, under_force()?])
}

fn grid() -> Result<Grid, Error> {
    Ok(Grid::new(N, N, SIDE, SIDE)?)
}

fn row(table: &mut Table, name: String, patch: &Patch) {
    let [x, y] = patch.cop().map(|c| (1e6 * c).round() / 1e3 + 0.0);
    table.row([
        name,
        format!("{}", patch.cells().len()),
        format!("{:.4}", 1e3 * patch.radius()),
        format!("{:.4}", 1e6 * patch.viscous()),
        format!("{x:.3}, {y:.3}"),
    ]);
}

const HEAD: [&str; 5] = ["map", "cells", "r [mm]", "u [mm\u{b2}]", "centre of pressure [mm]"];

fn shapes() -> Result<Item, Error> {
    let mut item = Item::new("fig8", "Figure 8: pressure maps", "Six maps on a grid of 21 x 21 cells.");
    let mut table = Table::new("Torsional radius r, eq. (25), and viscous factor u, eq. (29)", &HEAD);
    let mut panels = Vec::new();
    for (name, shape, cells) in MAPS {
        let patch = Patch::shape(grid()?, shape)?;
        panels.push(heat(name, &format!("{} cells", patch.cells().len()), N, patch.weights(), palette::GRID));
        item.claims(format!("{name}: cells with pressure"), patch.cells().len() as f64, Near(cells as f64, 0.0));
        item.compare(format!("{name}: sum of the shares"), patch.weights().iter().sum(), Near(1.0, 1e-12));
        item.columns.push((name.to_owned(), patch.weights().to_vec()));
        row(&mut table, name.into(), &patch);
    }
    item.measured = "The maps have the cells that their definitions ask for; the circle of 21 cells has the \
     area of one of radius 9.57 mm, not 10 mm (see the errata)."
        .into();
    item.pictures.push(Picture::new(panels, "Share of the normal force of each cell; darker is more."));
    item.tables.push(table);
    item.parameters = "21 x 21 cells over 20 mm".into();
    Ok(item)
}

fn under_force() -> Result<Item, Error> {
    let mut item = Item::new(
        "fig33",
        "Figure 33: maps that follow the normal force",
        "A larger normal force makes the patch larger, with the same profile (k = 2) or a flatter one (k = 2 f_N).",
    );
    let mut table = Table::new("Eq. (46)", &HEAD);
    let mut panels = Vec::new();
    let mut radii = Vec::new();
    for (name, exponent) in [("k = 2", Exponent::Fixed(2.0)), ("k = 2 fN", Exponent::PerNewton(2.0))] {
        for f_n in [0.82, 1.73, 2.64] {
            let patch = Patch::hertz(grid()?, Hertz { radius: 6.0, exponent }, f_n)?;
            let title = format!("{name}, {f_n} N");
            panels.push(heat(
                &title,
                &format!("r = {:.3} mm", 1e3 * patch.radius()),
                N,
                patch.weights(),
                palette::GRID,
            ));
            row(&mut table, title.clone(), &patch);
            radii.push(patch.radius());
            item.columns.push((title, patch.weights().to_vec()));
        }
    }
    item.claims("k = 2: r at 2.64 N over r at 0.82 N", radii[2] / radii[0], AtLeast(1.2));
    item.claims("k = 2 fN: r at 2.64 N over r at 0.82 N", radii[5] / radii[3], AtLeast(1.2));
    item.claims("2.64 N: r with k = 2 fN over r with k = 2", radii[5] / radii[2], AtLeast(1.01));
    item.measured = format!(
        "From 0.82 N to 2.64 N the torsional radius grows by a factor {:.2} (k = 2) and {:.2} (k = 2 f_N).",
        radii[2] / radii[0],
        radii[5] / radii[3]
    );
    item.pictures.push(Picture::new(
        panels,
        "The least, mean and greatest normal force of the in-hand runs of Figs. 34 and 35.",
    ));
    item.tables.push(table);
    item.parameters = "a = 6 f_N^(1/3) cells; 21 x 21 cells over 20 mm".into();
    Ok(item)
}
