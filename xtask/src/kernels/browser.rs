//! `cargo xtask kernels --browser`: compiles every kernel in headless Chromium. Its compiler of WGSL, Tint,
//! checks what naga does not: that barriers and subgroup operations are in uniform control flow.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

use bristle::friction::Law;
use bristle::gpu::{Adapter, Layout, Variant};
use serde_json::{Value, json};

use super::dump::{DEFAULT_WORKGROUP_MEMORY, entry};
use super::list::{self, CELLS, Kernel};
use super::{FAMILIES, Family, NVIDIA, WITHOUT_SUBGROUPS, adapter};
use crate::browser;

/// GPUs of Intel, whose subgroups vary.
const INTEL: Family = Family { name: "intel", vendor: 0x8086, subgroup: [8, 32], simd: 8 };

/// Workgroup memory that Chromium's software driver has \[bytes\]. Layouts that take more than WebGPU's
/// default are for adapters that have this much.
const RAISED_WORKGROUP_MEMORY: u32 = 32 << 10;

/// Compiles each kernel on a device with the least limits that it needs, makes a pipeline of it where that is
/// asked for, and posts what was refused.
const SCRIPT: &str = "
const adapter = await navigator.gpu?.requestAdapter();
if (!adapter) { throw new Error('the browser has no WebGPU'); }
const out = {adapter: `${adapter.info.vendor} ${adapter.info.architecture}`, made: [], refused: {}};
const devices = new Map();
for (const kernel of input) {
  const key = `${kernel.raised} ${kernel.subgroups}`;
  if (!devices.has(key)) {
    devices.set(key, await (await navigator.gpu.requestAdapter()).requestDevice({
      requiredFeatures: kernel.subgroups ? ['subgroups'] : [],
      requiredLimits: kernel.raised ? {maxComputeWorkgroupStorageSize: kernel.raised} : {},
    }));
  }
  const device = devices.get(key);
  device.pushErrorScope('validation');
  const module = device.createShaderModule({code: kernel.text});
  const info = await module.getCompilationInfo();
  const errors = info.messages.filter((m) => m.type === 'error').map((m) => `line ${m.lineNum}: ${m.message}`);
  try {
    if (errors.length === 0 && kernel.pipeline) {
      await device.createComputePipelineAsync(
        {layout: 'auto', compute: {module, entryPoint: kernel.entry, constants: kernel.overrides}});
    }
  } catch (e) { errors.push(e.message); }
  const error = await device.popErrorScope();
  if (error && errors.length === 0) { errors.push(error.message); }
  if (errors.length === 0) { out.made.push(kernel.name); } else { out.refused[kernel.name] = errors[0]; }
}
await post(out);
";

/// Most browsers at once. The software driver compiles on one thread of a browser.
const BROWSERS: usize = 4;

/// What the browser made of the kernels.
#[derive(Debug, Default)]
pub struct Found {
    /// The adapter on which it compiled them.
    pub adapter: String,
    /// Names of the kernels that were compiled.
    pub made: Vec<String>,
    /// Those that did not, and why.
    pub refused: BTreeMap<String, String>,
}

/// The adapters whose kernels are compiled: one of each row of the table of shapes.
fn adapters() -> Vec<Adapter> {
    let families = FAMILIES.iter().chain([&NVIDIA, &INTEL, &WITHOUT_SUBGROUPS]);
    let mut all: Vec<Adapter> = families.map(adapter).collect();
    let software = Family { name: "software", vendor: 0x10005, subgroup: [8, 8], simd: 8 };
    all.push(Adapter { software: true, ..adapter(&software) });
    for adapter in &mut all {
        adapter.max_workgroup_memory = adapter.max_workgroup_memory.min(RAISED_WORKGROUP_MEMORY);
    }
    all
}

/// Each text with its constants once.
fn distinct(all: impl Iterator<Item = Result<Kernel, String>>) -> Result<Vec<Kernel>, String> {
    let mut kept: Vec<Kernel> = Vec::new();
    for kernel in all {
        let kernel = kernel?;
        if !kept.iter().any(|own| (&own.text, &own.constants) == (&kernel.text, &kernel.constants)) {
            kept.push(kernel);
        }
    }
    Ok(kept)
}

/// All kernels of these adapters.
///
/// # Errors
/// A shader whose text cannot be made.
pub fn kernels() -> Result<Vec<Kernel>, String> {
    let mut all = Vec::new();
    for adapter in adapters() {
        let named = |kernel: Kernel| Ok(Kernel { name: format!("{}: {}", adapter.name, kernel.name), ..kernel });
        all.extend(list::of(&adapter)?.into_iter().map(named));
    }
    distinct(all.into_iter())
}

/// The kernels of all layouts that a grid of 317 cells may have on these adapters, which `bristle bench
/// --shapes` times.
///
/// # Errors
/// A shader whose text cannot be made.
pub fn layouts() -> Result<Vec<Kernel>, String> {
    let adapters = adapters();
    let of = |adapter: &Adapter| {
        let kernel = |layout: Layout| {
            let shape = layout.shape(CELLS, adapter).ok_or_else(|| format!("{layout}: not valid"))?;
            let law = Law::default();
            let variant = Variant {
                shape,
                law,
                gaussian: true,
                adaptive: true,
                moving: false,
                mapped: false,
                has_axes: false,
                drives_parts: false,
                moves_loads: false,
                reduced: None,
                point: None,
            };
            list::stepping(format!("{}: {layout}", adapter.name), &variant, CELLS as u32)
        };
        Layout::all(CELLS, adapter).into_iter().map(kernel).collect::<Vec<_>>()
    };
    distinct(adapters.iter().flat_map(of))
}

/// What the page needs of a kernel. naga knows neither the directive that WGSL asks for before operations of
/// subgroups, nor the one that allows them where uniform control flow cannot be proven.
fn input(kernel: &Kernel, pipeline: bool) -> Result<Value, String> {
    let mut input = entry(kernel, "")?;
    let subgroups = ["subgroupAdd(", "subgroupShuffleXor("].iter().any(|call| kernel.text.contains(call));
    let mut head = String::new();
    if subgroups {
        head += "enable subgroups;\n";
        if !kernel.text.contains("workgroupUniformLoad(") {
            head += "diagnostic(off, subgroup_uniformity);\n";
        }
    }
    let raised = input["workgroup_memory"].as_u64() > Some(DEFAULT_WORKGROUP_MEMORY.into());
    input["text"] = json!(head + &kernel.text);
    input["pipeline"] = json!(pipeline);
    input["subgroups"] = json!(subgroups);
    input["raised"] = json!(raised.then_some(RAISED_WORKGROUP_MEMORY));
    Ok(input)
}

/// Compiles each kernel, and makes a pipeline of those that `becomes_pipeline` names. A pipeline takes the
/// software driver some 3.5 s of processor time; compiling alone, with all rules of the language, takes far
/// less. There is a browser for each processor, with its part of the kernels.
///
/// # Errors
/// No browser, or one without WebGPU.
pub fn compiled(kernels: &[Kernel], becomes_pipeline: impl FnMut(&Kernel) -> bool) -> Result<Found, String> {
    let is_due: Vec<bool> = kernels.iter().map(becomes_pipeline).collect();
    // What takes long is dealt out evenly.
    let mut order: Vec<usize> = (0..kernels.len()).collect();
    order.sort_by_key(|k| !is_due[*k]);
    let inputs = order.iter().map(|k| input(&kernels[*k], is_due[*k])).collect::<Result<Vec<_>, _>>()?;
    let browsers = thread::available_parallelism().map_or(1, NonZero::get).min(BROWSERS);
    let part = |k: usize| Value::Array(inputs.iter().skip(k).step_by(browsers).cloned().collect());
    let results = thread::scope(|scope| {
        let start = |input: Value| scope.spawn(move || browser::run(SCRIPT, &input, None, true));
        let started: Vec<_> = (0..browsers.min(inputs.len())).map(part).map(start).collect();
        let end = |page: thread::ScopedJoinHandle<_>| page.join().unwrap_or_else(|panic| resume_unwind(panic));
        started.into_iter().map(end).collect::<Result<Vec<_>, String>>()
    })?;
    let fail = |e: serde_json::Error| format!("the page's result: {e}");
    let mut found = Found::default();
    for mut out in results {
        out["adapter"].as_str().unwrap_or_default().clone_into(&mut found.adapter);
        found.made.extend(serde_json::from_value::<Vec<String>>(out["made"].take()).map_err(fail)?);
        found.refused.extend(serde_json::from_value::<BTreeMap<_, _>>(out["refused"].take()).map_err(fail)?);
    }
    Ok(found)
}

/// Compiles all kernels and layouts, and says what was refused.
///
/// # Errors
/// As [`compiled`], or kernels that were refused.
pub fn check() -> Result<(), String> {
    let mut refused = 0;
    for (kernels, pipelines, what) in
        [(kernels()?, true, "kernels become pipelines"), (layouts()?, false, "layouts of a grid of 317 compile")]
    {
        let found = compiled(&kernels, |_| pipelines)?;
        println!("{}: {} of {} {what}", found.adapter, found.made.len(), kernels.len());
        found.refused.iter().for_each(|(name, error)| println!("{name}: {error}"));
        refused += found.refused.len();
    }
    if refused == 0 { Ok(()) } else { Err(format!("the browser refused {refused} kernels")) }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn are_all_taken(kernels: &[Kernel], becomes_pipeline: impl FnMut(&Kernel) -> bool) {
        let found = compiled(kernels, becomes_pipeline).unwrap();
        assert!(found.refused.is_empty(), "{:#?}", found.refused);
        let names: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(found.made.iter().map(String::as_str).collect::<BTreeSet<_>>(), names);
        assert_eq!(found.made.len(), kernels.len());
    }

    /// `cargo xtask kernels --browser` makes pipelines of all.
    #[test]
    fn every_kernel_is_taken_and_every_text_becomes_a_pipeline_in_a_browser() {
        let mut texts = BTreeSet::new();
        are_all_taken(&kernels().unwrap(), |kernel| texts.insert(kernel.text.clone()));
    }

    #[test]
    fn every_file_of_shaders_is_in_a_kernel() {
        let kernels = kernels().unwrap();
        let mut folders = vec![crate::root().join("shaders"), crate::root().join("crates/rigid/shaders")];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let first = text.lines().next().unwrap();
                assert!(kernels.iter().any(|k| k.text.contains(first)), "no kernel has {}", path.display());
                files += 1;
            }
        }
        assert!(files > 40, "{files}");
    }

    #[test]
    fn every_layout_is_taken_by_a_browser() {
        are_all_taken(&layouts().unwrap(), |_| false);
    }

    /// Barriers under a condition that each lane reads for itself, which naga lets pass.
    #[test]
    fn a_barrier_that_not_all_lanes_may_reach_is_refused() {
        let mut kernel = kernels().unwrap().into_iter().find(|k| k.text.contains("workgroupUniformLoad(")).unwrap();
        let agreed = "return workgroupUniformLoad(&of_first_lane);";
        assert!(kernel.text.contains(agreed));
        kernel.text = kernel.text.replace(agreed, "return v;");
        let found = compiled(&[kernel], |_| false).unwrap();
        assert!(found.made.is_empty());
        let error = found.refused.values().next().unwrap();
        assert!(error.contains("uniform control flow"), "{error}");
    }
}
