//! Where the samples of one contact go.

use crate::engine::share;
use crate::planar::{Pose, Twist, Wrench};

/// The samples of one contact.
pub struct Row<'a> {
    pub pose: &'a mut [Pose],
    pub twist: &'a mut [Twist],
    pub wrench: &'a mut [Wrench],
    pub normal_force: &'a mut [f64],
    pub slip: &'a mut [f64],
    /// The bristles at all samples so far, if they are to be kept.
    pub bristles: Option<&'a mut Vec<[f64; 2]>>,
}

impl Row<'_> {
    /// Writes sample `frame`: pose, twist, wrench and slipping share; normal force.
    pub fn write(&mut self, frame: usize, (pose, twist, wrench, slip): (Pose, Twist, Wrench, f64), f_n: f64) {
        self.pose[frame] = pose;
        self.twist[frame] = twist;
        self.wrench[frame] = wrench;
        self.normal_force[frame] = f_n;
        self.slip[frame] = share(slip);
    }
}
