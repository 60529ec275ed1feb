// For laws whose steps solve no equation that may have several roots.

fn body_equation(s: Step) -> vec2f {
    return vec2f(0.0);
}

fn element_equation(s: Step, v: vec2f, yields: f32, e: Element) -> vec2f {
    return vec2f(0.0);
}
