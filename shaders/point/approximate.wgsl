// Kikuuwe et al. (2005), (18), docs/model.md (P5): in place of the velocity after the step the friction takes
// that after a step under the friction at rest. Twin: src/solver/point/laws/approximate.rs.

fn point_step(s: Step) -> Outcome {
    let n = point_length(without_friction(s));
    let over = n.z - s.per_mass * s.grip * curve_most(s.curve);
    if (!(over > 0.0)) {
        return Outcome(stopping(s), true);
    }
    return Outcome(-(s.grip * curve_at(s.curve, over).x) * n.xy, false);
}
