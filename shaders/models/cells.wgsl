// The cells of a contact in the private memory of its lanes: loading, storing, and changes of the pressure map.
//
// Pairs of cells are strided over the lanes; each lane keeps its bristles in its own memory for the whole dispatch.
// Cells that a lane holds beyond the last one carry no pressure. Loops over the pairs are marked with `@unroll`: on
// hardware they are written out, so that cells stay in registers.

// A cell of a map: centre in cells from the grid's centre, and its share of the normal force.
struct Cell {
    x: f32,
    y: f32,
    w: f32,
}

@group(0) @binding(0) var<storage, read> cells: array<Cell>;

var<private> cell_x: array<Real, PAIRS>;
var<private> cell_y: array<Real, PAIRS>;
var<private> cell_w: array<Real, PAIRS>;
var<private> cell_zx: array<Real, PAIRS>;
var<private> cell_zy: array<Real, PAIRS>;
// Saved states.
var<private> saved_zx: array<Real, PAIRS>;
var<private> saved_zy: array<Real, PAIRS>;
// What a lane sums over its cells.
var<private> sum: array<Real, 12>;
// Number of pairs of cells that a lane has of this contact, at most PAIRS.
var<private> pairs: u32;

// Which contact this invocation works on.
fn contact_of(group: vec3u, groups: vec3u, index: u32) -> u32 {
    lane = index;
    return group.x + group.y * groups.x;
}

// Whether this lane writes for its contact.
fn is_writer() -> bool {
    return lane == 0u;
}

fn load_bristles() {
    arm2 = c.arm2;
    pairs = max((c.cell_count + 2u * WORKGROUP - 1u) / (2u * WORKGROUP), 1u);
    // @unroll PAIRS
    for (var i = 0u; i < pairs; i++) { load_cell(i); }
}

fn load_cell(i: u32) {
    let own = 2u * (i * WORKGROUP + lane);
    let one = loaded(own);
    let other = loaded(own + 1u);
    cell_x[i] = Real(one.x, other.x);
    cell_y[i] = Real(one.y, other.y);
    cell_w[i] = Real(one.w, other.w);
    cell_zx[i] = Real(one.z.x, other.z.x);
    cell_zy[i] = Real(one.z.y, other.z.y);
}

// A cell with its bristle.
struct Loaded {
    x: f32,
    y: f32,
    w: f32,
    z: vec2f,
}

fn loaded(own: u32) -> Loaded {
    if (own >= c.cell_count) {
        return Loaded(0.0, 0.0, 0.0, vec2f(0.0));
    }
    let cell = cells[c.cell_first + own];
    return Loaded(cell.x * c.dx, cell.y * c.dy, cell.w, zetas[c.zeta_first + own]);
}

fn store_bristles() {
    // @unroll PAIRS
    for (var i = 0u; i < pairs; i++) { store_cell(i); }
}

fn store_cell(i: u32) {
    let own = 2u * (i * WORKGROUP + lane);
    if (own < c.cell_count) {
        zetas[c.zeta_first + own] = vec2f(cell_zx[i].x, cell_zy[i].x);
    }
    if (own + 1u < c.cell_count) {
        zetas[c.zeta_first + own + 1u] = vec2f(cell_zx[i].y, cell_zy[i].y);
    }
}

fn pair_sums() -> array<f32, 12> {
    return array<f32, 12>(
        sum[0].x + sum[0].y,
        sum[1].x + sum[1].y,
        sum[2].x + sum[2].y,
        sum[3].x + sum[3].y,
        sum[4].x + sum[4].y,
        sum[5].x + sum[5].y,
        sum[6].x + sum[6].y,
        sum[7].x + sum[7].y,
        sum[8].x + sum[8].y,
        sum[9].x + sum[9].y,
        sum[10].x + sum[10].y,
        sum[11].x + sum[11].y,
    );
}

// Saves the states.
fn save() {
    extra_work += 1u;
    // @unroll PAIRS
    for (var i = 0u; i < pairs; i++) { save_cell(i); }
}

fn save_cell(i: u32) {
    saved_zx[i] = cell_zx[i];
    saved_zy[i] = cell_zy[i];
}

// Restores the saved states.
fn restore() {
    extra_work += 1u;
    // @unroll PAIRS
    for (var i = 0u; i < pairs; i++) { restore_cell(i); }
}

fn restore_cell(i: u32) {
    cell_zx[i] = saved_zx[i];
    cell_zy[i] = saved_zy[i];
}

// Makes the pressure map of the interval anew; bristles are kept.
fn remap() {
    follow_map();
}

// Takes over the pressure map of the interval, docs/model.md (20).
fn follow_map() {
    if (c.hertz_radius == 0.0) {
        return;
    }
    extra_work += 2u;
    let f_n = now.map_f_n;
    let a = max(min(c.hertz_radius * exp2(log2(max(f_n, TINY)) / 3.0), c.hertz_most), A_MIN);
    let e = max(c.hertz_k + c.hertz_k_per_newton * f_n, K_MIN);
    sum = array<Real, 12>();
    // @unroll PAIRS
    for (var i = 0u; i < pairs; i++) { load_weight(i, a, e); }
    let s = reduce(pair_sums());
    // @unroll PAIRS
    for (var i = 0u; i < pairs; i++) { cell_w[i] /= s[0]; }
    arm2 = s[1] / s[0];
}

fn load_weight(i: u32, a: f32, e: f32) {
    let x = cell_x[i] / c.dx;
    let y = cell_y[i] / c.dy;
    let rho = sqrt(x * x + y * y) / a;
    var p = exp2(log2(max(1.0 - exp2(e * log2(max(rho, Real(TINY)))), Real(TINY))) / e);
    let own = 2u * (i * WORKGROUP + lane);
    p = select(Real(0.0), p, (rho < Real(1.0)) & Mask(own < c.cell_count, own + 1u < c.cell_count));
    cell_w[i] = p;
    sum[0] += p;
    sum[1] += p * (cell_x[i] * cell_x[i] + cell_y[i] * cell_y[i]);
}
