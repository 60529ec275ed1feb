//! Linear systems of bodies: six unknowns each, coupled with those of the bodies that it touches.

use nalgebra::{LU, Matrix6, U6, Vector6};

/// A square matrix of blocks of 6 x 6, with room for those that elimination fills in. Bodies with few
/// neighbours are eliminated first; pivots are sought in the block of a body.
pub(super) struct Sparse {
    /// When each body is eliminated.
    turn: Vec<usize>,
    /// Of each turn, the later ones that are coupled with it, in order.
    later: Vec<Vec<usize>>,
    /// The first block of each turn among those beside the diagonal.
    first: Vec<usize>,
    diagonal: Vec<Matrix6<f64>>,
    /// The blocks below the diagonal, turn after turn, and those right of it.
    below: Vec<Matrix6<f64>>,
    right: Vec<Matrix6<f64>>,
    factors: Vec<LU<f64, U6, U6>>,
}

impl Sparse {
    /// So many bodies, of which these pairs are coupled.
    pub(super) fn new(bodies: usize, pairs: impl Iterator<Item = [usize; 2]>) -> Self {
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); bodies];
        for [a, b] in pairs.filter(|[a, b]| a != b) {
            next[a].push(b);
            next[b].push(a);
        }
        for of in &mut next {
            of.sort_unstable();
            of.dedup();
        }
        let mut turn = vec![usize::MAX; bodies];
        let mut beside = Vec::with_capacity(bodies);
        for k in 0..bodies {
            let left = (0..bodies).filter(|body| turn[*body] == usize::MAX);
            let body = left.min_by_key(|body| next[*body].len()).expect("a body for every turn");
            turn[body] = k;
            let own = std::mem::take(&mut next[body]);
            // Those that it couples are coupled with each other from now on.
            for a in &own {
                let of = &mut next[*a];
                of.retain(|b| *b != body);
                of.extend(own.iter().filter(|b| *b != a));
                of.sort_unstable();
                of.dedup();
            }
            beside.push(own);
        }
        let later = |own: Vec<usize>| {
            let mut later: Vec<usize> = own.into_iter().map(|body| turn[body]).collect();
            later.sort_unstable();
            later
        };
        let later: Vec<Vec<usize>> = beside.into_iter().map(later).collect();
        let sum = |sum: &mut usize, of: &Vec<usize>| Some(std::mem::replace(sum, *sum + of.len()));
        let first: Vec<usize> = later.iter().scan(0, sum).collect();
        let blocks = later.iter().map(Vec::len).sum();
        Self {
            turn,
            later,
            first,
            diagonal: vec![Matrix6::zeros(); bodies],
            below: vec![Matrix6::zeros(); blocks],
            right: vec![Matrix6::zeros(); blocks],
            factors: Vec::with_capacity(bodies),
        }
    }

    /// Makes it a multiple of the identity.
    pub(super) fn set_diagonal(&mut self, value: f64) {
        self.diagonal.fill(Matrix6::from_diagonal_element(value));
        self.below.fill(Matrix6::zeros());
        self.right.fill(Matrix6::zeros());
    }

    /// The block of these turns.
    fn block(&mut self, row: usize, column: usize) -> &mut Matrix6<f64> {
        if row == column {
            return &mut self.diagonal[row];
        }
        let (turn, other) = (row.min(column), row.max(column));
        let at = self.first[turn] + self.later[turn].binary_search(&other).expect("bodies that are coupled");
        if row > column { &mut self.below[at] } else { &mut self.right[at] }
    }

    /// Adds to the block of two bodies.
    pub(super) fn add(&mut self, row: usize, column: usize, value: &Matrix6<f64>) {
        *self.block(self.turn[row], self.turn[column]) += value;
    }

    /// Factorises; false if a pivot is zero or not finite.
    pub(super) fn factorise(&mut self) -> bool {
        self.factors.clear();
        for k in 0..self.turn.len() {
            let factor = self.diagonal[k].lu();
            let pivots = factor.u().diagonal();
            if !pivots.iter().all(|pivot| *pivot != 0.0 && pivot.is_finite()) {
                return false;
            }
            self.factors.push(factor);
            let (first, later) = (self.first[k], std::mem::take(&mut self.later[k]));
            for at in 0..later.len() {
                factor.solve_mut(&mut self.right[first + at]);
            }
            for (i, row) in later.iter().enumerate() {
                let below = self.below[first + i];
                for (j, column) in later.iter().enumerate() {
                    let change = below * self.right[first + j];
                    *self.block(*row, *column) -= change;
                }
            }
            self.later[k] = later;
        }
        true
    }

    /// Solves for a right side, in its place.
    pub(super) fn solve(&self, right: &mut [Vector6<f64>]) {
        let mut x = vec![Vector6::zeros(); right.len()];
        for (turn, right) in self.turn.iter().zip(&*right) {
            x[*turn] = *right;
        }
        for (k, later) in self.later.iter().enumerate() {
            self.factors[k].solve_mut(&mut x[k]);
            let own = x[k];
            for (row, block) in later.iter().zip(&self.below[self.first[k]..]) {
                x[*row] -= block * own;
            }
        }
        for (k, later) in self.later.iter().enumerate().rev() {
            for (column, block) in later.iter().zip(&self.right[self.first[k]..]) {
                let change = block * x[*column];
                x[k] -= change;
            }
        }
        for (turn, right) in self.turn.iter().zip(right) {
            *right = x[*turn];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sparse_system_has_the_dense_solution(
            bodies in 1usize..9,
            pairs in prop::collection::vec([0usize..9, 0usize..9], 0..16),
            values in prop::collection::vec(-1.0..1.0f64, 54 * 55),
        ) {
            let pairs: Vec<_> = pairs.into_iter().map(|pair| pair.map(|body| body % bodies)).collect();
            let mut sparse = Sparse::new(bodies, pairs.iter().copied());
            sparse.set_diagonal(8.0);
            let size = 6 * bodies;
            let mut dense = DMatrix::from_diagonal_element(size, size, 8.0);
            let own = (0..bodies).map(|body| [body, body]);
            for [row, column] in own.chain(pairs.iter().flat_map(|[a, b]| [[*a, *b], [*b, *a]])) {
                let block = Matrix6::from_fn(|r, c| values[(6 * row + r) * 54 + 6 * column + c]);
                sparse.add(row, column, &block);
                let mut part = dense.fixed_view_mut::<6, 6>(6 * row, 6 * column);
                part += block;
            }
            let right = DVector::from_fn(size, |k, _| values[54 * 54 + k]);
            let Some(wanted) = dense.clone().lu().solve(&right) else { return Ok(()) };
            prop_assume!(sparse.factorise());
            let mut found: Vec<_> = right.as_slice().chunks_exact(6).map(Vector6::from_column_slice).collect();
            sparse.solve(&mut found);
            let found = DVector::from_iterator(size, found.iter().flat_map(|x| x.iter().copied()));
            let left = (&dense * &found - &right).amax();
            prop_assert!(left <= 1e-9 * (1.0 + found.amax()), "{left:e}");
            let condition = dense.try_inverse().map_or(f64::INFINITY, |inverse| inverse.amax());
            prop_assert!((found - wanted).amax() <= 1e-9 * (1.0 + condition));
        }
    }
}
