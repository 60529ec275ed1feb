//! Finding an adapter, opening its device, and passing on the errors of the device.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::captured::Captures;
use crate::error::{DeviceError, EngineError, ParameterError};
use crate::pool::Owner;
use crate::wait::{Work, wait_for};

/// Which adapters will do, where none is named: by [`Gpu::named`](super::Gpu::named), or by a part of its
/// name in the variable `WGPU_ADAPTER_NAME` of the environment, as other programs with `wgpu` take it.
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
    /// Largest storage buffer that a shader can see \[bytes\].
    pub max_storage_buffer: u64,
    /// Invocations of a workgroup at most.
    pub max_workgroup: u32,
    /// Workgroup memory \[bytes\].
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

/// The variables of the environment that name an adapter, and kinds of drivers.
const ADAPTER: &str = "WGPU_ADAPTER_NAME";
const BACKEND: &str = "WGPU_BACKEND";

/// The first process that looked for adapters. Of those that are forked from it none may do so: a driver
/// would wait for threads that are not there.
static LOOKED: Owner = Owner::nobody();
/// Whether it found hardware.
static HARDWARE: AtomicBool = AtomicBool::new(false);

/// All adapters of this machine, hardware first; if the variable `WGPU_BACKEND` names kinds of drivers
/// (`vulkan`, `metal`, `dx12`), those of these alone.
///
/// # Errors
/// A variable that names nothing that this program can use, or a process that was forked after its parent
/// had looked for adapters.
pub fn adapters() -> Result<Vec<Adapter>, EngineError> {
    Ok(wait_for(found())?.iter().map(Adapter::of).collect())
}

/// The value of a variable of the environment that is there and not empty.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?.to_string_lossy().trim().to_owned();
    (!value.is_empty()).then_some(value)
}

/// The kinds of drivers that a list such as `vulkan,dx12` names.
///
/// # Errors
/// A name that `wgpu` does not know, or no kind that this program can use.
fn backends(list: Option<&str>) -> Result<wgpu::Backends, ParameterError> {
    let ours = wgpu::Backends::PRIMARY & wgpu::Instance::enabled_backend_features();
    let Some(list) = list else { return Ok(ours) };
    let named: Vec<wgpu::Backends> = list.split(',').map(wgpu::Backends::from_comma_list).collect();
    let all = named.iter().copied().fold(wgpu::Backends::empty(), |all, one| all | one);
    if named.iter().any(wgpu::Backends::is_empty) || !all.intersects(ours) {
        let names: Vec<String> = ours.iter_names().map(|(name, _)| name.to_lowercase()).collect();
        return Err(ParameterError::new(BACKEND, list, format!("what this program can use: {}", names.join(", "))));
    }
    Ok(all & ours)
}

/// The place of the first adapter that has `name` in its own name, in letters of any case; `field` says where
/// the name comes from.
fn place(of: &[String], field: &str, name: &str) -> Result<usize, ParameterError> {
    let is_it = |own: &String| own.to_lowercase().contains(&name.to_lowercase());
    of.iter().position(is_it).ok_or_else(|| {
        let accepted = match of {
            [] => "no name, as there is no adapter on this machine".to_owned(),
            all => format!("a part of the name of an adapter that is there: {}", all.join("; ")),
        };
        ParameterError::new(field, name, accepted)
    })
}

/// All adapters, or in a browser the one that it gives.
async fn found() -> Result<Vec<wgpu::Adapter>, EngineError> {
    if !LOOKED.claim() {
        return Err(DeviceError::Forked.into());
    }
    let backends = backends(variable(BACKEND).as_deref())?;
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor { backends, ..descriptor });
    // A browser has one adapter for a program, and answers only who asks for it.
    let mut all = if cfg!(target_family = "wasm") {
        let best = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..wgpu::RequestAdapterOptions::default()
        };
        instance.request_adapter(&best).await.into_iter().collect()
    } else {
        instance.enumerate_adapters(backends).await
    };
    all.retain(|a| a.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS));
    let rank = |t: wgpu::DeviceType| match t {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    };
    all.sort_by_key(|a| rank(a.get_info().device_type));
    let hardware = all.first().is_some_and(|a| a.get_info().device_type != wgpu::DeviceType::Cpu);
    HARDWARE.store(hardware, Ordering::Relaxed);
    Ok(all)
}

/// How long a device that has failed may take to say whether it is lost. A software driver finishes its work
/// first, on a busy machine in its own time.
const AT_REST: Duration = Duration::from_secs(60);

/// An open device.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) handle: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) adapter: Adapter,
    /// Memory [byte] that buffers may take, if that is less than the driver gives: for tests.
    pub(super) memory: Option<u64>,
    /// Changes the text of shaders: for tests that must see a wrong kernel fail.
    pub(super) edit: Option<fn(String) -> String>,
    /// Keeps dispatches with what their buffers held: for tests on another device.
    pub(super) captures: Option<Captures>,
    /// Why it is lost, once it is.
    lost: Arc<OnceLock<String>>,
}

impl Device {
    /// Opens the adapter that `name` or the environment names, whatever it is, or else the best one that
    /// `choice` allows.
    pub(super) async fn open(choice: Choice, name: Option<&str>) -> Result<Self, EngineError> {
        let is_named = name.is_some() || variable(ADAPTER).is_some();
        if choice == Choice::Hardware && !is_named && !LOOKED.claim() && !HARDWARE.load(Ordering::Relaxed) {
            // Where the parent found none, a child that can do without goes on.
            return Err(EngineError::NoAdapter { reason: "only software adapters".to_owned() });
        }
        let mut all = found().await?;
        let count = all.len();
        let named = name.map(|name| ("adapter", name.to_owned()));
        if let Some((field, name)) = named.or_else(|| Some((ADAPTER, variable(ADAPTER)?))) {
            let names: Vec<String> = all.iter().map(|adapter| adapter.get_info().name).collect();
            all = vec![all.swap_remove(place(&names, field, &name)?)];
        } else if choice == Choice::Hardware {
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
            // There are a few large buffers. With the other hint the allocator reserves blocks for many small
            // ones, which would be most of the memory.
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..wgpu::DeviceDescriptor::default()
        };
        let opened = adapter.request_device(&descriptor).await;
        let (handle, queue) = opened.map_err(|e| DeviceError::failed(format!("{}: {e}", adapter.get_info().name)))?;
        let lost = Arc::new(OnceLock::new());
        let tell = Arc::clone(&lost);
        handle.set_device_lost_callback(move |reason, message| {
            let text = if message.is_empty() { format!("{reason:?}") } else { message };
            // The first reason is the one that counts.
            let _ = tell.set(text);
        });
        Ok(Self { handle, queue, adapter: Adapter::of(adapter), memory: None, edit: None, captures: None, lost })
    }

    /// The text of a shader as it is compiled.
    pub(super) fn edited(&self, text: String) -> String {
        match self.edit {
            Some(edit) => edit(text),
            None => text,
        }
    }

    /// Whether it was opened by the process from which this one was forked.
    pub(super) fn is_of_parent(&self) -> bool {
        LOOKED.is_anothers()
    }

    /// Refuses a device that is known to be lost, and the one of a parent.
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        if self.is_of_parent() {
            return Err(DeviceError::Forked);
        }
        self.lost.get().map_or(Ok(()), |reason| Err(DeviceError::Lost { reason: reason.clone() }))
    }

    /// Does `work` on the device. Where it was lost before or meanwhile, that is the error, whatever came of
    /// the work: objects of a lost device are invalid, and to use them is an error of its own.
    ///
    /// # Panics
    /// An error of validation on a device that is not lost: a defect of ours.
    pub(super) async fn watch<T>(&self, work: Work<'_, T>) -> Result<T, EngineError> {
        self.check()?;
        let scope = self.handle.push_error_scope(wgpu::ErrorFilter::Validation);
        let out = self.made(work).await;
        let invalid = scope.pop().await;
        if invalid.is_some() || matches!(out, Err(EngineError::Device(_))) {
            // A device that is lost says so when it is asked; one that is destroyed, when it has come to
            // rest.
            let _ = self.polled(wgpu::PollType::Wait { submission_index: None, timeout: Some(AT_REST) })?;
        }
        self.check()?;
        if let Some(error) = invalid {
            panic!("{error}");
        }
        out
    }

    /// Makes a buffer.
    pub(super) fn allocate(&self, descriptor: &wgpu::BufferDescriptor<'_>) -> Result<wgpu::Buffer, DeviceError> {
        if let (Some(most), Some(report)) = (self.memory, self.handle.generate_allocator_report()) {
            let [taken, more] = [report.total_allocated_bytes, descriptor.size];
            if taken + more > most {
                return Err(DeviceError::OutOfMemory { reason: format!("{taken} and {more} more bytes of {most}") });
            }
        }
        self.make(|device| device.create_buffer(descriptor))
    }

    /// Makes an object, which takes memory or is compiled by the driver.
    pub(super) fn make<T>(&self, make: impl FnOnce(&wgpu::Device) -> T) -> Result<T, DeviceError> {
        if cfg!(target_family = "wasm") {
            // A browser tells later what it could not make: see `made`.
            return Ok(make(&self.handle));
        }
        wait_for(self.telling(async { Ok(make(&self.handle)) }))
    }

    /// Does `work`, in a browser with an error where an object of it could not be made. Elsewhere each object
    /// says so by itself.
    async fn made<T>(&self, work: Work<'_, T>) -> Result<T, EngineError> {
        if cfg!(target_family = "wasm") { self.telling(work).await } else { work.await }
    }

    /// Does `work`, with an error if the driver had no memory for an object or could not compile it.
    async fn telling<T, E: From<DeviceError>>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let [memory, internal] = [wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Internal]
            .map(|filter| self.handle.push_error_scope(filter));
        let made = work.await;
        let internal = internal.pop().await;
        let memory = memory.pop().await;
        let said = |e: wgpu::Error| {
            let cause = std::error::Error::source(&e).map(|cause| format!(": {cause}")).unwrap_or_default();
            format!("{e}{cause}")
        };
        match (memory, internal) {
            (Some(e), _) => Err(DeviceError::OutOfMemory { reason: said(e) }.into()),
            (None, Some(e)) => Err(DeviceError::Failed { reason: said(e) }.into()),
            (None, None) => made,
        }
    }

    /// Waits for a submission where the caller may wait. A browser calls back by itself, and nothing may wait
    /// there.
    pub(super) fn wait(&self, submission: wgpu::SubmissionIndex) -> Result<(), EngineError> {
        if !cfg!(target_arch = "wasm32") {
            self.poll(wgpu::PollType::Wait { submission_index: Some(submission), timeout: None })?;
        }
        Ok(())
    }

    /// Lets `wgpu` see what the device has finished, and waits for it if `how` says so. `false` if the time
    /// for that is over.
    pub(super) fn poll(&self, how: wgpu::PollType) -> Result<bool, EngineError> {
        match self.polled(how)? {
            Ok(_) => Ok(true),
            Err(wgpu::PollError::Timeout) => Ok(false),
            Err(e) => Err(DeviceError::failed(e)),
        }
    }

    /// Whether the device has not finished all that was submitted.
    pub(super) fn is_busy(&self) -> Result<bool, EngineError> {
        Ok(!self.polled(wgpu::PollType::Poll)?.is_ok_and(|status| status.is_queue_empty()))
    }

    /// Where the driver answers that the device is lost, `wgpu` has called back and then panics.
    fn polled(&self, how: wgpu::PollType) -> Result<Result<wgpu::PollStatus, wgpu::PollError>, EngineError> {
        catch_unwind(AssertUnwindSafe(|| self.handle.poll(how))).or_else(|panic| {
            self.check()?;
            resume_unwind(panic)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_name_will_do_and_others_are_told_what_there_is() {
        let there = ["NVIDIA H100 80GB HBM3", "llvmpipe (LLVM 15.0.6, 256 bits)"].map(str::to_owned);
        assert_eq!(place(&there, "adapter", "LLVMpipe"), Ok(1));
        assert_eq!(place(&there, "adapter", "80gb"), Ok(0));
        let error = place(&there, "adapter", "radeon").unwrap_err();
        assert_eq!((error.field.as_str(), error.value.as_str()), ("adapter", "radeon"));
        assert!(there.iter().all(|name| error.accepted.contains(name)), "{error}");
        let error = place(&[], ADAPTER, "radeon").unwrap_err().to_string();
        assert!(error.contains(ADAPTER) && error.contains("no adapter on this machine"), "{error}");
    }

    #[test]
    fn kinds_of_drivers_are_those_of_this_program() {
        let ours = backends(None).unwrap();
        let name = if cfg!(target_os = "macos") { "Metal" } else { "Vulkan" };
        let one = backends(Some(name)).unwrap();
        assert!(!one.is_empty() && ours.contains(one));
        assert_eq!(backends(Some(&format!("gl, {name}"))), Ok(one), "one of them is enough");
        for wrong in ["cuda", "gl", &format!("{name},cuda")] {
            let error = backends(Some(wrong)).unwrap_err();
            assert_eq!((error.field.as_str(), error.value.as_str()), (BACKEND, wrong));
            assert!(error.accepted.contains(&name.to_lowercase()), "{error}");
        }
    }
}
