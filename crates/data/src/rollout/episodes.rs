//! Contacts as a learner sees them: episodes with observations, actions and labels. Raw arrays hold the
//! simulated samples. Actions and labels follow from the scenario and the raw arrays, and are made here,
//! block by block.

use std::ops::Range;

use rayon::prelude::*;

use super::columns::{COLUMNS, Column, Each, OfBristles, PATCH_NORMAL_FORCE, PATCH_SLIP, PATCH_WRENCH};
use super::error::RolloutError;
use super::format::{Datasets, Extra};
use super::outcome::{NetMotion, Outcome};
use super::raw::Raw;
use super::sensor::{Image, Sensor};
use crate::observe::{Under, margins, patch_margins};
use bristle::batch::Input;
use bristle::body::{Body, FreeBody};
use bristle::contact::Contact;
use bristle::engine::ALL_SLIDES;
use bristle::error::ParameterError;
use bristle::moving_surface::MovingSurface;
use bristle::parameter::{self, Parameter};
use bristle::patch::Grid;
use bristle::planar::Wrench;
use bristle::pool;
use bristle::schedule::Signal;
use bristle_scenario::Scenario;

/// One episode of this many is for validation.
const VALIDATION_OF: u64 = 10;

/// A number that says nothing about `k` but is the same every time: the finaliser of SplitMix64.
pub(super) const fn scrambled(k: u64) -> u64 {
    let mut z = k.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Whether the episode of contact `k` is for validation, by a hash of its index alone: the same in every run,
/// however many episodes there are.
pub const fn is_validation(k: u64) -> bool {
    scrambled(k).is_multiple_of(VALIDATION_OF)
}

/// What the episodes of a run hold.
pub(super) struct Layout<'a> {
    scenario: &'a Scenario,
    /// Sample times [s].
    pub times: Vec<f64>,
    /// Names and units of the actions.
    pub actions: Vec<(&'static str, &'static str)>,
    /// Whether episodes have them.
    pub has_actions: bool,
    /// The grid of tactile frames, if they are asked for.
    pub tactile: Option<Grid>,
    /// Whether the margin left to slip is asked for.
    pub margin: bool,
    /// The arrays of what is recorded of the bristles.
    pub recorded: Vec<Column>,
}

/// The episodes of a block of contacts. Arrays are `[contact][sample]`, and have more numbers a sample where
/// the comment says so.
pub(super) struct Episodes {
    /// Samples before an episode failed.
    #[cfg_attr(not(feature = "lerobot"), expect(dead_code, reason = "datasets of LeRobot alone have it"))]
    pub frames: Vec<usize>,
    /// `[actions]`: the inputs from the sample on; empty if the layout has none.
    pub action: Vec<f64>,
    /// Time until the contact next slips as a whole [s]; 0 while it does, -1 if it does not until its end.
    pub time_to_slip: Vec<f64>,
    /// `1 - 1/k`, if `k` times the wrench makes the patch slip under `mu_s`; empty if not asked for.
    pub margin: Vec<f64>,
    /// `[rows, columns]`: the normal force of every cell [N]; empty if not asked for.
    pub tactile: Vec<f32>,
    /// Time at which a contact first slips as a whole [s], -1 if it does not.
    pub first_slip: Vec<f64>,
    /// `[patches]`: as `time_to_slip`, of each of several patches; empty if these are not recorded.
    pub patch_time_to_slip: Vec<f64>,
    /// As `first_slip`, `[contact][patch]`; empty if patches are not recorded.
    pub patch_first_slip: Vec<f64>,
    /// `[patches]`: as `margin`, of each patch alone; empty if one of both is not asked for.
    pub patch_margin: Vec<f64>,
}

/// What the scenario says of one contact.
struct One {
    action: Vec<f64>,
    margin: Vec<f64>,
    tactile: Vec<f32>,
}

impl<'a> Layout<'a> {
    /// Of the run of `scenario`.
    pub fn new(scenario: &'a Scenario, datasets: &Datasets) -> Result<Self, RolloutError> {
        let first = &scenario.first().contact;
        let actions = actions(scenario);
        let tactile = datasets.with(Extra::Tactile).then(|| *first.patch.grid());
        let recorded = of_bristles(scenario, datasets)?.columns();
        let (times, margin) = (scenario.plan().samples, datasets.with(Extra::Margin));
        Ok(Self { scenario, times, actions, has_actions: true, tactile, margin, recorded })
    }

    /// The same without actions.
    pub fn without_actions(&self) -> Self {
        let (times, actions, recorded) = (self.times.clone(), self.actions.clone(), self.recorded.clone());
        Self { times, actions, recorded, has_actions: false, ..*self }
    }

    /// The raw arrays.
    pub fn columns(&self) -> impl Iterator<Item = Column> {
        COLUMNS.into_iter().chain(self.recorded.iter().copied())
    }

    /// The raw array with that name.
    pub fn column(&self, name: &str) -> Column {
        self.columns().find(|column| column.name == name).unwrap_or_else(|| unreachable!("no array {name}"))
    }

    /// The number of patches that are recorded; 0 if none are.
    pub fn patches(&self) -> usize {
        let each = self.recorded.iter().find(|column| column.name == PATCH_SLIP).and_then(|column| column.each);
        if let Some(Each::Patch(patches)) = each { patches as usize } else { 0 }
    }

    /// The episodes of some contacts.
    pub fn episodes(&self, raw: &Raw, contacts: Range<u64>) -> Result<Episodes, RolloutError> {
        let read = |name| raw.numbers(name, contacts.clone());
        let (wrench, normal_force, slip) = (read("wrench")?, read("normal_force")?, read("slip")?);
        let frames = raw.frames(contacts.clone())?;
        let n = self.times.len();
        let (time_to_slip, first_slip) = self.times_to_slip(&slip, &frames, 1);
        let (mut patch_time_to_slip, mut patch_first_slip) = Default::default();
        if self.patches() > 0 {
            let slip = raw.numbers_of(&self.column(PATCH_SLIP), contacts.clone())?;
            (patch_time_to_slip, patch_first_slip) = self.times_to_slip(&slip, &frames, self.patches());
        }
        let of = |i: usize, k| {
            let wrench = wrench[3 * n * i..3 * n * (i + 1)].as_chunks().0;
            self.one(k, wrench, &normal_force[n * i..n * (i + 1)])
        };
        let mut patch_margin = Vec::new();
        if self.margin && self.patches() > 0 {
            let of = |name| raw.numbers_of(&self.column(name), contacts.clone());
            patch_margin = self.patch_margins(contacts.start, &of(PATCH_WRENCH)?, &of(PATCH_NORMAL_FORCE)?)?;
        }
        let start = contacts.start;
        let asked = self.has_actions || self.margin || self.tactile.is_some();
        let drawn = if asked { frames.len() } else { 0 };
        let ones: Vec<_> = pool::run(|| (0..drawn).into_par_iter().map(|i| of(i, start + i as u64)).collect());
        let ones: Vec<One> = ones.into_iter().collect::<Result<_, _>>()?;
        let action = ones.iter().flat_map(|one| one.action.iter().copied()).collect();
        let margin = ones.iter().flat_map(|one| one.margin.iter().copied()).collect();
        let tactile = ones.iter().flat_map(|one| one.tactile.iter().copied()).collect();
        Ok(Episodes {
            frames,
            action,
            time_to_slip,
            margin,
            tactile,
            first_slip,
            patch_time_to_slip,
            patch_first_slip,
            patch_margin,
        })
    }

    /// The actions of some contacts, as [`Episodes`] has them; on the calling thread alone, because a writer
    /// of the thread pool waits for them.
    pub fn actions(&self, contacts: Range<u64>) -> Result<Vec<f64>, RolloutError> {
        let each = self.times.len() * self.actions.len();
        let mut all = vec![0.0; (contacts.end - contacts.start) as usize * each];
        for (k, to) in contacts.zip(all.chunks_mut(each)) {
            self.put_actions(&self.scenario.without_surface(k)?, to);
        }
        Ok(all)
    }

    /// The actions of a contact, sample by sample.
    fn put_actions(&self, contact: &Contact, to: &mut [f64]) {
        for (i, (_, _, signal)) in inputs(self.scenario, contact).into_iter().enumerate() {
            // Most are loads that never change.
            let constant = signal.is_constant().then(|| signal.value(0.0));
            for (place, t) in to[i..].iter_mut().step_by(self.actions.len()).zip(&self.times) {
                *place = constant.unwrap_or_else(|| signal.value(*t));
            }
        }
    }

    /// For every sample the time until the next in which all slides, NaN after a failure, and for every
    /// contact the time of the first such sample. `slip` has `width` numbers a sample, one for each patch,
    /// and so have the results; `frames` are the samples of each contact before its failure.
    fn times_to_slip(&self, slip: &[f64], frames: &[usize], width: usize) -> (Vec<f64>, Vec<f64>) {
        let (mut to, mut first) = (vec![f64::NAN; slip.len()], Vec::new());
        let each = width * self.times.len();
        for (k, frames) in frames.iter().enumerate() {
            for patch in 0..width {
                let mut next = None;
                for i in (0..*frames).rev() {
                    let at = k * each + i * width + patch;
                    if slip[at] >= ALL_SLIDES {
                        next = Some(self.times[i]);
                    }
                    to[at] = next.map_or(-1.0, |next| next - self.times[i]);
                }
                first.push(next.unwrap_or(-1.0));
            }
        }
        (to, first)
    }

    /// The margins of each patch alone, of contacts from `start` on.
    fn patch_margins(&self, start: u64, wrench: &[f64], normal_force: &[f64]) -> Result<Vec<f64>, RolloutError> {
        let each = self.times.len() * self.patches();
        let one = |(i, (wrench, normal_force)): (usize, (&[f64], &[f64]))| {
            let contact = self.scenario.without_surface(start + i as u64)?;
            let mu_s: Vec<f64> = self.times.iter().map(|t| contact.inputs_before(*t).mu_s).collect();
            Ok(patch_margins(&contact, &mu_s, wrench.as_chunks().0, normal_force))
        };
        let all = wrench.par_chunks(3 * each).zip(normal_force.par_chunks(each)).enumerate();
        let all: Vec<Vec<f64>> = pool::run(|| all.map(one).collect::<Result<_, RolloutError>>())?;
        Ok(all.concat())
    }

    /// Actions, margins and tactile frames of contact `k` with its samples.
    fn one(&self, k: u64, wrench: &[[f64; 3]], normal_force: &[f64]) -> Result<One, RolloutError> {
        let contact = self.scenario.without_surface(k)?;
        let mut action = Vec::new();
        if self.has_actions {
            action.resize(self.times.len() * self.actions.len(), 0.0);
            self.put_actions(&contact, &mut action);
        }
        let samples = self.times.iter().zip(wrench.iter().zip(normal_force));
        let mut under = Under::new(&contact, samples.map(|(t, (wrench, f_n))| (*t, Wrench::from(*wrench), *f_n)));
        let (mut margin, mut tactile) = (Vec::new(), Vec::new());
        if self.margin {
            margin = margins(&self.times, wrench, normal_force, &mut under);
        }
        if let Some(grid) = self.tactile {
            check_grid(&grid, contact.patch.grid(), k)?;
            tactile.reserve(grid.len() * normal_force.len());
            for (t, f_n) in self.times.iter().zip(normal_force) {
                tactile.extend(under.tactile(*t, *f_n).map(|f| f as f32));
            }
            if let Some(sensor) = Sensor::of(self.scenario) {
                sensor.read((k, Image::Tactile), [grid.nx, grid.ny], 1, &self.times, &mut tactile);
            }
        }
        Ok(One { action, margin, tactile })
    }
}

/// The inputs of a contact by name, which are the actions. All contacts of a scenario have the same.
fn inputs<'a>(scenario: &Scenario, contact: &'a Contact) -> Vec<(&'static str, Parameter, &'a Signal)> {
    let patches = &contact.inputs.patches;
    let mut all = Vec::new();
    if patches.iter().all(|own| own.normal_force.is_none()) {
        all.push(("normal_force", parameter::NORMAL_FORCE, &contact.inputs.normal_force));
    }
    match &contact.body {
        Body::Prescribed { twist: [vx, vy, w], .. } => {
            all.extend([("vx", parameter::VX, vx), ("vy", parameter::VY, vy), ("w", parameter::W, w)]);
        }
        Body::Free(FreeBody { wrench: [fx, fy, tau], gravity: [gx, gy], anchor: [x, y], .. }) => {
            all.extend([("load_fx", parameter::LOAD_FX, fx), ("load_fy", parameter::LOAD_FY, fy)]);
            all.push(("load_tau", parameter::LOAD_TAU, tau));
            all.extend([("gravity_x", parameter::GRAVITY, gx), ("gravity_y", parameter::GRAVITY, gy)]);
            if scenario.spec().body.spring.is_some() {
                all.extend([("anchor_x", parameter::ANCHOR, x), ("anchor_y", parameter::ANCHOR, y)]);
            }
        }
    }
    if let Some(MovingSurface { twist: [vx, vy, w], .. }) = &contact.inputs.surface {
        all.extend([("surface_vx", parameter::SURFACE_VX, vx), ("surface_vy", parameter::SURFACE_VY, vy)]);
        all.push(("surface_w", parameter::SURFACE_W, w));
    }
    for (k, own) in patches.iter().enumerate() {
        let [normal_force, of_surface @ ..] = Input::of_patch(k as u8).map(Input::field);
        all.extend(own.normal_force.iter().map(|signal| (normal_force, parameter::NORMAL_FORCE, signal)));
        let of = [parameter::SURFACE_VX, parameter::SURFACE_VY, parameter::SURFACE_W];
        let twist = own.surface.iter().flat_map(|surface| &surface.twist);
        all.extend(of_surface.into_iter().zip(of).zip(twist).map(|((name, of), signal)| (name, of, signal)));
    }
    all.extend(contact.inputs.mu_c.iter().map(|mu| ("mu_c", parameter::INPUT_MU_C, mu)));
    all.extend(contact.inputs.mu_s.iter().map(|mu| ("mu_s", parameter::INPUT_MU_S, mu)));
    all
}

/// Names and units of the actions of a run.
pub(super) fn actions(scenario: &Scenario) -> Vec<(&'static str, &'static str)> {
    let unit = |unit: &'static str| if unit.is_empty() { "-" } else { unit };
    let all = inputs(scenario, &scenario.first().contact).into_iter();
    all.map(|(name, of, _)| (name, unit(of.range.unit))).collect()
}

/// What is recorded of the bristles, if that is asked for.
///
/// # Errors
/// Contacts without a grid of bristles, or without several patches where these are asked for.
pub(super) fn of_bristles(scenario: &Scenario, datasets: &Datasets) -> Result<OfBristles, RolloutError> {
    let first = &scenario.first().contact;
    let asked = |extra: Extra| datasets.with(extra);
    let patches = first.patch.parts().len();
    if asked(Extra::Patches) && patches == 0 {
        let accepted = "this extra only for contacts with several `[[patches]]`";
        return Err(RolloutError::Dataset(ParameterError::new("with", Extra::Patches.name(), accepted)));
    }
    let recorded = OfBristles {
        shear: asked(Extra::Shear).then(|| *first.patch.grid()),
        markers: first.layer().is_some(),
        sensor: Sensor::of(scenario),
        patches: asked(Extra::Patches).then_some(patches),
    };
    if recorded.is_any() {
        check_bristles(first, 0, &recorded)?;
    }
    Ok(recorded)
}

/// Friction in cells and in patches is that of a grid of bristles.
pub(super) fn check_bristles(contact: &Contact, k: u64, recorded: &OfBristles) -> Result<(), RolloutError> {
    if contact.model.is_grid() {
        return Ok(());
    }
    let extra = if recorded.shear.is_some() { Extra::Shear } else { Extra::Patches };
    let accepted = format!("another model for contact {k}: friction in cells is that of a grid, `distributed`");
    Err(RolloutError::Dataset(ParameterError::new("with", extra.name(), accepted)))
}

/// Frames of one dataset have one size.
pub(super) fn check_grid(first: &Grid, grid: &Grid, k: u64) -> Result<(), RolloutError> {
    if (first.nx, first.ny) == (grid.nx, grid.ny) {
        return Ok(());
    }
    let found = format!("{} x {} in contact {k}", grid.nx, grid.ny);
    let accepted = format!("{} x {}, as in contact 0: tactile frames have one size", first.nx, first.ny);
    Err(RolloutError::Dataset(ParameterError::new("patch.cells", found, accepted)))
}

/// What the labels are.
pub(super) mod about {
    pub const TIME_TO_SLIP: &str = "time [s] until bristles with 99 % of the normal force next slip; 0 while they do, \
                                    -1 if they do not";
    pub const MARGIN: &str = "margin left to slip: 1 - 1/k, where k times the wrench makes the patch slip under mu_s; \
                              1 without a load, 0 where nothing presses, below 0 beyond the limit";
    pub const PATCH_MARGIN: &str = "margin left to slip of each of several patches alone, by its own wrench and normal \
                                    force";
    pub const TACTILE: &str = "normal force [N] of every cell, bottom row first";
    pub const FIRST_SLIP: &str =
        "time [s] at which bristles with 99 % of the normal force first slip, -1 if they do not";
    pub const PATCH_TIME_TO_SLIP: &str = "time [s] until bristles with 99 % of the normal force of each of several \
                                          patches next slip; 0 while they do, -1 if they do not";
    pub const PATCH_FIRST_SLIP: &str = "time [s] at which bristles with 99 % of the normal force of each of several \
                                        patches first slip, -1 if they do not";
    pub const VALIDATION: &str = "whether the episode is for validation, by a hash of its index";
}

/// The outcomes of some contacts, as places in [`Outcome::ALL`].
pub(super) fn outcomes(raw: &Raw, contacts: Range<u64>) -> Result<Vec<usize>, RolloutError> {
    let read = |name| raw.numbers(name, contacts.clone());
    let motions = read("displacement")?.into_iter().zip(read("rotation")?);
    let place = |((displacement, rotation), failed): ((f64, f64), f64)| {
        let outcome = NetMotion { displacement, rotation }.outcome(failed >= 0.0);
        Outcome::ALL.iter().position(|o| *o == outcome).unwrap_or_default()
    };
    Ok(motions.zip(read("failed_step")?).map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The split of an episode does not depend on the run, and has its share.
    #[test]
    fn validation_is_a_tenth_and_stays_as_it_is() {
        let first: Vec<u64> = (0..60).filter(|k| is_validation(*k)).collect();
        assert_eq!(first, FIRST_OF_VALIDATION, "datasets that were written before have other splits");
        let many = (0..100_000).filter(|k| is_validation(*k)).count();
        assert!((9_700..10_300).contains(&many), "{many}");
    }

    /// By another program.
    const FIRST_OF_VALIDATION: [u64; 6] = [2, 18, 29, 30, 31, 43];
}
