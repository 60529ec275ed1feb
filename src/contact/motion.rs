//! The distance and the rotation of a contact's body since its start.

use super::Contact;
use crate::body::{Body, Frame};
use crate::plan::{ALL_SLIDES, StopWhen};
use crate::planar::Pose;

/// Where a body was at its start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin {
    /// Pose at the start.
    pub start: Pose,
    /// The point at the centre of pressure, from the centre of mass in the axes of the body; of a prescribed
    /// motion from the patch origin, in axes that turn with the patch.
    pub arm: [f64; 2],
    is_prescribed: bool,
}

impl Origin {
    /// Of a contact whose first pose is `start`.
    pub fn new(contact: &Contact, start: Pose) -> Self {
        Self::of(&contact.body, contact.patch.cop(), start)
    }

    /// Of a body on a patch with the centre of pressure `cop` [m], whose first pose is `start`.
    pub(crate) fn of(body: &Body, cop: [f64; 2], start: Pose) -> Self {
        let (arm, is_prescribed) = match body {
            Body::Prescribed { .. } => (cop, true),
            Body::Free(body) => match body.frame {
                Frame::Gripper => (rotate([cop[0] - start.x, cop[1] - start.y], -start.theta), false),
                Frame::Body { offset } => ([offset[0] + cop[0], offset[1] + cop[1]], false),
                Frame::World => (rotate(cop, -start.theta), false),
            },
        };
        Self { start, arm, is_prescribed }
    }

    /// Distance \[m\] of the point at pose `q` from where it started, and rotation \[rad\]; of a prescribed
    /// motion, whose pose is the integral of the twist at the origin, the integral of the point's velocity.
    pub fn moved(&self, q: Pose) -> [f64; 2] {
        let turn = q.theta - self.start.theta;
        let moved = if self.is_prescribed {
            [q.x - self.start.x - turn * self.arm[1], q.y - self.start.y + turn * self.arm[0]]
        } else {
            let ([x0, y0], [x1, y1]) = (self.point(self.start), self.point(q));
            [x1 - x0, y1 - y0]
        };
        [moved[0].hypot(moved[1]), turn]
    }

    /// [`Origin::moved`] relative to the surface of the contact, at time `t` \[s\]: a body that a belt
    /// carries along has not moved. Poses in a hand are relative to it anyway.
    pub fn moved_on(&self, contact: &Contact, q: Pose, t: f64) -> [f64; 2] {
        let Some(surface) = &contact.inputs.surface else { return self.moved(q) };
        let on_hand = matches!(&contact.body, Body::Free(body) if body.frame == Frame::Gripper);
        if on_hand {
            return self.moved(q);
        }
        let s = surface.moved(t, self.is_prescribed);
        if self.is_prescribed {
            return self.moved(Pose::new(q.x - s.x, q.y - s.y, q.theta - s.theta));
        }
        let [x, y] = rotate([q.x - s.x, q.y - s.y], -s.theta);
        self.moved(Pose::new(x, y, q.theta - s.theta))
    }

    /// The place of the point of a free body at a pose \[m\].
    pub fn point(&self, q: Pose) -> [f64; 2] {
        let [x, y] = rotate(self.arm, q.theta);
        [q.x + x, q.y + y]
    }
}

fn rotate([x, y]: [f64; 2], angle: f64) -> [f64; 2] {
    let (sin, cos) = angle.sin_cos();
    [cos * x - sin * y, sin * x + cos * y]
}

/// Whether a contact has left, sample by sample.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    origin: Origin,
    /// Time [s] since which all samples have slid.
    slides_since: Option<f64>,
}

/// A share of [`StopWhen::slip_for`] by which times of samples may be rounded.
pub const TIME_SLACK: f64 = 1e-5;

impl From<Origin> for Departure {
    /// Of a contact that starts there.
    fn from(origin: Origin) -> Self {
        Self { origin, slides_since: None }
    }
}

impl Departure {
    /// Whether it has left in a sample.
    pub fn has_left(&mut self, when: &StopWhen, time: f64, pose: Pose, slip: f64) -> bool {
        let [distance, turn] = self.origin.moved(pose);
        self.slides_since = if slip >= ALL_SLIDES { self.slides_since.or(Some(time)) } else { None };
        let slides_for = self.slides_since.map(|since| time - since);
        when.displacement.is_some_and(|most| distance >= most)
            || when.rotation.is_some_and(|most| turn.abs() >= most)
            || when.slip_for.zip(slides_for).is_some_and(|(most, time)| time >= (1.0 - TIME_SLACK) * most)
    }
}
