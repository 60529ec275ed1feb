//! The memory that batches and snapshots take, counted before it is taken.

use super::{Clock, Input, Start, State, snapshot::Drives};
use crate::contact::{Contact, ModelKind, PatchInputs};
use crate::memory::{FEWER_CONTACTS, MemoryError, check};
use crate::patch::Patch;
use crate::schedule::{Signal, slot};

/// Memory [byte] of the state of a contact on its engine, beside its bristles: its lane, its place in a
/// timeline, its sample and its status. Measured on the CPU, and rounded up, as the next ones.
const LANE: u64 = 2300;
/// Of a bristle of a grid that is stepped in one lane, beside others.
const LANE_CELL: u64 = 850;
/// Largest number of bristles of such a grid.
const MOST_IN_LANE: u64 = 50;
/// Of a bristle of a larger grid.
const CELL: u64 = 64;
/// Of a run of cells of several patches with inputs of their own, of which there may be one for each group of
/// at least four cells, and of such a patch on its engine.
const PART_RUN: u64 = 128;
const PART: u64 = 600;
/// What an allocation takes beside what is asked for.
const ALLOCATION: u64 = 16;

/// Memory \[byte\] that `n` contacts like these `few` take on an engine, about, and `copies` of what they are
/// made of, of which a batch keeps one. A map or table that they share counts once.
pub fn memory(few: &[Contact], n: usize, copies: u64) -> u64 {
    let most = |of: fn(&Contact) -> u64| few.iter().map(of).max().unwrap_or(0);
    let shared = crate::contact::one_more(few);
    (n as u64).saturating_mul(copies * most(own) + shared + most(start) + LANE + most(bristles))
}

/// Refuses a batch of `n` contacts like these `few` for which there is no memory, before they are drawn:
/// with `copies` of what they are made of, of which a batch keeps one.
///
/// # Errors
/// Less memory than it takes.
pub fn check_memory(few: &[Contact], n: usize, copies: u64) -> Result<(), MemoryError> {
    check(|| format!("a batch of {n} contacts"), memory(few, n, copies), FEWER_CONTACTS)
}

/// Memory [byte] of one copy of what a contact is made of, without its map and table.
fn own(contact: &Contact) -> u64 {
    // Half a dozen signals have an allocation each.
    let signals = contact.signal_memory() as u64 + 8 * ALLOCATION;
    size_of::<Contact>() as u64 + signals + of_parts(contact)
}

/// Memory [byte] of what a batch keeps of the start of a contact that is driven by one input or by frames.
fn start(contact: &Contact) -> u64 {
    let frames =
        if contact.patch.takes_frames() { size_of_val(&**contact.patch.map()) + size_of::<Patch>() } else { 0 };
    (size_of::<Start>() + size_of::<(Input, Option<Signal>)>() + frames) as u64 + 2 * ALLOCATION
}

/// Memory [byte] of what several patches with inputs of their own have beside their signals, each time.
fn of_parts(contact: &Contact) -> u64 {
    (contact.inputs.patches.len() * size_of::<PatchInputs>()) as u64
}

/// Memory [byte] of the bristles of a grid.
fn bristles(contact: &Contact) -> u64 {
    if !contact.model.is_grid() {
        return 0;
    }
    let patch = &contact.patch;
    let all = patch.changes() || patch.takes_frames();
    let cells = if all { patch.grid().len() } else { patch.count_cells() } as u64;
    let runs = match contact.drives_parts() {
        true => cells / 4 * PART_RUN + contact.inputs.patches.len() as u64 * PART,
        // Each group has a factor of its own.
        false if contact.layer().is_some() => cells / 4 * PART_RUN,
        false => 0,
    };
    runs + cells * if cells <= MOST_IN_LANE { LANE_CELL } else { CELL }
}

/// Refuses a snapshot of these contacts, with so many pairs of bristles, for which there is no memory. A
/// batch that is put back to it keeps as many inputs again, those at the start.
pub(super) fn check_snapshot(contacts: &[Contact], pairs: usize) -> Result<(), MemoryError> {
    let Some(first) = contacts.first() else { return Ok(()) };
    let fixed = size_of::<State>() + size_of::<Clock>() + size_of::<ModelKind>();
    let inputs = (size_of::<Drives>() + first.signal_memory()) as u64 + of_parts(first) + 8 * ALLOCATION;
    let parts = (first.inputs.patches.len() * size_of::<[f64; slot::OF_PART]>()) as u64;
    let each = fixed as u64 + 2 * inputs + parts + 512;
    let bytes = contacts.len() as u64 * each + (pairs * size_of::<[f64; 2]>()) as u64;
    check(|| format!("a snapshot of {} contacts", contacts.len()), bytes, FEWER_CONTACTS)
}
