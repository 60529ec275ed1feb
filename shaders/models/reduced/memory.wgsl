// The bristle of a contact in the private memory of its lane: loading, storing, and taking over another
// pressure map.

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
    follow_map(false);
}

fn store_bristles() {
    let c = &contacts[contact];
    zetas[c.zeta_first] = zeta.xy;
    let state = &kept[own()];
    zetas[c.zeta_first + 1u] = vec2f(zeta.z, state.zeta_low.x);
    zetas[c.zeta_first + 2u] = state.zeta_low.yz;
    zetas[c.zeta_first + 3u] = vec2f(state.residual, 0.0);
}

// Transfers the bristle to the map of the interval; no stage is pending.
fn transfer_bristles() {
    move_centre();
    transfer_apply(inputs(0.0).mu_c);
}

// Whether the map is made here: the host makes tables.
fn makes_map() -> bool {
    return false;
}

// Takes over the map of the interval and leaves the bristle as it is.
fn follow_map(_makes: bool) {
    let now = &intervals[now_at];
    radius = now.map_radius;
    viscous = now.map_arm2;
    cop = vec2f(now.map_cop_x, now.map_cop_y);
    table_first = now.map_first;
    arm2 = viscous;
}
