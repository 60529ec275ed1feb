//! The motion of a contact relative to its surface.

use super::Contact;
use crate::body::{Body, Frame};
use crate::planar::{Pose, Twist};

impl Contact {
    /// The twist of the patch at its origin relative to the surface, in the axes of the patch, of a contact
    /// at pose `q` with twist `u`: of its body as the step has it, or the one that is given. `surface` is the
    /// twist of the surface at the origin, `turn` the angle of a hand since the start \[rad\].
    pub(crate) fn slip_twist(&self, q: Pose, turn: f64, u: Twist, surface: Twist) -> Twist {
        let Body::Free(body) = &self.body else { return difference(u, surface) };
        match body.frame {
            Frame::Gripper => {
                let (sin, cos) = turn.sin_cos();
                let own = Twist::new(cos * u.vx + sin * u.vy, -sin * u.vx + cos * u.vy, u.w);
                difference(body.frame.transform(q).twist(own), surface)
            }
            frame => frame.transform(q).twist(difference(u, surface.at([q.x, q.y]))),
        }
    }

    /// The twist that samples have, of a contact whose body has the twist `u` and whose patch slips with
    /// `slip`: relative to a hand that moves.
    pub(crate) fn sampled_twist(&self, q: Pose, u: Twist, slip: Twist) -> Twist {
        if self.is_carried() { slip.at([q.x, q.y]) } else { u }
    }

    /// Whether a moving hand carries the patch along.
    pub(crate) fn is_carried(&self) -> bool {
        self.inputs.surface.is_some() && matches!(self.body.free().map(|body| body.frame), Some(Frame::Gripper))
    }

    /// The first of several patches that slides against the others, on a surface of its own: such patches
    /// have no limit surface in common.
    pub fn patch_on_own_surface(&self) -> Option<usize> {
        self.inputs.patches.iter().position(|own| own.surface.is_some())
    }

    /// The twist of the surface at the origin of its frame at time `t` \[s\]; zero of one at rest.
    pub(crate) fn surface_at(&self, t: f64) -> Twist {
        self.inputs.surface.as_ref().map_or_else(Twist::default, |surface| surface.twist_at(t))
    }

    /// The twist of a free body at its centre of mass in the world at the start; zero for a prescribed
    /// motion.
    pub(crate) fn first_body_twist(&self) -> Twist {
        let (own, Pose { x, y, .. }) = (self.body.first_twist(), self.initial.pose);
        if !self.is_carried() {
            return own;
        }
        let hand = self.surface_at(0.0).at([x, y]);
        Twist::new(own.vx + hand.vx, own.vy + hand.vy, own.w + hand.w)
    }
}

fn difference(a: Twist, b: Twist) -> Twist {
    Twist::new(a.vx - b.vx, a.vy - b.vy, a.w - b.w)
}
