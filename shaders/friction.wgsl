// One bristle over one stage of the step: its new state, exactly, and how its force changes with
// the velocity (docs/model.md, sections 2 and 5.2 to 5.4). Twin: src/kernel/friction.rs.
//
// `Real` is f32 for a reduced bristle and vec2f for the cells of a grid: a lane takes them in pairs, so that
// it works on one while the other waits for its own results.

// Pipeline constants: what a whole dispatch has in common.
override elasto_plastic: bool = true;
override gaussian: bool = true;

// Friction constants of a contact.
struct Consts {
    gamma: f32,
    inv_v_s: f32,
    s_ba: f32,
    inv_width: f32,
    sigma2: f32,
}

// Constants of one stage of one step.
struct Stage {
    a_sigma0: f32,
    damping: f32,
    mu_c: f32,
    mu_d: f32,
    chi: f32,
    pull: f32,
}

// What a cell's velocity decides, whatever the stage.
struct Motion {
    vx: Real,
    vy: Real,
    s: Real,
    ex: Real,
    ey: Real,
    bell: Real,
    bell_slope: Real,
}

// A bristle carried along by the base for a stage, before any of it slips.
struct Trial {
    yx: Real,
    yy: Real,
    nx: Real,
    ny: Real,
    inv_len: Real,
    len: Real,
    g: Real,
    push: Real,
}

// How much of a trial slips: zeta* = d y.
struct Slip {
    d: Real,
    stiff: Real,
    xb: Real,
    xs: Real,
}

// The polynomials of src/number/real.rs, by even and odd powers: two short chains instead of a long one.

// e^x for -80 <= x <= 0: relative error below (1 + |x|) 2e-7.
fn exp_negative(x: Real) -> Real {
    let k = round(x * LOG2_E);
    let r = fma(-k, Real(LN_2), x);
    let r2 = r * r;
    let even = fma(fma(fma(Real(1.0 / 720.0), r2, Real(1.0 / 24.0)), r2, Real(1.0 / 2.0)), r2, Real(1.0));
    let odd = fma(fma(Real(1.0 / 120.0), r2, Real(1.0 / 6.0)), r2, Real(1.0));
    return bitcast<Real>((Int(k) + 127) << Uint(23u)) * fma(odd, r, even);
}

// sin t for |t| <= pi/2: within 2e-7.
fn sine(t: Real) -> Real {
    let t2 = t * t;
    let t4 = t2 * t2;
    let even = fma(fma(Real(1.0 / 362880.0), t4, Real(1.0 / 120.0)), t4, Real(1.0));
    let odd = fma(fma(Real(1.0 / 39916800.0), t4, Real(1.0 / 5040.0)), t4, Real(1.0 / 6.0));
    return t * fma(-t2, odd, even);
}

// cos t for |t| <= pi/2: within 7e-7.
fn cosine(t: Real) -> Real {
    let t2 = t * t;
    let t4 = t2 * t2;
    let even = fma(fma(Real(1.0 / 40320.0), t4, Real(1.0 / 24.0)), t4, Real(1.0));
    let odd = fma(fma(Real(1.0 / 3628800.0), t4, Real(1.0 / 720.0)), t4, Real(1.0 / 2.0));
    return fma(-t2, odd, even);
}

// Speed, direction and Stribeck bell of a velocity.
fn motion(k: Consts, vx: Real, vy: Real) -> Motion {
    let v2 = fma(vx, vx, vy * vy);
    let inv_s = inverseSqrt(v2 + TINY);
    let s = v2 * inv_s;
    var bell = Real(0.0);
    var bell_slope = Real(0.0);
    if (gaussian) {
        let inv_v_s2 = k.inv_v_s * k.inv_v_s;
        bell = exp_negative(-min(v2 * inv_v_s2, Real(80.0)));
        bell_slope = -2.0 * inv_v_s2 * (s * bell);
    } else {
        let x = max(s * k.inv_v_s, Real(TINY));
        bell = exp_negative(-min(exp2(k.gamma * log2(x)), Real(80.0)));
        let held = max(x, Real(STRIBECK_X_MIN));
        // x^(gamma-1) as x^gamma / x, where x^gamma is bounded as in the bell: else it overflows at speed.
        bell_slope = -k.gamma * min(exp2(k.gamma * log2(held)), Real(80.0)) / held * k.inv_v_s * bell;
    }
    return Motion(vx, vy, s, vx * inv_s, vy * inv_s, bell, bell_slope);
}

// What the slope of exp(-x^2) does not exceed for x from least to most: by 2 x below its steepest place, and
// by FALLING/x^3 above it.
fn steepest_between(least: f32, most: f32) -> f32 {
    let x = max(least, FALLING_FROM);
    return min(max(most + most, FLATTEST), FALLING / (x * x * x));
}

// A plastic share and its slope.
struct Plastic {
    b: Real,
    slope: Real,
}

// Plastic share b(x) and its slope, docs/model.md (11): 0 below s_ba, 1 above 1, half a sine between.
fn ramp(k: Consts, x: Real) -> Plastic {
    let p = clamp((x - k.s_ba) * k.inv_width, Real(0.0), Real(1.0)) - 0.5;
    let t = PI * p;
    return Plastic(fma(Real(0.5), sine(t), Real(0.5)), 0.5 * PI * k.inv_width * cosine(t));
}

// The root x of x (1 + l b(x)) = y for s_ba < y < 1 + l, on its way there: Halley in the angle of the sine,
// docs/model.md (37) to (39).
// x = (middle of the ramp) + width/pi t; after an iteration with its sine and cosine.
struct Root {
    y: Real,
    l: Real,
    t: Real,
    sin: Real,
    cos: Real,
}

// The start takes the ramp as a parabola on the half that holds the root, so that the equation is exact at
// that half's end, and freezes the x before the square at its centre: a quadratic.
fn root_start(k: Consts, y: Real, l: Real) -> Root {
    let width = 1.0 - k.s_ba;
    let middle = fma(0.5, width, k.s_ba);
    let stretched = 1.0 + l;
    let hl = 0.5 * l;
    let low_half = y < fma(Real(middle), hl, Real(middle));
    let frozen_twice = select(Real(1.0 + middle), Real(k.s_ba + middle), low_half);
    let slope = select(width * stretched, Real(width), low_half);
    let c = max(select(stretched - y, y - k.s_ba, low_half), Real(0.0));
    let root = sqrt(fma(slope, slope, 8.0 * hl * frozen_twice * c));
    let q = min((c + c) / (slope + root), Real(0.5));
    var t = fma(Real(PI), q, Real(-0.5 * PI));
    t = select(-t, t, low_half);
    return Root(y, l, t, t, t);
}

// An iteration: `approach` and `finish` of src/kernel/friction.rs in one, as the loop may not be written out.
fn root_step(k: Consts, r: Root) -> Root {
    let width = 1.0 - k.s_ba;
    let middle = fma(0.5, width, k.s_ba);
    let per_angle = width / PI;
    let hl = 0.5 * r.l;
    let sin = sine(r.t);
    let cos = cosine(r.t);
    let x = fma(Real(per_angle), r.t, Real(middle));
    let xl = x * hl;
    let load = fma(hl, sin, hl + 1.0);
    let f = fma(x, load, -r.y);
    let f_slope = fma(xl, cos, per_angle * load);
    let f_bend = fma(per_angle * r.l, cos, -(xl * sin));
    let below = fma(0.5 * f, -f_bend, f_slope * f_slope);
    let next = clamp(r.t - f * f_slope / below, Real(-0.5 * PI), Real(0.5 * PI));
    // The last step is short: sine and cosine follow it as polynomials.
    let step = next - r.t;
    return Root(r.y, r.l, next, fma(step, fma(0.5 * step, -sin, cos), sin), fma(step, -sin, cos));
}

// x with the plastic share there and its slope.
struct End {
    x: Real,
    b: Real,
    slope: Real,
}

fn root_end(k: Consts, r: Root) -> End {
    let width = 1.0 - k.s_ba;
    let middle = fma(0.5, width, k.s_ba);
    let x = fma(Real(width / PI), r.t, Real(middle));
    return End(x, fma(Real(0.5), r.sin, Real(0.5)), 0.5 * PI * k.inv_width * r.cos);
}

// The slip of a trial on the ramp, from y = |y|/g and l = push/g.
fn root_slip(k: Consts, r: Root) -> Slip {
    let at = root_end(k, r);
    let steep = r.l * fma(at.x, at.slope, at.b);
    let stiff = 1.0 / (1.0 + steep);
    return Slip(1.0 / fma(r.l, at.b, Real(1.0)), stiff, at.x * at.b, at.x * (steep * stiff));
}

// The root after all iterations.
fn ramp_root(k: Consts, y: Real, l: Real) -> Root {
    var root = root_start(k, y, l);
    for (var i = 0u; i < RAMP_ITERATIONS; i++) { root = root_step(k, root); }
    return root;
}

// The bristle carried along from base (zx, zy) at velocity m.
fn trial(st: Stage, m: Motion, zx: Real, zy: Real) -> Trial {
    let a_sigma0 = Real(st.a_sigma0);
    let yx = fma(a_sigma0, m.vx, zx);
    let yy = fma(a_sigma0, m.vy, zy);
    let g = fma(Real(st.mu_d), m.bell, Real(st.mu_c));
    if (!elasto_plastic) {
        let zero = Real(0.0);
        return Trial(yx, yy, zero, zero, zero, zero, g, a_sigma0 * m.s);
    }
    let y2 = fma(yx, yx, yy * yy);
    let inv_len = inverseSqrt(y2 + TINY);
    let nx = yx * inv_len;
    let ny = yy * inv_len;
    let along = fma(m.vx, nx, fma(m.vy, ny, m.s));
    let push = max(0.5 * a_sigma0 * along, Real(0.0));
    return Trial(yx, yy, nx, ny, inv_len, y2 * inv_len, g, push);
}

// Whether the trial ends on the ramp.
fn on_ramp(k: Consts, t: Trial) -> Mask {
    return (k.s_ba * t.g < t.len) & (t.len < t.g + t.push);
}

// The slip of a trial.
fn slip(k: Consts, t: Trial) -> Slip {
    let r = 1.0 / (t.g + t.push);
    let d = t.g * r;
    if (!elasto_plastic) {
        return Slip(d, r, Real(0.0), Real(0.0));
    }
    let plastic = k.s_ba * t.g < t.len;
    let held = select(Real(1.0), d, plastic);
    let xb = select(Real(0.0), t.len * r, plastic);
    var z = Slip(held, held, xb, xb * (t.push * r));
    let here = on_ramp(k, t);
    if (any(here)) {
        let inv_g = 1.0 / t.g;
        let on = root_slip(k, ramp_root(k, t.len * inv_g, t.push * inv_g));
        z.d = select(z.d, on.d, here);
        z.stiff = select(z.stiff, on.stiff, here);
        z.xb = select(z.xb, on.xb, here);
        z.xs = select(z.xs, on.xs, here);
    }
    return z;
}

// d zeta*/dv.
struct Sensitivity {
    xx: Real,
    xy: Real,
    yx: Real,
    yy: Real,
}

fn sensitivity(st: Stage, m: Motion, t: Trial, z: Slip) -> Sensitivity {
    let g_slope = st.chi * st.mu_d * m.bell_slope;
    let i = st.a_sigma0 * z.d;
    if (!elasto_plastic) {
        let c = -(z.stiff * z.stiff * st.a_sigma0 * (t.g - m.s * g_slope));
        let cx = c * m.ex;
        let cy = c * m.ey;
        return Sensitivity(fma(t.yx, cx, i), t.yx * cy, t.yy * cx, fma(t.yy, cy, i));
    }
    let vn = fma(m.vx, t.nx, m.vy * t.ny);
    let turn = st.a_sigma0 * t.inv_len;
    let deps_x = fma(turn, m.vx - vn * t.nx, m.ex + t.nx);
    let deps_y = fma(turn, m.vy - vn * t.ny, m.ey + t.ny);
    // d(g x)/dv: g dx + x g' e, with what cancels in it taken out.
    let along = st.a_sigma0 * z.stiff;
    let back = -0.5 * z.xb;
    let forth = z.xs * g_slope;
    // Less i n, so that what is left of d (I - n n^T) is d I.
    let row_x = fma(along, fma(back, deps_x, t.nx), fma(forth, m.ex, -(i * t.nx)));
    let row_y = fma(along, fma(back, deps_y, t.ny), fma(forth, m.ey, -(i * t.ny)));
    return Sensitivity(fma(t.nx, row_x, i), t.nx * row_y, t.ny * row_x, fma(t.ny, row_y, i));
}

// lambda / sigma0 of the differential equation at state (zx, zy): for recorded wrenches.
fn decay(k: Consts, g: Real, m: Motion, zx: Real, zy: Real) -> Real {
    if (!elasto_plastic) {
        return m.s / g;
    }
    let z2 = zx * zx + zy * zy;
    let inv_z = inverseSqrt(z2 + TINY);
    let eps = 0.5 * (m.s + (m.vx * zx + m.vy * zy) * inv_z);
    return eps * ramp(k, z2 * inv_z / g).b / g;
}
