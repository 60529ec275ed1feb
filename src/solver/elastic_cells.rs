//! Cells whose bristles stay elastic through a pass: their force takes no root and no exponential. In a patch that
//! slides in some places there are many. The others are packed, as the cells of a smaller grid.
//!
//! There is no twin: on a GPU lanes that have less to do wait for the rest.

use super::friction::{Consts, Stage};
use super::groups::Groups;
use crate::number::real::Real;

/// Share of elastic cells from which it pays to look for them.
const WORTH: f64 = 0.2;
/// Passes until the next look where it does not.
const PAUSE: u32 = 16;

/// The cells that are not elastic, packed.
#[derive(Clone, Debug)]
pub struct ElasticCells<R: Real> {
    x: Vec<R>,
    y: Vec<R>,
    w: Vec<R>,
    zx: Vec<R>,
    zy: Vec<R>,
    /// Which cells of a group are here, and the place of the first.
    groups: Vec<(R::Mask, usize)>,
}

/// Whether to look for elastic cells in this pass; `pause` counts the passes until the next look. Never with one lane,
/// which is the reference.
#[inline(always)]
pub fn is_due<R: Real>(pause: &mut u32) -> bool {
    let due = *pause == 0;
    *pause = pause.saturating_sub(1);
    due && R::LANES > 1
}

impl<R: Real> ElasticCells<R> {
    /// Room for `groups` of cells.
    pub fn new(groups: usize) -> Self {
        let zero = R::splat(0.0);
        let some = vec![zero; groups + 1];
        Self {
            x: some.clone(),
            y: some.clone(),
            w: some.clone(),
            zx: some.clone(),
            zy: some,
            groups: vec![(zero.lt(zero), 0); groups],
        }
    }

    /// The pass over the elastic cells, which adds to `sum` as that over all cells would. Returns the others,
    /// whose bases [`ElasticCells::join`] puts back in their places. Where there are few, it sets `pause`.
    #[inline(always)]
    pub fn sweep(
        &mut self,
        cells: &mut Groups<'_, R>,
        k: &Consts<R>,
        [ux, uy, uw]: [R; 3],
        [commit, next]: [Option<&Stage<R>>; 2],
        sum: &mut [R; 12],
        pause: &mut u32,
    ) -> Groups<'_, R> {
        let n = cells.w.len();
        let (x, y, w) = (&cells.x[..n], &cells.y[..n], &cells.w[..n]);
        let (zx, zy) = (&mut cells.zx[..n], &mut cells.zy[..n]);
        let (zero, half, one) = (R::splat(0.0), R::splat(0.5), R::splat(1.0));
        // Limits of `|y|^2`; a stage that is not asked for moves nothing and bounds nothing.
        let none =
            Stage { a_sigma0: zero, damping: zero, mu_c: R::splat(1e15), mu_d: zero, chi: one, extrapolation: zero };
        let (done, st) = (commit.unwrap_or(&none), next.unwrap_or(&none));
        let (done_limit, limit) = (elastic_below(k, done), elastic_below(k, st));
        let more = one + st.damping;
        let mut s = [zero; 7];
        let mut len = 0;
        for i in 0..n {
            let (vx, vy) = (ux - uw * y[i], uw.fma(x[i], uy));
            let (px, py) = (done.a_sigma0 * vx, done.a_sigma0 * vy);
            let (tx, ty) = (zx[i] + px, zy[i] + py);
            let first = tx.fma(tx, ty * ty).lt(done_limit);
            let (bx, by) = (done.extrapolation.fma(px, zx[i]), done.extrapolation.fma(py, zy[i]));
            let (yx, yy) = (st.a_sigma0.fma(vx, bx), st.a_sigma0.fma(vy, by));
            let elastic = R::and(first, yx.fma(yx, yy * yy).lt(limit));
            // What is no number is not elastic.
            let others = half.lt(R::select(elastic, zero, one));
            x[i].compress_into(others, &mut self.x, len);
            y[i].compress_into(others, &mut self.y, len);
            w[i].compress_into(others, &mut self.w, len);
            zx[i].compress_into(others, &mut self.zx, len);
            zy[i].compress_into(others, &mut self.zy, len);
            self.groups[i] = (others, len);
            len += R::bitmask(others).count_ones() as usize;
            (zx[i], zy[i]) = (bx, by);

            let share = R::select(elastic, w[i], zero);
            let fx = share * k.sigma2.fma(vx, st.damping.fma(yx - bx, yx));
            let fy = share * k.sigma2.fma(vy, st.damping.fma(yy - by, yy));
            s[0] += fx;
            s[1] += fy;
            s[2] = x[i].fma(fy, s[2] - y[i] * fx);
            s[3] += share;
            s[4] = share.fma(x[i], s[4]);
            s[5] = share.fma(y[i], s[5]);
            s[6] = share.fma(x[i].fma(x[i], y[i] * y[i]), s[6]);
        }
        // What stands behind the last cell may not even be numbers.
        for packed in [&mut self.x, &mut self.y, &mut self.w, &mut self.zx, &mut self.zy] {
            zero.compress_into(zero.lt(one), packed, len);
        }
        if len as f64 > (1.0 - WORTH) * (n * R::LANES) as f64 {
            *pause = PAUSE;
        }
        // Of an elastic cell `d zeta/dv` is `a sigma0`.
        let [fx, fy, tau, all, along_x, along_y, square] = s;
        let c = st.a_sigma0.fma(more, k.sigma2);
        let (all, along_x, along_y, square) = (c * all, c * along_x, c * along_y, c * square);
        let terms = [fx, fy, tau, all, zero, -along_y, zero, all, along_x, -along_y, along_x, square];
        for (sum, term) in sum.iter_mut().zip(terms) {
            *sum += term;
        }
        let m = len.div_ceil(R::LANES);
        Groups { x: &self.x[..m], y: &self.y[..m], w: &self.w[..m], zx: &mut self.zx[..m], zy: &mut self.zy[..m] }
    }

    /// Puts the bases of the others back in their places.
    #[inline(always)]
    pub fn join(&self, zx: &mut [R], zy: &mut [R]) {
        let n = zx.len();
        let (groups, zy) = (&self.groups[..n], &mut zy[..n]);
        for i in 0..n {
            let (others, at) = groups[i];
            zx[i] = zx[i].expand_from(others, &self.zx, at);
            zy[i] = zy[i].expand_from(others, &self.zy, at);
        }
    }
}

/// `|y|^2` below which a bristle is elastic at any speed: `g` lies between `mu_c` and `mu_s`.
#[inline(always)]
fn elastic_below<R: Real>(k: &Consts<R>, st: &Stage<R>) -> R {
    let least = k.s_ba * st.mu_c.min(st.mu_c + st.mu_d);
    least * least
}
