//! What contacts take of the device's buffers: how many go together, and how many samples a window has.

use std::collections::HashSet;
use std::sync::Arc;

use super::item::Item;
use super::layout;
use crate::contact::{Model, reshapes};
use crate::error::EngineError;

/// Bytes of a buffer for what contacts are and record at most, below every adapter's limit. So for limit
/// surfaces that are made for a window: until they are there, they take ten times as much of our memory.
pub(super) const BUFFER_BUDGET: u64 = 96 << 20;
/// Bytes of a buffer for the inputs of several contacts at most, however much the adapter has; one alone may
/// have all of that.
const INPUTS_BUDGET: u64 = 512 << 20;
/// What a contact takes of any buffer at least: its parameters, its state, a sample.
const LEAST: u64 = 1024;
/// Contacts of a dispatch at most.
const MOST_CONTACTS: usize = 65_536;

/// Bytes of some contacts in the buffers that may become too large.
#[derive(Clone, Copy, Debug, Default)]
struct Room {
    /// Cells, bristles and the like, the largest of them.
    own: u64,
    /// Limit surfaces for the whole run.
    tables: u64,
    /// For one sample: intervals, sinusoids, and limit surfaces of maps that change their shape.
    intervals: u64,
    terms: u64,
    new_tables: u64,
}

impl Room {
    /// Of one contact; its limit surface counts if it is not among those `seen`.
    fn of(item: &Item<'_>, seen: &mut HashSet<usize>) -> Self {
        let zetas = item.zetas() as u64;
        let cell = size_of::<layout::Cell>().max(size_of::<[f32; 2]>()) as u64;
        let [intervals, maps] = item.timeline.densest().map(|n| n as u64);
        let mut room = Self {
            own: LEAST.max(zetas * cell),
            intervals: intervals * size_of::<layout::Interval>() as u64,
            terms: intervals * (item.timeline.most_terms() * size_of::<layout::Term>()) as u64,
            ..Self::default()
        };
        if let Model::LimitSurface(table, _) = &item.contact.model {
            let bytes = (table.nodes().len() * size_of::<[f32; 3]>()) as u64;
            room.tables = if seen.insert(Arc::as_ptr(table).addr()) { bytes } else { 0 };
            if reshapes(&item.contact.patch) {
                // The one that it comes with from the window before.
                room.tables += bytes;
                room.new_tables = maps * bytes;
            }
        }
        room
    }

    fn with(self, other: Self) -> Self {
        Self {
            own: self.own + other.own,
            tables: self.tables + other.tables,
            intervals: self.intervals + other.intervals,
            terms: self.terms + other.terms,
            new_tables: self.new_tables + other.new_tables,
        }
    }

    /// The fullest buffer of inputs, with one sample a window [byte].
    fn inputs(&self) -> u64 {
        (self.tables + self.new_tables).max(self.intervals).max(self.terms)
    }

    /// Whether some contacts go together where a buffer has at most `limit` bytes.
    fn fits(&self, limit: u64) -> bool {
        let made = self.own.max(self.new_tables);
        made <= BUFFER_BUDGET.min(limit) && self.inputs() <= INPUTS_BUDGET.min(limit)
    }
}

/// Cuts `items` into runs that fit into buffers of at most `limit` bytes with one sample a window.
///
/// # Errors
/// A contact that does not fit alone.
pub(super) fn split<'i, 'a>(items: &'i [Item<'a>], limit: u64) -> Result<Vec<&'i [Item<'a>]>, EngineError> {
    let (mut out, mut start) = (Vec::new(), 0);
    let (mut taken, mut seen) = (Room::default(), HashSet::new());
    for (k, item) in items.iter().enumerate() {
        let all = taken.with(Room::of(item, &mut seen));
        if all.fits(limit) && k - start < MOST_CONTACTS {
            taken = all;
            continue;
        }
        if k > start {
            out.push(&items[start..k]);
            start = k;
        }
        seen.clear();
        taken = Room::of(item, &mut seen);
        let requested = taken.inputs();
        if requested > limit {
            let (what, remedy) = if requested == taken.tables + taken.new_tables {
                (
                    "bytes of limit surfaces between two samples",
                    "record more often, make maps less often (`patch.update`) or coarser tables (`contact.n_ls`)",
                )
            } else {
                ("bytes of inputs between two samples", "record more often, or hold the inputs for longer")
            };
            return Err(EngineError::Limit { contact: item.index, what, requested, max: limit, remedy });
        }
    }
    out.push(&items[start..]);
    Ok(out)
}

/// How many samples of `items` fit into a window, at least one.
pub(super) fn samples_that_fit(items: &[Item<'_>], limit: u64) -> usize {
    let budget = INPUTS_BUDGET.min(limit);
    let mut seen = HashSet::new();
    let room = items.iter().map(|item| Room::of(item, &mut seen)).fold(Room::default(), Room::with);
    let fit = |budget: u64, each: u64| budget.checked_div(each).unwrap_or(u64::MAX);
    let tables = fit(budget.saturating_sub(room.tables).min(BUFFER_BUDGET), room.new_tables);
    fit(budget, room.intervals).min(fit(budget, room.terms)).min(tables).clamp(1, usize::MAX as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;
    use crate::contact::{Contact, Form, Initial, Inputs};
    use crate::engine::Plan;
    use crate::friction::Friction;
    use crate::limit_surface::{Rule, Table};
    use crate::patch::{Exponent, Grid, Hertz, Patch};
    use crate::schedule::Signal;

    /// A normal force of a thousand break points in a second.
    fn contact(exponent: Exponent) -> Contact {
        let points: Vec<(f64, f64)> = (0..=1000).map(|k| (1e-3 * f64::from(k), 2.0 + f64::from(k % 2))).collect();
        let grid = Grid::new(9, 9, 0.02, 0.02).unwrap();
        let patch = Patch::hertz(grid, Hertz { radius: 2.0, exponent }, 2.0).unwrap();
        let table = Arc::new(Table::new(&patch, Rule::Points, 4).unwrap());
        Contact {
            patch: Arc::new(patch),
            model: Model::LimitSurface(table, Form::Consistent),
            friction: Friction::default(),
            body: Body::prescribed(),
            inputs: Inputs { normal_force: Signal::linear(&points).unwrap(), ..Inputs::default() },
            initial: Initial::default(),
        }
    }

    #[test]
    fn what_is_too_large_for_a_buffer_goes_in_parts() {
        let plan = Plan::new(1.0, 1e-3, 0.1).unwrap();
        let interval = size_of::<layout::Interval>() as u64;
        let contacts = vec![contact(Exponent::Fixed(2.0)); 20];
        let items: Vec<Item<'_>> = contacts.iter().enumerate().map(|(k, c)| Item::new(k, c, &plan)).collect();
        // A hundred intervals a sample; the table is shared and its map keeps its shape.
        let parts = |limit: u64| split(&items, limit).unwrap().iter().map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(parts(600 * interval), [6, 6, 6, 2]);
        assert_eq!(parts(u64::MAX), [20]);
        assert_eq!(samples_that_fit(&items[..1], 600 * interval), 6);
        assert_eq!(samples_that_fit(&items[..4], 600 * interval), 1);
        match split(&items, 99 * interval) {
            Err(EngineError::Limit { contact, what, requested, max, .. }) => {
                assert!(what.contains("inputs"), "{what}");
                assert_eq!((contact, requested, max), (0, 100 * interval, 99 * interval));
            }
            Err(other) => panic!("{other}"),
            Ok(parts) => panic!("{} parts", parts.len()),
        }
        // A map that changes its shape has a table for each of them, one that it comes with, and the first,
        // which they share.
        let contacts = vec![contact(Exponent::PerNewton(1.0)); 3];
        let items: Vec<Item<'_>> = contacts.iter().enumerate().map(|(k, c)| Item::new(k, c, &plan)).collect();
        let table = 17 * 5 * 12;
        let parts = |tables: u64| split(&items, tables * table).unwrap().len();
        assert_eq!([parts(304), parts(303), parts(203), parts(102)], [1, 2, 2, 3]);
        assert!(split(&items, 101 * table).is_err());
        assert_eq!(samples_that_fit(&items[..1], 502 * table), 5);
    }
}
