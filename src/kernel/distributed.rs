//! The pass over the cells of a grid: finishes one stage, answers for the next, sums.
//! Twin: `shaders/distributed.wgsl`.

use super::friction::{Consts, Stage, bristle, decay, motion, sensitivity};
use super::real::Real;
use crate::planar::{Twist, Wrench};

/// The cells of one contact, structure of arrays.
#[derive(Clone, Debug, Default)]
pub struct Cells<R> {
    /// Centre [m].
    pub x: Vec<R>,
    /// Centre [m].
    pub y: Vec<R>,
    /// Share of the normal force [-].
    pub w: Vec<R>,
    /// Base of the stage, or state between steps: `zeta = sigma0 z` [-].
    pub zx: Vec<R>,
    /// Base of the stage, or state between steps: `zeta = sigma0 z` [-].
    pub zy: Vec<R>,
}

/// Sums over the cells, per unit normal force: `resist = -sum w E^T f` and
/// `gain = sum w E^T C E`, with `E = [[1, 0, -y], [0, 1, x]]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// The opposite of the friction wrench at the patch origin [-, -, m].
    pub resist: nalgebra::Vector3<f64>,
    /// Its derivative over the patch twist [s/m, ..., s m].
    pub gain: nalgebra::Matrix3<f64>,
}

/// One pass at patch twist `u`. `finish` moves the bases of the stage just solved; `next` answers
/// for the stage to solve, from the moved bases. Both share speed and Stribeck bell.
pub fn pass<R: Real>(
    cells: &mut Cells<R>,
    k: &Consts<R>,
    u: Twist,
    finish: Option<&Stage<R>>,
    next: Option<&Stage<R>>,
) -> Sums {
    let (ux, uy, uw) = (R::of(u.vx), R::of(u.vy), R::of(u.w));
    let mut sum = [R::of(0.0); 12];
    for i in 0..cells.w.len() {
        let (x, y, w) = (cells.x[i], cells.y[i], cells.w[i]);
        let m = motion(k, ux - uw * y, uy + uw * x);
        let (mut zx, mut zy) = (cells.zx[i], cells.zy[i]);
        if let Some(st) = finish {
            let z = bristle(k, st, &m, zx, zy);
            zx += st.pull * (z.d * z.yx - zx);
            zy += st.pull * (z.d * z.yy - zy);
            (cells.zx[i], cells.zy[i]) = (zx, zy);
        }
        if let Some(st) = next {
            let z = bristle(k, st, &m, zx, zy);
            let (sx, sy) = (z.d * z.yx, z.d * z.yy);
            let fx = w * (sx + st.damping * (sx - zx) + k.sigma2 * m.vx);
            let fy = w * (sy + st.damping * (sy - zy) + k.sigma2 * m.vy);
            let share = w * (R::of(1.0) + st.damping);
            let [dxx, dxy, dyx, dyy] = sensitivity(k, st, &m, &z);
            let (cxx, cxy) = (share * dxx + w * k.sigma2, share * dxy);
            let (cyx, cyy) = (share * dyx, share * dyy + w * k.sigma2);
            sum[0] += fx;
            sum[1] += fy;
            sum[2] += x * fy - y * fx;
            sum[3] += cxx;
            sum[4] += cxy;
            sum[5] += x * cxy - y * cxx;
            sum[6] += cyx;
            sum[7] += cyy;
            sum[8] += x * cyy - y * cyx;
            sum[9] += x * cyx - y * cxx;
            sum[10] += x * cyy - y * cxy;
            sum[11] += x * (x * cyy - y * cyx) - y * (x * cxy - y * cxx);
        }
    }
    let s = sum.map(R::sum);
    Sums {
        resist: nalgebra::Vector3::new(s[0], s[1], s[2]),
        gain: nalgebra::Matrix3::new(s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11]),
    }
}

/// The friction wrench [N, N, N m] at the patch origin in the present state, with the rate of
/// eqs. (1) and (15) and normal force `f_n` [N], and the share of it on slipping cells.
pub fn wrench<R: Real>(cells: &Cells<R>, k: &Consts<R>, u: Twist, rate: &Rate<R>, f_n: f64) -> (Wrench, f64) {
    let (ux, uy, uw) = (R::of(u.vx), R::of(u.vy), R::of(u.w));
    let mut sum = [R::of(0.0); 4];
    for i in 0..cells.w.len() {
        let (x, y, w) = (cells.x[i], cells.y[i], cells.w[i]);
        let (zx, zy) = (cells.zx[i], cells.zy[i]);
        let m = motion(k, ux - uw * y, uy + uw * x);
        let g = rate.mu_c + rate.mu_d * m.bell;
        let decay = decay(k, g, &m, zx, zy);
        let fx = -w * (zx + rate.sigma1 * (m.vx - decay * zx) + k.sigma2 * m.vx);
        let fy = -w * (zy + rate.sigma1 * (m.vy - decay * zy) + k.sigma2 * m.vy);
        sum[0] += fx;
        sum[1] += fy;
        sum[2] += x * fy - y * fx;
        let slips = (k.s_ba * g).lt((zx * zx + zy * zy).sqrt());
        sum[3] += R::select(slips, w, R::of(0.0));
    }
    let s = sum.map(R::sum);
    (Wrench::new(f_n * s[0], f_n * s[1], f_n * s[2]), s[3])
}

/// Constants of a recorded wrench.
#[derive(Clone, Copy, Debug)]
pub struct Rate<R> {
    /// `sigma1` [s/m].
    pub sigma1: R,
    /// Coulomb coefficient [-].
    pub mu_c: R,
    /// `mu_s - mu_c` [-].
    pub mu_d: R,
}
