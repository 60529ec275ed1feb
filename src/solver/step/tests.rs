use super::*;
use crate::contact::{Contact, Form, Model};
use crate::fixtures::{disc, held, moved};
use crate::schedule::Interval;
use crate::solver::commit::commit;
use crate::solver::lane_solver::LaneSolver;
use crate::solver::models::grid::Grid;
use crate::solver::models::reduced::Reduced;
use crate::solver::state::State;

/// The start of a contact, for so long [s].
fn interval(contact: &Contact, length: f64) -> Interval {
    contact.interval(&contact.timeline(&[0.0, length]), 0)
}

/// The readable reference with a contact at its start, in steps of at most `step` [s].
fn started<B: Bristles<f64>>(bristles: B, tolerance: Option<f64>, contact: &Contact, step: f64) -> Solver<f64, B> {
    let mut solver = Solver::new(bristles, tolerance);
    solver.load(0, contact, step, &contact.cells_ever_active());
    solver
}

fn state<B: Bristles<f64>>(solver: &Solver<f64, B>) -> State {
    let mut state = State::default();
    solver.export(0, &mut state);
    state
}

/// Runs to the end of the interval. Returns the steps [s] that were taken.
fn steps<B: Bristles<f64>>(solver: &mut Solver<f64, B>) -> Vec<f64> {
    let mut steps = Vec::new();
    while solver.running != 0 {
        let (taken, left) = (solver.counts.steps[0], solver.interval.left[0]);
        pass(solver);
        if solver.counts.steps[0] > taken {
            let h = solver.step.h;
            assert_eq!(solver.interval.left[0] + h, left, "{h} s is what is taken off");
            steps.push(h);
        }
    }
    steps
}

#[test]
fn fixed_steps_are_equal_and_add_up_to_the_interval_to_the_last_bit() {
    const STEP: f64 = 2e-4;
    let lengths = [
        (3e-5, 1),
        (1e-3, 5),
        // More by what may be rounding, and by more.
        (1e-3 * (1.0 + 1e-7), 5),
        (1e-3 * (1.0 + 1e-5), 6),
        (1.1e-3, 6),
        (0.1 / 3.0, 167),
    ];
    for contact in [held(Model::Distributed, &disc(3), 4.0), moved(&disc(3), [0.01, 0.0, 0.5])] {
        for (length, count) in lengths {
            let mut solver = started(Grid::<f64>::empty(), None, &contact, STEP);
            solver.start_interval(0, &interval(&contact, length));
            let steps = steps(&mut solver);
            assert_eq!(steps.len(), count, "{length} s");
            assert_eq!(solver.interval.left[0], 0.0, "{length} s");
            for h in steps {
                let even = length / count as f64;
                assert!((h / even - 1.0).abs() < 1e-11 && h < STEP * (1.0 + STEP_SLACK), "{h} of {length} s");
            }
        }
    }
}

/// Every refused step leaves the contact as it was when the step began, its last stage written back.
fn refused_steps<B: Bristles<f64>>(bristles: B, contact: &Contact) {
    let mut solver = started(bristles, Some(1e-8), contact, 5e-3);
    solver.start_interval(0, &interval(contact, 1e-3));
    let mut refused = 0;
    while solver.running != 0 {
        let mut before = state(&solver);
        commit(contact, &mut before);
        while pass(&mut solver).stopped == 0 && solver.starting == 0 {}
        let after = state(&solver);
        if after.steps > before.steps {
            continue;
        }
        refused += 1;
        assert!(after.h_next < solver.step.h, "{} s after {} s", after.h_next, solver.step.h);
        // The root of a reduced bristle is only where the next is searched for.
        let last = if contact.model.is_grid() { before.bristles.len() } else { before.bristles.len() - 1 };
        assert_eq!(after.bristles[..last], before.bristles[..last]);
        let State { bristles, h_next, passes, checks, padding, .. } = after.clone();
        assert_eq!(after, State { bristles, h_next, passes, checks, padding, ..before });
    }
    assert!(refused > 1, "{refused} steps are refused");
}

#[test]
fn a_refused_step_leaves_the_body_and_its_bristles_as_they_were() {
    refused_steps(Grid::<f64>::empty(), &held(Model::Distributed, &disc(5), 0.9));
    refused_steps(Grid::<f64>::empty(), &moved(&disc(5), [0.01, 0.0, 0.5]));
    let reduced = held(Model::Ellipsoid(Form::Consistent), &disc(5), 0.9);
    refused_steps(Reduced::<f64>::new(&reduced), &reduced);
}

#[test]
fn after_a_jump_of_the_inputs_steps_are_short_and_solved_twice() {
    let contact = held(Model::Distributed, &disc(5), 4.0);
    let mut solver = started(Grid::<f64>::empty(), Some(1e-6), &contact, 5e-3);
    solver.start_interval(0, &interval(&contact, 0.2));
    let grown = steps(&mut solver);
    assert!(grown[0] <= FRESH_STEP && grown[grown.len() - 2] > 20.0 * FRESH_STEP, "{grown:?}");
    let at_rest = state(&solver);
    for jump in [false, true] {
        let mut solver = started(Grid::<f64>::empty(), Some(1e-6), &contact, 5e-3);
        solver.import(0, &contact, &at_rest);
        solver.start_interval(0, &Interval { jump, ..interval(&contact, 0.2) });
        pass(&mut solver);
        let (is_short, is_solved) = (solver.step.h <= FRESH_STEP, solver.stage.second == 1);
        assert_eq!((is_short, is_solved), (jump, !jump), "jump {jump}: a step of {} s", solver.step.h);
    }
}

#[test]
fn a_grip_that_is_loosened_makes_the_steps_of_an_object_at_rest_short_again() {
    let held_fast = held(Model::Distributed, &disc(5), 4.0);
    let mut solver = started(Grid::<f64>::empty(), Some(1e-6), &held_fast, 5e-3);
    solver.start_interval(0, &interval(&held_fast, 0.2));
    steps(&mut solver);
    let before = solver.body.h_next;
    // The error estimates alone see it.
    let loose = held(Model::Distributed, &disc(5), 0.9);
    solver.start_interval(0, &Interval { jump: false, ..interval(&loose, 2e-3) });
    let steps = steps(&mut solver);
    assert!(steps[0] < 0.1 * before, "{} s after {before} s", steps[0]);
}
