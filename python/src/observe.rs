//! What a policy sees of contacts: the quantities of samples, and those that datasets have beside them.

use std::time::Instant;

use bristle::batch::Sample;
use bristle::contact::{Contact, Origin, SampleInputs};
use bristle::engine::{ALL_SLIDES, Trajectories};
use bristle::error::ParameterError;
use bristle::pool;
use bristle::shear::{Moment, shear};
use bristle_data::observe::{Under, margins, patch_margins};
use rayon::prelude::*;

use crate::batch::Contacts;
use crate::core::{QUANTITIES, write};
use crate::errors::Failure;

/// Quantities beside [`QUANTITIES`], in the order of [`Beside`].
pub const BESIDE: [&str; 12] = [
    "displacement",
    "rotation",
    "since_slip",
    "margin",
    "tactile",
    "shear",
    "cell_nearness",
    "patch_wrench",
    "patch_normal_force",
    "patch_slip",
    "patch_near_limit",
    "patch_margin",
];

/// A quantity beside those of samples.
#[derive(Clone, Copy, PartialEq)]
enum Beside {
    Displacement,
    Rotation,
    SinceSlip,
    Margin,
    Tactile,
    Shear,
    CellNearness,
    PatchWrench,
    PatchNormalForce,
    PatchSlip,
    PatchNearLimit,
    PatchMargin,
}

impl Beside {
    const ALL: [Self; 12] = [
        Self::Displacement,
        Self::Rotation,
        Self::SinceSlip,
        Self::Margin,
        Self::Tactile,
        Self::Shear,
        Self::CellNearness,
        Self::PatchWrench,
        Self::PatchNormalForce,
        Self::PatchSlip,
        Self::PatchNearLimit,
        Self::PatchMargin,
    ];

    /// Whether it is an image of the cells.
    const fn is_image(self) -> bool {
        matches!(self, Self::Tactile | Self::Shear | Self::CellNearness)
    }

    /// Whether it is of each of several patches.
    const fn is_of_patches(self) -> bool {
        matches!(
            self,
            Self::PatchWrench | Self::PatchNormalForce | Self::PatchSlip | Self::PatchNearLimit | Self::PatchMargin
        )
    }

    /// Whether it is computed from the states of the bristles.
    const fn needs_bristles(self) -> bool {
        matches!(self, Self::Shear | Self::CellNearness) || self.is_of_patches()
    }
}

/// Numbers of an array of Python.
pub enum Numbers<'a> {
    Single(&'a mut [f32]),
    Double(&'a mut [f64]),
}

impl Numbers<'_> {
    /// Lets `fill` write the rows of contacts, so many numbers each, in several threads.
    fn fill(self, width: usize, fill: impl Fn(usize, &mut [f64]) -> Result<(), Failure> + Sync) -> Result<(), Failure> {
        match self {
            Self::Double(all) => {
                pool::run(|| all.par_chunks_mut(width).enumerate().try_for_each(|(i, row)| fill(i, row)))
            }
            Self::Single(all) => pool::run(|| {
                let row = |row: &mut Vec<f64>, (i, to): (usize, &mut [f32])| {
                    fill(i, row)?;
                    to.iter_mut().zip(row).for_each(|(to, v)| *to = *v as f32);
                    Ok(())
                };
                all.par_chunks_mut(width).enumerate().try_for_each_init(|| vec![0.0; width], row)
            }),
        }
    }
}

/// A contact at a moment.
struct Seen<'a> {
    contact: &'a Contact,
    origin: Origin,
    sample: &'a Sample,
    time: f64,
    /// When all of it was last seen to slip [s]; NaN if it was not.
    slid: f64,
    bristles: &'a [[f64; 2]],
    inputs: &'a SampleInputs,
}

impl Contacts {
    /// Number of numbers of a quantity of one contact.
    pub fn width(&self, name: &str) -> Result<usize, Failure> {
        if let Some((_, width)) = QUANTITIES.iter().find(|(other, _)| *other == name) {
            return Ok(*width);
        }
        let beside = beside(name)?;
        let [nx, ny] = self.cells();
        let numbers = match beside {
            Beside::Shear => 2,
            Beside::PatchWrench => 3,
            _ => 1,
        };
        let each = if beside.is_of_patches() { self.patches() } else { 1 };
        Ok(if beside.is_image() { nx * ny } else { each } * numbers)
    }

    /// Writes quantities of contacts to arrays [contacts, numbers], by their names.
    pub fn observe(&mut self, ids: &[usize], arrays: Vec<(&str, Numbers<'_>)>) -> Result<(), Failure> {
        let mut needs_bristles = false;
        for (name, _) in &arrays {
            if let Ok(beside) = beside(name) {
                needs_bristles |= beside.needs_bristles();
                self.check_image(ids, name, beside)?;
            }
        }
        let widths = arrays.iter().map(|(name, _)| self.width(name)).collect::<Result<Vec<_>, _>>()?;
        let began = Instant::now();
        self.see()?;
        let bristles = if needs_bristles { self.batch()?.bristles_of(ids)? } else { vec![Vec::new(); ids.len()] };
        let slid = self.slid.clone();
        let batch = self.batch()?;
        let samples = batch.samples()?.to_vec();
        let depends = |beside: Beside| beside.needs_bristles() || matches!(beside, Beside::Margin | Beside::Tactile);
        let is_asked = arrays.iter().any(|(name, _)| beside(name).is_ok_and(depends));
        let own = |k: &usize| if is_asked { batch.inputs(*k) } else { Ok(SampleInputs::default()) };
        let inputs = ids.iter().map(own).collect::<Result<Vec<_>, _>>()?;
        let seen = |i: usize| {
            let k = ids[i];
            let (contact, origin) = (&batch.contacts()[k], batch.origin(k));
            let (sample, time, bristles) = (&samples[k], batch.time(k), &*bristles[i]);
            Seen { contact, origin, sample, time, slid: slid[k], bristles, inputs: &inputs[i] }
        };
        let views: Vec<Seen<'_>> = (0..ids.len()).map(seen).collect();
        for ((name, numbers), width) in arrays.into_iter().zip(widths) {
            match QUANTITIES.iter().position(|(other, _)| *other == name) {
                Some(q) => numbers.fill(width, |i, row| {
                    write(q, views[i].sample, views[i].time, row);
                    Ok(())
                })?,
                None => {
                    let beside = beside(name)?;
                    numbers.fill(width, |i, row| {
                        views[i].write(beside, row);
                        Ok(())
                    })?;
                }
            }
        }
        self.busy += began.elapsed();
        Ok(())
    }

    /// Refuses images of contacts that have none of one size, and margins of patches without one in common.
    fn check_image(&self, ids: &[usize], name: &str, beside: Beside) -> Result<(), Failure> {
        let (cells, patches) = (self.cells(), self.patches());
        let is_margin = matches!(beside, Beside::Margin);
        for &k in ids.iter().filter(|_| beside.is_image() || beside.is_of_patches() || is_margin) {
            let contact = &self.contacts()[k];
            let grid = contact.patch.grid();
            let refused = |found: String, accepted: &str| {
                Err(Failure::Parameter(ParameterError::new("names", format!("{name}: {found}"), accepted), Some(k)))
            };
            if is_margin && contact.patch_on_own_surface().is_some() {
                let accepted = "contacts whose patches do not slide against each other, with a limit surface in common";
                return refused("patches with surfaces of their own".to_owned(), accepted);
            }
            let parts = contact.patch.parts().len();
            if beside.is_of_patches() && (parts == 0 || parts != patches) {
                return refused(format!("{parts} patches"), "contacts with several patches, and as many each");
            }
            if beside.is_image() && [grid.nx, grid.ny] != cells {
                return refused(format!("{} x {} cells", grid.nx, grid.ny), "contacts with grids of one size");
            }
            if beside.needs_bristles() && !contact.model.is_grid() {
                return refused("another model".to_owned(), "contacts of `contact.model = \"distributed\"`");
            }
        }
        Ok(())
    }

    /// Notes which contacts slipped as a whole at some times, whose samples begin with number `first`.
    pub fn see_all(&mut self, recorded: &Trajectories, first: usize, times: &[f64]) {
        self.slid.resize(self.all.len(), f64::NAN);
        for (k, slid) in self.slid.iter_mut().enumerate() {
            let slides = |i: &usize| recorded.sample(k, i + first).slip >= ALL_SLIDES;
            if let Some(last) = (0..times.len()).rev().find(slides) {
                *slid = times[last];
            }
        }
    }

    /// Reads the present samples, and notes which contacts slip as a whole.
    pub fn see(&mut self) -> Result<(), Failure> {
        let n = self.len();
        let mut slid = std::mem::take(&mut self.slid);
        slid.resize(n, f64::NAN);
        let noted = self.batch().and_then(|batch| {
            let slides: Vec<bool> = batch.samples()?.iter().map(|sample| sample.slip >= ALL_SLIDES).collect();
            slid.iter_mut().enumerate().filter(|(k, _)| slides[*k]).for_each(|(k, slid)| *slid = batch.time(k));
            Ok(())
        });
        self.slid = slid;
        noted
    }
}

impl Seen<'_> {
    /// Its motion.
    fn moment(&self) -> Moment {
        let Self { sample, time, inputs, .. } = *self;
        let Sample { pose, twist, normal_force: f_n, .. } = *sample;
        Moment { time, pose, twist, f_n, inputs: inputs.clone() }
    }

    /// The cells that have bristles, with their states.
    fn states(&self) -> impl Iterator<Item = (usize, [f64; 2])> {
        self.contact.cells_ever_active().into_iter().zip(self.bristles.iter().copied())
    }

    /// Writes a quantity; NaN after a failure, as in datasets.
    fn write(&self, beside: Beside, row: &mut [f64]) {
        let Self { contact, origin, sample, time, inputs, .. } = self;
        if !sample.wrench.to_array().iter().all(|v| v.is_finite()) {
            row.fill(f64::NAN);
            return;
        }
        match beside {
            Beside::Displacement => row[0] = origin.moved(sample.pose)[0],
            Beside::Rotation => row[0] = origin.moved(sample.pose)[1],
            Beside::SinceSlip => row[0] = if self.slid.is_nan() { -1.0 } else { time - self.slid },
            Beside::Margin => {
                let load = [sample.wrench.to_array()];
                let mut under = Under::with(contact, SampleInputs::clone(inputs));
                row[0] = margins(&[*time], &load, &[sample.normal_force], &mut under)[0];
            }
            Beside::Tactile => {
                let mut under = Under::with(contact, SampleInputs::clone(inputs));
                row.iter_mut().zip(under.tactile(*time, sample.normal_force)).for_each(|(to, v)| *to = v);
            }
            Beside::PatchWrench | Beside::PatchNormalForce | Beside::PatchSlip | Beside::PatchNearLimit => {
                let mut under = Under::with(contact, SampleInputs::clone(inputs));
                let of_patches = bristle::shear::of_parts(contact, under.patch(*time), self.moment(), self.states());
                let numbers = row.len() / of_patches.len();
                for (to, of) in row.chunks_mut(numbers).zip(of_patches) {
                    match beside {
                        Beside::PatchWrench => to.copy_from_slice(&of.wrench.to_array()),
                        Beside::PatchNormalForce => to[0] = of.normal_force,
                        Beside::PatchSlip => to[0] = of.slip,
                        _ => to[0] = of.near_limit,
                    }
                }
            }
            Beside::PatchMargin => {
                let mut under = Under::with(contact, SampleInputs::clone(inputs));
                let of_patches = bristle::shear::of_parts(contact, under.patch(*time), self.moment(), self.states());
                let wrench: Vec<[f64; 3]> = of_patches.iter().map(|of| of.wrench.to_array()).collect();
                let force: Vec<f64> = of_patches.iter().map(|of| of.normal_force).collect();
                row.copy_from_slice(&patch_margins(contact, &[inputs.mu_s], &wrench, &force));
            }
            Beside::Shear | Beside::CellNearness => {
                row.fill(0.0);
                let (moment, bristles) = (self.moment(), self.states());
                let mut under = Under::with(contact, SampleInputs::clone(inputs));
                for (cell, of) in shear(contact, under.patch(*time), moment, bristles) {
                    if beside == Beside::Shear {
                        row[2 * cell..][..2].copy_from_slice(&of.force);
                    } else {
                        row[cell] = of.nearness;
                    }
                }
            }
        }
    }
}

fn beside(name: &str) -> Result<Beside, Failure> {
    let found = BESIDE.iter().position(|other| *other == name);
    let accepted = || QUANTITIES.map(|(name, _)| name).into_iter().chain(BESIDE).collect::<Vec<_>>().join(", ");
    let refused = || ParameterError::new("names", name, format!("one of {}", accepted())).into();
    found.map(|i| Beside::ALL[i]).ok_or_else(refused)
}
