//! Which bodies touch each other, directly or through others.

/// Bodies that touch, and the contacts between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Members {
    /// Indices of bodies.
    pub bodies: Vec<usize>,
    /// Indices of contacts.
    pub contacts: Vec<usize>,
}

/// The islands of so many bodies with these contacts, of which those between bodies that forces do not move
/// have `None`.
pub(super) fn islands(count: usize, contacts: &[[Option<usize>; 2]]) -> Vec<Members> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut touched = vec![false; count];
    for ends in contacts {
        ends.iter().flatten().for_each(|body| touched[*body] = true);
        if let [Some(a), Some(b)] = *ends {
            next[a].push(b);
            next[b].push(a);
        }
    }
    let mut of: Vec<Option<usize>> = vec![None; count];
    let mut out: Vec<Members> = Vec::new();
    for body in (0..count).filter(|body| touched[*body]) {
        if of[body].is_some() {
            continue;
        }
        let island = Some(out.len());
        of[body] = island;
        let mut bodies = vec![body];
        let mut at = 0;
        while at < bodies.len() {
            for other in &next[bodies[at]] {
                if of[*other].is_none() {
                    of[*other] = island;
                    bodies.push(*other);
                }
            }
            at += 1;
        }
        bodies.sort_unstable();
        out.push(Members { bodies, contacts: Vec::new() });
    }
    for (k, ends) in contacts.iter().enumerate() {
        if let Some(body) = ends.iter().flatten().next() {
            out[of[*body].expect("a body that touches")].contacts.push(k);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tower_is_one_island_and_two_boxes_on_a_table_are_two() {
        let tower = islands(4, &[[None, Some(2)], [Some(2), Some(0)], [Some(0), Some(3)], [Some(3), Some(1)]]);
        assert_eq!(tower.len(), 1);
        assert_eq!(tower[0].bodies, [0, 1, 2, 3]);
        assert_eq!(tower[0].contacts, [0, 1, 2, 3]);
        let two = islands(3, &[[None, Some(2)], [None, Some(0)], [Some(2), None]]);
        assert_eq!(two.iter().map(|m| m.bodies.clone()).collect::<Vec<_>>(), [[0], [2]]);
        assert_eq!(two.iter().map(|m| m.contacts.clone()).collect::<Vec<_>>(), [vec![1], vec![0, 2]]);
        assert!(islands(2, &[]).is_empty());
    }
}
