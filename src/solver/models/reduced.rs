//! The reduced model: one bristle with three components at the centre of pressure (`docs/model.md`, section
//! 6), of a contact in every lane. Twin: `shaders/models/reduced.wgsl`.
//!
//! `zeta = sigma0 (z_x, z_y, z_tau/r)` is driven by `v_S = (vx, vy, r w)` through a velocity `D`: `v_S`
//! itself on an ellipsoid, or `-h(r, v) |v_S|` from the table of a limit surface.
//!
//! Only here: `new`, `set_map`, `set_state`, `friction`, `scale_tangent`, `slide`, `resist_at_origin`,
//! `state`, `load`, `clear`, `states`, `export`, `import`, `arm2`, `remap`, `sweep_law`, `force`,
//! `force_law`, `with_slopes`.

mod consistent;
mod tables;

use std::sync::Arc;

use crate::contact::{Contact, Model, RemapTransfer, move_centre, radius_of, reshapes};
use crate::limit_surface::Table;
use crate::number::real::Real;
use crate::number::simd::copies;
use crate::patch::Patch;
use crate::plan::SLIP_SPEED;
use crate::planar::{Twist, Wrench};
use crate::solver::bristles::{Bits, Bristles, LEAST_TRUST_RADIUS, MAX_TURN, Rate, Shares};
use crate::solver::friction::{Consts, Motion, Slip, Stage, Trial, motion};
use crate::solver::lanes::set_split;
use crate::solver::laws::{Law, with_law};
use crate::solver::linalg::{Mat3, Vec3, add3};
use crate::solver::state::State;
use crate::solver::transform::at;
use crate::solver::transition::{in_transition, transition_root};
use tables::Tables;

/// The bristles of the contacts in the lanes, with their patches.
pub struct Reduced<R: Real> {
    /// Whether there is no table of a limit surface.
    ellipsoid: bool,
    /// Whether the bristles are of the consistent form.
    consistent: bool,
    /// Friction constants.
    k: Consts<R>,
    /// States `zeta` [-]; bases of the stages during a step.
    zeta: Vec3<R>,
    /// Low parts of `zeta` as compensated sums. Without them, motion by less than the last bit of `zeta` in a
    /// step would be lost, and the contact would creep.
    zeta_low: Vec3<R>,
    /// Consistent form: the last root, near which the next one is searched for.
    root: R,
    /// `|zeta*|` over its limit at the last evaluation [-].
    loading: R,
    /// Saved states.
    saved: [Vec3<R>; 2],
    /// Centres of pressure [m].
    cop: [R; 2],
    /// Torsional radii `r` by the rules of the tables [m].
    radius: R,
    /// Viscous factors `u` [m^2].
    viscous: R,
    /// `u/r^2`; 0 where `r` is 0.
    elastic: R,
    tables: Tables<R>,
    contacts: Box<[Map]>,
}

/// The map of a lane, in double precision.
#[derive(Clone, Debug, Default)]
struct Map {
    table: Option<Arc<Table>>,
    radius: f64,
    viscous: f64,
    /// The residual of `zeta_3` beyond the limit of the map, see [`RemapTransfer`].
    residual: f64,
}

/// Where numbers carry derivatives, a translation slower than this times `|v_S|` is rounding of a pure
/// rotation, and its direction says nothing.
const LEAST_TRANSLATION: f64 = 1e-12;

/// What follows from a twist and does not depend on the stage.
#[derive(Clone, Copy, Debug)]
struct Drive<R> {
    /// `|v_S|` and the exponential of the Stribeck curve there.
    m: Motion<R>,
    /// Direction of `v_S`; 0 at rest.
    e: Vec3<R>,
    /// `v_E = (vx, vy, (u/r) w)` [m/s].
    v_e: Vec3<R>,
    /// `D` [m/s], `docs/model.md` (66).
    d: Vec3<R>,
    /// Its direction; 0 at rest.
    d_hat: Vec3<R>,
    /// `|D|` [m/s] and its inverse.
    speed: R,
    inv_speed: R,
    /// `dD/dv_S` [-], `docs/model.md` (76).
    j: Mat3<R>,
    /// `|h|` [-].
    h: R,
    /// `d|h|/dv_S` [s/m].
    h_slope: Vec3<R>,
}

impl<R: Real> Drive<R> {
    /// For numbers with derivatives: `D` and `|h|` at `v_S` with those by their slopes `j` and `h_slope`, the
    /// ones of Newton's method. The look-up folds angles by `max` and comparisons of values. On its lines
    /// these would give the slope of neither cell, as of `max(x, -x)` at 0 that of `-x`.
    #[inline(always)]
    fn with_slopes(self, v_s: Vec3<R>) -> Self {
        let (j, h_slope) = (self.j.without_tangents(), self.h_slope.without_tangents());
        let (d_hat, inv_speed) = (self.d_hat.without_tangents(), self.inv_speed.without_tangents());
        let change = v_s - v_s.without_tangents();
        let by = j.apply(change);
        let faster = d_hat.dot(by);
        Self {
            d: self.d.without_tangents() + by,
            d_hat: d_hat + by.plus(-faster, d_hat) * inv_speed,
            speed: self.speed.without_tangents() + faster,
            inv_speed: inv_speed - inv_speed * (inv_speed * faster),
            h: self.h.without_tangents() + h_slope.dot(change),
            j,
            h_slope,
            ..self
        }
    }
}

/// The bristle at the end of a stage.
#[derive(Clone, Copy, Debug)]
struct Bristle<R> {
    /// `zeta*` [-].
    zeta: Vec3<R>,
    /// `zeta* - zeta_b`, computed without the cancellation of that difference.
    step: Vec3<R>,
    /// `|zeta*|` over its limit [-].
    x: R,
    /// Published form: the direction of the trial, or the trial itself under a law that is not
    /// [`Law::DIRECTED`]; the trial; its slip.
    n: Vec3<R>,
    t: Trial<R>,
    z: Slip<R>,
    /// Consistent form: the root, the plastic share and its slope.
    root: R,
    b: R,
    b_slope: R,
}

impl<R: Real> Reduced<R> {
    /// Empty lanes for contacts that have the law, the form and the kind of surface of `like`.
    pub fn new(like: &Contact) -> Self {
        let (zero, one, none) = (R::splat(0.0), R::splat(1.0), Vec3::zero());
        let (ellipsoid, form) = match &like.model {
            Model::LimitSurface(_, form) => (false, *form),
            Model::Ellipsoid(form) => (true, *form),
            Model::Distributed | Model::Layer(_) | Model::Point(_) => {
                unreachable!("grids and points have models of their own")
            }
        };
        Self {
            ellipsoid,
            consistent: form.is_elastic(like.friction.law),
            k: Consts::new(&like.friction),
            zeta: none,
            zeta_low: none,
            root: zero,
            loading: zero,
            saved: [none; 2],
            cop: [zero; 2],
            radius: one,
            viscous: one,
            elastic: one,
            tables: Tables::new(),
            contacts: vec![Map::default(); R::LANES].into(),
        }
    }

    /// Puts a map into a lane.
    fn set_map(&mut self, lane: usize, patch: &Patch, table: Option<Arc<Table>>, residual: f64) {
        let (radius, viscous) = (radius_of(patch, table.as_deref()), patch.viscous());
        for (cop, of_patch) in self.cop.iter_mut().zip(patch.cop()) {
            cop.set(lane, of_patch);
        }
        self.radius.set(lane, radius);
        self.viscous.set(lane, viscous);
        self.elastic.set(lane, if radius > 0.0 { viscous / (radius * radius) } else { 0.0 });
        self.contacts[lane] = Map { table, radius, viscous, residual };
    }

    fn set_state(&mut self, lane: usize, zeta: [f64; 3]) {
        self.zeta.set(lane, zeta);
        let rounded = self.zeta.lane(lane);
        self.zeta_low.set(lane, [0, 1, 2].map(|i| zeta[i] - rounded[i]));
    }

    /// The constants of friction.
    pub fn friction(&mut self) -> &mut Consts<R> {
        &mut self.k
    }

    /// For numbers with derivatives: derivative `k` is that over a factor of all lengths of the patch.
    /// `u/r^2` does not depend on it.
    pub fn scale_tangent(&mut self, k: usize) {
        let Self { cop: [x, y], radius, viscous, .. } = self;
        for (length, power) in [(x, 1.0), (y, 1.0), (radius, 1.0), (viscous, 2.0)] {
            length.add_tangent(k, power * length.lane(0));
        }
    }

    /// Sets the bristles to those after long sliding with twists `u` at the patch origins under `mu_c` and
    /// `mu_s - mu_c`, `docs/model.md` (72).
    pub fn slide(&mut self, u: Vec3<R>, [mu_c, mu_d]: [R; 2]) {
        let m = self.drive(at(u, self.cop));
        self.zeta = m.d * (mu_d.fma(m.m.bell, mu_c) * m.m.inv_s);
        self.zeta_low = Vec3::zero();
    }

    /// The opposite of the friction wrench per unit normal force at the patch origins with twists `u` there.
    pub fn resist_at_origin(&self, u: Vec3<R>, rate: &Rate<R>) -> Vec3<R> {
        let v = at(u, self.cop);
        let (f, ..) = with_law!(self.k.law, L => self.force_law::<L>(v, rate));
        let [x, y] = self.cop;
        Vec3::new(f.x, f.y, x.fma(f.y, f.z - y * f.x))
    }

    fn state(&self, lane: usize) -> [f64; 3] {
        let (high, low) = (self.zeta.lane(lane), self.zeta_low.lane(lane));
        [0, 1, 2].map(|i| high[i] + low[i])
    }
}

impl<R: Real> Bristles<R> for Reduced<R> {
    type Scratch = ();

    const RESPONDS_IN_LANES: bool = true;

    fn load(&mut self, lane: usize, contact: &Contact, _: &[usize]) {
        let table = match &contact.model {
            Model::LimitSurface(table, _) => Some(Arc::clone(table)),
            _ => None,
        };
        if let Some(table) = &table {
            self.tables.load(lane, table);
        }
        self.k.set(lane, &Consts::new(&contact.friction));
        self.root.set(lane, 0.0);
        self.set_map(lane, &contact.first_patch().isotropic(), table, 0.0);
        let first = contact.first_bristles(&[]).unwrap_or_default();
        let zeta = |i: usize| first.get(i).copied().unwrap_or_default();
        self.set_state(lane, [zeta(0)[0], zeta(0)[1], zeta(1)[0]]);
    }

    fn clear(&mut self, lane: usize) {
        self.zeta.set(lane, [0.0; 3]);
    }

    fn states(&self, lane: usize) -> Vec<[f64; 2]> {
        let [x, y, z] = self.state(lane);
        vec![[x, y], [z, 0.0]]
    }

    fn export(&self, lane: usize, state: &mut State) {
        let ([x, y, z], [low_x, low_y, low_z]) = (self.zeta.lane(lane), self.zeta_low.lane(lane));
        let more = [self.contacts[lane].residual, self.root.lane(lane)];
        state.bristles.extend([[x, y], [z, low_x], [low_y, low_z], more]);
    }

    fn import(&mut self, lane: usize, state: &State) {
        let pairs = &state.bristles;
        let (high, low) = ([pairs[0][0], pairs[0][1], pairs[1][0]], [pairs[1][1], pairs[2][0], pairs[2][1]]);
        set_split(&mut self.zeta, &mut self.zeta_low, lane, high, low);
        self.contacts[lane].residual = pairs[3][0];
        self.root.set(lane, pairs[3][1]);
    }

    /// The shares are 0 or 1: there is one bristle.
    fn wrench(&mut self, lane: usize, u: Twist, rate: &Rate<f64>, f_n: f64) -> (Wrench, Shares) {
        let cop = self.cop.map(|c| c.lane(lane));
        let (f, [x, speed]) = force(self, lane, u.at(cop), rate);
        let w = Wrench::new(-f_n * f[0], -f_n * f[1], -f_n * f[2]);
        let [slip, near_limit] = [speed > SLIP_SPEED, x > self.k.s_ba.lane(lane)].map(|is| f64::from(u8::from(is)));
        (w.about(cop.map(|c| -c)), Shares { slip, near_limit })
    }

    fn arm2(&self, patch: &Patch) -> f64 {
        patch.isotropic().viscous()
    }

    /// A map that changes its size alone changes `r` and `u`; a limit surface is made anew only when the
    /// shape of the map changes, as a table has no scale. The bristle moves with the centre of pressure.
    fn remap(&mut self, lane: usize, patch: &Patch, [mu_c, _]: [f64; 2]) {
        let Map { mut table, radius, viscous, residual } = self.contacts[lane].clone();
        let cop = self.cop.map(|c| c.lane(lane));
        let isotropic = &*patch.isotropic();
        if let Some(table) = table.as_mut().filter(|table| reshapes(patch) && table.patch() != isotropic) {
            *table = self.tables.remap(lane, isotropic, table);
        }
        self.set_map(lane, isotropic, table, 0.0);
        let map = &mut self.contacts[lane];
        let transfer = RemapTransfer::new(self.consistent, [radius, viscous], [map.radius, map.viscous]);
        let zeta = move_centre(self.state(lane), [radius, viscous], cop, self.cop.map(|c| c.lane(lane)));
        let [turned, residual] = transfer.apply(zeta, residual, mu_c, self.k.s_ba.lane(lane));
        self.contacts[lane].residual = residual;
        self.set_state(lane, [zeta[0], zeta[1], turned]);
    }

    fn commits_before_remap(&self) -> bool {
        true
    }

    #[inline(always)]
    fn reference_point(&self) -> [R; 2] {
        self.cop
    }

    #[inline(always)]
    fn sweep(&mut self, v: Vec3<R>, commit: (&Stage<R>, Bits), next: (&Stage<R>, Bits)) -> (Vec3<R>, Mat3<R>) {
        with_law!(self.k.law, L => self.sweep_law::<L>(v, commit, next))
    }

    /// On a limit surface `D` depends on the direction of `v_S` however slow the motion is. A Newton step
    /// that is small against the tolerance may turn a slow twist across many cells of the table, where the
    /// derivative differs.
    #[inline(always)]
    fn trust_radius(&self, v: Vec3<R>) -> R {
        if self.ellipsoid || !self.k.law.is_elastic() {
            return R::splat(f64::from(f32::MAX));
        }
        let (s, _) = Vec3::new(v.x, v.y, self.radius * v.z).norm();
        (R::splat(MAX_TURN) * s).max(R::splat(LEAST_TRUST_RADIUS))
    }

    #[inline(always)]
    fn loading(&self) -> R {
        self.loading
    }

    #[inline(always)]
    fn save(&mut self, lanes: R::Mask) {
        let [zeta, low] = self.saved;
        self.saved = [Vec3::select(lanes, self.zeta, zeta), Vec3::select(lanes, self.zeta_low, low)];
    }

    #[inline(always)]
    fn restore(&mut self, lanes: R::Mask) {
        let [zeta, low] = self.saved;
        self.zeta = Vec3::select(lanes, zeta, self.zeta);
        self.zeta_low = Vec3::select(lanes, low, self.zeta_low);
    }

    /// About the centres of pressure.
    #[inline(always)]
    fn force_change(&self) -> Vec3<R> {
        let (one, [zeta, low]) = (R::splat(1.0), self.saved);
        ((self.zeta - zeta) + (self.zeta_low - low)).times(Vec3::new(one, one, self.radius))
    }
}

copies! {
    /// For one lane: the opposite of the friction wrench per unit normal force at twist `v`, both at the
    /// centre of pressure, in the present state, the size of its bristle over the limit, and how fast it
    /// slips [m/s].
    fn force<R>(of: &Reduced<R>, lane: usize, v: Twist, rate: &Rate<f64>) -> ([f64; 3], [f64; 2]) {
        let v = Vec3::new(R::splat(v.vx), R::splat(v.vy), R::splat(v.w));
        let rate = Rate { sigma1: R::splat(rate.sigma1), mu_c: R::splat(rate.mu_c), mu_d: R::splat(rate.mu_d) };
        let (f, x, slip) = with_law!(of.k.law, L => of.force_law::<L>(v, &rate));
        (f.lane(lane), [x.lane(lane), slip.lane(lane)])
    }
}

impl<R: Real> Reduced<R> {
    /// Moves the states of some lanes, with what their rounding leaves.
    #[inline(always)]
    fn move_base(&mut self, lanes: R::Mask, step: Vec3<R>) {
        let (high, low) = add3(self.zeta, self.zeta_low, step);
        self.zeta = Vec3::select(lanes, high, self.zeta);
        self.zeta_low = Vec3::select(lanes, low, self.zeta_low);
    }

    #[inline(always)]
    fn sweep_law<L: Law>(
        &mut self,
        v: Vec3<R>,
        (committed, committing): (&Stage<R>, Bits),
        (next, evaluating): (&Stage<R>, Bits),
    ) -> (Vec3<R>, Mat3<R>) {
        let one = R::splat(1.0);
        let drive = self.drive(v);
        let committing = R::from_bitmask(committing);
        if L::CUTS && R::any(R::splat(0.0).lt(committed.cuts)) {
            let z = self.bristle::<L>(&committed.without_length(), &drive, committing);
            self.move_base(committing, z.step * committed.cuts);
        }
        let z = self.bristle::<L>(committed, &drive, committing);
        self.move_base(committing, z.step * committed.extrapolation);
        self.root = R::select(committing, z.root, self.root);
        let evaluating = R::from_bitmask(evaluating);
        let z = self.bristle::<L>(next, &drive, evaluating);
        self.root = R::select(evaluating, z.root, self.root);
        self.loading = z.x;
        let scale = Vec3::new(one, one, self.radius);
        let viscous = Vec3::new(self.k.sigma2, self.k.sigma2, self.k.sigma2 * self.viscous);
        let resist = z.zeta.plus(next.damping, z.step).times(scale) + viscous.times(v);
        let gain = self.sensitivity::<L>(next, &drive, &z).between(scale, scale) * (one + next.damping);
        (resist, gain.plus_diagonal(viscous))
    }

    /// The opposite of the friction wrench per unit normal force at twists `v`, both at the centres of
    /// pressure, in the present state, `docs/model.md` (69) to (71), the size of the bristles over their
    /// limits, and how fast they slip, (14a).
    #[inline(always)]
    fn force_law<L: Law>(&self, v: Vec3<R>, rate: &Rate<R>) -> (Vec3<R>, R, R) {
        let (one, half, k) = (R::splat(1.0), R::splat(0.5), &self.k);
        let m = self.drive(v);
        let limit = m.h * rate.mu_d.fma(m.m.bell, rate.mu_c);
        let (size, inv_size) = self.zeta.norm();
        let (z_hat, x) = (self.zeta * inv_size, size / limit);
        let along = m.d.dot(z_hat);
        let decay = L::decay(k, limit, m.speed, along, size);
        // zeta'/sigma0
        let change = if L::ELASTIC && self.consistent {
            let (b, _) = crate::solver::transition::plastic_share(k, x);
            let b = half * b * (one + m.d_hat.dot(z_hat));
            (m.v_e * (one - b)).plus(b, m.d).plus(-(b * m.speed / limit), self.zeta)
        } else {
            m.d.plus(-decay, self.zeta)
        };
        let scale = Vec3::new(one, one, self.radius);
        let viscous = Vec3::new(k.sigma2, k.sigma2, k.sigma2 * self.viscous);
        // Both forms slip by the same share of |D|, and so of |v_S|.
        (self.zeta.plus(rate.sigma1, change).times(scale) + viscous.times(v), x, decay * size / m.h)
    }

    /// How twists `v` at the centres of pressure drive the bristles.
    #[inline(always)]
    fn drive(&self, v: Vec3<R>) -> Drive<R> {
        let (zero, one) = (R::splat(0.0), R::splat(1.0));
        let v_s = Vec3::new(v.x, v.y, self.radius * v.z);
        let (s, inv_s) = v_s.norm();
        let m = motion(&self.k, s, zero);
        let e = v_s * inv_s;
        let v_e = Vec3::new(v.x, v.y, self.elastic * v_s.z);
        let j = Mat3::diagonal(Vec3::new(one, one, one));
        let h_slope = Vec3::zero();
        let still = Drive { m, e, v_e, d: v_s, d_hat: e, speed: s, inv_speed: inv_s, j, h: one, h_slope };
        if self.ellipsoid {
            return still;
        }
        let vt2 = v.x.fma(v.x, v.y * v.y);
        let tiny = R::splat(R::TINY);
        let inv_vt = (vt2 + tiny).rsqrt();
        let lookup = self.tables.look_up(v_s, vt2 * inv_vt);
        let (h, inv_h) = lookup.h.norm();
        let moves = tiny.lt(v_s.dot(v_s));
        let d_hat = -(lookup.h * inv_h);
        // s dphi/dv_S and s dtheta/dv_S, docs/model.md (104). Quotients are taken first, so that no square of
        // a small speed underflows.
        let (ex, ey) = (v.x * inv_vt, v.y * inv_vt);
        let (away, up) = (lookup.z * inv_s, vt2 * inv_vt * inv_s);
        let dphi = Vec3::new(away * ex, away * ey, -(lookup.sign * up));
        let far = s * inv_vt;
        let dtheta = Vec3::new(-(far * ey), far * ex, zero);
        let stretch = Mat3::diagonal(Vec3::zero()).plus_outer(-lookup.h, e);
        let mut change = stretch.plus_outer(-lookup.h_phi, dphi).plus_outer(-lookup.h_theta, dtheta);
        let mut turns = tiny.lt(vt2);
        if R::HAS_TANGENTS {
            let translates = (R::splat(LEAST_TRANSLATION) * s).lt(vt2 * inv_vt);
            let [by_x, by_y] = self.tables.about_rotation();
            let spins =
                stretch.plus_outer(-by_x, Vec3::new(one, zero, zero)).plus_outer(-by_y, Vec3::new(zero, one, zero));
            change = Mat3::select(R::and(turns, translates), change, spins);
            turns = moves;
        }
        let slope = (change.apply_transposed(d_hat) - e * h) * inv_s;
        let drive = Drive {
            d: Vec3::select(moves, -(lookup.h * s), v_s),
            d_hat: Vec3::select(moves, d_hat, e),
            speed: R::select(moves, s * h, s),
            inv_speed: R::select(moves, inv_s * inv_h, inv_s),
            j: Mat3::select(turns, change, j),
            h: R::select(moves, h, one),
            h_slope: Vec3::select(turns, slope, h_slope),
            ..still
        };
        if R::HAS_TANGENTS { drive.with_slopes(v_s) } else { drive }
    }

    /// The bristles at the end of stage `st`; only lanes in `live` need a result.
    #[inline(always)]
    fn bristle<L: Law>(&self, st: &Stage<R>, m: &Drive<R>, live: R::Mask) -> Bristle<R> {
        if L::ELASTIC && self.consistent {
            return self.consistent_bristle(st, m, live);
        }
        let (k, zero) = (&self.k, R::splat(0.0));
        let g = m.h * st.mu_d.fma(m.m.bell, st.mu_c);
        let push = m.d * st.a_sigma0;
        let y = self.zeta + push;
        let (len, inv_len) = y.norm();
        let n = if L::DIRECTED { y * inv_len } else { y };
        let t = Trial { len, inv_len, g, travel: L::travel(st.a_sigma0, m.speed, m.d.dot(n)) };
        let mut z = L::slip(k, &t);
        if L::ELASTIC {
            let within = R::and(in_transition(k, &t), live);
            if R::any(within) {
                let inv_g = g.recip();
                z = Slip::select(within, &transition_root(k, len * inv_g, t.travel * inv_g).slip(), &z);
            }
        }
        let step = push.plus(-L::relaxation(&t, &z), self.zeta) * z.d;
        Bristle { zeta: y * z.d, step, x: z.d * len * g.recip(), n, t, z, root: zero, b: zero, b_slope: zero }
    }

    /// `d zeta*/dv_S` [s/m], `docs/model.md` (77), (78), (86).
    #[inline(always)]
    fn sensitivity<L: Law>(&self, st: &Stage<R>, m: &Drive<R>, z: &Bristle<R>) -> Mat3<R> {
        let g = st.mu_d.fma(m.m.bell, st.mu_c);
        let g_slope = st.chi * st.mu_d * m.m.bell_slope;
        if L::ELASTIC && self.consistent {
            return self.consistent_sensitivity(st, m, z, g, g_slope);
        }
        let limit_slope = (m.h_slope * g).plus(m.h * g_slope, m.e);
        let by = L::sensitivity(st.a_sigma0, &z.t, &z.z, m.speed, m.d.dot(z.n));
        let mut toward = m.d_hat * by.speed;
        if let Some(normal) = by.normal {
            toward = toward.plus(normal, z.n);
        }
        let row = m.j.apply_transposed(toward).plus(by.limit, limit_slope);
        (m.j * by.carried).plus_outer(z.n, row)
    }
}

#[cfg(test)]
mod tests;
