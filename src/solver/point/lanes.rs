//! Point contacts in the lanes of a number type, one in each: their parameters, their state, and their step,
//! which is the fixed step of Kikuuwe et al. (2005), `docs/model.md`, section 13. Twin:
//! `shaders/point/lanes.wgsl`.
//!
//! Only here: `new`, `parameters`, `advance_lanes`, `collocate`, `spent`,
//! `of_lane`, `point_pass`, `load`, `allow`, `start_interval`, `running`, `pass`, `sample`, `respond`,
//! `status`, `clear`, `states`, `export`, `import`, `set_pairs`.
#![allow(clippy::needless_range_loop, reason = "a lane is the same place in several arrays")]

use super::balance::{advance, balance, friction, several, shares};
use super::collocation::{EVENT_MOST, EVENT_WIDTH, at_start, begin, event, event_share, finish, may_change, nodes};
use super::curve::Curve;
use super::laws::{
    Element, Outcome, PointLaw, Step, Vec2, length, minus2, plus2, select2, times2, with_point_law, without_friction,
};
use crate::contact::{Contact, Model};
use crate::friction::Friction;
use crate::number::real::Real;
use crate::number::simd::copies;
use crate::plan::Status;
use crate::planar::{Pose, Twist, Wrench};
use crate::point::{PAIRS_PER_ELEMENT, PointLaw as Law, PointModel};
use crate::schedule::{Interval, slot};
use crate::solver::bristles::{Bits, Shares};
use crate::solver::constants::STEP_SLACK;
use crate::solver::friction::Consts;
use crate::solver::inputs::LaneInterval;
use crate::solver::lane_solver::LaneSolver;
use crate::solver::lanes::{compensated, set_bit, set_compensated, set_split};
use crate::solver::linalg::{Vec3, add3};
use crate::solver::respond::Response;
use crate::solver::state::State;
use crate::solver::step::{Events, finite, from_f64, to_f64, update};

/// A step of a law that collocates is at most this share of the time in which its elements store the motion
/// of the body, `sqrt(M/K)`; `docs/model.md` (P27).
pub const LONGEST_PHASE: f64 = 0.5;
/// While an element slides, or follows its limit, on the falling Stribeck branch, a step changes the speed by
/// at most this share of `v_s`; `docs/model.md` (P28).
pub const MOST_PASSED: f64 = 0.1;
/// Where that branch ends, over `v_s`.
pub const BRANCH_END: f64 = 3.0;
/// Point contacts under one law with one number of elements.
pub struct Points<R: Real> {
    law: Law,
    // The contacts.
    pub(in crate::solver) k: Consts<R>,
    k_g: R,
    pub(in crate::solver) sigma0: R,
    pub(in crate::solver) sigma1: R,
    s_ba: R,
    band: R,
    slider_mass: R,
    attraction: R,
    pub(in crate::solver) inv_mass: R,
    pub(in crate::solver) pads: R,
    /// Stiffness of the spring to the anchor [N/m].
    spring: R,
    pub(in crate::solver) prescribed: Bits,
    h_max: R::Each<f64>,
    pub(in crate::solver) elements: Vec<Element<R>>,
    /// Where each of them changes in a step of [`super::collocation`].
    which: Vec<R::Mask>,
    // The state: twist and pose as compensated sums, and the friction of the last step [N].
    pub(in crate::solver) u: Vec3<R>,
    pub(in crate::solver) u_low: Vec3<R>,
    pub(in crate::solver) q: Vec3<R>,
    pub(in crate::solver) q_low: Vec3<R>,
    pub(in crate::solver) force: Vec2<R>,
    pub(in crate::solver) interval: LaneInterval<R>,
    running: Bits,
    steps: R::Each<u64>,
    /// Steps whose equation has several roots.
    unconverged: R::Each<u64>,
    budget: R::Each<u64>,
}

impl<R: Real> Points<R> {
    /// Empty lanes for contacts with the law, the number of elements and the kind of Stribeck curve of these.
    pub fn new(model: &PointModel, friction: &Friction) -> Self {
        let (zero, one, none) = (R::splat(0.0), R::splat(1.0), Vec3::zero());
        let element =
            Element { share: one, stiffness: one, rho: one, zeta: [zero; 2], zeta_low: [zero; 2], memory: [zero; 2] };
        Self {
            law: model.law,
            k: Consts::new(friction),
            k_g: one,
            sigma0: one,
            sigma1: zero,
            s_ba: zero,
            band: one,
            slider_mass: zero,
            attraction: one,
            inv_mass: one,
            pads: one,
            spring: zero,
            prescribed: 0,
            h_max: R::each(1.0),
            elements: vec![element; model.elements().len()],
            which: vec![zero.lt(zero); model.elements().len()],
            u: none,
            u_low: none,
            q: none,
            q_low: none,
            force: [zero; 2],
            interval: LaneInterval::new(),
            running: 0,
            steps: R::each(0_u64),
            unconverged: R::each(0_u64),
            budget: R::each(u64::MAX),
        }
    }

    /// Sets the parameters of a lane to those of a contact.
    fn parameters(&mut self, l: usize, contact: &Contact, step: f64) {
        let Model::Point(model) = &contact.model else { unreachable!("a patch has a solver of its own") };
        let (f, constants) = (&contact.friction, contact.body.constants());
        self.k.set(l, &Consts::new(f));
        self.k_g.set(l, f.steepest_stribeck_slope());
        self.sigma0.set(l, f.sigma0);
        self.sigma1.set(l, f.sigma1);
        self.s_ba.set(l, f.s_ba);
        self.band.set(l, model.band_of_law());
        self.slider_mass.set(l, model.slider_mass);
        self.attraction.set(l, model.attraction);
        self.inv_mass.set(l, 1.0 / constants.mass);
        self.pads.set(l, constants.pads);
        self.spring.set(l, contact.body.free().map_or(0.0, |body| body.spring));
        set_bit(&mut self.prescribed, l, contact.body.free().is_none());
        self.h_max[l] = step;
        for (to, from) in self.elements.iter_mut().zip(model.elements()) {
            to.share.set(l, from.share);
            to.stiffness.set(l, from.stiffness);
            to.rho.set(l, from.share / from.stiffness);
        }
    }

    /// The longest step [s] of a law that collocates; else a long one.
    #[inline(always)]
    fn longest_step<L: PointLaw>(&self, v: &[R; slot::COUNT]) -> R {
        if !L::COLLOCATES {
            return R::splat(1e30);
        }
        let (mut share, mut memory) = (R::splat(0.0), R::splat(0.0));
        for e in &self.elements {
            share += e.stiffness;
            memory = memory.max(e.memory[0]);
        }
        let stiffness = self.pads * v[slot::F_N] * self.sigma0 * share * self.inv_mass;
        let longest = R::splat(LONGEST_PHASE) * stiffness.max(R::splat(1e-12)).rsqrt();
        let s = self.step_of(longest, v);
        let most = R::splat(MOST_PASSED)
            / (length(plus2(s.load, self.force)).0 * self.inv_mass * self.k.inv_v_s).max(R::splat(1e-12));
        // Speed over v_s at which the branch is out of the step's reach.
        let reach = R::splat(MOST_PASSED) * longest.min(from_f64(&self.h_max)) / most + R::splat(BRANCH_END);
        let passes = R::and((length(s.v).0 * self.k.inv_v_s).lt(reach), R::splat(0.0).lt(s.curve.fall));
        let passes = R::and(passes, R::splat(0.5).lt(memory));
        let longest = R::select(passes, longest.min(most), longest);
        R::select(R::from_bitmask(self.prescribed), R::splat(1e30), longest)
    }

    /// What the step of length `t` [s] that ends with inputs `v` is made of.
    #[inline(always)]
    fn step_of(&self, t: R, v: &[R; slot::COUNT]) -> Step<R> {
        let mu_d = v[slot::MU_S] - v[slot::MU_C];
        let load = [
            v[slot::LOAD] - self.spring * self.q_low.x - self.spring * self.q.x,
            v[slot::LOAD + 1] - self.spring * self.q_low.y - self.spring * self.q.y,
        ];
        // A derivative over `mu_s` is there at `mu_s = mu_c`, too.
        let is_curved = R::HAS_TANGENTS || R::any(R::splat(0.0).lt(mu_d));
        let fall = mu_d.fma(self.k_g * self.k.inv_v_s, -self.k.sigma2);
        Step {
            t,
            per_mass: t * self.inv_mass,
            grip: self.pads * v[slot::F_N],
            curve: Curve { k: self.k, mu_c: v[slot::MU_C], mu_d, fall, is_curved },
            sigma0: self.sigma0,
            sigma1: self.sigma1,
            s_ba: self.s_ba,
            band: self.band,
            slider_mass: self.slider_mass,
            attraction: self.attraction,
            spring: self.spring,
            load,
            v: [self.u.x, self.u.y],
        }
    }

    /// Starts the next step of every lane: its start in the interval, its length, and the time that it leaves
    /// [s]; the inputs at its start under a law that collocates.
    #[inline(always)]
    fn start_step<L: PointLaw>(&self) -> (R, R, R::Each<f64>, [R; slot::COUNT]) {
        let mut tau = R::each(0.0);
        for l in 0..R::LANES {
            tau[l] = self.interval.length[l] - self.interval.left[l];
        }
        let tau: R = from_f64(&tau);
        let first = if L::COLLOCATES { self.interval.inputs(tau, self.running) } else { [tau; slot::COUNT] };
        let longest = if L::COLLOCATES { to_f64(self.longest_step::<L>(&first)) } else { R::each(1e30) };
        let (mut h, mut rest) = (R::each(1.0), R::each(0.0));
        for l in 0..R::LANES {
            let most = if longest[l] < self.h_max[l] { longest[l] } else { self.h_max[l] };
            let n = (self.interval.left[l] / most - STEP_SLACK).ceil();
            // The steps are differences of what is left, so that they add up to the interval, docs/model.md
            // (55).
            rest[l] = if n > 1.0 { self.interval.left[l] - self.interval.left[l] / n } else { 0.0 };
            h[l] = if self.interval.left[l] > 0.0 { self.interval.left[l] - rest[l] } else { 1.0 };
        }
        (tau, from_f64(&h), rest, first)
    }

    /// A step of every lane that runs.
    #[inline(always)]
    fn advance_lanes<L: PointLaw>(&mut self) -> Events {
        let (tau, t, rest, first) = self.start_step::<L>();
        if L::COLLOCATES {
            return self.collocate((tau, &first), t, rest);
        }
        let v = self.interval.inputs(tau + t, self.running);
        let (given, free) = (self.running & self.prescribed, self.running & !self.prescribed);
        let s = self.step_of(t, &v);
        let twist = Vec3::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
        let (is_given, is_free) = (R::from_bitmask(given), R::from_bitmask(free));
        let driven = [twist.x, twist.y];
        let unloaded = select2::<R>(is_given, driven, without_friction(&s));
        let several = R::bitmask(several::<R, L>(&s, unloaded, is_given, &self.elements)) & self.running;
        if several != 0 {
            (0..R::LANES).for_each(|l| self.unconverged[l] += u64::from(several >> l & 1));
        }
        let (none, mut stops) = ([R::splat(0.0); 2], 0);
        let change = if self.elements.is_empty() {
            let mut force = s.load;
            if free != 0 {
                let Outcome { force: found, stops: at } = L::step(&s);
                force = found;
                stops = R::bitmask(at) & free;
            }
            if given != 0 {
                // A motion that is given has no load that friction could hold.
                force = select2::<R>(is_given, L::force(&Step { load: none, ..s }, driven).0, force);
            }
            self.force = select2::<R>(R::from_bitmask(self.running), force, self.force);
            times2(s.per_mass, plus2(s.load, force))
        } else {
            let found = if free != 0 { balance::<R, L>(&s, &self.elements) } else { s.v };
            let at = select2::<R>(is_given, driven, found);
            let force = advance::<R, L>(&s, at, &mut self.elements, R::from_bitmask(self.running));
            self.force = select2::<R>(R::from_bitmask(self.running), force, self.force);
            minus2(found, s.v)
        };
        let u = self.move_body(twist, change, (is_given, is_free), R::from_bitmask(stops));
        self.move_pose(u * t);
        self.finish_step(rest)
    }

    /// A step of every lane that runs, from `tau` on under the inputs `first` there, which is as long as
    /// `whole` [s] and then leaves `rest`, or ends where an element changes between sticking and sliding.
    #[inline(always)]
    fn collocate(&mut self, (tau, first): (R, &[R; slot::COUNT]), whole: R, mut rest: R::Each<f64>) -> Events {
        let (zero, half) = (R::splat(0.0), R::splat(0.5));
        let runs = R::from_bitmask(self.running);
        let is_given = R::from_bitmask(self.running & self.prescribed);
        let is_free = R::from_bitmask(self.running & !self.prescribed);
        let given = |v: &[R; slot::COUNT]| [v[slot::LOAD], v[slot::LOAD + 1]];
        let v = select2::<R>(is_given, given(first), [self.u.x, self.u.y]);
        let s = self.step_of(whole, first);
        let start = begin(&s, v, &mut self.elements, runs);
        // The end of the step lies between `low` and `high`, where it is found by regula falsi (Illinois).
        let (mut t, mut low, mut high) = (whole, zero, whole);
        let (mut at_low, mut at_high, mut was_high) = (zero, zero, R::lt(zero, zero));
        let (width, mut seeks, mut ends) = (R::splat(EVENT_WIDTH) * whole, runs, runs);
        // How far beyond the change a step may end, in units of `event`; searched is half of that.
        let most = R::splat(event_share::<R>());
        let aim = half * most;
        let mut trials = 0u32;
        let (mut middle, mut last) = (*first, *first);
        let (s, found) = loop {
            trials += 1;
            // Sinusoids cost more than all else of a trial: only where the length of the step is a new one.
            let news = R::bitmask(seeks);
            let next = [self.interval.inputs(half.fma(t, tau), news), self.interval.inputs(tau + t, news)];
            for i in 0..slot::COUNT {
                middle[i] = R::select(seeks, next[0][i], middle[i]);
                last[i] = R::select(seeks, next[1][i], last[i]);
            }
            let s = [self.step_of(t, first), self.step_of(t, &middle), self.step_of(t, &last)];
            let found = nodes(&s, &start, is_given, [given(&middle), given(&last)]);
            let mut at = R::splat(-1.0);
            let is_first = trials == 1;
            if is_first {
                seeks = R::and(seeks, may_change(&s[0], &start, &found, &self.elements));
                self.which.fill(seeks);
            }
            if R::any(seeks) {
                at = event(&s[0], &start, &found, &self.elements, (&mut self.which, is_first));
            }
            let happens = R::not(at.lt(zero));
            if is_first {
                ends = R::and(seeks, happens);
                (seeks, at_high) = (ends, at);
                if R::any(seeks) {
                    let before = [at_start(&start); 2];
                    at_low = event(&s[0], &start, &before, &self.elements, (&mut self.which, false)).min(-aim);
                }
            } else {
                let later = R::and(seeks, R::not(happens));
                let sooner = R::and(seeks, happens);
                at_low = R::select(R::and(sooner, was_high), half * at_low, R::select(later, at, at_low));
                at_high = R::select(R::and(later, R::not(was_high)), half * at_high, R::select(sooner, at, at_high));
                low = R::select(later, t, low);
                high = R::select(sooner, t, high);
                was_high = sooner;
            }
            let is_last = R::not(R::splat(f64::from(trials)).lt(R::splat(f64::from(EVENT_MOST))));
            let narrow = R::not(R::and(width.lt(high - low), R::not(is_last)));
            let close = R::and(happens, at.lt(most));
            seeks = R::and(seeks, R::not(R::and(narrow, R::not(t.lt(high)))));
            seeks = R::and(seeks, R::not(close));
            if !R::any(seeks) {
                break (s, found);
            }
            let guess = high - (high - low) * (at_high - aim) / (at_high - at_low);
            let inside = R::and(low.lt(guess), guess.lt(high));
            let next = R::select(inside, guess, half * (low + high));
            t = R::select(seeks, R::select(narrow, high, next), t);
        };
        let force = finish(&s[2], &start, &found, &mut self.elements, (runs, ends));
        self.force = select2::<R>(runs, force, self.force);
        let twist = Vec3::new(last[slot::LOAD], last[slot::LOAD + 1], last[slot::LOAD + 2]);
        let [_, end] = found;
        self.move_body(twist, end.change, (is_given, is_free), R::lt(zero, zero));
        self.move_pose(Vec3::new(end.path[0], end.path[1], zero));
        let (t_64, cut) = (to_f64(t), R::bitmask(t.lt(whole)));
        for l in 0..R::LANES {
            rest[l] = if cut >> l & 1 == 1 { self.interval.left[l] - t_64[l] } else { rest[l] };
        }
        self.finish_step(rest)
    }

    /// The velocities of the bodies after a step, which these then have: of those that are `given` a twist,
    /// of the `free` ones a change, or rest where they stop.
    #[inline(always)]
    fn move_body(&mut self, twist: Vec3<R>, change: Vec2<R>, at: (R::Mask, R::Mask), stops: R::Mask) -> Vec3<R> {
        let (given, free) = at;
        let zero = R::splat(0.0);
        let (u, u_low) = add3(self.u, self.u_low, Vec3::new(change[0], change[1], zero));
        update(free, &mut self.u, u);
        update(free, &mut self.u_low, u_low);
        update(stops, &mut self.u, Vec3::zero());
        update(stops, &mut self.u_low, Vec3::zero());
        update(given, &mut self.u, twist);
        self.u
    }

    /// Moves the bodies that run along a `path` [m, rad].
    #[inline(always)]
    fn move_pose(&mut self, path: Vec3<R>) {
        let runs = R::from_bitmask(self.running);
        let (q, q_low) = add3(self.q, self.q_low, path);
        update(runs, &mut self.q, q);
        update(runs, &mut self.q_low, q_low);
    }

    /// Ends a step of the lanes that run, which leaves `rest` [s] of their intervals.
    #[inline(always)]
    fn finish_step(&mut self, rest: R::Each<f64>) -> Events {
        let ran = self.running;
        for l in 0..R::LANES {
            let runs = ran >> l & 1 == 1;
            self.steps[l] += u64::from(runs);
            self.interval.left[l] = if runs { rest[l] } else { self.interval.left[l] };
        }
        let failed = ran & !(finite(self.u) & finite(Vec3::new(self.force[0], self.force[1], self.q.x)));
        let stopped = ran & !failed & R::bitmask(from_f64::<R>(&self.interval.left).lt(R::splat(R::TINY)));
        let spent = self.spent(ran & !failed & !stopped);
        self.running &= !(failed | stopped | spent);
        Events { stopped, failed, spent }
    }

    /// Those of `lanes` that have used up the steps that they may take.
    #[inline(never)]
    fn spent(&self, lanes: Bits) -> Bits {
        let spent = |l: usize| Bits::from(self.steps[l] >= self.budget[l]) << l;
        lanes & (0..R::LANES).map(spent).fold(0, |all, one| all | one)
    }

    /// The step of one lane alone, in double precision, of a length `t` [s] under inputs `v`, and its
    /// elements.
    fn of_lane(&self, l: usize, t: f64, v: &[f64; slot::COUNT]) -> (Step<f64>, Vec<Element<f64>>) {
        let all = self.step_of(R::splat(t), &v.map(R::splat));
        let two = |of: Vec2<R>| of.map(|x| x.lane(l));
        let k = Consts {
            law: self.k.law,
            gaussian: self.k.gaussian,
            gamma: self.k.gamma.lane(l),
            inv_v_s: self.k.inv_v_s.lane(l),
            s_ba: self.k.s_ba.lane(l),
            inv_width: self.k.inv_width.lane(l),
            sigma2: self.k.sigma2.lane(l),
            least_x: self.k.least_x.lane(l),
        };
        let mu_d = v[slot::MU_S] - v[slot::MU_C];
        let step = Step {
            t,
            per_mass: all.per_mass.lane(l),
            grip: all.grip.lane(l),
            curve: Curve { k, mu_c: v[slot::MU_C], mu_d, fall: all.curve.fall.lane(l), is_curved: mu_d > 0.0 },
            sigma0: all.sigma0.lane(l),
            sigma1: all.sigma1.lane(l),
            s_ba: all.s_ba.lane(l),
            band: all.band.lane(l),
            slider_mass: all.slider_mass.lane(l),
            attraction: all.attraction.lane(l),
            spring: all.spring.lane(l),
            load: [0.0; 2],
            v: two(all.v),
        };
        let element = |e: &Element<R>| Element {
            share: e.share.lane(l),
            stiffness: e.stiffness.lane(l),
            rho: e.rho.lane(l),
            zeta: two(e.zeta),
            zeta_low: two(e.zeta_low),
            memory: two(e.memory),
        };
        (step, self.elements.iter().map(element).collect())
    }
}

copies! {
    /// A step of every lane that runs under a law: a function for each, as one of all takes the compiler
    /// long.
    fn point_pass<R, L: PointLaw>(points: &mut Points<R>) -> Events {
        points.advance_lanes::<L>()
    }
}

impl<R: Real> LaneSolver for Points<R> {
    const LANES: usize = R::LANES;
    type Scratch = ();

    fn load(&mut self, l: usize, contact: &Contact, step: f64, _: &[usize]) {
        self.parameters(l, contact, step);
        self.clear(l);
        (self.steps[l], self.unconverged[l]) = (0, 0);
        set_compensated(&mut self.u, &mut self.u_low, l, contact.first_velocity().to_array());
        set_compensated(&mut self.q, &mut self.q_low, l, contact.initial.pose.to_array());
        self.set_pairs(l, &contact.first_pairs());
    }

    fn allow(&mut self, l: usize, steps: u64) {
        self.budget[l] = self.steps[l].saturating_add(steps);
    }

    fn start_interval(&mut self, l: usize, interval: &Interval) {
        self.interval.start(l, interval);
        set_bit(&mut self.running, l, true);
    }

    fn running(&self) -> Bits {
        self.running
    }

    fn pass(&mut self) -> Events {
        with_point_law!(self.law, L => point_pass::<R, L>(self))
    }

    fn sample(&mut self, l: usize, contact: &Contact, v: &[f64; slot::COUNT]) -> (Pose, Twist, Wrench, Shares) {
        let (q, u) = (compensated(self.q, self.q_low, l).into(), compensated(self.u, self.u_low, l).into());
        let given = contact.body.free().is_none();
        let twist = if given { Twist::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]) } else { u };
        let force = self.force.map(|f| f.lane(l));
        let [fx, fy] = force.map(|f| f / self.pads.lane(l));
        let (step, elements) = self.of_lane(l, 1.0, v);
        let [slip, near_limit] = with_point_law!(self.law, L => shares::<f64, L>(&step, force, &elements));
        (q, twist, Wrench::new(fx, fy, 0.0), Shares { slip, near_limit })
    }

    fn respond(&mut self, l: usize, _: &Contact, twist: Twist, dt: f64, v: &[f64; slot::COUNT]) -> Response {
        let (step, elements) = self.of_lane(l, dt, v);
        let u = [twist.vx, twist.vy];
        let (force, gain) = with_point_law!(self.law, L => if elements.is_empty() {
            L::force(&step, u)
        } else {
            friction::<f64, L>(&step, u, &elements)
        });
        let pads = self.pads.lane(l);
        let row = |of: Vec2<f64>| [of[0] / pads, of[1] / pads, 0.0];
        Response { wrench: row(force).into(), gain: [row(gain[0]), row(gain[1]), [0.0; 3]] }
    }

    fn status(&self, l: usize) -> Status {
        let (steps, unconverged) = (self.steps[l], self.unconverged[l]);
        Status { unconverged, steps, passes: steps, ..Status::default() }
    }

    fn clear(&mut self, l: usize) {
        set_bit(&mut self.running, l, false);
        self.interval.clear(l);
        for v in [&mut self.u, &mut self.u_low, &mut self.q, &mut self.q_low] {
            v.set(l, [0.0; 3]);
        }
        for e in &mut self.elements {
            for v in [&mut e.zeta, &mut e.zeta_low, &mut e.memory] {
                v.iter_mut().for_each(|x| x.set(l, 0.0));
            }
        }
        self.force.iter_mut().for_each(|x| x.set(l, 0.0));
    }

    fn states(&self, l: usize) -> Vec<[f64; 2]> {
        self.elements.iter().map(|e| [0, 1].map(|i| e.zeta[i].lane(l) + e.zeta_low[i].lane(l))).collect()
    }

    fn export(&self, l: usize, state: &mut State) {
        let two = |of: Vec2<R>| of.map(|x| x.lane(l));
        let mut bristles = std::mem::take(&mut state.bristles);
        bristles.clear();
        bristles.push(two(self.force));
        for e in &self.elements {
            bristles.extend([two([e.share, e.stiffness]), two(e.zeta), two(e.zeta_low), two(e.memory)]);
        }
        let [u, u_low, q, q_low] = [self.u, self.u_low, self.q, self.q_low].map(|v| v.lane(l));
        let (steps, unconverged) = (self.steps[l], self.unconverged[l]);
        *state = State { u, u_low, q, q_low, steps, passes: steps, unconverged, bristles, ..State::default() };
    }

    fn import(&mut self, l: usize, _: &Contact, state: &State) {
        set_split(&mut self.u, &mut self.u_low, l, state.u, state.u_low);
        set_split(&mut self.q, &mut self.q_low, l, state.q, state.q_low);
        (self.steps[l], self.unconverged[l]) = (state.steps, state.unconverged);
        self.set_pairs(l, &state.bristles);
    }
}

impl<R: Real> Points<R> {
    /// Sets friction and elements of a lane to numbers in the order of [`LaneSolver::export`].
    fn set_pairs(&mut self, l: usize, pairs: &[[f64; 2]]) {
        (0..2).for_each(|i| self.force[i].set(l, pairs[0][i]));
        for (e, from) in self.elements.iter_mut().zip(pairs[1..].chunks_exact(PAIRS_PER_ELEMENT)) {
            for i in 0..2 {
                let [high, low, memory] = [from[1][i], from[2][i], from[3][i]];
                e.zeta[i].set(l, high);
                // What a number of another precision has beyond that of the lane.
                let rest = high - e.zeta[i].lane(l);
                e.zeta_low[i].set(l, low + rest);
                e.memory[i].set(l, memory);
            }
        }
    }
}
