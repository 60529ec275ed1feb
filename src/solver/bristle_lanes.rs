//! The solver of bristles as a [`LaneSolver`].

use super::bristles::{Bits, Bristles, Shares};
use super::commit::respond_to;
use super::lane_solver::LaneSolver;
use super::lanes::Solver;
use super::respond::{Response, respond};
use super::state::State;
use super::step::{Events, pass};
use crate::contact::Contact;
use crate::number::real::Real;
use crate::plan::Status;
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::{Interval, MapKey, slot};

impl<R: Real, B: Bristles<R>> LaneSolver for Solver<R, B> {
    fn load(&mut self, l: usize, contact: &Contact, step: f64, active: &[usize]) {
        self.load(l, contact, step, active);
    }

    fn allow(&mut self, l: usize, steps: u64) {
        self.allow(l, steps);
    }

    fn remap(&mut self, l: usize, contact: &Contact, interval: &Interval) {
        self.remap(l, contact, interval);
    }

    fn set_map(&mut self, l: usize, contact: &Contact, mu_c: f64) {
        self.set_map(l, contact, &contact.patch, mu_c);
    }

    fn commits_before_remap(&self) -> bool {
        self.bristles.commits_before_remap()
    }

    fn must_flush_before(&self, l: usize, key: MapKey) -> bool {
        self.must_flush_before(l, key)
    }

    fn start_interval(&mut self, l: usize, interval: &Interval) {
        self.start_interval(l, interval);
    }

    fn is_pending(&self, l: usize) -> bool {
        self.is_pending(l)
    }

    fn flush(&mut self, l: usize) {
        self.flush(l);
    }

    fn forget_pass(&mut self, l: usize) {
        self.forget_pass(l);
    }

    fn running(&self) -> Bits {
        self.running
    }

    fn pass(&mut self) -> Events {
        pass(self)
    }

    fn sample(&mut self, l: usize, contact: &Contact, v: &[f64; slot::COUNT]) -> (Pose, Twist, Wrench, Shares) {
        self.sample(l, contact, v)
    }

    fn respond(
        &mut self,
        l: usize,
        contact: &Contact,
        (twist, dt): (Twist, f64),
        v: &[f64; slot::COUNT],
        pairs: &mut Vec<[f64; 2]>,
    ) -> Response {
        // With several lanes a pass would compute one result and ignore the others. The state is evaluated by
        // a solver with one lane, which spares compiling that pass for every number type.
        if const { R::LANES > 1 } {
            pairs.resize(self.bristles.pairs(l), [0.0; 2]);
            let mut state = self.export(l, pairs);
            state.inputs = *v;
            respond_to(contact, &state, pairs, twist, dt)
        } else {
            respond(self, l, twist, dt, v, pairs)
        }
    }

    fn status(&self, l: usize) -> Status {
        self.status(l)
    }

    fn clear(&mut self, l: usize) {
        self.clear(l);
    }

    fn states(&self, l: usize) -> Vec<[f64; 2]> {
        self.bristles.states(l)
    }

    fn pairs(&self, l: usize) -> usize {
        self.bristles.pairs(l)
    }

    fn export(&self, l: usize, pairs: &mut [[f64; 2]]) -> State {
        let mut state = self.state(l);
        self.bristles.export(l, &mut state, pairs);
        state
    }

    fn import(&mut self, l: usize, contact: &Contact, state: &State, pairs: &[[f64; 2]]) {
        self.set_state(l, contact, state, pairs);
    }
}
