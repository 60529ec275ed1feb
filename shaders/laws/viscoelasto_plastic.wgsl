// Viscoelasto-plastic, docs/model.md (10a): elastic below the limit g, and at it held there, as a spring on a
// slider. Twin: src/solver/laws/viscoelasto_plastic.rs.

const DIRECTED = true;
const CUTS = true;

fn law_travel(a_sigma0: f32, speed: Real, along: Real) -> Real {
    return Real(0.0);
}

fn law_slip(k: Consts, t: Trial) -> Slip {
    let slides = t.len > t.g;
    let d = select(Real(1.0), t.g * t.inv_len, slides);
    return Slip(d, d, select(Real(0.0), Real(1.0), slides), Real(0.0));
}

fn law_relaxation(t: Trial, z: Slip) -> Real {
    return max(t.len - t.g, Real(0.0)) / t.g;
}

// g' n e^T + (g/|y|) (I - n n^T) a sigma0 J where it slides, a sigma0 J where it sticks.
fn law_sensitivity(a_sigma0: f32, t: Trial, z: Slip, speed: Real, along: Real) -> Sensitivity {
    let carried = a_sigma0 * z.d;
    return Sensitivity(carried, -(carried * z.xb), Real(0.0), z.xb);
}

fn law_decay(k: Consts, g: Real, speed: Real, along: Real, size: Real) -> Real {
    let slides = (size > AT_LIMIT * g) & (along > Real(0.0));
    return select(Real(0.0), along / max(size, Real(TINY)), slides);
}
