//! A surface that moves: a belt, a turntable, or a hand.

use crate::error::ParameterError;
use crate::parameter::SURFACE_AT;
use crate::planar::{Pose, Twist};
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

    /// Where a frame of the surface is at time `end` \[s\] that was at the origin at time 0: `p' = v + w x
    /// p`, `theta' = w`, with `v` its velocity at the origin. If its twist is in axes that turn with it
    /// (`turns`), as under a prescribed twist, the integral of the twist.
    pub fn moved(&self, end: f64, turns: bool) -> Pose {
        let mut times = vec![0.0, end];
        self.twist.iter().for_each(|signal| signal.breaks(0.0, end, |t| times.push(t)));
        times.sort_by(f64::total_cmp);
        let fastest = self.twist.iter().map(Signal::fastest).fold(0.0, f64::max);
        let longest = (0.2 / fastest.max(20.0)).max(1e-5 * end);
        let rate = |u: Twist, q: [f64; 3]| {
            let w = if turns { 0.0 } else { u.w };
            [u.vx - w * q[1], u.vy + w * q[0], u.w]
        };
        let mut q = [0.0; 3];
        for pair in times.windows(2).filter(|pair| pair[1] > pair[0]) {
            let parts = ((pair[1] - pair[0]) / longest).ceil().max(1.0);
            let h = (pair[1] - pair[0]) / parts;
            for k in 0..parts as u64 {
                // The method of Runge and Kutta, of fourth order; signals are smooth between their breaks.
                let t = pair[0] + h * k as f64;
                let [first, middle] = [t, t + 0.5 * h].map(|t| self.twist_at(t));
                let last = self.twist_of(|signal| signal.value_before(t + h));
                let plus = |by: f64, d: [f64; 3]| std::array::from_fn(|c| q[c] + by * d[c]);
                let a = rate(first, q);
                let b = rate(middle, plus(0.5 * h, a));
                let c = rate(middle, plus(0.5 * h, b));
                let d = rate(last, plus(h, c));
                q = std::array::from_fn(|i| q[i] + h / 6.0 * (a[i] + 2.0 * (b[i] + c[i]) + d[i]));
            }
        }
        Pose::new(q[0], q[1], q[2])
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A turntable goes round its axis, a belt as far as the integral of its velocity, across jumps.
    #[test]
    fn a_surface_moves_as_its_twist_says() {
        let (w, at, end) = (3.0, [0.1, -0.2], 1.7);
        let turntable = MovingSurface { at, ..MovingSurface::new([0.0, 0.0, w]) };
        let found = turntable.moved(end, false);
        let (sin, cos) = (w * end).sin_cos();
        let wanted = [at[0] - cos * at[0] + sin * at[1], at[1] - sin * at[0] - cos * at[1], w * end];
        assert!(found.to_array().iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-7), "{found:?}, not {wanted:?}");
        let steps = Signal::steps(&[(0.0, 0.2), (0.33, -0.1), (1.0, 0.5)]).unwrap();
        let belt = MovingSurface { twist: [steps, Signal::constant(0.0), Signal::constant(0.0)], at };
        let wanted = 0.2 * 0.33 - 0.1 * 0.67 + 0.5 * (end - 1.0);
        assert!((belt.moved(end, false).x - wanted).abs() < 1e-12, "{:?}", belt.moved(end, false));
        // In axes that turn with it the twist is integrated as it is, that of the point at the origin.
        let found = turntable.moved(end, true);
        let wanted = [w * at[1] * end, -w * at[0] * end, w * end];
        assert!(found.to_array().iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}, not {wanted:?}");
    }
}
