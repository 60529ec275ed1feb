//! Linear complementarity problems, `docs/model.md` (LCP 1): find `z >= 0` with `w = A z + q >= 0` and `z w =
//! 0`.
//!
//! [`Lcp::solve`] is Lemke's method, the reference. [`ContactProblem`] is the problem of contacts with
//! friction, with three numbers a contact; [`ContactProblem::lcp`] turns it into an `Lcp`, and [`blocks`]
//! solves thousands of them.

pub mod blocks;
mod contact_problem;
mod lemke;

use nalgebra::{DMatrix, DVector};

pub use contact_problem::{ContactProblem, Impulses, MOST_CONTACTS, MOST_DIRECTIONS, Scaled};
pub use lemke::Lemke;

use bristle::error::ParameterError;

/// A linear complementarity problem: `0 <= z`, `0 <= A z + q`, and `z_i (A z + q)_i = 0` for all `i`.
#[derive(Clone, Debug, PartialEq)]
pub struct Lcp {
    /// The matrix `A`.
    pub a: DMatrix<f64>,
    /// The vector `q`.
    pub q: DVector<f64>,
}

/// How the search for a solution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Termination {
    /// With a solution.
    Solved,
    /// On a ray of Lemke's method: for many matrices, copositive ones among them, a proof that there is no
    /// solution.
    Ray,
    /// After as many pivots or sweeps as it may take; the best point found is given.
    Limit,
    /// With a basis so near to singular that the point found is none: rounding is to blame.
    Inexact,
    /// A number became infinite or undefined.
    NotFinite,
}

impl Lcp {
    /// A problem with a matrix and a vector.
    ///
    /// # Errors
    /// A matrix that is not square, another length of the vector, or a number that is not finite.
    pub fn new(a: DMatrix<f64>, q: DVector<f64>) -> Result<Self, ParameterError> {
        if a.nrows() != a.ncols() || a.nrows() != q.len() {
            let value = format!("{} x {}, with {} values in q", a.nrows(), a.ncols(), q.len());
            return Err(ParameterError::new("a", value, "a square matrix with as many rows as q has values"));
        }
        if let Some(value) = a.iter().chain(q.iter()).find(|v| !v.is_finite()) {
            return Err(ParameterError::new("a, q", value, "finite numbers"));
        }
        Ok(Self { a, q })
    }

    /// Solves the problem by Lemke's method, in at most `most_pivots`; the pivots are chosen by the
    /// lexicographic rule, by which no basis comes twice.
    pub fn solve(&self, most_pivots: usize) -> Lemke {
        lemke::solve(self, most_pivots)
    }

    /// How far `z` is from a solution: the largest of `|min(z_i, (A z + q)_i)|`. NaN if a number of `z` is.
    ///
    /// # Panics
    /// Another length of `z`.
    pub fn residual(&self, z: &DVector<f64>) -> f64 {
        let w = &self.a * z + &self.q;
        let of = |(z, w): (&f64, &f64)| if z.is_nan() || w.is_nan() { f64::NAN } else { z.min(*w).abs() };
        z.iter().zip(w.iter()).map(of).fold(0.0, |most: f64, r| if r.is_nan() || r > most { r } else { most })
    }
}

#[cfg(test)]
mod tests;
