// The look-up in the table of a limit surface.
//
// No twin of src/solver/models/reduced/tables.rs, which keeps tables for its lanes and looks up without
// branches, in all of them at once.

// A look-up of the table and how it changes with the table's angles.
struct LookUp {
    h: vec3f,
    h_phi: vec3f,
    h_theta: vec3f,
    dphi: vec3f,
    dtheta: vec3f,
}

fn node(i: u32, j: u32) -> vec3f {
    let c = &contacts[contact];
    let at_node = table_first + 3u * (i * (c.n_ls + 1u) + j);
    return vec3f(tables[at_node], tables[at_node + 1u], tables[at_node + 2u]);
}

// atan(y/x) for x, y >= 0, not both 0: within 2e-7 rad (a built-in may be 4096 times worse).
fn angle(y: f32, x: f32) -> f32 {
    let t = min(x, y) / max(x, y);
    var z = t;
    var base = 0.0;
    if (t > 0.41421356) {
        z = (t - 1.0) / (t + 1.0);
        base = 0.25 * PI;
    }
    let z2 = z * z;
    let series = ((0.080537445 * z2 - 0.138776856) * z2 + 0.19977711) * z2 - 0.33332949;
    let a = base + z + z * z2 * series;
    return select(a, 0.5 * PI - a, y > x);
}

// The look-up at v_S with its derivatives, docs/model.md (103) and (104); not at 0.
fn look_up(v_s: vec3f) -> LookUp {
    let c = &contacts[contact];
    let vt = length(v_s.xy);
    let z = abs(v_s.z);
    let below = v_s.z < 0.0;
    let sign = select(1.0, -1.0, below);
    let phi = angle(vt, z);
    // theta in [0, 2 pi) of the twist, or of the opposite twist if the rotation is negative.
    let w = sign * v_s.xy;
    var theta = 0.0;
    if (vt > 0.0) {
        theta = angle(abs(w.y), abs(w.x));
        if (w.x < 0.0) {
            theta = PI - theta;
        }
        if (w.y < 0.0) {
            theta = 2.0 * PI - theta;
        }
    }
    let n = f32(c.n_ls);
    let p = theta * (2.0 / PI) * n;
    let q = phi * (2.0 / PI) * n;
    let i = min(u32(p), 4u * c.n_ls - 1u);
    let j = min(u32(q), c.n_ls - 1u);
    let s = p - f32(i);
    let t = q - f32(j);
    let aa = node(i, j);
    let ab = node(i, j + 1u);
    let ba = node(i + 1u, j);
    let bb = node(i + 1u, j + 1u);
    let h = (1.0 - s) * ((1.0 - t) * aa + t * ab) + s * ((1.0 - t) * ba + t * bb);
    let per_step = sign * 2.0 * n / PI;
    let h_phi = per_step * ((1.0 - s) * (ab - aa) + s * (bb - ba));
    let h_theta = per_step * ((1.0 - t) * (ba - aa) + t * (bb - ab));
    if (vt == 0.0) {
        return LookUp(sign * h, h_phi, h_theta, vec3f(0.0), vec3f(0.0));
    }
    // Quotients are taken first, so that no square of a small speed underflows.
    let inv_s = 1.0 / length(v_s);
    let along = v_s.xy / vt;
    let dphi = inv_s * vec3f(z * inv_s * along, -sign * vt * inv_s);
    let dtheta = vec3f(-along.y, along.x, 0.0) / vt;
    return LookUp(sign * h, h_phi, h_theta, dphi, dtheta);
}
