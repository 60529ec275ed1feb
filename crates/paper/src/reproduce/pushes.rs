//! Measured pushes against Coulomb friction on the supports' limit surface, when their folder is given.

mod judge;
mod plate;

use std::collections::BTreeMap;

pub use judge::{Errors, Fit, Judged, Judgement, by_layout, judge, layout};

use super::context::{Context, Error};
use super::item::{Item, Wanted::AtMost};
use crate::page::{Chart, Picture, Table, palette};
use bristle_data::statistics::{mean, quantile};

pub(super) const IDS: &[&str] = &["pushes"];

/// Largest median angle [deg] that is expected without a fit, by layout of the supports in the order of their
/// names.
const MEDIAN: [f64; 4] = [10.7, 9.5, 19.7, 12.6];

/// Three digits.
fn digits(x: f64) -> String {
    format!("{x:.3}")
}

/// The fitted coefficients of friction of each surface.
pub fn friction_of(fits: &[Fit]) -> BTreeMap<String, Vec<f64>> {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (surface, mu) in fits.iter().flat_map(|fit| &fit.friction) {
        all.entry(surface.clone()).or_default().push(*mu);
    }
    all
}

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    let Some(folder) = &context.pushes else { return Ok(Vec::new()) };
    let Judgement { sets, fits } = judge(folder)?;
    let layouts = by_layout(&sets);
    let mut item = Item::new(
        "pushes",
        "Measured pushes",
        "Ours: Coulomb friction on the limit surface of the supports predicts the direction of measured \
         wrenches, and with the coefficient of friction and the height of the push fitted on half of the \
         pushes it predicts the other half better.",
    );
    let mut table = Table::new(
        "Angle between measured and predicted wrench (fx, fy, \u{3c4}/50 mm) [\u{b0}], and error of its size [%]",
        &["pushes", "count", "statics: median", "90 %", "size", "fitted: median", "90 %", "size"],
    );
    for (name, judged) in sets.iter().chain(&layouts) {
        let mut row = vec![name.clone(), judged.statics.angle.len().to_string()];
        for Errors { angle, size } in [&judged.statics, &judged.fitted] {
            let numbers = [quantile(angle, 0.5), quantile(angle, 0.9), 100.0 * quantile(size, 0.5)];
            row.extend(numbers.map(|number| format!("{number:.1}")));
        }
        table.row(row);
    }
    let mut chart = Chart::new("Angle by layout, statics and fitted", "", "angle [\u{b0}]").height(330.0);
    let (mut before, mut after, mut better) = (0.0, 0.0, 0);
    for (k, (name, Judged { statics, fitted })) in layouts.iter().enumerate() {
        let medians = [statics, fitted].map(|e| quantile(&e.angle, 0.5));
        if let Some(limit) = MEDIAN.get(k) {
            item.claims(format!("layout {name}: median, statics [deg]"), medians[0], AtMost(*limit));
        }
        item.tell(format!("layout {name}: median, fitted [deg]"), medians[1]);
        let ratio = |of: fn(&[f64]) -> f64| of(&fitted.angle) / of(&statics.angle);
        item.claims(format!("layout {name}: mean, fitted over statics"), ratio(mean), AtMost(1.0));
        let far = ratio(|angles| quantile(angles, 0.9));
        item.claims(format!("layout {name}: 90th percentile, fitted over statics"), far, AtMost(1.0));
        (before, after) = (before + medians[0] / layouts.len() as f64, after + medians[1] / layouts.len() as f64);
        better += usize::from(medians[1] < medians[0]);
        chart = chart.boxed(format!("{}", k + 1), palette::OTHER, statics.angle.clone()).boxed(
            " ",
            palette::SURFACE,
            fitted.angle.clone(),
        );
        for (kind, errors) in [("statics", statics), ("fitted", fitted)] {
            item.columns.push((format!("{name}_{kind}_deg"), errors.angle.clone()));
            item.columns.push((format!("{name}_{kind}_size"), errors.size.clone()));
        }
    }
    item.claims("mean of the medians: fitted over statics", after / before, AtMost(0.92));
    let all = |pick: fn(&Judged) -> &Errors| sets.values().flat_map(|j| pick(j).size.clone()).collect::<Vec<_>>();
    let sizes = [all(|j| &j.statics), all(|j| &j.fitted)].map(|s| quantile(&s, 0.5));
    item.claims("median error of size: fitted over statics", sizes[1] / sizes[0], AtMost(0.8));
    let heights: Vec<f64> = fits.iter().map(|f| 1e3 * f.height).collect();
    let height = mean(&heights);
    let mut told = Table::new("Means of the fits, with intervals of 90 %", &["", "value", "from", "to"]);
    let mut tell = |name: String, values: &[f64]| {
        let [low, high] = [0.05, 0.95].map(|q| quantile(values, q));
        item.tell(name.clone(), mean(values));
        item.tell(format!("{name}: 5 %"), low);
        item.tell(format!("{name}: 95 %"), high);
        told.row(vec![name, digits(mean(values)), digits(low), digits(high)]);
    };
    tell("height of the push [mm]".into(), &heights);
    for (surface, friction) in friction_of(&fits) {
        tell(format!("coefficient of friction, {surface}"), &friction);
    }
    item.measured = format!(
        "The median angle is {before:.1} degrees with the loads of a plate at rest and {after:.1} with \
         fitted ones (mean of the layouts; better in {better} of {}), the median error of size {:.1} % and \
         {:.1} %. The fitted height of the push is {height:.0} mm.",
        layouts.len(),
        100.0 * sizes[0],
        100.0 * sizes[1],
    );
    item.note = "A push above the surface moves load to the supports that lie ahead, the more the closer \
     they stand: far apart the angles hardly change. Intervals are quantiles of fits to random halves: these \
     vary about the fit to all pushes as much as that varies about the truth."
        .into();
    item.pictures.push(Picture::new(
        vec![chart.svg()],
        "Grey: loads of a plate at rest; orange: fitted on other pushes. Layouts in the order of the table.",
    ));
    item.tables.push(table);
    item.tables.push(told);
    item.parameters = "pushes of Zhou, Paolini, Bagnell & Mason, ICRA 2016, averaged; exact cells; each push \
     judged by fits to random halves without it"
        .into();
    Ok(vec![item])
}
