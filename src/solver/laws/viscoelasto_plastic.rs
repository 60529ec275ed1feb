//! Viscoelasto-plastic, `docs/model.md` (10a): elastic below the limit `g`, and held at the limit, as a
//! spring on a slider. The bristle after a stage is the trial state, cut to the limit, without a root. With
//! the damping 0 it is the element (29) of Kikuuwe et al. (2005) without mass. Their slider limits the sum of
//! spring and damper; ours limits the spring alone, as in the other laws. Twin:
//! `shaders/laws/viscoelasto_plastic.wgsl`.

use super::Law;
use crate::number::real::Real;
use crate::solver::friction::{Consts, Sensitivity, Slip, Trial};

/// Viscoelasto-plastic.
#[derive(Clone, Copy, Debug)]
pub struct ViscoelastoPlastic;

/// A bristle whose size is at least this share of the limit counts as at the limit in recorded rates:
/// rounding leaves it a little below.
pub const AT_LIMIT: f64 = 1.0 - 1e-5;

impl Law for ViscoelastoPlastic {
    const LAW: crate::friction::Law = crate::friction::Law::ViscoelastoPlastic;
    const DIRECTED: bool = true;
    const CUTS: bool = true;

    #[inline(always)]
    fn travel<R: Real>(_a_sigma0: R, _speed: R, _along: R) -> R {
        R::splat(0.0)
    }

    #[inline(always)]
    fn slip<R: Real>(_k: &Consts<R>, t: &Trial<R>) -> Slip<R> {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let slides = t.g.lt(t.len);
        let d = R::select(slides, t.g * t.inv_len, one);
        Slip { d, stiff: d, xb: R::select(slides, one, zero), xs: zero }
    }

    #[inline(always)]
    fn relaxation<R: Real>(t: &Trial<R>, _z: &Slip<R>) -> R {
        (t.len - t.g).max(R::splat(0.0)) / t.g
    }

    /// `g' n e^T + (g/|y|) (I - n n^T) a sigma0 J` where it slides, `a sigma0 J` where it sticks.
    #[inline(always)]
    fn sensitivity<R: Real>(a_sigma0: R, _t: &Trial<R>, z: &Slip<R>, _speed: R, _along: R) -> Sensitivity<R> {
        let carried = a_sigma0 * z.d;
        Sensitivity { carried, normal: Some(-(carried * z.xb)), speed: R::splat(0.0), limit: z.xb }
    }

    #[inline(always)]
    fn decay<R: Real>(_k: &Consts<R>, g: R, _speed: R, along: R, size: R) -> R {
        let zero = R::splat(0.0);
        let slides = R::and((R::splat(AT_LIMIT) * g).lt(size), zero.lt(along));
        R::select(slides, along / size.max(R::splat(R::TINY)), zero)
    }
}
