//! Friction of sliding over its speed, and the implicit equation for the speed at the end of a step
//! (`docs/model.md`, section 13.2). Twin: `shaders/point/curve.wgsl`.

use crate::number::real::Real;
use crate::solver::friction::{Consts, motion};

/// Most iterations of a root: enough to find it by halving alone in single precision.
pub const POINT_ROOT_MOST: u32 = 30;

/// Friction over the normal force, `psi(s) = mu_c + mu_d exp(-(s/v_s)^gamma) + sigma2 s`.
#[derive(Clone, Copy, Debug)]
pub struct Curve<R> {
    /// The constants of the exponential.
    pub k: Consts<R>,
    /// Coulomb coefficient [-].
    pub mu_c: R,
    /// `mu_s - mu_c` [-].
    pub mu_d: R,
    /// The steepest fall of `psi` [s/m], not positive where it rises alone.
    pub fall: R,
    /// Whether `mu_d` is not zero in some lane.
    pub is_curved: bool,
}

impl<R: Real> Curve<R> {
    /// `psi` and its slope at speed `s` [m/s].
    #[inline(always)]
    pub fn at(&self, s: R) -> (R, R) {
        let straight = (self.k.sigma2.fma(s, self.mu_c), self.k.sigma2);
        if !self.is_curved {
            return straight;
        }
        let m = motion(&self.k, s, R::splat(0.0));
        (self.mu_d.fma(m.bell, straight.0), self.mu_d.fma(m.bell_slope, straight.1))
    }

    /// `psi(0)`: what friction holds.
    #[inline(always)]
    pub fn most(&self) -> R {
        self.mu_c + self.mu_d
    }

    /// The root `s > 0` of `s + c psi(s) = a` for `a > c psi(0)`, where several are the largest;
    /// `docs/model.md` (P4). Lanes with a smaller `a` get a number without meaning.
    #[inline(always)]
    pub fn root(&self, c: R, a: R) -> R {
        let (zero, one, half) = (R::splat(0.0), R::splat(1.0), R::splat(0.5));
        // Without the exponential the root is the first guess, and with it no larger.
        let mut s = ((a - c * self.mu_c) / c.fma(self.k.sigma2, one)).max(zero);
        if !self.is_curved {
            return s;
        }
        let (mut low, mut high) = (zero, s);
        let enough = R::splat(R::ROOT_RESIDUAL) * a;
        let slides = (c * self.most()).lt(a);
        for _ in 0..POINT_ROOT_MOST {
            let (psi, slope) = self.at(s);
            let rest = c.fma(psi, s) - a;
            let above = zero.lt(rest);
            high = R::select(above, s, high);
            low = R::select(above, low, s);
            let rise = c.fma(slope, one);
            let newton = s - rest / rise;
            let inside = R::and(zero.lt(rise), R::and(low.lt(newton), newton.lt(high)));
            // A residual of zero leaves the root where it is, which is an end of the bracket.
            let next = R::select(inside, newton, half * (low + high));
            s = R::select(zero.lt(rest.abs()), next, s);
            if !R::any(R::and(slides, enough.lt(rest.abs()))) {
                break;
            }
        }
        s
    }
}
