// A lane computes its cells one by one: a `Real` is one number. Where many subgroups share a processor, the
// others fill the gaps in which one of them waits for its own results, and one cell takes half of the
// registers of two.

// The sum over the cells of a Real.
fn total(v: Real) -> f32 {
    return v;
}

// A Real of the number of its cell.
fn both(a: f32, _b: f32) -> Real {
    return a;
}

// Whether there is a cell number `own`.
fn exist(own: u32) -> Mask {
    return own < contacts[contact].cell_count;
}

// The cell number `own`.
fn loaded(own: u32) -> Cells {
    let one = cell_of(own, now_at);
    return Cells(one.x, one.y, one.w);
}

// Its factor of friction.
fn own_factors(own: u32, map: u32) -> Real {
    return cell_of(own, map).f;
}

// Stores its share of the normal force.
fn store_weight(own: u32, w: Real) {
    let c = &contacts[contact];
    let now = &intervals[now_at];
    if (own < c.cell_count) {
        cells[now.map_first + own].w = w;
    }
}

// Stores its bristle, where those of the contact start at `first`.
fn store(first: u32, own: u32, zx: Real, zy: Real) {
    if (own < contacts[contact].cell_count) {
        zetas[first + own] = vec2f(zx, zy);
    }
}

// Its bristle, as it was stored.
fn stored(first: u32, own: u32) -> array<Real, 2> {
    var z = vec2f(0.0);
    if (own < contacts[contact].cell_count) {
        z = zetas[first + own];
    }
    return array<Real, 2>(z.x, z.y);
}
