//! What each of several patches has of its own over time: its normal force, and the motion of what it
//! touches.

use std::borrow::Cow;
use std::sync::Arc;

use super::Contact;
use crate::body::Frame;
use crate::error::{ParameterError, check};
use crate::moving_surface::MovingSurface;
use crate::patch::Patch;
use crate::planar::{Pose, Twist};
use crate::schedule::{Feed, Signal, slot};

/// What one of several patches ([`Patch::compound`](crate::Patch::compound)) has of its own over time,
/// `docs/model.md` (20h).
///
/// The shares that the patches have in the compound patch are those of its centre of pressure, radius and
/// limit surface, whatever forces they have of their own: choose those at the start.
///
/// The patch stays in its place. What it touches moves under it: a belt under one of several feet, a finger
/// tip that turns where it is.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PatchInputs {
    /// Normal force \[N\] (of one pad); negative values are no contact, 0. All patches have one or none has.
    /// If they have, their sum is the normal force of the contact; if not, each has its share of
    /// [`Inputs::normal_force`](super::Inputs::normal_force).
    pub normal_force: Option<Signal>,
    /// The motion of what the patch touches, beside that of [`Inputs::surface`](super::Inputs::surface), in
    /// the same axes and about a point of the same frame; none if it has no motion of its own.
    pub surface: Option<MovingSurface>,
}

/// The fields of the signals of each patch in files: normal force, and three of the surface.
pub(crate) const FIELDS_OF_PATCHES: [[&str; slot::OF_PART]; crate::patch::MAX_PATCHES] = fields();

/// What [`FIELDS_OF_PATCHES`] has.
const fn fields() -> [[&'static str; slot::OF_PART]; crate::patch::MAX_PATCHES] {
    macro_rules! of {
        ($($k:literal)+) => {
            [$([
                concat!("patches.", $k, ".normal_force"),
                concat!("patches.", $k, ".surface.vx"),
                concat!("patches.", $k, ".surface.vy"),
                concat!("patches.", $k, ".surface.w"),
            ]),+]
        };
    }
    of!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
}

impl PatchInputs {
    /// The signals by the names of their fields in files.
    pub(super) fn signals(
        &self,
        fields: [&'static str; slot::OF_PART],
    ) -> impl Iterator<Item = (&'static str, &Signal)> {
        let [normal_force, of_surface @ ..] = fields;
        let force = self.normal_force.iter().map(move |signal| (normal_force, signal));
        force.chain(self.surface.iter().flat_map(move |surface| of_surface.into_iter().zip(&surface.twist)))
    }
}

/// The inputs of one of several patches at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartInputs {
    /// Normal force \[N\] of one pad.
    pub normal_force: f64,
    /// The twist of its surface at the origin of the frame that it is given in, beside that of the contact.
    pub surface: Twist,
}

impl From<[f64; slot::OF_PART]> for PartInputs {
    fn from([normal_force, vx, vy, w]: [f64; slot::OF_PART]) -> Self {
        Self { normal_force, surface: Twist::new(vx, vy, w) }
    }
}

impl Contact {
    /// Whether patches have inputs of their own.
    pub(crate) const fn drives_parts(&self) -> bool {
        !self.inputs.patches.is_empty()
    }

    /// Whether patches have normal forces of their own.
    pub(crate) fn has_forces_of_parts(&self) -> bool {
        self.inputs.patches.first().is_some_and(|own| own.normal_force.is_some())
    }

    /// Checks what patches have of their own, without the numbers of their signals.
    pub(super) fn validate_parts(&self) -> Result<(), ParameterError> {
        let (own, parts) = (&self.inputs.patches, self.patch.parts());
        if own.is_empty() {
            return Ok(());
        }
        if own.len() != parts.len() {
            let accepted = format!("none, or {}, one for each of several patches", parts.len());
            return Err(ParameterError::new("inputs.patches", format!("{} patches", own.len()), accepted));
        }
        if self.patch.takes_frames() || self.patch.changes() {
            let accepted = "none: the maps of patches with inputs of their own stay as they are";
            return Err(ParameterError::new("inputs.patches", "given", accepted));
        }
        if !self.model.is_grid() {
            let accepted = "none: one bristle for all patches cannot tell them apart, the model `distributed` can";
            return Err(ParameterError::new("inputs.patches", "given", accepted));
        }
        let with_forces = self.has_forces_of_parts();
        for (k, (own, part)) in own.iter().zip(parts).enumerate() {
            let [normal_force, ..] = FIELDS_OF_PATCHES[k];
            if own.normal_force.is_some() != with_forces {
                let found = if with_forces { "none" } else { "given" };
                let accepted = "one for every patch, or none for all";
                return Err(ParameterError::new(normal_force, found, accepted));
            }
            if with_forces {
                let accepted = "a number > 0 where the patch has a normal force of its own";
                check(&format!("patches.{k}.share"), part.share(), accepted, part.share() > 0.0)?;
            }
            if let Some(surface) = &own.surface {
                surface.validate(&format!("patches.{k}.surface"))?;
            }
        }
        Ok(())
    }

    /// The signals of patches with the inputs that they add to.
    pub(super) fn feeds_of_parts(&self) -> impl Iterator<Item = Feed<'_>> + Clone {
        self.inputs.patches.iter().zip(self.patch.parts()).enumerate().flat_map(|(k, (own, part))| {
            let first = slot::of_part(k);
            let (signal, scale) =
                own.normal_force.as_ref().map_or((&self.inputs.normal_force, part.share()), |own| (own, 1.0));
            let surface = own.surface.iter().flat_map(move |surface| surface.feeds(first + 1));
            std::iter::once(Feed { signal, scale, slot: first }).chain(surface)
        })
    }

    /// The inputs of each of several patches just before time `t` [s]; none if they have none of their own.
    pub(super) fn parts_before(&self, t: f64) -> Vec<PartInputs> {
        self.parts(|signal| signal.value_before(t))
    }

    /// The inputs of patches at time `t` [s]; none if they have none of their own.
    pub(crate) fn parts_at(&self, t: f64) -> Vec<PartInputs> {
        self.parts(|signal| signal.value(t))
    }

    /// The inputs of patches at the values `of` their signals.
    fn parts(&self, of: impl Fn(&Signal) -> f64) -> Vec<PartInputs> {
        let own = self.inputs.patches.iter().zip(self.patch.parts()).map(|(own, part)| {
            let force = |signal: &Signal| of(signal).max(0.0);
            let normal_force =
                own.normal_force.as_ref().map_or_else(|| part.share() * force(&self.inputs.normal_force), force);
            let surface = own.surface.as_ref().map_or_else(Twist::default, |surface| surface.twist_of(&of));
            PartInputs { normal_force, surface }
        });
        own.collect()
    }

    /// By how much the twist of a patch relative to its own surface is less than that relative to the surface
    /// of the contact, at the patch origin in the axes of the patch; of a contact at pose `q`.
    pub(crate) fn surface_of_part(&self, q: Pose, surface: Twist) -> Twist {
        match self.body.free().map(|body| body.frame) {
            None | Some(Frame::Gripper) => surface,
            Some(frame) => frame.transform(q).twist(surface.at([q.x, q.y])),
        }
    }

    /// [`Contact::surface_of_part`] of every patch at the start; none if patches have nothing of their own.
    pub(super) fn first_surfaces(&self) -> Vec<Twist> {
        let surface = |part: PartInputs| self.surface_of_part(self.initial.pose, part.surface);
        self.parts_at(0.0).into_iter().map(surface).collect()
    }

    /// `L^2` [m^2] for the step: of patches with normal forces of their own the largest, whatever these are.
    pub(crate) fn largest_arm2(&self, arm2: f64) -> f64 {
        if !self.has_forces_of_parts() {
            return arm2;
        }
        let patch = self.patch.isotropic();
        let of_part = |part: &crate::patch::Part| {
            let moments = part.cells().map(|i| {
                let ([x, y], w) = (patch.place(i), patch.weights()[i]);
                [w, w * (x * x + y * y)]
            });
            let [all, square] = moments.fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
            square / all
        };
        self.patch.parts().iter().map(of_part).fold(arm2, f64::max)
    }

    /// The patch at time `t` \[s\], where several patches may have normal forces of their own; a map that
    /// changes is that of the start.
    pub fn patch_at(&self, t: f64) -> Arc<Patch> {
        let forces: Vec<f64> = self.parts_at(t).iter().map(|part| part.normal_force).collect();
        match self.patch_under(&forces) {
            Cow::Borrowed(_) => Arc::clone(&self.patch),
            Cow::Owned(patch) => Arc::new(patch),
        }
    }

    /// The patch where its patches have these normal forces \[N\]; as it is if their shares stay the same, or
    /// all are 0.
    pub fn patch_under(&self, forces: &[f64]) -> Cow<'_, Patch> {
        let all: f64 = forces.iter().sum();
        if !(self.has_forces_of_parts() || self.moves_loads()) || all <= 0.0 {
            return Cow::Borrowed(&self.patch);
        }
        let shares: Vec<f64> = forces.iter().map(|force| force / all).collect();
        Cow::Owned(self.patch.with_shares(&shares))
    }

    /// The normal force \[N\] at time `t` \[s\]: the sum of those of patches that have their own.
    pub fn normal_force_at(&self, t: f64) -> f64 {
        if self.has_forces_of_parts() {
            return self.parts_at(t).iter().map(|part| part.normal_force).sum();
        }
        self.inputs.normal_force.value(t).max(0.0)
    }
}
