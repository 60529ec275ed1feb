// Kikuuwe et al. (2005), (24) to (29), docs/model.md (P9) to (P13): a spring and a damper on a slider, which
// has the friction of the curve and may have a mass. Its memory is the velocity of the slider, exactly 0
// while it sticks. Twin: src/solver/point/laws/viscoelasto_plastic.rs.

fn trial(s: Step, v: vec2f, e: Element) -> PointTrial {
    // Inertia of the slider over the step, and stiffness of spring and damper, both over the normal force.
    let inertia = s.slider_mass / (max(s.grip, TINY) * s.t);
    let spring = fma(s.t, s.sigma0, s.sigma1);
    let both = inertia + spring;
    let limit = e.share / e.stiffness;
    let pull = fma(vec2f(spring), v, e.zeta_low);
    // Over both, as without a normal force the inertia is near the largest number.
    let n = point_length(fma(vec2f(inertia / both), e.memory, (pull + e.zeta) / both));
    let c = limit / both;
    let moved = s.t * s.sigma0 / spring;
    if (!(c * curve_most(s.curve) < n.z)) {
        return PointTrial(pull + e.zeta, mat2x2f(spring, 0.0, 0.0, spring), moved * spring * v, vec2f(0.0));
    }
    let speed = curve_root(s.curve, c, n.z);
    let psi = curve_at(s.curve, speed);
    let slider = speed * n.xy;
    // The force of a light slider is its friction, that of a heavy one what pulls at it: the other form would
    // be a difference of large numbers.
    let light = fma(vec2f(limit * psi.x), n.xy, inertia * (slider - e.memory));
    let sliding = select(pull + e.zeta - spring * slider, light, inertia < spring);
    // How the slider's velocity changes with that of the body.
    let share = spring / both;
    let along = share / fma(c, psi.y, 1.0);
    let across = share * speed / max(n.z, TINY);
    let gain = radial(spring * (1.0 - along), spring * (1.0 - across), n.xy);
    // The rate of the deflection from the force: from the velocities it would be the difference of large
    // numbers.
    return PointTrial(sliding, gain, moved * (sliding - e.zeta - e.zeta_low), slider);
}

// (P10), with (P17) of a body on this element alone: as the velocity of the body is linear in the force,
// spring and damper seem softer.
fn element_equation(s: Step, v: vec2f, yields: f32, e: Element) -> vec2f {
    let inertia = s.slider_mass / (max(s.grip, TINY) * s.t);
    let spring = fma(s.t, s.sigma0, s.sigma1);
    let soft = 1.0 / fma(spring, yields, 1.0);
    let both = fma(spring, soft, inertia);
    let pull = soft / both * (fma(vec2f(spring), v, e.zeta_low) + e.zeta);
    return vec2f(e.rho / both, point_length(fma(vec2f(inertia / both), e.memory, pull)).z);
}

// That of its slider.
fn slip_speed(s: Step, e: Element) -> f32 {
    return point_length(e.memory).z;
}

fn element_limit(s: Step, e: Element) -> f32 {
    return e.share / e.stiffness * curve_at(s.curve, point_length(s.v).z).x;
}
