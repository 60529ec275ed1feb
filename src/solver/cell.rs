//! The bristle of a cell over a stage of the step: its exact new state, and the derivative over the velocity
//! (`docs/model.md`, sections 5.2 and 5.4). Twin: `shaders/cell.wgsl`.

use super::friction::{Consts, Motion, Slip, Stage, Trial};
use super::laws::Law;
use crate::number::real::Real;

/// The trial state of the bristle of a cell.
#[derive(Clone, Copy, Debug)]
pub struct CellTrial<R> {
    /// Direction of `y = zeta_b + a sigma0 v`, 0 where `y` is 0; `y` itself under a law that is not
    /// [`Law::DIRECTED`] [-].
    pub nx: R,
    /// Direction of `y`, 0 where `y` is 0; `y` itself under a law that is not [`Law::DIRECTED`] [-].
    pub ny: R,
    /// Component of the velocity along `y`; the speed under a law that is not [`Law::DIRECTED`] [m/s].
    pub along: R,
    /// Its length, its limit and its plastic travel.
    pub t: Trial<R>,
}

/// The trial of a bristle with base `(zx, zy)` at velocity `m`, `docs/model.md` (32).
#[inline(always)]
pub fn trial<R: Real, L: Law>(st: &Stage<R>, m: &Motion<R>, zx: R, zy: R) -> CellTrial<R> {
    let (yx, yy) = (st.a_sigma0.fma(m.vx, zx), st.a_sigma0.fma(m.vy, zy));
    let g = st.mu_d.fma(m.bell, st.mu_c);
    if !L::DIRECTED {
        let (zero, travel) = (R::splat(0.0), L::travel(st.a_sigma0, m.s, m.s));
        return CellTrial { nx: yx, ny: yy, along: m.s, t: Trial { len: zero, inv_len: zero, g, travel } };
    }
    let y2 = yx.fma(yx, yy.fma(yy, R::splat(R::TINY)));
    let inv_len = y2.rsqrt();
    let along = m.vx.fma(yx, m.vy * yy) * inv_len;
    let travel = L::travel(st.a_sigma0, m.s, along);
    CellTrial { nx: yx * inv_len, ny: yy * inv_len, along, t: Trial { len: y2 * inv_len, inv_len, g, travel } }
}

/// `d zeta*/dv = carried I + n row^T` [s/m] of a trial with direction `n` as in [`CellTrial`],
/// `docs/model.md` (44) and (48): `carried` and `row`. The limit changes by `chi g'` along the velocity.
#[inline(always)]
pub fn sensitivity<R: Real, L: Law>(st: &Stage<R>, m: &Motion<R>, c: &CellTrial<R>, z: &Slip<R>) -> (R, [R; 2]) {
    let g_slope = st.chi * st.mu_d * m.bell_slope;
    let by = L::sensitivity(st.a_sigma0, &c.t, z, m.s, c.along);
    let along = by.limit.fma(g_slope, by.speed) * m.inv_s;
    let row = [along * m.vx, along * m.vy];
    (by.carried, by.normal.map_or(row, |normal| [normal.fma(c.nx, row[0]), normal.fma(c.ny, row[1])]))
}

/// `lambda / sigma0` [s/m] of the differential equation at state `(zx, zy)`, `docs/model.md` (9) and (10):
/// for recorded wrenches.
#[inline(always)]
pub fn decay<R: Real, L: Law>(k: &Consts<R>, g: R, m: &Motion<R>, zx: R, zy: R) -> R {
    let z2 = zx * zx + zy * zy;
    let inv_z = (z2 + R::splat(R::TINY)).rsqrt();
    L::decay(k, g, m.s, (m.vx * zx + m.vy * zy) * inv_z, z2 * inv_z)
}
