//! The memory that contacts take.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Contact, Model};

/// Memory \[byte\] that one more contact like these `few` takes for its own table, map and signals.
pub fn one_more(few: &[Contact]) -> u64 {
    let more = memory(few) - memory(&few[..few.len().min(1)]);
    more.div_ceil(few.len().saturating_sub(1).max(1)) as u64
}

/// Memory \[byte\] of the tables, maps and signals of `contacts`; what they share counts once.
pub fn memory(contacts: &[Contact]) -> usize {
    let mut seen = HashSet::new();
    let mut once = |place: usize, bytes: usize| if seen.insert(place) { bytes } else { 0 };
    let mut sum = 0;
    for contact in contacts {
        let map = contact.patch.map();
        sum += once(Arc::as_ptr(map).addr(), size_of_val(&**map)) + contact.signal_memory();
        if let Some(sequence) = contact.patch.sequence() {
            sum += once(Arc::as_ptr(sequence).addr(), sequence.memory());
        }
        sum += contact.patch.friction_memory().map_or(0, |(place, bytes)| once(place, bytes));
        if let Model::LimitSurface(table, _) = &contact.model {
            // Its nodes, and the same in the numbers of the engine.
            sum += once(Arc::as_ptr(table).addr(), 2 * size_of_val(table.nodes()));
        }
    }
    sum
}
