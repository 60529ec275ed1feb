//! Elasto-Plastic, `docs/model.md` (10): elastic below the share `s_ba` of the limit, plastic at the limit,
//! and partly plastic between, by the plastic share (11). Twin: `shaders/laws/elasto_plastic.wgsl`.

use super::Law;
use crate::number::real::Real;
use crate::solver::friction::{Consts, Sensitivity, Slip, Trial};
use crate::solver::transition::plastic_share;

/// Elasto-Plastic.
#[derive(Clone, Copy, Debug)]
pub struct ElastoPlastic;

impl Law for ElastoPlastic {
    const LAW: crate::friction::Law = crate::friction::Law::ElastoPlastic;
    const DIRECTED: bool = true;

    #[inline(always)]
    fn travel<R: Real>(a_sigma0: R, speed: R, along: R) -> R {
        (R::splat(0.5) * a_sigma0 * (speed + along)).max(R::splat(0.0))
    }

    /// `docs/model.md` (36).
    #[inline(always)]
    fn slip<R: Real>(k: &Consts<R>, t: &Trial<R>) -> Slip<R> {
        let (one, zero) = (R::splat(1.0), R::splat(0.0));
        let r = (t.g + t.travel).recip();
        let plastic = (k.s_ba * t.g).lt(t.len);
        let d = R::select(plastic, t.g * r, one);
        let xb = R::select(plastic, t.len * r, zero);
        Slip { d, stiff: d, xb, xs: xb * (t.travel * r) }
    }

    /// `a lambda = l b` with `l = travel/g`, `x = d |y|/g`; 0 of an elastic bristle.
    #[inline(always)]
    fn relaxation<R: Real>(t: &Trial<R>, z: &Slip<R>) -> R {
        let zero = R::splat(0.0);
        R::select(zero.lt(z.xb), t.travel * z.xb / (z.d * t.len).max(R::splat(R::TINY)), zero)
    }

    /// `docs/model.md` (48).
    #[inline(always)]
    fn sensitivity<R: Real>(a_sigma0: R, t: &Trial<R>, z: &Slip<R>, speed: R, along: R) -> Sensitivity<R> {
        let (carried, turn) = (a_sigma0 * z.d, a_sigma0 * t.inv_len);
        let (stretch, back) = (a_sigma0 * z.stiff, R::splat(-0.5) * (a_sigma0 * z.stiff) * z.xb);
        let normal = back.fma(R::splat(1.0) - turn * along, stretch) - carried;
        Sensitivity { carried, normal: Some(normal), speed: back.fma(turn * speed, back), limit: z.xs }
    }

    #[inline(always)]
    fn decay<R: Real>(k: &Consts<R>, g: R, speed: R, along: R, size: R) -> R {
        let (b, _) = plastic_share(k, size / g);
        R::splat(0.5) * (speed + along) * b / g
    }
}
