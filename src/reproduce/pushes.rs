//! Measured pushes against Coulomb friction on the supports' limit surface, when their folder is given.

use std::collections::BTreeMap;
use std::path::Path;

use nalgebra::{DMatrix, DVector, Matrix3xX, Vector3};

use super::context::{Context, Error};
use super::item::{Item, Wanted};
use crate::limit_surface::{Rule, Surface};
use crate::page::{Chart, Picture, Table, ink};
use crate::patch::{Grid, Patch};
use crate::planar::Twist;
use crate::statistics::quantile;

pub(super) const IDS: &[&str] = &["pushes"];

/// Largest median angle [deg] that is expected without a fit, by layout of the supports in the order of their names.
const MEDIAN: [f64; 4] = [10.7, 9.5, 19.7, 12.6];

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    let Some(folder) = &context.pushes else { return Ok(Vec::new()) };
    let start = std::time::Instant::now();
    let sets = angles(folder)?;
    let layouts = by_layout(&sets);
    let mut item = Item::new(
        "pushes",
        "Measured pushes",
        "Ours: Coulomb friction on the limit surface of the supports predicts the direction of measured wrenches, and a load distribution fitted on half of the pushes predicts the other half better.",
    );
    let mut table = Table::new(
        "Angle between measured and predicted wrench (fx, fy, \u{3c4}/50 mm) [\u{b0}]",
        &["pushes", "count", "statics: median", "90 %", "fitted: median", "90 %"],
    );
    for (name, a) in sets.iter().chain(&layouts) {
        let text = |v: &[f64], q: f64| format!("{:.1}", quantile(v, q));
        table.row([
            name.clone(),
            format!("{}", a.statics.len()),
            text(&a.statics, 0.5),
            text(&a.statics, 0.9),
            text(&a.fitted, 0.5),
            text(&a.fitted, 0.9),
        ]);
    }
    let mut chart = Chart::new("Angle by layout, statics and fitted", "", "angle [\u{b0}]").height(330.0);
    let (mut before, mut after) = (0.0, 0.0);
    for (k, (name, a)) in layouts.iter().enumerate() {
        let (statics, fitted) = (quantile(&a.statics, 0.5), quantile(&a.fitted, 0.5));
        if let Some(limit) = MEDIAN.get(k) {
            item.claims(format!("layout {name}: median, statics [deg]"), statics, Wanted::AtMost(*limit));
        }
        item.tell(format!("layout {name}: median, fitted [deg]"), fitted);
        (before, after) = (before + statics / layouts.len() as f64, after + fitted / layouts.len() as f64);
        chart =
            chart.boxed(format!("{}", k + 1), ink::OTHER, a.statics.clone()).boxed(" ", ink::SURFACE, a.fitted.clone());
        item.columns.push((format!("{name}_statics_deg"), a.statics.clone()));
        item.columns.push((format!("{name}_fitted_deg"), a.fitted.clone()));
    }
    item.claims("mean of the medians: fitted over statics", after / before, Wanted::AtMost(1.0));
    item.measured = format!(
        "The median angle is {before:.1} degrees with loads from statics and {after:.1} with fitted ones (mean of the layouts)."
    );
    item.pictures.push(Picture::new(
        vec![chart.svg()],
        "Grey: loads from statics; orange: fitted on the other half. Layouts in the order of the table.",
    ));
    item.tables.push(table);
    item.parameters = "pushes of Zhou, Paolini, Bagnell & Mason, ICRA 2016, averaged; exact cells".into();
    item.seconds = start.elapsed().as_secs_f64();
    Ok(vec![item])
}

/// Length by which torques are divided [m].
const ARM: f64 = 0.05;
/// Pitch of the grid on which all supports lie [m].
const PITCH: f64 = 0.02 / 3.0;
/// Cells of the grid's side; odd, so that the middle cell's centre is the centre of mass.
const SIDE: usize = 27;
/// Weight of the loads of statics against the pushes in the fit [-].
const PRIOR: f64 = 1.0;
/// Times that the weights of the pushes are made anew in the fit.
const ROUNDS: usize = 8;

/// Angles [deg] between measured and predicted wrenches.
#[derive(Clone, Debug, Default)]
pub struct Angles {
    /// With normal forces from statics.
    pub statics: Vec<f64>,
    /// With a load distribution fitted on the other half of the pushes.
    pub fitted: Vec<f64>,
}

struct Push {
    set: String,
    /// Wrench that a unit of normal force on each cell would take, one column a cell.
    columns: Matrix3xX<f64>,
    /// Measured, over `mu f_N`.
    load: Vector3<f64>,
}

/// Reads `folder` and predicts every push: angles by set, named `surface_layout`.
///
/// `folder` holds `supports.csv` (set, x, y, normal force, mu) and one CSV a set with the displacement of the
/// centre of mass and the mean wrench of the pusher, both in the body frame at the centre of mass. `statics` has
/// each support as a square of one grid cell with its normal force from statics; `fitted` the load distribution
/// over the five cells around every support, friction included, fitted on every other push of a layout and judged
/// on the rest, both ways round.
///
/// # Errors
/// A file that cannot be read, or a support off the grid.
pub fn angles(folder: &Path) -> Result<BTreeMap<String, Angles>, Error> {
    let wrong = |name: &str| {
        let path = folder.join(name);
        move |e: csv::Error| Error::Pushes { path: path.clone(), reason: e.to_string() }
    };
    let mut supports: BTreeMap<String, Vec<[f64; 4]>> = BTreeMap::new();
    for row in csv::Reader::from_path(folder.join("supports.csv")).map_err(wrong("supports.csv"))?.deserialize() {
        let (set, x, y, normal, mu): (String, f64, f64, f64, f64) = row.map_err(wrong("supports.csv"))?;
        supports.entry(set).or_default().push([x, y, normal, mu]);
    }
    let mut layouts: BTreeMap<&str, Vec<Push>> = BTreeMap::new();
    let mut statics: BTreeMap<&str, [DVector<f64>; 2]> = BTreeMap::new();
    for (set, supports) in &supports {
        let weight: f64 = supports.iter().map(|s| s[2]).sum();
        let surfaces = supports.iter().flat_map(around).map(cell).collect::<Result<Vec<_>, _>>()?;
        let file = format!("{set}.csv");
        let share = |k: usize, centre: f64, side: f64| {
            supports[k / 5][2] / weight * if k.is_multiple_of(5) { centre } else { side }
        };
        let loads = |centre, side| DVector::from_fn(surfaces.len(), |k, _| share(k, centre, side));
        statics.insert(layout(set), [loads(1.0, 0.0), loads(0.2, 0.2)]);
        for row in csv::Reader::from_path(folder.join(&file)).map_err(wrong(&file))?.deserialize() {
            let (dx, dy, turn, fx, fy, tau, _samples): (f64, f64, f64, f64, f64, f64, f64) =
                row.map_err(wrong(&file))?;
            // The wrench is a mean over the push in the moving body's frame, the displacement one of its first
            // frame: the steady twist that makes it is seen from half-way, turned back by half the angle.
            let (sin, cos) = (-0.5 * turn).sin_cos();
            let twist = Twist::new(cos * dx - sin * dy, sin * dx + cos * dy, turn);
            let column = |s: &Surface| {
                let w = s.wrench_at_origin(twist, 1.0, 1.0);
                -Vector3::new(w.fx, w.fy, w.tau / ARM)
            };
            let columns = Matrix3xX::from_columns(&surfaces.iter().map(column).collect::<Vec<_>>());
            let load = Vector3::new(fx, fy, tau / ARM) / (supports[0][3] * weight);
            layouts.entry(layout(set)).or_default().push(Push { set: set.clone(), columns, load });
        }
    }
    let mut out: BTreeMap<String, Angles> = BTreeMap::new();
    for (layout, pushes) in &layouts {
        let [on_supports, around_them] = &statics[layout];
        let halves = [0, 1].map(|half| fit(pushes.iter().skip(half).step_by(2), around_them));
        for (i, push) in pushes.iter().enumerate() {
            let angle = |loads: &DVector<f64>| (&push.columns * loads).angle(&push.load).to_degrees();
            let angles = out.entry(push.set.clone()).or_default();
            angles.statics.push(angle(on_supports));
            angles.fitted.push(angle(&halves[1 - i % 2]));
        }
    }
    Ok(out)
}

/// The name of a set without the surface it was pushed on.
pub fn layout(set: &str) -> &str {
    set.split_once('_').map_or(set, |(_, layout)| layout)
}

/// Non-negative loads with the least sum of residuals, drawn towards `prior`: least squares whose weights follow
/// the residuals, as a push that stuck or tipped would else decide.
fn fit<'a>(pushes: impl Iterator<Item = &'a Push>, prior: &DVector<f64>) -> DVector<f64> {
    let pushes: Vec<&Push> = pushes.collect();
    let mut weights = vec![1.0; pushes.len()];
    let mut loads = DVector::zeros(0);
    for _ in 0..ROUNDS {
        loads = least_squares(&pushes, &weights, prior);
        let residual = |p: &&Push| (&p.columns * &loads - p.load).norm() / p.load.norm();
        let residuals: Vec<f64> = pushes.iter().map(residual).collect();
        let usual = quantile(&residuals, 0.5);
        weights = residuals.iter().map(|r| 1.0 / (r / usual).max(0.2)).collect();
    }
    loads
}

/// Least squares for non-negative loads, drawn towards `prior`.
fn least_squares(pushes: &[&Push], weights: &[f64], prior: &DVector<f64>) -> DVector<f64> {
    let n = prior.len();
    let (mut gram, mut rhs) = (DMatrix::zeros(n, n), DVector::zeros(n));
    for (Push { columns, load, .. }, weight) in pushes.iter().zip(weights) {
        let weight = weight / load.norm_squared();
        gram += columns.transpose() * columns * weight;
        rhs += columns.transpose() * load * weight;
    }
    let scale = prior.dot(&rhs) / prior.dot(&(&gram * prior));
    let strength = PRIOR * weights.iter().sum::<f64>();
    for k in 0..n {
        gram[(k, k)] += strength / prior[k];
        rhs[k] += strength * scale;
    }
    // Gauss & Seidel with the bound; the prior makes the matrix well conditioned.
    let mut loads = prior * scale;
    for _ in 0..500 {
        for k in 0..n {
            let rest = gram.row(k).transpose().dot(&loads) - gram[(k, k)] * loads[k];
            loads[k] = ((rhs[k] - rest) / gram[(k, k)]).max(0.0);
        }
    }
    loads
}

/// The cell of a support and its four neighbours, as columns and rows.
fn around(&[x, y, ..]: &[f64; 4]) -> [[i64; 2]; 5] {
    let [i, j] = [x, y].map(|c| (c / PITCH).round() as i64 + SIDE as i64 / 2);
    [[i, j], [i - 1, j], [i + 1, j], [i, j - 1], [i, j + 1]]
}

/// The surface of one loaded cell.
fn cell([i, j]: [i64; 2]) -> Result<Surface, Error> {
    let side = SIDE as f64 * PITCH;
    let mut map = vec![0.0; SIDE * SIDE];
    let at = |i: i64| usize::try_from(i).ok().filter(|i| *i < SIDE);
    let (Some(i), Some(j)) = (at(i), at(j)) else {
        let reason =
            format!("a support is off the grid: expected all within {:.3} m of the centre", 0.5 * side - PITCH);
        return Err(Error::Pushes { path: "supports.csv".into(), reason });
    };
    map[j * SIDE + i] = 1.0;
    Ok(Surface::new(&Patch::from_pressure(Grid::new(SIDE, SIDE, side, side)?, &map)?, Rule::Cells))
}

/// Angles of the sets of one layout together.
pub fn by_layout(sets: &BTreeMap<String, Angles>) -> BTreeMap<String, Angles> {
    let mut out: BTreeMap<String, Angles> = BTreeMap::new();
    for (set, angles) in sets {
        let all = out.entry(layout(set).to_owned()).or_default();
        all.statics.extend(&angles.statics);
        all.fitted.extend(&angles.fitted);
    }
    out
}
