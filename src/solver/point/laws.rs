//! The laws of a point contact. Each is a file with the same functions as its twin in `shaders/point`, and a
//! line in the registry ([`crate::point::point_laws`]); nothing else depends on the list of laws.
//!
//! There are two kinds of laws. A law without elements computes friction and velocity at the end of a step
//! directly ([`PointLaw::step`]). A law with elements computes the force of one element at a velocity
//! ([`PointLaw::trial`]), and [`super::balance`] finds the velocity. Twin: `shaders/point/laws.wgsl`.
//!
//! Only here: `step`, `force`, `trial`, `body_equation`, `element_equation`, `slip_speed`, `limit`, `times2`,
//! `plus2`, `minus2`, `fma2`, `select2`.

use super::curve::Curve;
use crate::number::real::Real;
use crate::point::point_laws;

/// A vector in the plane.
pub type Vec2<R> = [R; 2];

/// What a step is made of, in every lane.
#[derive(Clone, Copy, Debug)]
pub struct Step<R> {
    /// Its length `T` [s].
    pub t: R,
    /// `T/M` [s/kg].
    pub per_mass: R,
    /// Normal force of all pads [N].
    pub grip: R,
    /// Friction over the normal force.
    pub curve: Curve<R>,
    /// Stiffness over the normal force [1/m].
    pub sigma0: R,
    /// Damping over the normal force [s/m].
    pub sigma1: R,
    /// Share of its limit from which on friction counts as near it [-].
    pub s_ba: R,
    /// Speed up to which a body without elements rests [m/s], see [`crate::point::PointModel::band`];
    /// 0 under a law without a band.
    pub band: R,
    /// Mass of all sliders [kg].
    pub slider_mass: R,
    /// See [`crate::point::PointModel::attraction`] [1/s].
    pub attraction: R,
    /// Stiffness of the spring to the anchor [N/m].
    pub spring: R,
    /// All forces on the body but friction [N].
    pub load: Vec2<R>,
    /// The velocity before the step [m/s].
    pub v: Vec2<R>,
}

/// What a step comes to.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<R: Real> {
    /// Friction on the body [N].
    pub force: Vec2<R>,
    /// Where the body comes to rest: its velocity is exactly 0.
    pub stops: R::Mask,
}

/// One of the elements of a contact: its parameters and its state.
#[derive(Clone, Copy, Debug)]
pub struct Element<R> {
    /// Share of the friction force [-].
    pub share: R,
    /// Share of the stiffness [-].
    pub stiffness: R,
    /// The one over the other [-].
    pub rho: R,
    /// Deflection times `sigma0` [-], as a compensated sum: without the low part, motion by less than the
    /// last bit of the deflection in a step would be lost, and the contact would creep.
    pub zeta: Vec2<R>,
    /// What rounding cut off of it.
    pub zeta_low: Vec2<R>,
    /// What else the law keeps of it.
    pub memory: Vec2<R>,
}

/// What an element answers to a velocity of the body.
#[derive(Clone, Copy, Debug)]
pub struct Trial<R> {
    /// The opposite of its force, over the normal force and its share of the stiffness [-].
    pub resist: Vec2<R>,
    /// Its derivative over the velocity, by rows [s/m].
    pub gain: [Vec2<R>; 2],
    /// How far its deflection moves, without the cancellation of a difference [-].
    pub step: Vec2<R>,
    /// See [`Element::memory`].
    pub memory: Vec2<R>,
}

/// What distinguishes a law.
pub trait PointLaw {
    /// Whether a step is that of [`super::collocation`], in which elements change between sticking and
    /// sliding. If not, elements are driven by the velocity after the step, see [`super::balance`].
    const COLLOCATES: bool = false;

    /// Whether a step solves an equation that may have several roots, see [`PointLaw::body_equation`] and
    /// [`PointLaw::element_equation`].
    const HAS_EQUATION: bool = false;

    /// The step of a free body without elements: if a law does not say, under the friction of its velocity
    /// before.
    #[inline(always)]
    fn step<R: Real>(s: &Step<R>) -> Outcome<R> {
        Outcome { force: Self::force(s, s.v).0, stops: s.grip.lt(s.grip) }
    }

    /// Friction without elements where the velocity is given [N], and its derivative over it, by rows [N
    /// s/m].
    #[inline(always)]
    fn force<R: Real>(s: &Step<R>, v: Vec2<R>) -> (Vec2<R>, [Vec2<R>; 2]) {
        slide(s, v)
    }

    /// The answer of an element to the velocity `v` [m/s] of the body through a step.
    #[inline(always)]
    fn trial<R: Real>(_s: &Step<R>, _v: Vec2<R>, e: &Element<R>) -> Trial<R> {
        let zero = [R::splat(0.0); 2];
        Trial { resist: zero, gain: [zero; 2], step: zero, memory: e.memory }
    }

    /// The equation `s + c psi(s) = a` for the speed of a free body without elements at the end of a step:
    /// `c` and `a`. No law has another.
    #[inline(always)]
    fn body_equation<R: Real>(_s: &Step<R>) -> (R, R) {
        (R::splat(0.0), R::splat(0.0))
    }

    /// The same for the speed at which an element slides, under a velocity `v` [m/s] of the body that is
    /// given, or that would be without friction: a unit of the force over the normal force and the share of
    /// the stiffness makes a body with this element alone slower by `yields` [m/s].
    #[inline(always)]
    fn element_equation<R: Real>(_s: &Step<R>, _v: Vec2<R>, _yields: R, _e: &Element<R>) -> (R, R) {
        (R::splat(0.0), R::splat(0.0))
    }

    /// How fast an element slips [m/s]: the velocity of the body less what its deflection takes of it. `s.v`
    /// is the present velocity.
    #[inline(always)]
    fn slip_speed<R: Real>(_s: &Step<R>, _e: &Element<R>) -> R {
        R::splat(0.0)
    }

    /// What the deflection of an element is in steady sliding at the present speed, times `sigma0` [-].
    #[inline(always)]
    fn limit<R: Real>(_s: &Step<R>, _e: &Element<R>) -> R {
        R::splat(0.0)
    }
}

/// 1 where `x` is positive, else 0.
#[inline(always)]
pub fn positive<R: Real>(x: R) -> R {
    R::select(R::splat(0.0).lt(x), R::splat(1.0), R::splat(0.0))
}

/// Length and direction of a vector; the direction of a zero vector is zero.
#[inline(always)]
pub fn length<R: Real>(v: Vec2<R>) -> (R, Vec2<R>) {
    let size = v[0].fma(v[0], v[1] * v[1]).sqrt();
    let inverse = R::select(R::splat(0.0).lt(size), size.max(R::splat(R::TINY)).recip(), R::splat(0.0));
    (size, [v[0] * inverse, v[1] * inverse])
}

/// Friction at the velocity `v` by the curve, against it [N], and its derivative, by rows [N s/m].
#[inline(always)]
pub fn slide<R: Real>(s: &Step<R>, v: Vec2<R>) -> (Vec2<R>, [Vec2<R>; 2]) {
    let (speed, e) = length(v);
    let (psi, slope) = s.curve.at(speed);
    let across = R::select(R::splat(0.0).lt(speed), psi / speed.max(R::splat(R::TINY)), R::splat(0.0));
    let gain = radial(-(s.grip * slope), -(s.grip * across), e);
    let size = -(s.grip * psi);
    ([size * e[0], size * e[1]], gain)
}

/// `along n n^T + across (I - n n^T)`, by rows.
#[inline(always)]
pub fn radial<R: Real>(along: R, across: R, n: Vec2<R>) -> [Vec2<R>; 2] {
    let d = along - across;
    let off = d * n[0] * n[1];
    [[(d * n[0]).fma(n[0], across), off], [off, (d * n[1]).fma(n[1], across)]]
}

/// The velocity at the end of a step without friction [m/s], `docs/model.md` (P1).
#[inline(always)]
pub fn without_friction<R: Real>(s: &Step<R>) -> Vec2<R> {
    [s.per_mass.fma(s.load[0], s.v[0]), s.per_mass.fma(s.load[1], s.v[1])]
}

/// The friction that brings the body to rest in this step [N].
#[inline(always)]
pub fn stopping<R: Real>(s: &Step<R>) -> Vec2<R> {
    [-(s.load[0] + s.v[0] / s.per_mass), -(s.load[1] + s.v[1] / s.per_mass)]
}

/// `c a`.
#[inline(always)]
pub fn times2<R: Real>(c: R, a: Vec2<R>) -> Vec2<R> {
    [c * a[0], c * a[1]]
}

/// `a + b`.
#[inline(always)]
pub fn plus2<R: Real>(a: Vec2<R>, b: Vec2<R>) -> Vec2<R> {
    [a[0] + b[0], a[1] + b[1]]
}

/// `a - b`.
#[inline(always)]
pub fn minus2<R: Real>(a: Vec2<R>, b: Vec2<R>) -> Vec2<R> {
    [a[0] - b[0], a[1] - b[1]]
}

/// `c a + b`.
#[inline(always)]
pub fn fma2<R: Real>(c: R, a: Vec2<R>, b: Vec2<R>) -> Vec2<R> {
    [c.fma(a[0], b[0]), c.fma(a[1], b[1])]
}

/// `a` where the mask is set, else `b`.
#[inline(always)]
pub fn select2<R: Real>(mask: R::Mask, a: Vec2<R>, b: Vec2<R>) -> Vec2<R> {
    [R::select(mask, a[0], b[0]), R::select(mask, a[1], b[1])]
}

macro_rules! modules {
    ($($law:ident, $key:literal, $file:ident, band: $band:literal, elements: $elements:literal, mass: $mass:literal,
        attraction: $attraction:literal, $doc:literal;)+) => {
        $(mod $file; pub use $file::$law;)+

        /// Runs an expression with the type of a law for its value.
        macro_rules! with_point_law {
            ($value:expr, $l:ident => $run:expr) => {
                match $value {
                    $($crate::point::PointLaw::$law => {
                        type $l = $crate::solver::point::laws::$law;
                        $run
                    })+
                }
            };
        }
        pub(crate) use with_point_law;
    };
}
point_laws!(modules);
