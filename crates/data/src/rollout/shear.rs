//! Friction in the cells of contacts. The raw arrays do not determine it: the engine records the bristle
//! states at every sample (`Plan::sample_bristles`), and the formula of recorded wrenches turns them into
//! forces before a block is written.

use rayon::prelude::*;

use super::columns;
use super::episodes::{check_bristles, check_grid};
use super::error::RolloutError;
use crate::observe::Under;
use bristle::contact::Contact;
use bristle::engine::Trajectories;
use bristle::patch::Grid;
use bristle::pool;
pub use bristle::shear::{Moment, Shear, shear};

/// The arrays [`columns::shear`] of a block of contacts; zero where a cell has no bristle, NaN in samples
/// that are.
#[derive(Debug, Default)]
pub(super) struct Images {
    shear: Vec<f32>,
    nearness: Vec<f32>,
}

impl Images {
    /// Of `contacts`, of which the first is number `from` of the run, on grids of one size.
    pub fn new(contacts: &[Contact], from: u64, t: &Trajectories, grid: &Grid) -> Result<Self, RolloutError> {
        let each = grid.len() * t.frames();
        let mut images =
            Self { shear: vec![0.0; 2 * each * contacts.len()], nearness: vec![0.0; each * contacts.len()] };
        let rows = images.shear.par_chunks_mut(2 * each).zip(images.nearness.par_chunks_mut(each));
        let all = rows.zip(contacts).enumerate();
        pool::run(|| all.try_for_each(|(i, ((shear, near), contact))| one(contact, (from, i), t, grid, shear, near)))?;
        Ok(images)
    }

    /// The numbers of an array.
    pub fn of(&self, name: &str) -> &[f32] {
        if name == columns::SHEAR[0] { &self.shear } else { &self.nearness }
    }
}

/// Writes the images of contact `i` of a block that begins with contact `from`.
fn one(
    contact: &Contact,
    (from, i): (u64, usize),
    t: &Trajectories,
    grid: &Grid,
    forces: &mut [f32],
    nearness: &mut [f32],
) -> Result<(), RolloutError> {
    let k = from + i as u64;
    check_bristles(contact, k)?;
    check_grid(grid, contact.patch.grid(), k)?;
    let active = contact.active_cells(&contact.timeline(&t.time));
    let mut under = Under::new(contact);
    let cells = grid.len();
    for (sample, at) in t.of(i).enumerate() {
        let forces = &mut forces[2 * cells * sample..][..2 * cells];
        let nearness = &mut nearness[cells * sample..][..cells];
        if !t.wrench[at].to_array().iter().all(|v| v.is_finite()) {
            forces.fill(f32::NAN);
            nearness.fill(f32::NAN);
            continue;
        }
        let f_n = t.normal_force[at];
        let moment = Moment { time: t.time[sample], pose: t.pose[at], twist: t.twist[at], f_n };
        let states = &t.sampled_bristles[i][sample * active.len()..][..active.len()];
        let bristles = active.iter().copied().zip(states.iter().copied());
        for (cell, Shear { force, nearness: near }) in shear(contact, under.patch(moment.time), moment, bristles) {
            nearness[cell] = near as f32;
            forces[2 * cell..][..2].copy_from_slice(&force.map(|f| f as f32));
        }
    }
    Ok(())
}
