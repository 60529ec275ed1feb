//! The velocity of a body at the end of a step under the friction of its elements (`docs/model.md`, section
//! 13.4). Twin: `shaders/point/balance.wgsl`.
//!
//! Only here: `balance_rounding`, which the shader gets as a constant; `newton_step`.

use super::laws::{
    Element, PointLaw, Step, Trial, Vec2, fma2, length, minus2, plus2, positive, select2, times2, without_friction,
};
use crate::number::real::Real;
use crate::plan::SLIP_SPEED;
use crate::solver::linalg::add;

/// Most evaluations of the friction in a step.
pub const BALANCE_MOST: u32 = 24;

/// Newton steps after the last one, for derivatives.
const POLISHED: usize = 4;

/// Friction of all elements at the velocity `v` [N], and its derivative over it, by rows [N s/m].
#[inline(always)]
pub fn friction<R: Real, L: PointLaw>(s: &Step<R>, v: Vec2<R>, elements: &[Element<R>]) -> (Vec2<R>, [Vec2<R>; 2]) {
    let zero = [R::splat(0.0); 2];
    let (mut force, mut gain) = (zero, [zero; 2]);
    for e in elements {
        let Trial { resist, gain: own, .. } = L::trial(s, v, e);
        let weight = -(s.grip * e.stiffness);
        force = fma2(weight, resist, force);
        gain = [fma2(weight, own[0], gain[0]), fma2(weight, own[1], gain[1])];
    }
    (force, gain)
}

/// `BALANCE_ROUNDING` of the shaders: some roundings of the number type, `1.5/ROUNDER` being one.
#[inline(always)]
pub const fn balance_rounding<R: Real>() -> f64 {
    6.0 / R::ROUNDER
}

/// The velocity `v` [m/s] with `v = v0 + (T/M) (h + f(v))`, `docs/model.md` (P17), by Newton's method; a step
/// that does not make the residual smaller is halved.
#[inline(always)]
pub fn balance<R: Real, L: PointLaw>(s: &Step<R>, elements: &[Element<R>]) -> Vec2<R> {
    let (zero, one, half) = (R::splat(0.0), R::splat(1.0), R::splat(0.5));
    let free = without_friction(s);
    let (scale, _) = length(free);
    let enough = R::splat(balance_rounding::<R>()) * (scale + length(s.v).0);
    let (mut base, mut move_by, mut share) = (s.v, [zero; 2], one);
    let mut least = R::splat(1e30);
    for _ in 0..BALANCE_MOST {
        let v = fma2(share, move_by, base);
        let (rest, newton) = newton_step::<R, L>(s, v, free, elements);
        let size = rest[0].fma(rest[0], rest[1] * rest[1]);
        let better = size.lt(least);
        base = select2::<R>(better, v, base);
        least = R::select(better, size, least);
        share = R::select(better, one, half * share);
        move_by = select2::<R>(better, newton, move_by);
        let left = share * length(move_by).0;
        if !R::any(enough.lt(left)) {
            break;
        }
    }
    if R::HAS_TANGENTS {
        // The derivative of the solution is that of a Newton step from its value; where the slope of a law is
        // one to a part in 1e4 alone, that of several.
        for _ in 0..POLISHED {
            base = plus2(base, newton_step::<R, L>(s, base, free, elements).1);
        }
    }
    base
}

/// What the velocity `v` leaves of the equation, and a step of Newton's method from it.
#[inline(always)]
fn newton_step<R: Real, L: PointLaw>(
    s: &Step<R>,
    v: Vec2<R>,
    free: Vec2<R>,
    elements: &[Element<R>],
) -> (Vec2<R>, Vec2<R>) {
    let one = R::splat(1.0);
    let (force, gain) = friction::<R, L>(s, v, elements);
    let rest = minus2(minus2(v, free), times2(s.per_mass, force));
    let [a, b] = [one - s.per_mass * gain[0][0], -(s.per_mass * gain[0][1])];
    let [c, d] = [-(s.per_mass * gain[1][0]), one - s.per_mass * gain[1][1]];
    let inverse = (a * d - b * c).recip();
    (rest, [inverse * (b * rest[1] - d * rest[0]), inverse * (c * rest[0] - a * rest[1])])
}

/// The friction at the velocity `v` [N]; where the mask is set the elements go on to the end of the step.
#[inline(always)]
pub fn advance<R: Real, L: PointLaw>(s: &Step<R>, v: Vec2<R>, elements: &mut [Element<R>], mask: R::Mask) -> Vec2<R> {
    let mut force = [R::splat(0.0); 2];
    for e in elements {
        let trial = L::trial(s, v, e);
        let weight = -(s.grip * e.stiffness);
        force = fma2(weight, trial.resist, force);
        let (x, x_low) = add(e.zeta[0], e.zeta_low[0], trial.step[0]);
        let (y, y_low) = add(e.zeta[1], e.zeta_low[1], trial.step[1]);
        e.zeta = select2::<R>(mask, [x, y], e.zeta);
        e.zeta_low = select2::<R>(mask, [x_low, y_low], e.zeta_low);
        e.memory = select2::<R>(mask, trial.memory, e.memory);
    }
    force
}

/// Where the step's equation has several roots (of several elements on a free body: may have), at a velocity
/// that `is_given`, or that would be without friction. `docs/model.md`, section 13.4.
#[inline(always)]
pub fn several<R: Real, L: PointLaw>(s: &Step<R>, v: Vec2<R>, is_given: R::Mask, elements: &[Element<R>]) -> R::Mask {
    let zero = R::splat(0.0);
    let mut any = zero.lt(zero);
    if !L::HAS_EQUATION || !s.curve.is_curved {
        return any;
    }
    if elements.is_empty() {
        let (c, a) = L::body_equation(s);
        return R::and(s.curve.has_several(c, a), R::not(is_given));
    }
    let mut all = zero;
    for e in elements {
        all += e.stiffness;
    }
    let yields = R::select(is_given, zero, s.per_mass * s.grip * all);
    for e in elements {
        let (c, a) = L::element_equation(s, v, yields, e);
        // Of several elements none is alone under the body: what one must not do all may not.
        let alone = s.curve.has_several(c, a);
        let own =
            if elements.len() == 1 { alone } else { R::and(s.curve.falls(c), R::not(R::and(is_given, R::not(alone)))) };
        any = R::not(R::and(R::not(any), R::not(own)));
    }
    any
}

/// Shares of the friction on elements that slip and on elements near their limit, each 0 or 1 of a body
/// without elements, whose friction is `force` [N]: `docs/model.md` (P19).
#[inline(always)]
pub fn shares<R: Real, L: PointLaw>(s: &Step<R>, force: Vec2<R>, elements: &[Element<R>]) -> [R; 2] {
    let least = R::splat(SLIP_SPEED);
    if elements.is_empty() {
        let speed = length(s.v).0;
        let most = s.grip * s.curve.at(speed).0;
        return [positive(speed - least), positive(length(force).0 - s.s_ba * most)];
    }
    let (mut slip, mut near, mut all) = (R::splat(0.0), R::splat(0.0), R::splat(0.0));
    for e in elements {
        slip = e.share.fma(positive(L::slip_speed(s, e) - least), slip);
        near = e.share.fma(positive(length(e.zeta).0 - s.s_ba * L::limit(s, e)), near);
        all += e.share;
    }
    [slip / all, near / all]
}
