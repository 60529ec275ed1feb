// Kikuuwe et al. (2005), (6), docs/model.md (P7): within a band of velocities friction is in proportion to
// the velocity. Twin: src/solver/point/laws/viscous_band.rs.

fn point_force(s: Step, v: vec2f) -> vec2f {
    // Both are equal at the edge of the band.
    let viscosity = -(s.grip * curve_at(s.curve, s.band).x / s.band);
    return select(viscosity * v, slide(s, v), point_length(v).z > s.band);
}
