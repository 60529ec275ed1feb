//! One step of MuJoCo as a function of the wrenches, and its derivative.

use super::abi::{Handle, JacobianRow};
use super::dense::{add, dot, solve, times, transposed_times};
use super::{Coupling, own_friction};
use crate::errors::Failure;

/// Kinds of rows of constraints, `mjtConstraint`.
const EQUALITY: i32 = 0;
const FRICTION_OF_TENDON: i32 = 2;

#[derive(Default)]
pub struct Step {
    dt: f64,
    nv: usize,
    /// (3 pads, nv): twists of the objects against their pads, at the sites in their axes.
    rows: Vec<f64>,
    /// Twists beyond these.
    pub offset: Vec<f64>,
    /// Passive forces without friction.
    pub passive: Vec<f64>,
    /// The rows of constraints that press each pad.
    pressing: Vec<Vec<usize>>,
    mass: Vec<f64>,
    /// (3 pads, nv): `rows A^-1 M`, where A is the mass matrix of the integrator; empty until it is known.
    implicit: Vec<f64>,
    /// Stiffness of each row of constraints that is active.
    stiffness: Vec<f64>,
    /// (nv, 3 pads): derivative of the accelerations, `X`.
    accelerations: Vec<f64>,
    /// (3 pads, 3 pads): derivative of the twists, `S`.
    pub compliance: Vec<f64>,
    /// (pads, 3 pads): derivative of the normal forces, `T`.
    pub pressure: Vec<f64>,
    velocity: Vec<f64>,
    /// Twists at the end of the step that was evaluated last, and its normal forces.
    pub twist: Vec<f64>,
    pub normal: Vec<f64>,
    pub counts: Counts,
}

/// What was done in all steps.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub steps: u64,
    /// Evaluations of MuJoCo's step, and of the friction of all patches.
    pub evaluations: u64,
    pub responses: u64,
    /// Steps whose friction is not solved for as exactly as it should be.
    pub unconverged: u64,
}

impl Step {
    /// After the stages of position and velocity.
    pub fn begin(&mut self, mujoco: &Handle<'_>, coupling: &Coupling, offset: Vec<f64>) {
        (self.dt, self.nv, self.offset) = (coupling.dt, mujoco.nv, offset);
        self.set_rows(mujoco, coupling);
        self.mass.resize(self.nv * self.nv, 0.0);
        mujoco.mass(&mut self.mass);
        self.counts.steps += 1;
        self.implicit.clear();
        self.stiffness.clear();
        self.compliance.clear();
    }

    /// Finds the constraints that press the pads, and refuses friction of MuJoCo's own there.
    pub fn find_pressing(&mut self, mujoco: &Handle<'_>, coupling: &Coupling) -> Result<(), Failure> {
        self.pressing.resize(coupling.pads.len(), Vec::new());
        self.pressing.iter_mut().for_each(Vec::clear);
        for contact in mujoco.contacts() {
            let Some(row) = contact.row else { continue };
            for k in coupling.pads_of(contact.geoms) {
                if contact.dim > 1 {
                    return Err(own_friction(contact.dim, contact.geoms));
                }
                self.pressing[k].push(row);
            }
        }
        Ok(())
    }

    fn set_rows(&mut self, mujoco: &Handle<'_>, coupling: &Coupling) {
        let nv = self.nv;
        self.rows.clear();
        self.rows.resize(3 * coupling.pads.len() * nv, 0.0);
        let (mut along, mut about) = (vec![0.0; 3 * nv], vec![0.0; 3 * nv]);
        for (row, pad) in self.rows.chunks_exact_mut(3 * nv).zip(&coupling.pads) {
            let pose = mujoco.pose(pad.site, pad.object);
            for (body, sign) in [(pad.object, 1.0), (pad.body, -1.0)] {
                // MuJoCo leaves the Jacobian of the world as it is.
                along.fill(0.0);
                about.fill(0.0);
                mujoco.jacobian(&[pose[0], pose[1], pose[2]], body, &mut along, &mut about);
                for i in 0..3 {
                    let axis = |a: usize| sign * pose[3 + 3 * i + a];
                    let part = i * nv..(i + 1) * nv;
                    add(&mut row[..nv], axis(0), &along[part.clone()]);
                    add(&mut row[nv..2 * nv], axis(1), &along[part.clone()]);
                    add(&mut row[2 * nv..], axis(2), &about[part]);
                }
            }
        }
        self.passive.clear();
        self.passive.extend_from_slice(mujoco.passive_now());
    }

    pub const fn dt(&self) -> f64 {
        self.dt
    }

    /// `J v`.
    pub fn twists(&self, velocity: &[f64]) -> Vec<f64> {
        times(&self.rows, velocity)
    }

    /// MuJoCo's step under wrenches. `from` are the accelerations and the wrenches of an evaluation, from
    /// which those of this one are guessed. The guess is exact where no constraint changes its state:
    /// MuJoCo's solver then has nothing to iterate and to round off.
    pub fn evaluate(&mut self, mujoco: &mut Handle<'_>, wrench: &[f64], from: Option<(&[f64], &[f64])>) {
        let forces = transposed_times(&self.rows, wrench, self.nv);
        mujoco.passive().iter_mut().zip(&self.passive).zip(&forces).for_each(|((to, own), f)| *to = own + f);
        if let Some((acceleration, before)) = from {
            let change: Vec<f64> = wrench.iter().zip(before).map(|(a, b)| a - b).collect();
            let changes = times(&self.accelerations, &change);
            mujoco.guess().iter_mut().zip(acceleration).zip(&changes).for_each(|((to, a), da)| *to = a + da);
        }
        mujoco.evaluate(&mut self.velocity);
        self.counts.evaluations += 1;
        self.twist = times(&self.rows, &self.velocity);
        add(&mut self.twist, 1.0, &self.offset);
        let forces = mujoco.forces();
        self.normal.clear();
        self.normal.extend(self.pressing.iter().map(|rows| rows.iter().map(|row| forces[*row]).sum::<f64>()));
    }

    /// The derivatives of the evaluation, while no constraint changes its state.
    pub fn linearise(&mut self, mujoco: &Handle<'_>) {
        let before = std::mem::take(&mut self.stiffness);
        let (kinds, losses, stiffness) = mujoco.constraints();
        let forces = mujoco.forces();
        self.stiffness.extend(stiffness.iter().enumerate().map(|(i, d)| {
            let is_active = match kinds[i] {
                EQUALITY => true,
                k if k <= FRICTION_OF_TENDON => forces[i].abs() < losses[i],
                _ => forces[i] > 0.0,
            };
            if is_active { *d } else { 0.0 }
        }));
        if !self.compliance.is_empty() && self.stiffness == before {
            return;
        }
        self.set_accelerations(mujoco);
        if self.implicit.is_empty() {
            self.set_implicit(mujoco);
        }
        let n = self.offset.len();
        self.compliance.clear();
        for row in self.implicit.chunks_exact(self.nv) {
            self.compliance.extend(transposed_times(&self.accelerations, row, n).iter().map(|v| self.dt * v));
        }
        self.pressure.clear();
        self.pressure.resize(self.pressing.len() * n, 0.0);
        for (to, rows) in self.pressure.chunks_exact_mut(n).zip(&self.pressing) {
            for row in rows.iter().filter(|row| self.stiffness[**row] != 0.0) {
                each(&mujoco.row(*row), |j, v| {
                    add(to, -self.stiffness[*row] * v, &self.accelerations[j * n..(j + 1) * n]);
                });
            }
        }
    }

    /// `X = (M + J_c^T D J_c)^-1 J^T` over the active constraints.
    fn set_accelerations(&mut self, mujoco: &Handle<'_>) {
        let (nv, n) = (self.nv, self.offset.len());
        let mut matrix = self.mass.clone();
        let mut entries = Vec::with_capacity(nv);
        for (i, d) in self.stiffness.iter().enumerate().filter(|(_, d)| **d != 0.0) {
            entries.clear();
            each(&mujoco.row(i), |j, v| entries.push((j, v)));
            for (j, v) in &entries {
                for (l, w) in &entries {
                    matrix[j * nv + l] += d * v * w;
                }
            }
        }
        self.accelerations.clear();
        self.accelerations.resize(nv * n, 0.0);
        for (k, row) in self.rows.chunks_exact(nv).enumerate() {
            row.iter().enumerate().for_each(|(j, v)| self.accelerations[j * n + k] = *v);
        }
        solve(&mut matrix, &mut self.accelerations, n);
    }

    /// `J A^-1 M`, by solving with the transposed A for the columns of `J^T`.
    fn set_implicit(&mut self, mujoco: &Handle<'_>) {
        let (nv, n) = (self.nv, self.offset.len());
        let mut matrix = self.mass.clone();
        if !mujoco.add_implicit(&mut matrix, self.dt) {
            self.implicit.clone_from(&self.rows);
            return;
        }
        let mut transposed = vec![0.0; nv * nv];
        (0..nv * nv).for_each(|at| transposed[at % nv * nv + at / nv] = matrix[at]);
        let mut columns = vec![0.0; nv * n];
        for (k, row) in self.rows.chunks_exact(nv).enumerate() {
            row.iter().enumerate().for_each(|(j, v)| columns[j * n + k] = *v);
        }
        solve(&mut transposed, &mut columns, n);
        for k in 0..n {
            let column: Vec<f64> = (0..nv).map(|j| columns[j * n + k]).collect();
            // The mass matrix is symmetric.
            self.implicit.extend(self.mass.chunks_exact(nv).map(|row| dot(row, &column)));
        }
    }
}

/// The entries of a row that are not zero, with their columns.
fn each(row: &JacobianRow<'_>, mut with: impl FnMut(usize, f64)) {
    match row {
        JacobianRow::Dense(values) => {
            values.iter().enumerate().filter(|(_, v)| **v != 0.0).for_each(|(j, v)| with(j, *v));
        }
        JacobianRow::Sparse(values, columns) => {
            values.iter().zip(*columns).for_each(|(v, j)| with(*j as usize, *v));
        }
    }
}
