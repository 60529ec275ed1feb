//! Assembles the text of a shader: constants from Rust, then the WGSL files.

use super::layout::{flag, kind};
use super::shape::{KernelShape, Storage, Sums};
use super::unroll::{MarkError, Unroll, unrolled};
use crate::contact::transfer::{SHOWN_LIMIT, STICK_LIMIT};
use crate::engine::{ALL_SLIDES, LEFT, Reason, SLIP_SPEED};
use crate::friction::{Law, STRIBECK_X_MIN, laws};
use crate::limit_surface::{AT_REST_ON_GPU, ORDERS, Rule};
use crate::number::real::Real;
use crate::patch::{A_MIN, K_MIN, MAX_PATCHES};
use crate::point::{PointLaw, point_laws};
use crate::schedule::slot;
use crate::solver::bristles::{LEAST_TRUST_RADIUS, MAX_TURN};
pub(super) use crate::solver::constants::ROOT_ITERATIONS_ON_GPU as ROOT_ITERATIONS;
use crate::solver::constants::{
    BALANCE_DIFFERENCE_ON_GPU, BALANCE_ROUNDS, BALANCED_ON_GPU, ERROR_CONSTANT, EXTRAPOLATION, FRESH_STEP, KAPPA,
    LEAST_SLOPES, LEAST_SPREAD, LEAST_TOLERANCE, LEVER_MARGIN, MASS_MARGIN, NEAR_SLIP, NEWTON_MOST, NEWTON_TOLERANCE,
    QUADRATURE, RELATIVE_TOLERANCE, ROOT_TOLERANCE_ON_GPU, SAFETY, SHORTEST_CHOSEN_STEP, SHORTEST_RULED_STEP,
    SHORTEST_TRIED_STEP, SHRINK_ON_FAILURE, SLIP_ROUNDING, SPEED_MARGIN, STEP_CHANGE_LIMITS, STEP_SLACK_ON_GPU,
    THIRD_ORDER_SHARE,
};
use crate::solver::friction::{LEAST_SLOPE, SLOPE_TAIL, SLOPE_TAIL_FROM};
use crate::solver::laws::AT_LIMIT;
use crate::solver::point::balance::{BALANCE_MOST, balance_rounding};
use crate::solver::point::collocation::{
    COLLOCATION_ROUNDS, EVENT_MOST, EVENT_WIDTH, MOST_TURN, event_share, near_limit,
};
use crate::solver::point::curve::POINT_ROOT_MOST;
use crate::solver::point::lanes::{BRANCH_END, LONGEST_PHASE, MOST_PASSED};
use crate::solver::point::laws::{PointLaw as _, with_point_law};
use crate::solver::transition::{START, START_HIGH, START_LOW};

/// What a kernel is compiled for: its shape, and what all contacts of a dispatch have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variant {
    /// The kernel's shape.
    pub shape: KernelShape,
    /// The law of the bristles.
    pub law: Law,
    /// Whether `gamma` is 2.
    pub gaussian: bool,
    /// Whether a tolerance chooses the steps.
    pub adaptive: bool,
    /// Whether the surface moves.
    pub moving: bool,
    /// Whether friction differs by region, in a grid.
    pub mapped: bool,
    /// Whether friction differs by direction.
    pub has_axes: bool,
    /// Whether several patches have inputs of their own.
    pub drives_parts: bool,
    /// Whether load moves among them with the push.
    pub moves_loads: bool,
    /// The model of a reduced bristle; none for others.
    pub reduced: Option<Reduced>,
    /// Law and number of elements of a point contact; none for others.
    pub point: Option<(PointLaw, u32)>,
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
    /// Whether its contacts have grids of bristles.
    pub(super) const fn is_grid(&self) -> bool {
        self.reduced.is_none() && self.point.is_none()
    }

    /// Whether saved states of bristles are in the second half of the buffer of bristles.
    pub(super) const fn saves_in_buffer(&self) -> bool {
        self.is_grid() && matches!(self.shape.storage, Storage::Workgroup)
    }

    /// The text of its kernel.
    ///
    /// # Errors
    /// As [`source`].
    #[doc(hidden)]
    pub fn source(&self) -> Result<String, MarkError> {
        self.point.map_or_else(
            || source(self.shape, self.law, self.drives_parts),
            |(law, elements)| Ok(point_source(self.shape, law, elements)),
        )
    }

    /// The pipeline constants.
    #[doc(hidden)]
    #[must_use]
    pub fn constants(&self) -> Vec<(&'static str, f64)> {
        let mut all = vec![("gaussian", self.gaussian), ("adaptive", self.adaptive), ("moving", self.moving)];
        if self.is_grid() {
            all.push(("mapped", self.mapped));
        }
        if self.point.is_none() {
            all.push(("has_axes", self.has_axes));
        }
        if self.drives_parts {
            all.push(("moves_loads", self.moves_loads));
        }
        if let Some(r) = self.reduced {
            all.extend([("ellipsoid", r.ellipsoid), ("consistent", r.consistent)]);
        }
        all.into_iter().map(|(name, on)| (name, f64::from(u8::from(on)))).collect()
    }
}

/// The WGSL of a kernel of this shape under a law, for contacts of which some or no patches have inputs of
/// their own.
///
/// # Errors
/// A mark of a loop (`unroll.rs`) in a shader's file that cannot be applied.
pub fn source(shape: KernelShape, law: Law, drives_parts: bool) -> Result<String, MarkError> {
    let roots = if shape.roots_loop() {
        // The compiler cannot know this bound, as it does not know that run.zero is 0, and so keeps the loop.
        Unroll::TestedAtEnd(Some(format!("{TRANSITION_ITERATIONS}u + run.zero")))
    } else {
        Unroll::Times(TRANSITION_ITERATIONS)
    };
    let mut text = prelude(shape, law);
    text += include_str!("../../shaders/elementary.wgsl");
    text += include_str!("../../shaders/angle.wgsl");
    text += include_str!("../../shaders/friction.wgsl");
    text += &unrolled(include_str!("../../shaders/transition.wgsl"), &[("TRANSITION_ITERATIONS", roots)])?;
    text += law_source(law);
    text += include_str!("../../shaders/slip.wgsl");
    text += include_str!("../../shaders/linalg.wgsl");
    text += include_str!("../../shaders/transform.wgsl");
    text += include_str!("../../shaders/bristles.wgsl");
    if shape.is_reduced() || matches!(shape.sums, Sums::Memory | Sums::Subgroups(1)) {
        text += include_str!("../../shaders/invocation.wgsl");
    }
    if shape.is_reduced() {
        text += include_str!("../../shaders/agree/without_barriers.wgsl");
        text += include_str!("../../shaders/models/reduced.wgsl");
        text += include_str!("../../shaders/models/reduced/memory.wgsl");
        text += include_str!("../../shaders/models/reduced/transfer.wgsl");
        text += include_str!("../../shaders/models/reduced/consistent.wgsl");
        text += include_str!("../../shaders/models/reduced/tables.wgsl");
    } else {
        text += match shape.sums {
            Sums::Part => include_str!("../../shaders/reduce_part.wgsl"),
            Sums::Subgroups(1) => include_str!("../../shaders/reduce_subgroup.wgsl"),
            Sums::Subgroups(_) => include_str!("../../shaders/reduce_subgroups.wgsl"),
            Sums::Memory => include_str!("../../shaders/reduce.wgsl"),
        };
        text += match shape.sums {
            Sums::Part | Sums::Subgroups(1) => include_str!("../../shaders/agree/without_barriers.wgsl"),
            Sums::Subgroups(_) | Sums::Memory => include_str!("../../shaders/agree/through_memory.wgsl"),
        };
        text += include_str!("../../shaders/cell.wgsl");
        text += match shape.storage {
            Storage::Private => include_str!("../../shaders/models/cells/pairs.wgsl"),
            Storage::Workgroup => include_str!("../../shaders/models/cells/singles.wgsl"),
        };
        text += match shape.storage {
            Storage::Private => include_str!("../../shaders/models/cells/private.wgsl"),
            Storage::Workgroup => include_str!("../../shaders/models/cells/workgroup.wgsl"),
        };
        let turns = Unroll::TestedAtEnd(None);
        text += &unrolled(include_str!("../../shaders/models/cells.wgsl"), &[("TURNS", turns.clone())])?;
        text += &unrolled(include_str!("../../shaders/models/distributed.wgsl"), &[("TURNS", turns.clone())])?;
        text += &if drives_parts {
            unrolled(include_str!("../../shaders/parts.wgsl"), &[("TURNS", turns)])?
        } else {
            include_str!("../../shaders/parts/one_twist.wgsl").to_owned()
        };
    }
    if !drives_parts {
        text += include_str!("../../shaders/parts/without_inputs.wgsl");
    }
    text += include_str!("../../shaders/directed.wgsl");
    text += include_str!("../../shaders/inputs.wgsl");
    text += include_str!("../../shaders/moving_surface.wgsl");
    text += include_str!("../../shaders/step.wgsl");
    text += include_str!("../../shaders/rollout.wgsl");
    // A lane with a contact of its own has no registers to spare for the body, and keeps it in memory.
    text += if shape.lanes == 1 {
        include_str!("../../shaders/body/workgroup.wgsl")
    } else {
        include_str!("../../shaders/body/registers.wgsl")
    };
    if shape.storage == Storage::Private {
        text = read_from(&text, "c", "contacts[contact]", "own_contact");
        text = read_from(&text, "now", "intervals[now_at]", "own_interval");
        text += include_str!("../../shaders/memory/copies.wgsl");
        return Ok(text);
    }
    text += include_str!("../../shaders/memory/buffers.wgsl");
    Ok(text)
}

/// The text of a kernel with the pointer `name` to `from` turned to `to`, wherever it is made.
///
/// # Panics
/// A text that makes no such pointer, or one of another name or form, which would be left as it is.
fn read_from(text: &str, name: &str, from: &str, to: &str) -> String {
    let made = format!("let {name} = &{from};");
    let (found, all) = (text.matches(&made).count(), text.matches(&format!("&{from}")).count());
    assert!(
        found > 0 && found == all,
        "the kernel of `rollout` has {found} of {all} pointers to `{from}` as `{made}`: expected all, and at least one"
    );
    text.replace(&made, &format!("let {name} = &{to};"))
}

/// The WGSL of a kernel of this shape for point contacts of a law with so many elements.
#[must_use]
pub fn point_source(shape: KernelShape, law: PointLaw, elements: u32) -> String {
    let mut text = prelude(shape, Law::default());
    for (name, value) in [
        ("POINT_ROOT_MOST", POINT_ROOT_MOST),
        ("BALANCE_MOST", BALANCE_MOST),
        ("COLLOCATION_ROUNDS", COLLOCATION_ROUNDS),
        ("EVENT_MOST", EVENT_MOST),
        ("ELEMENTS", elements.max(1)),
    ] {
        text += &format!("const {name} = {value}u;\n");
    }
    for (name, value) in [
        ("POINT_ROOT_RESIDUAL", f32::ROOT_RESIDUAL),
        ("BALANCE_ROUNDING", balance_rounding::<f32>()),
        ("LONGEST_PHASE", LONGEST_PHASE),
        ("MOST_PASSED", MOST_PASSED),
        ("BRANCH_END", BRANCH_END),
        ("EVENT_WIDTH", EVENT_WIDTH),
        ("EVENT_SHARE", event_share::<f32>()),
        ("MOST_TURN", MOST_TURN),
        ("NEAR_LIMIT", near_limit::<f32>()),
    ] {
        text += &format!("const {name} = f32({value:e});\n");
    }
    text += include_str!("../../shaders/elementary.wgsl");
    text += include_str!("../../shaders/angle.wgsl");
    text += include_str!("../../shaders/friction.wgsl");
    text += include_str!("../../shaders/linalg.wgsl");
    text += include_str!("../../shaders/transform.wgsl");
    text += include_str!("../../shaders/invocation.wgsl");
    text += include_str!("../../shaders/point/without_axes.wgsl");
    text += include_str!("../../shaders/point/curve.wgsl");
    text += include_str!("../../shaders/point/laws.wgsl");
    text += point_law_source(law);
    if !with_point_law!(law, L => L::HAS_EQUATION) {
        text += include_str!("../../shaders/point/without_equation.wgsl");
    }
    if law.has_elements() {
        text += include_str!("../../shaders/point/balance.wgsl");
        text += include_str!("../../shaders/point/with_elements.wgsl");
    } else {
        text += if law.has_band() {
            include_str!("../../shaders/point/before.wgsl")
        } else {
            include_str!("../../shaders/point/by_curve.wgsl")
        };
        text += include_str!("../../shaders/point/without_elements.wgsl");
    }
    text += if with_point_law!(law, L => L::COLLOCATES) {
        include_str!("../../shaders/point/collocation.wgsl")
    } else {
        include_str!("../../shaders/point/without_collocation.wgsl")
    };
    text += include_str!("../../shaders/parts/without_inputs.wgsl");
    text += include_str!("../../shaders/inputs.wgsl");
    text += include_str!("../../shaders/moving_surface.wgsl");
    text += include_str!("../../shaders/agree/without_barriers.wgsl");
    text += include_str!("../../shaders/point/lanes.wgsl");
    text += include_str!("../../shaders/rollout.wgsl");
    text += include_str!("../../shaders/body/workgroup.wgsl");
    text += include_str!("../../shaders/memory/buffers.wgsl");
    text
}

macro_rules! point_law_files {
    ($($law:ident, $key:literal, $file:ident, band: $band:literal, elements: $elements:literal, mass: $mass:literal,
        attraction: $attraction:literal, $doc:literal;)+) => {
        /// The shader of a law of a point contact.
        fn point_law_source(law: PointLaw) -> &'static str {
            match law {
                $(PointLaw::$law => {
                    include_str!(concat!("../../shaders/point/", stringify!($file), ".wgsl"))
                })+
            }
        }
    };
}
point_laws!(point_law_files);

macro_rules! law_files {
    ($($law:ident, $key:literal, $file:ident, elastic: $elastic:literal, stribeck: $stribeck:literal,
        damping: $damping:literal, $doc:literal;)+) => {
        /// The shader of a law.
        fn law_source(law: Law) -> &'static str {
            match law {
                $(Law::$law => include_str!(concat!("../../shaders/laws/", stringify!($file), ".wgsl")),)+
            }
        }
    };
}
laws!(law_files);

/// The text before all files of a kernel: constants from Rust, and the type `Real`.
fn prelude(shape: KernelShape, law: Law) -> String {
    let mut text = String::new();
    let mut constant = |name: &str, value: String| text += &format!("const {name} = {value};\n");
    for (name, value) in [
        ("PI", std::f64::consts::PI),
        ("LN_2", std::f64::consts::LN_2),
        ("LOG2_E", std::f64::consts::LOG2_E),
        ("TINY", f32::TINY),
        ("KAPPA", KAPPA),
        ("EXTRAPOLATION", EXTRAPOLATION),
        ("QUADRATURE", QUADRATURE),
        ("SLIP_ROUNDING", SLIP_ROUNDING / f32::ROUNDER),
        ("NEWTON_TOLERANCE", NEWTON_TOLERANCE),
        ("STICK_LIMIT", STICK_LIMIT),
        ("SHOWN_LIMIT", SHOWN_LIMIT),
        ("MAX_TURN", MAX_TURN),
        ("LEAST_TRUST_RADIUS", LEAST_TRUST_RADIUS),
        ("SHORTEST_RULED_STEP", SHORTEST_RULED_STEP),
        ("SPEED_MARGIN", SPEED_MARGIN),
        ("LEVER_MARGIN", LEVER_MARGIN),
        ("SLOPE_TAIL", SLOPE_TAIL),
        ("SLOPE_TAIL_FROM", SLOPE_TAIL_FROM),
        ("START_0", START[0]),
        ("START_1", START[1]),
        ("START_LOW_0", START_LOW[0]),
        ("START_LOW_1", START_LOW[1]),
        ("START_HIGH_0", START_HIGH[0]),
        ("START_HIGH_1", START_HIGH[1]),
        ("LEAST_SLOPE", LEAST_SLOPE),
        ("FRESH_STEP", FRESH_STEP),
        ("SHORTEST_CHOSEN_STEP", SHORTEST_CHOSEN_STEP),
        ("SHORTEST_TRIED_STEP", SHORTEST_TRIED_STEP),
        ("STEP_CHANGE_LEAST", STEP_CHANGE_LIMITS[0]),
        ("STEP_CHANGE_MOST", STEP_CHANGE_LIMITS[1]),
        ("SAFETY", SAFETY),
        ("SHRINK_ON_FAILURE", SHRINK_ON_FAILURE),
        ("ERROR_CONSTANT", ERROR_CONSTANT),
        ("THIRD_ORDER_SHARE", THIRD_ORDER_SHARE),
        ("RELATIVE_TOLERANCE", RELATIVE_TOLERANCE),
        ("LEAST_TOLERANCE", LEAST_TOLERANCE),
        ("NEAR_SLIP", NEAR_SLIP),
        ("MASS_MARGIN", MASS_MARGIN),
        ("LEAST_SPREAD", LEAST_SPREAD),
        ("BALANCED", BALANCED_ON_GPU),
        ("BALANCE_DIFFERENCE", BALANCE_DIFFERENCE_ON_GPU),
        ("LEAST_SLOPES", LEAST_SLOPES),
        ("STRIBECK_X_MIN", STRIBECK_X_MIN),
        ("STEP_SLACK", STEP_SLACK_ON_GPU),
        ("ROOT_TOLERANCE", ROOT_TOLERANCE_ON_GPU),
        ("A_MIN", A_MIN),
        ("K_MIN", K_MIN),
    ] {
        constant(name, format!("f32({value:e})"));
    }
    for (name, value) in [
        ("WORKGROUP", shape.workgroup),
        ("TURNS", shape.turns),
        ("WIDTH", shape.width()),
        ("LANES", shape.lanes),
        ("SUBGROUPS", if let Sums::Subgroups(most) = shape.sums { most } else { 0 }),
        ("NEWTON_MOST", NEWTON_MOST),
        ("ROOT_ITERATIONS", ROOT_ITERATIONS),
        ("MOST_PARTS", MAX_PATCHES as u32),
        ("BALANCE_ROUNDS", BALANCE_ROUNDS as u32),
        ("KIND_PRESCRIBED", kind::PRESCRIBED),
        ("KIND_GRIPPER", kind::GRIPPER),
        ("KIND_BODY", kind::BODY),
        ("SLOT_F_N", slot::F_N as u32),
        ("SLOT_LOAD", slot::LOAD as u32),
        ("SLOT_MU_C", slot::MU_C as u32),
        ("SLOT_MU_S", slot::MU_S as u32),
        ("SLOT_SURFACE", slot::SURFACE as u32),
        // A moving surface has its slots among the terms of an interval.
        ("SLOT_COUNT", slot::SURFACE as u32),
        ("FLAG_JUMP", flag::JUMP),
        ("FLAG_RECORD", flag::RECORD),
        ("FLAG_REMAP", flag::REMAP),
        ("FLAG_AT_END", flag::AT_END),
        ("FLAG_LAYER", flag::LAYER),
        ("FAILED_TWIST", Reason::Twist as u32),
        ("FAILED_WRENCH", Reason::Wrench as u32),
        ("FAILED_STEPS", Reason::Steps as u32),
        ("LEFT", LEFT),
    ] {
        constant(name, format!("{value}u"));
    }
    text += &format!("const ELASTIC = {};\n", law.is_elastic());
    text += &format!("const AT_LIMIT = f32({AT_LIMIT:e});\nconst ALL_SLIDES = f32({ALL_SLIDES:e});\n");
    text += &format!("const SLIP_SPEED = f32({SLIP_SPEED:e});\n");
    let real = match shape.width() {
        1 => ["f32", "i32", "u32", "bool"],
        _ => ["vec2f", "vec2i", "vec2u", "vec2<bool>"],
    };
    for (name, of) in ["Real", "Int", "Uint", "Mask"].into_iter().zip(real) {
        text += &format!("alias {name} = {of};\n");
    }
    text
}

/// Iterations of a root in the transition.
pub(super) const TRANSITION_ITERATIONS: u32 = f32::TRANSITION_ITERATIONS as u32;

/// Lanes of a workgroup of limit surfaces, which do not communicate.
pub const SURFACE_WORKGROUP: u32 = 64;
/// Largest number of cells that one invocation sums: few enough that single precision suffices, and far below
/// the limit of llvmpipe on the iterations of a loop.
pub const SLICE: usize = 256;
/// Distance of a cell's centre from the centre of rotation, in cell diagonals, from which the series is exact
/// to single precision.
const NEAR_DIAGONALS: f64 = 1.5;

/// The WGSL of limit surfaces.
#[must_use]
pub fn surface_source() -> String {
    let mut text = String::new();
    for (name, value) in [
        ("NEAR_DIAGONALS", NEAR_DIAGONALS),
        ("AT_REST", AT_REST_ON_GPU),
        ("TINY_LENGTH", 1e-15),
        ("TINY_SPEED2", 1e-30),
    ] {
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

#[cfg(test)]
mod tests {
    use super::read_from;

    fn replaced(text: &str) -> String {
        read_from(text, "c", "contacts[contact]", "own_contact")
    }

    #[test]
    fn every_pointer_to_a_contact_is_turned_to_its_copy() {
        let text = "let c = &contacts[contact];\nlet n = contacts[contact].cell_count;\n";
        assert_eq!(replaced(text), "let c = &own_contact;\nlet n = contacts[contact].cell_count;\n");
    }

    #[test]
    #[should_panic(expected = "has 0 of 0 pointers to `contacts[contact]`")]
    fn a_kernel_without_the_pointer_is_refused() {
        replaced("let c = contacts[contact];\n");
    }

    #[test]
    #[should_panic(expected = "has 1 of 2 pointers to `contacts[contact]` as `let c = &contacts[contact];`")]
    fn a_pointer_of_another_name_is_refused() {
        replaced("let c = &contacts[contact];\nlet own = &contacts[contact];\n");
    }
}
