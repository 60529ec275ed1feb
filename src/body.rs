//! The body that moves a patch: a given twist, or a free body with inertia and loads. Also the transform from
//! the twist of a body to the twist of its patch.

use crate::error::{ParameterError, check};
use crate::parameter::{INERTIA, MASS, OFFSET, SPRING, TWIST_VX, TWIST_VY, TWIST_W, about};
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::Signal;

/// What moves the patch.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a contact has one, and most have a free body")]
pub enum Body {
    /// The twist of the patch is given; nothing is solved.
    Prescribed {
        /// The twist [m/s, m/s, rad/s], in the axes of the patch, which turn with it.
        twist: [Signal; 3],
        /// The point of the patch that has it.
        at: TwistPoint,
    },
    /// Loads and friction move a body.
    Free(FreeBody),
}

/// Reference point of a prescribed twist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PointName"))]
#[serde(rename_all = "lowercase")]
pub enum TwistPoint {
    /// The centre of pressure, as in the paper.
    #[default]
    Cop,
    /// The grid's centre.
    Origin,
}

/// A planar rigid body in contact.
///
/// ```
/// use bristle::{FreeBody, Frame, Twist};
/// // A brick that slides on a table, pushed.
/// let mut brick = FreeBody::new(Frame::Body { offset: [0.0; 2] }, 2.0, 0.01);
/// brick.twist = Twist::new(0.1, 0.0, 0.0);
/// brick.wrench[0] = 5.0.into();
/// ```
#[derive(Clone, Debug, PartialEq)]
#[allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]
pub struct FreeBody {
    /// Where patch and bristles are fixed.
    pub frame: Frame,
    #[doc = about!(MASS)]
    pub mass: f64,
    #[doc = about!(INERTIA)]
    pub inertia: f64,
    /// Number `n_s` of equal pads, 1 to 1000; the normal force is per pad.
    pub pads: u32,
    /// Load wrench at the centre of mass, axes of the world [N, N, N m].
    pub wrench: [Signal; 3],
    /// Acceleration of gravity in the plane, axes of the world [m/s^2]; times the mass it adds to the load.
    pub gravity: [Signal; 2],
    #[doc = about!(SPRING)]
    pub spring: f64,
    /// Where the other end of the spring is, axes of the world \[m\].
    pub anchor: [Signal; 2],
    /// Twist at the centre of mass [m/s, m/s, rad/s] at the start, relative to a hand that
    /// [moves](crate::MovingSurface).
    pub twist: Twist,
}

/// Where the patch of a free body is fixed, with its grid and its bristles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frame {
    /// In the gripper, which stands still while the body slides in it: the body's centre of mass is at the
    /// pose `(x, y)` in the patch frame. The grid does not turn with the object.
    Gripper,
    /// In the body, which slides on a table: patch and bristles turn with it.
    Body {
        /// Patch origin from the centre of mass, in the body frame \[m\].
        offset: [f64; 2],
    },
    /// At the centre of mass, with the axes of the world (the paper's drift runs).
    World,
}

impl Body {
    /// A patch whose centre of pressure keeps to a twist [m/s, m/s, rad/s].
    pub fn prescribed(twist: Twist) -> Self {
        Self::Prescribed { twist: twist.to_array().map(Signal::constant), at: TwistPoint::Cop }
    }

    /// The body, unless the twist of the patch is given.
    pub const fn free(&self) -> Option<&FreeBody> {
        match self {
            Self::Prescribed { .. } => None,
            Self::Free(body) => Some(body),
        }
    }

    /// The same, to change it.
    pub const fn free_mut(&mut self) -> Option<&mut FreeBody> {
        match self {
            Self::Prescribed { .. } => None,
            Self::Free(body) => Some(body),
        }
    }

    /// Checks the numbers of a free body; signals are checked with all inputs of a contact.
    ///
    /// # Errors
    /// The first field out of range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.free().map_or(Ok(()), FreeBody::validate)
    }

    /// The map from the twist of the contact at pose `q` to that of the patch. A free body has that of its
    /// frame; a prescribed twist is the twist of the patch itself, so that the map is the identity.
    pub fn transform(&self, q: Pose) -> Transform {
        self.free().map_or(Transform::IDENTITY, |body| body.frame.transform(q))
    }

    /// The constants of the equations of motion.
    pub fn constants(&self) -> Constants {
        match self {
            Self::Prescribed { .. } => Constants { mass: 1.0, inertia: 1.0, pads: 1.0, offset: [0.0; 2] },
            Self::Free(FreeBody { frame, mass, inertia, pads, .. }) => {
                let offset = if let Frame::Body { offset } = *frame { offset } else { [0.0; 2] };
                Constants { mass: *mass, inertia: *inertia, pads: f64::from(*pads), offset }
            }
        }
    }

    /// The initial twist of a free body; zero for a prescribed motion, whose twist is an input.
    pub fn first_twist(&self) -> Twist {
        self.free().map_or_else(Twist::default, |body| body.twist)
    }

    /// The signals by the names of their fields in files.
    pub(crate) fn signals(&self) -> impl Iterator<Item = (&'static str, &Signal)> {
        const TWIST: [&str; 3] = ["inputs.twist.vx", "inputs.twist.vy", "inputs.twist.w"];
        const WRENCH: [&str; 3] = ["inputs.wrench.fx", "inputs.wrench.fy", "inputs.wrench.tau"];
        const GRAVITY: [&str; 2] = ["inputs.gravity.0", "inputs.gravity.1"];
        const ANCHOR: [&str; 2] = ["inputs.anchor.0", "inputs.anchor.1"];
        let (names, three, two, anchor): (_, _, &[Signal], &[Signal]) = match self {
            Self::Prescribed { twist, .. } => (TWIST, twist, &[], &[]),
            Self::Free(body) => (WRENCH, &body.wrench, &body.gravity, &body.anchor),
        };
        names.into_iter().zip(three).chain(GRAVITY.into_iter().zip(two)).chain(ANCHOR.into_iter().zip(anchor))
    }

    /// The same signals, to change them.
    pub(crate) fn signals_mut(&mut self) -> impl Iterator<Item = &mut Signal> {
        let (three, two, anchor): (_, &mut [Signal], &mut [Signal]) = match self {
            Self::Prescribed { twist, .. } => (twist, &mut [], &mut []),
            Self::Free(body) => (&mut body.wrench, &mut body.gravity, &mut body.anchor),
        };
        three.iter_mut().chain(two).chain(anchor)
    }
}

/// The constants of a body in the equations of motion. An engine evaluates these equations in every lane and
/// ignores the result where the twist is prescribed; the constants are ones there, so that the numbers stay
/// finite.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// Mass \[kg\].
    pub mass: f64,
    /// Moment of inertia about the centre of mass [kg m^2].
    pub inertia: f64,
    /// Number of pads that press on it.
    pub pads: f64,
    /// Patch origin from the centre of mass in the body frame, zero in other frames \[m\].
    pub offset: [f64; 2],
}

impl From<FreeBody> for Body {
    fn from(body: FreeBody) -> Self {
        Self::Free(body)
    }
}

impl FreeBody {
    /// A body of a mass \[kg\] and a moment of inertia about its centre of mass [kg m^2], at rest and without
    /// loads; with two pads in a gripper, else with one.
    pub fn new(frame: Frame, mass: f64, inertia: f64) -> Self {
        let zero = || Signal::constant(0.0);
        Self {
            frame,
            mass,
            inertia,
            pads: if frame == Frame::Gripper { 2 } else { 1 },
            wrench: [zero(), zero(), zero()],
            gravity: [zero(), zero()],
            spring: SPRING.default,
            anchor: [zero(), zero()],
            twist: Twist::default(),
        }
    }

    /// As [`Body::validate`].
    fn validate(&self) -> Result<(), ParameterError> {
        MASS.check(self.mass)?;
        INERTIA.check(self.inertia)?;
        SPRING.check(self.spring)?;
        check("body.pads", f64::from(self.pads), "1 to 1000", (1..=1000).contains(&self.pads))?;
        if let Frame::Body { offset: [x, y] } = self.frame {
            OFFSET.range.check("body.offset[0]", x)?;
            OFFSET.range.check("body.offset[1]", y)?;
        }
        TWIST_VX.range.check("initial.twist.vx", self.twist.vx)?;
        TWIST_VY.range.check("initial.twist.vy", self.twist.vy)?;
        TWIST_W.range.check("initial.twist.w", self.twist.w)
    }
}

impl Frame {
    /// The map from the body's twist to the patch's at pose `q`.
    pub fn transform(self, q: Pose) -> Transform {
        match self {
            Self::Gripper => Transform { o: [-q.x, -q.y], ..Transform::IDENTITY },
            Self::Body { offset } => Transform { cos: q.theta.cos(), sin: q.theta.sin(), o: offset },
            Self::World => Transform::IDENTITY,
        }
    }
}

/// `T(q)`, `docs/model.md` (22): rotates by `-theta`, then moves the reference point by `o` \[m\] to the
/// patch origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    /// Cosine of the grid's orientation.
    pub cos: f64,
    /// Sine of the grid's orientation.
    pub sin: f64,
    /// Patch origin from the centre of mass, in the patch frame \[m\].
    pub o: [f64; 2],
}

impl Transform {
    /// The same twist.
    pub const IDENTITY: Self = Self { cos: 1.0, sin: 0.0, o: [0.0; 2] };

    /// Twist at the patch origin in the patch frame, of a body's twist at its centre of mass in the world.
    pub fn twist(&self, u: Twist) -> Twist {
        let Self { cos, sin, o } = *self;
        Twist::new(cos * u.vx + sin * u.vy, -sin * u.vx + cos * u.vy, u.w).at(o)
    }

    /// The inverse of [`Transform::twist`].
    pub fn body_twist(&self, patch: Twist) -> Twist {
        let Self { cos, sin, o } = *self;
        let v = patch.at([-o[0], -o[1]]);
        Twist::new(cos * v.vx - sin * v.vy, sin * v.vx + cos * v.vy, v.w)
    }

    /// `T^T W`: the wrench at the centre of mass in the world, of one at the patch origin in the patch frame.
    pub fn wrench(&self, patch: Wrench) -> Wrench {
        let Self { cos, sin, o } = *self;
        let w = patch.about([-o[0], -o[1]]);
        Wrench::new(cos * w.fx - sin * w.fy, sin * w.fx + cos * w.fy, w.tau)
    }

    /// The 3 x 3 matrix of [`Transform::twist`].
    pub fn matrix(&self) -> nalgebra::Matrix3<f64> {
        let Self { cos, sin, o: [ox, oy] } = *self;
        nalgebra::Matrix3::new(cos, sin, -oy, -sin, cos, ox, 0.0, 0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn the_transform_keeps_power_and_inverts() {
        let pose = Pose::new(0.1, 0.2, 0.7);
        let t = Frame::Body { offset: [0.02, -0.03] }.transform(pose);
        let (u, w) = (Twist::new(0.3, -0.1, 2.0), Wrench::new(1.0, 0.5, -0.2));
        assert_relative_eq!(t.wrench(w).power(u), w.power(t.twist(u)), max_relative = 1e-13);
        let back = t.body_twist(t.twist(u));
        assert_relative_eq!(back.vx, u.vx, max_relative = 1e-13);
        assert_relative_eq!(back.vy, u.vy, max_relative = 1e-13);
        let by_matrix = t.matrix() * nalgebra::Vector3::from(u.to_array());
        assert_relative_eq!(by_matrix[1], t.twist(u).vy, max_relative = 1e-13);
        // In the hand, with the centre of mass at p: U = (vx + w py, vy - w px, w).
        let held = Frame::Gripper.transform(pose);
        assert_eq!(held.twist(u), Twist::new(0.3 + 2.0 * 0.2, -0.1 - 2.0 * 0.1, 2.0));
    }

    #[test]
    fn what_is_no_inertia_is_refused_of_a_free_body_alone() {
        let good = || FreeBody::new(Frame::Body { offset: [0.01, 0.0] }, 0.5, 1e-3);
        let refused = |change: &dyn Fn(&mut FreeBody)| {
            let mut body = good();
            change(&mut body);
            Body::from(body).validate().unwrap_err().field
        };
        Body::from(good()).validate().unwrap();
        assert_eq!(refused(&|b| b.mass = 0.0), "body.mass");
        assert_eq!(refused(&|b| b.inertia = f64::NAN), "body.inertia");
        assert_eq!(refused(&|b| b.pads = 0), "body.pads");
        assert_eq!(refused(&|b| b.frame = Frame::Body { offset: [0.0, f64::INFINITY] }), "body.offset[1]");
        assert_eq!(refused(&|b| b.twist.w = f64::NAN), "initial.twist.w");
        Body::prescribed(Twist::default()).validate().unwrap();
    }

    #[test]
    fn a_body_has_the_signals_and_the_transform_of_its_own_kind() {
        let names = |body: &Body| body.signals().map(|(name, _)| name).collect::<Vec<_>>();
        let mut prescribed = Body::prescribed(Twist::new(1.0, 2.0, 3.0));
        assert_eq!(names(&prescribed), ["inputs.twist.vx", "inputs.twist.vy", "inputs.twist.w"]);
        assert_eq!(prescribed.signals().map(|(_, signal)| signal.value(0.5)).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
        assert!(prescribed.free().is_none() && prescribed.free_mut().is_none());
        assert_eq!(prescribed.transform(Pose::new(1.0, 2.0, 3.0)), Transform::IDENTITY);
        let mut held = Body::from(FreeBody::new(Frame::Gripper, 0.2, 1e-3));
        let loads =
            ["inputs.wrench.fx", "inputs.wrench.fy", "inputs.wrench.tau", "inputs.gravity.0", "inputs.gravity.1"];
        assert_eq!(names(&held)[..5], loads);
        assert_eq!(names(&held)[5..], ["inputs.anchor.0", "inputs.anchor.1"]);
        assert_eq!(held.free_mut().map(|body| body.pads), Some(2));
        assert_eq!(held.transform(Pose::new(1.0, 2.0, 3.0)).o, [-1.0, -2.0]);
    }
}
