//! The torsional radius of maps that follow the normal force.
//!
//! Such a map stays symmetric about the middle of its grid, so that its torsional radius is linear in the
//! pressure. The torque of every cell for the rotation about the middle is found once.

use std::sync::OnceLock;

use super::quadrature::{OneCell, Rule, unit_shape};
use crate::patch::{Grid, Patch};

/// Relative difference of height over width of the cells up to which two grids count as of one shape:
/// contacts whose sizes are drawn at random share tables whose shapes agree to single precision.
const SAME_SHAPE: f64 = 1e-7;

/// Relative step in the height of the cells for the difference quotient by it.
const HEIGHT_STEP: f64 = 1e-4;

/// The derivative of the torsional radius by the share of each cell, over the width of a cell, and the
/// derivative of that by the cells' height over their width. Computed when it is first needed.
#[derive(Clone, Debug, Default)]
pub struct RadiusBasis(OnceLock<Vec<[f64; 2]>>);

/// Always equal, because it follows from the rest of a table, and equal tables may differ in whether it has
/// been computed.
impl PartialEq for RadiusBasis {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl RadiusBasis {
    /// The radius [m] by `rule` of a `patch` on a grid of the shape of `grid`, to within [`SAME_SHAPE`]. None
    /// of a map that may not be symmetric about the middle, or on another grid.
    pub fn radius(&self, patch: &Patch, grid: &Grid, rule: Rule) -> Option<f64> {
        let of = patch.grid();
        let stretched = (of.dy / of.dx) / (grid.dy / grid.dx);
        if patch.rule().is_none() || [of.nx, of.ny] != [grid.nx, grid.ny] || (stretched - 1.0).abs() > SAME_SHAPE {
            return None;
        }
        let levers = self.0.get_or_init(|| {
            let levers = |height: f64| {
                let grid = unit_shape(grid);
                let cell = OneCell::new(&Grid { dy: height * grid.dy, ..grid }, rule);
                cell.wrenches([0.0; 2]).into_iter().map(move |[_, _, tau]| -tau * cell.unit)
            };
            levers(1.0)
                .zip(levers(1.0 + HEIGHT_STEP))
                .map(|(lever, higher)| [lever, (higher - lever) / HEIGHT_STEP])
                .collect()
        });
        let lever = |[lever, slope]: &[f64; 2]| (stretched - 1.0).mul_add(*slope, *lever);
        Some(of.dx * patch.weights().iter().zip(levers).map(|(w, at)| w * lever(at)).sum::<f64>())
    }
}
