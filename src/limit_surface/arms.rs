//! The torsional radius of maps that follow the normal force. They stay round about the middle of their grid,
//! so that a radius is linear in the pressure: the torque of every cell that turns about there is found once.

use std::sync::OnceLock;

use super::basis::{OneCell, shape};
use super::rule::Rule;
use crate::patch::{Grid, Patch};

/// Height over width of the cells of two grids of one shape may differ by this share: contacts whose sizes
/// are drawn share tables to the last place of single precision.
const SAME_SHAPE: f64 = 1e-7;

/// Cells that are this much higher tell how an arm grows with their height.
const HIGHER: f64 = 1e-4;

/// What the torsional radius gains by the share of each cell, over the width of a cell, and how much more the
/// higher the cells are, by their share; found when it is first asked for.
#[derive(Clone, Debug, Default)]
pub struct Arms(OnceLock<Vec<[f64; 2]>>);

/// What can be found again says nothing about a table.
impl PartialEq for Arms {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Arms {
    /// The radius [m] by `rule` of a `patch` on a grid of the shape of `grid`, as far as that table holds,
    /// whose cells may differ by [`SAME_SHAPE`]; none of a map that may be off the middle, or on another
    /// grid.
    pub fn radius(&self, patch: &Patch, grid: &Grid, rule: Rule) -> Option<f64> {
        let of = patch.grid();
        let stretched = (of.dy / of.dx) / (grid.dy / grid.dx);
        if patch.rule().is_none() || [of.nx, of.ny] != [grid.nx, grid.ny] || (stretched - 1.0).abs() > SAME_SHAPE {
            return None;
        }
        let arms = self.0.get_or_init(|| {
            let arms = |height: f64| {
                let grid = shape(grid);
                let cell = OneCell::new(&Grid { dy: height * grid.dy, ..grid }, rule);
                cell.wrenches([0.0; 2]).into_iter().map(move |[_, _, tau]| -tau * cell.unit)
            };
            arms(1.0).zip(arms(1.0 + HIGHER)).map(|(arm, higher)| [arm, (higher - arm) / HIGHER]).collect()
        });
        let arm = |[arm, slope]: &[f64; 2]| (stretched - 1.0).mul_add(*slope, *arm);
        Some(of.dx * patch.weights().iter().zip(arms).map(|(w, at)| w * arm(at)).sum::<f64>())
    }
}
