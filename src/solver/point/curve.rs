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
        if R::HAS_TANGENTS {
            // The derivative of the root is that of a Newton step from its value.
            let (psi, slope) = self.at(s);
            let (rest, rise) = (c.fma(psi, s) - a, c.fma(slope, one));
            s = R::select(R::and(slides, zero.lt(rise)), s - rest / rise, s);
        }
        s
    }

    /// Where `s + c psi(s)` falls somewhere, so that an equation with it may have several roots.
    #[inline(always)]
    pub fn falls(&self, c: R) -> R::Mask {
        R::splat(1.0).lt(c * self.fall)
    }

    /// Where `s + c psi(s) = a` has several roots, of which rest is one for `a <= c psi(0)`; those within
    /// 0.1 % of one another are one. `docs/model.md`, section 13.4.
    #[inline(always)]
    pub fn has_several(&self, c: R, a: R) -> R::Mask {
        let falls = self.falls(c);
        if !R::any(falls) {
            return falls;
        }
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let (high, is_high) = self.reach(c, a, ((a - c * self.mu_c) / c.fma(self.k.sigma2, one)).max(zero));
        let (low, is_low) = self.reach(c, a, zero);
        let slides = (c * self.most()).lt(a);
        let low = R::select(slides, low, zero);
        let other = R::and(R::not(R::and(slides, R::not(is_low))), low.lt(R::splat(0.999) * high));
        R::and(R::and(falls, is_high), other)
    }

    /// Where Newton's method for `s + c psi(s) = a` leads from `s`, and whether that is a root. From below
    /// all roots and from above all it leads to the next one: `s + c psi(s)` is concave up to the steepest
    /// fall, and convex beyond it. It ends where there is none on its way.
    #[inline(always)]
    pub fn reach(&self, c: R, a: R, mut s: R) -> (R, R::Mask) {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let enough = R::splat(R::ROOT_RESIDUAL) * a;
        let mut goes = zero.lt(one);
        let mut is_root = goes;
        for _ in 0..POINT_ROOT_MOST {
            let (psi, slope) = self.at(s);
            let rest = c.fma(psi, s) - a;
            let rise = c.fma(slope, one);
            let next = s - rest / rise;
            is_root = R::not(enough.lt(rest.abs()));
            goes = R::and(R::and(goes, R::not(is_root)), R::and(zero.lt(rise), R::not(next.lt(zero))));
            s = R::select(goes, next, s);
            if !R::any(goes) {
                break;
            }
        }
        (s, is_root)
    }
}
