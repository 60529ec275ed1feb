//! Friction cones on the device: many forces in one dispatch, an invocation for each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::buffer::{BUFFER_BUDGET, Staging};
use super::device::Device;
use super::layout::ConeBatch;
use super::pipeline::{Access, Pipeline};
use crate::error::{DeviceError, EngineError};
use crate::number::real::Real;
use crate::rigid::cone::{Section, validate};

/// Lanes of a workgroup, which do not communicate.
const CONE_WORKGROUP: u32 = 64;
/// Workgroups of a row of a dispatch, of which there may be several: below the portable limit of 65 535.
const ROW: u32 = 32_768;
/// Tests of a face of one dispatch, few enough that it takes well under 50 ms.
const WORK_HARDWARE: usize = 2_000_000_000;
/// The same on a software adapter.
const WORK_SOFTWARE: usize = 20_000_000;

/// What the shader uses its buffers for, in the order of their bindings.
const BINDINGS: [Access; 5] = [Access::Read, Access::Read, Access::Read, Access::ReadWrite, Access::Uniform];

/// The shaders of cones, compiled when one is first asked for: of projections, else of margins.
#[derive(Debug, Default)]
pub(super) struct ConePipelines(Mutex<HashMap<bool, Arc<Pipeline>>>);

/// Cones on a device.
#[derive(Clone, Copy)]
pub(super) struct Cones<'a> {
    pub(super) device: &'a Device,
    pub(super) pipelines: &'a ConePipelines,
}

impl Cones<'_> {
    /// [`Gpu::cone_margins`](super::Gpu::cone_margins).
    pub(super) fn margins(self, section: &Section, mu: &[f32], f: &[[f32; 3]]) -> Result<Vec<f32>, EngineError> {
        self.answers(section, mu, f, false)
    }

    /// [`Gpu::cone_projections`](super::Gpu::cone_projections).
    pub(super) fn projections(
        self,
        section: &Section,
        mu: &[f32],
        f: &[[f32; 3]],
    ) -> Result<Vec<[f32; 3]>, EngineError> {
        Ok(self.answers(section, mu, f, true)?.as_chunks().0.to_vec())
    }

    /// One number a force, or the three of its projection.
    fn answers(self, section: &Section, mu: &[f32], f: &[[f32; 3]], projects: bool) -> Result<Vec<f32>, EngineError> {
        validate(section, mu, f.len())?;
        let facets = section.facets();
        let sides = facets.directions.len();
        let directions: Vec<[f32; 2]> = facets.directions.iter().map(|e| e.map(|c| c as f32)).collect();
        let directions =
            self.device.filled("directions", bytemuck::cast_slice(&directions), wgpu::BufferUsages::STORAGE)?;
        let pipeline = self.pipeline(projects)?;
        let work = if self.device.adapter.software { WORK_SOFTWARE } else { WORK_HARDWARE };
        let budget = BUFFER_BUDGET.min(self.device.adapter.max_storage_buffer) as usize;
        let most = (budget / size_of::<[f32; 3]>()).min(work / sides.max(1)).max(1);
        let mut out = Vec::with_capacity(f.len() * if projects { 3 } else { 1 });
        for (part, f) in f.chunks(most).enumerate() {
            let mu = if mu.len() == 1 { mu } else { &mu[part * most..][..f.len()] };
            let cones = ConeBatch {
                share: facets.share as f32,
                half: facets.half as f32,
                sides: sides as u32,
                count: f.len() as u32,
                coefficients: mu.len() as u32,
                zero: 0,
            };
            out.extend(self.dispatch(&pipeline, &directions, mu, f, cones, projects)?);
        }
        Ok(out)
    }

    fn dispatch(
        self,
        pipeline: &Pipeline,
        directions: &wgpu::Buffer,
        mu: &[f32],
        f: &[[f32; 3]],
        cones: ConeBatch,
        projects: bool,
    ) -> Result<Vec<f32>, EngineError> {
        let (device, storage) = (self.device, wgpu::BufferUsages::STORAGE);
        let count = f.len() * if projects { 3 } else { 1 };
        let answers = device.buffer("answers", (count * size_of::<f32>()) as u64, storage)?;
        let group = pipeline.bind(
            device,
            &[
                directions,
                &device.filled("mu", bytemuck::cast_slice(mu), storage)?,
                &device.filled("forces", bytemuck::cast_slice(f), storage)?,
                &answers,
                &device.filled("cones", bytemuck::bytes_of(&cones), wgpu::BufferUsages::UNIFORM)?,
            ],
        );
        let mut encoder = device.handle.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_bind_group(0, &group, &[]);
            let groups = cones.count.div_ceil(CONE_WORKGROUP);
            for pipeline in [&pipeline.poison, &pipeline.main] {
                pass.set_pipeline(pipeline);
                pass.dispatch_workgroups(groups.min(ROW), groups.div_ceil(ROW), 1);
            }
        }
        let staging = Staging::new(device, answers.size())?;
        staging.copy(&mut encoder, &answers);
        let copied = device.queue.submit([encoder.finish()]);
        let answers: Vec<f32> = staging.read(device, count, copied)?;
        let per_force = count / f.len();
        let lost = |k: usize| answers[k].is_nan() && f[k / per_force].iter().all(|c| c.is_finite());
        if (0..count).any(lost) {
            return Err(DeviceError::Failed { reason: "cones: some forces were not answered".to_owned() }.into());
        }
        Ok(answers)
    }

    fn pipeline(self, projects: bool) -> Result<Arc<Pipeline>, DeviceError> {
        let mut pipelines = self.pipelines.0.lock().expect("no panic while compiling");
        if let Some(pipeline) = pipelines.get(&projects) {
            return Ok(Arc::clone(pipeline));
        }
        let constants = [("projects", f64::from(u8::from(projects)))];
        let text = self.device.edited(cone_source());
        let pipeline = Arc::new(Pipeline::new(self.device, &text, "answer", &BINDINGS, &constants)?);
        pipelines.insert(projects, Arc::clone(&pipeline));
        Ok(pipeline)
    }
}

/// The WGSL of cones.
pub(super) fn cone_source() -> String {
    format!(
        "const TINY = f32({:e});\nconst WORKGROUP = {CONE_WORKGROUP}u;\nconst ROW = {ROW}u;\n{}",
        f32::TINY,
        include_str!("../../shaders/cone.wgsl")
    )
}
