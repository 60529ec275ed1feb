//! One bristle over one stage of the step: its new state, exactly, and how its force changes with
//! the velocity (`docs/model.md`, sections 2 and 5.2 to 5.4). Twin: `shaders/friction.wgsl`.

use crate::friction::{Friction, Law, STRIBECK_X_MIN};
use crate::number::real::Real;

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
    /// `1 / (1 - s_ba)`: the ramp's slope if it were straight [-].
    pub inv_width: R,
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
            inv_width: R::of(1.0 / (1.0 - f.s_ba)),
            sigma2: R::of(f.sigma2),
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

impl Consts<f64> {
    /// The same in every lane.
    pub fn wide<R: Real>(&self) -> Consts<R> {
        Consts {
            elasto_plastic: self.elasto_plastic,
            gaussian: self.gaussian,
            gamma: R::of(self.gamma),
            inv_v_s: R::of(self.inv_v_s),
            s_ba: R::of(self.s_ba),
            inv_width: R::of(self.inv_width),
            sigma2: R::of(self.sigma2),
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
    /// Scale of `g'` in the gain [-], so that the matrix of the velocity solve stays definite,
    /// `docs/model.md` (52).
    pub chi: R,
    /// How far the base moves towards (and past) the stage's state: `1 + sqrt 2`, then 1.
    pub pull: R,
}

impl Stage<f64> {
    /// The same in every lane.
    #[inline(always)]
    pub fn wide<R: Real>(&self) -> Stage<R> {
        Stage {
            a_sigma0: R::of(self.a_sigma0),
            damping: R::of(self.damping),
            mu_c: R::of(self.mu_c),
            mu_d: R::of(self.mu_d),
            chi: R::of(self.chi),
            pull: R::of(self.pull),
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

/// A bristle carried along by the base for a stage, before any of it slips.
#[derive(Clone, Copy, Debug)]
pub struct Trial<R> {
    /// `y = zeta_b + a sigma0 v` [-].
    pub yx: R,
    /// `y = zeta_b + a sigma0 v` [-].
    pub yy: R,
    /// Direction of `y`; 0 at 0 [-].
    pub nx: R,
    /// Direction of `y`; 0 at 0 [-].
    pub ny: R,
    /// `1/|y|`, large rather than infinite at 0 [-].
    pub inv_len: R,
    /// `|y|` [-].
    pub len: R,
    /// `g` at the present speed [-].
    pub g: R,
    /// `a sigma0 eps` (Elasto-Plastic) or `a sigma0 |v|` (LuGre): how far it slips back where all of it is
    /// plastic [-].
    pub push: R,
}

/// How much of a trial slips: `zeta* = d y`, `docs/model.md` (33).
#[derive(Clone, Copy, Debug)]
pub struct Slip<R> {
    /// `1 / (1 + a lambda)` [-].
    pub d: R,
    /// `d|zeta*| / d|y|` at given `g` and `push` [-].
    pub stiff: R,
    /// `x b`, with `x = |zeta*|/g` and the plastic share `b(x)` [-].
    pub xb: R,
    /// `x (1 - stiff)` [-].
    pub xs: R,
}

/// Speed, direction and Stribeck bell of a velocity, `docs/model.md` (5) and (6).
#[inline(always)]
pub fn motion<R: Real>(k: &Consts<R>, vx: R, vy: R) -> Motion<R> {
    let v2 = vx.fma(vx, vy * vy);
    let inv_s = (v2 + R::of(R::TINY)).rsqrt();
    let s = v2 * inv_s;
    let (bell, bell_slope);
    if k.gaussian {
        let inv_v_s2 = k.inv_v_s * k.inv_v_s;
        bell = (-(v2 * inv_v_s2).min(R::of(80.0))).exp_negative();
        bell_slope = R::of(-2.0) * inv_v_s2 * (s * bell);
    } else {
        let x = (s * k.inv_v_s).max(R::of(R::TINY));
        bell = (-(x.powf(k.gamma).min(R::of(80.0)))).exp_negative();
        let held = x.max(R::of(STRIBECK_X_MIN));
        // x^(gamma-1) as x^gamma / x, where x^gamma is bounded as in the bell: else it overflows at speed.
        bell_slope = -k.gamma * held.powf(k.gamma).min(R::of(80.0)) / held * k.inv_v_s * bell;
    }
    Motion { vx, vy, s, ex: vx * inv_s, ey: vy * inv_s, bell, bell_slope }
}

/// The slope of `exp(-x^2)` is at most this over `x^3`: `8/e^2`.
pub const FALLING: f64 = 1.082_682_265_892_902;
/// For an x below this, that is more than the steepest slope.
pub const FALLING_FROM: f64 = 0.5;
/// So small a slope bounds no step, and its reciprocal is a normal number.
pub const FLATTEST: f64 = 1e-6;

/// What the slope of `exp(-x^2)` does not exceed for x from `least` to `most`, `docs/model.md` (53): by `2 x`
/// below its steepest place, and by [`FALLING`] above it.
#[inline(always)]
pub fn steepest_between<R: Real>(least: R, most: R) -> R {
    let x = least.max(R::of(FALLING_FROM));
    (most + most).max(R::of(FLATTEST)).min(R::of(FALLING) * (x * x * x).recip())
}

/// Plastic share `b(x)` and its slope, `docs/model.md` (11): 0 below `s_ba`, 1 above 1, half a sine between.
#[inline(always)]
pub fn ramp<R: Real>(k: &Consts<R>, x: R) -> (R, R) {
    let half = R::of(0.5);
    let p = ((x - k.s_ba) * k.inv_width).max(R::of(0.0)).min(R::of(1.0)) - half;
    let (sin, cos) = (R::of(std::f64::consts::PI) * p).sin_cos();
    (half.fma(sin, half), R::of(0.5 * std::f64::consts::PI) * k.inv_width * cos)
}

/// The root `x` of `x (1 + l b(x)) = y` for `s_ba < y < 1 + l`, on its way there: Halley in the angle of the
/// sine, `docs/model.md` (37) to (39).
#[derive(Clone, Copy, Debug)]
pub struct Root<R> {
    y: R,
    l: R,
    /// `x = (middle of the ramp) + width/pi t`; after the last iteration with its sine and cosine.
    t: R,
    sin: R,
    cos: R,
}

impl<R: Real> Root<R> {
    /// Room for a root.
    pub fn none() -> Self {
        let zero = R::of(0.0);
        Self { y: zero, l: zero, t: zero, sin: zero, cos: zero }
    }

    /// The start takes the ramp as a parabola on the half that holds the root, so that the equation is exact
    /// at that half's end, and freezes the `x` before the square at its centre: a quadratic. From it, two
    /// iterations leave 2e-8 of `y` and three its rounding, for all states that a step can meet
    /// (`y > l - 4`).
    #[inline(always)]
    pub fn start(k: &Consts<R>, y: R, l: R) -> Self {
        let (one, half) = (R::of(1.0), R::of(0.5));
        let width = one - k.s_ba;
        let middle = k.s_ba + half * width;
        let (stretched, hl) = (one + l, half * l);
        let low_half = y.lt(middle.fma(hl, middle));
        let frozen_twice = R::select(low_half, k.s_ba + middle, one + middle);
        let slope = R::select(low_half, width, width * stretched);
        let c = R::select(low_half, y - k.s_ba, stretched - y).max(R::of(0.0));
        let root = slope.fma(slope, R::of(8.0) * hl * frozen_twice * c).sqrt();
        let q = ((c + c) * (slope + root).recip_rough()).min(half);
        let t = R::of(std::f64::consts::PI) * q - R::of(0.5 * std::f64::consts::PI);
        let t = R::select(low_half, t, -t);
        Self { y, l, t, sin: t, cos: t }
    }

    /// An iteration but the last.
    #[inline(always)]
    pub fn approach(&mut self, k: &Consts<R>) {
        self.t = self.next(k, self.t.sin_cos_by(R::APPROACH_TERMS));
    }

    /// The last iteration. Its step is short: sine and cosine follow it as polynomials.
    #[inline(always)]
    pub fn finish(&mut self, k: &Consts<R>) {
        let (sin, cos) = self.t.sin_cos();
        let next = self.next(k, (sin, cos));
        let step = next - self.t;
        let half = R::of(0.5) * step;
        (self.sin, self.cos) = (step.fma(half.fma(-sin, cos), sin), step.fma(-sin, cos));
        self.t = next;
    }

    /// Where an iteration leads, from sine and cosine of `t`.
    #[inline(always)]
    fn next(&self, k: &Consts<R>, (sin, cos): (R, R)) -> R {
        let Self { y, l, t, .. } = *self;
        let (one, half, quarter) = (R::of(1.0), R::of(0.5), R::of(0.5 * std::f64::consts::PI));
        let width = one - k.s_ba;
        let (middle, per_angle) = (k.s_ba + half * width, R::of(std::f64::consts::FRAC_1_PI) * width);
        let hl = half * l;
        let x = per_angle.fma(t, middle);
        let (xl, load) = (x * hl, hl.fma(sin, hl + one));
        let f = x.fma(load, -y);
        let f_slope = xl.fma(cos, per_angle * load);
        let f_bend = (per_angle * l).fma(cos, -(xl * sin));
        let below = (half * f).fma(-f_bend, f_slope * f_slope);
        (f * f_slope).fma(-below.recip_rough(), t).max(-quarter).min(quarter)
    }

    /// `x`, `b(x)` and its slope, after all iterations.
    #[inline(always)]
    pub fn end(&self, k: &Consts<R>) -> [R; 3] {
        let (half, width) = (R::of(0.5), R::of(1.0) - k.s_ba);
        let (middle, per_angle) = (k.s_ba + half * width, R::of(std::f64::consts::FRAC_1_PI) * width);
        let slope = R::of(0.5 * std::f64::consts::PI) * k.inv_width * self.cos;
        [per_angle.fma(self.t, middle), half.fma(self.sin, half), slope]
    }

    /// The slip of a trial on the ramp, from `y = |y|/g` and `l = push/g`.
    #[inline(always)]
    pub fn slip(&self, k: &Consts<R>) -> Slip<R> {
        let (one, l) = (R::of(1.0), self.l);
        let [x, b, slope] = self.end(k);
        let steep = l * x.fma(slope, b);
        let stiff = (one + steep).recip();
        Slip { d: l.fma(b, one).recip(), stiff, xb: x * b, xs: x * (steep * stiff) }
    }
}

/// The root after all iterations.
#[inline(always)]
pub fn ramp_root<R: Real>(k: &Consts<R>, y: R, l: R) -> Root<R> {
    let mut root = Root::start(k, y, l);
    for _ in 1..R::RAMP_ITERATIONS {
        root.approach(k);
    }
    root.finish(k);
    root
}

/// The bristle carried along from base `(zx, zy)` at velocity `m`, `docs/model.md` (32).
#[inline(always)]
pub fn trial<R: Real>(k: &Consts<R>, st: &Stage<R>, m: &Motion<R>, zx: R, zy: R) -> Trial<R> {
    let yx = st.a_sigma0.fma(m.vx, zx);
    let yy = st.a_sigma0.fma(m.vy, zy);
    let g = st.mu_d.fma(m.bell, st.mu_c);
    if !k.elasto_plastic {
        let zero = R::of(0.0);
        return Trial { yx, yy, nx: zero, ny: zero, inv_len: zero, len: zero, g, push: st.a_sigma0 * m.s };
    }
    let y2 = yx.fma(yx, yy * yy);
    let inv_len = (y2 + R::of(R::TINY)).rsqrt();
    let (nx, ny) = (yx * inv_len, yy * inv_len);
    let along = m.vx.fma(nx, m.vy.fma(ny, m.s));
    let push = (R::of(0.5) * st.a_sigma0 * along).max(R::of(0.0));
    Trial { yx, yy, nx, ny, inv_len, len: y2 * inv_len, g, push }
}

/// Whether the trial ends on the ramp, where `slip` does not hold.
#[inline(always)]
pub fn on_ramp<R: Real>(k: &Consts<R>, t: &Trial<R>) -> R::Mask {
    R::and((k.s_ba * t.g).lt(t.len), t.len.lt(t.g + t.push))
}

/// The slip of a trial that ends below the ramp or above it, `docs/model.md` (34) and (36).
#[inline(always)]
pub fn slip<R: Real>(k: &Consts<R>, t: &Trial<R>) -> Slip<R> {
    let (one, zero) = (R::of(1.0), R::of(0.0));
    let r = (t.g + t.push).recip();
    let d = t.g * r;
    if !k.elasto_plastic {
        return Slip { d, stiff: r, xb: zero, xs: zero };
    }
    let plastic = (k.s_ba * t.g).lt(t.len);
    let d = R::select(plastic, d, one);
    let xb = R::select(plastic, t.len * r, zero);
    Slip { d, stiff: d, xb, xs: xb * (t.push * r) }
}

/// `d zeta*/dv` as `[xx, xy, yx, yy]` [s/m], `docs/model.md` (44) and (48).
#[inline(always)]
pub fn sensitivity<R: Real>(k: &Consts<R>, st: &Stage<R>, m: &Motion<R>, t: &Trial<R>, z: &Slip<R>) -> [R; 4] {
    let g_slope = st.chi * st.mu_d * m.bell_slope;
    let i = st.a_sigma0 * z.d;
    if !k.elasto_plastic {
        let c = -(z.stiff * z.stiff * st.a_sigma0 * (t.g - m.s * g_slope));
        let (cx, cy) = (c * m.ex, c * m.ey);
        return [t.yx.fma(cx, i), t.yx * cy, t.yy * cx, t.yy.fma(cy, i)];
    }
    let vn = m.vx.fma(t.nx, m.vy * t.ny);
    let turn = st.a_sigma0 * t.inv_len;
    let deps_x = turn.fma(m.vx - vn * t.nx, m.ex + t.nx);
    let deps_y = turn.fma(m.vy - vn * t.ny, m.ey + t.ny);
    // d(g x)/dv: g dx + x g' e, with what cancels in it taken out. (No closures here: they
    // would be compiled for the baseline.)
    let (along, back, forth) = (st.a_sigma0 * z.stiff, R::of(-0.5) * z.xb, z.xs * g_slope);
    // Less i n, so that what is left of d (I - n n^T) is d I.
    let row_x = along.fma(back.fma(deps_x, t.nx), forth.fma(m.ex, -(i * t.nx)));
    let row_y = along.fma(back.fma(deps_y, t.ny), forth.fma(m.ey, -(i * t.ny)));
    [t.nx.fma(row_x, i), t.nx * row_y, t.ny * row_x, t.ny.fma(row_y, i)]
}

/// `lambda / sigma0` [s/m] of the differential equation at state `(zx, zy)`, `docs/model.md` (9) and (10):
/// for recorded wrenches.
#[inline(always)]
pub fn decay<R: Real>(k: &Consts<R>, g: R, m: &Motion<R>, zx: R, zy: R) -> R {
    if !k.elasto_plastic {
        return m.s / g;
    }
    let z2 = zx * zx + zy * zy;
    let inv_z = (z2 + R::of(R::TINY)).rsqrt();
    let eps = R::of(0.5) * (m.s + (m.vx * zx + m.vy * zy) * inv_z);
    let (b, _) = ramp(k, z2 * inv_z / g);
    eps * b / g
}

#[cfg(test)]
mod tests;
