// The reduced model: one bristle with three components at the centre of pressure (docs/model.md, section 6).
// Twin: src/kernel/reduced.rs. Every lane steps a contact of its own.

// Pipeline constants: what a whole dispatch has in common.
override ellipsoid: bool = false;
override consistent: bool = true;

// Tables of limit surfaces: (4 n_ls + 1) x (n_ls + 1) nodes of three numbers each.
@group(0) @binding(0) var<storage, read> tables: array<f32>;

var<private> zeta: vec3f;
// What zeta cannot hold: without it, motion slower than its last bit would leave no trace and creep.
var<private> zeta_low: vec3f;
// What of zeta_3 the present map does not show.
var<private> hidden: f32;
// |zeta*| over its limit when the bristle last answered.
var<private> last_loading: f32;
// A state that was kept.
var<private> kept: vec3f;
var<private> kept_low: vec3f;
// The present map: torsional radius, viscous factor, where its table starts.
var<private> radius: f32;
var<private> viscous: f32;
var<private> table_first: u32;

// Sums per unit normal force, as the grid's.
struct Sums {
    resist: vec3f,
    gain_x: vec3f,
    gain_y: vec3f,
    gain_w: vec3f,
}

// Constants of a recorded wrench.
struct Rate {
    sigma1: f32,
    mu_c: f32,
    mu_d: f32,
}

// What a twist decides, whatever the stage.
struct Drive {
    m: Motion,
    e: vec3f,
    v_e: vec3f,
    d: vec3f,
    d_hat: vec3f,
    j: mat3x3f,
    h: f32,
    h_slope: vec3f,
}

// The bristle at the end of a stage. LuGre and published: as in the cell. Consistent: l is q, b is
// B, d is 1/(1 + B q), y.x is b(x).
struct Bristle3 {
    zeta: vec3f,
    // zeta* - zeta_b, without taking the difference.
    step: vec3f,
    y: vec3f,
    l: f32,
    x: f32,
    b: f32,
    b_slope: f32,
    d: f32,
}

// A look-up of the table and how it changes with the table's angles.
struct LookUp {
    h: vec3f,
    h_phi: vec3f,
    h_theta: vec3f,
    dphi: vec3f,
    dtheta: vec3f,
}

// 1/x; 0 at 0.
fn over(x: f32) -> f32 {
    if (x > 0.0) {
        return 1.0 / x;
    }
    return 0.0;
}

fn direction(v: vec3f) -> vec3f {
    return v * over(length(v));
}

fn outer(a: vec3f, b: vec3f) -> mat3x3f {
    return mat3x3f(a * b.x, a * b.y, a * b.z);
}

fn diagonal(d: vec3f) -> mat3x3f {
    return mat3x3f(d.x, 0.0, 0.0, 0.0, d.y, 0.0, 0.0, 0.0, d.z);
}

fn contact_of(group: vec3u, groups: vec3u, index: u32) -> u32 {
    return (group.x + group.y * groups.x) * WORKGROUP + index;
}

fn is_writer() -> bool {
    return true;
}

fn load_bristles() {
    let a = zetas[c.zeta_first];
    let b = zetas[c.zeta_first + 1u];
    let low = zetas[c.zeta_first + 2u];
    zeta = vec3f(a.x, a.y, b.x);
    zeta_low = vec3f(b.y, low.x, low.y);
    hidden = zetas[c.zeta_first + 3u].x;
    radius = c.radius;
    viscous = c.viscous;
    table_first = c.cell_first;
    arm2 = viscous;
}

fn store_bristles() {
    zetas[c.zeta_first] = zeta.xy;
    zetas[c.zeta_first + 1u] = vec2f(zeta.z, zeta_low.x);
    zetas[c.zeta_first + 2u] = zeta_low.yz;
    zetas[c.zeta_first + 3u] = vec2f(hidden, 0.0);
}

// Remembers the state.
fn keep() {
    kept = zeta;
    kept_low = zeta_low;
}

// Goes back to the state that was kept.
fn restore() {
    zeta = kept;
    zeta_low = kept_low;
}

// How far around patch twist u the derivative of the force is good. D of a limit surface depends on the
// direction of v_S, however slow: a step that is small against the tolerance may turn a creeping twist
// through many cells of the table.
fn reach(u: vec3f) -> f32 {
    if (ellipsoid || !elasto_plastic) {
        return 1e30;
    }
    let v = at(u, c_cop());
    return max(STRAIGHT * length(vec3f(v.xy, radius * v.z)), LEAST_REACH);
}

// How near the bristle was to slipping when it last answered.
fn loading() -> f32 {
    return last_loading;
}

// How far the force at the centre of pressure has moved since the state was kept.
fn moved() -> vec3f {
    return vec3f(1.0, 1.0, radius) * ((zeta - kept) + (zeta_low - kept_low));
}

// One sweep at patch twist u (at the patch origin): as the grid's, for one bristle.
fn sweep(k: Consts, u: vec3f, finish: bool, done: Stage, answer: bool, next: Stage) -> Sums {
    let v = at(u, c_cop());
    let m = drive(k, v);
    if (finish) {
        let sum = add(zeta, zeta_low, done.pull * bristle3(k, done, m).step);
        zeta = sum.high;
        zeta_low = sum.low;
    }
    if (!answer) {
        return Sums(vec3f(0.0), vec3f(0.0), vec3f(0.0), vec3f(0.0));
    }
    let z = bristle3(k, next, m);
    last_loading = z.x;
    let scale = vec3f(1.0, 1.0, radius);
    let viscosity = k.sigma2 * vec3f(1.0, 1.0, viscous);
    let resist = scale * (z.zeta + next.damping * z.step) + viscosity * v;
    let s = diagonal(scale);
    let gain = (1.0 + next.damping) * (s * sensitivity3(k, next, m, z) * s) + diagonal(viscosity);
    // From the centre of pressure to the patch origin; columns of a transpose are rows.
    let shift = mat3x3f(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, -c.cop_y, c.cop_x, 1.0);
    let rows = transpose(transpose(shift) * gain * shift);
    return Sums(transpose(shift) * resist, rows[0], rows[1], rows[2]);
}

fn c_cop() -> vec2f {
    return vec2f(c.cop_x, c.cop_y);
}

// The friction wrench at the patch origin in the present state, and 1 if the bristle slips, else 0.
fn wrench(k: Consts, u: vec3f, rate: Rate, f_n: f32) -> vec4f {
    let v = at(u, c_cop());
    let m = drive(k, v);
    let g = rate.mu_c + rate.mu_d * m.m.bell;
    let x = length(zeta) / (m.h * g);
    let z_hat = direction(zeta);
    // zeta' / sigma0
    var change = m.d - m.m.s / g * zeta;
    if (elasto_plastic) {
        let share = ramp(k, x).b;
        if (consistent) {
            let b = 0.5 * share * (1.0 + dot(m.d_hat, z_hat));
            change = (1.0 - b) * m.v_e + b * m.d - b * m.m.s / g * zeta;
        } else {
            let eps = 0.5 * (length(m.d) + dot(m.d, z_hat));
            change = m.d - eps * share / (m.h * g) * zeta;
        }
    }
    let f = vec3f(1.0, 1.0, radius) * (zeta + rate.sigma1 * change) + k.sigma2 * vec3f(1.0, 1.0, viscous) * v;
    let tau = f.z + c.cop_x * f.y - c.cop_y * f.x;
    return vec4f(-f_n * f.x, -f_n * f.y, -f_n * tau, select(0.0, 1.0, x > k.s_ba));
}

fn drive(k: Consts, v: vec3f) -> Drive {
    let v_s = vec3f(v.x, v.y, radius * v.z);
    let s = length(v_s);
    let m = motion(k, s, 0.0);
    let e = direction(v_s);
    let v_e = vec3f(v.x, v.y, viscous * over(radius) * v.z);
    let identity = diagonal(vec3f(1.0));
    if (ellipsoid || s == 0.0) {
        return Drive(m, e, v_e, v_s, e, identity, 1.0, vec3f(0.0));
    }
    let look = look_up(v_s);
    let d = -s * look.h;
    let norm = length(look.h);
    let d_hat = direction(d);
    if (v_s.x == 0.0 && v_s.y == 0.0) {
        return Drive(m, e, v_e, d, d_hat, identity, norm, vec3f(0.0));
    }
    let change = outer(look.h_phi, look.dphi) + outer(look.h_theta, look.dtheta);
    let j = -1.0 * (outer(look.h, e) + s * change);
    let h_slope = (transpose(j) * d_hat - norm * e) / s;
    return Drive(m, e, v_e, d, d_hat, j, norm, h_slope);
}

fn bristle3(k: Consts, st: Stage, m: Drive) -> Bristle3 {
    let g = st.mu_c + st.mu_d * m.m.bell;
    let big_g = m.h * g;
    let push = st.a_sigma0 * m.d;
    let y = zeta + push;
    if (!elasto_plastic) {
        let l = st.a_sigma0 * m.m.s / g;
        let d = 1.0 / (1.0 + l);
        return Bristle3(d * y, d * (push - l * zeta), y, l, length(d * y) / big_g, 1.0, 0.0, d);
    }
    if (!consistent) {
        let n = direction(y);
        let l = max(st.a_sigma0 * 0.5 * (length(m.d) + dot(m.d, n)) / big_g, 0.0);
        let ratio = length(y) / big_g;
        var x = ratio;
        var b = Plastic(0.0, 0.0);
        if (ratio >= 1.0 + l) {
            x = ratio / (1.0 + l);
            b = Plastic(1.0, 0.0);
        } else if (ratio > k.s_ba) {
            let root = root_end(k, ramp_root(k, ratio, l));
            x = root.x;
            b = Plastic(root.b, root.slope);
        }
        let d = 1.0 / (1.0 + l * b.b);
        return Bristle3(d * y, d * (push - l * b.b * zeta), y, l, x, b.b, b.slope, d);
    }
    let q = st.a_sigma0 * m.m.s / g;
    let pull = st.a_sigma0 * m.v_e;
    let z0 = zeta + pull;
    let z1 = y / (1.0 + q);
    let tau = consistent_root(k, m, big_g, q, z0, z1);
    let z = z1 + tau * (z0 - z1);
    let share = (1.0 - tau) / (1.0 + q * tau);
    let x = length(z) / big_g;
    let b = ramp(k, x);
    // Elastic below break-away, to the last bit: a sum of z1 would lose some.
    let step = tau * pull + (1.0 - tau) / (1.0 + q) * (push - q * zeta);
    let d = 1.0 / (1.0 + share * q);
    return Bristle3(select(z, z0, tau == 1.0), step, vec3f(b.b, 0.0, 0.0), q, x, share, b.slope, d);
}

// The root of F(tau) = (1-tau)/(1 + q tau) - b(x) (1 + c)/2 in [0, 1], zeta = z1 + tau (z0 - z1).
fn consistent_root(k: Consts, m: Drive, big_g: f32, q: f32, z0: vec3f, z1: vec3f) -> f32 {
    if (length(z0) <= k.s_ba * big_g) {
        return 1.0;
    }
    let way = z0 - z1;
    var tau = 0.0;
    var low = 0.0;
    var high = 1.0;
    var last = 1.0;
    for (var i = 0u; i < ROOT_ITERATIONS; i++) {
        let z = z1 + tau * way;
        let inv = over(length(z));
        let z_hat = z * inv;
        let b = ramp(k, length(z) / big_g);
        let cosine = dot(m.d_hat, z_hat);
        let f = (1.0 - tau) / (1.0 + q * tau) - 0.5 * b.b * (1.0 + cosine);
        if (tau == 0.0 && f <= 0.0) {
            break;
        }
        let slope = -(1.0 + q) / ((1.0 + q * tau) * (1.0 + q * tau))
            - 0.5 * b.slope * dot(z_hat, way) / big_g * (1.0 + cosine)
            - 0.5 * b.b * dot(m.d_hat - cosine * z_hat, way) * inv;
        if (f > 0.0) {
            low = tau;
        } else {
            high = tau;
        }
        let newton = tau - f / slope;
        // Bisect when Newton leaves the bracket or fails to halve the last step: it can cycle on the ramp.
        let good = newton > low && newton < high && abs(newton - tau) <= 0.5 * last;
        let next = select(0.5 * (low + high), newton, good);
        last = abs(next - tau);
        tau = next;
        if (good && last <= ROOT_TOLERANCE * max(tau, ROOT_TOLERANCE)) {
            break;
        }
    }
    return tau;
}

// d zeta*/dv_S.
fn sensitivity3(k: Consts, st: Stage, m: Drive, z: Bristle3) -> mat3x3f {
    let g = st.mu_c + st.mu_d * m.m.bell;
    let g_slope = st.chi * st.mu_d * m.m.bell_slope;
    let a = st.a_sigma0;
    // d(a sigma0 s/g)/dv_S
    let dq = a / g * (1.0 - m.m.s * g_slope / g) * m.e;
    if (!elasto_plastic) {
        return z.d * (a * m.j - outer(z.zeta, dq));
    }
    let big_g = m.h * g;
    let d_big_g = g * m.h_slope + m.h * g_slope * m.e;
    let turned = transpose(m.j);
    if (!consistent) {
        let n = direction(z.y);
        let across = (m.d - dot(m.d, n) * n) * over(length(z.y));
        let deps = 0.5 * (turned * (m.d_hat + n + a * across));
        let steep = z.l * (z.b + z.x * z.b_slope);
        // d(G x)/dv_S: G dx + x dG, with what cancels in it taken out.
        let row = (a * (turned * n - z.x * z.b * deps) + z.x * steep * d_big_g) / (1.0 + steep);
        return outer(n, row) + a * z.d * (m.j - outer(n, turned * n));
    }
    let share = z.b;
    let q = z.l;
    let b = z.y.x;
    let ratio = viscous * over(radius * radius);
    let elastic = diagonal(vec3f(1.0, 1.0, ratio));
    let direct = z.d * (a * ((1.0 - share) * elastic + share * m.j) - share * outer(z.zeta, dq));
    if (b == 0.0 && z.b_slope == 0.0) {
        return direct;
    }
    let p = z.d * (a * (m.d - m.v_e) - q * z.zeta);
    let z_hat = direction(z.zeta);
    let cosine = dot(m.d_hat, z_hat);
    let turn = (m.d_hat - cosine * z_hat) * over(length(z.zeta));
    let hb = 1.0 - 0.5 * z.b_slope * (1.0 + cosine) * dot(z_hat, p) / big_g - 0.5 * b * dot(turn, p);
    let turn_d = (z_hat - cosine * m.d_hat) * over(length(m.d));
    let back = transpose(direct);
    let hv = -0.5 * z.b_slope * (1.0 + cosine) / big_g * (back * z_hat - z.x * d_big_g)
        - 0.5 * b * (back * turn + turned * turn_d);
    return direct - outer(p, hv) * (1.0 / hb);
}

// Carries zeta_3 over to the map of the interval: twin of `Carry` in contact.rs.
fn carry(mu_c: f32) {
    let pull = dot(zeta.xy, zeta.xy);
    let size2 = pull + zeta.z * zeta.z;
    let limit = min(STICKS, c.s_ba) * mu_c;
    if (now.map_sticks == 0.0 || size2 > limit * limit) {
        zeta.z *= now.map_slides;
        zeta_low.z *= now.map_slides;
        hidden = 0.0;
        return;
    }
    let whole = now.map_sticks * (zeta.z + hidden);
    let most = min(BENDS, c.s_ba) * mu_c;
    let bends = now.map_radius > 0.0 && now.map_viscous > 0.0;
    let room = select(0.0, sqrt(max(size2, most * most) - pull), bends);
    zeta.z = clamp(whole, -room, room);
    hidden = whole - zeta.z;
    zeta_low.z = select(0.0, zeta_low.z * now.map_sticks, hidden == 0.0);
}

// Follows the map of the interval.
fn remap() {
    if (pending) {
        // The stage is finished on the map that it was solved on.
        settle();
        sweeps += 1u;
    }
    carry(inputs(0.0).mu_c);
    follow_map();
}

// Takes over the map of the interval without touching the bristle.
fn follow_map() {
    radius = now.map_radius;
    viscous = now.map_viscous;
    table_first = now.map_table;
    arm2 = viscous;
}

fn node(i: u32, j: u32) -> vec3f {
    let at_node = table_first + 3u * (i * (c.n_ls + 1u) + j);
    return vec3f(tables[at_node], tables[at_node + 1u], tables[at_node + 2u]);
}

// atan(y/x) for x, y >= 0, not both 0: within 2e-7 rad (a built-in may be 4096 times worse).
fn angle(y: f32, x: f32) -> f32 {
    let t = min(x, y) / max(x, y);
    var z = t;
    var base = 0.0;
    if (t > 0.41421356) {
        z = (t - 1.0) / (t + 1.0);
        base = 0.25 * PI;
    }
    let z2 = z * z;
    let series = ((0.080537445 * z2 - 0.138776856) * z2 + 0.19977711) * z2 - 0.33332949;
    let a = base + z + z * z2 * series;
    return select(a, 0.5 * PI - a, y > x);
}

// The look-up at v_S with its derivatives, docs/model.md (103) and (104); not at 0.
fn look_up(v_s: vec3f) -> LookUp {
    let vt = length(v_s.xy);
    let z = abs(v_s.z);
    let below = v_s.z < 0.0;
    let sign = select(1.0, -1.0, below);
    let phi = angle(vt, z);
    // theta of the twist, or of its opposite below, in [0, 2 pi).
    let w = sign * v_s.xy;
    var theta = 0.0;
    if (vt > 0.0) {
        theta = angle(abs(w.y), abs(w.x));
        if (w.x < 0.0) {
            theta = PI - theta;
        }
        if (w.y < 0.0) {
            theta = 2.0 * PI - theta;
        }
    }
    let n = f32(c.n_ls);
    let p = theta * (2.0 / PI) * n;
    let q = phi * (2.0 / PI) * n;
    let i = min(u32(p), 4u * c.n_ls - 1u);
    let j = min(u32(q), c.n_ls - 1u);
    let s = p - f32(i);
    let t = q - f32(j);
    let aa = node(i, j);
    let ab = node(i, j + 1u);
    let ba = node(i + 1u, j);
    let bb = node(i + 1u, j + 1u);
    let h = (1.0 - s) * ((1.0 - t) * aa + t * ab) + s * ((1.0 - t) * ba + t * bb);
    let per_step = sign * 2.0 * n / PI;
    let h_phi = per_step * ((1.0 - s) * (ab - aa) + s * (bb - ba));
    let h_theta = per_step * ((1.0 - t) * (ba - aa) + t * (bb - ab));
    if (vt == 0.0) {
        return LookUp(sign * h, h_phi, h_theta, vec3f(0.0), vec3f(0.0));
    }
    // In this order no square of a small speed underflows.
    let inv_s = 1.0 / length(v_s);
    let along = v_s.xy / vt;
    let dphi = inv_s * vec3f(z * inv_s * along, -sign * vt * inv_s);
    let dtheta = vec3f(-along.y, along.x, 0.0) / vt;
    return LookUp(sign * h, h_phi, h_theta, dphi, dtheta);
}
