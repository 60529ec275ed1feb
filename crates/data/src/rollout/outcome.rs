//! The outcome of a run for a contact: stuck, slipped, spun or failed.

use bristle::contact::{Contact, Origin};
use bristle::engine::Trajectories;

/// A contact has slipped if its body's point at the centre of pressure ends further than this \[m\]
/// from where it started.
pub const SLIPPED: f64 = 1e-4;
/// A contact has spun if its body ends rotated by more than this \[rad\]: one degree.
pub const ROTATION_SPUN: f64 = std::f64::consts::PI / 180.0;

/// The outcome of a run for a contact; every contact has exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Neither slipped nor spun.
    Stuck,
    /// Slipped without spinning.
    Slipped,
    /// Spun without slipping.
    Spun,
    /// Slipped and spun.
    SlippedAndSpun,
    /// Became non-finite, or took more steps than it may.
    Failed,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Stuck, Self::Slipped, Self::Spun, Self::SlippedAndSpun, Self::Failed];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stuck => "stuck",
            Self::Slipped => "slipped only",
            Self::Spun => "spun only",
            Self::SlippedAndSpun => "slipped and spun",
            Self::Failed => "failed",
        }
    }
}

/// The net motion of a contact from the start to the end of a run, or to where it left. NaN where the contact
/// failed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetMotion {
    /// Distance \[m\] by which the body's point that was at the centre of pressure has moved, relative to the
    /// surface where that moves; of a prescribed motion the integral of its velocity there, in the axes of
    /// the patch.
    pub displacement: f64,
    /// Rotation of the body \[rad\], counter-clockwise, relative to the surface where that turns.
    pub rotation: f64,
}

impl NetMotion {
    /// The net motion of contact `k` of a block.
    pub fn of(contact: &Contact, trajectories: &Trajectories, k: usize) -> Self {
        let poses = &trajectories.pose[trajectories.of(k)];
        let end = trajectories.status[k].left.map_or(poses.len(), |sample| sample as usize + 1);
        let (Some(&first), Some(&last)) = (poses.first(), poses[..end].last()) else { return Self::default() };
        let time = trajectories.time[end - 1];
        let [displacement, rotation] = Origin::new(contact, first).moved_on(contact, last, time);
        Self { displacement, rotation }
    }

    /// The outcome that follows from the motion, for a contact that `failed` or not.
    pub fn outcome(&self, failed: bool) -> Outcome {
        match (failed, self.slipped(), self.spun()) {
            (true, ..) => Outcome::Failed,
            (_, true, true) => Outcome::SlippedAndSpun,
            (_, true, _) => Outcome::Slipped,
            (_, _, true) => Outcome::Spun,
            _ => Outcome::Stuck,
        }
    }

    /// Whether the contact has slipped.
    pub fn slipped(&self) -> bool {
        self.displacement > SLIPPED
    }

    /// Whether the contact has spun.
    pub fn spun(&self) -> bool {
        self.rotation.abs() > ROTATION_SPUN
    }
}
