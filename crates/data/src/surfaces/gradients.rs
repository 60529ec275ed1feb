//! Derivatives of slip margins of many patches under many loads, as arrays.

use rayon::prelude::*;

use super::margins::{At, Loads, MarginError, Margins, PressedPatch, rounded_down};
use crate::rollout::RolloutError;
use crate::rollout::npz::Npz;
use bristle::limit_surface::{MarginGradient, ReferencePoint, Surface};
use bristle::pool;

/// Number of loads of a patch whose derivatives are in memory in double precision.
const LOADS_AT_ONCE: usize = 4096;

impl From<At> for ReferencePoint {
    fn from(at: At) -> Self {
        match at {
            At::Cop => Self::Cop,
            At::Origin => Self::Fixed([0.0; 2]),
        }
    }
}

/// Derivatives of the factors of [`Margins`]; NaN for no load. See [`MarginGradient`].
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients {
    /// Rows and columns of the largest grid.
    pub cells: [usize; 2],
    /// [patches, loads, 3]: by the load `(fx, fy, tau)` [1/N, 1/N, 1/(N m)].
    pub load: Vec<[f32; 3]>,
    /// [patches, loads, rows, columns]: by the pressure of every cell [-], bottom row first, with the sum of
    /// all pressures as unit; NaN beyond a patch's own grid.
    pub pressure: Vec<f32>,
    /// [patches, loads]: by the coefficient of friction [-].
    pub mu: Vec<f32>,
    /// [patches, loads]: by the normal force [1/N], with the map held.
    pub f_n: Vec<f32>,
}

/// The derivatives of one patch.
struct Rows<'a> {
    load: &'a mut [[f32; 3]],
    pressure: &'a mut [f32],
    mu: &'a mut [f32],
    f_n: &'a mut [f32],
}

impl Gradients {
    /// Memory of the derivatives of one load on one of the patches \[byte\].
    pub fn bytes(patches: &[PressedPatch]) -> usize {
        let [rows, columns] = largest(patches);
        size_of::<f32>() * (3 + rows * columns + 2)
    }

    /// The margins of [`Margins::new`] and their derivatives, found together; `done` is called after every
    /// patch.
    ///
    /// # Errors
    /// As [`Surface::margin_gradients`], of one of the patches.
    pub fn new(
        patches: &[PressedPatch],
        loads: &Loads,
        at: At,
        done: &(dyn Fn() + Sync),
    ) -> Result<(Margins, Self), MarginError> {
        let each = loads.each();
        let n = patches.len() * each;
        let cells = largest(patches);
        let area = cells[0] * cells[1];
        let mut margins = Margins::zeros(patches.len(), each);
        let mut out = Self {
            cells,
            load: vec![[f32::NAN; 3]; n],
            pressure: vec![f32::NAN; n * area],
            mu: vec![f32::NAN; n],
            f_n: vec![f32::NAN; n],
        };
        let of_margins = margins.factor.par_chunks_mut(each).zip(margins.twist.par_chunks_mut(each));
        let rows = (out.load.par_chunks_mut(each), out.pressure.par_chunks_mut(each * area))
            .into_par_iter()
            .zip((out.mu.par_chunks_mut(each), out.f_n.par_chunks_mut(each)));
        let all = of_margins.zip(rows).zip(&mut margins.radius).zip(patches).enumerate();
        pool::run(|| {
            all.try_for_each(|(k, ((((factors, twists), ((load, pressure), (mu, f_n))), radius), pressed))| {
                let surface = Surface::new(&pressed.patch, pressed.rule);
                *radius = surface.radius();
                let mut rows = Rows { load, pressure, mu, f_n };
                for (block, some) in loads.of(k).chunks(LOADS_AT_ONCE).enumerate() {
                    let found = surface.margin_gradients(some, at.into(), pressed.mu, pressed.f_n);
                    let found = found.map_err(|error| MarginError { patch: k, error })?;
                    let first = block * LOADS_AT_ONCE;
                    rows.fill(first, &found, pressed.patch.grid().nx, cells);
                    for (k, found) in (first..).zip(&found) {
                        factors[k] = rounded_down(found.margin.factor);
                        twists[k] = found.margin.twist.to_array().map(|c| c as f32);
                    }
                }
                done();
                Ok(())
            })
        })?;
        Ok((margins, out))
    }

    /// Writes the arrays `gradient.<field>`, with the field names of this type, for `patches` of `each`
    /// loads.
    pub(super) fn save(&self, npz: &mut Npz, patches: u64, each: u64) -> Result<(), RolloutError> {
        let [rows, columns] = self.cells.map(|n| n as u64);
        npz.array("gradient.load", &[patches, each, 3], self.load.iter().flatten().copied())?;
        npz.array("gradient.pressure", &[patches, each, rows, columns], self.pressure.iter().copied())?;
        npz.array("gradient.mu", &[patches, each], self.mu.iter().copied())?;
        npz.array("gradient.f_n", &[patches, each], self.f_n.iter().copied())
    }
}

/// Rows and columns of a grid that holds all grids.
pub(super) fn largest(patches: &[PressedPatch]) -> [usize; 2] {
    let largest = |of: fn(&PressedPatch) -> usize| patches.iter().map(of).max().unwrap_or(0);
    [largest(|p| p.patch.grid().ny), largest(|p| p.patch.grid().nx)]
}

impl Rows<'_> {
    /// Fills in what was found of a patch with `nx` columns for its loads from `first` on.
    fn fill(&mut self, first: usize, found: &[MarginGradient], nx: usize, [rows, columns]: [usize; 2]) {
        for (k, found) in (first..).zip(found) {
            self.load[k] = found.load.map(|v| v as f32);
            (self.mu[k], self.f_n[k]) = (found.mu as f32, found.f_n as f32);
            let map = &mut self.pressure[k * rows * columns..][..rows * columns];
            for (to, from) in map.chunks_exact_mut(columns).zip(found.pressure.chunks_exact(nx)) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = *from as f32);
            }
        }
    }
}
