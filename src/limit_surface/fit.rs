//! Ellipsoids and quartics in place of a limit surface, and the errors that they make.
//!
//! Lengths are divided by the surface's radius `r`: loads are `(fx, fy, tau/r)/(mu f_N)`, twists
//! `(vx, vy, r w)`.

use nalgebra::{DMatrix, DVector, Dyn, Matrix3, OMatrix, SMatrix, SVector, U15, Vector3};

use super::directions::sphere;
use super::surface::Surface;
use crate::planar::{Twist, Wrench};

/// How a fit differs from the surface, over twists spread evenly over all directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitError {
    /// Largest distance of the wrenches `(fx, fy, tau/r)/(mu f_N)`, over the length of the exact one [-].
    pub max: f64,
    /// Root mean square of the same [-].
    pub rms: f64,
    /// Largest angle between the wrenches \[rad\].
    pub max_angle: f64,
    /// Root mean square of the angle \[rad\].
    pub rms_angle: f64,
}

/// The ellipsoid with the surface's two semi-axes, eqs. (24) and (25) of the paper, `docs/model.md` (66):
/// `W = -mu f_N (vx, vy, r^2 w)/|(vx, vy, r w)|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipsoid {
    /// Torsional semi-axis over `mu f_N` \[m\].
    pub radius: f64,
}

impl Ellipsoid {
    /// The ellipsoid of `surface` and its error.
    pub fn fit(surface: &Surface) -> (Self, FitError) {
        let fit = Self { radius: surface.radius() };
        (fit, error(surface, |v| fit.coulomb(v)))
    }

    /// Coulomb wrench [-, -, m] of a twist for `mu f_N = 1`, both at the centre of pressure.
    pub fn coulomb(&self, twist: Twist) -> Wrench {
        let z = self.radius * twist.w;
        if ![twist.vx, twist.vy, z].iter().all(|c| c.is_finite()) {
            return Wrench::new(f64::NAN, f64::NAN, f64::NAN);
        }
        let s = twist.vx.hypot(twist.vy).hypot(z);
        if s == 0.0 {
            return Wrench::default();
        }
        Wrench::new(-twist.vx / s, -twist.vy / s, -self.radius * z / s)
    }
}

/// The convex quartic of Zhou, Paolini, Bagnell & Mason, ICRA 2016: loads with `H(F) <= 1`,
/// `F = (fx, fy, tau/r)/(mu f_N)`; the twist at slip is along the gradient of `H`.
///
/// Here `H(F) = sum c_k (d_k . F)^4` with `c_k >= 0`: every such sum is convex, so no fit can fail to be.
/// (The paper asks for sum-of-squares convexity, a somewhat larger set, by semidefinite programming.)
#[derive(Clone, Debug, PartialEq)]
pub struct Quartic {
    /// Torsional radius `r` by which torques are divided \[m\].
    pub radius: f64,
    /// The terms: `c_k^(1/4) d_k`.
    pub terms: Vec<[f64; 3]>,
}

impl Quartic {
    /// The quartic that minimises the squares of `H(F) - 1` and of the components of its gradient across the
    /// twist, and its error.
    pub fn fit(surface: &Surface) -> (Self, FitError) {
        let radius = surface.radius();
        let directions = sphere(DIRECTIONS);
        let loads: Vec<(Vector3<f64>, Vector3<f64>)> =
            directions.iter().map(|v| (*v, -normalised(surface.coulomb(physical(v, radius)), radius))).collect();
        // Of every load: the value, and the gradient's two components across the twist, over 4, as rows over
        // the monomials of a quartic.
        let (mut square, mut wanted) = (Matrix15::zeros(), Vector15::zeros());
        for (v, load) in &loads {
            let helper = if v.x.abs() < 0.6 { Vector3::x() } else { Vector3::y() };
            let across = v.cross(&helper).normalize();
            let (value, gradient) = monomials(load);
            wanted += value;
            for row in [value, gradient * across / 4.0, gradient * v.cross(&across) / 4.0] {
                square += row * row.transpose();
            }
        }
        // (d.F)^4 of a direction d, as coefficients of the monomials.
        let basis = directions.iter().take(DIRECTIONS / 2).map(|d| monomials(d).0.component_mul(&multiplicities()));
        let basis = OMatrix::<f64, U15, Dyn>::from_columns(&basis.collect::<Vec<_>>());
        let c = non_negative(&(basis.transpose() * square * &basis), &(basis.transpose() * wanted));
        let terms = directions.iter().zip(&c).filter(|(_, c)| **c > 0.0);
        let fit = Self { radius, terms: terms.map(|(d, c)| (d * c.sqrt().sqrt()).into()).collect() };
        let error = error(surface, |v| fit.coulomb(v));
        (fit, error)
    }

    /// `H(F)`, 1 on the surface [-], of a load `(fx, fy, tau/r)/(mu f_N)`.
    pub fn value(&self, load: [f64; 3]) -> f64 {
        let load = Vector3::from(load);
        self.terms.iter().map(|d| Vector3::from(*d).dot(&load).powi(4)).sum()
    }

    /// `dH/dF` [-]: along the twist `(vx, vy, r w)` at slip.
    pub fn gradient(&self, load: [f64; 3]) -> [f64; 3] {
        let load = Vector3::from(load);
        let sum: Vector3<f64> =
            self.terms.iter().map(|d| Vector3::from(*d)).map(|d| d * (4.0 * d.dot(&load).powi(3))).sum();
        sum.into()
    }

    /// Coulomb wrench [-, -, m] of a twist for `mu f_N = 1`, both at the centre of pressure: minus the load
    /// of maximal dissipation.
    pub fn coulomb(&self, twist: Twist) -> Wrench {
        let v = Vector3::new(twist.vx, twist.vy, self.radius * twist.w);
        if !v.iter().all(|c| c.is_finite()) {
            return Wrench::new(f64::NAN, f64::NAN, f64::NAN);
        }
        let scale = v.amax();
        if scale == 0.0 {
            return Wrench::default();
        }
        let v = v / scale;
        // min H(F)/4 - v.F is smooth and convex; its minimum is a multiple of the load.
        let v = v.normalize();
        let mut load = v;
        for _ in 0..60 {
            let slope = Vector3::from(self.gradient(load.into())) / 4.0 - v;
            let objective = |f: &Vector3<f64>| self.value((*f).into()) / 4.0 - v.dot(f);
            let hessian: Matrix3<f64> = self
                .terms
                .iter()
                .map(|d| Vector3::from(*d))
                .map(|d| d * d.transpose() * (3.0 * d.dot(&load).powi(2)))
                .sum();
            let Some(step) = (hessian + Matrix3::identity() * 1e-14).try_inverse().map(|inverse| inverse * slope)
            else {
                break;
            };
            let here = objective(&load);
            let mut length = 1.0;
            while objective(&(load - step * length)) > here && length > 1e-10 {
                length *= 0.5;
            }
            load -= step * length;
            if step.norm() <= 1e-14 * load.norm() {
                break;
            }
        }
        load /= self.value(load.into()).sqrt().sqrt();
        Wrench::new(-load.x, -load.y, -load.z * self.radius)
    }
}

type Vector15 = SVector<f64, 15>;
type Matrix15 = SMatrix<f64, 15, 15>;

/// Powers of x, y and z in the monomials of degree four.
fn powers() -> impl Iterator<Item = [i32; 3]> {
    (0..=4).flat_map(|x| (0..=4 - x).map(move |y| [x, y, 4 - x - y]))
}

/// How often each monomial occurs in `(x + y + z)^4`.
fn multiplicities() -> Vector15 {
    let factorial = |n: i32| (1..=n).map(f64::from).product::<f64>();
    Vector15::from_iterator(powers().map(|p| 24.0 / p.map(factorial).iter().product::<f64>()))
}

/// The monomials at `f`, and their gradients.
fn monomials(f: &Vector3<f64>) -> (Vector15, SMatrix<f64, 15, 3>) {
    let of = |p: [i32; 3]| (0..3).map(|k| f[k].powi(p[k])).product::<f64>();
    let value = Vector15::from_iterator(powers().map(of));
    let all: Vec<[i32; 3]> = powers().collect();
    let gradient = SMatrix::from_fn(|row, axis| {
        let mut p = all[row];
        let power = p[axis];
        p[axis] -= 1;
        if power > 0 { f64::from(power) * of(p) } else { 0.0 }
    });
    (value, gradient)
}

/// Number of twists by which fits are made.
const DIRECTIONS: usize = 400;

fn physical(v: &Vector3<f64>, radius: f64) -> Twist {
    Twist::new(v.x, v.y, if radius > 0.0 { v.z / radius } else { 0.0 })
}

fn normalised(w: Wrench, radius: f64) -> Vector3<f64> {
    Vector3::new(w.fx, w.fy, if radius > 0.0 { w.tau / radius } else { 0.0 })
}

fn error(surface: &Surface, fit: impl Fn(Twist) -> Wrench) -> FitError {
    let radius = surface.radius();
    let mut error = FitError { max: 0.0, rms: 0.0, max_angle: 0.0, rms_angle: 0.0 };
    // Errors are evaluated in other directions than those of the fit.
    let judged = sphere(DIRECTIONS + 37);
    for v in &judged {
        let exact = normalised(surface.coulomb(physical(v, radius)), radius);
        let guess = normalised(fit(physical(v, radius)), radius);
        let relative = (guess - exact).norm() / exact.norm();
        let angle = exact.angle(&guess);
        error.max = error.max.max(relative);
        error.max_angle = error.max_angle.max(angle);
        error.rms += relative * relative / judged.len() as f64;
        error.rms_angle += angle * angle / judged.len() as f64;
    }
    FitError { rms: error.rms.sqrt(), rms_angle: error.rms_angle.sqrt(), ..error }
}

/// `min c.G c/2 - b.c` over `c >= 0` (Lawson & Hanson 1974, on the normal equations).
fn non_negative(g: &DMatrix<f64>, b: &DVector<f64>) -> DVector<f64> {
    let n = b.len();
    let mut c = DVector::zeros(n);
    let mut active: Vec<usize> = Vec::new();
    for _ in 0..3 * n {
        let residual = b - g * &c;
        let free = (0..n).filter(|k| !active.contains(k));
        let Some(best) = free.max_by(|i, j| residual[*i].total_cmp(&residual[*j])) else { break };
        if residual[best] <= 1e-10 * b.amax() {
            break;
        }
        active.push(best);
        loop {
            let gram = DMatrix::from_fn(active.len(), active.len(), |i, j| {
                // The space of quartics has 15 dimensions, fewer than there are directions, so that the
                // matrix may be singular.
                g[(active[i], active[j])] * if i == j { 1.0 + 1e-12 } else { 1.0 }
            });
            let rhs = DVector::from_fn(active.len(), |i, _| b[active[i]]);
            let Some(solved) = gram.lu().solve(&rhs) else { return c };
            if solved.iter().all(|x| *x > 0.0) {
                active.iter().zip(solved.iter()).for_each(|(k, x)| c[*k] = *x);
                break;
            }
            // The step is shortened to the first bound that it meets, and the terms that reach that bound are
            // dropped.
            let share = active
                .iter()
                .zip(solved.iter())
                .filter(|(_, x)| **x <= 0.0)
                .map(|(k, x)| c[*k] / (c[*k] - x))
                .fold(1.0, f64::min);
            active.iter().zip(solved.iter()).for_each(|(k, x)| c[*k] += share * (x - c[*k]));
            let dropped: Vec<usize> = active.iter().copied().filter(|k| c[*k] <= 1e-15).collect();
            dropped.iter().for_each(|k| c[*k] = 0.0);
            active.retain(|k| !dropped.contains(k));
            if dropped.is_empty() || active.is_empty() {
                return c;
            }
        }
    }
    c
}
