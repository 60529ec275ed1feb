//! The bristles in the transition (`docs/model.md`, section 5.3), packed into consecutive lanes for the
//! iteration of their roots. They are about a quarter of the cells and take most of the arithmetic.

use super::friction::{Consts, Slip, Trial};
use super::transition::Root;
use crate::number::real::Real;

/// The bristles in the transition.
#[derive(Clone, Debug)]
pub struct TransitionCells<R: Real> {
    /// `|y|`, `travel` and `g` of the first `len` lanes; those behind have no meaning.
    len_y: Vec<R>,
    travel: Vec<R>,
    g: Vec<R>,
    /// `s_ba` and `1/(1 - s_ba)` of every lane, if they differ from lane to lane.
    s_ba: Option<[Vec<R>; 2]>,
    len: usize,
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
            len: 0,
            roots: vec![Root::none(); groups + 1],
            d: one.clone(),
            stiff: one.clone(),
            xb: one.clone(),
            xs: one,
            groups: vec![(none, 0); groups],
        }
    }

    /// Removes all bristles.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Packs the trials of group `i`, under constants `k`, that are in the transition.
    #[inline(always)]
    pub fn gather(&mut self, i: usize, mask: R::Mask, t: &Trial<R>, k: &Consts<R>) {
        t.len.compress_into(mask, &mut self.len_y, self.len);
        t.travel.compress_into(mask, &mut self.travel, self.len);
        t.g.compress_into(mask, &mut self.g, self.len);
        if let Some(s_ba) = &mut self.s_ba {
            k.s_ba.compress_into(mask, &mut s_ba[0], self.len);
        }
        self.groups[i] = (mask, self.len);
        self.len += R::bitmask(mask).count_ones() as usize;
    }

    /// Finds the slips of the bristles that were gathered, under constants `k` except for those that differ
    /// from lane to lane; with `ONLY_D` only the `d` of them.
    ///
    /// The operations of one root each depend on the one before. All roots therefore take each iteration
    /// together, so that the processor can overlap them.
    #[inline(always)]
    pub fn solve<const ONLY_D: bool>(&mut self, k: &Consts<R>) {
        let n = self.len.div_ceil(R::LANES);
        if let Some([s_ba, inv_width]) = &mut self.s_ba {
            for i in 0..n {
                inv_width[i] = (R::splat(1.0) - s_ba[i]).recip();
            }
        }
        for i in 0..n {
            let inv_g = self.g[i].recip();
            self.roots[i] = Root::start(&self.consts(k, i), self.len_y[i] * inv_g, self.travel[i] * inv_g);
        }
        for _ in 1..R::TRANSITION_ITERATIONS {
            for i in 0..n {
                let k = self.consts(k, i);
                self.roots[i].approach(&k);
            }
        }
        for i in 0..n {
            let k = self.consts(k, i);
            self.roots[i].finish(&k);
        }
        for i in 0..n {
            let z = self.roots[i].slip(&self.consts(k, i));
            self.d[i] = z.d;
            if !ONLY_D {
                (self.stiff[i], self.xb[i], self.xs[i]) = (z.stiff, z.xb, z.xs);
            }
        }
    }

    /// The constants of group `i` of the packed bristles.
    #[inline(always)]
    fn consts(&self, k: &Consts<R>, i: usize) -> Consts<R> {
        match &self.s_ba {
            Some([s_ba, inv_width]) => Consts { s_ba: s_ba[i], inv_width: inv_width[i], ..*k },
            None => *k,
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
