//! Kikuuwe et al. (2005), (18), `docs/model.md` (P5): friction is evaluated at the velocity after a step
//! under the friction at rest, in place of the velocity after the step itself. Twin:
//! `shaders/point/approximate.wgsl`.

use super::{Outcome, PointLaw, Step, length, select2, stopping, times2, without_friction};
use crate::number::real::Real;

/// The implicit model without a root.
#[derive(Clone, Copy, Debug)]
pub struct Approximate;

impl PointLaw for Approximate {
    #[inline(always)]
    fn step<R: Real>(s: &Step<R>) -> Outcome<R> {
        let (a, n) = length(without_friction(s));
        let over = a - s.per_mass * s.grip * s.curve.most();
        let slides = R::splat(0.0).lt(over);
        let (psi, _) = s.curve.at(over.max(R::splat(0.0)));
        let size = -(s.grip * psi);
        let force = select2::<R>(slides, times2(size, n), stopping(s));
        Outcome { force, stops: over.lt(R::splat(R::TINY)) }
    }
}
