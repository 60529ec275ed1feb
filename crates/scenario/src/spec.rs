//! The scenario file as serde reads it. The comments here are the descriptions of the JSON schema; those of
//! the numbers that have none here are in [`bristle::parameter`].
#![allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]

use std::path::PathBuf;

use bristle::body::TwistPoint;
use bristle::contact::Form;
use bristle::friction::Law;
use schemars::JsonSchema;
use serde::Deserialize;

use super::columns::TableSpec;
use super::friction_axes::MuSpec;
use super::friction_map::FrictionMapSpec;
use super::indenter::{IndenterSpec, LayerSpec};
use super::level::Baseline;
use super::number::Number;
use super::sensor::SensorSpec;
use super::sequence::FramesSpec;
use super::several::{PlacedSpec, SharesName};
use super::shapes::{Inertia, OneOrTwo, ShapeSpec};
use super::signal::SignalSpec;
use super::step::StepSpec;
use bristle::limit_surface::Rule;
use bristle::parameter::RECORD_EVERY;
use bristle::plan::StopWhen;
use bristle::point::PointLaw;

/// A scenario: one contact, described by constants and distributions, and how many to draw and simulate.
/// SI units; counter-clockwise is positive.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// How many contacts to draw, >= 1; 1 if not given, or as many as a `table` has rows.
    #[serde(default = "not_given")]
    #[schemars(default = "one")]
    pub contacts: u64,
    /// Seed of all random numbers.
    #[serde(default)]
    pub seed: u64,
    /// See [`DURATION`](bristle::parameter::DURATION).
    pub duration: f64,
    /// Integration steps: the longest [s], 1e-7 to 0.1, or a tolerance by which each contact chooses its own.
    #[serde(default)]
    pub step: StepSpec,
    /// See [`RECORD_EVERY`].
    #[serde(default = "record_every")]
    pub record_every: f64,
    /// The engine; `--engine` overrides it.
    #[serde(default)]
    pub engine: EngineChoice,
    /// Precision of the bristles' arithmetic on the CPU; a GPU has `f32` alone.
    #[serde(default)]
    pub precision: Precision,
    /// A file with one row a contact, whose columns may stand wherever a number or a signal may.
    pub table: Option<TableSpec>,
    /// The contact model.
    #[serde(default)]
    pub contact: ContactSpec,
    /// The contact patch and its pressure map.
    #[serde(default)]
    pub patch: PatchSpec,
    /// Several patches on the body in place of one, at most 16: fingers on one face, the feet of a table.
    pub patches: Option<Vec<PlacedSpec>>,
    /// Friction parameters.
    #[serde(default)]
    pub friction: FrictionSpec,
    /// The moving body.
    pub body: BodySpec,
    /// Where it starts.
    #[serde(default)]
    pub initial: InitialSpec,
    /// Limits on the cost of a contact.
    #[serde(default)]
    pub limits: LimitsSpec,
    /// When a contact has left, and is not simulated any further; at least one of its keys.
    pub stop_when: Option<StopWhen>,
    /// What acts on it over time.
    #[serde(default)]
    pub inputs: InputsSpec,
    /// What a tactile sensor makes of the images of a dataset.
    pub sensor: Option<SensorSpec>,
}

impl Spec {
    /// Gives a point contact, whose patch is without effect, one of one cell.
    pub(super) fn without_patch(&mut self) {
        if self.contact.model == ModelName::Point {
            self.patch.cells = Some(OneOrTwo::One(1));
        }
    }
}

/// Limits on the cost of a contact: one that would exceed them is stopped, and counted.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsSpec {
    /// Most steps of a contact, >= 1; if not given, 1e5 and another 1e5 each simulated second, but no less
    /// than ten times what `step` and the break points ask for.
    pub steps: Option<u64>,
}

fn one() -> u64 {
    1
}

/// In place of a number of contacts that is not given; TOML has no integer of that size.
pub(super) const NOT_GIVEN: u64 = u64::MAX;

fn not_given() -> u64 {
    NOT_GIVEN
}

fn record_every() -> f64 {
    RECORD_EVERY.default
}

/// The engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum EngineChoice {
    /// A hardware GPU if there is one, else the CPU. The default.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A GPU in single precision; a software adapter will do.
    Gpu,
}

/// Precision of the bristles' arithmetic. The body's equations are in double precision, or in compensated
/// sums on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single: the step's error is some ten times its rounding. The default.
    #[default]
    F32,
    /// Double; two to three times as slow.
    F64,
}

/// The contact model.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactSpec {
    /// How the wrench follows from the bristles.
    #[serde(default)]
    pub model: ModelName,
    /// `reduced` only: the surface of its wrenches in steady sliding; `"limit-surface"` if not given.
    pub surface: Option<SurfaceName>,
    /// `reduced` with the Elasto-Plastic law only; `"consistent"` if not given.
    pub form: Option<Form>,
    /// Limit surface only: the rule by which cells are integrated; `"cells"` if not given.
    pub rule: Option<RuleName>,
    /// Limit surface only: resolution of the table, 1 to 1000; 20 if not given.
    pub n_ls: Option<usize>,
    pub table_force: Option<f64>,
    /// Several `[[patches]]` only: which part of the normal force each has; `"given"` if not given.
    pub shares: Option<SharesName>,
    /// `point` only: its law.
    pub point: Option<PointSpec>,
}

/// The law of a point contact, which steps by `step` as it is.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointSpec {
    /// The law; `"implicit"` if not given.
    #[serde(default)]
    pub law: PointLaw,
    pub band: Option<Number>,
    pub slider_mass: Option<Number>,
    pub attraction: Option<Number>,
    pub elements: Option<Vec<[Number; 2]>>,
}

/// How the wrench follows from the bristles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelName {
    /// One bristle in every cell of the patch. The default.
    #[default]
    Distributed,
    /// One bristle with three components for the whole patch: about ten times faster at 21 x 21 cells.
    Reduced,
    /// A point without a patch that does not turn, in fixed steps.
    Point,
}

/// The surface of the wrenches of the reduced model in steady sliding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SurfaceName {
    /// The patch's own limit surface, from a table. The default.
    #[default]
    LimitSurface,
    /// The ellipsoid with the patch's torsional radius.
    Ellipsoid,
}

/// The rule by which cells are integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum RuleName {
    /// Exact integrals over cells of constant pressure. The default.
    #[default]
    Cells,
    /// Eq. (23): bilinear between rotations about the nodes of the grid.
    Bilinear,
    /// All of a cell's force at its centre.
    Points,
}

impl From<RuleName> for Rule {
    fn from(name: RuleName) -> Self {
        match name {
            RuleName::Cells => Self::Cells,
            RuleName::Bilinear => Self::Bilinear,
            RuleName::Points => Self::Points,
        }
    }
}

/// The contact patch: a grid of cells and a pressure map, by `shape`, `file` or `pressure`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchSpec {
    /// A named map, or `{ choice = [..] }` of them. `"circle"` if nothing else gives the map.
    pub shape: Option<ShapeSpec>,
    /// A map from a file beside the scenario: `.npy` (rows and columns, top row first; or frames of them),
    /// `.png` (brighter is more pressure) or `.csv` (columns x, y [m], w).
    pub file: Option<PathBuf>,
    /// Which frame of an `.npy` with several, from 0: an integer, a `choice` of some, or a `column`. If not
    /// given, each contact draws one of those with pressure, all as likely.
    pub frame: Option<Number>,
    /// Frames of an `.npy` that the map follows one after the other, in place of `frame`.
    pub frames: Option<FramesSpec>,
    /// A map as rows of numbers >= 0 in any unit, top row first.
    pub pressure: Option<Vec<Vec<f64>>>,
    /// Unit of a map from an `.npy` or `pressure`, if it measures: then its sum over the area of the cells is
    /// the normal force, in place of `inputs.normal_force`.
    pub unit: Option<PressureUnit>,
    /// What a sensor reads where nothing touches it, which is taken off a map from an `.npy` or `pressure`: a
    /// number in the unit of the map, or an `.npy` of one map beside the scenario; nothing if not given.
    pub baseline: Option<Baseline>,
    /// Whether readings below zero, after `baseline`, count as zero. How many did is told. If not, they are
    /// refused.
    pub clip: Option<bool>,
    /// Columns and rows, `n` or `[nx, ny]`; 21 for a shape. With a map from `file` or `pressure` it must
    /// agree.
    pub cells: Option<OneOrTwo<usize>>,
    pub size: Option<OneOrTwo<Number>>,
    pub radius: Option<Number>,
    pub exponent: Option<Number>,
    pub exponent_per_newton: Option<Number>,
    pub update: Option<f64>,
    /// Whether pressure frames may replace the map while a batch lives: then every cell has a bristle.
    pub takes_frames: Option<bool>,
    /// An elastic layer, whose bristles are as stiff wherever it is pressed.
    pub layer: Option<LayerSpec>,
    /// What presses on the layer, and so makes the map.
    pub indenter: Option<IndenterSpec>,
}

/// Units of pressure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum PressureUnit {
    /// N/m^2.
    Pa,
    /// 1000 N/m^2.
    #[serde(rename = "kPa")]
    KiloPa,
    /// 1e6 N/m^2, which is N/mm^2.
    #[serde(rename = "MPa")]
    MegaPa,
}

impl PressureUnit {
    /// How many pascal it is.
    pub(super) const fn pascal(self) -> f64 {
        match self {
            Self::Pa => 1.0,
            Self::KiloPa => 1e3,
            Self::MegaPa => 1e6,
        }
    }
}

/// Friction parameters (Table I of Waltersson & Karayiannidis with p = 1 where not given).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrictionSpec {
    /// The bristle law.
    #[serde(default)]
    pub law: Law,
    pub sigma0: Option<Number>,
    pub sigma1: Option<Number>,
    pub sigma2: Option<Number>,
    pub mu_c: Option<Number>,
    pub mu_s: Option<Number>,
    pub mu_s_over_mu_c: Option<Number>,
    pub gamma: Option<Number>,
    pub v_s: Option<Number>,
    pub s_ba: Option<Number>,
    /// Friction by region: factors of `mu_c` and `mu_s`, which are spread over the whole grid of the patch.
    pub map: Option<FrictionMapSpec>,
    /// Friction by direction: coefficients along an axis and across it.
    pub mu: Option<MuSpec>,
}

/// How the patch is attached to the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KindName {
    /// The twist of the patch is given by `inputs.twist`; nothing is solved.
    Prescribed,
    /// In-hand sliding: patch and bristles are fixed in the world and grip a moving object.
    Gripper,
    /// A body sliding on a table: patch and bristles turn with it.
    Body,
    /// Grid at the centre of mass with the axes of the world, which does not turn (the paper's drift runs).
    World,
}

/// The moving body.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BodySpec {
    /// How the patch is attached to the body.
    pub kind: KindName,
    pub mass: Option<Number>,
    pub inertia: Option<Inertia>,
    /// Number of equal pads [-], each with the normal force; 2 for a gripper, else 1.
    pub pads: Option<u32>,
    pub spring: Option<Number>,
    pub offset: Option<[Number; 2]>,
}

/// State at the start; at rest at the origin if not given.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitialSpec {
    /// `[x, y, theta]` of the centre of mass [m, m, rad]; for a gripper from the patch origin.
    pub pose: Option<[Number; 3]>,
    /// `[vx, vy, w]` at the centre of mass [m/s, m/s, rad/s]. Not for a prescribed twist.
    pub twist: Option<[Number; 3]>,
    /// Whether the bristles are unloaded, or as after long sliding.
    #[serde(default)]
    pub bristles: BristlesName,
}

/// Bristles at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BristlesName {
    /// At rest: what moves is set in motion at that moment.
    #[default]
    Unloaded,
    /// As after long sliding with the twist at the start.
    Steady,
}

/// What acts on the body over time. Every signal may be a number, a distribution or a table.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputsSpec {
    pub hold: Option<f64>,
    pub normal_force: Option<SignalSpec>,
    /// Load at the centre of mass, axes of the world.
    pub wrench: Option<WrenchSpec>,
    pub gravity: Option<[SignalSpec; 2]>,
    pub anchor: Option<[SignalSpec; 2]>,
    /// A tilted table: gives gravity in the plane and the normal force m g cos(angle) / pads.
    pub tilt: Option<TiltSpec>,
    /// The twist of the patch, kind `prescribed` only.
    pub twist: Option<TwistSpec>,
    /// The twist of what the patch touches, which is at rest if not given: of a belt or a turntable in axes
    /// of the world, of the hand of a `gripper`, or under a `prescribed` twist, in axes of the patch. Not of
    /// a point contact.
    pub surface: Option<SurfaceSpec>,
    pub push_height: Option<Number>,
    pub mu_c: Option<SignalSpec>,
    pub mu_s: Option<SignalSpec>,
}

impl InputsSpec {
    /// All signals that are given, by the names of their fields.
    pub(super) fn signals(&self) -> impl Iterator<Item = (&'static str, &SignalSpec)> {
        let (wrench, twist, surface) = (self.wrench.as_ref(), self.twist.as_ref(), self.surface.as_ref());
        let [gravity, anchor] = [&self.gravity, &self.anchor].map(Option::as_ref);
        [
            ("inputs.normal_force", self.normal_force.as_ref()),
            ("inputs.wrench.fx", wrench.and_then(|w| w.fx.as_ref())),
            ("inputs.wrench.fy", wrench.and_then(|w| w.fy.as_ref())),
            ("inputs.wrench.tau", wrench.and_then(|w| w.tau.as_ref())),
            ("inputs.gravity.0", gravity.map(|g| &g[0])),
            ("inputs.gravity.1", gravity.map(|g| &g[1])),
            ("inputs.anchor.0", anchor.map(|a| &a[0])),
            ("inputs.anchor.1", anchor.map(|a| &a[1])),
            ("inputs.twist.vx", twist.and_then(|t| t.vx.as_ref())),
            ("inputs.twist.vy", twist.and_then(|t| t.vy.as_ref())),
            ("inputs.twist.w", twist.and_then(|t| t.w.as_ref())),
            ("inputs.surface.vx", surface.and_then(|s| s.vx.as_ref())),
            ("inputs.surface.vy", surface.and_then(|s| s.vy.as_ref())),
            ("inputs.surface.w", surface.and_then(|s| s.w.as_ref())),
            ("inputs.mu_c", self.mu_c.as_ref()),
            ("inputs.mu_s", self.mu_s.as_ref()),
        ]
        .into_iter()
        .filter_map(|(name, signal)| Some((name, signal?)))
    }
}

/// Load at the centre of mass, axes of the world; what is not given is 0.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrenchSpec {
    pub fx: Option<SignalSpec>,
    pub fy: Option<SignalSpec>,
    pub tau: Option<SignalSpec>,
}

/// A tilted table.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TiltSpec {
    pub angle: Number,
    pub direction: Option<Number>,
    pub gravity: Option<Number>,
}

/// The prescribed twist; what is not given is 0.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwistSpec {
    pub vx: Option<SignalSpec>,
    pub vy: Option<SignalSpec>,
    pub w: Option<SignalSpec>,
    /// Reference point; `"cop"` if not given.
    #[serde(default)]
    pub at: TwistPoint,
}

/// The twist of a surface that moves; what is not given is 0.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SurfaceSpec {
    pub vx: Option<SignalSpec>,
    pub vy: Option<SignalSpec>,
    pub w: Option<SignalSpec>,
    pub at: Option<[Number; 2]>,
}
