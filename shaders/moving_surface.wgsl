// The motion of a patch relative to a surface that moves, docs/model.md (23a). Twin:
// src/solver/moving_surface.rs.
//
// A body slides on a surface whose twist is given in the world. A hand carries the patch along: its twist is
// given in the axes of the patch, and the pose is that of the body in the hand, whose derivative is the slip
// at the centre of mass. The angle of the hand is the only state that it adds.

// A pipeline constant: whether the surface moves. Without it none of this is called.
override moving: bool = false;

// How a contact moves: derivative of the pose, angular velocity of the surface, twist of the patch relative
// to the surface.
struct Rates {
    pose: vec3f,
    turn: f32,
    slip: vec3f,
}

// The twist of the surface as it is subtracted: from that of the body in the world, and, of a hand, from that
// of the patch.
struct Parts {
    below: vec3f,
    after: vec3f,
}

// How far a hand has turned since the start: a compensated sum in the first of three components.
var<private> turn: vec3f;
var<private> turn_low: vec3f;
// At the start of the step, in its first stage, and in the stage that was solved last.
var<private> rates_start: Rates;
var<private> rates_first: Rates;
var<private> rates_last: Rates;

// The twist of the surface at the origin of its frame, a time dt after local time tau. Its polynomials are
// behind the sinusoids of the other inputs, and behind them are its own sinusoids, as many as the slot of the
// first polynomial says.
fn surface_twist(tau: f32, dt: f32) -> vec3f {
    let now = &intervals[now_at];
    let first = now.term_first + now.term_count;
    var v: array<f32, 3>;
    for (var i = 0u; i < 3u; i++) {
        v[i] = polynomial_ahead(terms[first + i], tau, dt);
    }
    for (var i = first + 3u; i < first + 3u + terms[first].slot; i++) {
        v[terms[i].slot - SLOT_SURFACE] += wave_ahead(terms[i], tau, dt);
    }
    return vec3f(v[0], v[1], v[2]);
}

// The twist of the patch relative to the surface, of a body at pose q with twist u; s is the twist of the
// surface.
fn slip_twist(t: Transform, q: vec3f, u: vec3f, s: vec3f) -> vec3f {
    let p = parts(q, s);
    return transform_twist(t, u - p.below) - p.after;
}

// The inverse of slip_twist: the twist of the body.
fn slipping_body(t: Transform, q: vec3f, slip: vec3f, s: vec3f) -> vec3f {
    let p = parts(q, s);
    return transform_body_twist(t, slip + p.after) + p.below;
}

fn parts(q: vec3f, s: vec3f) -> Parts {
    if (contacts[contact].kind == KIND_GRIPPER) {
        return Parts(vec3f(0.0), s);
    }
    return Parts(at(s, q.xy), vec3f(0.0));
}

// How a body at pose q with twist u moves where its patch has the twist slip relative to the surface.
fn rates(q: vec3f, u: vec3f, slip: vec3f, s: vec3f) -> Rates {
    if (contacts[contact].kind == KIND_GRIPPER) {
        return Rates(at(slip, q.xy), s.z, slip);
    }
    return Rates(u, s.z, slip);
}

// Notes the rates at the start of a step; s is the twist of the surface there.
fn start_rates(s: vec3f) {
    let q = bodies[own()].q;
    let u = bodies[own()].u;
    rates_start = rates(q, u, slip_twist(transform(q, 0.0), q, u, s), s);
}

// Notes the rates of the stage that was solved last as those of the first stage.
fn keep_rates() {
    rates_first = rates_last;
}

// Turns the hand at the end of a step, by an angle.
fn turn_hand(angle: f32) {
    let sum = add3(turn, turn_low, vec3f(angle, 0.0, 0.0));
    turn = sum.high;
    turn_low = sum.low;
}
