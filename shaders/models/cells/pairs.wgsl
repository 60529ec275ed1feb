// A lane computes its cells in pairs: a `Real` is two numbers. On a processor with few lanes and long chains
// of results that wait for each other, the one cell fills the gaps of the other.

// The sum over the cells of a Real.
fn total(v: Real) -> f32 {
    return v.x + v.y;
}

// A Real of the numbers of its cells.
fn both(a: f32, b: f32) -> Real {
    return Real(a, b);
}

// Whether there are cells from number `own` on.
fn exist(own: u32) -> Mask {
    let c = &contacts[contact];
    return Mask(own < c.cell_count, own + 1u < c.cell_count);
}

// The cells from number `own` on.
fn loaded(own: u32) -> Cells {
    let one = cell_of(own, now_at);
    let other = cell_of(own + 1u, now_at);
    return Cells(Real(one.x, other.x), Real(one.y, other.y), Real(one.w, other.w));
}

// Their factors of friction.
fn own_factors(own: u32, map: u32) -> Real {
    return Real(cell_of(own, map).f, cell_of(own + 1u, map).f);
}

// Stores their shares of the normal force.
fn store_weight(own: u32, w: Real) {
    let c = &contacts[contact];
    let now = &intervals[now_at];
    if (own < c.cell_count) {
        cells[now.map_first + own].w = w.x;
    }
    if (own + 1u < c.cell_count) {
        cells[now.map_first + own + 1u].w = w.y;
    }
}

// Stores their bristles, where those of the contact start at `first`.
fn store(first: u32, own: u32, zx: Real, zy: Real) {
    let c = &contacts[contact];
    if (own < c.cell_count) {
        zetas[first + own] = vec2f(zx.x, zy.x);
    }
    if (own + 1u < c.cell_count) {
        zetas[first + own + 1u] = vec2f(zx.y, zy.y);
    }
}

// Their bristles, as they were stored.
fn stored(first: u32, own: u32) -> array<Real, 2> {
    let c = &contacts[contact];
    var one = vec2f(0.0);
    var other = vec2f(0.0);
    if (own < c.cell_count) {
        one = zetas[first + own];
    }
    if (own + 1u < c.cell_count) {
        other = zetas[first + own + 1u];
    }
    return array<Real, 2>(Real(one.x, other.x), Real(one.y, other.y));
}
