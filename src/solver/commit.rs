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
