//! A grid that sticks: while every bristle is elastic all of them move as one rigid body, so that a pass over
//! the cells is a product with one 3 x 3 matrix, `docs/model.md` (62). The product is exact, and its cost
//! does not depend on the number of cells.

use super::friction::Stage;
use super::linalg::{Mat3, Vec3};
use super::state::Rigid;

/// Share of the elastic range up to which a grid is treated as one rigid body; above it every cell is
/// evaluated.
const MARGIN: f64 = 0.999;

/// A grid whose bristles are all elastic. Bristle `i` is at `zeta_i + E_i shift`, `E = [[1, 0, -y], [0, 1,
/// x]]`.
#[derive(Clone, Copy, Debug)]
pub struct RigidStick {
    /// How far all bases have moved since [`RigidStick::new`] [-, -, 1/m].
    pub shift: Vec3<f64>,
    /// `sum w E^T zeta` of the bases.
    force: Vec3<f64>,
    /// `sum w E^T E`.
    second_moments: Mat3<f64>,
    /// Largest `|zeta_i|` at the start.
    largest_zeta: f64,
    /// Largest distance of a cell from the patch origin [m].
    radius: f64,
    /// Elastic share.
    s_ba: f64,
    /// Viscous coefficient [s/m].
    sigma2: f64,
}

impl RigidStick {
    /// A grid whose bases have `force = sum w E^T zeta` and `second_moments = sum w E^T E`, none longer than
    /// `largest_zeta`, in cells no further than `radius` [m] from the patch origin.
    pub fn new(
        force: Vec3<f64>,
        second_moments: Mat3<f64>,
        [largest_zeta, radius]: [f64; 2],
        [s_ba, sigma2]: [f64; 2],
    ) -> Self {
        Self { shift: Vec3::zero(), force, second_moments, largest_zeta, radius, s_ba, sigma2 }
    }

    /// The displacement of the bases since the start, and the sum of their forces.
    pub fn state(&self) -> Rigid {
        let array = |v: Vec3<f64>| [v.x, v.y, v.z];
        Rigid { shift: array(self.shift), force: array(self.force) }
    }

    /// Sets the displacement and the force to those of a grid that started from the same bases.
    pub fn set_state(&mut self, state: &Rigid) {
        (self.shift, self.force) = (Vec3::from(state.shift), Vec3::from(state.force));
    }

    /// The pass at patch twist `u`; none if a bristle might leave the elastic range, and then nothing has
    /// moved.
    pub fn sweep(
        &mut self,
        u: Vec3<f64>,
        commit: Option<&Stage<f64>>,
        next: Option<&Stage<f64>>,
    ) -> Option<(Vec3<f64>, Mat3<f64>)> {
        let mut shift = self.shift;
        if let Some(st) = commit {
            self.check_elastic(shift.plus(st.a_sigma0, u), st)?;
            shift = shift.plus(st.extrapolation * st.a_sigma0, u);
        }
        if let Some(st) = next {
            self.check_elastic(shift, st)?;
            self.check_elastic(shift.plus(st.a_sigma0, u), st)?;
        }
        self.force = self.force + self.second_moments.apply(shift - self.shift);
        self.shift = shift;
        let Some(st) = next else { return Some((Vec3::zero(), Mat3::diagonal(Vec3::zero()))) };
        let stiffness = (1.0 + st.damping) * st.a_sigma0 + self.sigma2;
        Some((self.force.plus(stiffness, self.second_moments.apply(u)), self.second_moments * stiffness))
    }

    /// `sum w E^T (zeta + c v)` at patch twist `u`: minus the wrench per unit normal force, with
    /// `c = sigma1 + sigma2`.
    pub fn resist(&self, u: Vec3<f64>, c: f64) -> Vec3<f64> {
        self.force.plus(c, self.second_moments.apply(u))
    }

    /// `sum w E^T E shift`: the change of the force since the start.
    pub fn shifted(&self) -> Vec3<f64> {
        self.second_moments.apply(self.shift)
    }

    /// Whether every bristle is elastic after a shift, at any speed: `docs/model.md` (63).
    fn check_elastic(&self, shift: Vec3<f64>, st: &Stage<f64>) -> Option<()> {
        let least = st.mu_c.min(st.mu_c + st.mu_d);
        // A plain square root: nothing here can overflow, and `hypot` would take as long as the rest of the
        // pass.
        let most = self.largest_zeta + (shift.x * shift.x + shift.y * shift.y).sqrt() + self.radius * shift.z.abs();
        (most < MARGIN * self.s_ba * least).then_some(())
    }
}
