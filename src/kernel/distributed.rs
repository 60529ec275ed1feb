//! The sweep over the cells of a grid: finishes one stage, answers for the next, sums (`docs/model.md`,
//! section 5.5). Twin: `shaders/distributed.wgsl`.

use super::apart::Apart;
use super::friction::{Consts, Motion, Slip, Stage, Trial, decay, motion, on_ramp, sensitivity, slip, trial};
use super::ramp::Ramp;
use super::rest::Rest;
use crate::number::real::Real;
use crate::number::simd::copies;
use crate::planar::{Twist, Wrench};
use nalgebra::{Matrix3, Vector3};

/// The cells of one contact, structure of arrays, as many side by side as the number type has
/// lanes. Lanes beyond the last cell carry no pressure.
#[derive(Clone, Debug)]
pub struct Cells<R: Real> {
    x: Vec<R>,
    y: Vec<R>,
    w: Vec<R>,
    /// Base of the stage, or state between steps: `zeta = sigma0 z` [-].
    zx: Vec<R>,
    zy: Vec<R>,
    /// States that were kept.
    kept: (Vec<R>, Vec<R>),
    len: usize,
    scratch: Scratch<R>,
    apart: Apart<R>,
}

/// What one loop of a sweep leaves for the next.
#[derive(Clone, Debug)]
pub struct Scratch<R: Real> {
    work: Vec<Work<R>>,
    ramp: Ramp<R>,
}

impl<R: Real> Scratch<R> {
    /// Room for `groups` of cells, whose friction constants may `differ` from lane to lane.
    pub fn new(groups: usize, differ: bool) -> Self {
        let zero = R::of(0.0);
        let motion = Motion { vx: zero, vy: zero, s: zero, ex: zero, ey: zero, bell: zero, bell_slope: zero };
        let trial = Trial { yx: zero, yy: zero, nx: zero, ny: zero, inv_len: zero, len: zero, g: zero, push: zero };
        let slip = Slip { d: zero, stiff: zero, xb: zero, xs: zero };
        Self { work: vec![Work { motion, trial, slip }; groups], ramp: Ramp::new(groups, differ) }
    }
}

/// Groups of cells as a sweep takes them: centres [m], shares of the normal force [-] and bases [-].
#[derive(Debug)]
pub struct Groups<'a, R: Real> {
    /// Centres [m].
    pub x: &'a [R],
    /// Centres [m].
    pub y: &'a [R],
    /// Shares of the normal force [-].
    pub w: &'a [R],
    /// Bases [-].
    pub zx: &'a mut [R],
    /// Bases [-].
    pub zy: &'a mut [R],
}

/// A cell between the loops of a sweep.
#[derive(Clone, Copy, Debug)]
struct Work<R> {
    motion: Motion<R>,
    trial: Trial<R>,
    /// Off the ramp.
    slip: Slip<R>,
}

impl<R: Real> Cells<R> {
    /// Cells at `centres` [m] with shares `w` of the normal force [-] and states `zeta` [-].
    pub fn new(centres: &[[f64; 2]], w: &[f64], zeta: &[[f64; 2]]) -> Self {
        let column = |of: &[[f64; 2]], k: usize| pack(&of.iter().map(|v| v[k]).collect::<Vec<_>>());
        Self {
            x: column(centres, 0),
            y: column(centres, 1),
            w: pack(w),
            zx: column(zeta, 0),
            zy: column(zeta, 1),
            kept: (Vec::new(), Vec::new()),
            len: centres.len(),
            scratch: Scratch::new(w.len().div_ceil(R::LANES), false),
            apart: Apart::new(w.len().div_ceil(R::LANES)),
        }
    }

    /// Remembers the states.
    pub fn keep(&mut self) {
        self.kept.0.clone_from(&self.zx);
        self.kept.1.clone_from(&self.zy);
    }

    /// Goes back to the states that were kept.
    pub fn restore(&mut self) {
        self.zx.clone_from(&self.kept.0);
        self.zy.clone_from(&self.kept.1);
    }

    /// Moves every base by `sx - sw y`, `sy + sw x` [-].
    pub fn shift(&mut self, shift: [f64; 3]) {
        let [sx, sy, sw] = shift.map(R::of);
        for i in 0..self.zx.len() {
            self.zx[i] += sx - sw * self.y[i];
            self.zy[i] += sy + sw * self.x[i];
        }
    }

    /// Replaces the shares of the normal force [-].
    pub fn set_weights(&mut self, w: &[f64]) {
        self.w = pack(w);
    }

    /// The states `zeta = sigma0 z` [-] of all cells, moved by `sx - sw y`, `sy + sw x` [-].
    pub fn bristles(&self, [sx, sy, sw]: [f64; 3]) -> Vec<[f64; 2]> {
        let at = |of: &[R], i: usize| of[i / R::LANES].lane(i % R::LANES);
        let moved = |i| [at(&self.zx, i) + (sx - sw * at(&self.y, i)), at(&self.zy, i) + (sy + sw * at(&self.x, i))];
        (0..self.len).map(moved).collect()
    }
}

impl Cells<f64> {
    /// Centre [m, m] and share of the normal force [-] of every cell.
    pub fn places(&self) -> impl Iterator<Item = [f64; 3]> {
        self.x.iter().zip(&self.y).zip(&self.w).map(|((x, y), w)| [*x, *y, *w])
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

fn pack<R: Real>(values: &[f64]) -> Vec<R> {
    values.chunks(R::LANES).map(R::pack).collect()
}

/// Sums over the cells, per unit normal force, `docs/model.md` (41): `resist = -sum w E^T f` and
/// `gain = sum w E^T C E`, with `E = [[1, 0, -y], [0, 1, x]]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// The opposite of the friction wrench at the patch origin [-, -, m].
    pub resist: Vector3<f64>,
    /// Its derivative over the patch twist [s/m, ..., s m].
    pub gain: Matrix3<f64>,
}

copies! {
    /// One sweep at patch twist `u`. `finish` moves the bases of the stage just solved; `next` answers
    /// for the stage to solve, from the moved bases.
    pub fn sweep<R>(
        cells: &mut Cells<R>,
        k: &Consts<R>,
        u: Twist,
        finish: Option<&Stage<f64>>,
        next: Option<&Stage<f64>>
    ) -> Sums {
        let (finish, next) = (finish.map(Stage::wide), next.map(Stage::wide));
        let Cells { x, y, w, zx, zy, scratch, apart, .. } = cells;
        let mut groups = Groups { x, y, w, zx, zy };
        let u = [R::of(u.vx), R::of(u.vy), R::of(u.w)];
        let mut sum = [R::of(0.0); 12];
        let stages = [finish.as_ref(), next.as_ref()];
        if apart.is_due(k) {
            let others = apart.part(&mut groups, k, u, stages, &mut sum);
            sweep_groups(others, scratch, k, u, stages, &mut sum);
            apart.join(groups.zx, groups.zy);
        } else {
            sweep_groups(groups, scratch, k, u, stages, &mut sum);
        }
        if next.is_none() {
            return Sums::default();
        }
        // No closure here: it would be compiled for the baseline.
        let mut s = [0.0; 12];
        for (s, sum) in s.iter_mut().zip(sum) {
            *s = sum.sum();
        }
        Sums {
            resist: Vector3::new(s[0], s[1], s[2]),
            gain: Matrix3::new(s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11]),
        }
    }
}

/// The sweep over some groups of cells at patch twist `u`, for stages `finish` and `next`: adds to `sum` the
/// three components of `resist` and the nine of `gain`, row by row. Both stages share speed and Stribeck
/// bell.
///
/// Short loops, so that the processor works on several groups of cells at once while each waits for its own
/// results; one long loop takes twice as long.
#[inline(always)]
pub fn sweep_groups<R: Real>(
    groups: Groups<'_, R>,
    scratch: &mut Scratch<R>,
    k: &Consts<R>,
    u: [R; 3],
    [finish, next]: [Option<&Stage<R>>; 2],
    sum: &mut [R; 12],
) {
    let n = groups.w.len();
    let (x, y, w) = (groups.x, &groups.y[..n], groups.w);
    let (zx, zy) = (&mut groups.zx[..n], &mut groups.zy[..n]);
    let Scratch { work, ramp } = scratch;
    let work = &mut work[..n];
    motions([&x[..n], y], work, k, u);
    if let Some(st) = finish {
        tries::<R, true>([zx, zy], work, ramp, k, st);
        relax([zx, zy], work, ramp, st);
    }
    if let Some(st) = next {
        tries::<R, false>([zx, zy], work, ramp, k, st);
        answer([&x[..n], y, w], [zx, zy], work, ramp, k, st, sum);
    }
}

/// The motion of every cell at patch twist `u`.
#[inline(always)]
fn motions<R: Real>([x, y]: [&[R]; 2], work: &mut [Work<R>], k: &Consts<R>, [ux, uy, uw]: [R; 3]) {
    let n = work.len();
    let (x, y) = (&x[..n], &y[..n]);
    for i in 0..n {
        work[i].motion = motion(k, ux - uw * y[i], uw.fma(x[i], uy));
    }
}

/// How every bristle takes stage `st`; `ramp` has those that end on it. Of all slips only `d` if that is
/// enough.
#[inline(always)]
fn tries<R: Real, const ONLY_D: bool>(
    [zx, zy]: [&[R]; 2],
    work: &mut [Work<R>],
    ramp: &mut Ramp<R>,
    k: &Consts<R>,
    st: &Stage<R>,
) {
    let n = work.len();
    let (zx, zy) = (&zx[..n], &zy[..n]);
    for i in 0..n {
        let t = trial(k, st, &work[i].motion, zx[i], zy[i]);
        work[i].trial = t;
        if ONLY_D {
            work[i].slip.d = slip(k, &t).d;
        } else {
            work[i].slip = slip(k, &t);
        }
    }
    ramp.clear();
    if k.elasto_plastic {
        for (i, Work { trial, .. }) in work.iter().enumerate() {
            ramp.gather(i, on_ramp(k, trial), trial, k);
        }
        ramp.solve::<ONLY_D>(k);
    }
}

/// Moves the bases of stage `st`, `docs/model.md` (26).
#[inline(always)]
fn relax<R: Real>([zx, zy]: [&mut [R]; 2], work: &[Work<R>], ramp: &Ramp<R>, st: &Stage<R>) {
    let n = work.len();
    let (zx, zy) = (&mut zx[..n], &mut zy[..n]);
    for i in 0..n {
        let (m, t) = (&work[i].motion, &work[i].trial);
        let d = ramp.d(i, work[i].slip.d);
        // An elastic bristle moves as its base does, to the last bit: the difference would lose some.
        let slips = d.lt(R::of(1.0));
        zx[i] = st.pull.fma(R::select(slips, d * t.yx - zx[i], st.a_sigma0 * m.vx), zx[i]);
        zy[i] = st.pull.fma(R::select(slips, d * t.yy - zy[i], st.a_sigma0 * m.vy), zy[i]);
    }
}

/// Forces and gains of stage `st`, `docs/model.md` (41) and (42), added to `sum`.
#[inline(always)]
fn answer<R: Real>(
    [x, y, w]: [&[R]; 3],
    [zx, zy]: [&[R]; 2],
    work: &[Work<R>],
    on: &Ramp<R>,
    k: &Consts<R>,
    st: &Stage<R>,
    sums: &mut [R; 12],
) {
    let n = work.len();
    let (x, y, w, zx, zy) = (&x[..n], &y[..n], &w[..n], &zx[..n], &zy[..n]);
    let more = R::of(1.0) + st.damping;
    let mut sum = *sums;
    for i in 0..n {
        let (x, y, w) = (x[i], y[i], w[i]);
        let (m, t) = (&work[i].motion, &work[i].trial);
        let z = on.slip(i, &work[i].slip);
        let (sx, sy) = (z.d * t.yx, z.d * t.yy);
        let fx = w * k.sigma2.fma(m.vx, st.damping.fma(sx - zx[i], sx));
        let fy = w * k.sigma2.fma(m.vy, st.damping.fma(sy - zy[i], sy));
        let [dxx, dxy, dyx, dyy] = sensitivity(k, st, m, t, &z);
        let share = w * more;
        let viscous = w * k.sigma2;
        let (cxx, cxy) = (share.fma(dxx, viscous), share * dxy);
        let (cyx, cyy) = (share * dyx, share.fma(dyy, viscous));
        // The rows of C E, then of E^T C E.
        let (xw, yw) = (x.fma(cxy, -(y * cxx)), x.fma(cyy, -(y * cyx)));
        sum[0] += fx;
        sum[1] += fy;
        sum[2] = x.fma(fy, sum[2] - y * fx);
        sum[3] += cxx;
        sum[4] += cxy;
        sum[5] += xw;
        sum[6] += cyx;
        sum[7] += cyy;
        sum[8] += yw;
        sum[9] = x.fma(cyx, sum[9] - y * cxx);
        sum[10] = x.fma(cyy, sum[10] - y * cxy);
        sum[11] = x.fma(yw, sum[11] - y * xw);
    }
    *sums = sum;
}

copies! {
    /// The grid as one, if all bristles are elastic under friction `mu`.
    pub fn settle<R>(cells: &Cells<R>, k: &Consts<R>, mu: f64) -> Option<Rest> {
        let Cells { x, y, w, zx, zy, .. } = cells;
        let zero = R::of(0.0);
        let (mut most, mut reach, mut s) = (zero, zero, [zero; 7]);
        for i in 0..w.len() {
            let (x, y, w, zx, zy) = (x[i], y[i], w[i], zx[i], zy[i]);
            most = most.max(zx * zx + zy * zy);
            reach = reach.max(x * x + y * y);
            let terms = [zx, zy, x * zy - y * zx, R::of(1.0), x, y, x * x + y * y];
            for (s, term) in s.iter_mut().zip(terms) {
                *s += w * term;
            }
        }
        let mut greatest = [0.0f64; 2];
        for l in 0..R::LANES {
            greatest = [greatest[0].max(most.lane(l)), greatest[1].max(reach.lane(l))];
        }
        let mut sums = [0.0; 7];
        for (sum, s) in sums.iter_mut().zip(s) {
            *sum = s.sum();
        }
        let ([fx, fy, tau, one, cx, cy, square], [most, reach]) = (sums, greatest.map(f64::sqrt));
        let spread = Matrix3::new(one, 0.0, -cy, 0.0, one, cx, -cy, cx, square);
        let (s_ba, sigma2) = (k.s_ba.lane(0), k.sigma2.lane(0));
        (most < s_ba * mu).then(|| Rest::new(Vector3::new(fx, fy, tau), spread, [most, reach], [s_ba, sigma2]))
    }
}

copies! {
    /// `sum w E^T (zeta - kept)` [-, -, m]: how far the force has moved since the states were kept.
    pub fn moved<R>(cells: &Cells<R>) -> Vector3<f64> {
        let Cells { x, y, w, zx, zy, kept, .. } = cells;
        let mut s = [R::of(0.0); 3];
        for i in 0..w.len() {
            let (fx, fy) = (w[i] * (zx[i] - kept.0[i]), w[i] * (zy[i] - kept.1[i]));
            s[0] += fx;
            s[1] += fy;
            s[2] += x[i] * fy - y[i] * fx;
        }
        Vector3::new(s[0].sum(), s[1].sum(), s[2].sum())
    }
}

copies! {
    /// The friction wrench [N, N, N m] at the patch origin in the present state, `docs/model.md` (15) with
    /// the rate of (8) and normal force `f_n` [N], and the share of it on slipping cells.
    pub fn wrench<R>(cells: &Cells<R>, k: &Consts<R>, u: Twist, rate: &Rate<f64>, f_n: f64) -> (Wrench, f64) {
        let rate = Rate { sigma1: R::of(rate.sigma1), mu_c: R::of(rate.mu_c), mu_d: R::of(rate.mu_d) };
        let (ux, uy, uw) = (R::of(u.vx), R::of(u.vy), R::of(u.w));
        let mut sum = [R::of(0.0); 4];
        for i in 0..cells.w.len() {
            let (x, y, w) = (cells.x[i], cells.y[i], cells.w[i]);
            let (zx, zy) = (cells.zx[i], cells.zy[i]);
            let m = motion(k, ux - uw * y, uy + uw * x);
            let g = rate.mu_c + rate.mu_d * m.bell;
            let decay = decay(k, g, &m, zx, zy);
            let fx = -w * (zx + rate.sigma1 * (m.vx - decay * zx) + k.sigma2 * m.vx);
            let fy = -w * (zy + rate.sigma1 * (m.vy - decay * zy) + k.sigma2 * m.vy);
            sum[0] += fx;
            sum[1] += fy;
            sum[2] += x * fy - y * fx;
            let slips = (k.s_ba * g).lt((zx * zx + zy * zy).sqrt());
            sum[3] += R::select(slips, w, R::of(0.0));
        }
        let mut s = [0.0; 4];
        for (s, sum) in s.iter_mut().zip(sum) {
            *s = sum.sum();
        }
        (Wrench::new(f_n * s[0], f_n * s[1], f_n * s[2]), s[3])
    }
}

/// Constants of a recorded wrench.
#[derive(Clone, Copy, Debug)]
pub struct Rate<R> {
    /// `sigma1` [s/m].
    pub sigma1: R,
    /// Coulomb coefficient [-].
    pub mu_c: R,
    /// `mu_s - mu_c` [-].
    pub mu_d: R,
}
