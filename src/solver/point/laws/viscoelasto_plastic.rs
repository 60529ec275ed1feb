//! Kikuuwe et al. (2005), (24) to (29), `docs/model.md` (P9) to (P13): a spring and a damper on a slider,
//! which has the friction of the curve and may have a mass. Its memory is the velocity of the slider [m/s],
//! exactly 0 while it sticks. Twin: `shaders/point/viscoelasto_plastic.wgsl`.

use super::{Element, PointLaw, Step, Trial, Vec2, fma2, length, minus2, plus2, radial, select2, times2};
use crate::number::real::Real;

/// The viscoelasto-plastic element.
#[derive(Clone, Copy, Debug)]
pub struct ViscoelastoPlastic;

impl PointLaw for ViscoelastoPlastic {
    const HAS_EQUATION: bool = true;

    #[inline(always)]
    fn trial<R: Real>(s: &Step<R>, v: Vec2<R>, e: &Element<R>) -> Trial<R> {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        // Inertia of the slider over the step, and stiffness of spring and damper, both over the normal
        // force.
        let inertia = s.slider_mass / (s.grip.max(R::splat(R::TINY)) * s.t);
        let spring = s.t.fma(s.sigma0, s.sigma1);
        let both = inertia + spring;
        let limit = e.share / e.stiffness;
        let pull = plus2(fma2(spring, v, e.zeta_low), e.zeta);
        // Over both, as without a normal force the inertia is near the largest number.
        let (a, n) = length(fma2(inertia / both, e.memory, times2(both.recip(), pull)));
        let c = limit / both;
        let slides = (c * s.curve.most()).lt(a);
        let speed = s.curve.root(c, a);
        let (psi, slope) = s.curve.at(speed);
        let slider = select2::<R>(slides, times2(speed, n), [zero; 2]);
        // The force of a light slider is its friction, that of a heavy one what pulls at it: the other form
        // would be a difference of large numbers.
        let light = fma2(limit * psi, n, times2(inertia, minus2(slider, e.memory)));
        let sliding = select2::<R>(inertia.lt(spring), light, fma2(-spring, slider, pull));
        let resist = select2::<R>(slides, sliding, pull);
        // How the slider's velocity changes with that of the body.
        let share = spring / both;
        let along = R::select(slides, share / c.fma(slope, one), zero);
        let across = R::select(slides, share * speed / a.max(R::splat(R::TINY)), zero);
        let gain = radial(spring * (one - along), spring * (one - across), n);
        // The rate of the deflection from the force: from the velocities it would be the difference of large
        // numbers.
        let moved = s.t * s.sigma0 / spring;
        let slid = minus2(minus2(sliding, e.zeta), e.zeta_low);
        let change = select2::<R>(slides, slid, times2(spring, v));
        Trial { resist, gain, step: times2(moved, change), memory: slider }
    }

    /// (P10), with (P17) of a body on this element alone: as the velocity of the body is linear in the force,
    /// spring and damper seem softer.
    #[inline(always)]
    fn element_equation<R: Real>(s: &Step<R>, v: Vec2<R>, yields: R, e: &Element<R>) -> (R, R) {
        let inertia = s.slider_mass / (s.grip.max(R::splat(R::TINY)) * s.t);
        let spring = s.t.fma(s.sigma0, s.sigma1);
        let soft = spring.fma(yields, R::splat(1.0)).recip();
        let both = spring.fma(soft, inertia);
        let pull = times2(soft / both, plus2(fma2(spring, v, e.zeta_low), e.zeta));
        (e.rho / both, length(fma2(inertia / both, e.memory, pull)).0)
    }

    /// That of its slider.
    #[inline(always)]
    fn slip_speed<R: Real>(_s: &Step<R>, e: &Element<R>) -> R {
        length(e.memory).0
    }

    #[inline(always)]
    fn limit<R: Real>(s: &Step<R>, e: &Element<R>) -> R {
        e.share / e.stiffness * s.curve.at(length(s.v).0).0
    }
}
