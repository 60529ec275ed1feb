//! Friction in the cells and the patches of contacts. The raw arrays do not determine it: the engine records
//! the bristle states at every sample (`Plan::sample_bristles`), and the formula of recorded wrenches turns
//! them into forces before a block is written.

use rayon::prelude::*;

use super::columns::{self, OfBristles};
use super::episodes::{check_bristles, check_grid};
use super::error::RolloutError;
use super::sensor::Image;
use crate::observe::Under;
use bristle::contact::Contact;
use bristle::engine::Trajectories;
use bristle::patch::{Grid, Patch};
use bristle::pool;
use bristle::shear::OfPart;
pub use bristle::shear::{Moment, Shear, of_parts, shear};

/// The arrays [`OfBristles::columns`] of a block of contacts; zero where a cell has no bristle, NaN in
/// samples that are.
#[derive(Debug, Default)]
pub(super) struct Images {
    shear: Vec<f32>,
    nearness: Vec<f32>,
    /// Displacements of an elastic layer, if that is recorded.
    markers: Vec<f32>,
    patches: Vec<OfPart>,
}

impl Images {
    /// Of `contacts`, of which the first is number `from` of the run, on grids of one size, with as many
    /// patches.
    pub fn new(contacts: &[Contact], from: u64, t: &Trajectories, recorded: &OfBristles) -> Result<Self, RolloutError> {
        let n = contacts.len();
        let mut images = Self::default();
        if let Some(grid) = &recorded.shear {
            let each = grid.len() * t.frames();
            (images.shear, images.nearness) = (vec![0.0; 2 * each * n], vec![0.0; each * n]);
            let rows = images.shear.par_chunks_mut(2 * each).zip(images.nearness.par_chunks_mut(each));
            let all = rows.zip(contacts).enumerate();
            pool::run(|| {
                all.try_for_each(|(i, ((shear, near), contact))| {
                    check_bristles(contact, from + i as u64, recorded)?;
                    cells(contact, (from, i), t, grid, shear, near)?;
                    if let Some(sensor) = &recorded.sensor {
                        let image = (from + i as u64, Image::Shear);
                        sensor.read(image, [grid.nx, grid.ny], 2, &t.time, shear);
                    }
                    Ok::<(), RolloutError>(())
                })
            })?;
            if recorded.markers {
                images.markers = vec![0.0; 2 * each * n];
                let all = images.markers.par_chunks_mut(2 * each).zip(contacts).enumerate();
                pool::run(|| all.for_each(|(i, (row, contact))| markers(contact, (from, i), t, recorded, row)));
            }
        }
        if let Some(patches) = recorded.patches {
            let each = patches * t.frames();
            images.patches = vec![OfPart::default(); each * n];
            let all = images.patches.par_chunks_mut(each).zip(contacts).enumerate();
            pool::run(|| {
                all.try_for_each(|(i, (row, contact))| {
                    check_bristles(contact, from + i as u64, recorded)?;
                    parts(contact, i, t, row);
                    Ok::<(), RolloutError>(())
                })
            })?;
        }
        Ok(images)
    }

    /// The numbers of an array of patches.
    pub fn of_patches(&self, name: &str) -> Vec<f64> {
        let numbers = |of: &OfPart| match columns::OF_PATCHES.iter().position(|other| *other == name) {
            Some(0) => of.wrench.to_array().to_vec(),
            Some(1) => vec![of.normal_force],
            Some(2) => vec![of.slip],
            _ => vec![of.near_limit],
        };
        self.patches.iter().flat_map(numbers).collect()
    }

    /// The numbers of an array.
    pub fn of(&self, name: &str) -> &[f32] {
        match columns::SHEAR.iter().position(|other| *other == name) {
            Some(0) => &self.shear,
            Some(1) => &self.nearness,
            _ => &self.markers,
        }
    }
}

/// Writes the images of contact `i` of a block that begins with contact `from`.
fn cells(
    contact: &Contact,
    (from, i): (u64, usize),
    t: &Trajectories,
    grid: &Grid,
    forces: &mut [f32],
    nearness: &mut [f32],
) -> Result<(), RolloutError> {
    let k = from + i as u64;
    check_grid(grid, contact.patch.grid(), k)?;
    let cells = grid.len();
    in_samples(contact, i, t, |sample, at| {
        let forces = &mut forces[2 * cells * sample..][..2 * cells];
        let nearness = &mut nearness[cells * sample..][..cells];
        let Some((patch, moment, bristles)) = at else {
            forces.fill(f32::NAN);
            nearness.fill(f32::NAN);
            return;
        };
        for (cell, Shear { force, nearness: near, .. }) in shear(contact, patch, moment, bristles) {
            nearness[cell] = near as f32;
            forces[2 * cell..][..2].copy_from_slice(&force.map(|f| f as f32));
        }
    });
    Ok(())
}

/// Writes the displacements of an elastic layer of contact `i` of a block that begins with contact `from`. A
/// sensor reads them as the forces that they take.
fn markers(contact: &Contact, (from, i): (u64, usize), t: &Trajectories, recorded: &OfBristles, row: &mut [f32]) {
    let stiffness = contact.cell_stiffness().unwrap_or(1.0);
    let size = row.len() / t.frames();
    in_samples(contact, i, t, |sample, at| {
        let image = &mut row[size * sample..][..size];
        let Some((patch, moment, bristles)) = at else {
            image.fill(f32::NAN);
            return;
        };
        for (cell, Shear { deflection, .. }) in shear(contact, patch, moment, bristles) {
            image[2 * cell..][..2].copy_from_slice(&deflection.map(|x| (stiffness * x) as f32));
        }
    });
    if let Some((sensor, grid)) = recorded.sensor.zip(recorded.shear) {
        sensor.read((from + i as u64, Image::Shear), [grid.nx, grid.ny], 2, &t.time, row);
    }
    row.iter_mut().for_each(|force| *force = (f64::from(*force) / stiffness) as f32);
}

/// Writes what the patches of contact `i` of a block have in every sample.
fn parts(contact: &Contact, i: usize, t: &Trajectories, row: &mut [OfPart]) {
    let patches = row.len() / t.frames();
    in_samples(contact, i, t, |sample, at| {
        let row = &mut row[patches * sample..][..patches];
        match at {
            Some((patch, moment, bristles)) => row.copy_from_slice(&of_parts(contact, patch, moment, bristles)),
            None => row.fill(OfPart::FAILED),
        }
    });
}

/// Cells with the states of their bristles.
type Bristles<'a> = &'a mut dyn Iterator<Item = (usize, [f64; 2])>;

/// Calls `with` for every sample of contact `i` of a block, with its number and its patch, moment and
/// bristles; none after a failure.
fn in_samples(
    contact: &Contact,
    i: usize,
    t: &Trajectories,
    mut with: impl FnMut(usize, Option<(&Patch, Moment, Bristles<'_>)>),
) {
    let active = contact.active_cells(&contact.timeline(&t.time));
    let samples = t.of(i).enumerate().map(|(sample, at)| (t.time[sample], t.wrench[at], t.normal_force[at]));
    let mut under = Under::new(contact, samples);
    for (sample, at) in t.of(i).enumerate() {
        if !t.wrench[at].to_array().iter().all(|v| v.is_finite()) {
            with(sample, None);
            continue;
        }
        let f_n = t.normal_force[at];
        let time = t.time[sample];
        let inputs = under.inputs(time).into_owned();
        let moment = Moment { time, pose: t.pose[at], twist: t.twist[at], f_n, inputs };
        let states = &t.sampled_bristles[i][sample * active.len()..][..active.len()];
        let mut bristles = active.iter().copied().zip(states.iter().copied());
        with(sample, Some((under.patch(moment.time), moment, &mut bristles)));
    }
}
