//! Friction by region, `docs/model.md` (20a): runs of groups of cells that have the same factors of friction
//! in their lanes. A pass takes them one after the other, each under coefficients of its own, so that nothing
//! in the equations of a cell has to know of factors. Without a friction map there is one run.
//!
//! No twin: a lane of a GPU reads the factors of its cells (`shaders/models/cells.wgsl`).

use super::friction::Stage;
use crate::number::real::Real;

/// Groups that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Run<R> {
    /// The number of the group behind the last.
    pub end: usize,
    /// The factor of friction in every lane [-].
    pub factor: R,
    /// Whether it is the same in all lanes, so that cells may change their lanes.
    pub is_one: bool,
}

/// The runs of groups that have these factors.
pub fn runs<R: Real>(factors: impl Iterator<Item = R>) -> Vec<Run<R>> {
    let mut runs: Vec<Run<R>> = Vec::new();
    for (i, factor) in factors.enumerate() {
        match runs.last_mut() {
            Some(last) if same(last.factor, factor) => last.end = i + 1,
            _ => runs.push(Run { end: i + 1, factor, is_one: same(factor, R::splat(factor.lane(0))) }),
        }
    }
    runs
}

/// Whether two numbers are the same in every lane.
pub fn same<R: Real>(a: R, b: R) -> bool {
    (0..R::LANES).all(|l| a.lane(l).to_bits() == b.lane(l).to_bits())
}

impl<R: Real> Stage<R> {
    /// The stage where friction has this factor.
    #[inline(always)]
    pub fn under(&self, factor: R) -> Self {
        Self { mu_c: factor * self.mu_c, mu_d: factor * self.mu_d, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::baseline::F64;

    #[test]
    fn groups_with_the_same_factors_are_a_run() {
        let pack = |of: &[f64]| <F64 as Real>::pack(of);
        let [a, b] = [pack(&[1.0, 2.0]), pack(&[1.0, 2.5])];
        let ends = |of: Vec<F64>| runs(of.into_iter()).iter().map(|run| run.end).collect::<Vec<_>>();
        assert_eq!(ends(vec![a, a, b, a, a]), [2, 3, 5]);
        assert_eq!(ends(Vec::new()), [0usize; 0]);
        assert_eq!(ends(vec![b; 3]), [3]);
        let is_one = |of: &[f64]| runs(std::iter::once(pack(of)))[0].is_one;
        assert!(is_one(&[0.7; F64::LANES]) && !is_one(&[0.7, 0.8]));
    }
}
