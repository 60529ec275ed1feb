//! Which contacts are stepped together: those with few bristles, one in each lane of a solver.

use std::collections::BTreeMap;

use crate::contact::{Contact, Model};
use crate::friction::Law;

/// Grids of at most this many cells are stepped one in each lane: with more of them the lanes are full anyway,
/// and a contact by itself is done sooner.
const FEW_CELLS: usize = 50;

/// What contacts in the lanes of one solver have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shared {
    law: Law,
    gaussian: bool,
    /// Cells of a grid, rounded up.
    cells: Option<usize>,
    ellipsoid: bool,
    consistent: bool,
}

impl Shared {
    fn of(contact: &Contact) -> Self {
        let law = contact.friction.law;
        let (ellipsoid, consistent) = match &contact.model {
            Model::Distributed => (false, false),
            Model::LimitSurface(_, form) => (false, form.is_elastic(law)),
            Model::Ellipsoid(form) => (true, form.is_elastic(law)),
        };
        let cells = contact.model.is_grid().then(|| most_cells(contact));
        Self { law, gaussian: contact.friction.gamma == 2.0, cells, ellipsoid, consistent }
    }
}

/// Whether a contact is stepped in one lane of several: if it has too few bristles to fill them itself.
pub fn has_few_bristles(contact: &Contact) -> bool {
    !contact.model.is_grid() || cells(contact) <= FEW_CELLS
}

/// Cells that carry pressure, of a map that changes those that may; rounded up to sizes that
/// contacts share.
pub fn most_cells(contact: &Contact) -> usize {
    cells(contact).next_multiple_of(4)
}

fn cells(contact: &Contact) -> usize {
    let changes = contact.patch.rule().is_some() || contact.patch.takes_frames();
    if changes { contact.patch.grid().len() } else { contact.patch.cells().len() }
}

/// Contacts that are stepped together in so many `lanes`, or fewer where some thread would have nothing to do;
/// contacts with many bristles in packs of at most `grids`, which are stepped one after the other, first. `contact`
/// knows which contact an item stands for.
pub fn packs<'c, T>(items: Vec<T>, contact: impl Fn(&T) -> &'c Contact, lanes: usize, grids: usize) -> Vec<Vec<T>> {
    let mut packs: Vec<Vec<T>> = Vec::new();
    // Whether the last pack takes another grid.
    let mut open = false;
    let mut by_kind: BTreeMap<Shared, Vec<T>> = BTreeMap::new();
    for item in items {
        if lanes > 1 && has_few_bristles(contact(&item)) {
            by_kind.entry(Shared::of(contact(&item))).or_default().push(item);
        } else if let Some(pack) = packs.last_mut().filter(|_| open && contact(&item).model.is_grid()) {
            pack.push(item);
            open = pack.len() < grids;
        } else {
            open = grids > 1 && contact(&item).model.is_grid();
            packs.push(vec![item]);
        }
    }
    for mut items in by_kind.into_values() {
        let count = items.len().div_ceil(lanes).max(rayon::current_num_threads().min(items.len()));
        packs.extend((1..=count).rev().map(|left| items.split_off(items.len() - items.len() / left)));
    }
    packs
}
