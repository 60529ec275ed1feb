// The cells of a lane in its private memory: in registers, where the loops over them are written out.

var<private> cell_x: array<Real, TURNS>;
var<private> cell_y: array<Real, TURNS>;
var<private> cell_w: array<Real, TURNS>;
var<private> cell_zx: array<Real, TURNS>;
var<private> cell_zy: array<Real, TURNS>;
// Saved states.
var<private> saved_zx: array<Real, TURNS>;
var<private> saved_zy: array<Real, TURNS>;

// Where the cells of turn i are.
fn place(i: u32) -> u32 {
    return i;
}
