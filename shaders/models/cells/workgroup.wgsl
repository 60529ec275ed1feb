// The bristles of a lane in the memory of its workgroup, in places that no other lane uses: a loop over them
// can stay a loop, and they take no registers. That memory decides how many workgroups share a processor, so
// the map is read from its buffer in every pass, and saved states, which are needed once a step at most, are
// in the second half of the buffer of bristles.

var<workgroup> cell_zx: array<Real, TURNS * WORKGROUP>;
var<workgroup> cell_zy: array<Real, TURNS * WORKGROUP>;

// Where the bristles of turn i are.
fn place(i: u32) -> u32 {
    return i * WORKGROUP + position;
}

// The cells of turn i.
fn own_cells(i: u32) -> Cells {
    return loaded(first_cell(i));
}

fn load_map(_i: u32) {
}

fn set_weight(i: u32, w: Real) {
    store_weight(first_cell(i), w);
}

// Where the saved states of the contact start.
fn first_saved() -> u32 {
    return contacts[contact].zeta_first + arrayLength(&zetas) / 2u;
}

fn save_cell(i: u32) {
    let here = place(i);
    store(first_saved(), first_cell(i), cell_zx[here], cell_zy[here]);
}

// The saved states of turn i.
fn saved(i: u32) -> array<Real, 2> {
    return stored(first_saved(), first_cell(i));
}
