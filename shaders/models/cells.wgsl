// The cells of a contact in the memory of its lanes: loading, storing, and changes of the pressure map.
//
// Cells are strided over the lanes, so many at once as a `Real` holds (cells/singles.wgsl, cells/pairs.wgsl);
// each lane keeps its bristles for the whole dispatch (cells/private.wgsl, cells/workgroup.wgsl). Cells that
// a lane holds beyond the last one carry no pressure. Loops over the turns of a lane are marked with
// `@unroll`.
//
// No twin of src/solver/models/cells.rs, which has all cells of a contact and gets the shares of a new map
// ready-made. Here a map that follows the normal force is made on the device (`change_weight`), so that its
// shares need not be sent for every interval; src/patch/pressure.rs has its equation for the host.

// A pipeline constant, the same for all contacts of a dispatch: whether friction differs by region.
override mapped: bool = false;

// A cell of a map: centre in cells from the grid's centre, its share of the normal force, and the factor of
// its coefficients of friction.
struct MapCell {
    x: f32,
    y: f32,
    w: f32,
    f: f32,
}

// Weights change with maps that follow the normal force.
@group(0) @binding(0) var<storage, read_write> cells: array<MapCell>;

// What a lane sums over its cells.
var<private> sum: array<Real, 12>;
// Turns that a lane takes for its cells of this contact, at most TURNS.
var<private> turns: u32;

// Which contact this invocation works on.
fn contact_of(invocation: Invocation) -> u32 {
    set_lane(invocation);
    let group = invocation.group.x + invocation.group.y * invocation.groups.x;
    if (LANES == WORKGROUP) {
        // So that compilers see that all lanes have the same contact.
        return group;
    }
    return group * (WORKGROUP / LANES) + position / LANES;
}

// Whether this lane writes for its contact.
fn is_writer() -> bool {
    return lane == 0u;
}

fn load_bristles() {
    let c = &contacts[contact];
    let now = &intervals[now_at];
    arm2 = now.map_arm2;
    turns = max((c.cell_count + WIDTH * LANES - 1u) / (WIDTH * LANES), 1u);
    // @unroll TURNS
    for (var i = 0u; i < turns; i++) { load_cell(i); }
}

// The first cell of this lane's turn i.
fn first_cell(i: u32) -> u32 {
    return WIDTH * (i * LANES + lane);
}

// Cells: their centres [m], and their shares of the normal force.
struct Cells {
    x: Real,
    y: Real,
    w: Real,
}

// The cell of the map of interval `map`; one without pressure beyond the last.
fn cell_of(own: u32, map: u32) -> MapCell {
    let c = &contacts[contact];
    let now = &intervals[map];
    if (own >= c.cell_count) {
        return MapCell(0.0, 0.0, 0.0, 1.0);
    }
    let cell = cells[now.map_first + own];
    var at = vec2f(cell.x * c.dx, cell.y * c.dy);
    if (has_axes) {
        // cof(A) times the place, docs/model.md (20d).
        at = vec2f(c.axes_yy * at.x - c.axes_xy * at.y, c.axes_xx * at.y - c.axes_xy * at.x);
    }
    return MapCell(at.x, at.y, cell.w, cell.f);
}

// The limit g of the bristles of turn i that have it where the factor is 1, docs/model.md (20a). Factors are
// read in every pass: few contacts have them, and they would take registers.
fn own_limit(i: u32, g: Real) -> Real {
    if (mapped) {
        // Before an interval is entered a pending stage is written back under the factors before it.
        return own_factors(first_cell(i), now_at - select(1u, 0u, inside)) * g;
    }
    return g;
}

fn load_cell(i: u32) {
    let here = place(i);
    let z = stored(contacts[contact].zeta_first, first_cell(i));
    cell_zx[here] = z[0];
    cell_zy[here] = z[1];
    load_map(i);
}

fn store_bristles() {
    // @unroll TURNS
    for (var i = 0u; i < turns; i++) { store_cell(i); }
}

fn store_cell(i: u32) {
    let c = &contacts[contact];
    let here = place(i);
    store(c.zeta_first, first_cell(i), cell_zx[here], cell_zy[here]);
}

// What a lane has summed, over the cells of a Real too.
fn lane_totals() -> array<f32, 12> {
    return array<f32, 12>(
        total(sum[0]),
        total(sum[1]),
        total(sum[2]),
        total(sum[3]),
        total(sum[4]),
        total(sum[5]),
        total(sum[6]),
        total(sum[7]),
        total(sum[8]),
        total(sum[9]),
        total(sum[10]),
        total(sum[11]),
    );
}

// Saves the states.
fn save() {
    extra_work += 1u;
    // @unroll TURNS
    for (var i = 0u; i < turns; i++) { save_cell(i); }
}

// Restores the saved states.
fn restore() {
    extra_work += 1u;
    // @unroll TURNS
    for (var i = 0u; i < turns; i++) { restore_cell(i); }
}

fn restore_cell(i: u32) {
    let here = place(i);
    let state = saved(i);
    cell_zx[here] = state[0];
    cell_zy[here] = state[1];
}

// Transfers the bristles to the pressure map of the interval: those of a grid are kept.
fn transfer_bristles() {
}

// Whether the pressure map follows the normal force, and is made here.
fn makes_map() -> bool {
    let c = &contacts[contact];
    return c.hertz_radius != 0.0;
}

// Takes over the pressure map of the interval: one that follows the normal force is made, docs/model.md (20),
// others are read.
fn follow_map(makes: bool) {
    let c = &contacts[contact];
    let now = &intervals[now_at];
    if (!makes) {
        if ((now.flags & FLAG_REMAP) != 0u) {
            extra_work += 1u;
            arm2 = now.map_arm2;
            // @unroll TURNS
            for (var i = 0u; i < turns; i++) { load_map(i); }
            // Not where a dispatch goes on within an interval.
            if (is_layer() && remapped) {
                remapped = false;
                let mu_s = inputs(0.0).mu_s;
                // @unroll TURNS
                for (var i = 0u; i < turns; i++) { limit_cell(i, mu_s); }
            }
        }
        return;
    }
    extra_work += 2u;
    let f_n = now.map_f_n;
    let a = max(min(c.hertz_radius * exp2(log2(max(f_n, TINY)) / 3.0), c.hertz_most), A_MIN);
    let e = max(c.hertz_k + c.hertz_k_per_newton * f_n, K_MIN);
    sum = array<Real, 12>();
    // @unroll TURNS
    for (var i = 0u; i < turns; i++) { change_weight(i, a, e); }
    let s = reduce(lane_totals());
    // @unroll TURNS
    for (var i = 0u; i < turns; i++) { set_weight(i, own_cells(i).w / s[0]); }
    arm2 = s[1] / s[0];
}

// Whether the cells are those of an elastic layer, whose pressure is in the factors of friction.
fn is_layer() -> bool {
    return mapped && (intervals[now_at].flags & FLAG_LAYER) != 0u;
}

// Takes the state of a turn back to its limit where the factor is 1 and the limit mu.
fn limit_cell(i: u32, mu: f32) {
    let here = place(i);
    let zx = cell_zx[here];
    let zy = cell_zy[here];
    let length = sqrt(zx * zx + zy * zy);
    let most = own_limit(i, Real(mu));
    let back = select(Real(1.0), most / max(length, Real(TINY)), most < length);
    cell_zx[here] = back * zx;
    cell_zy[here] = back * zy;
}

fn change_weight(i: u32, a: f32, e: f32) {
    let c = &contacts[contact];
    let cell = own_cells(i);
    var x = cell.x;
    var y = cell.y;
    if (has_axes) {
        // The map is made on the patch as it is.
        x = (c.axes_xx * cell.x + c.axes_xy * cell.y) / c.across;
        y = (c.axes_xy * cell.x + c.axes_yy * cell.y) / c.across;
    }
    x /= c.dx;
    y /= c.dy;
    let rho = sqrt(x * x + y * y) / a;
    var p = exp2(log2(max(1.0 - exp2(e * log2(max(rho, Real(TINY)))), Real(TINY))) / e);
    p = select(Real(0.0), p, (rho < Real(1.0)) & exist(first_cell(i)));
    set_weight(i, p);
    sum[0] += p;
    sum[1] += p * (cell.x * cell.x + cell.y * cell.y);
}
