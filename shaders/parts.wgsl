// Several patches with normal forces and surface motions of their own, docs/model.md (20h). Twin:
// src/solver/parts.rs.
//
// A contact solves for its twist relative to the surface that all patches have. Relative to its own surface a
// patch moves by another twist, which differs from that one by a twist that does not depend on the velocity
// of the body. The normal force divides among the patches as their forces are. Stages are committed as soon
// as they are solved, under the motion of the surfaces in that stage.
//
// Only here: `first_of_parts`, `of_part`, `part_of`, `share_at_rest`, `place_of_part`, `balance_shares`,
// `missing_friction`, `centred`, `are_spread`, `over_an_edge`, `commit_cells`, `normal_force`, `cell_motion`,
// `cell_share`.

const DRIVES_PARTS = true;

// Whether load moves among the patches with the push.
override moves_loads: bool = false;

// How many patches there are.
var<private> part_count: u32;
// Where load moves: one and the centre of pressure of each from that of all at rest, in units of the largest
// distance, and its friction on the body per normal force of its own.
var<private> part_row: array<vec3f, MOST_PARTS>;
var<private> part_friction: array<vec2f, MOST_PARTS>;
// The share of the normal force of each, and what is subtracted from the twist of its bristles.
var<private> part_share: array<f32, MOST_PARTS>;
var<private> part_surface: array<vec3f, MOST_PARTS>;

// Where the inputs of patches are among the terms of the interval: behind those of a moving surface. First
// are four polynomials of each patch. The slot of the first says how many patches there are, the slot of the
// second how many sinusoids follow all polynomials, the slot of the third of each patch which cell is behind
// its last, and that of the fourth, as bits of a number, its share of the normal force in the compound patch.
// Where load moves, the first two slots of each patch behind the first have, as bits of numbers, its centre
// of pressure from that of the first, in heights of the push.
fn first_of_parts() -> u32 {
    let now = &intervals[now_at];
    let first = now.term_first + now.term_count;
    if (moving) {
        return first + 3u + terms[first].slot;
    }
    return first;
}

// Normal force of part number, and the twist of its surface, a time dt after local time tau.
fn of_part(first: u32, number: u32, tau: f32, dt: f32) -> vec4f {
    var v: array<f32, 4>;
    for (var i = 0u; i < 4u; i++) {
        v[i] = polynomial_ahead(terms[first + 4u * number + i], tau, dt);
    }
    let waves = first + 4u * terms[first].slot;
    for (var i = waves; i < waves + terms[first + 1u].slot; i++) {
        if (terms[i].slot / 4u == number) {
            v[terms[i].slot % 4u] += wave_ahead(terms[i], tau, dt);
        }
    }
    return vec4f(max(v[0], 0.0), v[1], v[2], v[3]);
}

// The normal force at local time tau: the sum of those of the patches.
fn normal_force(_f_n: f32, tau: f32) -> f32 {
    let first = first_of_parts();
    var sum = 0.0;
    for (var i = 0u; i < terms[first].slot; i++) {
        sum += of_part(first, i, tau, 0.0).x;
    }
    return sum;
}

// The twist of the surface of a patch beside that of the contact, as the patch has it, of a body at pose q.
fn in_patch(surface: vec3f, t: Transform, q: vec3f) -> vec3f {
    let kind = contacts[contact].kind;
    if (kind == KIND_GRIPPER || kind == KIND_PRESCRIBED) {
        return surface;
    }
    return transform_twist(t, at(surface, q.xy));
}

// Takes over the inputs of the patches a time dt after local time tau, of a body at pose q.
fn follow_parts(tau: f32, dt: f32, t: Transform, q: vec3f) {
    let first = first_of_parts();
    part_count = min(terms[first].slot, MOST_PARTS);
    var f_n = 0.0;
    for (var i = 0u; i < part_count; i++) {
        let v = of_part(first, i, tau, dt);
        part_surface[i] = directed(in_patch(v.yzw, t, q));
        part_share[i] = v.x;
        f_n += v.x;
    }
    for (var i = 0u; i < part_count; i++) {
        // Those in the compound patch count where there is no normal force.
        let share = share_at_rest(first, i);
        part_share[i] = select(share, part_share[i] / max(f_n, TINY), f_n > 0.0);
    }
}

fn share_at_rest(first: u32, number: u32) -> f32 {
    return bitcast<f32>(terms[first + 4u * number + 3u].slot);
}

// Where part number presses, from the first, in heights of the push.
fn place_of_part(first: u32, number: u32) -> vec2f {
    let at = first + 4u * number;
    return select(bitcast<vec2f>(vec2u(terms[at].slot, terms[at + 1u].slot)), vec2f(), number == 0u);
}

// Lets the patches have the shares of the normal force that balance the push in a sample, docs/model.md
// (20m). Friction is linear in the shares: each patch is asked for its own under all of the normal force.
fn balance_loads(k: Consts, u: vec3f, rate: Rate) {
    if (moves_loads) {
        // The loops here turn no more often than those of so many passes.
        extra_work += MOST_PARTS;
        var on_body: array<vec2f, MOST_PARTS>;
        for (var i = 0u; i < MOST_PARTS; i++) {
            for (var part = 0u; part < MOST_PARTS; part++) {
                part_share[part] = select(0.0, 1.0, part == i);
            }
            on_body[i] = directed(wrench(k, u, rate, 1.0).wrench).xy;
        }
        balance_shares(first_of_parts(), on_body);
    }
}

// The shares where the patches have friction on_body, each per normal force of its own: those that balance
// the moment and differ from those at rest by a linear function of the place. A patch that would have to pull
// carries nothing. Where none balance it, the body would tip over; the centre of pressure is then where its
// way from that at rest leaves the patches.
fn balance_shares(first: u32, on_body: array<vec2f, MOST_PARTS>) {
    var friction = on_body;
    var middle = vec2f();
    for (var i = 0u; i < part_count; i++) {
        middle += share_at_rest(first, i) * place_of_part(first, i);
    }
    var unit = TINY;
    for (var i = 0u; i < part_count; i++) {
        let apart = abs(place_of_part(first, i) - middle);
        unit = max(unit, max(apart.x, apart.y));
    }
    var scale = TINY;
    var guess = vec2f();
    for (var i = 0u; i < part_count; i++) {
        part_row[i] = vec3f(1.0, (place_of_part(first, i) - middle) / unit);
        part_friction[i] = friction[i];
        scale = max(scale, max(abs(friction[i].x), abs(friction[i].y)));
        guess += share_at_rest(first, i) * friction[i];
    }
    let by = BALANCE_DIFFERENCE * scale;
    var weight = 1.0;
    var before = 3e38;
    var off = vec2f();
    var slope = vec2f();
    for (var trial = 0u; trial <= 3u * BALANCE_ROUNDS; trial++) {
        let along = vec2f(f32(trial % 3u == 1u), f32(trial % 3u == 2u));
        let missing = missing_friction(first, guess + by * along, unit);
        if (trial % 3u == 0u) {
            off = missing;
            let size = max(abs(off.x), abs(off.y));
            if (!(size > BALANCED * scale)) {
                break;
            }
            weight = select(min(1.0, 1.2 * weight), 0.5 * weight, size > 0.9 * before);
            before = size;
        } else if (trial % 3u == 1u) {
            slope = (off - missing) / by;
        } else {
            let other = (off - missing) / by;
            let determinant = slope.x * other.y - slope.y * other.x;
            var change = off;
            if (determinant > LEAST_SLOPES) {
                change = vec2f(off.x * other.y - off.y * other.x, slope.x * off.y - slope.y * off.x) / determinant;
            }
            guess += weight * change;
        }
    }
    var carried = 0.0;
    for (var i = 0u; i < part_count; i++) {
        carried += part_share[i];
    }
    for (var i = 0u; i < part_count; i++) {
        part_share[i] = part_share[i] / carried;
    }
}

// The friction of all that the shares have under a guess of it, less the guess.
fn missing_friction(first: u32, guess: vec2f, unit: f32) -> vec2f {
    centred(first, -guess / unit);
    var sum = vec2f();
    var carried = 0.0;
    for (var i = 0u; i < part_count; i++) {
        sum += part_share[i] * part_friction[i];
        carried += part_share[i];
    }
    return sum / carried - guess;
}

// Takes the shares with a centre of pressure that lies at shift from that at rest; or, if that is not between
// the patches, at the greatest part of it that is. Shares are linear in that part, until a patch lifts or
// presses again.
fn centred(first: u32, shift: vec2f) {
    var carries = (1u << part_count) - 1u;
    var part = 0.0;
    for (var i = 0u; i < part_count; i++) {
        part_share[i] = share_at_rest(first, i);
    }
    for (var turns_left = 4u * part_count; turns_left > 0u; turns_left--) {
        var m = mat3x3f();
        var there = vec3f();
        for (var i = 0u; i < part_count; i++) {
            if (((carries >> i) & 1u) == 1u) {
                m += outer(part_row[i], part_row[i]);
                there += share_at_rest(first, i) * part_row[i];
            }
        }
        let base = solve(m, vec3f(1.0, 0.0, 0.0) - there);
        let slope = solve(m, vec3f(0.0, shift));
        var end = 1.0;
        var lifted = part_count;
        for (var i = 0u; i < part_count; i++) {
            let at = share_at_rest(first, i) + dot(base, part_row[i]);
            let by = dot(slope, part_row[i]);
            if (select(by > 0.0, by < 0.0, ((carries >> i) & 1u) == 1u)) {
                let when = max(-at / by, part);
                if (when < end) {
                    end = when;
                    lifted = i;
                }
            }
        }
        part = end;
        let tilt = base + slope * part;
        for (var i = 0u; i < part_count; i++) {
            let share = share_at_rest(first, i) + dot(tilt, part_row[i]);
            part_share[i] = select(0.0, max(share, 0.0), ((carries >> i) & 1u) == 1u && i != lifted);
        }
        if (lifted == part_count) {
            break;
        }
        carries ^= 1u << lifted;
        if (!are_spread(carries)) {
            let next = over_an_edge(first, lifted, tilt, carries);
            if (next == part_count) {
                break;
            }
            carries |= 1u << next;
        }
    }
}

// Whether places are not in one line, by the least and the greatest moment of area of equal points there.
fn are_spread(carries: u32) -> bool {
    let origin = part_row[firstTrailingBit(carries)].yz;
    var count = 0.0;
    var sum = vec2f();
    var squares = vec3f();
    for (var i = 0u; i < part_count; i++) {
        if (((carries >> i) & 1u) == 1u) {
            let apart = part_row[i].yz - origin;
            count += 1.0;
            sum += apart;
            squares += vec3f(apart.x * apart.x, apart.x * apart.y, apart.y * apart.y);
        }
    }
    let m = squares - vec3f(sum.x * sum.x, sum.x * sum.y, sum.y * sum.y) / count;
    return m.x * m.z - m.y * m.y > LEAST_SPREAD * (m.x + m.z) * (m.x + m.z);
}

// Patches that carry are in one line after patch lifted has let go: the one on the other side on which the
// body comes down as it turns about that line; part_count if there is none.
fn over_an_edge(first: u32, lifted: u32, tilt: vec3f, carries: u32) -> u32 {
    let origin = part_row[firstTrailingBit(carries)];
    var far = 0.0;
    var edge = vec3f();
    for (var i = 0u; i < part_count; i++) {
        let apart = part_row[i] - origin;
        if (((carries >> i) & 1u) == 1u && dot(apart, apart) > far) {
            far = dot(apart, apart);
            edge = cross(origin, part_row[i]);
        }
    }
    let turn = select(edge, -edge, dot(edge, part_row[lifted]) > 0.0);
    var soonest = 3e38;
    var next = part_count;
    for (var i = 0u; i < part_count; i++) {
        let by = dot(turn, part_row[i]);
        if (((carries >> i) & 1u) == 0u && i != lifted && by > 0.0) {
            let when = -(share_at_rest(first, i) + dot(tilt, part_row[i])) / by;
            if (when < soonest) {
                soonest = when;
                next = i;
            }
        }
    }
    return next;
}

// Commits the stage that is pending, under the motion of the surfaces in it.
fn commit_parts() {
    if (pending) {
        commit_cells(directed(at(patch_twist, patch_point())), committed(pending_stage, false));
        pending = false;
    }
}

fn commit_cells(u: vec3f, stage: Stage) {
    // @unroll TURNS
    for (var i = 0u; i < turns; i++) { sweep_cell(i, k, u, true, stage, false, stage); }
}

// The motion of the surface of part number, a time dt after the start of the step.
fn surface_ahead(number: u32, dt: f32) -> vec3f {
    let q = pose_ahead(dt);
    return in_patch(of_part(first_of_parts(), number, tau, dt).yzw, transform(q, dt), q);
}

// Estimated error of the motion of the surfaces, docs/model.md (59b): that of the formula of the step, and
// that of the pose ahead, at which a surface that turns has another velocity.
fn error_of_parts() -> f32 {
    let c = &contacts[contact];
    let body = &bodies[own()];
    let moves = select(h, 0.0, c.kind == KIND_GRIPPER);
    let strays = moves * size((1.0 - KAPPA) * body.du1 + KAPPA * body.du);
    var most = 0.0;
    for (var i = 0u; i < part_count; i++) {
        let first = surface_ahead(i, KAPPA * h);
        let last = surface_ahead(i, h);
        let bend = (last - first) / (1.0 - KAPPA) - (first - surface_ahead(i, 0.0)) / KAPPA;
        most = max(most, QUADRATURE * size(bend) + abs(last.z) * strays);
    }
    return most;
}

// The patch that has a cell.
fn part_of(cell: u32) -> u32 {
    let first = first_of_parts();
    var number = 0u;
    while (number + 1u < part_count && cell >= terms[first + 4u * number + 2u].slot) {
        number += 1u;
    }
    return number;
}

// The motion of the cells of turn i at x, y, of twist u relative to the surface that all patches have.
fn cell_motion(i: u32, k: Consts, u: vec3f, x: Real, y: Real) -> Motion {
    let cell = first_cell(i);
    let a = u - part_surface[part_of(cell)];
    let b = u - part_surface[part_of(cell + WIDTH - 1u)];
    let w = both(a.z, b.z);
    return motion(k, both(a.x, b.x) - w * y, both(a.y, b.y) + w * x);
}

// The shares of the normal force on the cells of turn i, of those in their patches.
fn cell_share(i: u32, w: Real) -> Real {
    let cell = first_cell(i);
    return both(part_share[part_of(cell)], part_share[part_of(cell + WIDTH - 1u)]) * w;
}
