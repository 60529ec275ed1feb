//! What JavaScript calls. Each function is one of `live.rs` or `lib.rs`; an error is thrown as an `Error`
//! with the text of the library.

use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::Live;

type Result<T> = std::result::Result<T, JsError>;

/// The version of the library.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// See [`crate::change`].
#[wasm_bindgen]
pub fn change(text: &str, change: &str) -> Result<String> {
    Ok(crate::change(text, change)?)
}

/// See [`crate::value`].
#[wasm_bindgen]
#[must_use]
pub fn value(text: &str, key: &str) -> String {
    crate::value(text, key)
}

/// See [`crate::rollout`].
#[wasm_bindgen]
pub fn rollout(text: &str, contacts: u32, precision: &str) -> Result<Vec<f64>> {
    Ok(crate::rollout(text, contacts, precision)?)
}

/// The visitor's GPU.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Gpu(bristle::Gpu);

#[wasm_bindgen]
impl Gpu {
    /// Opens the adapter that the browser prefers. See [`bristle::Gpu::new_async`].
    pub async fn open() -> Result<Self> {
        Ok(Self(bristle::Gpu::new_async(bristle::gpu::Choice::Any).await?))
    }

    /// What is known of its adapter, as a JSON object: see [`bristle::gpu::Adapter`].
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn adapter(&self) -> String {
        serde_json::to_string(self.0.adapter()).unwrap_or_default()
    }

    /// See [`Live::on_gpu`]. The calls of the batch are those that end in `Async`.
    pub async fn batch(&self, text: &str, contacts: u32) -> Result<Batch> {
        Ok(Batch(Live::on_gpu(&self.0, text, contacts).await?))
    }

    /// Loses the device, as a driver does that resets it: for tests.
    pub fn lose(&self) {
        self.0.lose();
    }
}

/// See [`Live`].
#[wasm_bindgen]
#[derive(Debug)]
pub struct Batch(Live);

#[wasm_bindgen]
impl Batch {
    /// See [`Live::new`].
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, contacts: u32, precision: &str) -> Result<Self> {
        Ok(Self(Live::new(text, contacts, precision)?))
    }

    /// See [`Live::len`].
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn length(&self) -> usize {
        self.0.len()
    }

    /// See [`Live::duration`].
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn duration(&self) -> f64 {
        self.0.duration()
    }

    /// See [`Live::parameters`].
    pub fn parameters(&self, k: usize) -> Result<String> {
        Ok(self.0.parameters(k)?)
    }

    /// See [`Live::time`].
    pub fn time(&self, k: usize) -> Result<f64> {
        Ok(self.0.time(k)?)
    }

    /// See [`Live::grid`].
    pub fn grid(&self, k: usize) -> Result<Vec<f64>> {
        Ok(self.0.grid(k)?.to_vec())
    }

    /// See [`Live::weights`].
    pub fn weights(&self, k: usize) -> Result<Vec<f64>> {
        Ok(self.0.weights(k)?.to_vec())
    }

    /// See [`Live::cells`].
    pub fn cells(&self, k: usize) -> Result<Vec<u32>> {
        Ok(self.0.cells(k)?)
    }

    /// See [`Live::bristles`].
    pub fn bristles(&mut self, k: usize) -> Result<Vec<f64>> {
        Ok(self.0.bristles(k)?)
    }

    /// [`Live::set`] of contact `k`.
    pub fn set(&mut self, k: usize, name: &str, value: f64) -> Result<()> {
        Ok(self.0.set(Some(k), name, value)?)
    }

    /// [`Live::set`] of all contacts.
    #[wasm_bindgen(js_name = setAll)]
    pub fn set_all(&mut self, name: &str, value: f64) -> Result<()> {
        Ok(self.0.set(None, name, value)?)
    }

    /// See [`Live::advance`].
    pub fn advance(&mut self, dt: f64) -> Result<()> {
        Ok(self.0.advance(dt)?)
    }

    /// See [`Live::reset`].
    pub fn reset(&mut self) -> Result<()> {
        Ok(self.0.reset()?)
    }

    /// See [`Live::engine`].
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn engine(&self) -> String {
        self.0.engine()
    }

    /// See [`Live::advance_async`].
    #[wasm_bindgen(js_name = advanceAsync)]
    pub async fn advance_async(&mut self, dt: f64) -> Result<()> {
        Ok(self.0.advance_async(dt).await?)
    }

    /// See [`Live::reset_async`].
    #[wasm_bindgen(js_name = resetAsync)]
    pub async fn reset_async(&mut self) -> Result<()> {
        Ok(self.0.reset_async().await?)
    }

    /// See [`Live::samples_async`].
    #[wasm_bindgen(js_name = samplesAsync)]
    pub async fn samples_async(&mut self) -> Result<Vec<f64>> {
        Ok(self.0.samples_async().await?)
    }

    /// See [`Live::bristles_async`].
    #[wasm_bindgen(js_name = bristlesAsync)]
    pub async fn bristles_async(&mut self, k: usize) -> Result<Vec<f64>> {
        Ok(self.0.bristles_async(k).await?)
    }

    /// See [`Live::save_async`].
    #[wasm_bindgen(js_name = saveAsync)]
    pub async fn save_async(&mut self) -> Result<Vec<u8>> {
        Ok(self.0.save_async().await?)
    }

    /// See [`Live::restore_async`].
    #[wasm_bindgen(js_name = restoreAsync)]
    pub async fn restore_async(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.0.restore_async(bytes).await?)
    }

    /// See [`Live::samples`].
    pub fn samples(&mut self) -> Result<Vec<f64>> {
        Ok(self.0.samples()?)
    }

    /// See [`Live::surface`].
    pub fn surface(&mut self, k: usize, n: usize) -> Result<Vec<f64>> {
        Ok(self.0.surface(k, n)?)
    }

    /// See [`Live::margin`].
    pub fn margin(&mut self, k: usize) -> Result<Vec<f64>> {
        Ok(self.0.margin(k)?.to_vec())
    }

    /// See [`Live::pressed`].
    pub fn pressed(&mut self, k: usize) -> Result<Vec<f64>> {
        Ok(self.0.pressed(k)?.to_vec())
    }
}
