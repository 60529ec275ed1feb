//! What all laws and both models share: the constants of a contact and of a stage, the Stribeck curve, and
//! the quantities that describe how a bristle slips over a stage (`docs/model.md`, sections 2, 5.2 and 5.4).
//! Twin: `shaders/friction.wgsl`.
//!
//! Only here: `new`, `set`, `splat`, `select`.

use crate::friction::{Friction, Law, STRIBECK_X_MIN};
use crate::number::real::Real;

/// Friction constants of a contact, in the cell's number type.
#[derive(Clone, Copy, Debug)]
pub struct Consts<R> {
    /// The law that the bristles follow.
    pub law: Law,
    /// Whether `gamma` is 2.
    pub gaussian: bool,
    /// Stribeck exponent [-].
    pub gamma: R,
    /// `1 / v_s` [s/m].
    pub inv_v_s: R,
    /// Elastic share [-].
    pub s_ba: R,
    /// `1 / (1 - s_ba)`: the mean slope of the plastic share [-].
    pub inv_width: R,
    /// Viscous coefficient [s/m].
    pub sigma2: R,
    /// Below this `s/v_s` the slope of the bell is taken as that at this value: [`STRIBECK_X_MIN`], and 0
    /// where derivatives have to be true.
    pub least_x: R,
}

impl<R: Real> Consts<R> {
    /// The constants of a contact with these parameters.
    pub fn new(friction: &Friction) -> Self {
        let f = friction.effective_for_law();
        Self {
            law: f.law,
            gaussian: f.gamma == 2.0,
            gamma: R::splat(f.gamma),
            inv_v_s: R::splat(1.0 / f.v_s),
            s_ba: R::splat(f.s_ba),
            inv_width: R::splat(1.0 / (1.0 - f.s_ba)),
            sigma2: R::splat(f.sigma2),
            least_x: R::splat(STRIBECK_X_MIN),
        }
    }

    /// Replaces the numbers of one lane.
    pub fn set(&mut self, lane: usize, k: &Consts<f64>) {
        self.gamma.set(lane, k.gamma);
        self.inv_v_s.set(lane, k.inv_v_s);
        self.s_ba.set(lane, k.s_ba);
        self.inv_width.set(lane, k.inv_width);
        self.sigma2.set(lane, k.sigma2);
    }
}

/// Constants of one stage of one step.
#[derive(Clone, Copy, Debug)]
pub struct Stage<R> {
    /// `a sigma0` [s/m], `a = kappa h`.
    pub a_sigma0: R,
    /// `sigma1 / (sigma0 a)` [-].
    pub damping: R,
    /// Coulomb coefficient at the stage [-].
    pub mu_c: R,
    /// `mu_s - mu_c` at the stage [-].
    pub mu_d: R,
    /// Factor of `g'` in the gain [-], which keeps the matrix of the Newton step positive definite,
    /// `docs/model.md` (52).
    pub chi: R,
    /// The next stage starts from `zeta_b + extrapolation (zeta* - zeta_b)`: `1 + sqrt 2`, then 1.
    pub extrapolation: R,
    /// 1 where the base is first cut to the limit of this stage, if the law cuts bristles, `docs/model.md`
    /// (36a); else 0.
    pub cuts: R,
}

impl Stage<f64> {
    /// The same constants in every lane.
    #[inline(always)]
    pub fn splat<R: Real>(&self) -> Stage<R> {
        Stage {
            a_sigma0: R::splat(self.a_sigma0),
            damping: R::splat(self.damping),
            mu_c: R::splat(self.mu_c),
            mu_d: R::splat(self.mu_d),
            chi: R::splat(self.chi),
            extrapolation: R::splat(self.extrapolation),
            cuts: R::splat(self.cuts),
        }
    }
}

impl<R: Real> Stage<R> {
    /// The same stage without a length, which only cuts bristles to its limit.
    #[inline(always)]
    pub fn without_length(&self) -> Self {
        Self { a_sigma0: R::splat(0.0), ..*self }
    }

    /// `a` where the mask is set, else `b`.
    #[inline(always)]
    pub fn select(mask: R::Mask, a: &Self, b: &Self) -> Self {
        Self {
            a_sigma0: R::select(mask, a.a_sigma0, b.a_sigma0),
            damping: R::select(mask, a.damping, b.damping),
            mu_c: R::select(mask, a.mu_c, b.mu_c),
            mu_d: R::select(mask, a.mu_d, b.mu_d),
            chi: R::select(mask, a.chi, b.chi),
            extrapolation: R::select(mask, a.extrapolation, b.extrapolation),
            cuts: R::select(mask, a.cuts, b.cuts),
        }
    }
}

/// What follows from the velocity of a cell and does not depend on the stage.
#[derive(Clone, Copy, Debug)]
pub struct Motion<R> {
    /// Velocity [m/s].
    pub vx: R,
    /// Velocity [m/s].
    pub vy: R,
    /// Speed [m/s].
    pub s: R,
    /// `1/s` [s/m]; a large finite number at rest.
    pub inv_s: R,
    /// `exp(-(s/v_s)^gamma)` [-].
    pub bell: R,
    /// Its derivative over `s` [s/m].
    pub bell_slope: R,
}

/// The trial state of a bristle, `y = zeta_b + a sigma0 D`: where it would be without any slip.
#[derive(Clone, Copy, Debug)]
pub struct Trial<R> {
    /// `|y|` [-].
    pub len: R,
    /// `1/|y|` [-]; a large finite number where `y` is 0.
    pub inv_len: R,
    /// The limit of `|zeta|` at the present speed [-].
    pub g: R,
    /// The plastic travel, see [`super::laws::Law::travel`] [-].
    pub travel: R,
}

/// How much of a trial slips: `zeta* = d y`, `docs/model.md` (33).
#[derive(Clone, Copy, Debug)]
pub struct Slip<R> {
    /// `1 / (1 + a lambda)` [-].
    pub d: R,
    /// `d|zeta*| / d|y|` at given `g` and `travel` [-]; LuGre stores it divided by `g`.
    pub stiff: R,
    /// `x b`, with `x = |zeta*|/g` and the plastic share `b(x)` [-].
    pub xb: R,
    /// `x (1 - stiff)` [-].
    pub xs: R,
}

impl<R: Real> Slip<R> {
    /// `a` where the mask is set, else `b`.
    #[inline(always)]
    pub fn select(mask: R::Mask, a: &Self, b: &Self) -> Self {
        Self {
            d: R::select(mask, a.d, b.d),
            stiff: R::select(mask, a.stiff, b.stiff),
            xb: R::select(mask, a.xb, b.xb),
            xs: R::select(mask, a.xs, b.xs),
        }
    }
}

/// How the bristle at the end of a stage changes with the velocity. With `J = dD/dv` and `n` the direction of
/// the trial, or the trial itself under a law whose `normal` is none,
///
/// `d zeta*/dv = carried J + n (normal J^T n + speed J^T D/|D| + limit dg/dv)^T`.
#[derive(Clone, Copy, Debug)]
pub struct Sensitivity<R> {
    /// The part in which the bristle is carried along with the velocity [s/m].
    pub carried: R,
    /// The part that comes from the length of the trial [s/m].
    pub normal: Option<R>,
    /// The part that comes from the speed [s/m].
    pub speed: R,
    /// The part that comes from the limit `g` [-].
    pub limit: R,
}

/// Speed, direction and Stribeck bell of a velocity, `docs/model.md` (5) and (6).
#[inline(always)]
pub fn motion<R: Real>(k: &Consts<R>, vx: R, vy: R) -> Motion<R> {
    let v2 = vx.fma(vx, vy.fma(vy, R::splat(R::TINY)));
    let inv_s = v2.rsqrt();
    let s = v2 * inv_s;
    let (bell, bell_slope);
    if k.gaussian {
        let inv_v_s2 = k.inv_v_s * k.inv_v_s;
        bell = (v2 * -inv_v_s2).max(R::splat(-80.0)).exp_negative();
        bell_slope = R::splat(-2.0) * inv_v_s2 * (s * bell);
    } else {
        let x = (s * k.inv_v_s).max(R::splat(R::TINY));
        bell = (-(x.powf(k.gamma).min(R::splat(80.0)))).exp_negative();
        let held = x.max(k.least_x);
        // x^(gamma-1) is computed as x^gamma / x with x^gamma bounded as in the exponential. Without the
        // bound it overflows at high speed, and infinity times an exponential of zero is no number.
        bell_slope = -k.gamma * held.powf(k.gamma).min(R::splat(80.0)) / held * k.inv_v_s * bell;
    }
    Motion { vx, vy, s, inv_s, bell, bell_slope }
}

/// Beyond its steepest point the slope of `exp(-x^2)` is at most this over `x^3`: `8/e^2`, as `2 x^4
/// exp(-x^2)` is largest at `x^2 = 2`.
pub const SLOPE_TAIL: f64 = 1.082_682_265_892_902;
/// Below this `x` the bound by [`SLOPE_TAIL`] exceeds the steepest slope, so that `x` need not be smaller in
/// it.
pub const SLOPE_TAIL_FROM: f64 = 0.5;
/// Least bound on the slope: too small to limit a step, and large enough that its reciprocal is finite.
pub const LEAST_SLOPE: f64 = 1e-6;

/// A bound on the size of the slope of `exp(-x^2)` for x from `least` to `most`, `docs/model.md` (53): by `2
/// x` below its steepest point, and by [`SLOPE_TAIL`] above it.
#[inline(always)]
pub fn steepest_between<R: Real>(least: R, most: R) -> R {
    let x = least.max(R::splat(SLOPE_TAIL_FROM));
    (most + most).max(R::splat(LEAST_SLOPE)).min(R::splat(SLOPE_TAIL) * (x * x * x).recip())
}

#[cfg(test)]
mod tests;
