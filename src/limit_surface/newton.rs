//! Slip margins of many loads at once, by Newton's method.
//!
//! The largest factor of a load `f` is `min P(v)/(f.v)`, see [`super::query`]. `P` is convex, its gradient is
//! the load at which the patch slips with `v`, and its second derivatives are sums over the cells, too; by
//! the `cells` rule they are left over from those of the gradient. Directions spread over the sphere, made
//! ready once for all loads, give every load a start, from which two or three sums end the search. All loads
//! that are still searched for ask for their sums together.

use std::collections::BTreeMap;

use nalgebra::{Matrix2, Matrix3, Matrix3x2, Vector2, Vector3};

use super::fit::sphere;
use super::lanes::{Block, LANES, blocks, vectorised};
use super::moments::{FAR_SPANS, Moments};
use super::points::Points;
use super::sample::Surface;
use super::table::Rotations;

/// Sums that a load may ask for; of a map of 21 x 21 random pressures nearly all loads ask for two or three.
const MAX_ROUNDS: usize = 8;
/// Longest step of a search, in lengths of its direction.
const LONGEST: f64 = 0.5;
/// How near a search ends: relative error of the factor, and that of the direction, if errors go on to shrink
/// as they did.
const LEFT: [f64; 2] = [1e-13, 1e-8];
/// Relative distance of the bounds that are told.
const GAP: f64 = 1e-12;
/// Loads for which moments are made.
const MANY: usize = 100;
/// Distance of a centre of rotation that is as good as infinite, in the surface's unit of length.
const FARTHEST: f64 = 1e6;

/// The unit surface at a direction `v = (vx, vy, r w)` of length one.
#[derive(Clone, Copy, Debug)]
struct Support {
    v: Vector3<f64>,
    /// The load `(fx, fy, tau/r)/(mu f_N)` at which the patch slips with `v`: the gradient of `P`.
    load: Vector3<f64>,
    /// Its derivative, the second derivatives of `P`.
    bend: Matrix3<f64>,
}

/// Where a search ended: bounds of the factor, and the direction at slip.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub low: f64,
    pub high: f64,
    pub v: Vector3<f64>,
}

/// The surface for centres of rotation from a distance on. Lengths are in the surface's unit.
#[derive(Clone, Debug)]
struct Far {
    closest: f64,
    moments: Moments,
    /// The cells, some together, for second derivatives that are within a few hundredths: each step is that
    /// much shorter than the last.
    clusters: Points,
}

impl Far {
    fn new(surface: &Surface) -> Option<Self> {
        let span = surface.points.span;
        let from = |spans: &f64| {
            let closest = (span + 1.0) * spans;
            let (moments, _) = surface.moments(closest * surface.unit)?;
            Some((closest, moments))
        };
        let (closest, moments) = FAR_SPANS.iter().find_map(from)?;
        let mut clusters = BTreeMap::<_, [f64; 3]>::new();
        let cells = surface.points.x.iter().zip(&surface.points.y).zip(&surface.points.w);
        for ((x, y), w) in cells.flat_map(|((x, y), w)| x.iter().zip(y).zip(w)).filter(|(_, w)| **w > 0.0) {
            let [sum_x, sum_y, sum] = clusters.entry([x, y].map(|c| (4.0 * c / span).floor() as i64)).or_default();
            *sum_x += w * x;
            *sum_y += w * y;
            *sum += w;
        }
        let centres: Vec<[f64; 3]> = clusters.into_values().map(|[x, y, w]| [x / w, y / w, w]).collect();
        Some(Self { closest, moments, clusters: Points::new(&centres) })
    }

    /// Unit wrench of a rotation about a centre at `distance`, if that is served.
    fn wrench(&self, [vx, vy, w]: [f64; 3]) -> Option<[f64; 3]> {
        let speed = vx.hypot(vy);
        let distance = speed / w.abs();
        let forward = w.signum() / speed;
        let served = (self.closest..FARTHEST).contains(&distance);
        served.then(|| self.moments.ring(distance, &[[vx * forward, vy * forward]])[0].map(|c| c * w.signum()))
    }
}

/// What searches on one surface share. The patch has an extent, and the rule derives from a dissipation.
#[derive(Clone, Debug)]
pub struct Searches<'a> {
    surface: &'a Surface,
    far: Option<Far>,
    /// Directions to start from.
    starts: Vec<Support>,
    /// Their `v/P(v)`, component by component.
    bounds: [Vec<Block>; 3],
}

impl<'a> Searches<'a> {
    /// What pays for so many loads.
    pub fn new(surface: &'a Surface, loads: usize) -> Self {
        let far = if loads < MANY { None } else { Far::new(surface) };
        // P(-v) is P(v): half a sphere will do.
        let n = (loads / 4).clamp(16, 300);
        let mut directions = sphere(2 * n);
        directions.truncate(n);
        let mut searches = Self { surface, far, starts: Vec::new(), bounds: Default::default() };
        searches.starts = searches.supports(&directions);
        searches.bounds = [0, 1, 2].map(|k| blocks(&searches.starts, |s: &Support| s.v[k] / s.load.dot(&s.v)));
        searches
    }

    /// Ends of the searches for the unit loads `f`; none where Newton's method does not find one.
    pub fn find(&self, loads: &[Vector3<f64>]) -> Vec<Option<Found>> {
        let mut out = vec![None; loads.len()];
        let search = |(index, f): (usize, &Vector3<f64>)| Search::new(index, f, &self.nearest(f));
        let mut searches: Vec<Search> = loads.iter().enumerate().filter_map(search).collect();
        for _ in 0..MAX_ROUNDS {
            let directions: Vec<Vector3<f64>> = searches.iter().map(|s| s.v.normalize()).collect();
            let mut at = self.supports(&directions).into_iter();
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
        let Support { v, load, bend } = self.starts[nearest(&self.bounds, [f.x, f.y, f.z])];
        let sign = if v.dot(f) < 0.0 { -1.0 } else { 1.0 };
        Support { v: v * sign, load: load * sign, bend }
    }

    /// The unit surface at directions of length one.
    fn supports(&self, directions: &[Vector3<f64>]) -> Vec<Support> {
        let Self { surface, far, .. } = self;
        let rho = surface.radius() / surface.unit;
        let mut out = Vec::with_capacity(directions.len());
        let mut lanes = Vec::with_capacity(directions.len());
        for v in directions {
            let twist = [v.x, v.y, v.z / rho];
            let far = far.as_ref().and_then(|far| Some((far.wrench(twist)?, &far.clusters)));
            let c = [-v.y / twist[2], v.x / twist[2]];
            let near = surface.cells.as_ref().filter(|cells| far.is_none() && !cells.is_far(c, surface.points.span));
            if near.is_some() {
                lanes.push((out.len(), c));
                out.push(Support { v: *v, load: Vector3::zeros(), bend: Matrix3::zeros() });
                continue;
            }
            let points = far.map_or(&surface.points, |(_, clusters)| clusters);
            let (of_points, [xx, xy, yy, xw, yw, ww]) = points.wrench_and_bend(twist);
            let [fx, fy, tau] = match (far, &surface.cells) {
                (Some((wrench, _)), _) => wrench,
                (None, Some(cells)) => cells.wrench(twist, &surface.points),
                (None, None) => of_points,
            };
            let (xz, yz, zz) = (xw / rho, yw / rho, ww / rho / rho);
            let bend = Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
            out.push(Support { v: *v, load: Vector3::new(-fx, -fy, -tau / rho), bend });
        }
        let Some(cells) = &surface.cells else { return out };
        for some in lanes.chunks(LANES) {
            // Lanes left over repeat the last centre.
            let lane = |k: usize| some[k.min(some.len() - 1)].1;
            let c = [0, 1].map(|axis| std::array::from_fn(|k| lane(k)[axis]));
            for ((k, _), (wrench, [bb, ab, aa])) in some.iter().zip(cells.bends_about(&c)) {
                let Support { v, load, bend } = &mut out[*k];
                let [fx, fy, tau] = wrench.map(|c| -c * v.z.signum());
                *load = Vector3::new(fx, fy, tau / rho);
                // The gradient of P, which is of degree one, does not change along v.
                let [xx, xy, yy] = [aa, ab, bb].map(|c| c * rho / v.z.abs());
                let [xz, yz] = [-(xx * v.x + xy * v.y) / v.z, -(xy * v.x + yy * v.y) / v.z];
                *bend = Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, -(xz * v.x + yz * v.y) / v.z);
            }
        }
        out
    }
}

vectorised! {
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
    /// Across `f`.
    plane: Matrix3x2<f64>,
    /// On the plane `f.v = 1`.
    v: Vector3<f64>,
    /// Size of the slope of `P` on that plane, and `P`, before the last step.
    before: Option<(f64, f64)>,
}

impl Search {
    fn new(index: usize, f: &Vector3<f64>, start: &Support) -> Option<Self> {
        let helper = if f.x.abs() < 0.6 { Vector3::x() } else { Vector3::y() };
        let e1 = f.cross(&helper).normalize();
        let plane = Matrix3x2::from_columns(&[e1, f.cross(&e1)]);
        let mut search = Self { index, plane, v: start.v / start.v.dot(f), before: None };
        let (_, step) = search.step(start)?;
        search.take(step);
        Some(search)
    }

    /// Slope of `P` on the plane, and Newton's step to where there is none; `at` is the surface at the
    /// search's `v`.
    fn step(&self, at: &Support) -> Option<(Vector2<f64>, Vector2<f64>)> {
        let slope = self.plane.tr_mul(&at.load);
        let bend: Matrix2<f64> = self.plane.tr_mul(&(at.bend * self.plane)) / self.v.norm();
        let trace = bend.trace();
        if bend.determinant() > 1e-12 * trace * trace { Some((slope, -(bend.try_inverse()? * slope))) } else { None }
    }

    fn take(&mut self, step: Vector2<f64>) {
        let longest = LONGEST * self.v.norm();
        self.v += self.plane * (step * (longest / step.norm()).min(1.0));
    }

    /// One step further, or the end of the search if that is it; `Err` where Newton's method does not serve.
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
        // The next slope will be smaller than this one by as much again.
        let shrinks = size / size_before;
        if gain * shrinks * shrinks > LEFT[0] * value || length * shrinks > LEFT[1] {
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

    /// Second derivatives are the differences of first ones: exact ones near the patch, and those of clusters
    /// far from it.
    #[test]
    fn the_load_at_slip_changes_as_its_derivative_says() {
        for surface in surfaces() {
            let searches = Searches::new(&surface, MANY);
            let far = searches.far.as_ref().unwrap();
            let mut farthest = [0.0f64; 2];
            for v in sphere(500) {
                let at = searches.supports(&[v])[0];
                let distance = v.x.hypot(v.y) / v.z.abs() * surface.radius() / surface.unit;
                let is_far = far.wrench([v.x, v.y, v.z * surface.unit / surface.radius()]).is_some();
                // Between them cells are series, and their centres stand for them.
                let limit = if is_far {
                    0.05
                } else if distance > 0.8 * far.closest {
                    2e-3
                } else {
                    1e-5
                };
                // By points, cells in the differences' way are kinks.
                let kinks = surface.rule() == Rule::Points && !is_far;
                for axis in [Vector3::x(), Vector3::y(), Vector3::z()] {
                    let h = 1e-6;
                    let [ahead, behind] = [h, -h].map(|h| searches.supports(&[(v + axis * h).normalize()])[0].load);
                    let wanted = (ahead - behind) / (2.0 * h);
                    let off = (at.bend * axis - wanted).norm() / at.bend.norm();
                    farthest[usize::from(is_far)] = farthest[usize::from(is_far)].max(distance);
                    assert!(off < limit || kinks && off < 0.1, "{:?}, {v:?}, {distance}: {off:e}", surface.rule());
                }
                // Of degree one.
                assert!((at.bend * v).norm() < 1e-9 * at.bend.norm().max(1.0), "{v:?}");
            }
            assert!(farthest[0] > 1.0 && farthest[1] > far.closest, "{farthest:?}");
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
