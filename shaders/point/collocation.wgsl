// A step of elements that stick or slide, of fourth order: the body's acceleration is a parabola over the
// step, and an element has the exact solution of its equation under the velocity that follows from it; a step
// ends early where an element changes between sticking and sliding (docs/model.md, section 13.5). Twin:
// src/solver/point/collocation.rs.
//
// What an element does in a step is its memory while the step lasts: 0 where it sticks, 1 where it slides, 2
// where it follows its limit, which falls below it while it is unloaded.
//
// Only here: `collocate`.

const COLLOCATES = true;

// The elements that change in a step, a bit each.
var<private> which: u32;

// The contact at the beginning of a step, and sums over its elements: velocity, its size and its direction;
// friction of sliding; stiffness shares of what sticks, and these times the deflections;
// friction shares of what slides, and its stiffness shares times deflections; stiffness shares of what
// follows its limit, and these times the deflections over psi.
struct Start {
    v: vec2f,
    speed: f32,
    along: vec2f,
    psi: f32,
    stiffness: f32,
    held: vec2f,
    share: f32,
    sliding: vec2f,
    follows: f32,
    following: vec2f,
}

// The contact at the middle or at the end of a step: change of the velocity since the beginning, the
// velocity, the way; friction of sliding; a sliding element that began at z is at z - fade z + rho drive.
struct Node {
    change: vec2f,
    v: vec2f,
    path: vec2f,
    psi: f32,
    fade: f32,
    drive: vec2f,
}

struct Nodes {
    middle: Node,
    end: Node,
}

// What a step makes of an element: not below 0 where it changes what it does before the end of the step; its
// memory.
struct End {
    change: f32,
    memory: f32,
}

// Says of every element what it does in the step that begins with s and the velocity v, cuts those that stick
// to their limits, and sums them up.
fn begin(s: Step, v: vec2f) -> Start {
    let n = point_length(v);
    let psi = curve_at(s.curve, n.z).x;
    let least = (1.0 - NEAR_LIMIT) * (1.0 - NEAR_LIMIT);
    let most = (1.0 + NEAR_LIMIT) * (1.0 + NEAR_LIMIT);
    let none = vec2f(0.0);
    var start = Start(v, n.z, n.xy, psi, 0.0, none, 0.0, none, 0.0, none);
    for (var i = 0u; i < ELEMENTS; i++) {
        let e = elements[i];
        let limit = e.rho * psi;
        let limit2 = limit * limit;
        var zeta = e.zeta_low + e.zeta;
        let size2 = dot2(zeta, zeta);
        let loads = dot2(v, zeta) > 0.0;
        let slid = e.memory.x > 0.5 && loads;
        if (limit2 < size2 && !slid) {
            elements[i].zeta = limit * point_length(zeta).xy;
            elements[i].zeta_low = none;
            zeta = elements[i].zeta;
        }
        let slides = slid || (most * limit2 < size2 && loads);
        let touches = e.memory.x > 1.5 && !(size2 < least * limit2);
        elements[i].memory.x = select(select(0.0, 2.0, touches), 1.0, slides);
        zeta = e.stiffness * zeta;
        let stays = touches || slides;
        start.stiffness += select(e.stiffness, 0.0, stays);
        start.held += select(zeta, none, stays);
        start.share += select(0.0, e.share, slides);
        start.sliding += select(none, zeta, slides);
        let at_limit = touches && !slides;
        start.follows += select(0.0, e.stiffness, at_limit);
        start.following += select(none, zeta, at_limit);
    }
    start.following *= 1.0 / psi;
    return start;
}

// The node at the beginning.
fn at_start(start: Start) -> Node {
    return Node(vec2f(0.0), start.v, vec2f(0.0), start.psi, 0.0, vec2f(0.0));
}

// The integrals of exp(-x (1 - y)) y^k/k! over y from 0 to 1, for k = 0, 1, 2 and x >= 0.
fn phi(x: f32) -> vec3f {
    if (x > 0.5) {
        let inverse = 1.0 / x;
        let first = (1.0 - exp_negative(-min(x, 80.0))) * inverse;
        let second = (1.0 - first) * inverse;
        return vec3f(first, second, (0.5 - second) * inverse);
    }
    // 1/(k + 3)!: single precision needs fewer than double.
    var third = 1.0 / 362880.0;
    third = fma(third, -x, 1.0 / 40320.0);
    third = fma(third, -x, 1.0 / 5040.0);
    third = fma(third, -x, 1.0 / 720.0);
    third = fma(third, -x, 1.0 / 120.0);
    third = fma(third, -x, 1.0 / 24.0);
    third = fma(third, -x, 1.0 / 6.0);
    let second = 0.5 - x * third;
    return vec3f(1.0 - x * second, second, third);
}

// Friction of sliding at the velocity v, over the normal force, in its direction, and its size.
fn slide_at(s: Step, start: Start, v: vec2f) -> vec3f {
    let n = point_length(v);
    let psi = curve_at(s.curve, n.z).x;
    // Beyond a reversal, where the step will end, what slides is continued.
    let ahead = dot2(v, start.v) > 0.0;
    return vec3f(psi * select(start.along, n.xy, ahead), psi);
}

// Friction of sliding at the nodes, and what sliding elements make of it, docs/model.md (P25) and (P26).
fn lag(s: array<Step, 3>, start: Start, known: Nodes) -> Nodes {
    var nodes = known;
    let c_0 = start.psi * start.along;
    let c_m = slide_at(s[1], start, nodes.middle.v);
    let c_1 = slide_at(s[2], start, nodes.end.v);
    nodes.middle.psi = c_m.z;
    nodes.end.psi = c_1.z;
    let r_0 = 1.0 / start.psi;
    let r_m = 1.0 / c_m.z;
    let r_1 = 1.0 / c_1.z;
    let rate = s[0].attraction * s[0].t;
    let whole = rate * (1.0 / 6.0) * (r_0 + 4.0 * r_m + r_1);
    let part = min(max(rate * (1.0 / 24.0) * (5.0 * r_0 + 8.0 * r_m - r_1), 0.2 * whole), 0.8 * whole);
    let y = part / whole;
    let d_1 = c_1.xy - c_0;
    let bend = 1.0 / (y * (1.0 - y));
    let half = bend * (y * d_1 - (c_m.xy - c_0));
    let first = d_1 - half;
    let second = half + half;
    var p = phi(whole);
    nodes.end.fade = whole * p.x;
    nodes.end.drive = whole * fma(vec2f(p.z), second, fma(vec2f(p.y), first, p.x * c_0));
    p = phi(part);
    nodes.middle.fade = part * p.x;
    nodes.middle.drive = part * fma(vec2f(y * y * p.z), second, fma(vec2f(y * p.y), first, p.x * c_0));
    return nodes;
}

// The node `known` with the change of the velocity and the path of a free body, or with those that are given.
fn node(known: Node, start: Start, is_given: bool, change: vec2f, to: vec2f, path: vec2f, way: vec2f) -> Node {
    let moved = select(change, to - start.v, is_given);
    let at = select(start.v + moved, to, is_given);
    return Node(moved, at, select(path, way, is_given), known.psi, known.fade, known.drive);
}

// Change of the velocity by the acceleration at a node, but for what sticks.
fn free(s: Step, start: Start, known: Node) -> vec2f {
    let slid = fma(vec2f(start.share), known.drive, fma(vec2f(-known.fade), start.sliding, start.sliding));
    let pull = fma(vec2f(known.psi), start.following, start.held + slid);
    return s.per_mass * fma(vec2f(-s.grip), pull, s.load);
}

// The middle and the end of a step under the inputs at its beginning, middle and end, docs/model.md (P21) to
// (P24). Where the motion is given, v_m and v_1 are its velocities there.
fn nodes(s: array<Step, 3>, start: Start, is_given: bool, v_m: vec2f, v_1: vec2f) -> Nodes {
    let t = s[0].t;
    let per_mass = s[0].per_mass;
    let v = start.v;
    let lags = start.share + start.follows > 0.0;
    // Changes of the velocity by a constant acceleration: that at the beginning, here.
    let pull = fma(vec2f(start.psi), start.following, start.held + start.sliding);
    let a_0 = per_mass * fma(vec2f(-s[0].grip), pull, s[0].load);
    // Where the motion is given, its velocity is a parabola.
    let whole = t * (1.0 / 6.0) * (fma(vec2f(4.0), v_m, v) + v_1);
    let part = t * (1.0 / 24.0) * (fma(vec2f(8.0), v_m, 5.0 * v) - v_1);
    let half = 0.5 * v;
    let none = at_start(start);
    var out = Nodes(
        node(none, start, is_given, 0.5 * a_0, v_m, t * fma(vec2f(0.125), a_0, half), part),
        node(none, start, is_given, a_0, v_1, t * fma(vec2f(0.5), a_0, v), whole),
    );
    let w_m = per_mass * t * fma(s[1].grip * s[1].sigma0, start.stiffness, s[1].spring);
    let w_1 = per_mass * t * fma(s[2].grip * s[2].sigma0, start.stiffness, s[2].spring);
    let inverse = 1.0 / fma(w_m, fma(w_1, 1.0 / 288.0, 1.0 / 16.0), 1.0);
    for (var i = 0u; i < COLLOCATION_ROUNDS; i++) {
        if (lags) {
            out = lag(s, start, out);
        }
        let p_1 = fma(vec2f(-w_1), fma(vec2f(1.0 / 6.0), a_0, v), free(s[2], start, out.end));
        let p_m = fma(vec2f(-w_m), fma(vec2f(7.0 / 96.0), a_0, half), free(s[1], start, out.middle));
        let a_m = inverse * fma(vec2f(w_m * (1.0 / 96.0)), p_1, p_m);
        let a_1 = fma(vec2f(-w_1 * (1.0 / 3.0)), a_m, p_1);
        let change_m = (1.0 / 24.0) * fma(vec2f(8.0), a_m, 5.0 * a_0 - a_1);
        let path_m = t * fma(vec2f(1.0 / 96.0), fma(vec2f(6.0), a_m, 7.0 * a_0 - a_1), half);
        let change_1 = (1.0 / 6.0) * (fma(vec2f(4.0), a_m, a_0) + a_1);
        let path_1 = t * fma(vec2f(1.0 / 6.0), fma(vec2f(2.0), a_m, a_0), v);
        out.middle = node(out.middle, start, is_given, change_m, v_m, path_m, part);
        out.end = node(out.end, start, is_given, change_1, v_1, path_1, whole);
        if (!lags) {
            break;
        }
    }
    if (!lags || start.follows > 0.0) {
        // The friction of the nodes themselves decides what follows its limit.
        out.end.psi = curve_at(s[2].curve, point_length(out.end.v).z).x;
        if (start.follows > 0.0) {
            out.middle.psi = curve_at(s[1].curve, point_length(out.middle.v).z).x;
        }
    }
    return out;
}

// Whether some element may change what it does before the end of the step: if not, none does.
fn may_change(s: Step, start: Start, known: Nodes) -> bool {
    let end = known.end;
    let turned = MOST_TURN * start.speed * point_length(end.v).z;
    let turns = start.share > 0.0 && !(turned < dot2(start.v, end.v));
    var least = select(1.0, 0.0, turns || start.follows > 0.0);
    for (var i = 0u; i < ELEMENTS; i++) {
        let e = elements[i];
        let zeta = e.zeta_low + e.zeta;
        let slides = e.memory.x > 0.5;
        let slid = fma(vec2f(e.rho), end.drive, fma(vec2f(-end.fade), zeta, zeta));
        let at = select(fma(vec2f(s.sigma0), end.path, zeta), slid, slides);
        let ahead = dot2(end.v, at);
        let limit = e.rho * end.psi;
        let is_back = dot2(start.v, at) > 0.0 && ahead < 0.0;
        let room = select(fma(limit, limit, -dot2(at, at)), 0.0, is_back);
        least = min(least, select(room, ahead, slides));
    }
    return !(least > 0.0);
}

// What the step makes of an element.
fn end_of(s: Step, start: Start, known: Nodes, e: Element) -> End {
    let middle = known.middle;
    let end = known.end;
    let rho = e.rho;
    let limit = rho * end.psi;
    let slides = e.memory.x > 0.5;
    let follows = e.memory.x > 1.5;
    let zeta = e.zeta_low + e.zeta;
    let slid = fma(vec2f(rho), end.drive, -end.fade * zeta);
    var step = select(s.sigma0 * end.path, slid, slides);
    var leaves = 0.0;
    if (follows) {
        let far = point_length(fma(vec2f(s.sigma0), end.path, zeta));
        step = limit * far.xy - zeta;
        // What follows its limit leaves it where it is unloaded faster than the limit falls.
        let at_middle = point_length(fma(vec2f(s.sigma0), middle.path, zeta)).z - rho * middle.psi;
        let rate = fma(3.0, far.z - limit, -4.0 * at_middle);
        leaves = -(rate / limit) - 4.0 * NEAR_LIMIT;
    }
    let n = point_length(zeta + step);
    let u_0 = dot2(start.v, n.xy);
    let u_1 = dot2(end.v, n.xy);
    let slower = u_1 / max(start.speed, TINY);
    // What sticks reaches its limit, or has done so before it turned back.
    let back = max(-u_1, 0.0);
    let turn = s.sigma0 * s.t * back * back / max(2.0 * (back + u_0), TINY);
    let reach = (n.z + select(0.0, turn, u_0 > 0.0)) / limit - 1.0;
    let change = select(select(reach, -slower, slides), max(leaves, slower), follows);
    // At its limit it slides if it is loaded there, else it follows that.
    let reached = select(2.0, 1.0, u_1 > 0.0);
    let stays = select(select(0.0, 1.0, slower > 0.0), select(0.0, reached, leaves < 0.0), follows);
    let memory = select(select(reached, 0.0, reach < 0.0), stays, slides);
    return End(change, memory);
}

// Not below 0 where the step that these nodes are of is to end early: by the elements whose bits `which` has.
// If `first`, these become those that change: no other does in a shorter step.
fn event(s: Step, start: Start, known: Nodes, first: bool) -> f32 {
    var most = -1.0;
    for (var i = 0u; i < ELEMENTS; i++) {
        if (((which >> i) & 1u) == 0u) {
            continue;
        }
        let change = end_of(s, start, known, elements[i]).change;
        most = max(most, change);
        if (first && change < 0.0) {
            which &= ~(1u << i);
        }
    }
    let along = point_length(known.end.v);
    let cosine = dot2(start.along, along.xy);
    // A full reversal is found by what slides.
    let turns = start.share > 0.0 && cosine > -0.999;
    return max(most, select(most, MOST_TURN - cosine, turns));
}

// Friction at the end of the step; the elements go on to it, and where it `ends` early some change what they
// do.
fn finish(s: Step, start: Start, known: Nodes, ends: bool) -> vec2f {
    let end = known.end;
    var force = vec2f(0.0);
    for (var i = 0u; i < ELEMENTS; i++) {
        let e = elements[i];
        let at_limit = e.memory.x > 0.5;
        let zeta = e.zeta_low + e.zeta;
        let slid = fma(vec2f(e.rho), end.drive, -end.fade * zeta);
        var step = select(s.sigma0 * end.path, slid, at_limit);
        if (e.memory.x > 1.5) {
            step = e.rho * end.psi * point_length(fma(vec2f(s.sigma0), end.path, zeta)).xy - zeta;
        }
        var memory = e.memory.x;
        if (ends) {
            memory = end_of(s, start, known, e).memory;
        }
        let sum = add3(vec3f(e.zeta, 0.0), vec3f(e.zeta_low, 0.0), vec3f(step, 0.0));
        force = fma(vec2f(-(s.grip * e.stiffness)), sum.high.xy + sum.low.xy, force);
        elements[i].zeta = sum.high.xy;
        elements[i].zeta_low = sum.low.xy;
        elements[i].memory.x = memory;
    }
    return force;
}

// The inner product.
fn dot2(a: vec2f, b: vec2f) -> f32 {
    return fma(a.x, b.x, a.y * b.y);
}

// A step from tau on, which is as long as h and then leaves `rest`, or ends where an element changes between
// sticking and sliding.
fn collocate() {
    let is_given = contacts[contact].kind == KIND_PRESCRIBED;
    let whole = h;
    let first = step_of(whole, at_tau);
    let start = begin(first, select(first.v, at_tau.load.xy, is_given));
    // The end of the step lies between `low` and `high`, where it is found by regula falsi (Illinois).
    var low = 0.0;
    var high = whole;
    var at_low = 0.0;
    var at_high = 0.0;
    var was_high = false;
    var ends = false;
    // How far beyond the change a step may end, in units of `event`; searched is half of that.
    let aim = 0.5 * EVENT_SHARE;
    var last = at_tau;
    var s = array<Step, 3>(first, first, first);
    var found: Nodes;
    which = 0xffffffffu;
    for (var trials = 1u; trials <= EVENT_MOST + 1u; trials++) {
        let middle = inputs(fma(0.5, h, tau));
        last = inputs(tau + h);
        s = array<Step, 3>(step_of(h, at_tau), step_of(h, middle), step_of(h, last));
        found = nodes(s, start, is_given, middle.load.xy, last.load.xy);
        if (trials == 1u && !may_change(s[0], start, found)) {
            break;
        }
        let at = event(s[0], start, found, trials == 1u);
        let happens = !(at < 0.0);
        if (trials == 1u) {
            if (!happens) {
                break;
            }
            ends = true;
            at_high = at;
            at_low = min(event(s[0], start, Nodes(at_start(start), at_start(start)), false), -aim);
        } else if (happens) {
            at_low = select(at_low, 0.5 * at_low, was_high);
            at_high = at;
            high = h;
            was_high = true;
        } else {
            at_high = select(0.5 * at_high, at_high, was_high);
            at_low = at;
            low = h;
            was_high = false;
        }
        let narrow = high - low <= EVENT_WIDTH * whole || trials >= EVENT_MOST;
        if ((narrow && h >= high) || (happens && at < EVENT_SHARE)) {
            break;
        }
        let guess = high - (high - low) * (at_high - aim) / (at_high - at_low);
        let inside = low < guess && guess < high;
        h = select(select(0.5 * (low + high), guess, inside), high, narrow);
    }
    force = finish(s[2], start, found, ends);
    move_body(last, found.end.change, false);
    move_pose(vec3f(found.end.path, 0.0));
    rest = select(rest, left - h, h < whole);
}
