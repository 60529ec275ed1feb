//! One step: from the state at its beginning to the contact problem, and from its solution to the state at
//! the end; `docs/model.md` (LCP 5) to (LCP 9).

use nalgebra::{Matrix3, Vector3};

use super::collision::{Touch, touches};
use super::{Failure, Kind, Pair, Stop, World, WorldContact};
use crate::lcp::{ContactProblem, Impulses, Termination};

/// A step before its contacts are solved.
pub(crate) struct Prepared {
    /// Velocities and angular velocities without contact impulses.
    free: Vec<[Vector3<f64>; 2]>,
    /// Inverse masses and inertias in the world.
    inverse: Vec<(f64, Matrix3<f64>)>,
    frames: Vec<Frame>,
    pub(crate) problem: ContactProblem,
}

/// A contact with its axes and its levers.
struct Frame {
    pair: usize,
    touch: Touch,
    bodies: [usize; 2],
    /// Normal and two tangents.
    axes: [Vector3<f64>; 3],
    /// `r x axis` of both bodies.
    turns: [[Vector3<f64>; 3]; 2],
}

/// Bodies that are nearer than this share of the distance they may approach in a step take part in the
/// contact problem.
const REACH: f64 = 1.5;
/// The square of the sine of 26 degrees: below it, an axis is too near to the normal to give a tangent.
const LEAST_TANGENT: f64 = 0.19;

impl World {
    /// What contacts are to be solved in a step of `h` [s]; none of a world that has failed.
    pub(crate) fn prepare(&mut self, h: f64) -> Option<Prepared> {
        if self.failure.is_some() {
            return None;
        }
        let (mut free, mut inverse) = (Vec::new(), Vec::new());
        for (body, state) in self.bodies.iter().zip(&self.states) {
            let (m, j) = (body.inverse_mass(), body.inverse_inertia(state));
            let at = |signals: &[bristle::schedule::Signal; 3]| Vector3::from_fn(|c, _| signals[c].value(self.time));
            let (mut v, mut w) = (state.velocity, state.angular);
            if body.kind == Kind::Dynamic {
                v += h * (Vector3::from(self.gravity) + m * at(&body.force));
                w += h * (j * (at(&body.torque) - state.angular.cross(&body.spin(state))));
            }
            free.push([v, w]);
            inverse.push((m, j));
        }
        let frames = self.frames(h, &free);
        let problem = self.problem(h, &free, &inverse, &frames);
        Some(Prepared { free, inverse, frames, problem })
    }

    /// The contacts that may close in a step.
    fn frames(&self, h: f64, free: &[[Vector3<f64>; 2]]) -> Vec<Frame> {
        let (mut out, mut found) = (Vec::new(), Vec::new());
        for (index, Pair { bodies, .. }) in self.pairs.iter().enumerate() {
            let fastest = |i: usize| free[i][0].norm() + free[i][1].norm() * self.bodies[i].shape.radius();
            let reach = REACH * h * (fastest(bodies[0]) + fastest(bodies[1]));
            found.clear();
            let [a, b] = bodies.map(|i| (&self.bodies[i].shape, &self.states[i].pose));
            touches(a, b, reach, &mut found);
            for touch in &found {
                let normal = touch.normal;
                let tangent = |axis: Vector3<f64>| axis - normal * normal.dot(&axis);
                let along = |axis| tangent(self.states[bodies[0]].pose.rotation * axis);
                let mut t = along(Vector3::x());
                if t.norm_squared() < LEAST_TANGENT {
                    t = along(Vector3::y());
                }
                let t = t.normalize();
                let axes = [normal, t, normal.cross(&t)];
                let lever = |k: usize| touch.points[k].coords - self.states[bodies[k]].pose.translation.vector;
                let turns = [0, 1].map(|k| axes.map(|axis| lever(k).cross(&axis)));
                out.push(Frame { pair: index, touch: *touch, bodies: *bodies, axes, turns });
            }
        }
        out
    }

    /// `W`, `b` and the start, (LCP 9).
    fn problem(
        &self,
        h: f64,
        free: &[[Vector3<f64>; 2]],
        inverse: &[(f64, Matrix3<f64>)],
        frames: &[Frame],
    ) -> ContactProblem {
        let n = frames.len();
        let mut w = vec![0.0; 9 * n * n];
        let mut b = vec![0.0; 3 * n];
        let mut start = vec![[0.0; 3]; n];
        for (i, f) in frames.iter().enumerate() {
            for r in 0..3 {
                let speed = |k: usize| f.axes[r].dot(&free[f.bodies[k]][0]) + f.turns[k][r].dot(&free[f.bodies[k]][1]);
                b[3 * i + r] = speed(1) - speed(0) + if r == 0 { f.touch.gap / h } else { 0.0 };
            }
            for (j, g) in frames.iter().enumerate() {
                for (k, l) in [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().filter(|(k, l)| f.bodies[*k] == g.bodies[*l])
                {
                    let (m, inertia) = &inverse[f.bodies[k]];
                    let sign = if k == l { 1.0 } else { -1.0 };
                    for r in 0..3 {
                        for c in 0..3 {
                            let moved = m * f.axes[r].dot(&g.axes[c]) + f.turns[k][r].dot(&(inertia * g.turns[l][c]));
                            w[(3 * i + r) * 3 * n + 3 * j + c] += sign * moved;
                        }
                    }
                }
            }
            let before = self.contacts.iter().find(|c| c.pair == f.pair && c.feature == f.touch.feature);
            start[i] = before.map_or([0.0; 3], |c| c.impulse);
        }
        let mu = frames.iter().map(|f| self.pairs[f.pair].mu).collect();
        ContactProblem { w, b, mu, directions: self.directions, start }
    }

    /// Takes the step with these impulses.
    pub(crate) fn apply(&mut self, h: f64, prepared: Prepared, found: &Impulses) {
        if found.termination != Termination::Solved {
            let moved = |i: &usize| self.bodies[*i].kind == Kind::Dynamic;
            let mut bodies: Vec<usize> = prepared.frames.iter().flat_map(|f| f.bodies).filter(moved).collect();
            bodies.sort_unstable();
            bodies.dedup();
            return self.fail(Failure::Unsolved { residual: found.residual }, bodies);
        }
        let Prepared { mut free, inverse, frames, .. } = prepared;
        self.contacts.clear();
        for (f, p) in frames.iter().zip(&found.p) {
            for (k, sign) in [(0, -1.0), (1, 1.0)] {
                let (m, inertia) = &inverse[f.bodies[k]];
                let sum = |of: &[Vector3<f64>; 3]| sign * (of[0] * p[0] + of[1] * p[1] + of[2] * p[2]);
                free[f.bodies[k]][0] += *m * sum(&f.axes);
                free[f.bodies[k]][1] += inertia * sum(&f.turns[k]);
            }
            let [n, t, o] = f.axes;
            self.contacts.push(WorldContact {
                pair: f.pair,
                point: f.touch.points[1],
                normal: n,
                gap: f.touch.gap,
                force: (n * p[0] + t * p[1] + o * p[2]) / h,
                feature: f.touch.feature,
                impulse: *p,
            });
        }
        for (state, [v, w]) in self.states.iter_mut().zip(free) {
            (state.velocity, state.angular) = (v, w);
            state.advance(h);
        }
        self.time += h;
        self.steps += 1;
        self.by_lemke += u64::from(found.lemke);
        self.residual = self.residual.max(found.residual);
        let lost: Vec<usize> = (0..self.states.len()).filter(|i| !self.states[*i].is_finite()).collect();
        if !lost.is_empty() {
            self.fail(Failure::NotFinite, lost);
        }
    }

    /// Stops the world: from now on its states are no numbers.
    fn fail(&mut self, why: Failure, bodies: Vec<usize>) {
        self.failure = Some(Stop { step: self.steps, why, bodies });
        self.contacts.clear();
        for state in &mut self.states {
            state.pose.translation.vector.fill(f64::NAN);
            state.velocity.fill(f64::NAN);
            state.angular.fill(f64::NAN);
        }
    }
}
