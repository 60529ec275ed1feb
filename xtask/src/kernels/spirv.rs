//! WGSL to SPIR-V, as wgpu translates it for a Vulkan device.

use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// The entry point of the kernels.
pub const ENTRY: &str = "rollout";

/// The SPIR-V of a text's entry point under pipeline constants, with wgpu's checks: loops are bounded, and indices into
/// arrays are clamped. Accesses to buffers are checked by the device (`robustBufferAccess2`).
///
/// # Errors
/// A shader that does not compile.
pub fn of(text: &str, constants: &[(&str, f64)]) -> Result<Vec<u32>, String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP);
    let info = validator.validate(&module).map_err(|e| e.emit_to_string(text))?;
    let constants = constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let stage = naga::ShaderStage::Compute;
    let (module, info) =
        naga::back::pipeline_constants::process_overrides(&module, &info, Some((stage, ENTRY)), &constants)
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
    let entry = spv::PipelineOptions { shader_stage: stage, entry_point: ENTRY.to_owned() };
    spv::write_vec(&module, &info, &options, Some(&entry)).map_err(|e| e.to_string())
}
