//! Translates WGSL to SPIR-V, as wgpu does for a Vulkan device.

use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// A shader as a driver takes it.
pub struct Spirv {
    /// Its words.
    pub words: Vec<u32>,
    /// Its entry point.
    pub entry: String,
    /// Lanes of a workgroup.
    pub workgroup: u32,
    /// Of each binding, whether it is uniform; else it is storage.
    pub bindings: Vec<(u32, bool)>,
}

/// The SPIR-V of a text's entry point under pipeline constants, with wgpu's checks: loops are bounded, and
/// indices into arrays are clamped. Accesses to buffers are checked by the device (`robustBufferAccess2`).
///
/// # Errors
/// A shader that does not compile.
pub fn of(text: &str, entry: &str, constants: &[(&str, f64)]) -> Result<Spirv, String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP);
    let info = validator.validate(&module).map_err(|e| e.emit_to_string(text))?;
    let constants = constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let stage = naga::ShaderStage::Compute;
    let (module, info) =
        naga::back::pipeline_constants::process_overrides(&module, &info, Some((stage, entry)), &constants)
            .map_err(|e| e.to_string())?;
    let options = spv::Options {
        lang_version: (1, 6),
        flags: spv::WriterFlags::LABEL_VARYINGS,
        fake_missing_bindings: true,
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: BoundsCheckPolicy::Unchecked,
            image_load: BoundsCheckPolicy::Unchecked,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: true,
        ..spv::Options::default()
    };
    let own = module.entry_points.iter().find(|own| own.name == entry).ok_or_else(|| format!("{entry}: none"))?;
    let bound = module.global_variables.iter().filter_map(|(_, variable)| {
        variable.binding.map(|at| (at.binding, variable.space == naga::AddressSpace::Uniform))
    });
    let chosen = spv::PipelineOptions { shader_stage: stage, entry_point: entry.to_owned() };
    let words = spv::write_vec(&module, &info, &options, Some(&chosen)).map_err(|e| e.to_string())?;
    let workgroup = own.workgroup_size.iter().product();
    Ok(Spirv { words, entry: entry.to_owned(), workgroup, bindings: bound.collect() })
}
