//! The derivatives of the bristles of a grid and of their forces over parameters (`docs/model.md`, section
//! 15.2): the chain rule by hand, with cells in the lanes of the number type. Dual numbers would take three
//! times as long, as they have one cell at a time.
//!
//! The state of a bristle after a stage is `zeta* = d y` with `y = zeta_b + a sigma0 v`, of length `rho`
//! along `n = y/|y|`. Its derivative is
//!
//! `d zeta* = d dy + n (along_y . dy + along_v . dv + sum over constants c of by_c dc)`,
//!
//! in which all but `dy`, `dv` and `dc` is the same for every parameter.

use crate::number::dual::TANGENTS;
use crate::number::real::Real;
use crate::number::simd::copies;
use crate::solver::cell::trial;
use crate::solver::friction::{Consts, Motion, Slip, Stage, motion};
use crate::solver::laws::{Law, with_law};
use crate::solver::models::cells::Cells;
use crate::solver::transition::{in_transition, plastic_share, transition_root};

/// The constants over which a bristle has a derivative of its own.
pub const CONSTANTS: usize = 6;

/// What the derivatives of the bristles in a group of cells have in common for all parameters.
#[derive(Clone, Copy, Debug)]
pub struct Partials<R> {
    /// Velocity [m/s].
    v: [R; 2],
    /// `d`; the direction `n`, or `y` itself under a law that is not [`Law::DIRECTED`].
    d: R,
    n: [R; 2],
    along_y: [R; 2],
    along_v: [R; 2],
    /// Over `a sigma0`, `mu_c`, `mu_s - mu_c`, `1/v_s`, `gamma` and `s_ba`.
    by: [R; CONSTANTS],
    /// `zeta* - zeta_b`.
    step: [R; 2],
}

/// The derivatives of what all cells share, for each parameter.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Number of parameters.
    pub count: usize,
    /// Of the patch twist.
    pub u: [[f64; TANGENTS]; 3],
    /// Of the lengths of the patch over themselves.
    pub scale: [f64; TANGENTS],
    /// Of the constants, in the order of [`Partials::by`].
    pub constants: Constants,
    /// Of the damping of the stage and of the viscous coefficient.
    pub damping: [f64; TANGENTS],
    pub sigma2: [f64; TANGENTS],
}

impl Shared {
    /// Those of a stage without a length.
    fn without_length(&self) -> Self {
        Self { constants: Constants { travel: [0.0; TANGENTS], ..self.constants }, ..*self }
    }
}

/// The derivatives of the constants of friction. Most parameters change none or one, so that the others are
/// left out.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// Of `a sigma0`.
    travel: [f64; TANGENTS],
    /// For each parameter, which constants change, and how many do.
    terms: [[(usize, f64); CONSTANTS]; TANGENTS],
    len: [usize; TANGENTS],
}

impl Constants {
    /// From the derivatives of every constant.
    pub fn new(of: [[f64; TANGENTS]; CONSTANTS]) -> Self {
        let mut out = Self { travel: of[0], terms: [[(0, 0.0); CONSTANTS]; TANGENTS], len: [0; TANGENTS] };
        for (c, of) in of.iter().enumerate() {
            for (j, by) in of.iter().enumerate().filter(|(_, by)| **by != 0.0) {
                out.terms[j][out.len[j]] = (c, *by);
                out.len[j] += 1;
            }
        }
        out
    }
}

/// The derivatives of the bases of a group of cells, for each parameter.
pub type BaseTangents<R> = [[R; 2]; TANGENTS];

copies! {
    /// Moves the derivatives of the bases through stage `st`, at patch twist `u`, before the bases themselves
    /// are moved.
    pub fn commit<R>(
        cells: &Cells<R>,
        k: &Consts<R>,
        u: [f64; 3],
        st: &Stage<f64>,
        shared: &Shared,
        tangents: &mut [BaseTangents<R>],
    ) -> () {
        with_law!(k.law, L => commit_cells::<R, L>(cells, k, u, st, shared, tangents));
    }
}

copies! {
    /// The derivatives of the sum of the forces in stage `st` at patch twist `u`: of the opposite of the
    /// friction wrench per unit normal force, for each parameter.
    pub fn evaluate<R>(
        cells: &Cells<R>,
        k: &Consts<R>,
        u: [f64; 3],
        st: &Stage<f64>,
        shared: &Shared,
        tangents: &[BaseTangents<R>],
    ) -> [[f64; 3]; TANGENTS] {
        with_law!(k.law, L => evaluate_cells::<R, L>(cells, k, u, st, shared, tangents))
    }
}

#[inline(always)]
fn commit_cells<R: Real, L: Law>(
    cells: &Cells<R>,
    k: &Consts<R>,
    u: [f64; 3],
    st: &Stage<f64>,
    shared: &Shared,
    tangents: &mut [BaseTangents<R>],
) {
    let (st, u) = (st.splat::<R>(), [R::splat(u[0]), R::splat(u[1]), R::splat(u[2])]);
    let rest = R::splat(1.0) - st.extrapolation;
    let cuts = L::CUTS && R::any(R::splat(0.0).lt(st.cuts));
    let cut = cuts.then(|| (st.without_length(), shared.without_length()));
    for ((i, group), factor) in tangents.iter_mut().enumerate().zip(cells.factors()) {
        let (x, y) = (cells.x[i], cells.y[i]);
        let mut z = [cells.zx[i], cells.zy[i]];
        if let Some((st, shared)) = &cut {
            let of = partials::<R, L>(k, st, factor, [x, y], u, z);
            for (j, base) in group.iter_mut().enumerate().take(shared.count) {
                (*base, _) = state::<R>(&of, st, [x, y], *base, shared, j);
            }
            z = [z[0] + of.step[0], z[1] + of.step[1]];
        }
        let of = partials::<R, L>(k, &st, factor, [x, y], u, z);
        for (j, base) in group.iter_mut().enumerate().take(shared.count) {
            let (dz, _) = state::<R>(&of, &st, [x, y], *base, shared, j);
            base[0] = rest.fma(base[0], st.extrapolation * dz[0]);
            base[1] = rest.fma(base[1], st.extrapolation * dz[1]);
        }
    }
}

#[inline(always)]
fn evaluate_cells<R: Real, L: Law>(
    cells: &Cells<R>,
    k: &Consts<R>,
    u: [f64; 3],
    st: &Stage<f64>,
    shared: &Shared,
    tangents: &[BaseTangents<R>],
) -> [[f64; 3]; TANGENTS] {
    let (st, u) = (st.splat::<R>(), [R::splat(u[0]), R::splat(u[1]), R::splat(u[2])]);
    let zero = R::splat(0.0);
    let more = R::splat(1.0) + st.damping;
    let mut sums = [[zero; 3]; TANGENTS];
    for ((i, group), factor) in tangents.iter().enumerate().zip(cells.factors()) {
        let (x, y, w) = (cells.x[i], cells.y[i], cells.w[i]);
        let base = [cells.zx[i], cells.zy[i]];
        let of = partials::<R, L>(k, &st, factor, [x, y], u, base);
        // The torque grows with the size of the patch.
        let fx = k.sigma2.fma(of.v[0], more.fma(of.step[0], base[0]));
        let fy = k.sigma2.fma(of.v[1], more.fma(of.step[1], base[1]));
        let torque = w * (x * fy - y * fx);
        for (j, sum) in sums.iter_mut().enumerate().take(shared.count) {
            let own = &group[j];
            let (dz, dv) = state::<R>(&of, &st, [x, y], *own, shared, j);
            let mut df = dz;
            for c in 0..2 {
                df[c] = k.sigma2.fma(dv[c], more.fma(dz[c], -(st.damping * own[c])));
            }
            for (by, of) in [(shared.damping[j], &of.step), (shared.sigma2[j], &of.v)] {
                if by != 0.0 {
                    let by = R::splat(by);
                    df = [by.fma(of[0], df[0]), by.fma(of[1], df[1])];
                }
            }
            sum[0] = w.fma(df[0], sum[0]);
            sum[1] = w.fma(df[1], sum[1]);
            let turn = x * df[1] - y * df[0];
            sum[2] = w.fma(turn, R::splat(shared.scale[j]).fma(torque, sum[2]));
        }
    }
    let mut out = [[0.0; 3]; TANGENTS];
    for (out, sum) in out.iter_mut().zip(sums) {
        for (out, sum) in out.iter_mut().zip(sum) {
            *out = sum.reduce_sum();
        }
    }
    out
}

/// The derivatives of `zeta*` and of the velocity for parameter `j`, of bristles with these derivatives of
/// their bases.
#[inline(always)]
fn state<R: Real>(
    of: &Partials<R>,
    st: &Stage<R>,
    [x, y]: [R; 2],
    base: [R; 2],
    shared: &Shared,
    j: usize,
) -> ([R; 2], [R; 2]) {
    let [ux, uy, uw] = [R::splat(shared.u[0][j]), R::splat(shared.u[1][j]), R::splat(shared.u[2][j])];
    let dv = [(-uw).fma(y, ux), uw.fma(x, uy)];
    let mut dy = [st.a_sigma0.fma(dv[0], base[0]), st.a_sigma0.fma(dv[1], base[1])];
    let travel = shared.constants.travel[j];
    if travel != 0.0 {
        let travel = R::splat(travel);
        dy = [travel.fma(of.v[0], dy[0]), travel.fma(of.v[1], dy[1])];
    }
    let mut along = of.along_y[0].fma(dy[0], of.along_y[1] * dy[1]);
    along = of.along_v[0].fma(dv[0], of.along_v[1].fma(dv[1], along));
    for (c, by) in &shared.constants.terms[j][..shared.constants.len[j]] {
        along = of.by[*c].fma(R::splat(*by), along);
    }
    ([of.d.fma(dy[0], of.n[0] * along), of.d.fma(dy[1], of.n[1] * along)], dv)
}

/// The partial derivatives of the bristles at `[x, y]` with these bases in stage `st` at patch twist `u`,
/// where friction has this `factor`.
#[inline(always)]
fn partials<R: Real, L: Law>(
    k: &Consts<R>,
    st: &Stage<R>,
    factor: R,
    [x, y]: [R; 2],
    [ux, uy, uw]: [R; 3],
    [zx, zy]: [R; 2],
) -> Partials<R> {
    let (zero, one, half) = (R::splat(0.0), R::splat(1.0), R::splat(0.5));
    let st = &st.under(factor);
    let m = motion(k, y.fma(-uw, ux), uw.fma(x, uy));
    let c = trial::<R, L>(st, &m, zx, zy);
    let t = &c.t;
    let mut z = L::slip(k, t);
    let mut share_slope = zero;
    if L::ELASTIC {
        let within = in_transition(k, t);
        if R::any(within) {
            let inv_g = t.g.recip();
            z = Slip::select(within, &transition_root(k, t.len * inv_g, t.travel * inv_g).slip(), &z);
            // The plastic share b over s_ba: b'(x) (x - 1)/(1 - s_ba).
            let x = z.d * t.len * inv_g;
            let (_, b_slope) = plastic_share(k, x);
            let slope = -(z.stiff * t.travel * x * b_slope * (x - one) * k.inv_width);
            share_slope = R::select(within, slope, zero);
        }
    }
    let (n, v) = ([c.nx, c.ny], [m.vx, m.vy]);
    let e = [m.vx * m.inv_s, m.vy * m.inv_s];
    let g_slope = st.mu_d * m.bell_slope;
    // How the length of the bristle changes with the limit, and half of how it changes with the plastic
    // travel.
    let by = L::sensitivity(st.a_sigma0, t, &z, m.s, c.along);
    let limit = by.limit;
    // Over the components of `dy` along `n` and along the turn of `n`, and over those of `dv` along `n` and
    // `e`.
    let (stretch, turn, normal, mut speed, by_travel);
    if L::DIRECTED {
        let plastic;
        (stretch, plastic) = if L::ELASTIC { (z.stiff - z.d, -(half * z.stiff * z.xb)) } else { (-(z.d * z.xb), zero) };
        let pull = plastic * st.a_sigma0;
        (turn, normal, speed) = (pull * t.inv_len, pull, pull);
        by_travel = plastic * (m.s + c.along);
    } else {
        // `zeta* = y g/(g + l)` with the plastic travel `l = a sigma0 |v|`.
        let per_travel = -(z.stiff * z.stiff * t.g);
        (stretch, turn, normal, speed) = (zero, zero, zero, per_travel * st.a_sigma0);
        by_travel = per_travel * m.s;
    }
    speed = limit.fma(g_slope, speed);
    // `n` turns by the part of `dy` across it, and with it the component of the velocity along the bristle.
    let stretch = stretch - turn * c.along;
    let along_y = [stretch.fma(n[0], turn * v[0]), stretch.fma(n[1], turn * v[1])];
    let along_v = [speed.fma(e[0], normal * n[0]), speed.fma(e[1], normal * n[1])];
    let (by_speed, by_gamma) = bell_slopes(k, &m);
    let (by_mu, by_bell) = (limit * factor, limit * st.mu_d);
    let by = [by_travel, by_mu, by_mu * m.bell, by_bell * by_speed, by_bell * by_gamma, share_slope];
    let back = z.d - one;
    let push = z.d * st.a_sigma0;
    let step = [back.fma(zx, push * m.vx), back.fma(zy, push * m.vy)];
    Partials { v, d: z.d, n, along_y, along_v, by, step }
}

/// The derivatives of the bell over `1/v_s` [m/s] and over `gamma` [-].
#[inline(always)]
fn bell_slopes<R: Real>(k: &Consts<R>, m: &Motion<R>) -> (R, R) {
    let x = (m.s * k.inv_v_s).max(R::splat(R::TINY));
    if k.gaussian {
        let square = x * x;
        // No derivative over gamma is asked for where it is known to be 2.
        return (R::splat(-2.0) * x * m.s * m.bell, R::splat(0.0) * square);
    }
    let power = x.powf(k.gamma).min(R::splat(80.0));
    let clipped = R::splat(79.999).lt(power);
    let slope = R::select(clipped, R::splat(0.0), -power * m.bell);
    (slope * k.gamma * k.inv_v_s.recip(), slope * x.max(R::splat(1e-300)).ln())
}
