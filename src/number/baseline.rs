//! The lanes of the instructions that every processor has for which the program is compiled.

#[cfg(not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128"))))]
mod types {
    use crate::number::lanes::Lanes;

    /// Lanes of `f32`.
    pub type F32 = Lanes<f32>;
    /// Lanes of `f64`.
    pub type F64 = Lanes<f64>;
}

#[cfg(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))]
use crate::number::register as types;

pub use types::{F32, F64};
