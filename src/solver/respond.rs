//! The friction wrench that a given motion of the patch would cause, and its derivative, for programs that
//! integrate the body themselves.

use super::bristles::Bristles;
use super::friction::Stage;
use super::lanes::Solver;
use super::linalg::Vec3;
use super::state::State;
use super::transform::{Transform, at};
use crate::number::simd::copies;
use crate::planar::{Twist, Wrench};
use crate::schedule::slot;

/// The friction wrench on the moving side at the patch origin in the patch frame [N, N, N m], and its
/// derivative over the patch twist, a row a component of the wrench [N s/m, N s/rad; N s, N m s/rad].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// The wrench.
    pub wrench: Wrench,
    /// Its derivative.
    pub gain: [[f64; 3]; 3],
}

copies! {
    /// The response of a lane to a patch twist `u` that lasts for `dt` [s], with the inputs `v`: that of one
    /// implicit stage over the whole time, `docs/model.md` (41) and (42). No stage is pending. The bristles
    /// are put back to what they were.
    pub fn respond<R, B: Bristles<R>>(
        solver: &mut Solver<R, B>,
        l: usize,
        u: Twist,
        dt: f64,
        v: &[f64; slot::COUNT]
    ) -> Response {
        let mut state = State::default();
        solver.bristles.export(l, &mut state);
        let a_sigma0 = R::splat(dt) * solver.contacts.sigma0;
        let stage = Stage {
            a_sigma0,
            damping: solver.contacts.sigma1 * a_sigma0.recip(),
            mu_c: R::splat(v[slot::MU_C]),
            mu_d: R::splat(v[slot::MU_S] - v[slot::MU_C]),
            chi: R::splat(1.0),
            extrapolation: R::splat(1.0),
            cuts: R::splat(0.0),
        };
        let point = solver.patch_point();
        let twist = at(Vec3::new(R::splat(u.vx), R::splat(u.vy), R::splat(u.w)), point);
        let sums = solver.bristles.sweep(solver.directed(twist), (&stage, 0), (&stage, 1 << l));
        let (resist, gain) = solver.patch_wrench(sums);
        solver.bristles.import(l, &state);
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let at_origin = Transform { cos: one, sin: zero, o: [zero; 2] };
        let (w, gain) = (at_origin.wrench(resist, point).lane(l), at_origin.gain(&gain, point));
        let f_n = v[slot::F_N];
        let rows = [gain.x.lane(l), gain.y.lane(l), gain.z.lane(l)];
        Response {
            wrench: Wrench::new(-f_n * w[0], -f_n * w[1], -f_n * w[2]),
            gain: rows.map(|row| row.map(|c| -f_n * c)),
        }
    }
}
