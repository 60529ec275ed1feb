//! The GPU engine: opens a device, compiles pipelines, groups contacts by pipeline.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::adapter::{Adapter, Choice, open};
use super::chunk::Chunk;
use super::item::Item;
use super::limit_surface::Pipelines;
use super::room;
use super::shader::{Variant, source};
use crate::contact::Contact;
use crate::engine::{Engine, EngineInfo, Plan, Progress, Trajectories, validate};
use crate::error::EngineError;

/// The GPU engine.
#[derive(Debug)]
pub struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) adapter: Adapter,
    pub(super) surfaces: Pipelines,
    pipelines: Mutex<HashMap<Variant, Arc<Pipeline>>>,
    /// Changes the shader's text: for tests that must see a wrong kernel fail.
    edit: Option<fn(String) -> String>,
    /// Cell visits of a window and sweeps of a dispatch at most, if not the adapter's own: for tests.
    pub(super) budget: Option<(f64, u32)>,
    /// Whether kernels are written out as on hardware, whatever the adapter: for tests.
    written_out: bool,
}

/// A compiled variant.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) rollout: wgpu::ComputePipeline,
    pub(super) poison: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
}

impl Gpu {
    /// Opens the best adapter that `choice` allows.
    ///
    /// # Errors
    /// No such adapter, or a device that does not open.
    pub fn new(choice: Choice) -> Result<Self, EngineError> {
        let (device, queue, adapter) = open(choice)?;
        Ok(Self {
            device,
            queue,
            adapter,
            surfaces: Pipelines::default(),
            pipelines: Mutex::default(),
            edit: None,
            budget: None,
            written_out: false,
        })
    }

    /// An engine whose shader text goes through `edit` before it is compiled: the negative control of tests.
    ///
    /// # Errors
    /// As [`Gpu::new`].
    #[doc(hidden)]
    pub fn with_edit(choice: Choice, edit: fn(String) -> String) -> Result<Self, EngineError> {
        Ok(Self { edit: Some(edit), ..Self::new(choice)? })
    }

    /// The same engine with windows of about `work` cell visits and dispatches of at most `sweeps`, which
    /// must not change any result.
    #[doc(hidden)]
    #[must_use]
    pub fn with_budget(self, work: f64, sweeps: u32) -> Self {
        Self { budget: Some((work, sweeps)), ..self }
    }

    /// The same engine with its loops over cells written out, as on hardware, which must not change any
    /// result.
    #[doc(hidden)]
    #[must_use]
    pub fn with_loops_written_out(self) -> Self {
        Self { written_out: true, ..self }
    }

    /// The same engine with buffers of at most `bytes`, which must not change any result.
    #[doc(hidden)]
    #[must_use]
    pub fn with_buffers_of(mut self, bytes: u64) -> Self {
        self.adapter.max_storage_buffer = self.adapter.max_storage_buffer.min(bytes);
        self
    }

    /// The adapter that runs.
    #[must_use]
    pub const fn adapter(&self) -> &Adapter {
        &self.adapter
    }

    /// Bytes of device memory that this engine holds now, if the driver lets us count: those in use, and
    /// those taken from the device for them.
    #[must_use]
    pub fn memory(&self) -> Option<[u64; 2]> {
        let report = self.device.generate_allocator_report()?;
        Some([report.total_allocated_bytes, report.total_reserved_bytes])
    }

    /// Fills a buffer, with a larger one in its place if it must be.
    pub(super) fn put(&self, buffer: &mut wgpu::Buffer, bytes: &[u8]) {
        // What goes together was counted before, in `room`.
        assert!(bytes.len() as u64 <= self.adapter.max_storage_buffer, "{} bytes in a buffer", bytes.len());
        if bytes.len() as u64 > buffer.size() {
            *buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: (bytes.len() as u64 * 5 / 4)
                    .min(self.adapter.max_storage_buffer)
                    .max(bytes.len() as u64)
                    .next_multiple_of(4),
                usage: buffer.usage(),
                mapped_at_creation: false,
            });
        }
        self.queue.write_buffer(buffer, 0, bytes);
    }

    fn pipeline(&self, variant: Variant) -> Arc<Pipeline> {
        let mut pipelines = self.pipelines.lock().expect("no panic while compiling");
        let build = || {
            let text = source(variant.shape);
            let text = match self.edit {
                Some(edit) => edit(text),
                None => text,
            };
            Arc::new(self.compile(variant, &text))
        };
        Arc::clone(pipelines.entry(variant).or_insert_with(build))
    }

    fn compile(&self, variant: Variant, text: &str) -> Pipeline {
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("bristle"),
            source: wgpu::ShaderSource::Wgsl(text.into()),
        });
        let entry = |binding: u32| {
            let ty = match binding {
                0..=4 => wgpu::BufferBindingType::Storage { read_only: true },
                8 => wgpu::BufferBindingType::Uniform,
                _ => wgpu::BufferBindingType::Storage { read_only: false },
            };
            wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
                count: None,
            }
        };
        let entries: Vec<_> = (0..9).map(entry).collect();
        let layout =
            self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let constants = variant.constants();
        let pipeline = |entry_point| {
            self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry_point),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(entry_point),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &constants,
                    zero_initialize_workgroup_memory: false,
                },
                cache: None,
            })
        };
        Pipeline { rollout: pipeline("rollout"), poison: pipeline("poison"), layout }
    }
}

impl Engine for Gpu {
    fn info(&self) -> EngineInfo {
        EngineInfo {
            engine: "gpu",
            precision: "f32",
            adapter: self.adapter.name.clone(),
            driver: format!("{} {}", self.adapter.backend, self.adapter.driver),
        }
    }

    fn rollout(&self, contacts: &[Contact], plan: &Plan, progress: &Progress<'_>) -> Result<Trajectories, EngineError> {
        validate(contacts, plan)?;
        let mut out = Trajectories::unwritten(contacts.len(), &plan.samples);
        if plan.keep_bristles {
            out.bristles = vec![Vec::new(); contacts.len()];
        }
        let items: Vec<Item<'_>> = contacts.par_iter().enumerate().map(|(i, c)| Item::new(i, c, plan)).collect();
        let mut groups: BTreeMap<Variant, Vec<Item<'_>>> = BTreeMap::new();
        for item in items {
            let mut variant = item.variant(plan, &self.adapter)?;
            variant.shape.unrolled |= self.written_out && variant.shape.pairs > 0;
            groups.entry(variant).or_default().push(item);
        }
        // What does not fit is refused before anything is computed.
        let parts = |items| room::split(items, self.adapter.max_storage_buffer);
        let groups: Vec<_> =
            groups.iter().map(|(v, items)| Ok((*v, parts(items)?))).collect::<Result<_, EngineError>>()?;
        for (variant, parts) in groups {
            let pipeline = self.pipeline(variant);
            for items in parts {
                Chunk::new(self, &pipeline, variant, items, plan).run(progress, &mut out)?;
            }
        }
        Ok(out)
    }
}
