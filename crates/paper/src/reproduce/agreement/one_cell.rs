//! The margin of a friction cone equals the margin of the limit surface of one cell.

use super::super::context::{Context, Error};
use super::super::item::{Item, Wanted::AtMost};
use super::task;
use crate::page::{Chart, Line, Picture, palette};
use bristle::limit_surface::{Rule, Surface};
use bristle::planar::Wrench;
use bristle::random::Draw;
use bristle_rigid::cone::{Cone, ContactFrame, Fit, Polygon, Section};
use std::f64::consts::TAU;

const SIDES: usize = 8;

pub(super) fn item(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "one_cell",
        "A friction cone is the limit surface of one cell",
        "With k the largest factor by which the limit surface of one cell lets a tangential load grow, the margin of \
         the circular cone is (1 - 1/k) mu f_n. The factors of the inner and of the outer pyramid are on either side \
         of k.",
    );
    let surface = Surface::new(&*task::disc(1)?, Rule::Points);
    let polygon = |fit| Section::Polygon(Polygon { sides: SIDES, fit, angle: 0.0 });
    let (mut apart, mut inner_over, mut over_outer) = (0.0f64, 0.0f64, 0.0f64);
    for n in 0..context.full_or(10_000, 1000) {
        let draw = Draw::new(24, n);
        let (mu, f_n) = (draw.uniform("mu") + 0.01, 10.0 * draw.uniform("f_n") + 0.01);
        let angle = TAU * draw.uniform("angle");
        let size = 2.0 * mu * f_n * draw.uniform("size");
        let force = [size * angle.cos(), size * angle.sin(), f_n];
        let k = surface.margin(Wrench::new(force[0], force[1], 0.0), mu, f_n)?.factor;
        let margin = |section| Ok::<f64, Error>(Cone::new(section, mu, ContactFrame::identity())?.margin(force));
        apart = apart.max((margin(Section::Circle)? / (mu * f_n) - (1.0 - 1.0 / k)).abs());
        let [inner, outer] = [Fit::Inner, Fit::Outer].map(|fit| reach(&polygon(fit), angle));
        inner_over = inner_over.max(inner? * mu * f_n / size / k);
        over_outer = over_outer.max(k / (outer? * mu * f_n / size));
    }
    item.claims("largest difference of the margins over mu f_n", apart, AtMost(1e-12));
    item.claims("factor of the inner pyramid over k, largest", inner_over, AtMost(1.0 + 1e-12));
    item.claims("k over the factor of the outer pyramid, largest", over_outer, AtMost(1.0 + 1e-12));
    item.measured = format!("The margins differ by {apart:.0e} of mu f_n.");
    let angles: Vec<f64> = (0..=360).map(f64::from).collect();
    let every = |by: usize, of: &dyn Fn(f64) -> Result<f64, Error>| -> Result<[Vec<f64>; 2], Error> {
        let chosen: Vec<f64> = angles.iter().copied().step_by(by).collect();
        let values = chosen.iter().map(|a| of(a.to_radians())).collect::<Result<_, _>>()?;
        Ok([chosen, values])
    };
    let of_surface = |a: f64| Ok(surface.margin(Wrench::new(a.cos(), a.sin(), 0.0), 1.0, 1.0)?.factor);
    let mut chart = Chart::new("Largest friction", "direction [\u{b0}]", "over mu f_n");
    for (section, name, colour) in [
        (polygon(Fit::Inner), "inner pyramid", palette::OTHER),
        (Section::Circle, "cone", palette::GRID),
        (polygon(Fit::Outer), "outer pyramid", palette::ELLIPSOID),
    ] {
        let [x, y] = every(1, &|a| reach(&section, a))?;
        chart = chart.line(Line::new(colour, &x, &y).label(name));
    }
    let [x, y] = every(15, &of_surface)?;
    chart = chart.line(Line::new(palette::SURFACE, &x, &y).dots().label("one cell"));
    item.pictures.push(Picture::new(vec![chart.svg()], format!("Pyramids of {SIDES} sides.")));
    item.parameters = "Random coefficients, normal forces and loads from zero to twice the friction".into();
    Ok(item)
}

/// The largest friction over `mu f_n` of a cone in a direction [rad]: its margin is linear in the load along
/// a face, so that two values of it give the root.
fn reach(section: &Section, angle: f64) -> Result<f64, Error> {
    let cone = Cone::new(*section, 1.0, ContactFrame::identity())?;
    let [at_rest, loaded] = [0.0, 1.0].map(|size| cone.margin([size * angle.cos(), size * angle.sin(), 1.0]));
    Ok(at_rest / (at_rest - loaded))
}
