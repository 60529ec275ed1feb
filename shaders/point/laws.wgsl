// What the laws of a point contact share. Each is a file with the same functions, of which one is in a
// kernel. Twin: src/solver/point/laws.rs.

// What a step is made of.
struct Step {
    t: f32,
    per_mass: f32,
    grip: f32,
    curve: Curve,
    sigma0: f32,
    sigma1: f32,
    s_ba: f32,
    band: f32,
    slider_mass: f32,
    attraction: f32,
    spring: f32,
    load: vec2f,
    v: vec2f,
}

// What a step comes to: friction on the body, and whether it comes to rest.
struct Outcome {
    force: vec2f,
    stops: bool,
}

// One of the elements of a contact: its parameters and its state.
struct Element {
    share: f32,
    stiffness: f32,
    rho: f32,
    zeta: vec2f,
    zeta_low: vec2f,
    memory: vec2f,
}

// What an element answers to a velocity of the body: the opposite of its force over the normal force and its
// share of the stiffness, the derivative of that over the velocity, how far it moves, and its memory.
struct PointTrial {
    resist: vec2f,
    gain: mat2x2f,
    step: vec2f,
    memory: vec2f,
}

// 1 where x is positive, else 0.
fn positive(x: f32) -> f32 {
    return select(0.0, 1.0, x > 0.0);
}

// Direction of a vector and, as the third number, its length; the direction of a zero vector is zero.
fn point_length(v: vec2f) -> vec3f {
    let size = sqrt(fma(v.x, v.x, v.y * v.y));
    let inverse = select(0.0, 1.0 / max(size, TINY), size > 0.0);
    return vec3f(v * inverse, size);
}

// Friction at the velocity v by the curve, against it.
fn slide(s: Step, v: vec2f) -> vec2f {
    let e = point_length(v);
    return -(s.grip * curve_at(s.curve, e.z).x) * e.xy;
}

// along n n^T + across (I - n n^T).
fn radial(along: f32, across: f32, n: vec2f) -> mat2x2f {
    let d = along - across;
    let off = d * n.x * n.y;
    return mat2x2f(fma(d * n.x, n.x, across), off, off, fma(d * n.y, n.y, across));
}

// The velocity at the end of a step without friction, docs/model.md (P1).
fn without_friction(s: Step) -> vec2f {
    return fma(vec2f(s.per_mass), s.load, s.v);
}

// The friction that brings the body to rest in this step.
fn stopping(s: Step) -> vec2f {
    return -(s.load + s.v / s.per_mass);
}
