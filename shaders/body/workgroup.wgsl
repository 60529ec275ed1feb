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

// What a lane agrees on with itself.
fn agreed(v: u32) -> u32 {
    return v;
}
