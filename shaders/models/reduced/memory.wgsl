// The bristle of a contact in the private memory of its lane: loading, storing, and changes of the pressure
// map.

fn contact_of(invocation: Invocation) -> u32 {
    return (invocation.group.x + invocation.group.y * invocation.groups.x) * WORKGROUP + invocation.index;
}

fn is_writer() -> bool {
    return true;
}

fn load_bristles() {
    let c = &contacts[contact];
    let a = zetas[c.zeta_first];
    let b = zetas[c.zeta_first + 1u];
    let low = zetas[c.zeta_first + 2u];
    zeta = vec3f(a.x, a.y, b.x);
    kept[own()].zeta_low = vec3f(b.y, low.x, low.y);
    kept[own()].residual = zetas[c.zeta_first + 3u].x;
    follow_map();
}

fn store_bristles() {
    let c = &contacts[contact];
    zetas[c.zeta_first] = zeta.xy;
    let state = &kept[own()];
    zetas[c.zeta_first + 1u] = vec2f(zeta.z, state.zeta_low.x);
    zetas[c.zeta_first + 2u] = state.zeta_low.yz;
    zetas[c.zeta_first + 3u] = vec2f(state.residual, 0.0);
}

// Transfers zeta_3 to the map of the interval: as `RemapTransfer::apply` in contact.rs.
fn transfer(mu_c: f32) {
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
    state.zeta_low.z = select(0.0, state.zeta_low.z * now.map_rotation, state.residual == 0.0);
}

// Moves the bristle with the centre of pressure, docs/model.md (75a): as `move_centre` in contact.rs.
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

// Transfers the bristle to the map of the interval; no stage is pending.
fn transfer_bristles() {
    move_centre();
    transfer(inputs(0.0).mu_c);
}

// Takes over the map of the interval and leaves the bristle as it is.
fn follow_map() {
    let now = &intervals[now_at];
    radius = now.map_radius;
    viscous = now.map_arm2;
    cop = vec2f(now.map_cop_x, now.map_cop_y);
    table_first = now.map_first;
    arm2 = viscous;
}
