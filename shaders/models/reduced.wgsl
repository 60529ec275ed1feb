// The reduced model: one bristle with three components at the centre of pressure (docs/model.md, section 6).
// Twin: src/solver/models/reduced.rs. Every lane steps a contact of its state.
//
// Only here: `over`, `direction`, `diagonal`.

// Pipeline constants, the same for all contacts of a dispatch.
override ellipsoid: bool = false;
override consistent: bool = true;

// Tables of limit surfaces: (4 n_ls + 1) x (n_ls + 1) nodes of three numbers each.
@group(0) @binding(0) var<storage, read> tables: array<f32>;

// What the bristle of a contact needs once a stage.
struct Kept {
    // Low part of zeta as a compensated sum. Without it, motion by less than the last bit of zeta in a step
    // would be lost, and the contact would creep.
    zeta_low: vec3f,
    // A saved state.
    saved: vec3f,
    saved_low: vec3f,
    // The residual of zeta_3 beyond the limit of the present map.
    residual: f32,
}

var<workgroup> kept: array<Kept, WORKGROUP>;
var<private> zeta: vec3f;
// |zeta*| over its limit at the last evaluation.
var<private> last_loading: f32;
// The present map: torsional radius, viscous factor, centre of pressure, where its table starts.
var<private> radius: f32;
var<private> viscous: f32;
var<private> cop: vec2f;
var<private> table_first: u32;

// What follows from a twist and does not depend on the stage.
struct Drive {
    m: Motion,
    e: vec3f,
    v_e: vec3f,
    d: vec3f,
    d_hat: vec3f,
    speed: f32,
    j: mat3x3f,
    h: f32,
    h_slope: vec3f,
}

// The bristle at the end of a stage: zeta*; zeta* - zeta_b without the cancellation of that difference;
// |zeta*| over its limit. Published form: the direction of the trial (or the trial itself under a law that is
// not DIRECTED), the trial, its slip. Consistent form: the root, the plastic share and its slope.
struct Bristle {
    zeta: vec3f,
    step: vec3f,
    x: f32,
    n: vec3f,
    t: Trial,
    z: Slip,
    root: f32,
    b: f32,
    b_slope: f32,
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

fn diagonal(d: vec3f) -> mat3x3f {
    return mat3x3f(d.x, 0.0, 0.0, 0.0, d.y, 0.0, 0.0, 0.0, d.z);
}

// The friction wrench at the patch origin in the present state, and the shares, which are 0 or 1: there is
// one bristle.
fn wrench(k: Consts, u: vec3f, rate: Rate, f_n: f32) -> Measured {
    let v = at(u, reference_point());
    let m = drive(k, v);
    let limit = m.h * (rate.mu_c + rate.mu_d * m.m.bell);
    let size = length(zeta);
    let x = size / limit;
    let z_hat = direction(zeta);
    let decay = law_decay(k, limit, m.speed, dot(m.d, z_hat), size);
    // zeta' / sigma0
    var change = m.d - decay * zeta;
    if (ELASTIC && consistent) {
        let b = 0.5 * plastic_share(k, x).b * (1.0 + dot(m.d_hat, z_hat));
        change = (1.0 - b) * m.v_e + b * m.d - b * m.speed / limit * zeta;
    }
    let f = vec3f(1.0, 1.0, radius) * (zeta + rate.sigma1 * change) + k.sigma2 * vec3f(1.0, 1.0, viscous) * v;
    let tau = f.z + cop.x * f.y - cop.y * f.x;
    // Both forms slip by the same share of |D|, and so of |v_S|.
    let slips = decay * size / m.h > SLIP_SPEED;
    let shares = select(vec2f(0.0), vec2f(1.0), vec2<bool>(slips, x > k.s_ba));
    return Measured(vec3f(-f_n * f.x, -f_n * f.y, -f_n * tau), shares);
}

// Whether a pending stage must be committed before the map changes.
fn commits_before_remap() -> bool {
    return true;
}

// The point of the patch that twists and wrenches refer to: the centre of pressure.
fn reference_point() -> vec2f {
    return cop;
}

// One pass at the twist v of the centre of pressure, as for a grid: `commit` moves the base through stage
// `committed`, `evaluate` evaluates stage `next` from the moved base.
fn sweep(k: Consts, v: vec3f, commit: bool, committed: Stage, evaluate: bool, next: Stage) -> Sums {
    let m = drive(k, v);
    if (commit) {
        if (CUTS && committed.cuts) {
            move_base(bristle(k, without_length(committed), m).step);
        }
        move_base(committed.extrapolation * bristle(k, committed, m).step);
    }
    if (!evaluate) {
        return Sums(vec3f(0.0), vec3f(0.0), vec3f(0.0), vec3f(0.0));
    }
    let z = bristle(k, next, m);
    last_loading = z.x;
    let scale = vec3f(1.0, 1.0, radius);
    let viscosity = k.sigma2 * vec3f(1.0, 1.0, viscous);
    let resist = scale * (z.zeta + next.damping * z.step) + viscosity * v;
    let s = diagonal(scale);
    let gain = (1.0 + next.damping) * (s * sensitivity(k, next, m, z) * s) + diagonal(viscosity);
    let rows = transpose(gain);
    renew_place();
    return Sums(resist, rows[0], rows[1], rows[2]);
}

// Size of a change of the twist v up to which the derivative of the force holds. On a limit surface D depends
// on the direction of v_S however slow the motion is: a Newton step that is small against the tolerance may
// turn a slow twist across many cells of the table.
fn trust_radius(v: vec3f) -> f32 {
    if (ellipsoid || !ELASTIC) {
        return 1e30;
    }
    return max(MAX_TURN * length(vec3f(v.xy, radius * v.z)), LEAST_TRUST_RADIUS);
}

// Load of the bristle at the last evaluation: its size over the limit.
fn loading() -> f32 {
    return last_loading;
}

// Saves the state.
fn save() {
    let state = &kept[own()];
    state.saved = zeta;
    state.saved_low = state.zeta_low;
}

// Restores the saved state.
fn restore() {
    let state = &kept[own()];
    zeta = state.saved;
    state.zeta_low = state.saved_low;
}

// How the force at the centre of pressure has changed since the state was saved.
fn force_change() -> vec3f {
    let state = &kept[own()];
    return vec3f(1.0, 1.0, radius) * ((zeta - state.saved) + (state.zeta_low - state.saved_low));
}

// Moves the state, with what its rounding leaves.
fn move_base(step: vec3f) {
    let sum = add3(zeta, kept[own()].zeta_low, step);
    zeta = sum.high;
    kept[own()].zeta_low = sum.low;
}

// How twist v of the centre of pressure drives the bristle.
fn drive(k: Consts, v: vec3f) -> Drive {
    let v_s = vec3f(v.x, v.y, radius * v.z);
    let s = length(v_s);
    let m = motion(k, s, 0.0);
    let e = direction(v_s);
    let v_e = vec3f(v.x, v.y, viscous * over(radius) * v.z);
    let identity = diagonal(vec3f(1.0));
    if (ellipsoid || s == 0.0) {
        return Drive(m, e, v_e, v_s, e, s, identity, 1.0, vec3f(0.0));
    }
    let lookup = look_up(v_s);
    let d = -s * lookup.h;
    let h = length(lookup.h);
    let d_hat = direction(d);
    if (v_s.x == 0.0 && v_s.y == 0.0) {
        return Drive(m, e, v_e, d, d_hat, s * h, identity, h, vec3f(0.0));
    }
    let change = outer(lookup.h_phi, lookup.dphi) + outer(lookup.h_theta, lookup.dtheta);
    let j = -1.0 * (outer(lookup.h, e) + s * change);
    let h_slope = (transpose(j) * d_hat - h * e) / s;
    return Drive(m, e, v_e, d, d_hat, s * h, j, h, h_slope);
}

// The bristle at the end of stage st.
fn bristle(k: Consts, st: Stage, m: Drive) -> Bristle {
    if (ELASTIC && consistent) {
        return consistent_bristle(k, st, m);
    }
    let g = m.h * (st.mu_c + st.mu_d * m.m.bell);
    let push = st.a_sigma0 * m.d;
    let y = zeta + push;
    let len = length(y);
    let inv_len = over(len);
    let n = select(y, y * inv_len, DIRECTED);
    let t = Trial(len, inv_len, g, law_travel(st.a_sigma0, m.speed, dot(m.d, n)));
    let z = slip(k, t);
    let step = z.d * (push - law_relaxation(t, z) * zeta);
    return Bristle(z.d * y, step, z.d * len / g, n, t, z, 0.0, 0.0, 0.0);
}

// d zeta*/dv_S, docs/model.md (77), (78), (86).
fn sensitivity(k: Consts, st: Stage, m: Drive, z: Bristle) -> mat3x3f {
    let g = st.mu_c + st.mu_d * m.m.bell;
    let g_slope = st.chi * st.mu_d * m.m.bell_slope;
    if (ELASTIC && consistent) {
        return consistent_sensitivity(k, st, m, z, g, g_slope);
    }
    let limit_slope = g * m.h_slope + m.h * g_slope * m.e;
    let by = law_sensitivity(st.a_sigma0, z.t, z.z, m.speed, dot(m.d, z.n));
    var toward = by.speed * m.d_hat;
    if (DIRECTED) {
        toward += by.normal * z.n;
    }
    let row = transpose(m.j) * toward + by.limit * limit_slope;
    return by.carried * m.j + outer(z.n, row);
}
