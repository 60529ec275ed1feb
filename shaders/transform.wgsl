// Maps from a body's twist to its patch's, docs/model.md (22). Twin: src/solver/transform.rs.

// T(q): rotates by -theta, then moves the reference point by o to the patch origin.
struct Transform {
    cos: f32,
    sin: f32,
    o: vec2f,
}

// Twist at the patch origin in the patch frame, of a body's twist at its centre of mass in the world.
fn transform_twist(t: Transform, u: vec3f) -> vec3f {
    return at(vec3f(t.cos * u.x + t.sin * u.y, t.cos * u.y - t.sin * u.x, u.z), t.o);
}

// The inverse of transform_twist.
fn transform_body_twist(t: Transform, patch_v: vec3f) -> vec3f {
    let v = at(patch_v, -t.o);
    return vec3f(t.cos * v.x - t.sin * v.y, t.sin * v.x + t.cos * v.y, v.z);
}

// The wrench at the centre of mass of one at o + c, both as they act on the body.
fn transform_wrench(t: Transform, w: vec3f, c: vec2f) -> vec3f {
    let p = t.o + c;
    return vec3f(t.cos * w.x - t.sin * w.y, t.sin * w.x + t.cos * w.y, w.z + p.x * w.y - p.y * w.x);
}

// The gain over the body's twist of one over the twist at o + c, as columns from rows.
fn transform_gain(t: Transform, x: vec3f, y: vec3f, z: vec3f, c: vec2f) -> mat3x3f {
    let m = transpose(mat3x3f(transform_wrench(t, x, c), transform_wrench(t, y, c), transform_wrench(t, z, c)));
    return mat3x3f(transform_wrench(t, m[0], c), transform_wrench(t, m[1], c), transform_wrench(t, m[2], c));
}

// The motion of the point p from the reference point.
fn at(v: vec3f, p: vec2f) -> vec3f {
    return vec3f(v.x - v.z * p.y, v.y + v.z * p.x, v.z);
}
