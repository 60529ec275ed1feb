// Friction by direction, docs/model.md (20c) to (20e): bristles are isotropic, under the twist (A v, w) and
// with places multiplied by cof(A), and their force is multiplied by A. Twin: src/solver/directed.rs.

// A pipeline constant, the same for all contacts of a dispatch: whether friction differs by direction.
override has_axes: bool = false;

// (A v, w).
fn apply(v: vec3f) -> vec3f {
    let c = &contacts[contact];
    return vec3f(c.axes_xx * v.x + c.axes_xy * v.y, c.axes_xy * v.x + c.axes_yy * v.y, v.z);
}

// The place of a bristle at a place of the isotropic patch.
fn patch_place(at: vec2f) -> vec2f {
    return apply(vec3f(at, 0.0)).xy / contacts[contact].across;
}

// Of a twist of the patch that of the bristles, and of a wrench of the bristles that of the patch, both at
// the same point.
fn directed(v: vec3f) -> vec3f {
    if (has_axes) {
        return apply(v);
    }
    return v;
}

// The wrench of the patch of a wrench of the bristles, and its derivative over the patch's twist of that over
// the bristles'.
fn patch_wrench(s: Sums) -> Sums {
    if (has_axes) {
        let columns = transpose(mat3x3f(apply(s.gain_x), apply(s.gain_y), apply(s.gain_w)));
        let rows = transpose(mat3x3f(apply(columns[0]), apply(columns[1]), apply(columns[2])));
        return Sums(apply(s.resist), rows[0], rows[1], rows[2]);
    }
    return s;
}

// The point of the patch that twists and wrenches of the bristles refer to.
fn patch_point() -> vec2f {
    let point = reference_point();
    if (has_axes) {
        return patch_place(point);
    }
    return point;
}
