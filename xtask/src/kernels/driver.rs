//! RADV's null device: compiles a kernel for an AMD GPU that the machine does not have, and returns its
//! statistics.

#![allow(unsafe_code)] // the Vulkan API

use std::ffi::{CStr, CString};

use ash::{khr, vk};

use super::spirv::Spirv;

/// What the driver tells of a kernel.
pub struct Executable {
    /// Statistics by name.
    pub statistics: Vec<(String, u64)>,
    /// Threads of a subgroup.
    pub subgroup: u32,
    /// The machine code as text.
    pub assembly: String,
}

impl Executable {
    /// A statistic.
    ///
    /// # Errors
    /// One that the driver does not tell.
    pub fn statistic(&self, name: &str) -> Result<u64, String> {
        let found = self.statistics.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| *value).ok_or_else(|| format!("the driver tells no `{name}`: {:?}", self.statistics))
    }
}

/// The null device.
pub struct Driver {
    _entry: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    executables: khr::pipeline_executable_properties::Device,
    /// Name and version of the driver.
    pub name: String,
}

impl Driver {
    /// Opens the device that the environment asks for.
    ///
    /// # Errors
    /// No loader, or a driver that does not open.
    pub fn open() -> Result<Self, String> {
        let fail = |what: &'static str| move |e: vk::Result| format!("{what}: {e}");
        // SAFETY: the loader is an ordinary library, and calls below follow the specification of Vulkan:
        // handles are valid where they are used, and nothing is destroyed before the program ends.
        unsafe {
            let entry = ash::Entry::load().map_err(|e| format!("no Vulkan loader: {e}"))?;
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let info = vk::InstanceCreateInfo::default().application_info(&application);
            let instance = entry.create_instance(&info, None).map_err(fail("no instance"))?;
            let all = instance.enumerate_physical_devices().map_err(fail("no device"))?;
            let physical = *all.first().ok_or("no device")?;
            let mut driver = vk::PhysicalDeviceDriverProperties::default();
            let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
            instance.get_physical_device_properties2(physical, &mut properties);
            let text = |name: &[std::ffi::c_char]| CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned();
            let name = format!("{} {}", text(&driver.driver_name), text(&driver.driver_info));
            let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
            let names = [khr::pipeline_executable_properties::NAME.as_ptr(), ash::ext::robustness2::NAME.as_ptr()];
            let mut executables =
                vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default().pipeline_executable_info(true);
            let mut robustness = vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_buffer_access2(true);
            let mut sizes = vk::PhysicalDeviceSubgroupSizeControlFeatures::default().subgroup_size_control(true);
            let info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(&names)
                .push_next(&mut executables)
                .push_next(&mut robustness)
                .push_next(&mut sizes);
            let features = vk::PhysicalDeviceFeatures::default().robust_buffer_access(true);
            let info = info.enabled_features(&features);
            let device = instance.create_device(physical, &info, None).map_err(fail("the device does not open"))?;
            let executables = khr::pipeline_executable_properties::Device::new(&instance, &device);
            Ok(Self { _entry: entry, instance, device, executables, name })
        }
    }

    /// Compiles a kernel, with subgroups of any size, as wgpu asks for.
    ///
    /// # Errors
    /// A kernel that the driver refuses, or a driver that tells nothing of it.
    pub fn compile(&self, spirv: &Spirv) -> Result<Executable, String> {
        let fail = |what: &'static str| move |e: vk::Result| format!("{what}: {e}");
        let entry = CString::new(&*spirv.entry).map_err(|e| e.to_string())?;
        let binding = |&(n, uniform): &(u32, bool)| {
            let kind = if uniform { vk::DescriptorType::UNIFORM_BUFFER } else { vk::DescriptorType::STORAGE_BUFFER };
            vk::DescriptorSetLayoutBinding::default()
                .binding(n)
                .descriptor_type(kind)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        let bindings: Vec<_> = spirv.bindings.iter().map(binding).collect();
        // SAFETY: as in `open`; the texts of the driver end with a zero.
        unsafe {
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let sets = [self.device.create_descriptor_set_layout(&info, None).map_err(fail("set layout"))?];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
            let layout = self.device.create_pipeline_layout(&info, None).map_err(fail("pipeline layout"))?;
            let info = vk::ShaderModuleCreateInfo::default().code(&spirv.words);
            let module = self.device.create_shader_module(&info, None).map_err(fail("shader module"))?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .flags(vk::PipelineShaderStageCreateFlags::ALLOW_VARYING_SUBGROUP_SIZE)
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(&entry);
            let capture = vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
                | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR;
            let info = vk::ComputePipelineCreateInfo::default().flags(capture).stage(stage).layout(layout);
            let made = self.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
            self.device.destroy_shader_module(module, None);
            let pipeline = made.map_err(|(_, e)| format!("pipeline: {e}"))?[0];
            let told = self.told(pipeline);
            self.device.destroy_pipeline(pipeline, None);
            self.device.destroy_pipeline_layout(layout, None);
            self.device.destroy_descriptor_set_layout(sets[0], None);
            told
        }
    }

    fn told(&self, pipeline: vk::Pipeline) -> Result<Executable, String> {
        // SAFETY: as in `open`; a second call fills the memory whose size the first one has told.
        unsafe {
            let of = vk::PipelineInfoKHR::default().pipeline(pipeline);
            let properties = self.executables.get_pipeline_executable_properties(&of).map_err(|e| e.to_string())?;
            let executable = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline);
            let statistics =
                self.executables.get_pipeline_executable_statistics(&executable).map_err(|e| e.to_string())?;
            let statistics = statistics.iter().map(|s| {
                let value = match s.format {
                    vk::PipelineExecutableStatisticFormatKHR::UINT64 => s.value.u64,
                    vk::PipelineExecutableStatisticFormatKHR::INT64 => s.value.i64.max(0) as u64,
                    vk::PipelineExecutableStatisticFormatKHR::FLOAT64 => s.value.f64 as u64,
                    _ => u64::from(s.value.b32),
                };
                (CStr::from_ptr(s.name.as_ptr()).to_string_lossy().into_owned(), value)
            });
            let statistics = statistics.collect();
            let get = self.executables.fp().get_pipeline_executable_internal_representations_khr;
            let mut all = self
                .executables
                .get_pipeline_executable_internal_representations(&executable)
                .map_err(|e| e.to_string())?;
            let mut texts: Vec<Vec<u8>> = all.iter().map(|r| vec![0; r.data_size]).collect();
            for (r, text) in all.iter_mut().zip(&mut texts) {
                r.p_data = text.as_mut_ptr().cast();
            }
            let mut count = all.len() as u32;
            get(self.device.handle(), &executable, &raw mut count, all.as_mut_ptr())
                .result()
                .map_err(|e| e.to_string())?;
            let found = all.iter().position(|r| CStr::from_ptr(r.name.as_ptr()).to_bytes() == b"Assembly");
            let at = found.ok_or("the driver shows no assembly")?;
            let assembly = String::from_utf8_lossy(&texts[at]).trim_end_matches('\0').to_owned();
            Ok(Executable { statistics, subgroup: properties.first().map_or(0, |p| p.subgroup_size), assembly })
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // SAFETY: nothing that was made of them is used any more.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}
