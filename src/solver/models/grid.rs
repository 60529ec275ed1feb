//! One contact with a grid of bristles: the step has one lane, and the cells fill the lanes of another number
//! type. While all bristles are elastic the grid moves as one rigid body.

use std::sync::Arc;

use super::cells::{Cells, Workspace};
use super::distributed::{force_change, rigid_stick, sweep, wrench};
use super::parts::PartCells;
use crate::contact::Contact;
use crate::friction::Friction;
use crate::number::real::Real;
use crate::patch::Patch;
use crate::planar::{Twist, Wrench};
use crate::solver::bristles::{Bits, Bristles, PartNow, Rate, Shares};
use crate::solver::friction::{Consts, Stage};
use crate::solver::linalg::{Mat3, Vec3};
use crate::solver::rigid_stick::RigidStick;
use crate::solver::state::State;

/// The grid of a contact: its cells that carry pressure at some time.
#[derive(Clone, Debug)]
pub struct Grid<C: Real> {
    /// The cells.
    pub cells: Cells<C>,
    /// Friction constants.
    pub k: Consts<C>,
    /// Indices of the cells in the map.
    active: Vec<usize>,
    /// What the cells were made of, if they follow from the patch alone; none after the map has changed.
    made_of: Option<Arc<Patch>>,
    /// Whether it is an elastic layer, whose pressure is in the factors of friction.
    is_layer: bool,
    /// The grid as one rigid body while all bristles are elastic; always none with one lane, the readable
    /// reference.
    rigid: Option<RigidStick>,
    saved_rigid: Option<RigidStick>,
    /// Passes until it is next checked whether all bristles are elastic, and passes from then until the check
    /// after that.
    next_checks: [u32; 2],
}

/// Passes between two checks whether all bristles are elastic: first after they were, and at most. The number
/// doubles with every check.
const CHECK_INTERVALS: [u32; 2] = [8, 64];

impl<C: Real> Grid<C> {
    /// A grid without cells.
    pub fn empty() -> Self {
        Self {
            cells: Cells::new(&[], &[], &[], &[]),
            k: Consts::new(&Friction::default()),
            active: Vec::new(),
            made_of: None,
            is_layer: false,
            rigid: None,
            saved_rigid: None,
            next_checks: [CHECK_INTERVALS[0]; 2],
        }
    }

    /// The cells of `contact` at indices `active` of its map, those that carry pressure at some time.
    pub fn new(contact: &Contact, active: &[usize]) -> Self {
        let patch = contact.patch.isotropic();
        let centres = patch.places(active);
        let (drives_parts, is_layer) = (contact.drives_parts(), contact.layer().is_some());
        let weight = |&i: &usize| match (is_layer, drives_parts) {
            (true, _) => patch.layer_share(i, active.len()),
            (_, true) => patch.weight_in_part(i),
            _ => patch.weights()[i],
        };
        let weights: Vec<f64> = active.iter().map(weight).collect();
        let factors: Vec<f64> = match patch.friction_map() {
            Some(factors) => active.iter().map(|&i| factors[i]).collect(),
            None if is_layer => active.iter().map(|&i| patch.layer_factor(i, active.len())).collect(),
            None => Vec::new(),
        };
        let zetas = contact.first_bristles(active).unwrap_or_else(|| vec![[0.0; 2]; active.len()].into());
        let mut cells = Cells::new(&centres, &weights, &factors, &zetas);
        if drives_parts {
            let of: Vec<u8> = active.iter().map(|&i| patch.part_with(i) as u8).collect();
            cells.parts = PartCells::new(cells.factors(), &of);
        }
        let made_of = follows_from_patch(contact).then(|| Arc::clone(&contact.patch));
        let (k, active) = (Consts::new(&contact.friction), active.to_vec());
        Self { cells, k, active, made_of, is_layer, ..Self::empty() }
    }

    /// Ends the motion as one rigid body: moves every bristle by the displacement of the body.
    fn end_rigid(&mut self) {
        let Some(rigid) = self.rigid.take() else { return };
        self.cells.shift([rigid.shift.x, rigid.shift.y, rigid.shift.z]);
        self.next_checks = [CHECK_INTERVALS[0]; 2];
    }

    /// The pass as one rigid body; none if the grid is not one, or if a bristle might leave its elastic
    /// range.
    fn sweep_rigid(
        &mut self,
        u: Vec3<f64>,
        commit: Option<&Stage<f64>>,
        next: Option<&Stage<f64>>,
    ) -> Option<(Vec3<f64>, Mat3<f64>)> {
        // Patches with inputs of their own do not move as one.
        if !self.k.law.is_elastic() || C::LANES == 1 || !self.cells.parts.now.is_empty() {
            return None;
        }
        self.next_checks[0] -= 1;
        if self.next_checks[0] == 0 {
            self.next_checks = [self.next_checks[1], CHECK_INTERVALS[1].min(2 * self.next_checks[1])];
            if self.rigid.is_none() {
                let mu = commit.or(next).map_or(0.0, |st| st.mu_c.min(st.mu_c + st.mu_d));
                self.rigid = rigid_stick(&self.cells, &self.k, mu);
            }
        }
        let sums = self.rigid.as_mut()?.sweep(u, commit, next);
        if sums.is_none() {
            self.end_rigid();
        }
        sums
    }
}

/// Whether the cells of a contact follow from its patch and nothing else.
fn follows_from_patch(contact: &Contact) -> bool {
    !contact.drives_parts() && contact.layer().is_none()
}

impl<C: Real> Bristles<f64> for Grid<C> {
    type Scratch = Workspace<C>;

    const TAKES_PARTS: bool = true;

    fn load(&mut self, _: usize, contact: &Contact, active: &[usize]) {
        let is_made_of = |patch: &Arc<Patch>| Arc::ptr_eq(patch, &contact.patch) && self.active == active;
        if !(follows_from_patch(contact) && self.made_of.as_ref().is_some_and(is_made_of)) {
            *self = Self::new(contact, active);
            return;
        }
        self.k = Consts::new(&contact.friction);
        (self.rigid, self.saved_rigid, self.next_checks) = (None, None, [CHECK_INTERVALS[0]; 2]);
        self.cells.start(contact.first_bristles(active).as_deref());
    }

    fn clear(&mut self, _: usize) {}

    fn states(&self, _: usize) -> Vec<[f64; 2]> {
        self.cells.bristles(self.rigid.as_ref().map_or([0.0; 3], |r| [r.shift.x, r.shift.y, r.shift.z]))
    }

    fn export(&self, _: usize, state: &mut State) {
        state.bristles.resize(self.cells.len(), [0.0; 2]);
        self.cells.export(&mut state.bristles, &mut state.padding);
        state.rigid = self.rigid.as_ref().map(RigidStick::state);
        state.checks = [self.next_checks[0], self.next_checks[1], self.cells.pause];
    }

    fn import(&mut self, _: usize, state: &State) {
        self.cells.import(&state.bristles, &state.padding);
        let [next, after, pause] = state.checks;
        (self.next_checks, self.cells.pause) = ([next.max(1), after.max(1)], pause);
        // The bristles are not compared with the limit again, as they were elastic when the state was stored.
        self.rigid = state.rigid.as_ref().and_then(|state| {
            let mut rigid = rigid_stick(&self.cells, &self.k, f64::MAX)?;
            rigid.set_state(state);
            Some(rigid)
        });
    }

    fn wrench(&mut self, _: usize, u: Twist, rate: &Rate<f64>, f_n: f64) -> (Wrench, Shares) {
        if let Some(rigid) = &self.rigid {
            let w = rigid.resist(Vec3::from(u.to_array()), rate.sigma1 + self.k.sigma2.lane(0)) * -f_n;
            return (Wrench::new(w.x, w.y, w.z), Shares::default());
        }
        wrench(&self.cells, &self.k, u, rate, f_n)
    }

    fn arm2(&self, patch: &Patch) -> f64 {
        patch.isotropic().arm2()
    }

    fn remap(&mut self, _: usize, patch: &Patch, [_, mu_s]: [f64; 2]) {
        self.made_of = None;
        self.end_rigid();
        if self.is_layer {
            let count = self.active.len();
            self.cells.set_weights(self.active.iter().map(|&i| patch.layer_share(i, count)));
            self.cells.set_factors(self.active.iter().map(|&i| patch.layer_factor(i, count)));
            self.cells.limit(mu_s);
            return;
        }
        self.cells.set_weights(self.active.iter().map(|&i| patch.weights()[i]));
    }

    fn commits_before_remap(&self) -> bool {
        // The stage of a layer has been solved under the friction of the map before.
        self.is_layer
    }

    fn reference_point(&self) -> [f64; 2] {
        [0.0; 2]
    }

    fn sweep(
        &mut self,
        u: Vec3<f64>,
        commit: (&Stage<f64>, Bits),
        next: (&Stage<f64>, Bits),
    ) -> (Vec3<f64>, Mat3<f64>) {
        let [commit, next] = [commit, next].map(|(stage, lanes)| (lanes != 0).then_some(stage));
        match self.sweep_rigid(u, commit, next) {
            Some(sums) => sums,
            None => sweep(&mut self.cells, &self.k, u, commit, next),
        }
    }

    fn set_parts(&mut self, parts: &[PartNow<f64>]) {
        self.cells.parts.now.clear();
        self.cells.parts.now.extend_from_slice(parts);
    }

    fn commit_parts(&mut self, u: Vec3<f64>, stage: &Stage<f64>) {
        sweep(&mut self.cells, &self.k, u, Some(stage), None);
    }

    fn trust_radius(&self, _: Vec3<f64>) -> f64 {
        f64::from(f32::MAX)
    }

    fn save(&mut self, lanes: bool) {
        if lanes {
            self.cells.save();
            self.saved_rigid = self.rigid;
        }
    }

    fn restore(&mut self, lanes: bool) {
        if lanes {
            self.cells.restore();
            self.rigid = self.saved_rigid;
        }
    }

    fn exchange_scratch(&mut self, other: &mut Workspace<C>) {
        std::mem::swap(&mut self.cells.workspace, other);
    }

    fn share(&mut self, other: &Self) {
        self.cells.share(&other.cells);
    }

    fn prefetch(&self) {
        // The sums of a grid that moves as one body do not need its cells.
        if self.rigid.is_none() {
            self.cells.prefetch();
        }
    }

    fn force_change(&self) -> Vec3<f64> {
        let shifted = |rigid: Option<&RigidStick>| rigid.map_or_else(Vec3::zero, RigidStick::shifted);
        let whole = shifted(self.rigid.as_ref()) - shifted(self.saved_rigid.as_ref());
        // While the grid is rigid the stored states of its cells do not change.
        let still = self.rigid.is_some() && self.saved_rigid.is_some();
        if still { whole } else { whole + force_change(&self.cells) }
    }
}
