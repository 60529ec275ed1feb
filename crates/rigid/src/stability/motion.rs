//! Motions that prove that a load does not hold.

use super::assembly::{Assembly, PointContact, SpatialWrench, cross, dot};
use crate::cone::{Fit, Section};

/// A motion of all bodies that forces inside the friction cones cannot slow down as much as the loads drive
/// it, `docs/model.md` (208). It is a proof by virtual power, which needs no trust in how it was found: the
/// powers here are computed from the motion alone. Contacts that slide separate in it as the cones are steep,
/// so that it is not the motion that begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion {
    /// Of every body: velocity of the point at the origin [m/s], angular velocity [rad/s]. The largest
    /// component of the velocities in the middle of a body's contacts, and of the turns times the farthest of
    /// these, is 1 m/s.
    pub twists: Vec<[f64; 6]>,
    /// Power of the fixed part \[W\].
    pub fixed_power: f64,
    /// Power of the load at factor 1 \[W\].
    pub load_power: f64,
    /// The most power that contacts with a largest normal force can take \[W\].
    pub resistance: f64,
    /// The most power that a normal force of 1 N of the other contacts can take [W/N]: zero but for rounding.
    pub leak: f64,
}

impl Motion {
    pub(super) fn new(of: &Assembly, twists: Vec<[f64; 6]>) -> Self {
        let mut motion = Self { twists, fixed_power: 0.0, load_power: 0.0, resistance: 0.0, leak: 0.0 };
        for (body, twist) in of.bodies.iter().zip(&motion.twists) {
            let power = |w: &SpatialWrench| dot(w.force, velocity(twist)) + dot(w.moment, turn(twist));
            motion.fixed_power += power(&body.fixed);
            motion.load_power += power(&body.load);
        }
        for contact in &of.contacts {
            let taken = (-least_power(contact, &motion.twists)).max(0.0);
            if contact.most.is_finite() {
                motion.resistance += taken * contact.most;
            } else {
                motion.leak = motion.leak.max(taken);
            }
        }
        motion
    }

    /// Power of the fixed part and `factor` times the load \[W\].
    pub fn power(&self, factor: f64) -> f64 {
        self.fixed_power + factor * self.load_power
    }

    /// Sum of the normal forces \[N\] of contacts without a largest one below which `factor` times the load
    /// is proven not to be held: infinite but for rounding, zero if the motion proves nothing about this
    /// factor.
    pub fn proves_below(&self, factor: f64) -> f64 {
        let power = self.power(factor) - self.resistance;
        if power > 0.0 { power / self.leak } else { 0.0 }
    }

    /// The factor above which the motion proves that loads are not held; infinite if it proves nothing of
    /// that kind.
    pub fn bound(&self) -> f64 {
        if self.load_power > 0.0 { (self.resistance - self.fixed_power) / self.load_power } else { f64::INFINITY }
    }
}

fn velocity(twist: &[f64; 6]) -> [f64; 3] {
    [twist[0], twist[1], twist[2]]
}

fn turn(twist: &[f64; 6]) -> [f64; 3] {
    [twist[3], twist[4], twist[5]]
}

/// Velocity of the contact's body at the contact, and its angular velocity, less those of the body that it
/// touches.
fn relative(contact: &PointContact, twists: &[[f64; 6]]) -> ([f64; 3], [f64; 3]) {
    let at = |body: usize| {
        let (v, w) = (velocity(&twists[body]), turn(&twists[body]));
        let round = cross(w, contact.position);
        ([0, 1, 2].map(|k| v[k] + round[k]), w)
    };
    let (v, w) = at(contact.body);
    let (v_on, w_on) = contact.on.map_or(([0.0; 3], [0.0; 3]), at);
    ([0, 1, 2].map(|k| v[k] - v_on[k]), [0, 1, 2].map(|k| w[k] - w_on[k]))
}

/// Least power of a force of the contact with a normal part of 1 N [W/N].
fn least_power(contact: &PointContact, twists: &[[f64; 6]]) -> f64 {
    let (cone, (v, w)) = (&contact.cone, relative(contact, twists));
    let [t, b, n] = cone.frame().to_contact(v);
    let twist = contact.torsion * dot(w, cone.frame().axes()[2]).abs();
    match cone.section() {
        Section::Circle => n - (cone.mu() * t.hypot(b)).hypot(twist),
        Section::Polygon(polygon) => {
            let rays = polygon.rays(cone.mu());
            let slide = rays.iter().map(|ray| -(ray[0] * t + ray[1] * b)).fold(f64::NEG_INFINITY, f64::max);
            n - if polygon.fit == Fit::Inner { slide.max(twist) } else { slide + twist }
        }
    }
}
