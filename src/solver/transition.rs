//! The transition between elastic and plastic, half a period of a sine wide: the plastic share, and the root
//! that gives the size of a bristle that ends in the transition (`docs/model.md`, section 5.3). Twin:
//! `shaders/transition.wgsl`.
//!
//! Only here: `none`, `approach`, `finish`, `next`.

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

/// An iterate for the root `x` of `x (1 + l b(x)) = y` with `s_ba < y < 1 + l`: Halley's method in the angle
/// `t` of the sine, `docs/model.md` (37) to (39).
#[derive(Clone, Copy, Debug)]
pub struct Root<R> {
    y: R,
    l: R,
    /// `x = (middle of the transition) + width/pi t`; after the last iteration with its sine and cosine.
    t: R,
    sin: R,
    cos: R,
}

impl<R: Real> Root<R> {
    /// Zeros, to fill memory for roots that have not been started.
    pub fn none() -> Self {
        let zero = R::splat(0.0);
        Self { y: zero, l: zero, t: zero, sin: zero, cos: zero }
    }

    /// The first iterate, `docs/model.md` (39). On the half of the transition that holds the root, the
    /// plastic share is replaced by a parabola that agrees with it at the outer end of the half, and the `x`
    /// that multiplies its square by the centre of the half; that leaves a quadratic equation. From there two
    /// iterations leave an error of 2e-8 of `y`, and three that of rounding, for all states that occur in a
    /// step (`y > l - 4`).
    #[inline(always)]
    pub fn start(k: &Consts<R>, y: R, l: R) -> Self {
        let (one, half) = (R::splat(1.0), R::splat(0.5));
        let width = one - k.s_ba;
        let middle = k.s_ba + half * width;
        let (stretched, hl) = (one + l, half * l);
        let low_half = y.lt(middle.fma(hl, middle));
        let frozen_twice = R::select(low_half, k.s_ba + middle, one + middle);
        let slope = R::select(low_half, width, width * stretched);
        let c = R::select(low_half, y - k.s_ba, stretched - y).max(R::splat(0.0));
        let root = slope.fma(slope, R::splat(8.0) * hl * frozen_twice * c).approx_sqrt();
        let q = ((c + c) * (slope + root).approx_recip()).min(half);
        let t = R::splat(std::f64::consts::PI) * q - R::splat(0.5 * std::f64::consts::PI);
        let t = R::select(low_half, t, -t);
        Self { y, l, t, sin: t, cos: t }
    }

    /// One iteration, except for the last.
    #[inline(always)]
    pub fn approach(&mut self, k: &Consts<R>) {
        self.t = self.next(k, self.t.sin_cos_by(R::APPROACH_TERMS));
    }

    /// The last iteration. Its step is so short that the sine and cosine at the new angle follow from a
    /// Taylor polynomial of second order.
    #[inline(always)]
    pub fn finish(&mut self, k: &Consts<R>) {
        let (sin, cos) = self.t.sin_cos();
        let next = self.next(k, (sin, cos));
        let step = next - self.t;
        let half = R::splat(0.5) * step;
        (self.sin, self.cos) = (step.fma(half.fma(-sin, cos), sin), step.fma(-sin, cos));
        self.t = next;
    }

    /// The next iterate of Halley's method, from sine and cosine of `t`; kept within the transition.
    #[inline(always)]
    fn next(&self, k: &Consts<R>, (sin, cos): (R, R)) -> R {
        let Self { y, l, t, .. } = *self;
        let (one, half, quarter) = (R::splat(1.0), R::splat(0.5), R::splat(0.5 * std::f64::consts::PI));
        let width = one - k.s_ba;
        let (middle, per_angle) = (k.s_ba + half * width, R::splat(std::f64::consts::FRAC_1_PI) * width);
        let hl = half * l;
        let x = per_angle.fma(t, middle);
        let (xl, load) = (x * hl, hl.fma(sin, hl + one));
        let f = x.fma(load, -y);
        let f_slope = xl.fma(cos, per_angle * load);
        let f_bend = (per_angle * l).fma(cos, -(xl * sin));
        let below = (half * f).fma(-f_bend, f_slope * f_slope);
        (f * f_slope).fma(-below.approx_recip(), t).max(-quarter).min(quarter)
    }

    /// `x`, `b(x)` and its slope, after all iterations.
    #[inline(always)]
    pub fn end(&self, k: &Consts<R>) -> [R; 3] {
        let (half, width) = (R::splat(0.5), R::splat(1.0) - k.s_ba);
        let (middle, per_angle) = (k.s_ba + half * width, R::splat(std::f64::consts::FRAC_1_PI) * width);
        let slope = R::splat(0.5 * std::f64::consts::PI) * k.inv_width * self.cos;
        [per_angle.fma(self.t, middle), half.fma(self.sin, half), slope]
    }

    /// The slip of a trial in the transition, from `y = |y|/g` and `l = travel/g`.
    #[inline(always)]
    pub fn slip(&self, k: &Consts<R>) -> Slip<R> {
        let (one, l) = (R::splat(1.0), self.l);
        let [x, b, slope] = self.end(k);
        let steep = l * x.fma(slope, b);
        let stiff = (one + steep).recip();
        Slip { d: l.fma(b, one).recip(), stiff, xb: x * b, xs: x * (steep * stiff) }
    }
}

/// Whether a bristle with this trial ends in the transition, where the slip follows from a root and not from
/// `Law::slip`.
#[inline(always)]
pub fn in_transition<R: Real>(k: &Consts<R>, t: &Trial<R>) -> R::Mask {
    R::and((k.s_ba * t.g).lt(t.len), t.len.lt(t.g + t.travel))
}

/// The root after all iterations.
#[inline(always)]
pub fn transition_root<R: Real>(k: &Consts<R>, y: R, l: R) -> Root<R> {
    let mut root = Root::start(k, y, l);
    for _ in 1..R::TRANSITION_ITERATIONS {
        root.approach(k);
    }
    root.finish(k);
    root
}
