// What a contact needs between its passes, in the registers of its lanes.

var<private> bodies: array<Body, 1>;

// The place of this lane.
fn own() -> u32 {
    return 0u;
}

fn set_own(_invocation: Invocation) {
}
