// The transition between elastic and plastic, half a period of a sine wide: the plastic share, and the root
// that gives the size of a bristle that ends in the transition (docs/model.md, section 5.3). Twin:
// src/solver/transition.rs.
//
// Only here: `root_step`.

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

// An iterate for the root x of x (1 + l b(x)) = y with s_ba < y < 1 + l: Halley's method in the angle t of
// the sine, docs/model.md (37) to (39). x = (middle of the transition) + width/pi t; after an iteration with
// its sine and cosine.
struct Root {
    y: Real,
    l: Real,
    t: Real,
    sin: Real,
    cos: Real,
}

// The first iterate, docs/model.md (39). On the half of the transition that holds the root, the plastic share
// is replaced by a parabola that agrees with it at the outer end of the half, and the x that multiplies its
// square by the centre of the half; that leaves a quadratic equation.
fn root_start(k: Consts, y: Real, l: Real) -> Root {
    let width = 1.0 - k.s_ba;
    let middle = fma(0.5, width, k.s_ba);
    let stretched = 1.0 + l;
    let hl = 0.5 * l;
    let low_half = y < fma(Real(middle), hl, Real(middle));
    let frozen_twice = select(Real(1.0 + middle), Real(k.s_ba + middle), low_half);
    let slope = select(width * stretched, Real(width), low_half);
    let c = max(select(stretched - y, y - k.s_ba, low_half), Real(0.0));
    let root = sqrt(fma(slope, slope, 8.0 * hl * frozen_twice * c));
    let q = min((c + c) / (slope + root), Real(0.5));
    var t = fma(Real(PI), q, Real(-0.5 * PI));
    t = select(-t, t, low_half);
    return Root(y, l, t, t, t);
}

// One iteration: `approach` and `finish` of the twin in one function, because on software drivers the
// iterations stay a loop, in which the last one cannot differ.
fn root_step(k: Consts, r: Root) -> Root {
    let width = 1.0 - k.s_ba;
    let middle = fma(0.5, width, k.s_ba);
    let per_angle = width / PI;
    let hl = 0.5 * r.l;
    let sin = sine(r.t);
    let cos = cosine(r.t);
    let x = fma(Real(per_angle), r.t, Real(middle));
    let xl = x * hl;
    let load = fma(hl, sin, hl + 1.0);
    let f = fma(x, load, -r.y);
    let f_slope = fma(xl, cos, per_angle * load);
    let f_bend = fma(per_angle * r.l, cos, -(xl * sin));
    let below = fma(0.5 * f, -f_bend, f_slope * f_slope);
    let next = clamp(r.t - f * f_slope / below, Real(-0.5 * PI), Real(0.5 * PI));
    // The last step is so short that sine and cosine follow from a Taylor polynomial of second order. Those
    // of the other steps are not used.
    let step = next - r.t;
    return Root(r.y, r.l, next, fma(step, fma(0.5 * step, -sin, cos), sin), fma(step, -sin, cos));
}

// x with the plastic share there and its slope.
struct End {
    x: Real,
    b: Real,
    slope: Real,
}

fn root_end(k: Consts, r: Root) -> End {
    let width = 1.0 - k.s_ba;
    let middle = fma(0.5, width, k.s_ba);
    let x = fma(Real(width / PI), r.t, Real(middle));
    return End(x, fma(Real(0.5), r.sin, Real(0.5)), 0.5 * PI * k.inv_width * r.cos);
}

// The slip of a trial in the transition, from y = |y|/g and l = travel/g.
fn root_slip(k: Consts, r: Root) -> Slip {
    let at = root_end(k, r);
    let steep = r.l * fma(at.x, at.slope, at.b);
    let stiff = 1.0 / (1.0 + steep);
    return Slip(1.0 / fma(r.l, at.b, Real(1.0)), stiff, at.x * at.b, at.x * (steep * stiff));
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
    for (var i = 0u; i < TRANSITION_ITERATIONS; i++) { root = root_step(k, root); }
    return root;
}
