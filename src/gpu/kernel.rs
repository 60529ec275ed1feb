//! Compute shaders of other crates on the device of an engine: compiled once, run over buffers, read back.
//!
//! A shader has two entry points, both with the bindings of group 0: one computes; `poison` fills the results
//! with NaN, so that missing results are noticed.

use super::buffer::{BUFFER_BUDGET, Staging};
use super::engine::Gpu;
pub use super::pipeline::Access;
use super::pipeline::Pipeline;
use crate::error::EngineError;
use crate::wait::wait_for;

/// A compiled shader. It belongs to the device of the engine that compiled it.
#[derive(Debug)]
pub struct Kernel {
    pipeline: Pipeline,
    bindings: Vec<Access>,
}

/// What a kernel finds in a binding.
#[derive(Clone, Copy, Debug)]
pub enum Contents<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// So many bytes of zeros.
    Zeros(usize),
}

/// How a kernel is run.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// What is in its bindings, in their order.
    pub contents: &'a [Contents<'a>],
    /// Workgroups in x and y, each at most 65 535.
    pub workgroups: [u32; 2],
    /// How often it runs, one run after the other.
    pub times: usize,
    /// The binding that is read back.
    pub read: usize,
}

impl Gpu {
    /// Compiles the entry point `main` of a shader with `bindings`, and its pipeline constants.
    ///
    /// # Errors
    /// A device that fails, or whose driver cannot compile the shader.
    pub fn kernel(
        &self,
        text: String,
        main: &str,
        bindings: &[Access],
        constants: &[(&str, f64)],
    ) -> Result<Kernel, EngineError> {
        let device = self.device();
        wait_for(device.watch(Box::pin(async {
            let pipeline = Pipeline::new(device, &device.edited(text), main, bindings, constants)?;
            Ok(Kernel { pipeline, bindings: bindings.to_vec() })
        })))
    }

    /// Runs a kernel, and returns the first `count` elements of one of its buffers.
    ///
    /// # Errors
    /// A device that fails or has no memory.
    pub fn run_kernel<T: bytemuck::Pod>(
        &self,
        kernel: &Kernel,
        dispatch: &Dispatch<'_>,
        count: usize,
    ) -> Result<Vec<T>, EngineError> {
        let device = self.device();
        wait_for(device.watch(Box::pin(async {
            let mut buffers = Vec::with_capacity(dispatch.contents.len());
            for (contents, access) in dispatch.contents.iter().zip(&kernel.bindings) {
                let usage = match access {
                    Access::Read | Access::ReadWrite => wgpu::BufferUsages::STORAGE,
                    Access::Uniform => wgpu::BufferUsages::UNIFORM,
                };
                buffers.push(match contents {
                    Contents::Bytes(bytes) => device.filled("kernel", bytes, usage)?,
                    Contents::Zeros(size) => device.buffer("kernel", *size as u64, usage)?,
                });
            }
            let group = kernel.pipeline.bind(device, &buffers.iter().collect::<Vec<_>>());
            let staging = Staging::new(device, buffers[dispatch.read].size())?;
            let mut encoder = device.handle.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                let [x, y] = dispatch.workgroups;
                pass.set_bind_group(0, &group, &[]);
                pass.set_pipeline(&kernel.pipeline.poison);
                pass.dispatch_workgroups(x, y, 1);
                pass.set_pipeline(&kernel.pipeline.main);
                for _ in 0..dispatch.times {
                    pass.dispatch_workgroups(x, y, 1);
                }
            }
            staging.copy(&mut encoder, &buffers[dispatch.read]);
            let copied = device.queue.submit([encoder.finish()]);
            staging.read(device, count, copied).await
        })))
    }

    /// Largest size \[byte\] of a buffer of [`Gpu::run_kernel`].
    #[must_use]
    pub fn most_kernel_bytes(&self) -> usize {
        BUFFER_BUDGET.min(self.adapter().max_storage_buffer) as usize
    }
}
