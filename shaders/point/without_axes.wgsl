// A point contact has the same friction in all directions.
fn directed(v: vec3f) -> vec3f {
    return v;
}
