//! The cells of a contact with a grid in memory, as a structure of arrays, and the intermediate results of a
//! pass. No twin of `shaders/models/cells.wgsl`, which has the cells of a lane and makes some maps itself.

use std::sync::Arc;

use crate::number::prefetch::prefetch;
use crate::number::real::{LANES, Real};
use crate::solver::cell::CellTrial;
use crate::solver::elastic_cells::ElasticCells;
use crate::solver::friction::{Motion, Slip, Trial};
use crate::solver::models::parts::PartCells;
use crate::solver::runs::{Run, runs, same};
use crate::solver::transition_cells::TransitionCells;

/// The cells of one contact, as a structure of arrays in groups of as many cells as the number type has
/// lanes. Lanes behind the last cell carry no pressure. Contacts may share the places and weights of their
/// cells.
#[derive(Clone, Debug)]
pub struct Cells<R: Real> {
    pub(in crate::solver) x: Arc<[R]>,
    pub(in crate::solver) y: Arc<[R]>,
    pub(in crate::solver) w: Arc<[R]>,
    /// The factors of friction.
    pub(super) runs: Arc<[Run<R>]>,
    /// The least of them [-].
    pub(super) least_friction: f64,
    /// Of several patches with inputs of their own.
    pub(super) parts: PartCells<R>,
    /// Base of the stage, or state between steps: `zeta = sigma0 z` [-].
    pub(in crate::solver) zx: Vec<R>,
    pub(in crate::solver) zy: Vec<R>,
    /// Saved states.
    pub(super) saved: (Vec<R>, Vec<R>),
    len: usize,
    /// Passes until elastic cells are separated again, see [`ElasticCells::sweep`].
    pub(super) pause: u32,
    /// Memory that a pass uses for intermediate results; nothing in it is kept from one pass to the next.
    pub(super) workspace: Workspace<R>,
}

/// The intermediate results of a pass. It is ten times as large as the cells; contacts that are stepped one
/// after the other can share it.
#[derive(Clone, Debug)]
pub struct Workspace<R: Real> {
    pub(super) scratch: Scratch<R>,
    pub(super) elastic: ElasticCells<R>,
    groups: usize,
}

impl<R: Real> Workspace<R> {
    /// Memory for `groups` of cells.
    pub fn new(groups: usize) -> Self {
        Self { scratch: Scratch::new(groups, false), elastic: ElasticCells::new(groups), groups }
    }

    /// Makes it as large as `groups` of cells need.
    pub(super) fn fit(&mut self, groups: usize) {
        if self.groups < groups {
            *self = Self::new(groups);
        }
    }
}

impl<R: Real> Default for Workspace<R> {
    fn default() -> Self {
        Self::new(0)
    }
}

/// The intermediate results of the loops of a pass.
#[derive(Clone, Debug)]
pub struct Scratch<R: Real> {
    pub(super) work: Vec<Work<R>>,
    pub(super) transition: TransitionCells<R>,
}

impl<R: Real> Scratch<R> {
    /// Memory for `groups` of cells, whose friction constants may `differ` from lane to lane.
    pub fn new(groups: usize, differ: bool) -> Self {
        let zero = R::splat(0.0);
        let motion = Motion { vx: zero, vy: zero, s: zero, inv_s: zero, bell: zero, bell_slope: zero };
        let t = Trial { len: zero, inv_len: zero, g: zero, travel: zero };
        let trial = CellTrial { nx: zero, ny: zero, along: zero, t };
        let slip = Slip { d: zero, stiff: zero, xb: zero, xs: zero };
        let work = Work { motion, d: zero, trial, slip };
        Self { work: vec![work; groups], transition: TransitionCells::new(groups, differ) }
    }
}

/// The intermediate results of one group of cells.
#[derive(Clone, Copy, Debug)]
pub struct Work<R> {
    pub(super) motion: Motion<R>,
    /// `1 / (1 + a lambda)` of the stage to commit, of the cells outside the transition; meaningless for
    /// those in it.
    pub(super) d: R,
    /// The trial of the stage to evaluate, and its slip outside the transition.
    pub(super) trial: CellTrial<R>,
    pub(super) slip: Slip<R>,
}

impl<R: Real> Cells<R> {
    /// Cells at `centres` [m] with shares `w` of the normal force [-], factors of friction `factors` [-],
    /// none if all are 1, and states `zeta` [-].
    pub fn new(centres: &[[f64; 2]], w: &[f64], factors: &[f64], zeta: &[[f64; 2]]) -> Self {
        let column = |of: &[[f64; 2]], k: usize| pack(&of.iter().map(|v| v[k]).collect::<Vec<_>>());
        Self {
            x: column(centres, 0).into(),
            y: column(centres, 1).into(),
            w: pack(w).into(),
            runs: match factors.last() {
                None if w.is_empty() => Vec::new().into(),
                None => vec![Run { end: w.len().div_ceil(R::LANES), factor: R::splat(1.0), is_one: true }].into(),
                Some(_) => runs(padded(factors.iter().copied())).into(),
            },
            parts: PartCells::none(),
            least_friction: factors.iter().copied().reduce(f64::min).unwrap_or(1.0),
            zx: column(zeta, 0),
            zy: column(zeta, 1),
            saved: (Vec::new(), Vec::new()),
            len: centres.len(),
            pause: 0,
            workspace: Workspace::default(),
        }
    }

    /// The states at the start of a contact: `zeta` [-], or all at rest.
    pub fn start(&mut self, zeta: Option<&[[f64; 2]]>) {
        let zero = R::splat(0.0);
        (0..self.zx.len()).for_each(|i| (self.zx[i], self.zy[i]) = (zero, zero));
        for (i, [x, y]) in zeta.into_iter().flatten().enumerate() {
            let (group, lane) = (i / R::LANES, i % R::LANES);
            self.zx[group].set(lane, *x);
            self.zy[group].set(lane, *y);
        }
        self.pause = 0;
    }

    /// Shares the places, weights and factors of `other`, where they are the same. Of thousands of contacts
    /// that are stepped in short calls, only the states have to come from main memory then.
    pub fn share(&mut self, other: &Self) {
        for (own, other) in [(&mut self.x, &other.x), (&mut self.y, &other.y), (&mut self.w, &other.w)] {
            if !Arc::ptr_eq(own, other)
                && own.len() == other.len()
                && own.iter().zip(&**other).all(|(a, b)| same(*a, *b))
            {
                *own = Arc::clone(other);
            }
        }
        let same_run = |(a, b): (&Run<R>, &Run<R>)| a.end == b.end && same(a.factor, b.factor);
        if self.runs.len() == other.runs.len() && self.runs.iter().zip(&*other.runs).all(same_run) {
            self.runs = Arc::clone(&other.runs);
        }
    }

    /// Brings the states into the caches.
    pub fn prefetch(&self) {
        prefetch(&self.zx);
        prefetch(&self.zy);
    }

    /// Saves the states.
    pub fn save(&mut self) {
        self.saved.0.clone_from(&self.zx);
        self.saved.1.clone_from(&self.zy);
    }

    /// Restores the saved states.
    pub fn restore(&mut self) {
        self.zx.clone_from(&self.saved.0);
        self.zy.clone_from(&self.saved.1);
    }

    /// Moves every base by `sx - sw y`, `sy + sw x` [-].
    pub fn shift(&mut self, shift: [f64; 3]) {
        let [sx, sy, sw] = shift.map(R::splat);
        for i in 0..self.zx.len() {
            self.zx[i] += sx - sw * self.y[i];
            self.zy[i] += sy + sw * self.x[i];
        }
    }

    /// Replaces the shares of the normal force [-].
    pub fn set_weights(&mut self, mut w: impl Iterator<Item = f64>) {
        for to in Arc::make_mut(&mut self.w) {
            let mut group = [0.0; LANES];
            let mut len = 0;
            for w in w.by_ref().take(R::LANES) {
                group[len] = w;
                len += 1;
            }
            *to = R::pack(&group[..len]);
        }
    }

    /// Replaces the factors of friction [-].
    pub fn set_factors(&mut self, factors: impl Iterator<Item = f64> + Clone) {
        self.least_friction = factors.clone().fold(f64::INFINITY, f64::min);
        self.runs = runs(padded(factors)).into();
    }

    /// Takes the states back to the limit of their cells where the factor is 1 and the limit `mu` [-].
    pub fn limit(&mut self, mu: f64) {
        let (one, tiny, mu) = (R::splat(1.0), R::splat(f64::from(f32::MIN_POSITIVE)), R::splat(mu));
        let limits: Vec<R> = self.factors().map(|factor| mu * factor).collect();
        for (i, limit) in limits.into_iter().enumerate() {
            let (zx, zy) = (self.zx[i], self.zy[i]);
            let length = (zx * zx + zy * zy).sqrt();
            let back = R::select(limit.lt(length), limit / length.max(tiny), one);
            (self.zx[i], self.zy[i]) = (back * zx, back * zy);
        }
    }

    /// The factors of friction [-] of every group of cells.
    pub fn factors(&self) -> impl Iterator<Item = R> {
        let starts = std::iter::once(0).chain(self.runs.iter().map(|run| run.end));
        starts.zip(&*self.runs).flat_map(|(start, run)| std::iter::repeat_n(run.factor, run.end - start))
    }

    /// Number of cells.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Memory [byte] of the cells and of their workspace, about: numbers of a cell, its intermediate results,
    /// and what it needs in the transition and while it is elastic.
    pub const fn memory(&self) -> usize {
        const NUMBERS: usize = 5 + 11 + 5;
        let of_group = NUMBERS * size_of::<R>() + size_of::<Work<R>>() + 2 * size_of::<(R::Mask, usize)>();
        self.zx.len() * of_group
    }

    /// Writes the bases [-] to `out`, and those of the lanes behind the last cell to `padding`.
    pub fn export(&self, out: &mut [[f64; 2]], padding: &mut [[f64; 2]]) {
        let lanes = self.zx.len() * R::LANES;
        for (i, to) in out.iter_mut().chain(padding).enumerate().take(lanes) {
            *to = [&self.zx, &self.zy].map(|of| of[i / R::LANES].lane(i % R::LANES));
        }
    }

    /// Sets the bases [-] to those that [`Cells::export`] wrote.
    pub fn import(&mut self, bases: &[[f64; 2]], padding: &[[f64; 2]]) {
        let lanes = self.zx.len() * R::LANES;
        for (i, [x, y]) in bases.iter().chain(padding).enumerate().take(lanes) {
            self.zx[i / R::LANES].set(i % R::LANES, *x);
            self.zy[i / R::LANES].set(i % R::LANES, *y);
        }
    }

    /// The states `zeta = sigma0 z` [-] of all cells, shifted by `sx - sw y`, `sy + sw x` [-].
    pub fn bristles(&self, [sx, sy, sw]: [f64; 3]) -> Vec<[f64; 2]> {
        let at = |of: &[R], i: usize| of[i / R::LANES].lane(i % R::LANES);
        let moved = |i| [at(&self.zx, i) + (sx - sw * at(&self.y, i)), at(&self.zy, i) + (sy + sw * at(&self.x, i))];
        (0..self.len).map(moved).collect()
    }
}

impl Cells<f64> {
    /// Centre [m, m] and share of the normal force [-] of every cell.
    pub fn centres_and_weights(&self) -> impl Iterator<Item = [f64; 3]> {
        self.x.iter().zip(&*self.y).zip(&*self.w).map(|((x, y), w)| [*x, *y, *w])
    }

    /// The bases [-].
    pub fn bases(&self) -> impl Iterator<Item = [f64; 2]> {
        self.zx.iter().zip(&self.zy).map(|(x, y)| [*x, *y])
    }

    /// The bases [-].
    pub fn bases_mut(&mut self) -> impl Iterator<Item = [&mut f64; 2]> {
        self.zx.iter_mut().zip(&mut self.zy).map(|(x, y)| [x, y])
    }
}

/// Factors in groups. Lanes behind the last cell have the factor of the last, with which they are in its run.
fn padded<R: Real>(mut factors: impl Iterator<Item = f64>) -> impl Iterator<Item = R> {
    std::iter::from_fn(move || {
        let mut group = [factors.next()?; LANES];
        for l in 1..R::LANES {
            group[l] = factors.next().unwrap_or(group[l - 1]);
        }
        Some(R::pack(&group[..R::LANES]))
    })
}

fn pack<R: Real>(values: &[f64]) -> Vec<R> {
    values.chunks(R::LANES).map(R::pack).collect()
}
