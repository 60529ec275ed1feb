// The inputs of a contact over its interval. Twin: src/solver/inputs.rs. The function `polynomial` is in the
// file of the step: one contracts products and sums, the other does not.

// All inputs at local time tau: f_N, the load or the prescribed twist, mu_c, mu_s.
struct Inputs {
    f_n: f32,
    load: vec3f,
    mu_c: f32,
    mu_s: f32,
}

fn inputs(tau: f32) -> Inputs {
    let now = &intervals[now_at];
    // In the order of the slots.
    var v = array<f32, SLOT_COUNT>(
        polynomial(0u, tau),
        polynomial(1u, tau),
        polynomial(2u, tau),
        polynomial(3u, tau),
        polynomial(4u, tau),
        polynomial(5u, tau),
    );
    for (var i = now.term_first; i < now.term_first + now.term_count; i++) {
        v[terms[i].slot] += terms[i].amplitude * turned(terms[i].omega * tau + terms[i].phase).y;
    }
    let load = vec3f(v[SLOT_LOAD], v[SLOT_LOAD + 1u], v[SLOT_LOAD + 2u]);
    return Inputs(max(normal_force(v[SLOT_F_N], tau), 0.0), load, v[SLOT_MU_C], v[SLOT_MU_S]);
}

// A polynomial, as a term of the interval has it, a time dt after tau. The estimates of the errors compare
// velocities of surfaces within one step. The rounding of tau + dt would be most of their differences.
fn polynomial_ahead(c: Term, tau: f32, dt: f32) -> f32 {
    return (c.amplitude + tau * (c.omega + tau * c.phase)) + dt * (c.omega + (2.0 * tau + dt) * c.phase);
}

// A sinusoid a time dt after tau, as polynomial_ahead.
fn wave_ahead(c: Term, tau: f32, dt: f32) -> f32 {
    let now = turned(c.omega * tau + c.phase);
    let by = turned(c.omega * dt);
    return c.amplitude * (now.y * by.x + now.x * by.y);
}
