//! Constants of the step, which the shaders take from here.

/// `kappa = 1 - 1/sqrt 2` makes the two-stage scheme L-stable and of second order, `docs/model.md` (24) and
/// (28).
pub const KAPPA: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
/// `R = 1 + sqrt 2`: stage 2 starts from `zeta_n + R (zeta_1 - zeta_n)`, `docs/model.md` (27).
pub const EXTRAPOLATION: f64 = 1.0 + std::f64::consts::SQRT_2;
/// A Newton step smaller than this [m/s], and than the tolerance if there is one, ends a stage.
pub const NEWTON_TOLERANCE: f64 = 1e-4;
/// Newton steps of a stage at most.
pub const NEWTON_MOST: u32 = 3;
/// The rule against branch jumps never asks for a shorter step than this [s], `docs/model.md` (50).
pub const SHORTEST_RULED_STEP: f64 = 1e-5;
/// With a tolerance, the rule against branch jumps takes the steepest place of the Stribeck curve between the
/// bristles' slowest speed divided by this factor and their fastest one times it, `docs/model.md` (53): a
/// bristle may get as far within a step.
pub const SPEED_MARGIN: f64 = 2.0;
/// With a tolerance, the rule against branch jumps takes the speeds of bristles up to this many `L` from the
/// patch origin. Bristles farther away carry a quarter of the load at most, since `L^2` is the mean of the
/// squared distance.
pub const LEVER_MARGIN: f64 = 2.0;
/// With a tolerance: the first step of a run and after a jump of the inputs [s].
pub const FRESH_STEP: f64 = 5e-5;
/// With a tolerance: a step this short [s] is taken whatever its error.
pub const SHORTEST_CHOSEN_STEP: f64 = 1e-6;
/// With a tolerance: the shortest step to try [s]. Below the one that is always taken by more than equal
/// parts of an interval round it up, else no step would be.
pub const SHORTEST_TRIED_STEP: f64 = 0.9 * SHORTEST_CHOSEN_STEP;
/// With a tolerance: how far a step may differ from the one before, `docs/model.md` (61).
pub const STEP_CHANGE_LIMITS: [f64; 2] = [0.25, 2.0];
/// With a tolerance: the share of the step that would just meet it.
pub const SAFETY: f64 = 0.8;
/// With a tolerance: the share of a step with a stage that has not converged, or may have several solutions.
pub const SHRINK_ON_FAILURE: f64 = 0.5;
/// What a step of length `h` leaves of a linear problem is this times `h^3` and the third derivative,
/// `docs/model.md` (29).
pub const ERROR_CONSTANT: f64 = (std::f64::consts::SQRT_2 - 1.0) / 2.0 - 1.0 / 6.0;
/// With a tolerance: the share of it that the third-order estimate may use. Unlike the error that the
/// first-order estimate overstates, this one adds up from step to step while a body slides.
pub const THIRD_ORDER_SHARE: f64 = 0.2;
/// With a tolerance: the largest error of a step over the largest speed in it, where slow motion decides what
/// follows, `docs/model.md` (60).
pub const RELATIVE_TOLERANCE: f64 = 0.05;
/// With a tolerance: the least limit that [`RELATIVE_TOLERANCE`] may set, as a share of the tolerance. A limit
/// that vanished with the speed would make the steps of a contact at rest as short as they may be.
pub const LEAST_TOLERANCE: f64 = 0.005;
/// With a tolerance: the share of its limit that a reduced bristle has to carry for its error to be relative to
/// the speed. Above it the bristle creeps towards the moment at which it breaks loose, and an error of the
/// creep is an error of that moment.
pub const NEAR_SLIP: f64 = 0.7;
/// With a tolerance: a stage has one solution where its matrix less this share of the mass is positive
/// definite, `docs/model.md` (54).
pub const MASS_MARGIN: f64 = 0.5;
/// A step that fits the rest of an interval but for this share of it is not divided: rounding is no reason to.
pub const STEP_SLACK: f64 = 1e-6;
/// Iterations of the consistent form's root at most; two on average.
pub const ROOT_ITERATIONS: u32 = 60;
