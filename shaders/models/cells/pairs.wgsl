// A lane computes its cells in pairs: a `Real` is two numbers. On a processor with few lanes and long chains
// of results that wait for each other, the one cell fills the gaps of the other.

// The sum over the cells of a Real.
fn total(v: Real) -> f32 {
    return v.x + v.y;
}

// Whether there are cells from number `own` on.
fn exist(own: u32) -> Mask {
    return Mask(own < c.cell_count, own + 1u < c.cell_count);
}

// The cells from number `own` on.
fn loaded(own: u32) -> Loaded {
    let one = loaded_cell(own);
    let other = loaded_cell(own + 1u);
    return Loaded(
        Real(one.x, other.x),
        Real(one.y, other.y),
        Real(one.w, other.w),
        Real(one.z.x, other.z.x),
        Real(one.z.y, other.z.y),
    );
}

// Stores their bristles.
fn store(own: u32, zx: Real, zy: Real) {
    if (own < c.cell_count) {
        zetas[c.zeta_first + own] = vec2f(zx.x, zy.x);
    }
    if (own + 1u < c.cell_count) {
        zetas[c.zeta_first + own + 1u] = vec2f(zx.y, zy.y);
    }
}
