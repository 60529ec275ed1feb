// The generalized Maxwell slip of Lampaert et al. (2003), as in Kikuuwe et al. (2005), (9), docs/model.md
// (P14) and (P15). The memory of an element is 1 while it slides, and 0 while it sticks; which it is changes
// at the limit of friction, and where the velocity turns back. Twin: src/solver/point/laws/gms.rs.

fn trial(s: Step, v: vec2f, e: Element) -> PointTrial {
    let along = point_length(v);
    let psi = curve_at(s.curve, along.z).x;
    let limit = e.share / e.stiffness * psi;
    // A sliding element sticks again where the velocity turns against its force, or is zero.
    let slides = e.memory.x > 0.5 && dot(along.xy, e.zeta) > 0.0;
    let travel = s.t * s.sigma0;
    // What sticks beyond its limit is cut to that at once.
    let zeta = e.zeta_low + e.zeta;
    let before = point_length(zeta);
    let base = select(zeta, limit * before.xy, limit < before.z);
    let n = point_length(fma(vec2f(travel), v, base));
    let holds = n.z < limit;
    // The exact solution of (P15) over the step, for a constant velocity.
    let decay = exp_negative(-min(s.t * s.attraction / psi, 80.0));
    let sliding = (1.0 - decay) * (limit * along.xy - e.zeta);
    let sticking = select(limit * n.xy - zeta, fma(vec2f(travel), v, base - zeta), holds);
    let step = select(sticking, sliding, slides);
    let resist = step + e.zeta_low + e.zeta;
    let memory = select(select(1.0, 0.0, holds), 1.0, slides);
    // Nothing asks for the derivative here: no body is balanced under this law.
    return PointTrial(resist, mat2x2f(0.0, 0.0, 0.0, 0.0), step, vec2f(memory, 0.0));
}

// While it slides its state is a force that lags behind the velocity, and no deflection.
fn slip_speed(s: Step, e: Element) -> f32 {
    return select(0.0, point_length(s.v).z, e.memory.x > 0.5);
}

fn element_limit(s: Step, e: Element) -> f32 {
    return e.share / e.stiffness * curve_at(s.curve, point_length(s.v).z).x;
}
