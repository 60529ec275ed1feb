//! Point contacts with numbers that carry derivatives.

use super::{Tangent, component};
use crate::contact::Contact;
use crate::number::dual::Dual;
use crate::number::real::Real;
use crate::schedule::slot;
use crate::solver::inputs::LaneInterval;
use crate::solver::linalg::Vec3;
use crate::solver::point::lanes::Points;
use crate::solver::sensitivity::seed::Constant;

impl Tangent for Points<Dual> {
    fn prepare(&mut self) {
        self.k.least_x = Dual::constant(0.0);
    }

    fn plant(&mut self, constant: Constant, k: usize) {
        match constant {
            Constant::Sigma0 => self.sigma0.d[k] = 1.0,
            Constant::Sigma1 => self.sigma1.d[k] = 1.0,
            Constant::Mass(mass) => self.inv_mass.d[k] = -1.0 / (mass * mass),
            Constant::Pose(i) => component(&mut self.q, i).d[k] = 1.0,
            Constant::Twist(i) => component(&mut self.u, i).d[k] = 1.0,
            // A point has neither inertia nor extent.
            Constant::Inertia | Constant::Offset(_) | Constant::Scale => {}
            _ => constant.plant(&mut self.k, k),
        }
    }

    fn interval(&mut self) -> &mut LaneInterval<Dual> {
        &mut self.interval
    }

    /// The force of elements that are bent at the start.
    fn begin(&mut self, _: &Contact) {
        let v = self.interval.inputs(Dual::constant(0.0), !0);
        let pull = self.pads * v[slot::F_N].max(Dual::constant(0.0));
        let of =
            |i: usize| self.elements.iter().fold(Dual::constant(0.0), |all, e| all - pull * e.stiffness * e.zeta[i]);
        self.force = [of(0), of(1)];
    }

    fn tangents(&mut self, v: &[Dual; slot::COUNT]) -> [Vec3<Dual>; 3] {
        let none = Dual::constant(0.0);
        let given = Vec3::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
        let u = if self.prescribed != 0 { given } else { self.u + self.u_low };
        let [fx, fy] = self.force.map(|f| f / self.pads);
        [self.q + self.q_low, u, Vec3::new(fx, fy, none)]
    }
}
