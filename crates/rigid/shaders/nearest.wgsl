// A force against a cone, in the axes of its contact: how much friction is left, and the nearest force of the
// cone. Twin: crates/rigid/src/cone/nearest.rs. Only here: `query_of`, `answer`, `poison`. One invocation
// answers one force.

override projects: bool;

// The faces of the cones, and how many forces there are.
struct ConeBatch {
    // Distance of a face from the normal as a share of mu f_n, and the tangent of half of the angle that a
    // face takes.
    share: f32,
    half: f32,
    // Number of faces, 0 for a circle.
    sides: u32,
    count: u32,
    // Number of coefficients: 1 for all forces, or as many as there are forces.
    coefficients: u32,
    // A zero that compilers do not know to be one.
    zero: u32,
}

@group(0) @binding(0) var<storage, read> directions: array<vec2f>;
@group(0) @binding(1) var<storage, read> mu: array<f32>;
@group(0) @binding(2) var<storage, read> forces: array<f32>;
@group(0) @binding(3) var<storage, read_write> answers: array<f32>;
@group(0) @binding(4) var<uniform> cones: ConeBatch;

// Direction across the normal of the face in whose sector the force is.
fn facing(f: vec3f) -> vec2f {
    if cones.sides == 0u {
        return f.xy / max(sqrt(f.x * f.x + f.y * f.y), TINY);
    }
    var best = directions[0];
    var most = f.x * best.x + f.y * best.y;
    for (var k = 1u; k < cones.sides; k++) {
        let e = directions[k];
        let a = f.x * e.x + f.y * e.y;
        let nearer = most < a;
        best = select(best, e, nearer);
        most = select(most, a, nearer);
    }
    return best;
}

// share mu f_n - a [N], where a is the part of the force towards the face: docs/model.md (203).
fn margin(mu_of: f32, f: vec3f) -> f32 {
    let e = facing(f);
    return cones.share * mu_of * f.z - (e.x * f.x + e.y * f.y);
}

// The nearest force of the cone [N]: docs/model.md (204).
fn project(mu_of: f32, f: vec3f) -> vec3f {
    let e = facing(f);
    let slope = cones.share * mu_of;
    // Towards the face and along it.
    let a = e.x * f.x + e.y * f.y;
    let c = e.x * f.y - e.y * f.x;
    let on_face = max((slope * a + f.z) / (1.0 + slope * slope), 0.0);
    // The edges of the face are (slope, +-side, 1).
    let side = slope * cones.half;
    let on_edge = max((slope * a + side * abs(c) + f.z) / (1.0 + slope * slope + side * side), 0.0);
    let beyond = side * on_face < abs(c);
    let normal = select(on_face, on_edge, beyond);
    let along = select(c, side * on_edge * sign(c), beyond);
    let towards = slope * normal;
    let nearest = vec3f(towards * e.x - along * e.y, towards * e.y + along * e.x, normal);
    // Of what is inside nothing is changed. Pushing is asked for as well, since without friction the first
    // does not tell it from pulling.
    return select(f, nearest, slope * f.z < a || f.z < 0.0);
}

// The index of this invocation's force: a row of workgroups is ROW long.
fn query_of(id: vec3u) -> u32 {
    return id.y * ROW * WORKGROUP + id.x;
}

@compute @workgroup_size(WORKGROUP)
fn answer(@builtin(global_invocation_id) id: vec3u) {
    let k = query_of(id);
    if k >= cones.count {
        return;
    }
    let f = vec3f(forces[3u * k], forces[3u * k + 1u], forces[3u * k + 2u]);
    let mu_of = mu[min(k, cones.coefficients - 1u)];
    if projects {
        let nearest = project(mu_of, f);
        answers[3u * k] = nearest.x;
        answers[3u * k + 1u] = nearest.y;
        answers[3u * k + 2u] = nearest.z;
    } else {
        answers[k] = margin(mu_of, f);
    }
}

// Fills the answers with NaN, so that those which are not computed are noticed.
@compute @workgroup_size(WORKGROUP)
fn poison(@builtin(global_invocation_id) id: vec3u) {
    let k = query_of(id);
    if k >= cones.count {
        return;
    }
    let nan = bitcast<f32>(0xffffffffu ^ cones.zero);
    if projects {
        answers[3u * k] = nan;
        answers[3u * k + 1u] = nan;
        answers[3u * k + 2u] = nan;
    } else {
        answers[k] = nan;
    }
}
