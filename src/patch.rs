//! The contact patch: a grid of rectangular cells with a pressure map.
//!
//! Patch frame: origin at the grid's centre, x to the right, y up. Cell `(ix, iy)` is centred at
//! `((ix + 1/2 - nx/2) dx, (iy + 1/2 - ny/2) dy)`; maps are stored row by row, bottom row first.
//!
//! A map changes at break points of a contact's timeline, if it follows the normal force ([`Patch::rule`]) or
//! frames of a recording or of an indenter ([`Patch::sequence`]). A [`MapKey`] says for which force or frame
//! a map was made, and [`Patch::at`] makes the patch of a key. The key is part of a contact's state, so that
//! a snapshot determines the present map. A map that follows the force is symmetric about the middle of its
//! grid; frames are not, and move the centre of pressure.

mod compound;
mod friction_axes;
mod friction_map;
mod indenter;
mod layer;
mod pressure;
mod sequence;
mod shape;

pub use compound::{MAX_PATCHES, Part, Placed};
pub use friction_axes::FrictionAxes;
pub use indenter::{Foundation, Heights, Indenter, Press};
pub use pressure::{A_MIN, Exponent, Hertz, K_MIN};
pub use sequence::{CLOSEST_FRAMES, Sequence};
pub use shape::Shape;

use std::ops::Range;
use std::sync::Arc;

use compound::Compound;
use friction_axes::times;
use friction_map::FrictionMap;
pub(crate) use friction_map::isotropic_in_pressure;

use crate::error::{ParameterError, PatchError, check};
use crate::range::SIZE;
use crate::schedule::MapKey;

/// A grid of `nx` x `ny` rectangular cells of `dx` x `dy` \[m\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Columns, >= 1.
    pub nx: usize,
    /// Rows, >= 1.
    pub ny: usize,
    /// Width of a cell \[m\], > 0.
    pub dx: f64,
    /// Height of a cell \[m\], > 0.
    pub dy: f64,
}

impl Grid {
    /// A grid of `nx` x `ny` cells over `width` x `height` \[m\].
    ///
    /// # Errors
    /// No cells, or a side that is not 1e-9 to 1e6 m.
    pub fn new(nx: usize, ny: usize, width: f64, height: f64) -> Result<Self, ParameterError> {
        for (name, n) in [("patch.cells[0]", nx), ("patch.cells[1]", ny)] {
            if n == 0 || n > MAX_CELLS_PER_SIDE {
                return Err(ParameterError::new(name, n, format!("1 to {MAX_CELLS_PER_SIDE}")));
            }
        }
        let grid = Self { nx, ny, dx: width / nx as f64, dy: height / ny as f64 };
        for (name, length) in [("patch.size[0]", width), ("patch.size[1]", height)] {
            // The sum of the cells may be off by rounding.
            if ![1.0 - 1e-12, 1.0 + 1e-12].iter().any(|scale| SIZE.contains(length * scale)) {
                SIZE.check(name, length)?;
            }
        }
        Ok(grid)
    }

    /// Checks a grid that [`Grid::new`] may not have made.
    ///
    /// # Errors
    /// As [`Grid::new`].
    pub fn validate(&self) -> Result<(), ParameterError> {
        Self::new(self.nx, self.ny, self.dx * self.nx as f64, self.dy * self.ny as f64).map(|_| ())
    }

    /// Number of cells.
    pub const fn len(&self) -> usize {
        self.nx * self.ny
    }

    /// Whether there is no cell (never, for a grid that [`Grid::new`] made).
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Centre \[m\] of cell `(ix, iy)` in the patch frame.
    pub fn centre(&self, ix: usize, iy: usize) -> [f64; 2] {
        [(ix as f64 + 0.5 - self.nx as f64 / 2.0) * self.dx, (iy as f64 + 0.5 - self.ny as f64 / 2.0) * self.dy]
    }

    /// Centres of all cells, in the order of a map.
    pub fn centres(&self) -> impl Iterator<Item = [f64; 2]> + '_ {
        (0..self.ny).flat_map(move |iy| (0..self.nx).map(move |ix| self.centre(ix, iy)))
    }
}

/// Largest number of columns or rows of a grid.
pub const MAX_CELLS_PER_SIDE: usize = 4096;

/// Relative difference of the factors of two sides that are one but for rounding [-].
const ONE_FACTOR: f64 = 1e-14;

/// A cell that carries pressure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Centre in the patch frame \[m\].
    pub x: f64,
    /// Centre in the patch frame \[m\].
    pub y: f64,
    /// Share of the normal force [-]; all shares sum to one.
    pub w: f64,
}

/// A contact patch: grid, shares of the normal force, and what follows from them.
///
/// ```
/// use bristle::patch::{Grid, Patch, Shape};
/// let grid = Grid::new(21, 21, 0.02, 0.02)?;
/// let circle = Patch::shape(grid, Shape::Circle)?;
/// assert_eq!(circle.cells().len(), 317);
/// assert!((circle.radius() - 6.3799e-3).abs() < 1e-7);
///
/// let tactile = Patch::from_fn(grid, |x, y| (1.0 - 1e4 * (x * x + 2.0 * y * y)).max(0.0))?;
/// assert!((tactile.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), bristle::error::PatchError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    grid: Grid,
    weights: Arc<[f64]>,
    cop: [f64; 2],
    radius: f64,
    viscous: f64,
    arm2: f64,
    hertz: Option<Hertz>,
    sequence: Option<Arc<Sequence>>,
    takes_frames: bool,
    friction: Option<FrictionMap>,
    axes: Option<FrictionAxes>,
    /// The matrix by which places are multiplied, of an isotropic patch with oblique cells.
    oblique: Option<[f64; 3]>,
    /// The patches of a compound one.
    compound: Option<Arc<Compound>>,
    /// The normal force over the largest of the sequence [-]; 1 without one.
    relative_force: f64,
}

impl Patch {
    /// A patch from non-negative pressures in any unit, one a cell, bottom row first.
    ///
    /// # Errors
    /// A wrong number of values, a negative or non-finite one, no pressure at all, or a grid as in
    /// [`Grid::new`].
    pub fn from_pressure(grid: Grid, pressure: &[f64]) -> Result<Self, PatchError> {
        grid.validate()?;
        Ok(Self::from_weights(grid, shares(&grid, pressure)?.collect()))
    }

    /// The same patch, whose map [`Batch::set_frame`](crate::Batch::set_frame) may replace: every cell of its
    /// grid has a bristle, also those without pressure so far. A map that follows the normal force or a
    /// sequence of frames cannot be replaced.
    #[must_use]
    pub const fn with_frames(mut self) -> Self {
        self.takes_frames = !self.changes();
        self
    }

    /// Whether the map may be replaced.
    pub const fn takes_frames(&self) -> bool {
        self.takes_frames
    }

    /// Replaces the map by that of another patch with the same grid.
    pub(crate) fn set_map(&mut self, weights: &Arc<[f64]>) {
        let (friction, axes) = (self.friction.take(), self.axes);
        let same = Self::with_cells_at(self.grid, self.compound.take(), None, Arc::clone(weights));
        *self = Self { takes_frames: true, friction, axes, ..same };
    }

    /// Refuses pressures of which [`Patch::set_pressure`] makes no map.
    pub(crate) fn check_pressure(&self, pressure: &[f64]) -> Result<(), PatchError> {
        shares(&self.grid, pressure).map(drop)
    }

    /// Replaces the map by one of other pressures, as [`Patch::from_pressure`] takes them.
    pub(crate) fn set_pressure(&mut self, pressure: &[f64]) -> Result<(), PatchError> {
        let shares = shares(&self.grid, pressure)?;
        if let Some(weights) = Arc::get_mut(&mut self.weights) {
            weights.iter_mut().zip(shares).for_each(|(to, share)| *to = share);
        } else {
            self.weights = shares.collect();
        }
        let weights = Arc::clone(&self.weights);
        self.set_map(&weights);
        Ok(())
    }

    /// A patch from shares of the normal force that sum to one, with the numbers of `docs/model.md` (16) and
    /// (17).
    fn from_weights(grid: Grid, weights: Arc<[f64]>) -> Self {
        Self::with_cells_at(grid, None, None, weights)
    }

    /// As [`Patch::from_weights`], with the cells of a compound patch, and with all places multiplied by a
    /// symmetric matrix, if there are.
    fn with_cells_at(
        grid: Grid,
        compound: Option<Arc<Compound>>,
        oblique: Option<[f64; 3]>,
        weights: Arc<[f64]>,
    ) -> Self {
        let at = |ix, iy| {
            let centre = compound.as_ref().map_or_else(|| grid.centre(ix, iy), |compound| compound.centres[ix]);
            oblique.map_or(centre, |matrix| times(matrix, centre))
        };
        let [cx, cy] = sums(&grid, &weights, at, |x, y, w| [w * x, w * y]);
        let [radius, viscous, arm2] = sums(&grid, &weights, at, |x, y, w| {
            let d2 = (x - cx).powi(2) + (y - cy).powi(2);
            [w * d2.sqrt(), w * d2, w * (x * x + y * y)]
        });
        let cop = [cx, cy];
        Self {
            grid,
            weights,
            cop,
            radius,
            viscous,
            arm2,
            hertz: None,
            sequence: None,
            takes_frames: false,
            friction: None,
            axes: None,
            oblique,
            compound,
            relative_force: 1.0,
        }
    }

    /// The smallest range of columns and the smallest range of rows that hold all cells with pressure.
    pub(crate) fn loaded_range(&self) -> [Range<usize>; 2] {
        let Grid { nx, ny, .. } = self.grid;
        let (mut columns, mut rows) = (nx..0, ny..0);
        for (j, row) in self.weights.chunks(nx).enumerate() {
            if let Some(first) = row.iter().position(|w| *w != 0.0) {
                let last = row.iter().rposition(|w| *w != 0.0).unwrap_or(first);
                columns = columns.start.min(first)..columns.end.max(last + 1);
                rows = rows.start.min(j)..j + 1;
            }
        }
        [columns, rows]
    }

    /// A patch from a pressure `p(x, y)` [any unit] at the cell centres \[m\].
    ///
    /// # Errors
    /// As [`Patch::from_pressure`].
    pub fn from_fn(grid: Grid, pressure: impl Fn(f64, f64) -> f64) -> Result<Self, PatchError> {
        let map: Vec<f64> = grid.centres().map(|[x, y]| pressure(x, y)).collect();
        Self::from_pressure(grid, &map)
    }

    /// One of the named shapes.
    ///
    /// # Errors
    /// A grid too coarse for the shape (no cell would carry pressure).
    pub fn shape(grid: Grid, shape: Shape) -> Result<Self, PatchError> {
        Self::from_pressure(grid, &shape.pressure(&grid))
    }

    /// A map that depends on the normal force, `docs/model.md` (20), as it is at `f_n` \[N\].
    ///
    /// # Errors
    /// Parameters of the rule out of range, or a force that is not finite.
    pub fn hertz(grid: Grid, rule: Hertz, f_n: f64) -> Result<Self, PatchError> {
        rule.validate()?;
        check("f_n", f_n, "a finite force [N]", true)?;
        let patch = Self::from_pressure(grid, &rule.pressure(&grid, f_n))?;
        Ok(Self { hertz: Some(rule), ..patch })
    }

    /// A map that follows recorded frames, as it is at time 0.
    ///
    /// # Errors
    /// A sequence of another number of columns or rows than the grid has.
    pub fn following(grid: Grid, sequence: Arc<Sequence>) -> Result<Self, PatchError> {
        grid.validate()?;
        let Grid { nx, ny, .. } = grid;
        if sequence.cells() != [nx, ny] {
            let found = sequence.cells().iter().product();
            return Err(PatchError::Size { found, expected: grid.len(), nx, ny });
        }
        check("patch.size", grid.dx, "that of the grid on which the indenter presses", sequence.is_for(&grid))?;
        Ok(Self::on_map(grid, sequence.map_at(0.0), sequence))
    }

    /// The patch with the map that it has at the normal force `f_n` \[N\]; a force that is negative or not
    /// finite counts as 0. A patch whose map does not depend on the force is returned as it is.
    pub fn under(&self, f_n: f64) -> Self {
        match self.hertz {
            Some(rule) => {
                let patch = Self::hertz(self.grid, rule, if f_n.is_finite() { f_n.max(0.0) } else { 0.0 })
                    .expect("the rule was checked when the patch was made");
                Self { friction: self.friction.clone(), axes: self.axes, ..patch }
            }
            None => self.clone(),
        }
    }

    /// The patch with the map that `key` names, if its map follows what that is; else as it is.
    pub fn at(&self, key: MapKey) -> Self {
        match (key, &self.sequence) {
            (MapKey::Force(f_n), _) => self.under(f_n),
            (MapKey::Frame(map), Some(sequence)) => {
                let patch = Self::on_map(self.grid, map, Arc::clone(sequence));
                Self { friction: self.friction.clone(), axes: self.axes, ..patch }
            }
            (MapKey::Frame(_), None) => self.clone(),
        }
    }

    /// A patch with a map of a sequence.
    fn on_map(grid: Grid, map: u32, sequence: Arc<Sequence>) -> Self {
        let patch = Self::from_weights(grid, sequence.map(map as usize));
        Self { relative_force: sequence.loading(map).force, sequence: Some(sequence), ..patch }
    }

    /// The same shares of normal force on cells scaled by `kx`, `ky` > 0; shares the map's memory.
    ///
    /// # Errors
    /// Cells without size, as in [`Grid::new`]; two factors for a compound patch, whose cells may be turned.
    pub fn scaled(&self, kx: f64, ky: f64) -> Result<Self, ParameterError> {
        let grid = Grid { dx: self.grid.dx * kx, dy: self.grid.dy * ky, ..self.grid };
        let fits = self.sequence.as_ref().is_none_or(|sequence| sequence.is_for(&grid));
        check("patch.size", grid.dx, "that of the grid on which the indenter presses", fits)?;
        if self.compound.is_none() {
            grid.validate()?;
        } else {
            check("patch.size", ky, "the same factor of both sides, for several patches", ky == kx && kx > 0.0)?;
        }
        let compound = self.compound.as_ref().map(|compound| Arc::new(compound.scaled(kx)));
        let scaled = Self::with_cells_at(grid, compound, None, Arc::clone(&self.weights));
        let (hertz, sequence, friction) = (self.hertz, self.sequence.clone(), self.friction.clone());
        let (takes_frames, relative_force) = (self.takes_frames, self.relative_force);
        Ok(Self { hertz, sequence, takes_frames, friction, axes: self.axes, relative_force, ..scaled })
    }

    /// How many times as large as `other` this patch is, if friction on them differs in nothing else: but for
    /// rounding one is [`Patch::scaled`] from the other, by one factor. None of several patches, and of maps
    /// that follow the normal force on grids that differ.
    pub(crate) fn scale_over(&self, other: &Self) -> Option<f64> {
        let (is_same, [kx, ky]) =
            (self.grid == other.grid, [self.grid.dx / other.grid.dx, self.grid.dy / other.grid.dy]);
        let is_similar = [self.grid.nx, self.grid.ny] == [other.grid.nx, other.grid.ny]
            && (kx - ky).abs() <= ONE_FACTOR * kx
            && (is_same || self.hertz.is_none() && other.hertz.is_none())
            && self.compound.is_none()
            && other.compound.is_none()
            && (self.axes, self.oblique) == (other.axes, other.oblique)
            && self.friction == other.friction
            && (Arc::ptr_eq(&self.weights, &other.weights) || self.weights == other.weights);
        is_similar.then_some(if is_same { 1.0 } else { kx })
    }

    /// The grid.
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Share of the normal force of every cell [-], bottom row first; they sum to one.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The memory of [`Patch::weights`]. Patches that share one map have the same address here.
    pub const fn map(&self) -> &Arc<[f64]> {
        &self.weights
    }

    /// The cells that carry pressure, in the order of the map.
    pub fn cells(&self) -> Vec<Cell> {
        let loaded: Vec<usize> = (0..self.weights.len()).filter(|i| self.weights[*i] > 0.0).collect();
        let cell = |(i, [x, y]): (&usize, [f64; 2])| Cell { x, y, w: self.weights[*i] };
        loaded.iter().zip(self.places(&loaded)).map(cell).collect()
    }

    /// The number of cells that carry pressure.
    pub fn count_cells(&self) -> usize {
        self.weights.iter().filter(|w| **w > 0.0).count()
    }

    /// Centre of pressure `c = sum w rho` \[m\], `docs/model.md` (16).
    pub const fn cop(&self) -> [f64; 2] {
        self.cop
    }

    /// Torsional radius `r = sum w |rho - c|` \[m\], `docs/model.md` (17): the largest friction torque about
    /// the centre of pressure over `mu f_N`.
    pub const fn radius(&self) -> f64 {
        self.radius
    }

    /// Viscous factor `u = sum w |rho - c|^2` [m^2], `docs/model.md` (16).
    pub const fn viscous(&self) -> f64 {
        self.viscous
    }

    /// `L^2 = sum w |rho|^2` [m^2] about the grid's centre, `docs/model.md` (16): weighs angular against
    /// linear velocity.
    pub const fn arm2(&self) -> f64 {
        self.arm2
    }

    /// The rule by which the map follows the normal force, if it does.
    pub const fn rule(&self) -> Option<Hertz> {
        self.hertz
    }

    /// The frames that the map follows, if it does.
    pub const fn sequence(&self) -> Option<&Arc<Sequence>> {
        self.sequence.as_ref()
    }

    /// Whether the map follows the normal force or frames.
    pub const fn changes(&self) -> bool {
        self.hertz.is_some() || self.sequence.is_some()
    }
}

/// The cells' shares of the normal force under `pressure`, one value a cell.
fn shares<'a>(grid: &Grid, pressure: &'a [f64]) -> Result<impl Iterator<Item = f64> + use<'a>, PatchError> {
    let Grid { nx, ny, .. } = *grid;
    if pressure.len() != grid.len() {
        return Err(PatchError::Size { found: pressure.len(), expected: grid.len(), nx, ny });
    }
    if let Some(i) = pressure.iter().position(|p| !(p.is_finite() && *p >= 0.0)) {
        return Err(PatchError::Pressure { ix: i % nx, iy: i / nx, value: pressure[i] });
    }
    // Dividing by the largest first keeps the sum of huge pressures finite.
    let peak = pressure.iter().copied().fold(0.0, f64::max);
    if peak == 0.0 {
        return Err(PatchError::Empty);
    }
    let sum: f64 = pressure.iter().map(|p| p / peak).sum();
    Ok(pressure.iter().map(move |p| p / peak / sum))
}

/// Sums of `of(x, y, w)` over all cells, which are `at` (ix, iy), in four partial sums: the additions of a
/// single one would each wait for the result of the one before.
fn sums<const N: usize>(
    grid: &Grid,
    weights: &[f64],
    at: impl Fn(usize, usize) -> [f64; 2],
    of: impl Fn(f64, f64, f64) -> [f64; N],
) -> [f64; N] {
    let mut four = [[0.0; 4]; N];
    for (iy, row) in weights.chunks_exact(grid.nx).enumerate() {
        for (block, w) in row.chunks(4).enumerate() {
            // Most of a layer may be without pressure.
            if w == [0.0; 4] {
                continue;
            }
            for (lane, w) in w.iter().enumerate() {
                let [x, y] = at(4 * block + lane, iy);
                let part = of(x, y, *w);
                // What is left of a row goes to the first sum.
                let lane = if row.len() - 4 * block < 4 { 0 } else { lane };
                (0..N).for_each(|k| four[k][lane] += part[k]);
            }
        }
    }
    four.map(|[a, b, c, d]| (a + b) + (c + d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn bad_maps_are_typed_errors() {
        let grid = Grid::new(2, 2, 1.0, 1.0).unwrap();
        assert!(matches!(Patch::from_pressure(grid, &[0.0; 4]), Err(PatchError::Empty)));
        assert!(matches!(Patch::from_pressure(grid, &[1.0; 3]), Err(PatchError::Size { found: 3, expected: 4, .. })));
        let bad = Patch::from_pressure(grid, &[1.0, 0.0, -1.0, 0.0]);
        assert!(matches!(bad, Err(PatchError::Pressure { ix: 0, iy: 1, value: -1.0 })));
        assert!(matches!(Patch::from_pressure(grid, &[f64::NAN, 1.0, 1.0, 1.0]), Err(PatchError::Pressure { .. })));
        assert!(Grid::new(0, 1, 1.0, 1.0).is_err());
        assert!(Grid::new(1, 1, -1.0, 1.0).is_err());
        for dx in [f64::NAN, 0.0, -1e-3, f64::INFINITY, 1e-320, 1e300] {
            let bad = Grid { dx, ..grid };
            assert!(matches!(Patch::from_pressure(bad, &[1.0; 4]), Err(PatchError::Parameter(_))), "{dx}");
            let patch = Patch::from_pressure(grid, &[1.0; 4]).unwrap();
            assert!(patch.scaled(dx / grid.dx, 1.0).is_err(), "{dx}");
        }
        assert!(Patch::hertz(grid, Hertz::default(), f64::NAN).is_err());
    }

    #[test]
    fn a_square_has_the_second_moment_of_its_cells() {
        let patch = Patch::shape(Grid::new(4, 2, 0.4, 0.2).unwrap(), Shape::Square).unwrap();
        // Sum of (n^2 - 1)/12 d^2 over both axes.
        assert_relative_eq!(patch.viscous(), 15.0 / 12.0 * 0.01 + 3.0 / 12.0 * 0.01, max_relative = 1e-13);
        assert_relative_eq!(patch.scaled(2.0, 2.0).unwrap().radius(), 2.0 * patch.radius(), max_relative = 1e-13);
        assert_relative_eq!(patch.cop()[0], 0.0, epsilon = 1e-17);
    }

    #[test]
    fn pressures_near_the_end_of_the_range_do_not_overflow() {
        let grid = Grid::new(2, 1, 1.0, 1.0).unwrap();
        assert_eq!(Patch::from_pressure(grid, &[f64::MAX, f64::MAX]).unwrap().weights(), [0.5, 0.5]);
    }
}
