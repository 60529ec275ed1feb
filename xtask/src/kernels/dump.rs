//! `cargo xtask kernels --dump DIR`: writes the WGSL of all kernels, for other compilers and readers.

use std::path::Path;

use naga::AddressSpace;
use serde_json::{Map, Value, json};

use super::list::{self, Kernel};
use super::{FAMILIES, Family, NVIDIA, WITHOUT_SUBGROUPS, adapter};

/// What a device of WebGPU has if nothing more is asked for: workgroup memory \[bytes\] and lanes of a
/// workgroup.
pub const DEFAULT_WORKGROUP_MEMORY: u32 = 16 << 10;
const DEFAULT_LANES: u32 = 256;

/// Writes a folder for each kind of adapters: a file `NAME.wgsl` for each kernel, and `kernels.json`, a list
/// that says of each kernel its name, file, entry point, pipeline constants, lanes of a workgroup, workgroup
/// memory \[bytes\], and whether a device with WebGPU's default limits has these.
///
/// # Errors
/// A shader that does not compile, or a folder that cannot be written.
pub fn write(folder: &Path) -> Result<(), String> {
    let mut families = FAMILIES.iter().chain([&NVIDIA, &WITHOUT_SUBGROUPS]);
    families.try_for_each(|family| write_family(&folder.join(family.name), family))
}

fn write_family(folder: &Path, family: &Family) -> Result<(), String> {
    let fail = |e: std::io::Error| format!("{}: {e}", folder.display());
    std::fs::create_dir_all(folder).map_err(fail)?;
    let mut index = Vec::new();
    for kernel in list::of(&adapter(family))? {
        let file = format!("{}.wgsl", kernel.name.replace(", ", "-").replace(' ', "-"));
        std::fs::write(folder.join(&file), &kernel.text).map_err(fail)?;
        index.push(entry(&kernel, &file).map_err(|e| format!("{}, {}: {e}", family.name, kernel.name))?);
    }
    std::fs::write(folder.join("kernels.json"), format!("{:#}\n", Value::Array(index))).map_err(fail)
}

/// The entry of a kernel in `kernels.json`.
///
/// # Errors
/// A text that does not compile.
pub fn entry(kernel: &Kernel, file: &str) -> Result<Value, String> {
    let module = naga::front::wgsl::parse_str(&kernel.text).map_err(|e| e.emit_to_string(&kernel.text))?;
    let own = module.entry_points.iter().find(|own| own.name == kernel.entry).ok_or("no such entry point")?;
    let lanes: u32 = own.workgroup_size.iter().product();
    // Each variable starts at a multiple of 16 bytes, as wgpu and browsers count.
    let shared = module.global_variables.iter().filter(|(_, variable)| variable.space == AddressSpace::WorkGroup);
    let memory: u32 = shared.map(|(_, v)| module.types[v.ty].inner.size(module.to_ctx()).next_multiple_of(16)).sum();
    let overrides: Map<String, Value> =
        kernel.constants.iter().map(|(name, v)| ((*name).to_owned(), json!(v))).collect();
    Ok(json!({
        "name": kernel.name,
        "file": file,
        "entry": kernel.entry,
        "overrides": overrides,
        "lanes": lanes,
        "workgroup_memory": memory,
        "within_default_limits": memory <= DEFAULT_WORKGROUP_MEMORY && lanes <= DEFAULT_LANES,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_a_file_of_its_own_and_says_what_it_takes_of_a_device() {
        let all = list::of(&adapter(&WITHOUT_SUBGROUPS)).unwrap();
        let mut names: Vec<&str> = all.iter().map(|kernel| kernel.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        for kernel in &all {
            let said = entry(kernel, "file").unwrap();
            assert_eq!(said["within_default_limits"], true, "{}", kernel.name);
            // What the engine takes for the layout; naga adds what stands beside it and rounds up.
            let least = kernel.steps.map_or(0, |steps| steps.shape.workgroup_memory());
            assert!(said["workgroup_memory"].as_u64().unwrap() >= u64::from(least), "{}", kernel.name);
        }
    }
}
