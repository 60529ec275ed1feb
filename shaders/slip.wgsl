// The slip of a trial, for every law. It has no twin: on the CPU trials in the transition are packed together
// (src/solver/transition_cells.rs).

// The slip of a trial, wherever it ends.
fn slip(k: Consts, t: Trial) -> Slip {
    var z = law_slip(k, t);
    if (ELASTIC) {
        let within = in_transition(k, t);
        if (any(within)) {
            let inv_g = 1.0 / t.g;
            z = select_slip(z, root_slip(transition_root(k, t.len * inv_g, t.travel * inv_g)), within);
        }
    }
    return z;
}
