//! Several patches on one body, `docs/model.md` (20f): the feet of a table, the fingers of a hand on one
//! face. They are one patch, whose cells are in several grids.

use std::ops::Range;
use std::sync::Arc;

use nalgebra::{Matrix3, Vector3};

use super::{Grid, Patch, PatchError};
use crate::error::{ParameterError, check};
use crate::planar::Pose;
use crate::range::{ANGLE, FRICTION_FACTOR, OFFSET};

/// Largest number of patches of a compound patch.
pub const MAX_PATCHES: usize = 16;

/// A patch in the place that it has in a compound one.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The patch, whose map does not change.
    pub patch: Patch,
    /// Where its origin is, and its turn, in the frame of the compound patch [m, m, rad].
    pub at: Pose,
    /// Its normal force, in any unit [-]: that over the sum of all is its share.
    pub force: f64,
    /// The factor of its coefficients of friction [-], 1e-3 to 1e3.
    pub friction: f64,
}

/// One of the patches of a compound patch.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    first: usize,
    grid: Grid,
    at: Pose,
    share: f64,
}

impl Part {
    /// Its share of the normal force [-].
    pub const fn share(&self) -> f64 {
        self.share
    }

    /// Its cells among those of the compound patch.
    pub const fn cells(&self) -> Range<usize> {
        self.first..self.first + self.grid.len()
    }

    /// Its own grid.
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Where its origin is, and its turn, in the frame of the compound patch [m, m, rad].
    pub const fn at(&self) -> Pose {
        self.at
    }

    /// A vector in the axes of the compound patch.
    pub(crate) fn turned(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let (sin, cos) = self.at.theta.sin_cos();
        [cos * x - sin * y, sin * x + cos * y]
    }
}

/// The patches of a compound patch, and the centres of all cells in its frame [m].
#[derive(Debug, PartialEq)]
pub(super) struct Compound {
    pub parts: Vec<Part>,
    pub centres: Vec<[f64; 2]>,
}

impl Compound {
    fn new(parts: Vec<Part>) -> Self {
        let centre = |part: &Part, at| {
            let [x, y] = part.turned(at);
            [part.at.x + x, part.at.y + y]
        };
        let centres = parts.iter().flat_map(|part| part.grid.centres().map(|at| centre(part, at))).collect();
        Self { parts, centres }
    }

    /// The same, `k` times as large.
    pub fn scaled(&self, k: f64) -> Self {
        let part = |Part { first, grid, at, share }: &Part| Part {
            first: *first,
            share: *share,
            grid: Grid { dx: k * grid.dx, dy: k * grid.dy, ..*grid },
            at: Pose { x: k * at.x, y: k * at.y, theta: at.theta },
        };
        Self::new(self.parts.iter().map(part).collect())
    }

    /// The part that has cell `i`.
    pub fn part_of(&self, i: usize) -> &Part {
        let behind = self.parts.partition_point(|part| part.first <= i);
        &self.parts[behind.max(1) - 1]
    }
}

impl Patch {
    /// Several patches on one body as one patch, whose share of the normal force each of them has:
    /// `docs/model.md` (20f). Its cells are those of all patches one after the other, in one row of a grid
    /// whose cells have their mean area; where they are [`Patch::cells`] says. Limit surfaces are the exact
    /// sums of those of the patches.
    ///
    /// ```
    /// use bristle::patch::{Grid, Patch, Placed, Shape};
    /// use bristle::planar::Pose;
    /// // A stool of three round feet of 1 cm, each 10 cm from its middle.
    /// let foot = Patch::shape(Grid::new(5, 5, 0.01, 0.01)?, Shape::Disc)?;
    /// let feet = [0.0, 120.0, 240.0].map(|angle: f64| {
    ///     let (sin, cos) = angle.to_radians().sin_cos();
    ///     let at = Pose::new(0.1 * cos, 0.1 * sin, 0.0);
    ///     Placed { patch: foot.clone(), at, force: 1.0, friction: 1.0 }
    /// });
    /// let stool = Patch::compound(&feet)?;
    /// assert!((stool.radius() - 0.1).abs() < 1e-4);
    /// # Ok::<(), bristle::error::PatchError>(())
    /// ```
    ///
    /// # Errors
    /// No patch or more than 16; a number out of range; no normal force at all; a patch that is compound
    /// itself, follows the normal force or frames, or has axes of friction.
    pub fn compound(patches: &[Placed]) -> Result<Self, PatchError> {
        if !(1..=MAX_PATCHES).contains(&patches.len()) {
            let accepted = format!("1 to {MAX_PATCHES}");
            return Err(ParameterError::new("patches", format!("{} patches", patches.len()), accepted).into());
        }
        patches.iter().enumerate().try_for_each(|(k, placed)| placed.check(k))?;
        let sum: f64 = patches.iter().map(|placed| placed.force).sum();
        check("patches.share", sum, "a finite sum > 0", sum > 0.0)?;
        let (mut parts, mut first) = (Vec::with_capacity(patches.len()), 0);
        for placed in patches {
            let grid = placed.patch.grid;
            parts.push(Part { first, grid, at: placed.at, share: placed.force / sum });
            first += grid.len();
        }
        let weights = patches.iter().flat_map(|placed| placed.patch.weights.iter().map(|w| w * placed.force / sum));
        let area = parts.iter().map(|part| part.grid.len() as f64 * part.grid.dx * part.grid.dy).sum::<f64>();
        let side = (area / first as f64).sqrt();
        let grid = Grid { nx: first, ny: 1, dx: side, dy: side };
        let compound = Some(Arc::new(Compound::new(parts)));
        let whole = Self::with_cells_at(grid, compound, None, weights.collect());
        if patches.iter().all(|placed| placed.friction == 1.0 && placed.patch.friction.is_none()) {
            return Ok(whole);
        }
        let factors = |placed: &Placed| {
            let factors = (0..placed.patch.grid.len()).map(|i| placed.friction * placed.patch.friction_factor(i));
            factors.collect::<Vec<f64>>()
        };
        whole.with_friction_map(&patches.iter().flat_map(factors).collect::<Vec<f64>>())
    }

    /// The patches of [`Patch::compound`], in their order; none of others.
    pub fn parts(&self) -> &[Part] {
        self.compound.as_ref().map_or(&[], |compound| &compound.parts)
    }

    /// The share of the normal force [-] of one of the [`Patch::parts`], and its patch by itself, without a
    /// friction map; none if it has no share.
    pub fn part(&self, k: usize) -> (f64, Option<Self>) {
        let part = &self.parts()[k];
        let weights = &self.weights[part.cells()];
        (weights.iter().sum(), Self::from_pressure(part.grid, weights).ok())
    }

    /// The same patches with other shares of the normal force [-], which sum to 1.
    pub(crate) fn with_shares(&self, shares: &[f64]) -> Self {
        let mut parts = self.parts().to_vec();
        parts.iter_mut().zip(shares).for_each(|(part, share)| part.share = *share);
        let weights = (0..self.weights.len()).map(|i| self.weight_in_part(i) * shares[self.part_with(i)]);
        let compound = Some(Arc::new(Compound::new(parts)));
        let (friction, axes) = (self.friction.clone(), self.axes);
        Self { friction, axes, ..Self::with_cells_at(self.grid, compound, None, weights.collect()) }
    }

    /// The number of the part that has cell `i` of a compound patch.
    pub(crate) fn part_with(&self, i: usize) -> usize {
        self.parts().partition_point(|part| part.first <= i).max(1) - 1
    }

    /// The share of the normal force of its part that cell `i` has [-].
    pub(crate) fn weight_in_part(&self, i: usize) -> f64 {
        let share = self.parts()[self.part_with(i)].share;
        if share > 0.0 { self.weights[i] / share } else { 0.0 }
    }

    /// The shares of the normal force [-] by which supports at the centres of pressure of the patches carry a
    /// weight over the place `at` \[m\] of the compound patch: those of three follow from equilibrium, those
    /// of more are the ones of least norm, nearest to equal shares, `docs/model.md` (20g).
    ///
    /// # Errors
    /// A weight that is not over the supports, so that one of them would have to pull.
    pub fn shares_by_equilibrium(patches: &[Placed], at: [f64; 2]) -> Result<Vec<f64>, ParameterError> {
        let place = |placed: &Placed| {
            let [x, y] = Part { first: 0, grid: placed.patch.grid, at: placed.at, share: 1.0 }.turned(placed.patch.cop);
            [placed.at.x + x - at[0], placed.at.y + y - at[1]]
        };
        let places: Vec<[f64; 2]> = patches.iter().map(place).collect();
        // In units of the distances, so that all rows are of one size.
        let unit = places.iter().flatten().fold(f64::MIN_POSITIVE, |most, x| x.abs().max(most));
        let rows: Vec<Vector3<f64>> = places.iter().map(|[x, y]| Vector3::new(1.0, x / unit, y / unit)).collect();
        let shares = least_shares(&rows);
        let sum: Vector3<f64> = rows.iter().zip(&shares).map(|(row, share)| row * *share).sum();
        let off = (sum - Vector3::x()).amax();
        if off > 1e-9 {
            let [x, y] = at;
            let accepted = format!("a weight over the patches, not at ({x}, {y}) m of their frame");
            return Err(ParameterError::new("patches.share", "equilibrium", accepted));
        }
        Ok(shares)
    }

    /// The centre [m] of cell `i` before [`Patch::on_cells`].
    pub(super) fn centre_of(&self, i: usize) -> [f64; 2] {
        let Grid { nx, .. } = self.grid;
        self.compound.as_ref().map_or_else(|| self.grid.centre(i % nx, i / nx), |compound| compound.centres[i])
    }

    /// The centre of cell `i` in cells.
    #[cfg(feature = "gpu")]
    pub(crate) fn place_in_cells(&self, i: usize) -> [f64; 2] {
        let Grid { nx, dx, dy, .. } = self.grid;
        match &self.compound {
            None => Grid { dx: 1.0, dy: 1.0, ..self.grid }.centre(i % nx, i / nx),
            Some(compound) => [compound.centres[i][0] / dx, compound.centres[i][1] / dy],
        }
    }

    /// Half the width and half the height of cell `i` as vectors [m], which need not be along x and y.
    pub(crate) fn half_sides(&self, i: usize) -> [[f64; 2]; 2] {
        let part = self.compound.as_ref().map(|compound| compound.part_of(i));
        let Grid { dx, dy, .. } = part.map_or(self.grid, |part| part.grid);
        [[0.5 * dx, 0.0], [0.0, 0.5 * dy]].map(|side| self.on_cells(part.map_or(side, |part| part.turned(side))))
    }

    /// Whether the cells are not the rectangles of the columns and rows of the grid: those of a compound
    /// patch, or parallelograms, as the isotropic patch of a table with axes of friction may have.
    pub const fn is_irregular(&self) -> bool {
        self.oblique.is_some() || self.compound.is_some()
    }

    /// Whether the cells of two patches are in the same places, for patches on grids of the same size.
    #[cfg(feature = "gpu")]
    pub(crate) fn has_parts_of(&self, other: &Self) -> bool {
        self.compound == other.compound
    }
}

/// The shares `s >= 0` of least norm with `sum s row = (1, 0, 0)`; others where there are none.
///
/// They are `max(0, row . m)` with the multiplier `m` that is the least of the convex function
/// `1/2 sum max(0, row . m)^2 - m_x`, by Newton's method: it is quadratic while the same supports carry.
fn least_shares(rows: &[Vector3<f64>]) -> Vec<f64> {
    let share = |m: &Vector3<f64>, row: &Vector3<f64>| row.dot(m).max(0.0);
    let value = |m: &Vector3<f64>| 0.5 * rows.iter().map(|row| share(m, row).powi(2)).sum::<f64>() - m.x;
    let mut m = Vector3::x() / rows.len() as f64;
    for _ in 0..MOST_SETS_OF_SUPPORTS {
        let carrying = rows.iter().filter(|row| row.dot(&m) > 0.0);
        let square: Matrix3<f64> = carrying.clone().map(|row| row * row.transpose()).sum();
        let slope: Vector3<f64> = carrying.map(|row| row * row.dot(&m)).sum::<Vector3<f64>>() - Vector3::x();
        let step = -square.pseudo_inverse(1e-12).unwrap_or_default() * slope;
        let mut length = 1.0;
        while length > 1e-9 && value(&(m + step * length)) > value(&m) + 0.25 * length * slope.dot(&step) {
            length *= 0.5;
        }
        m += step * length;
        if slope.amax() < 1e-12 {
            break;
        }
    }
    rows.iter().map(|row| share(&m, row)).collect()
}

/// Most steps of Newton's method of [`least_shares`], each of which may change which supports carry.
const MOST_SETS_OF_SUPPORTS: usize = 100;

impl Placed {
    /// Checks what it says about patch `k`.
    fn check(&self, k: usize) -> Result<(), ParameterError> {
        let Self { patch, at, force, friction } = self;
        let of = |what: &str| format!("patches.{k}.{what}");
        if !patch.parts().is_empty() || patch.changes() || patch.takes_frames || patch.axes.is_some() {
            let accepted = "a fixed map, with the same friction in all directions";
            return Err(ParameterError::new(of("patch"), "another", accepted));
        }
        OFFSET.check(&of("at.0"), at.x)?;
        OFFSET.check(&of("at.1"), at.y)?;
        ANGLE.check(&of("turn"), at.theta)?;
        check(&of("share"), *force, "a finite number >= 0", *force >= 0.0)?;
        FRICTION_FACTOR.check(&of("friction"), *friction)
    }
}
