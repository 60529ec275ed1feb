//! The division of contacts into packs that are stepped together: contacts with few bristles share a solver,
//! one in each lane.

use std::collections::BTreeMap;

use crate::contact::{Contact, Model};
use crate::friction::Law;
use crate::point::PointLaw;
use crate::pool;

/// Grids of at most this many cells are stepped one in each lane. The cells of larger ones fill the lanes by
/// themselves, and a contact alone is finished sooner.
const FEW_CELLS: usize = 50;

/// What contacts must have in common to be stepped in the lanes of one solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shared {
    law: Law,
    gaussian: bool,
    /// Number of cells of a grid, rounded up; none for a reduced bristle.
    cells: Option<usize>,
    ellipsoid: bool,
    consistent: bool,
    /// Law and number of elements of a point contact.
    point: Option<(PointLaw, usize)>,
}

impl Shared {
    fn of(contact: &Contact) -> Self {
        let law = contact.friction.law;
        let (ellipsoid, consistent) = match &contact.model {
            Model::Distributed | Model::Point(_) => (false, false),
            Model::LimitSurface(_, form) => (false, form.is_elastic(law)),
            Model::Ellipsoid(form) => (true, form.is_elastic(law)),
        };
        let cells = contact.model.is_grid().then(|| most_cells(contact));
        let point = contact.model.point().map(|model| (model.law, model.elements().len()));
        Self { law, gaussian: contact.friction.gamma == 2.0, cells, ellipsoid, consistent, point }
    }
}

/// Whether a contact has too few bristles to fill the lanes by itself, and is stepped in one lane.
pub fn has_few_bristles(contact: &Contact) -> bool {
    !contact.model.is_grid() || cells(contact) <= FEW_CELLS
}

/// Number of cells that carry pressure, or, of a map that changes, that may; rounded up, so that
/// contacts of nearly the same size share a pack.
pub fn most_cells(contact: &Contact) -> usize {
    cells(contact).next_multiple_of(4)
}

fn cells(contact: &Contact) -> usize {
    let changes = contact.patch.changes() || contact.patch.takes_frames();
    if changes { contact.patch.grid().len() } else { contact.patch.cells().len() }
}

/// Divides contacts, known by their indices, into packs. First come packs of at most `grids` contacts with
/// many bristles, which are stepped one after the other; then packs of at most `lanes` contacts with few
/// bristles, or of fewer if some threads would have no pack otherwise.
pub fn divide(contacts: &[Contact], lanes: usize, grids: usize) -> Vec<Vec<usize>> {
    let mut packs: Vec<Vec<usize>> = Vec::new();
    // Whether the last pack has space for another grid.
    let mut open = false;
    let mut by_kind: BTreeMap<Shared, Vec<usize>> = BTreeMap::new();
    for (k, contact) in contacts.iter().enumerate() {
        if lanes > 1 && has_few_bristles(contact) {
            by_kind.entry(Shared::of(contact)).or_default().push(k);
        } else if let Some(pack) = packs.last_mut().filter(|_| open && contact.model.is_grid()) {
            pack.push(k);
            open = pack.len() < grids;
        } else {
            open = grids > 1 && contact.model.is_grid();
            packs.push(vec![k]);
        }
    }
    for mut items in by_kind.into_values() {
        let count = items.len().div_ceil(lanes).max(pool::threads().min(items.len()));
        packs.extend((1..=count).rev().map(|left| items.split_off(items.len() - items.len() / left)));
    }
    packs
}
