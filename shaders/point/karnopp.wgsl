// Karnopp (1985), as in Kikuuwe et al. (2005), (5), docs/model.md (P6): within a band of velocities friction
// balances the load as far as it can. Twin: src/solver/point/laws/karnopp.rs.

fn point_force(s: Step, v: vec2f) -> vec2f {
    let load = point_length(s.load);
    let held = -min(s.grip * curve_most(s.curve), load.z);
    return select(held * load.xy, slide(s, v), point_length(v).z > s.band);
}
