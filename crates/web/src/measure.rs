//! `bristle bench --all` in a browser: part by part, so that the page goes on between two of them.

use bristle::Gpu;
use bristle::error::EngineError;
use bristle::gpu::Choice;
use bristle_bench::hardware::{Document, Open};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

/// The adapter that the browser prefers.
struct Preferred;

impl Open for Preferred {
    async fn open(&self) -> Result<Gpu, EngineError> {
        Gpu::new_async(Choice::Any).await
    }
}

/// A document of `bristle bench --all`; see [`Document`].
#[wasm_bindgen]
#[derive(Debug)]
pub struct Measurement(Document);

#[wasm_bindgen]
impl Measurement {
    /// One without results, of patches of so many cells along a side; `note` is what a reader should know,
    /// such as the name of the browser.
    pub async fn open(sides: Vec<usize>, note: String) -> Result<Self, JsError> {
        let mut document = Document::of(&Preferred.open().await?, &sides);
        document.note = Some(note);
        Ok(Self(document))
    }

    /// See [`Document::measure_next`]: measures a part, in its share of what is left of `budget` \[s\].
    /// `tell` is called with what is measured. `false` if all parts are finished.
    pub async fn next(&mut self, budget: f64, tell: js_sys::Function) -> bool {
        let told = |text: &str| {
            // Who is told may fail; the measurement goes on.
            let _ = tell.call1(&JsValue::NULL, &text.into());
        };
        self.0.measure_next_async(&Preferred, budget, &told).await
    }

    /// The file.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default() + "\n"
    }
}
