// For laws without elements that are those of the curve where the velocity is given, and slip wherever they move.

fn point_force(s: Step, v: vec2f) -> vec2f {
    return slide(s, v);
}

fn body_slips(s: Step) -> f32 {
    return positive(point_length(s.v).z);
}
