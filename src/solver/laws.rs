//! The bristle laws. Each is a file with the same five functions as its twin in `shaders/laws`, and a line in
//! the registry ([`crate::friction::laws`]); nothing else depends on the list of laws.

use super::friction::{Consts, Sensitivity, Slip, Trial};
use crate::friction::laws;
use crate::number::real::Real;

/// What distinguishes a law: `zeta' = sigma0 D - lambda(zeta, D) zeta` for a bristle that is dragged with the
/// velocity `D`, a vector of two components in a cell and of three in the reduced model.
///
/// Every function works on lengths and projections alone, so that it serves both. The limit `g` is that of
/// `|zeta|` in steady sliding.
pub trait Law {
    /// The law's entry in the registry.
    const LAW: crate::friction::Law;
    /// Whether `lambda` depends on the angle between bristle and velocity. If not, directions are not
    /// computed.
    const DIRECTED: bool;
    /// Whether bristles below a share `s_ba` of their limit are elastic, with the transition of
    /// [`super::transition`] up to the limit.
    const ELASTIC: bool = Self::LAW.is_elastic();

    /// Whether a stage without a length changes a bristle: cuts it, if it is beyond its limit, to the limit.
    const CUTS: bool = false;

    /// The plastic travel over a stage [-]: `a lambda` times the limit of a bristle whose motion is wholly
    /// plastic. `speed` is the length of `D` and `along` its component along the bristle [m/s].
    fn travel<R: Real>(a_sigma0: R, speed: R, along: R) -> R;

    /// The slip of a trial that is not in the transition.
    fn slip<R: Real>(k: &Consts<R>, t: &Trial<R>) -> Slip<R>;

    /// `a lambda` [-] of a trial with slip `z`. It is `1/d - 1`, computed without the cancellation of that
    /// difference.
    fn relaxation<R: Real>(t: &Trial<R>, z: &Slip<R>) -> R;

    /// How `zeta*` changes with the velocity.
    fn sensitivity<R: Real>(a_sigma0: R, t: &Trial<R>, z: &Slip<R>, speed: R, along: R) -> Sensitivity<R>;

    /// `lambda/sigma0` [s/m] of a bristle of length `size` under limit `g`.
    fn decay<R: Real>(k: &Consts<R>, g: R, speed: R, along: R, size: R) -> R;
}

macro_rules! modules {
    ($($law:ident, $key:literal, $file:ident, elastic: $elastic:literal, stribeck: $stribeck:literal,
        damping: $damping:literal, $doc:literal;)+) => {
        $(mod $file; pub use $file::$law;)+

        /// Runs an expression with the type of a law for its value.
        macro_rules! with_law {
            ($value:expr, $l:ident => $run:expr) => {
                match $value {
                    $($crate::friction::Law::$law => {
                        type $l = $crate::solver::laws::$law;
                        $run
                    })+
                }
            };
        }
        pub(crate) use with_law;
    };
}
laws!(modules);
#[cfg(feature = "gpu")]
pub use viscoelasto_plastic::AT_LIMIT;
