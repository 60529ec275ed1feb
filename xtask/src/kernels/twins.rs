//! Single dispatches in headless Chromium: the text that a native device runs, on the same contents of
//! buffers, through the browser's own compiler. Results are compared with the reference on the CPU, as those
//! of native devices are.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Trajectories};
use bristle::gpu::{Captured, Choice, Gpu};
use bristle_bench::twins::{one_step, one_step_agrees, random_contact};
use serde_json::{Value, json};

use crate::browser;

/// Runs each dispatch on buffers of its own and posts what it left in those that are asked for.
const SCRIPT: &str = "
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const text = (data) => {
  let out = '';
  for (let i = 0; i < data.length; i += 32768) { out += String.fromCharCode(...data.subarray(i, i + 32768)); }
  return btoa(out);
};
const adapter = await navigator.gpu?.requestAdapter();
if (!adapter) { throw new Error('the browser has no WebGPU'); }
const device = await adapter.requestDevice();
const out = [];
for (const run of input) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({code: run.text});
  const group = device.createBindGroupLayout({entries: run.bindings.map((type, binding) => (
    {binding, visibility: GPUShaderStage.COMPUTE, buffer: {type}}))});
  const layout = device.createPipelineLayout({bindGroupLayouts: [group]});
  const pipeline = (entryPoint) => device.createComputePipelineAsync(
    {layout, compute: {module, entryPoint, constants: entryPoint === 'rollout' ? run.overrides : {}}});
  const buffers = run.before.map((contents, i) => {
    const data = bytes(contents);
    const usage = run.bindings[i] === 'uniform' ? GPUBufferUsage.UNIFORM : GPUBufferUsage.STORAGE;
    const buffer = device.createBuffer(
      {size: data.length, usage: usage | GPUBufferUsage.COPY_SRC, mappedAtCreation: true});
    new Uint8Array(buffer.getMappedRange()).set(data);
    buffer.unmap();
    return buffer;
  });
  const bound = device.createBindGroup(
    {layout: group, entries: buffers.map((buffer, binding) => ({binding, resource: {buffer}}))});
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setBindGroup(0, bound);
  for (const [entry, count] of [['poison', run.poisoned], ['rollout', run.workgroups]]) {
    if (count > 0) {
      pass.setPipeline(await pipeline(entry));
      pass.dispatchWorkgroups(count);
    }
  }
  pass.end();
  const reads = run.results.map((i) => {
    const read = device.createBuffer({size: buffers[i].size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST});
    encoder.copyBufferToBuffer(buffers[i], 0, read, 0, read.size);
    return read;
  });
  device.queue.submit([encoder.finish()]);
  const error = await device.popErrorScope();
  if (error) { throw new Error(error.message); }
  const left = [];
  for (const read of reads) {
    await read.mapAsync(GPUMapMode.READ);
    left.push(text(new Uint8Array(read.getMappedRange())));
    read.destroy();
  }
  buffers.forEach((buffer) => buffer.destroy());
  out.push(left);
}
await post({left: out});
";

/// One step of random contacts of every kind, law, map and gamma, as a native device dispatched it with the
/// kernels of a browser, which has no subgroups; and what the reference makes of it.
fn one_step_of_all() -> (Vec<Contact>, Vec<Captured>, Trajectories, Trajectories) {
    let contacts: Vec<Contact> = (0..96).map(|k| random_contact(5, k)).collect();
    let wanted = Cpu::reference().run(&contacts, &one_step()).unwrap();
    let browser = |adapter: &mut bristle::gpu::Adapter| {
        adapter.software = false;
        adapter.subgroup_sums = false;
        adapter.max_workgroup_memory = super::dump::DEFAULT_WORKGROUP_MEMORY;
    };
    let (gpu, captures) = Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}")).with_adapter(browser).capturing();
    let found = gpu.run(&contacts, &one_step()).unwrap();
    let captures = std::mem::take(&mut *captures.lock().unwrap());
    (contacts, captures, found, wanted)
}

/// Puts what a browser makes of the dispatches, whose texts go through `edit`, into the trajectories.
fn in_a_browser(captures: &[Captured], edit: fn(String) -> String, into: &mut Trajectories) {
    let input = |captured: &Captured| {
        let overrides: serde_json::Map<String, Value> =
            captured.variant.constants().iter().map(|(name, v)| ((*name).to_owned(), json!(v))).collect();
        json!({
            "text": edit(captured.variant.source().unwrap()),
            "overrides": overrides,
            "bindings": captured.bindings,
            "before": captured.before.iter().map(|bytes| STANDARD.encode(bytes)).collect::<Vec<_>>(),
            "workgroups": captured.workgroups,
            "poisoned": captured.poisoned,
            "results": Captured::RESULTS,
        })
    };
    let out = browser::run(SCRIPT, &captures.iter().map(input).collect(), None, true).unwrap();
    for (captured, left) in captures.iter().zip(out["left"].as_array().unwrap()) {
        let [records, bristles] = [0, 1].map(|i| STANDARD.decode(left[i].as_str().unwrap()).unwrap());
        captured.put(&records, &bristles, into);
    }
}

#[test]
fn one_step_in_a_browser_is_that_of_the_reference() {
    let (contacts, captures, found, wanted) = one_step_of_all();
    one_step_agrees(&contacts, &found, &wanted).unwrap_or_else(|e| panic!("without subgroups: {e}"));
    assert!(captures.len() > 8, "{} dispatches", captures.len());
    // Nothing of the native device stays but how many steps it took.
    let mut own = found.clone();
    own.pose.fill([f64::NAN; 3].into());
    own.twist.fill([f64::NAN; 3].into());
    own.bristles.iter_mut().for_each(Vec::clear);
    in_a_browser(&captures, |text| text, &mut own);
    one_step_agrees(&contacts, &own, &wanted).unwrap_or_else(|e| panic!("in a browser: {e}"));
    // The same comparison sees a kernel that pushes to the other side.
    let wrong = |text: String| text.replace("sum[0] += fx;", "sum[0] -= fx;");
    let a_grid = |captured: &&Captured| captured.variant.reduced.is_none() && captured.variant.point.is_none();
    let grid = captures.iter().rfind(a_grid).unwrap();
    in_a_browser(std::slice::from_ref(grid), wrong, &mut own);
    one_step_agrees(&contacts, &own, &wanted).unwrap_err();
}
