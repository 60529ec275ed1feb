//! The derivatives of the wrench of steady sliding.
//!
//! `W = mu f_N sum w_i W_i(v)` is linear in the shares, and its derivative by the twist is less the second
//! derivative of the dissipation (`docs/model.md` (99)), which is of degree -1 in the twist.

use std::sync::OnceLock;

use nalgebra::Matrix3;
use rayon::prelude::*;

use super::{Cells, ReferencePoint, negative};
use crate::error::{ParameterError, check};
use crate::limit_surface::quadrature::{Frame, Points};
use crate::limit_surface::surface::Surface;
use crate::planar::{Twist, Wrench};
use crate::pool;

/// The Coulomb wrench of a twist and its derivatives; each `[i]` is of the components `(fx, fy, tau)`.
///
/// At rest the wrench is zero and its derivative by the twist NaN: friction jumps there. By `points` it also
/// jumps where the centre of rotation crosses the centre of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct WrenchGradient {
    /// The wrench [N, N, N m] at the [`ReferencePoint`].
    pub wrench: Wrench,
    /// `dW_i/dv_j`, `v = (vx, vy, w)`: N s/m, N s; N s, N m s. Symmetric, and `dW/dv v = 0`.
    pub twist: [[f64; 3]; 3],
    /// Of every cell, in the order of the map and also for cells without pressure: `dW_i/dp` [N, N, N m] with
    /// all other pressures and the normal force held. Its unit of pressure is the sum of all pressures: for
    /// pressures in another unit divide by their sum. `sum w dW/dp = 0`.
    pub pressure: Vec<[f64; 3]>,
    /// `dW_i/dmu` [N, N, N m].
    pub mu: [f64; 3],
    /// `dW_i/df_N` [-, -, m], with the map held; also at a force of zero.
    pub f_n: [f64; 3],
}

impl Surface {
    /// The Coulomb wrenches of many twists [m/s, m/s, rad/s] as by [`Surface::wrench`], and their
    /// derivatives, in parallel. Twists and wrenches are at the point `at`; `mu` >= 0 [-], `f_n` >= 0 \[N\].
    ///
    /// # Errors
    /// A twist, coefficient, force or point out of range, or the `bilinear` rule, whose derivatives jump
    /// between cells.
    pub fn wrench_gradients(
        &self,
        twists: &[Twist],
        at: ReferencePoint,
        mu: f64,
        f_n: f64,
    ) -> Result<Vec<WrenchGradient>, ParameterError> {
        let cells = Cells::new(self)?;
        for twist in twists {
            for (name, v) in ["twist.vx", "twist.vy", "twist.w"].iter().zip(twist.to_array()) {
                check(name, v, "a finite number", true)?;
            }
        }
        check("mu", mu, "a finite number >= 0", mu >= 0.0)?;
        check("f_n", f_n, "a finite force >= 0 [N]", f_n >= 0.0)?;
        let point = at.seen_from(self.patch().cop())?;
        let far = OnceLock::new();
        let one = |twist: &Twist| cells.wrench_gradient(*twist, at, point, [mu, f_n], &far);
        Ok(pool::run(|| twists.par_iter().map(one).collect()))
    }

    /// Derivative of the unit Coulomb wrench by a twist at the centre of pressure. `far` is made where the
    /// centre of rotation is so far away that the closed form of `cells` would cancel.
    fn by_twist(&self, twist: Twist, far: &OnceLock<Points>) -> Matrix3<f64> {
        // Lengths in `unit`, speeds of order one.
        let local = [twist.vx, twist.vy, twist.w * self.unit];
        let scale = local.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let local = local.map(|v| v / scale);
        let [xx, xy, yy, xw, yw, ww] = match &self.cells {
            None => self.points.wrench_and_derivative(local).1,
            Some(cells) => match cells.derivative(local, &self.points) {
                Some(derivative) => derivative,
                None => {
                    let far = far.get_or_init(|| Frame::new(self.patch()).fine_points(self.patch()));
                    far.wrench_and_derivative(local).1
                }
            },
        };
        let (xw, yw, ww) = (xw * self.unit, yw * self.unit, ww * self.unit * self.unit);
        -Matrix3::new(xx, xy, xw, xy, yy, yw, xw, yw, ww) / scale
    }
}

impl Cells<'_> {
    /// `point` is `at` from the centre of pressure.
    fn wrench_gradient(
        &self,
        twist: Twist,
        at: ReferencePoint,
        point: [f64; 2],
        [mu, f_n]: [f64; 2],
        far: &OnceLock<Points>,
    ) -> WrenchGradient {
        let patch = self.surface.patch();
        if twist == Twist::default() {
            return WrenchGradient {
                wrench: Wrench::default(),
                twist: [[f64::NAN; 3]; 3],
                pressure: vec![[0.0; 3]; patch.grid().len()],
                mu: [0.0; 3],
                f_n: [0.0; 3],
            };
        }
        let at_cop = twist.at(negative(point));
        let unit = self.surface.coulomb(at_cop);
        let by_twist = self.surface.by_twist(at_cop, far);
        let [cx, cy] = patch.cop();
        let cell = |(wrench, [x, y]): (Wrench, [f64; 2])| {
            let mut change = wrench - unit;
            if at == ReferencePoint::Cop {
                // The centre of pressure moves by `d`, and the twist there is held.
                let d = [x - cx, y - cy];
                let turned = Twist::new(twist.w * d[1], -twist.w * d[0], 0.0);
                let moved: [f64; 3] = (by_twist * nalgebra::Vector3::from(turned.to_array())).into();
                change = change + Wrench::from(moved);
                change.tau -= d[0] * unit.fy - d[1] * unit.fx;
            }
            (change * (mu * f_n)).about(point).to_array()
        };
        let pressure = self.wrenches(at_cop).zip(patch.grid().centres()).map(cell).collect();
        // A twist at the point as one at the centre of pressure; wrenches move by the transpose.
        let moved = Matrix3::new(1.0, 0.0, point[1], 0.0, 1.0, -point[0], 0.0, 0.0, 1.0);
        let by_twist = moved.transpose() * by_twist * moved * (mu * f_n);
        let unit = unit.about(point);
        WrenchGradient {
            wrench: unit * (mu * f_n),
            twist: [0, 1, 2].map(|i| [0, 1, 2].map(|j| by_twist[(i, j)])),
            pressure,
            mu: (unit * f_n).to_array(),
            f_n: (unit * mu).to_array(),
        }
    }
}
