//! The division of contacts into packs that are stepped together: contacts with few bristles share a solver,
//! one in each lane.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::contact::{Contact, Model};
use crate::friction::Law;
use crate::point::PointLaw;
use crate::pool;

/// Grids of at most this many cells are stepped one in each lane. The cells of larger ones fill the lanes by
/// themselves, and a contact alone is finished sooner.
const FEW_CELLS: usize = 50;

/// Largest number of large grids, or of solvers with several lanes, in a pack.
const MOST: usize = 32;

/// What contacts must have in common to be stepped in the lanes of one solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shared {
    law: Law,
    gaussian: bool,
    /// Whether friction differs by region.
    mapped: bool,
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
            Model::Distributed | Model::Layer(_) | Model::Point(_) => (false, false),
            Model::LimitSurface(_, form) => (false, form.is_elastic(law)),
            Model::Ellipsoid(form) => (true, form.is_elastic(law)),
        };
        let cells = contact.model.is_grid().then(|| most_cells(contact));
        let point = contact.model.point().map(|model| (model.law, model.elements().len()));
        let (gaussian, mapped) = (contact.friction.gamma == 2.0, contact.patch.friction_map().is_some());
        Self { law, gaussian, mapped, cells, ellipsoid, consistent, point }
    }
}

/// Whether a contact has too few bristles to fill the lanes by itself, and is stepped in one lane. One whose
/// patches have inputs of their own, or one of an elastic layer, is alone in its solver.
pub fn has_few_bristles(contact: &Contact) -> bool {
    !contact.model.is_grid() || cells(contact) <= FEW_CELLS && !contact.drives_parts() && contact.layer().is_none()
}

/// Whether two contacts may be in one solver of so many `lanes`, one after the other or side by side. A
/// solver holds the tables of limit surfaces that were ever in it, so that these must be the same.
pub fn can_share(one: &Contact, other: &Contact, lanes: usize) -> bool {
    let is_large = |contact: &Contact| contact.model.is_grid() && !(lanes > 1 && has_few_bristles(contact));
    if is_large(one) || is_large(other) {
        return is_large(one) && is_large(other);
    }
    let same_table = match (&one.model, &other.model) {
        (Model::LimitSurface(one, _), Model::LimitSurface(other, _)) => Arc::ptr_eq(one, other),
        _ => true,
    };
    same_table && Shared::of(one) == Shared::of(other)
}

/// Number of cells that carry pressure, or, of a map that changes, that may; rounded up, so that
/// contacts of nearly the same size share a pack.
pub fn most_cells(contact: &Contact) -> usize {
    cells(contact).next_multiple_of(4)
}

fn cells(contact: &Contact) -> usize {
    let changes = contact.patch.changes() || contact.patch.takes_frames();
    if changes { contact.patch.grid().len() } else { contact.patch.count_cells() }
}

/// Divides contacts, known by their indices, into packs. First come packs of contacts with many bristles,
/// which are stepped one after the other; then packs of solvers, one after the other, with at most `lanes`
/// contacts with few bristles each, or with fewer if some threads would have no pack otherwise. A pack has as
/// many grids or solvers as leave so many packs `wanted`, and no more than [`MOST`].
pub fn divide(contacts: &[Contact], lanes: usize, wanted: usize) -> Vec<Vec<usize>> {
    let are_small: Vec<bool> = contacts.iter().map(|contact| lanes > 1 && has_few_bristles(contact)).collect();
    let is_large = |(contact, is_small): &(&Contact, &bool)| !**is_small && contact.model.is_grid();
    let grids = (contacts.iter().zip(&are_small).filter(is_large).count() / wanted).clamp(1, MOST);
    let mut packs: Vec<Vec<usize>> = Vec::new();
    // Whether the last pack has space for another grid.
    let mut open = false;
    let mut by_kind: BTreeMap<Shared, Vec<usize>> = BTreeMap::new();
    for (k, contact) in contacts.iter().enumerate() {
        if are_small[k] {
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
        let solvers = (items.len() / lanes / wanted).clamp(1, MOST);
        if solvers > 1 {
            packs.extend(items.chunks(solvers * lanes).map(<[usize]>::to_vec));
            continue;
        }
        let count = items.len().div_ceil(lanes).max(pool::threads().min(items.len()));
        packs.extend((1..=count).rev().map(|left| items.split_off(items.len() - items.len() / left)));
    }
    packs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::Form;
    use crate::fixtures::{disc, held};
    use crate::friction::Friction;
    use crate::limit_surface::{Rule, Table};
    use crate::patch::{Grid, Patch};
    use crate::point::PointModel;

    /// A patch with pressure on so many of 7 x 7 cells.
    fn cells(n: usize) -> Arc<Patch> {
        let pressure: Vec<f64> = (0..49).map(|i| if i < n { 1.0 } else { 0.0 }).collect();
        Arc::new(Patch::from_pressure(Grid::new(7, 7, 0.02, 0.02).unwrap(), &pressure).unwrap())
    }

    /// Contacts, each with the name of the kind that may share lanes, all kinds in turn.
    fn contacts() -> Vec<(&'static str, Contact)> {
        let table = Arc::new(Table::new(&cells(49), Rule::Points, 4).unwrap());
        let under =
            |friction: Friction, patch: &Arc<Patch>| Contact { friction, ..held(Model::Distributed, patch, 1.0) };
        let lugre = Friction { law: Law::LuGre, ..Friction::default() };
        let tustin = Friction { gamma: 1.0, ..Friction::default() };
        let surface = |form| Model::LimitSurface(Arc::clone(&table), form);
        let round = |k: usize| {
            [
                ("29 to 32 cells", under(Friction::default(), &cells(29 + k % 4))),
                ("25 to 28 cells", under(Friction::default(), &cells(25 + k % 4))),
                ("21 to 24 cells", under(Friction::default(), &cells(24 - k % 4))),
                ("LuGre", under(lugre, &cells(25))),
                ("Tustin", under(tustin, &cells(25))),
                ("large", under(Friction::default(), &disc(11 + k % 2))),
                ("large", under(lugre, &disc(13))),
                ("ellipsoid", held(Model::Ellipsoid(Form::Consistent), &disc(5 + k), 1.0)),
                ("ellipsoid as published", held(Model::Ellipsoid(Form::Published), &disc(5), 1.0)),
                ("surface", held(surface(Form::Consistent), &disc(5 + k), 1.0)),
                ("surface as published", held(surface(Form::Published), &disc(5), 1.0)),
                ("point", held(PointModel::default(), &disc(5), 1.0)),
                ("point of Dahl", held(PointModel { law: PointLaw::Dahl, ..PointModel::default() }, &disc(5), 1.0)),
            ]
        };
        (0..10).flat_map(round).collect()
    }

    #[test]
    fn every_contact_is_in_one_pack_and_lanes_are_shared_with_its_kind_alone() {
        let (names, contacts): (Vec<&str>, Vec<Contact>) = contacts().into_iter().unzip();
        for lanes in [1, 4, 8, 16] {
            // With one lane every grid is stepped as a large one.
            let is_large = |k: usize| contacts[k].model.is_grid() && (lanes == 1 || names[k] == "large");
            let large = (0..contacts.len()).filter(|k| is_large(*k)).count();
            for grids in [1, 3, 32] {
                let wanted = (large / grids).max(1);
                let packs = divide(&contacts, lanes, wanted);
                // There are ten of each kind.
                let few = (10 / lanes / wanted).max(1) * lanes;
                let mut all = packs.concat();
                all.sort_unstable();
                assert_eq!(all, (0..contacts.len()).collect::<Vec<_>>(), "{lanes} lanes, {grids} grids");
                for pack in &packs {
                    let first = pack[0];
                    let most = if is_large(first) { grids } else { few };
                    assert!((1..=most).contains(&pack.len()), "{lanes} lanes, {grids} grids: {pack:?}");
                    for &k in pack {
                        let fits = if is_large(first) { is_large(k) } else { names[k] == names[first] };
                        assert!(fits, "{} with {}, {lanes} lanes, {grids} grids", names[k], names[first]);
                    }
                }
                if lanes > 1 {
                    // The large ones, two in each of ten rounds, come first.
                    let large = packs.iter().take_while(|pack| names[pack[0]] == "large").count();
                    assert_eq!(large, 20usize.div_ceil(grids), "{lanes} lanes, {grids} grids");
                }
            }
        }
    }

    #[test]
    fn a_pack_of_many_contacts_has_full_solvers_and_leaves_as_many_packs_as_are_wanted() {
        for (count, lanes, wanted, packs, largest) in
            [(1000, 8, 16, 18, 56), (100_000, 8, 16, 391, 256), (4096, 4, 16, 32, 128), (255, 8, 16, 32, 8)]
        {
            let contacts = vec![held(Model::Ellipsoid(Form::Consistent), &disc(5), 1.0); count];
            let sizes: Vec<usize> = divide(&contacts, lanes, wanted).iter().map(Vec::len).collect();
            assert_eq!((sizes.len(), *sizes.iter().max().unwrap()), (packs, largest), "{count} contacts");
            assert_eq!(sizes.iter().sum::<usize>(), count);
            let (_, all_but_last) = sizes.split_last().unwrap();
            assert!(largest == lanes || all_but_last.iter().all(|size| size % lanes == 0), "{sizes:?}");
        }
    }

    #[test]
    fn no_thread_is_without_work_where_there_are_contacts_for_it() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for (count, lanes, packs) in [(2, 16, 2), (3, 16, 3), (7, 16, 3), (48, 16, 3), (49, 16, 4), (100, 8, 13)] {
            let contacts = vec![held(Model::Distributed, &disc(5), 1.0); count];
            let sizes: Vec<usize> =
                pool.install(|| divide(&contacts, lanes, usize::MAX)).iter().map(Vec::len).collect();
            assert_eq!(sizes.len(), packs, "{count} contacts: {sizes:?}");
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most - least <= 1 && *most <= lanes, "{count} contacts: {sizes:?}");
        }
    }
}
