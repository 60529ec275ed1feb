//! A surface that moves: a belt, a turntable, or a hand.

use crate::error::ParameterError;
use crate::parameter::SURFACE_AT;
use crate::planar::Twist;
use crate::schedule::{Feed, Signal};

/// The motion of what the body touches, over time. All friction is that of the patch's motion relative to it,
/// `docs/model.md` (23a).
///
/// Its frame is that in which the pose of the contact is given:
///
/// - of a [body](crate::Frame::Body) and in axes of the [world](crate::Frame::World) the surface is what the
///   body slides on. The twist is in axes of the world, `at` a point that is fixed there: the axis of a
///   turntable.
/// - in a [gripper](crate::Frame::Gripper) it is the hand, which carries patch and bristles along. The twist
///   is in axes of the patch, which turn with the hand, `at` a point of the hand: its wrist. Pose and
///   twist of the body are relative to the hand, in these axes, at the start and in samples; its loads keep
///   the axes of the world, with which those of the patch coincide at time 0.
/// - under a [prescribed](crate::Body::Prescribed) twist it is in axes of the patch, as that twist is, `at` a
///   point of the patch.
///
/// ```
/// use bristle::MovingSurface;
/// let belt = MovingSurface::new([0.2, 0.0, 0.0]);
/// let turntable = MovingSurface { at: [0.0, 0.15], ..MovingSurface::new([0.0, 0.0, 3.0]) };
/// # let _ = (belt, turntable);
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct MovingSurface {
    /// The twist [m/s, m/s, rad/s] of the surface's point at `at`.
    pub twist: [Signal; 3],
    /// The point that has it \[m\].
    pub at: [f64; 2],
}

impl MovingSurface {
    /// A surface whose point at the origin has a constant twist [m/s, m/s, rad/s].
    pub fn new(twist: impl Into<Twist>) -> Self {
        Self { twist: twist.into().to_array().map(Signal::constant), at: [0.0; 2] }
    }

    /// The fields of `at` of `field` in range; signals are checked with all inputs of a contact.
    pub(crate) fn validate(&self, field: &str) -> Result<(), ParameterError> {
        SURFACE_AT.range.check(&format!("{field}.at.0"), self.at[0])?;
        SURFACE_AT.range.check(&format!("{field}.at.1"), self.at[1])
    }

    /// The signals by the names of their fields in files.
    pub(crate) fn signals(&self) -> impl Iterator<Item = (&'static str, &Signal)> {
        ["inputs.surface.vx", "inputs.surface.vy", "inputs.surface.w"].into_iter().zip(&self.twist)
    }

    /// What its signals add to the twist at the origin, in three slots from `first` on.
    pub(crate) fn feeds(&self, first: usize) -> [Feed<'_>; 5] {
        let (Self { twist: [vx, vy, w], at: [x, y] }, feed) =
            (self, |signal, scale, slot| Feed { signal, scale, slot: first + slot });
        // v_origin = v_at - w z^ x at
        [feed(vx, 1.0, 0), feed(w, *y, 0), feed(vy, 1.0, 1), feed(w, -*x, 1), feed(w, 1.0, 2)]
    }

    /// Its twist at the origin at time `t` \[s\].
    pub(crate) fn twist_at(&self, t: f64) -> Twist {
        self.twist_of(|signal| signal.value(t))
    }

    /// The same at the values `of` its signals.
    pub(crate) fn twist_of(&self, of: impl Fn(&Signal) -> f64) -> Twist {
        Twist::from(self.twist.each_ref().map(of)).at(self.at.map(|x| -x))
    }
}
