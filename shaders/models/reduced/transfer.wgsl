// How the state of a reduced bristle is transferred to a new map. Twin: src/contact/transfer.rs.

// Moves the bristle with the centre of pressure, docs/model.md (75a): to the state of the same rigid
// displacement at the new centre.
fn move_centre() {
    let now = &intervals[now_at];
    let d = vec2f(now.map_cop_x, now.map_cop_y) - cop;
    if (viscous > 0.0 && (d.x != 0.0 || d.y != 0.0)) {
        let turn = zeta.z * radius / viscous;
        let sum = add3(zeta, kept[own()].zeta_low, vec3f(-turn * d.y, turn * d.x, 0.0));
        zeta = sum.high;
        kept[own()].zeta_low = sum.low;
    }
}

// Sets zeta_3 and its residual on the new map, docs/model.md (74) and (75).
fn transfer_apply(mu_c: f32) {
    let c = &contacts[contact];
    let now = &intervals[now_at];
    let state = &kept[own()];
    let planar = dot(zeta.xy, zeta.xy);
    let size2 = planar + zeta.z * zeta.z;
    let limit = min(STICK_LIMIT, c.s_ba) * mu_c;
    if (now.map_rotation == 0.0 || size2 > limit * limit) {
        zeta.z *= now.map_deflection;
        state.zeta_low.z *= now.map_deflection;
        state.residual = 0.0;
        return;
    }
    let whole = now.map_rotation * (zeta.z + state.residual);
    let most = min(SHOWN_LIMIT, c.s_ba) * mu_c;
    let has_arm = now.map_radius > 0.0 && now.map_arm2 > 0.0;
    let largest = select(0.0, sqrt(max(size2, most * most) - planar), has_arm);
    zeta.z = clamp(whole, -largest, largest);
    state.residual = whole - zeta.z;
    // What is cut off at the limit is in the residual.
    state.zeta_low.z = select(0.0, state.zeta_low.z * now.map_rotation, state.residual == 0.0);
}
