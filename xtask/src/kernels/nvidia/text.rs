//! The texts between the programs of the chain, and what has to be changed in them.

use naga::back::hlsl;
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// What takes the place of built-in values and functions that HLSL or Slang has in another way. A workgroup
/// has one dimension, so that a warp is 32 lanes after each other.
const BUILT_IN: [(&str, &str); 5] = [
    ("num_workgroups", "vec3u(65535u, 1u, 1u)"),
    ("subgroup_id", "index_of_lane / 32u"),
    ("num_subgroups", "(WORKGROUP + 31u) / 32u"),
    ("subgroup_size", "32u"),
    ("subgroup_invocation_id", "index_of_lane % 32u"),
];

/// A sum over a warp by exchange: Slang's own loops over the lanes.
const SUM: &str = "
fn sum_of_warp(v: f32) -> f32 {
    var t = v;
    t += lane_xor(t, 16u);
    t += lane_xor(t, 8u);
    t += lane_xor(t, 4u);
    t += lane_xor(t, 2u);
    t += lane_xor(t, 1u);
    return t;
}
";

/// An exchange of numbers, whose body [`hlsl()`] replaces. Of the built-in one Slang makes votes at each
/// branch, by which it follows the lanes that are active; a driver makes one instruction of it.
const EXCHANGE: &str = "
fn lane_xor(v: f32, mask: u32) -> f32 {
    return v + f32(mask);
}
";
const EXCHANGE_IN_CUDA: &str = "    __intrinsic_asm \"__shfl_xor_sync(0xffffffffu, $0, $1)\";";

/// A kernel's WGSL with entry points that take only built-in values which HLSL has.
///
/// # Errors
/// A struct of built-in values that is not as expected.
pub fn wgsl(text: &str) -> Result<String, String> {
    let mut text = text.replace("subgroupAdd(", "sum_of_warp(").replace("subgroupShuffleXor(", "lane_xor(");
    if text.contains("sum_of_warp(") {
        text += SUM;
    }
    if text.contains("lane_xor(") {
        text += EXCHANGE;
    }
    let head = "struct Invocation {\n";
    let Some((before, rest)) = text.split_once(head) else { return Ok(text) };
    let (fields, after) = rest.split_once("\n}").ok_or("struct Invocation has no end")?;
    let mut values = Vec::new();
    let mut members = String::new();
    for line in fields.lines() {
        let (builtin, member) = line
            .trim()
            .strip_prefix("@builtin(")
            .and_then(|line| line.split_once(") "))
            .ok_or_else(|| format!("no built-in value: {line}"))?;
        members += &format!("    {member}\n");
        values.push(match builtin {
            "workgroup_id" => "workgroup",
            "local_invocation_index" => "index_of_lane",
            other => BUILT_IN.iter().find(|(own, _)| *own == other).ok_or_else(|| format!("{other}: unknown"))?.1,
        });
    }
    let plain = "(invocation: Invocation) {";
    let direct = format!(
        "(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) index_of_lane: u32) {{\n    \
         let invocation = Invocation({});",
        values.join(", ")
    );
    let mut out = format!("{before}{head}{members}}}");
    let mut is_entry = false;
    for line in after.split_inclusive('\n') {
        out += &if is_entry { line.replace(plain, &direct) } else { line.to_owned() };
        is_entry = line.starts_with("@compute");
    }
    Ok(out)
}

/// The HLSL of an entry point, with bounded loops and clamped indices as `wgpu` makes them, and workgroup
/// memory that is not filled with zeros; and the lanes of its workgroup.
///
/// # Errors
/// A shader that does not compile.
pub fn hlsl(text: &str, entry: &str, constants: &[(&str, f64)]) -> Result<(String, u32), String> {
    let module = naga::front::wgsl::parse_str(text).map_err(|e| e.emit_to_string(text))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|e| e.emit_to_string(text))?;
    let constants = constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let stage = naga::ShaderStage::Compute;
    let (module, info) =
        naga::back::pipeline_constants::process_overrides(&module, &info, Some((stage, entry)), &constants)
            .map_err(|e| e.to_string())?;
    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V6_0,
        zero_initialize_workgroup_memory: false,
        restrict_indexing: true,
        force_loop_bounding: true,
        ..hlsl::Options::default()
    };
    let chosen = hlsl::PipelineOptions { entry_point: Some((stage, entry.to_owned())) };
    let own = module.entry_points.iter().find(|own| own.name == entry).ok_or_else(|| format!("{entry}: none"))?;
    let lanes = own.workgroup_size.iter().product();
    let mut out = String::new();
    hlsl::Writer::new(&mut out, &options, &chosen).write(&module, &info, None).map_err(|e| e.to_string())?;
    let Some(start) = out.find("float lane_xor(") else { return Ok((out, lanes)) };
    let open = start + out[start..].find("{\n").ok_or("lane_xor has no body")? + 2;
    let close = open + out[open..].find("\n}").ok_or("lane_xor has no end")?;
    out.replace_range(open..close, EXCHANGE_IN_CUDA);
    Ok((out, lanes))
}

/// The CUDA of Slang, with the lanes of a workgroup, and with loads that NVRTC knows to be aligned.
///
/// HLSL adds the offset of a field to a place in 32 bits, which may wrap, so that each field needs an address
/// of its own. Vulkan's access chains do not wrap. Without `addresses` offsets are therefore added in 64
/// bits, where they become a part of the instruction.
pub fn cuda(text: &str, lanes: u32, addresses: bool) -> String {
    let bounds = format!("__global__ void __launch_bounds__({lanes}) ");
    let text = text.replace(".Load<uint >(", ".Load(").replace("__global__ void ", &bounds);
    if addresses {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    for (n, part) in text.split("uint(int(").enumerate() {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        match part[digits..].strip_prefix("U + ") {
            Some(rest) if n > 0 && digits > 0 => {
                out += &format!("size_t({}ULL + size_t({rest}", &part[..digits]);
            }
            _ if n > 0 => out += &format!("uint(int({part}"),
            _ => out += part,
        }
    }
    out.replace("data[index >> 2]", "*(uint32_t*)((char*)data + index)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{NVIDIA, adapter, list};

    #[test]
    fn every_kernel_has_an_hlsl_without_operations_of_waves() {
        for kernel in list::of(&adapter(&NVIDIA)).unwrap() {
            let plain = wgsl(&kernel.text).unwrap();
            let (hlsl, lanes) = hlsl(&plain, kernel.entry, &kernel.constants).unwrap();
            assert!(!hlsl.contains("Wave"), "{}", kernel.name);
            assert_eq!(hlsl.contains("lane_xor("), hlsl.contains(EXCHANGE_IN_CUDA), "{}", kernel.name);
            assert!(kernel.steps.is_none_or(|steps| steps.shape.workgroup == lanes), "{}", kernel.name);
        }
    }

    #[test]
    fn offsets_of_fields_are_added_in_64_bits() {
        let slang = "extern \"C\" __global__ void f()\n{ uint a = b.Load<uint >(uint(int(12U + i * 120U)));\n\
                     uint c = b.Load<uint >(uint(int(i))); }\nreturn data[index >> 2];\n";
        let made = cuda(slang, 32, false);
        let wanted = "extern \"C\" __global__ void __launch_bounds__(32) f()\n\
                      { uint a = b.Load(size_t(12ULL + size_t(i * 120U)));\nuint c = b.Load(uint(int(i))); }\n\
                      return *(uint32_t*)((char*)data + index);\n";
        assert_eq!(made, wanted);
        assert!(cuda(slang, 32, true).contains("b.Load(uint(int(12U + i * 120U)))"));
    }
}
