//! A body: its mass and inertia, its geometry, and its state.

use nalgebra::{Isometry3, Matrix3, Quaternion, UnitQuaternion, Vector3};

use super::MOST_RATIO;
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

    /// The square of the largest distance of a point of the shape from the axis `c` of the body \[m^2\].
    fn lever(&self, c: usize) -> f64 {
        let (a, b) = ((c + 1) % 3, (c + 2) % 3);
        match self {
            Self::Points(points) => points.iter().map(|p| p[a] * p[a] + p[b] * p[b]).fold(0.0, f64::max),
            Self::Sphere(radius) => radius * radius,
            Self::Box(half) => half[a] * half[a] + half[b] * half[b],
            Self::Plane => 0.0,
        }
    }

    fn validate(&self, field: &str) -> Result<(), ParameterError> {
        match self {
            Self::Points(points) if points.is_empty() || points.len() > MOST_POINTS => {
                Err(ParameterError::new(field, format!("{} points", points.len()), format!("1 to {MOST_POINTS}")))
            }
            Self::Points(points) => points.iter().enumerate().try_for_each(|(k, point)| {
                each(&format!("{field}.points[{k}]"), point, |name, c| range::OFFSET.check(name, *c))
            }),
            Self::Sphere(radius) => range::SIZE.check(&format!("{field}.sphere"), *radius),
            // Of the whole sides, as files have them.
            Self::Box(half) => each(&format!("{field}.box"), half, |name, half| range::SIZE.check(name, 2.0 * half)),
            Self::Plane => Ok(()),
        }
    }
}

/// Checks the items of `field` one by one, each under its own name.
pub(super) fn each<T>(
    field: &str,
    items: &[T],
    check: impl Fn(&str, &T) -> Result<(), ParameterError>,
) -> Result<(), ParameterError> {
    items.iter().enumerate().try_for_each(|(c, item)| check(&format!("{field}[{c}]"), item))
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

    /// Displaces \[m\] and turns \[rad\] the body, which keeps its velocity, and its angular velocity in its
    /// own frame, so that its kinetic energy is the same.
    pub(super) fn shift(&mut self, by: Vector3<f64>, turn: Vector3<f64>) {
        self.pose.translation.vector += by;
        if turn != Vector3::zeros() {
            let turn = UnitQuaternion::from_scaled_axis(turn);
            self.pose.rotation = UnitQuaternion::new_normalize((turn * self.pose.rotation).into_inner());
            self.angular = turn * self.angular;
        }
    }

    /// Refuses a velocity that the guide of a body does not allow.
    pub(super) fn validate_guide(&self, field: &str, guide: Option<Vector3<f64>>) -> Result<(), ParameterError> {
        let Some(guide) = guide else { return Ok(()) };
        let across = self.velocity - guide * guide.dot(&self.velocity);
        if across.norm() > 1e-9 * self.velocity.norm() {
            let (value, accepted) = (format!("{:?}", self.velocity.as_slice()), "a velocity along the guide");
            return Err(ParameterError::new(format!("{field}.velocity"), value, accepted));
        }
        if self.angular != Vector3::zeros() {
            let (value, accepted) = (format!("{:?}", self.angular.as_slice()), "0, as a body on a guide does not turn");
            return Err(ParameterError::new(format!("{field}.angular_velocity"), value, accepted));
        }
        Ok(())
    }

    /// Checks a state that a world begins with.
    pub(super) fn validate(&self, field: &str) -> Result<(), ParameterError> {
        let all = |part: &str, of: &Vector3<f64>, range: Range| {
            each(&format!("{field}.{part}"), of.as_slice(), |name, v| range.check(name, *v))
        };
        all("position", &self.pose.translation.vector, range::POSITION)?;
        all("velocity", &self.velocity, range::SPEED)?;
        all("angular_velocity", &self.angular, range::TURN)?;
        // A quaternion can be made without normalising it; its length would scale the shape and the inertia.
        let length = self.pose.rotation.coords.norm();
        if (length - 1.0).abs() <= LENGTH_TOLERANCE {
            return Ok(());
        }
        let accepted = format!("a quaternion of length 1 within {LENGTH_TOLERANCE:e}");
        Err(ParameterError::new(format!("{field}.rotation"), format!("a quaternion of length {length}"), accepted))
    }

    pub(super) fn is_finite(&self) -> bool {
        let pose = self.pose.translation.vector.iter().chain(self.pose.rotation.coords.iter());
        pose.chain(self.velocity.iter()).chain(self.angular.iter()).all(|c| c.is_finite())
    }
}

/// What the largest moment of inertia may exceed the sum of the others by, as a share of it: moments are sums
/// that were rounded.
const TRIANGLE_TOLERANCE: f64 = 1e-9;

/// Most radians by which the axis of a turn may move in the frame of a body in a step.
const MOST_TURN: f64 = 100.0;

/// Largest difference of the length of a quaternion from 1.
const LENGTH_TOLERANCE: f64 = 1e-6;

/// A rigid body.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldBody {
    /// What moves it.
    pub kind: Kind,
    /// Mass \[kg\], 1e-12 to 1e12; of no meaning for [`Kind::Prescribed`].
    pub mass: f64,
    /// Principal moments of inertia along the body's axes [kg m^2], 0 or 1e-24 to 1e24; an axis with zero is
    /// not turned by torques, as that of a particle. Without zeros none is larger than the sum of the others;
    /// each is at least 1e-6 of the mass times the square of the largest distance of the shape from its axis.
    pub inertia: [f64; 3],
    /// Geometry.
    pub shape: WorldShape,
    /// The axis of the world along which alone a dynamic body moves, without turning, as a finger of a
    /// gripper on its rail does; of any length. None of a body that moves freely.
    pub guide: Option<[f64; 3]>,
    /// Force at the centre of mass, in the world \[N\], beside gravity.
    pub force: [Signal; 3],
    /// Torque about the centre of mass, in the world [N m].
    pub torque: [Signal; 3],
}

impl WorldBody {
    /// A solid of `mass` \[kg\] with this shape, without loads.
    pub fn solid(mass: f64, shape: WorldShape) -> Self {
        let none = || [0.0; 3].map(Signal::constant);
        Self {
            kind: Kind::Dynamic,
            mass,
            inertia: shape.inertia(mass),
            shape,
            guide: None,
            force: none(),
            torque: none(),
        }
    }

    /// A body that keeps its twist, such as a table.
    pub fn prescribed(shape: WorldShape) -> Self {
        Self { kind: Kind::Prescribed, ..Self::solid(1.0, shape) }
    }

    /// Inverse of the mass [1/kg]; zero if nothing moves it.
    pub(super) fn inverse_mass(&self) -> f64 {
        if self.kind == Kind::Dynamic { 1.0 / self.mass } else { 0.0 }
    }

    /// The unit vector of the guide.
    pub(super) fn guide(&self) -> Option<Vector3<f64>> {
        self.guide.map(|guide| Vector3::from(guide).normalize())
    }

    /// Whether torques turn it about an axis with a moment of inertia.
    fn turns(&self) -> bool {
        self.kind == Kind::Dynamic && self.guide.is_none()
    }

    /// Inverse of the inertia in the world [1/(kg m^2)].
    pub(super) fn inverse_inertia(&self, state: &State) -> Matrix3<f64> {
        let inverse = |j: f64| if self.turns() && j > 0.0 { 1.0 / j } else { 0.0 };
        let turn = state.pose.rotation.to_rotation_matrix();
        turn.matrix() * Matrix3::from_diagonal(&Vector3::from(self.inertia.map(inverse))) * turn.matrix().transpose()
    }

    /// Square root of the inverse of the inertia in the world.
    pub(super) fn root_inverse_inertia(&self, state: &State) -> Matrix3<f64> {
        let root = |j: f64| if self.turns() && j > 0.0 { 1.0 / j.sqrt() } else { 0.0 };
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
    /// turn about one of its axes keeps its angular velocity. NaN of one that turns far too fast for the
    /// step.
    pub(super) fn turned_freely(&self, state: &State, h: f64) -> Vector3<f64> {
        let [x, y, z] = self.inertia;
        if x == y && y == z || self.inertia.contains(&0.0) {
            return state.angular;
        }
        let (k, first) =
            (Vector3::new((z - y) / x, (x - z) / y, (y - x) / z), state.pose.rotation.inverse() * state.angular);
        // Turned so often within a step that nothing it ends with means anything: no number, for which a
        // world is stopped.
        if h * k.amax() * first.norm() > MOST_TURN
            && (first.x * first.y, first.y * first.z, first.z * first.x) != (0.0, 0.0, 0.0)
        {
            return Vector3::repeat(f64::NAN);
        }
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
        state.pose.rotation * w
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
            each(&format!("{name}.inertia"), &self.inertia, |name, j| match *j {
                j if j == 0.0 || range::INERTIA.contains(j) => Ok(()),
                j => Err(ParameterError::number(name, j, format!("0, or {}", range::INERTIA))),
            })?;
            self.validate_triangle(name)?;
            self.validate_levers(name)?;
            if let Some(guide) = &self.guide {
                let long = Vector3::from(*guide).norm();
                if !(long > 1e-9 && long < 1e9) {
                    let accepted = "three numbers, not all 0: an axis of the world";
                    return Err(ParameterError::new(format!("{name}.guide"), format!("{guide:?}"), accepted));
                }
            }
            if self.shape == WorldShape::Plane {
                return Err(ParameterError::new(format!("{name}.shape"), "plane", "a body that is prescribed"));
            }
        }
        each(&format!("{name}.force"), &self.force, |name, signal| signal.validate(name, range::FORCE))?;
        each(&format!("{name}.torque"), &self.torque, |name, signal| signal.validate(name, range::TORQUE))
    }

    /// Refuses a moment so small that a contact on the shape meets next to no mass: as it refuses masses that
    /// differ as much.
    fn validate_levers(&self, name: &str) -> Result<(), ParameterError> {
        let turns = |c: &usize| self.inertia[*c] > 0.0 && self.guide.is_none();
        (0..3).filter(turns).try_for_each(|c| {
            let least = self.mass * self.shape.lever(c) / MOST_RATIO;
            if self.inertia[c] >= least * (1.0 - 1e-9) {
                return Ok(());
            }
            let accepted = format!(
                "0, or at least {least:.3e}: {:e} of its mass times the square of the largest distance of its shape \
                 from this axis",
                1.0 / MOST_RATIO
            );
            Err(ParameterError::number(&format!("{name}.inertia[{c}]"), self.inertia[c], accepted))
        })
    }

    /// Refuses three moments that no distribution of mass has: `Jx + Jy - Jz` is twice the integral of `z^2`.
    fn validate_triangle(&self, name: &str) -> Result<(), ParameterError> {
        let [x, y, z] = self.inertia;
        let largest = x.max(y).max(z);
        if x * y * z == 0.0 || largest <= (x + y + z - largest) * (1.0 + TRIANGLE_TOLERANCE) {
            return Ok(());
        }
        let accepted = "moments of a rigid body, of which none is larger than the sum of the other two, or 0 for an \
                        axis about which it does not turn";
        Err(ParameterError::new(format!("{name}.inertia"), format!("[{x:?}, {y:?}, {z:?}]"), accepted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(inertia: [f64; 3]) -> Option<String> {
        let body = WorldBody { inertia, ..WorldBody::solid(1.0, WorldShape::Points(vec![[0.0; 3]])) };
        body.validate("bodies[2]").err().map(|e| e.to_string())
    }

    #[test]
    fn moments_that_no_rigid_body_has_are_refused() {
        for inertia in [[1.0, 1.0, 2.0], [3.0, 5.0, 4.0], [0.1, 0.2, 0.1 + 0.2], [1e-24, 1e-24, 2e-24], [1e24; 3]] {
            assert_eq!(told(inertia), None);
        }
        // No torque turns it about an axis with 0.
        for inertia in [[0.0; 3], [0.0, 1.0, 5.0], [7.0, 0.0, 0.0]] {
            assert_eq!(told(inertia), None);
        }
        for inertia in [[1.0, 1.0, 2.0 + 1e-8], [5.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1e-24, 1e-24, 3e-24]] {
            let message = told(inertia).unwrap();
            let [x, y, z] = inertia;
            assert!(message.starts_with(&format!("bodies[2].inertia = [{x:?}, {y:?}, {z:?}]: expected ")), "{message}");
            assert!(message.contains("none is larger than the sum of the other two"), "{message}");
        }
        let message = told([1.0, -1.0, 1.0]).unwrap();
        assert!(message.starts_with("bodies[2].inertia[1] = -1: expected 0, or "), "{message}");
        // Those of every shape are such moments, and those of points in a plane just so.
        for shape in [
            WorldShape::Sphere(0.3),
            WorldShape::Box([1e-4, 1.0, 0.3]),
            WorldShape::Points(vec![[0.1, 0.2, 0.0], [0.3, -0.7, 0.0], [-0.9, 0.4, 0.0]]),
            WorldShape::Points(vec![[0.0; 3]]),
        ] {
            WorldBody::solid(0.37, shape).validate("bodies[0]").unwrap();
        }
    }

    #[test]
    fn moments_far_below_those_of_the_shape_are_refused() {
        let half = [0.1, 0.2, 0.3];
        let solid = WorldBody::solid(2.0, WorldShape::Box(half));
        for (share, guide, is_taken) in
            [(1.0, None, true), (3.1e-6, None, true), (2.9e-6, None, false), (1e-9, Some([0.0, 0.0, 1.0]), true)]
        {
            let body = WorldBody { inertia: solid.inertia.map(|j| share * j), guide, ..solid.clone() };
            let told = body.validate("bodies[1]").err().map(|e| e.to_string());
            assert_eq!(told.is_none(), is_taken, "{told:?}");
            if let Some(told) = told {
                let least = 2.0 * (half[1] * half[1] + half[2] * half[2]) * 1e-6;
                assert!(told.starts_with("bodies[1].inertia[0] = "), "{told}");
                assert!(told.contains(&format!("expected 0, or at least {least:.3e}: 1e-6 of its mass")), "{told}");
            }
        }
    }

    #[test]
    fn a_quaternion_has_length_one() {
        let state = |scale: f64| {
            let q = UnitQuaternion::from_euler_angles(0.3, -1.2, 2.0).into_inner() * scale;
            let pose = Isometry3::from_parts(nalgebra::Translation3::identity(), UnitQuaternion::new_unchecked(q));
            State { pose, ..State::default() }
        };
        for scale in [1.0, 1.0 + 1e-7, -1.0] {
            state(scale).validate("bodies[1]").unwrap();
        }
        for scale in [0.0, 0.999, 1.0 + 2e-6, f64::NAN, f64::INFINITY] {
            let message = state(scale).validate("bodies[1]").unwrap_err().to_string();
            assert!(message.starts_with("bodies[1].rotation = a quaternion of length "), "{message}");
            assert!(message.ends_with("expected a quaternion of length 1 within 1e-6"), "{message}");
        }
        let far = State::at(0.0, 2e9, 0.0).validate("bodies[1]").unwrap_err().to_string();
        assert!(far.starts_with("bodies[1].position[1] = "), "{far}");
    }
}
