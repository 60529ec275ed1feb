// What the lanes of a workgroup agree on: the value of the first, which a compiler can see to be the same in
// all of them.

var<workgroup> of_first_lane: u32;

// Call from uniform control flow only.
fn agreed(v: u32) -> u32 {
    if (lane == 0u) {
        of_first_lane = v;
    }
    return workgroupUniformLoad(&of_first_lane);
}
