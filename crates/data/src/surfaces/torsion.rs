//! What a simulator with one number for torsional friction holds beside a patch: `docs/closed-loops.md`.

use std::f64::consts::PI;

use bristle::error::ParameterError;
use bristle::limit_surface::Surface;
use bristle::planar::Wrench;

/// Steps of the directions of loads over 90 degrees of elevation, where 45 degrees, the edge of a cylinder,
/// is one, and over 360 of azimuth.
const ELEVATIONS: usize = 60;
const AZIMUTHS: usize = 72;

/// How the loads that a rule holds differ from those that a patch holds, over loads `(fx, fy, tau/r)` at the
/// centre of pressure in all directions, evenly: the largest factor of a load by the rule over that of the
/// limit surface, less 1 [-].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RuleError {
    /// The largest: what the rule holds and the patch does not.
    pub most: f64,
    /// The least, of what the rule does not hold.
    pub least: f64,
    /// Mean of the sizes.
    pub mean: f64,
}

/// A patch as one number, and what is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Torsion {
    /// Torsional radius \[m\]: the largest moment about the centre of pressure over `mu f_n`.
    pub radius: f64,
    /// Of the ellipsoid `(fx^2 + fy^2)/mu^2 + (tau/(mu r))^2 <= f_n^2`, as MuJoCo's elliptic cones.
    pub ellipsoid: RuleError,
    /// Of limits that do not know of each other, `|f| <= mu f_n` and `|tau| <= mu r f_n`, as of PhysX,
    /// Gazebo and Bullet.
    pub cylinder: RuleError,
}

impl Torsion {
    /// The number of a surface and its errors, which do not depend on `mu` and `f_n`.
    ///
    /// ```
    /// use bristle::limit_surface::{Rule, Surface};
    /// use bristle::patch::{Grid, Patch, Shape};
    /// use bristle_data::surfaces::Torsion;
    ///
    /// let square = Patch::shape(Grid::new(21, 21, 0.02, 0.02)?, Shape::Square)?;
    /// let torsion = Torsion::new(&Surface::new(&square, Rule::Cells))?;
    /// assert!((torsion.radius - 0.02 * 0.3826).abs() < 1e-6);
    /// assert!(torsion.cylinder.most > torsion.ellipsoid.most);
    /// # Ok::<(), bristle::error::PatchError>(())
    /// ```
    ///
    /// # Errors
    /// The rule `bilinear`, which derives from no dissipation.
    pub fn new(surface: &Surface) -> Result<Self, ParameterError> {
        let radius = surface.radius();
        // A load and its opposite have the same factor, so that one half of the directions is enough.
        let at = |i: usize, j: usize| {
            let (up, round) = (i as f64 * PI / 2.0 / ELEVATIONS as f64, j as f64 * 2.0 * PI / AZIMUTHS as f64);
            (up.sin_cos(), round.sin_cos())
        };
        let directions: Vec<_> = (0..=ELEVATIONS).flat_map(|i| (0..AZIMUTHS).map(move |j| at(i, j))).collect();
        let load = |((m, f), (y, x)): &((f64, f64), (f64, f64))| Wrench::new(f * x, f * y, radius * m);
        let margins = surface.margins(&directions.iter().map(load).collect::<Vec<_>>(), 1.0, 1.0)?;
        let held = directions.iter().zip(&margins).enumerate().map(|(k, (((m, f), _), margin))| {
            let is_end = [0, ELEVATIONS].contains(&(k / AZIMUTHS));
            Held { force: *f, moment: *m, factor: margin.factor, weight: if is_end { 0.5 } else { 1.0 } * f }
        });
        let held: Vec<Held> = if radius > 0.0 { held.collect() } else { Vec::new() };
        let cylinder = RuleError::new(&held, |of| 1.0 / of.force.max(of.moment));
        Ok(Self { radius, ellipsoid: RuleError::new(&held, |_| 1.0), cylinder })
    }
}

/// What a patch holds of a load with the parts `force` and `moment`; its weight is that of the directions
/// near it.
struct Held {
    force: f64,
    moment: f64,
    factor: f64,
    weight: f64,
}

impl RuleError {
    fn new(held: &[Held], rule: impl Fn(&Held) -> f64) -> Self {
        let (mut error, mut weight) = (Self::default(), 0.0);
        for of in held {
            let e = rule(of) / of.factor - 1.0;
            error = Self { most: error.most.max(e), least: error.least.min(e), mean: error.mean + of.weight * e.abs() };
            weight += of.weight;
        }
        if weight > 0.0 { Self { mean: error.mean / weight, ..error } } else { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bristle::limit_surface::Rule;
    use bristle::patch::{Grid, Patch, Shape};

    fn torsion(patch: &Patch) -> Torsion {
        Torsion::new(&Surface::new(patch, Rule::Cells)).unwrap()
    }

    /// Force over `mu f_n` and moment over `mu f_n R` of an even disc that turns about a point at a distance
    /// `d R` from its centre, by sums over rings.
    fn disc(d: f64) -> [f64; 2] {
        let (mut force, mut moment, mut load) = (0.0, 0.0, 0.0);
        let n = 200;
        for i in 0..n {
            let rho = (i as f64 + 0.5) / n as f64;
            for j in 0..2 * n {
                let (sin, cos) = ((j as f64 + 0.5) * PI / n as f64).sin_cos();
                let (x, y) = (rho * cos, rho * sin);
                // The velocity at (x, y) about (0, d) is along (d - y, x).
                let speed = x.hypot(y - d);
                force += rho * (d - y) / speed;
                moment += rho * (x * x + y * (y - d)) / speed;
                load += rho;
            }
        }
        [force / load, moment / load]
    }

    #[test]
    fn radii_of_a_disc_a_square_and_a_sphere_are_those_of_the_books() {
        let grid = |n| Grid::new(n, n, 0.02, 0.02).unwrap();
        // 2/3 R, 3 pi/16 R of Hertz' pressure, (sqrt 2 + asinh 1)/6 a = 0.3826 a.
        let found = torsion(&Patch::shape(grid(101), Shape::Disc).unwrap()).radius;
        assert!((found / (0.01 * 2.0 / 3.0) - 1.0).abs() < 2e-3, "{found}");
        let map: Vec<f64> = (0..101 * 101)
            .map(|k| {
                let [x, y] = [k % 101, k / 101].map(|i| (i as f64 + 0.5) / 50.5 - 1.0);
                (1.0 - x * x - y * y).max(0.0).sqrt()
            })
            .collect();
        let found = torsion(&Patch::from_pressure(grid(101), &map).unwrap()).radius;
        assert!((found / (0.01 * 3.0 * PI / 16.0) - 1.0).abs() < 2e-3, "{found}");
        let found = torsion(&Patch::shape(grid(21), Shape::Square).unwrap()).radius;
        assert!((found / (0.02 * (2f64.sqrt() + 1f64.asinh()) / 6.0) - 1.0).abs() < 1e-12, "{found}");
    }

    #[test]
    fn errors_of_a_disc_are_those_of_its_integrals() {
        let found = torsion(&Patch::shape(Grid::new(101, 101, 0.02, 0.02).unwrap(), Shape::Disc).unwrap());
        // Along the load of each centre of rotation the patch holds the factor 1.
        let (mut ellipsoid, mut cylinder) = (0f64, 0f64);
        for k in 0..1000 {
            let [f, m] = disc(2e-3 * f64::from(k));
            let m = m * 1.5;
            ellipsoid = ellipsoid.max((1.0 / f.hypot(m) - 1.0).abs());
            cylinder = cylinder.max(1.0 / f.max(m) - 1.0);
        }
        let size = found.ellipsoid.most.max(-found.ellipsoid.least);
        assert!((size - ellipsoid).abs() < 3e-3, "{found:?}, {ellipsoid}");
        assert!((found.cylinder.most - cylinder).abs() < 3e-3, "{found:?}, {cylinder}");
        // Limits that do not know of each other never hold less.
        assert!(found.cylinder.least > -1e-9 && found.cylinder.mean < found.cylinder.most, "{found:?}");
    }

    #[test]
    fn the_errors_do_not_change_with_size_and_a_point_has_none() {
        let square = |size| torsion(&Patch::shape(Grid::new(9, 5, size, size / 2.0).unwrap(), Shape::Square).unwrap());
        let (small, large) = (square(1e-3), square(1.0));
        for (a, b) in [(small.ellipsoid, large.ellipsoid), (small.cylinder, large.cylinder)] {
            assert!(
                (a.most - b.most).abs() < 1e-9 && (a.least - b.least).abs() < 1e-9 && (a.mean - b.mean).abs() < 1e-9
            );
        }
        let point = Patch::shape(Grid::new(1, 1, 0.01, 0.01).unwrap(), Shape::Square).unwrap();
        let point = Torsion::new(&Surface::new(&point, Rule::Points)).unwrap();
        assert_eq!(point, Torsion { radius: 0.0, ellipsoid: RuleError::default(), cylinder: RuleError::default() });
        let bilinear = Patch::shape(Grid::new(5, 5, 0.01, 0.01).unwrap(), Shape::Square).unwrap();
        assert!(Torsion::new(&Surface::new(&bilinear, Rule::Bilinear)).is_err());
    }
}
