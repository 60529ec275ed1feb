// Elasto-Plastic, docs/model.md (10): elastic below the share s_ba of the limit, plastic at the limit, and
// partly plastic between, by the plastic share (11). Twin: src/solver/laws/elasto_plastic.rs.

const DIRECTED = true;
const CUTS = false;

fn law_travel(a_sigma0: f32, speed: Real, along: Real) -> Real {
    return max(0.5 * a_sigma0 * (speed + along), Real(0.0));
}

fn law_slip(k: Consts, t: Trial) -> Slip {
    let r = 1.0 / (t.g + t.travel);
    let plastic = k.s_ba * t.g < t.len;
    let d = select(Real(1.0), t.g * r, plastic);
    let xb = select(Real(0.0), t.len * r, plastic);
    return Slip(d, d, xb, xb * (t.travel * r));
}

fn law_relaxation(t: Trial, z: Slip) -> Real {
    let plastic = Real(0.0) < z.xb;
    return select(Real(0.0), t.travel * z.xb / max(z.d * t.len, Real(TINY)), plastic);
}

fn law_sensitivity(a_sigma0: f32, t: Trial, z: Slip, speed: Real, along: Real) -> Sensitivity {
    let carried = a_sigma0 * z.d;
    let turn = a_sigma0 * t.inv_len;
    let stretch = a_sigma0 * z.stiff;
    let back = -0.5 * stretch * z.xb;
    let normal = fma(back, 1.0 - turn * along, stretch) - carried;
    return Sensitivity(carried, normal, fma(back, turn * speed, back), z.xs);
}

fn law_decay(k: Consts, g: Real, speed: Real, along: Real, size: Real) -> Real {
    return 0.5 * (speed + along) * plastic_share(k, size / g).b / g;
}
