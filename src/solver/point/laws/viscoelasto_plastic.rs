//! Kikuuwe et al. (2005), (24) to (29), `docs/model.md` (P9) to (P13): a spring and a damper on a slider, which has
//! the friction of the curve and may have a mass. Its memory is the velocity of the slider [m/s], exactly 0 while it
//! sticks. Twin: `shaders/point/viscoelasto_plastic.wgsl`.

use super::{Element, PointLaw, Step, Trial, Vec2, length, positive, radial, select2};
use crate::number::real::Real;

/// The viscoelasto-plastic element.
#[derive(Clone, Copy, Debug)]
pub struct ViscoelastoPlastic;

impl PointLaw for ViscoelastoPlastic {
    #[inline(always)]
    fn trial<R: Real>(s: &Step<R>, v: Vec2<R>, e: &Element<R>) -> Trial<R> {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        // Inertia of the slider over the step, and stiffness of spring and damper, both over the normal force.
        let inertia = s.slider_mass / (s.grip.max(R::splat(R::TINY)) * s.t);
        let spring = s.t.fma(s.sigma0, s.sigma1);
        let both = inertia + spring;
        let limit = e.share / e.stiffness;
        let pull = [0, 1].map(|i| spring.fma(v[i], e.zeta_low[i]));
        let y = [0, 1].map(|i| inertia.fma(e.memory[i], pull[i] + e.zeta[i]));
        let (size, n) = length(y);
        let slides = (limit * s.curve.most()).lt(size);
        let (c, a) = (limit / both, size / both);
        let speed = s.curve.root(c, a);
        let (psi, slope) = s.curve.at(speed);
        let slider = select2::<R>(slides, [speed * n[0], speed * n[1]], [zero; 2]);
        let sliding = [0, 1].map(|i| (limit * psi).fma(n[i], inertia * (slider[i] - e.memory[i])));
        let resist = select2::<R>(slides, sliding, [pull[0] + e.zeta[0], pull[1] + e.zeta[1]]);
        // How the slider's velocity changes with that of the body.
        let share = spring / both;
        let along = R::select(slides, share / c.fma(slope, one), zero);
        let across = R::select(slides, share * speed / a.max(R::splat(R::TINY)), zero);
        let gain = radial(spring * (one - along), spring * (one - across), n);
        // The rate of the deflection from the force: from the velocities it would be the difference of large numbers.
        let moved = s.t * s.sigma0 / spring;
        let slid = [0, 1].map(|i| sliding[i] - e.zeta[i] - e.zeta_low[i]);
        let change = select2::<R>(slides, slid, [spring * v[0], spring * v[1]]);
        Trial { resist, gain, step: [moved * change[0], moved * change[1]], memory: slider }
    }

    #[inline(always)]
    fn slips<R: Real>(_s: &Step<R>, e: &Element<R>) -> R {
        positive(length(e.memory).0)
    }
}
