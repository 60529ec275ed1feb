//! The form of the reduced model that is elastic below break-away with the stiffness of the distributed model
//! (`docs/model.md`, section 6.4). The unknown of a stage is `tau`, the share of the stage that sticks. Near
//! sliding `tau` is small, and single precision resolves `tau` better than `1 - tau`. Twin:
//! `shaders/models/reduced/consistent.wgsl`.
//!
//! Only here: `residual`.

use super::{Bristle, Drive, Reduced};
use crate::number::real::Real;
use crate::solver::constants::ROOT_ITERATIONS;
use crate::solver::friction::{Slip, Stage, Trial};
use crate::solver::linalg::{Mat3, Vec3};
use crate::solver::transition::plastic_share;

impl<R: Real> Reduced<R> {
    /// The bristles at the end of stage `st`; only lanes in `live` need a result.
    #[inline(always)]
    pub(super) fn consistent_bristle(&self, st: &Stage<R>, m: &Drive<R>, live: R::Mask) -> Bristle<R> {
        let (zero, one, k) = (R::splat(0.0), R::splat(1.0), &self.k);
        let inv_g = st.mu_d.fma(m.m.bell, st.mu_c).recip();
        let inv_limit = inv_g * m.h.recip();
        let (push, carried) = (m.d * st.a_sigma0, m.v_e * st.a_sigma0);
        let q = st.a_sigma0 * m.m.s * inv_g;
        let slide = (one + q).recip();
        let (z0, z1) = (self.zeta + carried, (self.zeta + push) * slide);
        let tau = self.consistent_root(m, inv_limit, q, z0, z1, live);
        let rest = one - tau;
        // A bristle below break-away is at z0 exactly. The sum z1 + (z0 - z1) would lose digits, and a
        // contact that sticks would creep.
        let zeta = Vec3::select(tau.lt(one), z1.plus(tau, z0 - z1), z0);
        let step = (carried * tau).plus(rest * slide, push.plus(-q, self.zeta));
        let x = zeta.norm().0 * inv_limit;
        let (b, b_slope) = plastic_share(k, x);
        let t = Trial { len: zero, inv_len: zero, g: zero, travel: zero };
        let z = Slip { d: zero, stiff: zero, xb: zero, xs: zero };
        Bristle { zeta, step, x, n: Vec3::zero(), t, z, root: tau, b, b_slope }
    }

    /// The root of `F(tau) = (1-tau)/(1 + q tau) - b(x) (1 + c)/2` in [0, 1], `zeta = z1 + tau (z0 - z1)`:
    /// `docs/model.md` (82): Newton's method from the last root, with bisection where it leaves the bracket.
    /// Lanes that have converged keep their root while the others go on.
    #[inline(always)]
    fn consistent_root(&self, m: &Drive<R>, inv_limit: R, q: R, z0: Vec3<R>, z1: Vec3<R>, live: R::Mask) -> R {
        let (zero, one, half) = (R::splat(0.0), R::splat(1.0), R::splat(0.5));
        let k = &self.k;
        let slips = R::and(k.s_ba.lt(z0.norm().0 * inv_limit), live);
        // The left end of the bracket is 0, where `F` may be positive or not. If the search runs against that
        // end, `F` is evaluated there; a value that is not positive makes 0 the root.
        let mut tau = R::select(slips, self.root.min(one), one);
        let mut active = R::bitmask(slips);
        let (mut low, mut high, mut last) = (zero, one, one);
        let chord = z0 - z1;
        for _ in 0..ROOT_ITERATIONS {
            if active == 0 {
                break;
            }
            let (f, slope) = self.residual(m, inv_limit, q, z1, chord, tau);
            let above = zero.lt(f);
            let goes_on = R::bitmask(zero.lt(tau)) | R::bitmask(above);
            low = R::select(above, tau, low);
            high = R::select(above, high, tau);
            let change = -(f * slope.approx_recip());
            let newton = tau + change;
            let size = change.max(-change);
            // A Newton step that rounding makes zero ends on a bound, so that bounds count as inside the
            // bracket.
            let outside = R::bitmask(newton.lt(low)) | R::bitmask(high.lt(newton));
            let good = R::from_bitmask(!outside & R::bitmask(size.lt(R::splat(0.500_001) * last)));
            let next = R::select(good, newton, half * (low + high));
            let below = R::and(newton.lt(R::splat(R::TINY)), low.lt(R::splat(R::TINY)));
            let next = R::select(R::and(below, zero.lt(tau)), zero, next);
            let change = next - tau;
            last = change.max(-change);
            // With f <= 0 at tau = 0 the whole stage slides, and 0 is the root.
            tau = R::select(R::from_bitmask(active & goes_on), next, tau);
            let near = f.max(-f).lt(R::splat(R::ROOT_RESIDUAL));
            active &= goes_on & !R::bitmask(R::and(good, near));
        }
        if R::HAS_TANGENTS {
            // The ends of the interval do not depend on anything. Inside, a step of Newton from the value
            // alone has the derivatives of the root.
            tau = tau.without_tangents();
            let (f, slope) = self.residual(m, inv_limit, q, z1, chord, tau);
            let inside = R::and(R::and(zero.lt(tau), tau.lt(one)), slips);
            tau = R::select(inside, tau - f * slope.recip(), tau);
        }
        tau
    }

    /// `F(tau)` and its slope.
    #[inline(always)]
    fn residual(&self, m: &Drive<R>, inv_limit: R, q: R, z1: Vec3<R>, chord: Vec3<R>, tau: R) -> (R, R) {
        let (one, half) = (R::splat(1.0), R::splat(0.5));
        let z = z1.plus(tau, chord);
        let (len, inv) = z.norm();
        let (b, b_slope) = plastic_share(&self.k, len * inv_limit);
        let along = z.dot(chord) * inv;
        let c = m.d_hat.dot(z) * inv;
        let (half_b, more) = (half * b, one + c);
        let r = q.fma(tau, one).recip();
        let f = (one - tau).fma(r, -(half_b * more));
        let turn = (m.d_hat.dot(chord) - c * along) * inv;
        let slope = (-(one + q) * r * r) - (half * b_slope * along * inv_limit).fma(more, half_b * turn);
        (f, slope)
    }

    /// `d zeta*/dv_S` [s/m], `docs/model.md` (86), with the Stribeck curve `g` and its slope.
    #[inline(always)]
    pub(super) fn consistent_sensitivity(
        &self,
        st: &Stage<R>,
        m: &Drive<R>,
        z: &Bristle<R>,
        g: R,
        g_slope: R,
    ) -> Mat3<R> {
        let (one, half, a, inv_g) = (R::splat(1.0), R::splat(0.5), st.a_sigma0, g.recip());
        let inv_limit = inv_g * m.h.recip();
        let limit_slope = (m.h_slope * g).plus(m.h * g_slope, m.e);
        // q = a sigma0 s/g and its slope; the plastic share of the stage.
        let q = a * m.m.s * inv_g;
        let q_slope = m.e * (a * inv_g * (-(m.m.s * g_slope)).fma(inv_g, one));
        let share = (one - z.root) * q.fma(z.root, one).recip();
        let d = share.fma(q, one).recip();
        // At a given share.
        let elastic = a * d * (one - share);
        let direct = (m.j * (a * d * share))
            .plus_diagonal(Vec3::new(elastic, elastic, elastic * self.elastic))
            .plus_outer(-(z.zeta * (d * share)), q_slope);
        // By the share.
        let p = ((m.d - m.v_e) * a).plus(-q, z.zeta) * d;
        let (_, inv_len) = z.zeta.norm();
        let z_hat = z.zeta * inv_len;
        let c = m.d_hat.dot(z_hat);
        let turn = m.d_hat.plus(-c, z_hat) * inv_len;
        let (by_x, by_c) = (half * z.b_slope * (one + c) * inv_limit, half * z.b);
        let hb = (-by_x).fma(z_hat.dot(p), (-by_c).fma(turn.dot(p), one));
        let turn_d = z_hat.plus(-c, m.d_hat) * m.inv_speed;
        let hv = direct.apply_transposed((z_hat * by_x).plus(by_c, turn)).plus(-(by_x * z.x), limit_slope);
        let hv = hv.plus(by_c, m.j.apply_transposed(turn_d));
        direct.plus_outer(p * hb.recip(), hv)
    }
}
