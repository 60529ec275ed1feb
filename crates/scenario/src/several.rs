//! Several patches on the body: `[[patches]]`.
#![allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;

use super::check::check_surface;
use super::friction_map::FrictionMap;
use super::number::Number;
use super::patch_failure::PatchFailure;
use super::patch_file;
use super::patches::{DrawnPatch, Patches};
use super::sampler::Sampler;
use super::shapes::ShapeName;
use super::signal::SignalSpec;
use super::spec::{KindName, ModelName, PatchSpec, Spec, SurfaceSpec};
use bristle::body::{Body, Frame};
use bristle::contact::PatchInputs;
use bristle::error::{ParameterError, PatchError};
use bristle::parameter::PUSH_HEIGHT;
use bristle::patch::{FrictionAxes, MAX_PATCHES, Patch, Placed};
use bristle::planar::Pose;

/// One of several patches on the body, in the frame of `[patch]`; its map is that of `[patch]` if it has none
/// of its own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacedSpec {
    /// Where the origin of the patch is [m]; at that of the frame if not given.
    pub at: Option<[Number; 2]>,
    /// By what angle the patch is turned there, counter-clockwise [rad]; 0 if not given.
    pub turn: Option<Number>,
    /// Its part of the normal force, >= 0: that over the sum of all is its share [-]; 1 if not given.
    pub share: Option<Number>,
    /// Its normal force over time [N] (of one pad) in place of `share` and `inputs.normal_force`; negative is
    /// no contact. All patches have one, or none has.
    pub normal_force: Option<SignalSpec>,
    /// The twist of what it touches, beside that of `inputs.surface`, in the same axes and about a point of
    /// the same frame: a belt under one foot, a finger tip that turns where it is. The patch stays in its
    /// place.
    pub surface: Option<SurfaceSpec>,
    /// The factor of its coefficients of friction [-], 1e-3 to 1e3; 1 if not given.
    pub friction: Option<Number>,
    /// A map of its own, of constants, by `shape` or `pressure`.
    pub patch: Option<PatchSpec>,
}

impl PlacedSpec {
    /// The signals of patch number `k`, by the names of their fields.
    pub(super) fn signals(&self, k: usize) -> impl Iterator<Item = (String, &SignalSpec)> {
        let surface = self.surface.as_ref();
        let all = [
            ("normal_force", self.normal_force.as_ref()),
            ("surface.vx", surface.and_then(|surface| surface.vx.as_ref())),
            ("surface.vy", surface.and_then(|surface| surface.vy.as_ref())),
            ("surface.w", surface.and_then(|surface| surface.w.as_ref())),
        ];
        all.into_iter().filter_map(move |(name, signal)| Some((format!("patches.{k}.{name}"), signal?)))
    }
}

/// Which part of the normal force each of several patches has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SharesName {
    /// The `share` of each. The default.
    #[default]
    Given,
    /// What carries the weight of the body: of three patches statically, of more by the least norm.
    Equilibrium,
}

/// The data from which compound patches are made.
#[derive(Debug)]
pub(super) struct Several {
    patches: Vec<PlacedSpec>,
    /// The maps of their own.
    own: Vec<Option<Patches>>,
    by_equilibrium: bool,
    is_reduced: bool,
    axes: Option<FrictionAxes>,
    /// The last one that was made.
    last: Mutex<Option<(Vec<Drawn>, Made)>>,
}

/// What a patch is drawn with: its map, place, turn, force and friction.
type Drawn = (Arc<Patch>, [f64; 5]);

/// A compound patch, and the mean of its friction where that has moved into the pressure.
type Made = (Arc<Patch>, f64);

impl Several {
    /// Reads and checks the patches of a scenario, if it has several; relative files are looked for in
    /// `base`.
    pub fn prepare(
        spec: &Spec,
        map: Option<&FrictionMap>,
        axes: Option<FrictionAxes>,
        base: &Path,
    ) -> Result<Option<Self>, PatchFailure> {
        let Some(patches) = &spec.patches else {
            if spec.inputs.push_height.is_some() {
                let message = "expected this key only with several `[[patches]]`, among which load moves";
                return PatchFailure::wrong(PUSH_HEIGHT.name, message);
            }
            if spec.contact.shares.is_some() {
                return PatchFailure::wrong("contact.shares", "expected this key only with several `[[patches]]`");
            }
            return Ok(None);
        };
        if spec.contact.model == ModelName::Point {
            return PatchFailure::wrong("patches", "expected this key only for contacts with a patch");
        }
        check_inputs(patches, spec)?;
        let several = Self::of(patches, &spec.patch, map, base)?;
        let by_equilibrium = spec.contact.shares == Some(SharesName::Equilibrium);
        if by_equilibrium {
            if let Some(k) = patches.iter().position(|placed| placed.share.is_some()) {
                let message = "expected none with `contact.shares = \"equilibrium\"`, from which shares follow";
                return PatchFailure::wrong(&format!("patches.{k}.share"), message);
            }
            if !matches!(spec.body.kind, KindName::Body | KindName::World) {
                let message = "\"equilibrium\": expected it with the kinds \"body\" and \"world\", whose patches stay \
                               below the centre of mass";
                return PatchFailure::wrong("contact.shares", message);
            }
        }
        Ok(Some(Self { by_equilibrium, is_reduced: spec.contact.model == ModelName::Reduced, axes, ..several }))
    }

    /// Of patches with given shares, whose maps are that of `patch` or their own, with a friction map.
    pub fn of(
        patches: &[PlacedSpec],
        patch: &PatchSpec,
        map: Option<&FrictionMap>,
        base: &Path,
    ) -> Result<Self, PatchFailure> {
        if !(1..=MAX_PATCHES).contains(&patches.len()) {
            return PatchFailure::wrong("patches", format!("{} patches: expected 1 to {MAX_PATCHES}", patches.len()));
        }
        of_several(patch)?;
        let own = |(k, placed): (usize, &PlacedSpec)| {
            let of_this = |failure: PatchFailure| failure.within(&format!("patches.{k}"));
            let Some(patch) = &placed.patch else { return Ok(None) };
            let patches = own_map(patch, base).map_err(of_this)?;
            match map {
                Some(map) => patches.with_friction(map, false).map(Some),
                None => Ok(Some(patches)),
            }
        };
        Ok(Self {
            own: patches.iter().enumerate().map(own).collect::<Result<_, _>>()?,
            patches: patches.to_vec(),
            by_equilibrium: false,
            is_reduced: false,
            axes: None,
            last: Mutex::new(None),
        })
    }

    /// The same with friction by direction, if it is given.
    pub fn with_axes(self, axes: Option<FrictionAxes>) -> Self {
        Self { axes, ..self }
    }

    /// The first normal force or surface motion of a patch, where only what stays as it is is accepted.
    pub fn inputs_key(&self) -> Option<String> {
        self.patches.iter().enumerate().find_map(|(k, placed)| {
            let name = match placed {
                PlacedSpec { normal_force: Some(_), .. } => "normal_force",
                PlacedSpec { surface: Some(_), .. } => "surface",
                _ => return None,
            };
            Some(format!("patches.{k}.{name}"))
        })
    }

    /// The first number that is drawn, where only constants are accepted.
    pub fn drawn_key(&self) -> Option<String> {
        self.patches.iter().enumerate().find_map(|(k, placed)| {
            let [x, y] = placed.at.as_ref().map_or([None; 2], |[x, y]| [Some(x), Some(y)]);
            let numbers = [
                ("at.0", x),
                ("at.1", y),
                ("turn", placed.turn.as_ref()),
                ("share", placed.share.as_ref()),
                ("friction", placed.friction.as_ref()),
            ];
            let drawn = numbers.into_iter().find(|(_, number)| number.is_some_and(|number| !number.is_constant()));
            drawn.map(|(name, _)| format!("patches.{k}.{name}"))
        })
    }

    /// The compound patch of a contact with that `body` and these `inputs` of its patches; `patches` has the
    /// map of those without one of their own.
    pub fn draw(
        &self,
        patches: &Patches,
        body: Option<&Body>,
        inputs: &[PatchInputs],
        d: &mut Sampler<'_>,
    ) -> Result<DrawnPatch, ParameterError> {
        let common = patches.draw(1.0, d)?.patch;
        let mut drawn: Vec<Drawn> = Vec::with_capacity(self.patches.len());
        for (k, (spec, own)) in self.patches.iter().zip(&self.own).enumerate() {
            let map = match own {
                Some(own) => {
                    let before = d.within(format!("patches.{k}."));
                    let drawn = own.draw(1.0, d);
                    d.within(before);
                    drawn?.patch
                }
                None => Arc::clone(&common),
            };
            let mut number = |name: &str, given: Option<&Number>, default: f64| {
                given.map_or(default, |given| d.number(&format!("patches.{k}.{name}"), given))
            };
            let at = spec.at.as_ref();
            let (x, y) = (number("at.0", at.map(|at| &at[0]), 0.0), number("at.1", at.map(|at| &at[1]), 0.0));
            let turn = number("turn", spec.turn.as_ref(), 0.0);
            let (share, friction) =
                (number("share", spec.share.as_ref(), 1.0), number("friction", spec.friction.as_ref(), 1.0));
            drawn.push((map, [x, y, turn, share, friction]));
        }
        // Where patches have forces of their own, the shares are those at the start. None is 0, as a patch
        // may come to press.
        let force = |own: &PatchInputs| own.normal_force.as_ref().map_or(0.0, |force| force.value(0.0).max(0.0));
        let all: f64 = inputs.iter().map(force).sum();
        if all > 0.0 {
            let forces = inputs.iter().map(|own| force(own).max(LEAST_SHARE * all));
            drawn.iter_mut().zip(forces).for_each(|((_, numbers), force)| numbers[3] = force);
        }
        let mut placed: Vec<Placed> = drawn.iter().map(|(patch, numbers)| placed(patch, *numbers)).collect();
        if self.by_equilibrium {
            // The patch frame is that far from the centre of mass.
            let weight = match body.and_then(Body::free).map(|body| body.frame) {
                Some(Frame::Body { offset: [x, y] }) => [-x, -y],
                _ => [0.0; 2],
            };
            let shares = Patch::shares_by_equilibrium(&placed, weight)?;
            for (k, (share, (placed, drawn))) in shares.iter().zip(placed.iter_mut().zip(&mut drawn)).enumerate() {
                d.record(&format!("patches.{k}.share"), *share);
                (placed.force, drawn.1[3]) = (*share, *share);
            }
        }
        let is_same = |(a, b): (&Drawn, &Drawn)| Arc::ptr_eq(&a.0, &b.0) && a.1 == b.1;
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = last().as_ref().filter(|(of, _)| of.iter().zip(&drawn).all(is_same)).map(|(_, made)| made.clone());
        let (patch, friction) = match kept {
            Some(made) => made,
            None => {
                // Outside the lock: contacts are drawn in parallel, and each may have a patch of its own.
                let made = self.make(&placed)?;
                *last() = Some((drawn, made.clone()));
                made
            }
        };
        Ok(DrawnPatch { patch, update: None, force: None, friction, layer: None })
    }

    fn make(&self, placed: &[Placed]) -> Result<Made, ParameterError> {
        let whole = Patch::compound(placed).map_err(|e| match e {
            PatchError::Parameter(e) => e,
            other => ParameterError::new("patches", "given", other.to_string()),
        })?;
        let whole = match self.axes {
            Some(axes) => whole.with_friction_axes(axes),
            None => whole,
        };
        let (whole, mean) = match whole.friction_map() {
            Some(_) if self.is_reduced => (whole.with_friction_in_pressure(), whole.mean_friction()),
            _ => (whole, 1.0),
        };
        Ok((Arc::new(whole), mean))
    }

    /// The maps of their own, whose digests are part of the scenario's.
    pub fn own(&self) -> impl Iterator<Item = &Patches> {
        self.own.iter().flatten()
    }
}

/// Least share of the normal force [-] of a patch that has a force of its own, which may be 0 at the start.
const LEAST_SHARE: f64 = 1e-9;

fn placed(patch: &Patch, [x, y, turn, force, friction]: [f64; 5]) -> Placed {
    Placed { patch: patch.clone(), at: Pose::new(x, y, turn), force, friction }
}

/// Refuses normal forces and surface motions that patches of a scenario cannot have.
fn check_inputs(patches: &[PlacedSpec], spec: &Spec) -> Result<(), PatchFailure> {
    let wrong = |k: usize, key: &str, message: &str| PatchFailure::wrong(&format!("patches.{k}.{key}"), message);
    let forces = patches.iter().filter(|placed| placed.normal_force.is_some()).count();
    if spec.contact.model == ModelName::Reduced && spec.inputs.push_height.is_some() {
        let message = "expected this key only with `contact.model = \"distributed\"`, which tells patches apart";
        return PatchFailure::wrong(PUSH_HEIGHT.name, message);
    }
    for (k, PlacedSpec { share, normal_force, surface, .. }) in patches.iter().enumerate() {
        if spec.contact.model == ModelName::Reduced && (normal_force.is_some() || surface.is_some()) {
            let key = if normal_force.is_some() { "normal_force" } else { "surface" };
            return wrong(
                k,
                key,
                "expected this key only with `contact.model = \"distributed\"`, which tells patches apart",
            );
        }
        if forces > 0 && normal_force.is_none() {
            return wrong(
                k,
                "normal_force",
                "expected the normal force of this patch, too, as another one has its own",
            );
        }
        if forces > 0 && share.is_some() {
            return wrong(k, "share", "expected either `share` or `normal_force`");
        }
        let Some(surface) = surface else { continue };
        if let Err(error) = check_surface(surface, &format!("patches.{k}.surface")) {
            return PatchFailure::wrong(&error.field, format!("{}: expected {}", error.value, error.accepted));
        }
    }
    let of_contact = [
        ("inputs.normal_force", spec.inputs.normal_force.is_some()),
        ("inputs.tilt", spec.inputs.tilt.is_some()),
        (PUSH_HEIGHT.name, spec.inputs.push_height.is_some()),
        ("contact.shares", spec.contact.shares == Some(SharesName::Equilibrium)),
    ];
    match of_contact.iter().find(|(_, given)| forces > 0 && *given) {
        Some((key, _)) => PatchFailure::wrong(key, "expected none where patches have a `normal_force` of their own"),
        None => Ok(()),
    }
}

/// Refuses what a map of several patches cannot have.
fn of_several(spec: &PatchSpec) -> Result<(), PatchFailure> {
    let keys = [
        ("patch.frames", spec.frames.is_some()),
        ("patch.takes_frames", spec.takes_frames.is_some()),
        ("patch.layer", spec.layer.is_some()),
        ("patch.indenter", spec.indenter.is_some()),
        ("patch.unit", spec.unit.is_some()),
        ("patch.shape", spec.shape.as_ref().is_some_and(|shape| shape.0.contains(&ShapeName::Hertz))),
    ];
    match keys.iter().find(|(_, given)| *given) {
        Some((key, _)) => PatchFailure::wrong(key, "expected a map that stays as it is, with several `[[patches]]`"),
        None => Ok(()),
    }
}

/// The map that one of several patches has of its own.
fn own_map(spec: &PatchSpec, base: &Path) -> Result<Patches, PatchFailure> {
    of_several(spec)?;
    let accepted = "expected this key in `[patch]`, whose map all patches have that have none of their own";
    for (key, given) in [("patch.file", spec.file.is_some()), ("patch.baseline", spec.baseline.is_some())] {
        if given {
            return PatchFailure::wrong(key, accepted);
        }
    }
    match patch_file::drawn_key(spec) {
        Some(key) => PatchFailure::wrong(key, "expected a constant in the map that one of several patches has"),
        None => Patches::prepare(spec, base),
    }
}
