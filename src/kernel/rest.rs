//! A grid that rests: while every bristle is elastic the whole grid moves as one rigid body, so that a sweep
//! over its cells is a product with one 3 x 3 matrix, `docs/model.md` (62). Exact, and no work for contacts
//! that stick.

use nalgebra::{Matrix3, Vector3};

use super::distributed::Sums;
use super::friction::Stage;
use crate::planar::Twist;

/// Share of the elastic range that a resting grid may use: beyond it, the cells are looked at again.
const MARGIN: f64 = 0.999;

/// What a grid of elastic bristles comes to. Bristle `i` is at `zeta_i + E_i shift`,
/// `E = [[1, 0, -y], [0, 1, x]]`.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// How far all bases have moved since [`Rest::new`] [-, -, 1/m].
    pub shift: Vector3<f64>,
    /// `sum w E^T zeta` of the bases.
    force: Vector3<f64>,
    /// `sum w E^T E`.
    spread: Matrix3<f64>,
    /// Largest `|zeta_i|` at the start.
    most: f64,
    /// Largest distance of a cell from the patch origin [m].
    reach: f64,
    /// Elastic share.
    s_ba: f64,
    /// Viscous coefficient [s/m].
    sigma2: f64,
}

impl Rest {
    /// A grid whose bases have `force = sum w E^T zeta` and `spread = sum w E^T E`, none longer than `most`,
    /// in cells no further than `reach` [m] from the patch origin.
    pub fn new(force: Vector3<f64>, spread: Matrix3<f64>, [most, reach]: [f64; 2], [s_ba, sigma2]: [f64; 2]) -> Self {
        Self { shift: Vector3::zeros(), force, spread, most, reach, s_ba, sigma2 }
    }

    /// The sweep at patch twist `u`; none if a bristle might leave the elastic range, and then nothing has
    /// moved.
    pub fn sweep(&mut self, u: Twist, finish: Option<&Stage<f64>>, next: Option<&Stage<f64>>) -> Option<Sums> {
        let u = Vector3::from(u.to_array());
        let mut shift = self.shift;
        if let Some(st) = finish {
            self.stays(shift + st.a_sigma0 * u, st)?;
            shift += st.pull * st.a_sigma0 * u;
        }
        if let Some(st) = next {
            self.stays(shift, st)?;
            self.stays(shift + st.a_sigma0 * u, st)?;
        }
        self.force += self.spread * (shift - self.shift);
        self.shift = shift;
        let Some(st) = next else { return Some(Sums::default()) };
        let stiffness = (1.0 + st.damping) * st.a_sigma0 + self.sigma2;
        Some(Sums { resist: self.force + stiffness * (self.spread * u), gain: stiffness * self.spread })
    }

    /// `sum w E^T (zeta + c v)` at patch twist `u`: minus the wrench per unit normal force, with
    /// `c = sigma1 + sigma2`.
    pub fn resist(&self, u: Twist, c: f64) -> Vector3<f64> {
        self.force + c * (self.spread * Vector3::from(u.to_array()))
    }

    /// `sum w E^T E shift`: what the shift has added to the force.
    pub fn shifted(&self) -> Vector3<f64> {
        self.spread * self.shift
    }

    /// Whether every bristle is elastic after a shift, at any speed: `docs/model.md` (63).
    fn stays(&self, shift: Vector3<f64>, st: &Stage<f64>) -> Option<()> {
        let least = st.mu_c.min(st.mu_c + st.mu_d);
        // No `hypot`, which takes as long as the rest: nothing here overflows.
        let most = self.most + (shift[0] * shift[0] + shift[1] * shift[1]).sqrt() + self.reach * shift[2].abs();
        (most < MARGIN * self.s_ba * least).then_some(())
    }
}
