//! Compiling a shader: its main entry point, and one that fills its results with NaN, with the same bindings.

use super::device::Device;
use crate::error::DeviceError;

/// A compiled shader.
#[derive(Debug)]
pub(super) struct Pipeline {
    /// The entry point that computes.
    pub(super) main: wgpu::ComputePipeline,
    /// The entry point that fills the results with NaN, so that results which are not computed are noticed.
    pub(super) poison: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
}

/// How a shader uses a buffer; the bindings of a shader are a list of these.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// An array that the shader reads.
    Read,
    /// An array that it reads and writes.
    ReadWrite,
    /// One struct that it reads.
    Uniform,
}

impl Access {
    /// Its name among the types of buffer bindings of WebGPU.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read-only-storage",
            Self::ReadWrite => "storage",
            Self::Uniform => "uniform",
        }
    }
}

impl Pipeline {
    /// Compiles the entry points `main` and `poison` of a shader.
    ///
    /// # Errors
    /// A driver that cannot compile them.
    pub(super) fn new(
        device: &Device,
        text: &str,
        main: &str,
        bindings: &[Access],
        constants: &[(&str, f64)],
    ) -> Result<Self, DeviceError> {
        device.make(|device| Self::compile(device, text, main, bindings, constants))
    }

    fn compile(device: &wgpu::Device, text: &str, main: &str, bindings: &[Access], constants: &[(&str, f64)]) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(main),
            source: wgpu::ShaderSource::Wgsl(text.into()),
        });
        let entry = |(binding, access): (u32, &Access)| {
            let ty = match access {
                Access::Read => wgpu::BufferBindingType::Storage { read_only: true },
                Access::ReadWrite => wgpu::BufferBindingType::Storage { read_only: false },
                Access::Uniform => wgpu::BufferBindingType::Uniform,
            };
            wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
                count: None,
            }
        };
        let entries: Vec<_> = (0..).zip(bindings).map(entry).collect();
        let layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = |entry_point| {
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
        Self { main: pipeline(main), poison: pipeline("poison"), layout }
    }

    /// Binds buffers, in the order of the bindings.
    pub(super) fn bind(&self, device: &Device, buffers: &[&wgpu::Buffer]) -> wgpu::BindGroup {
        let entries: Vec<_> = (0..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        device.handle.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.layout,
            entries: &entries,
        })
    }
}
