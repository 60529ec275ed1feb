//! The motion of a patch relative to a surface that moves, `docs/model.md` (23a). Twin:
//! `shaders/moving_surface.wgsl`.
//!
//! A body slides on a surface whose twist is given in the world. A hand carries the patch along: its twist is
//! given in the axes of the patch, and the pose is that of the body in the hand, whose derivative is the slip
//! at the centre of mass. The angle of the hand is the only state that it adds. It is integrated by the
//! formula of the step, as the pose is, so that a body that sticks stays where it is in the hand.
//!
//! Only here: `carried`, `zero`, `select`, `new`, `set`, `of_step`, `of_step_mut`.

use super::bristles::{Bits, Bristles};
use super::lanes::{Solver, set_bit};
use super::linalg::{Vec3, add3};
use super::step::update;
use super::transform::{Transform, at};
use crate::number::real::Real;

/// What the lanes with a moving surface have.
pub(super) struct SurfaceState<R: Real> {
    /// Lanes whose surface moves.
    pub(super) moving: Bits,
    /// How far a hand has turned since the start [rad]: a compensated sum in the first of three components.
    pub(super) turn: Vec3<R>,
    pub(super) turn_low: Vec3<R>,
    /// None before there was a contact on a surface that moves: most contacts take no memory for them.
    of_step: Option<Box<StepRates<R>>>,
}

/// How contacts move at the start of the step, in its first stage, and in the stage that was solved last.
#[derive(Clone, Copy)]
pub(super) struct StepRates<R> {
    pub(super) start: Rates<R>,
    pub(super) first: Rates<R>,
    pub(super) last: Rates<R>,
}

/// How a contact moves.
#[derive(Clone, Copy)]
pub(super) struct Rates<R> {
    /// Derivative of the pose [m/s, m/s, rad/s].
    pub(super) pose: Vec3<R>,
    /// Angular velocity of the surface [rad/s].
    pub(super) turn: R,
    /// Twist of the patch relative to the surface [m/s, m/s, rad/s].
    pub(super) slip: Vec3<R>,
}

impl<R: Real> Rates<R> {
    fn zero() -> Self {
        Self { pose: Vec3::zero(), turn: R::splat(0.0), slip: Vec3::zero() }
    }

    #[inline(always)]
    fn select(mask: R::Mask, new: &Self, old: &Self) -> Self {
        Self {
            pose: Vec3::select(mask, new.pose, old.pose),
            turn: R::select(mask, new.turn, old.turn),
            slip: Vec3::select(mask, new.slip, old.slip),
        }
    }
}

impl<R: Real> SurfaceState<R> {
    /// Without moving surfaces.
    pub(super) fn new() -> Self {
        Self { moving: 0, turn: Vec3::zero(), turn_low: Vec3::zero(), of_step: None }
    }

    /// Puts a contact whose surface `moves`, or is at rest, into a lane.
    pub(super) fn set(&mut self, l: usize, moves: bool) {
        set_bit(&mut self.moving, l, moves);
        self.turn.set(l, [0.0; 3]);
        self.turn_low.set(l, [0.0; 3]);
        if moves && self.of_step.is_none() {
            let rest = Rates::zero();
            self.of_step = Some(Box::new(StepRates { start: rest, first: rest, last: rest }));
        }
    }

    /// How the contacts on surfaces that move do so in this step.
    ///
    /// # Panics
    /// There was never such a contact.
    #[inline(always)]
    pub(super) fn of_step(&self) -> &StepRates<R> {
        self.of_step.as_deref().expect("a contact on a surface that moves")
    }

    /// The same, to be changed.
    ///
    /// # Panics
    /// As [`SurfaceState::of_step`].
    #[inline(always)]
    pub(super) fn of_step_mut(&mut self) -> &mut StepRates<R> {
        self.of_step.as_deref_mut().expect("a contact on a surface that moves")
    }
}

impl<R: Real, B: Bristles<R>> Solver<R, B> {
    /// The lanes whose patch is carried along by a hand that moves.
    #[inline(always)]
    pub(super) fn carried(&self) -> Bits {
        self.surface.moving & self.contacts.gripper
    }

    /// The twist of the surface at the origin of its frame, a time `dt` after the start of the step, in
    /// `lanes`.
    #[inline(always)]
    pub(super) fn surface_twist(&self, dt: R, lanes: Bits) -> Vec3<R> {
        let [vx, vy, w] = self.interval.surface(self.step.tau, dt, lanes);
        Vec3::new(vx, vy, w)
    }

    /// The twist of the patch relative to the surface, of a body at pose `q` with twist `u`; `s` is the twist
    /// of the surface.
    #[inline(always)]
    pub(super) fn slip_twist(&self, t: &Transform<R>, q: Vec3<R>, u: Vec3<R>, s: Vec3<R>) -> Vec3<R> {
        let (below, after) = self.parts(q, s);
        t.twist(u - below) - after
    }

    /// The inverse of [`Solver::slip_twist`]: the twist of the body.
    #[inline(always)]
    pub(super) fn slipping_body(&self, t: &Transform<R>, q: Vec3<R>, slip: Vec3<R>, s: Vec3<R>) -> Vec3<R> {
        let (below, after) = self.parts(q, s);
        t.body_twist(slip + after) + below
    }

    /// The twist of the surface as it is subtracted: from that of the body in the world, and, of a hand, from
    /// that of the patch.
    #[inline(always)]
    fn parts(&self, q: Vec3<R>, s: Vec3<R>) -> (Vec3<R>, Vec3<R>) {
        let hand = R::from_bitmask(self.contacts.gripper);
        let below = Vec3::select(hand, Vec3::zero(), at(s, [q.x, q.y]));
        (below, Vec3::select(hand, s, Vec3::zero()))
    }

    /// How a body at pose `q` with twist `u` moves where its patch has the twist `slip` relative to the
    /// surface.
    #[inline(always)]
    pub(super) fn rates(&self, q: Vec3<R>, u: Vec3<R>, slip: Vec3<R>, s: Vec3<R>) -> Rates<R> {
        let hand = R::from_bitmask(self.contacts.gripper);
        Rates { pose: Vec3::select(hand, at(slip, [q.x, q.y]), u), turn: s.z, slip }
    }

    /// Notes the rates at the start of a step; `s` is the twist of the surface there.
    #[inline(always)]
    pub(super) fn start_rates(&mut self, s: Vec3<R>) {
        let q = self.body.q;
        let t = self.transform(q, R::splat(0.0));
        let rates = self.rates(q, self.body.u, self.slip_twist(&t, q, self.body.u, s), s);
        let start = &mut self.surface.of_step_mut().start;
        *start = Rates::select(R::from_bitmask(self.starting), &rates, start);
    }

    /// Notes the rates of the stage that was solved last as those of the first stage.
    #[inline(always)]
    pub(super) fn keep_rates(&mut self, first: Bits) {
        let rates = self.surface.of_step_mut();
        rates.first = Rates::select(R::from_bitmask(first), &rates.last, &rates.first);
    }

    /// Turns the hand at the end of a step, by the angle `turn` [rad].
    #[inline(always)]
    pub(super) fn turn_hand(&mut self, ended: Bits, turn: R) {
        let zero = R::splat(0.0);
        let (high, low) = add3(self.surface.turn, self.surface.turn_low, Vec3::new(turn, zero, zero));
        let mask = R::from_bitmask(ended & self.carried());
        update(mask, &mut self.surface.turn, high);
        update(mask, &mut self.surface.turn_low, low);
    }
}
