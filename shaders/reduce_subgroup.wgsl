// Sums over the lanes of a workgroup that is one subgroup: added by the adapter, in an order that it keeps.

// The lane's number in its workgroup, and among those of its contact.
var<private> position: u32;
var<private> lane: u32;

fn set_lane(invocation: Invocation) {
    position = invocation.index;
    lane = position;
}

// The sum of `s` over all lanes, in every lane. Call where all lanes run together.
fn reduce(s: array<f32, 12>) -> array<f32, 12> {
    return array<f32, 12>(
        subgroupAdd(s[0]),
        subgroupAdd(s[1]),
        subgroupAdd(s[2]),
        subgroupAdd(s[3]),
        subgroupAdd(s[4]),
        subgroupAdd(s[5]),
        subgroupAdd(s[6]),
        subgroupAdd(s[7]),
        subgroupAdd(s[8]),
        subgroupAdd(s[9]),
        subgroupAdd(s[10]),
        subgroupAdd(s[11]),
    );
}
