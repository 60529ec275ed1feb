// Coulomb wrenches of steady sliding, docs/model.md (88): every patch for every direction of motion.
// One invocation sums one slice of a patch's cells for one motion; the host adds the slices.
//
// It has no twin. Its rules are those of src/limit_surface/quadrature: `sum_points` is `sum` of points.rs,
// and `evaluate` and the far cells of `sum_cells` are those of cell_series.rs. The sums of cells.rs over the
// corners of a grid would cancel in single precision: here near cells are integrated one by one
// (`near_cell`). bilinear.rs keeps the sums about all nodes, and `sum_bilinear` makes those of four nodes.

override rule: u32;

// A cell that carries pressure: centre from the centre of pressure [unit], share of the normal force.
struct Cell {
    x: f32,
    y: f32,
    w: f32,
}

// What all cells of a patch share. Lengths are in its unit, the square root of a cell's area.
struct PatchConstants {
    // Speed units of the motions' translation in this patch's unit.
    lever: f32,
    // Largest distance of a centre from the centre of pressure.
    span: f32,
    // Half sides of a cell.
    hx: f32,
    hy: f32,
    // Centre of pressure from the grid's lower left corner [cells].
    cop_x: f32,
    cop_y: f32,
    // Columns and rows of the grid.
    nx: f32,
    ny: f32,
    // Polynomials of src/limit_surface/quadrature/cell_series.rs, [order][power].
    spin: array<f32, SERIES>,
    along_x: array<f32, SERIES>,
    along_y: array<f32, SERIES>,
}

// Cells of one patch that one invocation sums: at most SLICE.
struct Slice {
    patch_index: u32,
    first: u32,
    count: u32,
}

// A direction of motion at the centre of pressure: (vx, vy) in units of `lever`, w.
struct Motion {
    v: array<f32, 3>,
}

// Unit Coulomb wrench at the centre of pressure, tau in the patch's unit.
struct Load {
    f: array<f32, 3>,
}

// Numbers of motions and slices of the dispatch, and a zero that compilers do not know to be one.
struct Batch {
    motions: u32,
    slices: u32,
    zero: u32,
}

@group(0) @binding(0) var<storage, read> cells: array<Cell>;
@group(0) @binding(1) var<storage, read> patches: array<PatchConstants>;
@group(0) @binding(2) var<storage, read> slices: array<Slice>;
@group(0) @binding(3) var<storage, read> motions: array<Motion>;
@group(0) @binding(4) var<storage, read_write> loads: array<Load>;
@group(0) @binding(5) var<uniform> batch: Batch;

// The opposite of the friction of a cell with a share of 1: of its force, and of its moment about its own
// centre.
struct Mean {
    x: f32,
    y: f32,
    spin: f32,
}

// sum_n e^(n-1) p_n(q) for n from 1; cell_series.rs: evaluate.
fn evaluate(s: ptr<function, array<f32, SERIES>>, e: f32, q: f32) -> f32 {
    let p1 = (*s)[0] + q * (*s)[1];
    let p2 = (*s)[5] + q * ((*s)[6] + q * (*s)[7]);
    let p3 = (*s)[10] + q * ((*s)[11] + q * ((*s)[12] + q * (*s)[13]));
    let p4 = (*s)[15] + q * ((*s)[16] + q * ((*s)[17] + q * ((*s)[18] + q * (*s)[19])));
    return p1 + e * (p2 + e * (p3 + e * p4));
}

// asinh(small/big) and asinh(big/small) for 0 <= small <= big, with R = hypot(small, big). The first as
// 2 atanh(small/(R + big)), whose argument is at most tan(pi/8): ln(1 + x) would lose what is small.
fn asinhs(small: f32, big: f32, r: f32) -> vec2f {
    let z = small / max(r + big, TINY_LENGTH);
    let z2 = z * z;
    let series = 1.0 + z2 * (1.0 / 3.0 + z2 * (1.0 / 5.0 + z2 * (1.0 / 7.0 + z2 * (1.0 / 9.0
        + z2 * (1.0 / 11.0 + z2 * (1.0 / 13.0 + z2 * (1.0 / 15.0)))))));
    // The logarithm grows without bound as `small` vanishes; the square of `small` that multiplies it does
    // not.
    return vec2f(2.0 * z * series, log(max(r + big, TINY_LENGTH) / max(small, TINY_LENGTH)));
}

// The antiderivatives (I, Gx, Gy) of R, a/R and b/R at a corner (a, b) from the centre of rotation,
// docs/model.md (91) and (92).
fn corner(a: f32, b: f32) -> vec3f {
    let r = sqrt(a * a + b * b);
    let steep = abs(b) > abs(a);
    let pair = asinhs(select(abs(b), abs(a), steep), select(abs(a), abs(b), steep), r);
    // asinh(b/|a|) and asinh(a/|b|).
    let la = a * a * select(pair.x, pair.y, steep) * sign(b);
    let lb = b * b * select(pair.y, pair.x, steep) * sign(a);
    return vec3f((2.0 * a * b * r + a * la + b * lb) / 6.0, 0.5 * (b * r + la), 0.5 * (a * r + lb));
}

// A cell near the centre of rotation, which lies at (-a, -b) from its centre: exact.
fn near_cell(a: f32, b: f32, hx: f32, hy: f32, turn: f32) -> Mean {
    let g = ((corner(a + hx, b + hy) - corner(a - hx, b + hy)) - (corner(a + hx, b - hy) - corner(a - hx, b - hy)))
        / (4.0 * hx * hy);
    return Mean(-turn * g.z, turn * g.y, turn * (g.x - a * g.y - b * g.z));
}

// Rule `cells`.
fn sum_cells(slice: Slice, u: vec3f) -> vec3f {
    let p = slice.patch_index;
    let hx = patches[p].hx;
    let hy = patches[p].hy;
    let near2 = NEAR_DIAGONALS * NEAR_DIAGONALS * 4.0 * (hx * hx + hy * hy) * u.z * u.z;
    var spin = patches[p].spin;
    var along_x = patches[p].along_x;
    var along_y = patches[p].along_y;
    var sum = vec3f(0.0);
    for (var i = 0u; i < slice.count; i++) {
        let cell = cells[slice.first + i];
        let vx = u.x - u.z * cell.y;
        let vy = u.y + u.z * cell.x;
        let v2 = vx * vx + vy * vy;
        var m = Mean(0.0, 0.0, 0.0);
        if (v2 < near2) {
            m = near_cell(vy / u.z, -vx / u.z, hx, hy, sign(u.z));
        } else {
            let inverse = inverseSqrt(max(v2, TINY_SPEED2));
            let nx = vx * inverse;
            let ny = vy * inverse;
            let turn = u.z * inverse;
            let q = ny * ny;
            let e = turn * turn;
            m = Mean(
                nx * (1.0 + e * evaluate(&along_y, e, q)),
                ny * (1.0 + e * evaluate(&along_x, e, q)),
                turn * evaluate(&spin, e, q),
            );
        }
        sum -= cell.w * vec3f(m.x, m.y, cell.x * m.y - cell.y * m.x + m.spin);
    }
    return sum;
}

// Rule `points`: cells slower than AT_REST of the patch's scale contribute nothing.
fn sum_points(slice: Slice, u: vec3f) -> vec3f {
    let rest = AT_REST * (length(u.xy) + abs(u.z) * patches[slice.patch_index].span);
    let rest2 = max(rest * rest, TINY_SPEED2);
    var sum = vec3f(0.0);
    for (var i = 0u; i < slice.count; i++) {
        let cell = cells[slice.first + i];
        let vx = u.x - u.z * cell.y;
        let vy = u.y + u.z * cell.x;
        let v2 = vx * vx + vy * vy;
        let k = select(0.0, cell.w, v2 > rest2) * inverseSqrt(max(v2, rest2));
        sum -= k * vec3f(vx, vy, cell.x * vy - cell.y * vx);
    }
    return sum;
}

// Rule `bilinear`, docs/model.md (90).
fn sum_bilinear(slice: Slice, u: vec3f) -> vec3f {
    let p = slice.patch_index;
    let dx = 2.0 * patches[p].hx;
    let dy = 2.0 * patches[p].hy;
    let cop = vec2f(patches[p].cop_x, patches[p].cop_y);
    // The comparison is multiplied by |w|, because the centre of rotation may be infinitely far away.
    let g = vec2f(-u.y / dx, u.x / dy) * sign(u.z) + cop * abs(u.z);
    let size = vec2f(patches[p].nx, patches[p].ny) * abs(u.z);
    let over = u.z != 0.0 && g.x >= 0.0 && g.y >= 0.0 && g.x < size.x && g.y < size.y;
    if (!over) {
        return sum_points(slice, u);
    }
    let at = g / abs(u.z);
    let low = floor(at);
    let s = at - low;
    // The four nodes, from the centre of pressure.
    let x0 = (low.x - cop.x) * dx;
    let y0 = (low.y - cop.y) * dy;
    let x1 = x0 + dx;
    let y1 = y0 + dy;
    let share = vec4f((1.0 - s.x) * (1.0 - s.y), s.x * (1.0 - s.y), (1.0 - s.x) * s.y, s.x * s.y);
    var sum = vec3f(0.0);
    for (var i = 0u; i < slice.count; i++) {
        let cell = cells[slice.first + i];
        // A node is at least half a cell from every centre, so that no distance is zero.
        let a = vec4f(cell.x - x0, cell.x - x1, cell.x - x0, cell.x - x1);
        let b = vec4f(cell.y - y0, cell.y - y0, cell.y - y1, cell.y - y1);
        let k = cell.w * share * inverseSqrt(a * a + b * b);
        let fx = dot(k, b);
        let fy = -dot(k, a);
        sum += vec3f(fx, fy, cell.x * fy - cell.y * fx);
    }
    return sign(u.z) * sum;
}

@compute @workgroup_size(WORKGROUP)
fn wrenches(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) index: u32) {
    let k = group.x * WORKGROUP + index;
    if (k >= batch.motions || group.y >= batch.slices) {
        return;
    }
    let slice = slices[group.y];
    let lever = patches[slice.patch_index].lever;
    let span = max(patches[slice.patch_index].span, 1.0);
    let v = motions[k].v;
    // Scaled so that the fastest cells have speeds of order one.
    let u = vec3f(v[0] * lever, v[1] * lever, v[2]);
    let scale = max(max(abs(u.x), abs(u.y)), abs(u.z) * span);
    var f = vec3f(0.0);
    if (scale > 0.0) {
        if (rule == RULE_CELLS) {
            f = sum_cells(slice, u / scale);
        } else if (rule == RULE_BILINEAR) {
            f = sum_bilinear(slice, u / scale);
        } else {
            f = sum_points(slice, u / scale);
        }
    }
    loads[group.y * batch.motions + k] = Load(array<f32, 3>(f.x, f.y, f.z));
}

// Fills the results with NaN, so that the host notices those that were not computed.
@compute @workgroup_size(WORKGROUP)
fn poison(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) index: u32) {
    let k = group.x * WORKGROUP + index;
    if (k >= batch.motions || group.y >= batch.slices) {
        return;
    }
    let nan = bitcast<f32>(0xffffffffu ^ batch.zero);
    loads[group.y * batch.motions + k] = Load(array<f32, 3>(nan, nan, nan));
}
