// A lane computes its cells one by one: a `Real` is one number. Where many subgroups share a processor, the
// others fill the gaps in which one of them waits for its own results, and one cell takes half of the
// registers of two.

// The sum over the cells of a Real.
fn total(v: Real) -> f32 {
    return v;
}

// Whether there is a cell number `own`.
fn exist(own: u32) -> Mask {
    return own < c.cell_count;
}

// The cell number `own`.
fn loaded(own: u32) -> Loaded {
    let one = loaded_cell(own);
    return Loaded(one.x, one.y, one.w, one.z.x, one.z.y);
}

// Stores its bristle.
fn store(own: u32, zx: Real, zy: Real) {
    if (own < c.cell_count) {
        zetas[c.zeta_first + own] = vec2f(zx, zy);
    }
}
