//! Slip margins of many loads at once, by Newton's method.
//!
//! The largest factor of a load `f` is `min P(v)/(f.v)`, see [`super`]. `P` is convex, its gradient is the
//! load at which the patch slips with `v`, and its second derivatives are also sums over the cells, which the
//! `cells` rule computes with the gradient. The surface is evaluated once at directions spread over the
//! sphere, and gives every load a start from which the search takes two or three sums. Unfinished searches
//! make their sums together. On random maps this takes a fifth of the time of one search after the other by
//! `points`, a tenth by `cells`.

use nalgebra::{Matrix2, Matrix3, Matrix3x2, Vector2, Vector3};

use crate::limit_surface::directions::sphere;
use crate::limit_surface::quadrature::completed;
use crate::limit_surface::surface::Surface;
use crate::number::block::{Block, blocks};
use crate::number::real::LANES;
use crate::number::simd::copies;
use crate::planar::Twist;

/// Largest number of sums over the cells for one load. On a map of 21 x 21 random pressures nearly all loads
/// take two or three.
const MAX_ROUNDS: usize = 8;
/// Longest step of a search, relative to the length of its `v`.
const LONGEST_STEP: f64 = 0.5;
/// Relative error of the factor and error of the direction at which a search ends, as estimated from the
/// convergence of the last step.
const END_ERRORS: [f64; 2] = [1e-13, 1e-8];
/// Newton steps after a search, for the direction, and the longest of them relative to the length of its `v`.
const CORRECTIONS: usize = 2;
const LONGEST_CORRECTION: f64 = 1e-3;
/// Relative distance of the two bounds that are returned for a factor.
const GAP: f64 = 1e-12;

/// The unit surface at a direction `v = (vx, vy, r w)` of length one.
#[derive(Clone, Copy, Debug)]
struct Support {
    v: Vector3<f64>,
    /// The load `(fx, fy, tau/r)/(mu f_N)` at which the patch slips with `v`: the gradient of `P`.
    load: Vector3<f64>,
    /// Its derivative, the second derivatives of `P`.
    derivative: Matrix3<f64>,
}

/// Where a search ended: bounds of the factor, and the direction at slip.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub low: f64,
    pub high: f64,
    pub v: Vector3<f64>,
}

/// The data that all searches on one surface share. The torsional radius of the patch is not zero, and its
/// rule is the gradient of a dissipation.
#[derive(Clone, Debug)]
pub struct Searches<'a> {
    surface: &'a Surface,
    /// Directions to start from.
    starts: Vec<Support>,
    /// Their `v/P(v)`, component by component.
    bounds: [Vec<Block>; 3],
}

impl<'a> Searches<'a> {
    /// Evaluates starts for searches; more of them for more loads, as they shorten each search.
    pub fn new(surface: &'a Surface, loads: usize) -> Self {
        // As P(-v) = P(v), half a sphere of directions is enough.
        let n = (loads / 4).clamp(16, 300);
        let mut directions = sphere(2 * n);
        directions.truncate(n);
        let mut searches = Self { surface, starts: Vec::new(), bounds: Default::default() };
        searches.starts = supports(surface, &directions);
        searches.bounds = [0, 1, 2].map(|k| blocks(&searches.starts, |s: &Support| s.v[k] / s.load.dot(&s.v)));
        searches
    }

    /// The results of the searches for unit loads; none where Newton's method does not converge.
    pub fn find(&self, loads: &[Vector3<f64>]) -> Vec<Option<Found>> {
        let mut out = vec![None; loads.len()];
        let search = |(index, f): (usize, &Vector3<f64>)| Search::new(index, f, &self.nearest(f));
        let mut searches: Vec<Search> = loads.iter().enumerate().filter_map(search).collect();
        for _ in 0..MAX_ROUNDS {
            let directions: Vec<Vector3<f64>> = searches.iter().map(|s| s.v.normalize()).collect();
            let mut at = supports(self.surface, &directions).into_iter();
            searches.retain_mut(|search| match at.next().map(|at| search.advance(&at)) {
                Some(Ok(None)) => true,
                Some(Ok(found)) => {
                    out[search.index] = found;
                    false
                }
                _ => false,
            });
        }
        out
    }

    /// The start, or its opposite, whose bound of the factor of `f` is least.
    fn nearest(&self, f: &Vector3<f64>) -> Support {
        let Support { v, load, derivative } = self.starts[nearest(&self.bounds, [f.x, f.y, f.z])];
        let sign = if v.dot(f) < 0.0 { -1.0 } else { 1.0 };
        Support { v: v * sign, load: load * sign, derivative }
    }
}

/// The unit surface at directions of length one.
fn supports(surface: &Surface, directions: &[Vector3<f64>]) -> Vec<Support> {
    let rho = surface.radius() / surface.unit;
    let mut out = Vec::with_capacity(directions.len());
    let mut lanes = Vec::with_capacity(directions.len());
    for v in directions {
        let twist = [v.x, v.y, v.z / rho];
        let c = [-v.y / twist[2], v.x / twist[2]];
        if surface.cells.as_ref().is_some_and(|cells| !cells.is_far(c, surface.points.span)) {
            lanes.push((out.len(), c));
            out.push(Support { v: *v, load: Vector3::zeros(), derivative: Matrix3::zeros() });
            continue;
        }
        let (of_points, derivative) = surface.points.wrench_and_derivative(twist);
        let exact = if surface.has_fine_points() {
            let [fx, fy, tau] = surface.isotropic_coulomb(Twist::new(v.x, v.y, v.z / surface.radius())).to_array();
            Some([fx, fy, tau / surface.unit])
        } else {
            surface.cells.as_ref().map(|cells| cells.wrench(twist, &surface.points))
        };
        let [fx, fy, tau] = exact.unwrap_or(of_points);
        let load = Vector3::new(-fx, -fy, -tau / rho);
        out.push(Support { v: *v, load, derivative: in_radii(derivative, rho) });
    }
    let Some(cells) = &surface.cells else { return out };
    for some in lanes.chunks(LANES) {
        // Empty lanes repeat the last centre.
        let lane = |k: usize| some[k.min(some.len() - 1)].1;
        let c = [0, 1].map(|axis| std::array::from_fn(|k| lane(k)[axis]));
        for ((k, _), (wrench, means)) in some.iter().zip(cells.about(&c)) {
            let Support { v, load, derivative } = &mut out[*k];
            let [fx, fy, tau] = wrench.map(|c| -c * v.z.signum());
            *load = Vector3::new(fx, fy, tau / rho);
            *derivative = in_radii(completed(means, [v.x, v.y, v.z / rho]), rho);
        }
    }
    out
}

/// Directions `v` at slip under unit loads `f` with an error near rounding, from those of a search, which
/// ends when the factor is exact: the error of the factor is the square of that of the direction.
pub fn refined(surface: &Surface, loads: &[Vector3<f64>], found: &[Vector3<f64>]) -> Vec<Vector3<f64>> {
    let step = |(f, at): (&Vector3<f64>, &Support)| {
        let search = Search::along(0, f, at.v);
        let (slope, step) = search.step(at)?;
        let is_small = step.norm() <= LONGEST_CORRECTION * search.v.norm();
        is_small.then(|| (slope.norm(), (search.v + search.plane * step).normalize()))
    };
    let mut at = supports(surface, found);
    for _ in 0..CORRECTIONS {
        let steps: Vec<_> = loads.iter().zip(&at).map(step).collect();
        let trials: Vec<_> = steps.iter().zip(&at).map(|(step, at)| step.map_or(at.v, |(_, v)| v)).collect();
        for (((at, trial), step), f) in at.iter_mut().zip(supports(surface, &trials)).zip(steps).zip(loads) {
            let slope = |at: &Support| Search::along(0, f, at.v).plane.tr_mul(&at.load).norm();
            let bound = |at: &Support| at.load.dot(&at.v) / f.dot(&at.v);
            // On a facet, where the load jumps, a step leads away from the minimum.
            if step.is_some_and(|(before, _)| slope(&trial) < before) && bound(&trial) <= bound(at) * (1.0 + GAP) {
                *at = trial;
            }
        }
    }
    at.into_iter().map(|at| at.v).collect()
}

/// A derivative by a twist `(vx, vy, w)` as one by `(vx, vy, rho w)`.
fn in_radii([xx, xy, yy, xw, yw, ww]: [f64; 6], rho: f64) -> Matrix3<f64> {
    let (xz, yz, zz) = (xw / rho, yw / rho, ww / rho / rho);
    Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz)
}

copies! {
    /// Which of the vectors has the largest product with `f`, but for its sign.
    fn nearest(vectors: &[Vec<Block>; 3], f: [f64; 3]) -> usize {
        let [x, y, z] = vectors;
        let (mut best, mut which) = ([0.0; LANES], [0.0; LANES]);
        for (block, ((x, y), z)) in x.iter().zip(y).zip(z).enumerate() {
            for i in 0..LANES {
                let product = (f[0] * x[i] + f[1] * y[i] + f[2] * z[i]).abs();
                which[i] = if product > best[i] { block as f64 } else { which[i] };
                best[i] = if product > best[i] { product } else { best[i] };
            }
        }
        let lane = (1..LANES).fold(0, |a, b| if best[b] > best[a] { b } else { a });
        which[lane] as usize * LANES + lane
    }
}

/// The search for one load `f`.
struct Search {
    index: usize,
    /// Two directions that span the plane across `f`.
    plane: Matrix3x2<f64>,
    /// The present `v`, on the plane `f.v = 1`.
    v: Vector3<f64>,
    /// Size of the slope of `P` on that plane, and `P`, before the last step.
    before: Option<(f64, f64)>,
}

impl Search {
    fn along(index: usize, f: &Vector3<f64>, v: Vector3<f64>) -> Self {
        let helper = if f.x.abs() < 0.6 { Vector3::x() } else { Vector3::y() };
        let e1 = f.cross(&helper).normalize();
        let plane = Matrix3x2::from_columns(&[e1, f.cross(&e1)]);
        Self { index, plane, v: v / v.dot(f), before: None }
    }

    fn new(index: usize, f: &Vector3<f64>, start: &Support) -> Option<Self> {
        let mut search = Self::along(index, f, start.v);
        let (_, step) = search.step(start)?;
        search.take(step);
        Some(search)
    }

    /// Gradient of `P` on the plane, and the Newton step towards its zero; `at` is the surface at the `v` of
    /// the search.
    fn step(&self, at: &Support) -> Option<(Vector2<f64>, Vector2<f64>)> {
        let slope = self.plane.tr_mul(&at.load);
        let curvature: Matrix2<f64> = self.plane.tr_mul(&(at.derivative * self.plane)) / self.v.norm();
        let trace = curvature.trace();
        if curvature.determinant() > 1e-12 * trace * trace {
            Some((slope, -(curvature.try_inverse()? * slope)))
        } else {
            None
        }
    }

    fn take(&mut self, step: Vector2<f64>) {
        let longest = LONGEST_STEP * self.v.norm();
        self.v += self.plane * (step * (longest / step.norm()).min(1.0));
    }

    /// Takes one Newton step, and returns the result if the search ends with it. `Err` where Newton's method
    /// does not converge.
    fn advance(&mut self, at: &Support) -> Result<Option<Found>, ()> {
        let (slope, step) = self.step(at).ok_or(())?;
        let value = at.load.dot(&self.v);
        let (gain, length, size) = (-0.5 * slope.dot(&step), step.norm() / self.v.norm(), slope.norm());
        if !(value.is_finite() && length.is_finite()) {
            return Err(());
        }
        let before = self.before.replace((size, value));
        self.take(step);
        let Some((size_before, value_before)) = before else { return Ok(None) };
        if value > value_before * (1.0 + GAP) {
            return Err(());
        }
        // The next step is expected to reduce the gradient by the same ratio as this one.
        let shrinks = size / size_before;
        if gain * shrinks * shrinks > END_ERRORS[0] * value || length * shrinks > END_ERRORS[1] {
            return Ok(None);
        }
        let high = value - gain;
        Ok(Some(Found { low: high * (1.0 - GAP), high, v: self.v.normalize() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit_surface::Rule;
    use crate::patch::{Grid, Patch, Shape};
    use crate::random::Draw;

    fn surfaces() -> Vec<Surface> {
        let grid = Grid::new(21, 21, 0.02, 0.025).unwrap();
        let random: Vec<f64> = (0..441).map(|k| Draw::new(4, k).uniform("p")).collect();
        let patches = [Patch::from_pressure(grid, &random), Patch::shape(grid, Shape::NonConvex2)].map(Result::unwrap);
        patches.iter().flat_map(|p| [Rule::Cells, Rule::Points].map(|rule| Surface::new(p, rule))).collect()
    }

    /// Second derivatives are the differences of first ones.
    #[test]
    fn the_load_at_slip_changes_as_its_derivative_says() {
        for surface in surfaces() {
            let mut farthest = 0.0f64;
            for v in sphere(500) {
                let at = supports(&surface, &[v])[0];
                let distance = v.x.hypot(v.y) / v.z.abs() * surface.radius() / surface.unit;
                farthest = farthest.max(distance);
                // Far away cells are series, and derivatives are those of points at their centres.
                let spans = distance / (surface.points.span + 1.0);
                let limit = if spans < 1.28 {
                    1e-5
                } else if spans < 1.6 {
                    2e-3
                } else {
                    5e-3
                };
                for axis in [Vector3::x(), Vector3::y(), Vector3::z()] {
                    let h = 1e-6;
                    let [ahead, behind] = [h, -h].map(|h| supports(&surface, &[(v + axis * h).normalize()])[0].load);
                    let wanted = (ahead - behind) / (2.0 * h);
                    let off = (at.derivative * axis - wanted).norm() / at.derivative.norm();
                    // By points, cells in the differences' way are kinks.
                    let kinks = surface.rule() == Rule::Points && off < 0.1;
                    assert!(off < limit || kinks, "{:?}, {v:?}, {distance}: {off:e}", surface.rule());
                }
                // Of degree one.
                assert!((at.derivative * v).norm() < 1e-9 * at.derivative.norm().max(1.0), "{v:?}");
            }
            assert!(farthest > 2.0 * surface.points.span, "{farthest:?}");
        }
    }

    /// Those that it does not find are slow.
    #[test]
    fn nearly_all_searches_end_by_newtons_method() {
        for surface in surfaces() {
            let loads = sphere(1000);
            // With few starts, and with many.
            for (count, most) in [(10, 100), (1000, 40)] {
                let found = Searches::new(&surface, count).find(&loads);
                let missed = found.iter().filter(|found| found.is_none()).count();
                assert!(missed <= most, "{:?}, {count}: {missed}", surface.rule());
            }
        }
    }
}
