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

// A cell's bristle at the end of a stage: zeta* = d y.
struct Bristle {
    yx: f32,
    yy: f32,
    inv_y: f32,
    g: f32,
    d: f32,
    x: f32,
    l: f32,
    b: f32,
    b_slope: f32,
}

// (sin(pi p), cos(pi p)) for |p| <= 1/2, by their series: within 2e-7.
fn sin_cos_pi(p: f32) -> vec2f {
    let t = p * PI;
    let t2 = t * t;
    var s = 1.0 - t2 * (1.0 / 156.0);
    var c = 1.0 - t2 * (1.0 / 132.0);
    s = 1.0 - t2 * (1.0 / 110.0) * s;
    c = 1.0 - t2 * (1.0 / 90.0) * c;
    s = 1.0 - t2 * (1.0 / 72.0) * s;
    c = 1.0 - t2 * (1.0 / 56.0) * c;
    s = 1.0 - t2 * (1.0 / 42.0) * s;
    c = 1.0 - t2 * (1.0 / 30.0) * c;
    s = 1.0 - t2 * (1.0 / 20.0) * s;
    c = 1.0 - t2 * (1.0 / 12.0) * c;
    s = 1.0 - t2 * (1.0 / 6.0) * s;
    c = 1.0 - t2 * (1.0 / 2.0) * c;
    return vec2f(t * s, c);
}

// Speed, direction and Stribeck bell of a velocity.
fn motion(k: Consts, vx: f32, vy: f32) -> Motion {
    let v2 = vx * vx + vy * vy;
    let inv_s = inverseSqrt(v2 + TINY);
    let s = v2 * inv_s;
    var bell = 0.0;
    var bell_slope = 0.0;
    if (gaussian) {
        let x2 = min(v2 * k.inv_v_s * k.inv_v_s, 80.0);
        bell = exp(-x2);
        bell_slope = -2.0 * s * k.inv_v_s * k.inv_v_s * bell;
    } else {
        let x = max(s * k.inv_v_s, TINY);
        bell = exp(-min(exp2(k.gamma * log2(x)), 80.0));
        let held = max(x, STRIBECK_X_MIN);
        // x^(gamma-1) as x^gamma / x, where x^gamma is bounded as in the bell: else it overflows at speed.
        bell_slope = -k.gamma * min(exp2(k.gamma * log2(held)), 80.0) / held * k.inv_v_s * bell;
    }
    return Motion(vx, vy, s, vx * inv_s, vy * inv_s, bell, bell_slope);
}

// Plastic share b(x) and its slope, eqs. (16)-(18): 0 below s_ba, 1 above 1, half a sine between.
fn ramp(x: f32, s_ba: f32) -> vec2f {
    let inv_width = 1.0 / (1.0 - s_ba);
    let p = clamp((x - s_ba) * inv_width, 0.0, 1.0) - 0.5;
    let sc = sin_cos_pi(p);
    return vec2f(0.5 + 0.5 * sc.x, 0.5 * PI * sc.y * inv_width);
}

// The root of x (1 + l b(x)) = y for s_ba < y < 1 + l: bracketed Newton on the ramp.
//
// The start takes the ramp as a parabola on the half that holds the root, so that the equation is exact at that
// half's end, and freezes the x before the square at its centre: a quadratic.
fn ramp_root(y: f32, l: f32, s_ba: f32) -> f32 {
    let width = 1.0 - s_ba;
    let middle = s_ba + 0.5 * width;
    let low_half = y < middle * (1.0 + 0.5 * l);
    let frozen = s_ba + select(0.75, 0.25, low_half) * width;
    let slope = select(1.0 + l, 1.0, low_half) * width;
    let c = max(select(1.0 + l - y, y - s_ba, low_half), 0.0);
    let q = min(2.0 * c / (slope + sqrt(slope * slope + 8.0 * l * frozen * c)), 0.5);
    var x = select(1.0 - width * q, s_ba + width * q, low_half);
    var low = s_ba;
    var high = min(y, 1.0);
    for (var i = 0; i < RAMP_ITERATIONS; i++) {
        let b = ramp(x, s_ba);
        let f = x * (1.0 + l * b.x) - y;
        let above = 0.0 < f;
        high = select(high, x, above);
        low = select(x, low, above);
        let next = x - f / (1.0 + l * (b.x + x * b.y));
        x = select(next, 0.5 * (low + high), next < low || high < next);
    }
    return x;
}

// The bristle after one stage from base (zx, zy) at velocity m: exact, for any length of step.
fn bristle(k: Consts, st: Stage, m: Motion, zx: f32, zy: f32) -> Bristle {
    let yx = zx + st.a_sigma0 * m.vx;
    let yy = zy + st.a_sigma0 * m.vy;
    let y2 = yx * yx + yy * yy;
    let inv_y = inverseSqrt(y2 + TINY);
    let g = st.mu_c + st.mu_d * m.bell;
    let inv_g = 1.0 / g;
    if (!elasto_plastic) {
        let l = st.a_sigma0 * m.s * inv_g;
        let d = 1.0 / (1.0 + l);
        return Bristle(yx, yy, inv_y, g, d, y2 * inv_y * inv_g * d, l, 1.0, 0.0);
    }
    let eps = 0.5 * (m.s + (m.vx * yx + m.vy * yy) * inv_y);
    let l = max(st.a_sigma0 * eps * inv_g, 0.0);
    let y = y2 * inv_y * inv_g;
    let plastic = k.s_ba < y;
    var x = select(y, y / (1.0 + l), plastic);
    var b = select(0.0, 1.0, plastic);
    var b_slope = 0.0;
    if (plastic && y < 1.0 + l) {
        x = ramp_root(y, l, k.s_ba);
        let r = ramp(x, k.s_ba);
        b = r.x;
        b_slope = r.y;
    }
    return Bristle(yx, yy, inv_y, g, 1.0 / (1.0 + l * b), x, l, b, b_slope);
}

// d zeta*/dv as (xx, xy, yx, yy).
fn sensitivity(st: Stage, m: Motion, z: Bristle) -> vec4f {
    let g_slope = st.chi * st.mu_d * m.bell_slope;
    let i = st.a_sigma0 * z.d;
    if (!elasto_plastic) {
        let inv_g = 1.0 / z.g;
        let c = z.d * z.d * (st.a_sigma0 * inv_g) * (1.0 - m.s * g_slope * inv_g);
        return vec4f(i - c * z.yx * m.ex, -c * z.yx * m.ey, -c * z.yy * m.ex, i - c * z.yy * m.ey);
    }
    let n = vec2f(z.yx, z.yy) * z.inv_y;
    let e = vec2f(m.ex, m.ey);
    let v = vec2f(m.vx, m.vy);
    let vn = dot(v, n);
    let turn = st.a_sigma0 * z.inv_y;
    let deps = 0.5 * (e + n + turn * (v - vn * n));
    let steep = z.l * (z.b + z.x * z.b_slope);
    // d(g x)/dv: model.md's g dx + x g' e, with what cancels in it taken out.
    let row = (st.a_sigma0 * (n - z.x * z.b * deps) + z.x * steep * g_slope * e) / (1.0 + steep);
    return vec4f(
        n.x * row.x + i * (1.0 - n.x * n.x),
        n.x * row.y - i * n.x * n.y,
        n.y * row.x - i * n.x * n.y,
        n.y * row.y + i * (1.0 - n.y * n.y),
    );
}

// lambda / sigma0 of the differential equation at state (zx, zy): for recorded wrenches.
fn decay(k: Consts, g: f32, m: Motion, zx: f32, zy: f32) -> f32 {
    if (!elasto_plastic) {
        return m.s / g;
    }
    let z2 = zx * zx + zy * zy;
    let inv_z = inverseSqrt(z2 + TINY);
    let eps = 0.5 * (m.s + (m.vx * zx + m.vy * zy) * inv_z);
    return eps * ramp(z2 * inv_z / g, k.s_ba).x / g;
}
