// Dahl (1968), as in Kikuuwe et al. (2005), (8), docs/model.md (P16): the exact solution over the step for a
// constant velocity, under the limit mu_c at any speed. Twin: src/solver/point/laws/dahl.rs.

fn trial(s: Step, v: vec2f, e: Element) -> PointTrial {
    let n = point_length(v);
    let limit = e.share / e.stiffness * s.curve.mu_c;
    let travel = s.t * s.sigma0;
    let x = travel * n.z / limit;
    let kept = exp_negative(-min(x, 80.0));
    let gone = 1.0 - kept;
    let step = gone * (limit * n.xy - e.zeta);
    let resist = step + e.zeta_low + e.zeta;
    // Over the speed: kept (n - zeta/limit) travel. Over the direction: gone limit/speed, which at rest is
    // travel.
    let across = travel * select(1.0, gone / max(x, 1e-4), x > 1e-4);
    let a = travel * kept * (n.xy - e.zeta / limit) - across * n.xy;
    let gain = mat2x2f(fma(a.x, n.x, across), a.y * n.x, a.x * n.y, fma(a.y, n.y, across));
    return PointTrial(resist, gain, step, e.memory);
}

fn slip_speed(s: Step, e: Element) -> f32 {
    return point_length(s.v).z * point_length(e.zeta).z / element_limit(s, e);
}

fn element_limit(s: Step, e: Element) -> f32 {
    return e.share / e.stiffness * s.curve.mu_c;
}
