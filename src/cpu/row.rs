//! Where the samples of one contact go.

use crate::batch::Sample;
use crate::engine::{Status, Trajectories};
use crate::planar::{Pose, Twist, Wrench};

/// The samples of one contact, and how it ends.
pub struct Row<'a> {
    pose: &'a mut [Pose],
    twist: &'a mut [Twist],
    wrench: &'a mut [Wrench],
    normal_force: &'a mut [f64],
    slip: &'a mut [f64],
    near_limit: &'a mut [f64],
    /// Its status at the end.
    pub status: &'a mut Status,
    /// The bristles at all samples so far, if they are to be kept.
    pub sampled_bristles: Option<&'a mut Vec<[f64; 2]>>,
    /// The bristles at the end, if they are to be kept.
    pub bristles: Option<&'a mut Vec<[f64; 2]>>,
}

impl Row<'_> {
    /// Writes sample `frame`.
    pub fn write(&mut self, frame: usize, sample: &Sample) {
        self.pose[frame] = sample.pose;
        self.twist[frame] = sample.twist;
        self.wrench[frame] = sample.wrench;
        self.normal_force[frame] = sample.normal_force;
        self.slip[frame] = sample.slip;
        self.near_limit[frame] = sample.near_limit;
    }
}

/// The rows of all contacts; each is taken once.
pub fn rows(out: &mut Trajectories) -> Vec<Option<Row<'_>>> {
    let frames = out.frames();
    let mut sampled = out.sampled_bristles.iter_mut();
    let mut last = out.bristles.iter_mut();
    let samples = out.pose.chunks_mut(frames).zip(out.twist.chunks_mut(frames)).zip(out.wrench.chunks_mut(frames));
    let shares = out.normal_force.chunks_mut(frames).zip(out.slip.chunks_mut(frames));
    let shares = shares.zip(out.near_limit.chunks_mut(frames));
    let all = samples.zip(shares).zip(&mut out.status);
    let row = |((((pose, twist), wrench), ((normal_force, slip), near_limit)), status)| {
        let (sampled_bristles, bristles) = (sampled.next(), last.next());
        Some(Row { pose, twist, wrench, normal_force, slip, near_limit, status, sampled_bristles, bristles })
    };
    all.map(row).collect()
}
