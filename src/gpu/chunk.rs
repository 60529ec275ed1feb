//! Contacts that are stepped together.
//!
//! A chunk fits the adapter's buffers and is stepped window by window: some samples' worth of
//! intervals go up, dispatches step them, the samples come back while the next window runs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::engine::{Gpu, Pipeline};
use super::item::{Item, device_contact, device_state};
use super::layout::{self, Record, Run, State, flag};
use super::map::{self, Map, Tables};
use super::pace::Pace;
use super::room::{self, BUFFER_BUDGET};
use super::shader::{RAMP_ITERATIONS, ROOT_ITERATIONS, Shape, Variant};
use super::staging::Staging;
use crate::contact::{Bristles, Carry, Model};
use crate::engine::{Plan, Progress, Reason, Status, Trajectories, share};
use crate::error::EngineError;
use crate::patch::Patch;
use crate::schedule::Interval;

/// Cell visits of one window: of some dispatches, and samples that come back together.
const WORK_HARDWARE: f64 = 1e9;
/// The same on a software adapter.
const WORK_SOFTWARE: f64 = 3e7;
/// Mesa's llvmpipe ends every loop of an invocation after 65 535 turns of all of them together,
/// silently; stay below.
const SOFTWARE_LOOP_TURNS: u32 = 60_000;
/// Sweeps of one dispatch at most on hardware: of a few contacts a sweep takes its latency, some 20 us.
const MOST_SWEEPS: u32 = 2000;
/// Sweeps over the grid in a step.
const SWEEPS_PER_STEP: f64 = 2.2;

/// Contacts that are stepped together, and their buffers.
pub(super) struct Chunk<'a> {
    gpu: &'a Gpu,
    pipeline: &'a Pipeline,
    variant: Variant,
    items: &'a [Item<'a>],
    /// Samples of one window.
    frames: usize,
    /// Sweeps of one window, as far as they can be foreseen.
    expected_sweeps: f64,
    /// The limit surfaces on the device.
    tables: Tables,
    /// The map of every contact at the end of what was built so far.
    maps: Vec<Map>,
    bindings: Bindings,
    /// Made anew when a buffer grows.
    group: Option<wgpu::BindGroup>,
    states: Staging,
    /// One is read while the device fills the other.
    records: [Staging; 2],
    pace: Pace,
}

/// The buffers of a chunk, in the order of their bindings.
struct Bindings {
    cells: wgpu::Buffer,
    contacts: wgpu::Buffer,
    windows: wgpu::Buffer,
    intervals: wgpu::Buffer,
    terms: wgpu::Buffer,
    states: wgpu::Buffer,
    zetas: wgpu::Buffer,
    records: wgpu::Buffer,
    run: wgpu::Buffer,
}

/// Intervals of one window of a contact: the first one's index, the map before it, and each with its map and,
/// if it needs a limit surface of its own, the patch of that.
type Part = (usize, Map, Vec<(Interval, Map, Option<Patch>)>);

/// Intervals of one window of all contacts of a chunk.
#[derive(Default)]
struct Upload {
    windows: Vec<layout::Window>,
    intervals: Vec<layout::Interval>,
    terms: Vec<layout::Term>,
    /// Limit surfaces that the window needs beside those of the whole run.
    tables: Vec<f32>,
}

impl<'a> Chunk<'a> {
    pub(super) fn new(
        gpu: &'a Gpu,
        pipeline: &'a Pipeline,
        variant: Variant,
        items: &'a [Item<'a>],
        plan: &Plan,
    ) -> Self {
        let samples = plan.samples.len() - 1;
        let steps_per_frame = (plan.duration() / samples as f64 / plan.step).max(1.0);
        let cells: usize = items.iter().map(Item::zetas).sum();
        let own = if gpu.adapter.software { WORK_SOFTWARE } else { WORK_HARDWARE };
        let work = gpu.budget.map_or(own, |(work, _)| work);
        let steps = (work / (cells as f64 * SWEEPS_PER_STEP)).clamp(16.0, 1e6);
        // Long runs of many contacts: no more samples a window than the three buffers for them may hold
        // together.
        let fit = BUFFER_BUDGET as usize / (3 * items.len() * size_of::<Record>());
        let fit = (fit.max(2) - 1).min(room::samples_that_fit(items, gpu.adapter.max_storage_buffer));
        let frames = ((steps / steps_per_frame) as usize).clamp(1, samples).min(fit);

        let mut cell_data: Vec<layout::Cell> = Vec::new();
        // A fixed map decides its cells; those of a map that follows the force are nested, so their number
        // does.
        let mut cell_maps: HashMap<(usize, usize, usize, usize), u32> = HashMap::new();
        let mut tables = Tables::default();
        let mut maps = Vec::with_capacity(items.len());
        // A new buffer holds zeros: bristles go up only if some contact brings its own.
        let bent = items.iter().any(|item| item.contact.initial.bristles != Bristles::Unloaded);
        let firsts = items[..if bent { items.len() } else { 0 }].par_iter();
        let firsts: Vec<_> = firsts.map(|item| item.contact.first_bristles(&item.active)).collect();
        let mut zetas: Vec<[f32; 2]> = Vec::with_capacity(if bent { cells } else { 0 });
        let mut zeta_first = 0;
        let mut contacts = Vec::with_capacity(items.len());
        let mut states = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let patch = &item.contact.patch;
            let grid = patch.grid();
            let map = Map::of(item.contact);
            let table_first = map.table.as_ref().map_or(0, |t| tables.first_of(t));
            let map_key = if patch.rule().is_none() { Arc::as_ptr(patch.map()).cast::<f64>() as usize } else { 0 };
            let first = *cell_maps.entry((map_key, item.active.len(), grid.nx, grid.ny)).or_insert_with(|| {
                let first = cell_data.len() as u32;
                let unit = crate::patch::Grid { dx: 1.0, dy: 1.0, ..*grid };
                cell_data.extend(item.active.iter().map(|&i| {
                    let [x, y] = unit.centre(i % grid.nx, i / grid.nx);
                    layout::Cell { x: x as f32, y: y as f32, w: patch.weights()[i] as f32 }
                }));
                first
            });
            let first = if item.contact.model.is_grid() { first } else { table_first };
            contacts.push(device_contact(item, plan, &map, first, zeta_first));
            zeta_first += item.zetas() as u32;
            let first = firsts.get(i).and_then(|first| first.as_deref()).unwrap_or_default();
            // The low parts of a reduced bristle, behind its three numbers, start at 0.
            let high = |i: usize, z: &[f64; 2]| if item.contact.model.is_grid() || i == 0 { z[1] as f32 } else { 0.0 };
            let zeta = |i: usize| first.get(i).map_or([0.0; 2], |z| [z[0] as f32, high(i, z)]);
            if bent {
                zetas.extend((0..item.zetas()).map(zeta));
            }
            states.push(device_state(item.contact));
            maps.push(map);
        }
        let buffer = |label: &str, size: u64, usage: wgpu::BufferUsages| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: size.max(64).next_multiple_of(4),
                usage: usage | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            })
        };
        let storage = wgpu::BufferUsages::STORAGE;
        let filled = |label: &str, bytes: &[u8]| {
            let b = buffer(label, bytes.len() as u64, storage);
            gpu.queue.write_buffer(&b, 0, bytes);
            b
        };
        let record_bytes = ((frames + 1) * items.len() * size_of::<Record>()) as u64;
        let bindings = Bindings {
            cells: match variant.reduced {
                None => filled("cells", bytemuck::cast_slice(&cell_data)),
                Some(_) => filled("tables", bytemuck::cast_slice(tables.numbers())),
            },
            contacts: filled("contacts", bytemuck::cast_slice(&contacts)),
            windows: buffer("windows", (items.len() * size_of::<layout::Window>()) as u64, storage),
            intervals: buffer("intervals", 64, storage),
            terms: buffer("terms", 64, storage),
            states: filled("states", bytemuck::cast_slice(&states)),
            zetas: if bent {
                filled("zetas", bytemuck::cast_slice(&zetas))
            } else {
                buffer("zetas", (cells * size_of::<[f32; 2]>()) as u64, storage)
            },
            records: buffer("records", record_bytes, storage),
            run: buffer("run", size_of::<Run>() as u64, wgpu::BufferUsages::UNIFORM),
        };
        let staging = |size: u64| Staging::new(&gpu.device, size);
        let (state_size, record_size) = (bindings.states.size(), bindings.records.size());
        let expected_sweeps = frames as f64 * (steps_per_frame * SWEEPS_PER_STEP + 2.0);
        Self {
            gpu,
            pipeline,
            variant,
            items,
            frames,
            expected_sweeps,
            tables,
            maps,
            bindings,
            group: None,
            states: staging(state_size),
            records: [staging(record_size), staging(record_size)],
            pace: Pace::new(gpu.adapter.software),
        }
    }

    /// Steps all windows and writes the samples to `out`.
    pub(super) fn run(mut self, progress: &Progress<'_>, out: &mut Trajectories) -> Result<(), EngineError> {
        let last = out.frames() - 1;
        let mut cursors = vec![0; self.items.len()];
        let mut window = 0..self.frames.min(last);
        let mut upload = self.build(&window, &mut cursors)?;
        // The window before, whose samples the device has copied but nobody has read.
        let mut finished: Option<(Range<usize>, usize, wgpu::SubmissionIndex)> = None;
        let mut states: Vec<State> = Vec::new();
        let mut to = 0;
        while !window.is_empty() {
            let most = self.send(&upload);
            let started = Instant::now();
            let mut copied = self.dispatch(self.expected_sweeps, most, true, to);
            // The device computes: read the window before, and prepare the one after.
            if let Some(done) = finished.take() {
                let samples = self.decode(done, out)?;
                if !progress(samples) {
                    return Err(EngineError::Stopped);
                }
            }
            let next = window.end..(window.end + self.frames).min(last);
            let prepared = self.build(&next, &mut cursors)?;
            let swept = |states: &[State]| states.iter().map(|s| s.sweeps).max().unwrap_or(0);
            let before = swept(&states);
            let busy = !self.gpu.device.poll(wgpu::PollType::Poll).is_ok_and(|status| status.is_queue_empty());
            states = self.states.read(&self.gpu.device, self.items.len())?;
            self.pace.learn(most, swept(&states) - before, started.elapsed(), busy);
            let behind = |(s, w): (&State, &layout::Window)| s.status == 0 && s.interval < w.end;
            while states.iter().zip(&upload.windows).any(behind) {
                copied = self.dispatch(1.0, most, false, to);
                states = self.states.read(&self.gpu.device, self.items.len())?;
            }
            finished = Some((window, to, copied));
            (window, upload, to) = (next, prepared, 1 - to);
        }
        if let Some(done) = finished {
            let samples = self.decode(done, out)?;
            progress(samples);
        }
        for (item, s) in self.items.iter().zip(&states) {
            out.status[item.index] = Status {
                failure: reason(s.status).map(|r| (u64::from(s.failed_step), r)),
                unconverged: u64::from(s.unconverged),
                steps: u64::from(s.steps),
                passes: u64::from(s.sweeps),
            };
        }
        if !out.bristles.is_empty() {
            self.read_bristles(out)?;
        }
        Ok(())
    }

    /// The intervals of all contacts for the samples after `window.start` up to `window.end`.
    fn build(&mut self, window: &Range<usize>, cursors: &mut [usize]) -> Result<Upload, EngineError> {
        let mut upload = Upload::default();
        if window.is_empty() {
            return Ok(upload);
        }
        let mut parts: Vec<Part> = self
            .items
            .par_iter()
            .zip(&*cursors)
            .zip(&mut self.maps)
            .map(|((item, &from), map)| {
                let (before, mut intervals) = (map.clone(), Vec::new());
                let mut samples = 0;
                while samples < window.len() && from + intervals.len() < item.timeline.len() {
                    let mut interval = item.contact.interval(&item.timeline, from + intervals.len());
                    samples += usize::from(interval.record);
                    let own = map.follow(item.contact, &mut interval);
                    intervals.push((interval, map.clone(), own));
                }
                (from, before, intervals)
            })
            .collect();
        self.make_tables(&mut parts)?;
        let mut window_tables = self.tables.clone();
        for (i, (from, mut before, intervals)) in parts.into_iter().enumerate() {
            let to = from + intervals.len();
            cursors[i] = to;
            upload.windows.push(layout::Window {
                interval_first: upload.intervals.len() as u32,
                begin: from as u32,
                end: to as u32,
                record_first: (i * (self.frames + 1)) as u32,
                // Sample 0 belongs to the first window, before its intervals.
                sample_from: if window.start == 0 { 0 } else { window.start as u32 + 1 },
            });
            for (j, (interval, map, _)) in intervals.into_iter().enumerate() {
                let term_first = upload.terms.len() as u32;
                upload.terms.extend(interval.terms.iter().map(|q| layout::Term {
                    slot: q.slot as u32,
                    amplitude: q.amplitude as f32,
                    omega: q.omega as f32,
                    phase: q.phase as f32,
                }));
                let bit = |set: bool, bit: u32| if set { bit } else { 0 };
                let mut c = [0.0; 18];
                for (to, from) in c.iter_mut().zip(interval.c.as_flattened()) {
                    *to = *from as f32;
                }
                let Carry { slides, sticks, .. } = map.taken_after(&before, self.items[i].contact);
                upload.intervals.push(layout::Interval {
                    length: interval.length as f32,
                    flags: bit(interval.jump, flag::JUMP)
                        | bit(interval.record, flag::RECORD)
                        | bit(interval.remap.is_some(), flag::REMAP)
                        | bit(from + j == 0, flag::FIRST),
                    map_f_n: map.f_n.unwrap_or_default() as f32,
                    map_radius: map.radius as f32,
                    map_viscous: map.viscous as f32,
                    map_slides: slides as f32,
                    map_sticks: sticks as f32,
                    map_table: map.table.as_ref().map_or(0, |t| window_tables.first_of(t)),
                    term_first,
                    term_count: interval.terms.len() as u32,
                    c,
                });
                before = map;
            }
        }
        upload.tables = window_tables.numbers_beyond(&self.tables);
        Ok(upload)
    }

    /// Makes the limit surfaces that intervals ask for, all in one batch, and hands each to the
    /// intervals from there on.
    fn make_tables(&mut self, parts: &mut [Part]) -> Result<(), EngineError> {
        let all = || parts.iter().flat_map(|(_, _, intervals)| intervals);
        let asked = all().filter_map(|(_, map, own)| Some((own.clone()?, map.table.clone()?)));
        let mut made = map::tables(self.gpu, asked.collect())?.into_iter();
        for ((_, _, intervals), now) in parts.iter_mut().zip(&mut self.maps) {
            let mut latest = None;
            for (_, map, own) in intervals {
                if own.is_some() {
                    latest = made.next();
                }
                latest.iter().for_each(|table| map.take(Arc::clone(table)));
            }
            latest.into_iter().for_each(|table| now.take(table));
        }
        Ok(())
    }

    /// Sweeps after which a dispatch has to stop.
    fn max_sweeps(&self, upload: &Upload) -> u32 {
        let Shape { workgroup, pairs, .. } = self.variant.shape;
        let ramp_loops = self.variant.elasto_plastic && self.variant.shape.ramp_loops();
        if !self.gpu.adapter.software {
            return MOST_SWEEPS;
        }
        // A software driver runs every branch, with the lanes that do not take it switched off, and every
        // loop at least once: each step goes through the loops of both kinds of step and of two samples.
        let terms = upload.intervals.iter().map(|i| i.term_count).max().unwrap_or(0);
        let model = match self.variant.reduced {
            // A pair has two roots.
            None => 2 * pairs * if ramp_loops { 1 + 2 * RAMP_ITERATIONS } else { 1 } + workgroup / 8,
            Some(_) => 2 * (ROOT_ITERATIONS + 2),
        };
        let turns = model + 30 + 4 * terms;
        (SOFTWARE_LOOP_TURNS.saturating_sub(6 * pairs) / turns).saturating_sub(12).max(1)
    }

    /// Puts a window's intervals on the device; buffers grow when they must. Returns the sweeps
    /// that one dispatch may do.
    fn send(&mut self, upload: &Upload) -> u32 {
        let own = self.pace.sweeps(self.max_sweeps(upload));
        let max_sweeps = self.gpu.budget.map_or(own, |(_, sweeps)| own.min(sweeps));
        let queue = &self.gpu.queue;
        queue.write_buffer(&self.bindings.windows, 0, bytemuck::cast_slice(&upload.windows));
        let mut tables = Vec::new();
        if !upload.tables.is_empty() {
            tables.extend(self.tables.numbers().iter().chain(&upload.tables));
        }
        for (buffer, bytes) in [
            (&mut self.bindings.cells, bytemuck::cast_slice::<f32, u8>(&tables)),
            (&mut self.bindings.intervals, bytemuck::cast_slice(&upload.intervals)),
            (&mut self.bindings.terms, bytemuck::cast_slice(&upload.terms)),
        ] {
            if bytes.len() as u64 > buffer.size() {
                self.group = None;
            }
            if !bytes.is_empty() {
                self.gpu.put(buffer, bytes);
            }
        }
        let run = Run { contacts: self.items.len() as u32, max_sweeps, zero: 0 };
        queue.write_buffer(&self.bindings.run, 0, bytemuck::bytes_of(&run));
        self.bind();
        max_sweeps
    }

    /// Binds the buffers, if some are new.
    fn bind(&mut self) {
        let b = &self.bindings;
        let buffers =
            [&b.cells, &b.contacts, &b.windows, &b.intervals, &b.terms, &b.states, &b.zetas, &b.records, &b.run];
        self.group.get_or_insert_with(|| {
            let entries: Vec<_> = (0..)
                .zip(buffers)
                .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
                .collect();
            self.gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &self.pipeline.layout,
                entries: &entries,
            })
        });
    }

    /// Submits as many dispatches as `expected` sweeps are likely to take, one by one so that each is short,
    /// and copies of the states and, to staging buffer `to`, of the samples; `fresh` with the samples
    /// poisoned before.
    fn dispatch(&self, expected: f64, max_sweeps: u32, fresh: bool, to: usize) -> wgpu::SubmissionIndex {
        let times = (expected / f64::from(max_sweeps)).ceil().max(1.0) as u32;
        let submit = |first: bool, last: bool| {
            let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                pass.set_bind_group(0, self.group.as_ref(), &[]);
                if first && fresh {
                    let records = (self.items.len() * (self.frames + 1)) as u32;
                    pass.set_pipeline(&self.pipeline.poison);
                    dispatch_groups(&mut pass, records.div_ceil(self.variant.shape.workgroup));
                }
                pass.set_pipeline(&self.pipeline.rollout);
                let contacts = self.variant.shape.contacts();
                dispatch_groups(&mut pass, (self.items.len() as u32).div_ceil(contacts));
            }
            if last {
                self.states.copy(&mut encoder, &self.bindings.states);
                self.records[to].copy(&mut encoder, &self.bindings.records);
            }
            self.gpu.queue.submit([encoder.finish()])
        };
        for i in 1..times {
            submit(i == 1, false);
        }
        submit(times == 1, true)
    }

    /// Moves the samples of a window from its staging buffer to `out`; returns how many.
    fn decode(
        &self,
        (window, from, copied): (Range<usize>, usize, wgpu::SubmissionIndex),
        out: &mut Trajectories,
    ) -> Result<u64, EngineError> {
        let n = self.items.len() * (self.frames + 1);
        let records: Vec<Record> = self.records[from].read_after(&self.gpu.device, n, Some(copied))?;
        let frames = out.frames();
        let first = if window.start == 0 { 0 } else { window.start + 1 };
        for (i, item) in self.items.iter().enumerate() {
            for frame in first..=window.end {
                let r = &records[i * (self.frames + 1) + frame - first];
                let at = item.index * frames + frame;
                let wide = |v: [f32; 3]| v.map(f64::from);
                let (q, low) = (wide(r.q), wide(r.q_low));
                out.pose[at] = [q[0] + low[0], q[1] + low[1], q[2] + low[2]];
                out.twist[at] = wide(r.twist);
                out.wrench[at] = wide(r.wrench);
                out.normal_force[at] = f64::from(r.f_n);
                out.slip[at] = share(f64::from(r.slip));
            }
        }
        Ok((window.len() * self.items.len()) as u64)
    }

    fn read_bristles(&self, out: &mut Trajectories) -> Result<(), EngineError> {
        let staging = Staging::new(&self.gpu.device, self.bindings.zetas.size());
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        staging.copy(&mut encoder, &self.bindings.zetas);
        self.gpu.queue.submit([encoder.finish()]);
        let n = self.items.iter().map(Item::zetas).sum();
        let zetas = staging.read::<[f32; 2]>(&self.gpu.device, n)?;
        let mut first = 0;
        for item in self.items {
            let own = &zetas[first..first + item.zetas()];
            out.bristles[item.index] = match item.contact.model {
                Model::Distributed => own.iter().map(|z| z.map(f64::from)).collect(),
                _ => vec![own[0].map(f64::from), [f64::from(own[1][0]), 0.0]],
            };
            first += item.zetas();
        }
        Ok(())
    }
}

fn dispatch_groups(pass: &mut wgpu::ComputePass<'_>, groups: u32) {
    const WIDE: u32 = 32_768;
    pass.dispatch_workgroups(groups.min(WIDE), groups.div_ceil(WIDE), 1);
}

fn reason(status: u32) -> Option<Reason> {
    [Reason::Twist, Reason::Wrench, Reason::Steps].into_iter().find(|r| status & *r as u32 != 0)
}
