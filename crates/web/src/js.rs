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
