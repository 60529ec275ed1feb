//! The slip margin of a load, the direction of motion at slip, and whether the load holds.
//!
//! The dissipation `P(v) = -W(v).v` of a twist is convex and of degree one, and `-W = dP/dv`, so that the
//! loads that a patch holds are the convex body with support function `P`, and the twist at slip is its
//! outward normal (maximal dissipation; `docs/model.md` (98) to (100)). The largest factor is
//! `k = min P(v)/(F.v)` over twists with `F.v > 0`: any twist gives an upper bound, any triangle of loads on
//! the surface that the ray along `F` pierces gives a lower bound. The triangle's normal is the next twist,
//! until the bounds meet. The surface need not be smooth: on a facet (`points`, with the centre of rotation
//! on a cell) the search ends at once.

mod newton;

use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};
use rayon::prelude::*;

pub(super) use self::newton::refined;
use self::newton::{Found, Searches};
use super::quadrature::{Rule, unit};
use super::surface::Surface;
use crate::error::{ParameterError, check};
use crate::planar::{Twist, Wrench};
use crate::pool;

/// Relative distance of the bounds at which a search ends.
const GAP: f64 = 1e-12;
/// Most triangles of a search, apart from Newton steps: half of all searches need 29, the worst of 140 000
/// 81.
const MAX_ITERATIONS: usize = 100;
/// Relative distance of the bounds at which Newton steps are tried.
const NEWTON_GAP: f64 = 1e-3;

/// Number of loads below which each has a search of its own.
const FEW: usize = 8;
/// Number of loads whose searches advance together.
const BLOCK_OF_LOADS: usize = 1024;

/// The result of normalising a load: its margin where no search is needed, else the start of a search.
enum Normal {
    Margin(Margin),
    /// The unit vector along `(fx, fy, tau/r)`, and `mu f_N` over the size of the load.
    Direction(Vector3<f64>, f64),
}

impl Normal {
    fn direction(&self) -> Option<Vector3<f64>> {
        if let Self::Direction(f, _) = self { Some(*f) } else { None }
    }
}

/// How far a load may grow before the patch slips, and how it then moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// Largest `k` with `k F` inside the limit surface [-]: above 1 the load `F` holds; infinite for no load.
    pub factor: f64,
    /// A lower bound of `factor`; the distance of the two is the error of the search.
    pub at_least: f64,
    /// Twist at slip at the centre of pressure, with `(vx, vy, r w)` of length one; zero for no load. At a
    /// corner of the surface (by `points`, cells on one line under a force across it), or at `factor` 0, it
    /// is one of many.
    pub twist: Twist,
    /// The coefficient of friction that was used [-]. Use `mu_c` for a load that keeps a body sliding and
    /// `mu_s` for break-away.
    pub mu: f64,
}

impl Margin {
    /// Whether the load holds: it lies inside the limit surface or on it.
    pub fn holds(&self) -> bool {
        self.factor >= 1.0
    }
}

/// A torque below this share of the force times the width of a cell counts as zero up to rounding.
const ROUNDED: f64 = 1e-12;

impl Surface {
    /// Slip margin of `load` [N, N, N m], the wrench that acts on the body at the centre of pressure
    /// (friction balances it), under normal force `f_n` \[N\] with coefficient `mu` [-].
    ///
    /// A load at another point is moved to the centre of pressure first, and the twist back:
    ///
    /// ```
    /// use bristle::limit_surface::{Rule, Surface};
    /// use bristle::patch::{Grid, Patch, Shape};
    /// use bristle::planar::Wrench;
    ///
    /// let patch = Patch::shape(Grid::new(21, 21, 0.02, 0.02)?, Shape::LineGradient)?;
    /// let surface = Surface::new(&patch, Rule::Cells);
    /// let [cx, cy] = patch.cop();
    /// let at_origin = Wrench::new(0.6, 0.0, -0.001);
    /// let margin = surface.margin(at_origin.about([cx, cy]), 0.5, 2.0)?;
    /// let twist_at_origin = margin.twist.at([-cx, -cy]);
    /// assert!(margin.holds() && at_origin.power(twist_at_origin) > 0.0);
    /// # Ok::<(), bristle::error::PatchError>(())
    /// ```
    ///
    /// # Errors
    /// A load, coefficient or force out of range, or the `bilinear` rule, which derives from no dissipation.
    pub fn margin(&self, load: Wrench, mu: f64, f_n: f64) -> Result<Margin, ParameterError> {
        match self.normalise(load, mu, f_n)? {
            Normal::Margin(margin) => Ok(margin),
            Normal::Direction(f, scale) => Ok(self.margin_of(self.pierce(f), scale, mu)),
        }
    }

    /// The margin of a load where no search is needed, else its direction `(fx, fy, tau/r)` as a unit vector
    /// and `mu f_N` over its size.
    fn normalise(&self, load: Wrench, mu: f64, f_n: f64) -> Result<Normal, ParameterError> {
        for (name, v) in ["load.fx", "load.fy", "load.tau"].iter().zip(load.to_array()) {
            check(name, v, "a finite number", true)?;
        }
        check("mu", mu, "a finite number > 0", mu > 0.0)?;
        check("f_n", f_n, "a finite force >= 0 [N]", f_n >= 0.0)?;
        if self.rule() == Rule::Bilinear {
            return Err(ParameterError::new("rule", "bilinear", "cells or points"));
        }
        let load = self.axes().map_or(load, |axes| axes.isotropic_wrench(load));
        let rho = self.radius();
        let target = Vector3::new(load.fx, load.fy, if rho > 0.0 { load.tau / rho } else { load.tau });
        // Dividing by the largest component first keeps squares from overflow and underflow.
        let peak = target.amax();
        check("load.tau / r", peak, "a finite load", true)?;
        if peak == 0.0 {
            let twist = Twist::default();
            return Ok(Normal::Margin(Margin { factor: f64::INFINITY, at_least: f64::INFINITY, twist, mu }));
        }
        let target = target / peak;
        let scale = self.friction() * mu * f_n / peak / target.norm();
        if rho > 0.0 {
            return Ok(Normal::Direction(target.normalize(), scale));
        }
        if load.tau.abs() > ROUNDED * unit(self.patch().grid()) * load.fx.hypot(load.fy) {
            // A point withstands no torque.
            let twist = Twist::new(0.0, 0.0, load.tau.signum());
            return Ok(Normal::Margin(Margin { factor: 0.0, at_least: 0.0, twist, mu }));
        }
        let v = Vector3::new(target.x, target.y, 0.0).normalize();
        Ok(Normal::Margin(self.margin_of(Found { low: 1.0, high: 1.0, v }, scale, mu)))
    }

    /// The directions at slip of margins with an error near rounding; loads are at the centre of pressure.
    pub(super) fn refine(&self, loads: &[Wrench], margins: &mut [Margin]) {
        let rho = self.radius();
        let is_searched = |margin: &Margin| rho > 0.0 && margin.factor.is_finite();
        let mut some: Vec<(&Wrench, &mut Margin)> =
            loads.iter().zip(margins).filter(|(_, margin)| is_searched(margin)).collect();
        let unit = |[x, y, z]: [f64; 3]| {
            let v = Vector3::new(x, y, z);
            (v / v.amax()).normalize()
        };
        let forces: Vec<_> = some.iter().map(|(load, _)| unit([load.fx, load.fy, load.tau / rho])).collect();
        let twists: Vec<_> = some.iter().map(|(_, m)| unit([m.twist.vx, m.twist.vy, m.twist.w * rho])).collect();
        for ((_, margin), v) in some.iter_mut().zip(refined(self, &forces, &twists)) {
            margin.twist = Twist::new(v.x, v.y, v.z / rho);
        }
    }

    fn margin_of(&self, Found { low, high, v }: Found, scale: f64, mu: f64) -> Margin {
        let r = self.radius();
        let mut twist = Twist::new(v.x, v.y, if r > 0.0 { v.z / r } else { 0.0 });
        if let Some(axes) = self.axes() {
            let Twist { vx, vy, w } = axes.twist(twist);
            let size = vx.hypot(vy).hypot(r * w);
            twist = Twist::new(vx / size, vy / size, w / size);
        }
        Margin { factor: high * scale, at_least: low * scale, twist, mu }
    }

    /// [`Surface::margin`] of many loads, in parallel, and faster: by Newton's method, from directions that
    /// all loads share. Factors agree to 1e-11 with those of single calls, twists (of length one) to 1e-6
    /// where they are unique.
    ///
    /// # Errors
    /// As [`Surface::margin`], of the first load that has one.
    pub fn margins(&self, loads: &[Wrench], mu: f64, f_n: f64) -> Result<Vec<Margin>, ParameterError> {
        let normal = loads.iter().map(|load| self.normalise(*load, mu, f_n));
        let normal: Vec<Normal> = normal.collect::<Result<_, _>>()?;
        if loads.len() < FEW || self.radius() == 0.0 {
            return pool::run(|| loads.par_iter().map(|load| self.margin(*load, mu, f_n)).collect());
        }
        let searches = Searches::new(self, loads.len());
        let margins = normal.par_chunks(BLOCK_OF_LOADS).flat_map_iter(|some| {
            let directions: Vec<Vector3<f64>> = some.iter().filter_map(Normal::direction).collect();
            let mut found = searches.find(&directions).into_iter();
            some.iter()
                .map(|normal| match normal {
                    Normal::Margin(margin) => *margin,
                    // Loads for which Newton's method did not converge are searched for by bounds.
                    Normal::Direction(f, scale) => {
                        let found = found.next().flatten().unwrap_or_else(|| self.pierce(*f));
                        self.margin_of(found, *scale, mu)
                    }
                })
                .collect::<Vec<_>>()
        });
        Ok(pool::run(|| margins.collect()))
    }

    /// Direction of motion `(vx, vy, w)`, `|(vx, vy, r w)| = 1`, at the centre of pressure under a load on
    /// the surface (of any size: only its direction counts), by maximal dissipation.
    ///
    /// # Errors
    /// As [`Surface::margin`].
    pub fn twist_of(&self, load: Wrench) -> Result<Twist, ParameterError> {
        Ok(self.margin(load, 1.0, 1.0)?.twist)
    }

    /// Whether `load` holds; see [`Surface::margin`].
    ///
    /// # Errors
    /// As [`Surface::margin`].
    pub fn holds(&self, load: Wrench, mu: f64, f_n: f64) -> Result<bool, ParameterError> {
        Ok(self.margin(load, mu, f_n)?.holds())
    }

    /// The load `(fx, fy, tau/r)/(mu f_N)` at which the patch slips with `v = (vx, vy, r w)`.
    fn support(&self, v: &Vector3<f64>) -> Vector3<f64> {
        let w = self.isotropic_coulomb(Twist::new(v.x, v.y, v.z / self.radius()));
        -Vector3::new(w.fx, w.fy, w.tau / self.radius())
    }

    /// Lower and upper bound of the factor at which the ray along the unit vector `f` leaves the unit
    /// surface, and the unit normal there.
    fn pierce(&self, f: Vector3<f64>) -> Found {
        // The loads of pure translation along x and along y and of pure rotation are linearly independent.
        // With the signs of the ray's components they form a triangle that the ray pierces, as P(-v) = P(v).
        let axes = Matrix3::from_columns(&[Vector3::x(), Vector3::y(), self.support(&Vector3::z())]);
        let share = axes.try_inverse().map_or(f, |inverse| inverse * f);
        let mut corner = [0, 1, 2].map(|k| axes.column(k) * if share[k] < 0.0 { -1.0 } else { 1.0 });
        let (mut low, mut high, mut best) = (0.0f64, f64::INFINITY, f);
        // The twists of the corners give upper bounds, too. They are needed where the ray passes through a
        // corner, as no triangle then gives one.
        for k in (0..3).filter(|k| f[*k] != 0.0) {
            let bound = axes[(k, k)] / f[k].abs();
            if bound < high {
                (high, best) = (bound, Vector3::ith(k, f[k].signum()));
            }
        }
        let mut newton = true;
        for _ in 0..MAX_ITERATIONS {
            let [a, b, c] = corner;
            let cross = (b - a).cross(&(c - a));
            let n = if cross.norm() > 0.0 { cross.normalize() * cross.dot(&f).signum() } else { break };
            if !(n.dot(&f) > 0.0) {
                break;
            }
            low = low.max(n.dot(&a) / n.dot(&f));
            let next = self.support(&n);
            let bound = next.dot(&n) / n.dot(&f);
            if bound < high {
                (high, best) = (bound, n);
            }
            if high - low <= GAP * high {
                break;
            }
            if newton && high - low <= NEWTON_GAP * high {
                newton = false;
                if let Some((bound, n)) = self.newton(best, &f) {
                    (high, best) = (bound.min(high), n);
                    // The load of that twist lies on the ray up to rounding, so that the two bounds agree.
                    low = low.max(high * (1.0 - GAP));
                    break;
                }
            }
            // The ray pierces one of the three triangles that the new load makes with the old ones.
            let inside = |t: &[Vector3<f64>; 3]| {
                Matrix3::from_columns(t).try_inverse().map_or(f64::NEG_INFINITY, |m| (m * f).min())
            };
            let parts = [[next, b, c], [a, next, c], [a, b, next]];
            let chosen = parts.iter().max_by(|s, t| inside(s).total_cmp(&inside(t)));
            corner = *chosen.expect("there are three parts");
        }
        Found { low: low.min(high), high, v: best }
    }

    /// Newton's method for `min P(v)` on the plane `f.v = 1`, from a `v` near the minimum. None unless the
    /// load at the result is along `f` up to rounding.
    fn newton(&self, start: Vector3<f64>, f: &Vector3<f64>) -> Option<(f64, Vector3<f64>)> {
        let helper = if f.x.abs() < 0.6 { Vector3::x() } else { Vector3::y() };
        let e1 = f.cross(&helper).normalize();
        let e2 = f.cross(&e1);
        let flat = |v: Vector3<f64>| Vector2::new(v.dot(&e1), v.dot(&e2));
        let mut v = start / start.dot(f);
        let mut slope = flat(self.support(&v));
        for _ in 0..12 {
            if slope.norm() <= 1e-12 {
                break;
            }
            let h = 1e-5 * v.norm();
            let column =
                |e: Vector3<f64>| (flat(self.support(&(v + e * h))) - flat(self.support(&(v - e * h)))) / (2.0 * h);
            let step = Matrix2::from_columns(&[column(e1), column(e2)]).try_inverse()? * slope;
            let trial = v - e1 * step.x - e2 * step.y;
            let trial_slope = flat(self.support(&trial));
            if !(trial_slope.norm() < 0.7 * slope.norm()) {
                break;
            }
            (v, slope) = (trial, trial_slope);
        }
        (slope.norm() <= 1e-11).then(|| (self.support(&v).dot(&v) / v.dot(f), v.normalize()))
    }
}
