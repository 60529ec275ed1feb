//! The order in which bodies and pairs take part in a contact problem: that of where bodies begin. So the
//! solution, one of several where there are several, does not depend on the order of a file.

use std::cmp::Ordering;

use super::body::{State, WorldBody};

/// Ranks of the bodies and pairs of a world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    bodies: Vec<usize>,
    pairs: Vec<usize>,
}

impl Order {
    /// The order of bodies in these states with these pairs.
    pub(super) fn new(bodies: &[WorldBody], states: &[State], pairs: impl Iterator<Item = [usize; 2]>) -> Self {
        // Two bodies in one place, with one turn and one mass, are as good as each other.
        let compare = |a: &usize, b: &usize| {
            let key = |i: usize| {
                let (pose, velocity) = (&states[i].pose, states[i].velocity);
                let at = pose.translation.vector.iter().chain(pose.rotation.coords.iter());
                at.chain(velocity.iter()).copied().chain([bodies[i].mass]).collect::<Vec<f64>>()
            };
            let pairs = key(*a).into_iter().zip(key(*b));
            pairs.map(|(a, b)| a.total_cmp(&b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        let ranks = ranks(bodies.len(), compare);
        let ends: Vec<[usize; 2]> = pairs
            .map(|pair| {
                let [a, b] = pair.map(|i| ranks[i]);
                [a.min(b), a.max(b)]
            })
            .collect();
        let pairs = self::ranks(ends.len(), |a, b| ends[*a].cmp(&ends[*b]));
        Self { bodies: ranks, pairs }
    }

    /// Numbers of bodies and pairs.
    pub(super) fn sizes(&self) -> [usize; 2] {
        [self.bodies.len(), self.pairs.len()]
    }

    /// The rank of a body.
    pub(super) fn body(&self, body: usize) -> usize {
        self.bodies[body]
    }

    /// The rank of a pair.
    pub(super) fn pair(&self, pair: usize) -> usize {
        self.pairs[pair]
    }
}

/// The rank of each of so many things.
fn ranks(count: usize, compare: impl Fn(&usize, &usize) -> Ordering) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..count).collect();
    sorted.sort_by(compare);
    let mut ranks = vec![0; count];
    sorted.into_iter().enumerate().for_each(|(rank, of)| ranks[of] = rank);
    ranks
}
