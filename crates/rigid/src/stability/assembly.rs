//! Bodies, their loads, and the contacts that hold them.

use crate::cone::{Cone, Fit, Section};
use bristle::error::ParameterError;
use bristle::range;

/// A force \[N\] and a moment [N m] about the origin of the coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpatialWrench {
    /// Force \[N\].
    pub force: [f64; 3],
    /// Moment about the origin [N m].
    pub moment: [f64; 3],
}

impl SpatialWrench {
    /// A force \[N\] that acts at `point` \[m\], with a moment [N m] beside it.
    pub fn at(point: [f64; 3], force: [f64; 3], moment: [f64; 3]) -> Self {
        let [x, y, z] = cross(point, force);
        Self { force, moment: [moment[0] + x, moment[1] + y, moment[2] + z] }
    }

    /// Both together.
    pub fn plus(&self, other: &Self) -> Self {
        let sum = |a: [f64; 3], b: [f64; 3]| [0, 1, 2].map(|k| a[k] + b[k]);
        Self { force: sum(self.force, other.force), moment: sum(self.moment, other.moment) }
    }

    fn is_finite(&self) -> bool {
        self.force.iter().chain(&self.moment).all(|v| v.is_finite())
    }
}

/// What acts on a rigid body beside its contacts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RigidBody {
    /// What stays as it is, such as the weight.
    pub fixed: SpatialWrench,
    /// What grows by the factor that is asked for.
    pub load: SpatialWrench,
}

/// A point at which a body touches the world, or another body.
#[derive(Clone, Debug, PartialEq)]
pub struct PointContact {
    /// Where \[m\].
    pub position: [f64; 3],
    /// The forces on `body` that friction transmits; its normal points into `body`.
    pub cone: Cone,
    /// Index of the body.
    pub body: usize,
    /// Index of the body that it touches, on which the opposite forces act; none for the world.
    pub on: Option<usize>,
    /// Largest normal force \[N\], > 0: what a finger can press, or what the surface stands; infinite if
    /// there is none.
    pub most: f64,
    /// Largest moment about the normal for a normal force of 1 N \[m\], >= 0: zero for a point, more for a
    /// soft finger. Moment and tangential force share the friction: by an ellipsoid for a circular cone, by
    /// the pyramid over the polygon inside of that for an inner polygon, each for itself for an outer one;
    /// `docs/model.md` (210).
    pub torsion: f64,
}

impl PointContact {
    /// A contact of body 0 with the world, with no largest force and no moment.
    pub const fn new(position: [f64; 3], cone: Cone) -> Self {
        Self { position, cone, body: 0, on: None, most: f64::INFINITY, torsion: 0.0 }
    }

    /// Friction that `of` leaves \[N\], `docs/model.md` (203) and (210): the cone's margin, less what the
    /// moment takes.
    pub fn margin(&self, of: &ContactForce) -> f64 {
        let (left, mu) = (self.cone.margin(of.force), self.cone.mu());
        if self.torsion == 0.0 {
            return left;
        }
        let (normal, twist) = (self.normal(of), of.torsion.abs() / self.torsion);
        match self.cone.section() {
            Section::Circle => mu * normal - (mu * normal - left).hypot(mu * twist),
            Section::Polygon(polygon) if polygon.fit == Fit::Inner => left - polygon.share() * mu * twist,
            Section::Polygon(_) => left.min(mu * (normal - twist)),
        }
    }

    /// The normal part of a force \[N\].
    pub fn normal(&self, of: &ContactForce) -> f64 {
        self.cone.frame().to_contact(of.force)[2]
    }
}

/// Bodies and the contacts that hold them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assembly {
    /// The bodies.
    pub bodies: Vec<RigidBody>,
    /// The contacts.
    pub contacts: Vec<PointContact>,
}

/// The force of a contact on its body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContactForce {
    /// Force \[N\], in the frame of the caller.
    pub force: [f64; 3],
    /// Moment about the normal [N m].
    pub torsion: f64,
}

/// An assembly that cannot be answered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StabilityError {
    /// A value out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The solver came to no answer that can be verified.
    #[error("no answer: {0}; expected an assembly whose lengths and forces differ by less than some 1e6")]
    Solver(String),
}

impl Assembly {
    /// Checks all values.
    pub fn validate(&self) -> Result<(), ParameterError> {
        if self.bodies.is_empty() {
            return Err(ParameterError::new("bodies", "none", "one or more"));
        }
        for (k, body) in self.bodies.iter().enumerate() {
            for (name, wrench) in [("fixed", &body.fixed), ("load", &body.load)] {
                if !wrench.is_finite() {
                    return Err(ParameterError::new(format!("bodies.{k}.{name}"), "not finite", "finite numbers"));
                }
            }
        }
        for (k, contact) in self.contacts.iter().enumerate() {
            let name = |field: &str| format!("contacts.{k}.{field}");
            for v in contact.position {
                range::POSITION.check(&name("position"), v)?;
            }
            if !(contact.most > 0.0) {
                return Err(ParameterError::new(name("most"), contact.most, "a force > 0 [N]"));
            }
            range::TORSION.check(&name("torsion"), contact.torsion)?;
            let known = 0..self.bodies.len();
            let accepted = || format!("the index of a body, below {}", known.end);
            if !known.contains(&contact.body) {
                return Err(ParameterError::new(name("body"), contact.body, accepted()));
            }
            if let Some(on) = contact.on.filter(|on| !known.contains(on) || *on == contact.body) {
                return Err(ParameterError::new(name("on"), on, format!("{}, and another one", accepted())));
            }
        }
        Ok(())
    }
}

pub(super) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(super) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
