// One pass over the cells of a grid: commits one stage, evaluates the next, sums (docs/model.md, section
// 5.5). Cells are strided over the lanes, and a lane takes turns for its own (models/cells.wgsl). Cells that
// a lane holds beyond the last one carry no pressure.
//
// No twin of src/solver/models/distributed.rs, which has the same equations in another order. A lane here
// goes through all of them for a cell (`sweep_cell`), because other lanes work while it waits for a result. A
// processor needs short loops over many cells, each with a part of the equations. `sweep`, `force_change` and
// `wrench` return the same in both; tests/solver/twins.rs compares them.
//
// A loop under `@unroll TURNS` may be written out (gpu/unroll.rs).

// The point of the patch that twists and wrenches refer to.
fn reference_point() -> vec2f {
    return vec2f(0.0);
}

// Whether a pending stage must be committed before the map changes: that of a layer has been solved under the
// friction of the map before.
fn commits_before_remap() -> bool {
    return is_layer();
}

// Size of a change of the twist u up to which the derivative of the force holds: a grid has no limit.
fn trust_radius(_u: vec3f) -> f32 {
    return 1e30;
}

// Load of a single bristle; a grid has none, as its cells slip one after the other.
fn loading() -> f32 {
    return 0.0;
}

// One pass at patch twist u. `commit` moves the bases through stage `committed`; `evaluate` evaluates stage
// `next` from the moved bases.
fn sweep(k: Consts, u: vec3f, commit: bool, committed: Stage, evaluate: bool, next: Stage) -> Sums {
    sum = array<Real, 12>();
    // @unroll TURNS
    for (var i = 0u; i < turns; i++) { sweep_cell(i, k, u, commit, committed, evaluate, next); }
    if (!evaluate) {
        return Sums(vec3f(0.0), vec3f(0.0), vec3f(0.0), vec3f(0.0));
    }
    let s = reduce(lane_totals());
    return Sums(
        vec3f(s[0], s[1], s[2]),
        vec3f(s[3], s[4], s[5]),
        vec3f(s[6], s[7], s[8]),
        vec3f(s[9], s[10], s[11]),
    );
}

fn sweep_cell(i: u32, k: Consts, u: vec3f, commit: bool, committed: Stage, evaluate: bool, next: Stage) {
    let here = place(i);
    let cell = own_cells(i);
    let x = cell.x;
    let y = cell.y;
    let m = cell_motion(i, k, u, x, y);
    var zx = cell_zx[here];
    var zy = cell_zy[here];
    if (commit) {
        if (CUTS && committed.cuts) {
            let d = slip(k, trial(i, without_length(committed), m, zx, zy).t).d;
            zx *= d;
            zy *= d;
        }
        let t = trial(i, committed, m, zx, zy);
        let d = slip(k, t.t).d;
        // An elastic bristle moves by a sigma0 v exactly. The difference d y - zeta would lose digits, and a
        // contact that sticks would creep.
        let elastic = d == Real(1.0);
        zx += committed.extrapolation * select(d * t.yx - zx, committed.a_sigma0 * m.vx, elastic);
        zy += committed.extrapolation * select(d * t.yy - zy, committed.a_sigma0 * m.vy, elastic);
        cell_zx[here] = zx;
        cell_zy[here] = zy;
    }
    if (evaluate) {
        let w = cell_share(i, cell.w);
        let t = trial(i, next, m, zx, zy);
        let z = slip(k, t.t);
        let sx = z.d * t.yx;
        let sy = z.d * t.yy;
        let fx = w * (sx + next.damping * (sx - zx) + k.sigma2 * m.vx);
        let fy = w * (sy + next.damping * (sy - zy) + k.sigma2 * m.vy);
        let share = w * (1.0 + next.damping);
        let d = sensitivity(i, next, m, t, z);
        let cxx = share * d.xx + w * k.sigma2;
        let cxy = share * d.xy;
        let cyx = share * d.yx;
        let cyy = share * d.yy + w * k.sigma2;
        // The rows of C E, then of E^T C E.
        let xw = x * cxy - y * cxx;
        let yw = x * cyy - y * cyx;
        sum[0] += fx;
        sum[1] += fy;
        sum[2] += x * fy - y * fx;
        sum[3] += cxx;
        sum[4] += cxy;
        sum[5] += xw;
        sum[6] += cyx;
        sum[7] += cyy;
        sum[8] += yw;
        sum[9] += x * cyx - y * cxx;
        sum[10] += x * cyy - y * cxy;
        sum[11] += x * yw - y * xw;
    }
}

// How the force has changed since the states were saved: sum w E^T (zeta - saved).
fn force_change() -> vec3f {
    extra_work += 1u;
    sum = array<Real, 12>();
    // @unroll TURNS
    for (var i = 0u; i < turns; i++) { force_change_cell(i); }
    let s = reduce(lane_totals());
    return vec3f(s[0], s[1], s[2]);
}

fn force_change_cell(i: u32) {
    let here = place(i);
    let before = saved(i);
    let cell = own_cells(i);
    let w = cell_share(i, cell.w);
    let fx = w * (cell_zx[here] - before[0]);
    let fy = w * (cell_zy[here] - before[1]);
    sum[0] += fx;
    sum[1] += fy;
    sum[2] += cell.x * fy - cell.y * fx;
}

// The friction wrench at the patch origin in the present state, docs/model.md (15) with the rate of (8),
// and the shares of the normal force on cells that slip, (14a), and on cells near their limit, (14b).
fn wrench(k: Consts, u: vec3f, rate: Rate, f_n: f32) -> Measured {
    sum = array<Real, 12>();
    // @unroll TURNS
    for (var i = 0u; i < turns; i++) { wrench_cell(i, k, u, rate); }
    let s = reduce(lane_totals());
    return Measured(vec3f(f_n * s[0], f_n * s[1], f_n * s[2]), vec2f(s[3], s[4]));
}

fn wrench_cell(i: u32, k: Consts, u: vec3f, rate: Rate) {
    let here = place(i);
    let cell = own_cells(i);
    let x = cell.x;
    let y = cell.y;
    let w = cell_share(i, cell.w);
    let zx = cell_zx[here];
    let zy = cell_zy[here];
    let m = cell_motion(i, k, u, x, y);
    let g = own_limit(i, rate.mu_c + rate.mu_d * m.bell);
    let lambda = decay(k, g, m, zx, zy);
    let fx = -w * (zx + rate.sigma1 * (m.vx - lambda * zx) + k.sigma2 * m.vx);
    let fy = -w * (zy + rate.sigma1 * (m.vy - lambda * zy) + k.sigma2 * m.vy);
    sum[0] += fx;
    sum[1] += fy;
    sum[2] += x * fy - y * fx;
    let size = sqrt(zx * zx + zy * zy);
    sum[3] += select(Real(0.0), w, Real(SLIP_SPEED) < lambda * size);
    sum[4] += select(Real(0.0), w, k.s_ba * g < size);
}
