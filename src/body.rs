//! The moving body: its inertia and how its twist becomes the patch's.

use crate::error::{ParameterError, check};
use crate::planar::{Pose, Twist, Wrench};

/// How patch and body hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The patch twist is given; nothing is solved.
    Prescribed,
    /// In-hand sliding: patch and bristles are fixed in the world, the body's centre of mass is at
    /// the pose `(x, y)` in the patch frame. The grid does not turn with the object.
    Gripper,
    /// A body that slides on a table: patch and bristles turn with the body.
    Body,
    /// Grid at the centre of mass with the axes of the world (the paper's drift runs).
    World,
}

/// A planar rigid body in contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// How patch and body hang together.
    pub kind: Kind,
    /// Mass [kg], > 0.
    pub mass: f64,
    /// Moment of inertia about the centre of mass [kg m^2], > 0.
    pub inertia: f64,
    /// Number `n_s` of equal pads, >= 1; the normal force is per pad.
    pub pads: u32,
    /// Patch origin from the centre of mass, in the body frame [m] (kind `body` only).
    pub offset: [f64; 2],
}

impl Body {
    /// A patch whose twist is prescribed.
    #[must_use]
    pub const fn prescribed() -> Self {
        Self { kind: Kind::Prescribed, mass: 1.0, inertia: 1.0, pads: 1, offset: [0.0; 2] }
    }

    /// Checks mass, inertia, pads and offset.
    ///
    /// # Errors
    /// The first field out of range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        check("body.mass", self.mass, "a finite mass > 0 [kg]", self.mass > 0.0)?;
        check("body.inertia", self.inertia, "a finite moment of inertia > 0 [kg m^2]", self.inertia > 0.0)?;
        check("body.pads", f64::from(self.pads), "1 to 1000", (1..=1000).contains(&self.pads))?;
        check("body.offset[0]", self.offset[0], "a finite length [m]", true)?;
        check("body.offset[1]", self.offset[1], "a finite length [m]", true)
    }

    /// The map from the body's twist to the patch's at pose `q`.
    #[must_use]
    pub fn transform(&self, q: Pose) -> Transform {
        match self.kind {
            Kind::Prescribed | Kind::World => Transform { cos: 1.0, sin: 0.0, o: [0.0; 2] },
            Kind::Gripper => Transform { cos: 1.0, sin: 0.0, o: [-q.x, -q.y] },
            Kind::Body => Transform { cos: q.theta.cos(), sin: q.theta.sin(), o: self.offset },
        }
    }
}

/// `T(q)`, `docs/model.md` (22): rotates by `-theta`, then moves the reference point by `o` [m] to the patch
/// origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    /// Cosine of the grid's orientation.
    pub cos: f64,
    /// Sine of the grid's orientation.
    pub sin: f64,
    /// Patch origin from the centre of mass, in the patch frame [m].
    pub o: [f64; 2],
}

impl Transform {
    /// Twist at the patch origin in the patch frame, of a body's twist at its centre of mass in the world.
    #[must_use]
    pub fn twist(&self, u: Twist) -> Twist {
        let Self { cos, sin, o } = *self;
        Twist::new(cos * u.vx + sin * u.vy, -sin * u.vx + cos * u.vy, u.w).at(o)
    }

    /// The inverse of [`Transform::twist`].
    #[must_use]
    pub fn body_twist(&self, patch: Twist) -> Twist {
        let Self { cos, sin, o } = *self;
        let v = patch.at([-o[0], -o[1]]);
        Twist::new(cos * v.vx - sin * v.vy, sin * v.vx + cos * v.vy, v.w)
    }

    /// `T^T W`: the wrench at the centre of mass in the world, of one at the patch origin in the patch frame.
    #[must_use]
    pub fn wrench(&self, patch: Wrench) -> Wrench {
        let Self { cos, sin, o } = *self;
        let w = patch.about([-o[0], -o[1]]);
        Wrench::new(cos * w.fx - sin * w.fy, sin * w.fx + cos * w.fy, w.tau)
    }

    /// The 3 x 3 matrix of [`Transform::twist`].
    #[must_use]
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
        let body = Body { kind: Kind::Body, mass: 1.0, inertia: 1.0, pads: 1, offset: [0.02, -0.03] };
        let t = body.transform(Pose::new(0.1, 0.2, 0.7));
        let (u, w) = (Twist::new(0.3, -0.1, 2.0), Wrench::new(1.0, 0.5, -0.2));
        assert_relative_eq!(t.wrench(w).power(u), w.power(t.twist(u)), max_relative = 1e-13);
        let back = t.body_twist(t.twist(u));
        assert_relative_eq!(back.vx, u.vx, max_relative = 1e-13);
        assert_relative_eq!(back.vy, u.vy, max_relative = 1e-13);
        let by_matrix = t.matrix() * nalgebra::Vector3::from(u.to_array());
        assert_relative_eq!(by_matrix[1], t.twist(u).vy, max_relative = 1e-13);
        // In the hand, with the centre of mass at p: U = (vx + w py, vy - w px, w).
        let held = Body { kind: Kind::Gripper, ..body }.transform(Pose::new(0.1, 0.2, 0.7));
        assert_eq!(held.twist(u), Twist::new(0.3 + 2.0 * 0.2, -0.1 - 2.0 * 0.1, 2.0));
    }
}
