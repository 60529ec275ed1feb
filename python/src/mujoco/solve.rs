//! The wrenches that friction has after the twists that they lead to, `w = W(u(w), N(w))`.
//!
//! MuJoCo's step is evaluated, and then Newton's method goes on its linear model, until the two agree. With
//! the derivative S of the twists over the wrenches, the energy `R^T S R` of the error R falls along a Newton
//! direction, so that a step that does not lower it is halved.

use bristle::{Batch, EngineError, Twist};

use super::LEAST_FORCE;
use super::abi::Handle;
use super::dense::{add, dot, solve, times};
use super::step::Step;

/// Most directions in which MuJoCo's step is evaluated, most Newton steps between two of them, and most
/// halvings of each.
const MOST_TRIALS: usize = 30;
const MOST_NEWTON: usize = 30;
const MOST_SHORTER_TRIALS: usize = 6;
const MOST_HALVINGS: usize = 12;
/// Trials without half the error of the best one before, after which the error is taken for what MuJoCo's
/// solver leaves over.
const MOST_STALE: usize = 4;
/// Largest error of the friction at the end of a step, as a share of the largest normal force.
const TOLERANCE: f64 = 1e-5;

/// Friction under twists and normal forces.
struct Friction {
    /// The wrenches.
    force: Vec<f64>,
    /// A block for each pad: derivatives over its twist.
    gain: Vec<[[f64; 3]; 3]>,
    /// Derivatives over the normal force.
    slope: Vec<[f64; 3]>,
}

/// How a search for the wrenches ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// At a solution.
    Solution,
    /// At a solution of the linear model, and as near to one as MuJoCo's solver lets it come.
    Nearly,
    /// At no solution of the linear model either.
    Nothing,
}

/// A guess of the wrenches and how wrong it is.
struct Trial {
    wrench: Vec<f64>,
    friction: Friction,
    error: Vec<f64>,
    energy: f64,
}

impl Friction {
    /// `told`: what the batch has as normal forces.
    fn new(batch: &mut Batch, told: &[f64], dt: f64, twists: &[f64], normal: &[f64]) -> Result<Self, EngineError> {
        let n = told.len();
        let mut friction =
            Self { force: Vec::with_capacity(3 * n), gain: Vec::with_capacity(n), slope: Vec::with_capacity(n) };
        for (k, u) in twists.chunks_exact(3).enumerate() {
            let answer = batch.respond(k, Twist::new(u[0], u[1], u[2]), dt)?;
            let slope = answer.wrench.to_array().map(|w| w / told[k]);
            friction.force.extend(slope.map(|w| normal[k] * w));
            friction.gain.push(answer.gain.map(|row| row.map(|g| g * (normal[k] / told[k]))));
            friction.slope.push(slope);
        }
        Ok(friction)
    }

    /// How far wrenches are from those of friction.
    fn error(&self, wrench: &[f64]) -> Vec<f64> {
        wrench.iter().zip(&self.force).map(|(a, b)| a - b).collect()
    }

    /// An error of wrenches over the largest normal force; of moments over the arm at which friction acts.
    fn size(&self, error: &[f64], normal: &[f64]) -> f64 {
        let largest = normal.iter().fold(LEAST_FORCE, |a, b| a.max(*b));
        let of_pad = |(e, gain): (&[f64], &[[f64; 3]; 3])| {
            let (along, about) = (gain[0][0].abs(), gain[2][2].abs());
            let arm = if along > 0.0 && about > 0.0 { (about / along).sqrt() } else { 1.0 };
            e[0].abs().max(e[1].abs()).max(e[2].abs() / arm)
        };
        error.chunks_exact(3).zip(&self.gain).map(of_pad).fold(0.0, f64::max) / largest
    }

    /// `1 - (dW/du) S - (dW/dN) T`.
    fn matrix(&self, step: &Step) -> Vec<f64> {
        let n = 3 * self.gain.len();
        let mut matrix = vec![0.0; n * n];
        for (k, (gain, slope)) in self.gain.iter().zip(&self.slope).enumerate() {
            for i in 0..3 {
                let row = &mut matrix[(3 * k + i) * n..(3 * k + i + 1) * n];
                row[3 * k + i] = 1.0;
                for (j, g) in gain[i].iter().enumerate() {
                    add(row, -g, &step.compliance[(3 * k + j) * n..(3 * k + j + 1) * n]);
                }
                add(row, -slope[i], &step.pressure[k * n..(k + 1) * n]);
            }
        }
        matrix
    }
}

impl Trial {
    fn new(wrench: Vec<f64>, friction: Friction, compliance: &[f64]) -> Self {
        let error = friction.error(&wrench);
        let energy = dot(&error, &times(compliance, &error));
        Self { wrench, friction, error, energy }
    }

    fn size(&self, normal: &[f64]) -> f64 {
        self.friction.size(&self.error, normal)
    }
}

impl Step {
    /// Solves for the wrenches, from a guess; `twist` are those of the step before. MuJoCo's step has then
    /// been evaluated under them.
    pub fn solve(
        &mut self,
        mujoco: &mut Handle<'_>,
        batch: &mut Batch,
        told: &[f64],
        wrench: &mut Vec<f64>,
        twist: &[f64],
    ) -> Result<(), EngineError> {
        let dt = self.dt();
        self.evaluate(mujoco, wrench, None);
        let mut found = self.search(mujoco, batch, told, wrench, Some(twist))?;
        if found == Found::Nothing {
            // A load that exceeds friction which falls with speed: the error is least where friction is
            // largest, at rest nearly. The solution is beyond the fall, where friction is that of sliding, so
            // that the search begins there.
            let nearest = wrench.clone();
            wrench.fill(0.0);
            self.evaluate(mujoco, wrench, None);
            *wrench = self.friction(batch, told, dt)?.force;
            self.evaluate(mujoco, wrench, None);
            found = self.search(mujoco, batch, told, wrench, None)?;
            if found == Found::Nothing {
                *wrench = nearest;
                self.evaluate(mujoco, wrench, None);
            }
        }
        if found != Found::Solution {
            self.counts.unconverged += 1;
        }
        Ok(())
    }

    /// Searches for the wrenches from a guess under which MuJoCo's step has been evaluated, and leaves the
    /// last ones, evaluated. `twist` is another guess for the first linear models, if there is one.
    fn search(
        &mut self,
        mujoco: &mut Handle<'_>,
        batch: &mut Batch,
        told: &[f64],
        wrench: &mut Vec<f64>,
        twist: Option<&[f64]>,
    ) -> Result<Found, EngineError> {
        let dt = self.dt();
        let mut friction = self.friction(batch, told, dt)?;
        let (mut trials, mut stale, mut best, mut is_solved) = (0, 0, f64::INFINITY, true);
        loop {
            let size = friction.size(&friction.error(wrench), &self.normal);
            if size < TOLERANCE {
                return Ok(Found::Solution);
            }
            stale = if size < 0.5 * best { 0 } else { stale + 1 };
            best = best.min(size);
            if trials == MOST_TRIALS || stale == MOST_STALE {
                return Ok(if is_solved { Found::Nearly } else { Found::Nothing });
            }
            trials += 1;
            self.linearise(mujoco);
            let start = Trial::new(wrench.clone(), friction, &self.compliance);
            let energy = start.energy;
            let (target, responses, solved) = self.on_linear_model(batch, told, dt, twist, start)?;
            is_solved = solved;
            self.counts.responses += responses;
            let acceleration = mujoco.acceleration().to_vec();
            let (before, mut share, mut halvings) = (wrench.clone(), 1.0, 0);
            friction = loop {
                let mix = |(a, b): (&f64, &f64)| a + share * (b - a);
                *wrench = before.iter().zip(&target).map(mix).collect();
                self.evaluate(mujoco, wrench, Some((&acceleration, &before)));
                let friction = self.friction(batch, told, dt)?;
                let error = friction.error(wrench);
                if dot(&error, &times(&self.compliance, &error)) < energy || halvings == MOST_SHORTER_TRIALS {
                    break friction;
                }
                (share, halvings) = (0.5 * share, halvings + 1);
            };
        }
    }

    /// Friction under the twists and normal forces that were evaluated last.
    fn friction(&mut self, batch: &mut Batch, told: &[f64], dt: f64) -> Result<Friction, EngineError> {
        self.counts.responses += 1;
        Friction::new(batch, told, dt, &self.twist, &self.normal)
    }

    /// The wrenches that solve the problem on the linear model about the evaluation, which is `start`, how
    /// often friction was evaluated, and whether they do solve it.
    fn on_linear_model(
        &self,
        batch: &mut Batch,
        told: &[f64],
        dt: f64,
        twist: Option<&[f64]>,
        start: Trial,
    ) -> Result<(Vec<f64>, u64, bool), EngineError> {
        let mut responses = 0;
        let origin = start.wrench.clone();
        let mut at = |wrench: Vec<f64>| {
            responses += 1;
            let change: Vec<f64> = wrench.iter().zip(&origin).map(|(a, b)| a - b).collect();
            let mut twists = times(&self.compliance, &change);
            add(&mut twists, 1.0, &self.twist);
            let mut normal = times(&self.pressure, &change);
            normal.iter_mut().zip(&self.normal).for_each(|(to, n)| *to = (*to + n).max(0.0));
            Ok::<_, EngineError>(Trial::new(
                wrench,
                Friction::new(batch, told, dt, &twists, &normal)?,
                &self.compliance,
            ))
        };
        // What sticks goes on as in the step before: there friction is linear, and one Newton step is enough.
        let mut now = start;
        if let Some(twist) = twist {
            let first = at(self.wrench_for(&origin, twist))?;
            if first.energy < now.energy {
                now = first;
            }
        }
        for _ in 0..MOST_NEWTON {
            if now.size(&self.normal) < 0.1 * TOLERANCE {
                break;
            }
            let mut direction: Vec<f64> = now.error.iter().map(|e| -e).collect();
            solve(&mut now.friction.matrix(self), &mut direction, 1);
            let mut share = 1.0;
            for halving in 1.. {
                let mut wrench = now.wrench.clone();
                add(&mut wrench, share, &direction);
                let next = at(wrench)?;
                if next.energy < now.energy || halving == MOST_HALVINGS {
                    now = next;
                    break;
                }
                share *= 0.5;
            }
        }
        let is_solved = now.size(&self.normal) < TOLERANCE;
        Ok((now.wrench, responses, is_solved))
    }

    /// The wrenches under which the linear model has some twists, as nearly as it can.
    fn wrench_for(&self, origin: &[f64], twist: &[f64]) -> Vec<f64> {
        let n = origin.len();
        let mut matrix = self.compliance.clone();
        let small = 1e-9 * (0..n).map(|i| matrix[i * n + i]).sum::<f64>() / n as f64;
        (0..n).for_each(|i| matrix[i * n + i] += small);
        let mut wrench: Vec<f64> = twist.iter().zip(&self.twist).map(|(a, b)| a - b).collect();
        solve(&mut matrix, &mut wrench, 1);
        add(&mut wrench, 1.0, origin);
        wrench
    }
}
