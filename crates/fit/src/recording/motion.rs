//! The motion of a prescribed patch, from recorded positions or velocities.

use bristle::error::ParameterError;
use bristle::schedule::Signal;

use super::Recording;

/// A twist `[vx, vy, w]` as points: from which time \[s\] on which value is held.
pub type TwistSteps = [Vec<(f64, f64)>; 3];

impl Recording {
    /// The twist `[vx, vy, w]` of the patch in its own frame [m/s, m/s, rad/s], each held from one sample
    /// until the next and 0 after the last; nothing if the recording has neither positions nor velocities.
    ///
    /// Positions are those of the patch's reference point in axes that do not turn. They become velocities by
    /// difference, so that a patch with this twist is at the recorded pose at every sample. If it turns by
    /// `d` from one sample to the next, from the angle `theta` on, and its point moves by `(dx, dy)`, the
    /// twist that is constant in the frame of the patch is
    ///
    /// ```text
    /// (vx, vy) = R(-(theta + d/2)) (dx, dy) / (sinc(d/2) dt),    w = d/dt,    sinc(a) = sin(a)/a
    /// ```
    ///
    /// Velocities are taken as they are, in the frame of the patch. Across a gap the patch is moved evenly
    /// from the one pose to the other: what happened there is not known, and neither are the bristles after
    /// it.
    ///
    /// # Errors
    /// Numbers that no signal may have.
    pub fn twist(&self) -> Result<Option<[Signal; 3]>, ParameterError> {
        let Some([vx, vy, w]) = self.steps() else { return Ok(None) };
        Ok(Some([Signal::steps(&vx)?, Signal::steps(&vy)?, Signal::steps(&w)?]))
    }

    /// The points of [`Recording::twist`].
    pub fn steps(&self) -> Option<TwistSteps> {
        let moves = self.inputs.iter().any(|c| c.name.starts_with("position.") || c.name.starts_with("twist."));
        if !moves || self.time.len() < 2 {
            return None;
        }
        let mut points = [const { Vec::new() }; 3];
        for k in 0..self.time.len() - 1 {
            let twist = self.twist_after(k);
            points.iter_mut().zip(twist).for_each(|(points, v)| points.push((self.time[k], v)));
        }
        let end = self.time[self.time.len() - 1];
        points.iter_mut().for_each(|points| points.push((end, 0.0)));
        Some(points)
    }

    /// How far the patch moves along x, y and about z, in its own frame, from the one end to the other [m, m,
    /// rad].
    pub fn travel(&self) -> [f64; 3] {
        let Some(steps) = self.steps() else { return [0.0; 3] };
        steps.map(|points| {
            let moved = points.windows(2).map(|p| p[0].1 * (p[1].0 - p[0].0));
            let [mut at, mut low, mut high] = [0.0f64; 3];
            moved.for_each(|by| {
                at += by;
                (low, high) = (low.min(at), high.max(at));
            });
            high - low
        })
    }

    /// An input that is not a motion as a signal: straight lines between the samples.
    ///
    /// # Errors
    /// Numbers that no signal may have.
    pub fn signal(&self, name: &str) -> Result<Option<Signal>, ParameterError> {
        let Some(input) = self.input(name) else { return Ok(None) };
        let points: Vec<(f64, f64)> = self.time.iter().copied().zip(input.values.iter().copied()).collect();
        Signal::linear(&points).map(Some)
    }

    /// The twist from sample `k` until the next.
    fn twist_after(&self, k: usize) -> [f64; 3] {
        let at = |name: &str, k: usize| self.input(name).map_or(0.0, |channel| channel.values[k]);
        let velocity = ["twist.vx", "twist.vy", "twist.w"].map(|name| at(name, k));
        let step = |name: &str| at(name, k + 1) - at(name, k);
        let duration = self.time[k + 1] - self.time[k];
        let [dx, dy, d] = ["position.x", "position.y", "position.theta"].map(step);
        let (sin, cos) = (at("position.theta", k) + 0.5 * d).sin_cos();
        let sinc = if d == 0.0 { 1.0 } else { (0.5 * d).sin() / (0.5 * d) };
        // A half turn from one sample to the next has no direction that could be told.
        let per = 1.0 / (duration * sinc.max(0.1));
        let moved = [(cos * dx + sin * dy) * per, (cos * dy - sin * dx) * per, d / duration];
        [velocity[0] + moved[0], velocity[1] + moved[1], velocity[2] + moved[2]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Channel, Sign};

    fn channel(name: &str, values: Vec<f64>) -> Channel {
        Channel { name: name.to_owned(), values, sign: Sign::Plus }
    }

    /// The pose that a patch with these held twists has at the samples, from the pose of the first: by the
    /// exponential map of a planar motion, which is exact for a twist that is constant in the patch's frame.
    #[test]
    fn a_patch_with_the_twist_is_at_every_recorded_pose() {
        let time: Vec<f64> = (0..40).map(|k| 0.05 * f64::from(k) + 0.01 * f64::from(k % 3)).collect();
        let of = |f: &dyn Fn(f64) -> f64| time.iter().map(|t| f(*t)).collect::<Vec<_>>();
        let poses = [of(&|t| 0.3 * (3.0 * t).sin()), of(&|t| 0.2 * t * t), of(&|t| 4.0 * (2.0 * t).cos() + t)];
        let names = ["position.x", "position.y", "position.theta"];
        let inputs = names.iter().zip(&poses).map(|(name, v)| channel(name, v.clone())).collect();
        let recording = Recording { time: time.clone(), inputs, ..Recording::default() };
        let twist = recording.twist().unwrap().unwrap();
        let (mut x, mut y, mut theta) = (poses[0][0], poses[1][0], poses[2][0]);
        for k in 0..time.len() - 1 {
            let (middle, dt) = (0.5 * (time[k] + time[k + 1]), time[k + 1] - time[k]);
            let [vx, vy, w] = [0, 1, 2].map(|i| twist[i].value(middle));
            let d = w * dt;
            let (a, b) = (d.sin() / w, (1.0 - d.cos()) / w);
            let (px, py) = (a * vx - b * vy, b * vx + a * vy);
            x += theta.cos() * px - theta.sin() * py;
            y += theta.sin() * px + theta.cos() * py;
            theta += d;
            for (found, pose) in [x, y, theta].iter().zip(&poses) {
                approx::assert_abs_diff_eq!(*found, pose[k + 1], epsilon = 1e-12);
            }
        }
        assert_eq!(twist[0].value(time[39] + 1.0), 0.0);
    }

    #[test]
    fn forces_are_lines_between_samples() {
        let inputs = vec![channel("normal_force", vec![1.0, 3.0, 3.0])];
        let recording = Recording { time: vec![0.0, 1.0, 4.0], inputs, ..Recording::default() };
        assert_eq!(recording.signal("normal_force").unwrap().unwrap().value(0.5), 2.0);
        assert!(recording.signal("wrench.fx").unwrap().is_none() && recording.twist().unwrap().is_none());
    }
}
