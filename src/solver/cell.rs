//! The bristle of a cell over a stage of the step: its new state, exactly, and how that changes with the
//! velocity (`docs/model.md`, sections 5.2 and 5.4). Twin: `shaders/cell.wgsl`.

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
        return CellTrial { nx: yx, ny: yy, t: Trial { len: zero, inv_len: zero, g, travel } };
    }
    let y2 = yx.fma(yx, yy * yy);
    let inv_len = (y2 + R::splat(R::TINY)).rsqrt();
    let (nx, ny) = (yx * inv_len, yy * inv_len);
    let travel = L::travel(st.a_sigma0, m.s, m.vx.fma(nx, m.vy * ny));
    CellTrial { nx, ny, t: Trial { len: y2 * inv_len, inv_len, g, travel } }
}

/// `d zeta*/dv = carried I + n row^T` [s/m] of a trial with direction `n` as in [`CellTrial`],
/// `docs/model.md` (44) and (48): `carried` and `row`. The limit changes by `chi g'` along the velocity.
#[inline(always)]
pub fn sensitivity<R: Real, L: Law>(
    st: &Stage<R>,
    m: &Motion<R>,
    [nx, ny]: [R; 2],
    t: &Trial<R>,
    z: &Slip<R>,
) -> (R, [R; 2]) {
    let g_slope = st.chi * st.mu_d * m.bell_slope;
    let by = L::sensitivity(st.a_sigma0, t, z, m.s, m.vx.fma(nx, m.vy * ny));
    let along = by.limit.fma(g_slope, by.speed);
    let row = [along * m.ex, along * m.ey];
    (by.carried, by.normal.map_or(row, |normal| [normal.fma(nx, row[0]), normal.fma(ny, row[1])]))
}

/// `lambda / sigma0` [s/m] of the differential equation at state `(zx, zy)`, `docs/model.md` (9) and (10):
/// for recorded wrenches.
#[inline(always)]
pub fn decay<R: Real, L: Law>(k: &Consts<R>, g: R, m: &Motion<R>, zx: R, zy: R) -> R {
    let z2 = zx * zx + zy * zy;
    let inv_z = (z2 + R::splat(R::TINY)).rsqrt();
    L::decay(k, g, m.s, (m.vx * zx + m.vy * zy) * inv_z, z2 * inv_z)
}
