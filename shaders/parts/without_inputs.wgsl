// What shaders/parts.wgsl has, for contacts whose patches have no inputs of their own.

const DRIVES_PARTS = false;

fn normal_force(f_n: f32, _tau: f32) -> f32 {
    return f_n;
}

fn follow_parts(_tau: f32, _dt: f32, _t: Transform, _q: vec3f) {
}

fn balance_loads(_k: Consts, _u: vec3f, _rate: Rate) {
}

fn commit_parts() {
}

fn error_of_parts() -> f32 {
    return 0.0;
}
