//! A grid that sticks: while every bristle is elastic all of them move as one rigid body, so that a pass over the
//! cells is a product with one 3 x 3 matrix, `docs/model.md` (62). Exact, and no work for contacts that stick.

use super::friction::Stage;
use super::linalg::{Mat3, Vec3};
use super::state::Rigid;

/// Share of the elastic range that a grid may use as one rigid body: beyond it, the cells are looked at again.
const MARGIN: f64 = 0.999;

/// What a grid of elastic bristles comes to. Bristle `i` is at `zeta_i + E_i shift`,
/// `E = [[1, 0, -y], [0, 1, x]]`.
#[derive(Clone, Copy, Debug)]
pub struct RigidStick {
    /// How far all bases have moved since [`RigidStick::new`] [-, -, 1/m].
    pub shift: Vec3<f64>,
    /// `sum w E^T zeta` of the bases.
    force: Vec3<f64>,
    /// `sum w E^T E`.
    spread: Mat3<f64>,
    /// Largest `|zeta_i|` at the start.
    most: f64,
    /// Largest distance of a cell from the patch origin [m].
    radius: f64,
    /// Elastic share.
    s_ba: f64,
    /// Viscous coefficient [s/m].
    sigma2: f64,
}

impl RigidStick {
    /// A grid whose bases have `force = sum w E^T zeta` and `spread = sum w E^T E`, none longer than `most`,
    /// in cells no further than `radius` [m] from the patch origin.
    pub fn new(force: Vec3<f64>, spread: Mat3<f64>, [most, radius]: [f64; 2], [s_ba, sigma2]: [f64; 2]) -> Self {
        Self { shift: Vec3::zero(), force, spread, most, radius, s_ba, sigma2 }
    }

    /// How far the bases have moved, and the force that this has come to.
    pub fn state(&self) -> Rigid {
        let array = |v: Vec3<f64>| [v.x, v.y, v.z];
        Rigid { shift: array(self.shift), force: array(self.force) }
    }

    /// Goes to a state of a grid with the same bases.
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
            self.stays(shift.plus(st.a_sigma0, u), st)?;
            shift = shift.plus(st.extrapolation * st.a_sigma0, u);
        }
        if let Some(st) = next {
            self.stays(shift, st)?;
            self.stays(shift.plus(st.a_sigma0, u), st)?;
        }
        self.force = self.force + self.spread.apply(shift - self.shift);
        self.shift = shift;
        let Some(st) = next else { return Some((Vec3::zero(), Mat3::diagonal(Vec3::zero()))) };
        let stiffness = (1.0 + st.damping) * st.a_sigma0 + self.sigma2;
        Some((self.force.plus(stiffness, self.spread.apply(u)), self.spread * stiffness))
    }

    /// `sum w E^T (zeta + c v)` at patch twist `u`: minus the wrench per unit normal force, with
    /// `c = sigma1 + sigma2`.
    pub fn resist(&self, u: Vec3<f64>, c: f64) -> Vec3<f64> {
        self.force.plus(c, self.spread.apply(u))
    }

    /// `sum w E^T E shift`: what the shift has added to the force.
    pub fn shifted(&self) -> Vec3<f64> {
        self.spread.apply(self.shift)
    }

    /// Whether every bristle is elastic after a shift, at any speed: `docs/model.md` (63).
    fn stays(&self, shift: Vec3<f64>, st: &Stage<f64>) -> Option<()> {
        let least = st.mu_c.min(st.mu_c + st.mu_d);
        // No `hypot`, which takes as long as the rest: nothing here overflows.
        let most = self.most + (shift.x * shift.x + shift.y * shift.y).sqrt() + self.radius * shift.z.abs();
        (most < MARGIN * self.s_ba * least).then_some(())
    }
}
