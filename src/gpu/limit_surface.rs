//! Limit surfaces on the device: many patches for many directions of motion in one dispatch.
//!
//! Patches are cut into slices of at most [`SLICE`] cells, and one invocation sums one slice for one motion:
//! no lane waits for another, loops stay short, and what a slice gives depends on nothing but its cells and
//! the motion. The host adds the slices in double precision.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::engine::Gpu;
use super::layout::{Batch, Cell, Load, Motion, Plate, Slice};
use super::shader::{SLICE, SURFACE_WORKGROUP, surface_source};
use super::staging::Staging;
use crate::error::{EngineError, ParameterError};
use crate::limit_surface::{CellSeries as Far, MAX_N_LS, Rule, Symmetry, Table};
use crate::patch::Patch;
use crate::planar::{Twist, Wrench};

/// Motions of one dispatch at most.
const MOST_MOTIONS: usize = 1 << 16;
/// Slices of one dispatch at most: workgroups in a dimension (portable limit).
const MOST_SLICES: usize = 65_535;
/// Bytes of one buffer at most, below every adapter's limit.
const BUFFER_BUDGET: usize = 96 << 20;
/// Cell visits of one dispatch that keep it well under 50 ms.
const WORK_HARDWARE: usize = 2_000_000_000;
/// The same on a software adapter.
const WORK_SOFTWARE: usize = 20_000_000;

/// Compiled once a rule.
#[derive(Debug, Default)]
pub(super) struct Pipelines(Mutex<HashMap<Rule, Arc<Pipeline>>>);

#[derive(Debug)]
struct Pipeline {
    wrenches: wgpu::ComputePipeline,
    poison: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

impl Gpu {
    /// Coulomb wrenches `[patch][twist]` [-, -, m] for `mu f_N = 1`, `docs/model.md` (88): every patch for
    /// every twist [m/s, m/s, rad/s], both at the patch's centre of pressure; to 1e-5 of the largest of
    /// [`Surface::coulomb`](crate::limit_surface::Surface::coulomb). Only a twist's direction counts; zero
    /// for a twist of zero. By the rule `points`, whose surface steps where the centre of rotation meets the
    /// centre of a cell, the error is up to 1e-6 of the patch's span over the distance of the two. A wrench
    /// has the same bits in any batch whose first patch has cells of the same area.
    ///
    /// # Errors
    /// A twist that is not finite, or a device that fails.
    pub fn coulomb(&self, patches: &[Patch], rule: Rule, twists: &[Twist]) -> Result<Vec<Vec<Wrench>>, EngineError> {
        if let Some(t) = twists.iter().find(|t| t.to_array().iter().any(|c| !c.is_finite())) {
            let value = format!("{:?}", t.to_array());
            return Err(ParameterError::new("twist", value, "finite numbers [m/s, m/s, rad/s]").into());
        }
        let Some(first) = patches.first() else { return Ok(Vec::new()) };
        // Lengths in the first patch's unit and speeds of order one, so that single precision holds them.
        let length = unit(first);
        let motion = |t: &Twist| {
            let v = [t.vx / length, t.vy / length, t.w];
            let scale = v.iter().fold(f64::MIN_POSITIVE, |m: f64, c| m.max(c.abs()));
            Motion { v: v.map(|c| (c / scale) as f32) }
        };
        let motions: Vec<Motion> = twists.iter().map(motion).collect();
        let levers: Vec<f64> = patches.iter().map(|p| length / unit(p)).collect();
        self.sums(patches, rule, &levers, &motions)
    }

    /// The tables of many patches with resolution `n_ls`, to 1e-5 of the largest of [`Table::new`]; of
    /// directions that are mirror images by the symmetry of a patch one is computed. `r` is the device's, by
    /// the rule of the table: a dispatch of pure rotations comes first. Cells much longer than wide are less
    /// exact: errors of 4e-5 (`cells`, a hundred times as long) and of 4e-3 (`bilinear`, thirty times,
    /// pressure along a diagonal) were found. A patch has the same table, bit for bit, in any batch.
    ///
    /// # Errors
    /// `n_ls` of zero or above [`MAX_N_LS`], or a device that fails.
    pub fn tables(&self, patches: &[Patch], rule: Rule, n_ls: usize) -> Result<Vec<Table>, EngineError> {
        if n_ls == 0 || n_ls > MAX_N_LS {
            return Err(ParameterError::new("n_ls", n_ls, format!("1 to {MAX_N_LS}")).into());
        }
        let spin = [Motion { v: [0.0, 0.0, 1.0] }];
        let spins = self.sums(patches, rule, &vec![1.0; patches.len()], &spin)?;
        // One cell has no torque by the rules that take its centre but what rounding leaves.
        let radius = |(p, w): (&Patch, &Vec<Wrench>)| if -w[0].tau > 1e-6 * unit(p) { -w[0].tau } else { 0.0 };
        let radii: Vec<f64> = patches.iter().zip(&spins).map(radius).collect();
        let mut alike: HashMap<Symmetry, Vec<usize>> = HashMap::new();
        for (k, patch) in patches.iter().enumerate() {
            alike.entry(Symmetry::of(patch, rule)).or_default().push(k);
        }
        let mut out = vec![None; patches.len()];
        for (symmetry, some) in alike {
            let (asked, images) = symmetry.images(n_ls);
            let motions: Vec<Motion> =
                Table::motions(n_ls, &asked).map(|v| Motion { v: v.map(|c| c as f32) }).collect();
            let of_some: Vec<Patch> = some.iter().map(|k| patches[*k].clone()).collect();
            let levers: Vec<f64> = some.iter().map(|k| radii[*k] / unit(&patches[*k])).collect();
            let wrenches = self.sums(&of_some, rule, &levers, &motions)?;
            let table = |(&k, wrenches): (&usize, &Vec<Wrench>)| {
                let r = radii[k];
                let h = |w: &Wrench| [w.fx, w.fy, if r > 0.0 { w.tau / r } else { 0.0 }];
                let wrenches: Vec<_> = wrenches.iter().map(h).collect();
                (k, Table::of_motions(&patches[k], rule, n_ls, r, true, &images, &wrenches))
            };
            let tables: Vec<_> = some.par_iter().zip(&wrenches).map(table).collect();
            tables.into_iter().for_each(|(k, table)| out[k] = Some(table));
        }
        Ok(out.into_iter().map(|table| table.expect("every patch has a symmetry")).collect())
    }

    /// Wrenches `[patch][motion]` of motions whose speeds are in `levers` of each patch's unit.
    fn sums(
        &self,
        patches: &[Patch],
        rule: Rule,
        levers: &[f64],
        motions: &[Motion],
    ) -> Result<Vec<Vec<Wrench>>, EngineError> {
        let mut out = vec![vec![Wrench::default(); motions.len()]; patches.len()];
        let pipeline = self.surface_pipeline(rule);
        let budget = BUFFER_BUDGET.min(self.adapter.max_storage_buffer as usize);
        let work = if self.adapter.software { WORK_SOFTWARE } else { WORK_HARDWARE };
        for (part, motions) in motions.chunks(MOST_MOTIONS).enumerate() {
            let most = (budget / (motions.len() * size_of::<Load>()))
                .min(budget / (SLICE * size_of::<Cell>()))
                .min(budget / size_of::<Plate>())
                .min(work / (motions.len() * SLICE))
                .clamp(1, MOST_SLICES);
            let mut far = HashMap::new();
            let mut upload = Upload::default();
            for (k, patch) in patches.iter().enumerate() {
                let (plate, cells) = plate(patch, levers[k], &mut far);
                for cells in cells.chunks(SLICE) {
                    if upload.slices.len() == most {
                        self.dispatch_surfaces(&pipeline, &upload, motions)?.add(part, patches, &mut out);
                        upload = Upload::default();
                    }
                    upload.push(k, &plate, cells);
                }
            }
            if !upload.slices.is_empty() {
                self.dispatch_surfaces(&pipeline, &upload, motions)?.add(part, patches, &mut out);
            }
        }
        Ok(out)
    }

    fn dispatch_surfaces<'a>(
        &self,
        pipeline: &Pipeline,
        upload: &'a Upload,
        motions: &[Motion],
    ) -> Result<Loads<'a>, EngineError> {
        let buffer = |label: &str, size: usize, usage: wgpu::BufferUsages| {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: size as u64,
                usage: usage | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            })
        };
        let filled = |label: &str, bytes: &[u8], usage: wgpu::BufferUsages| {
            let b = buffer(label, bytes.len(), usage);
            self.queue.write_buffer(&b, 0, bytes);
            b
        };
        let storage = wgpu::BufferUsages::STORAGE;
        let count = upload.slices.len() * motions.len();
        let batch = Batch { motions: motions.len() as u32, slices: upload.slices.len() as u32, zero: 0 };
        let buffers = [
            filled("cells", bytemuck::cast_slice(&upload.cells), storage),
            filled("plates", bytemuck::cast_slice(&upload.plates), storage),
            filled("slices", bytemuck::cast_slice(&upload.slices), storage),
            filled("motions", bytemuck::cast_slice(motions), storage),
            buffer("loads", count * size_of::<Load>(), storage),
            filled("batch", bytemuck::bytes_of(&batch), wgpu::BufferUsages::UNIFORM),
        ];
        let entries: Vec<_> = buffers
            .iter()
            .enumerate()
            .map(|(i, b)| wgpu::BindGroupEntry { binding: i as u32, resource: b.as_entire_binding() })
            .collect();
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.layout,
            entries: &entries,
        });
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_bind_group(0, &group, &[]);
            for pipeline in [&pipeline.poison, &pipeline.wrenches] {
                pass.set_pipeline(pipeline);
                pass.dispatch_workgroups(batch.motions.div_ceil(SURFACE_WORKGROUP), batch.slices, 1);
            }
        }
        let staging = Staging::new(&self.device, buffers[4].size());
        staging.copy(&mut encoder, &buffers[4]);
        self.queue.submit([encoder.finish()]);
        let loads: Vec<Load> = staging.read(&self.device, count)?;
        if loads.par_iter().any(|l| l.f.iter().any(|c| !c.is_finite())) {
            return Err(EngineError::Device("limit surfaces: some wrenches were not computed".to_owned()));
        }
        Ok(Loads { loads, upload, motions: motions.len() })
    }

    fn surface_pipeline(&self, rule: Rule) -> Arc<Pipeline> {
        let mut pipelines = self.surfaces.0.lock().expect("no panic while compiling");
        Arc::clone(pipelines.entry(rule).or_insert_with(|| Arc::new(Pipeline::new(&self.device, rule))))
    }
}

impl Pipeline {
    fn new(device: &wgpu::Device, rule: Rule) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("limit surface"),
            source: wgpu::ShaderSource::Wgsl(surface_source().into()),
        });
        let entry = |binding: u32| {
            let ty = match binding {
                0..=3 => wgpu::BufferBindingType::Storage { read_only: true },
                4 => wgpu::BufferBindingType::Storage { read_only: false },
                _ => wgpu::BufferBindingType::Uniform,
            };
            wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
                count: None,
            }
        };
        let entries: Vec<_> = (0..6).map(entry).collect();
        let layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = |entry_point, constants| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry_point),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(entry_point),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants,
                    zero_initialize_workgroup_memory: false,
                },
                cache: None,
            })
        };
        let constants = [("rule", f64::from(rule as u32))];
        Self { wrenches: pipeline("wrenches", &constants), poison: pipeline("poison", &constants), layout }
    }
}

/// What one dispatch reads, but for the motions.
#[derive(Default)]
struct Upload {
    cells: Vec<Cell>,
    plates: Vec<Plate>,
    slices: Vec<Slice>,
    /// The patch of every plate.
    owners: Vec<usize>,
}

impl Upload {
    fn push(&mut self, patch: usize, plate: &Plate, cells: &[Cell]) {
        if self.owners.last() != Some(&patch) {
            self.owners.push(patch);
            self.plates.push(*plate);
        }
        let (plate, first) = (self.plates.len() as u32 - 1, self.cells.len() as u32);
        self.slices.push(Slice { plate, first, count: cells.len() as u32 });
        self.cells.extend_from_slice(cells);
    }
}

/// What one dispatch wrote: `[slice][motion]`.
struct Loads<'a> {
    loads: Vec<Load>,
    upload: &'a Upload,
    motions: usize,
}

impl Loads<'_> {
    /// Adds the slices to the wrenches of their patches, in order.
    fn add(&self, part: usize, patches: &[Patch], out: &mut [Vec<Wrench>]) {
        for (slice, loads) in self.upload.slices.iter().zip(self.loads.chunks(self.motions)) {
            let patch = self.upload.owners[slice.plate as usize];
            let unit = unit(&patches[patch]);
            for (w, load) in out[patch][part * MOST_MOTIONS..].iter_mut().zip(loads) {
                w.fx += f64::from(load.f[0]);
                w.fy += f64::from(load.f[1]);
                w.tau += f64::from(load.f[2]) * unit;
            }
        }
    }
}

/// Unit of length of a patch's sums [m]: the root of a cell's area.
fn unit(patch: &Patch) -> f64 {
    (patch.grid().dx * patch.grid().dy).sqrt()
}

/// A patch as the device sees it. `far` keeps the series of each shape of cell.
fn plate(patch: &Patch, lever: f64, far: &mut HashMap<[u64; 2], Far>) -> (Plate, Vec<Cell>) {
    let (grid, cop, unit) = (patch.grid(), patch.cop(), unit(patch));
    let cells: Vec<[f64; 3]> =
        patch.cells().iter().map(|c| [(c.x - cop[0]) / unit, (c.y - cop[1]) / unit, c.w]).collect();
    let (hx, hy) = (0.5 * grid.dx / unit, 0.5 * grid.dy / unit);
    let far = far.entry([hx.to_bits(), hy.to_bits()]).or_insert_with(|| Far::new(hx, hy));
    let [spin, along_x, along_y] = far.series().map(|series| {
        let mut out = [0.0; 20];
        for (to, from) in out.iter_mut().zip(series.as_flattened()) {
            *to = *from as f32;
        }
        out
    });
    let plate = Plate {
        lever: lever as f32,
        span: cells.iter().map(|[x, y, _]| x.hypot(*y)).fold(0.0, f64::max) as f32,
        hx: hx as f32,
        hy: hy as f32,
        cop_x: (cop[0] / grid.dx + 0.5 * grid.nx as f64) as f32,
        cop_y: (cop[1] / grid.dy + 0.5 * grid.ny as f64) as f32,
        nx: grid.nx as f32,
        ny: grid.ny as f32,
        spin,
        along_x,
        along_y,
    };
    (plate, cells.iter().map(|&[x, y, w]| Cell { x: x as f32, y: y as f32, w: w as f32 }).collect())
}
