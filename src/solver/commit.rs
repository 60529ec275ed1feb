//! Work on the saved state of one contact, in double precision: committing a pending stage, so that another
//! engine can continue from the state, and the friction wrench that a given motion would cause.

use super::bristles::Bristles;
use super::lane_solver::LaneSolver;
use super::lanes::Solver;
use super::models::grid::Grid;
use super::models::reduced::Reduced;
use super::point::lanes::Points;
use super::respond::{Response, respond};
use super::state::State;
use super::step::pass;
use crate::contact::Contact;
use crate::planar::Twist;

/// Commits the pending stage of `state`, if it has one, to its bristles `pairs`.
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

/// The friction wrench if the patch moved with `twist` for `dt` [s] from `state` with bristles `pairs`.
pub fn respond_to(contact: &Contact, state: &State, pairs: &[[f64; 2]], twist: Twist, dt: f64) -> Response {
    if let Some(model) = contact.model.point() {
        let mut points = Points::<f64>::new(model, &contact.friction);
        points.load(0, contact, 1.0, &[]);
        points.import(0, contact, state, pairs);
        points.respond(0, contact, (twist, dt), &state.inputs, &mut Vec::new())
    } else if contact.model.is_grid() {
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
    solver.bristles.export(0, state, pairs);
}
