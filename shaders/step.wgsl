// The step: SDIRK2 with one pass over the bristles between two solves (docs/model.md, section 5).
// Twin: src/solver/step.rs. With a grid of bristles several lanes step one contact, and each of them solves
// the body's three equations for itself, from the same sums; with a reduced bristle every lane steps a
// contact of its own. The model's file says which.
//
// A pass commits the bristles to the stage that was solved before, evaluates the friction at the present
// guess of the next stage's twist, and takes a step of Newton for that twist; when that has converged the
// stage ends, and after two stages the step.
//
// Only here: `polynomial`, `to_commit`, `committed`, `move_by`.

// Constants of the contact that this lane steps.
var<private> k: Consts;
// The patch twist of the last solve: the next stage's guess, and where a pending stage is committed.
var<private> patch_twist: vec3f;
// Whether there is a pending stage, which is solved but not committed to the bristles yet, and what
// committing it takes.
var<private> pending: bool;
var<private> pending_stage: Pending;
// L^2 of the present map.
var<private> arm2: f32;
// The interval: where it is in memory; the time that is left of it; the least number of Newton steps of a
// stage, which is 2 in the first step after a jump of the inputs, else 1.
var<private> now_at: u32;
var<private> left: f32;
var<private> at_least: u32;
// The step: the time that it leaves of the interval, its length, its start in the interval.
var<private> rest: f32;
var<private> h: f32;
var<private> tau: f32;
// The stage: whether it is the second, its Newton steps so far.
var<private> second: bool;
var<private> newton_steps: u32;
// Stages of this step that have not converged.
var<private> unsolved: u32;
// Whether a stage of this step may have several solutions.
var<private> ambiguous: bool;
// Largest loading in this step.
var<private> largest_loading: f32;
// Whether the next pass starts a step; whether it only commits a pending stage.
var<private> starting: bool;
var<private> flushing: bool;
var<private> status: u32;
var<private> steps: u32;
// Passes of this dispatch.
var<private> passes: u32;
// Its work beside them, counted in passes: samples, maps made anew.
var<private> extra_work: u32;

fn polynomial(slot: u32, tau: f32) -> f32 {
    let now = &intervals[now_at];
    return now.c[3u * slot] + tau * (now.c[3u * slot + 1u] + tau * now.c[3u * slot + 2u]);
}

// The pose a time dt ahead.
fn pose_ahead(dt: f32) -> vec3f {
    let body = &bodies[own()];
    if (moving && contacts[contact].kind == KIND_GRIPPER) {
        return body.q + dt * rates_start.pose;
    }
    return body.q + dt * body.u;
}

// The transform at a pose q, which is a time dt ahead.
fn transform(q: vec3f, dt: f32) -> Transform {
    let c = &contacts[contact];
    if (c.kind == KIND_GRIPPER) {
        if (moving) {
            let e = turned(turn.x + dt * rates_start.turn);
            return Transform(e.x, e.y, -q.xy);
        }
        return Transform(1.0, 0.0, -q.xy);
    }
    if (c.kind == KIND_BODY) {
        let e = turned(q.z);
        return Transform(e.x, e.y, vec2f(c.offset_x, c.offset_y));
    }
    return Transform(1.0, 0.0, vec2f(0.0));
}

// The longest step on which a stage has one solution on the falling Stribeck branch, docs/model.md (49); with
// a tolerance, no longer than the step to try next.
fn longest_step(v: Inputs) -> f32 {
    let c = &contacts[contact];
    let fall = c.pads * v.f_n * c.most_friction * (v.mu_s - v.mu_c) * stribeck_slope();
    let most = select(c.h_max, min(c.h_max, bodies[own()].h_next), adaptive);
    if (c.kind == KIND_PRESCRIBED || fall <= 0.0) {
        return most;
    }
    let o = transform(bodies[own()].q, 0.0).o;
    let lever = 1.0 / (1.0 / c.mass + dot(o, o) / c.inertia);
    let m_e = min(min(c.mass, lever), c.inertia / max(arm2, TINY));
    return min(most, max(m_e * c.v_s / (KAPPA * fall), SHORTEST_RULED_STEP));
}

// A bound on the slope of the Stribeck curve's exponential over s/v_s: k_g, or, with a tolerance and gamma =
// 2, its steepest slope at the speeds that bristles may have in the coming step, docs/model.md (53).
fn stribeck_slope() -> f32 {
    let c = &contacts[contact];
    // Several patches may slide at several speeds.
    if (!adaptive || !gaussian || DRIVES_PARTS) {
        return c.k_g;
    }
    let u = directed(patch_twist);
    let along = length(u.xy);
    let around = LEVER_MARGIN * sqrt(arm2) * abs(u.z);
    let bound = steepest_between((along - around) / (SPEED_MARGIN * c.v_s), SPEED_MARGIN * (along + around) / c.v_s);
    return min(bound, c.k_g);
}

// Starts a step: chooses its length.
fn start_step() {
    let c = &contacts[contact];
    let now = &intervals[now_at];
    tau = now.length - left;
    if (moving) {
        start_rates(surface_twist(tau, 0.0));
    }
    let n = max(ceil(left / longest_step(inputs(tau)) - STEP_SLACK), 1.0);
    // The steps are differences of what is left, so that they add up to the interval, docs/model.md (55).
    rest = select(opaque_number(left - left / n), 0.0, n == 1.0);
    h = left - rest;
    bodies[own()].before = patch_twist;
    if (adaptive && c.kind == KIND_PRESCRIBED) {
        save();
    }
    unsolved = 0u;
    ambiguous = false;
    largest_loading = 0.0;
    starting = false;
}

fn to_commit(st: Stage) -> Pending {
    return Pending(st.a_sigma0, st.mu_c, st.mu_d, st.extrapolation);
}

fn committed(p: Pending, cuts: bool) -> Stage {
    return Stage(p.a_sigma0, 0.0, p.mu_c, p.mu_d, 1.0, p.extrapolation, cuts);
}

// The constants of the present stage, which is a long and has inputs v.
fn stage_constants(v: Inputs, a: f32) -> Stage {
    let c = &contacts[contact];
    let mu_d = v.mu_s - v.mu_c;
    // With the factor chi the matrix of the Newton step stays positive definite, docs/model.md (52).
    let fall = 2.0 * a * c.pads * v.f_n * c.most_friction * mu_d * c.k_g / c.v_s;
    var chi = 1.0;
    if (fall > c.mass) {
        chi = c.mass / fall;
    }
    let extrapolation = select(EXTRAPOLATION, 1.0, second);
    // The limit may have fallen with the inputs' jump, docs/model.md (36a).
    let cuts = at_least > 1u && c.kind == KIND_PRESCRIBED && !second;
    return Stage(a * c.sigma0, c.sigma1 / (c.sigma0 * a), v.mu_c, mu_d, chi, extrapolation, cuts);
}

// One pass of a task. The lanes that share a contact come here together.
fn pass_over_bristles(task: u32) {
    if (starting) {
        start_step();
    }
    let prescribed = (task & TASK_PRESCRIBED) != 0u;
    let solving = (task & TASK_SOLVE) != 0u;
    let a = KAPPA * h;
    let dt = select(a, h, second);
    let v = inputs(tau + dt);
    let st = stage_constants(v, a);
    if (prescribed) {
        // There is nothing to solve, so that this pass commits the stage at once.
        patch_twist = v.load;
        if (moving) {
            patch_twist -= surface_twist(tau, dt);
        }
        if (!second) {
            bodies[own()].before = v.load;
        }
        pending_stage = to_commit(st);
        pending = true;
    }
    if (DRIVES_PARTS) {
        let q = pose_ahead(dt);
        follow_parts(tau, dt, transform(q, dt), q);
    }
    let twist = directed(at(patch_twist, patch_point()));
    let sums = patch_wrench(sweep(k, twist, pending, committed(pending_stage, st.cuts), solving, st));
    pending = false;
    passes += 1u;
    var solved = false;
    if (solving) {
        solved = newton(a, dt, v, sums);
    } else if (adaptive && prescribed) {
        // The increment that the step control compares is that of the friction over f_N, its torque over L^2.
        let scale = st.extrapolation;
        bodies[own()].du = directed(force_change()) / vec3f(scale, scale, scale * max(arm2, TINY));
    }
    if (flushing || status != 0u) {
        return;
    }
    let ended = finish_stage(st, solved, prescribed);
    if (ended && adaptive && !accept(v.mu_c)) {
        starting = true;
        return;
    }
    if (DRIVES_PARTS) {
        commit_parts();
    }
    if (ended) {
        finish_step(v.load);
    }
}

// A step of Newton for the increment du of the twist over the one at the step's start, docs/model.md (43),
// from the sums of a pass at the present guess. Returns whether the stage is solved.
fn newton(a: f32, dt: f32, v: Inputs, sums: Sums) -> bool {
    let c = &contacts[contact];
    let body = &bodies[own()];
    let q = pose_ahead(dt);
    let t = transform(q, dt);
    let point = patch_point();
    let mass = vec3f(c.mass, c.mass, c.inertia);
    let grip = a * c.pads * v.f_n;
    var du = body.du;
    var s = vec3f(0.0);
    if (moving) {
        s = surface_twist(tau, dt);
    }
    if (newton_steps == 0u) {
        if (moving) {
            du = slipping_body(t, q, patch_twist, s) - body.u;
        } else {
            du = transform_body_twist(t, patch_twist) - body.u;
        }
    }
    var base = vec3f(0.0);
    if (second) {
        base = EXTRAPOLATION * body.du1;
    }
    let gain = grip * transform_gain(t, sums.gain_x, sums.gain_y, sums.gain_w, point);
    let residual = mass * (base - du) + a * v.load - grip * transform_wrench(t, sums.resist, point);
    let d = solve(plus_diagonal(gain, mass), residual);
    du += d;
    body.du = du;
    if (moving) {
        patch_twist = slip_twist(t, q, body.u + du, s);
        rates_last = rates(q, body.u + du, patch_twist, s);
    } else {
        patch_twist = transform_twist(t, body.u + du);
    }
    if (!is_finite(patch_twist) || !is_finite(du)) {
        status |= FAILED_TWIST;
        return false;
    }
    let enough = select(NEWTON_TOLERANCE, min(c.tolerance, NEWTON_TOLERANCE), adaptive);
    var radius = trust_radius(directed(at(patch_twist, point)));
    if (has_axes) {
        radius /= max(c.across, 1.0);
    }
    let small = size(d) <= min(enough, radius);
    newton_steps += 1u;
    let last = newton_steps >= NEWTON_MOST;
    let solved = (small && newton_steps >= at_least) || last;
    if (solved) {
        unsolved += select(1u, 0u, small);
        if (adaptive) {
            ambiguous = ambiguous || !(least_pivot(plus_diagonal(gain, (1.0 - MASS_MARGIN) * mass)) > 0.0);
            largest_loading = max(largest_loading, loading());
        }
    }
    return solved;
}

// The largest component of a twist as a speed, its angular part times L, docs/model.md (18).
fn size(v: vec3f) -> f32 {
    return max(max(abs(v.x), abs(v.y)), sqrt(arm2) * abs(v.z));
}

// Ends the stage st if it is solved, or the twist prescribed. Returns whether that ends the step.
fn finish_stage(st: Stage, solved: bool, prescribed: bool) -> bool {
    if (solved) {
        pending = true;
        pending_stage = to_commit(st);
    }
    if (!solved && !prescribed) {
        return false;
    }
    newton_steps = 0u;
    if (!second) {
        bodies[own()].du1 = bodies[own()].du;
        if (moving) {
            keep_rates();
        }
        if (adaptive && solved) {
            save();
        }
    }
    second = !second;
    return !second;
}

// Step control (docs/model.md, section 5.8): estimates the errors of this step from the increments of its
// stages and chooses the length of the next. `false` if they are too large, or if a stage has not converged
// or may have several solutions: then the contact goes back to the start of the step and takes a shorter one.
// The increments are those of the twist, or, of a prescribed motion, of the friction over f_N, for which the
// tolerance is multiplied by mu_c. In the first step after a break point the derivative at the end of the
// step before is of no use, as the inputs may have jumped.
fn accept(mu_c: f32) -> bool {
    let c = &contacts[contact];
    let body = &bodies[own()];
    var du = body.du;
    var du1 = body.du1;
    let sliding = moving && c.kind != KIND_PRESCRIBED;
    if (sliding) {
        // On a surface that moves it is the slip that has to be exact.
        du1 = rates_first.slip - rates_start.slip;
        du = rates_last.slip - rates_start.slip;
    }
    // The second stage against the straight line through the first: the error of a first-order step,
    // docs/model.md (57).
    let first = size(du - du1 / KAPPA);
    // The third derivative, from the first derivatives at the step's start, its first stage and its end,
    // docs/model.md (56) and (58).
    let f1 = du1 / (KAPPA * h);
    let f2 = (du - (1.0 - KAPPA) / KAPPA * du1) / (KAPPA * h);
    let bend = (f2 - f1) / (1.0 - KAPPA) - (f1 - body.rate) / KAPPA;
    let third = select(0.0, 2.0 * ERROR_CONSTANT * h * size(bend), at_least == 1u);
    let limit = limits(c.tolerance * select(1.0, mu_c, c.kind == KIND_PRESCRIBED));
    var error = max(first / limit.x, third / (THIRD_ORDER_SHARE * limit.y));
    if (sliding) {
        error = max(error, pose_error() / c.tolerance);
    }
    if (DRIVES_PARTS && c.kind != KIND_PRESCRIBED) {
        error = max(error, error_of_parts() / c.tolerance);
    }
    let change = clamp(SAFETY / sqrt(max(error, TINY)), STEP_CHANGE_LEAST, STEP_CHANGE_MOST);
    let solved = unsolved == 0u && !ambiguous;
    if ((error > 1.0 || !solved) && h > SHORTEST_CHOSEN_STEP) {
        restore();
        patch_twist = body.before;
        pending = false;
        let shrink = min(change, select(SHRINK_ON_FAILURE, SAFETY, solved));
        body.h_next = max(h * shrink, SHORTEST_TRIED_STEP);
        return false;
    }
    // A step that was short because the interval ends is no reason to make the next one as short.
    let cut = h < SAFETY * body.h_next && change > 1.0;
    body.h_next = max(select(h * change, max(body.h_next, h * change), cut), SHORTEST_TRIED_STEP);
    body.rate = f2;
    return true;
}

// What the estimates of first and third order may be at most, docs/model.md (60): the tolerance, or a share
// of the speed where slow motion decides what follows. That is the motion of a reduced bristle that is about
// to break loose, where an error of the speed shifts the moment at which it does, and the creep under a law
// without an elastic range, which adds up.
fn limits(tolerance: f32) -> vec2f {
    let c = &contacts[contact];
    let body = &bodies[own()];
    var rounding = 0.0;
    var speed = max(size(body.u), max(size(body.u + body.du1), size(body.u + body.du)));
    if (moving && c.kind != KIND_PRESCRIBED) {
        // There it is the slip that is slow.
        rounding = SLIP_ROUNDING * speed;
        speed = max(size(rates_start.slip), max(size(rates_first.slip), size(rates_last.slip)));
    }
    let relative = clamp(RELATIVE_TOLERANCE * speed, LEAST_TOLERANCE * tolerance, tolerance);
    let slips = largest_loading > NEAR_SLIP;
    let creeps = c.kind != KIND_PRESCRIBED && !ELASTIC;
    let limits = select(vec2f(tolerance), vec2f(relative), vec2<bool>(slips || creeps, slips));
    return max(limits, vec2f(rounding));
}

// Estimated error of the pose on a surface that moves, docs/model.md (59a): that of the formula, from the
// rates at the start of the step and in its stages, and that of the pose ahead, at which the surface has
// another velocity if it turns.
fn pose_error() -> f32 {
    let start = rates_start.pose;
    let first = rates_first.pose;
    let last = rates_last.pose;
    let bend = (last - first) / (1.0 - KAPPA) - (first - start) / KAPPA;
    let strays = (1.0 - KAPPA) * first + KAPPA * last - start;
    return QUADRATURE * size(bend) + h * abs(rates_last.turn) * size(strays);
}

// Moves the body at the end of a step, and starts the next one if the interval goes on.
fn finish_step(load: vec3f) {
    let c = &contacts[contact];
    let window = &windows[contact];
    let body = &bodies[own()];
    var dq = h * ((1.0 - KAPPA) * body.before + KAPPA * load);
    if (c.kind != KIND_PRESCRIBED) {
        dq = h * body.u + h * ((1.0 - KAPPA) * body.du1 + KAPPA * body.du);
        if (moving && c.kind == KIND_GRIPPER) {
            dq = h * ((1.0 - KAPPA) * rates_first.pose + KAPPA * rates_last.pose);
            turn_hand(h * ((1.0 - KAPPA) * rates_first.turn + KAPPA * rates_last.turn));
        }
        let sum = add3(body.u, body.u_low, body.du);
        body.u = sum.high;
        body.u_low = sum.low;
    }
    move_by(dq);
    if (unsolved > 0u && is_writer()) {
        states[contact].unconverged += unsolved;
    }
    steps += 1u;
    at_least = 1u;
    left = rest;
    if (left > 0.0 && steps >= window.most_steps) {
        status |= FAILED_STEPS;
    }
    starting = left > 0.0;
}

fn move_by(dq: vec3f) {
    let body = &bodies[own()];
    let sum = add3(body.q, body.q_low, dq);
    body.q = sum.high;
    body.q_low = sum.low;
}

fn is_finite(v: vec3f) -> bool {
    return all((bitcast<vec3u>(v) & vec3u(0x7f800000u)) != vec3u(0x7f800000u));
}
