//! Kikuuwe et al. (2005), (16) and (17), `docs/model.md` (P2) to (P4): friction brings the body to rest if it
//! can, else it is the friction at the velocity after the step. Twin: `shaders/point/implicit.wgsl`.

use super::{Outcome, PointLaw, Step, length, select2, stopping, times2, without_friction};
use crate::number::real::Real;

/// The implicit model.
#[derive(Clone, Copy, Debug)]
pub struct Implicit;

impl PointLaw for Implicit {
    const HAS_EQUATION: bool = true;

    #[inline(always)]
    fn step<R: Real>(s: &Step<R>) -> Outcome<R> {
        let (a, n) = length(without_friction(s));
        let c = s.per_mass * s.grip;
        let slides = (c * s.curve.most()).lt(a);
        let (psi, _) = s.curve.at(s.curve.root(c, a));
        let size = -(s.grip * psi);
        let force = select2::<R>(slides, times2(size, n), stopping(s));
        // Where it does not slide.
        let stops = R::select(slides, R::splat(1.0), R::splat(0.0)).lt(R::splat(0.5));
        Outcome { force, stops }
    }

    #[inline(always)]
    fn body_equation<R: Real>(s: &Step<R>) -> (R, R) {
        (s.per_mass * s.grip, length(without_friction(s)).0)
    }
}
