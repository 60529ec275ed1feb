//! A plate on three supports, pushed above the surface: its friction by Coulomb, and measured pushes of it.

use std::path::Path;

use nalgebra::{Matrix3, Vector3};

use super::super::context::Error;
use bristle::limit_surface::{Rule, Surface};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::Twist;
use bristle_scenario::input::{self, InputError};

/// Length by which torques are divided [m].
const ARM: f64 = 0.05;
/// Side of the square on which a support touches [m]; assumed, the data do not say.
const SIDE: f64 = 0.02 / 3.0;

/// One measured push. Wrenches are those of the pusher at the centre of mass, over the weight, torques over
/// [`ARM`] too, in the body frame.
pub struct Push {
    /// Surface and layout of the supports, `surface_layout`.
    pub set: String,
    /// The measured wrench [-].
    pub measured: Vector3<f64>,
    /// Coefficient of friction that comes with the data [-].
    pub mu: f64,
    /// A column for each support: the wrench that it takes alone, under the whole load and `mu = 1` [-].
    columns: Matrix3<f64>,
    /// Balance of the loads: rows one, x and y of the supports [m].
    balance: Matrix3<f64>,
    /// Right side of the balance: one, and the centre of pressure at rest [m].
    rest: Vector3<f64>,
}

impl Push {
    /// The surface it was pushed on.
    pub fn surface(&self) -> &str {
        self.set.split_once('_').map_or(&self.set, |(surface, _)| surface)
    }

    /// Predicted wrench [-] under `mu` [-] for a push at `height` [m] above the surface.
    ///
    /// With load shares `p` and `u_i` the force that support `i` takes per `mu p_i`, the moments balance
    /// where `sum p_i = 1` and `sum p_i (x_i - height mu u_i)` is the centre of pressure at rest: a push
    /// above the surface loads what lies ahead. A support that would be pulled down carries nothing.
    pub fn predicted(&self, mu: f64, height: f64) -> Vector3<f64> {
        let mut balance = self.balance;
        for row in 0..2 {
            let forces = self.columns.row(row) * (height * mu);
            balance.set_row(row + 1, &(self.balance.row(row + 1) - forces));
        }
        // Without a solution the plate would tip over.
        let loads = balance.lu().solve(&self.rest).unwrap_or(Vector3::repeat(f64::NAN)).map(|p| p.max(0.0));
        self.columns * loads * (mu / loads.sum())
    }

    /// Angle between prediction and measurement [deg], and by how much the predicted size is off [-].
    pub fn errors(&self, mu: f64, height: f64) -> [f64; 2] {
        let predicted = self.predicted(mu, height);
        [predicted.angle(&self.measured).to_degrees(), (predicted.norm() / self.measured.norm() - 1.0).abs()]
    }
}

/// Reads `supports.csv` (set, x, y, normal force, mu) and one CSV a set with the displacement of the centre
/// of mass and the mean wrench of the pusher.
///
/// # Errors
/// A file that cannot be read, a set without exactly three supports or with all in one line, or with fewer
/// than two pushes.
pub fn read(folder: &Path) -> Result<Vec<Push>, Error> {
    let wrong = |name: &str, reason: String| Error::Pushes { path: folder.join(name), reason };
    let open = |name: &str| {
        let file = input::open_text(&folder.join(name)).map_err(|e| match e {
            InputError::Io { source, .. } => wrong(name, source.to_string()),
            InputError::File { reason, .. } => wrong(name, reason),
        })?;
        Ok::<_, Error>(csv::Reader::from_reader(file))
    };
    let list = "supports.csv";
    let mut sets: Vec<(String, Vec<[f64; 4]>)> = Vec::new();
    for row in open(list)?.deserialize() {
        let (set, x, y, normal, mu): (String, f64, f64, f64, f64) = row.map_err(|e| wrong(list, e.to_string()))?;
        match sets.iter_mut().find(|(name, _)| *name == set) {
            Some((_, supports)) => supports.push([x, y, normal, mu]),
            None => sets.push((set, vec![[x, y, normal, mu]])),
        }
    }
    let square = Patch::shape(Grid::new(1, 1, SIDE, SIDE)?, Shape::Square)?;
    let square = Surface::new(&square, Rule::Cells);
    let mut pushes = Vec::new();
    for (set, supports) in sets {
        let three: [[f64; 4]; 3] = supports
            .try_into()
            .map_err(|s: Vec<_>| wrong(list, format!("{set}: {} supports: expected three", s.len())))?;
        let weight: f64 = three.iter().map(|s| s[2]).sum();
        let balance = Matrix3::from_columns(&three.map(|[x, y, ..]| Vector3::new(1.0, x, y)));
        if !(balance.determinant().abs() > SIDE * SIDE) {
            return Err(wrong(list, format!("{set}: supports in one line: expected a triangle")));
        }
        let rest = balance * Vector3::from(three.map(|s| s[2] / weight));
        let (file, first) = (format!("{set}.csv"), pushes.len());
        for row in open(&file)?.deserialize() {
            let (dx, dy, turn, fx, fy, tau, _samples): (f64, f64, f64, f64, f64, f64, f64) =
                row.map_err(|e| wrong(&file, e.to_string()))?;
            // The wrench is a mean over the push in the moving body's frame, the displacement one of its
            // first frame: the steady twist that makes it is seen from half-way, turned back by half the
            // angle.
            let (sin, cos) = (-0.5 * turn).sin_cos();
            let twist = Twist::new(cos * dx - sin * dy, sin * dx + cos * dy, turn);
            let column = |[x, y, ..]: [f64; 4]| {
                let w = square.wrench(twist.at([x, y]), 1.0, 1.0).about([-x, -y]);
                -Vector3::new(w.fx, w.fy, w.tau / ARM)
            };
            let columns = Matrix3::from_columns(&three.map(column));
            let measured = Vector3::new(fx, fy, tau / ARM) / weight;
            pushes.push(Push { set: set.clone(), measured, mu: three[0][3], columns, balance, rest });
        }
        if pushes.len() < first + 2 {
            return Err(wrong(&file, format!("{} pushes: expected at least two", pushes.len() - first)));
        }
    }
    Ok(pushes)
}
