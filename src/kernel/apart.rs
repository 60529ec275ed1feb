//! Cells whose bristles stay elastic through a sweep, apart from the others: what they answer takes no root,
//! no exponential and no ramp. In a patch that slides in places there are many.
//!
//! The others go on packed, as the cells of a smaller grid. There is no twin: on a GPU lanes that have less
//! to do wait for the rest.

use super::distributed::Groups;
use super::friction::{Consts, Stage};
use crate::number::real::Real;

/// Share of elastic cells from which it pays to look for them.
const WORTH: f64 = 0.2;
/// Sweeps until the next look where it does not.
const PAUSE: u32 = 16;

/// The cells that are not elastic, packed.
#[derive(Clone, Debug)]
pub struct Apart<R: Real> {
    x: Vec<R>,
    y: Vec<R>,
    w: Vec<R>,
    zx: Vec<R>,
    zy: Vec<R>,
    /// Which cells of a group are here, and the place of the first.
    groups: Vec<(R::Mask, usize)>,
    /// Sweeps until the next look.
    pause: u32,
}

impl<R: Real> Apart<R> {
    /// Room for `groups` of cells.
    pub fn new(groups: usize) -> Self {
        let zero = R::of(0.0);
        let some = vec![zero; groups + 1];
        Self {
            x: some.clone(),
            y: some.clone(),
            w: some.clone(),
            zx: some.clone(),
            zy: some,
            groups: vec![(zero.lt(zero), 0); groups],
            pause: 0,
        }
    }

    /// Whether to look for elastic cells in this sweep. Never of single numbers, which are the reference.
    #[inline(always)]
    pub fn is_due(&mut self, k: &Consts<R>) -> bool {
        let due = self.pause == 0;
        self.pause = self.pause.saturating_sub(1);
        due && k.elasto_plastic && R::LANES > 1
    }

    /// Does the sweep of the elastic cells, as [`super::distributed::sweep_groups`] does; the others are for
    /// that, and then for [`Apart::join`].
    #[inline(always)]
    pub fn part(
        &mut self,
        cells: &mut Groups<'_, R>,
        k: &Consts<R>,
        [ux, uy, uw]: [R; 3],
        [finish, next]: [Option<&Stage<R>>; 2],
        sum: &mut [R; 12],
    ) -> Groups<'_, R> {
        let n = self.groups.len();
        let (x, y, w) = (&cells.x[..n], &cells.y[..n], &cells.w[..n]);
        let (zx, zy) = (&mut cells.zx[..n], &mut cells.zy[..n]);
        let (zero, half, one) = (R::of(0.0), R::of(0.5), R::of(1.0));
        // Limits of `|y|^2`; a stage that is not asked for moves nothing and bounds nothing.
        let none = Stage { a_sigma0: zero, damping: zero, mu_c: R::of(1e15), mu_d: zero, chi: one, pull: zero };
        let (done, st) = (finish.unwrap_or(&none), next.unwrap_or(&none));
        let (done_limit, limit) = (elastic_below(k, done), elastic_below(k, st));
        let more = one + st.damping;
        let mut s = [zero; 7];
        let mut len = 0;
        for i in 0..n {
            let (vx, vy) = (ux - uw * y[i], uw.fma(x[i], uy));
            let (px, py) = (done.a_sigma0 * vx, done.a_sigma0 * vy);
            let (tx, ty) = (zx[i] + px, zy[i] + py);
            let first = tx.fma(tx, ty * ty).lt(done_limit);
            let (bx, by) = (done.pull.fma(px, zx[i]), done.pull.fma(py, zy[i]));
            let (yx, yy) = (st.a_sigma0.fma(vx, bx), st.a_sigma0.fma(vy, by));
            let elastic = R::and(first, yx.fma(yx, yy * yy).lt(limit));
            // What is no number is not elastic.
            let others = half.lt(R::select(elastic, zero, one));
            x[i].append(others, &mut self.x, len);
            y[i].append(others, &mut self.y, len);
            w[i].append(others, &mut self.w, len);
            zx[i].append(others, &mut self.zx, len);
            zy[i].append(others, &mut self.zy, len);
            self.groups[i] = (others, len);
            len += R::bits(others).count_ones() as usize;
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
            zero.append(zero.lt(one), packed, len);
        }
        if len as f64 > (1.0 - WORTH) * (n * R::LANES) as f64 {
            self.pause = PAUSE;
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
        let n = self.groups.len();
        let (zx, zy) = (&mut zx[..n], &mut zy[..n]);
        for i in 0..n {
            let (others, at) = self.groups[i];
            zx[i] = zx[i].replaced(others, &self.zx, at);
            zy[i] = zy[i].replaced(others, &self.zy, at);
        }
    }
}

/// `|y|^2` below which a bristle is elastic at any speed: `g` lies between `mu_c` and `mu_s`.
#[inline(always)]
fn elastic_below<R: Real>(k: &Consts<R>, st: &Stage<R>) -> R {
    let least = k.s_ba * st.mu_c.min(st.mu_c + st.mu_d);
    least * least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::friction::{Friction, Law};
    use crate::kernel::distributed::{Cells, Sums, sweep};
    use crate::number::real::Lanes;
    #[cfg(target_arch = "x86_64")]
    use crate::number::{
        simd::Simd,
        x86::{Avx2F32, Avx2F64, Avx512F32, Avx512F64},
    };
    use crate::patch::Grid;
    use crate::planar::Twist;

    /// Sums and bases of three sweeps over `n x n` cells that stick in the middle and slide at the rim.
    fn sweeps<R: Real>(n: usize, law: Law) -> (Vec<Sums>, Vec<[f64; 2]>) {
        let grid = Grid::new(n, n, 0.02, 0.02).unwrap();
        let centres: Vec<[f64; 2]> = grid.centres().collect();
        let w: Vec<f64> = (0..n * n).map(|k| (1.0 + (k % 7) as f64) / (4 * n * n) as f64).collect();
        let zeta: Vec<[f64; 2]> = centres.iter().map(|[x, y]| [90.0 * x, -120.0 * y + 0.1]).collect();
        let mut cells = Cells::<R>::new(&centres, &w, &zeta);
        let k = Consts::new(&Friction { law, ..Friction::default() }).wide();
        let st = |pull| Stage { a_sigma0: 60.0, damping: 0.1, mu_c: 0.9, mu_d: 0.2, chi: 1.0, pull };
        let stages = [(None, Some(st(2.4))), (Some(st(2.4)), Some(st(1.0))), (Some(st(1.0)), None)];
        let twists = [Twist::new(1e-3, 2e-3, 0.3), Twist::new(-2e-3, 1e-3, 1.0), Twist::new(4e-3, 0.0, -0.5)];
        let sums = stages
            .iter()
            .zip(twists)
            .map(|((finish, next), u)| sweep(&mut cells, &k, u, finish.as_ref(), next.as_ref()));
        (sums.collect(), cells.bristles([0.0; 3]))
    }

    fn assert_same<R: Real>(most: f64) {
        for n in [1, 3, 11, 21] {
            for law in [Law::ElastoPlastic, Law::LuGre] {
                let ((sums, bases), (found, moved)) = (sweeps::<f64>(n, law), sweeps::<R>(n, law));
                for (a, b) in sums.iter().zip(&found) {
                    assert!((a.resist - b.resist).amax() < most, "{n}: {a:?} {b:?}");
                    assert!((a.gain - b.gain).amax() < most * a.gain.amax().max(1.0), "{n}: {a:?} {b:?}");
                }
                for (a, b) in bases.iter().zip(&moved) {
                    assert!((a[0] - b[0]).abs().max((a[1] - b[1]).abs()) < most, "{n}: {a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn cells_that_go_apart_answer_as_they_do_together() {
        assert_same::<Lanes<f64>>(1e-12);
        assert_same::<Lanes<f32>>(2e-5);
        #[cfg(target_arch = "x86_64")]
        {
            if Simd::widest() >= Simd::Avx2 {
                assert_same::<Avx2F64>(1e-12);
                assert_same::<Avx2F32>(2e-5);
            }
            if Simd::widest() >= Simd::Avx512 {
                assert_same::<Avx512F64>(1e-12);
                assert_same::<Avx512F32>(2e-5);
            }
        }
    }

    #[test]
    fn some_cells_are_elastic_and_some_are_not() {
        let (_, bases) = sweeps::<f64>(21, Law::ElastoPlastic);
        let below = bases.iter().filter(|z| z[0].hypot(z[1]) < 0.8).count();
        assert!((60..380).contains(&below), "{below}");
    }
}
