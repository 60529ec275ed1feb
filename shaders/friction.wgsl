// What all laws and both models share: the constants of a contact and of a stage, the Stribeck curve, and the
// quantities that describe how a bristle slips over a stage (docs/model.md, sections 2, 5.2 and 5.4).
// Twin: src/solver/friction.rs.
//
// `Real` is f32 for a reduced bristle and vec2f for the cells of a grid: a lane takes them in pairs, so that
// it works on one while the other waits for its own results.
//
// Only here: `select_slip`.

// A pipeline constant, the same for all contacts of a dispatch: whether gamma is 2.
override gaussian: bool = true;

// Friction constants of a contact.
struct Consts {
    gamma: f32,
    inv_v_s: f32,
    s_ba: f32,
    inv_width: f32,
    sigma2: f32,
}

// Constants of one stage of one step.
struct Stage {
    a_sigma0: f32,
    damping: f32,
    mu_c: f32,
    mu_d: f32,
    chi: f32,
    extrapolation: f32,
    // Whether the base is first cut to the limit of this stage, if the law cuts bristles.
    cuts: bool,
}

// The same stage without a length, which only cuts bristles to its limit.
fn without_length(st: Stage) -> Stage {
    return Stage(0.0, st.damping, st.mu_c, st.mu_d, st.chi, st.extrapolation, st.cuts);
}

// What follows from the velocity of a cell and does not depend on the stage.
struct Motion {
    vx: Real,
    vy: Real,
    s: Real,
    inv_s: Real,
    bell: Real,
    bell_slope: Real,
}

// The trial state of a bristle, y = zeta_b + a sigma0 D: where it would be without any slip.
struct Trial {
    len: Real,
    inv_len: Real,
    g: Real,
    travel: Real,
}

// How much of a trial slips: zeta* = d y.
struct Slip {
    d: Real,
    stiff: Real,
    xb: Real,
    xs: Real,
}

// How the bristle at the end of a stage changes with the velocity:
// d zeta*/dv = carried J + n (normal J^T n + speed J^T D/|D| + limit dg/dv)^T.
struct Sensitivity {
    carried: Real,
    normal: Real,
    speed: Real,
    limit: Real,
}

fn select_slip(other: Slip, here: Slip, mask: Mask) -> Slip {
    return Slip(
        select(other.d, here.d, mask),
        select(other.stiff, here.stiff, mask),
        select(other.xb, here.xb, mask),
        select(other.xs, here.xs, mask),
    );
}

// Speed, direction and Stribeck bell of a velocity.
fn motion(k: Consts, vx: Real, vy: Real) -> Motion {
    let v2 = fma(vx, vx, fma(vy, vy, Real(TINY)));
    let inv_s = inverseSqrt(v2);
    let s = v2 * inv_s;
    var bell = Real(0.0);
    var bell_slope = Real(0.0);
    if (gaussian) {
        let inv_v_s2 = k.inv_v_s * k.inv_v_s;
        bell = exp_negative(max(v2 * -inv_v_s2, Real(-80.0)));
        bell_slope = -2.0 * inv_v_s2 * (s * bell);
    } else {
        let x = max(s * k.inv_v_s, Real(TINY));
        bell = exp_negative(-min(exp2(k.gamma * log2(x)), Real(80.0)));
        let held = max(x, Real(STRIBECK_X_MIN));
        // x^(gamma-1) is computed as x^gamma / x with x^gamma bounded as in the exponential. Without the
        // bound it overflows at high speed, and infinity times an exponential of zero is no number.
        bell_slope = -k.gamma * min(exp2(k.gamma * log2(held)), Real(80.0)) / held * k.inv_v_s * bell;
    }
    return Motion(vx, vy, s, inv_s, bell, bell_slope);
}

// A bound on the size of the slope of exp(-x^2) for x from least to most, docs/model.md (53): by 2 x below
// its steepest point, and by SLOPE_TAIL/x^3 above it.
fn steepest_between(least: f32, most: f32) -> f32 {
    let x = max(least, SLOPE_TAIL_FROM);
    return min(max(most + most, LEAST_SLOPE), SLOPE_TAIL / (x * x * x));
}
