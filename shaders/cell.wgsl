// The bristle of a cell over a stage of the step: its new state, exactly, and how that changes with the
// velocity (docs/model.md, sections 5.2 and 5.4). Twin: src/solver/cell.rs.

// The trial state of the bristle of a cell: y, its direction (or y itself under a law that is not DIRECTED),
// the velocity along it (the speed under such a law), its length, limit and plastic travel.
struct CellTrial {
    yx: Real,
    yy: Real,
    nx: Real,
    ny: Real,
    along: Real,
    t: Trial,
}

// The trial of a bristle with base (zx, zy) at velocity m, docs/model.md (32), in the cells of turn i.
fn trial(i: u32, st: Stage, m: Motion, zx: Real, zy: Real) -> CellTrial {
    let a_sigma0 = Real(st.a_sigma0);
    let yx = fma(a_sigma0, m.vx, zx);
    let yy = fma(a_sigma0, m.vy, zy);
    let g = own_limit(i, fma(Real(st.mu_d), m.bell, Real(st.mu_c)));
    if (!DIRECTED) {
        let travel = law_travel(st.a_sigma0, m.s, m.s);
        return CellTrial(yx, yy, yx, yy, m.s, Trial(Real(0.0), Real(0.0), g, travel));
    }
    let y2 = fma(yx, yx, fma(yy, yy, Real(TINY)));
    let inv_len = inverseSqrt(y2);
    let along = fma(m.vx, yx, m.vy * yy) * inv_len;
    let travel = law_travel(st.a_sigma0, m.s, along);
    return CellTrial(yx, yy, yx * inv_len, yy * inv_len, along, Trial(y2 * inv_len, inv_len, g, travel));
}

// d zeta*/dv.
struct Gain {
    xx: Real,
    xy: Real,
    yx: Real,
    yy: Real,
}

// d zeta*/dv, docs/model.md (44) and (48): the limit changes by chi g' along the velocity.
fn sensitivity(i: u32, st: Stage, m: Motion, c: CellTrial, z: Slip) -> Gain {
    let g_slope = own_limit(i, st.chi * st.mu_d * m.bell_slope);
    let by = law_sensitivity(st.a_sigma0, c.t, z, m.s, c.along);
    let along = fma(by.limit, g_slope, by.speed) * m.inv_s;
    var row_x = along * m.vx;
    var row_y = along * m.vy;
    if (DIRECTED) {
        row_x = fma(by.normal, c.nx, row_x);
        row_y = fma(by.normal, c.ny, row_y);
    }
    return Gain(fma(c.nx, row_x, by.carried), c.nx * row_y, c.ny * row_x, fma(c.ny, row_y, by.carried));
}

// lambda / sigma0 of the differential equation at state (zx, zy), docs/model.md (9) and (10): for recorded
// wrenches.
fn decay(k: Consts, g: Real, m: Motion, zx: Real, zy: Real) -> Real {
    let z2 = zx * zx + zy * zy;
    let inv_z = inverseSqrt(z2 + TINY);
    return law_decay(k, g, m.s, (m.vx * zx + m.vy * zy) * inv_z, z2 * inv_z);
}
