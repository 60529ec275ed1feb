// The cells of a grid under one twist, with the shares of the normal force that the map has;
// shaders/parts.wgsl has them where patches have inputs of their own.

// The motion of the cells of turn i at x, y, of twist u.
fn cell_motion(_i: u32, k: Consts, u: vec3f, x: Real, y: Real) -> Motion {
    return motion(k, u.x - u.z * y, u.y + u.z * x);
}

// The shares of the normal force on the cells of turn i.
fn cell_share(_i: u32, w: Real) -> Real {
    return w;
}
