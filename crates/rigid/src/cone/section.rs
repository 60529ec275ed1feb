//! The section of a friction cone across its normal: a circle, or a regular polygon.

use std::f64::consts::PI;

use bristle::error::{ParameterError, check};

/// Largest number of sides of a polygon.
pub const MOST_SIDES: usize = 1024;

/// The section of a cone across its normal, `docs/model.md` (201) and (202).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Section {
    /// Coulomb's isotropic friction: a circle of radius `mu f_n`.
    Circle,
    /// Its linear approximation: a regular polygon.
    Polygon(Polygon),
}

/// A regular polygon that touches the circle in as many directions as it has sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polygon {
    /// Number of sides, 3 to [`MOST_SIDES`].
    pub sides: usize,
    /// Inside the circle or around it.
    pub fit: Fit,
    /// Angle from the tangent to the first direction in which the polygon touches the circle \[rad\]: to a
    /// corner if it is inside, to the middle of a side if it is outside.
    pub angle: f64,
}

/// On which side of the circle a polygon is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Inscribed: all of its forces are in the circular cone.
    Inner,
    /// Circumscribed: all forces of the circular cone are in it.
    Outer,
}

impl Section {
    /// Checks the polygon's numbers.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let Self::Polygon(Polygon { sides, angle, .. }) = *self else { return Ok(()) };
        if !(3..=MOST_SIDES).contains(&sides) {
            return Err(ParameterError::new("sides", sides, format!("3 to {MOST_SIDES}")));
        }
        check("angle", angle, "a finite angle [rad]", true)
    }

    /// The faces of the cone for the arithmetic of queries.
    pub(crate) fn facets(&self) -> Facets {
        match self {
            Self::Circle => Facets { directions: Vec::new(), share: 1.0, half: 0.0 },
            Self::Polygon(polygon) => Facets {
                directions: (0..polygon.sides).map(|k| polygon.facet(k)).collect(),
                share: polygon.share(),
                half: (PI / polygon.sides as f64).tan(),
            },
        }
    }
}

/// The faces of a cone.
#[derive(Clone, Debug, PartialEq)]
pub struct Facets {
    /// Directions across the normal to the middles of the faces; none for a circle, which has one in every
    /// direction.
    pub directions: Vec<[f64; 2]>,
    /// Distance of a face from the normal as a share of `mu f_n`.
    pub share: f64,
    /// Tangent of half of the angle that a face takes.
    pub half: f64,
}

impl Polygon {
    /// Distance of the sides from the middle as a share of the circle's radius.
    pub(crate) fn share(&self) -> f64 {
        match self.fit {
            Fit::Inner => (PI / self.sides as f64).cos(),
            Fit::Outer => 1.0,
        }
    }

    /// Direction to the middle of side `k`.
    pub(crate) fn facet(&self, k: usize) -> [f64; 2] {
        self.direction(k as f64 + if self.fit == Fit::Inner { 0.5 } else { 0.0 })
    }

    /// The direction `k` sides from the first one.
    fn direction(&self, k: f64) -> [f64; 2] {
        let (sin, cos) = (self.angle + 2.0 * PI * k / self.sides as f64).sin_cos();
        [cos, sin]
    }

    /// [`super::Cone::inequalities`] in the axes of the contact.
    pub(super) fn inequalities(&self, mu: f64) -> Vec<[f64; 3]> {
        let face = |k| {
            let [x, y] = self.facet(k);
            [x, y, -self.share() * mu]
        };
        (0..self.sides).map(face).chain([[0.0, 0.0, -1.0]]).collect()
    }

    /// [`super::Cone::rays`] in the axes of the contact.
    pub(crate) fn rays(&self, mu: f64) -> Vec<[f64; 3]> {
        let (turn, length) = match self.fit {
            Fit::Inner => (0.0, mu),
            Fit::Outer => (0.5, mu / (PI / self.sides as f64).cos()),
        };
        let ray = |k: usize| {
            let [x, y] = self.direction(k as f64 + turn);
            [length * x, length * y, 1.0]
        };
        (0..self.sides).map(ray).collect()
    }
}
