// The transition between elastic and plastic, half a period of a sine wide: the plastic share, and the root
// that gives the size of a bristle that ends in the transition (docs/model.md, section 5.3). Twin:
// src/solver/transition.rs.

// A plastic share and its slope.
struct Plastic {
    b: Real,
    slope: Real,
}

// Plastic share b(x) and its slope, docs/model.md (11): 0 below s_ba, 1 above 1, half a sine between.
fn plastic_share(k: Consts, x: Real) -> Plastic {
    let p = clamp((x - k.s_ba) * k.inv_width, Real(0.0), Real(1.0)) - 0.5;
    let t = PI * p;
    return Plastic(fma(Real(0.5), sine(t), Real(0.5)), 0.5 * PI * k.inv_width * cosine(t));
}

// The root x of x (1 + l b(x)) = y with s_ba < y < 1 + l, or an iterate for it: the angle t of the sine,
// from 0 to PI/4, by which x is away from the outer end of its half of the transition, docs/model.md (37) to
// (39). Whether that is the lower half; then x = end + per_angle t and 1 + l b = load + pull sin^2 t. After
// an iteration x, the plastic share b there, and stiff = 1 / (1 + l (b + x b')).
struct Root {
    y: Real,
    t: Real,
    low: Mask,
    end: Real,
    per_angle: Real,
    load: Real,
    pull: Real,
    x: Real,
    b: Real,
    stiff: Real,
}

// The first iterate, docs/model.md (39): with s = sin t for t, and polynomials in s for t and t s^2, the
// equation is quadratic.
fn root_start(k: Consts, y: Real, l: Real) -> Root {
    let unit = (2.0 / PI) * (1.0 - k.s_ba);
    let middle = fma(0.5, k.s_ba, 0.5);
    let low = y < fma(Real(0.5 * middle), l, Real(middle));
    let end = select(Real(1.0), Real(k.s_ba), low);
    let load = select(1.0 + l, Real(1.0), low);
    let per_s = unit * select(Real(-START_HIGH_0), Real(START_LOW_0), low);
    let per_s2 = select(Real(fma(unit, -START_HIGH_1, 1.0)), Real(fma(unit, START_LOW_1, k.s_ba)), low);
    // q2 s^2 + 2 q1 s = q0
    let q2 = fma(Real(unit * START_1), load, l * per_s2);
    let q1 = fma(Real(0.5 * unit * START_0), load, 0.5 * l * per_s);
    let q0 = abs(fma(end, load, -y));
    let s = q0 / (q1 + sqrt(fma(q1, q1, q2 * q0)));
    let t = min(s * fma(s, Real(START_1), Real(START_0)), Real(0.25 * PI));
    let per_angle = select(Real(-unit), Real(unit), low);
    return Root(y, t, low, end, per_angle, load, select(-l, l, low), end, s, s);
}

// One iteration: a step of Householder's method of fourth order, docs/model.md (38), kept within the half.
// It is so short that the plastic share and its slope follow from the function's expansion at the iterate.
fn root_finish(r: Root) -> Root {
    let sin = sine(r.t);
    let square = sin * sin;
    let sin_twice = 2.0 * sin * cosine(r.t);
    let cos_twice = fma(Real(-2.0), square, Real(1.0));
    let x = fma(r.per_angle, r.t, r.end);
    let load = fma(r.pull, square, r.load);
    let f = fma(x, load, -r.y);
    let steep = x * r.pull;
    let bend = r.per_angle * r.pull;
    let turn = steep * sin_twice;
    // The derivatives, of order n over n!.
    let d1 = fma(r.per_angle, load, turn);
    let d2 = fma(steep, cos_twice, bend * sin_twice);
    let d3 = fma(bend, cos_twice, (-2.0 / 3.0) * turn);
    let above = fma(d1, d1, -f * d2);
    let below = fma(d1, above - f * d2, f * f * d3);
    let t = clamp(r.t - f * above / below, Real(0.0), Real(0.25 * PI));
    let step = t - r.t;
    let share = fma(step, fma(step, cos_twice, sin_twice), square);
    let slope = fma(step, fma(3.0 * d3, step, 2.0 * d2), d1);
    let b = select(1.0 - share, share, r.low);
    return Root(r.y, t, r.low, r.end, r.per_angle, r.load, r.pull, fma(r.per_angle, t, r.end), b, r.per_angle / slope);
}

// The slip of a trial in the transition, from y = |y|/g and l = travel/g.
fn root_slip(r: Root) -> Slip {
    return Slip(r.x / r.y, r.stiff, r.x * r.b, fma(-r.x, r.stiff, r.x));
}

// Whether a bristle with this trial ends in the transition, where the slip follows from a root and not from
// law_slip.
fn in_transition(k: Consts, t: Trial) -> Mask {
    return (k.s_ba * t.g < t.len) & (t.len < t.g + t.travel);
}

// The root after all iterations.
fn transition_root(k: Consts, y: Real, l: Real) -> Root {
    var root = root_start(k, y, l);
    // @unroll TRANSITION_ITERATIONS
    for (var i = 0u; i < TRANSITION_ITERATIONS; i++) { root = root_finish(root); }
    return root;
}
