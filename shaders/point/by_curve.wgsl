// For laws whose friction is that of the curve where the velocity is given.

fn point_force(s: Step, v: vec2f) -> vec2f {
    return slide(s, v);
}
