// The cells of a lane in its private memory: in registers, where the loops over them are written out.

var<private> cell_x: array<Real, TURNS>;
var<private> cell_y: array<Real, TURNS>;
var<private> cell_w: array<Real, TURNS>;
var<private> cell_zx: array<Real, TURNS>;
var<private> cell_zy: array<Real, TURNS>;
// Saved states.
var<private> saved_zx: array<Real, TURNS>;
var<private> saved_zy: array<Real, TURNS>;

// Where the bristles of turn i are.
fn place(i: u32) -> u32 {
    return i;
}

// The cells of turn i.
fn own_cells(i: u32) -> Cells {
    return Cells(cell_x[i], cell_y[i], cell_w[i]);
}

// Reads the cells of turn i.
fn load_map(i: u32) {
    let own = loaded(first_cell(i));
    cell_x[i] = own.x;
    cell_y[i] = own.y;
    cell_w[i] = own.w;
}

fn set_weight(i: u32, w: Real) {
    cell_w[i] = w;
}

fn save_cell(i: u32) {
    saved_zx[i] = cell_zx[i];
    saved_zy[i] = cell_zy[i];
}

// The saved states of turn i.
fn saved(i: u32) -> array<Real, 2> {
    return array<Real, 2>(saved_zx[i], saved_zy[i]);
}
