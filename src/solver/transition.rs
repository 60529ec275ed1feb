//! The transition between elastic and plastic, half a period of a sine: the plastic share, and the root that
//! gives the length of a bristle that ends in the transition (`docs/model.md`, section 5.3). Twin:
//! `shaders/transition.wgsl`.
//!
//! Only here: `none`, `approach`, `next`, `expand`.

use super::friction::{Consts, Slip, Trial};
use crate::number::real::Real;

/// Plastic share `b(x)` and its slope, `docs/model.md` (11): 0 below `s_ba`, 1 above 1, half a sine between.
#[inline(always)]
pub fn plastic_share<R: Real>(k: &Consts<R>, x: R) -> (R, R) {
    let half = R::splat(0.5);
    let p = ((x - k.s_ba) * k.inv_width).max(R::splat(0.0)).min(R::splat(1.0)) - half;
    let (sin, cos) = (R::splat(std::f64::consts::PI) * p).sin_cos();
    (half.fma(sin, half), R::splat(0.5 * std::f64::consts::PI) * k.inv_width * cos)
}

/// The root `x` of `x (1 + l b(x)) = y` with `s_ba < y < 1 + l`, or an iterate for it: the angle `t` of the
/// sine by which `x` is away from the outer end of its half of the transition, `docs/model.md` (37) to (39).
#[derive(Clone, Copy, Debug)]
pub struct Root<R: Real> {
    y: R,
    /// From 0 to a quarter of pi.
    t: R,
    /// Whether it is in the lower half. With the numbers below, `x = end + per_angle t` and
    /// `1 + l b = load + pull sin^2 t`.
    low: R::Mask,
    end: R,
    per_angle: R,
    load: R,
    pull: R,
}

/// `t` is near `(START[0] + START[1] s) s` with `s = sin t`, and `t s^2` near `(a + b s) s` with these `a`
/// and `b` in the lower and in the upper half, `docs/model.md` (39).
pub const START: [f64; 2] = [1.112_762_63, -0.099_880_11];
/// See [`START`].
pub const START_LOW: [f64; 2] = [-0.058_697_51, 0.711_263_92];
/// See [`START`].
pub const START_HIGH: [f64; 2] = [-0.193_092, 1.080_608_9];

impl<R: Real> Root<R> {
    /// Zeros, to fill memory for roots that have not been started.
    pub fn none() -> Self {
        let zero = R::splat(0.0);
        Self { y: zero, t: zero, low: zero.lt(zero), end: zero, per_angle: zero, load: zero, pull: zero }
    }

    /// The first iterate, `docs/model.md` (39): with `s = sin t` for `t`, and polynomials in `s` for `t` and
    /// `t s^2`, the equation is quadratic. One iteration leaves an error of at most 5e-8 in `x` (3e-7 for an
    /// `s_ba` near 0), and two that of rounding, for all states that occur in a step (`y > l - 4`).
    #[inline(always)]
    pub fn start(k: &Consts<R>, y: R, l: R) -> Self {
        let (one, half) = (R::splat(1.0), R::splat(0.5));
        let unit = R::splat(std::f64::consts::FRAC_2_PI) * (one - k.s_ba);
        let middle = half.fma(k.s_ba, half);
        let low = y.lt((half * middle).fma(l, middle));
        let (end, load) = (R::select(low, k.s_ba, one), R::select(low, one, one + l));
        let (per_angle, pull) = (R::select(low, unit, -unit), R::select(low, l, -l));
        let (first, second) = (R::splat(START[0]), R::splat(START[1]));
        let per_s = R::select(low, R::splat(START_LOW[0]), R::splat(-START_HIGH[0])) * unit;
        let (low_s2, high_s2) = (unit.fma(R::splat(START_LOW[1]), k.s_ba), unit.fma(R::splat(-START_HIGH[1]), one));
        // q2 s^2 + 2 q1 s = q0
        let q2 = (unit * second).fma(load, l * R::select(low, low_s2, high_s2));
        let q1 = (half * unit * first).fma(load, l * (half * per_s));
        let q0 = end.fma(load, -y).abs();
        let root = q1.fma(q1, q2 * q0).approx_sqrt();
        let s = q0 * (q1 + root).approx_recip();
        let t = (s * s.fma(second, first)).min(R::splat(std::f64::consts::FRAC_PI_4));
        Self { y, t, low, end, per_angle, load, pull }
    }

    /// One iteration, except for the last.
    #[inline(always)]
    pub fn approach(&mut self) {
        let at = self.expand(self.t.rough_sin_cos_near());
        self.t = self.next(at.above * at.below.approx_recip());
    }

    /// The last iteration: `x`, the plastic share there, and `1 / (1 + l (b + x b'))`. The step is so short
    /// that these follow from the function's expansion at the iterate.
    #[inline(always)]
    pub fn finish(&self) -> [R; 3] {
        let at = self.expand(self.t.sin_cos_near());
        let t = self.next(at.above * at.below.recip());
        let step = t - self.t;
        let share = step.fma(step.fma(at.cos_twice, at.sin_twice), at.square);
        let d1 = step.fma((R::splat(3.0) * at.d3).fma(step, at.d2 + at.d2), at.d1);
        let b = R::select(self.low, share, R::splat(1.0) - share);
        [self.per_angle.fma(t, self.end), b, self.per_angle * d1.recip()]
    }

    /// `t` less a step, kept within the half.
    #[inline(always)]
    fn next(&self, step: R) -> R {
        (self.t - step).max(R::splat(0.0)).min(R::splat(std::f64::consts::FRAC_PI_4))
    }

    /// The function at `t` and the step of Householder's method of fourth order, `docs/model.md` (38).
    #[inline(always)]
    fn expand(&self, (sin, cos): (R, R)) -> Expansion<R> {
        let Self { y, t, end, per_angle, load, pull, .. } = *self;
        let (square, sin_twice) = (sin * sin, (sin + sin) * cos);
        let cos_twice = R::splat(-2.0).fma(square, R::splat(1.0));
        let (x, load) = (per_angle.fma(t, end), pull.fma(square, load));
        let f = x.fma(load, -y);
        let (steep, bend) = (x * pull, per_angle * pull);
        let turn = steep * sin_twice;
        let d1 = per_angle.fma(load, turn);
        let d2 = steep.fma(cos_twice, bend * sin_twice);
        let d3 = bend.fma(cos_twice, R::splat(-2.0 / 3.0) * turn);
        let f_d2 = f * d2;
        let d1_above = d1.fma(d1, -f_d2);
        let below = d1.fma(d1_above - f_d2, f * f * d3);
        Expansion { square, sin_twice, cos_twice, d1, d2, d3, above: f * d1_above, below }
    }

    /// The slip of a trial in the transition, from `y = |y|/g` and `l = travel/g`, after the other
    /// iterations.
    #[inline(always)]
    pub fn slip(&self) -> Slip<R> {
        let [x, b, stiff] = self.finish();
        Slip { d: x * self.y.recip(), stiff, xb: x * b, xs: (-x).fma(stiff, x) }
    }
}

/// What follows from an iterate for a root: `sin^2 t` and sine and cosine of `2 t`; the derivatives of
/// `x (1 + l b)` over `t`, of order `n` over `n!`; the step as a fraction.
struct Expansion<R> {
    square: R,
    sin_twice: R,
    cos_twice: R,
    d1: R,
    d2: R,
    d3: R,
    above: R,
    below: R,
}

/// Whether a bristle with this trial ends in the transition, where the slip follows from a root and not from
/// `Law::slip`.
#[inline(always)]
pub fn in_transition<R: Real>(k: &Consts<R>, t: &Trial<R>) -> R::Mask {
    R::and((k.s_ba * t.g).lt(t.len), t.len.lt(t.g + t.travel))
}

/// The root before its last iteration.
#[inline(always)]
pub fn transition_root<R: Real>(k: &Consts<R>, y: R, l: R) -> Root<R> {
    let mut root = Root::start(k, y, l);
    for _ in 1..R::TRANSITION_ITERATIONS {
        root.approach();
    }
    root
}
