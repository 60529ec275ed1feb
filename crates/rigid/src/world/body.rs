//! A body: its mass and inertia, its geometry, and its state.

use nalgebra::{Isometry3, Matrix3, Quaternion, UnitQuaternion, Vector3};

use bristle::error::ParameterError;
use bristle::range::{self, Range};
use bristle::schedule::Signal;

/// Geometry in the frame of a body, whose origin is the centre of mass.
#[derive(Clone, Debug, PartialEq)]
pub enum WorldShape {
    /// Points \[m\] that touch other bodies, such as one at the origin for a particle, or the feet of a
    /// tripod; at most 8.
    Points(Vec<[f64; 3]>),
    /// A sphere of this radius \[m\].
    Sphere(f64),
    /// A box with these half lengths \[m\] along the axes.
    Box([f64; 3]),
    /// All that is below the plane z = 0; its outward normal is +z. For bodies that are not moved by forces.
    Plane,
}

/// Most points of [`WorldShape::Points`].
pub const MOST_POINTS: usize = 8;

impl WorldShape {
    /// The principal moments of inertia [kg m^2] of a solid of `mass` \[kg\] with this shape. Points have
    /// none: they are those of masses of equal size at the points.
    pub fn inertia(&self, mass: f64) -> [f64; 3] {
        match self {
            Self::Points(points) => {
                let each = mass / points.len().max(1) as f64;
                let about = |a: usize, b: usize| points.iter().map(|p| each * (p[a] * p[a] + p[b] * p[b])).sum();
                [about(1, 2), about(0, 2), about(0, 1)]
            }
            Self::Sphere(radius) => [0.4 * mass * radius * radius; 3],
            Self::Box([x, y, z]) => [y * y + z * z, x * x + z * z, x * x + y * y].map(|s| mass * s / 3.0),
            Self::Plane => [0.0; 3],
        }
    }

    /// The shortest side of a box, or the diameter of a sphere [m]; none of points and a plane.
    pub(super) fn shortest(&self) -> Option<f64> {
        match self {
            Self::Points(_) | Self::Plane => None,
            Self::Sphere(radius) => Some(2.0 * radius),
            Self::Box(half) => half.iter().map(|half| 2.0 * half).reduce(f64::min),
        }
    }

    /// Largest distance of a point of the shape from the origin [m].
    pub(super) fn radius(&self) -> f64 {
        match self {
            Self::Points(points) => points.iter().map(|p| Vector3::from(*p).norm()).fold(0.0, f64::max),
            Self::Sphere(radius) => *radius,
            Self::Box(half) => Vector3::from(*half).norm(),
            Self::Plane => 0.0,
        }
    }

    fn validate(&self, field: &str) -> Result<(), ParameterError> {
        let length = |value: f64| range::SIZE.check(field, value);
        match self {
            Self::Points(points) if points.is_empty() || points.len() > MOST_POINTS => {
                Err(ParameterError::new(field, format!("{} points", points.len()), format!("1 to {MOST_POINTS}")))
            }
            Self::Points(points) => points.as_flattened().iter().try_for_each(|c| range::OFFSET.check(field, *c)),
            Self::Sphere(radius) => length(*radius),
            // Of the whole sides, as files have them.
            Self::Box(half) => half.iter().try_for_each(|half| length(2.0 * half)),
            Self::Plane => Ok(()),
        }
    }
}

/// What moves a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Forces: its mass and inertia, gravity, loads and contacts.
    Dynamic,
    /// Nothing: it keeps the twist that it begins with, zero for a table, another one for a conveyor.
    Prescribed,
}

/// Pose and twist of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Position of the centre of mass \[m\] and orientation, from the body's frame to the world's.
    pub pose: Isometry3<f64>,
    /// Velocity of the centre of mass in the world [m/s].
    pub velocity: Vector3<f64>,
    /// Angular velocity in the world [rad/s].
    pub angular: Vector3<f64>,
}

impl Default for State {
    /// At rest at the origin.
    fn default() -> Self {
        Self { pose: Isometry3::identity(), velocity: Vector3::zeros(), angular: Vector3::zeros() }
    }
}

impl State {
    /// At rest, with the centre of mass there \[m\].
    pub fn at(x: f64, y: f64, z: f64) -> Self {
        Self { pose: Isometry3::translation(x, y, z), ..Self::default() }
    }

    /// Moves on with its twist for `h` [s]: `q + h V v`, `docs/model.md` (LCP 6), with the quaternion
    /// normalised.
    pub(super) fn advance(&mut self, h: f64) {
        self.pose.translation.vector += h * self.velocity;
        let q = self.pose.rotation.into_inner();
        let rate = Quaternion::from_imag(self.angular) * q * 0.5;
        self.pose.rotation = UnitQuaternion::new_normalize(q + rate * h);
    }

    /// Displaces \[m\] and turns \[rad\] the body, which keeps its velocity, and its angular velocity in its own
    /// frame, so that its kinetic energy is the same.
    pub(super) fn shift(&mut self, by: Vector3<f64>, turn: Vector3<f64>) {
        self.pose.translation.vector += by;
        if turn != Vector3::zeros() {
            let turn = UnitQuaternion::from_scaled_axis(turn);
            self.pose.rotation = UnitQuaternion::new_normalize((turn * self.pose.rotation).into_inner());
            self.angular = turn * self.angular;
        }
    }

    /// Checks a state that a world begins with.
    pub(super) fn validate(&self, field: &str) -> Result<(), ParameterError> {
        let all = |part: &str, of: &Vector3<f64>, range: Range| {
            of.iter().try_for_each(|v| range.check(&format!("{field}.{part}"), *v))
        };
        all("position", &self.pose.translation.vector, range::POSITION)?;
        all("velocity", &self.velocity, range::SPEED)?;
        all("angular_velocity", &self.angular, range::TURN)?;
        if self.is_finite() {
            return Ok(());
        }
        Err(ParameterError::new(format!("{field}.rotation"), "not finite", "finite numbers"))
    }

    pub(super) fn is_finite(&self) -> bool {
        let pose = self.pose.translation.vector.iter().chain(self.pose.rotation.coords.iter());
        pose.chain(self.velocity.iter()).chain(self.angular.iter()).all(|c| c.is_finite())
    }
}

/// A rigid body.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldBody {
    /// What moves it.
    pub kind: Kind,
    /// Mass \[kg\], 1e-12 to 1e12; of no meaning for [`Kind::Prescribed`].
    pub mass: f64,
    /// Principal moments of inertia along the body's axes [kg m^2], 0 or 1e-24 to 1e24; an axis with zero is
    /// not turned by torques, as that of a particle.
    pub inertia: [f64; 3],
    /// Geometry.
    pub shape: WorldShape,
    /// Force at the centre of mass, in the world \[N\], beside gravity.
    pub force: [Signal; 3],
    /// Torque about the centre of mass, in the world [N m].
    pub torque: [Signal; 3],
}

impl WorldBody {
    /// A solid of `mass` \[kg\] with this shape, without loads.
    pub fn solid(mass: f64, shape: WorldShape) -> Self {
        let none = || [0.0; 3].map(Signal::constant);
        Self { kind: Kind::Dynamic, mass, inertia: shape.inertia(mass), shape, force: none(), torque: none() }
    }

    /// A body that keeps its twist, such as a table.
    pub fn prescribed(shape: WorldShape) -> Self {
        Self { kind: Kind::Prescribed, ..Self::solid(1.0, shape) }
    }

    /// Inverse of the mass [1/kg]; zero if nothing moves it.
    pub(super) fn inverse_mass(&self) -> f64 {
        if self.kind == Kind::Dynamic { 1.0 / self.mass } else { 0.0 }
    }

    /// Inverse of the inertia in the world [1/(kg m^2)].
    pub(super) fn inverse_inertia(&self, state: &State) -> Matrix3<f64> {
        let inverse = |j: f64| if self.kind == Kind::Dynamic && j > 0.0 { 1.0 / j } else { 0.0 };
        let turn = state.pose.rotation.to_rotation_matrix();
        turn.matrix() * Matrix3::from_diagonal(&Vector3::from(self.inertia.map(inverse))) * turn.matrix().transpose()
    }

    /// Square root of the inverse of the inertia in the world.
    pub(super) fn root_inverse_inertia(&self, state: &State) -> Matrix3<f64> {
        let root = |j: f64| if self.kind == Kind::Dynamic && j > 0.0 { 1.0 / j.sqrt() } else { 0.0 };
        let turn = state.pose.rotation.to_rotation_matrix();
        turn.matrix() * Matrix3::from_diagonal(&Vector3::from(self.inertia.map(root))) * turn.matrix().transpose()
    }

    /// Energy of a change of the twist [J].
    pub(super) fn kinetic(&self, state: &State, [v, w]: [Vector3<f64>; 2]) -> f64 {
        let own = state.pose.rotation.inverse() * w;
        0.5 * (self.mass * v.norm_squared() + Vector3::from(self.inertia).dot(&own.component_mul(&own)))
    }

    /// The angular velocity after `h` [s] without torques, in the world: Euler's equations by the implicit
    /// midpoint rule in the frame of the body, which keeps the energy whatever the step. A body that does not
    /// turn about one of its axes keeps its angular velocity.
    pub(super) fn turned_freely(&self, state: &State, h: f64) -> Vector3<f64> {
        let [x, y, z] = self.inertia;
        if x == y && y == z || self.inertia.contains(&0.0) {
            return state.angular;
        }
        let (k, first) =
            (Vector3::new((z - y) / x, (x - z) / y, (y - x) / z), state.pose.rotation.inverse() * state.angular);
        let mut w = first;
        for _ in 0..20 {
            let m = 0.5 * (first + w);
            let missing = w - first + h * k.component_mul(&Vector3::new(m.y * m.z, m.z * m.x, m.x * m.y));
            let half = 0.5 * h * k;
            let slope = Matrix3::new(
                1.0,
                half.x * m.z,
                half.x * m.y,
                half.y * m.z,
                1.0,
                half.y * m.x,
                half.z * m.y,
                half.z * m.x,
                1.0,
            );
            let Some(step) = slope.lu().solve(&missing) else { break };
            w -= step;
            if step.amax() <= 1e-15 * w.amax() {
                break;
            }
        }
        // Of a turn too fast for the step no root may be found: a body then keeps its angular velocity.
        let energy = |w: &Vector3<f64>| Vector3::from(self.inertia).dot(&w.component_mul(w));
        let (now, then) = (energy(&w), energy(&first));
        state.pose.rotation * if (now - then).abs() <= 1e-9 * then { w } else { first }
    }

    /// Angular momentum about the centre of mass in the world [kg m^2/s].
    pub(super) fn spin(&self, state: &State) -> Vector3<f64> {
        let turn = state.pose.rotation;
        turn * Vector3::from(self.inertia).component_mul(&(turn.inverse() * state.angular))
    }

    pub(super) fn validate(&self, name: &str) -> Result<(), ParameterError> {
        self.shape.validate(&format!("{name}.shape"))?;
        if self.kind == Kind::Dynamic {
            range::MASS.check(&format!("{name}.mass"), self.mass)?;
            for j in self.inertia {
                if j != 0.0 && !range::INERTIA.contains(j) {
                    let accepted = format!("0, or {}", range::INERTIA);
                    return Err(ParameterError::number(&format!("{name}.inertia"), j, accepted));
                }
            }
            if self.shape == WorldShape::Plane {
                return Err(ParameterError::new(format!("{name}.shape"), "plane", "a body that is prescribed"));
            }
        }
        for signal in &self.force {
            signal.validate(&format!("{name}.force"), range::FORCE)?;
        }
        self.torque.iter().try_for_each(|signal| signal.validate(&format!("{name}.torque"), range::TORQUE))
    }
}
