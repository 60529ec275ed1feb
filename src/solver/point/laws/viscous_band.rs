//! Kikuuwe et al. (2005), (6), `docs/model.md` (P7): within a band of velocities friction is in proportion to
//! the velocity. Twin: `shaders/point/viscous_band.wgsl`.

use super::{PointLaw, Step, Vec2, length, radial, select2, slide};
use crate::number::real::Real;

/// The viscous band.
#[derive(Clone, Copy, Debug)]
pub struct ViscousBand;

impl PointLaw for ViscousBand {
    #[inline(always)]
    fn force<R: Real>(s: &Step<R>, v: Vec2<R>) -> (Vec2<R>, [Vec2<R>; 2]) {
        let (speed, n) = length(v);
        let outside = s.band.lt(speed);
        let (sliding, gain) = slide(s, v);
        // Both are equal at the edge of the band.
        let (edge, _) = s.curve.at(s.band);
        let viscosity = -(s.grip * edge / s.band);
        let inner = radial(viscosity, viscosity, n);
        let gain = [select2::<R>(outside, gain[0], inner[0]), select2::<R>(outside, gain[1], inner[1])];
        (select2::<R>(outside, sliding, [viscosity * v[0], viscosity * v[1]]), gain)
    }
}
