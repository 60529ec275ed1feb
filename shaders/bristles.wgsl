// The interface between the step and the bristles of a contact, for every model of a patch. The file of each
// model has the functions.

// What a pass evaluates, per unit normal force: the opposite of the friction wrench and its derivative over
// the twist, by its rows.
struct Sums {
    resist: vec3f,
    gain_x: vec3f,
    gain_y: vec3f,
    gain_w: vec3f,
}

// Constants of a recorded wrench.
struct Rate {
    sigma1: f32,
    mu_c: f32,
    mu_d: f32,
}
