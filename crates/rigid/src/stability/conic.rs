//! Conic programs, solved by Clarabel: minimise `q . x` with `A x + s = b`, `s` in a product of cones.

use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::NonnegativeConeT;
use clarabel::solver::{DefaultSettings, DefaultSolution, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

use super::assembly::StabilityError;

/// Relative accuracies that are asked of the solver, one after the other until it comes to an answer: close
/// to a limit it finds no certificate to more digits than the distance has.
const ACCURACIES: [f64; 3] = [1e-11, 1e-9, LEAST_ACCURACY];
/// The least that is taken.
const LEAST_ACCURACY: f64 = 1e-8;
/// Least sum of what equations miss in a program of order one that has no solution.
const MISSING: f64 = 1e-7;
/// Cost of a unit that an equation misses, larger than the multipliers of programs of order one.
const PENALTY: f64 = 1e4;

/// Rows of `A x + s = b` and the cones of `s`.
#[derive(Clone, Default)]
pub(super) struct Rows {
    row: Vec<usize>,
    column: Vec<usize>,
    value: Vec<f64>,
    pub(super) b: Vec<f64>,
    pub(super) cones: Vec<SupportedConeT<f64>>,
}

impl Rows {
    /// One more row of the present cone.
    pub(super) fn push(&mut self, entries: &[(usize, f64)], b: f64) {
        for (column, value) in entries.iter().filter(|(_, value)| *value != 0.0) {
            self.add(self.b.len(), *column, *value);
        }
        self.b.push(b);
    }

    /// One more number of a row.
    pub(super) fn add(&mut self, row: usize, column: usize, value: f64) {
        self.row.push(row);
        self.column.push(column);
        self.value.push(value);
    }

    pub(super) fn is_finite(&self) -> bool {
        self.value.iter().chain(&self.b).all(|v| v.is_finite())
    }
}

/// What a program came to.
pub(super) enum Outcome {
    /// A solution.
    Found(Vec<f64>),
    /// There is none, as the multipliers prove.
    Impossible,
    /// Solutions without end in this direction.
    Endless(Vec<f64>),
}

/// Solves a program whose first `equations` rows are equations: what it came to, and the multipliers of its
/// rows.
pub(super) fn solve(rows: &Rows, q: &[f64], equations: usize) -> Result<(Outcome, Vec<f64>), StabilityError> {
    for accuracy in ACCURACIES {
        let DefaultSolution { x, z, status, .. } = attempt(rows, q, accuracy)?;
        let outcome = match status {
            SolverStatus::Solved | SolverStatus::AlmostSolved => Outcome::Found(x),
            SolverStatus::PrimalInfeasible | SolverStatus::AlmostPrimalInfeasible => Outcome::Impossible,
            SolverStatus::DualInfeasible | SolverStatus::AlmostDualInfeasible => Outcome::Endless(x),
            _ => continue,
        };
        return Ok((outcome, z));
    }
    relaxed(rows.clone(), q, equations)
}

/// The same where the equations may be missed, at a cost. That program has solutions in any case, so that the
/// solver does not get lost between few contacts and the six equations of a body. First what has to be missed
/// at least is found; if that is nothing, the solution.
fn relaxed(mut rows: Rows, q: &[f64], equations: usize) -> Result<(Outcome, Vec<f64>), StabilityError> {
    let n = q.len();
    for k in 0..equations {
        rows.add(k, n + 2 * k, 1.0);
        rows.add(k, n + 2 * k + 1, -1.0);
    }
    (n..n + 2 * equations).for_each(|column| rows.push(&[(column, -1.0)], 0.0));
    rows.cones.push(NonnegativeConeT(2 * equations));
    let costs = |of_x: Vec<f64>, missed: f64| [of_x, vec![missed; 2 * equations]].concat();
    let mut last = SolverStatus::Unsolved;
    for (cost, decides) in [(costs(vec![0.0; n], 1.0), true), (costs(q.to_vec(), PENALTY), false)] {
        for accuracy in ACCURACIES {
            let DefaultSolution { mut x, z, status, .. } = attempt(&rows, &cost, accuracy)?;
            last = status;
            let missed: f64 = x[n..].iter().sum();
            x.truncate(n);
            match status {
                SolverStatus::Solved | SolverStatus::AlmostSolved if decides && missed > MISSING => {
                    return Ok((Outcome::Impossible, z));
                }
                SolverStatus::Solved | SolverStatus::AlmostSolved if decides => break,
                SolverStatus::Solved | SolverStatus::AlmostSolved if missed <= MISSING => {
                    return Ok((Outcome::Found(x), z));
                }
                SolverStatus::DualInfeasible | SolverStatus::AlmostDualInfeasible => {
                    return Ok((Outcome::Endless(x), z));
                }
                _ => {}
            }
        }
    }
    Err(StabilityError::Solver(last.to_string()))
}

/// The solver's answer, or what it came to in place of one.
fn attempt(rows: &Rows, q: &[f64], accuracy: f64) -> Result<DefaultSolution<f64>, StabilityError> {
    let settings = DefaultSettings {
        verbose: false,
        max_threads: 1,
        tol_gap_abs: accuracy,
        tol_gap_rel: accuracy,
        tol_feas: accuracy,
        tol_infeas_abs: accuracy,
        tol_infeas_rel: accuracy,
        reduced_tol_gap_abs: LEAST_ACCURACY,
        reduced_tol_gap_rel: LEAST_ACCURACY,
        reduced_tol_feas: LEAST_ACCURACY,
        reduced_tol_infeas_abs: LEAST_ACCURACY,
        reduced_tol_infeas_rel: LEAST_ACCURACY,
        ..DefaultSettings::default()
    };
    let Rows { row, column, value, b, cones } = rows;
    let a = CscMatrix::new_from_triplets(b.len(), q.len(), row.clone(), column.clone(), value.clone());
    let p = CscMatrix::zeros((q.len(), q.len()));
    let solver = DefaultSolver::new(&p, q, &a, b, cones, settings);
    let mut solver = solver.map_err(|e| StabilityError::Solver(e.to_string()))?;
    solver.solve();
    Ok(solver.solution)
}
