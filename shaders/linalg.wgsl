// Vectors, matrices and compensated sums.

fn plus_diagonal(m: mat3x3f, d: vec3f) -> mat3x3f {
    return m + mat3x3f(d.x, 0.0, 0.0, 0.0, d.y, 0.0, 0.0, 0.0, d.z);
}

// a b^T.
fn outer(a: vec3f, b: vec3f) -> mat3x3f {
    return mat3x3f(a * b.x, a * b.y, a * b.z);
}

// The least pivot of the elimination of the symmetric part: > 0 where that is positive definite.
fn least_pivot(whole: mat3x3f) -> f32 {
    let m = 0.5 * (whole + transpose(whole));
    let l1 = m[0].y / m[0].x;
    let l2 = m[0].z / m[0].x;
    let a11 = m[1].y - l1 * m[0].y;
    let a12 = m[1].z - l1 * m[0].z;
    let a22 = m[2].z - l2 * m[0].z;
    return min(min(m[0].x, a11), a22 - a12 / a11 * a12);
}

// m x = b by elimination; m is definite, so it needs no pivots.
fn solve(m: mat3x3f, b: vec3f) -> vec3f {
    let l10 = m[0].y / m[0].x;
    let l20 = m[0].z / m[0].x;
    let a11 = m[1].y - l10 * m[1].x;
    let a12 = m[2].y - l10 * m[2].x;
    let a21 = m[1].z - l20 * m[1].x;
    let a22 = m[2].z - l20 * m[2].x;
    let b1 = b.y - l10 * b.x;
    let l21 = a21 / a11;
    let z = (b.z - l20 * b.x - l21 * b1) / (a22 - l21 * a12);
    let y = (b1 - a12 * z) / a11;
    return vec3f((b.x - m[1].x * y - m[2].x * z) / m[0].x, y, z);
}

// x itself, in a form that the compiler cannot simplify: it does not know that run.zero is 0.
fn opaque_vector(x: vec3f) -> vec3f {
    return bitcast<vec3f>(bitcast<vec3u>(x) ^ vec3u(run.zero));
}

fn opaque_number(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ run.zero);
}

// (high, low) + d, keeping in low what high cannot hold (two-sum), docs/model.md (64).
struct Compensated {
    high: vec3f,
    low: vec3f,
}

fn add3(high: vec3f, low: vec3f, d: vec3f) -> Compensated {
    let y = d + low;
    let s = opaque_vector(high + y);
    let t = opaque_vector(s - high);
    return Compensated(s, (high - opaque_vector(s - t)) + (y - t));
}
