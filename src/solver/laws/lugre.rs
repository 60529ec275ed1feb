//! LuGre, `docs/model.md` (9): all motion is plastic, whatever the load. Twin: `shaders/laws/lugre.wgsl`.

use super::Law;
use crate::number::real::Real;
use crate::solver::friction::{Consts, Sensitivity, Slip, Trial};

/// LuGre.
#[derive(Clone, Copy, Debug)]
pub struct LuGre;

impl Law for LuGre {
    const LAW: crate::friction::Law = crate::friction::Law::LuGre;
    const DIRECTED: bool = false;

    #[inline(always)]
    fn travel<R: Real>(a_sigma0: R, speed: R, _along: R) -> R {
        a_sigma0 * speed
    }

    /// `docs/model.md` (34).
    #[inline(always)]
    fn slip<R: Real>(_k: &Consts<R>, t: &Trial<R>) -> Slip<R> {
        let r = (t.g + t.travel).recip();
        // Near rest by what is lost, which is nothing at rest: `g r` may be one unit of rounding below 1, and
        // a bristle that is held would lose that in every step.
        let d = R::select(t.travel.lt(t.g), (-t.travel).fma(r, R::splat(1.0)), t.g * r);
        Slip { d, stiff: r, xb: R::splat(0.0), xs: R::splat(0.0) }
    }

    #[inline(always)]
    fn relaxation<R: Real>(t: &Trial<R>, _z: &Slip<R>) -> R {
        t.travel / t.g
    }

    /// `docs/model.md` (44).
    #[inline(always)]
    fn sensitivity<R: Real>(a_sigma0: R, t: &Trial<R>, z: &Slip<R>, speed: R, _along: R) -> Sensitivity<R> {
        let c = z.stiff * z.stiff * a_sigma0;
        Sensitivity { carried: a_sigma0 * z.d, normal: None, speed: -(c * t.g), limit: c * speed }
    }

    #[inline(always)]
    fn decay<R: Real>(_k: &Consts<R>, g: R, speed: R, _along: R, _size: R) -> R {
        speed / g
    }
}
