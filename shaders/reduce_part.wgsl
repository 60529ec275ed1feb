// Sums over the lanes of a contact that takes a part of a subgroup, LANES of them. Pairs of lanes exchange
// what they have, at twice the distance each time. Both add the same two numbers, so all lanes have the same
// bits.

// Which invocation of a dispatch this one is.
struct Invocation {
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) index: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_size) size: u32,
    @builtin(subgroup_invocation_id) place: u32,
}

// The lane's number in its workgroup, and among those of its contact.
var<private> position: u32;
var<private> lane: u32;

fn set_lane(invocation: Invocation) {
    position = invocation.subgroup * invocation.size + invocation.place;
    lane = position % LANES;
}

// The sum of `s` over all lanes of the contact, in every one of them. Call where these run together; other
// contacts of the subgroup may be elsewhere.
fn reduce(s: array<f32, 12>) -> array<f32, 12> {
    var t = s;
    if (LANES > 1u) {
        t = with_other(t, 1u);
    }
    if (LANES > 2u) {
        t = with_other(t, 2u);
    }
    if (LANES > 4u) {
        t = with_other(t, 4u);
    }
    if (LANES > 8u) {
        t = with_other(t, 8u);
    }
    if (LANES > 16u) {
        t = with_other(t, 16u);
    }
    if (LANES > 32u) {
        t = with_other(t, 32u);
    }
    return t;
}

// The sums of this lane and of the one whose number differs by a bit.
fn with_other(s: array<f32, 12>, mask: u32) -> array<f32, 12> {
    return array<f32, 12>(
        s[0] + subgroupShuffleXor(s[0], mask),
        s[1] + subgroupShuffleXor(s[1], mask),
        s[2] + subgroupShuffleXor(s[2], mask),
        s[3] + subgroupShuffleXor(s[3], mask),
        s[4] + subgroupShuffleXor(s[4], mask),
        s[5] + subgroupShuffleXor(s[5], mask),
        s[6] + subgroupShuffleXor(s[6], mask),
        s[7] + subgroupShuffleXor(s[7], mask),
        s[8] + subgroupShuffleXor(s[8], mask),
        s[9] + subgroupShuffleXor(s[9], mask),
        s[10] + subgroupShuffleXor(s[10], mask),
        s[11] + subgroupShuffleXor(s[11], mask),
    );
}
