// Quinn (2004), as in Kikuuwe et al. (2005), (7), docs/model.md (P8): friction in proportion to the velocity
// within a band that the load shifts, so that at rest it balances the load. Twin:
// src/solver/point/laws/quinn.rs.

fn point_force(s: Step, v: vec2f) -> vec2f {
    let most = s.grip * curve_at(s.curve, point_length(v).z).x;
    let load = point_length(s.load);
    // The load over the friction, at most 1; without normal force, 1.
    let share = s.band * min(load.z, most) / max(most, TINY);
    let e = point_length(fma(vec2f(share), load.xy, v));
    return -(most * min(e.z, s.band) / s.band) * e.xy;
}
