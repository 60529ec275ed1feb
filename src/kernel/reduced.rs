//! The reduced model: one bristle with three components at the centre of pressure (`docs/model.md`, section
//! 6). Twin: `shaders/reduced.wgsl`.
//!
//! `zeta = sigma0 (z_x, z_y, z_tau/r)` is driven by `v_S = (vx, vy, r w)` through a direction `D`: `v_S`
//! itself (ellipsoid), or `-h(r, v) |v_S|` from the table of a limit surface.

use std::sync::Arc;

use nalgebra::{Matrix3, Vector3};

use super::bristles::{Bristles, LEAST_REACH, STRAIGHT};
use super::distributed::{Rate, Sums};
use super::friction::{Consts, Motion, Stage, motion, ramp, ramp_root};
use crate::contact::{Carry, Contact, Form, radius_of, reshapes};
use crate::limit_surface::Table;
use crate::patch::Patch;
use crate::planar::{Twist, Wrench};

/// The bristle and the patch it stands for.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// State `zeta` [-]; base of the stage during a step.
    pub zeta: Vector3<f64>,
    /// What of `zeta_3` the present map does not show, see [`Carry`].
    pub hidden: f64,
    /// A state that was kept.
    pub kept: Vector3<f64>,
    /// Centre of pressure [m].
    pub cop: [f64; 2],
    /// Torsional radius `r` by the rule of the table [m].
    pub radius: f64,
    /// Viscous factor `u` [m^2].
    pub viscous: f64,
    /// The limit surface; an ellipsoid if none.
    pub table: Option<Arc<Table>>,
    /// Whether limit surfaces of new maps are made in single precision.
    pub single: bool,
    /// Which Elasto-Plastic form.
    pub form: Form,
    /// Friction constants.
    pub k: Consts<f64>,
    /// `|zeta*|` over its limit when it last answered [-].
    pub loading: f64,
}

/// What a twist decides, whatever the stage.
#[derive(Clone, Copy, Debug)]
struct Drive {
    /// Speed `|v_S|`, its Stribeck bell.
    m: Motion<f64>,
    /// Direction of `v_S`; 0 at rest.
    e: Vector3<f64>,
    /// `v_E = (vx, vy, (u/r) w)` [m/s].
    v_e: Vector3<f64>,
    /// `D` [m/s], `docs/model.md` (66).
    d: Vector3<f64>,
    /// Its direction; 0 at rest.
    d_hat: Vector3<f64>,
    /// `dD/dv_S` [-], `docs/model.md` (76).
    j: Matrix3<f64>,
    /// `|h|` [-].
    h: f64,
    /// `d|h|/dv_S` [s/m].
    h_slope: Vector3<f64>,
}

/// The bristle at the end of a stage.
#[derive(Clone, Copy, Debug)]
struct Bristle {
    zeta: Vector3<f64>,
    /// `zeta* - zeta_b`, without taking the difference.
    step: Vector3<f64>,
    /// LuGre and published: as in the cell. Consistent: `l` is `q`, `b` is `B`, `d` is `1/(1 + B q)`.
    y: Vector3<f64>,
    l: f64,
    x: f64,
    b: f64,
    b_slope: f64,
    d: f64,
}

/// A vector's direction; 0 at 0.
fn direction(v: Vector3<f64>) -> Vector3<f64> {
    v * over(v.norm())
}

/// `1/x`; 0 at 0.
fn over(x: f64) -> f64 {
    if x > 0.0 { 1.0 / x } else { 0.0 }
}

impl Reduced {
    /// The bristle of `contact` on `table`, or on an ellipsoid.
    pub fn new(contact: &Contact, table: Option<Arc<Table>>, form: Form) -> Self {
        let patch = contact.first_patch();
        let first = contact.first_bristles(&[]).unwrap_or_default();
        let zeta = |i: usize| first.get(i).copied().unwrap_or_default();
        Self {
            zeta: Vector3::new(zeta(0)[0], zeta(0)[1], zeta(1)[0]),
            hidden: 0.0,
            kept: Vector3::zeros(),
            cop: patch.cop(),
            radius: radius_of(&patch, table.as_deref()),
            viscous: patch.viscous(),
            table,
            single: false,
            form,
            k: Consts::new(&contact.friction),
            loading: 0.0,
        }
    }
}

impl Bristles for Reduced {
    fn sweep(&mut self, u: Twist, finish: Option<&Stage<f64>>, next: Option<&Stage<f64>>) -> Sums {
        let k = &{ self.k };
        let v = u.at(self.cop);
        let drive = self.drive(k, v);
        if let Some(st) = finish {
            self.zeta += st.pull * self.bristle(k, st, &drive).step;
        }
        let Some(st) = next else { return Sums::default() };
        let z = self.bristle(k, st, &drive);
        self.loading = z.x;
        let scale = Vector3::new(1.0, 1.0, self.radius);
        let viscous = Vector3::new(k.sigma2, k.sigma2, k.sigma2 * self.viscous);
        let rise = z.zeta + st.damping * z.step;
        let resist = scale.component_mul(&rise) + viscous.component_mul(&Vector3::from(v.to_array()));
        let s = Matrix3::from_diagonal(&scale);
        let dzeta = self.sensitivity(k, st, &drive, &z);
        let gain = (1.0 + st.damping) * s * dzeta * s + Matrix3::from_diagonal(&viscous);
        // From the centre of pressure to the patch origin.
        let [cx, cy] = self.cop;
        let shift = Matrix3::new(1.0, 0.0, -cy, 0.0, 1.0, cx, 0.0, 0.0, 1.0);
        Sums { resist: shift.transpose() * resist, gain: shift.transpose() * gain * shift }
    }

    /// The slip is 1 if the bristle slips, else 0.
    fn wrench(&self, u: Twist, rate: &Rate<f64>, f_n: f64) -> (Wrench, f64) {
        let k = &self.k;
        let v = u.at(self.cop);
        let drive = self.drive(k, v);
        let g = rate.mu_c + rate.mu_d * drive.m.bell;
        let z = self.zeta;
        let x = z.norm() / (drive.h * g);
        let z_hat = direction(z);
        // zeta' / sigma0, docs/model.md (69) to (71)
        let change = if !k.elasto_plastic {
            drive.d - drive.m.s / g * z
        } else {
            let (b, _) = ramp(k, x);
            match self.form {
                Form::Published => {
                    let eps = 0.5 * (drive.d.norm() + drive.d.dot(&z_hat));
                    drive.d - eps * b / (drive.h * g) * z
                }
                Form::Consistent => {
                    let b = 0.5 * b * (1.0 + drive.d_hat.dot(&z_hat));
                    (1.0 - b) * drive.v_e + b * drive.d - b * drive.m.s / g * z
                }
            }
        };
        let f = z + rate.sigma1 * change;
        let wrench = Wrench::new(
            -f_n * (f[0] + k.sigma2 * v.vx),
            -f_n * (f[1] + k.sigma2 * v.vy),
            -f_n * (self.radius * f[2] + k.sigma2 * self.viscous * v.w),
        );
        let [cx, cy] = self.cop;
        (wrench.about([-cx, -cy]), f64::from(u8::from(x > k.s_ba)))
    }

    fn keep(&mut self) {
        self.kept = self.zeta;
    }

    fn restore(&mut self) {
        self.zeta = self.kept;
    }

    /// `D` of a limit surface depends on the direction of `v_S`, however slow: a step that is small against
    /// the tolerance may turn a creeping twist through many cells of the table.
    fn reach(&self, u: Twist) -> f64 {
        let v = u.at(self.cop);
        let s = Vector3::new(v.vx, v.vy, self.radius * v.w).norm();
        if self.table.is_some() && self.k.elasto_plastic { (STRAIGHT * s).max(LEAST_REACH) } else { f64::INFINITY }
    }

    fn loading(&self) -> f64 {
        self.loading
    }

    /// At the centre of pressure.
    fn moved(&self) -> Vector3<f64> {
        Vector3::new(1.0, 1.0, self.radius).component_mul(&(self.zeta - self.kept))
    }

    fn states(&self) -> Vec<[f64; 2]> {
        vec![[self.zeta[0], self.zeta[1]], [self.zeta[2], 0.0]]
    }

    fn arm2(&self, _: &Patch) -> f64 {
        self.viscous
    }

    /// Only `r` and `u` follow a map that changes its size; a limit surface is made anew when the map's shape
    /// changes.
    fn remap(&mut self, patch: &Patch, mu_c: f64) {
        if let Some(table) = self.table.as_mut().filter(|table| reshapes(patch) && table.patch() != patch) {
            let make = if self.single { Table::single } else { Table::new };
            *table = Arc::new(make(patch, table.rule(), table.n_ls()).expect("the resolution was checked before"));
        }
        let radius = radius_of(patch, self.table.as_deref());
        let consistent = self.form.is_elastic(self.k.elasto_plastic);
        let carry = Carry::new(consistent, [self.radius, self.viscous], [radius, patch.viscous()]);
        [self.zeta[2], self.hidden] = carry.onto(self.zeta.into(), self.hidden, mu_c, self.k.s_ba);
        self.cop = patch.cop();
        self.radius = radius;
        self.viscous = patch.viscous();
    }

    fn holds_map(&self) -> bool {
        true
    }
}

impl Reduced {
    fn drive(&self, k: &Consts<f64>, v: Twist) -> Drive {
        let r = self.radius;
        let v_s = Vector3::new(v.vx, v.vy, r * v.w);
        let s = v_s.norm();
        let m = motion(k, s, 0.0);
        let e = direction(v_s);
        let v_e = Vector3::new(v.vx, v.vy, if r > 0.0 { self.viscous / r * v.w } else { 0.0 });
        let still = Drive { m, e, v_e, d: v_s, d_hat: e, j: Matrix3::identity(), h: 1.0, h_slope: Vector3::zeros() };
        let Some(table) = self.table.as_ref().filter(|_| s > 0.0) else { return still };
        let look = table.look_up([v_s[0], v_s[1], v_s[2]]);
        let h = Vector3::from(look.h);
        let d = -s * h;
        let (norm, d_hat) = (h.norm(), direction(d));
        if v_s[0] == 0.0 && v_s[1] == 0.0 {
            return Drive { d, d_hat, h: norm, ..still };
        }
        let j = -(h * e.transpose()
            + s * (Vector3::from(look.h_phi) * Vector3::from(look.dphi).transpose()
                + Vector3::from(look.h_theta) * Vector3::from(look.dtheta).transpose()));
        let h_slope = (j.transpose() * d_hat - norm * e) / s;
        Drive { d, d_hat, j, h: norm, h_slope, ..still }
    }

    fn bristle(&self, k: &Consts<f64>, st: &Stage<f64>, m: &Drive) -> Bristle {
        let g = st.mu_c + st.mu_d * m.m.bell;
        let big_g = m.h * g;
        let push = st.a_sigma0 * m.d;
        let y = self.zeta + push;
        if !k.elasto_plastic {
            let l = st.a_sigma0 * m.m.s / g;
            let d = 1.0 / (1.0 + l);
            let (zeta, step) = (d * y, d * (push - l * self.zeta));
            return Bristle { zeta, step, y, l, x: zeta.norm() / big_g, b: 1.0, b_slope: 0.0, d };
        }
        if self.form == Form::Published {
            let n = direction(y);
            let l = (st.a_sigma0 * 0.5 * (m.d.norm() + m.d.dot(&n)) / big_g).max(0.0);
            let ratio = y.norm() / big_g;
            let (x, b, b_slope) = if ratio <= k.s_ba {
                (ratio, 0.0, 0.0)
            } else if ratio >= 1.0 + l {
                (ratio / (1.0 + l), 1.0, 0.0)
            } else {
                ramp_root(k, ratio, l).end(k).into()
            };
            let d = 1.0 / (1.0 + l * b);
            return Bristle { zeta: d * y, step: d * (push - l * b * self.zeta), y, l, x, b, b_slope, d };
        }
        let q = st.a_sigma0 * m.m.s / g;
        let pull = st.a_sigma0 * m.v_e;
        let z0 = self.zeta + pull;
        let z1 = y / (1.0 + q);
        let tau = self.consistent_root(k, m, big_g, q, z0, z1);
        let zeta = z1 + tau * (z0 - z1);
        let share = (1.0 - tau) / (1.0 + q * tau);
        let x = zeta.norm() / big_g;
        let (b, b_slope) = ramp(k, x);
        let step = tau * pull + (1.0 - tau) / (1.0 + q) * (push - q * self.zeta);
        Bristle { zeta, step, y: Vector3::new(b, 0.0, 0.0), l: q, x, b: share, b_slope, d: 1.0 / (1.0 + share * q) }
    }

    /// The root of `F(tau) = (1-tau)/(1 + q tau) - b(x) (1 + c)/2` in [0, 1], `zeta = z1 + tau (z0 - z1)`:
    /// `docs/model.md` (82). (`tau` is the share of the step that sticks: near sliding it is small, and
    /// single precision holds it well.)
    fn consistent_root(
        &self,
        k: &Consts<f64>,
        m: &Drive,
        big_g: f64,
        q: f64,
        z0: Vector3<f64>,
        z1: Vector3<f64>,
    ) -> f64 {
        if z0.norm() <= k.s_ba * big_g {
            return 1.0;
        }
        let way = z0 - z1;
        let (mut tau, mut low, mut high, mut last) = (0.0f64, 0.0f64, 1.0f64, 1.0f64);
        for _ in 0..ROOT_ITERATIONS {
            let zeta = z1 + tau * way;
            let (inv, x) = (over(zeta.norm()), zeta.norm() / big_g);
            let z_hat = zeta * inv;
            let (b, b_slope) = ramp(k, x);
            let c = m.d_hat.dot(&z_hat);
            let f = (1.0 - tau) / (1.0 + q * tau) - 0.5 * b * (1.0 + c);
            if tau == 0.0 && f <= 0.0 {
                return 0.0;
            }
            let slope = -(1.0 + q) / ((1.0 + q * tau) * (1.0 + q * tau))
                - 0.5 * b_slope * z_hat.dot(&way) / big_g * (1.0 + c)
                - 0.5 * b * (m.d_hat - c * z_hat).dot(&way) * inv;
            if f > 0.0 {
                low = tau;
            } else {
                high = tau;
            }
            let newton = tau - f / slope;
            // Bisect when Newton leaves the bracket or fails to halve the last step: it can cycle on the
            // ramp.
            let good = newton > low && newton < high && (newton - tau).abs() <= 0.5 * last;
            let next = if good { newton } else { 0.5 * (low + high) };
            last = (next - tau).abs();
            tau = next;
            if good && last <= ROOT_TOLERANCE * tau.max(ROOT_TOLERANCE) {
                break;
            }
        }
        tau
    }

    /// `d zeta*/dv_S` [s/m], `docs/model.md` (77), (78), (86).
    fn sensitivity(&self, k: &Consts<f64>, st: &Stage<f64>, m: &Drive, z: &Bristle) -> Matrix3<f64> {
        let g = st.mu_c + st.mu_d * m.m.bell;
        let g_slope = st.chi * st.mu_d * m.m.bell_slope;
        let a = st.a_sigma0;
        let identity = Matrix3::identity();
        // d(a sigma0 s/g)/dv_S
        let dq = a / g * (1.0 - m.m.s * g_slope / g) * m.e;
        if !k.elasto_plastic {
            return z.d * (a * m.j - z.zeta * dq.transpose());
        }
        let big_g = m.h * g;
        let d_big_g = g * m.h_slope + m.h * g_slope * m.e;
        if self.form == Form::Published {
            let n = direction(z.y);
            let across = (m.d - m.d.dot(&n) * n) * over(z.y.norm());
            let deps = 0.5 * (m.j.transpose() * (m.d_hat + n + a * across));
            let steep = z.l * (z.b + z.x * z.b_slope);
            // d(G x)/dv_S: G dx + x dG, with what cancels in it taken out.
            let row = (a * (m.j.transpose() * n - z.x * z.b * deps) + z.x * steep * d_big_g) / (1.0 + steep);
            let along = n * row.transpose();
            return along + a * z.d * (identity - n * n.transpose()) * m.j;
        }
        let (share, q, b, b_slope) = (z.b, z.l, z.y[0], z.b_slope);
        let ratio = if self.radius > 0.0 { self.viscous / (self.radius * self.radius) } else { 0.0 };
        let elastic = Matrix3::from_diagonal(&Vector3::new(1.0, 1.0, ratio));
        let direct = z.d * (a * ((1.0 - share) * elastic + share * m.j) - share * z.zeta * dq.transpose());
        if b == 0.0 && b_slope == 0.0 {
            return direct;
        }
        let p = z.d * (a * (m.d - m.v_e) - q * z.zeta);
        let z_hat = direction(z.zeta);
        let c = m.d_hat.dot(&z_hat);
        let turn = (m.d_hat - c * z_hat) * over(z.zeta.norm());
        let hb = 1.0 - 0.5 * b_slope * (1.0 + c) * z_hat.dot(&p) / big_g - 0.5 * b * turn.dot(&p);
        let turn_d = (z_hat - c * m.d_hat) * over(m.d.norm());
        let hv = -0.5 * b_slope * (1.0 + c) / big_g * (direct.transpose() * z_hat - z.x * d_big_g)
            - 0.5 * b * (direct.transpose() * turn + m.j.transpose() * turn_d);
        direct - p * hv.transpose() / hb
    }
}

/// Iterations of the consistent form's root at most; two on average.
pub const ROOT_ITERATIONS: u32 = 60;
/// A step of Newton smaller than this share of the root ends it: the next error is the square of that.
const ROOT_TOLERANCE: f64 = 1e-8;

#[cfg(test)]
mod tests;
