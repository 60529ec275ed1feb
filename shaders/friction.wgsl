// One bristle over one stage of the step: its new state, exactly, and how its force changes with
// the velocity. Twin: src/kernel/friction.rs. Equations: model.md, sections 2 and 3.

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
    vx: f32,
    vy: f32,
    s: f32,
    ex: f32,
    ey: f32,
    bell: f32,
    bell_slope: f32,
}

// A bristle carried along by the base for a stage, before any of it slips.
struct Trial {
    yx: f32,
    yy: f32,
    nx: f32,
    ny: f32,
    inv_len: f32,
    len: f32,
    g: f32,
    push: f32,
}

// How much of a trial slips: zeta* = d y.
struct Slip {
    d: f32,
    stiff: f32,
    xb: f32,
    xs: f32,
}

// e^x for -80 <= x <= 0: relative error below (1 + |x|) 2e-7.
fn exp_negative(x: f32) -> f32 {
    let k = round(x * LOG2_E);
    let r = fma(-k, LN_2, x);
    var e = 1.0 / 720.0;
    e = fma(e, r, 1.0 / 120.0);
    e = fma(e, r, 1.0 / 24.0);
    e = fma(e, r, 1.0 / 6.0);
    e = fma(e, r, 1.0 / 2.0);
    e = fma(e, r, 1.0);
    e = fma(e, r, 1.0);
    return bitcast<f32>(u32(i32(k) + 127) << 23u) * e;
}

// (sin t, cos t) for |t| <= pi/2: within 2e-7 and 7e-7.
fn sin_cos(t: f32) -> vec2f {
    let t2 = t * t;
    var s = -1.0 / 39916800.0;
    s = fma(s, t2, 1.0 / 362880.0);
    s = fma(s, t2, -1.0 / 5040.0);
    s = fma(s, t2, 1.0 / 120.0);
    s = fma(s, t2, -1.0 / 6.0);
    s = fma(s, t2, 1.0);
    var c = -1.0 / 3628800.0;
    c = fma(c, t2, 1.0 / 40320.0);
    c = fma(c, t2, -1.0 / 720.0);
    c = fma(c, t2, 1.0 / 24.0);
    c = fma(c, t2, -1.0 / 2.0);
    c = fma(c, t2, 1.0);
    return vec2f(t * s, c);
}

// Speed, direction and Stribeck bell of a velocity.
fn motion(k: Consts, vx: f32, vy: f32) -> Motion {
    let v2 = fma(vx, vx, vy * vy);
    let inv_s = inverseSqrt(v2 + TINY);
    let s = v2 * inv_s;
    var bell = 0.0;
    var bell_slope = 0.0;
    if (gaussian) {
        let inv_v_s2 = k.inv_v_s * k.inv_v_s;
        bell = exp_negative(-min(v2 * inv_v_s2, 80.0));
        bell_slope = -2.0 * inv_v_s2 * (s * bell);
    } else {
        let x = max(s * k.inv_v_s, TINY);
        bell = exp_negative(-min(exp2(k.gamma * log2(x)), 80.0));
        let held = max(x, STRIBECK_X_MIN);
        // x^(gamma-1) as x^gamma / x, where x^gamma is bounded as in the bell: else it overflows at speed.
        bell_slope = -k.gamma * min(exp2(k.gamma * log2(held)), 80.0) / held * k.inv_v_s * bell;
    }
    return Motion(vx, vy, s, vx * inv_s, vy * inv_s, bell, bell_slope);
}

// Plastic share b(x) and its slope, eqs. (16)-(18): 0 below s_ba, 1 above 1, half a sine between.
fn ramp(k: Consts, x: f32) -> vec2f {
    let p = clamp((x - k.s_ba) * k.inv_width, 0.0, 1.0) - 0.5;
    let sc = sin_cos(PI * p);
    return vec2f(fma(0.5, sc.x, 0.5), 0.5 * PI * k.inv_width * sc.y);
}

// The root x of x (1 + l b(x)) = y for s_ba < y < 1 + l, with b and b' there: Halley in the angle of the sine.
//
// The start takes the ramp as a parabola on the half that holds the root, so that the equation is exact at that
// half's end, and freezes the x before the square at its centre: a quadratic.
fn ramp_root(k: Consts, y: f32, l: f32) -> vec3f {
    let width = 1.0 - k.s_ba;
    let middle = fma(0.5, width, k.s_ba);
    let stretched = 1.0 + l;
    let hl = 0.5 * l;
    let low_half = y < fma(middle, hl, middle);
    let frozen_twice = select(1.0 + middle, k.s_ba + middle, low_half);
    let slope = select(width * stretched, width, low_half);
    let c = max(select(stretched - y, y - k.s_ba, low_half), 0.0);
    let root = sqrt(fma(slope, slope, 8.0 * hl * frozen_twice * c));
    let q = min((c + c) / (slope + root), 0.5);
    // x = middle + per_angle t
    let per_angle = width / PI;
    var t = fma(PI, q, -0.5 * PI);
    t = select(-t, t, low_half);
    var sc = vec2f(0.0, 1.0);
    for (var i = 0; i < RAMP_ITERATIONS; i++) {
        sc = sin_cos(t);
        let x = fma(per_angle, t, middle);
        let xl = x * hl;
        let load = fma(hl, sc.x, hl + 1.0);
        let f = fma(x, load, -y);
        let f_slope = fma(xl, sc.y, per_angle * load);
        let f_bend = fma(per_angle * l, sc.y, -(xl * sc.x));
        let below = fma(0.5 * f, -f_bend, f_slope * f_slope);
        let next = clamp(t - f * f_slope / below, -0.5 * PI, 0.5 * PI);
        // The last step is short: sine and cosine follow it as polynomials.
        let step = next - t;
        sc = vec2f(fma(step, fma(0.5 * step, -sc.x, sc.y), sc.x), fma(step, -sc.x, sc.y));
        t = next;
    }
    return vec3f(fma(per_angle, t, middle), fma(0.5, sc.x, 0.5), 0.5 * PI * k.inv_width * sc.y);
}

// The bristle carried along from base (zx, zy) at velocity m.
fn trial(st: Stage, m: Motion, zx: f32, zy: f32) -> Trial {
    let yx = fma(st.a_sigma0, m.vx, zx);
    let yy = fma(st.a_sigma0, m.vy, zy);
    let g = fma(st.mu_d, m.bell, st.mu_c);
    if (!elasto_plastic) {
        return Trial(yx, yy, 0.0, 0.0, 0.0, 0.0, g, st.a_sigma0 * m.s);
    }
    let y2 = fma(yx, yx, yy * yy);
    let inv_len = inverseSqrt(y2 + TINY);
    let nx = yx * inv_len;
    let ny = yy * inv_len;
    let along = fma(m.vx, nx, fma(m.vy, ny, m.s));
    let push = max(0.5 * st.a_sigma0 * along, 0.0);
    return Trial(yx, yy, nx, ny, inv_len, y2 * inv_len, g, push);
}

// Whether the trial ends on the ramp.
fn on_ramp(k: Consts, t: Trial) -> bool {
    return elasto_plastic && k.s_ba * t.g < t.len && t.len < t.g + t.push;
}

// The slip of a trial.
fn slip(k: Consts, t: Trial) -> Slip {
    if (on_ramp(k, t)) {
        return slip_on_ramp(k, t.len / t.g, t.push / t.g);
    }
    let r = 1.0 / (t.g + t.push);
    let d = t.g * r;
    if (!elasto_plastic) {
        return Slip(d, r, 0.0, 0.0);
    }
    let plastic = k.s_ba * t.g < t.len;
    let xb = select(0.0, t.len * r, plastic);
    return Slip(select(1.0, d, plastic), select(1.0, d, plastic), xb, xb * (t.push * r));
}

// The slip of a trial on the ramp, from y = |y|/g and l = push/g.
fn slip_on_ramp(k: Consts, y: f32, l: f32) -> Slip {
    let root = ramp_root(k, y, l);
    let x = root.x;
    let b = root.y;
    let steep = l * fma(x, root.z, b);
    let stiff = 1.0 / (1.0 + steep);
    return Slip(1.0 / fma(l, b, 1.0), stiff, x * b, x * (steep * stiff));
}

// d zeta*/dv as (xx, xy, yx, yy).
fn sensitivity(st: Stage, m: Motion, t: Trial, z: Slip) -> vec4f {
    let g_slope = st.chi * st.mu_d * m.bell_slope;
    let i = st.a_sigma0 * z.d;
    if (!elasto_plastic) {
        let c = -(z.stiff * z.stiff * st.a_sigma0 * (t.g - m.s * g_slope));
        let cx = c * m.ex;
        let cy = c * m.ey;
        return vec4f(fma(t.yx, cx, i), t.yx * cy, t.yy * cx, fma(t.yy, cy, i));
    }
    let vn = fma(m.vx, t.nx, m.vy * t.ny);
    let turn = st.a_sigma0 * t.inv_len;
    let deps_x = fma(turn, m.vx - vn * t.nx, m.ex + t.nx);
    let deps_y = fma(turn, m.vy - vn * t.ny, m.ey + t.ny);
    // d(g x)/dv: model.md's g dx + x g' e, with what cancels in it taken out.
    let along = st.a_sigma0 * z.stiff;
    let back = -0.5 * z.xb;
    let forth = z.xs * g_slope;
    // Less i n, so that what is left of d (I - n n^T) is d I.
    let row_x = fma(along, fma(back, deps_x, t.nx), fma(forth, m.ex, -(i * t.nx)));
    let row_y = fma(along, fma(back, deps_y, t.ny), fma(forth, m.ey, -(i * t.ny)));
    return vec4f(fma(t.nx, row_x, i), t.nx * row_y, t.ny * row_x, fma(t.ny, row_y, i));
}

// lambda / sigma0 of the differential equation at state (zx, zy): for recorded wrenches.
fn decay(k: Consts, g: f32, m: Motion, zx: f32, zy: f32) -> f32 {
    if (!elasto_plastic) {
        return m.s / g;
    }
    let z2 = zx * zx + zy * zy;
    let inv_z = inverseSqrt(z2 + TINY);
    let eps = 0.5 * (m.s + (m.vx * zx + m.vy * zy) * inv_z);
    return eps * ramp(k, z2 * inv_z / g).x / g;
}
