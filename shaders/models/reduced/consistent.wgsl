// The form of the reduced model that is elastic below break-away with the stiffness of the distributed model
// (docs/model.md, section 6.4). The unknown of a stage is tau, the share of it that sticks. Near sliding tau
// is small, so that single precision resolves it better than it would its complement. Twin:
// src/solver/models/reduced/consistent.rs.

// The bristle at the end of stage st.
fn consistent_bristle(k: Consts, st: Stage, m: Drive) -> Bristle {
    let g = st.mu_c + st.mu_d * m.m.bell;
    let limit = m.h * g;
    let push = st.a_sigma0 * m.d;
    let carried = st.a_sigma0 * m.v_e;
    let q = st.a_sigma0 * m.m.s / g;
    let z0 = zeta + carried;
    let z1 = (zeta + push) / (1.0 + q);
    let tau = consistent_root(k, m, limit, q, z0, z1);
    // A bristle below break-away is at z0 exactly. The sum z1 + (z0 - z1) would lose digits, and a contact
    // that sticks would creep.
    let z = select(z1 + tau * (z0 - z1), z0, tau == 1.0);
    let step = tau * carried + (1.0 - tau) / (1.0 + q) * (push - q * zeta);
    let x = length(z) / limit;
    let b = plastic_share(k, x);
    let no_trial = Trial(0.0, 0.0, 0.0, 0.0);
    return Bristle(z, step, x, vec3f(0.0), no_trial, Slip(0.0, 0.0, 0.0, 0.0), tau, b.b, b.slope);
}

// The root of F(tau) = (1-tau)/(1 + q tau) - b(x) (1 + c)/2 in [0, 1], zeta = z1 + tau (z0 - z1),
// docs/model.md (82): Newton's method with bisection.
fn consistent_root(k: Consts, m: Drive, limit: f32, q: f32, z0: vec3f, z1: vec3f) -> f32 {
    if (length(z0) <= k.s_ba * limit) {
        return 1.0;
    }
    let chord = z0 - z1;
    var tau = 0.0;
    var low = 0.0;
    var high = 1.0;
    var last = 1.0;
    for (var i = 0u; i < ROOT_ITERATIONS; i++) {
        let z = z1 + tau * chord;
        let inv = over(length(z));
        let z_hat = z * inv;
        let b = plastic_share(k, length(z) / limit);
        let cosine = dot(m.d_hat, z_hat);
        let f = (1.0 - tau) / (1.0 + q * tau) - 0.5 * b.b * (1.0 + cosine);
        if (tau == 0.0 && f <= 0.0) {
            break;
        }
        let slope = -(1.0 + q) / ((1.0 + q * tau) * (1.0 + q * tau))
            - 0.5 * b.slope * dot(z_hat, chord) / limit * (1.0 + cosine)
            - 0.5 * b.b * dot(m.d_hat - cosine * z_hat, chord) * inv;
        if (f > 0.0) {
            low = tau;
        } else {
            high = tau;
        }
        let newton = tau - f / slope;
        // Bisection replaces a Newton step that leaves the bracket or is longer than half the step before,
        // because in the transition Newton's method can cycle.
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

// d zeta*/dv_S, docs/model.md (86), with the Stribeck curve g and its slope.
fn consistent_sensitivity(k: Consts, st: Stage, m: Drive, z: Bristle, g: f32, g_slope: f32) -> mat3x3f {
    let a = st.a_sigma0;
    let limit = m.h * g;
    let limit_slope = g * m.h_slope + m.h * g_slope * m.e;
    // q = a sigma0 s/g and its slope; the plastic share of the stage.
    let q = a * m.m.s / g;
    let q_slope = a / g * (1.0 - m.m.s * g_slope / g) * m.e;
    let share = (1.0 - z.root) / (1.0 + q * z.root);
    let d = 1.0 / (1.0 + share * q);
    // At a given share.
    let elastic = diagonal(vec3f(1.0, 1.0, viscous * over(radius * radius)));
    let direct = d * (a * ((1.0 - share) * elastic + share * m.j) - share * outer(z.zeta, q_slope));
    if (z.b == 0.0 && z.b_slope == 0.0) {
        return direct;
    }
    // By the share.
    let p = d * (a * (m.d - m.v_e) - q * z.zeta);
    let z_hat = direction(z.zeta);
    let cosine = dot(m.d_hat, z_hat);
    let turn = (m.d_hat - cosine * z_hat) * over(length(z.zeta));
    let hb = 1.0 - 0.5 * z.b_slope * (1.0 + cosine) * dot(z_hat, p) / limit - 0.5 * z.b * dot(turn, p);
    let turn_d = (z_hat - cosine * m.d_hat) * over(m.speed);
    let back = transpose(direct);
    let hv = -0.5 * z.b_slope * (1.0 + cosine) / limit * (back * z_hat - z.x * limit_slope)
        - 0.5 * z.b * (back * turn + transpose(m.j) * turn_d);
    return direct - outer(p, hv) * (1.0 / hb);
}
