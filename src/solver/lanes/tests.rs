use super::*;
use crate::contact::{Form, Model};
use crate::fixtures::{disc, held, moved};
use crate::number::baseline::{F32, F64};
use crate::patch::{Exponent, Grid as Cells, Hertz};
use crate::solver::models::grid::Grid;
use crate::solver::models::grids::Grids;
use crate::solver::models::reduced::Reduced;

/// The first 1.1 ms of a contact.
fn interval(contact: &Contact) -> Interval {
    contact.interval(&contact.timeline(&[0.0, 1.1e-3]), 0)
}

/// Steps a lane through an interval.
fn run<S: LaneSolver>(solver: &mut S, l: usize, interval: &Interval) {
    solver.start_interval(l, interval);
    while solver.running() != 0 {
        let events = solver.pass();
        assert_eq!(events.failed | events.spent, 0);
    }
}

fn state<S: LaneSolver>(solver: &S, l: usize) -> State {
    let mut state = State::default();
    solver.export(l, &mut state);
    state
}

/// A solver with the contact at its start in lane `l`.
fn started<S: LaneSolver>(new: impl Fn() -> S, l: usize, contact: &Contact) -> S {
    let mut solver = new();
    solver.load(l, contact, 2e-4, &contact.cells_ever_active());
    solver
}

/// Makes a claim about every kind of solver, with a contact that slides and what makes the solver.
macro_rules! of_every_solver {
    ($claim:ident) => {
        for tolerance in [None, Some(1e-6)] {
            let grid = held(Model::Distributed, &disc(5), 0.9);
            let reduced = held(Model::Ellipsoid(Form::Consistent), &disc(5), 0.9);
            let cells = grid.patch.cells().len();
            $claim(&grid, || Solver::new(Grid::<f64>::empty(), tolerance));
            $claim(&grid, || Solver::new(Grid::<F64>::empty(), tolerance));
            $claim(&grid, || Solver::<F64, _>::new(Grids::new(cells, &grid.friction), tolerance));
            $claim(&reduced, || Solver::<F32, _>::new(Reduced::new(&reduced), tolerance));
        }
    };
}

fn is_pending_until_it_is_flushed<S: LaneSolver>(contact: &Contact, new: impl Fn() -> S) {
    let l = S::LANES - 1;
    let mut solver = started(new, l, contact);
    assert!(!solver.is_pending(l), "at the start");
    run(&mut solver, l, &interval(contact));
    assert!(solver.is_pending(l), "after a step");
    let (before, shown) = (state(&solver, l), solver.states(l));
    solver.flush(l);
    assert_eq!(solver.running(), 1 << l);
    assert_eq!(solver.pass().stopped, 1 << l);
    assert_eq!(solver.running(), 0);
    let after = state(&solver, l);
    assert_ne!(solver.states(l), shown, "the bristles have moved");
    // Nothing else has.
    let State { bristles, rigid, checks, padding, .. } = after.clone();
    let passes = before.passes + 1;
    assert_eq!(after, State { pending: None, bristles, rigid, checks, padding, passes, ..before });
    solver.forget_pass(l);
    assert_eq!(solver.status(l).passes, before.passes);
    // What is written back is not there to be written back again.
    solver.flush(l);
    solver.pass();
    assert_eq!(state(&solver, l).bristles, after.bristles);
}

#[test]
fn the_last_stage_of_a_step_is_pending_until_a_flush_writes_it_back_once() {
    of_every_solver!(is_pending_until_it_is_flushed);
}

#[test]
fn a_prescribed_motion_has_nothing_pending() {
    let contact = moved(&disc(5), [0.01, 0.0, 0.5]);
    for tolerance in [None, Some(1e-6)] {
        let mut solver = started(|| Solver::new(Grid::<f64>::empty(), tolerance), 0, &contact);
        run(&mut solver, 0, &interval(&contact));
        assert_eq!(state(&solver, 0).pending, None);
        assert!(solver.states(0).iter().any(|z| z[0] > 0.5), "the bristles have moved: {:?}", solver.states(0));
    }
}

fn goes_on_where_it_was<S: LaneSolver>(contact: &Contact, new: impl Fn() -> S) {
    let (from, to) = (S::LANES - 1, 0);
    let (first, then) = (interval(contact), Interval { jump: false, ..interval(contact) });
    let mut solver = started(&new, from, contact);
    run(&mut solver, from, &first);
    run(&mut solver, from, &then);
    let saved = state(&solver, from);
    assert!(saved.pending.is_some());
    let mut other = started(&new, to, contact);
    other.import(to, contact, &saved);
    assert_eq!(state(&other, to), saved);
    run(&mut solver, from, &then);
    run(&mut other, to, &then);
    assert_eq!(state(&other, to), state(&solver, from));
    assert!(saved.steps > 0 && solver.status(from).steps > saved.steps);
}

#[test]
fn a_solver_goes_on_from_the_state_of_another_with_the_same_bits() {
    of_every_solver!(goes_on_where_it_was);
}

fn is_empty_when_cleared<S: LaneSolver>(contact: &Contact, new: impl Fn() -> S) {
    let l = S::LANES - 1;
    let mut solver = started(&new, l, contact);
    solver.start_interval(l, &interval(contact));
    // On the way through a step.
    (0..2).for_each(|_| _ = solver.pass());
    solver.clear(l);
    assert!(solver.running() == 0 && !solver.is_pending(l));
    solver.load(l, contact, 2e-4, &contact.cells_ever_active());
    let mut fresh = started(&new, l, contact);
    for solver in [&mut solver, &mut fresh] {
        run(solver, l, &interval(contact));
    }
    assert_eq!(state(&solver, l), state(&fresh, l));
}

#[test]
fn a_lane_that_is_cleared_within_a_step_takes_the_next_contact_as_a_fresh_one_does() {
    of_every_solver!(is_empty_when_cleared);
}

/// The bristles of a grid are the same on any map; the one of a reduced model is not.
#[test]
fn a_stage_is_written_back_before_the_map_changes_if_it_depends_on_the_map() {
    let rule = Hertz { radius: 2.0, exponent: Exponent::Fixed(2.0) };
    let patch = Patch::hertz(Cells::new(7, 7, 0.02, 0.02).unwrap(), rule, 1.0).unwrap().into();
    let [own, other] = [MapKey::Force(1.5), MapKey::Force(2.5)];
    let keys = [None, Some(other), Some(own)];
    let reduced = held(Model::Ellipsoid(Form::Consistent), &patch, 1.5);
    let mut solver = started(|| Solver::<f64, _>::new(Reduced::new(&reduced), None), 0, &reduced);
    assert_eq!(keys.map(|key| solver.must_flush_before(0, key)), [true; 3], "on the first map");
    solver.remap(0, &reduced, &Interval { remap: Some(own), ..interval(&reduced) });
    assert_eq!(keys.map(|key| solver.must_flush_before(0, key)), [true, true, false]);
    let grid = held(Model::Distributed, &patch, 1.5);
    let solver = started(|| Solver::new(Grid::<f64>::empty(), None), 0, &grid);
    assert_eq!(keys.map(|key| solver.must_flush_before(0, key)), [false; 3]);
}
