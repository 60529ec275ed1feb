//! Putting a shader together: constants from Rust, then the WGSL files.

use super::layout::{flag, kind};
use crate::body::Kind;
use crate::engine::Reason;
use crate::friction::STRIBECK_X_MIN;
use crate::kernel::real::Real;
use crate::kernel::step::{
    CHANGE, FRESH_STEP, KAPPA, NEWTON_MOST, NEWTON_TOLERANCE, PULL, SAFETY, SHORTEST_CHOSEN_STEP, SHORTEST_RULED_STEP,
};
use crate::limit_surface::{ORDERS, Rule};
use crate::patch::{A_MIN, K_MIN};

/// The shape of a kernel: lanes of a workgroup, and cells that each lane holds at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// Lanes of the workgroup: of one contact with a grid, or of as many reduced contacts.
    pub workgroup: u32,
    /// Length of each lane's arrays; 0 for reduced contacts.
    pub cells_per_lane: u32,
}

/// Lanes of the widest workgroup (portable limit).
const WIDEST: u32 = 256;
/// Cells a lane keeps before the next wider workgroup is taken.
const COMFORTABLE: u32 = 16;

impl Shape {
    /// The shape for a contact with `cells` cells: a function of the contact alone, so that its
    /// result does not depend on its neighbours.
    #[must_use]
    pub fn of(cells: usize) -> Self {
        let cells = cells as u32;
        let mut workgroup = 32;
        while workgroup < WIDEST && cells > workgroup * COMFORTABLE {
            workgroup *= 2;
        }
        Self { workgroup, cells_per_lane: cells.div_ceil(workgroup).next_multiple_of(4) }
    }

    /// The shape for contacts with a reduced bristle, one a lane.
    pub const REDUCED: Self = Self { workgroup: 32, cells_per_lane: 0 };

    /// Contacts that one workgroup steps.
    #[must_use]
    pub const fn contacts(self) -> u32 {
        if self.cells_per_lane == 0 { self.workgroup } else { 1 }
    }
}

/// A pipeline: a shape and what a whole dispatch has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variant {
    /// The kernel's shape.
    pub shape: Shape,
    /// Elasto-Plastic, else LuGre.
    pub elasto_plastic: bool,
    /// Whether `gamma` is 2.
    pub gaussian: bool,
    /// Whether a tolerance chooses the steps.
    pub adaptive: bool,
    /// What a reduced bristle slides on; none for a grid.
    pub reduced: Option<Reduced>,
}

/// A reduced model's pipeline constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reduced {
    /// An ellipsoid, else a limit surface.
    pub ellipsoid: bool,
    /// The elastically consistent form, else the published one.
    pub consistent: bool,
}

impl Variant {
    /// The pipeline constants.
    pub(super) fn constants(&self) -> Vec<(&'static str, f64)> {
        let mut all =
            vec![("elasto_plastic", self.elasto_plastic), ("gaussian", self.gaussian), ("adaptive", self.adaptive)];
        if let Some(r) = self.reduced {
            all.extend([("ellipsoid", r.ellipsoid), ("consistent", r.consistent)]);
        }
        all.into_iter().map(|(name, on)| (name, f64::from(u8::from(on)))).collect()
    }
}

/// The WGSL of a kernel of this shape.
#[must_use]
pub fn source(shape: Shape) -> String {
    let mut text = String::new();
    let mut constant = |name: &str, value: String| text += &format!("const {name} = {value};\n");
    for (name, value) in [
        ("PI", std::f64::consts::PI),
        ("LN_2", std::f64::consts::LN_2),
        ("LOG2_E", std::f64::consts::LOG2_E),
        ("TINY", f32::TINY),
        ("KAPPA", KAPPA),
        ("PULL", PULL),
        ("NEWTON_TOLERANCE", NEWTON_TOLERANCE),
        ("SHORTEST_RULED_STEP", SHORTEST_RULED_STEP),
        ("FRESH_STEP", FRESH_STEP),
        ("SHORTEST_CHOSEN_STEP", SHORTEST_CHOSEN_STEP),
        ("CHANGE_LEAST", CHANGE[0]),
        ("CHANGE_MOST", CHANGE[1]),
        ("SAFETY", SAFETY),
        ("STRIBECK_X_MIN", STRIBECK_X_MIN),
        ("STEP_SLACK", STEP_SLACK),
        ("ROOT_TOLERANCE", ROOT_TOLERANCE),
        ("A_MIN", A_MIN),
        ("K_MIN", K_MIN),
    ] {
        constant(name, format!("f32({value:e})"));
    }
    for (name, value) in [
        ("WORKGROUP", shape.workgroup),
        ("CELLS_PER_LANE", shape.cells_per_lane),
        ("NEWTON_MOST", NEWTON_MOST),
        ("ROOT_ITERATIONS", ROOT_ITERATIONS),
        ("KIND_PRESCRIBED", kind::of(Kind::Prescribed)),
        ("KIND_GRIPPER", kind::of(Kind::Gripper)),
        ("KIND_BODY", kind::of(Kind::Body)),
        ("FLAG_JUMP", flag::JUMP),
        ("FLAG_RECORD", flag::RECORD),
        ("FLAG_REMAP", flag::REMAP),
        ("FLAG_FIRST", flag::FIRST),
        ("FAILED_TWIST", Reason::Twist as u32),
        ("FAILED_WRENCH", Reason::Wrench as u32),
    ] {
        constant(name, format!("{value}u"));
    }
    constant("RAMP_ITERATIONS", f32::RAMP_ITERATIONS.to_string());
    text += include_str!("../../shaders/friction.wgsl");
    if shape.cells_per_lane == 0 {
        text += include_str!("../../shaders/reduced.wgsl");
    } else {
        text += include_str!("../../shaders/reduce.wgsl");
        text += include_str!("../../shaders/distributed.wgsl");
    }
    text += include_str!("../../shaders/step.wgsl");
    text
}

/// Iterations of the consistent form's root in single precision at most: all its bits by bisection.
pub(super) const ROOT_ITERATIONS: u32 = 24;
/// A step smaller than this share of the root ends it: Newton's next error is the square of that.
const ROOT_TOLERANCE: f64 = 1e-4;
/// Slack of the number of steps to a break point, wide enough for the rounding of single precision.
const STEP_SLACK: f64 = 1e-3;

/// Lanes of a workgroup of limit surfaces; each works for itself.
pub const SURFACE_WORKGROUP: u32 = 64;
/// Cells that one invocation sums at most: few enough for single precision, and far from llvmpipe's limit on
/// the turns of a loop.
pub const SLICE: usize = 256;
/// Distance of a cell's centre from the centre of rotation, in cell diagonals, from which the series is exact to
/// single precision.
const NEAR_DIAGONALS: f64 = 1.5;
/// A cell at rest is slower than this share of the patch's scale: some roundings of single precision.
const AT_REST: f64 = 5e-7;

/// The WGSL of limit surfaces.
#[must_use]
pub fn surface_source() -> String {
    let mut text = String::new();
    for (name, value) in
        [("NEAR_DIAGONALS", NEAR_DIAGONALS), ("AT_REST", AT_REST), ("TINY_LENGTH", 1e-15), ("TINY_SPEED2", 1e-30)]
    {
        text += &format!("const {name} = f32({value:e});\n");
    }
    for (name, value) in [
        ("WORKGROUP", SURFACE_WORKGROUP),
        ("SERIES", (ORDERS * (ORDERS + 1)) as u32),
        ("RULE_CELLS", Rule::Cells as u32),
        ("RULE_BILINEAR", Rule::Bilinear as u32),
    ] {
        text += &format!("const {name} = {value}u;\n");
    }
    text += include_str!("../../shaders/limit_surface.wgsl");
    text
}
