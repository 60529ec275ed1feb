// The step: SDIRK2 with one sweep over the cells between solves (docs/model.md, section 5).
// Twin: src/kernel/step.rs. With a grid of bristles one workgroup steps one contact, and every lane
// solves the body's three equations for itself, from the same sums; with a reduced bristle every
// lane steps a contact of its own. The model's file (distributed.wgsl or reduced.wgsl) says which.

// Whether a tolerance chooses the steps: a pipeline constant.
override adaptive: bool = false;

// What a contact is, over the whole run.
struct Contact {
    sigma0: f32,
    sigma1: f32,
    sigma2: f32,
    gamma: f32,
    v_s: f32,
    s_ba: f32,
    k_g: f32,
    kind: u32,
    mass: f32,
    inertia: f32,
    pads: f32,
    offset_x: f32,
    offset_y: f32,
    dx: f32,
    dy: f32,
    arm2: f32,
    hertz_radius: f32,
    hertz_k: f32,
    hertz_k_per_newton: f32,
    hertz_most: f32,
    h_max: f32,
    tolerance: f32,
    radius: f32,
    viscous: f32,
    cop_x: f32,
    cop_y: f32,
    n_ls: u32,
    // Where the cells or the table start, and how many cells there are.
    cell_first: u32,
    cell_count: u32,
    zeta_first: u32,
    most_steps: u32,
}

// The intervals of a contact that are on the device, `begin` to `end` of its whole run, and where its
// samples go: sample n of the run to `record_first + n - sample_from`.
struct Window {
    interval_first: u32,
    begin: u32,
    end: u32,
    record_first: u32,
    sample_from: u32,
}

// The inputs between two break points, in local time.
struct Interval {
    length: f32,
    flags: u32,
    // The pressure map: the normal force that made it, and what a reduced bristle needs of it, also to carry
    // its zeta_3 over.
    map_f_n: f32,
    map_radius: f32,
    map_viscous: f32,
    map_slides: f32,
    map_sticks: f32,
    map_table: u32,
    term_first: u32,
    term_count: u32,
    c: array<f32, 18>,
}

// A sinusoid of an interval.
struct Term {
    slot: u32,
    amplitude: f32,
    omega: f32,
    phase: f32,
}

// Where a contact stands between two dispatches.
struct State {
    u: array<f32, 3>,
    u_low: array<f32, 3>,
    q: array<f32, 3>,
    q_low: array<f32, 3>,
    patch_twist: array<f32, 3>,
    rate: array<f32, 3>,
    left: f32,
    h_next: f32,
    interval: u32,
    at_least: u32,
    recorded: u32,
    status: u32,
    failed_step: u32,
    unconverged: u32,
    steps: u32,
    sweeps: u32,
}

// One sample.
struct Record {
    q: array<f32, 3>,
    q_low: array<f32, 3>,
    twist: array<f32, 3>,
    wrench: array<f32, 3>,
    f_n: f32,
    slip: f32,
}

// What a dispatch is told.
struct Run {
    contacts: u32,
    // Sweeps after which a dispatch stops between two steps; the next one goes on.
    max_sweeps: u32,
    // Zero, unknown to the compiler: keeps compensated sums from being optimised away.
    zero: u32,
}

@group(0) @binding(1) var<storage, read> contacts: array<Contact>;
@group(0) @binding(2) var<storage, read> windows: array<Window>;
@group(0) @binding(3) var<storage, read> intervals: array<Interval>;
@group(0) @binding(4) var<storage, read> terms: array<Term>;
@group(0) @binding(5) var<storage, read_write> states: array<State>;
@group(0) @binding(6) var<storage, read_write> zetas: array<vec2f>;
@group(0) @binding(7) var<storage, read_write> records: array<Record>;
@group(0) @binding(8) var<uniform> run: Run;

// The contact this workgroup steps.
var<private> c: Contact;
var<private> k: Consts;
var<private> u: vec3f;
var<private> u_low: vec3f;
var<private> q: vec3f;
var<private> q_low: vec3f;
var<private> patch_twist: vec3f;
var<private> pending: bool;
var<private> pending_stage: Stage;
var<private> arm2: f32;
// The interval it is in: read from memory once.
var<private> now: Interval;
// With a tolerance: the step to try next.
var<private> h_next: f32;
// With a tolerance: the derivative of what accept compares at the end of the last step, by time.
var<private> rate: vec3f;
// Stages of this step that have not converged.
var<private> unsolved: u32;
// Whether a stage of this step may have several solutions.
var<private> ambiguous: bool;
// Largest loading in this step.
var<private> largest_loading: f32;
var<private> status: u32;
var<private> failed_step: u32;
var<private> unconverged: u32;
var<private> steps: u32;
var<private> sweeps: u32;
// Sweep-like work of this dispatch that is no sweep of a step: samples, maps made anew.
var<private> extra_work: u32;

// T(q): rotates by -theta, then moves the reference point by o to the patch origin.
struct Transform {
    cos: f32,
    sin: f32,
    o: vec2f,
}

fn transform(pose: vec3f) -> Transform {
    if (c.kind == KIND_GRIPPER) {
        return Transform(1.0, 0.0, -pose.xy);
    }
    if (c.kind == KIND_BODY) {
        return Transform(cos(pose.z), sin(pose.z), vec2f(c.offset_x, c.offset_y));
    }
    return Transform(1.0, 0.0, vec2f(0.0));
}

fn at(v: vec3f, p: vec2f) -> vec3f {
    return vec3f(v.x - v.z * p.y, v.y + v.z * p.x, v.z);
}

fn to_patch(t: Transform, v: vec3f) -> vec3f {
    return at(vec3f(t.cos * v.x + t.sin * v.y, -t.sin * v.x + t.cos * v.y, v.z), t.o);
}

fn to_body(t: Transform, patch_v: vec3f) -> vec3f {
    let v = at(patch_v, -t.o);
    return vec3f(t.cos * v.x - t.sin * v.y, t.sin * v.x + t.cos * v.y, v.z);
}

// Columns of the matrix of to_patch.
fn matrix(t: Transform) -> mat3x3f {
    return mat3x3f(t.cos, -t.sin, 0.0, t.sin, t.cos, 0.0, -t.o.y, t.o.x, 1.0);
}

// All inputs at local time tau: f_N, the load or the prescribed twist, mu_c, mu_s.
struct Inputs {
    f_n: f32,
    load: vec3f,
    mu_c: f32,
    mu_s: f32,
}

fn polynomial(slot: u32, tau: f32) -> f32 {
    return now.c[3u * slot] + tau * (now.c[3u * slot + 1u] + tau * now.c[3u * slot + 2u]);
}

fn inputs(tau: f32) -> Inputs {
    var v = array<f32, 6>(
        polynomial(0u, tau),
        polynomial(1u, tau),
        polynomial(2u, tau),
        polynomial(3u, tau),
        polynomial(4u, tau),
        polynomial(5u, tau),
    );
    for (var i = now.term_first; i < now.term_first + now.term_count; i++) {
        v[terms[i].slot] += terms[i].amplitude * sin(terms[i].omega * tau + terms[i].phase);
    }
    return Inputs(max(v[0], 0.0), vec3f(v[1], v[2], v[3]), v[4], v[5]);
}

fn opaque_value(x: vec3f) -> vec3f {
    return bitcast<vec3f>(bitcast<vec3u>(x) ^ vec3u(run.zero));
}

fn opaque_number(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ run.zero);
}

// (high, low) + d, keeping in low what high cannot hold (two-sum), docs/model.md (64).
struct Compensated {
    high: vec3f,
    low: vec3f,
}

fn add(high: vec3f, low: vec3f, d: vec3f) -> Compensated {
    let y = d + low;
    let s = opaque_value(high + y);
    let t = opaque_value(s - high);
    return Compensated(s, (high - opaque_value(s - t)) + (y - t));
}

fn is_finite(v: vec3f) -> bool {
    return all((bitcast<vec3u>(v) & vec3u(0x7f800000u)) != vec3u(0x7f800000u));
}

// The longest step on which a stage has one solution on the falling Stribeck branch, docs/model.md (49); with
// a tolerance, no longer than the one to try.
fn longest_step(v: Inputs) -> f32 {
    let fall = c.pads * v.f_n * (v.mu_s - v.mu_c) * slope();
    let most = select(c.h_max, min(c.h_max, h_next), adaptive);
    if (c.kind == KIND_PRESCRIBED || fall <= 0.0) {
        return most;
    }
    let o = transform(q).o;
    let lever = 1.0 / (1.0 / c.mass + dot(o, o) / c.inertia);
    let m_e = min(min(c.mass, lever), c.inertia / max(arm2, TINY));
    return min(most, max(m_e * c.v_s / (KAPPA * fall), SHORTEST_RULED_STEP));
}

// A slope over s/v_s that the Stribeck bell does not exceed: k_g; with a tolerance and gamma = 2, where a
// bristle may be in the coming step.
fn slope() -> f32 {
    if (!adaptive || !gaussian) {
        return c.k_g;
    }
    let along = length(patch_twist.xy);
    let around = ARMS * sqrt(arm2) * abs(patch_twist.z);
    return min(steepest_between((along - around) / (AROUND * c.v_s), AROUND * (along + around) / c.v_s), c.k_g);
}

fn ahead(dt: f32) -> Transform {
    return transform(q + dt * u);
}

// One step of a body. `false` if it was too long: then nothing has moved, and the next one is shorter.
fn step_body(tau: f32, h: f32, at_least: u32) -> bool {
    let a = KAPPA * h;
    let t1 = ahead(a);
    let t2 = ahead(h);
    let before = patch_twist;
    unsolved = 0u;
    ambiguous = false;
    largest_loading = 0.0;
    let du1 = stage(inputs(tau + a), t1, a, vec3f(0.0), PULL, at_least);
    if (status != 0u) {
        return false;
    }
    if (adaptive) {
        keep();
    }
    let du2 = stage(inputs(tau + h), t2, a, PULL * du1, 1.0, at_least);
    if (status != 0u) {
        return false;
    }
    if (adaptive && !accept(h, du1, du2, at_least, 1.0)) {
        patch_twist = before;
        return false;
    }
    unconverged += unsolved;
    move_by(h * u + h * ((1.0 - KAPPA) * du1 + KAPPA * du2));
    let sum = add(u, u_low, du2);
    u = sum.high;
    u_low = sum.low;
    return true;
}

// Chooses the next step by the estimated errors of one of length h with the increments d1 up to its first
// stage and d2 up to its second. `false` if they are too large, or if a stage has not converged or may have
// several solutions: then the bristles are where they were. The increments are of the twist, with unit 1, or
// of a prescribed motion's friction over f_N, with unit mu_c. In the first step after a break point, where
// at_least is 2, the derivative before it says nothing.
fn accept(h: f32, d1: vec3f, d2: vec3f, at_least: u32, unit: f32) -> bool {
    // The second stage against the straight line through the first: the error of a first-order step,
    // docs/model.md (57).
    let first = size(d2 - d1 / KAPPA);
    // The third derivative, from the first derivatives at the step's start, its first stage and its end,
    // docs/model.md (56) and (58).
    let f1 = d1 / (KAPPA * h);
    let f2 = (d2 - (1.0 - KAPPA) / KAPPA * d1) / (KAPPA * h);
    let bend = (f2 - f1) / (1.0 - KAPPA) - (f1 - rate) / KAPPA;
    let third = select(0.0, 2.0 * ERROR_CONSTANT * h * size(bend), at_least == 1u);
    let limit = limits(c.tolerance * unit, d1, d2);
    let error = max(first / limit.x, third / (THIRD_ORDER_SHARE * limit.y));
    let change = clamp(SAFETY / sqrt(max(error, TINY)), CHANGE_LEAST, CHANGE_MOST);
    let solved = unsolved == 0u && !ambiguous;
    if ((error > 1.0 || !solved) && h > SHORTEST_CHOSEN_STEP) {
        restore();
        pending = false;
        h_next = max(h * min(change, select(RETREAT, SAFETY, solved)), SHORTEST_TRIED_STEP);
        return false;
    }
    // A step that the interval's end cut short says nothing against a longer one.
    let cut = h < SAFETY * h_next && change > 1.0;
    h_next = max(select(h * change, max(h_next, h * change), cut), SHORTEST_TRIED_STEP);
    rate = f2;
    return true;
}

// The largest component of a twist as a speed, its angular part times L.
fn size(v: vec3f) -> f32 {
    return max(max(abs(v.x), abs(v.y)), sqrt(arm2) * abs(v.z));
}

// What the estimates of first and third order may be at most in a step with increments d1 and d2: the
// tolerance, or a share of the speed where slow motion decides what follows. That is the motion of a reduced
// bristle that is about to break loose, where an error of the speed is one of the moment, and the creep of a
// law that knows no rest, which adds up.
fn limits(tolerance: f32, d1: vec3f, d2: vec3f) -> vec2f {
    let speed = max(size(u), max(size(u + d1), size(u + d2)));
    let relative = clamp(RELATIVE_TOLERANCE * speed, LEAST_TOLERANCE * tolerance, tolerance);
    let moves = c.kind != KIND_PRESCRIBED;
    let slips = largest_loading > NEAR_SLIP;
    let creeps = moves && !elasto_plastic;
    return select(vec2f(tolerance), vec2f(relative), vec2<bool>(slips || creeps, slips));
}

fn move_by(dq: vec3f) {
    let sum = add(q, q_low, dq);
    q = sum.high;
    q_low = sum.low;
}

// Solves one stage, docs/model.md (40) and (43), for the increment of the twist over u_n, from the increment
// `base`.
fn stage(v: Inputs, t: Transform, a: f32, base: vec3f, pull: f32, at_least: u32) -> vec3f {
    let st = stage_constants(v, a, pull);
    let mass = vec3f(c.mass, c.mass, c.inertia);
    let grip = c.pads * v.f_n;
    let turn = matrix(t);
    let enough = select(NEWTON_TOLERANCE, min(c.tolerance, NEWTON_TOLERANCE), adaptive);
    var du = to_body(t, patch_twist) - u;
    for (var newton = 1u; newton <= NEWTON_MOST; newton++) {
        let sums = sweep(k, patch_twist, pending, pending_stage, true, st);
        pending = false;
        sweeps += 1u;
        // The rows of the gain are the columns of its transpose: (T^T K T)^T = T^T K^T T.
        let gain = transpose(transpose(turn) * mat3x3f(sums.gain_x, sums.gain_y, sums.gain_w) * turn);
        let pulls = a * grip * gain;
        let rest = mass * (base - du) + a * (v.load - grip * (transpose(turn) * sums.resist));
        let d = solve(plus_diagonal(pulls, mass), rest);
        du += d;
        patch_twist = to_patch(t, u + du);
        if (!is_finite(patch_twist) || !is_finite(du)) {
            status |= FAILED_TWIST;
            failed_step = steps;
            return du;
        }
        let small = size(d) <= min(enough, reach(patch_twist));
        if ((small && newton >= at_least) || newton == NEWTON_MOST) {
            unsolved += select(1u, 0u, small);
            if (adaptive) {
                ambiguous = ambiguous || !is_definite(plus_diagonal(pulls, (1.0 - MASS_MARGIN) * mass));
                largest_loading = max(largest_loading, loading());
            }
            break;
        }
    }
    pending = true;
    pending_stage = st;
    return du;
}

fn plus_diagonal(m: mat3x3f, d: vec3f) -> mat3x3f {
    return m + mat3x3f(d.x, 0.0, 0.0, 0.0, d.y, 0.0, 0.0, 0.0, d.z);
}

// Whether the symmetric part of m is positive definite: whether the pivots of its elimination are positive.
fn is_definite(whole: mat3x3f) -> bool {
    let m = 0.5 * (whole + transpose(whole));
    let l1 = m[0].y / m[0].x;
    let l2 = m[0].z / m[0].x;
    let a11 = m[1].y - l1 * m[0].y;
    let a12 = m[1].z - l1 * m[0].z;
    let a22 = m[2].z - l2 * m[0].z;
    return m[0].x > 0.0 && a11 > 0.0 && a22 - a12 / a11 * a12 > 0.0;
}

// m x = b by elimination; m is definite, so it needs no pivots.
fn solve(m: mat3x3f, b: vec3f) -> vec3f {
    let l10 = m[0].y / m[0].x;
    let l20 = m[0].z / m[0].x;
    let a11 = m[1].y - l10 * m[1].x;
    let a12 = m[2].y - l10 * m[2].x;
    let a21 = m[1].z - l20 * m[1].x;
    let a22 = m[2].z - l20 * m[2].x;
    let b1 = b.y - l10 * b.x;
    let l21 = a21 / a11;
    let z = (b.z - l20 * b.x - l21 * b1) / (a22 - l21 * a12);
    let y = (b1 - a12 * z) / a11;
    return vec3f((b.x - m[1].x * y - m[2].x * z) / m[0].x, y, z);
}

fn stage_constants(v: Inputs, a: f32, pull: f32) -> Stage {
    let mu_d = v.mu_s - v.mu_c;
    let fall = 2.0 * a * c.pads * v.f_n * mu_d * c.k_g / c.v_s;
    var chi = 1.0;
    if (fall > c.mass) {
        chi = c.mass / fall;
    }
    return Stage(a * c.sigma0, c.sigma1 / (c.sigma0 * a), v.mu_c, mu_d, chi, pull);
}

// One step of a prescribed twist: nothing to solve. `false` if its error was too large, as in step_body.
fn follow(tau: f32, h: f32, at_least: u32) -> bool {
    let a = KAPPA * h;
    var way = vec3f(0.0);
    var mu_c = 0.0;
    // What the friction over f_N gains up to the stages.
    var d1 = vec3f(0.0);
    var d2 = vec3f(0.0);
    unsolved = 0u;
    ambiguous = false;
    largest_loading = 0.0;
    if (adaptive) {
        keep();
    }
    for (var i = 0u; i < 2u; i++) {
        let v = inputs(tau + select(h, a, i == 0u));
        let pull = select(1.0, PULL, i == 0u);
        way += h * select(KAPPA, 1.0 - KAPPA, i == 0u) * v.load;
        mu_c = v.mu_c;
        patch_twist = v.load;
        pending_stage = stage_constants(v, a, pull);
        pending = true;
        settle();
        sweeps += 1u;
        if (adaptive) {
            d1 = d2;
            d2 = moved() / vec3f(pull, pull, pull * max(arm2, TINY));
        }
    }
    if (adaptive && !accept(h, d1, d2, at_least, mu_c)) {
        return false;
    }
    move_by(way);
    return true;
}

// Finishes what is pending.
fn settle() {
    if (pending) {
        sweep(k, patch_twist, true, pending_stage, false, pending_stage);
        pending = false;
    }
}

// Writes the present state at inputs v as a sample.
fn record(v: Inputs, at_index: u32) {
    extra_work += 1u;
    if (pending) {
        settle();
        sweeps += 1u;
    }
    var twist = u;
    var patch_u = v.load;
    if (c.kind == KIND_PRESCRIBED) {
        twist = v.load;
    } else {
        patch_u = to_patch(transform(q), u);
    }
    let w = wrench(k, patch_u, Rate(c.sigma1, v.mu_c, v.mu_s - v.mu_c), v.f_n);
    if (!is_finite(w.xyz)) {
        status |= FAILED_WRENCH;
        failed_step = steps;
        return;
    }
    if (is_writer()) {
        records[at_index] = Record(
            array<f32, 3>(q.x, q.y, q.z),
            array<f32, 3>(q_low.x, q_low.y, q_low.z),
            array<f32, 3>(twist.x, twist.y, twist.z),
            array<f32, 3>(w.x, w.y, w.z),
            v.f_n,
            w.w,
        );
    }
}

@compute @workgroup_size(WORKGROUP)
fn rollout(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) index: u32,
) {
    let id = contact_of(group, groups, index);
    if (id >= run.contacts) {
        return;
    }
    status = states[id].status;
    var interval = states[id].interval;
    let window = windows[id];
    if (status != 0u || interval < window.begin || interval >= window.end) {
        return;
    }
    c = contacts[id];
    k = Consts(c.gamma, 1.0 / c.v_s, c.s_ba, 1.0 / (1.0 - c.s_ba), c.sigma2);
    let s = states[id];
    u = vec3f(s.u[0], s.u[1], s.u[2]);
    u_low = vec3f(s.u_low[0], s.u_low[1], s.u_low[2]);
    q = vec3f(s.q[0], s.q[1], s.q[2]);
    q_low = vec3f(s.q_low[0], s.q_low[1], s.q_low[2]);
    patch_twist = vec3f(s.patch_twist[0], s.patch_twist[1], s.patch_twist[2]);
    pending = false;
    arm2 = c.arm2;
    h_next = s.h_next;
    rate = vec3f(s.rate[0], s.rate[1], s.rate[2]);
    failed_step = s.failed_step;
    unconverged = s.unconverged;
    steps = s.steps;
    sweeps = s.sweeps;
    var left = s.left;
    var at_least = s.at_least;
    var recorded = s.recorded;
    extra_work = 0u;
    load_bristles();
    now = intervals[window.interval_first + interval - window.begin];
    if (left > 0.0 || (now.flags & FLAG_REMAP) == 0u) {
        follow_map();
    }

    let sweeps_before = sweeps;
    var work = 0u;
    while (interval < window.end && work < run.max_sweeps && status == 0u) {
        now = intervals[window.interval_first + interval - window.begin];
        if (left <= 0.0) {
            left = now.length;
            at_least = select(1u, 2u, (now.flags & FLAG_JUMP) != 0u);
            h_next = select(h_next, FRESH_STEP, (now.flags & FLAG_JUMP) != 0u);
            if ((now.flags & FLAG_REMAP) != 0u) {
                remap();
            }
            if ((now.flags & FLAG_FIRST) != 0u) {
                record(inputs(0.0), window.record_first + recorded - window.sample_from);
                recorded += 1u;
            }
        }
        while (left > 0.0 && work < run.max_sweeps && status == 0u) {
            let tau = now.length - left;
            let n = max(ceil(left / longest_step(inputs(tau)) - STEP_SLACK), 1.0);
            // The steps are differences of what is left, so that they add up to the interval.
            let rest = select(opaque_number(left - left / n), 0.0, n == 1.0);
            let h = left - rest;
            var taken = true;
            if (c.kind == KIND_PRESCRIBED) {
                taken = follow(tau, h, at_least);
            } else {
                taken = step_body(tau, h, at_least);
            }
            if (status == 0u && taken) {
                steps += 1u;
                at_least = 1u;
                left = rest;
                if (left > 0.0 && steps >= c.most_steps) {
                    status |= FAILED_STEPS;
                    failed_step = steps;
                }
            }
            work = sweeps - sweeps_before + extra_work;
        }
        if (left > 0.0 || status != 0u) {
            break;
        }
        if ((now.flags & FLAG_RECORD) != 0u) {
            record(inputs(now.length), window.record_first + recorded - window.sample_from);
            recorded += 1u;
        }
        interval += 1u;
    }

    settle();
    store_bristles();
    if (is_writer()) {
        states[id] = State(
            array<f32, 3>(u.x, u.y, u.z),
            array<f32, 3>(u_low.x, u_low.y, u_low.z),
            array<f32, 3>(q.x, q.y, q.z),
            array<f32, 3>(q_low.x, q_low.y, q_low.z),
            array<f32, 3>(patch_twist.x, patch_twist.y, patch_twist.z),
            array<f32, 3>(rate.x, rate.y, rate.z),
            left,
            h_next,
            interval,
            at_least,
            recorded,
            status,
            failed_step,
            unconverged,
            steps,
            sweeps,
        );
    }
}

// Fills the samples of this window with NaN: what a contact does not write stays NaN.
@compute @workgroup_size(WORKGROUP)
fn poison(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) index: u32,
) {
    let i = (group.x + group.y * groups.x) * WORKGROUP + index;
    if (i >= arrayLength(&records)) {
        return;
    }
    let nan = bitcast<f32>(0xffffffffu ^ run.zero);
    let nans = array<f32, 3>(nan, nan, nan);
    records[i] = Record(nans, nans, nans, nans, nan, nan);
}
