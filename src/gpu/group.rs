//! Contacts that are stepped together.
//!
//! A group fits the adapter's buffers and is stepped window by window: the intervals up to some samples are
//! sent to the device, dispatches step them, and the samples are read back while the next window is computed.
//!
//! A dispatch stops between steps after some passes, and the next dispatch continues with the same bits: a
//! stage that is solved but not written back is part of the state. Two staging buffers take turns: the host
//! reads the samples of one window from the one while the device fills the other. Buffers and bindings are
//! made once a group; the buffers of intervals grow when they must.

use std::ops::Range;
use std::sync::Arc;

use super::buffer::{BUFFER_BUDGET, Staging};
use super::captured::{Captured, contents};
use super::contact::{BatchContact, device_contact};
use super::core::Core;
use super::device::{Adapter, Device};
use super::inputs::{Inputs, Start, Upload, cells_of};
use super::layout::{self, Record, Run, State, kind};
use super::memory;
use super::pace::Pace;
use super::patch_state::PatchState;
use super::pipeline::{Access, Pipeline};
use super::shader::{ROOT_ITERATIONS, TRANSITION_ITERATIONS, Variant};
use super::shape::KernelShape;
use crate::batch::Sample;
use crate::contact::{Contact, Model, ModelKind};
use crate::engine::{LEFT, Reason, Status, Stepping, StopWhen, share};
use crate::error::{DeviceError, EngineError};
use crate::patch::Patch;
use crate::point::PAIRS_PER_ELEMENT;
use crate::schedule::Timeline;
use crate::solver::point::balance::BALANCE_MOST;
use crate::solver::point::curve::POINT_ROOT_MOST;

/// Largest number of evaluated cells (cells times passes) of one window, whose samples are read back
/// together.
const WORK_HARDWARE: f64 = 1e9;
/// The same on a software adapter.
const WORK_SOFTWARE: f64 = 3e7;
/// Mesa's llvmpipe silently ends every loop of an invocation after 65 535 turns of all of them together; this
/// is below.
const SOFTWARE_LOOP_TURNS: u32 = 60_000;
/// Passes of one dispatch at most on hardware. With few contacts a pass takes its latency, some 20 us.
const MOST_PASSES: u32 = 2000;
/// Passes over the bristles in a step.
const PASSES_PER_STEP: f64 = 2.2;

/// What the shader uses its buffers for, in the order of [`Buffers`]; a grid writes weights of its cells.
pub(super) const fn bindings(is_grid: bool) -> [Access; 9] {
    [
        if is_grid { Access::ReadWrite } else { Access::Read },
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::ReadWrite,
        Access::ReadWrite,
        Access::ReadWrite,
        Access::Uniform,
    ]
}

/// The pipeline that steps a group.
#[derive(Clone)]
pub(super) struct Kernel {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) variant: Variant,
}

/// Limits in place of those of the adapter: evaluated cells of a window, and passes of a dispatch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) work: f64,
    pub(super) passes: u32,
}

/// Contacts that are stepped together, and their buffers.
pub(super) struct Group {
    pub(super) core: Arc<Core>,
    kernel: Kernel,
    budget: Option<Budget>,
    pub(super) stepping: Stepping,
    pub(super) contacts: Vec<BatchContact>,
    /// Their parameters, as the device has them.
    parameters: Vec<layout::Contact>,
    pub(super) inputs: Inputs,
    /// Samples of a contact for which `records` has memory.
    frames: usize,
    buffers: Buffers,
    /// The binding of the buffers; none after one of them has grown.
    binding: Option<wgpu::BindGroup>,
    states: Staging,
    /// One is read while the device fills the other.
    records: [Staging; 2],
    pace: Pace,
}

/// The buffers of a group, in the order of their bindings.
struct Buffers {
    /// Of grids; of reduced bristles the numbers of their limit surfaces.
    cells: wgpu::Buffer,
    contacts: wgpu::Buffer,
    windows: wgpu::Buffer,
    intervals: wgpu::Buffer,
    terms: wgpu::Buffer,
    states: wgpu::Buffer,
    bristles: wgpu::Buffer,
    records: wgpu::Buffer,
    run: wgpu::Buffer,
}

impl Buffers {
    /// The buffers of contacts at their start, with memory for so many records.
    fn new(
        device: &Device,
        start: &Start,
        variant: &Variant,
        pairs: usize,
        records: usize,
    ) -> Result<Self, DeviceError> {
        let storage = wgpu::BufferUsages::STORAGE;
        let count = start.contacts.len();
        let filled = |label: &str, bytes: &[u8]| device.filled(label, bytes, storage);
        let empty = |label: &str, size: usize| device.buffer(label, size as u64, storage);
        let saved = if variant.saves_in_buffer() { pairs } else { 0 };
        let bristles = empty("bristles", (pairs + saved) * size_of::<[f32; 2]>())?;
        device.queue.write_buffer(&bristles, 0, bytemuck::cast_slice(&start.bristles));
        Ok(Self {
            cells: if variant.is_grid() {
                filled("cells", bytemuck::cast_slice(&start.cells))
            } else {
                filled("tables", bytemuck::cast_slice(start.tables.numbers()))
            }?,
            contacts: filled("contacts", bytemuck::cast_slice(&start.contacts))?,
            windows: empty("windows", count * size_of::<layout::Window>())?,
            intervals: empty("intervals", 0)?,
            terms: empty("terms", 0)?,
            states: filled("states", bytemuck::cast_slice(&start.states))?,
            bristles,
            records: empty("records", records * size_of::<Record>())?,
            run: device.buffer("run", size_of::<Run>() as u64, wgpu::BufferUsages::UNIFORM)?,
        })
    }

    const fn in_order(&self) -> [&wgpu::Buffer; 9] {
        [
            &self.cells,
            &self.contacts,
            &self.windows,
            &self.intervals,
            &self.terms,
            &self.states,
            &self.bristles,
            &self.records,
            &self.run,
        ]
    }
}

impl Group {
    /// Contacts at their start, with memory for one sample of each.
    pub(super) fn new(
        core: &Arc<Core>,
        kernel: Kernel,
        budget: Option<Budget>,
        contacts: Vec<BatchContact>,
        of: &[Contact],
        stepping: Stepping,
        stop_when: &StopWhen,
    ) -> Result<Self, DeviceError> {
        let device = &core.device;
        let pairs: usize = contacts.iter().map(BatchContact::bristle_pairs).sum();
        let start = Start::of(&contacts, of, stepping, stop_when);
        let buffers = Buffers::new(device, &start, &kernel.variant, pairs, contacts.len())?;
        let records = || Staging::new(device, buffers.records.size());
        Ok(Self {
            kernel,
            budget,
            stepping,
            inputs: Inputs::new(start.tables, start.patch_states, start.first_cells),
            parameters: start.contacts,
            contacts,
            frames: 1,
            binding: None,
            states: Staging::new(device, buffers.states.size())?,
            records: [records()?, records()?],
            buffers,
            pace: Pace::new(device.adapter.software),
            core: Arc::clone(core),
        })
    }

    /// Makes memory for the samples of a window of a run through `duration` [s] with `samples` of them, and
    /// returns how many a window has.
    pub(super) fn plan_windows(&mut self, of: &[Contact], duration: f64, samples: usize) -> Result<usize, DeviceError> {
        let device = &self.core.device;
        let pairs: usize = self.contacts.iter().map(BatchContact::bristle_pairs).sum();
        let own = if device.adapter.software { WORK_SOFTWARE } else { WORK_HARDWARE };
        let work = self.budget.map_or(own, |budget| budget.work);
        let steps = (work / (pairs as f64 * PASSES_PER_STEP)).clamp(16.0, 1e6);
        let steps_per_frame = (duration / samples as f64 / self.stepping.step).max(1.0);
        // The records of a window and its two staging buffers together keep to the budget, however many
        // samples a long run has.
        let fit = BUFFER_BUDGET as usize / (3 * self.contacts.len() * size_of::<Record>());
        let limit = device.adapter.max_storage_buffer;
        let fit = fit.max(1).min(memory::samples_that_fit(&self.contacts, of, limit));
        let frames = ((steps / steps_per_frame) as usize).clamp(1, samples).min(fit);
        if frames > self.frames {
            let size = (frames * self.contacts.len() * size_of::<Record>()) as u64;
            self.buffers.records = device.buffer("records", size, wgpu::BufferUsages::STORAGE)?;
            let records = || Staging::new(device, self.buffers.records.size());
            self.records = [records()?, records()?];
            self.binding = None;
            self.frames = frames;
        }
        Ok(frames)
    }

    /// Appends the bristles of every contact, as they are now, to what is `wanted` of it, if anything is.
    pub(super) async fn append_bristles(&self, wanted: &mut [Vec<[f64; 2]>]) -> Result<(), EngineError> {
        if wanted.is_empty() {
            return Ok(());
        }
        let zetas = self.read_bristles().await?;
        let mut first = 0;
        for contact in &self.contacts {
            let own = &zetas[first..first + contact.bristle_pairs()];
            wanted[contact.index].extend(shown_bristles(own, contact.kind));
            first += own.len();
        }
        Ok(())
    }

    /// Passes of a window of `duration` [s] with so many samples, as far as they can be foreseen.
    pub(super) fn expected_passes(&self, duration: f64, samples: usize) -> f64 {
        (duration / self.stepping.step).max(samples as f64) * PASSES_PER_STEP + 2.0 * samples as f64
    }

    /// The states that the last dispatch left, which submission `copied` copies.
    pub(super) async fn read_states(&self, copied: &wgpu::SubmissionIndex) -> Result<Vec<State>, EngineError> {
        self.states.read(&self.core.device, self.contacts.len(), copied.clone()).await
    }

    /// The bristles of all contacts as they are now.
    pub(super) async fn read_bristles(&self) -> Result<Vec<[f32; 2]>, EngineError> {
        self.read_some_bristles(0..self.contacts.iter().map(BatchContact::bristle_pairs).sum()).await
    }

    /// Those of some contacts, by their places among all.
    pub(super) async fn read_some_bristles(&self, places: Range<usize>) -> Result<Vec<[f32; 2]>, EngineError> {
        const PAIR: usize = size_of::<[f32; 2]>();
        let device = &self.core.device;
        let staging = Staging::new(device, (places.len() * PAIR) as u64)?;
        let mut encoder = device.handle.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        staging.copy_some(&mut encoder, &self.buffers.bristles, (places.start * PAIR) as u64);
        let copied = device.queue.submit([encoder.finish()]);
        staging.read(device, places.len(), copied).await
    }

    /// The records of a window that submission `copied` copies to a staging buffer, a chunk a contact.
    pub(super) async fn read_records(
        &self,
        staging: usize,
        copied: &wgpu::SubmissionIndex,
    ) -> Result<Vec<Record>, EngineError> {
        self.records[staging].read(&self.core.device, self.contacts.len() * self.frames, copied.clone()).await
    }

    /// Number of records of a contact.
    pub(super) const fn frames(&self) -> usize {
        self.frames
    }

    /// Whether `new` can be where contact `i`, `old`, is: by the same kernel, on as many bristles, on the
    /// limit surface that is there, and on the map that is there or in cells that are its own.
    pub(super) fn takes(&self, i: usize, old: &Contact, new: &Contact) -> bool {
        let own = &self.contacts[i];
        let other = BatchContact::new(own.index, new, Timeline::default(), new.cells_ever_active());
        let variant = other.variant(new, self.stepping, self.adapter(), None);
        // Shapes are those of the number of cells.
        let of_place = |found: Variant| Variant { shape: self.kernel.variant.shape, ..found };
        let is_alike = variant.is_ok_and(|found| of_place(found) == self.kernel.variant)
            && other.bristle_pairs() == own.bristle_pairs();
        let same_table = match (&old.model, &new.model) {
            (Model::LimitSurface(old, _), Model::LimitSurface(new, _)) => Arc::ptr_eq(old, new),
            _ => true,
        };
        is_alike && same_table && self.takes_map(i, &old.patch, &new.patch)
    }

    /// Whether the cells of contact `i` can be those of another patch.
    fn takes_map(&self, i: usize, old: &Patch, new: &Patch) -> bool {
        if !self.is_grid() {
            return true;
        }
        let kind = |patch: &Patch| (patch.rule().is_some(), patch.takes_frames(), patch.sequence().is_some());
        let size = |patch: &Patch| [patch.grid().nx, patch.grid().ny];
        if kind(old) != kind(new) || size(old) != size(new) || old.sequence().is_some() {
            return false;
        }
        let first = self.inputs.first_cells[i];
        let is_own = || self.inputs.first_cells.iter().filter(|other| **other == first).count() == 1;
        let is_same = old.map() == new.map() && old.friction_map() == new.friction_map() && old.has_parts_of(new);
        is_same || is_own()
    }

    /// Puts another contact, which [`Group::takes`], in the place of contact `i`; its state is written apart.
    pub(super) fn replace(&mut self, i: usize, of: &Contact) {
        let Self { contacts, parameters, stepping, buffers, core, .. } = self;
        let own = &mut contacts[i];
        *own = BatchContact::new(own.index, of, Timeline::default(), of.cells_ever_active());
        let first = parameters[i].zeta_first;
        let map = PatchState::first(of);
        parameters[i] = device_contact(of, own.active.len(), *stepping, &StopWhen::NEVER, &map, first);
        let at = (i * size_of::<layout::Contact>()) as u64;
        core.device.queue.write_buffer(&buffers.contacts, at, bytemuck::bytes_of(&parameters[i]));
        if of.patch.sequence().is_none() {
            self.write_map(i, of);
        }
    }

    /// Writes the state of contact `i`, and its bristles, which start at `first`.
    pub(super) fn write(&self, i: usize, state: &State, first: usize, bristles: &[[f32; 2]]) {
        let queue = &self.core.device.queue;
        queue.write_buffer(&self.buffers.states, (i * size_of::<State>()) as u64, bytemuck::bytes_of(state));
        let at = (first * size_of::<[f32; 2]>()) as u64;
        queue.write_buffer(&self.buffers.bristles, at, bytemuck::cast_slice(bristles));
    }

    /// Writes the cells of the map that the patch of contact `i` now has, if it has a grid of bristles.
    pub(super) fn write_map(&self, i: usize, of: &Contact) {
        if self.kernel.variant.is_grid() {
            let cells: Vec<layout::MapCell> = cells_of(&self.contacts[i], of, &of.patch).collect();
            let at = (self.inputs.first_cells[i] as usize * size_of::<layout::MapCell>()) as u64;
            self.core.device.queue.write_buffer(&self.buffers.cells, at, bytemuck::cast_slice(&cells));
        }
    }

    /// The adapter that it runs on.
    pub(super) fn adapter(&self) -> &Adapter {
        &self.core.device.adapter
    }

    /// Whether its contacts have grids of bristles.
    pub(super) const fn is_grid(&self) -> bool {
        self.kernel.variant.is_grid()
    }

    /// Learns how long passes take.
    pub(super) fn learn(&mut self, most: u32, passes: u32, took: std::time::Duration, busy: bool) {
        self.pace.learn(most, passes, took, busy);
    }

    /// Passes after which a dispatch has to stop.
    fn max_passes(&self, upload: &Upload) -> u32 {
        let variant = &self.kernel.variant;
        let KernelShape { workgroup, lanes, .. } = variant.shape;
        let own_turns = |own: &layout::Contact| own.cell_count.div_ceil(lanes * variant.shape.width());
        let most_turns = self.parameters.iter().filter(|_| variant.is_grid()).map(own_turns).max();
        // More than those, for loops that are not counted below.
        let turns = most_turns.map_or(0, |turns| turns.next_power_of_two().max(4));
        let roots_loop = variant.law.is_elastic() && variant.shape.roots_loop();
        if !self.core.device.adapter.software {
            return MOST_PASSES;
        }
        // A software driver runs every branch, with the lanes that do not take it switched off, and every
        // loop at least once: each pass goes through the loops that save and restore the bristles, and every
        // second one may end an interval, with its samples and its map.
        let terms = upload.intervals.iter().map(|i| i.term_count).max().unwrap_or(0);
        let model = match (variant.reduced, variant.point) {
            (_, Some((_, elements))) => {
                // A root for the body or for each element, in every evaluation of a balance.
                let roots = elements.max(1) * (POINT_ROOT_MOST + 2);
                let is_free = self.parameters.iter().any(|own| own.kind != kind::PRESCRIBED);
                if elements > 0 && is_free { (BALANCE_MOST + 1) * (1 + roots) } else { 2 + 2 * roots }
            }
            // A turn has two roots.
            (None, _) => 2 * turns * if roots_loop { 1 + 2 * TRANSITION_ITERATIONS } else { 1 } + workgroup / 8,
            (Some(_), _) => 2 * (ROOT_ITERATIONS + 2),
        };
        let mut each = model + if variant.adaptive { 7 } else { 3 } * turns + 30 + 5 * terms;
        if variant.drives_parts {
            // The inputs of each patch are evaluated some four times, and each cell looks for its patch.
            let parts = self.contacts.iter().map(|own| own.parts.len() as u32).max().unwrap_or(0);
            each += parts * (4 * (7 + upload.waves_of_parts) + 8 * turns);
        }
        (SOFTWARE_LOOP_TURNS.saturating_sub(6 * turns) / each).saturating_sub(12).max(1)
    }

    /// Puts a window's intervals on the device; buffers grow when they must. Returns the passes that one
    /// dispatch may do.
    ///
    /// # Errors
    /// A device without memory for them.
    pub(super) fn send(&mut self, upload: &Upload) -> Result<u32, DeviceError> {
        let own = self.pace.passes(self.max_passes(upload));
        let max_passes = self.budget.map_or(own, |budget| own.min(budget.passes));
        let device = &self.core.device;
        let queue = &device.queue;
        queue.write_buffer(&self.buffers.windows, 0, bytemuck::cast_slice(&upload.windows));
        let mut tables = Vec::new();
        if !upload.tables.is_empty() {
            tables.extend(self.inputs.tables().numbers().iter().chain(&upload.tables));
        }
        for (buffer, bytes) in [
            (&mut self.buffers.cells, bytemuck::cast_slice::<f32, u8>(&tables)),
            (&mut self.buffers.intervals, bytemuck::cast_slice(&upload.intervals)),
            (&mut self.buffers.terms, bytemuck::cast_slice(&upload.terms)),
        ] {
            if bytes.len() as u64 > buffer.size() {
                self.binding = None;
            }
            if !bytes.is_empty() {
                device.put(buffer, bytes)?;
            }
        }
        let run = Run { contacts: self.contacts.len() as u32, max_passes, zero: 0 };
        queue.write_buffer(&self.buffers.run, 0, bytemuck::bytes_of(&run));
        let (kernel, buffers) = (&self.kernel, &self.buffers);
        self.binding.get_or_insert_with(|| kernel.pipeline.bind(device, &buffers.in_order()));
        Ok(max_passes)
    }

    /// Submits as many dispatches as `expected` passes are likely to take, one by one so that each is short.
    /// Then the states are copied, and the samples to staging buffer `to`; with `fresh` the samples are made
    /// NaN before the first dispatch, so that one which is not written shows.
    pub(super) fn dispatch(&self, expected: f64, max_passes: u32, fresh: bool, to: usize) -> wgpu::SubmissionIndex {
        let times = (expected / f64::from(max_passes)).ceil().max(1.0) as u32;
        let submit = |first: bool, last: bool| {
            self.capture(first && fresh);
            let mut encoder =
                self.core.device.handle.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                pass.set_bind_group(0, self.binding.as_ref(), &[]);
                let [poison, main] = self.workgroups();
                if first && fresh {
                    pass.set_pipeline(&self.kernel.pipeline.poison);
                    dispatch_groups(&mut pass, poison);
                }
                pass.set_pipeline(&self.kernel.pipeline.main);
                dispatch_groups(&mut pass, main);
            }
            if last {
                self.states.copy(&mut encoder, &self.buffers.states);
                self.records[to].copy(&mut encoder, &self.buffers.records);
            }
            self.core.device.queue.submit([encoder.finish()])
        };
        for i in 1..times {
            submit(i == 1, false);
        }
        submit(times == 1, true)
    }

    /// Workgroups that make the samples NaN, and those that step the contacts.
    fn workgroups(&self) -> [u32; 2] {
        let shape = self.kernel.variant.shape;
        let records = (self.contacts.len() * self.frames) as u32;
        [records.div_ceil(shape.workgroup), (self.contacts.len() as u32).div_ceil(shape.contacts())]
    }

    /// Keeps the next dispatch with what its buffers hold, if a test wants it; whether it poisons first.
    fn capture(&self, poisons: bool) {
        let Some(captures) = &self.core.device.captures else { return };
        let variant = self.kernel.variant;
        let before = crate::wait::wait_for::<_, EngineError>(contents(&self.core.device, &self.buffers.in_order()));
        let [poison, workgroups] = self.workgroups();
        let captured = Captured {
            variant,
            bindings: bindings(variant.is_grid()).iter().map(|access| access.name()).collect(),
            before: before.expect("a device that works"),
            workgroups,
            poisoned: if poisons { poison } else { 0 },
            contacts: self.contacts.iter().map(|own| (own.index, own.bristle_pairs(), own.kind)).collect(),
            frames: self.frames,
        };
        captures.lock().expect("no panic while capturing").push(captured);
    }
}

/// A sample as it is recorded.
pub(super) fn sample_of(r: &Record) -> Sample {
    let wide = |v: [f32; 3]| v.map(f64::from);
    let (q, low) = (wide(r.q), wide(r.q_low));
    Sample {
        pose: [q[0] + low[0], q[1] + low[1], q[2] + low[2]].into(),
        twist: wide(r.twist).into(),
        wrench: wide(r.wrench).into(),
        normal_force: f64::from(r.f_n),
        slip: share(f64::from(r.slip)),
        near_limit: share(f64::from(r.near_limit)),
    }
}

/// How a contact fares.
pub(super) fn status_of(s: &State) -> Status {
    Status {
        failure: reason(s.status).map(|r| (u64::from(s.failed_step), r)),
        left: (s.status & LEFT != 0).then(|| u64::from(s.recorded) - 1),
        unconverged: u64::from(s.unconverged),
        steps: u64::from(s.steps),
        passes: u64::from(s.passes),
    }
}

/// Bristles as [`crate::Bristles::States`] has them.
pub(super) fn shown_bristles(own: &[[f32; 2]], kind: ModelKind) -> Vec<[f64; 2]> {
    match kind {
        ModelKind::Grid | ModelKind::Layer => own.iter().map(|z| z.map(f64::from)).collect(),
        ModelKind::Reduced => vec![own[0].map(f64::from), [f64::from(own[1][0]), 0.0]],
        ModelKind::Point(_) => {
            let elements = own[1..].chunks_exact(PAIRS_PER_ELEMENT);
            elements.map(|e| [0, 1].map(|i| f64::from(e[1][i]) + f64::from(e[2][i]))).collect()
        }
    }
}

/// Passes of the contact that has most.
pub(super) fn most_passes(states: &[State]) -> u32 {
    states.iter().map(|s| s.passes).max().unwrap_or(0)
}

/// Whether a contact has not come to the end of its window.
pub(super) fn is_behind(states: &[State], windows: &[layout::Window]) -> bool {
    states.iter().zip(windows).any(|(s, w)| s.status == 0 && s.interval < w.end)
}

fn dispatch_groups(pass: &mut wgpu::ComputePass<'_>, groups: u32) {
    const WIDE: u32 = 32_768;
    pass.dispatch_workgroups(groups.min(WIDE), groups.div_ceil(WIDE), 1);
}

fn reason(status: u32) -> Option<Reason> {
    [Reason::Twist, Reason::Wrench, Reason::Steps].into_iter().find(|r| status & *r as u32 != 0)
}
