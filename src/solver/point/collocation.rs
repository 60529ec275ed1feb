//! A step of elements that stick or slide, of fourth order: the body's acceleration is a parabola over the
//! step, and an element has the exact solution of its equation under the velocity that follows from it; a
//! step ends early where an element changes between sticking and sliding (`docs/model.md`, section 13.5).
//! Twin: `shaders/point/collocation.wgsl`.
//!
//! What an element does in a step is its memory while the step lasts: 0 where it sticks, 1 where it slides, 2
//! where it follows its limit, which falls below it while it is unloaded.

use super::laws::{Element, Step, Vec2, fma2, length, minus2, plus2, select2, times2};
use crate::number::real::{Real, polynomial};
use crate::solver::linalg::add;

/// Evaluations of the sliding elements in a step: the velocity that drives them is that of the one before, at
/// first that of a constant acceleration.
pub const COLLOCATION_ROUNDS: u32 = 2;
/// Most trials of the length of a step that ends where an element changes.
pub const EVENT_MOST: u32 = 40;
/// Share of a step within which its end is found where an element changes,
pub const EVENT_WIDTH: f64 = 1e-6;
/// or share of the limit, or of the speed, by which an element may be beyond that.
pub const EVENT_SHARE: f64 = 1e-9;
/// Cosine of the most by which the velocity turns in a step in which an element slides.
pub const MOST_TURN: f64 = 0.9;
/// Roundings of the number type within which an element is at its limit.
pub const NEAR_LIMIT: f64 = 100.0;
/// `1/(k + 3)!`: the series of (P26) below 1/2, where ten terms leave 1e-13.
const PHI_SERIES: [f64; 11] = {
    let (mut out, mut k, mut factorial) = ([0.0; 11], 0, 6.0);
    while k < out.len() {
        out[k] = 1.0 / factorial;
        k += 1;
        factorial *= (k + 3) as f64;
    }
    out
};

/// The contact at the beginning of a step, and sums over its elements.
#[derive(Clone, Copy, Debug)]
pub struct Start<R: Real> {
    /// Velocity [m/s], its size and its direction.
    pub v: Vec2<R>,
    /// See `v`.
    pub speed: R,
    /// See `v`.
    pub along: Vec2<R>,
    /// Friction of sliding over the normal force [-].
    pub psi: R,
    /// Stiffness shares of the elements that stick, and these times their deflections [-].
    pub stiffness: R,
    /// See `stiffness`.
    pub held: Vec2<R>,
    /// Friction shares of the elements that slide, and their stiffness shares times deflections [-].
    pub share: R,
    /// See `share`.
    pub sliding: Vec2<R>,
    /// Stiffness shares of the elements that follow their limit, and these times their deflections over `psi`
    /// [-].
    pub follows: R,
    /// See `follows`.
    pub following: Vec2<R>,
}

/// The contact at the middle or at the end of a step.
#[derive(Clone, Copy, Debug)]
pub struct Node<R: Real> {
    /// Change of the velocity since the beginning [m/s], and the velocity.
    pub change: Vec2<R>,
    /// See `change`.
    pub v: Vec2<R>,
    /// Way since the beginning [m].
    pub path: Vec2<R>,
    /// Friction of sliding over the normal force [-].
    pub psi: R,
    /// A sliding element that began at `z` is at `z - fade z + (share/stiffness) drive` [-].
    pub fade: R,
    /// See `fade`.
    pub drive: Vec2<R>,
}

/// What a step makes of an element.
#[derive(Clone, Copy, Debug)]
pub struct End<R> {
    /// Not below 0 where it changes what it does before the end of the step, and continuous in its length.
    pub change: R,
    /// See [`Element::memory`].
    pub memory: R,
}

/// Says of every element what it does in the step that begins with `s` and the velocity `v`, cuts those that
/// stick to their limits, and sums them up; elements change where the mask is set.
#[inline(always)]
pub fn begin<R: Real>(s: &Step<R>, v: Vec2<R>, elements: &mut [Element<R>], mask: R::Mask) -> Start<R> {
    let (zero, one) = (R::splat(0.0), R::splat(1.0));
    let near = R::splat(NEAR_LIMIT * 1.5 / R::ROUNDER);
    let (least, most) = ((one - near) * (one - near), (one + near) * (one + near));
    let (speed, along) = length(v);
    let psi = s.curve.at(speed).0;
    let (mut stiffness, mut share, mut follows) = (zero, zero, zero);
    let (mut held, mut sliding, mut following) = ([zero; 2], [zero; 2], [zero; 2]);
    for e in elements {
        let limit = e.rho * psi;
        let limit2 = limit * limit;
        let mut zeta = plus2(e.zeta_low, e.zeta);
        let size2 = dot2(zeta, zeta);
        let loads = zero.lt(dot2(v, zeta));
        let was_at_limit = R::splat(0.5).lt(e.memory[0]);
        let followed = R::splat(1.5).lt(e.memory[0]);
        let slides = R::and(was_at_limit, loads);
        let cut = R::and(R::and(limit2.lt(size2), R::not(slides)), mask);
        if R::any(cut) {
            e.zeta = select2::<R>(cut, times2(limit, length(zeta).1), e.zeta);
            e.zeta_low = select2::<R>(cut, [zero; 2], e.zeta_low);
            zeta = plus2(e.zeta_low, e.zeta);
        }
        let falls = R::and((most * limit2).lt(size2), loads);
        let slides = R::not(R::and(R::not(slides), R::not(falls)));
        let touches = R::and(followed, R::not(size2.lt(least * limit2)));
        let memory = R::select(slides, one, R::select(touches, one + one, zero));
        e.memory[0] = R::select(mask, memory, e.memory[0]);
        let zeta = times2(e.stiffness, zeta);
        let stays = R::not(R::and(R::not(touches), R::not(slides)));
        stiffness += R::select(stays, zero, e.stiffness);
        held = plus2(held, select2::<R>(stays, [zero; 2], zeta));
        share += R::select(slides, e.share, zero);
        sliding = plus2(sliding, select2::<R>(slides, zeta, [zero; 2]));
        let at_limit = R::and(touches, R::not(slides));
        follows += R::select(at_limit, e.stiffness, zero);
        following = plus2(following, select2::<R>(at_limit, zeta, [zero; 2]));
    }
    let following = times2(psi.recip(), following);
    Start { v, speed, along, psi, stiffness, held, share, sliding, follows, following }
}

/// The node at the beginning.
#[inline(always)]
pub fn at_start<R: Real>(start: &Start<R>) -> Node<R> {
    let (zero, none) = (R::splat(0.0), [R::splat(0.0); 2]);
    Node { change: none, v: start.v, path: none, psi: start.psi, fade: zero, drive: none }
}

/// The integrals of `exp(-x (1 - y)) y^k/k!` over `y` from 0 to 1, for `k` = 0, 1, 2 and `x >= 0`.
#[inline(always)]
pub fn phi<R: Real>(x: R) -> [R; 3] {
    let (one, half) = (R::splat(1.0), R::splat(0.5));
    let third = polynomial(&PHI_SERIES, -x.min(half));
    let second = half - x * third;
    let near = [one - x * second, second, third];
    let is_far = half.lt(x);
    if !R::any(is_far) {
        return near;
    }
    let inverse = x.max(half).recip();
    let first = (one - (-x.min(R::splat(80.0))).exp_negative()) * inverse;
    let second = (one - first) * inverse;
    let third = (half - second) * inverse;
    [R::select(is_far, first, near[0]), R::select(is_far, second, near[1]), R::select(is_far, third, near[2])]
}

/// Friction of sliding at the velocity `v`, over the normal force [-]: its size, and in its direction.
#[inline(always)]
pub fn slide_at<R: Real>(s: &Step<R>, start: &Start<R>, v: Vec2<R>) -> (R, Vec2<R>) {
    let (speed, along) = length(v);
    let psi = s.curve.at(speed).0;
    // Beyond a reversal, where the step will end, what slides is continued.
    let ahead = R::splat(0.0).lt(dot2(v, start.v));
    (psi, times2(psi, select2::<R>(ahead, along, start.along)))
}

/// Friction of sliding at the nodes, and what sliding elements make of it, `docs/model.md` (P25) and (P26).
#[inline(always)]
pub fn lag<R: Real>(s: &[Step<R>; 3], start: &Start<R>, middle: &mut Node<R>, end: &mut Node<R>) {
    let c_0 = times2(start.psi, start.along);
    let (psi_m, c_m) = slide_at(&s[1], start, middle.v);
    let (psi_1, c_1) = slide_at(&s[2], start, end.v);
    middle.psi = psi_m;
    end.psi = psi_1;
    let (r_0, r_m, r_1) = (start.psi.recip(), psi_m.recip(), psi_1.recip());
    let rate = s[0].attraction * s[0].t;
    let whole = rate * R::splat(1.0 / 6.0) * (r_0 + R::splat(4.0) * r_m + r_1);
    let part = rate * R::splat(1.0 / 24.0) * (R::splat(5.0) * r_0 + R::splat(8.0) * r_m - r_1);
    let part = part.max(R::splat(0.2) * whole).min(R::splat(0.8) * whole);
    let y = part / whole;
    let d_1 = minus2(c_1, c_0);
    let bend = (y * (R::splat(1.0) - y)).recip();
    let second = times2(bend, minus2(times2(y, d_1), minus2(c_m, c_0)));
    let first = minus2(d_1, second);
    let second = plus2(second, second);
    let [p_1, p_2, p_3] = phi(whole);
    end.fade = whole * p_1;
    end.drive = times2(whole, fma2(p_3, second, fma2(p_2, first, times2(p_1, c_0))));
    let [p_1, p_2, p_3] = phi(part);
    middle.fade = part * p_1;
    middle.drive = times2(part, fma2(y * y * p_3, second, fma2(y * p_2, first, times2(p_1, c_0))));
}

/// The node `known` with the change of the velocity and the path of a free body, or, where the motion
/// `is_given`, `to` its velocity by its way.
#[inline(always)]
pub fn node<R: Real>(
    known: &Node<R>,
    start: &Start<R>,
    is_given: R::Mask,
    (change, to): (Vec2<R>, Vec2<R>),
    (path, way): (Vec2<R>, Vec2<R>),
) -> Node<R> {
    let moved = select2::<R>(is_given, minus2(to, start.v), change);
    let v = select2::<R>(is_given, to, plus2(start.v, moved));
    Node { change: moved, v, path: select2::<R>(is_given, way, path), ..*known }
}

/// Change of the velocity by the acceleration at a node, but for what sticks [m/s].
#[inline(always)]
pub fn free<R: Real>(s: &Step<R>, start: &Start<R>, known: &Node<R>) -> Vec2<R> {
    let slid = fma2(start.share, known.drive, fma2(-known.fade, start.sliding, start.sliding));
    let pull = fma2(known.psi, start.following, plus2(start.held, slid));
    times2(s.per_mass, fma2(-s.grip, pull, s.load))
}

/// The middle and the end of a step under the inputs at its beginning, middle and end, `docs/model.md` (P21)
/// to (P24). Where the motion is given, `driven` are its velocities there.
#[inline(always)]
pub fn nodes<R: Real>(s: &[Step<R>; 3], start: &Start<R>, is_given: R::Mask, driven: [Vec2<R>; 2]) -> [Node<R>; 2] {
    let (zero, one) = (R::splat(0.0), R::splat(1.0));
    let (t, per_mass, v) = (s[0].t, s[0].per_mass, start.v);
    let lags = R::any(zero.lt(start.share + start.follows));
    let is_following = zero.lt(start.follows);
    let follows = R::any(is_following);
    // Changes of the velocity by a constant acceleration: that at the beginning, here.
    let pull = fma2(start.psi, start.following, plus2(start.held, start.sliding));
    let a_0 = times2(per_mass, fma2(-s[0].grip, pull, s[0].load));
    // Where the motion is given, its velocity is a parabola.
    let [v_m, v_1] = driven;
    let whole = times2(t * R::splat(1.0 / 6.0), plus2(fma2(R::splat(4.0), v_m, v), v_1));
    let part = times2(t * R::splat(1.0 / 24.0), minus2(fma2(R::splat(8.0), v_m, times2(R::splat(5.0), v)), v_1));
    let half = times2(R::splat(0.5), v);
    let none = at_start(start);
    let ways = [times2(t, fma2(R::splat(0.125), a_0, half)), times2(t, fma2(R::splat(0.5), a_0, v))];
    let mut middle = node(&none, start, is_given, (times2(R::splat(0.5), a_0), v_m), (ways[0], part));
    let mut end = node(&none, start, is_given, (a_0, v_1), (ways[1], whole));
    let w_m = per_mass * t * (s[1].grip * s[1].sigma0).fma(start.stiffness, s[1].spring);
    let w_1 = per_mass * t * (s[2].grip * s[2].sigma0).fma(start.stiffness, s[2].spring);
    let inverse = w_m.fma(w_1.fma(R::splat(1.0 / 288.0), R::splat(1.0 / 16.0)), one).recip();
    for _ in 0..COLLOCATION_ROUNDS {
        if lags {
            lag(s, start, &mut middle, &mut end);
        }
        let p_1 = fma2(-w_1, fma2(R::splat(1.0 / 6.0), a_0, v), free(&s[2], start, &end));
        let p_m = fma2(-w_m, fma2(R::splat(7.0 / 96.0), a_0, half), free(&s[1], start, &middle));
        let a_m = times2(inverse, fma2(w_m * R::splat(1.0 / 96.0), p_1, p_m));
        let a_1 = fma2(-w_1 * R::splat(1.0 / 3.0), a_m, p_1);
        let change_m = fma2(R::splat(8.0), a_m, minus2(times2(R::splat(5.0), a_0), a_1));
        let path_m = fma2(R::splat(6.0), a_m, minus2(times2(R::splat(7.0), a_0), a_1));
        let path_m = times2(t, fma2(R::splat(1.0 / 96.0), path_m, half));
        let change_1 = plus2(fma2(R::splat(4.0), a_m, a_0), a_1);
        let path_1 = times2(t, fma2(R::splat(1.0 / 6.0), fma2(R::splat(2.0), a_m, a_0), v));
        middle = node(&middle, start, is_given, (times2(R::splat(1.0 / 24.0), change_m), v_m), (path_m, part));
        end = node(&end, start, is_given, (times2(R::splat(1.0 / 6.0), change_1), v_1), (path_1, whole));
        if !lags {
            break;
        }
    }
    if !lags || follows {
        // The friction of the nodes themselves decides what follows its limit.
        let again = R::not(R::and(zero.lt(start.share), R::not(is_following)));
        end.psi = R::select(again, s[2].curve.at(length(end.v).0).0, end.psi);
        if follows {
            middle.psi = R::select(again, s[1].curve.at(length(middle.v).0).0, middle.psi);
        }
    }
    [middle, end]
}

/// Where some element may change what it does before the end of the step: where not, none does.
#[inline(always)]
pub fn may_change<R: Real>(s: &Step<R>, start: &Start<R>, nodes: &[Node<R>; 2], elements: &[Element<R>]) -> R::Mask {
    let zero = R::splat(0.0);
    let end = &nodes[1];
    let turned = R::splat(MOST_TURN) * start.speed * length(end.v).0;
    let turns = R::and(zero.lt(start.share), R::not(turned.lt(dot2(start.v, end.v))));
    let calm = R::and(R::not(turns), R::not(zero.lt(start.follows)));
    let mut least = R::select(calm, R::splat(1.0), zero);
    for e in elements {
        let zeta = plus2(e.zeta_low, e.zeta);
        let slides = R::splat(0.5).lt(e.memory[0]);
        let slid = fma2(e.rho, end.drive, fma2(-end.fade, zeta, zeta));
        let at = select2::<R>(slides, slid, fma2(s.sigma0, end.path, zeta));
        let ahead = dot2(end.v, at);
        let limit = e.rho * end.psi;
        let is_back = R::and(ahead.lt(zero), zero.lt(dot2(start.v, at)));
        let room = R::select(is_back, zero, limit.fma(limit, -dot2(at, at)));
        least = least.min(R::select(slides, ahead, room));
    }
    R::not(zero.lt(least))
}

/// What the step makes of an element.
#[inline(always)]
pub fn end_of<R: Real>(s: &Step<R>, start: &Start<R>, nodes: &[Node<R>; 2], e: &Element<R>) -> End<R> {
    let (zero, one) = (R::splat(0.0), R::splat(1.0));
    let [middle, end] = nodes;
    let rho = e.rho;
    let limit = rho * end.psi;
    let slides = R::splat(0.5).lt(e.memory[0]);
    let follows = R::splat(1.5).lt(e.memory[0]);
    let zeta = plus2(e.zeta_low, e.zeta);
    let slid = fma2(rho, end.drive, times2(-end.fade, zeta));
    let mut step = select2::<R>(slides, slid, times2(s.sigma0, end.path));
    let mut leaves = zero;
    if R::any(follows) {
        let (far, ahead) = length(fma2(s.sigma0, end.path, zeta));
        step = select2::<R>(follows, minus2(times2(limit, ahead), zeta), step);
        // What follows its limit leaves it where it is unloaded faster than the limit falls.
        let at_middle = length(fma2(s.sigma0, middle.path, zeta)).0 - rho * middle.psi;
        let rate = R::splat(3.0).fma(far - limit, R::splat(-4.0) * at_middle);
        leaves = -(rate / limit) - R::splat(4.0 * NEAR_LIMIT * 1.5 / R::ROUNDER);
    }
    let (size, n) = length(plus2(zeta, step));
    let (u_0, u_1) = (dot2(start.v, n), dot2(end.v, n));
    let slower = u_1 / start.speed.max(R::splat(R::TINY));
    // What sticks reaches its limit, or has done so before it turned back.
    let back = (-u_1).max(zero);
    let turn = s.sigma0 * s.t * back * back / (R::splat(2.0) * (back + u_0)).max(R::splat(R::TINY));
    let reach = (size + R::select(zero.lt(u_0), turn, zero)) / limit - one;
    let change = R::select(follows, leaves.max(slower), R::select(slides, -slower, reach));
    // At its limit it slides if it is loaded there, else it follows that.
    let reached = R::select(zero.lt(u_1), one, one + one);
    let slid_on = R::select(zero.lt(slower), one, zero);
    let stays = R::select(follows, R::select(leaves.lt(zero), reached, zero), slid_on);
    let memory = R::select(slides, stays, R::select(reach.lt(zero), zero, reached));
    End { change, memory }
}

/// Not below 0 where the step that these nodes are of is to end early: by the elements for which `which` is
/// set. If `first`, that becomes those that change: no other does in a shorter step.
#[inline(always)]
pub fn event<R: Real>(
    s: &Step<R>,
    start: &Start<R>,
    nodes: &[Node<R>; 2],
    elements: &[Element<R>],
    (which, first): (&mut [R::Mask], bool),
) -> R {
    let mut most = R::splat(-1.0);
    for (e, own) in elements.iter().zip(which) {
        if !R::any(*own) {
            continue;
        }
        let change = end_of(s, start, nodes, e).change;
        most = R::select(*own, most.max(change), most);
        if first {
            *own = R::and(*own, R::not(change.lt(R::splat(0.0))));
        }
    }
    let along = length(nodes[1].v).1;
    let cosine = dot2(start.along, along);
    // A full reversal is found by what slides.
    let turns = R::and(R::splat(0.0).lt(start.share), R::splat(-0.999).lt(cosine));
    most.max(R::select(turns, R::splat(MOST_TURN) - cosine, most))
}

/// Friction at the end of the step [N]; where the mask is set the elements go on to it, and where it `ends`
/// early some change what they do.
#[inline(always)]
pub fn finish<R: Real>(
    s: &Step<R>,
    start: &Start<R>,
    nodes: &[Node<R>; 2],
    elements: &mut [Element<R>],
    (mask, ends): (R::Mask, R::Mask),
) -> Vec2<R> {
    let end = &nodes[1];
    let mut force = [R::splat(0.0); 2];
    let (any_ends, any_follows) = (R::any(ends), R::any(R::splat(0.0).lt(start.follows)));
    for e in elements {
        let at_limit = R::splat(0.5).lt(e.memory[0]);
        let zeta = plus2(e.zeta_low, e.zeta);
        let slid = fma2(e.rho, end.drive, times2(-end.fade, zeta));
        let mut step = select2::<R>(at_limit, slid, times2(s.sigma0, end.path));
        if any_follows {
            let ahead = length(fma2(s.sigma0, end.path, zeta)).1;
            let followed = minus2(times2(e.rho * end.psi, ahead), zeta);
            step = select2::<R>(R::splat(1.5).lt(e.memory[0]), followed, step);
        }
        let mut memory = e.memory[0];
        if any_ends {
            memory = R::select(ends, end_of(s, start, nodes, e).memory, memory);
        }
        let (x, x_low) = add(e.zeta[0], e.zeta_low[0], step[0]);
        let (y, y_low) = add(e.zeta[1], e.zeta_low[1], step[1]);
        force = fma2(-(s.grip * e.stiffness), [x + x_low, y + y_low], force);
        e.zeta = select2::<R>(mask, [x, y], e.zeta);
        e.zeta_low = select2::<R>(mask, [x_low, y_low], e.zeta_low);
        e.memory[0] = R::select(mask, memory, e.memory[0]);
    }
    force
}

/// `a . b`.
#[inline(always)]
fn dot2<R: Real>(a: Vec2<R>, b: Vec2<R>) -> R {
    a[0].fma(b[0], a[1] * b[1])
}
