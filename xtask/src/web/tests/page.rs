//! The page itself: what its fields, buttons, pictures and links do. The script works on the page in a frame,
//! paused, and lets time pass itself, so that nothing depends on how fast the machine is.

use std::fs;
use std::path::Path;

use bristle_bench::hardware::page_of;
use serde_json::json;

use crate::browser;

/// The differences of the same run in the page and natively, both in single precision \[m, rad\].
const NATIVE: f64 = 2e-4;

const SCRIPT: &str = concat!(include_str!("frame.js"), include_str!("page.js"));
const ON_GPU: &str = concat!(include_str!("frame.js"), include_str!("page_on_gpu.js"));

/// Refuses a file of measurements that `cargo xtask hardware` cannot read.
fn is_of_bench(file: &serde_json::Value) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path = folder.path().join("gpu.json");
    fs::write(&path, file.to_string()).map_err(|e| e.to_string())?;
    let page = page_of(&[path])?;
    if page.contains("webgpu") { Ok(()) } else { Err(format!("the page of hardware does not have the file: {page}")) }
}

/// Runs the scripts, with WebGPU and without it, and the run that the second one downloads natively.
pub fn test(folder: &Path) -> Result<(), String> {
    let on_gpu = browser::run(ON_GPU, &json!({}), Some(folder), true)?;
    is_of_bench(&on_gpu["file"])?;
    let found = browser::run(SCRIPT, &json!({}), Some(folder), false)?;
    let count = |of: &serde_json::Value| of["done"].as_array().map_or(0, Vec::len);
    let [done, on_gpu] = [&found, &on_gpu].map(count);
    let text = found["text"].as_str().ok_or("the page gave no scenario")?;
    let samples = found["samples"].as_array().into_iter().flatten().map(|v| v.as_f64().unwrap_or(f64::NAN));
    let there: Vec<f64> = samples.collect();
    let (contacts, numbers) = (there.len() / 12, bristle_web::rollout(text, 0, ""));
    let native = numbers.map_err(|e| e.to_string())?;
    if contacts == 0 || native.len() % there.len() != 0 {
        return Err(format!("the page has {contacts} boxes, and natively there are {} numbers", native.len()));
    }
    let each = native.len() / contacts;
    for k in 0..contacts {
        let last = &native[(k + 1) * each - 12..][..3];
        let differs = (0..3).any(|i| (last[i] - there[12 * k + i]).abs() > NATIVE || !last[i].is_finite());
        if differs {
            let page: &[f64] = &there[12 * k..][..3];
            return Err(format!("box {k} ends at {page:?} in the page, and at {last:?} natively"));
        }
    }
    let moved = (0..contacts).filter(|k| there[12 * k + 1] < -1e-3).count();
    if moved < contacts / 2 {
        return Err(format!("{moved} of {contacts} boxes have slid: the comparison says nothing"));
    }
    println!(
        "xtask: web: {done} checks of the page, {on_gpu} of it on WebGPU, and its download is the same run natively"
    );
    Ok(())
}
