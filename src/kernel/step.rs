//! The step: SDIRK2 with one sweep over the cells between solves (model.md, section 3).
//! Twin: `shaders/step.wgsl`.

use std::sync::Arc;

use nalgebra::{Matrix3, Vector3};

use super::distributed::{Cells, Rate, sweep, wrench};
use super::friction::{Consts, Stage};
use super::real::Real;
use super::reduced::Reduced;
use crate::body::{Kind, Transform};
use crate::contact::{Contact, Model};
use crate::engine::{Reason, Status};
use crate::limit_surface::{Rule, Surface, Table};
use crate::patch::{Exponent, Hertz, Patch};
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::{Interval, slot};

/// `kappa = 1 - 1/sqrt 2` makes the two-stage scheme L-stable and of second order.
pub const KAPPA: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
/// `r = 1 + sqrt 2`: stage 2 starts from `zeta_n + r (zeta_1 - zeta_n)`.
pub const PULL: f64 = 1.0 + std::f64::consts::SQRT_2;
/// A Newton step smaller than this [m/s] ends a stage.
pub const NEWTON_TOLERANCE: f64 = 1e-4;
/// Newton steps of a stage at most.
pub const NEWTON_MOST: u32 = 3;
/// The rule against branch jumps never asks for a shorter step than this [s].
pub const SHORTEST_RULED_STEP: f64 = 1e-5;

/// The contact became non-finite; its status says where and why.
#[derive(Clone, Copy, Debug)]
pub struct Failed;

/// The state of one contact, stepped through its intervals.
#[derive(Clone, Debug)]
pub struct Solver<'a, R> {
    contact: &'a Contact,
    k: Consts<R>,
    /// The bristles.
    pub bristles: Bristles<R>,
    /// Twist at the centre of mass.
    pub u: Twist,
    /// Pose of the centre of mass.
    pub q: Pose,
    /// The patch twist of the last solve: the next stage's guess, and where `pending` is finished.
    patch_twist: Twist,
    /// The stage that is solved but whose bristles have not moved yet.
    pending: Option<Stage<R>>,
    /// `L^2` of the present map [m^2].
    arm2: f64,
    /// Largest slope of the Stribeck bell over `s/v_s` [-].
    k_g: f64,
    /// Longest step [s].
    h_max: f64,
    /// How it fares.
    pub status: Status,
}

/// The bristles of a contact, by its model.
#[derive(Clone, Debug)]
pub enum Bristles<R> {
    /// Distributed: the cells that carry pressure at some time, and their indices into the map.
    Grid(Cells<R>, Vec<usize>),
    /// Reduced.
    One(Box<Reduced>),
}

impl<R: Real> Bristles<R> {
    fn new(contact: &Contact, active: Vec<usize>) -> Self {
        let given = contact.initial.bristles.as_deref().unwrap_or(&[]);
        let zeta = |i: usize| given.get(i).copied().unwrap_or_default();
        let patch = &contact.patch;
        let (table, form) = match &contact.model {
            Model::Distributed => {
                let grid = patch.grid();
                let centres: Vec<[f64; 2]> = active.iter().map(|i| grid.centre(i % grid.nx, i / grid.nx)).collect();
                let weights: Vec<f64> = active.iter().map(|&i| patch.weights()[i]).collect();
                let zetas: Vec<[f64; 2]> = (0..active.len()).map(zeta).collect();
                return Self::Grid(Cells::new(&centres, &weights, &zetas), active);
            }
            Model::Ellipsoid(form) => (None, *form),
            Model::LimitSurface(table, form) => (Some(Arc::clone(table)), *form),
        };
        let rule = rule_of(table.as_deref());
        Self::One(Box::new(Reduced {
            zeta: Vector3::new(zeta(0)[0], zeta(0)[1], zeta(1)[0]),
            cop: patch.cop(),
            radius: Surface::new(patch, rule).radius(),
            viscous: patch.viscous(),
            table,
            form,
        }))
    }

    /// The states `zeta` [-], as [`crate::contact::Initial::bristles`] takes them.
    pub fn states(&self) -> Vec<[f64; 2]> {
        match self {
            Self::Grid(cells, _) => cells.bristles(),
            Self::One(one) => vec![[one.zeta[0], one.zeta[1]], [one.zeta[2], 0.0]],
        }
    }

    /// `L^2` [m^2], which weighs angular against linear velocity.
    fn arm2(&self, patch: &Patch) -> f64 {
        match self {
            Self::Grid(..) => patch.arm2(),
            Self::One(one) => one.viscous,
        }
    }

    /// Follows the map of `patch`; a limit surface is made anew when the map's shape changes.
    fn remap(&mut self, patch: &Patch) {
        match self {
            Self::Grid(cells, active) => {
                cells.set_weights(&active.iter().map(|&i| patch.weights()[i]).collect::<Vec<_>>());
            }
            Self::One(one) => {
                let rule = rule_of(one.table.as_deref());
                let surface = Surface::new(patch, rule);
                one.cop = patch.cop();
                // The deflection z_tau = r zeta_3 / sigma0 is kept, as the grid keeps its bristles.
                one.zeta[2] *= one.radius / surface.radius();
                one.radius = surface.radius();
                one.viscous = patch.viscous();
                if let Some(table) = one.table.as_mut().filter(|_| reshapes(patch)) {
                    *table = Arc::new(Table::of(&surface, table.n_ls()).expect("the resolution was checked before"));
                }
            }
        }
    }
}

/// The rule by which a reduced bristle's radius is computed: the table's, or `points` for an ellipsoid.
pub(crate) fn rule_of(table: Option<&Table>) -> Rule {
    table.map_or(Rule::Points, Table::rule)
}

/// Whether the map of a patch changes its shape with the normal force, and not only its size.
pub(crate) fn reshapes(patch: &Patch) -> bool {
    matches!(patch.rule(), Some(Hertz { exponent: Exponent::PerNewton(_), .. }))
}

/// The inputs at the time of a stage.
type Inputs = [f64; slot::COUNT];

impl<'a, R: Real> Solver<'a, R> {
    /// The contact at its initial state, with steps of at most `h_max` [s]. `active` are the cells
    /// to follow, as [`Contact::active_cells`] gives them.
    pub fn new(contact: &'a Contact, active: Vec<usize>, h_max: f64) -> Self {
        let bristles = Bristles::new(contact, active);
        let arm2 = bristles.arm2(&contact.patch);
        let u = if contact.body.kind == Kind::Prescribed { Twist::default() } else { contact.initial.twist };
        let q = contact.initial.pose;
        Self {
            contact,
            k: Consts::new(&contact.friction),
            bristles,
            u,
            q,
            patch_twist: contact.body.transform(q).twist(u),
            pending: None,
            arm2,
            k_g: contact.friction.steepest_stribeck_slope(),
            h_max,
            status: Status::default(),
        }
    }

    /// Makes the pressure map anew for normal force `f_n` [N]; bristles are kept.
    pub fn remap(&mut self, f_n: f64) {
        // A reduced bristle finishes its stage on the map that it was solved on.
        if self.pending.is_some() && matches!(self.bristles, Bristles::One(_)) {
            self.sweep(None);
        }
        let patch = self.contact.patch.under(f_n);
        self.bristles.remap(&patch);
        self.arm2 = self.bristles.arm2(&patch);
    }

    /// Steps through one interval. `Err` if the contact became non-finite; its status says where.
    pub fn advance(&mut self, interval: &Interval) -> Result<(), Failed> {
        if let Some(f_n) = interval.remap {
            self.remap(f_n);
        }
        let mut left = interval.length;
        let mut at_least = if interval.jump { 2 } else { 1 };
        while left > 0.0 {
            let tau = interval.length - left;
            let n = (left / self.longest_step(&interval.inputs(tau)) - 1e-6).ceil().max(1.0);
            // The steps are differences of what is left, so that they add up to the interval.
            let rest = if n == 1.0 { 0.0 } else { left - left / n };
            let h = left - rest;
            if self.contact.body.kind == Kind::Prescribed {
                self.follow(interval, tau, h);
            } else {
                self.step(interval, tau, h, at_least)?;
            }
            self.status.steps += 1;
            at_least = 1;
            left = rest;
        }
        Ok(())
    }

    /// The longest step [s] on which a stage has one solution on the falling Stribeck branch.
    fn longest_step(&self, v: &Inputs) -> f64 {
        let (body, f) = (&self.contact.body, &self.contact.friction);
        let fall = f64::from(body.pads) * v[slot::F_N] * (v[slot::MU_S] - v[slot::MU_C]) * self.k_g;
        if body.kind == Kind::Prescribed || fall <= 0.0 {
            return self.h_max;
        }
        let [ox, oy] = body.transform(self.q).o;
        let lever = 1.0 / (1.0 / body.mass + (ox * ox + oy * oy) / body.inertia);
        let m_e = body.mass.min(lever).min(body.inertia / self.arm2);
        self.h_max.min((m_e * f.v_s / (KAPPA * fall)).max(SHORTEST_RULED_STEP))
    }

    /// One step of a body.
    fn step(&mut self, interval: &Interval, tau: f64, h: f64, at_least: u32) -> Result<(), Failed> {
        let a = KAPPA * h;
        let ahead = |dt: f64| {
            let (q, u) = (self.q, self.u);
            self.contact.body.transform(Pose::new(q.x + dt * u.vx, q.y + dt * u.vy, q.theta + dt * u.w))
        };
        let (t1, t2) = (ahead(a), ahead(h));
        let du1 = self.stage(&interval.inputs(tau + a), t1, a, Vector3::zeros(), PULL, at_least)?;
        let du2 = self.stage(&interval.inputs(tau + h), t2, a, PULL * du1, 1.0, at_least)?;
        let mean = (1.0 - KAPPA) * du1 + KAPPA * du2;
        self.q.x += h * (self.u.vx + mean[0]);
        self.q.y += h * (self.u.vy + mean[1]);
        self.q.theta += h * (self.u.w + mean[2]);
        self.u = Twist::new(self.u.vx + du2[0], self.u.vy + du2[1], self.u.w + du2[2]);
        Ok(())
    }

    /// Solves one stage for the increment of the twist over `u_n`, from the increment `base`.
    fn stage(
        &mut self,
        v: &Inputs,
        t: Transform,
        a: f64,
        base: Vector3<f64>,
        pull: f64,
        at_least: u32,
    ) -> Result<Vector3<f64>, Failed> {
        let body = self.contact.body;
        let st = self.stage_constants(v, a, pull);
        let mass = Matrix3::from_diagonal(&Vector3::new(body.mass, body.mass, body.inertia));
        let load = Vector3::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
        let grip = f64::from(body.pads) * v[slot::F_N];
        let turn = t.matrix();
        let guess = t.body_twist(self.patch_twist);
        let mut du = Vector3::new(guess.vx - self.u.vx, guess.vy - self.u.vy, guess.w - self.u.w);
        for newton in 1.. {
            let sums = self.sweep(Some(&st));
            let matrix = mass + a * grip * (turn.transpose() * sums.gain * turn);
            let rest = mass * (base - du) + a * (load - grip * (turn.transpose() * sums.resist));
            let d = matrix.lu().solve(&rest).unwrap_or_else(|| Vector3::repeat(f64::NAN));
            du += d;
            self.patch_twist = t.twist(Twist::new(self.u.vx + du[0], self.u.vy + du[1], self.u.w + du[2]));
            if !du.iter().all(|c| c.is_finite()) {
                self.status.failure = Some((self.status.steps, Reason::Twist));
                return Err(Failed);
            }
            let small = d[0].abs().max(d[1].abs()).max(self.arm2.sqrt() * d[2].abs()) <= NEWTON_TOLERANCE;
            if small && newton >= at_least {
                break;
            }
            if newton == NEWTON_MOST {
                self.status.unconverged += u64::from(!small);
                break;
            }
        }
        self.pending = Some(st);
        Ok(du)
    }

    fn stage_constants(&self, v: &Inputs, a: f64, pull: f64) -> Stage<R> {
        let (body, f) = (&self.contact.body, &self.contact.friction);
        let mu_d = v[slot::MU_S] - v[slot::MU_C];
        let fall = 2.0 * a * f64::from(body.pads) * v[slot::F_N] * mu_d * self.k_g / f.v_s;
        Stage {
            a_sigma0: R::of(a * f.sigma0),
            damping: R::of(f.sigma1 / (f.sigma0 * a)),
            mu_c: R::of(v[slot::MU_C]),
            mu_d: R::of(mu_d),
            chi: R::of(if fall > body.mass { body.mass / fall } else { 1.0 }),
            pull: R::of(pull),
        }
    }

    /// One step of a prescribed twist: nothing to solve.
    fn follow(&mut self, interval: &Interval, tau: f64, h: f64) {
        let a = KAPPA * h;
        for (at, pull, share) in [(a, PULL, 1.0 - KAPPA), (h, 1.0, KAPPA)] {
            let v = interval.inputs(tau + at);
            self.patch_twist = Twist::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
            self.q.x += h * share * self.patch_twist.vx;
            self.q.y += h * share * self.patch_twist.vy;
            self.q.theta += h * share * self.patch_twist.w;
            self.pending = Some(self.stage_constants(&v, a, pull));
            self.sweep(None);
        }
    }

    /// A sweep at the present patch twist: finishes what is pending, answers for `next`.
    fn sweep(&mut self, next: Option<&Stage<R>>) -> super::distributed::Sums {
        self.status.passes += 1;
        let pending = self.pending.take();
        let u = self.patch_twist;
        match &mut self.bristles {
            Bristles::Grid(cells, _) => sweep(cells, &self.k, u, pending.as_ref(), next),
            Bristles::One(one) => {
                let plain = |st: &Stage<R>| st.plain();
                one.sweep(&self.k.plain(), u, pending.as_ref().map(plain).as_ref(), next.map(plain).as_ref())
            }
        }
    }

    /// The present state at inputs `v`: twist, friction wrench at the patch origin, slipping share.
    /// `Err` if it is not finite.
    pub fn sample(&mut self, v: &Inputs) -> Result<(Twist, Wrench, f64), Failed> {
        if self.pending.is_some() {
            self.sweep(None);
        }
        let prescribed = self.contact.body.kind == Kind::Prescribed;
        let (twist, patch_twist) = if prescribed {
            let given = Twist::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
            (given, given)
        } else {
            (self.u, self.contact.body.transform(self.q).twist(self.u))
        };
        let (sigma1, mu_c, mu_d) = (self.contact.friction.sigma1, v[slot::MU_C], v[slot::MU_S] - v[slot::MU_C]);
        let (wrench, slip) = match &self.bristles {
            Bristles::Grid(cells, _) => {
                let rate = Rate { sigma1: R::of(sigma1), mu_c: R::of(mu_c), mu_d: R::of(mu_d) };
                wrench(cells, &self.k, patch_twist, &rate, v[slot::F_N])
            }
            Bristles::One(one) => one.wrench(&self.k.plain(), patch_twist, &Rate { sigma1, mu_c, mu_d }, v[slot::F_N]),
        };
        if wrench.to_array().iter().all(|c| c.is_finite()) {
            Ok((twist, wrench, slip))
        } else {
            self.status.failure = Some((self.status.steps, Reason::Wrench));
            Err(Failed)
        }
    }
}
