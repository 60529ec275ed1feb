//! How well Coulomb friction predicts measured pushes: `cargo run --release --example real_pushes -- FOLDER`.
//!
//! FOLDER holds `supports.csv` (set, x, y, normal force, mu) and one CSV a set with the displacement of the
//! centre of mass and the mean wrench of the pusher, both in the body frame at the centre of mass: the pushes
//! of Zhou, Paolini, Bagnell & Mason, ICRA 2016, averaged. Prints the median and the 90th percentile of the
//! angle between the measured and the predicted wrench `(fx, fy, tau/0.05 m)`, per set and per layout of the
//! supports (a layout was pushed on two surfaces): without a fit, each support a square of one grid cell with
//! its normal force from statics, and with the load distribution over the five cells around every support
//! fitted, friction included, on every other push of a layout and judged on the rest, both ways round.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use bristle::limit_surface::{Rule, Surface};
use bristle::patch::{Grid, Patch};
use bristle::planar::Twist;
use nalgebra::{DMatrix, DVector, Matrix3xX, Vector3};

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

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Reads `folder` and predicts every push: angles by set, named `surface_layout`.
pub fn angles(folder: &Path) -> Result<BTreeMap<String, Angles>> {
    let mut supports: BTreeMap<String, Vec<[f64; 4]>> = BTreeMap::new();
    for row in csv::Reader::from_path(folder.join("supports.csv"))?.deserialize() {
        let (set, x, y, normal, mu): (String, f64, f64, f64, f64) = row?;
        supports.entry(set).or_default().push([x, y, normal, mu]);
    }
    let mut layouts: BTreeMap<&str, Vec<Push>> = BTreeMap::new();
    let mut statics: BTreeMap<&str, [DVector<f64>; 2]> = BTreeMap::new();
    for (set, supports) in &supports {
        let weight: f64 = supports.iter().map(|s| s[2]).sum();
        let surfaces = supports.iter().flat_map(around).map(cell).collect::<Result<Vec<_>>>()?;
        let share = |k: usize, centre: f64, side: f64| {
            supports[k / 5][2] / weight * if k.is_multiple_of(5) { centre } else { side }
        };
        let loads = |centre, side| DVector::from_fn(surfaces.len(), |k, _| share(k, centre, side));
        statics.insert(layout(set), [loads(1.0, 0.0), loads(0.2, 0.2)]);
        for row in csv::Reader::from_path(folder.join(format!("{set}.csv")))?.deserialize() {
            let (dx, dy, turn, fx, fy, tau, _samples): (f64, f64, f64, f64, f64, f64, f64) = row?;
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
fn cell([i, j]: [i64; 2]) -> Result<Surface> {
    let side = SIDE as f64 * PITCH;
    let mut map = vec![0.0; SIDE * SIDE];
    *map.get_mut((j * SIDE as i64 + i) as usize).ok_or("a support is off the grid")? = 1.0;
    Ok(Surface::new(&Patch::from_pressure(Grid::new(SIDE, SIDE, side, side)?, &map)?, Rule::Cells))
}

/// The `q`-quantile of `values`, between neighbours.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = q * (sorted.len() - 1) as f64;
    let (i, t) = (at as usize, at.fract());
    sorted[i] * (1.0 - t) + sorted[(i + 1).min(sorted.len() - 1)] * t
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

/// Prints medians and 90th percentiles.
pub fn print(angles: &BTreeMap<String, Angles>) {
    println!("{:44} {:>6} {:>7} {:>7} {:>7} {:>7}", "angle [deg]", "pushes", "statics", "90 %", "fitted", "90 %");
    for (name, a) in angles {
        let [s, s90, f, f90] =
            [(&a.statics, 0.5), (&a.statics, 0.9), (&a.fitted, 0.5), (&a.fitted, 0.9)].map(|(v, q)| quantile(v, q));
        println!("{name:44} {:6} {s:7.2} {s90:7.2} {f:7.2} {f90:7.2}", a.statics.len());
    }
}

#[allow(dead_code, reason = "the test of the same name includes this file for the functions above")]
fn main() -> Result<()> {
    let folder = std::env::args().nth(1).ok_or("usage: real_pushes FOLDER")?;
    let sets = angles(Path::new(&folder))?;
    print(&sets);
    print(&by_layout(&sets));
    Ok(())
}
