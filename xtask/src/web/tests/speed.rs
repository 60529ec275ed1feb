//! `cargo xtask web --bench`: how many boxes of `examples/in_hand.toml` the library steps in real time on one
//! core of a browser, without a GPU; and how long the page takes to its first picture.

use std::path::Path;

use serde_json::json;

use super::equal::numbers;
use crate::browser;
use crate::root;

/// Boxes, and the time that they are simulated \[s\] after the first 0.1 s.
const BOXES: u32 = 40;
const DURATION: f64 = 1.0;

/// Times that the page is opened.
const OPENED: usize = 5;

/// The time from the address to the picture that the page has drawn when it is ready \[ms\]. The first time
/// nothing is kept from before.
const FIRST: &str = "
const all = [];
for (let i = 0; i < input; i++) {
  const frame = document.createElement('iframe');
  frame.style.cssText = 'width: 1280px; height: 1000px';
  const start = performance.now();
  frame.src = `/files/index.html?${i}`;
  document.body.append(frame);
  const has = () => frame.contentDocument?.documentElement?.dataset.ready === 'yes';
  while (!has()) await new Promise((next) => setTimeout(next, 1));
  for (let k = 0; k < 2; k++) await new Promise((drawn) => frame.contentWindow.requestAnimationFrame(drawn));
  all.push(performance.now() - start);
  frame.remove();
}
await post(all.map(String));
";

const SCRIPT: &str = "
const bristle = await import('/files/bristle.js');
await bristle.default();
const { text, boxes, duration } = input;
const all = [];
for (const force of [0, 20]) {
  const batch = new bristle.Batch(text, boxes, 'f32');
  if (force) batch.setAll('inputs.normal_force', force);
  batch.advance(0.1);
  const start = performance.now();
  batch.advance(duration);
  all.push(boxes * duration / (performance.now() - start) * 1e3);
  batch.free();
}
await post(all.map(String));
";

/// Prints the number of boxes in real time, where they slide now and then, and where they stick, and the
/// times to the first picture.
pub fn bench(folder: &Path) -> Result<(), String> {
    let path = root().join("examples/in_hand.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let input = json!({ "text": text, "boxes": BOXES, "duration": DURATION });
    let found = numbers(&browser::run(SCRIPT, &input, Some(folder), false)?);
    let [slide, stick] = found[..] else { return Err("the page has posted no two numbers".to_owned()) };
    println!(
        "boxes of examples/in_hand.toml in real time, single precision, one core of the browser: {slide:.0} as they \
         are, {stick:.0} that stick under 20 N"
    );
    for (webgpu, with) in [(false, "without"), (true, "with")] {
        let times = numbers(&browser::run(FIRST, &json!(OPENED), Some(folder), webgpu)?);
        let [first, again @ ..] = &times[..] else { return Err("the page has posted no times".to_owned()) };
        let again: Vec<String> = again.iter().map(|ms| format!("{:.2}", ms / 1e3)).collect();
        println!(
            "first picture of the page, {with} WebGPU: {:.2} s after its address is opened, then {} s",
            first / 1e3,
            again.join(", ")
        );
    }
    Ok(())
}
