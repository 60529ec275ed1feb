//! The memory that contacts need in the device's buffers. From it follows how many contacts form a group and
//! how many samples a window has.

use std::collections::HashSet;
use std::sync::Arc;

use super::buffer::BUFFER_BUDGET;
use super::contact::BatchContact;
use super::layout;
use crate::contact::{Contact, Model, reshapes};
use crate::error::EngineError;

/// Largest size [byte] of a buffer for the inputs of several contacts, even if the adapter allows more; one
/// contact alone may use all that the adapter allows.
const INPUTS_BUDGET: u64 = 512 << 20;
/// Least memory [byte] that is counted for a contact in any buffer: for its parameters, its state, a sample.
const LEAST: u64 = 1024;
/// Largest number of contacts of a dispatch.
const MOST_CONTACTS: usize = 65_536;

/// Memory [byte] of some contacts in the buffers that may become too large.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    /// Cells, bristles and the like, the largest of them.
    own: u64,
    /// Cells of the frames that contacts follow.
    frames: u64,
    /// Limit surfaces for the whole run.
    tables: u64,
    /// The interval that holds the map before a window.
    before: u64,
    /// For one sample: intervals, sinusoids, and limit surfaces of maps that change their shape.
    intervals: u64,
    terms: u64,
    new_tables: u64,
}

impl Memory {
    /// Of one contact; its limit surface counts if it is not among those `seen`.
    fn of(contact: &BatchContact, of: &Contact, seen: &mut HashSet<usize>) -> Self {
        let pairs = contact.bristle_pairs() as u64;
        // A bristle and its saved state.
        let cell = size_of::<layout::MapCell>().max(2 * size_of::<[f32; 2]>()) as u64;
        let [intervals, maps] = contact.timeline.densest().map(|n| n as u64);
        let mut memory = Self {
            own: LEAST.max(pairs * cell),
            before: size_of::<layout::Interval>() as u64,
            intervals: intervals * size_of::<layout::Interval>() as u64,
            terms: intervals * (of.most_terms() * size_of::<layout::Term>()) as u64,
            ..Self::default()
        };
        if let Some(sequence) = of.patch.sequence().filter(|_| of.model.is_grid()) {
            let bytes = pairs * (sequence.map_count() * size_of::<layout::MapCell>()) as u64;
            memory.frames = if seen.insert(Arc::as_ptr(sequence).addr()) { bytes } else { 0 };
        }
        if let Model::LimitSurface(table, _) = &of.model {
            let bytes = (table.nodes().len() * size_of::<[f32; 3]>()) as u64;
            memory.tables = if seen.insert(Arc::as_ptr(table).addr()) { bytes } else { 0 };
            if reshapes(&of.patch) {
                // The table of the window before is in the buffer, too.
                memory.tables += bytes;
                memory.new_tables = maps * bytes;
            }
        }
        memory
    }

    fn with(self, other: Self) -> Self {
        Self {
            own: self.own + other.own,
            frames: self.frames + other.frames,
            before: self.before + other.before,
            tables: self.tables + other.tables,
            intervals: self.intervals + other.intervals,
            terms: self.terms + other.terms,
            new_tables: self.new_tables + other.new_tables,
        }
    }

    /// The fullest buffer of inputs, with one sample a window [byte].
    fn inputs(&self) -> u64 {
        (self.tables + self.new_tables).max(self.before + self.intervals).max(self.terms)
    }

    /// Refuses inputs, of `contact` or of a group that begins with it, for which buffers of at most `limit`
    /// bytes are too small.
    fn check(&self, contact: usize, limit: u64) -> Result<(), EngineError> {
        let requested = self.inputs().max(self.frames);
        if requested <= limit {
            return Ok(());
        }
        let (what, remedy) = if requested == self.frames {
            (
                "bytes of pressure frames",
                "take fewer frames (`patch.frames`, or a longer `patch.indenter.every`) or fewer `patch.cells`",
            )
        } else if requested == self.tables + self.new_tables {
            (
                "bytes of limit surfaces between two samples",
                "record more often, make maps less often (`patch.update`) or coarser tables (`contact.n_ls`)",
            )
        } else {
            ("bytes of inputs between two samples", "record more often, or hold the inputs for longer")
        };
        Err(EngineError::Limit { contact, what, requested, max: limit, remedy })
    }

    /// Whether the contacts fit into buffers of at most `limit` bytes.
    fn fits(&self, limit: u64) -> bool {
        // Limit surfaces that are made for a window are held to the smaller budget, because until they are on
        // the device they take ten times as much memory of the host.
        let made = self.own.max(self.new_tables);
        made <= BUFFER_BUDGET.min(limit) && self.inputs().max(self.own + self.frames) <= INPUTS_BUDGET.min(limit)
    }
}

/// Refuses contacts of a group whose inputs between two samples do not fit into
/// buffers of at most `limit` bytes.
pub(super) fn check_window(contacts: &[BatchContact], of: &[Contact], limit: u64) -> Result<(), EngineError> {
    let mut seen = HashSet::new();
    let memory = contacts.iter().map(|contact| Memory::of(contact, &of[contact.index], &mut seen));
    let contact = contacts.first().map_or(0, |contact| contact.index);
    memory.fold(Memory::default(), Memory::with).check(contact, limit)
}

/// Divides `contacts` into batches that fit into buffers of at most `limit` bytes with one sample a window.
///
/// # Errors
/// A contact that does not fit alone.
pub(super) fn split(
    contacts: Vec<BatchContact>,
    of: &[Contact],
    limit: u64,
) -> Result<Vec<Vec<BatchContact>>, EngineError> {
    let (mut out, mut part) = (Vec::new(), Vec::new());
    let (mut taken, mut seen) = (Memory::default(), HashSet::new());
    for contact in contacts {
        let own = &of[contact.index];
        let all = taken.with(Memory::of(&contact, own, &mut seen));
        if all.fits(limit) && part.len() < MOST_CONTACTS {
            taken = all;
            part.push(contact);
            continue;
        }
        if !part.is_empty() {
            out.push(std::mem::take(&mut part));
        }
        seen.clear();
        taken = Memory::of(&contact, own, &mut seen);
        taken.check(contact.index, limit)?;
        part.push(contact);
    }
    out.push(part);
    Ok(out)
}

/// How many samples of `contacts` fit into a window, at least one.
pub(super) fn samples_that_fit(contacts: &[BatchContact], of: &[Contact], limit: u64) -> usize {
    let budget = INPUTS_BUDGET.min(limit);
    let mut seen = HashSet::new();
    let memory = contacts
        .iter()
        .map(|contact| Memory::of(contact, &of[contact.index], &mut seen))
        .fold(Memory::default(), Memory::with);
    let fit = |budget: u64, each: u64| budget.checked_div(each).unwrap_or(u64::MAX);
    let tables = fit(budget.saturating_sub(memory.tables).min(BUFFER_BUDGET), memory.new_tables);
    fit(budget.saturating_sub(memory.before), memory.intervals)
        .min(fit(budget, memory.terms))
        .min(tables)
        .clamp(1, usize::MAX as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;
    use crate::contact::{Form, Initial, Inputs};
    use crate::engine::Plan;
    use crate::friction::Friction;
    use crate::limit_surface::{Rule, Table};
    use crate::patch::{Exponent, Grid, Hertz, Patch};
    use crate::planar::Twist;
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
            body: Body::prescribed(Twist::default()),
            inputs: Inputs { normal_force: Signal::linear(&points).unwrap(), ..Inputs::default() },
            initial: Initial::default(),
        }
    }

    /// As an engine prepares them.
    fn prepared(contacts: &[Contact], plan: &Plan) -> Vec<BatchContact> {
        let prepare = |(k, c): (usize, &Contact)| {
            let timeline = c.timeline(&plan.samples);
            let active = if c.model.is_grid() { c.active_cells(&timeline) } else { Vec::new() };
            BatchContact::new(k, c, timeline, active)
        };
        contacts.iter().enumerate().map(prepare).collect()
    }

    #[test]
    fn what_is_too_large_for_a_buffer_goes_in_parts() {
        let plan = Plan::new(1.0, 1e-3, 0.1).unwrap();
        let interval = size_of::<layout::Interval>() as u64;
        let contacts = vec![contact(Exponent::Fixed(2.0)); 20];
        let some = |n: usize| prepared(&contacts[..n], &plan);
        // A hundred intervals a sample; the table is shared and its map keeps its shape.
        let parts = |limit: u64| split(some(20), &contacts, limit).unwrap().iter().map(Vec::len).collect::<Vec<_>>();
        // An interval more holds the map before them.
        assert_eq!(parts(606 * interval), [6, 6, 6, 2]);
        assert_eq!(parts(u64::MAX), [20]);
        assert_eq!(samples_that_fit(&some(1), &contacts, 601 * interval), 6);
        assert_eq!(samples_that_fit(&some(4), &contacts, 604 * interval), 1);
        match split(some(20), &contacts, 99 * interval) {
            Err(EngineError::Limit { contact, what, requested, max, .. }) => {
                assert!(what.contains("inputs"), "{what}");
                assert_eq!((contact, requested, max), (0, 101 * interval, 99 * interval));
            }
            Err(other) => panic!("{other}"),
            Ok(parts) => panic!("{} parts", parts.len()),
        }
        // A map that changes its shape has a table for each of them, one that it comes with, and the first,
        // which they share.
        let contacts = vec![contact(Exponent::PerNewton(1.0)); 3];
        let some = |n: usize| prepared(&contacts[..n], &plan);
        let table = 17 * 5 * 12;
        let parts = |tables: u64| split(some(3), &contacts, tables * table).unwrap().len();
        assert_eq!([parts(304), parts(303), parts(203), parts(102)], [1, 2, 2, 3]);
        assert!(split(some(3), &contacts, 101 * table).is_err());
        assert_eq!(samples_that_fit(&some(1), &contacts, 502 * table), 5);
    }
}
