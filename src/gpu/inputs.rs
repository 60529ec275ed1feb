//! What is written to the device for a group: at the start its contacts, cells and bristles, then for every
//! window the intervals of the inputs.
//!
//! Each interval says where the cells or the table of its map start. All maps of a sequence are in the buffer
//! of cells, once for all contacts that follow the sequence. A window begins with an interval that holds the
//! map before it, on which a pending stage is still to be written back.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::contact::{BatchContact, PartSlots, device_contact, device_pairs, device_state};
use super::layout::{self, State, flag};
use super::limit_surface::Surfaces;
use super::patch_state::{PatchState, TableStore, make_tables};
use crate::contact::{Bristles, Contact, RemapTransfer};
use crate::engine::{Stepping, StopWhen};
use crate::error::EngineError;
use crate::patch::Patch;
use crate::pool;
use crate::schedule::{Interval, MapKey, Term, slot};

/// The contents of the device's buffers for a group at its start.
pub(super) struct Start {
    pub(super) cells: Vec<layout::MapCell>,
    pub(super) contacts: Vec<layout::Contact>,
    pub(super) states: Vec<State>,
    /// The bristles of all contacts; none if all are unloaded, as a new buffer holds zeros.
    pub(super) bristles: Vec<[f32; 2]>,
    /// The limit surfaces of the whole run.
    pub(super) tables: TableStore,
    /// The first map of every contact.
    pub(super) patch_states: Vec<PatchState>,
    /// Where the cells of every contact start, those of its first map if it follows frames.
    pub(super) first_cells: Vec<u32>,
}

impl Start {
    pub(super) fn of(contacts: &[BatchContact], of: &[Contact], stepping: Stepping, stop: &StopWhen) -> Self {
        let mut cells = SharedCells::default();
        let mut tables = TableStore::default();
        let mut patch_states = Vec::with_capacity(contacts.len());
        let mut parameters = Vec::with_capacity(contacts.len());
        let mut first_cells = Vec::with_capacity(contacts.len());
        let mut first_bristle = 0;
        for contact in contacts {
            let own = &of[contact.index];
            let patch_state = PatchState::first(own);
            patch_state.table.iter().for_each(|t| _ = tables.first_of(t));
            first_cells.push(cells.first_of(contact, own));
            let cells = contact.active.len();
            parameters.push(device_contact(own, cells, stepping, stop, &patch_state, first_bristle));
            first_bristle += contact.bristle_pairs() as u32;
            patch_states.push(patch_state);
        }
        Self {
            cells: cells.cells,
            contacts: parameters,
            states: contacts.iter().map(|contact| device_state(&of[contact.index])).collect(),
            bristles: first_bristles(contacts, of),
            tables,
            patch_states,
            first_cells,
        }
    }
}

/// Cells of maps, each map once.
#[derive(Default)]
struct SharedCells {
    /// Where the cells of a map, or of the maps of a sequence, start: by the address of that and of the
    /// friction map, the number of its cells, its grid, and whether patches have inputs of their own or
    /// it is an elastic layer.
    first: HashMap<[usize; 6], u32>,
    cells: Vec<layout::MapCell>,
}

impl SharedCells {
    /// Where the cells of a contact start; puts them at the end if they are new.
    fn first_of(&mut self, contact: &BatchContact, of: &Contact) -> u32 {
        let patch = &of.patch;
        let grid = patch.grid();
        let sequence = patch.sequence();
        let map = sequence.map_or_else(|| Arc::as_ptr(patch.map()).addr(), |sequence| Arc::as_ptr(sequence).addr());
        let next = self.cells.len() as u32;
        // A map that is replaced or made anew on the device is the contact's own.
        let first = if patch.takes_frames() || patch.rule().is_some() {
            next
        } else {
            let of_parts = usize::from(of.drives_parts()) + 2 * usize::from(of.layer().is_some());
            let key = [map, patch.friction_address(), contact.active.len(), grid.nx, grid.ny, of_parts];
            *self.first.entry(key).or_insert(next)
        };
        if first == next {
            match sequence {
                None => self.cells.extend(cells_of(contact, of, patch)),
                Some(sequence) => {
                    let maps = 0..sequence.map_count() as u32;
                    maps.for_each(|map| self.cells.extend(cells_of(contact, of, &patch.at(MapKey::Frame(map)))));
                }
            }
        }
        first
    }
}

/// The cells of a contact with a grid that has the map of `patch`: their shares of the normal force; where
/// patches have inputs of their own, those of that of each patch, and of an elastic layer those of its
/// reference force.
pub(super) fn cells_of(contact: &BatchContact, of: &Contact, patch: &Patch) -> impl Iterator<Item = layout::MapCell> {
    let (of_parts, is_layer, count) = (of.drives_parts(), of.layer().is_some(), contact.active.len());
    contact.active.iter().map(move |&i| {
        let [x, y] = patch.place_in_cells(i);
        let (w, f) = match (is_layer, of_parts) {
            (true, _) => (patch.layer_share(i, count), patch.layer_factor(i, count)),
            (_, true) => (patch.weight_in_part(i), patch.friction_factor(i)),
            _ => (patch.weights()[i], patch.friction_factor(i)),
        };
        layout::MapCell { x: x as f32, y: y as f32, w: w as f32, f: f as f32 }
    })
}

/// The bristles of all contacts at their start, as [`Start::bristles`].
fn first_bristles(contacts: &[BatchContact], of: &[Contact]) -> Vec<[f32; 2]> {
    let is_zero = |own: &Contact| own.initial.bristles == Bristles::Unloaded && own.model.point().is_none();
    if contacts.iter().all(|contact| is_zero(&of[contact.index])) {
        return Vec::new();
    }
    let own = |contact: &BatchContact| own_first_bristles(contact, &of[contact.index]);
    let each: Vec<Vec<[f32; 2]>> = pool::run(|| contacts.par_iter().map(own).collect());
    each.concat()
}

/// The bristles of one contact at its start.
pub(super) fn own_first_bristles(contact: &BatchContact, of: &Contact) -> Vec<[f32; 2]> {
    if let Some(model) = of.model.point() {
        return device_pairs(model, &of.first_pairs());
    }
    let first = of.first_bristles(&contact.active).unwrap_or_default();
    // The low parts of a reduced bristle, behind its three numbers, start at 0.
    let shown = |i: usize| of.model.is_grid() || i == 0;
    let bristle = |i: usize| first.get(i).map_or([0.0; 2], |z| [z[0] as f32, if shown(i) { z[1] as f32 } else { 0.0 }]);
    (0..contact.bristle_pairs()).map(bristle).collect()
}

/// The intervals of one window of all contacts of a batch.
#[derive(Default)]
pub(super) struct Upload {
    pub(super) windows: Vec<layout::Window>,
    pub(super) intervals: Vec<layout::Interval>,
    pub(super) terms: Vec<layout::Term>,
    /// Most sinusoids of the patches of a contact in an interval.
    pub(super) waves_of_parts: u32,
    /// Limit surfaces that the window needs beside those of the whole run.
    pub(super) tables: Vec<f32>,
}

/// The intervals of one window of one contact.
struct Part {
    /// The index of the first one.
    from: usize,
    /// The map before it.
    before: PatchState,
    /// Each with its map and, if that needs a limit surface of its own, the patch of the map.
    intervals: Vec<(Interval, PatchState, Option<Patch>)>,
}

/// Makes the windows of a batch, one after the other.
pub(super) struct Inputs {
    /// The limit surfaces of the whole run.
    tables: TableStore,
    /// The map of every contact at the end of the last window.
    pub(super) patch_states: Vec<PatchState>,
    /// The place of every contact in its timeline.
    pub(super) places: Vec<Place>,
    /// The inputs of several patches at the end of the last window, of every contact.
    pub(super) of_parts: Vec<Vec<[f64; slot::OF_PART]>>,
    /// The last interval of every contact.
    pub(super) last: Vec<Interval>,
    /// Where the cells of every contact start, see [`Start::first_cells`].
    pub(super) first_cells: Vec<u32>,
}

/// The place of a contact among its intervals and samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// The first interval of the timeline that was in no window yet.
    pub(super) next: usize,
    /// Intervals and samples of timelines before this one.
    pub(super) intervals_before: u32,
    pub(super) samples_before: u32,
    /// Steps of the whole run after which it is stopped.
    pub(super) most_steps: u32,
    /// The inputs at the end of the last window.
    pub(super) inputs: [f64; slot::COUNT],
}

impl Upload {
    /// Puts an interval at the end that holds `map`, and nothing else; its cells or its table start at
    /// `first`.
    fn push_map(&mut self, map: &PatchState, first: u32) {
        let same = RemapTransfer::new(false, [map.radius, map.arm2], [map.radius, map.arm2]);
        self.intervals.push(device_interval(&Interval::default(), map, same, first, 0, 0));
    }

    /// Puts the sinusoids of an interval at the end, behind them the inputs of a surface that moves: three
    /// polynomials, the first with the number of sinusoids, and the sinusoids; and behind these those of
    /// several patches, as `shaders/parts.wgsl` has them. Returns where they start.
    fn push_terms(&mut self, interval: &Interval, BatchContact { moving, parts, .. }: &BatchContact) -> u32 {
        let first = self.terms.len() as u32;
        let term = |q: &Term| layout::Term {
            slot: q.slot as u32,
            amplitude: q.amplitude as f32,
            omega: q.omega as f32,
            phase: q.phase as f32,
        };
        let polynomial = |c: &[f64; 3], slot: u32| {
            let [amplitude, omega, phase] = c.map(|c| c as f32);
            layout::Term { slot, amplitude, omega, phase }
        };
        self.terms.extend(own_terms(interval).map(term));
        if *moving {
            let surface = interval.terms.iter().filter(|q| (slot::SURFACE..slot::COUNT).contains(&q.slot));
            let count = surface.clone().count() as u32;
            self.terms.extend(interval.c[slot::SURFACE..].iter().map(|c| polynomial(c, count)));
            self.terms.extend(surface.map(term));
        }
        if !parts.is_empty() {
            let waves = interval.terms.iter().filter(|q| q.slot >= slot::COUNT);
            let count = waves.clone().count() as u32;
            self.waves_of_parts = self.waves_of_parts.max(count);
            for (k, (own, PartSlots { end, share, place })) in interval.parts.iter().zip(parts).enumerate() {
                let [x, y] = if k == 0 { [parts.len() as u32, count] } else { place.map(f32::to_bits) };
                let slots = [x, y, *end, share.to_bits()];
                self.terms.extend(own.iter().zip(slots).map(|(c, slot)| polynomial(c, slot)));
            }
            self.terms.extend(waves.map(|q| term(&Term { slot: q.slot - slot::COUNT, ..*q })));
        }
        first
    }
}

impl Inputs {
    pub(super) fn new(tables: TableStore, patch_states: Vec<PatchState>, first_cells: Vec<u32>) -> Self {
        let places = vec![Place::default(); patch_states.len()];
        let last = vec![Interval::default(); patch_states.len()];
        let of_parts = vec![Vec::new(); patch_states.len()];
        Self { tables, patch_states, places, of_parts, last, first_cells }
    }

    /// Where the cells or the table of a map of contact `i` start, which has so many `cells`; a table that is
    /// not among `tables` is put there.
    fn map_first(&self, i: usize, cells: usize, map: &PatchState, tables: &mut TableStore) -> u32 {
        let before = if let Some(MapKey::Frame(map)) = map.key { map * cells as u32 } else { 0 };
        map.table.as_ref().map_or_else(|| self.first_cells[i] + before, |t| tables.first_of(t))
    }

    /// The limit surfaces of the whole run.
    pub(super) const fn tables(&self) -> &TableStore {
        &self.tables
    }

    /// The intervals of all contacts for the samples after `window.start` up to `window.end` of their
    /// timelines; there is memory for `frames` records of a contact.
    ///
    /// # Errors
    /// A device that fails to make a limit surface.
    pub(super) async fn upload(
        &mut self,
        contacts: &[BatchContact],
        of: &[Contact],
        surfaces: Surfaces<'_>,
        window: &Range<usize>,
        frames: usize,
    ) -> Result<Upload, EngineError> {
        let mut upload = Upload::default();
        if window.is_empty() {
            return Ok(upload);
        }
        let parts = self.parts(contacts, of, surfaces, window).await?;
        let mut tables = self.tables.clone();
        for (i, Part { from, mut before, intervals }) in parts.into_iter().enumerate() {
            let cells = contacts[i].active.len();
            let first = self.map_first(i, cells, &before, &mut tables);
            let layer = if contacts[i].layer.is_some() { flag::LAYER } else { 0 };
            upload.push_map(&before, first);
            let place = &mut self.places[i];
            place.next = from + intervals.len();
            if let Some((last, ..)) = intervals.last() {
                place.inputs = last.inputs(last.length);
                self.of_parts[i] = last.of_parts(last.length);
                self.last[i].clone_from(last);
            }
            upload.windows.push(layout::Window {
                interval_first: upload.intervals.len() as u32,
                begin: place.intervals_before + from as u32,
                end: place.intervals_before + place.next as u32,
                record_first: (i * frames) as u32,
                sample_from: place.samples_before + window.start as u32,
                most_steps: place.most_steps,
            });
            for (interval, map, _) in intervals {
                let transfer = map.transfer_from(&before, &of[contacts[i].index]);
                let first = self.map_first(i, cells, &map, &mut tables);
                let term_first = upload.push_terms(&interval, &contacts[i]);
                upload.intervals.push(device_interval(&interval, &map, transfer, first, term_first, layer));
                before = map;
            }
        }
        upload.tables = tables.numbers_beyond(&self.tables);
        Ok(upload)
    }

    /// A window that records one sample of every contact for which `intervals` has an interval, at its end;
    /// no time passes, and limit surfaces are those of the present maps.
    pub(super) fn upload_samples(
        &mut self,
        contacts: &[BatchContact],
        intervals: Vec<Option<(Interval, RemapTransfer)>>,
        frames: usize,
    ) -> Upload {
        let mut upload = Upload::default();
        let mut tables = self.tables.clone();
        for (i, asked) in intervals.into_iter().enumerate() {
            let first = self.map_first(i, contacts[i].active.len(), &self.patch_states[i], &mut tables);
            let (place, map) = (&mut self.places[i], &self.patch_states[i]);
            upload.push_map(map, first);
            let begin = place.intervals_before;
            upload.windows.push(layout::Window {
                interval_first: upload.intervals.len() as u32,
                begin,
                end: begin + u32::from(asked.is_some()),
                record_first: (i * frames) as u32,
                sample_from: place.samples_before,
                most_steps: place.most_steps,
            });
            let Some((interval, transfer)) = asked else { continue };
            place.intervals_before += 1;
            place.samples_before += 1;
            place.inputs = interval.inputs(interval.length);
            self.of_parts[i] = interval.of_parts(interval.length);
            let term_first = upload.push_terms(&interval, &contacts[i]);
            upload.intervals.push(device_interval(&interval, map, transfer, first, term_first, flag::AT_END));
        }
        upload.tables = tables.numbers_beyond(&self.tables);
        upload
    }

    /// The intervals of a window, contact by contact, with the limit surfaces that they need.
    async fn parts(
        &mut self,
        contacts: &[BatchContact],
        of: &[Contact],
        surfaces: Surfaces<'_>,
        window: &Range<usize>,
    ) -> Result<Vec<Part>, EngineError> {
        let part = |((contact, place), map): ((&BatchContact, &Place), &mut PatchState)| {
            let (before, mut intervals) = (map.clone(), Vec::new());
            let (own, from) = (&of[contact.index], place.next);
            let mut samples = 0;
            while samples < window.len() && from + intervals.len() < contact.timeline.len() {
                let mut interval = own.interval(&contact.timeline, from + intervals.len());
                samples += usize::from(interval.record);
                let asks = map.enter(own, &mut interval);
                intervals.push((interval, map.clone(), asks));
            }
            Part { from, before, intervals }
        };
        let each = contacts.par_iter().zip(&self.places).zip(&mut self.patch_states);
        let mut parts: Vec<Part> = pool::run(|| each.map(part).collect());
        self.make_tables(surfaces, &mut parts).await?;
        Ok(parts)
    }

    /// Makes the limit surfaces that intervals need, all at once, and sets each in its interval and in those
    /// after it.
    async fn make_tables(&mut self, surfaces: Surfaces<'_>, parts: &mut [Part]) -> Result<(), EngineError> {
        let all = parts.iter().flat_map(|part| &part.intervals);
        let asked: Vec<_> = all.filter_map(|(_, map, own)| Some((own.clone()?, map.table.clone()?))).collect();
        let mut made = make_tables(surfaces, &asked).await?.into_iter();
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

/// The sinusoids of the inputs that every contact has.
fn own_terms(interval: &Interval) -> impl Iterator<Item = &Term> {
    interval.terms.iter().filter(|term| term.slot < slot::SURFACE)
}

/// An interval with its map in the device's layout. The cells or the table of the map start at `first`, the
/// sinusoids at `term_first`; `more` are further bits of [`flag`].
fn device_interval(
    interval: &Interval,
    map: &PatchState,
    transfer: RemapTransfer,
    first: u32,
    term_first: u32,
    more: u32,
) -> layout::Interval {
    let bit = |set: bool, bit: u32| if set { bit } else { 0 };
    let mut c = [0.0; 3 * slot::SURFACE];
    for (to, from) in c.iter_mut().zip(interval.c.as_flattened()) {
        *to = *from as f32;
    }
    layout::Interval {
        length: interval.length as f32,
        flags: bit(interval.jump, flag::JUMP)
            | bit(interval.record, flag::RECORD)
            | bit(interval.remap.is_some(), flag::REMAP)
            | more,
        map_f_n: if let Some(MapKey::Force(f_n)) = map.key { f_n as f32 } else { 0.0 },
        map_radius: map.radius as f32,
        map_arm2: map.arm2 as f32,
        map_cop_x: map.cop[0] as f32,
        map_cop_y: map.cop[1] as f32,
        map_deflection: transfer.deflection as f32,
        map_rotation: transfer.rotation as f32,
        map_first: first,
        term_first,
        term_count: own_terms(interval).count() as u32,
        c,
    }
}

#[cfg(test)]
mod tests;
