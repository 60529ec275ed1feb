//! Where the samples of one contact go.

use crate::engine::share;
use crate::planar::{Pose, Twist, Wrench};
use crate::solver::bristles::Shares;

/// The samples of one contact.
pub struct Row<'a> {
    pub pose: &'a mut [Pose],
    pub twist: &'a mut [Twist],
    pub wrench: &'a mut [Wrench],
    pub normal_force: &'a mut [f64],
    pub slip: &'a mut [f64],
    pub near_limit: &'a mut [f64],
    /// The bristles at all samples so far, if they are to be kept.
    pub bristles: Option<&'a mut Vec<[f64; 2]>>,
}

impl Row<'_> {
    /// Writes sample `frame`: pose, twist, wrench and shares of bristles; normal force.
    pub fn write(&mut self, frame: usize, (pose, twist, wrench, of): (Pose, Twist, Wrench, Shares), f_n: f64) {
        self.pose[frame] = pose;
        self.twist[frame] = twist;
        self.wrench[frame] = wrench;
        self.normal_force[frame] = f_n;
        self.slip[frame] = share(of.slip);
        self.near_limit[frame] = share(of.near_limit);
    }
}
