// Sums over the lanes of a workgroup, in a fixed order: the same bits on every run.

var<workgroup> lane_sums: array<f32, 12 * WORKGROUP>;
var<workgroup> totals: array<f32, 12>;
// The lane's number in its workgroup, and among those of its contact.
var<private> position: u32;
var<private> lane: u32;

fn set_lane(invocation: Invocation) {
    position = invocation.index;
    lane = position;
}

// The sum of `s` over all lanes, in every lane. Call from uniform control flow only.
fn reduce(s: array<f32, 12>) -> array<f32, 12> {
    // Written out: a software driver allows one invocation 65 535 turns of all its loops together.
    lane_sums[0u * WORKGROUP + lane] = s[0];
    lane_sums[1u * WORKGROUP + lane] = s[1];
    lane_sums[2u * WORKGROUP + lane] = s[2];
    lane_sums[3u * WORKGROUP + lane] = s[3];
    lane_sums[4u * WORKGROUP + lane] = s[4];
    lane_sums[5u * WORKGROUP + lane] = s[5];
    lane_sums[6u * WORKGROUP + lane] = s[6];
    lane_sums[7u * WORKGROUP + lane] = s[7];
    lane_sums[8u * WORKGROUP + lane] = s[8];
    lane_sums[9u * WORKGROUP + lane] = s[9];
    lane_sums[10u * WORKGROUP + lane] = s[10];
    lane_sums[11u * WORKGROUP + lane] = s[11];
    workgroupBarrier();
    if (lane < 12u) {
        var t = 0.0;
        for (var i = lane * WORKGROUP; i < (lane + 1u) * WORKGROUP; i += 8u) {
            t += ((lane_sums[i] + lane_sums[i + 1u]) + (lane_sums[i + 2u] + lane_sums[i + 3u]))
                + ((lane_sums[i + 4u] + lane_sums[i + 5u]) + (lane_sums[i + 6u] + lane_sums[i + 7u]));
        }
        totals[lane] = t;
    }
    workgroupBarrier();
    return totals;
}
