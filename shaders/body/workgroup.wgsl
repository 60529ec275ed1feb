// What a contact needs between its passes, in the memory of the workgroup: where each lane has a contact of
// its own, it would take registers in every pass.

var<workgroup> bodies: array<Body, WORKGROUP>;
var<private> own_place: u32;

// The place of this lane.
fn own() -> u32 {
    return own_place;
}

fn set_own(invocation: Invocation) {
    own_place = invocation.index;
}

// Does nothing, which a compiler cannot know, as it does not know that run.zero is 0. Without a call in every
// pass some compilers see that each value which is read here was written by the pass before, and keep all of
// them in registers: some 60 of 215 by NVIDIA's compiler of CUDA (docs/kernels.md).
fn renew_place() {
    own_place += run.zero;
}
