//! Constants of the step, which the shaders take from here.

/// `kappa = 1 - 1/sqrt 2` makes the two-stage scheme L-stable and of second order, `docs/model.md` (24) and
/// (28).
pub const KAPPA: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
/// `R = 1 + sqrt 2`: stage 2 starts from `zeta_n + R (zeta_1 - zeta_n)`, `docs/model.md` (27).
pub const EXTRAPOLATION: f64 = 1.0 + std::f64::consts::SQRT_2;
/// A Newton step smaller than this [m/s], and than the tolerance if there is one, ends a stage.
pub const NEWTON_TOLERANCE: f64 = 1e-4;
/// Largest number of Newton steps of a stage.
pub const NEWTON_MOST: u32 = 3;
/// Where stages are solved to rounding: largest number of Newton steps of a stage.
pub const SETTLED_MOST: u32 = 40;
/// Where stages are solved to rounding: the size of the Newton step before the first [m/s].
pub const UNSOLVED: f64 = 1e30;
/// Where stages are solved to rounding: the share of the twist, and the size [m/s], at which the rest is
/// rounding.
pub const SETTLED: [f64; 2] = [1e-14, 1e-19];
/// The limit on steps on the falling Stribeck branch, `docs/model.md` (49), is never below this [s]: (50).
pub const SHORTEST_RULED_STEP: f64 = 1e-5;
/// With a tolerance, the limit on steps on the falling Stribeck branch takes the steepest slope of the curve
/// from the bristles' lowest speed divided by this factor to their highest speed times it, `docs/model.md`
/// (53): speeds may change by as much within a step.
pub const SPEED_MARGIN: f64 = 2.0;
/// With a tolerance, the limit on steps on the falling Stribeck branch considers bristles up to this many `L`
/// from the patch origin. Bristles farther away carry a quarter of the load at most, since `L^2` is the mean
/// of the squared distance.
pub const LEVER_MARGIN: f64 = 2.0;
/// With a tolerance: the first step of a run and after a jump of the inputs [s].
pub const FRESH_STEP: f64 = 5e-5;
/// With a tolerance: a step this short [s] is taken whatever its error.
pub const SHORTEST_CHOSEN_STEP: f64 = 1e-6;
/// With a tolerance: the shortest step to try [s]. It is slightly below [`SHORTEST_CHOSEN_STEP`], because
/// dividing an interval into equal parts can lengthen a step by rounding, and a step longer than that could
/// be refused for ever.
pub const SHORTEST_TRIED_STEP: f64 = 0.9 * SHORTEST_CHOSEN_STEP;
/// With a tolerance: how far a step may differ from the one before, `docs/model.md` (61).
pub const STEP_CHANGE_LIMITS: [f64; 2] = [0.25, 2.0];
/// With a tolerance: the next step over the step whose estimated error would just meet the tolerance.
pub const SAFETY: f64 = 0.8;
/// With a tolerance: largest factor to the next step after one with a stage that has not converged, or that
/// may have several solutions.
pub const SHRINK_ON_FAILURE: f64 = 0.5;
/// What a step of length `h` leaves of a linear problem is this times `h^3` and the third derivative,
/// `docs/model.md` (29).
pub const ERROR_CONSTANT: f64 = (std::f64::consts::SQRT_2 - 1.0) / 2.0 - 1.0 / 6.0;
/// What the formula of a step of length `h` leaves of an integral is half of this times `h^3` and the second
/// derivative of what is integrated, `docs/model.md` (59a).
pub const QUADRATURE: f64 = (1.0 - KAPPA) * KAPPA * KAPPA + KAPPA - 1.0 / 3.0;
/// The slip is the difference of two motions: on a surface that moves, estimates of its error that are below
/// the speed of the body over `Real::ROUNDER` times this are rounding.
pub const SLIP_ROUNDING: f64 = 16.0;
/// With a tolerance: the share of it that the third-order estimate may reach. The first-order estimate is far
/// above the error; the third-order one is the error itself, which adds up from step to step while a body
/// slides.
pub const THIRD_ORDER_SHARE: f64 = 0.2;
/// With a tolerance: the largest error of a step over the largest speed in it, where slow motion decides what
/// follows, `docs/model.md` (60).
pub const RELATIVE_TOLERANCE: f64 = 0.05;
/// With a tolerance: the least limit that [`RELATIVE_TOLERANCE`] may set, as a share of the tolerance. A
/// limit that vanished with the speed would make the steps of a contact at rest as short as they may be.
pub const LEAST_TOLERANCE: f64 = 0.005;
/// With a tolerance: the share of its limit that a reduced bristle has to carry for its error to be relative
/// to the speed. Above it the bristle creeps towards the moment at which it breaks loose, and an error of the
/// creep is an error of that moment.
pub const NEAR_SLIP: f64 = 0.7;
/// With a tolerance: a stage has one solution where its matrix less this share of the mass is positive
/// definite, `docs/model.md` (54).
pub const MASS_MARGIN: f64 = 0.5;
/// Several patches are in one line if the least moment of area of points there is at most this share of the
/// greatest [-].
pub const LEAST_SPREAD: f64 = 1e-6;
/// Rounds in which the friction of several patches and their loads (20m) are balanced at most; with the same
/// friction of all it takes none, else some three.
pub const BALANCE_ROUNDS: usize = 40;
/// The error of that balance, over the greatest friction of a patch [-].
pub const BALANCED: f64 = 1e-12;
/// [`BALANCED`] of the shaders.
#[cfg(feature = "gpu")]
pub const BALANCED_ON_GPU: f64 = 1e-6;
/// The difference of its quotients, over the greatest friction of a patch [-].
pub const BALANCE_DIFFERENCE: f64 = 1e-7;
/// [`BALANCE_DIFFERENCE`] of the shaders.
#[cfg(feature = "gpu")]
pub const BALANCE_DIFFERENCE_ON_GPU: f64 = 1e-3;
/// The least determinant of its slopes with which Newton's method takes a step [-].
pub const LEAST_SLOPES: f64 = 1e-3;
/// The rest of an interval that exceeds the step by at most this share is not divided, as the excess may be
/// rounding.
pub const STEP_SLACK: f64 = 1e-6;
/// [`STEP_SLACK`] of the shaders, whose times are in single precision and so have a larger rounding.
#[cfg(feature = "gpu")]
pub const STEP_SLACK_ON_GPU: f64 = 1e-3;
/// Largest number of iterations of the consistent form's root in double precision; on average it takes two.
pub const ROOT_ITERATIONS: u32 = 60;
/// [`ROOT_ITERATIONS`] of the shaders: enough to find the root in single precision by bisection alone.
#[cfg(feature = "gpu")]
pub const ROOT_ITERATIONS_ON_GPU: u32 = 24;
/// In the shaders a Newton step smaller than this share of the root ends the iteration, as the relative error
/// after it is of the order of the square. On the CPU the residual ends it, see
/// [`Real::ROOT_RESIDUAL`](crate::number::real::Real::ROOT_RESIDUAL).
#[cfg(feature = "gpu")]
pub const ROOT_TOLERANCE_ON_GPU: f64 = 1e-4;
