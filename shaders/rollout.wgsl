// The entry points: steps contacts through the intervals of a window, and fills the samples of a window with
// NaN.

// A pipeline constant: whether a tolerance chooses the steps.
override adaptive: bool = false;

// The parameters of a contact, constant over the whole run.
struct Contact {
    sigma0: f32,
    sigma1: f32,
    sigma2: f32,
    gamma: f32,
    v_s: f32,
    s_ba: f32,
    k_g: f32,
    // The greatest factor of friction: of the friction map, and of A^2 where friction has axes.
    most_friction: f32,
    kind: u32,
    mass: f32,
    inertia: f32,
    pads: f32,
    offset_x: f32,
    offset_y: f32,
    dx: f32,
    dy: f32,
    hertz_radius: f32,
    hertz_k: f32,
    hertz_k_per_newton: f32,
    hertz_most: f32,
    h_max: f32,
    tolerance: f32,
    n_ls: u32,
    // Of a point contact: its spring and what its law has (src/point.rs).
    spring: f32,
    band: f32,
    slider_mass: f32,
    attraction: f32,
    // When it has left (src/contact/motion.rs): limits, where the point at the centre of pressure started,
    // and its arm.
    stop_displacement: f32,
    stop_rotation: f32,
    stop_slip_for: f32,
    start_x: f32,
    start_y: f32,
    start_theta: f32,
    arm_x: f32,
    arm_y: f32,
    // How many cells there are, and where the bristles start.
    cell_count: u32,
    zeta_first: u32,
    // Axes of friction: the matrix A, and its determinant.
    axes_xx: f32,
    axes_xy: f32,
    axes_yy: f32,
    across: f32,
}

// The intervals of a contact that are on the device, `begin` to `end` of its whole run, behind one that holds
// the map before them, and where its samples go: sample n of the run to `record_first + n - sample_from`.
struct Window {
    interval_first: u32,
    begin: u32,
    end: u32,
    record_first: u32,
    sample_from: u32,
    // Steps of the whole run after which the contact is stopped.
    most_steps: u32,
}

// The inputs between two break points, in local time.
struct Interval {
    length: f32,
    flags: u32,
    // The pressure map: the normal force for which it was made; torsional radius, L^2 (of a reduced bristle
    // its viscous factor) and centre of pressure; the factors by which zeta_3 of a reduced bristle is
    // transferred to it (src/contact/transfer.rs); where its cells or its table start.
    map_f_n: f32,
    map_radius: f32,
    map_arm2: f32,
    map_cop_x: f32,
    map_cop_y: f32,
    map_deflection: f32,
    map_rotation: f32,
    map_first: u32,
    term_first: u32,
    term_count: u32,
    c: array<f32, 3u * SLOT_COUNT>,
}

// A sinusoid of an interval; of a moving surface, and of patches with inputs of their own, also a polynomial,
// whose three coefficients stand in the place of amplitude, frequency and phase (shaders/moving_surface.wgsl,
// shaders/parts.wgsl).
struct Term {
    slot: u32,
    amplitude: f32,
    omega: f32,
    phase: f32,
}

// The state of a contact between two dispatches.
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
    passes: u32,
    // Whether there is a pending stage, and that stage.
    is_pending: u32,
    pending: array<f32, 4>,
    // Time since the first of the last samples in which all slides; negative if the last one does not.
    slides_for: f32,
    // How far a moving hand has turned since the start, with its low part.
    turn: f32,
    turn_low: f32,
}

// What committing a stage takes of its constants; each takes a register in every pass.
struct Pending {
    a_sigma0: f32,
    mu_c: f32,
    mu_d: f32,
    extrapolation: f32,
}

// What a contact needs between its passes.
struct Body {
    // Twist and pose of the centre of mass as compensated sums; the low parts hold what rounding cut off.
    u: vec3f,
    u_low: vec3f,
    q: vec3f,
    q_low: vec3f,
    // The patch twist at the start of the step; the prescribed one in its first stage.
    before: vec3f,
    // The increment up to the first stage and to the present one: of the twist, or of a prescribed motion's
    // friction over f_N.
    du1: vec3f,
    du: vec3f,
    // With a tolerance: the derivative by time of what accept compares, at the end of the last step.
    rate: vec3f,
    // With a tolerance: the step to try next.
    h_next: f32,
    // Time for which it has been sliding in all samples; negative if it does not.
    slides_for: f32,
}

// One sample.
struct Record {
    q: array<f32, 3>,
    q_low: array<f32, 3>,
    twist: array<f32, 3>,
    wrench: array<f32, 3>,
    f_n: f32,
    slip: f32,
    near_limit: f32,
}

// The friction wrench of a sample, and the shares of the normal force on bristles that slip and on bristles
// near their limit.
struct Measured {
    wrench: vec3f,
    shares: vec2f,
}

// The parameters of a dispatch.
struct Run {
    contacts: u32,
    // Passes after which a dispatch stops between two steps; the next one goes on.
    max_passes: u32,
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

// What a contact does next, in bits. All its lanes come to the same; where they share a barrier they also
// agree on it (`agreed`), since WGSL allows a barrier only where a compiler can prove that all lanes of the
// workgroup come to it.
// Nothing, in this dispatch; something.
const DONE = 0u;
const TASK = 1u;
// Records a sample at the end of the interval.
const TASK_SAMPLE = 2u;
// Takes over the interval's pressure map; makes that map from the normal force.
const TASK_FOLLOW = 4u;
const TASK_MAKE_MAP = 8u;
// Makes passes, each of which solves for the twist, or takes a prescribed one; without either of these it
// only commits a stage.
const TASK_PASSES = 16u;
const TASK_SOLVE = 32u;
const TASK_PRESCRIBED = 64u;

// Whether the contact is in an interval, which it leaves when no time of it is left.
var<private> inside: bool;
// Whether the bristles do not have the interval's pressure map yet.
var<private> stale: bool;
// Whether the interval has been entered, and its map is another, since the map was last followed.
var<private> remapped: bool;

// The index of the contact.
var<private> contact: u32;

// Whether the contact has left, at a sample with that slipping share. Of a prescribed motion the pose is the
// integral of the twist at the origin, in axes that turn with the patch.
fn has_left(slip: f32) -> bool {
    let c = &contacts[contact];
    let body = &bodies[own()];
    body.slides_for = select(-1.0, max(body.slides_for, 0.0), slip >= ALL_SLIDES);
    let start = vec3f(c.start_x, c.start_y, c.start_theta);
    let arm = vec2f(c.arm_x, c.arm_y);
    let moved = body.q - start + body.q_low;
    var at = moved.xy + moved.z * vec2f(-arm.y, arm.x);
    if (c.kind != KIND_PRESCRIBED) {
        let t = turned(body.q.z);
        at = moved.xy + vec2f(arm.x * t.x - arm.y * t.y, arm.x * t.y + arm.y * t.x);
    }
    let most = c.stop_displacement;
    return dot(at, at) >= most * most || abs(moved.z) >= c.stop_rotation || body.slides_for >= c.stop_slip_for;
}

// Writes the present state at inputs v as a sample; no stage is pending.
fn record(v: Inputs, at_index: u32) {
    let c = &contacts[contact];
    extra_work += 1u;
    let body = &bodies[own()];
    var twist = body.u;
    var patch_u = v.load;
    if (c.kind == KIND_PRESCRIBED) {
        twist = v.load;
    } else {
        patch_u = transform_twist(transform(body.q, 0.0), body.u);
    }
    if (moving) {
        let s = surface_twist(intervals[now_at].length, 0.0);
        if (c.kind == KIND_PRESCRIBED) {
            patch_u -= s;
        } else {
            patch_u = slip_twist(transform(body.q, 0.0), body.q, body.u, s);
        }
        if (c.kind == KIND_GRIPPER) {
            twist = at(patch_u, body.q.xy);
        }
    }
    if (DRIVES_PARTS) {
        follow_parts(intervals[now_at].length, 0.0, transform(body.q, 0.0), body.q);
    }
    let rate = Rate(c.sigma1, v.mu_c, v.mu_s - v.mu_c);
    balance_loads(k, directed(patch_u), rate);
    var w = wrench(k, directed(patch_u), rate, v.f_n);
    w.wrench = directed(w.wrench);
    if (!is_finite(w.wrench)) {
        status |= FAILED_WRENCH;
        return;
    }
    if (is_writer()) {
        records[at_index] = Record(
            numbers(body.q),
            numbers(body.q_low),
            numbers(twist),
            numbers(w.wrench),
            v.f_n,
            w.shares.x,
            w.shares.y,
        );
    }
    if (has_left(w.shares.x)) {
        status |= LEFT;
    }
}

// Enters the interval that was read. If the map changes and the bristles must commit before that, no stage is
// pending.
fn enter_interval() {
    let now = &intervals[now_at];
    let jump = (now.flags & FLAG_JUMP) != 0u;
    left = select(now.length, 0.0, (now.flags & FLAG_AT_END) != 0u);
    at_least = select(1u, 2u, jump);
    if (jump) {
        bodies[own()].h_next = FRESH_STEP;
    }
    if ((now.flags & FLAG_REMAP) != 0u) {
        transfer_bristles();
        stale = true;
        remapped = true;
    }
    starting = left > 0.0;
}

// Records the sample at the end of the interval; no stage is pending.
fn record_end() {
    let now = &intervals[now_at];
    let window = &windows[contact];
    let recorded = states[contact].recorded;
    record(inputs(now.length), window.record_first + recorded - window.sample_from);
    if (is_writer()) {
        states[contact].recorded = recorded + 1u;
    }
}

// Counts how long the contact has been sliding, up to the end of the interval.
fn slide_on() {
    let now = &intervals[now_at];
    let body = &bodies[own()];
    if (body.slides_for >= 0.0) {
        body.slides_for += now.length;
    }
}

// Leaves the interval at its end.
fn leave_interval() {
    inside = false;
    left = 0.0;
    starting = false;
    now_at += 1u;
    take_interval();
}

// Whether the contact has come to the end of its window.
fn is_through() -> bool {
    let window = &windows[contact];
    return now_at - window.interval_first >= window.end - window.begin;
}

// Whether a sample is due where no time of the interval is left.
fn ends_with_sample() -> bool {
    let now = &intervals[now_at];
    return (now.flags & FLAG_RECORD) != 0u;
}

// A vector as the structs of buffers have it.
fn numbers(v: vec3f) -> array<f32, 3> {
    return array<f32, 3>(v.x, v.y, v.z);
}

// Reads the constants and the state of the contact, except for the bristles, its interval and its status.
fn load_state() {
    let c = &contacts[contact];
    let s = &states[contact];
    k = Consts(c.gamma, 1.0 / c.v_s, c.s_ba, 1.0 / (1.0 - c.s_ba), c.sigma2);
    let body = &bodies[own()];
    body.u = vec3f(s.u[0], s.u[1], s.u[2]);
    body.u_low = vec3f(s.u_low[0], s.u_low[1], s.u_low[2]);
    body.q = vec3f(s.q[0], s.q[1], s.q[2]);
    body.q_low = vec3f(s.q_low[0], s.q_low[1], s.q_low[2]);
    patch_twist = vec3f(s.patch_twist[0], s.patch_twist[1], s.patch_twist[2]);
    pending = s.is_pending != 0u;
    let stage = s.pending;
    pending_stage = Pending(stage[0], stage[1], stage[2], stage[3]);
    body.h_next = s.h_next;
    body.rate = vec3f(s.rate[0], s.rate[1], s.rate[2]);
    steps = s.steps;
    passes = 0u;
    left = s.left;
    at_least = s.at_least;
    body.slides_for = s.slides_for;
    if (moving) {
        turn = vec3f(s.turn, 0.0, 0.0);
        turn_low = vec3f(s.turn_low, 0.0, 0.0);
    }
    extra_work = 0u;
}

// Writes the state of the contact for the next dispatch. What changes rarely is written when it does.
fn store_state() {
    if (!is_writer()) {
        return;
    }
    let window = &windows[contact];
    let s = &states[contact];
    let body = &bodies[own()];
    s.u = numbers(body.u);
    s.u_low = numbers(body.u_low);
    s.q = numbers(body.q);
    s.q_low = numbers(body.q_low);
    s.patch_twist = numbers(patch_twist);
    s.rate = numbers(body.rate);
    s.left = left;
    s.h_next = body.h_next;
    s.interval = window.begin + (now_at - window.interval_first);
    s.at_least = at_least;
    s.status = status;
    // A contact that fails takes no further step.
    s.failed_step = select(steps, 0u, status == 0u);
    s.steps = steps;
    s.passes += passes;
    s.is_pending = select(0u, 1u, pending);
    let p = pending_stage;
    s.pending = array<f32, 4>(p.a_sigma0, p.mu_c, p.mu_d, p.extrapolation);
    s.slides_for = body.slides_for;
    if (moving) {
        s.turn = turn.x;
        s.turn_low = turn_low.x;
    }
}

// Makes passes up to the end of the interval, or of the dispatch.
// It is a loop of its own because a driver that runs lanes as SIMD executes branches that no lane takes, such
// as the code for samples, in every turn of the loop that contains them.
fn run_passes(task: u32) {
    loop {
        pass_over_bristles(task);
        let between = !second && newton_steps == 0u;
        let stops = flushing || status != 0u || left <= 0.0
            || (between && passes + extra_work >= run.max_passes);
        if (agreed(select(TASK, DONE, stops)) == DONE) {
            break;
        }
    }
}

// Reads the contact that this invocation steps. Returns whether it has intervals to go through.
fn take_up(invocation: Invocation) -> bool {
    let id = contact_of(invocation);
    if (id >= run.contacts) {
        return false;
    }
    contact = id;
    take_contact();
    set_own(invocation);
    let window = &windows[id];
    status = states[id].status;
    let interval = states[id].interval;
    if (status != 0u || interval < window.begin || interval >= window.end) {
        return false;
    }
    load_state();
    // An interval that is not entered yet follows one whose map is the present one.
    let ahead = select(1u, 0u, left > 0.0);
    now_at = window.interval_first + interval - window.begin - ahead;
    take_interval();
    load_bristles();
    now_at += ahead;
    take_interval();
    // A map that changes with the interval is taken over when the interval is entered.
    stale = left > 0.0 || (intervals[now_at].flags & FLAG_REMAP) == 0u;
    remapped = false;

    second = false;
    newton_steps = 0u;
    h = 1.0;
    tau = 0.0;
    inside = left > 0.0;
    starting = inside;
    return true;
}

// Leaves and enters intervals until there is something that all lanes of the contact do together, and
// returns that.
fn next_task() -> u32 {
    flushing = false;
    if (inside && left <= 0.0) {
        flushing = pending && ends_with_sample();
        if (!flushing) {
            slide_on();
            if (ends_with_sample()) {
                return TASK | TASK_SAMPLE;
            }
            leave_interval();
        }
    }
    if (!flushing) {
        let work = passes + extra_work;
        let between = !second && newton_steps == 0u;
        if (status != 0u || (between && work >= run.max_passes) || (!inside && is_through())) {
            return DONE;
        }
        if (!inside) {
            flushing = pending && commits_before_remap() && (intervals[now_at].flags & FLAG_REMAP) != 0u;
            if (!flushing) {
                enter_interval();
                inside = true;
            }
        }
    }
    var task = TASK;
    if (stale) {
        task |= TASK_FOLLOW | select(0u, TASK_MAKE_MAP, makes_map());
    }
    // An interval without length serves only to record a sample.
    if (flushing || left > 0.0) {
        let prescribed = contacts[contact].kind == KIND_PRESCRIBED;
        task |= TASK_PASSES | select(select(TASK_SOLVE, TASK_PRESCRIBED, prescribed), 0u, flushing);
    }
    return task;
}

@compute @workgroup_size(WORKGROUP)
fn rollout(invocation: Invocation) {
    let works = take_up(invocation);
    loop {
        var next = DONE;
        if (works) {
            next = next_task();
        }
        let task = agreed(next);
        if (task == DONE) {
            break;
        }
        if ((task & TASK_SAMPLE) != 0u) {
            record_end();
            leave_interval();
        }
        if ((task & TASK_FOLLOW) != 0u) {
            follow_map((task & TASK_MAKE_MAP) != 0u);
            stale = false;
        }
        if ((task & TASK_PASSES) != 0u) {
            run_passes(task);
        }
    }
    if (works) {
        store_bristles();
        store_state();
    }
}

// Fills the samples of this window with NaN, so that samples which a contact does not write are NaN.
@compute @workgroup_size(WORKGROUP)
fn poison(invocation: Invocation) {
    let group = invocation.group.x + invocation.group.y * invocation.groups.x;
    let i = group * WORKGROUP + invocation.index;
    if (i >= arrayLength(&records)) {
        return;
    }
    let nan = bitcast<f32>(0xffffffffu ^ run.zero);
    let nans = array<f32, 3>(nan, nan, nan);
    records[i] = Record(nans, nans, nans, nans, nan, nan, nan);
}
