//! Contacts with large grids that are stepped one after the other and share the memory for the intermediate
//! results of a pass. If each had its own, the memory of thousands of contacts would not fit into the caches,
//! and every pass would wait for main memory.

use std::slice::from_ref;

use super::run::{LanePack, Pack, Recording, grid};
use crate::batch::Saved;
use crate::contact::Contact;
use crate::engine::{Status, Stepping};
use crate::number::prefetch::prefetch;
use crate::number::real::Real;
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::Span;
use crate::solver::bristles::Shares;
use crate::solver::lanes::Solver;
use crate::solver::models::cells::Workspace;
use crate::solver::models::grid::Grid;
use crate::solver::respond::Response;
use crate::solver::state::State;

/// A pack of contacts with large grids.
pub struct LargeGrids<C: Real> {
    /// A solver for each contact, with one lane.
    each: Vec<LanePack<Solver<f64, Grid<C>>>>,
    /// The shared memory, which the solver that is running has in place of its own.
    workspace: Workspace<C>,
}

impl<C: Real> LargeGrids<C> {
    /// Empty solvers for `count` contacts.
    pub fn new(stepping: Stepping, count: usize) -> Self {
        Self { each: (0..count).map(|_| grid(stepping)).collect(), workspace: Workspace::new(0) }
    }

    /// Runs `work` on one of the contacts, which has the shared memory for that time.
    fn with<T>(&mut self, lane: usize, work: impl FnOnce(&mut LanePack<Solver<f64, Grid<C>>>) -> T) -> T {
        let one = &mut self.each[lane];
        std::mem::swap(&mut one.solver.bristles.cells.workspace, &mut self.workspace);
        let out = work(one);
        std::mem::swap(&mut one.solver.bristles.cells.workspace, &mut self.workspace);
        out
    }
}

impl<C: Real> LargeGrids<C> {
    /// Brings what the contacts after `lane` need into the caches while that one is stepped: of the next the
    /// cells and signals, of the one after it what says where these are.
    fn prefetch<'c>(&self, lane: usize, task: &dyn Fn(usize) -> Option<(&'c Contact, Span)>) {
        if let Some(next) = self.each.get(lane + 1) {
            next.solver.bristles.prefetch();
            if let Some((contact, _)) = task(lane + 1) {
                contact.prefetch_signals();
            }
        }
        if let Some(later) = self.each.get(lane + 2) {
            prefetch(from_ref(later));
            if let Some((contact, _)) = task(lane + 2) {
                prefetch(from_ref(contact));
            }
        }
    }
}

impl<C: Real> Pack for LargeGrids<C> {
    fn load(&mut self, lane: usize, contact: &Contact, active: &[usize]) {
        self.each[lane].load(0, contact, active);
        // Loading gives the contact memory of its own, of which the largest is kept as the shared one.
        let own = std::mem::replace(&mut self.each[lane].solver.bristles.cells.workspace, Workspace::new(0));
        if own.groups() > self.workspace.groups() {
            self.workspace = own;
        }
        if let [.., before, own] = &mut self.each[..=lane] {
            own.solver.bristles.cells.share(&before.solver.bristles.cells);
        }
    }

    fn advance<'c>(&mut self, task: &dyn Fn(usize) -> Option<(&'c Contact, Span)>, recording: &mut Recording<'_, '_>) {
        let Recording { samples, stop_when, rows, progress, stop } = recording;
        for lane in 0..self.each.len() {
            self.prefetch(lane, task);
            let rows = if rows.is_empty() { &mut [] } else { &mut rows[lane..=lane] };
            let mut own = Recording { samples, stop_when, rows, progress: *progress, stop };
            self.with(lane, |one| one.advance(&|_| task(lane), &mut own));
        }
    }

    fn sample(&mut self, lane: usize, contact: &Contact) -> Option<(Pose, Twist, Wrench, Shares, f64)> {
        self.with(lane, |one| one.sample(0, contact))
    }

    fn respond(&mut self, lane: usize, contact: &Contact, twist: Twist, dt: f64) -> Option<Response> {
        self.with(lane, |one| one.respond(0, contact, twist, dt))
    }

    fn set_map(&mut self, lane: usize, contact: &Contact, mu_c: f64) {
        self.with(lane, |one| one.set_map(0, contact, mu_c));
    }

    fn status(&self, lane: usize) -> Status {
        self.each[lane].status(0)
    }

    fn states(&mut self, lane: usize) -> Vec<[f64; 2]> {
        self.with(lane, |one| one.states(0))
    }

    fn pairs(&self, lane: usize) -> usize {
        self.each[lane].pairs(0)
    }

    fn export(&self, lane: usize, pairs: &mut [[f64; 2]]) -> State {
        self.each[lane].export(0, pairs)
    }

    fn import(&mut self, lane: usize, contact: &Contact, saved: &Saved, pairs: &[[f64; 2]]) {
        self.with(lane, |one| one.import(0, contact, saved, pairs));
    }
}
