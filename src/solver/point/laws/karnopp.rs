//! Karnopp (1985), as in Kikuuwe et al. (2005), (5), `docs/model.md` (P6): within a band of velocities
//! friction balances the load as far as it can. Twin: `shaders/point/karnopp.wgsl`.

use super::{PointLaw, Step, Vec2, length, select2, slide};
use crate::number::real::Real;

/// Karnopp's model.
#[derive(Clone, Copy, Debug)]
pub struct Karnopp;

impl PointLaw for Karnopp {
    #[inline(always)]
    fn force<R: Real>(s: &Step<R>, v: Vec2<R>) -> (Vec2<R>, [Vec2<R>; 2]) {
        let ((speed, _), (load, n)) = (length(v), length(s.load));
        let held = -(s.grip * s.curve.most()).min(load);
        let (sliding, gain) = slide(s, v);
        let outside = s.band.lt(speed);
        let zero = [R::splat(0.0); 2];
        let gain = [select2::<R>(outside, gain[0], zero), select2::<R>(outside, gain[1], zero)];
        (select2::<R>(outside, sliding, [held * n[0], held * n[1]]), gain)
    }
}
