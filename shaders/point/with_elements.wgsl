// A body under a law with elements, which are in the private memory of its lane.

// What a step of a free body comes to: friction, the change of its velocity, whether it comes to rest.
struct FreeStep {
    force: vec2f,
    change: vec2f,
    stops: bool,
}

fn driven(s: Step, v: vec2f) -> vec2f {
    return advance(s, v);
}

fn free_step(s: Step) -> FreeStep {
    let v = balance(s);
    return FreeStep(advance(s, v), v - s.v, false);
}

// Share of the stiffness on all elements.
fn stiffness_share() -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < ELEMENTS; i++) {
        sum += elements[i].stiffness;
    }
    return sum;
}

// Whether an element slides, or follows its limit.
fn some_at_limit() -> bool {
    var most = 0.0;
    for (var i = 0u; i < ELEMENTS; i++) {
        most = max(most, elements[i].memory.x);
    }
    return most > 0.5;
}

fn load_elements() {
    let c = &contacts[contact];
    for (var i = 0u; i < ELEMENTS; i++) {
        let at = c.zeta_first + 1u + 4u * i;
        let shares = zetas[at];
        let rho = shares.x / shares.y;
        elements[i] = Element(shares.x, shares.y, rho, zetas[at + 1u], zetas[at + 2u], zetas[at + 3u]);
    }
}

fn store_elements() {
    let c = &contacts[contact];
    for (var i = 0u; i < ELEMENTS; i++) {
        let at = c.zeta_first + 1u + 4u * i;
        zetas[at + 1u] = elements[i].zeta;
        zetas[at + 2u] = elements[i].zeta_low;
        zetas[at + 3u] = elements[i].memory;
    }
}
