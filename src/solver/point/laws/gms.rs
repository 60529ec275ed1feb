//! The generalized Maxwell slip of Lampaert et al. (2003), as in Kikuuwe et al. (2005), (9), `docs/model.md`
//! (P14) and (P15). The memory of an element is 1 while it slides and 0 while it sticks. It changes at the
//! limit of friction, and when the velocity turns back. Twin: `shaders/point/gms.wgsl`.

use super::{Element, PointLaw, Step, Trial, Vec2, fma2, length, minus2, plus2, select2, times2};
use crate::number::real::Real;

/// The generalized Maxwell slip.
#[derive(Clone, Copy, Debug)]
pub struct GeneralizedMaxwellSlip;

impl PointLaw for GeneralizedMaxwellSlip {
    const COLLOCATES: bool = true;

    #[inline(always)]
    fn trial<R: Real>(s: &Step<R>, v: Vec2<R>, e: &Element<R>) -> Trial<R> {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let (speed, along) = length(v);
        let (psi, slope) = s.curve.at(speed);
        let rho = e.share / e.stiffness;
        let limit = rho * psi;
        // A sliding element sticks again where the velocity turns against its force, or is zero.
        let turn = along[0].fma(e.zeta[0], along[1] * e.zeta[1]);
        let slides = R::and(R::splat(0.5).lt(e.memory[0]), zero.lt(turn));
        let travel = s.t * s.sigma0;
        // What sticks beyond its limit is cut to that at once.
        let zeta = plus2(e.zeta_low, e.zeta);
        let (before, at) = length(zeta);
        let cut = limit.lt(before);
        let base = select2::<R>(cut, times2(limit, at), zeta);
        let (size, n) = length(fma2(travel, v, base));
        let holds = size.lt(limit);
        // The exact solution of (P15) over the step, for a constant velocity.
        let decay = (-(s.t * s.attraction / psi).min(R::splat(80.0))).exp_negative();
        let sliding = times2(one - decay, minus2(times2(limit, along), e.zeta));
        let sticking = select2::<R>(holds, fma2(travel, v, minus2(base, zeta)), minus2(times2(limit, n), zeta));
        let step = select2::<R>(slides, sliding, sticking);
        let resist = plus2(plus2(step, e.zeta_low), e.zeta);
        let memory = R::select(slides, one, R::select(holds, zero, one));
        // Over the speed, and across a direction: that of the velocity while it slides, that of the pull at
        // the limit.
        let lag = decay * s.t * s.attraction * slope / (psi * psi);
        let with_speed = fma2((one - decay) * rho * slope, along, times2(lag, minus2(e.zeta, times2(limit, along))));
        let none = [zero; 2];
        let m = select2::<R>(slides, along, select2::<R>(holds, none, n));
        let tiny = R::splat(R::TINY);
        let share = R::select(holds, one, limit / size.max(tiny));
        // The limit to which it was cut changes, too, and at the limit counts across the pull.
        let bend = times2(share * R::select(cut, rho * slope, zero), at);
        let bend = fma2(-m[0].fma(bend[0], m[1] * bend[1]), m, bend);
        let stuck = fma2(R::select(holds, zero, rho * slope), n, bend);
        let with_speed = select2::<R>(slides, with_speed, stuck);
        let across = R::select(slides, (one - decay) * limit / speed.max(tiny), share * travel);
        // across (I - m m^T) + with_speed e^T, by rows.
        let row = |i: usize, unit: Vec2<R>| {
            fma2(with_speed[i], along, times2(across, minus2(unit, times2(m[i], m))))
        };
        let gain = [row(0, [one, zero]), row(1, [zero, one])];
        Trial { resist, gain, step, memory: [memory, zero] }
    }

    /// While it slides its state is a force that lags behind the velocity, and no deflection.
    #[inline(always)]
    fn slip_speed<R: Real>(s: &Step<R>, e: &Element<R>) -> R {
        R::select(R::splat(0.5).lt(e.memory[0]), length(s.v).0, R::splat(0.0))
    }

    #[inline(always)]
    fn limit<R: Real>(s: &Step<R>, e: &Element<R>) -> R {
        e.share / e.stiffness * s.curve.at(length(s.v).0).0
    }
}
