//! Work on the saved state of one contact, in double precision: writing a pending stage back, so that another
//! engine can continue from the state, and the friction wrench that a given motion would cause.

use super::bristles::Bristles;
use super::lane_solver::LaneSolver;
use super::lanes::Solver;
use super::models::grid::Grid;
use super::models::reduced::Reduced;
use super::point::lanes::Points;
use super::respond::{Response, respond};
use super::state::State;
use crate::contact::Contact;
use crate::planar::Twist;

/// Writes the pending stage of `state`, if it has one, back to its bristles.
pub fn commit(contact: &Contact, state: &mut State) {
    if state.pending.is_none() {
        return;
    }
    if contact.model.is_grid() {
        commit_in(Grid::<f64>::empty(), contact, state);
    } else {
        commit_in(Reduced::<f64>::new(contact), contact, state);
    }
}

/// The friction wrench if the patch moved with `twist` for `dt` [s] from `state`.
pub fn respond_to(contact: &Contact, state: &State, twist: Twist, dt: f64) -> Response {
    if let Some(model) = contact.model.point() {
        let mut points = Points::<f64>::new(model, &contact.friction);
        points.load(0, contact, 1.0, &[]);
        points.import(0, contact, state);
        points.respond(0, contact, twist, dt, &state.inputs)
    } else if contact.model.is_grid() {
        respond(&mut solver_at(Grid::<f64>::empty(), contact, state), 0, twist, dt, &state.inputs)
    } else {
        respond(&mut solver_at(Reduced::<f64>::new(contact), contact, state), 0, twist, dt, &state.inputs)
    }
}

/// A solver with one lane, which has the contact in this state.
fn solver_at<B: Bristles<f64>>(bristles: B, contact: &Contact, state: &State) -> Solver<f64, B> {
    let mut solver = Solver::new(bristles, None);
    solver.load(0, contact, 1e-3, &contact.cells_ever_active());
    solver.import(0, contact, state);
    if contact.drives_parts() {
        solver.take_parts(0, contact, &state.of_parts);
    }
    solver
}

fn commit_in<B: Bristles<f64>>(bristles: B, contact: &Contact, state: &mut State) {
    let mut solver = solver_at(bristles, contact, state);
    solver.flush(0);
    while solver.running() != 0 {
        solver.pass();
    }
    solver.forget_pass(0);
    let (inputs, failure) = (state.inputs, state.failure);
    solver.export(0, state);
    (state.inputs, state.failure) = (inputs, failure);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::{Form, Model};
    use crate::fixtures::{disc, held};
    use crate::plan::Reason;

    /// Compares the bristles after a stage is committed with those after the engine's own next pass.
    fn is_the_next_pass<B: Bristles<f64>>(bristles: B, contact: &Contact) {
        let mut solver = Solver::new(bristles, None);
        solver.load(0, contact, 2e-4, &contact.cells_ever_active());
        solver.start_interval(0, &contact.interval(&contact.timeline(&[0.0, 3e-3]), 0));
        while solver.running() != 0 {
            solver.pass();
        }
        let mut saved = State::default();
        solver.export(0, &mut saved);
        (saved.inputs, saved.failure) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], Some((3, Reason::Steps)));
        let mut committed = saved.clone();
        commit(contact, &mut committed);
        assert_ne!(committed.bristles, saved.bristles);

        solver.flush(0);
        solver.pass();
        let mut flushed = State::default();
        solver.export(0, &mut flushed);
        // But for the pass, which the engine has not done.
        let State { inputs, failure, passes, .. } = saved;
        assert_eq!(committed, State { inputs, failure, passes, ..flushed });

        let mut again = committed.clone();
        commit(contact, &mut again);
        assert_eq!(again, committed, "there is nothing left to commit");
    }

    #[test]
    fn a_committed_stage_is_that_of_the_next_pass_and_the_rest_of_the_state_stays() {
        is_the_next_pass(Grid::<f64>::empty(), &held(Model::Distributed, &disc(5), 0.9));
        for form in [Form::Consistent, Form::Published] {
            let contact = held(Model::Ellipsoid(form), &disc(5), 0.9);
            is_the_next_pass(Reduced::<f64>::new(&contact), &contact);
        }
    }

    #[test]
    fn a_state_without_a_pending_stage_is_not_touched() {
        let contact = held(Model::Distributed, &disc(5), 0.9);
        // Not even numbers that no solver would give back.
        let state = State { passes: 7, checks: [1, 2, 3], bristles: vec![[0.1, 0.2]; 2], ..State::default() };
        let mut other = state.clone();
        commit(&contact, &mut other);
        assert_eq!(other, state);
    }
}
