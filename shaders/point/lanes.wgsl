// The fixed step of a point contact (docs/model.md, section 13). Twin: src/solver/point/lanes.rs. Every lane
// steps a contact of its own.
//
// Only here: `polynomial`, `transform`, `pass_over_bristles`, `wrench`, `contact_of`, `is_writer`,
// `load_bristles`, `store_bristles`, `transfer_bristles`, `makes_map`, `follow_map`,
// `is_finite`, `commits_before_remap`.

// No number of a patch is bound here, but all kernels have the same bindings.
@group(0) @binding(0) var<storage, read> tables: array<f32>;

// Constants of a recorded wrench, of which a point contact takes the coefficients of friction.
struct Rate {
    sigma1: f32,
    mu_c: f32,
    mu_d: f32,
}

// Constants of the contact that this lane steps.
var<private> k: Consts;
// The friction of the last step.
var<private> force: vec2f;
// Where the interval is in memory, and the time that is left of it.
var<private> now_at: u32;
var<private> left: f32;
// The step: the time that it leaves of the interval, its length, its start in the interval.
var<private> rest: f32;
var<private> h: f32;
var<private> tau: f32;
// The inputs at its start, of a law that collocates.
var<private> at_tau: Inputs;
var<private> status: u32;
var<private> steps: u32;
var<private> passes: u32;
// Work of this dispatch beside its passes, counted in passes.
var<private> extra_work: u32;
// What only kernels for bristles use.
var<private> patch_twist: vec3f;
var<private> pending: bool;
var<private> pending_stage: Pending;
var<private> arm2: f32;
var<private> at_least: u32;
var<private> second: bool;
var<private> newton_steps: u32;
var<private> starting: bool;
var<private> flushing: bool;

fn polynomial(slot: u32, tau: f32) -> f32 {
    let now = &intervals[now_at];
    return fma(tau, fma(tau, now.c[3u * slot + 2u], now.c[3u * slot + 1u]), now.c[3u * slot]);
}

fn transform(_pose: vec3f, _dt: f32) -> Transform {
    return Transform(1.0, 0.0, vec2f(0.0));
}

// The longest step of a law that collocates; else a long one.
fn longest_step(v: Inputs) -> f32 {
    let c = &contacts[contact];
    if (!COLLOCATES || c.kind == KIND_PRESCRIBED) {
        return 1e30;
    }
    let stiffness = c.pads * v.f_n * c.sigma0 * stiffness_share() / c.mass;
    let longest = LONGEST_PHASE * inverseSqrt(max(stiffness, 1e-12));
    let s = step_of(longest, v);
    let most = MOST_PASSED / max(point_length(s.load + force).z / c.mass * k.inv_v_s, 1e-12);
    // Speed over v_s at which the branch is out of the step's reach.
    let reach = MOST_PASSED * min(longest, c.h_max) / most + BRANCH_END;
    let passes = point_length(s.v).z * k.inv_v_s < reach && s.curve.fall > 0.0 && some_at_limit();
    return select(longest, min(longest, most), passes);
}

// What the step of length t that ends with inputs v is made of.
fn step_of(t: f32, v: Inputs) -> Step {
    let c = &contacts[contact];
    let body = &bodies[own()];
    let load = v.load.xy - c.spring * body.q_low.xy - c.spring * body.q.xy;
    let mu_d = v.mu_s - v.mu_c;
    let curve = Curve(k, v.mu_c, mu_d, fma(mu_d, c.k_g * k.inv_v_s, -k.sigma2));
    let grip = c.pads * v.f_n;
    return Step(
        t, t / c.mass, grip, curve, c.sigma0, c.sigma1, c.s_ba, c.band, c.slider_mass, c.attraction, c.spring, load,
        body.u.xy,
    );
}

// Starts the next step: its start in the interval, its length, and the time that it leaves.
fn start_step() {
    let c = &contacts[contact];
    let now = &intervals[now_at];
    tau = now.length - left;
    if (COLLOCATES) {
        at_tau = inputs(tau);
    }
    let n = max(ceil(left / min(c.h_max, longest_step(at_tau)) - STEP_SLACK), 1.0);
    // The steps are differences of what is left, so that they add up to the interval, docs/model.md (55).
    rest = select(opaque_number(left - left / n), 0.0, n == 1.0);
    h = left - rest;
}

// One step, which is a pass.
fn pass_over_bristles(_task: u32) {
    start_step();
    passes += 1u;
    if (COLLOCATES) {
        collocate();
    } else {
        let v = inputs(tau + h);
        let s = step_of(h, v);
        let is_given = contacts[contact].kind == KIND_PRESCRIBED;
        if (several(s, select(without_friction(s), v.load.xy, is_given), is_given)) {
            states[contact].unconverged += 1u;
        }
        var outcome = FreeStep(vec2f(0.0), vec2f(0.0), false);
        if (is_given) {
            outcome.force = driven(s, v.load.xy);
        } else {
            outcome = free_step(s);
        }
        force = outcome.force;
        move_body(v, outcome.change, outcome.stops);
        move_pose(h * bodies[own()].u);
    }
    finish_step();
}

// The velocity of the body after a step: that which is given, or changed, or rest.
fn move_body(v: Inputs, change: vec2f, stops: bool) {
    let c = &contacts[contact];
    let body = &bodies[own()];
    if (c.kind == KIND_PRESCRIBED) {
        body.u = v.load;
    } else {
        let sum = add3(body.u, body.u_low, vec3f(change, 0.0));
        body.u = select(sum.high, vec3f(0.0), stops);
        body.u_low = select(sum.low, vec3f(0.0), stops);
    }
}

// Moves the body along a path.
fn move_pose(path: vec3f) {
    let body = &bodies[own()];
    let sum = add3(body.q, body.q_low, path);
    body.q = sum.high;
    body.q_low = sum.low;
}

// Ends a step.
fn finish_step() {
    let window = &windows[contact];
    steps += 1u;
    left = rest;
    if (!is_finite(bodies[own()].u) || !is_finite(vec3f(force, bodies[own()].q.x))) {
        status |= FAILED_TWIST;
    } else if (left > 0.0 && steps >= window.most_steps) {
        status |= FAILED_STEPS;
    }
}

// The friction wrench of one pad in the last step, and the shares of friction.
fn wrench(k: Consts, u: vec3f, rate: Rate, f_n: f32) -> Measured {
    let c = &contacts[contact];
    let v = Inputs(f_n, vec3f(0.0), rate.mu_c, rate.mu_c + rate.mu_d);
    return Measured(vec3f(force / c.pads, 0.0), shares(step_of(1.0, v), force));
}

fn contact_of(invocation: Invocation) -> u32 {
    return (invocation.group.x + invocation.group.y * invocation.groups.x) * WORKGROUP + invocation.index;
}

fn is_writer() -> bool {
    return true;
}

fn load_bristles() {
    let c = &contacts[contact];
    force = zetas[c.zeta_first];
    load_elements();
}

fn store_bristles() {
    let c = &contacts[contact];
    zetas[c.zeta_first] = force;
    store_elements();
}

fn transfer_bristles() {}

fn makes_map() -> bool {
    return false;
}

fn follow_map(_makes: bool) {}

fn commits_before_remap() -> bool {
    return false;
}

fn is_finite(v: vec3f) -> bool {
    return all((bitcast<vec3u>(v) & vec3u(0x7f800000u)) != vec3u(0x7f800000u));
}
