// Sums over the lanes of a workgroup: added by the adapter within each subgroup, in an order that it keeps,
// then one subgroup after the other. The workgroup may be made of SUBGROUPS of them, or of fewer that are
// larger.

// Which invocation of a dispatch this one is.
struct Invocation {
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) index: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) place: u32,
}

var<workgroup> subgroup_sums: array<array<f32, 12>, SUBGROUPS>;
// The lane's number in its workgroup, and among those of its contact.
var<private> position: u32;
var<private> lane: u32;
// The number of this lane's subgroup, how many there are, and whether the lane is its first.
var<private> subgroup: u32;
var<private> subgroups: u32;
var<private> leads: bool;

fn set_lane(invocation: Invocation) {
    position = invocation.index;
    lane = position;
    subgroup = invocation.subgroup;
    subgroups = invocation.subgroups;
    leads = invocation.place == 0u;
}

// The sum of `s` over all lanes, in every lane. Call from uniform control flow only.
fn reduce(s: array<f32, 12>) -> array<f32, 12> {
    var t = array<f32, 12>(
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
    workgroupBarrier();
    if (leads) {
        subgroup_sums[subgroup] = t;
    }
    workgroupBarrier();
    t = subgroup_sums[0];
    for (var i = 1u; i < subgroups; i++) {
        let s = subgroup_sums[i];
        t[0] += s[0];
        t[1] += s[1];
        t[2] += s[2];
        t[3] += s[3];
        t[4] += s[4];
        t[5] += s[5];
        t[6] += s[6];
        t[7] += s[7];
        t[8] += s[8];
        t[9] += s[9];
        t[10] += s[10];
        t[11] += s[11];
    }
    return t;
}
