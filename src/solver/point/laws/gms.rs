//! The generalized Maxwell slip of Lampaert et al. (2003), as in Kikuuwe et al. (2005), (9), `docs/model.md` (P14) and
//! (P15). The memory of an element is 1 while it slides, and 0 while it sticks; which it is changes at the limit of
//! friction, and where the velocity turns back. Twin: `shaders/point/gms.wgsl`.

use super::{Element, PointLaw, Step, Trial, Vec2, fma2, length, minus2, plus2, positive, select2, times2};
use crate::number::real::Real;

/// The generalized Maxwell slip.
#[derive(Clone, Copy, Debug)]
pub struct GeneralizedMaxwellSlip;

impl PointLaw for GeneralizedMaxwellSlip {
    const EXPLICIT: bool = true;

    #[inline(always)]
    fn trial<R: Real>(s: &Step<R>, v: Vec2<R>, e: &Element<R>) -> Trial<R> {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let (speed, along) = length(v);
        let (psi, _) = s.curve.at(speed);
        let limit = e.share / e.stiffness * psi;
        // A sliding element sticks again where the velocity turns against its force, or is zero.
        let turn = along[0].fma(e.zeta[0], along[1] * e.zeta[1]);
        let slides = R::and(R::splat(0.5).lt(e.memory[0]), zero.lt(turn));
        let travel = s.t * s.sigma0;
        let (size, n) = length(plus2(fma2(travel, v, e.zeta_low), e.zeta));
        let holds = size.lt(limit);
        // The exact solution of (P15) over the step, for a constant velocity.
        let decay = (-(s.t * s.attraction / psi).min(R::splat(80.0))).exp_negative();
        let sliding = times2(one - decay, minus2(times2(limit, along), e.zeta));
        let sticking = select2::<R>(holds, times2(travel, v), minus2(times2(limit, n), e.zeta));
        let step = select2::<R>(slides, sliding, sticking);
        let resist = plus2(plus2(step, e.zeta_low), e.zeta);
        let memory = R::select(slides, one, R::select(holds, zero, one));
        let sticks = R::select(R::splat(0.5).lt(memory), zero, travel);
        Trial { resist, gain: [[sticks, zero], [zero, sticks]], step, memory: [memory, zero] }
    }

    #[inline(always)]
    fn slips<R: Real>(_s: &Step<R>, e: &Element<R>) -> R {
        positive(length(e.memory).0)
    }
}
