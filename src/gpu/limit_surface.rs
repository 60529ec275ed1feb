//! Limit surfaces on the device: many patches for many directions of motion in one dispatch.
//!
//! The cells of a patch are divided into slices of at most [`SLICE`], and one invocation sums one slice for
//! one motion. So no lane waits for another, loops are short, and the sum of a slice depends only on its
//! cells and the motion. The host adds the slices in double precision.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::buffer::{BUFFER_BUDGET, Staging};
use super::device::Device;
use super::layout::{Batch, Cell, Load, Motion, PatchConstants, Slice};
use super::pipeline::{Access, Pipeline};
use super::shader::{SLICE, SURFACE_WORKGROUP, surface_source};
use crate::error::{DeviceError, EngineError, ParameterError};
use crate::limit_surface::{CellSeries as Far, MAX_N_LS, Rule, Surface, Symmetry, Table};
use crate::patch::{Patch, isotropic_in_pressure};
use crate::planar::{Twist, Wrench};
use crate::pool;

/// Largest number of motions of one dispatch.
const MOST_MOTIONS: usize = 1 << 16;
/// Largest number of slices of one dispatch: the portable limit of workgroups in a dimension.
const MOST_SLICES: usize = 65_535;
/// Terms (a cell and a motion) of one dispatch, few enough that it takes well under 50 ms.
const WORK_HARDWARE: usize = 2_000_000_000;
/// The same on a software adapter.
const WORK_SOFTWARE: usize = 20_000_000;

/// What the shader uses its buffers for, in the order of their bindings.
const BINDINGS: [Access; 6] =
    [Access::Read, Access::Read, Access::Read, Access::Read, Access::ReadWrite, Access::Uniform];

/// The shaders of limit surfaces, compiled when a rule is first asked for.
#[derive(Debug, Default)]
pub(super) struct SurfacePipelines(Mutex<HashMap<Rule, Arc<Pipeline>>>);

/// Limit surfaces made on a device.
#[derive(Clone, Copy)]
pub(super) struct Surfaces<'a> {
    pub(super) device: &'a Device,
    pub(super) pipelines: &'a SurfacePipelines,
}

impl Surfaces<'_> {
    /// [`Gpu::coulomb`](super::Gpu::coulomb).
    pub(super) async fn coulomb(
        self,
        patches: &[Patch],
        rule: Rule,
        twists: &[Twist],
    ) -> Result<Vec<Vec<Wrench>>, EngineError> {
        if let Some(t) = twists.iter().find(|t| t.to_array().iter().any(|c| !c.is_finite())) {
            let value = format!("{:?}", t.to_array());
            return Err(ParameterError::new("twist", value, "finite numbers [m/s, m/s, rad/s]").into());
        }
        if patches.iter().any(|patch| patch.friction_axes().is_some() || patch.is_irregular()) {
            // Every patch has twists of its own, which a dispatch shares.
            let found = Surface::batch(patches, rule).iter().map(|surface| surface.coulombs(twists)).collect();
            return Ok(found);
        }
        let patches = &*isotropic_in_pressure(patches);
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
        self.sums(patches, rule, &levers, &motions).await
    }

    /// [`Gpu::tables`](super::Gpu::tables).
    pub(super) async fn tables(self, patches: &[Patch], rule: Rule, n_ls: usize) -> Result<Vec<Table>, EngineError> {
        if n_ls == 0 || n_ls > MAX_N_LS {
            return Err(ParameterError::new("n_ls", n_ls, format!("1 to {MAX_N_LS}")).into());
        }
        let patches = &*isotropic_in_pressure(patches);
        if patches.iter().any(Patch::is_irregular) {
            return Ok(Table::batch_single(patches, rule, n_ls)?);
        }
        let spin = [Motion { v: [0.0, 0.0, 1.0] }];
        let spins = self.sums(patches, rule, &vec![1.0; patches.len()], &spin).await?;
        // By the rules that put all of a cell's force at its centre, a single cell has no torque; the
        // threshold takes what rounding leaves for zero.
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
            let wrenches = self.sums(&of_some, rule, &levers, &motions).await?;
            let table = |(&k, wrenches): (&usize, &Vec<Wrench>)| {
                let r = radii[k];
                let h = |w: &Wrench| [w.fx, w.fy, if r > 0.0 { w.tau / r } else { 0.0 }];
                let wrenches: Vec<_> = wrenches.iter().map(h).collect();
                (k, Table::of_motions(&patches[k], rule, n_ls, r, true, &images, &wrenches))
            };
            let tables: Vec<_> = pool::run(|| some.par_iter().zip(&wrenches).map(table).collect());
            tables.into_iter().for_each(|(k, table)| out[k] = Some(table));
        }
        Ok(out.into_iter().map(|table| table.expect("every patch has a symmetry")).collect())
    }

    /// Wrenches `[patch][motion]`. The translation of motions is in units of the patch's entry of `levers`, a
    /// length in units of the patch.
    async fn sums(
        self,
        patches: &[Patch],
        rule: Rule,
        levers: &[f64],
        motions: &[Motion],
    ) -> Result<Vec<Vec<Wrench>>, EngineError> {
        let mut out = vec![vec![Wrench::default(); motions.len()]; patches.len()];
        let pipeline = self.pipeline(rule)?;
        let budget = BUFFER_BUDGET.min(self.device.adapter.max_storage_buffer) as usize;
        let work = if self.device.adapter.software { WORK_SOFTWARE } else { WORK_HARDWARE };
        for (part, motions) in motions.chunks(MOST_MOTIONS).enumerate() {
            let most = (budget / (motions.len() * size_of::<Load>()))
                .min(budget / (SLICE * size_of::<Cell>()))
                .min(budget / size_of::<PatchConstants>())
                .min(work / (motions.len() * SLICE))
                .clamp(1, MOST_SLICES);
            let mut far = HashMap::new();
            let mut upload = Upload::default();
            for (k, patch) in patches.iter().enumerate() {
                let (constants, cells) = patch_constants(patch, levers[k], &mut far);
                for cells in cells.chunks(SLICE) {
                    if upload.slices.len() == most {
                        self.dispatch(&pipeline, &upload, motions).await?.add(part, patches, &mut out);
                        upload = Upload::default();
                    }
                    upload.push(k, &constants, cells);
                }
            }
            if !upload.slices.is_empty() {
                self.dispatch(&pipeline, &upload, motions).await?.add(part, patches, &mut out);
            }
        }
        Ok(out)
    }

    async fn dispatch<'a>(
        self,
        pipeline: &Pipeline,
        upload: &'a Upload,
        motions: &[Motion],
    ) -> Result<Loads<'a>, EngineError> {
        let device = self.device;
        let storage = wgpu::BufferUsages::STORAGE;
        let count = upload.slices.len() * motions.len();
        let batch = Batch { motions: motions.len() as u32, slices: upload.slices.len() as u32, zero: 0 };
        let loads = device.buffer("loads", (count * size_of::<Load>()) as u64, storage)?;
        let group = pipeline.bind(
            device,
            &[
                &device.filled("cells", bytemuck::cast_slice(&upload.cells), storage)?,
                &device.filled("patches", bytemuck::cast_slice(&upload.patches), storage)?,
                &device.filled("slices", bytemuck::cast_slice(&upload.slices), storage)?,
                &device.filled("motions", bytemuck::cast_slice(motions), storage)?,
                &loads,
                &device.filled("batch", bytemuck::bytes_of(&batch), wgpu::BufferUsages::UNIFORM)?,
            ],
        );
        let mut encoder = device.handle.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_bind_group(0, &group, &[]);
            for pipeline in [&pipeline.poison, &pipeline.main] {
                pass.set_pipeline(pipeline);
                pass.dispatch_workgroups(batch.motions.div_ceil(SURFACE_WORKGROUP), batch.slices, 1);
            }
        }
        let staging = Staging::new(device, loads.size())?;
        staging.copy(&mut encoder, &loads);
        let copied = device.queue.submit([encoder.finish()]);
        let loads: Vec<Load> = staging.read(device, count, copied).await?;
        if pool::run(|| loads.par_iter().any(|l| l.f.iter().any(|c| !c.is_finite()))) {
            return Err(DeviceError::failed("limit surfaces: some wrenches were not computed"));
        }
        Ok(Loads { loads, upload, motions: motions.len() })
    }

    fn pipeline(self, rule: Rule) -> Result<Arc<Pipeline>, DeviceError> {
        let mut pipelines = self.pipelines.0.lock().expect("no panic while compiling");
        if let Some(pipeline) = pipelines.get(&rule) {
            return Ok(Arc::clone(pipeline));
        }
        let constants = [("rule", f64::from(rule as u32))];
        let pipeline = Arc::new(Pipeline::new(self.device, &surface_source(), "wrenches", &BINDINGS, &constants)?);
        pipelines.insert(rule, Arc::clone(&pipeline));
        Ok(pipeline)
    }
}

/// What one dispatch reads, except for the motions.
#[derive(Default)]
struct Upload {
    cells: Vec<Cell>,
    patches: Vec<PatchConstants>,
    slices: Vec<Slice>,
    /// The index of every one of `patches` among the patches of the call.
    owners: Vec<usize>,
}

impl Upload {
    fn push(&mut self, patch: usize, constants: &PatchConstants, cells: &[Cell]) {
        if self.owners.last() != Some(&patch) {
            self.owners.push(patch);
            self.patches.push(*constants);
        }
        let (patch_index, first) = (self.patches.len() as u32 - 1, self.cells.len() as u32);
        self.slices.push(Slice { patch_index, first, count: cells.len() as u32 });
        self.cells.extend_from_slice(cells);
    }
}

/// The results of one dispatch, `[slice][motion]`.
struct Loads<'a> {
    loads: Vec<Load>,
    upload: &'a Upload,
    motions: usize,
}

impl Loads<'_> {
    /// Adds the slices to the wrenches of their patches, in order.
    fn add(&self, part: usize, patches: &[Patch], out: &mut [Vec<Wrench>]) {
        for (slice, loads) in self.upload.slices.iter().zip(self.loads.chunks(self.motions)) {
            let patch = self.upload.owners[slice.patch_index as usize];
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

/// A patch and its cells in the device's layout. `far` caches the series of each shape of cell.
fn patch_constants(patch: &Patch, lever: f64, far: &mut HashMap<[u64; 2], Far>) -> (PatchConstants, Vec<Cell>) {
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
    let constants = PatchConstants {
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
    (constants, cells.iter().map(|&[x, y, w]| Cell { x: x as f32, y: y as f32, w: w as f32 }).collect())
}
