// Friction of sliding over its speed, and the implicit equation for the speed at the end of a step
// (docs/model.md, section 13.2). Twin: src/solver/point/curve.rs.

// Friction over the normal force, psi(s) = mu_c + mu_d exp(-(s/v_s)^gamma) + sigma2 s.
struct Curve {
    k: Consts,
    mu_c: f32,
    mu_d: f32,
    // The steepest fall of psi, not positive where it rises alone.
    fall: f32,
}

// psi and its slope at speed s.
fn curve_at(curve: Curve, s: f32) -> vec2f {
    let straight = vec2f(fma(curve.k.sigma2, s, curve.mu_c), curve.k.sigma2);
    if (curve.mu_d == 0.0) {
        return straight;
    }
    let m = motion(curve.k, s, 0.0);
    return straight + curve.mu_d * vec2f(m.bell, m.bell_slope);
}

// psi(0): what friction holds.
fn curve_most(curve: Curve) -> f32 {
    return curve.mu_c + curve.mu_d;
}

// The root s > 0 of s + c psi(s) = a for a > c psi(0), where several are the largest; docs/model.md (P4).
fn curve_root(curve: Curve, c: f32, a: f32) -> f32 {
    // Without the exponential the root is the first guess, and with it no larger.
    var s = max((a - c * curve.mu_c) / fma(c, curve.k.sigma2, 1.0), 0.0);
    if (curve.mu_d == 0.0) {
        return s;
    }
    var low = 0.0;
    var high = s;
    let enough = POINT_ROOT_RESIDUAL * a;
    for (var i = 0u; i < POINT_ROOT_MOST; i++) {
        let psi = curve_at(curve, s);
        let rest = fma(c, psi.x, s) - a;
        high = select(high, s, rest > 0.0);
        low = select(s, low, rest > 0.0);
        let rise = fma(c, psi.y, 1.0);
        let newton = s - rest / rise;
        let inside = rise > 0.0 && low < newton && newton < high;
        // A residual of zero leaves the root where it is, which is an end of the bracket.
        s = select(s, select(0.5 * (low + high), newton, inside), rest != 0.0);
        if (abs(rest) <= enough) {
            break;
        }
    }
    return s;
}

// Whether s + c psi(s) falls somewhere, so that an equation with it may have several roots.
fn curve_falls(curve: Curve, c: f32) -> bool {
    return c * curve.fall > 1.0;
}

// Whether s + c psi(s) = a has several roots, of which rest is one for a <= c psi(0); those within 0.1 % of
// one another are one. docs/model.md, section 13.4.
fn curve_has_several(curve: Curve, c: f32, a: f32) -> bool {
    if (!curve_falls(curve, c)) {
        return false;
    }
    let high = curve_reach(curve, c, a, max((a - c * curve.mu_c) / fma(c, curve.k.sigma2, 1.0), 0.0));
    if (!high.is_root) {
        return false;
    }
    if (!(c * curve_most(curve) < a)) {
        return high.s > 0.0;
    }
    let low = curve_reach(curve, c, a, 0.0);
    return low.is_root && low.s < 0.999 * high.s;
}

// Where Newton's method leads, and whether that is a root.
struct Reached {
    s: f32,
    is_root: bool,
}

// Where Newton's method for s + c psi(s) = a leads from a speed, and whether that is a root. From below all
// roots and from above all it leads to the next one: s + c psi(s) is concave up to the steepest fall, and
// convex beyond it. It ends where there is none on its way.
fn curve_reach(curve: Curve, c: f32, a: f32, start: f32) -> Reached {
    let enough = POINT_ROOT_RESIDUAL * a;
    var s = start;
    var is_root = false;
    for (var i = 0u; i < POINT_ROOT_MOST; i++) {
        let psi = curve_at(curve, s);
        let rest = fma(c, psi.x, s) - a;
        let rise = fma(c, psi.y, 1.0);
        let next = s - rest / rise;
        is_root = abs(rest) <= enough;
        if (is_root || !(rise > 0.0) || next < 0.0) {
            break;
        }
        s = next;
    }
    return Reached(s, is_root);
}
