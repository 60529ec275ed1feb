//! What goes up to the device for a batch: once its contacts, cells and bristles, then window by window the
//! intervals of their inputs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::contact::{BatchContact, device_contact, device_state};
use super::layout::{self, State, flag};
use super::limit_surface::Surfaces;
use super::patch_state::{PatchState, TableStore, make_tables};
use crate::contact::{Bristles, RemapTransfer};
use crate::engine::Plan;
use crate::error::EngineError;
use crate::patch::{Grid, Patch};
use crate::schedule::Interval;

/// What the device holds of a batch from its start.
pub(super) struct Start {
    pub(super) cells: Vec<layout::Cell>,
    pub(super) contacts: Vec<layout::Contact>,
    pub(super) states: Vec<State>,
    /// The bristles of all contacts; none if all are unloaded, as a new buffer holds zeros.
    pub(super) bristles: Vec<[f32; 2]>,
    /// The limit surfaces of the whole run.
    pub(super) tables: TableStore,
    /// The first map of every contact.
    pub(super) patch_states: Vec<PatchState>,
}

impl Start {
    pub(super) fn of(contacts: &[BatchContact<'_>], plan: &Plan) -> Self {
        let mut cells = SharedCells::default();
        let mut tables = TableStore::default();
        let mut patch_states = Vec::with_capacity(contacts.len());
        let mut parameters = Vec::with_capacity(contacts.len());
        let mut first_bristle = 0;
        for contact in contacts {
            let patch_state = PatchState::first(contact.contact);
            let first_table = patch_state.table.as_ref().map_or(0, |t| tables.first_of(t));
            let first_cell = cells.first_of(contact);
            let first = if contact.contact.model.is_grid() { first_cell } else { first_table };
            parameters.push(device_contact(contact, plan, &patch_state, first, first_bristle));
            first_bristle += contact.bristle_pairs() as u32;
            patch_states.push(patch_state);
        }
        Self {
            cells: cells.cells,
            contacts: parameters,
            states: contacts.iter().map(|contact| device_state(contact.contact)).collect(),
            bristles: first_bristles(contacts),
            tables,
            patch_states,
        }
    }
}

/// Cells of maps, each map once.
#[derive(Default)]
struct SharedCells {
    /// Where the cells of a map start: by the address of the map, the number of its cells, and its grid.
    first: HashMap<(usize, usize, usize, usize), u32>,
    cells: Vec<layout::Cell>,
}

impl SharedCells {
    /// Where the cells of a contact start; puts them at the end if they are new.
    fn first_of(&mut self, contact: &BatchContact<'_>) -> u32 {
        let patch = &contact.contact.patch;
        let grid = patch.grid();
        // A fixed map decides its cells. Those of maps that follow the force are nested, so their number
        // decides them.
        let map = if patch.rule().is_none() { Arc::as_ptr(patch.map()).cast::<f64>().addr() } else { 0 };
        *self.first.entry((map, contact.active.len(), grid.nx, grid.ny)).or_insert_with(|| {
            let first = self.cells.len() as u32;
            let unit = Grid { dx: 1.0, dy: 1.0, ..*grid };
            self.cells.extend(contact.active.iter().map(|&i| {
                let [x, y] = unit.centre(i % grid.nx, i / grid.nx);
                layout::Cell { x: x as f32, y: y as f32, w: patch.weights()[i] as f32 }
            }));
            first
        })
    }
}

/// The bristles at the start, as [`Start::bristles`].
fn first_bristles(contacts: &[BatchContact<'_>]) -> Vec<[f32; 2]> {
    if contacts.iter().all(|contact| contact.contact.initial.bristles == Bristles::Unloaded) {
        return Vec::new();
    }
    let own = |contact: &BatchContact<'_>| {
        let first = contact.contact.first_bristles(&contact.active).unwrap_or_default();
        // The low parts of a reduced bristle, behind its three numbers, start at 0.
        let shown = |i: usize| contact.contact.model.is_grid() || i == 0;
        let bristle =
            |i: usize| first.get(i).map_or([0.0; 2], |z| [z[0] as f32, if shown(i) { z[1] as f32 } else { 0.0 }]);
        (0..contact.bristle_pairs()).map(bristle).collect()
    };
    let each: Vec<Vec<[f32; 2]>> = contacts.par_iter().map(own).collect();
    each.concat()
}

/// The intervals of one window of all contacts of a batch.
#[derive(Default)]
pub(super) struct Upload {
    pub(super) windows: Vec<layout::Window>,
    pub(super) intervals: Vec<layout::Interval>,
    pub(super) terms: Vec<layout::Term>,
    /// Limit surfaces that the window needs beside those of the whole run.
    pub(super) tables: Vec<f32>,
}

/// Intervals of one window of a contact.
struct Part {
    /// The index of the first one.
    from: usize,
    /// The map before it.
    before: PatchState,
    /// Each with its map and, if that needs a limit surface of its own, the patch of the map.
    intervals: Vec<(Interval, PatchState, Option<Patch>)>,
}

/// Makes the windows of a batch, one after the other.
pub(super) struct Inputs<'a> {
    contacts: &'a [BatchContact<'a>],
    surfaces: Surfaces<'a>,
    /// The limit surfaces of the whole run.
    tables: TableStore,
    /// The map of every contact at the end of the last window.
    patch_states: Vec<PatchState>,
    /// The first interval of every contact that was in no window yet.
    next: Vec<usize>,
    /// Samples of one window.
    frames: usize,
}

impl<'a> Inputs<'a> {
    pub(super) fn new(
        contacts: &'a [BatchContact<'a>],
        surfaces: Surfaces<'a>,
        tables: TableStore,
        patch_states: Vec<PatchState>,
        frames: usize,
    ) -> Self {
        Self { contacts, surfaces, tables, patch_states, next: vec![0; contacts.len()], frames }
    }

    /// The limit surfaces of the whole run.
    pub(super) const fn tables(&self) -> &TableStore {
        &self.tables
    }

    /// The intervals of all contacts for the samples after `window.start` up to `window.end`.
    ///
    /// # Errors
    /// A device that fails to make a limit surface.
    pub(super) fn upload(&mut self, window: &Range<usize>) -> Result<Upload, EngineError> {
        let mut upload = Upload::default();
        if window.is_empty() {
            return Ok(upload);
        }
        let parts = self.parts(window)?;
        let mut tables = self.tables.clone();
        for (i, Part { from, mut before, intervals }) in parts.into_iter().enumerate() {
            let to = from + intervals.len();
            self.next[i] = to;
            upload.windows.push(layout::Window {
                interval_first: upload.intervals.len() as u32,
                begin: from as u32,
                end: to as u32,
                record_first: (i * (self.frames + 1)) as u32,
                // Sample 0 belongs to the first window, before its intervals.
                sample_from: if window.start == 0 { 0 } else { window.start as u32 + 1 },
            });
            for (j, (interval, map, _)) in intervals.into_iter().enumerate() {
                let transfer = map.transfer_from(&before, self.contacts[i].contact);
                let table = map.table.as_ref().map_or(0, |t| tables.first_of(t));
                let term_first = upload.terms.len() as u32;
                upload.terms.extend(interval.terms.iter().map(|q| layout::Term {
                    slot: q.slot as u32,
                    amplitude: q.amplitude as f32,
                    omega: q.omega as f32,
                    phase: q.phase as f32,
                }));
                upload.intervals.push(device_interval(&interval, &map, transfer, table, term_first, from + j == 0));
                before = map;
            }
        }
        upload.tables = tables.numbers_beyond(&self.tables);
        Ok(upload)
    }

    /// The intervals of a window, contact by contact, with the limit surfaces that they need.
    fn parts(&mut self, window: &Range<usize>) -> Result<Vec<Part>, EngineError> {
        let part = |((contact, &from), map): ((&BatchContact<'_>, &usize), &mut PatchState)| {
            let (before, mut intervals) = (map.clone(), Vec::new());
            let mut samples = 0;
            while samples < window.len() && from + intervals.len() < contact.timeline.len() {
                let mut interval = contact.contact.interval(&contact.timeline, from + intervals.len());
                samples += usize::from(interval.record);
                let own = map.enter(contact.contact, &mut interval);
                intervals.push((interval, map.clone(), own));
            }
            Part { from, before, intervals }
        };
        let each = self.contacts.par_iter().zip(&self.next).zip(&mut self.patch_states);
        let mut parts: Vec<Part> = each.map(part).collect();
        self.make_tables(&mut parts)?;
        Ok(parts)
    }

    /// Makes the limit surfaces that intervals ask for, all at once, and hands each to the intervals from
    /// there on.
    fn make_tables(&mut self, parts: &mut [Part]) -> Result<(), EngineError> {
        let all = parts.iter().flat_map(|part| &part.intervals);
        let asked: Vec<_> = all.filter_map(|(_, map, own)| Some((own.clone()?, map.table.clone()?))).collect();
        let mut made = make_tables(self.surfaces, &asked)?.into_iter();
        for (part, last) in parts.iter_mut().zip(&mut self.patch_states) {
            let mut latest = None;
            for (_, map, own) in &mut part.intervals {
                if own.is_some() {
                    latest = made.next();
                }
                latest.iter().for_each(|table| map.set_table(Arc::clone(table)));
            }
            latest.into_iter().for_each(|table| last.set_table(table));
        }
        Ok(())
    }
}

/// An interval as the device sees it, with its map. Its table and its sinusoids start at `table` and
/// `term_first`.
fn device_interval(
    interval: &Interval,
    map: &PatchState,
    transfer: RemapTransfer,
    table: u32,
    term_first: u32,
    is_first: bool,
) -> layout::Interval {
    let bit = |set: bool, bit: u32| if set { bit } else { 0 };
    let mut c = [0.0; 18];
    for (to, from) in c.iter_mut().zip(interval.c.as_flattened()) {
        *to = *from as f32;
    }
    layout::Interval {
        length: interval.length as f32,
        flags: bit(interval.jump, flag::JUMP)
            | bit(interval.record, flag::RECORD)
            | bit(interval.remap.is_some(), flag::REMAP)
            | bit(is_first, flag::FIRST),
        map_f_n: map.f_n.unwrap_or_default() as f32,
        map_radius: map.radius as f32,
        map_viscous: map.viscous as f32,
        map_deflection: transfer.deflection as f32,
        map_rotation: transfer.rotation as f32,
        map_table: table,
        term_first,
        term_count: interval.terms.len() as u32,
        c,
    }
}
