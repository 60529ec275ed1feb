//! Cells whose bristles stay elastic through a pass. Their force is linear in the velocity and needs neither
//! a square root nor an exponential. A patch that slides in some places has many such cells. They are summed
//! with one matrix; the other cells are packed into consecutive lanes and treated as a smaller grid.
//!
//! There is no twin, because the lanes of a GPU with less work would only wait for the others.

use super::friction::{Consts, Stage};
use super::groups::Groups;
use crate::number::real::Real;

/// Least share of elastic cells for which separating them saves time.
const LEAST_SHARE: f64 = 0.2;
/// Passes until elastic cells are separated again if there were fewer.
const RETRY_AFTER: u32 = 16;

/// The cells that do not stay elastic, packed into consecutive lanes.
#[derive(Clone, Debug)]
pub struct ElasticCells<R: Real> {
    x: Vec<R>,
    y: Vec<R>,
    w: Vec<R>,
    zx: Vec<R>,
    zy: Vec<R>,
    /// For every group, which of its cells are packed here, and the place of the first.
    groups: Vec<(R::Mask, usize)>,
}

/// Whether elastic cells are to be separated in this pass; `pause` counts the passes until then. They never
/// are with one lane, which is the readable reference.
#[inline(always)]
pub fn is_due<R: Real>(pause: &mut u32) -> bool {
    let due = *pause == 0;
    *pause = pause.saturating_sub(1);
    due && R::LANES > 1
}

impl<R: Real> ElasticCells<R> {
    /// Memory for `groups` of cells.
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

    /// The pass over the elastic cells: commits and evaluates them and adds their terms to `sum`. Returns the
    /// other cells, packed, whose bases [`ElasticCells::unpack`] writes back after their pass. Sets `pause`
    /// if there are too few elastic cells.
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
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        // A stage that is not asked for is replaced by one that moves nothing, under a limit that no bristle
        // reaches.
        let none = Stage {
            a_sigma0: zero,
            damping: zero,
            mu_c: R::splat(1e15),
            mu_d: zero,
            chi: one,
            extrapolation: zero,
            cuts: zero,
        };
        let (done, st) = (commit.unwrap_or(&none), next.unwrap_or(&none));
        let (done_limit, limit) = (elastic_below(k, done), elastic_below(k, st));
        let mut s = [zero; 7];
        let mut len = 0;
        for i in 0..n {
            let (vx, vy) = (y[i].fma(-uw, ux), uw.fma(x[i], uy));
            let (px, py) = (done.a_sigma0 * vx, done.a_sigma0 * vy);
            let (tx, ty) = (zx[i] + px, zy[i] + py);
            let first = tx.fma(tx, ty * ty).lt(done_limit);
            let (bx, by) = (done.extrapolation.fma(px, zx[i]), done.extrapolation.fma(py, zy[i]));
            let (yx, yy) = (st.a_sigma0.fma(vx, bx), st.a_sigma0.fma(vy, by));
            let elastic = R::and(first, yx.fma(yx, yy * yy).lt(limit));
            // A cell whose state is NaN is not elastic, so that its NaN reaches the sums.
            let others = R::not(elastic);
            x[i].compress_into(others, &mut self.x, len);
            y[i].compress_into(others, &mut self.y, len);
            w[i].compress_into(others, &mut self.w, len);
            zx[i].compress_into(others, &mut self.zx, len);
            zy[i].compress_into(others, &mut self.zy, len);
            self.groups[i] = (others, len);
            len += R::bitmask(others).count_ones() as usize;
            (zx[i], zy[i]) = (bx, by);

            let share = R::select(elastic, w[i], zero);
            let (along_x, along_y) = (share * x[i], share * y[i]);
            s[0] = share.fma(bx, s[0]);
            s[1] = share.fma(by, s[1]);
            s[2] = along_x.fma(by, (-along_y).fma(bx, s[2]));
            s[3] += share;
            s[4] += along_x;
            s[5] += along_y;
            s[6] = along_x.fma(x[i], along_y.fma(y[i], s[6]));
        }
        // The lanes behind the last packed cell may hold anything, and are set to zero.
        for packed in [&mut self.x, &mut self.y, &mut self.w, &mut self.zx, &mut self.zy] {
            zero.compress_into(zero.lt(one), packed, len);
        }
        if len as f64 > (1.0 - LEAST_SHARE) * (n * R::LANES) as f64 {
            *pause = RETRY_AFTER;
        }
        // The derivative d zeta*/dv of an elastic bristle is `a sigma0`, so that the gain is that of a rigid
        // grid, docs/model.md (62), and the force is that of the bases and the gain times the twist.
        let [fx, fy, tau, all, along_x, along_y, square] = s;
        let c = st.a_sigma0.fma(one + st.damping, k.sigma2);
        let (all, along_x, along_y, square) = (c * all, c * along_x, c * along_y, c * square);
        let fx = all.fma(ux, (-along_y).fma(uw, fx));
        let fy = all.fma(uy, along_x.fma(uw, fy));
        let tau = along_x.fma(uy, (-along_y).fma(ux, square.fma(uw, tau)));
        let terms = [fx, fy, tau, all, zero, -along_y, zero, all, along_x, -along_y, along_x, square];
        for (sum, term) in sum.iter_mut().zip(terms) {
            *sum += term;
        }
        let m = len.div_ceil(R::LANES);
        Groups { x: &self.x[..m], y: &self.y[..m], w: &self.w[..m], zx: &mut self.zx[..m], zy: &mut self.zy[..m] }
    }

    /// Writes the bases of the packed cells back to their places.
    #[inline(always)]
    pub fn unpack(&self, zx: &mut [R], zy: &mut [R]) {
        let n = zx.len();
        let (groups, zy) = (&self.groups[..n], &mut zy[..n]);
        for i in 0..n {
            let (others, at) = groups[i];
            zx[i] = zx[i].expand_from(others, &self.zx, at);
            zy[i] = zy[i].expand_from(others, &self.zy, at);
        }
    }
}

/// The `|y|^2` below which a bristle is elastic at any speed, as `g` lies between `mu_c` and `mu_s`.
#[inline(always)]
fn elastic_below<R: Real>(k: &Consts<R>, st: &Stage<R>) -> R {
    let least = k.s_ba * st.mu_c.min(st.mu_c + st.mu_d);
    least * least
}
