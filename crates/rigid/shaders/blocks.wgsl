// Contact problems by blocks, docs/model.md section 12. Twin: crates/rigid/src/lcp/blocks.rs. One lane
// solves one problem, in the same order; what belongs to it is strided over the problems, so that lanes
// side by side read side by side.
//
// Only here: `at`, `w`, `b`, `mu`, `impulse`, `set_impulse`, `system`, `residual_at`, `stride`, `afford`,
// `poison`.

// Numbers of problems, of contacts for which there is room in each, of friction directions, of turns of loops
// that a lane may take in a dispatch, of rounds, and a zero that compilers do not know to be one.
struct Blocks {
    problems: u32,
    room: u32,
    directions: u32,
    turns: u32,
    most_rounds: u32,
    zero: u32,
}

// Of each problem: W, row after row, b and mu.
@group(0) @binding(0) var<storage, read> given: array<f32>;
// Numbers of contacts.
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read> directions: array<vec2f>;
// Impulses, the impulses to go back to, the system of a Newton step, and the residual.
@group(0) @binding(3) var<storage, read_write> work: array<f32>;
// Modes, first unknowns, rounds so far; of a round that goes on one more than the columns that are
// eliminated, and the size of its system.
@group(0) @binding(4) var<storage, read_write> marks: array<u32>;
@group(0) @binding(5) var<uniform> blocks: Blocks;

// The problem of this lane, its number of contacts, and the turns that are left.
var<private> problem: u32;
var<private> n: u32;
var<private> turns: u32;

// Where value `k` of the lane's problem is.
fn at(k: u32) -> u32 {
    return k * blocks.problems + problem;
}

fn w(row: u32, column: u32) -> f32 {
    return given[at(row * 3u * blocks.room + column)];
}

fn b(row: u32) -> f32 {
    return given[at(9u * blocks.room * blocks.room + row)];
}

fn mu(i: u32) -> f32 {
    return given[at(9u * blocks.room * blocks.room + 3u * blocks.room + i)];
}

fn impulse(i: u32) -> vec3f {
    return vec3f(work[at(3u * i)], work[at(3u * i + 1u)], work[at(3u * i + 2u)]);
}

fn set_impulse(i: u32, p: vec3f) {
    work[at(3u * i)] = p.x;
    work[at(3u * i + 1u)] = p.y;
    work[at(3u * i + 2u)] = p.z;
}

// Where element `k` of the system is.
fn system(k: u32) -> u32 {
    return at(6u * blocks.room + k);
}

// Where the residual is.
fn residual_at() -> u32 {
    let unknowns = 3u * blocks.room;
    return system(unknowns * (unknowns + 4u));
}

// Length of a row of a system of this size: its unknowns and the right side, in fours.
fn stride(size: u32) -> u32 {
    return size / 4u * 4u + 4u;
}

// Velocity of contact `i`.
fn velocity(i: u32) -> vec3f {
    var u = vec3f(b(3u * i), b(3u * i + 1u), b(3u * i + 2u));
    for (var j = 0u; j < n; j++) {
        let p = impulse(j);
        let x = vec3f(w(3u * i, 3u * j), w(3u * i + 1u, 3u * j), w(3u * i + 2u, 3u * j));
        let y = vec3f(w(3u * i, 3u * j + 1u), w(3u * i + 1u, 3u * j + 1u), w(3u * i + 2u, 3u * j + 1u));
        let z = vec3f(w(3u * i, 3u * j + 2u), w(3u * i + 1u, 3u * j + 2u), w(3u * i + 2u, 3u * j + 2u));
        u += x * p.x + y * p.y + z * p.z;
    }
    return u;
}

// How far a friction impulse is outside of the polygon for `reach`, mu p_n: the largest distance from an
// edge.
fn outside(t: vec2f, reach: f32) -> f32 {
    var most = -reach;
    for (var j = 0u; j < blocks.directions; j++) {
        let middle = directions[j] + directions[(j + 1u) % blocks.directions];
        let size = length(middle);
        most = max(most, dot(t, middle) / size - reach * size * 0.5);
    }
    return most;
}

// The impulse with which a contact alone, with these rows of W, has no velocity: W p = -r by Cramer's rule.
fn stick(a: vec3f, b: vec3f, c: vec3f, r: vec3f) -> vec3f {
    let minors = cross(b, c);
    return -(minors * r.x + cross(c, a) * r.y + cross(a, b) * r.z) / dot(a, minors);
}

struct OneContact {
    p: vec3f,
    mode: u32,
}

// Impulse and mode of contact `i` that solve it alone, for the velocity `r` that it has without its own
// impulse: the mode whose conditions are violated least.
fn one_contact(i: u32, r: vec3f) -> OneContact {
    if (r.x >= 0.0) {
        return OneContact(vec3f(0.0), SEPARATE);
    }
    let a = vec3f(w(3u * i, 3u * i), w(3u * i, 3u * i + 1u), w(3u * i, 3u * i + 2u));
    let b = vec3f(w(3u * i + 1u, 3u * i), w(3u * i + 1u, 3u * i + 1u), w(3u * i + 1u, 3u * i + 2u));
    let c = vec3f(w(3u * i + 2u, 3u * i), w(3u * i + 2u, 3u * i + 1u), w(3u * i + 2u, 3u * i + 2u));
    let mu = mu(i);
    var best = OneContact(stick(a, b, c, r), STICK);
    var violation = max(-best.p.x, outside(best.p.yz, mu * best.p.x));
    let count = blocks.directions;
    for (var j = 0u; j < count; j++) {
        if (violation <= 0.0) {
            break;
        }
        let d = directions[j];
        let e = directions[(j + 1u) % count];
        let f = directions[(j + count - 1u) % count];
        // Along one direction: p = p_n (1, mu d), with the normal velocity zero.
        let nn = a.x + mu * dot(a.yz, d);
        let alone = -r.x / nn;
        let u = r.yz + vec2f(b.x + mu * dot(b.yz, d), c.x + mu * dot(c.yz, d)) * alone;
        let off = max(-alone, max(dot(u, d - e), dot(u, d - f)));
        if (off < violation && nn > 0.0) {
            violation = off;
            best = OneContact(alone * vec3f(1.0, mu * d), SLIDE + 2u * j);
        }
        // Between it and the next: p = p_n (1, mu d) + tau (0, g), where nothing moves along the edge g.
        let size = length(e - d);
        let g = (e - d) / size;
        let nt = dot(a.yz, g);
        let tn = g.x * (b.x + mu * dot(b.yz, d)) + g.y * (c.x + mu * dot(c.yz, d));
        let tt = g.x * dot(b.yz, g) + g.y * dot(c.yz, g);
        let rt = dot(g, r.yz);
        let area = nn * tt - nt * tn;
        let pn = (nt * rt - tt * r.x) / area;
        let tau = (tn * r.x - nn * rt) / area;
        let p = vec3f(pn, mu * pn * d + tau * g);
        let v = r.yz + vec2f(dot(b, p), dot(c, p));
        let off_edge = max(max(-pn, dot(v, d + e)), max(-tau, tau - mu * pn * size));
        if (off_edge < violation && area > 0.0) {
            violation = off_edge;
            best = OneContact(p, SLIDE + 2u * j + 1u);
        }
    }
    if (best.p.x < 0.0) {
        return OneContact(vec3f(0.0), SEPARATE);
    }
    return best;
}

// Solves one contact after the other.
fn sweep() {
    for (var i = 0u; i < n; i++) {
        let old = impulse(i);
        set_impulse(i, vec3f(0.0));
        let found = one_contact(i, velocity(i));
        // False for what is no number, too.
        if (dot(abs(found.p), vec3f(1.0)) < 1e30) {
            set_impulse(i, found.p);
            marks[at(i)] = found.mode;
        } else {
            set_impulse(i, old);
        }
    }
}

// The residual of the linear complementarity problem: each friction impulse as a sum of the two directions
// beside it, and the least speed `s` that makes all slacks >= 0.
fn residual() -> f32 {
    let count = blocks.directions;
    var most = 0.0;
    for (var i = 0u; i < n; i++) {
        let u = velocity(i);
        let p = impulse(i);
        var s = 0.0;
        for (var j = 0u; j < count; j++) {
            s = max(s, -dot(directions[j], u.yz));
        }
        var sum = 0.0;
        for (var j = 0u; j < count; j++) {
            let d = directions[j];
            let e = directions[(j + 1u) % count];
            let sine = d.x * e.y - d.y * e.x;
            let x = (p.y * e.y - p.z * e.x) / sine;
            let y = (d.x * p.z - d.y * p.y) / sine;
            if (x >= 0.0 && y >= 0.0) {
                sum = x + y;
                most = max(most, max(min(x, s + dot(d, u.yz)), min(y, s + dot(e, u.yz))));
            }
        }
        most = max(most, max(abs(min(s, mu(i) * p.x - sum)), abs(min(p.x, u.x))));
    }
    return most;
}

// Column `c` of the impulses that contact `i` may have in its mode.
fn column(i: u32, c: u32) -> vec3f {
    let mode = marks[at(i)];
    if (mode == STICK) {
        return vec3f(f32(c == 0u), f32(c == 1u), f32(c == 2u));
    }
    let j = (mode - SLIDE) / 2u;
    let d = directions[j];
    if (c == 0u) {
        return vec3f(1.0, mu(i) * d);
    }
    let edge = directions[(j + 1u) % blocks.directions] - d;
    return vec3f(0.0, edge / length(edge));
}

// Number of unknowns of contact `i`.
fn unknowns(i: u32) -> u32 {
    let mode = marks[at(i)];
    if (mode == SEPARATE) {
        return 0u;
    }
    if (mode == STICK) {
        return 3u;
    }
    return 1u + (mode - SLIDE) % 2u;
}

// The direction in which velocity number `c` of contact `i` must vanish.
fn test(i: u32, c: u32) -> vec3f {
    if (c == 0u) {
        return vec3f(1.0, 0.0, 0.0);
    }
    return column(i, c);
}

// Sets up the system of a Newton step; returns its size.
fn assemble() -> u32 {
    var size = 0u;
    for (var i = 0u; i < n; i++) {
        marks[at(blocks.room + i)] = size;
        size += unknowns(i);
    }
    let stride = stride(size);
    for (var i = 0u; i < n; i++) {
        for (var c = 0u; c < unknowns(i); c++) {
            let row = marks[at(blocks.room + i)] + c;
            let t = test(i, c);
            let right = -dot(t, vec3f(b(3u * i), b(3u * i + 1u), b(3u * i + 2u)));
            for (var j = 0u; j < n; j++) {
                // t W of the two contacts.
                let x = dot(t, vec3f(w(3u * i, 3u * j), w(3u * i + 1u, 3u * j), w(3u * i + 2u, 3u * j)));
                let y = dot(t, vec3f(w(3u * i, 3u * j + 1u), w(3u * i + 1u, 3u * j + 1u), w(3u * i + 2u, 3u * j + 1u)));
                let z = dot(t, vec3f(w(3u * i, 3u * j + 2u), w(3u * i + 1u, 3u * j + 2u), w(3u * i + 2u, 3u * j + 2u)));
                for (var e = 0u; e < unknowns(j); e++) {
                    work[system(row * stride + marks[at(blocks.room + j)] + e)] = dot(vec3f(x, y, z), column(j, e));
                }
            }
            // The present value of the unknown.
            let p = impulse(i);
            var now = p[c];
            if (marks[at(i)] != STICK && c == 1u) {
                now = dot(p.yz - p.x * column(i, 0u).yz, column(i, 1u).yz);
            }
            work[system(row * stride + row)] += PROXIMAL;
            work[system(row * stride + size)] = right + PROXIMAL * now;
        }
    }
    return size;
}

// Eliminates unknown `k` with a pivot from its column. Whether there is one.
fn eliminate(k: u32, size: u32) -> bool {
    let stride = stride(size);
    var pivot = k;
    for (var row = k + 1u; row < size; row++) {
        if (abs(work[system(row * stride + k)]) > abs(work[system(pivot * stride + k)])) {
            pivot = row;
        }
    }
    if (work[system(pivot * stride + k)] == 0.0) {
        return false;
    }
    for (var c = k; c <= size; c++) {
        let above = work[system(k * stride + c)];
        work[system(k * stride + c)] = work[system(pivot * stride + c)];
        work[system(pivot * stride + c)] = above;
    }
    for (var row = k + 1u; row < size; row++) {
        let factor = work[system(row * stride + k)] / work[system(k * stride + k)];
        // In fours; what is before column `k + 1`, or beyond the right side, is not read again.
        for (var c = (k + 1u) / 4u * 4u; c <= size; c += 4u) {
            let to = row * stride + c;
            let above = k * stride + c;
            work[system(to)] -= factor * work[system(above)];
            work[system(to + 1u)] -= factor * work[system(above + 1u)];
            work[system(to + 2u)] -= factor * work[system(above + 2u)];
            work[system(to + 3u)] -= factor * work[system(above + 3u)];
        }
    }
    return true;
}

// Solves the system with no unknowns below its diagonal; the solution takes the place of the right side.
fn substitute(size: u32) {
    let stride = stride(size);
    for (var back = 0u; back < size; back++) {
        let k = size - 1u - back;
        var sum = work[system(k * stride + size)];
        for (var c = k + 1u; c < size; c++) {
            sum -= work[system(k * stride + c)] * work[system(c * stride + size)];
        }
        work[system(k * stride + size)] = sum / work[system(k * stride + k)];
    }
}

// A Newton step on the present modes, whose system is solved but for its substitution, if it lowers the
// residual `before`. Impulses are moved into their cones.
fn newton(before: f32, size: u32) -> f32 {
    substitute(size);
    let stride = stride(size);
    for (var i = 0u; i < n; i++) {
        let old = impulse(i);
        work[at(3u * (blocks.room + i))] = old.x;
        work[at(3u * (blocks.room + i) + 1u)] = old.y;
        work[at(3u * (blocks.room + i) + 2u)] = old.z;
        var p = vec3f(0.0);
        for (var c = 0u; c < unknowns(i); c++) {
            p += column(i, c) * work[system((marks[at(blocks.room + i)] + c) * stride + size)];
        }
        set_impulse(i, inside(i, p));
    }
    let after = residual();
    if (after < before) {
        return after;
    }
    for (var i = 0u; i < n; i++) {
        set_impulse(i, impulse(blocks.room + i));
    }
    return before;
}

// The impulse, made shorter until it is in the cone of contact `i`.
fn inside(i: u32, p: vec3f) -> vec3f {
    let pn = max(p.x, 0.0);
    let reach = mu(i) * pn;
    let over = outside(p.yz, reach);
    if (!(over > 0.0)) {
        return vec3f(pn, p.yz);
    }
    // Of all edges the one it is furthest outside of lies on its way to the centre.
    let edge = reach * 0.5 * length(directions[0] + directions[1]);
    return vec3f(pn, p.yz * (edge / (edge + over)));
}

// Whether so many turns of loops are left; then they are taken.
fn afford(cost: u32) -> bool {
    let can = turns >= cost;
    turns = select(turns, turns - cost, can);
    return can;
}

// The size of a system without a solution.
const SINGULAR = 0xffffffffu;

// Rounds of sweeps and a Newton step, until the residual is small or this dispatch ends: the next one goes on
// within the round. A driver may count the turns of all lanes of a vector as one number, so all go through
// the parts of a round together: as if each problem had all the contacts for which there is room.
@compute @workgroup_size(WORKGROUP)
fn run(@builtin(global_invocation_id) id: vec3u) {
    problem = id.x;
    if (problem >= blocks.problems) {
        return;
    }
    n = counts[problem];
    turns = blocks.turns;
    let room = blocks.room;
    let most = 3u * room;
    let rounds = at(2u * room);
    let next = at(2u * room + 1u);
    let system_size = at(2u * room + 2u);
    let rest = residual_at();
    while (marks[rounds] < blocks.most_rounds) {
        if (marks[next] == 0u) {
            let contact = 1u + room + 2u * blocks.directions;
            if (!afford(room * (8u + (SWEEPS + 1u) * contact + 12u * room))) {
                break;
            }
            for (var k = 0u; k < SWEEPS; k++) {
                sweep();
            }
            work[rest] = residual();
            if (work[rest] <= TOLERANCE) {
                // A problem that is solved has no more rounds.
                marks[rounds] = blocks.most_rounds;
                break;
            }
            marks[system_size] = assemble();
            marks[next] = 1u;
        }
        var size = marks[system_size];
        var column = marks[next] - 1u;
        for (; column < most; column++) {
            let left = most - column;
            if (!afford(left * (left / 4u + 6u) + 4u)) {
                break;
            }
            if (size != SINGULAR && column < size && !eliminate(column, size)) {
                size = SINGULAR;
            }
        }
        marks[system_size] = size;
        marks[next] = column + 1u;
        let contact = 6u + room + 3u * blocks.directions;
        if (column < most || !afford(most * (most / 2u + 2u) + room * contact)) {
            break;
        }
        if (size != SINGULAR) {
            work[rest] = newton(work[rest], size);
        }
        marks[rounds] = select(marks[rounds] + 1u, blocks.most_rounds, work[rest] <= TOLERANCE);
        marks[next] = 0u;
    }
}

// Fills the residuals with NaN, so that the host notices problems that were not computed.
@compute @workgroup_size(WORKGROUP)
fn poison(@builtin(global_invocation_id) id: vec3u) {
    problem = id.x;
    if (problem < blocks.problems) {
        work[residual_at()] = bitcast<f32>(0xffffffffu ^ blocks.zero);
    }
}
