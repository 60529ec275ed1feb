//! Quinn (2004), as in Kikuuwe et al. (2005), (7), `docs/model.md` (P8): friction in proportion to the
//! velocity within a band that the load shifts, so that at rest it balances the load. Twin:
//! `shaders/point/quinn.wgsl`.

use super::{PointLaw, Step, Vec2, length, radial, select2};
use crate::number::real::Real;

/// Quinn's model.
#[derive(Clone, Copy, Debug)]
pub struct Quinn;

impl PointLaw for Quinn {
    #[inline(always)]
    fn force<R: Real>(s: &Step<R>, v: Vec2<R>) -> (Vec2<R>, [Vec2<R>; 2]) {
        let (psi, _) = s.curve.at(length(v).0);
        let most = s.grip * psi;
        let (load, n) = length(s.load);
        // The load over the friction, at most 1; without normal force, 1.
        let share = s.band * load.min(most) / most.max(R::splat(R::TINY));
        let (speed, e) = length([share.fma(n[0], v[0]), share.fma(n[1], v[1])]);
        let size = -(most * speed.min(s.band) / s.band);
        let inside = speed.lt(s.band);
        let along = R::select(inside, -(most / s.band), R::splat(0.0));
        let across = -(most / speed.max(s.band));
        (
            [size * e[0], size * e[1]],
            radial(along, across, select2::<R>(inside, [R::splat(1.0), R::splat(0.0)], e)),
        )
    }
}
