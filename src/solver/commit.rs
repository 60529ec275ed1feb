//! What is done with the saved state of one contact by itself, in double precision: a stage whose bristles have not
//! moved yet is committed, so that another engine can go on from it; and what friction would answer to a motion.

use super::bristles::Bristles;
use super::lanes::Solver;
use super::models::grid::Grid;
use super::models::reduced::Reduced;
use super::respond::{Response, respond};
use super::state::State;
use super::step::pass;
use crate::contact::Contact;
use crate::planar::Twist;

/// Moves the bristles of `state`, `pairs`, through its pending stage in double precision, if it has one.
pub fn commit(contact: &Contact, state: &mut State, pairs: &mut [[f64; 2]]) {
    if state.pending.is_none() {
        return;
    }
    if contact.model.is_grid() {
        commit_in(Grid::<f64>::empty(), contact, state, pairs);
    } else {
        commit_in(Reduced::<f64>::new(contact), contact, state, pairs);
    }
}

/// What friction would answer to a patch twist over `dt` [s] in `state`, with bristles `pairs`.
pub fn respond_to(contact: &Contact, state: &State, pairs: &[[f64; 2]], twist: Twist, dt: f64) -> Response {
    if contact.model.is_grid() {
        respond_in(Grid::<f64>::empty(), contact, state, pairs, (twist, dt))
    } else {
        respond_in(Reduced::<f64>::new(contact), contact, state, pairs, (twist, dt))
    }
}

fn respond_in<B: Bristles<f64>>(
    bristles: B,
    contact: &Contact,
    state: &State,
    pairs: &[[f64; 2]],
    (twist, dt): (Twist, f64),
) -> Response {
    let mut solver = Solver::new(bristles, None);
    solver.load(0, contact, 1e-3, &contact.cells_ever_active());
    solver.set_state(0, contact, state, pairs);
    respond(&mut solver, 0, twist, dt, &state.inputs, &mut Vec::new())
}

fn commit_in<B: Bristles<f64>>(bristles: B, contact: &Contact, state: &mut State, pairs: &mut [[f64; 2]]) {
    let mut solver = Solver::new(bristles, None);
    solver.load(0, contact, 1e-3, &contact.cells_ever_active());
    solver.set_state(0, contact, state, pairs);
    solver.flush(0);
    while solver.running != 0 {
        pass(&mut solver);
    }
    solver.forget_pass(0);
    let inputs = state.inputs;
    *state = State { inputs, ..solver.state(0) };
    solver.bristles.get(0, state, pairs);
}
