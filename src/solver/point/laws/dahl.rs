//! Dahl (1968), as in Kikuuwe et al. (2005), (8), `docs/model.md` (P16): the exact solution over the step for
//! a constant velocity, under the limit `mu_c` at any speed. Twin: `shaders/point/dahl.wgsl`.

use super::{Element, PointLaw, Step, Trial, Vec2, length, minus2, plus2, times2};
use crate::number::real::Real;

/// Dahl's model.
#[derive(Clone, Copy, Debug)]
pub struct Dahl;

impl PointLaw for Dahl {
    #[inline(always)]
    fn trial<R: Real>(s: &Step<R>, v: Vec2<R>, e: &Element<R>) -> Trial<R> {
        let one = R::splat(1.0);
        let (speed, n) = length(v);
        let limit = Self::limit(s, e);
        let travel = s.t * s.sigma0;
        let x = travel * speed / limit;
        let kept = (-x.min(R::splat(80.0))).exp_negative();
        let gone = one - kept;
        let step = times2(gone, minus2(times2(limit, n), e.zeta));
        let resist = plus2(plus2(step, e.zeta_low), e.zeta);
        // Over the speed: kept (n - zeta/limit) travel. Over the direction: gone limit/speed, which at rest
        // is travel.
        let across = travel * R::select(R::splat(1e-4).lt(x), gone / x.max(R::splat(1e-4)), one);
        let [ax, ay] =
            minus2(times2(travel * kept, minus2(n, times2(limit.recip(), e.zeta))), times2(across, n));
        let gain = [[ax.fma(n[0], across), ax * n[1]], [ay * n[0], ay.fma(n[1], across)]];
        Trial { resist, gain, step, memory: e.memory }
    }

    #[inline(always)]
    fn slip_speed<R: Real>(s: &Step<R>, e: &Element<R>) -> R {
        length(s.v).0 * length(e.zeta).0 / Self::limit(s, e)
    }

    #[inline(always)]
    fn limit<R: Real>(s: &Step<R>, e: &Element<R>) -> R {
        e.share / e.stiffness * s.curve.mu_c
    }
}
