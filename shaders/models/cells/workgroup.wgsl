// The cells of a lane in the memory of its workgroup, in places that no other lane uses: a loop over them can
// stay a loop, and they take no registers.

var<workgroup> cell_x: array<Real, TURNS * WORKGROUP>;
var<workgroup> cell_y: array<Real, TURNS * WORKGROUP>;
var<workgroup> cell_w: array<Real, TURNS * WORKGROUP>;
var<workgroup> cell_zx: array<Real, TURNS * WORKGROUP>;
var<workgroup> cell_zy: array<Real, TURNS * WORKGROUP>;
// Saved states.
var<workgroup> saved_zx: array<Real, TURNS * WORKGROUP>;
var<workgroup> saved_zy: array<Real, TURNS * WORKGROUP>;

// Where the cells of turn i are.
fn place(i: u32) -> u32 {
    return i * WORKGROUP + lane;
}
