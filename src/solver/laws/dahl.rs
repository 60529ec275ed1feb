//! Dahl (1968), with the exponent 1: `zeta' = sigma0 v - sigma0 |v| zeta/mu_c`. The bristle is LuGre's under
//! a limit that does not depend on the speed, without damping and viscous friction. The force is a function
//! of the distance alone: `mu_c (1 - exp(-sigma0 x/mu_c))` along a straight line from rest. Twin:
//! `shaders/laws/dahl.wgsl`.

use super::{Law, LuGre};
use crate::number::real::Real;
use crate::solver::friction::{Consts, Sensitivity, Slip, Trial};

/// Dahl.
#[derive(Clone, Copy, Debug)]
pub struct Dahl;

impl Law for Dahl {
    const LAW: crate::friction::Law = crate::friction::Law::Dahl;
    const DIRECTED: bool = false;

    #[inline(always)]
    fn travel<R: Real>(a_sigma0: R, speed: R, along: R) -> R {
        LuGre::travel(a_sigma0, speed, along)
    }

    #[inline(always)]
    fn slip<R: Real>(k: &Consts<R>, t: &Trial<R>) -> Slip<R> {
        LuGre::slip(k, t)
    }

    #[inline(always)]
    fn relaxation<R: Real>(t: &Trial<R>, z: &Slip<R>) -> R {
        LuGre::relaxation(t, z)
    }

    #[inline(always)]
    fn sensitivity<R: Real>(a_sigma0: R, t: &Trial<R>, z: &Slip<R>, speed: R, along: R) -> Sensitivity<R> {
        LuGre::sensitivity(a_sigma0, t, z, speed, along)
    }

    #[inline(always)]
    fn decay<R: Real>(k: &Consts<R>, g: R, speed: R, along: R, size: R) -> R {
        LuGre::decay(k, g, speed, along, size)
    }
}
