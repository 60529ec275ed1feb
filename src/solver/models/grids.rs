//! Small grids, one in each lane of the step: cell `i` of every contact is in one group.

use super::cells::Scratch;
use super::distributed::{sums, sweep_groups};
use super::grid::Grid;
use crate::contact::Contact;
use crate::friction::Friction;
use crate::number::real::Real;
use crate::patch::Patch;
use crate::planar::{Twist, Wrench};
use crate::solver::bristles::{Bits, Bristles, Rate, Shares};
use crate::solver::friction::{Consts, Stage};
use crate::solver::groups::Groups;
use crate::solver::laws::with_law;
use crate::solver::linalg::{Mat3, Vec3};
use crate::solver::runs::{Run, runs};
use crate::solver::state::State;

/// Largest number of groups in one round of the loops of a pass, whose intermediate results then stay in the
/// first-level cache.
const MOST_GROUPS: usize = 24;

/// The cells of the contacts; contacts with fewer cells are filled up with cells that carry no pressure.
pub struct Grids<R: Real> {
    x: Vec<R>,
    y: Vec<R>,
    w: Vec<R>,
    /// The factors of friction, and the runs of them.
    factors: Vec<R>,
    runs: Vec<Run<R>>,
    zx: Vec<R>,
    zy: Vec<R>,
    /// Saved states.
    saved: (Vec<R>, Vec<R>),
    k: Consts<R>,
    scratch: Scratch<R>,
    /// The grid of every lane by itself, from which samples are computed.
    lanes: Vec<Grid<f64>>,
}

impl<R: Real> Grids<R> {
    /// Empty lanes for grids of at most `cells` under the law and the exponent of `friction`.
    pub fn new(cells: usize, friction: &Friction) -> Self {
        let none = vec![R::splat(0.0); cells];
        let factors = vec![R::splat(1.0); cells];
        Self {
            x: none.clone(),
            y: none.clone(),
            w: none.clone(),
            runs: runs(factors.iter().copied()),
            factors,
            zx: none.clone(),
            zy: none.clone(),
            saved: (none.clone(), none),
            k: Consts::new(friction),
            scratch: Scratch::new(MOST_GROUPS.min(cells), true),
            lanes: (0..R::LANES).map(|_| Grid::empty()).collect(),
        }
    }

    /// Copies the states of a lane to its grid.
    fn copy_from_lane(&mut self, lane: usize) -> &mut Grid<f64> {
        let (zx, zy, grid) = (&self.zx, &self.zy, &mut self.lanes[lane]);
        grid.cells.bases_mut().enumerate().for_each(|(i, [x, y])| (*x, *y) = (zx[i].lane(lane), zy[i].lane(lane)));
        grid
    }

    /// Copies a grid to its lane.
    fn copy_to_lane(&mut self, lane: usize) {
        let cells = &self.lanes[lane].cells;
        for (i, ([x, y, w], [zx, zy])) in cells.centres_and_weights().zip(cells.bases()).enumerate() {
            self.x[i].set(lane, x);
            self.y[i].set(lane, y);
            self.w[i].set(lane, w);
            self.zx[i].set(lane, zx);
            self.zy[i].set(lane, zy);
        }
    }
}

impl<R: Real> Bristles<R> for Grids<R> {
    type Scratch = ();

    fn load(&mut self, lane: usize, contact: &Contact, active: &[usize]) {
        self.lanes[lane] = Grid::new(contact, active);
        self.k.set(lane, &self.lanes[lane].k);
        self.copy_to_lane(lane);
        // Contacts with and without a friction map are never in one solver (src/cpu/divide.rs).
        if contact.patch.friction_map().is_none() {
            return;
        }
        // Cells without pressure have the factor of the last.
        let mut last = 1.0;
        let mut own = self.lanes[lane].cells.factors();
        for factor in &mut self.factors {
            last = own.next().unwrap_or(last);
            factor.set(lane, last);
        }
        drop(own);
        self.runs = runs(self.factors.iter().copied());
    }

    fn clear(&mut self, lane: usize) {
        for of in [&mut self.x, &mut self.y, &mut self.w, &mut self.zx, &mut self.zy] {
            of.iter_mut().for_each(|of| of.set(lane, 0.0));
        }
    }

    fn states(&self, lane: usize) -> Vec<[f64; 2]> {
        (0..self.lanes[lane].cells.len()).map(|i| [self.zx[i].lane(lane), self.zy[i].lane(lane)]).collect()
    }

    fn export(&self, lane: usize, state: &mut State) {
        state.bristles.extend((0..self.lanes[lane].cells.len()).map(|i| [&self.zx, &self.zy].map(|z| z[i].lane(lane))));
    }

    fn import(&mut self, lane: usize, state: &State) {
        for (i, [x, y]) in state.bristles.iter().enumerate() {
            self.zx[i].set(lane, *x);
            self.zy[i].set(lane, *y);
        }
    }

    fn wrench(&mut self, lane: usize, u: Twist, rate: &Rate<f64>, f_n: f64) -> (Wrench, Shares) {
        self.copy_from_lane(lane).wrench(0, u, rate, f_n)
    }

    fn arm2(&self, patch: &Patch) -> f64 {
        patch.isotropic().arm2()
    }

    fn remap(&mut self, lane: usize, patch: &Patch, mu: [f64; 2]) {
        self.copy_from_lane(lane).remap(0, patch, mu);
        self.copy_to_lane(lane);
    }

    fn commits_before_remap(&self) -> bool {
        false
    }

    fn reference_point(&self) -> [R; 2] {
        [R::splat(0.0); 2]
    }

    #[inline(always)]
    fn sweep(
        &mut self,
        v: Vec3<R>,
        (committed, committing): (&Stage<R>, Bits),
        (next, evaluating): (&Stage<R>, Bits),
    ) -> (Vec3<R>, Mat3<R>) {
        let zero = R::splat(0.0);
        // A stage with an extrapolation of 0 that does not cut leaves lanes that commit nothing as they are.
        let [extrapolation, cuts] =
            [committed.extrapolation, committed.cuts].map(|x| R::select(R::from_bitmask(committing), x, zero));
        let committed = Stage { extrapolation, cuts, ..*committed };
        let stages = [(committing != 0).then_some(&committed), (evaluating != 0).then_some(next)];
        let mut s = [zero; 12];
        let mut start = 0;
        for &Run { end: last, factor, .. } in &self.runs {
            let [commit, next] = stages.map(|st| st.map(|st| st.under(factor)));
            let stages = [commit.as_ref(), next.as_ref()];
            let n = last - start;
            let together = n.div_ceil(n.div_ceil(MOST_GROUPS));
            while start < last {
                let end = last.min(start + together);
                let groups = Groups {
                    x: &self.x[start..end],
                    y: &self.y[start..end],
                    w: &self.w[start..end],
                    zx: &mut self.zx[start..end],
                    zy: &mut self.zy[start..end],
                };
                let (scratch, k, u) = (&mut self.scratch, &self.k, [v.x, v.y, v.z]);
                with_law!(k.law, L => sweep_groups::<R, L>(groups, scratch, k, u, stages, &mut s));
                start = end;
            }
        }
        sums(s)
    }

    #[inline(always)]
    fn trust_radius(&self, _: Vec3<R>) -> R {
        R::splat(f64::from(f32::MAX))
    }

    #[inline(always)]
    fn save(&mut self, lanes: R::Mask) {
        for i in 0..self.w.len() {
            self.saved.0[i] = R::select(lanes, self.zx[i], self.saved.0[i]);
            self.saved.1[i] = R::select(lanes, self.zy[i], self.saved.1[i]);
        }
    }

    #[inline(always)]
    fn restore(&mut self, lanes: R::Mask) {
        for i in 0..self.w.len() {
            self.zx[i] = R::select(lanes, self.saved.0[i], self.zx[i]);
            self.zy[i] = R::select(lanes, self.saved.1[i], self.zy[i]);
        }
    }

    #[inline(always)]
    fn force_change(&self) -> Vec3<R> {
        let mut s = Vec3::zero();
        for i in 0..self.w.len() {
            let (fx, fy) = (self.w[i] * (self.zx[i] - self.saved.0[i]), self.w[i] * (self.zy[i] - self.saved.1[i]));
            s.x += fx;
            s.y += fy;
            s.z = self.x[i].fma(fy, s.z - self.y[i] * fx);
        }
        s
    }
}
