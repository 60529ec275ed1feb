//! A grid whose bristles carry derivatives: the values as the engine computes them, with cells in the lanes
//! of a vector, and beside each base its derivatives, which follow by the chain rule
//! ([`cells`](super::cells)).

use super::Differentiable;
use super::cells::{BaseTangents, Constants, Shared, commit, evaluate};
use crate::contact::Contact;
use crate::number::dual::{Dual, TANGENTS};
use crate::number::real::Real;
use crate::patch::Patch;
use crate::planar::{Twist, Wrench};
use crate::solver::bristles::{Bits, Bristles, Rate, Shares};
use crate::solver::cell::decay;
use crate::solver::friction::{Consts, Stage, motion};
use crate::solver::laws::with_law;
use crate::solver::linalg::{Mat3, Vec3};
use crate::solver::models::cells::Workspace;
use crate::solver::models::distributed::sweep;
use crate::solver::models::grid::Grid;
use crate::solver::state::State;

/// A cell slower than this share of the fastest counts as at rest: the direction of its velocity is rounding.
const AT_REST: f64 = 1e-12;

/// The grid of a contact with the derivatives of its bristles.
pub struct TangentGrid<C: Real> {
    grid: Grid<C>,
    k: Consts<Dual>,
    /// For every group of cells.
    tangents: Vec<BaseTangents<C>>,
    saved: Vec<BaseTangents<C>>,
    /// The derivatives of the lengths of the patch over themselves.
    scale: [f64; TANGENTS],
    /// Number of parameters.
    count: usize,
    /// Whether the next evaluation is to be differentiated.
    differentiates: bool,
}

impl<C: Real> TangentGrid<C> {
    /// A grid without cells, under the friction of `contact`, for derivatives over `count` parameters.
    pub fn new(contact: &Contact, count: usize) -> Self {
        Self {
            grid: Grid::empty(),
            k: Consts::new(&contact.friction),
            tangents: Vec::new(),
            saved: Vec::new(),
            scale: [0.0; TANGENTS],
            count,
            differentiates: false,
        }
    }

    /// The derivatives of what the cells share in stage `st` at patch twist `u`.
    fn shared(&self, u: Vec3<Dual>, st: &Stage<Dual>) -> Shared {
        let of = &self.k;
        let mut w = u.z.d;
        for (w, scale) in w.iter_mut().zip(self.scale) {
            // Cells that move outward gain velocity as under a faster rotation.
            *w += u.z.v * scale;
        }
        Shared {
            count: self.count,
            u: [u.x.d, u.y.d, w],
            scale: self.scale,
            constants: Constants::new([st.a_sigma0.d, st.mu_c.d, st.mu_d.d, of.inv_v_s.d, of.gamma.d, of.s_ba.d]),
            damping: st.damping.d,
            sigma2: of.sigma2.d,
        }
    }

    /// Every cell: its place, share of the normal force, factor of friction and base, with derivatives.
    fn cells(&self) -> impl Iterator<Item = ([Dual; 2], f64, Dual, [Dual; 2])> {
        let cells = &self.grid.cells;
        let factors = cells.factors().flat_map(|group| (0..C::LANES).map(move |lane| group.lane(lane)));
        (0..cells.len()).zip(factors).map(|(i, factor)| {
            let (group, lane) = (i / C::LANES, i % C::LANES);
            let place = [&cells.x, &cells.y].map(|x| {
                let v = x[group].lane(lane);
                Dual { v, d: self.scale.map(|scale| scale * v) }
            });
            let base = [(&cells.zx, 0), (&cells.zy, 1)].map(|(z, c)| {
                let mut base = Dual::constant(z[group].lane(lane));
                for (d, tangent) in base.d.iter_mut().zip(&self.tangents[group]) {
                    *d = tangent[c].lane(lane);
                }
                base
            });
            (place, cells.w[group].lane(lane), Dual::constant(factor), base)
        })
    }
}

/// The values of a stage.
fn values(st: &Stage<Dual>) -> Stage<f64> {
    Stage {
        a_sigma0: st.a_sigma0.v,
        damping: st.damping.v,
        mu_c: st.mu_c.v,
        mu_d: st.mu_d.v,
        chi: st.chi.v,
        extrapolation: st.extrapolation.v,
        cuts: st.cuts.v,
    }
}

impl<C: Real> Differentiable for TangentGrid<C> {
    fn consts(&mut self) -> &mut Consts<Dual> {
        &mut self.k
    }

    fn seed_scale(&mut self, k: usize) {
        self.scale[k] = 1.0;
    }

    fn start_sliding(&mut self, u: Vec3<Dual>, [mu_c, mu_d]: [Dual; 2]) {
        let v = |[x, y]: [Dual; 2]| [u.x - u.z * y, u.y + u.z * x];
        let speed = |v: [Dual; 2]| v[0].v.hypot(v[1].v);
        let fastest = self.cells().map(|(place, ..)| speed(v(place))).fold(0.0, f64::max);
        let zeta: Vec<[Dual; 2]> = self
            .cells()
            .map(|(place, _, factor, _)| {
                let [vx, vy] = v(place);
                let m = motion(&self.k, vx, vy);
                let share = factor * mu_d.fma(m.bell, mu_c) * m.inv_s;
                if speed([vx, vy]) > AT_REST * fastest { [share * vx, share * vy] } else { [Dual::constant(0.0); 2] }
            })
            .collect();
        for (i, zeta) in zeta.into_iter().enumerate() {
            let (group, lane) = (i / C::LANES, i % C::LANES);
            for (j, tangent) in self.tangents[group].iter_mut().enumerate() {
                for (tangent, zeta) in tangent.iter_mut().zip(zeta) {
                    tangent.set(lane, zeta.d[j]);
                }
            }
        }
    }

    fn resist(&mut self, u: Vec3<Dual>, rate: &Rate<Dual>) -> Vec3<Dual> {
        let k = &self.k;
        let mut sum = Vec3::zero();
        for ([x, y], w, factor, [zx, zy]) in self.cells() {
            let m = motion(k, u.x - u.z * y, u.y + u.z * x);
            let g = factor * rate.mu_d.fma(m.bell, rate.mu_c);
            let decay = with_law!(k.law, L => decay::<Dual, L>(k, g, &m, zx, zy));
            let of = |v: Dual, z: Dual| Dual::constant(w) * (z + rate.sigma1 * (v - decay * z) + k.sigma2 * v);
            let (fx, fy) = (of(m.vx, zx), of(m.vy, zy));
            sum = sum + Vec3::new(fx, fy, x * fy - y * fx);
        }
        sum
    }
}

impl<C: Real> Bristles<Dual> for TangentGrid<C> {
    type Scratch = Workspace<C>;

    fn load(&mut self, _: usize, contact: &Contact, active: &[usize]) {
        self.grid = Grid::new(contact, active);
        self.tangents = vec![[[C::splat(0.0); 2]; TANGENTS]; self.grid.cells.w.len()];
    }

    fn clear(&mut self, _: usize) {}

    fn states(&self, lane: usize) -> Vec<[f64; 2]> {
        self.grid.states(lane)
    }

    fn export(&self, lane: usize, state: &mut State) {
        self.grid.export(lane, state);
    }

    fn import(&mut self, lane: usize, state: &State) {
        self.grid.import(lane, state);
    }

    fn wrench(&mut self, lane: usize, u: Twist, rate: &Rate<f64>, f_n: f64) -> (Wrench, Shares) {
        self.grid.wrench(lane, u, rate, f_n)
    }

    fn arm2(&self, patch: &Patch) -> f64 {
        patch.isotropic().arm2()
    }

    fn remap(&mut self, lane: usize, patch: &Patch, mu: [f64; 2]) {
        self.grid.remap(lane, patch, mu);
    }

    fn commits_before_remap(&self) -> bool {
        false
    }

    fn reference_point(&self) -> [Dual; 2] {
        [Dual::constant(0.0); 2]
    }

    fn sweep(
        &mut self,
        u: Vec3<Dual>,
        commits: (&Stage<Dual>, Bits),
        evaluates: (&Stage<Dual>, Bits),
    ) -> (Vec3<Dual>, Mat3<Dual>) {
        (self.grid.k.gaussian, self.grid.k.least_x) = (self.k.gaussian, C::splat(self.k.least_x.v));
        let [to_commit, next] = [commits, evaluates].map(|(stage, lanes)| (lanes != 0).then_some(stage));
        let twist = [u.x.v, u.y.v, u.z.v];
        if let Some(st) = to_commit.filter(|_| self.count > 0) {
            let shared = self.shared(u, st);
            commit(&self.grid.cells, &self.grid.k, twist, &values(st), &shared, &mut self.tangents);
        }
        let (committed, evaluated) = (to_commit.map(values), next.map(values));
        let cells = &mut self.grid.cells;
        let (resist, gain) = sweep(cells, &self.grid.k, Vec3::from(twist), committed.as_ref(), evaluated.as_ref());
        let row = |v: Vec3<f64>| Vec3::from([v.x, v.y, v.z].map(Dual::constant));
        let (mut resist, gain) = (row(resist), Mat3::new(row(gain.x), row(gain.y), row(gain.z)));
        if let (Some(st), true) = (next, self.differentiates && self.count > 0) {
            let shared = self.shared(u, st);
            let sums = evaluate(&self.grid.cells, &self.grid.k, twist, &values(st), &shared, &self.tangents);
            for (j, [x, y, z]) in sums.into_iter().enumerate() {
                (resist.x.d[j], resist.y.d[j], resist.z.d[j]) = (x, y, z);
            }
        }
        (resist, gain)
    }

    fn differentiate(&mut self, forces: bool) {
        self.differentiates = forces;
    }

    fn trust_radius(&self, _: Vec3<Dual>) -> Dual {
        Dual::constant(f64::from(f32::MAX))
    }

    fn save(&mut self, lanes: bool) {
        self.grid.save(lanes);
        if lanes {
            self.saved.clone_from(&self.tangents);
        }
    }

    fn restore(&mut self, lanes: bool) {
        self.grid.restore(lanes);
        if lanes {
            self.tangents.clone_from(&self.saved);
        }
    }

    fn exchange_scratch(&mut self, other: &mut Workspace<C>) {
        self.grid.exchange_scratch(other);
    }

    fn force_change(&self) -> Vec3<Dual> {
        let change = self.grid.force_change();
        Vec3::from([change.x, change.y, change.z].map(Dual::constant))
    }
}
