// The sweep over the cells of a grid: finishes one stage, answers for the next, sums.
// Twin: src/kernel/distributed.rs. Cells are strided over the lanes; each lane keeps its bristles
// in registers for the whole dispatch.

// A cell of a map: centre in cells from the grid's centre, and its share of the normal force.
struct Cell {
    x: f32,
    y: f32,
    w: f32,
}

@group(0) @binding(0) var<storage, read> cells: array<Cell>;

var<private> cell_x: array<f32, CELLS_PER_LANE>;
var<private> cell_y: array<f32, CELLS_PER_LANE>;
var<private> cell_w: array<f32, CELLS_PER_LANE>;
var<private> cell_zx: array<f32, CELLS_PER_LANE>;
var<private> cell_zy: array<f32, CELLS_PER_LANE>;
// States that were kept.
var<private> kept_zx: array<f32, CELLS_PER_LANE>;
var<private> kept_zy: array<f32, CELLS_PER_LANE>;
// How many of them this lane has.
var<private> lane_cells: u32;

// Which contact this invocation works on.
fn contact_of(group: vec3u, groups: vec3u, index: u32) -> u32 {
    lane = index;
    return group.x + group.y * groups.x;
}

// Whether this lane writes for its contact.
fn is_writer() -> bool {
    return lane == 0u;
}

fn load_bristles(old_radius: f32) {
    arm2 = c.arm2;
    lane_cells = 0u;
    for (var i = lane; i < c.cell_count; i += WORKGROUP) {
        let cell = cells[c.cell_first + i];
        let z = zetas[c.zeta_first + i];
        cell_x[lane_cells] = cell.x * c.dx;
        cell_y[lane_cells] = cell.y * c.dy;
        cell_w[lane_cells] = cell.w;
        cell_zx[lane_cells] = z.x;
        cell_zy[lane_cells] = z.y;
        lane_cells += 1u;
    }
}

fn store_bristles() {
    var own = 0u;
    for (var i = lane; i < c.cell_count; i += WORKGROUP) {
        zetas[c.zeta_first + i] = vec2f(cell_zx[own], cell_zy[own]);
        own += 1u;
    }
}

// Remembers the states.
fn keep() {
    extra_work += 1u;
    for (var i = 0u; i < lane_cells; i++) {
        kept_zx[i] = cell_zx[i];
        kept_zy[i] = cell_zy[i];
    }
}

// Goes back to the states that were kept.
fn restore() {
    extra_work += 1u;
    for (var i = 0u; i < lane_cells; i++) {
        cell_zx[i] = kept_zx[i];
        cell_zy[i] = kept_zy[i];
    }
}

// Makes the pressure map of an interval anew; bristles are kept.
fn remap(id: u32) {
    follow_map(id);
}

// Takes over the pressure map of an interval, eq. (46).
fn follow_map(id: u32) {
    if (c.hertz_radius == 0.0) {
        return;
    }
    extra_work += 2u;
    let f_n = intervals[id].map_f_n;
    let a = max(min(c.hertz_radius * exp2(log2(max(f_n, TINY)) / 3.0), c.hertz_most), A_MIN);
    let e = max(c.hertz_k + c.hertz_k_per_newton * f_n, K_MIN);
    var sum = array<f32, 12>(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for (var i = 0u; i < lane_cells; i++) {
        let x = cell_x[i] / c.dx;
        let y = cell_y[i] / c.dy;
        let rho = sqrt(x * x + y * y) / a;
        var p = 0.0;
        if (rho == 0.0) {
            p = 1.0;
        } else if (rho < 1.0) {
            p = exp2(log2(max(1.0 - exp2(e * log2(rho)), TINY)) / e);
        }
        cell_w[i] = p;
        sum[0] += p;
        sum[1] += p * (cell_x[i] * cell_x[i] + cell_y[i] * cell_y[i]);
    }
    let s = reduce(sum);
    for (var i = 0u; i < lane_cells; i++) {
        cell_w[i] /= s[0];
    }
    arm2 = s[1] / s[0];
}

// A grid needs no radius; the state keeps one for the reduced model.
fn map_radius() -> f32 {
    return 0.0;
}

// Sums over the cells, per unit normal force: resist = -sum w E^T f, gain = sum w E^T C E (row by row).
struct Sums {
    resist: vec3f,
    gain_x: vec3f,
    gain_y: vec3f,
    gain_w: vec3f,
}

// One sweep at patch twist u. `finish` moves the bases of stage `done`; `answer` answers for stage
// `next`, from the moved bases.
fn sweep(k: Consts, u: vec3f, finish: bool, done: Stage, answer: bool, next: Stage) -> Sums {
    var sum = array<f32, 12>(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for (var i = 0u; i < lane_cells; i++) {
        let x = cell_x[i];
        let y = cell_y[i];
        let w = cell_w[i];
        let m = motion(k, u.x - u.z * y, u.y + u.z * x);
        var zx = cell_zx[i];
        var zy = cell_zy[i];
        if (finish) {
            let t = trial(done, m, zx, zy);
            let d = slip(k, t).d;
            zx += done.pull * (d * t.yx - zx);
            zy += done.pull * (d * t.yy - zy);
            cell_zx[i] = zx;
            cell_zy[i] = zy;
        }
        if (answer) {
            let t = trial(next, m, zx, zy);
            let z = slip(k, t);
            let sx = z.d * t.yx;
            let sy = z.d * t.yy;
            let fx = w * (sx + next.damping * (sx - zx) + k.sigma2 * m.vx);
            let fy = w * (sy + next.damping * (sy - zy) + k.sigma2 * m.vy);
            let share = w * (1.0 + next.damping);
            let d = sensitivity(next, m, t, z);
            let cxx = share * d.x + w * k.sigma2;
            let cxy = share * d.y;
            let cyx = share * d.z;
            let cyy = share * d.w + w * k.sigma2;
            sum[0] += fx;
            sum[1] += fy;
            sum[2] += x * fy - y * fx;
            sum[3] += cxx;
            sum[4] += cxy;
            sum[5] += x * cxy - y * cxx;
            sum[6] += cyx;
            sum[7] += cyy;
            sum[8] += x * cyy - y * cyx;
            sum[9] += x * cyx - y * cxx;
            sum[10] += x * cyy - y * cxy;
            sum[11] += x * (x * cyy - y * cyx) - y * (x * cxy - y * cxx);
        }
    }
    if (!answer) {
        return Sums(vec3f(0.0), vec3f(0.0), vec3f(0.0), vec3f(0.0));
    }
    let s = reduce(sum);
    return Sums(
        vec3f(s[0], s[1], s[2]),
        vec3f(s[3], s[4], s[5]),
        vec3f(s[6], s[7], s[8]),
        vec3f(s[9], s[10], s[11]),
    );
}

// The friction wrench at the patch origin in the present state, with the rate of eqs. (1) and (15),
// and the share of the normal force on slipping cells.
fn wrench(k: Consts, u: vec3f, rate: Rate, f_n: f32) -> vec4f {
    var sum = array<f32, 12>(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for (var i = 0u; i < lane_cells; i++) {
        let x = cell_x[i];
        let y = cell_y[i];
        let w = cell_w[i];
        let zx = cell_zx[i];
        let zy = cell_zy[i];
        let m = motion(k, u.x - u.z * y, u.y + u.z * x);
        let g = rate.mu_c + rate.mu_d * m.bell;
        let lambda = decay(k, g, m, zx, zy);
        let fx = -w * (zx + rate.sigma1 * (m.vx - lambda * zx) + k.sigma2 * m.vx);
        let fy = -w * (zy + rate.sigma1 * (m.vy - lambda * zy) + k.sigma2 * m.vy);
        sum[0] += fx;
        sum[1] += fy;
        sum[2] += x * fy - y * fx;
        sum[3] += select(0.0, w, k.s_ba * g < sqrt(zx * zx + zy * zy));
    }
    let s = reduce(sum);
    return vec4f(f_n * s[0], f_n * s[1], f_n * s[2], s[3]);
}

// Constants of a recorded wrench.
struct Rate {
    sigma1: f32,
    mu_c: f32,
    mu_d: f32,
}
