//! The cells of several patches with normal forces and surface motions of their own
//! ([`crate::solver::parts`]): runs of cells, each under the twists and with the shares of its patches.

use crate::number::real::{LANES, Real};
use crate::solver::bristles::PartNow;
use crate::solver::runs::same;

/// What the cells of several patches have of their own.
#[derive(Clone, Debug)]
pub struct PartCells<R> {
    /// All groups of cells.
    pub runs: Vec<PartRun<R>>,
    /// The inputs of the patches; none of patches that have none of their own, whose cells have no runs here.
    pub now: Vec<PartNow<f64>>,
}

/// Groups of cells that follow each other, whose lanes have the same patches and factors of friction.
#[derive(Clone, Copy, Debug)]
pub struct PartRun<R> {
    /// The first group, and the one behind the last.
    pub start: usize,
    /// See [`PartRun::start`].
    pub end: usize,
    /// The factor of friction in every lane [-].
    pub factor: R,
    /// The patch in every lane.
    of: [u8; LANES],
}

impl<R: Real> PartCells<R> {
    /// None.
    pub const fn none() -> Self {
        Self { runs: Vec::new(), now: Vec::new() }
    }

    /// Cells with `factors` of friction in every group, each of which is one of patch `of`. Lanes behind the
    /// last cell have the patch of that.
    pub fn new(factors: impl Iterator<Item = R>, of: &[u8]) -> Self {
        let mut runs: Vec<PartRun<R>> = Vec::new();
        for (i, (factor, own)) in factors.zip(of.chunks(R::LANES)).enumerate() {
            let mut of = [own[own.len() - 1]; LANES];
            of[..own.len()].copy_from_slice(own);
            match runs.last_mut() {
                Some(last) if last.of == of && same(last.factor, factor) => last.end = i + 1,
                _ => runs.push(PartRun { start: i, end: i + 1, factor, of }),
            }
        }
        Self { runs, now: Vec::new() }
    }
}

impl<R: Real> PartRun<R> {
    /// A number of each lane's patch.
    #[inline(always)]
    fn lanes(&self, parts: &[PartNow<f64>], number: impl Fn(&PartNow<f64>) -> f64) -> R {
        let mut own = [0.0; LANES];
        for (own, k) in own.iter_mut().zip(self.of).take(R::LANES) {
            *own = number(&parts[usize::from(k)]);
        }
        R::pack(&own[..R::LANES])
    }

    /// The shares of the normal force of the lanes' patches.
    #[inline(always)]
    pub fn shares(&self, parts: &[PartNow<f64>]) -> R {
        self.lanes(parts, |part| part.share)
    }

    /// The twists of the lanes' patches relative to their surfaces, of one relative to the surface of all.
    #[inline(always)]
    pub fn twists(&self, parts: &[PartNow<f64>], [ux, uy, uw]: [f64; 3]) -> [R; 3] {
        let x = self.lanes(parts, |part| ux - part.surface.x);
        let y = self.lanes(parts, |part| uy - part.surface.y);
        [x, y, self.lanes(parts, |part| uw - part.surface.z)]
    }
}
