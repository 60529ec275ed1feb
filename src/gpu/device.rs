//! Finding an adapter and opening its device.

use crate::error::EngineError;

/// Which adapters will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Hardware only: what `auto` takes.
    Hardware,
    /// Hardware if there is any, else a software driver.
    Any,
}

/// An adapter and what it can do.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Adapter {
    /// Its name.
    pub name: String,
    /// PCI number of its vendor.
    pub vendor: u32,
    /// `vulkan`, `metal` or `dx12`.
    pub backend: String,
    /// `DiscreteGpu`, `IntegratedGpu`, `VirtualGpu`, `Cpu` or `Other`.
    pub device_type: String,
    /// Whether it runs on the CPU.
    pub software: bool,
    /// Driver and version.
    pub driver: String,
    /// Smallest and largest subgroup.
    pub subgroup: [u32; 2],
    /// Whether shaders can sum over a subgroup.
    pub subgroup_sums: bool,
    /// Largest storage buffer that a shader can see [bytes].
    pub max_storage_buffer: u64,
    /// Invocations of a workgroup at most.
    pub max_workgroup: u32,
    /// Workgroup memory [bytes].
    pub max_workgroup_memory: u32,
}

impl Adapter {
    fn of(adapter: &wgpu::Adapter) -> Self {
        let (info, limits) = (adapter.get_info(), adapter.limits());
        Self {
            name: info.name,
            vendor: info.vendor,
            backend: info.backend.to_string(),
            device_type: format!("{:?}", info.device_type),
            software: info.device_type == wgpu::DeviceType::Cpu,
            driver: [info.driver, info.driver_info].join(" ").trim().to_owned(),
            subgroup: [info.subgroup_min_size, info.subgroup_max_size],
            subgroup_sums: adapter.features().contains(wgpu::Features::SUBGROUP),
            max_storage_buffer: limits.max_storage_buffer_binding_size / 4 * 4,
            max_workgroup: limits.max_compute_invocations_per_workgroup,
            max_workgroup_memory: limits.max_compute_workgroup_storage_size,
        }
    }
}

/// All adapters of this machine, hardware first.
#[must_use]
pub fn adapters() -> Vec<Adapter> {
    found().iter().map(Adapter::of).collect()
}

fn found() -> Vec<wgpu::Adapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let mut all = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    all.retain(|a| a.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS));
    let rank = |t: wgpu::DeviceType| match t {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    };
    all.sort_by_key(|a| rank(a.get_info().device_type));
    all
}

/// An open device.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) handle: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) adapter: Adapter,
}

impl Device {
    /// Opens the best adapter that `choice` allows.
    pub(super) fn open(choice: Choice) -> Result<Self, EngineError> {
        let mut all = found();
        let count = all.len();
        if choice == Choice::Hardware {
            all.retain(|a| a.get_info().device_type != wgpu::DeviceType::Cpu);
        }
        let Some(adapter) = all.first() else {
            let reason = if count > 0 { "only software adapters" } else { "no driver" };
            return Err(EngineError::NoAdapter { reason: reason.to_owned() });
        };
        let limits = adapter.limits();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("bristle"),
            required_features: adapter.features() & wgpu::Features::SUBGROUP,
            required_limits: wgpu::Limits {
                max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
                max_buffer_size: limits.max_buffer_size,
                max_compute_workgroup_storage_size: limits.max_compute_workgroup_storage_size,
                ..wgpu::Limits::default()
            },
            // There are a few large buffers. With the other hint the allocator reserves blocks for many small ones,
            // which would be most of the memory.
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..wgpu::DeviceDescriptor::default()
        };
        let (handle, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|e| EngineError::Device(format!("{}: {e}", adapter.get_info().name)))?;
        Ok(Self { handle, queue, adapter: Adapter::of(adapter) })
    }
}
