//! Which bodies touch each other, directly or through others.

/// Bodies that touch, and the contacts between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Members {
    /// Indices of bodies, ordered so that bodies which touch are near to each other in the list.
    pub bodies: Vec<usize>,
    /// Indices of contacts, in order.
    pub contacts: Vec<usize>,
}

/// The islands of so many bodies with these contacts, of which those between bodies that forces do not move
/// have `None`.
pub(super) fn islands(count: usize, contacts: &[[Option<usize>; 2]]) -> Vec<Members> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for ends in contacts {
        if let [Some(a), Some(b)] = *ends {
            for (from, to) in [(a, b), (b, a)] {
                if !next[from].contains(&to) {
                    next[from].push(to);
                }
            }
        }
    }
    let mut touched = vec![false; count];
    contacts.iter().flatten().flatten().for_each(|body| touched[*body] = true);
    let mut of: Vec<Option<usize>> = vec![None; count];
    let mut out: Vec<Members> = Vec::new();
    for body in (0..count).filter(|body| touched[*body]) {
        if of[body].is_some() {
            continue;
        }
        let island = out.len();
        // From an end: the body that is found last is furthest away, and there the order begins.
        let end = *breadth_first(body, &next).last().expect("the body itself");
        let bodies = breadth_first(end, &next);
        bodies.iter().for_each(|body| of[*body] = Some(island));
        out.push(Members { bodies, contacts: Vec::new() });
    }
    for (k, ends) in contacts.iter().enumerate() {
        if let Some(body) = ends.iter().flatten().next() {
            out[of[*body].expect("a body that touches")].contacts.push(k);
        }
    }
    out
}

/// All that are connected with `first`, nearest first; of equally near ones those with few neighbours first.
fn breadth_first(first: usize, next: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![first];
    let mut at = 0;
    while at < seen.len() {
        let mut found: Vec<usize> = next[seen[at]].iter().copied().filter(|body| !seen.contains(body)).collect();
        found.sort_unstable_by_key(|body| next[*body].len());
        seen.extend(found);
        at += 1;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tower_is_one_island_in_its_order_and_two_boxes_on_a_table_are_two() {
        let tower = islands(4, &[[None, Some(2)], [Some(2), Some(0)], [Some(0), Some(3)], [Some(3), Some(1)]]);
        assert_eq!(tower.len(), 1);
        assert!(tower[0].bodies == [2, 0, 3, 1] || tower[0].bodies == [1, 3, 0, 2], "{tower:?}");
        assert_eq!(tower[0].contacts, [0, 1, 2, 3]);
        let two = islands(3, &[[None, Some(2)], [None, Some(0)], [Some(2), None]]);
        assert_eq!(two.iter().map(|m| m.bodies.clone()).collect::<Vec<_>>(), [[0], [2]]);
        assert_eq!(two.iter().map(|m| m.contacts.clone()).collect::<Vec<_>>(), [vec![1], vec![0, 2]]);
        assert!(islands(2, &[]).is_empty());
    }
}
