// The velocity of a body at the end of a step under the friction of its elements (docs/model.md, section
// 13.4). Twin: src/solver/point/balance.rs.

// The elements of the contact of this lane.
var<private> elements: array<Element, ELEMENTS>;

// Friction, and its derivative over the velocity.
struct Friction {
    force: vec2f,
    gain: mat2x2f,
}

// Friction of all elements at the velocity v, and its derivative over it.
fn friction(s: Step, v: vec2f) -> Friction {
    var sum = Friction(vec2f(0.0), mat2x2f(0.0, 0.0, 0.0, 0.0));
    for (var i = 0u; i < ELEMENTS; i++) {
        let own = trial(s, v, elements[i]);
        let weight = -(s.grip * elements[i].stiffness);
        sum.force = fma(vec2f(weight), own.resist, sum.force);
        sum.gain += weight * own.gain;
    }
    return sum;
}

// The velocity v with v = v0 + (T/M) (h + f(v)), docs/model.md (P17), by Newton's method; a step that does
// not make the residual smaller is halved.
fn balance(s: Step) -> vec2f {
    let free = without_friction(s);
    let enough = BALANCE_ROUNDING * (point_length(free).z + point_length(s.v).z);
    var base = s.v;
    var move_by = vec2f(0.0);
    var share = 1.0;
    var least = 1e30;
    for (var i = 0u; i < BALANCE_MOST; i++) {
        let v = fma(vec2f(share), move_by, base);
        let f = friction(s, v);
        let rest = v - free - s.per_mass * f.force;
        let size = fma(rest.x, rest.x, rest.y * rest.y);
        let better = size < least;
        let a = 1.0 - s.per_mass * f.gain[0].x;
        let b = -(s.per_mass * f.gain[1].x);
        let c = -(s.per_mass * f.gain[0].y);
        let d = 1.0 - s.per_mass * f.gain[1].y;
        let inverse = 1.0 / (a * d - b * c);
        let newton = inverse * vec2f(b * rest.y - d * rest.x, c * rest.x - a * rest.y);
        base = select(base, v, better);
        least = select(least, size, better);
        share = select(0.5 * share, 1.0, better);
        move_by = select(move_by, newton, better);
        if (share * point_length(move_by).z <= enough) {
            break;
        }
    }
    return base;
}

// The friction at the velocity v; the elements go on to the end of the step.
fn advance(s: Step, v: vec2f) -> vec2f {
    var force = vec2f(0.0);
    for (var i = 0u; i < ELEMENTS; i++) {
        let own = trial(s, v, elements[i]);
        force = fma(vec2f(-(s.grip * elements[i].stiffness)), own.resist, force);
        let sum = add3(vec3f(elements[i].zeta, 0.0), vec3f(elements[i].zeta_low, 0.0), vec3f(own.step, 0.0));
        elements[i].zeta = sum.high.xy;
        elements[i].zeta_low = sum.low.xy;
        elements[i].memory = own.memory;
    }
    return force;
}

// Whether the step's equation has several roots (of several elements on a free body: may have), at a velocity
// that is given, or that would be without friction. docs/model.md, section 13.4.
fn several(s: Step, v: vec2f, is_given: bool) -> bool {
    if (s.curve.mu_d == 0.0) {
        return false;
    }
    let yields = select(s.per_mass * s.grip * stiffness_share(), 0.0, is_given);
    var any = false;
    for (var i = 0u; i < ELEMENTS; i++) {
        let own = element_equation(s, v, yields, elements[i]);
        // Of several elements none is alone under the body: what one must not do all may not.
        if (ELEMENTS == 1u || is_given) {
            any = any || curve_has_several(s.curve, own.x, own.y);
        } else {
            any = any || curve_falls(s.curve, own.x);
        }
    }
    return any;
}

// Shares of the friction on elements that slip and on elements near their limit, docs/model.md (P19).
fn shares(s: Step, _friction: vec2f) -> vec2f {
    var sum = vec2f(0.0);
    var all = 0.0;
    for (var i = 0u; i < ELEMENTS; i++) {
        let e = elements[i];
        let slip = positive(slip_speed(s, e) - SLIP_SPEED);
        let near = positive(point_length(e.zeta).z - s.s_ba * element_limit(s, e));
        sum = fma(vec2f(e.share), vec2f(slip, near), sum);
        all += e.share;
    }
    return sum / all;
}
