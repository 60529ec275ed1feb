//! The bristles in the transition (`docs/model.md`, section 5.3), packed into consecutive lanes for the
//! iteration of their roots. These are about a quarter of the cells and take most of the arithmetic.
#![allow(clippy::needless_range_loop, reason = "a cell is the same place in several arrays")]

use super::friction::{Consts, Slip, Trial};
use super::transition::{Root, in_transition};
use crate::number::real::Real;

/// The bristles in the transition.
#[derive(Clone, Debug)]
pub struct TransitionCells<R: Real> {
    /// `|y|`, `travel` and `g` of the packed lanes; those behind have no meaning.
    len_y: Vec<R>,
    travel: Vec<R>,
    g: Vec<R>,
    /// `s_ba` and `1/(1 - s_ba)` of every lane, if they differ from lane to lane.
    s_ba: Option<[Vec<R>; 2]>,
    roots: Vec<Root<R>>,
    d: Vec<R>,
    stiff: Vec<R>,
    xb: Vec<R>,
    xs: Vec<R>,
    /// For every group, which of its cells are packed here, and the place of the first.
    groups: Vec<(R::Mask, usize)>,
}

impl<R: Real> TransitionCells<R> {
    /// Memory for `groups` of cells, whose friction constants may `differ` from lane to lane.
    pub fn new(groups: usize, differ: bool) -> Self {
        let one = vec![R::splat(1.0); groups + 1];
        let none = R::splat(0.0).lt(R::splat(0.0));
        Self {
            len_y: one.clone(),
            travel: one.clone(),
            g: one.clone(),
            s_ba: differ.then(|| [R::splat(0.0), R::splat(1.0)].map(|none| vec![none; groups + 1])),
            roots: vec![Root::none(); groups + 1],
            d: one.clone(),
            stiff: one.clone(),
            xb: one.clone(),
            xs: one,
            groups: vec![(none, 0); groups],
        }
    }

    /// Begins to pack other bristles; those of before stay until [`TransitionCells::solve`].
    #[inline(always)]
    pub fn packing(&mut self) -> Packing<'_, R> {
        // Places of their own for the slices, and one length, spare a loop over groups what it would
        // otherwise read and check again in each turn.
        let n = self.len_y.len();
        Packing {
            len_y: &mut self.len_y,
            travel: &mut self.travel[..n],
            g: &mut self.g[..n],
            s_ba: self.s_ba.as_mut().map(|[s_ba, _]| &mut s_ba[..n]),
            groups: &mut self.groups,
            len: 0,
        }
    }

    /// Finds the slips of the `len` bristles that were packed, under constants `k` except for those that
    /// differ from lane to lane; with `ONLY_D` only the `d` of them.
    ///
    /// The operations of one root each depend on the one before. All roots therefore take each iteration
    /// together, so that the processor can overlap them.
    #[inline(always)]
    pub fn solve<const ONLY_D: bool>(&mut self, k: &Consts<R>, len: usize) {
        let n = len.div_ceil(R::LANES);
        let (len_y, travel, g) = (&self.len_y[..n], &self.travel[..n], &self.g[..n]);
        let roots = &mut self.roots[..n];
        let slips = [&mut self.d[..n], &mut self.stiff[..n], &mut self.xb[..n], &mut self.xs[..n]];
        // Constants that are the same in every lane are computed once and not in every turn of the loops.
        match &mut self.s_ba {
            None => solve_under::<R, ONLY_D>(k, None, [len_y, travel, g], roots, slips),
            Some([s_ba, inv_width]) => {
                for i in 0..n {
                    inv_width[i] = (R::splat(1.0) - s_ba[i]).recip();
                }
                let differ = Some([&s_ba[..n], &inv_width[..n]]);
                solve_under::<R, ONLY_D>(k, differ, [len_y, travel, g], roots, slips);
            }
        }
    }

    /// `1 / (1 + a lambda)` of the cells of group `i`: that of the root in the transition, else the given
    /// `d`.
    #[inline(always)]
    pub fn d(&self, i: usize, d: R) -> R {
        let (mask, at) = self.groups[i];
        d.expand_from(mask, &self.d, at)
    }

    /// The slip of the cells of group `i`: that of the root in the transition, else the given `z`.
    #[inline(always)]
    pub fn slip(&self, i: usize, z: &Slip<R>) -> Slip<R> {
        let (mask, at) = self.groups[i];
        Slip {
            d: z.d.expand_from(mask, &self.d, at),
            stiff: z.stiff.expand_from(mask, &self.stiff, at),
            xb: z.xb.expand_from(mask, &self.xb, at),
            xs: z.xs.expand_from(mask, &self.xs, at),
        }
    }
}

/// Bristles in the transition while they are packed, group after group.
#[derive(Debug)]
pub struct Packing<'a, R: Real> {
    len_y: &'a mut [R],
    travel: &'a mut [R],
    g: &'a mut [R],
    s_ba: Option<&'a mut [R]>,
    groups: &'a mut [(R::Mask, usize)],
    len: usize,
}

impl<R: Real> Packing<'_, R> {
    /// Packs the trials of group `i`, under constants `k`, that are in the transition.
    #[inline(always)]
    pub fn gather(&mut self, i: usize, t: &Trial<R>, k: &Consts<R>) {
        let (mask, len) = (in_transition(k, t), self.len);
        t.len.compress_into(mask, self.len_y, len);
        t.travel.compress_into(mask, self.travel, len);
        t.g.compress_into(mask, self.g, len);
        if let Some(s_ba) = &mut self.s_ba {
            k.s_ba.compress_into(mask, s_ba, len);
        }
        self.groups[i] = (mask, len);
        self.len += R::bitmask(mask).count_ones() as usize;
    }

    /// Number of bristles that are packed.
    pub const fn len(&self) -> usize {
        self.len
    }
}

/// [`TransitionCells::solve`], under constants of which some may `differ` from lane to lane.
#[inline(always)]
fn solve_under<R: Real, const ONLY_D: bool>(
    k: &Consts<R>,
    differ: Option<[&[R]; 2]>,
    [len_y, travel, g]: [&[R]; 3],
    roots: &mut [Root<R>],
    [d, stiff, xb, xs]: [&mut [R]; 4],
) {
    let n = roots.len();
    let (len_y, travel, g) = (&len_y[..n], &travel[..n], &g[..n]);
    let (d, stiff, xb, xs) = (&mut d[..n], &mut stiff[..n], &mut xb[..n], &mut xs[..n]);
    for i in 0..n {
        let inv_g = g[i].recip();
        roots[i] = Root::start(&consts(k, differ, i), len_y[i] * inv_g, travel[i] * inv_g);
    }
    for _ in 1..R::TRANSITION_ITERATIONS {
        for root in &mut *roots {
            root.approach();
        }
    }
    for i in 0..n {
        let z = roots[i].slip();
        d[i] = z.d;
        if !ONLY_D {
            (stiff[i], xb[i], xs[i]) = (z.stiff, z.xb, z.xs);
        }
    }
}

/// The constants of group `i` of the packed bristles, of which `s_ba` and `inv_width` may `differ`.
#[inline(always)]
fn consts<R: Real>(k: &Consts<R>, differ: Option<[&[R]; 2]>, i: usize) -> Consts<R> {
    match differ {
        Some([s_ba, inv_width]) => Consts { s_ba: s_ba[i], inv_width: inv_width[i], ..*k },
        None => *k,
    }
}
