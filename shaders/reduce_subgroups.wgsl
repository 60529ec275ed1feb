// Sums over the lanes of a workgroup that is made of whole subgroups: added by the adapter within each, in an
// order that it keeps, then one after the other.

var<workgroup> subgroup_sums: array<array<f32, 12>, SUBGROUPS>;
var<private> lane: u32;

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
    if (SUBGROUPS == 1u) {
        return t;
    }
    workgroupBarrier();
    if (lane % (WORKGROUP / SUBGROUPS) == 0u) {
        subgroup_sums[lane / (WORKGROUP / SUBGROUPS)] = t;
    }
    workgroupBarrier();
    t = subgroup_sums[0];
    for (var i = 1u; i < SUBGROUPS; i++) {
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
