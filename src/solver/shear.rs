//! The friction force on every cell of a grid in a sample, from the recorded bristle states. It is computed
//! in double precision, by the formula of recorded wrenches, for every engine.

use super::cell::decay;
use super::friction::{Consts, motion};
use super::laws::with_law;
use crate::contact::Contact;
use crate::patch::Patch;
use crate::planar::{Pose, Twist, Wrench};

/// Friction in a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shear {
    /// Friction force on the body, in the axes of the patch \[N\].
    pub force: [f64; 2],
    /// How near the bristle is to its limit: its length over that at the present speed [-], 1 in steady
    /// sliding. Above `s_ba` it counts as near.
    pub nearness: f64,
}

/// The motion of a contact in a sample.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Time \[s\].
    pub time: f64,
    /// Pose and twist as they are recorded.
    pub pose: Pose,
    /// See [`Moment::pose`].
    pub twist: Twist,
    /// Normal force of one pad \[N\].
    pub f_n: f64,
}

/// Friction in the cells `at` of a `patch`, whose bristles have the states `zeta` [-]: `docs/model.md` (15)
/// with the rate of (8), of each cell. The sum of all cells is the recorded wrench.
pub fn shear<'a>(
    contact: &'a Contact,
    patch: &'a Patch,
    moment: Moment,
    cells: impl Iterator<Item = (usize, [f64; 2])> + 'a,
) -> impl Iterator<Item = (usize, Shear)> + 'a {
    let k = Consts::<f64>::new(&contact.friction);
    let sigma1 = contact.friction.effective_for_law().sigma1;
    let Moment { time, pose, twist, f_n } = moment;
    // In a hand that moves, recorded twists are relative to it.
    let surface = if contact.is_carried() { Twist::default() } else { contact.surface_at(time) };
    let u = contact.slip_twist(pose, 0.0, twist, surface);
    let [mu_c, mu_s] = contact.coefficients_at(time);
    let mu_d = contact.friction.law.static_coefficient(mu_c, mu_s) - mu_c;
    let grid = patch.grid();
    cells.map(move |(i, [zx, zy])| {
        let Twist { vx, vy, .. } = patch.bristle_twist(u.at(grid.centre(i % grid.nx, i / grid.nx)));
        let m = motion(&k, vx, vy);
        let g = patch.friction_factor(i) * mu_d.mul_add(m.bell, mu_c);
        let decay = with_law!(k.law, L => decay::<f64, L>(&k, g, &m, zx, zy));
        let share = -f_n * patch.weights()[i];
        let along = |zeta: f64, v: f64| share * (zeta + sigma1 * (v - decay * zeta) + k.sigma2 * v);
        let force = patch.patch_wrench(Wrench::new(along(zx, vx), along(zy, vy), 0.0));
        (i, Shear { force: [force.fx, force.fy], nearness: zx.hypot(zy) / g })
    })
}
