// A body under a law without elements.

// What a step of a free body comes to: friction, the change of its velocity, whether it comes to rest.
struct FreeStep {
    force: vec2f,
    change: vec2f,
    stops: bool,
}

fn driven(s: Step, v: vec2f) -> vec2f {
    // A motion that is given has no load that friction could hold.
    var unloaded = s;
    unloaded.load = vec2f(0.0);
    return point_force(unloaded, v);
}

fn free_step(s: Step) -> FreeStep {
    let outcome = point_step(s);
    return FreeStep(outcome.force, s.per_mass * (s.load + outcome.force), outcome.stops);
}

// Whether the step's equation has several roots, docs/model.md, section 13.4.
fn several(s: Step, v: vec2f, is_given: bool) -> bool {
    let own = body_equation(s);
    return !is_given && s.curve.mu_d != 0.0 && curve_has_several(s.curve, own.x, own.y);
}

// Whether the body slips, and whether its friction is near the limit: each 0 or 1.
fn shares(s: Step, friction: vec2f) -> vec2f {
    let speed = point_length(s.v).z;
    let most = s.grip * curve_at(s.curve, speed).x;
    return vec2f(positive(speed - SLIP_SPEED), positive(point_length(friction).z - s.s_ba * most));
}

fn stiffness_share() -> f32 {
    return 0.0;
}

fn some_at_limit() -> bool {
    return false;
}

fn load_elements() {}

fn store_elements() {}
