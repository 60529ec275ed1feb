//! One bristle over one stage of the step: its new state, exactly, and how its force changes with
//! the velocity. Twin: `shaders/friction.wgsl`. Equations: model.md, sections 2 and 3.

use super::real::Real;
use crate::friction::{Friction, Law, STRIBECK_X_MIN};

/// Friction constants of a contact, in the cell's number type.
#[derive(Clone, Copy, Debug)]
pub struct Consts<R> {
    /// Elasto-Plastic, else LuGre.
    pub elasto_plastic: bool,
    /// Whether `gamma` is 2.
    pub gaussian: bool,
    /// Stribeck exponent [-].
    pub gamma: R,
    /// `1 / v_s` [s/m].
    pub inv_v_s: R,
    /// Elastic share [-].
    pub s_ba: R,
    /// Viscous coefficient [s/m].
    pub sigma2: R,
}

impl<R: Real> Consts<R> {
    /// The constants of `f`.
    pub fn new(f: &Friction) -> Self {
        Self {
            elasto_plastic: f.law == Law::ElastoPlastic,
            gaussian: f.gamma == 2.0,
            gamma: R::of(f.gamma),
            inv_v_s: R::of(1.0 / f.v_s),
            s_ba: R::of(f.s_ba),
            sigma2: R::of(f.sigma2),
        }
    }
}

impl<R: Real> Consts<R> {
    /// The same for one number: a reduced model has no lanes.
    pub fn plain(&self) -> Consts<f64> {
        let Self { elasto_plastic, gaussian, gamma, inv_v_s, s_ba, sigma2 } = *self;
        let one = |v: R| v.lane(0);
        Consts {
            elasto_plastic,
            gaussian,
            gamma: one(gamma),
            inv_v_s: one(inv_v_s),
            s_ba: one(s_ba),
            sigma2: one(sigma2),
        }
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
    /// Scale of `g'` in the gain [-], so that the matrix of the velocity solve stays definite.
    pub chi: R,
    /// How far the base moves towards (and past) the stage's state: `1 + sqrt 2`, then 1.
    pub pull: R,
}

impl<R: Real> Stage<R> {
    /// The same for one number: a reduced model has no lanes.
    pub fn plain(&self) -> Stage<f64> {
        let one = |v: R| v.lane(0);
        Stage {
            a_sigma0: one(self.a_sigma0),
            damping: one(self.damping),
            mu_c: one(self.mu_c),
            mu_d: one(self.mu_d),
            chi: one(self.chi),
            pull: one(self.pull),
        }
    }
}

/// What a cell's velocity decides, whatever the stage.
#[derive(Clone, Copy, Debug)]
pub struct Motion<R> {
    /// Velocity [m/s].
    pub vx: R,
    /// Velocity [m/s].
    pub vy: R,
    /// Speed [m/s].
    pub s: R,
    /// Direction of the velocity; 0 at rest.
    pub ex: R,
    /// Direction of the velocity; 0 at rest.
    pub ey: R,
    /// `exp(-(s/v_s)^gamma)` [-].
    pub bell: R,
    /// Its derivative over `s` [s/m].
    pub bell_slope: R,
}

/// A cell's bristle at the end of a stage: `zeta* = d y`.
#[derive(Clone, Copy, Debug)]
pub struct Bristle<R> {
    /// `zeta_b + a sigma0 v` [-].
    pub yx: R,
    /// `zeta_b + a sigma0 v` [-].
    pub yy: R,
    /// `1/|y|`, and 0 rather than infinity at 0.
    pub inv_y: R,
    /// `g` at the present speed [-].
    pub g: R,
    /// `1 / (1 + a lambda)` [-].
    pub d: R,
    /// `|zeta*| / g` [-].
    pub x: R,
    /// `a sigma0 |v| / g` (LuGre) or `a sigma0 eps / g` (Elasto-Plastic) [-].
    pub l: R,
    /// Plastic share `b(x)` [-].
    pub b: R,
    /// Its slope `b'(x)` [-].
    pub b_slope: R,
}

/// Speed, direction and Stribeck bell of a velocity.
#[inline(always)]
pub fn motion<R: Real>(k: &Consts<R>, vx: R, vy: R) -> Motion<R> {
    let v2 = vx * vx + vy * vy;
    let inv_s = R::of(1.0) / (v2 + R::of(R::TINY)).sqrt();
    let s = v2 * inv_s;
    let (bell, bell_slope);
    if k.gaussian {
        let x2 = (v2 * k.inv_v_s * k.inv_v_s).min(R::of(80.0));
        bell = (-x2).exp_negative();
        bell_slope = R::of(-2.0) * s * k.inv_v_s * k.inv_v_s * bell;
    } else {
        let x = (s * k.inv_v_s).max(R::of(R::TINY));
        bell = (-(x.powf(k.gamma).min(R::of(80.0)))).exp_negative();
        let held = x.max(R::of(STRIBECK_X_MIN));
        // x^(gamma-1) as x^gamma / x, where x^gamma is bounded as in the bell: else it overflows at speed.
        bell_slope = -k.gamma * held.powf(k.gamma).min(R::of(80.0)) / held * k.inv_v_s * bell;
    }
    Motion { vx, vy, s, ex: vx * inv_s, ey: vy * inv_s, bell, bell_slope }
}

/// Plastic share `b(x)` and its slope, eqs. (16)-(18): 0 below `s_ba`, 1 above 1, half a sine between.
#[inline(always)]
pub fn ramp<R: Real>(x: R, s_ba: R) -> (R, R) {
    let half = R::of(0.5);
    let inv_width = R::of(1.0) / (R::of(1.0) - s_ba);
    let p = ((x - s_ba) * inv_width).max(R::of(0.0)).min(R::of(1.0)) - half;
    let (sin, cos) = p.sin_cos_pi();
    (half + half * sin, R::of(0.5 * std::f64::consts::PI) * cos * inv_width)
}

/// The root of `x (1 + l b(x)) = y` for `s_ba < y < 1 + l`: bracketed Newton on the ramp.
///
/// The start takes the ramp as a parabola on the half that holds the root, so that the equation is exact at that
/// half's end, and freezes the `x` before the square at its centre: a quadratic. From it, three iterations leave
/// 2e-8 of `y` and four its rounding, for all states that a step can meet (`y > l - 4`).
#[inline(always)]
pub fn ramp_root<R: Real>(y: R, l: R, s_ba: R) -> R {
    let (one, zero) = (R::of(1.0), R::of(0.0));
    let width = one - s_ba;
    let middle = s_ba + R::of(0.5) * width;
    let low_half = y.lt(middle * (one + R::of(0.5) * l));
    let frozen = s_ba + R::select(low_half, R::of(0.25), R::of(0.75)) * width;
    let slope = R::select(low_half, one, one + l) * width;
    let c = R::select(low_half, y - s_ba, one + l - y).max(zero);
    let q = R::of(2.0) * c / (slope + (slope * slope + R::of(8.0) * l * frozen * c).sqrt());
    let q = q.min(R::of(0.5));
    let mut x = R::select(low_half, s_ba + width * q, one - width * q);
    let (mut low, mut high) = (s_ba, y.min(one));
    for _ in 0..R::RAMP_ITERATIONS {
        let (b, b_slope) = ramp(x, s_ba);
        let f = x * (one + l * b) - y;
        let above = zero.lt(f);
        high = R::select(above, x, high);
        low = R::select(above, low, x);
        let next = x - f / (one + l * (b + x * b_slope));
        let outside = R::select(next.lt(low), one, R::select(high.lt(next), one, zero));
        x = R::select(zero.lt(outside), R::of(0.5) * (low + high), next);
    }
    x
}

/// The bristle after one stage from base `(zx, zy)` at velocity `m`: exact, for any length of step.
#[inline(always)]
pub fn bristle<R: Real>(k: &Consts<R>, st: &Stage<R>, m: &Motion<R>, zx: R, zy: R) -> Bristle<R> {
    let (one, zero) = (R::of(1.0), R::of(0.0));
    let yx = zx + st.a_sigma0 * m.vx;
    let yy = zy + st.a_sigma0 * m.vy;
    let y2 = yx * yx + yy * yy;
    let inv_y = one / (y2 + R::of(R::TINY)).sqrt();
    let g = st.mu_c + st.mu_d * m.bell;
    let inv_g = one / g;
    if !k.elasto_plastic {
        let l = st.a_sigma0 * m.s * inv_g;
        let d = one / (one + l);
        return Bristle { yx, yy, inv_y, g, d, x: y2 * inv_y * inv_g * d, l, b: one, b_slope: zero };
    }
    let eps = R::of(0.5) * (m.s + (m.vx * yx + m.vy * yy) * inv_y);
    let l = (st.a_sigma0 * eps * inv_g).max(zero);
    let y = y2 * inv_y * inv_g;
    let plastic = k.s_ba.lt(y);
    let on_ramp = R::and(plastic, y.lt(one + l));
    let mut x = R::select(plastic, y / (one + l), y);
    let mut b = R::select(plastic, one, zero);
    let mut b_slope = zero;
    if R::any(on_ramp) {
        // Elsewhere the arguments are meaningless and the results are not selected.
        let root = ramp_root(y, l, k.s_ba);
        let (rb, rb_slope) = ramp(root, k.s_ba);
        x = R::select(on_ramp, root, x);
        b = R::select(on_ramp, rb, b);
        b_slope = R::select(on_ramp, rb_slope, b_slope);
    }
    Bristle { yx, yy, inv_y, g, d: one / (one + l * b), x, l, b, b_slope }
}

/// `d zeta*/dv` as `[xx, xy, yx, yy]` [s/m].
#[inline(always)]
pub fn sensitivity<R: Real>(k: &Consts<R>, st: &Stage<R>, m: &Motion<R>, z: &Bristle<R>) -> [R; 4] {
    let one = R::of(1.0);
    let g_slope = st.chi * st.mu_d * m.bell_slope;
    if !k.elasto_plastic {
        let inv_g = one / z.g;
        let c = z.d * z.d * (st.a_sigma0 * inv_g) * (one - m.s * g_slope * inv_g);
        let i = st.a_sigma0 * z.d;
        return [i - c * z.yx * m.ex, -c * z.yx * m.ey, -c * z.yy * m.ex, i - c * z.yy * m.ey];
    }
    let (nx, ny) = (z.yx * z.inv_y, z.yy * z.inv_y);
    let half = R::of(0.5);
    let vn = m.vx * nx + m.vy * ny;
    let turn = st.a_sigma0 * z.inv_y;
    let deps_x = half * (m.ex + nx + turn * (m.vx - vn * nx));
    let deps_y = half * (m.ey + ny + turn * (m.vy - vn * ny));
    let steep = z.l * (z.b + z.x * z.b_slope);
    let inv = one / (one + steep);
    // d(g x)/dv: model.md's g dx + x g' e, with what cancels in it taken out. (No closures here: they
    // would be compiled for the baseline.)
    let along = z.x * steep * g_slope;
    let row_x = (st.a_sigma0 * (nx - z.x * z.b * deps_x) + along * m.ex) * inv;
    let row_y = (st.a_sigma0 * (ny - z.x * z.b * deps_y) + along * m.ey) * inv;
    let i = st.a_sigma0 * z.d;
    [
        nx * row_x + i * (one - nx * nx),
        nx * row_y - i * nx * ny,
        ny * row_x - i * nx * ny,
        ny * row_y + i * (one - ny * ny),
    ]
}

/// `lambda / sigma0` [s/m] of the differential equation at state `(zx, zy)`: for recorded wrenches.
#[inline(always)]
pub fn decay<R: Real>(k: &Consts<R>, g: R, m: &Motion<R>, zx: R, zy: R) -> R {
    if !k.elasto_plastic {
        return m.s / g;
    }
    let z2 = zx * zx + zy * zy;
    let inv_z = R::of(1.0) / (z2 + R::of(R::TINY)).sqrt();
    let eps = R::of(0.5) * (m.s + (m.vx * zx + m.vy * zy) * inv_z);
    let (b, _) = ramp(z2 * inv_z / g, k.s_ba);
    eps * b / g
}

#[cfg(test)]
mod tests;
