// Kikuuwe et al. (2005), (16) and (17), docs/model.md (P2) to (P4): friction brings the body to rest if it
// can, and else is that of the velocity after the step. Twin: src/solver/point/laws/implicit.rs.

fn point_step(s: Step) -> Outcome {
    let n = point_length(without_friction(s));
    let c = s.per_mass * s.grip;
    if (!(c * curve_most(s.curve) < n.z)) {
        return Outcome(stopping(s), true);
    }
    let psi = curve_at(s.curve, curve_root(s.curve, c, n.z)).x;
    return Outcome(-(s.grip * psi) * n.xy, false);
}

fn body_equation(s: Step) -> vec2f {
    return vec2f(s.per_mass * s.grip, point_length(without_friction(s)).z);
}
